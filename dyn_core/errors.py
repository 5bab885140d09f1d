"""Every way in which dyn_core can fail, by name."""


class DynError(Exception):
    """Base of all errors of dyn_robot; its text is one sentence fit for a user, on one line and printable."""

    def __str__(self) -> str:
        return printable(super().__str__())


def printable(text: str) -> str:
    """A text on one line, without the characters that a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


class DescriptionError(DynError):
    """A robot description cannot be used: says the file, the place, what was found and what is allowed."""


class UnknownRobotError(DescriptionError):
    """No robot of that name is shipped, and no file of that name exists."""


class InputError(DynError, ValueError):
    """An argument has the wrong shape or type, or is not finite."""


class RefusedError(DynError):
    """A message, command or trajectory that is not used; ``reason`` is the short text under which it is counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class MissingMotorError(DynError):
    """Voltages or DAC codes were asked of a robot that describes no motors."""


class SingularityError(DynError):
    """A matrix that had to be inverted is singular at this configuration."""


class MissingLibraryError(DynError):
    """An optional library that a task needs is not installed."""


class CustomisationError(DynError):
    """A customised model cannot be made or kept."""


class ClosureError(DynError):
    """A closed chain cannot be closed: says which loop, and how far it is from closing."""


class WorkspaceError(DynError):
    """A pose that a robot cannot have: says which leg does not reach it, or is beyond which limit."""


class StructureError(DynError):
    """A formulation does not apply to a mechanism of this structure."""


class SimulationError(DynError):
    """A simulation cannot go on; what was computed so far is kept."""


class IdentificationError(DynError):
    """A log does not show a robot's parameters: says what is left unexplained and what may be wrong."""


class SaturationWarning(UserWarning):
    """A torque, voltage or DAC code was limited."""


class DescriptionWarning(UserWarning):
    """A robot description is used as it stands, but no real robot can be like it."""


class StepSizeWarning(UserWarning):
    """Fixed steps are too coarse for a simulated motion: the text says by how much, and which steps are not."""
