"""The arm shell after Swartz's `sim`: its session, variables and commands, without a terminal."""

from .commands import COMMANDS
from .completion import completions
from .session import FIRST_ROBOT, Quit, Session
from .variables import VARIABLES

__all__ = ["COMMANDS", "FIRST_ROBOT", "VARIABLES", "Quit", "Session", "completions"]
