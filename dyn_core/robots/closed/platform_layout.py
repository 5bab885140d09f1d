"""How the legs of a parallel robot are laid out, and its kernels over rows of states."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.optimize import least_squares

from dyn_core.arrays import Floats, read_only
from dyn_core.dynamics.loops.closure import CLOSED
from dyn_core.dynamics.loops.constraints import FIRST, SECOND
from dyn_core.dynamics.platform import leg_closure, state_kernels
from dyn_core.dynamics.platform import state as parallel
from dyn_core.dynamics.platform.state import LARGEST_LEG, LEG_WIDTH, Parallel
from dyn_core.dynamics.tree.batch import run_batch
from dyn_core.dynamics.tree.record import FIRST as ELEMENT_FIRST
from dyn_core.dynamics.tree.record import FREE, PARENT, SIGMA
from dyn_core.dynamics.tree.record import SECOND as ELEMENT_SECOND
from dyn_core.dynamics.tree.state_kernels import frame_pose
from dyn_core.dynamics.workspaces import Workspaces
from dyn_core.errors import ClosureError, InputError, SingularityError, StructureError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import BEYOND, NOT_FINITE, OK, OPEN, SINGULAR
from dyn_core.mechanism import BASE, PRISMATIC, REVOLUTE, Mechanism
from dyn_core.spatial.poses import from_seven, rotation_z, to_seven

from ..configuration import Configuration
from .loop_assembly import LoopAssembly, numbers_text

ORTHOGONAL = 1e-9  # of what makes a leg one that aims
UNIT = 1e-6  # by which the length of a quaternion may differ from 1


class LegAssembly(LoopAssembly):
    """Loops that tie legs to a platform: they are closed at its described pose."""

    def _assembled(self, q: Floats) -> Floats:
        legs = np.arange(len(q) - len(platform_joints(self.mechanism)))
        rest = np.zeros(len(q))

        def at(x: Floats) -> Floats:
            return np.append(x, q[len(legs) :])

        def phi(x: Floats) -> Floats:
            return self.terms(self.all_rows, at(x), rest)[0]

        if np.abs(phi(q[: len(legs)])).max() <= 1e-14:
            return q
        found = least_squares(
            phi, q[: len(legs)], lambda x: self.terms(self.all_rows, at(x), rest)[1][:, legs],
            xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip
        if np.abs(phi(found.x)).max() > CLOSED:
            name, by = self.worst(at(found.x))
            raise ClosureError(
                f"{self.name}: leg '{name}' does not reach the platform in its home pose; it stays away by {by}"
            )
        return at(found.x)


class PlatformWorkspace(NamedTuple):
    """Scratch memory of the kernels of legs and platform."""

    record: Floats
    par: Parallel

    @staticmethod
    def new(record: Floats, par: Parallel) -> PlatformWorkspace:
        """A workspace where the platform stands as in par."""
        return PlatformWorkspace(
            record.copy(), parallel.parallel(par.rows, par.legs, par.active, par.S, par.numbers, par.at)
        )


class PlatformLayout:
    """Legs and platform as kernels read them; a configuration is (K + 7,): the legs' joints, and the platform's pose
    by position and quaternion (x, y, z, w)."""

    def __init__(self, assembly: LegAssembly) -> None:
        self.assembly, self.mechanism = assembly, assembly.mechanism
        self.name, self.size, self.joints = assembly.name, assembly.size, assembly.joints
        self.chart = platform_joints(self.mechanism)
        """The tree's joints, the last ones, that carry the platform: its displacement from home."""
        self.par = self._parallel()
        """What kernels read of legs and platform."""
        self.home = self.start = self.par.at
        """(K + 7,) the described configuration, and the one that all others are looked for from."""
        self.S = self.par.S
        """(6, n) unit twists that the platform can make."""
        self.set_record(assembly.model.record)

    def _parallel(self) -> Parallel:
        m = self.mechanism
        n = m.n - len(self.chart)
        rows = self.assembly.all_rows.copy()
        for column in (FIRST, SECOND):
            on_platform = rows[:, column] == m.n
            rows[on_platform, column] = n + 1
        legs = np.zeros((len(m.loops), LEG_WIDTH))
        order: list[int] = []
        owners = np.array(self.assembly.owners)
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
                leg[parallel.FLIPPED] = np.cos(self.assembly.reference[joints[1]] + leg[parallel.TILT]) < 0.0
                leg[parallel.AIMED] = parallel.AIMS if m.active[joints[:2]].any() else parallel.SLIDES
        body = m.body_names[m.n - 1]
        model, at = self.assembly.model, self.assembly.reference[None]
        pose = model.batch(frame_pose, (1,), np.empty((1, 4, 4)), [model.frame(body)], at)
        home = np.append(at[0, :n], to_seven(body_pose(pose, m.frame(body)))[0])
        S = np.eye(6)[:, : len(self.chart)]
        if len(self.chart) == 3 and m.joint_type[-1] == REVOLUTE:
            R = m.R[n] @ _axis_frame(m, n)
            S = np.zeros((6, 3))
            S[:3, 0], S[:3, 1], S[3:, 2] = R[:, 0], R[:, 1], R[:, 2]
        numbers = np.array([self.size, 0.0])
        return parallel.parallel(
            np.ascontiguousarray(rows[order]), legs, self.assembly.active, np.ascontiguousarray(S), numbers, home
        )

    def set_record(self, tree: Floats) -> None:
        """Take the bodies of a tree's record, and the working and assembly modes at `start`."""
        n = self.mechanism.n - len(self.chart)
        self.record = read_only(self._bodies(tree, n))
        """What kernels read of the bodies; nobody writes to it."""
        self._set_modes()

    def _bodies(self, tree: Floats, n: int) -> Floats:
        """Base, legs of n joints, platform and force elements, from a tree's record."""
        last = self.mechanism.n
        record = np.concatenate([tree[: n + 1], tree[last:]])
        record[n + 1, PARENT], record[n + 1, SIGMA] = 0.0, FREE
        for column in (ELEMENT_FIRST, ELEMENT_SECOND):
            bodies = record[n + 2 :, column]
            if ((bodies > n) & (bodies < last)).any():
                raise StructureError(f"{self.name}: a spring acts on what carries the platform, which has no body")
            bodies[bodies == last] = n + 1
        return record

    def _set_modes(self) -> None:
        """The signs that tell working modes and the assembly mode, as they are at `start`."""
        legs, numbers = self.par.legs.copy(), self.par.numbers.copy()
        legs[:, parallel.SIGN] = numbers[1] = 0.0
        found = np.empty(len(legs) + 1)
        par = parallel.parallel(self.par.rows, legs, self.par.active, self.par.S, numbers, self.start)
        status = compiled_call(state_kernels.signs, self.record.copy(), par, self.start, found)
        where = "the home pose" if self.start is self.home else "the configuration `near`"
        if status != OK:
            raise SingularityError(f"{self.name}: a leg is stretched or folded in {where}")
        if found[-1] == 0.0:
            raise SingularityError(f"{self.name}: the active joints do not hold the platform in {where}")
        legs[:, parallel.SIGN], numbers[1] = np.sign(found[:-1]), np.sign(found[-1])
        self.par = par._replace(at=self.start)
        self.workspaces = Workspaces(partial(PlatformWorkspace.new, self.record, self.par))

    @property
    def mode(self) -> float:
        """1 or -1: the product of the signs that tell working modes and the assembly mode."""
        return float(np.prod(self.par.legs[:, parallel.SIGN]) * self.par.numbers[1])

    def starting_at(self, start: Floats) -> PlatformLayout:
        """The same, on the branch of another configuration (K + 7,)."""
        other = copy.copy(self)
        other.start = start
        other._set_modes()
        return other

    # kernels over rows

    def run(self, kernel: StateKernel, *rows: Floats, start: Floats | None = None) -> None:
        """A kernel over rows (m, ...), shared out among the cores; where it fails, the reason is said."""
        begin = self.start if start is None else start
        stopped: list[Floats] = []
        status = run_batch(
            kernel, self.workspaces, len(rows[0]), lambda w, part: (w.record, w.par, begin, *(x[part] for x in rows)),
            failed=lambda w: stopped.append(w.par.at.copy()),
        )  # fmt: skip
        if status != OK:
            self._stop(status, min(stopped, key=self.distance_at))

    def _stop(self, status: int, at: Floats) -> NoReturn:
        if status == NOT_FINITE:
            raise InputError(f"{self.name}: the active positions, or the result, are not finite")
        if status in (SINGULAR, OPEN):
            q = numbers_text(at[self.joints])
            raise SingularityError(
                f"{self.name}: these active positions cannot be reached in this assembly mode; the platform comes to a"
                f" singularity, or a leg to its end, near q = {q}"
            )
        raise InputError(f"{self.name}: the dynamics cannot be computed here")

    def solve_legs(self, seven: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Configurations (m, K + 7), rates and accelerations (m, K), inverse Jacobians (m, n, 6) and status (m,).

        From poses (m, 7), twists and accelerations (m, 6) of the platform's body.
        """
        count, n, f = len(seven), len(self.home) - 7, len(self.joints)
        at, status = np.empty((count, n + 7)), np.empty((count, 1))
        rates, seconds, inverses = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, f, 6))
        self.run(state_kernels.legs_at_pose, seven, v, a, at, rates, seconds, inverses, status)
        return at, rates, seconds, inverses, status[:, 0]

    def poses(self, q: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
        """Configurations (m, K + 7) and Jacobians (m, 6, n) of the platform's body at q (m, n), followed from start."""
        at, J = np.empty((len(q), len(self.home))), np.empty((len(q), 6, len(self.joints)))
        self.run(state_kernels.configuration, q, at, J, start=start)
        return at, J

    # configurations

    def full_of(self, at: Floats) -> Floats:
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

    def configuration(self, at: Floats) -> Configuration:
        """Configurations (..., K + 7) as others see them."""
        full = [self.full_of(each) for each in at.reshape(-1, at.shape[-1])]
        return Configuration(np.reshape(full, (*at.shape[:-1], self.mechanism.n)), at[..., -7:])

    def configuration_of(self, near: Configuration) -> Floats:
        """(K + 7,) of a configuration; InputError where it is not one of this robot."""
        q = self.assembly.closed_at(near)
        pose = np.empty(0) if near.pose is None else near.pose
        if pose.shape != (7,) or not abs(np.linalg.norm(pose[3:]) - 1.0) < UNIT:
            raise InputError(f"{self.name}: near must be one configuration of this robot, with the platform's pose")
        at = np.concatenate([q[: len(self.home) - 7], pose])
        self.assembly.closed_at(Configuration(self.full_of(at)))
        return at

    def frame_poses(self, at: Floats, frame: str) -> Floats:
        """(m, 4, 4) of a frame of the platform at configurations (m, K + 7)."""
        found = self.mechanism.frame(frame)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = found.R, found.p
        return from_seven(at[:, -7:]) @ T

    def beyond_limits(self, at: Floats) -> Any:
        """(m, K) which joints of the legs are beyond their limits."""
        n = at.shape[1] - 7
        low, high = self.mechanism.position_limits[:n].T
        return (at[:, :n] < low) | (at[:, :n] > high)

    def distances(self, inverses: Floats) -> Floats:
        """(m,) smallest singular values of inverse Jacobians (m, n, 6) of the body, lengths measured in `size`."""
        K = inverses @ self.par.S
        linear = np.abs(self.par.S[:3]).max(axis=0) > 0.0
        K[:, :, linear] *= self.size
        K[:, self.mechanism.joint_type[self.joints] == PRISMATIC] /= self.size
        return np.asarray(np.linalg.svd(K, compute_uv=False)[:, -1])

    def distance_at(self, at: Floats) -> float:
        """The same at a configuration (K + 7,); 0 where a leg does not reach."""
        rest = np.zeros((1, 6))
        _, _, _, inverses, status = self.solve_legs(at[None, -7:].copy(), rest, rest)
        return float(self.distances(inverses)[0]) if status[0] in (OK, BEYOND) else 0.0

    # wrenches

    def on_carriers(self, wrenches: Any) -> bool:
        """Whether wrenches (..., n of the tree, 6) act on the platform's carriers too, which only the tree has."""
        if wrenches is None:
            return False
        w = np.asarray(wrenches)
        if w.ndim < 2 or w.shape[-2] == 1:  # one for all bodies
            return bool(w.any())
        return bool(w[..., self.chart[0] : self.chart[-1], :].any())

    def on_legs(self, w: Floats) -> Floats:
        """Wrenches (..., K + 1, 6) on legs and platform, from those on the tree's bodies (..., n, 6), or none."""
        if w.shape[-2] == 0:
            return w
        n = len(self.home) - 7
        return np.ascontiguousarray(np.concatenate([w[..., :n, :], w[..., -1:, :]], axis=-2))


def platform_joints(m: Mechanism) -> Any:
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
    turn, tilt = compiled_call(leg_closure.aim_at, *direction)
    a = turn - np.arctan2(t[1], t[0])
    b = tilt - np.arctan2(-w[2], w @ t)
    rest = (rotation_z(a) @ R12 @ rotation_z(b) @ R23).T @ B
    angles = np.array([a, b, np.arctan2(rest[1, 0], rest[0, 0])])
    return np.asarray(np.arctan2(np.sin(angles), np.cos(angles)))


def body_pose(T: Floats, frame: Any) -> Floats:
    """Poses (m, 4, 4) of a body of which a frame stands at T."""
    B = T.copy()
    B[:, :3, :3] = T[:, :3, :3] @ frame.R.T
    B[:, :3, 3] = T[:, :3, 3] - B[:, :3, :3] @ frame.p
    return B
