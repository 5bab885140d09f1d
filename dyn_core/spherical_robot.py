"""A spherical parallel manipulator: a closed chain whose platform turns about a fixed centre O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .batch import run_batch
from .errors import InputError, SingularityError, WorkspaceError
from .jit import compiled_call
from .loop_robot import Formulation, LoopRobot
from .loops.spherical import (
    MODE,
    NOT_A_ROTATION,
    REACHED,
    SINGULAR,
    TURNED,
    UNREACHABLE,
    W0,
    deflections_batch,
    leg_angle,
    pack_legs,
    stiffness_batch,
    stiffness_single,
)
from .mechanism import Floats, Ints, Mechanism
from .spatial import azimuth_tilt_torsion, skew
from .stiffness import Stiffness
from .stiffness.cartesian import from_matrix

OFF_CENTRE = 1e-6  # m, by which a pose's position may differ from what the rotation makes of it
FOLDED = 1e-7  # |(u x v) . w| below which a leg is folded or straight


class SphericalRobot(LoopRobot):
    """Three legs of axes u, v, w about O, the origin of the base's and of the platform's frame.

    q (3,): angles of the actuators about u, 0 where v lies in the plane of u and the base's axis (2). An orientation is
    the rotation Q (3, 3) of the platform in the base frame, or a pose (4, 4) of the frame `tool`.
    """

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if mechanism.spherical is None:
            raise InputError(f"{mechanism.name} is not spherical: use LoopRobot")
        super().__init__(mechanism, formulation)
        self.geometry = mechanism.spherical
        tips = {each.body: each.C for each in mechanism.compliances}
        first = int(self.joints[0])
        rigid = np.zeros((6, 6))
        self._legs = pack_legs(
            self.geometry, mechanism.stiffness[self.joints], tips.get(first, rigid), tips.get(first + 1, rigid)
        )
        tool = mechanism.frame("tool")
        self._platform = mechanism.frames[tool.body]
        """The platform's own frame, its origin at O."""
        self._tool_R = self._platform.R.T @ tool.R
        self._tool_p = self._platform.R.T @ (tool.p - self._platform.p)

    # orientations

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
            Q = Q @ self._tool_R.T
            if np.abs(given[:3, 3] - Q @ self._tool_p).max() > OFF_CENTRE:
                raise WorkspaceError(f"{self.name} only turns about its centre: its tool cannot be at {given[:3, 3]}")
        return np.ascontiguousarray(Q)

    # kinematics

    def inverse_kinematics(self, orientation: Any, modes: Any = None) -> Floats:
        """q (3,) at an orientation, within half a turn of the home position.

        modes: signs of (u x v) . w, one per leg; by default the described working modes.
        """
        Q = self.rotation_of(orientation)
        legs = self._legs if modes is None else self._in_modes(modes)
        q = np.empty(3)
        for i, leg in enumerate(legs):
            q[i], _, reached = leg_angle(leg, tuple(Q @ leg[W0 : W0 + 3]))
            if not reached:
                raise WorkspaceError(self._out_of_reach(i))
        home = self.reference[self.joints]
        return home + np.remainder(q - home + np.pi, 2.0 * np.pi) - np.pi

    def working_modes(self, orientation: Any) -> dict[tuple[int, int, int], Floats]:
        """q (3,) in each of the eight working modes; none where an orientation is out of reach."""
        signs = (-1, 1)
        every = [(a, b, c) for a in signs for b in signs for c in signs]
        return {modes: self.inverse_kinematics(orientation, modes) for modes in every}

    def leg_axes(self, orientation: Any) -> tuple[Floats, Floats, Floats]:
        """u, v, w, each (3, 3) with a row per leg (1)-(4)."""
        Q = self.rotation_of(orientation)
        w = self._legs[:, W0 : W0 + 3] @ Q.T
        v = np.empty((3, 3))
        for i, leg in enumerate(self._legs):
            _, v[i], reached = leg_angle(leg, tuple(w[i]))
            if not reached:
                raise WorkspaceError(self._out_of_reach(i))
        return self._legs[:, :3].copy(), v, w

    def inverse_jacobian(self, orientation: Any) -> Floats:
        """J (3, 3) of (5): rates of q per angular velocity of the platform; a folded leg has none."""
        u, v, w = self.leg_axes(orientation)
        n, turn = np.cross(v, w), np.einsum("ij,ij->i", np.cross(u, v), w)
        if (np.abs(turn) < FOLDED).any():
            i = int(np.argmin(np.abs(turn)))
            raise SingularityError(f"{self.name}: leg {i + 1} is folded or straight (a serial singularity)")
        return n / turn[:, None]

    def singularity(self, orientation: Any) -> tuple[float, float]:
        """How far an orientation is from a parallel and from a serial singularity, each 0 (singular) to 1.

        Parallel: |det(n1, n2, n3)| of the unit normals n to v, w: at 0 the platform is loose with all actuators held.
        Serial: the smallest |(u x v) . w| / (sin alpha1 sin alpha2): at 0 a leg is folded or straight.
        """
        u, v, w = self.leg_axes(orientation)
        n = np.cross(v, w) / np.sin(self.geometry.alpha2)
        turn = np.abs(np.einsum("ij,ij->i", np.cross(u, v), w))
        serial = turn.min() / (np.sin(self.geometry.alpha1) * np.sin(self.geometry.alpha2))
        return float(abs(np.linalg.det(n))), float(serial)

    def status(self, rotations: Any) -> Ints:
        """(m,) 0 reached, 1 unreachable, 2 parallel singularity, of platform orientations (m, 3, 3)."""
        return self.stiffness_matrices(rotations)[1]

    def workspace(self, azimuths: Any, tilts: Any, torsion: float = 0.0) -> Ints:
        """(len(tilts), len(azimuths)) status of a grid of orientations, angles in rad."""
        phi, theta = np.meshgrid(np.asarray(azimuths, float), np.asarray(tilts, float))
        return self.status(self.orientation(phi, theta, torsion).reshape(-1, 3, 3)).reshape(phi.shape)

    # stiffness

    def stiffness_matrix(self, rotation: Any) -> Floats:
        """K (6, 6) at O, base axes, linear first, at a rotation (3, 3) of the platform: the quick way."""
        K, work = np.empty((6, 6)), np.empty((14, 6))
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

    def stiffness_at(self, orientation: Any, frame: str = "tool") -> Stiffness:
        """Cartesian stiffness of a frame at an orientation, in the described working modes."""
        Q = self.rotation_of(orientation)
        return self._stiffness(Q, self._legs, frame, lambda: self.all_positions(self.inverse_kinematics(Q)))

    def stiffness(self, q: Any, frame: str = "tool", wrench: Any = None) -> Stiffness:
        """Cartesian stiffness of a frame at q (3,); wrench: as for any Robot."""
        if wrench is not None:
            return super().stiffness(q, frame, wrench)
        (q_a,) = self._single({"q": q})
        full = self._full(q_a)
        Q = np.ascontiguousarray(self.tree.forward_kinematics(full, self._platform.name)[:3, :3])
        elbows = np.sin(full[1 + self.joints])  # (u x v) . w over sin alpha1 sin alpha2
        modes = tuple(1 if elbow > 0.0 else -1 for elbow in elbows)
        return self._stiffness(Q, self._in_modes(modes), frame, lambda: full)

    def _stiffness(self, Q: Floats, legs: Floats, frame: str, positions: Callable[[], Floats]) -> Stiffness:
        """By the legs' kernel; what it has no finite matrix for, and frames off the platform, by virtual joints."""
        K, work = np.empty((6, 6)), np.empty((14, 6))
        status = compiled_call(stiffness_single, legs, Q, work, K)
        if status == UNREACHABLE:
            self.inverse_kinematics(Q)
        body = self.tree._frame(frame)[0] - 1
        if body != self._platform.body or not K[0, 0] > 0.0:
            return self._virtual_joints.stiffness(positions(), frame)
        at = self.mechanism.frame(frame)
        point = Q @ self._platform.R.T @ (at.p - self._platform.p)
        null = np.zeros((6, 0))
        if status == SINGULAR:
            axis = np.linalg.svd(work[10:13, 3:])[2][2]
            null = np.concatenate([np.cross(axis, point), axis])[:, None]
            null /= np.linalg.norm(null)
        X = np.eye(6)
        X[:3, 3:] = skew(point)  # the motion of O from that of the point
        return from_matrix(X.T @ K @ X, null, point, frame)

    def stiffness_matrices(self, rotations: Any) -> tuple[Floats, Ints]:
        """K (m, 6, 6) at O and the status (m,), at rotations (m, 3, 3) of the platform; NaN where unreachable."""
        Q = self._rotations(rotations)
        K, q, status = np.empty((len(Q), 6, 6)), np.empty((len(Q), 3)), np.empty(len(Q), np.int64)
        run_batch(stiffness_batch, self._legs, len(Q), lambda part: (Q[part], q[part], K[part], status[part]))
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
        at = self.mechanism.frame(frame) if frame else self._platform
        if at.body != self._platform.body:
            raise InputError(f"{frame} is not on the platform of {self.name}: look at its stiffness pose by pose")
        p = self._platform.R.T @ (at.p - self._platform.p)
        centred = not np.abs(p).max() > 0.0
        loads = w if centred else np.eye(6)
        out, status = np.empty((len(Q), len(loads), 6)), np.empty(len(Q), np.int64)
        run_batch(deflections_batch, self._legs, len(Q), lambda part: (Q[part], loads, out[part], status[part]))
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

    def _rotations(self, rotations: Any) -> Floats:
        """(m, 9), row by row."""
        Q = np.asarray(rotations, float)
        if Q.ndim != 3 or Q.shape[1:] != (3, 3) or not np.isfinite(Q).all():
            raise InputError(f"rotations are finite numbers of shape (m, 3, 3), found {Q.shape}")
        if len(Q) and np.abs(Q @ Q.transpose(0, 2, 1) - np.eye(3)).max() > TURNED:
            raise InputError("rotations are orthogonal matrices, and some of these are not")
        return np.ascontiguousarray(Q.reshape(-1, 9))

    def _in_modes(self, modes: Any) -> Floats:
        given = np.asarray(modes, float)
        if given.shape != (3,) or (np.abs(given) != 1.0).any():
            raise InputError(f"working modes are three signs, 1 or -1, found {modes!r}")
        legs = self._legs.copy()
        legs[:, MODE] = given
        return legs

    def _out_of_reach(self, leg: int) -> str:
        g = self.geometry
        span = f"{np.degrees(abs(g.alpha1 - g.alpha2)):g} to {np.degrees(min(g.alpha1 + g.alpha2, np.pi)):g}"
        return f"{self.name} cannot reach this orientation: leg {leg + 1} spans angles from {span} deg only"
