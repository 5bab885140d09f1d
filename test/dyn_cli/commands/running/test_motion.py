"""``dyn move``, ``state``, ``stop`` and ``clear`` on a running robot."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import pytest
from running_arm import Arm

from dyn_cli.client.robot_client import CONTROLLER, ClientError
from dyn_cli.commands.running import clear, move, state, stop
from dyn_core.errors import InputError

pytestmark = pytest.mark.running


def arguments(**given: Any) -> argparse.Namespace:
    defaults = {"namespace": "shared", "json": False, "watch": False, "degrees": False, "duration": None, "wait": True}
    return argparse.Namespace(**{**defaults, "pose": None, **given})


def test_move_goes_there_and_state_shows_it(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    degrees = [10.0, -20.0, 10.0, 5.0, 20.0, -5.0]
    assert move.run(arguments(positions=degrees, degrees=True, duration=1.0)) == 0
    assert "arrived after 1 s" in capsys.readouterr().out
    assert state.run(arguments(json=True)) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["controller"] == "active"
    assert [joint["name"] for joint in shown["joints"]] == list(arm.robot.joint_names)
    np.testing.assert_allclose([joint["position"] for joint in shown["joints"]], np.radians(degrees), atol=1e-3)
    assert state.run(arguments()) == 0
    assert "controller: active" in capsys.readouterr().out


def test_move_refuses_what_the_robot_cannot_do(shared_arm: Arm) -> None:
    with pytest.raises(InputError, match="has 6 joints"):
        move.run(arguments(positions=[0.0] * 5))
    with pytest.raises(InputError, match="outside its limits"):
        move.run(arguments(positions=[100.0] + [0.0] * 5))


def test_move_says_that_the_controller_is_not_active(arm: Arm) -> None:
    arm.client.controller_state()
    arm.client.deactivate()
    with pytest.raises(ClientError, match="the controller is inactive"):
        move.run(arguments(positions=[0.1] * 6, duration=0.2))
    assert arm.client.lifecycle_state(CONTROLLER) == "inactive"


def test_stop_and_clear(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    assert stop.run(arguments(emergency=False)) == 0
    assert "no motion" in capsys.readouterr().out
    assert move.run(arguments(positions=[1.0] + [0.0] * 5, duration=4.0, wait=False)) == 0
    assert stop.run(arguments(emergency=False)) == 0
    assert "braking, then holding" in capsys.readouterr().out
    assert clear.run(arguments()) == 0
    assert "there was no fault" in capsys.readouterr().out

    assert stop.run(arguments(emergency=True)) == 0
    assert "pressed" in capsys.readouterr().out
    with pytest.raises(ClientError, match=r"has a fault: emergency stop .*\./dyn clear"):
        move.run(arguments(positions=[0.1] * 6, duration=0.5))
    assert clear.run(arguments()) == 0
    assert "cleared: emergency stop" in capsys.readouterr().out
    assert move.run(arguments(positions=[0.1] * 6, duration=0.5)) == 0
    assert abs(arm.positions()[0]) < 0.5


def test_clear_says_what_is_still_there(arm: Arm) -> None:
    arm.client.deactivate()
    with pytest.raises(ClientError, match="the controller is not active"):
        clear.run(arguments())


def test_without_a_robot_the_clients_say_so(domain: int) -> None:
    with pytest.raises(ClientError, match=r"no robot is running here; start one with \./dyn up"):
        state.run(arguments(namespace="nobody"))
