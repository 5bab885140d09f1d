"""A robot of open chains on a fixed base."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import BaseParameters, base_parameters
from dyn_core.dynamics.parameters.regressor import WIDTH as PARAMETERS
from dyn_core.dynamics.parameters.regressor import regressor_batch, standard_parameters
from dyn_core.dynamics.tree import native_calls as calls
from dyn_core.dynamics.tree.aba import aba_batch, mixed_batch
from dyn_core.dynamics.tree.crba import mass_matrix_by_columns
from dyn_core.dynamics.tree.kinematics import all_poses_batch, frame_jacobian_batch, frame_pose_batch
from dyn_core.dynamics.tree.mass_matrix_solve import by_matrices_batch
from dyn_core.dynamics.tree.rnea import rnea_batch
from dyn_core.errors import InputError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.native_call import native, native_by_frame, never
from dyn_core.mechanism import Mechanism

from .open_robot import OpenRobot
from .robot import Robot


class TreeRobot(OpenRobot):
    """A tree of n joints on a fixed base. Of a mechanism with loops, or mimic joints: with chains open and all joints
    independent."""

    _kernels: ClassVar[dict[str, Any]] = {
        "_inverse": rnea_batch,
        "_direct": aba_batch,
        "_matrices": by_matrices_batch,
        "_mixed": mixed_batch,
    }

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.base is not None:
            raise InputError(f"{mechanism.name} has a floating base: use FloatingRobot")
        super().__init__(mechanism)

    # dynamics

    @native
    def _inverse(self) -> Any:
        return calls.inverse_dynamics.bind(self.model.workspaces.new(), (self.n,) * 3, (self.n,))

    @native
    def _direct(self) -> Any:
        return calls.forward_dynamics.bind(self.model.workspaces.new(), (self.n,) * 3, (self.n,))

    @native
    def _mass(self) -> Any:
        return calls.mass_matrix.bind(self.model.workspaces.new(), (self.n,), (self.n, self.n))

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(n,) forces for accelerations qdd (n,) of the driven joints; passive and elastic ones move as they must."""
        if self.driven.all():
            return self.inverse_dynamics(q, qd, qdd)
        tau, qdd = np.zeros((1, self.n)), qdd[None].copy()
        self.model.batch(
            mixed_batch, (1,), qdd, q[None], qd[None], [self.driven.astype(float)], np.empty((1, 0, 6)), tau
        )
        return tau[0]

    def mass_matrix_by_columns(self, q: Any) -> Floats:
        """H (n, n) by Walker and Orin's first method: slow, a check of `mass_matrix`."""
        (q,) = self.single_state({"q": q})
        H = np.empty((self.n, self.n))
        column, unit = np.empty(self.n), np.zeros(self.n)
        with self.model.workspaces.one() as record:
            compiled_call(mass_matrix_by_columns, record, q, self._zero, unit, column, H)
        return H

    # parameters

    def regressor(self, q: Any, qd: Any, qdd: Any) -> Floats:
        """Y (..., n, 13 n), with which tau = Y chi (+ the springs' forces), chi = `standard_parameters`.

        chi has, body by body, [XX XY XZ YY YZ ZZ MX MY MZ M Ia Fv Fs] in the body frames, see
        dynamics/parameters/regressor.py.
        """
        lead, arrays = self.checked_state({"q": q, "qd": qd, "qdd": qdd})
        return self.model.batch(regressor_batch, lead, np.empty((*lead, self.n, self.n * PARAMETERS)), *arrays)

    @property
    def standard_parameters(self) -> Floats:
        """chi (13 n,): per body XX XY XZ YY YZ ZZ (kg m^2), MX MY MZ (kg m), M (kg), Ia, Fv, Fs."""
        return standard_parameters(self.mechanism)

    def base_parameters(self, rotor: bool = True, friction: bool = True) -> BaseParameters:
        """The minimal set of parameters of the dynamics, by Gautier and Khalil's rules."""
        return base_parameters(self.mechanism, rotor, friction)

    # kinematics

    @native_by_frame
    def _pose(self, frame: str) -> Any:
        row, constant = self.model.frame(frame)
        return calls.frame_pose.bind(self.model.workspaces.new(), (self.n,), (4, 4), np.append(constant, row))

    @native_by_frame
    def _jacobian(self, frame: str) -> Any:
        row, constant = self.model.frame(frame)
        return calls.frame_jacobian.bind(self.model.workspaces.new(), (self.n,), (6, self.n), np.append(constant, row))

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame."""
        pose = self._pose.get(frame, never)(q)
        if pose is not None:
            return pose
        return self._of_frame("_pose", frame_pose_batch, frame, q, (4, 4))

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n) of a frame's origin: rows v, omega in base axes."""
        J = self._jacobian.get(frame, never)(q)
        if J is not None:
            return J
        return self._of_frame("_jacobian", frame_jacobian_batch, frame, q, (6, self.n))

    def frame_motion(self, q: Any, qd: Any, frame: str = "tool") -> tuple[Floats, Floats]:
        """Pose (4, 4) and twist (6,) of a frame in the base frame, at q, qd (n,)."""
        return self.forward_kinematics(q, frame), self.jacobian(q, frame) @ qd

    def _of_frame(self, call: str, kernel: Any, frame: str, q: Any, shape: tuple[int, int]) -> Floats:
        row, constant = self.model.frame(frame)
        lead, (q,) = self.checked_state({"q": q})
        answer = self.first_call(call, q, frame=frame) if lead == () else None
        if answer is not None:
            return answer
        return self.model.batch(kernel, lead, np.empty((*lead, *shape)), q, [row], [constant])

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames` in the base frame."""
        lead, (q,) = self.checked_state({"q": q})
        rows, constants = self.model.frames
        return self.model.batch(all_poses_batch, lead, np.empty((*lead, len(rows), 4, 4)), q, [rows], [constants])


def require_tree(robot: Robot, what: str) -> TreeRobot:
    """The robot, if it is a tree of independent joints on a fixed base; else InputError with what is for trees only."""
    if isinstance(robot, TreeRobot):
        return robot
    m = robot.mechanism
    has = "closed chains" if m.loops else "a floating base" if m.base is not None else "joints that follow others"
    raise InputError(
        f"{robot.name} has {has}: {what} can be computed of trees of independent joints on a fixed base only"
    )
