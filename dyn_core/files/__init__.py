"""Files that are written whole or not at all, and time tables."""

from .atomic import open_file, user_path, whole_file, write_whole
from .time_table import LARGEST, MAX_LINE, Key, TimeTable, joint_columns, read_time_table

__all__ = [
    "LARGEST",
    "MAX_LINE",
    "Key",
    "TimeTable",
    "joint_columns",
    "open_file",
    "read_time_table",
    "user_path",
    "whole_file",
    "write_whole",
]
