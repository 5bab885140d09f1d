"""The controller's states and what its motors get: follow, brake, hold, or 0 V. No ROS, no physics.

    inactive --activate--> active --stop--> stopping --at rest--> stopped --clear--> active

A stop is latched with its cause. A stop whose robot cannot be known (no joint states, say) goes to ``stopped`` with 0 V
at once. An emergency stop wins over everything: it begins a stop, takes the power from a robot that has stopped, and
neither activation nor clearing succeeds while one is pressed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

from dyn_core.errors import DynError

SafetyState = Literal["inactive", "active", "stopping", "stopped"]

EMERGENCY = "emergency stop"


class EmergencyStopPressed(DynError):
    """What was asked is not done while an emergency stop is pressed."""


class Safety:
    """State, cause and power; may be used from several threads.

    hold: after a stop by braking the position is held (False: 0 V). brake: an emergency stop brakes before it takes the
    power (False: 0 V at once).
    """

    def __init__(self, hold: bool = True, brake: bool = True) -> None:
        self.state: SafetyState = "inactive"
        self.cause = ""
        """Why it stops or has stopped; empty while active."""
        self.powered = False
        """False: the motors get 0 V."""
        self.hold = hold
        self.brake = brake
        self._pressed: dict[str, None] = {}
        self._cut = False  # an emergency stop was pressed since the stop began, released or not
        self._lock = threading.RLock()

    @property
    def pressed(self) -> tuple[str, ...]:
        """Where an emergency stop is pressed."""
        return tuple(self._pressed)

    def activate(self) -> None:
        """Begin; EmergencyStopPressed if it may not."""
        with self._lock:
            if self._pressed:
                raise EmergencyStopPressed(self._sentence())
            self.state, self.cause, self.powered, self._cut = "active", "", True, False

    def deactivate(self) -> None:
        """End: 0 V; the cause of a stop is forgotten."""
        with self._lock:
            self.state, self.cause, self.powered = "inactive", "", False

    def stop(self, cause: str, known: bool = True) -> bool:
        """Latch a stop; known: whether the robot's state is, so that it can brake. Says whether anything changed."""
        with self._lock:
            if self.state == "inactive" or (self.state != "active" and (known or not self.powered)):
                return False
            if self.state == "active":
                self.cause = cause
            elif cause != self.cause:
                self.cause = f"{self.cause}; then {cause}"
            self.state, self.powered = ("stopping", True) if known else ("stopped", False)
            return True

    def at_rest(self) -> None:
        """The braking has ended."""
        with self._lock:
            if self.state == "stopping":
                self.state, self.powered = "stopped", self.hold and not self._cut

    def press(self, source: str) -> bool:
        """Press the emergency stop of a source; says whether anything changed."""
        with self._lock:
            new = source not in self._pressed
            self._pressed[source] = None
            self._cut = True
            if self.state == "stopped":
                self.powered = False
            else:
                self.stop(self.cause if self.state == "stopping" else self._sentence(), self.brake)
            return new

    def release(self, source: str) -> bool:
        """Release the emergency stop of a source, which clears no fault; says whether anything changed."""
        with self._lock:
            if source not in self._pressed:
                return False
            del self._pressed[source]
            return True

    def clear(self, present: Sequence[str] = ()) -> tuple[bool, str]:
        """Leave a stop unless a cause is ``present`` still; whether it was left, and a sentence."""
        with self._lock:
            if self._pressed:
                present = (self._sentence(), *present)
            if self.state == "inactive":
                return False, "the controller is not active" + (f"; {present[0]}" if present else "")
            if self.state == "active":
                return True, "there was no fault"
            if present:
                return False, "the cause is still there: " + "; ".join(present)
            if self.state == "stopping":
                return False, f"the robot is still braking: {self.cause}"
            sentence = f"cleared: {self.cause}; holding the present position"
            self.state, self.cause, self.powered, self._cut = "active", "", True, False
            return True, sentence

    def _sentence(self) -> str:
        return f"{EMERGENCY} ({', '.join(self._pressed)})"
