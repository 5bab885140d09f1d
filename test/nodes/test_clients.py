"""``dyn move``, ``state``, ``stop`` and ``clear`` on a running robot."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import pytest
from conftest import Arm

from dyn_core.errors import InputError
from nodes import clients
from nodes.client import CONTROLLER, ClientError


def arguments(**given: Any) -> argparse.Namespace:
    defaults = {"namespace": "shared", "json": False, "watch": False, "degrees": False, "duration": None, "wait": True}
    return argparse.Namespace(**{**defaults, "pose": None, **given})


def test_move_goes_there_and_state_shows_it(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    degrees = [10.0, -20.0, 10.0, 5.0, 20.0, -5.0]
    assert clients.move(arguments(positions=degrees, degrees=True, duration=1.0)) == 0
    assert "arrived after 1 s" in capsys.readouterr().out
    assert clients.state(arguments(json=True)) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["controller"] == "active"
    assert [joint["name"] for joint in shown["joints"]] == list(arm.robot.joint_names)
    np.testing.assert_allclose([joint["position"] for joint in shown["joints"]], np.radians(degrees), atol=1e-3)
    assert clients.state(arguments()) == 0
    assert "controller: active" in capsys.readouterr().out


def test_move_refuses_what_the_robot_cannot_do(shared_arm: Arm) -> None:
    with pytest.raises(InputError, match="has 6 joints"):
        clients.move(arguments(positions=[0.0] * 5))
    with pytest.raises(InputError, match="outside its limits"):
        clients.move(arguments(positions=[100.0] + [0.0] * 5))


def test_move_says_that_the_controller_is_not_active(arm: Arm) -> None:
    arm.client.controller_state()
    arm.client.deactivate()
    with pytest.raises(ClientError, match="the controller is inactive"):
        clients.move(arguments(positions=[0.1] * 6, duration=0.2))
    assert arm.client.lifecycle_state(CONTROLLER) == "inactive"


def test_stop_and_clear(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    assert clients.stop(arguments(emergency=False)) == 0
    assert "no motion" in capsys.readouterr().out
    assert clients.move(arguments(positions=[1.0] + [0.0] * 5, duration=4.0, wait=False)) == 0
    assert clients.stop(arguments(emergency=False)) == 0
    assert "braking, then holding" in capsys.readouterr().out
    assert clients.clear(arguments()) == 0
    assert "there was no fault" in capsys.readouterr().out

    assert clients.stop(arguments(emergency=True)) == 0
    assert "pressed" in capsys.readouterr().out
    with pytest.raises(ClientError, match=r"has a fault: emergency stop .*\./dyn clear"):
        clients.move(arguments(positions=[0.1] * 6, duration=0.5))
    assert clients.clear(arguments()) == 0
    assert "cleared: emergency stop" in capsys.readouterr().out
    assert clients.move(arguments(positions=[0.1] * 6, duration=0.5)) == 0
    assert abs(arm.positions()[0]) < 0.5


def test_clear_says_what_is_still_there(arm: Arm) -> None:
    arm.client.deactivate()
    with pytest.raises(ClientError, match="the controller is not active"):
        clients.clear(arguments())


def test_without_a_robot_the_clients_say_so(domain: int) -> None:
    with pytest.raises(ClientError, match=r"no robot is running here; start one with \./dyn up"):
        clients.state(arguments(namespace="nobody"))
