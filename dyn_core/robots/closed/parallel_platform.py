"""The platform of a parallel robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.platform import state_kernels
from dyn_core.errors import InputError, SingularityError, WorkspaceError
from dyn_core.jit.status import BEYOND, OK
from dyn_core.spatial.poses import from_seven, to_seven
from dyn_core.stiffness import Stiffness

from ..platform import Legs, Platform
from .loop_assembly import numbers_text
from .loop_robot import LoopRobot
from .platform_layout import PlatformLayout, body_pose

FARTHEST = 1e6  # characteristic lengths: no pose is looked for beyond
AT_SINGULARITY = 1e-6  # below which a pose counts as singular itself, and not as before or beyond one
SINGULAR_DISTANCE = 1e-3  # below which `check` calls a configuration singular


class ParallelPlatform(Platform):
    """A platform carried by legs: what `Platform` promises, and dynamics at its poses."""

    def __init__(self, robot: LoopRobot, layout: PlatformLayout) -> None:
        self.robot, self.layout = robot, layout
        self.mechanism, self.name = self.layout.mechanism, self.layout.name

    @property
    def freedoms(self) -> Floats:
        """(6, n) unit twists, linear first, in base axes, that the platform can make: all, or those in its plane."""
        return self.layout.S.copy()

    @property
    def size(self) -> float:
        return self.layout.size

    def home_of(self, frame: str) -> Floats:
        return self.layout.frame_poses(self.layout.home[None], frame)[0]

    def legs(
        self, pose: Any, twist: Any = None, acceleration: Any = None, frame: str = "tool", check: bool = True
    ) -> Legs:
        lead, arm, seven, v, a = self.body_motion(pose, twist, acceleration, frame)
        at, rates, seconds, inverses, status = self.layout.solve_legs(seven, v, a)
        self.check_reached(at, status, lead, check)
        inverses[:, :, 3:] += np.cross(inverses[:, :, :3], arm[:, None])  # v_body = v - w x arm
        active = self.layout.joints
        shape = (*lead, len(active))
        return Legs(
            at[:, active].reshape(shape), lambda: self.layout.configuration(at.reshape(*lead, -1)),
            rates[:, active].reshape(shape), seconds[:, active].reshape(shape), inverses.reshape(*shape, 6),
            beyond=(status == BEYOND).reshape(lead)[()],
        )  # fmt: skip

    def inverse_dynamics(
        self,
        pose: Any,
        twist: Any = None,
        acceleration: Any = None,
        wrenches: Any = None,
        frame: str = "tool",
        check: bool = True,
    ) -> Floats:
        """Forces (..., n) of the active joints for a motion (..., 6) of a frame of the platform at poses (..., 4, 4).

        By (66), without a forward kinematics: there is no doubt which platform's pose is meant. wrenches act on the
        legs' links and the platform, as those of `ParallelRobot.inverse_dynamics`.
        """
        layout = self.layout
        lead, _, seven, v, a = self.body_motion(pose, twist, acceleration, frame)
        count, n = len(seven), len(layout.joints)
        w = self._on_bodies(wrenches, lead)
        at, status, tau = np.empty((count, len(layout.home))), np.empty((count, 1)), np.empty((count, n))
        layout.run(state_kernels.inverse_at_pose, seven, v, a, w, at, status, tau)
        self.check_reached(at, status[:, 0], lead, check)
        for k in np.flatnonzero(~np.isfinite(tau).all(axis=1))[:1]:
            if layout.distance_at(at[k]) < SINGULAR_DISTANCE:
                raise SingularityError(f"{self.name}: at this pose the active joints do not hold the platform")
            raise InputError(f"{self.name}: the result is not finite; the arguments are too large")
        return tau.reshape(*lead, n)

    def forward_dynamics(
        self,
        pose: Any,
        twist: Any = None,
        forces: Any = None,
        wrenches: Any = None,
        frame: str = "tool",
        check: bool = True,
    ) -> Floats:
        """Acceleration (..., 6) of a frame of the platform at poses (..., 4, 4) and twists (..., 6), under forces.

        forces (..., n). The acceleration is that of the origin, and angular, in base axes. No forward kinematics is
        needed, and no singularity of the legs is in the way: where they hold the platform no longer, it moves as they
        let it. check: as in `legs`.
        """
        lead, arm, seven, v, _ = self.body_motion(pose, twist, None, frame)
        count, n = len(seven), len(self.layout.joints)
        try:
            tau = np.broadcast_to(np.zeros(n) if forces is None else np.asarray(forces, float), (*lead, n))
        except (TypeError, ValueError):
            raise InputError(f"forces have shape {np.shape(forces)}, {self.name} needs {(*lead, n)}") from None
        if not np.isfinite(tau).all():
            raise InputError("forces are not finite")
        at, status, a = np.empty((count, len(self.layout.home))), np.empty((count, 1)), np.empty((count, 6))
        tau, w = np.array(tau.reshape(count, n)), self._on_bodies(wrenches, lead)
        self.layout.run(state_kernels.forward_at_pose, seven, v, tau, w, at, status, a)
        self.check_reached(at, status[:, 0], lead, check)
        if not np.isfinite(a).all():
            raise InputError(f"{self.name}: {self.robot.tree.model.not_finite}")
        w, wd = v[:, 3:], a[:, 3:]
        a[:, :3] += np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        return a.reshape(*lead, 6)

    def _on_bodies(self, wrenches: Any, lead: tuple[int, ...]) -> Floats:
        """(m, K + 1, 6) wrenches on legs and platform, or (m, 0, 6)."""
        if self.layout.on_carriers(wrenches):
            raise InputError(f"{self.name}: a wrench acts on a carrier of the platform, which has no body")
        w = self.layout.on_legs(self.robot.tree.model.wrenches(wrenches, lead))
        return w.reshape(int(np.prod(lead)), *w.shape[-2:])

    def wrenches(self, wrench: Any) -> Floats:
        """(..., n of the tree, 6) wrenches of which only the platform's (..., 6), in its described frame, is not 0."""
        try:
            w = np.asarray(wrench, float)
        except (TypeError, ValueError):
            raise InputError(f"these must be numbers, found {wrench!r:.80}") from None
        if w.shape[-1:] != (6,):
            raise InputError(f"a wrench on the platform has shape {w.shape}, expected (..., 6)")
        out = np.zeros((*w.shape[:-1], self.mechanism.n, 6))
        out[..., -1, :] = w
        return out

    def motion(self, q: Any, qd: Any, qdd: Any = None, frame: str = "tool") -> tuple[Floats, Floats]:
        """Twist and acceleration (..., 6) of a frame of the platform, from a motion of the active joints."""
        at = self._frame(frame)
        n = len(self.layout.joints)
        values = {"q": q, "qd": qd, "qdd": np.zeros(n) if qdd is None else qdd}
        lead, arrays = self.robot.checked_state(values)
        flat = [x.reshape(-1, n) for x in arrays]
        V, Vd = np.empty((len(flat[0]), 6)), np.empty((len(flat[0]), 6))
        self.layout.run(state_kernels.platform_motion, *flat, V, Vd)
        if at.p.any():
            found, _ = self.layout.poses(flat[0])
            arm = from_seven(found[:, -7:])[:, :3, :3] @ at.p
            w, wd = V[:, 3:], Vd[:, 3:]
            V[:, :3] += np.cross(w, arm)
            Vd[:, :3] += np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        return V.reshape(*lead, 6), Vd.reshape(*lead, 6)

    def frame_motion(self, q: Floats, qd: Floats, frame: str = "tool") -> tuple[Floats, Floats]:
        return self.robot.tree.frame_motion(q, qd, frame)

    def singularity_distance(self, pose: Any, frame: str = "tool") -> Floats:
        """(...,) the smallest singular value of the inverse Jacobian, lengths measured in `size`: without units."""
        lead, seven, _ = self._body_poses(pose, frame)
        rest = np.zeros((len(seven), 6))
        at, _, _, inverses, status = self.layout.solve_legs(seven, rest, rest)
        self.check_reached(at, status, lead, check=False)
        return np.asarray(self.layout.distances(inverses)).reshape(lead)

    def check(self, q: Any) -> None:
        """Raise where a joint of a leg is beyond its limits, or the robot at or near a singularity, at q (..., n)."""
        lead, (q,) = self.robot.checked_state({"q": q})
        joints, m = self.layout.joints, self.mechanism
        flat = q.reshape(-1, len(joints))
        low, high = m.position_limits[joints].T
        for k, j in np.argwhere((flat < low) | (flat > high))[:1]:
            raise WorkspaceError(
                f"{self.name}: joint '{m.joint_names[joints[j]]}' at {flat[k, j]:.6g} is beyond its limits"
                f" {low[j]:g} to {high[j]:g}"
            )
        at, _ = self.layout.poses(flat)
        self._check_limits(at, lead)
        distance = self.singularity_distance(self.layout.frame_poses(at, "tool"))
        for k in np.flatnonzero(distance < SINGULAR_DISTANCE)[:1]:
            raise SingularityError(f"{self.name}: the legs hardly hold the platform at q = {numbers_text(flat[k])}")

    def reach(self, poses: Floats, frame: str) -> tuple[Floats, Any, Floats]:
        _, seven, _ = self._body_poses(poses, frame)
        rest = np.zeros((len(poses), 6))
        at, _, _, inverses, status = self.layout.solve_legs(seven, rest, rest)
        reached = (status == OK) | (status == BEYOND)
        q = np.where(reached[:, None], at[:, self.layout.joints], np.nan)
        distance = np.full(len(poses), np.nan)
        distance[reached] = self.layout.distances(inverses[reached])
        return q, (status == OK) & ~self.layout.beyond_limits(at).any(axis=1), distance

    # stiffness

    def pose_at(self, orientation: Any) -> Floats:
        given = np.asarray(orientation, float)
        if given.shape != (3, 3):
            return given
        T = self.home
        T[:3, :3] = given
        return T

    def stiffness_at(self, pose: Any, frame: str = "tool") -> Stiffness:
        """Cartesian stiffness of a frame at a pose (4, 4) of the tool, which may be singular but not lie beyond."""
        singular = self.singularity_distance(pose) < AT_SINGULARITY
        reached = self.inverse_kinematics(pose, check=not singular)
        if singular:
            self._check_limits(self.layout.configuration_of(reached.configuration)[None], ())
        return self.robot.stiffness(reached.q, frame, near=reached.configuration)

    # poses of the body

    def body_motion(
        self, pose: Any, twist: Any, acceleration: Any, frame: str
    ) -> tuple[tuple[int, ...], Floats, Floats, Floats, Floats]:
        """Leading axes, (m, 3) from the body's origin to the frame; pose (m, 7) and motion (m, 6) of the body."""
        lead, seven, arm = self._body_poses(pose, frame)
        v = self._at_body(twist, lead, arm)
        a = self._at_body(acceleration, lead, arm)
        w = v[:, 3:]
        a[:, :3] -= np.cross(w, np.cross(w, arm))
        return lead, arm, seven, v, a

    def _body_poses(self, pose: Any, frame: str) -> tuple[tuple[int, ...], Floats, Floats]:
        """Leading axes, position and quaternion (m, 7) of the platform's body, (m, 3) from its origin to the frame."""
        try:
            T = np.asarray(pose, float)
        except (TypeError, ValueError):
            raise InputError(f"a pose must be a (4, 4) matrix of numbers, found {pose!r:.80}") from None
        if T.ndim < 2 or T.shape[-2:] != (4, 4) or not np.isfinite(T).all():
            raise InputError(f"a pose must be a finite (..., 4, 4) matrix, found shape {T.shape}")
        lead, T = T.shape[:-2], T.reshape(-1, 4, 4)
        R = T[:, :3, :3]
        turned = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(initial=0.0) < 1e-6
        if not turned or (np.linalg.det(R) < 0.0).any() or (T[:, 3] != [0.0, 0.0, 0.0, 1.0]).any():
            raise InputError("a pose must hold a rotation matrix, and end with the row 0 0 0 1")
        at = self._frame(frame)
        B = body_pose(T, at)
        self._check_free(B)
        return lead, to_seven(B), B[:, :3, :3] @ at.p

    def _check_free(self, B: Floats) -> None:
        """Poses of the platform are near enough, and those that its freedoms lead to."""
        S = self.layout.S
        home = from_seven(self.layout.home[None, -7:])[0]
        d = B[:, :3, 3] - home[:3, 3]
        if (np.abs(d) > FARTHEST * self.size).any():
            raise WorkspaceError(f"{self.name}: the pose is {np.abs(d).max():.3g} m away from home, beyond any reach")
        if S.shape[1] == 6:
            return
        axes = S[3:, 2:] if S[3:].any() else np.eye(3)
        turned = B[:, :3, :3] @ home[:3, :3].T @ axes - axes
        off = d - d @ S[:3] @ S[:3].T
        if np.abs(off).max(initial=0.0) > 1e-6 * self.size or np.abs(turned).max(initial=0.0) > 1e-6:
            raise WorkspaceError(f"{self.name}: the pose {self._leaves}")

    @property
    def _leaves(self) -> str:
        """What a motion does that the platform cannot make."""
        planar = self.layout.S[3:].any()
        return "leaves the plane in which the platform moves" if planar else "turns the platform, which only shifts"

    def _frame(self, name: str) -> Any:
        frame = self.mechanism.frame(name)
        if frame.body != self.mechanism.platform:
            raise InputError(f"{self.name}: the frame '{name}' is not on the platform")
        return frame

    def _at_body(self, motion: Any, lead: tuple[int, ...], arm: Floats) -> Floats:
        """(m, 6) twist (or acceleration, but for the centripetal part) of the body's origin from that of a frame."""
        if motion is None:
            return np.zeros((len(arm), 6))
        try:
            v = np.array(np.broadcast_to(np.asarray(motion, float), (*lead, 6)), order="C").reshape(-1, 6)
        except (TypeError, ValueError):
            raise InputError(f"twists have shape {np.shape(motion)}, expected {(*lead, 6)}") from None
        if not np.isfinite(v).all():
            raise InputError("the twist or acceleration is not finite")
        S = self.layout.S
        if np.abs(v - v @ S @ S.T).max(initial=0.0) > 1e-9 + 1e-6 * np.abs(v).max(initial=0.0):
            raise WorkspaceError(f"{self.name}: the twist or acceleration {self._leaves}")
        v[:, :3] -= np.cross(v[:, 3:], arm)
        return v

    def check_reached(self, at: Floats, status: Floats, lead: tuple[int, ...], check: bool) -> None:
        """Raise where a status (m,) says that configurations (m, K + 7) are not; check: as in `legs`."""
        bad = (status != OK) & ((status != BEYOND) | check)
        for k in np.flatnonzero(bad)[:1]:
            where = "" if lead == () else f" (pose {int(k)})"
            if status[k] == BEYOND:
                raise SingularityError(
                    f"{self.name}: the pose lies beyond a singularity, in another assembly mode{where}"
                )
            name, by = self.layout.assembly.worst(self.layout.full_of(at[k]))
            raise WorkspaceError(f"{self.name}: leg '{name}' does not reach the pose; it stays away by {by}{where}")
        if check:
            self._check_limits(at, lead)

    def _check_limits(self, at: Floats, lead: tuple[int, ...]) -> None:
        beyond = self.layout.beyond_limits(at)
        for k in np.flatnonzero(beyond.any(axis=1))[:1]:
            j = int(np.argmax(beyond[k]))
            low, high = self.mechanism.position_limits[j]
            where = "" if lead == () else f" (pose {int(k)})"
            raise WorkspaceError(
                f"{self.name}: joint '{self.mechanism.joint_names[j]}' would be at {at[k, j]:.6g}, beyond its limits"
                f" {low:g} to {high:g}{where}"
            )
