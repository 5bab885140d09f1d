"""The arm shell after Swartz's `sim`: its session, variables and commands, without a terminal."""

from .completion import completions
from .session import FIRST_ROBOT, Quit, Session

__all__ = ["FIRST_ROBOT", "Quit", "Session", "completions"]
