"""The platform of a spherical manipulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_core.arrays import Floats, Ints
from dyn_core.dynamics.tree.batch import run_batch
from dyn_core.dynamics.tree.kinematics import BODY
from dyn_core.dynamics.workspaces import Workspaces
from dyn_core.errors import InputError, SingularityError, WorkspaceError
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import Mechanism
from dyn_core.spatial.poses import azimuth_tilt_torsion, skew
from dyn_core.spatial.spherical_linkage import MODE, THIRDS, W0, D, E, U, leg_angle, leg_joints, platform_axes
from dyn_core.stiffness import Stiffness
from dyn_core.stiffness.cartesian import from_factor
from dyn_core.stiffness.spherical_kernels import (
    LOOSE,
    NOT_A_ROTATION,
    REACHED,
    SINGULAR,
    TURNED,
    UNREACHABLE,
    deflections_batch,
    pack_legs,
    stiffness_batch,
    stiffness_single,
)

from ..configuration import Configuration
from ..platform import Legs, Platform, Reached
from .loop_assembly import numbers_text
from .loop_robot import LoopRobot

OFF_CENTRE = 1e-6  # m, by which a pose's position may differ from what the rotation makes of it
SINGULAR_DISTANCE = 1e-3  # below which `check` calls a configuration singular
REFINEMENTS = 3
FOLDED = 1e-7  # |(u x v) . w| below which a leg is folded or straight


class SphericalLegs:
    """Three legs of a mechanism as kernels read them, and the frames of its platform."""

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.spherical is None:
            raise InputError(f"{mechanism.name} is not spherical: use LoopRobot")
        self.geometry = mechanism.spherical
        joints = np.flatnonzero(mechanism.active)
        tips = np.zeros((mechanism.n, 6, 6))
        for each in mechanism.compliances:
            tips[each.body] = each.C
        self.packed = pack_legs(self.geometry, mechanism.stiffness[joints], tips[joints], tips[joints + 1])
        self.workspaces = Workspaces(self.packed.copy)
        tool = mechanism.frame("tool")
        self.platform = mechanism.frames[tool.body]
        """The platform's own frame, its origin at O."""
        self.tool_R = self.platform.R.T @ tool.R
        self.tool_p = self.platform.R.T @ (tool.p - self.platform.p)

    def in_modes(self, modes: Any) -> Floats:
        """The packed legs in other working modes: three signs of (u x v) . w."""
        given = np.asarray(modes, float)
        if given.shape != (3,) or (np.abs(given) != 1.0).any():
            raise InputError(f"working modes are three signs, 1 or -1, found {modes!r}")
        legs = self.packed.copy()
        legs[:, MODE] = given
        return legs


class SphericalPlatform(Platform):
    """Three legs of axes u, v, w about O, the origin of the base's and of the platform's frame.

    Where a pose (4, 4) of the tool is asked for, a rotation Q (3, 3) of the platform in the base frame does as well.
    """

    def __init__(self, robot: LoopRobot, legs: SphericalLegs) -> None:
        self.robot, self.name, self.geometry = robot, robot.name, legs.geometry
        self._spherical, self._legs, self._frame = legs, legs.packed, legs.platform

    # orientations

    @property
    def freedoms(self) -> Floats:
        return np.eye(6)[:, 3:]

    @property
    def size(self) -> float:
        return float(self.geometry.radii.max())

    def home_of(self, frame: str) -> Floats:
        return self.robot.tree.forward_kinematics(self.robot.reference, frame)

    @staticmethod
    def orientation(azimuth: Any, tilt: Any, torsion: Any) -> Floats:
        """Q (..., 3, 3) = Rz(azimuth) Ry(tilt) Rz(torsion - azimuth), angles in rad, of shapes that fit together."""
        return azimuth_tilt_torsion(azimuth, tilt, torsion)

    def rotation_of(self, orientation: Any) -> Floats:
        """Q (3, 3) of the platform from a rotation (3, 3) of it or a pose (4, 4) of the tool; else InputError."""
        given = np.asarray(orientation, float)
        if given.shape not in ((3, 3), (4, 4)) or not np.isfinite(given).all():
            raise InputError(f"an orientation is a finite rotation (3, 3) or pose (4, 4), found shape {given.shape}")
        Q = given[:3, :3]
        if np.abs(Q @ Q.T - np.eye(3)).max() > TURNED or np.linalg.det(Q) < 0.0:
            raise InputError("the orientation is not a rotation: its columns are not right-handed unit vectors")
        if given.shape == (4, 4):
            Q = Q @ self._spherical.tool_R.T
            if np.abs(given[:3, 3] - Q @ self._spherical.tool_p).max() > OFF_CENTRE:
                raise WorkspaceError(f"{self.name} only turns about its centre: its tool cannot be at {given[:3, 3]}")
        return np.ascontiguousarray(Q)

    def pose_at(self, orientation: Any) -> Floats:
        Q = self.rotation_of(orientation)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Q @ self._spherical.tool_R, Q @ self._spherical.tool_p
        return T

    # kinematics

    def inverse_kinematics(self, pose: Any, frame: str = "tool", check: bool = True, modes: Any = None) -> Reached:
        """q (..., 3) at poses (..., 4, 4) of a frame or rotations (..., 3, 3), within half a turn of the home position.

        modes: signs of (u x v) . w, one per leg; by default the described working modes. check: as in `Platform.legs`.
        """
        legs = self._legs if modes is None else self._spherical.in_modes(modes)
        lead, rotations = self._rotations_of(pose, frame)
        q = np.empty((len(rotations), 3))
        for row, Q in zip(q, rotations, strict=True):
            for i, leg in enumerate(legs):
                row[i], _, reached = leg_angle(leg, tuple(Q @ leg[W0 : W0 + 3]))
                if not reached:
                    raise WorkspaceError(self._out_of_reach(i, Q))
        home = self.robot.reference[self.robot.joints]
        q[:] = home + np.remainder(q - home + np.pi, 2.0 * np.pi) - np.pi
        if check:
            self._check_limits(q)
        return Reached(q.reshape(*lead, 3), lambda: self._configurations(q, legs, rotations, lead))

    def legs(
        self, pose: Any, twist: Any = None, acceleration: Any = None, frame: str = "tool", check: bool = True
    ) -> Legs:
        reached = self.inverse_kinematics(pose, frame, check)
        lead, rotations = self._rotations_of(pose, frame)
        w, wd = (
            np.broadcast_to(np.zeros(6) if x is None else np.asarray(x, float), (*lead, 6)).reshape(-1, 6)[:, 3:]
            for x in (twist, acceleration)
        )
        rates, seconds, inverses = np.zeros((len(w), 3)), np.zeros((len(w), 3)), np.zeros((len(w), 3, 6))
        for k, Q in enumerate(rotations):
            u, v, axes = self.leg_axes(Q)
            J = inverses[k, :, 3:] = self.angular_jacobian(Q)
            rates[k] = J @ w[k]
            # (v x w) . omega = ((u x v) . w) q', differentiated with v' = q' u x v and w' = omega x w
            vd, axes_d = rates[k][:, None] * np.cross(u, v), np.cross(w[k], axes)
            turn = np.einsum("ij,ij->i", np.cross(u, v), axes)
            turn_d = np.einsum("ij,ij->i", np.cross(u, vd), axes) + np.einsum("ij,ij->i", np.cross(u, v), axes_d)
            normal_d = np.cross(vd, axes) + np.cross(v, axes_d)
            seconds[k] = J @ wd[k] + (normal_d @ w[k] - turn_d * rates[k]) / turn
        return Legs(
            reached.q, reached.find_configuration, rates.reshape(*lead, 3), seconds.reshape(*lead, 3),
            inverses.reshape(*lead, 3, 6),
        )  # fmt: skip

    def _configurations(self, q: Floats, legs: Floats, rotations: list[Floats], lead: tuple[int, ...]) -> Configuration:
        """Of packed legs at actuator angles q (m, 3) and rotations, every joint within half a turn of home."""
        full = np.empty((len(rotations), self.robot.mechanism.n))
        for row, Q in zip(full, rotations, strict=True):
            ends = (Q @ platform_axes(self.geometry.beta, i * THIRDS) for i in range(3))
            first, second, third = (leg_joints(leg, end)[0] for leg, end in zip(legs, ends, strict=True))
            row[:] = *first, *second[:2], *third[:2]
        home = self.robot.reference
        full[:] = home + np.remainder(full - home + np.pi, 2.0 * np.pi) - np.pi
        full[:, self.robot.joints] = q
        return Configuration(full.reshape(*lead, -1))

    def working_modes(self, orientation: Any) -> dict[tuple[int, int, int], Floats]:
        """q (3,) in each of the eight working modes; none where an orientation is out of reach."""
        signs = (-1, 1)
        every = [(a, b, c) for a in signs for b in signs for c in signs]
        return {modes: self.inverse_kinematics(orientation, check=False, modes=modes).q for modes in every}

    def refined(self, Q: Floats, q: Floats) -> Floats:
        """The rotation near Q at which the actuators are at q (3,) to rounding: v . w = cos alpha2 by Newton steps."""
        legs = self._legs
        along, across = np.cos(self.geometry.arcs[:, :1]), np.sin(self.geometry.arcs[:, :1])
        d, e = legs[:, D : D + 3], legs[:, E : E + 3]
        v = along * legs[:, U : U + 3] + across * (np.cos(q)[:, None] * d + np.sin(q)[:, None] * e)
        for _ in range(REFINEMENTS):
            w = legs[:, W0 : W0 + 3] @ Q.T
            off = np.einsum("ij,ij->i", v, w) - np.cos(self.geometry.arcs[:, 1])
            turn = np.linalg.lstsq(np.cross(w, v), -off, rcond=LOOSE)[0]
            Q = Rotation.from_rotvec(turn).as_matrix() @ Q
        return Q

    def leg_axes(self, orientation: Any) -> tuple[Floats, Floats, Floats]:
        """u, v, w, each (3, 3) with a row per leg (1)-(4)."""
        Q = self.rotation_of(orientation)
        w = self._legs[:, W0 : W0 + 3] @ Q.T
        v = np.empty((3, 3))
        for i, leg in enumerate(self._legs):
            _, v[i], reached = leg_angle(leg, tuple(w[i]))
            if not reached:
                raise WorkspaceError(self._out_of_reach(i, Q))
        return self._legs[:, :3].copy(), v, w

    def angular_jacobian(self, orientation: Any) -> Floats:
        """J (3, 3) of (5): rates of q per angular velocity of the platform; a folded leg has none."""
        u, v, w = self.leg_axes(orientation)
        n, turn = np.cross(v, w), np.einsum("ij,ij->i", np.cross(u, v), w)
        if (np.abs(turn) < FOLDED).any():
            i = int(np.argmin(np.abs(turn)))
            raise SingularityError(f"{self.name}: leg {i + 1} is folded or straight (a serial singularity)")
        return n / turn[:, None]

    def singularity(self, orientation: Any) -> tuple[float, float]:
        """How far an orientation is from a parallel and from a serial singularity, each 0 (singular) to 1.

        Parallel: the smallest singular value of the unit normals n to v, w: at 0 the platform is loose with all
        actuators held. Serial: the smallest |(u x v) . w| / (sin alpha1 sin alpha2): at 0 a leg is folded or straight.
        """
        u, v, w = self.leg_axes(orientation)
        sines = np.sin(self.geometry.arcs)
        n = np.cross(v, w) / sines[:, 1:]
        turn = np.abs(np.einsum("ij,ij->i", np.cross(u, v), w))
        return float(np.linalg.svd(n, compute_uv=False)[2]), float((turn / sines.prod(axis=1)).min())

    def status(self, rotations: Any) -> Ints:
        """(m,) 0 reached, 1 unreachable, 2 parallel singularity, of platform orientations (m, 3, 3)."""
        return self.stiffness_matrices(rotations)[1]

    def status_grid(self, azimuths: Any, tilts: Any, torsion: float = 0.0) -> Ints:
        """(len(tilts), len(azimuths)) status of a grid of orientations, angles in rad."""
        phi, theta = np.meshgrid(np.asarray(azimuths, float), np.asarray(tilts, float))
        return self.status(self.orientation(phi, theta, torsion).reshape(-1, 3, 3)).reshape(phi.shape)

    def singularity_distance(self, pose: Any, frame: str = "tool") -> Floats:
        """(...,) the smallest singular value of the legs' unit normals: the first number of `singularity`."""
        lead, rotations = self._rotations_of(pose, frame)
        return np.array([self.singularity(Q)[0] for Q in rotations]).reshape(lead)

    def check(self, q: Any) -> None:
        rows = np.asarray(q, float).reshape(-1, 3)
        self._check_limits(rows)
        for row in rows:
            pose = self.robot.tree.forward_kinematics(self.robot.all_positions(row))
            if self.singularity(pose)[0] < SINGULAR_DISTANCE:
                raise SingularityError(f"{self.name}: the legs hardly hold the platform at q = {numbers_text(row)}")

    def reach(self, poses: Floats, frame: str) -> tuple[Floats, Any, Floats]:
        q, distance = np.full((len(poses), 3), np.nan), np.full(len(poses), np.nan)
        reachable = np.zeros(len(poses), bool)
        for k, pose in enumerate(poses):
            try:
                q[k] = self.inverse_kinematics(pose, frame, check=False).q
                distance[k] = self.singularity_distance(pose, frame)
                self._check_limits(q[k : k + 1])
                reachable[k] = distance[k] > FOLDED
            except WorkspaceError:
                continue
        return q, reachable, distance

    def frame_motion(self, q: Floats, qd: Floats, frame: str = "tool") -> tuple[Floats, Floats]:
        return self.robot.tree.frame_motion(q, qd, frame)

    # stiffness

    def stiffness_matrix(self, rotation: Any) -> Floats:
        """K (6, 6) at O, base axes, linear first, at a rotation (3, 3) of the platform: the quick way."""
        K, work = np.empty((6, 6)), np.empty((26, 6))
        try:
            status = stiffness_single(self._legs, rotation, work, K)
        except TypeError:  # not a plain float64 matrix
            status = compiled_call(stiffness_single, self._legs, self.rotation_of(rotation), work, K)
        if status == NOT_A_ROTATION:
            return self.stiffness_matrix(self.rotation_of(rotation))
        if status == UNREACHABLE:
            self.inverse_kinematics(rotation)
        if not K[0, 0] > 0.0:
            raise InputError(f"{self.name}: the stiffness is infinite in some directions; use `stiffness_at`")
        return K

    def stiffness_at(self, pose: Any, frame: str = "tool") -> Stiffness:
        """Cartesian stiffness of a frame at a pose or rotation, in the described working modes."""
        Q = self.rotation_of(pose)
        return self.stiffness_in(
            Q, self._legs, frame, lambda: self.inverse_kinematics(Q, check=False).configuration.q.copy()
        )

    def stiffness_in(self, Q: Floats, legs: Floats, frame: str, positions: Callable[[], Floats]) -> Stiffness:
        """By the legs' kernel; what it has no finite matrix for, and frames off the platform, by virtual joints."""
        K, work = np.empty((6, 6)), np.empty((26, 6))
        status = compiled_call(stiffness_single, legs, np.ascontiguousarray(Q), work, K)
        if status == UNREACHABLE:
            self.inverse_kinematics(Q)
        body = int(self.robot.tree.model.frame(frame)[BODY]) - 1
        if body != self._frame.body or not K[0, 0] > 0.0:
            return self.robot.virtual_joints.stiffness(positions(), frame)
        at = self.robot.mechanism.frame(frame)
        point = Q @ self._frame.R.T @ (at.p - self._frame.p)
        null = np.zeros((6, 0))
        if status == SINGULAR:
            _, sigma, rows = np.linalg.svd(work[10:13, 3:])
            axes = rows[min(2, int((sigma > LOOSE).sum())) :].T
            null = np.linalg.qr(np.concatenate([np.cross(axes.T, point).T, axes]))[0]
        X = np.eye(6)
        X[:3, 3:] = skew(point)  # the motion of O from that of the point
        return from_factor(work[14:] @ X, null, point, frame)

    def stiffness_matrices(self, rotations: Any) -> tuple[Floats, Ints]:
        """K (m, 6, 6) at O and the status (m,), at rotations (m, 3, 3) of the platform; NaN where unreachable."""
        Q = self._rotations(rotations)
        K, q, status = np.empty((len(Q), 6, 6)), np.empty((len(Q), 3)), np.empty(len(Q), np.int64)
        spaces = self._spherical.workspaces
        run_batch(stiffness_batch, spaces, len(Q), lambda legs, p: (legs, Q[p], q[p], K[p], status[p]))
        return K, status

    def deflections(self, rotations: Any, wrenches: Any, frame: str = "") -> tuple[Floats, Ints]:
        """Deflections (m, w, 6) of a frame under wrenches (w, 6) at its origin, and the status (m,), on all cores.

        rotations: (m, 3, 3) of the platform; frame: one of the platform's, or empty for O. Status 0: reached;
        1: unreachable, NaN; 2: singular, where it is the smallest deflection, or NaN under a wrench that loads what
        nothing holds.
        """
        Q = self._rotations(rotations)
        w = np.ascontiguousarray(np.atleast_2d(np.asarray(wrenches, float)))
        if w.ndim != 2 or w.shape[1] != 6 or not np.isfinite(w).all():
            raise InputError(f"wrenches are finite numbers of shape (w, 6), found {np.shape(wrenches)}")
        at = self.robot.mechanism.frame(frame) if frame else self._frame
        if at.body != self._frame.body:
            raise InputError(f"{frame} is not on the platform of {self.name}: look at its stiffness pose by pose")
        p = self._frame.R.T @ (at.p - self._frame.p)
        centred = not np.abs(p).max() > 0.0
        loads = w if centred else np.eye(6)
        out, status = np.empty((len(Q), len(loads), 6)), np.empty(len(Q), np.int64)
        spaces = self._spherical.workspaces
        run_batch(deflections_batch, spaces, len(Q), lambda legs, p: (legs, Q[p], loads, out[p], status[p]))
        odd = (status == SINGULAR) | ((status == REACHED) & ~np.isfinite(out).all(axis=(1, 2)))
        if not centred:
            X = np.tile(np.eye(6), (len(Q), 1, 1))  # the motion of the frame's origin from that of O
            x, y, z = (Q.reshape(-1, 3, 3) @ p).T
            X[:, 0, 4], X[:, 0, 5], X[:, 1, 3] = z, -y, -z
            X[:, 1, 5], X[:, 2, 3], X[:, 2, 4] = x, y, -x
            out = w @ (X @ out @ X.transpose(0, 2, 1))
        for k in np.flatnonzero(odd):
            there = self.stiffness_at(Q[k].reshape(3, 3), at.name)
            answers = [there.deflected(wrench) for wrench in w]
            out[k] = [answer.motion if answer.equilibrium else np.full(6, np.nan) for answer in answers]
        return out, status

    # inside

    def _rotations_of(self, pose: Any, frame: str) -> tuple[tuple[int, ...], list[Floats]]:
        """Leading axes of poses, and Q (3, 3) of the platform at each."""
        T = np.atleast_2d(np.asarray(pose, float))
        lead = T.shape[:-2]
        at = self.robot.mechanism.frame(frame)
        if at.body != self._frame.body:
            raise InputError(f"{self.name}: the frame '{frame}' is not on the platform")
        if frame == "tool" or T.shape[-2:] == (3, 3):
            return lead, [self.rotation_of(each) for each in T.reshape(-1, *T.shape[-2:])]
        tool = self.robot.mechanism.frame("tool")
        X = np.eye(4)  # the tool in the frame
        X[:3, :3], X[:3, 3] = at.R.T @ tool.R, at.R.T @ (tool.p - at.p)
        return lead, [self.rotation_of(each @ X) for each in T.reshape(-1, 4, 4)]

    def _check_limits(self, q: Floats) -> None:
        low, high = self.robot.mechanism.position_limits[self.robot.joints].T
        for k, j in np.argwhere((q < low) | (q > high))[:1]:
            name = self.robot.mechanism.joint_names[self.robot.joints[j]]
            raise WorkspaceError(
                f"{self.name}: joint '{name}' would be at {q[k, j]:.6g}, beyond its limits {low[j]:g} to {high[j]:g}"
            )

    def _rotations(self, rotations: Any) -> Floats:
        """(m, 9), row by row."""
        Q = np.asarray(rotations, float)
        if Q.ndim != 3 or Q.shape[1:] != (3, 3) or not np.isfinite(Q).all():
            raise InputError(f"rotations are finite numbers of shape (m, 3, 3), found {Q.shape}")
        if len(Q) and np.abs(Q @ Q.transpose(0, 2, 1) - np.eye(3)).max() > TURNED:
            raise InputError("rotations are orthogonal matrices, and some of these are not")
        return np.ascontiguousarray(Q.reshape(-1, 9))

    def _out_of_reach(self, leg: int, Q: Floats) -> str:
        alpha1, alpha2 = self.geometry.arcs[leg]
        near, far = abs(alpha1 - alpha2), min(alpha1 + alpha2, 2.0 * np.pi - alpha1 - alpha2)
        u, w = self._legs[leg, :3], Q @ self._legs[leg, W0 : W0 + 3]
        apart = np.arctan2(np.linalg.norm(np.cross(u, w)), u @ w)
        if max(apart, near) < FOLDED or min(apart, far) > np.pi - FOLDED:
            return f"{self.name}: the axes u and w of leg {leg + 1} coincide, so that its position is not determined"
        span = f"{np.degrees(near):g} to {np.degrees(far):g}"
        return f"{self.name} cannot reach this orientation: leg {leg + 1} spans angles from {span} deg only"
