"""Stepper, integrators, voltage schedules."""

from dyn_core.dynamics.tree.integrators import FIXED_STEP
from dyn_core.robots.engine import Singularity

from .drive import steps_per_period
from .engines import kernels_compiled
from .platform import PlatformResult, simulate_platform
from .result import SimulationResult
from .stepper import ADAPTIVE, Stepper, simulate
from .virtual_springs import SpringResult, simulate_with_springs
from .voltage_schedule import INTERPOLATIONS, Interpolation, Schedule, read_schedule

__all__ = [
    "ADAPTIVE",
    "FIXED_STEP",
    "INTERPOLATIONS",
    "Interpolation",
    "PlatformResult",
    "Schedule",
    "SimulationResult",
    "Singularity",
    "SpringResult",
    "Stepper",
    "kernels_compiled",
    "read_schedule",
    "simulate",
    "simulate_platform",
    "simulate_with_springs",
    "steps_per_period",
]
