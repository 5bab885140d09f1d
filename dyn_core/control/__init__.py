"""Computed torque, limits, braking, safety states."""

from .braking import Brake
from .computed_torque import Command, ComputedTorque
from .first_calls import PARTS, Part, compile_kernels
from .goal_tolerances import (
    GOAL_POSITION,
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER,
    PATH_TOLERANCE,
    SUCCESSFUL,
    Following,
    Tolerances,
)
from .limits import KINDS, Excess, Limits, Margins
from .motion_intake import MotionIntake
from .motion_plan import Line, Plan, TrackedState, Waypoints
from .safety_state import EmergencyStopPressed, Safety
from .simulated_stop import Stop, simulate_stop
from .trajectory_follower import Follower
from .watchdogs import DeadlineWatch, LimitWatch, PeerWatch, SilenceWatch

__all__ = [
    "GOAL_POSITION",
    "INVALID_GOAL",
    "INVALID_JOINTS",
    "KINDS",
    "OLD_HEADER",
    "PARTS",
    "PATH_TOLERANCE",
    "SUCCESSFUL",
    "Brake",
    "Command",
    "ComputedTorque",
    "DeadlineWatch",
    "EmergencyStopPressed",
    "Excess",
    "Follower",
    "Following",
    "LimitWatch",
    "Limits",
    "Line",
    "Margins",
    "MotionIntake",
    "Part",
    "PeerWatch",
    "Plan",
    "Safety",
    "SilenceWatch",
    "Stop",
    "Tolerances",
    "TrackedState",
    "Waypoints",
    "compile_kernels",
    "simulate_stop",
]
