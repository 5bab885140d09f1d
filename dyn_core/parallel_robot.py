"""A parallel robot: a platform that legs carry, in its active joints, by its own pose."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from .batch import run_batch
from .errors import ClosureError, InputError, SingularityError, StructureError, WorkspaceError
from .fastcall import never
from .jit import compiled_call
from .loop_robot import Formulation, LoopRobot
from .loops import parallel
from .loops.closure import CLOSED, OPEN
from .loops.constraints import FIRST, SECOND
from .loops.motion import Motion
from .loops.parallel import BEYOND, LARGEST_LEG, LEG_WIDTH, Parallel
from .mechanism import BASE, PRISMATIC, REVOLUTE, Floats, Mechanism
from .tree.record import NOT_FINITE, OK, SINGULAR
from .tree.record import T as PLACEMENT

ORTHOGONAL = 1e-9  # of what makes a leg one that aims, and of a pose's rotation (1e-6)
FARTHEST = 1e6  # characteristic lengths: no pose is looked for beyond
CHARTED = 0.5  # rad: a turn from the chart's beginning within which it is far from its singularity at 90 degrees
SINGULAR_DISTANCE = 1e-3  # below which `check` calls a configuration singular


class Legs(NamedTuple):
    """What the legs do at poses of the platform; all arrays have the poses' leading axes."""

    q: Floats
    """(..., n) positions of the active joints."""
    qd: Floats
    """(..., n)."""
    qdd: Floats
    """(..., n)."""
    inverse_jacobian: Floats
    """(..., n, 6) rates of the active joints per twist of the frame."""


class Workspace(NamedTuple):
    """Sampled poses, and what the robot makes of them."""

    poses: Floats
    """(m, 4, 4)."""
    q: Floats
    """(m, n) positions of the active joints, NaN where a leg does not reach."""
    reachable: Any
    """(m,) whether all legs reach, within their limits and on this side of singularities."""
    distance: Floats
    """(m,) from a singularity, see `singularity_distance`; NaN where a leg does not reach."""


class ParallelRobot(LoopRobot):
    """A platform carried by legs, each with as many joints as the joint that ties it to the platform forbids motions.

    q, qd, qdd, tau (..., n) are those of the active joints. Poses (..., 4, 4) and twists (..., 6), linear first, are in
    the base frame; the frame is the tool if no other is named. Formulation "projection" is Khalil's (66) over platform
    and legs, in which the platform's orientation is a rotation; the other formulations, and `LoopRobot` of the same
    mechanism, use the tree with its yaw, pitch and roll, and serve as its check.
    """

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if mechanism.platform is None:
            raise InputError(f"{mechanism.name} has no platform: use LoopRobot")
        self.chart = _platform_joints(mechanism)
        """The tree's joints, the last ones, that carry the platform: its displacement from home."""
        super().__init__(mechanism, formulation)
        self._par = self._parallel()
        self._one = np.empty((1, len(self._par.home))), np.empty((1, 6, self.n))
        self._set_record()

    def __repr__(self) -> str:
        return f"ParallelRobot({self.name!r}, n={self.n}, {len(self._par.legs)} legs)"

    # the model

    def _assembled(self, q: Floats) -> Floats:
        """The legs closed at the platform's described pose."""
        legs = np.arange(len(q) - len(self.chart))
        rest = np.zeros(len(q))

        def at(x: Floats) -> Floats:
            return np.append(x, q[len(legs) :])

        def phi(x: Floats) -> Floats:
            return self._terms(self._all_rows, at(x), rest)[0]

        if np.abs(phi(q[: len(legs)])).max() <= 1e-14:
            return q
        found = least_squares(
            phi, q[: len(legs)], lambda x: self._terms(self._all_rows, at(x), rest)[1][:, legs],
            xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip
        if np.abs(phi(found.x)).max() > CLOSED:
            name, by = self._worst(at(found.x))
            raise ClosureError(
                f"{self.name}: leg '{name}' does not reach the platform in its home pose; it stays away by {by}"
            )
        return at(found.x)

    def _parallel(self) -> Parallel:
        m = self.mechanism
        n = m.n - len(self.chart)
        rows = self._all_rows.copy()
        for column in (FIRST, SECOND):
            on_platform = rows[:, column] == m.n
            rows[on_platform, column] = n + 1
        legs = np.zeros((len(m.loops), LEG_WIDTH))
        order: list[int] = []
        owners = np.array(self._owners)
        for leg, joints, loop in zip(legs, *_legs(m, n), strict=True):
            own = np.flatnonzero(owners == loop)
            if len(own) != len(joints) or len(joints) > LARGEST_LEG:
                raise StructureError(
                    f"{self.name}: leg '{m.loops[loop].name}' has {len(joints)} joints, but ties the platform by"
                    f" {len(own)} constraints; a leg of a parallel robot has as many, at most {LARGEST_LEG}:"
                    " describe the robot by joints and loops, without a platform"
                )
            leg[parallel.JOINT], leg[parallel.JOINTS], leg[parallel.ROW] = joints[0], len(joints), len(order)
            order += list(own)
            _note_aim(m, joints, loop, leg)
            if leg[parallel.AIMED]:
                leg[parallel.FLIPPED] = np.cos(self.reference[joints[1]] + leg[parallel.TILT]) < 0.0
                leg[parallel.AIMED] = parallel.AIMS if m.active[joints[:2]].any() else parallel.SLIDES
        pose = self.tree.forward_kinematics(self.reference, m.body_names[m.n - 1])
        body = m.frame(m.body_names[m.n - 1])
        home = np.concatenate([self.reference[:n], _to_seven(_body_pose(pose[None], body))[0]])
        S = np.eye(6)[:, : len(self.chart)]
        if len(self.chart) == 3 and m.joint_type[-1] == REVOLUTE:
            R = m.R[n] @ _axis_frame(m, n)
            S = np.zeros((6, 3))
            S[:3, 0], S[:3, 1], S[3:, 2] = R[:, 0], R[:, 1], R[:, 2]
        numbers = np.array([self.size, 0.0])
        return parallel.parallel(
            np.ascontiguousarray(rows[order]), legs, self._active, np.ascontiguousarray(S), numbers, home
        )

    def _set_record(self) -> None:
        """The record of legs and platform, and the signs that tell working and assembly mode at home."""
        n = self.mechanism.n - len(self.chart)
        self._record_p = np.concatenate([self.tree._record[: n + 1], self.tree._record[-1:]])
        self._par.legs[:, parallel.SIGN] = self._par.numbers[1] = 0.0
        found = np.empty(len(self._par.legs) + 1)
        status = compiled_call(parallel.signs, self._record_p, self._par, found)
        if status != OK:
            raise SingularityError(f"{self.name}: a leg is stretched or folded in the home pose")
        if found[-1] == 0.0:
            raise SingularityError(f"{self.name}: at home the active joints do not hold the platform")
        self._par.legs[:, parallel.SIGN] = np.sign(found[:-1])
        self._par.numbers[1] = np.sign(found[-1])

    def _fresh(self) -> Parallel:
        """A model with scratch of its own, where this one stands."""
        p = self._par
        other = parallel.parallel(p.rows, p.legs, p.active, p.S, p.numbers, p.home)
        other.at[:] = p.at
        return other

    def using(self, formulation: Formulation) -> ParallelRobot:
        """The same robot, computed by another formulation."""
        other = super().using(formulation)
        assert isinstance(other, ParallelRobot)
        other._par = self._fresh()
        other._record_p = self._record_p.copy()
        other._inverse_call = never
        return other

    def with_continuous_friction(self, q: Any, h: float) -> ParallelRobot:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        other = super().with_continuous_friction(q, h)
        assert isinstance(other, ParallelRobot)
        other._par = self._fresh()
        other._set_record()
        return other

    # kinematics

    @property
    def freedoms(self) -> Floats:
        """(6, n) unit twists, linear first, in base axes, that the platform can make: all, or those in its plane."""
        return self._par.S.copy()

    @property
    def home(self) -> Floats:
        """(4, 4) the described pose of the tool."""
        return self._frame_poses(self._par.home[None], "tool")[0]

    @property
    def platform_home(self) -> Floats:
        """(4, 4) the described pose of the platform's frame."""
        return self._frame_poses(self._par.home[None], self.mechanism.body_names[-1])[0]

    def inverse_kinematics(self, pose: Any, frame: str = "tool", check: bool = True) -> Floats:
        """Active positions (..., n) at poses (..., 4, 4) of a frame of the platform.

        check: WorkspaceError where a leg would be beyond its limits, SingularityError beyond a singularity; a leg that
        does not reach is always a WorkspaceError.
        """
        return self.legs(pose, frame=frame, check=check).q

    def legs(
        self, pose: Any, twist: Any = None, acceleration: Any = None, frame: str = "tool", check: bool = True
    ) -> Legs:
        """Positions, speeds and accelerations of the active joints at a motion (..., 6) of a frame of the platform."""
        lead, arm, seven, v, a = self._body_motion(pose, twist, acceleration, frame)
        at, rates, seconds, inverses, status = self._solve_legs(seven, v, a)
        self._check_reached(at, status, lead, check)
        self._stand_at(at, status)
        inverses[:, :, 3:] += np.cross(inverses[:, :, :3], arm[:, None])  # v_body = v - w x arm
        active = self.joints
        shape = (*lead, self.n)
        return Legs(
            at[:, active].reshape(shape), rates[:, active].reshape(shape), seconds[:, active].reshape(shape),
            inverses.reshape(*shape, 6),
        )  # fmt: skip

    def inverse_dynamics_at(
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
        legs' links and the platform, as those of `inverse_dynamics`.
        """
        if self._on_carriers(wrenches):
            raise InputError(f"{self.name}: a wrench acts on a carrier of the platform, which has no body")
        lead, _, seven, v, a = self._body_motion(pose, twist, acceleration, frame)
        count = len(seven)
        w = self.platform_and_legs(self.tree._flat_wrenches(wrenches, lead, count))
        at, status, tau = np.empty((count, len(self._par.home))), np.empty(count), np.empty((count, self.n))

        def slices(part: slice) -> tuple[Any, ...]:
            return self._fresh(), *(x[part] for x in (seven, v, a, w, at, status, tau))

        run_batch(parallel.inverse_at_poses, self._record_p, count, slices)
        self._check_reached(at, status, lead, check)
        for k in np.flatnonzero(~np.isfinite(tau).all(axis=1))[:1]:
            if self._distance_at(at[k]) < SINGULAR_DISTANCE:
                raise SingularityError(f"{self.name}: at this pose the active joints do not hold the platform")
            raise InputError(f"{self.name}: the result is not finite; the arguments are too large")
        self._stand_at(at, status)
        return tau.reshape(*lead, self.n)

    def _stand_at(self, at: Floats, status: Floats) -> None:
        """What is asked next is looked for from the last of these configurations."""
        if len(at) and status[-1] == OK:
            self._par.at[:] = at[-1]

    def _body_motion(
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
        at = self._platform_frame(frame)
        B = _body_pose(T, at)
        self._check_free(B)
        return lead, _to_seven(B), B[:, :3, :3] @ at.p

    def _check_free(self, B: Floats) -> None:
        """Poses of the platform are near enough, and those that its freedoms lead to."""
        n, S = len(self._par.home) - 7, self._par.S
        home = from_seven(self._par.home[None, n:])[0]
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
        planar = self._par.S[3:].any()
        return "leaves the plane in which the platform moves" if planar else "turns the platform, which only shifts"

    def _platform_frame(self, name: str) -> Any:
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
        S = self._par.S
        if np.abs(v - v @ S @ S.T).max(initial=0.0) > 1e-9 + 1e-6 * np.abs(v).max(initial=0.0):
            raise WorkspaceError(f"{self.name}: the twist or acceleration {self._leaves}")
        v[:, :3] -= np.cross(v[:, 3:], arm)
        return v

    def _solve_legs(self, seven: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        count, n, f = len(seven), len(self._par.home) - 7, self.n
        at, status = np.empty((count, n + 7)), np.empty(count)
        rates, seconds, inverses = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, f, 6))

        def slices(part: slice) -> tuple[Any, ...]:
            rows = (seven, v, a, at, rates, seconds, inverses, status)
            return self._fresh(), *(x[part] for x in rows)

        run_batch(parallel.legs_batch, self._record_p, count, slices)
        return at, rates, seconds, inverses, status

    def _check_reached(self, at: Floats, status: Floats, lead: tuple[int, ...], check: bool) -> None:
        bad = (status != OK) & ((status != BEYOND) | check)
        for k in np.flatnonzero(bad)[:1]:
            where = "" if lead == () else f" (pose {int(k)})"
            if status[k] == BEYOND:
                raise SingularityError(
                    f"{self.name}: the pose lies beyond a singularity, in another assembly mode{where}"
                )
            name, by = self._worst(self._full_of(at[k]))
            raise WorkspaceError(f"{self.name}: leg '{name}' does not reach the pose; it stays away by {by}{where}")
        if check:
            self._check_limits(at, lead)

    def _check_limits(self, at: Floats, lead: tuple[int, ...]) -> None:
        beyond = self._beyond_limits(at)
        for k in np.flatnonzero(beyond.any(axis=1))[:1]:
            j = int(np.argmax(beyond[k]))
            low, high = self.mechanism.position_limits[j]
            where = "" if lead == () else f" (pose {int(k)})"
            raise WorkspaceError(
                f"{self.name}: joint '{self.mechanism.joint_names[j]}' would be at {at[k, j]:.6g}, beyond its limits"
                f" {low:g} to {high:g}{where}"
            )

    def _beyond_limits(self, at: Floats) -> Any:
        n = at.shape[1] - 7
        low, high = self.mechanism.position_limits[:n].T
        return (at[:, :n] < low) | (at[:, :n] > high)

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame, in the assembly mode of the home pose."""
        if self.mechanism.frame(frame).body != self.mechanism.platform:
            return super().forward_kinematics(q, frame)
        lead, at, _ = self._poses(q)
        return self._frame_poses(at, frame).reshape(*lead, 4, 4)

    def _frame_poses(self, at: Floats, frame: str) -> Floats:
        found = self.mechanism.frame(frame)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = found.R, found.p
        return from_seven(at[:, -7:]) @ T

    def _poses(self, q: Any) -> tuple[tuple[int, ...], Floats, Floats]:
        """Leading axes, configurations (m, K + 7), and Jacobians (m, 6, n) of the platform's body."""
        lead, (q,) = self._arrays({"q": q})
        flat = q.reshape(-1, self.n)
        at, J = np.empty((len(flat), len(self._par.home))), np.empty((len(flat), 6, self.n))
        self._run(parallel.pose_batch, len(flat), lambda part: (flat[part], at[part], J[part]))
        return lead, at, J

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n): the twist of a frame from the rates of the active joints."""
        found = self.mechanism.frame(frame)
        if found.body != self.mechanism.platform:
            return super().jacobian(q, frame)
        lead, at, J = self._poses(q)
        arm = from_seven(at[:, -7:])[:, :3, :3] @ found.p
        J[:, :3] += np.cross(J[:, 3:], arm[:, :, None], axis=1)
        return J.reshape(*lead, 6, self.n)

    def inverse_jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Rates of the active joints (..., n, 6) per twist of a frame; of a planar robot, per twist in its plane."""
        return self.legs(self.forward_kinematics(q, frame), frame=frame, check=False).inverse_jacobian

    def platform_motion(self, q: Any, qd: Any, qdd: Any = None, frame: str = "tool") -> tuple[Floats, Floats]:
        """Twist and acceleration (..., 6) of a frame of the platform, from a motion of the active joints."""
        at = self._platform_frame(frame)
        lead, (q, qd, qdd) = self._arrays({"q": q, "qd": qd, "qdd": self._zero if qdd is None else qdd})
        flat = [x.reshape(-1, self.n) for x in (q, qd, qdd)]
        V, Vd = np.empty((len(flat[0]), 6)), np.empty((len(flat[0]), 6))
        self._run(parallel.motion_batch, len(V), lambda part: (*(x[part] for x in flat), V[part], Vd[part]))
        if at.p.any():
            _, found, _ = self._poses(q)
            arm = from_seven(found[:, -7:])[:, :3, :3] @ at.p
            w, wd = V[:, 3:], Vd[:, 3:]
            V[:, :3] += np.cross(w, arm)
            Vd[:, :3] += np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
        return V.reshape(*lead, 6), Vd.reshape(*lead, 6)

    def singularity_distance(self, q: Any) -> Floats:
        """(...,) the smallest singular value of the inverse Jacobian, lengths measured in `size`: without units."""
        lead, (q,) = self._arrays({"q": q})
        flat = self.inverse_jacobian(q, self.mechanism.body_names[-1]).reshape(-1, self.n, 6)
        return np.asarray(self._distances(flat)).reshape(lead)

    def _distances(self, inverses: Floats) -> Floats:
        K = inverses @ self._par.S
        linear = np.abs(self._par.S[:3]).max(axis=0) > 0.0
        K[:, :, linear] *= self.size
        K[:, self.mechanism.joint_type[self.joints] == PRISMATIC] /= self.size
        return np.asarray(np.linalg.svd(K, compute_uv=False)[:, -1])

    def check(self, q: Any) -> None:
        """Raise where a joint of a leg is beyond its limits, or the robot at or near a singularity."""
        lead, (q,) = self._arrays({"q": q})
        flat = q.reshape(-1, self.n)
        low, high = self.mechanism.position_limits[self.joints].T
        for k, j in np.argwhere((flat < low) | (flat > high))[:1]:
            raise WorkspaceError(
                f"{self.name}: joint '{self.joint_names[j]}' at {flat[k, j]:.6g} is beyond its limits"
                f" {low[j]:g} to {high[j]:g}"
            )
        self._check_limits(self._poses(flat)[1], lead)
        distance = np.atleast_1d(self.singularity_distance(flat))
        for k in np.flatnonzero(distance < SINGULAR_DISTANCE)[:1]:
            raise SingularityError(f"{self.name}: the legs hardly hold the platform at q = {_text(flat[k])}")

    def workspace(self, span: Any, samples: int = 1000, seed: int = 0, frame: str = "tool") -> Workspace:
        """Random poses about home: x, y, z (m) and roll, pitch, yaw (rad) each up to +-span (6,), uniformly."""
        reach = _numbers(span)
        if reach.shape != (6,) or not (np.isfinite(reach).all() and (reach >= 0.0).all()):
            raise InputError("the span must be six finite numbers not below zero: x y z (m), roll pitch yaw (rad)")
        if not isinstance(samples, int | np.integer) or samples < 0:
            raise InputError(f"the number of samples must be a whole number not below zero, found {samples!r:.80}")
        x = np.random.default_rng(seed).uniform(-reach, reach, (samples, 6))
        poses = np.tile(self._frame_poses(self._par.home[None], frame)[0], (samples, 1, 1))
        poses[:, :3, 3] += x[:, :3]
        if samples:
            poses[:, :3, :3] = Rotation.from_euler("ZYX", x[:, :2:-1]).as_matrix() @ poses[:, :3, :3]
        _, seven, _ = self._body_poses(poses, frame)
        rest = np.zeros((samples, 6))
        at, _, _, inverses, status = self._solve_legs(seven, rest, rest)
        reached = (status == OK) | (status == BEYOND)
        q = np.where(reached[:, None], at[:, self.joints], np.nan)
        distance = np.full(samples, np.nan)
        distance[reached] = self._distances(inverses[reached])
        return Workspace(poses, q, (status == OK) & ~self._beyond_limits(at).any(axis=1), distance)

    def _full(self, q_a: Floats) -> Floats:
        if self.formulation != "projection":
            try:
                return super()._full(q_a)
            except (SingularityError, ClosureError):
                pass  # of the chart, perhaps: closed by the platform's pose
        self._run(parallel.pose_batch, 1, lambda part: (q_a[None][part], self._one[0][part], self._one[1][part]))
        self._last[:] = self._full_of(self._one[0][0])
        return self._last.copy()

    def _full_of(self, at: Floats) -> Floats:
        """Positions of all joints of the tree: the legs', and the platform's in its chart."""
        m = self.mechanism
        n = len(at) - 7
        B = from_seven(at[None, n:])[0]
        R = m.R[n]
        before, p = R, m.p[n]
        slides = []
        for j in range(n, m.n):
            if m.joint_type[j] == REVOLUTE:
                break
            slides.append(before[:, 2])
            before = before @ m.R[j + 1] if j + 1 < m.n else before
        x = np.linalg.lstsq(np.stack(slides, axis=1), B[:3, 3] - p, rcond=None)[0]
        return np.concatenate([at[:n], x, _turns(m, n + len(slides), before, B[:3, :3])])

    # simulation in the tree's chart

    def joint_motion(self, q: Any, qd: Any) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the tree,) of all joints at active positions and speeds q, qd (n,)."""
        try:
            return super().joint_motion(q, qd)
        except (SingularityError, ClosureError):  # of the chart, perhaps: closed by the platform's pose
            at = self.closed(q, qd)
            return at.q, at.qd

    def rechart(self, record: Floats, loops: Motion, q: Floats) -> bool:
        """Let the chart of the platform's turn in a simulation's own record begin anew where it stands at q (n,).

        False, and nothing is done, where it stands near the chart's beginning: then the chart is not what is singular.
        """
        if len(self.chart) != 6:
            return False
        turns = self.chart[3:]
        axes: Floats = np.eye(3)
        if np.abs(loops.q[self.joints] - q).max() > CLOSED:  # a start, not reached yet
            try:
                at = self._poses(q)[1][0]
            except SingularityError:
                return False
            loops.q[:] = self._full_of(at)
            R = from_seven(at[None, -7:])[0, :3, :3]
        else:
            R, axes = self._turned(record, loops.q)
        beginning = self._turned(record, self.reference)[0]
        if np.trace(beginning.T @ R) > 1.0 + 2.0 * np.cos(CHARTED):
            return False
        first = record[turns[0] + 1, PLACEMENT : PLACEMENT + 9].reshape(3, 3)
        before = self._turned(record[: turns[0] + 1], loops.q)[0]
        first[:] = before.T @ R @ beginning.T @ before @ first
        w = axes @ loops.qd[turns]
        loops.q[turns] = self.reference[turns]
        loops.qd[turns] = np.linalg.solve(self._turned(record, loops.q)[1], w)
        return True

    def in_chart(self, record: Floats, q: Floats) -> Floats:
        """Positions (n of the tree,) of all joints in the described chart, from those in a simulation's record."""
        if len(self.chart) != 6:
            return q
        at = np.concatenate([q[: self.chart[0]], self._par.home[-7:-4], np.empty(4)])
        at[-4:] = Rotation.from_matrix(self._turned(record, q)[0]).as_quat()
        full = self._full_of(at)
        full[self.chart[:3]] = q[self.chart[:3]]
        return full

    def _turned(self, record: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Rotation of the last platform's body of a record at positions q, and (3, k) the axes of turns on the way."""
        R: Floats = np.identity(3)
        axes = []
        for j in self.chart[self.chart < len(record) - 1]:
            R = R @ record[j + 1, PLACEMENT : PLACEMENT + 9].reshape(3, 3)
            if self.mechanism.joint_type[j] == REVOLUTE:
                axes.append(R[:, 2])
                R = R @ _about_z(q[j])
        return R, np.array(axes).T

    # dynamics

    def _inverse_rows(self, values: dict[str, Any], wrenches: Any) -> Floats:
        if self._on_carriers(wrenches):
            return super()._inverse_rows(values, wrenches)
        return self._dynamics_of(parallel.inverse_batch, values, wrenches)

    def _bind_inverse(self) -> None:
        if self._inverse_call is never:
            self._inverse_call = parallel.inverse.bind(self._record_p, (self.n,), *self._par)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Any = "matrices") -> Floats:
        """Accelerations of the active joints under forces of theirs."""
        if self.formulation != "projection" or method != "matrices" or self._on_carriers(wrenches):
            return super().forward_dynamics(q, qd, tau, wrenches, method)
        return self._dynamics_of(parallel.direct_batch, {"q": q, "qd": qd, "tau": tau}, wrenches)

    def mass_matrix(self, q: Any) -> Floats:
        """A_c (..., n, n), kg or kg m^2: of the active joints, with the rotors' inertia."""
        if self.formulation != "projection":
            return super().mass_matrix(q)
        lead, (q,) = self._arrays({"q": q})
        flat = q.reshape(-1, self.n)
        out = np.empty((len(flat), self.n, self.n))
        self._run(parallel.mass_matrix_batch, len(flat), lambda part: (flat[part], out[part]))
        return out.reshape(*lead, self.n, self.n)

    def platform_wrenches(self, wrench: Any) -> Floats:
        """(..., n of the tree, 6) wrenches of which only the platform's (..., 6), in its described frame, is not 0."""
        w = _numbers(wrench)
        if w.shape[-1:] != (6,):
            raise InputError(f"a wrench on the platform has shape {w.shape}, expected (..., 6)")
        out = np.zeros((*w.shape[:-1], self.mechanism.n, 6))
        out[..., -1, :] = w
        return out

    def _dynamics_of(self, kernel: Any, values: dict[str, Any], wrenches: Any) -> Floats:
        lead, arrays = self._arrays(values)
        flat = [x.reshape(-1, self.n) for x in arrays]
        out = np.empty((len(flat[0]), self.n))
        w = self.platform_and_legs(self.tree._flat_wrenches(wrenches, lead, len(out)))
        self._run(kernel, len(out), lambda part: (*(x[part] for x in flat), w[part], out[part]))
        return out.reshape(*lead, self.n)

    def _on_carriers(self, wrenches: Any) -> bool:
        """Whether wrenches act on the carriers too, which only the tree has."""
        if wrenches is None:
            return False
        w = np.asarray(wrenches)
        if w.ndim < 2 or w.shape[-2] == 1:  # one for all bodies
            return bool(w.any())
        return bool(w[..., self.chart[0] : self.chart[-1], :].any())

    def platform_and_legs(self, w: Floats) -> Floats:
        """Wrenches (..., K + 1, 6) on legs and platform, from those on the tree's bodies (..., n, 6), or none."""
        if w.shape[-2] == 0:
            return w
        n = len(self._par.home) - 7
        return np.ascontiguousarray(np.concatenate([w[..., :n, :], w[..., -1:, :]], axis=-2))

    def _run(self, kernel: Any, count: int, rows: Any) -> None:
        """A kernel over rows, shared out among the cores; where it fails, the reason is said."""
        shares: list[Parallel] = []

        def slices(part: slice) -> tuple[Any, ...]:
            shares.append(self._fresh())
            return shares[-1], *rows(part)

        status = run_batch(kernel, self._record_p, count, slices)
        if status != OK:
            worst = min(shares, key=lambda share: self._distance_at(share.at))
            self._stop(status, worst)
        if count:
            self._par.at[:] = shares[-1].at

    def _distance_at(self, at: Floats) -> float:
        rest = np.zeros((1, 6))
        _, _, _, inverses, status = self._solve_legs(at[None, -7:].copy(), rest, rest)
        return float(self._distances(inverses)[0]) if status[0] in (OK, BEYOND) else 0.0

    def _stop(self, status: int, par: Parallel) -> NoReturn:
        at = par.at.copy()
        self._par.at[:] = self._par.home
        if status == NOT_FINITE:
            raise InputError(f"{self.name}: the active positions, or the result, are not finite")
        if status in (SINGULAR, OPEN):
            q = _text(at[self.joints])
            raise SingularityError(
                f"{self.name}: these active positions cannot be reached in this assembly mode; the platform comes to a"
                f" singularity, or a leg to its end, near q = {q}"
            )
        raise InputError(f"{self.name}: the dynamics cannot be computed here")


def _platform_joints(m: Mechanism) -> Any:
    """The joints of the platform's chart, which must be the last ones; StructureError where they are not a chart."""
    chain = []
    at = int(m.platform if m.platform is not None else BASE)
    while at != BASE:
        chain.append(at)
        at = int(m.parent[at])
    joints = np.array(chain[::-1])
    kinds = [int(m.joint_type[j]) for j in joints]
    straight = np.array_equal(joints, np.arange(m.n - len(joints), m.n))
    known = kinds in ([PRISMATIC] * 3 + [REVOLUTE] * 3, [PRISMATIC] * 2 + [REVOLUTE], [PRISMATIC] * 3)
    bare = known and straight and not (
        m.M[joints[:-1]].any() or m.active[joints].any() or m.p[joints[1:]].any()
        or m.Ia[joints].any() or m.Fv[joints].any() or m.Fs[joints].any() or m.elastic[joints].any()
    )  # fmt: skip
    across = bare and all(abs(m.R[j][2, 2]) < ORTHOGONAL for j in joints[1:] if not _slide_to_turn(m, j))
    if not across:
        raise StructureError(
            f"{m.name}: the platform must be carried by the last joints, without mass, friction or drive: slides along"
            " x, y, z and turns about z, y, x in one point, the slides alone, or slides along x, y and a turn about z"
        )
    return joints


def _slide_to_turn(m: Mechanism, j: int) -> bool:
    return bool(m.joint_type[j] == REVOLUTE and m.joint_type[j - 1] == PRISMATIC)


def _legs(m: Mechanism, n: int) -> tuple[list[Any], list[int]]:
    """The joints of every leg, and its loop."""
    root = np.arange(n)
    for j in range(n):
        if m.parent[j] != BASE:
            root[j] = root[m.parent[j]]
    joints, loops = [], []
    for r in np.unique(root):
        own = np.flatnonzero(root == r)
        ties = [
            k for k, loop in enumerate(m.loops)
            if {int(m.platform or 0)} < (ends := {loop.first.body, loop.second.body}) and ends & set(own.tolist())
        ]  # fmt: skip
        if len(ties) != 1 or not np.array_equal(own, np.arange(own[0], own[0] + len(own))):
            raise StructureError(
                f"{m.name}: the branch of '{m.joint_names[r]}' is not a leg: a leg's joints follow each other, and one"
                " loop ties it to the platform"
            )
        joints.append(own)
        loops.append(ties[0])
    if len(loops) != len(m.loops):
        raise StructureError(f"{m.name}: every loop of a parallel robot ties a leg to the platform")
    return joints, loops


def _note_aim(m: Mechanism, joints: Any, loop: int, leg: Floats) -> None:
    """Whether a leg is a universal joint and a slide that aim at a point: then its joints follow in closed form."""
    cut = m.loops[loop]
    here, there = (cut.first, cut.second) if cut.second.body == m.platform else (cut.second, cut.first)
    kinds = [int(m.joint_type[j]) for j in joints]
    if kinds != [REVOLUTE, REVOLUTE, PRISMATIC] or cut.kind != "spherical":
        return
    first, second, slide = joints
    serial = m.parent[second] == first and m.parent[slide] == second and here.body == slide
    e, u = m.R[second][:, 2], m.R[slide][:, 2]
    w = m.R[second] @ u
    offset = m.p[slide] + m.R[slide] @ here.p
    straight = abs(e[2]) < ORTHOGONAL and abs(u[2]) < ORTHOGONAL and not m.p[second].any()
    if not (serial and straight and np.abs(offset - (offset @ u) * u).max() < ORTHOGONAL):
        return
    t = np.cross(e, [0.0, 0.0, 1.0])
    leg[parallel.AIMED] = parallel.AIMS
    leg[parallel.TURN] = np.arctan2(t[1], t[0])
    leg[parallel.TILT] = np.arctan2(-w[2], w @ t)
    leg[parallel.LENGTH] = offset @ u
    leg[parallel.POINT : parallel.POINT + 3] = there.p


def _axis_frame(m: Mechanism, n: int) -> Floats:
    """Axes x, y, z of a planar platform's motion in the frame of its first slide."""
    x = np.array([0.0, 0.0, 1.0])
    y = m.R[n + 1][:, 2]
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _turns(m: Mechanism, first: int, before: Floats, R: Floats) -> Floats:
    """Angles of the turning joints of the platform's chart at its rotation R; before: that of the first one at zero."""
    B = before.T @ R
    if m.n == first:
        return np.empty(0)
    if m.n - first == 1:
        return np.array([np.arctan2(B[1, 0], B[0, 0])])
    R12, R23 = m.R[first + 1], m.R[first + 2]
    e, w, direction = R12[:, 2], R12 @ R23[:, 2], B[:, 2]
    t = np.cross(e, [0.0, 0.0, 1.0])
    turn, tilt = compiled_call(parallel.aim_at, *direction)
    a = turn - np.arctan2(t[1], t[0])
    b = tilt - np.arctan2(-w[2], w @ t)
    rest = (_about_z(a) @ R12 @ _about_z(b) @ R23).T @ B
    angles = np.array([a, b, np.arctan2(rest[1, 0], rest[0, 0])])
    return np.asarray(np.arctan2(np.sin(angles), np.cos(angles)))


def _about_z(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _numbers(x: Any) -> Floats:
    try:
        return np.asarray(x, float)
    except (TypeError, ValueError):
        raise InputError(f"these must be numbers, found {x!r:.80}") from None


def _body_pose(T: Floats, frame: Any) -> Floats:
    """Poses (m, 4, 4) of a body of which a frame stands at T."""
    B = T.copy()
    B[:, :3, :3] = T[:, :3, :3] @ frame.R.T
    B[:, :3, 3] = T[:, :3, 3] - B[:, :3, :3] @ frame.p
    return B


def _to_seven(T: Floats) -> Floats:
    """Positions and quaternions (x, y, z, w), (m, 7), of poses (m, 4, 4)."""
    if len(T) == 0:
        return np.empty((0, 7))
    return np.concatenate([T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).as_quat()], axis=1)


def from_seven(x: Floats) -> Floats:
    T = np.tile(np.eye(4), (len(x), 1, 1))
    if len(x):
        T[:, :3, :3] = Rotation.from_quat(x[:, 3:]).as_matrix()
        T[:, :3, 3] = x[:, :3]
    return T


def _text(q: Floats) -> str:
    return "[" + ", ".join(f"{x:.6g}" for x in q) + "]"
