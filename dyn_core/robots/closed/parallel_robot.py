"""A parallel robot: a platform that legs carry, in its active joints, by its own pose."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, Self

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.closure import CLOSED, MODE
from dyn_core.dynamics.loops.constraint_solver import LoopState
from dyn_core.dynamics.platform import dynamics, state_kernels
from dyn_core.dynamics.tree.record import T as PLACEMENT
from dyn_core.errors import InputError, SingularityError
from dyn_core.mechanism import REVOLUTE, Mechanism
from dyn_core.spatial.poses import from_seven, rotation_z
from dyn_core.stiffness import Stiffness, VirtualJoints

from ..configuration import Configuration
from ..robot import Formulation, checked_wrench
from .loop_robot import LoopRobot, by_branch
from .parallel_platform import ParallelPlatform
from .platform_layout import LegAssembly, PlatformLayout

FLATTEST = 0.3  # cosine of the pitch below which the chart of the platform is near its singularity
CHARTED = 0.5  # rad: a turn from the chart's beginning within which it is far from its singularity at 90 degrees


class ParallelRobot(LoopRobot):
    """A platform carried by legs, each with as many joints as the joint that ties it to the platform forbids motions.

    q, qd, qdd, tau (..., n) are those of the active joints; `platform` has what is asked by its pose. Formulation
    "projection" is Khalil's (66) over platform and legs, in which the platform's orientation is a rotation; the other
    formulations, and `LoopRobot` of the same mechanism, use the tree with its yaw, pitch and roll, and serve as its
    check.
    """

    assembly: LegAssembly

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if mechanism.platform is None:
            raise InputError(f"{mechanism.name} has no platform: use LoopRobot")
        if mechanism.mimic is not None:
            raise InputError(f"{mechanism.name} has joints that follow others: describe it without a platform")
        super().__init__(mechanism, formulation)
        self.layout = PlatformLayout(self.assembly)
        """How legs and platform lie in the kernels' memory."""

    def _assemble(self) -> LegAssembly:
        return LegAssembly(self.tree.model)

    def __repr__(self) -> str:
        return f"ParallelRobot({self.name!r}, n={self.n}, {len(self.mechanism.loops)} legs)"

    @property
    def platform(self) -> ParallelPlatform:
        """What the platform can do."""
        return ParallelPlatform(self, self.layout)

    def own_start(self) -> Floats:
        """(K + 7,) what `follow` starts from, for the caller to keep: the legs' joints, and the platform's pose."""
        return self.layout.start.copy()

    def positions_of(self, start: Floats) -> Floats:
        """(n of the tree,) positions of all joints in a configuration (K + 7,)."""
        return self.layout.full_of(start)

    def starting_at(self, near: Configuration) -> Self:
        """The same robot, on the branch of another closed configuration: others are looked for from there."""
        other = copy.copy(self)
        other.layout = self.layout.starting_at(self.layout.configuration_of(near))
        mode = self.branch.numbers[MODE] * other.layout.mode * self.layout.mode
        other.branch = self.assembly.branch_at(np.array(near.q), mode)
        return other

    def through_singularities(self) -> Self:
        """InputError: the tree's chart of the platform has singularities of its own."""
        raise InputError(f"{self.name} passes singularities in the pose of its platform: use simulate_platform")

    def with_continuous_friction(self, q: Any, h: float) -> Self:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        other = super().with_continuous_friction(q, h)
        other.layout = copy.copy(self.layout)
        other.layout.set_record(other.tree.model.record)
        return other

    # kinematics

    @by_branch
    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame, in the assembly mode of the home pose."""
        if self.mechanism.frame(frame).body != self.mechanism.platform:
            return super().forward_kinematics(q, frame)
        lead, (q,) = self.checked_state({"q": q})
        at, _ = self.layout.poses(q.reshape(-1, self.n))
        return self.layout.frame_poses(at, frame).reshape(*lead, 4, 4)

    @by_branch
    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n): the twist of a frame from the rates of the active joints."""
        found = self.mechanism.frame(frame)
        if found.body != self.mechanism.platform:
            return super().jacobian(q, frame)
        lead, (q,) = self.checked_state({"q": q})
        at, J = self.layout.poses(q.reshape(-1, self.n))
        arm = from_seven(at[:, -7:])[:, :3, :3] @ found.p
        J[:, :3] += np.cross(J[:, 3:], arm[:, :, None], axis=1)
        return J.reshape(*lead, 6, self.n)

    def follow(self, q: Floats, start: Floats) -> Configuration:
        """The closed configuration at q (n,), followed from start (K + 7,), which becomes it."""
        at, _ = self.layout.poses(q[None], start)
        start[:] = at[0]
        return self.layout.configuration(at[0])

    def stiffness(
        self, q: Any, frame: str = "tool", wrench: Any = None, near: Configuration | None = None
    ) -> Stiffness:
        """As of any LoopRobot; where the Euler-angle chart of the platform is nearly singular, in a re-centred one."""
        full, turns, m = self.standing(q, near), self.layout.chart[3:], self.mechanism
        if len(turns) != 3 or abs(np.cos(full[turns[1]])) > FLATTEST:
            return super().stiffness(q, frame, wrench, near)
        first = turns[0]
        before = self.tree.forward_kinematics(full, m.frames[first - 1].name)[:3, :3] @ m.frames[first - 1].R.T
        now = self._turned(self.tree.model.record, full)[0]
        R = m.R.copy()
        R[first] = before.T @ now @ (R[first] @ R[turns[1]] @ R[turns[2]]).T @ R[first]
        full[turns] = 0.0
        load = None if wrench is None else checked_wrench(wrench)
        return VirtualJoints(dataclasses.replace(m, R=R)).stiffness(full, frame, load)

    def distance_at(self, at: Configuration) -> float:
        """How far from singular a configuration is: the smallest singular value of the inverse Jacobian."""
        return self.layout.distance_at(self.layout.configuration_of(at))

    # simulation in the tree's chart

    def rechart(self, record: Floats, loops: LoopState, q: Floats) -> bool:
        """Re-centre the Euler-angle chart of the platform in a simulation's own record where it stands at q (n,).

        False, and nothing is done, where it stands near the chart's centre: then the chart is not what is singular.
        """
        chart, reference = self.layout.chart, self.reference
        if len(chart) != 6:
            return False
        turns = chart[3:]
        axes: Floats = np.eye(3)
        if np.abs(loops.q[self.joints] - q).max() > CLOSED:  # a start, not reached yet
            try:
                at = self.layout.poses(q[None])[0][0]
            except SingularityError:
                return False
            loops.q[:] = self.layout.full_of(at)
            R = from_seven(at[None, -7:])[0, :3, :3]
        else:
            R, axes = self._turned(record, loops.q)
        beginning = self._turned(record, reference)[0]
        if np.trace(beginning.T @ R) > 1.0 + 2.0 * np.cos(CHARTED):
            return False
        first = record[turns[0] + 1, PLACEMENT : PLACEMENT + 9].reshape(3, 3)
        before = self._turned(record[: turns[0] + 1], loops.q)[0]
        first[:] = before.T @ R @ beginning.T @ before @ first
        w = axes @ loops.qd[turns]
        loops.q[turns] = reference[turns]
        loops.qd[turns] = np.linalg.solve(self._turned(record, loops.q)[1], w)
        return True

    def in_chart(self, record: Floats, q: Floats) -> Floats:
        """Positions (n of the tree,) of all joints in the described chart, from those in a simulation's record."""
        chart = self.layout.chart
        if len(chart) != 6:
            return q
        at = np.concatenate([q[: chart[0]], self.layout.home[-7:-4], np.empty(4)])
        at[-4:] = Rotation.from_matrix(self._turned(record, q)[0]).as_quat()
        full = self.layout.full_of(at)
        full[chart[:3]] = q[chart[:3]]
        return full

    def _turned(self, record: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Rotation of the last platform's body of a record at positions q, and (3, k) the axes of turns on the way."""
        R: Floats = np.identity(3)
        axes = []
        chart = self.layout.chart
        for j in chart[chart < len(record) - 1]:
            R = R @ record[j + 1, PLACEMENT : PLACEMENT + 9].reshape(3, 3)
            if self.mechanism.joint_type[j] == REVOLUTE:
                axes.append(R[:, 2])
                R = R @ rotation_z(q[j])
        return R, np.array(axes).T

    # dynamics

    def _bound_inverse(self, start: Floats, follows: bool) -> Any:
        w = self.layout.workspaces.new()
        w.par.at[:] = start
        return dynamics.inverse.bind(w.record, (self.n,) * 3, (self.n,), w.par, start, np.array([float(follows)]))

    def _inverse_rows(self, values: dict[str, Any], wrenches: Any) -> Floats:
        if self.layout.on_carriers(wrenches):
            return super()._inverse_rows(values, wrenches)
        return self._of_platform(state_kernels.inverse_dynamics, values, wrenches)

    @by_branch
    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Any = "matrices") -> Floats:
        """Accelerations of the active joints under forces of theirs."""
        if self.formulation != "projection" or method != "matrices" or self.layout.on_carriers(wrenches):
            return super().forward_dynamics(q, qd, tau, wrenches, method)
        return self._of_platform(state_kernels.forward_dynamics, {"q": q, "qd": qd, "tau": tau}, wrenches)

    @by_branch
    def mass_matrix(self, q: Any) -> Floats:
        """A_c (..., n, n), kg or kg m^2: of the active joints, with the rotors' inertia."""
        if self.formulation != "projection":
            return super().mass_matrix(q)
        out, (flat,), _, rows = self._by_rows({"q": q}, None, (self.n, self.n))
        self.layout.run(state_kernels.mass_matrix, flat, rows)
        return out

    def _of_platform(self, kernel: Any, values: dict[str, Any], wrenches: Any) -> Floats:
        out, flat, w, rows = self._by_rows(values, wrenches, (self.n,))
        self.layout.run(kernel, *flat, self.layout.on_legs(w), rows)
        return out
