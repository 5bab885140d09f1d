"""What is said to be open is open, and the policies allow what the nodes do and no more."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from running_arm import Arm

from dyn_cli.commands.hardware import security, security_findings
from dyn_cli.commands.hardware.security_findings import (
    NODES,
    discovery,
    outputs,
    policy,
    processes,
    rules,
    speakers,
    uncovered,
)

pytestmark = pytest.mark.running


def opened(findings: object) -> list[str]:
    return [finding.sentence for finding in findings if not finding.closed]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("env", "sentences"),
    [
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": "5"}, []),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, []),
        ({"ROS_LOCALHOST_ONLY": "1"}, []),
        ({}, ["SUBNET"]),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, ["every machine"]),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "192.0.2.7"}, ["192.0.2.7"]),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DISCOVERY_SERVER": "192.0.2.7"}, ["that server"]),
    ],
)
def test_the_reach_of_discovery(env: dict[str, str], sentences: list[str]) -> None:
    found = opened(discovery(env))
    assert len(found) == len(sentences)
    for sentence, text in zip(found, sentences, strict=True):
        assert text in sentence


def test_security_that_is_off_is_open_only_beyond_this_machine() -> None:
    here = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert opened(security_findings.security(here)) == []
    assert "whoever finds the nodes" in opened(security_findings.security({}))[0]
    half = opened(security_findings.security({**here, "ROS_SECURITY_ENABLE": "true"}))
    assert any("set Enforce" in sentence for sentence in half)
    assert any("ROS_SECURITY_KEYSTORE is not set" in sentence for sentence in half)


def test_keys_that_others_may_read_are_open(tmp_path: Path) -> None:
    env = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_SECURITY_KEYSTORE": str(tmp_path)}
    assert "has no keys" in opened(security_findings.security(env))[0]
    key = tmp_path / "enclaves" / "dyn_robot" / "dac_bridge" / "key.pem"
    key.parent.mkdir(parents=True)
    key.write_text("secret")
    key.chmod(0o640)
    assert "chmod 600" in opened(security_findings.security(env))[0]
    key.chmod(0o600)
    assert opened(security_findings.security(env)) == []
    env["ROS_SECURITY_KEYSTORE"] = str(tmp_path / "none")
    assert "is no folder" in opened(security_findings.security(env))[0]


def test_converters_that_everybody_may_write_are_open(tmp_path: Path) -> None:
    path = tmp_path / "iio:device0" / "out_voltage0_raw"
    path.parent.mkdir()
    path.write_text("0")
    path.chmod(0o660)
    assert opened(outputs(tmp_path)) == []
    path.chmod(0o666)
    assert len(opened(outputs(tmp_path))) == 1


def test_only_the_controller_may_publish_motor_commands() -> None:
    assert opened(policy()) == []
    allowed = rules()
    assert {rule.enclave for rule in allowed} == {f"/dyn_robot/{name}" for name in (*NODES, "operator")}
    commands = [rule for rule in allowed if rule.name == "/motor_commands"]
    assert [rule.enclave for rule in commands if rule.verb == "publish"] == ["/dyn_robot/computed_torque_controller"]
    assert not [rule for rule in allowed if "*" in rule.name], "no wildcards"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<enclaves>", "<enclaves><enclave/>"),
        ('version="0.2.0"', ""),
        ('publish="ALLOW"', 'publish="MAYBE"'),
        ('publish="ALLOW"', 'reply="ALLOW"'),
        ("<topic>motor_commands</topic>", "<service>x</service>"),
        ("<topic>motor_commands</topic>", "<topic/>"),
        ("</policy>", ""),
    ],
)
def test_a_policy_that_sros_2_would_refuse_is_said(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "policies.xml"
    text = security_findings.POLICIES.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert "cannot be read" in opened(policy(path))[0]
    path.write_text(text.replace("<topic>joint_trajectory</topic>", "<topic>motor_commands</topic>"))
    assert "/dyn_robot/operator" in opened(policy(path))[0]


def test_running_nodes_use_nothing_that_the_policy_forbids(shared_arm: Arm) -> None:
    assert uncovered(shared_arm.client.node, "shared") == []


def test_running_nodes_listen_on_this_machine_only(shared_arm: Arm) -> None:
    found = {finding.what: finding for finding in processes()}
    for pid in shared_arm.supervisor.pids.values():
        assert found[f"process {pid}"].closed, found[f"process {pid}"].sentence


def test_the_check_names_who_speaks(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    arm.fall_silent()
    assert arm.client.wait(lambda: next(speakers("shared")).closed, 20.0)
    (finding,) = speakers("shared")
    assert "/shared/computed_torque_controller" in finding.sentence
    security.run(argparse.Namespace(json=True, namespace="nobody"))
    report = json.loads(capsys.readouterr().out)
    assert any(finding["sentence"] == "nobody publishes them now" for finding in report["findings"])
