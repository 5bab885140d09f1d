"""The faults of a campaign."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_cli.client.robot_client import CONTROLLER, SIMULATION

from .fault_campaign import BRIDGE, RATE, RELAY, SAFE, STIFFNESS, Campaign, Expected, Fault

BURST = 10_000


def _kill(name: str, campaign: Campaign) -> None:
    os.kill(campaign.supervisor.pids[name], signal.SIGKILL)


def _freeze(name: str, seconds: float, campaign: Campaign) -> None:
    process = campaign.supervisor.pids[name]
    os.kill(process, signal.SIGSTOP)
    try:
        campaign.pause(seconds)
    finally:
        os.kill(process, signal.SIGCONT)
    if name == SIMULATION:  # while it was frozen, so was the arm's time
        campaign.began = time.monotonic() + 2.0 / RATE


def _spoil(mode: str, campaign: Campaign) -> None:
    campaign.tell_relay(mode)
    campaign.pause(0.6)
    if not mode.startswith("clock_step"):
        campaign.tell_relay("pass")


def _conflict(campaign: Campaign) -> None:
    """Full voltage, told by somebody else, faster than the controller speaks."""
    n = campaign.robot.n
    top = campaign.robot.actuation.code_limits[1].astype(int).tolist()
    volts = campaign.robot.actuation.volts(np.array(top)).tolist()
    message = MotorCommand(name=list(campaign.robot.joint_names), torque=[0.0] * n, voltage=volts, dac_code=top)
    message.saturated = [False] * n
    publisher = campaign.publisher(MotorCommand, "motor_commands")
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        publisher.publish(message)
        campaign.pause(0.002)


def _burst(campaign: Campaign, topic: str, message: Any) -> None:
    publisher = campaign.publisher(type(message), topic)
    for k in range(BURST):
        publisher.publish(message)
        if k % 500 == 0:
            campaign.watch.look()


def _burst_of_states(campaign: Campaign) -> None:
    n = campaign.robot.n
    message = JointState(name=list(campaign.robot.joint_names), position=[0.0] * n, velocity=[0.0] * n)
    message.header.stamp.sec = 1
    _burst(campaign, "joint_states", message)


def _burst_of_trajectories(campaign: Campaign) -> None:
    point = JointTrajectoryPoint(positions=[float("nan")] * campaign.robot.n)
    message = JointTrajectory(joint_names=list(campaign.robot.joint_names), points=[point])
    _burst(campaign, "joint_trajectory", message)


def _emergency_stop_in_a_burst(campaign: Campaign) -> None:
    stops = campaign.publisher(Bool, "emergency_stop")
    _burst_of_trajectories(campaign)
    campaign.began = time.monotonic()
    while time.monotonic() < campaign.began + SAFE:  # as a button does: a single message may be lost in a flood
        stops.publish(Bool(data=True))
        campaign.pause(0.05)
    stops.publish(Bool(data=False))
    campaign.pause(0.2)


def _restart(name: str, campaign: Campaign) -> None:
    with _load():
        campaign.supervisor.restart(name)
        campaign.pause(SAFE)


@contextlib.contextmanager
def _load() -> Iterator[None]:
    """Every processor busy."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def _full_disk(campaign: Campaign) -> None:
    """The controller again, with its log on a disk without room, and every reason to write to it."""
    logs = campaign.folder / "full"
    logs.mkdir(exist_ok=True)
    script = (
        'd="$1"; shift; mount -t tmpfs -o size=4k tmpfs "$d" && head -c 8192 /dev/zero > "$d/filled" 2>/dev/null;'
        ' export ROS_LOG_DIR="$d"; exec "$@"'
    )
    own = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode == 0:
        prefix = [*own, "sh", "-c", script, "sh", str(logs)]
    else:  # no mounts here: files may not grow, which fails a write as well
        prefix = ["sh", "-c", 'ulimit -f 0; export ROS_LOG_DIR="$0"; exec "$@"', str(logs)]
    campaign.supervisor.restart(CONTROLLER, prefix)
    campaign.activate()
    campaign.until(lambda: campaign.status.state == "active", 10.0)
    campaign.start_motion()
    publisher = campaign.publisher(JointTrajectory, "joint_trajectory")
    for _ in range(50):
        publisher.publish(JointTrajectory(joint_names=["nobody"], points=[JointTrajectoryPoint()]))
        campaign.pause(0.005)


EXPECTED: dict[str, Expected] = {CONTROLLER: "stops", SIMULATION: "stops", BRIDGE: "goes on", STIFFNESS: "goes on"}
"""What becomes of the motion when a node ends; the bridge makes its outputs safe, the simulated arm does without it."""

FAULTS: tuple[Fault, ...] = (
    *(
        Fault(f"kill -9 of {name}", partial(_kill, name), expected, short=name == CONTROLLER, hurt=name)
        for name, expected in EXPECTED.items()
    ),
    Fault(f"SIGSTOP of {CONTROLLER}, 50 ms", partial(_freeze, CONTROLLER, 0.05)),
    Fault(f"SIGSTOP of {CONTROLLER}, 200 ms", partial(_freeze, CONTROLLER, 0.2), short=True),
    Fault(f"SIGSTOP of {CONTROLLER}, 500 ms", partial(_freeze, CONTROLLER, 0.5)),
    Fault(f"SIGSTOP of {CONTROLLER}, 2 s", partial(_freeze, CONTROLLER, 2.0), "stops"),
    Fault(f"SIGSTOP of {SIMULATION}, 50 ms", partial(_freeze, SIMULATION, 0.05)),
    Fault(f"SIGSTOP of {SIMULATION}, 2 s", partial(_freeze, SIMULATION, 2.0), "stops"),
    Fault(f"SIGSTOP of {BRIDGE}, 500 ms", partial(_freeze, BRIDGE, 0.5), "goes on"),
    Fault("second publisher of motor commands", _conflict, "goes on", short=True),
    Fault("joint states 20 ms late", partial(_spoil, "late 0.02")),
    Fault("joint states 300 ms late", partial(_spoil, "late 0.3"), "stops"),
    Fault("joint states duplicated", partial(_spoil, "duplicated"), "goes on"),
    Fault("joint states out of order", partial(_spoil, "out_of_order")),
    Fault("joint states not finite", partial(_spoil, "nan"), "stops", short=True),
    Fault("joint states truncated", partial(_spoil, "truncated"), "stops", short=True),
    Fault("joint states renamed", partial(_spoil, "renamed"), "stops"),
    Fault(f"burst of {BURST} joint states", _burst_of_states),
    Fault(f"burst of {BURST} trajectories", _burst_of_trajectories, "goes on"),
    Fault("emergency stop in a burst", _emergency_stop_in_a_burst, "stops"),
    Fault("full disk under the logs", _full_disk, "goes on"),
    Fault("clock step, 5 s ahead", partial(_spoil, "clock_step 5"), "stops", short=True),
    Fault("clock step, 5 s back", partial(_spoil, "clock_step -5"), "stops"),
    Fault("DDS peer lost (kill -9 of what publishes joint states)", partial(_kill, RELAY), "stops", hurt=RELAY),
    *(
        Fault(f"restart of {name} under load", partial(_restart, name), expected, hurt=name)
        for name, expected in EXPECTED.items()
    ),
)
