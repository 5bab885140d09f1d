"""Excitation of a robot, and the fit of its parameters to a log."""

from dyn_core.dynamics.parameters.base_parameters import BaseParameters, base_parameters_by_rank

from .excitation import Excitation, FourierSeries, excite
from .fit import Identification, identify
from .motion_log import MotionLog, motion_csv, read_motion_log
from .physical_parameters import with_parameters
from .signals import Samples, prepare

__all__ = [
    "BaseParameters",
    "Excitation",
    "FourierSeries",
    "Identification",
    "MotionLog",
    "Samples",
    "base_parameters_by_rank",
    "excite",
    "identify",
    "motion_csv",
    "prepare",
    "read_motion_log",
    "with_parameters",
]
