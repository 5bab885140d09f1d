"""Everything that the nodes of a robot call, called once, so that its kernels are compiled and kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from dyn_core.errors import DynError
from dyn_core.jit.compile_progress import compile_progress
from dyn_core.robots.robot import Robot
from dyn_core.simulation import Stepper
from dyn_core.stiffness_maps import first_queries

from .braking import Brake
from .computed_torque import ComputedTorque
from .limits import KINDS, Limits
from .motion_intake import MotionIntake
from .safety_state import Safety
from .trajectory_follower import Follower
from .watchdogs import LimitWatch

Part = Literal["simulation", "control"]
PARTS: tuple[Part, ...] = ("simulation", "control")
"""Halves of about the same work, which two processes can compile side by side; stiffness is with control."""


def compile_kernels(robot: Robot, part: Part, show: Callable[[int, int], None]) -> None:
    """Compile one part; show(ready, needed): called as kernels become ready."""
    calls = _simulation(robot) if part == "simulation" else _control(robot)
    with compile_progress(show):
        for call in calls:
            with contextlib.suppress(DynError):  # what a robot cannot do, its nodes do not ask of it either
                call()


def _simulation(robot: Robot) -> Iterator[Callable[[], object]]:
    def steps() -> None:
        stepper = Stepper(robot, robot.neutral(), np.zeros(robot.n))
        stepper.step(np.zeros(robot.n), 1)
        stepper.step(np.zeros(robot.n), 1, np.zeros((robot.mechanism.n, 6)))

    yield steps
    yield lambda: robot.actuation.codes(np.zeros(robot.n))


def _control(robot: Robot) -> Iterator[Callable[[], object]]:
    q = robot.neutral()
    yield lambda: first_queries(robot, "tool")

    def follow() -> None:
        limits = Limits(robot)
        law = ComputedTorque(robot)
        watch = LimitWatch(limits, dict.fromkeys(KINDS, "warn"), 0.1)
        MotionIntake(Follower(law, Brake(law, limits), watch, Safety()), limits, robot, 0.01).warm_up(q)

    yield follow
    yield lambda: robot.actuation.voltages(robot.inverse_dynamics(*[q[None]] * 3), q[None])
