"""Every state of the controller against every event, without ROS."""

from __future__ import annotations

import itertools

import pytest

from dyn_core.control.safety_state import EmergencyStopPressed, Safety

EVENTS = {
    "activate": lambda s: _quietly(s),
    "deactivate": lambda s: s.deactivate(),
    "stop": lambda s: s.stop("known"),
    "stop unknown": lambda s: s.stop("unknown", known=False),
    "at rest": lambda s: s.at_rest(),
    "press": lambda s: s.press("topic"),
    "press other": lambda s: s.press("service"),
    "release": lambda s: s.release("topic"),
    "clear": lambda s: s.clear(),
    "clear with cause": lambda s: s.clear(["it is there"]),
}


def _quietly(safety: Safety) -> None:
    if safety.state == "inactive" and not safety.pressed:
        safety.activate()


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("brake", [True, False])
def test_what_holds_after_any_sequence_of_events(hold: bool, brake: bool) -> None:
    for names in itertools.product(EVENTS, repeat=4):
        safety = Safety(hold, brake)
        safety.activate()
        for name in names:
            before, pressed, cause = safety.state, safety.pressed, safety.cause
            powered = safety.powered
            EVENTS[name](safety)
            assert safety.powered <= (safety.state != "inactive")
            assert (safety.cause != "") == (safety.state in ("stopping", "stopped"))
            if safety.pressed:
                assert safety.state != "active"
                assert not (safety.state == "stopped" and safety.powered)
                assert brake or not safety.powered
            if before in ("stopping", "stopped") and safety.state == "active":
                assert name == "clear"
                assert not pressed
                assert before == "stopped"
            if before == "inactive":
                assert name == "activate" or safety.state == "inactive"
            if cause and safety.cause:
                assert safety.cause.startswith(cause)
            if name == "stop unknown":
                assert not safety.powered
            if not powered and safety.powered:
                assert name in ("activate", "clear")


def test_a_stop_brakes_and_holds_and_is_cleared() -> None:
    safety = Safety()
    safety.activate()
    assert safety.stop("too fast")
    assert not safety.stop("again")
    assert (safety.state, safety.cause, safety.powered) == ("stopping", "too fast", True)
    assert safety.clear() == (False, "the robot is still braking: too fast")
    safety.at_rest()
    assert (safety.state, safety.powered) == ("stopped", True)
    assert safety.clear(["it is too fast"]) == (False, "the cause is still there: it is too fast")
    done, sentence = safety.clear()
    assert done
    assert "too fast" in sentence
    assert (safety.state, safety.cause, safety.powered) == ("active", "", True)
    assert safety.clear() == (True, "there was no fault")


def test_a_braking_whose_state_is_lost_ends_in_zero_volts_and_keeps_the_first_cause() -> None:
    safety = Safety()
    safety.activate()
    safety.stop("first")
    assert safety.stop("lost", known=False)
    assert (safety.state, safety.cause, safety.powered) == ("stopped", "first; then lost", False)


def test_an_emergency_stop_wins_over_everything() -> None:
    safety = Safety()
    safety.press("topic")
    with pytest.raises(EmergencyStopPressed, match="topic"):
        safety.activate()
    assert safety.clear()[0] is False
    safety.release("topic")
    safety.activate()
    safety.press("service")
    safety.press("topic")
    assert safety.state == "stopping"
    safety.at_rest()
    assert not safety.powered
    safety.release("service")
    done, sentence = safety.clear()
    assert not done
    assert "emergency stop (topic)" in sentence
    safety.release("topic")
    assert safety.state == "stopped", "releasing lets nothing move"
    assert safety.clear()[0]


def test_an_emergency_stop_that_is_released_during_the_braking_takes_the_power_all_the_same() -> None:
    safety = Safety()
    safety.activate()
    safety.press("topic")
    safety.release("topic")
    safety.at_rest()
    assert (safety.state, safety.powered) == ("stopped", False)
    assert safety.clear()[0]
    safety.stop("limit")
    safety.at_rest()
    assert safety.powered


def test_an_emergency_stop_takes_the_power_from_a_robot_that_holds() -> None:
    safety = Safety()
    safety.activate()
    safety.stop("limit")
    safety.at_rest()
    assert safety.powered
    safety.press("topic")
    assert not safety.powered
    assert safety.cause == "limit"


def test_an_emergency_stop_of_category_0_does_not_brake() -> None:
    safety = Safety(brake=False)
    safety.activate()
    safety.stop("limit")
    safety.press("topic")
    assert (safety.state, safety.powered) == ("stopped", False)
