"""Motors, amplifiers and DAC channels."""

from .dac_channels import GAINS, Calibration, Channel, ChannelMap
from .dac_file import Calibrated, ChannelEntry, DacFile, read_calibration, read_dac_file, write_calibration
from .motors import Actuation, Bools, Codes, Converter

__all__ = [
    "GAINS",
    "Actuation",
    "Bools",
    "Calibrated",
    "Calibration",
    "Channel",
    "ChannelEntry",
    "ChannelMap",
    "Codes",
    "Converter",
    "DacFile",
    "read_calibration",
    "read_dac_file",
    "write_calibration",
]
