"""Excitation of a robot, and the fit of its parameters to a log."""

from dyn_core.dynamics.parameters.base_parameters import BaseParameters, base_parameters_by_rank

from .excitation import Excitation, FourierSeries, excite
from .fit import identify
from .hypotheses import explanations
from .identification import DriveTerm, Identification
from .log_format import LogFormat, read_log_format
from .motion_log import MotionLog, joint_motion, motion_csv, read_motion_log, rehearsed
from .payload import Payload, identify_payload
from .physical_parameters import with_parameters
from .signals import Samples, prepare

__all__ = [
    "BaseParameters",
    "DriveTerm",
    "Excitation",
    "FourierSeries",
    "Identification",
    "LogFormat",
    "MotionLog",
    "Payload",
    "Samples",
    "base_parameters_by_rank",
    "excite",
    "explanations",
    "identify",
    "identify_payload",
    "joint_motion",
    "motion_csv",
    "prepare",
    "read_log_format",
    "read_motion_log",
    "rehearsed",
    "with_parameters",
]
