"""Motions of a running system for a long time, and what is measured meanwhile."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from dyn_cli.client.robot_client import CONTROLLER, ClientError, RobotClient
from dyn_cli.setup.progress import Progress
from dyn_core import Robot
from dyn_core.trajectory import exercise_motion
from dyn_nodes.common.stamps import nanoseconds

from .trend import trend

SAMPLES = 240
"""Samples over a run; at least a second lies between two."""
WARM_UP = 0.25
"""Part of the run, at most ``LONGEST_WARM_UP`` seconds, that is left out: allocators and caches fill up."""
LONGEST_WARM_UP = 300.0
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE = 20.0
"""Seconds beyond its duration in which a motion must end."""
ATTEMPTS = 3
"""Motions in a row that may fail."""


@dataclass(frozen=True)
class Limit:
    """By how much a quantity may drift over a run: absolutely, and in parts of its size."""

    unit: str
    absolute: float
    relative: float = 0.0
    falls: bool = False
    """Whether the drift that matters is downwards."""


LIMITS = {
    "memory": Limit("MB", 1.0, 0.01),
    "file handles": Limit("", 0.9),
    "threads": Limit("", 0.9),
    "shared memory files": Limit("", 0.9),
    "rate": Limit("Hz", 0.0, 0.05, falls=True),
    "tracking error": Limit("mrad, mm", 0.1, 0.25),
}


class Soak:
    """Moves the robot there and back, and samples the running system."""

    def __init__(self, robot: Robot, client: RobotClient, pids: dict[str, int], seconds: float) -> None:
        self.motions = self.faults = 0
        self.last_fault = ""
        self.seconds = 0.0
        self._robot, self._client, self._pids, self._length = robot, client, pids, seconds
        self.series: dict[tuple[str, str], list[tuple[float, float]]] = {}
        """Times (s) and values by process and quantity."""
        self._interval = max(1.0, seconds / SAMPLES)
        self._driven = robot.driven
        self._progress = Progress()
        self._begin = time.monotonic()
        self._told = 0.0

    @property
    def warm_up(self) -> float:
        return min(WARM_UP * self.seconds, LONGEST_WARM_UP)

    def run(self) -> None:
        """Until the time is over."""
        start = np.array(self._client.controller_state().points[0].positions)
        there = exercise_motion(self._robot, start)
        names, ways = list(self._robot.joint_names), (there.positions, there.positions[::-1])
        self._cycles_per_state = int(self._client.parameter(CONTROLLER, "state_every"))
        with self._client.record(JointTrajectory, f"{CONTROLLER}/state") as self._followed:
            self._progress.say(f"dyn soak: {self._length / 60:g} min of motions; Ctrl-C gives the table so far")
            self._begin = time.monotonic()
            self._next_sample = self._begin + self._interval
            astray = 0
            while not self._over():
                way = ways[self.motions % 2]
                if astray:  # the robot stopped somewhere on its way
                    times, way = there.times[-1:], way[:1]
                else:
                    times = there.times
                self._client.send_trajectory(names, times, way)
                arrived = self._moved(way[-1], float(times[-1]))
                self.motions += arrived and not astray
                astray = 0 if arrived else astray + 1
                if astray > ATTEMPTS:
                    raise ClientError(f"the robot does not move any more: {self._client.trouble()}")

    def _over(self) -> bool:
        return time.monotonic() - self._begin >= self._length

    def _moved(self, goal: np.ndarray, duration: float) -> bool:
        """Sample until the motion has arrived (true), or has failed by a fault or by being overdue (false)."""
        end = time.monotonic() + duration + PATIENCE
        while time.monotonic() < end and not self._over():
            self._client.check()
            self._client.spin(0.1)
            self._followed.drain()
            arrived = self._arrived(goal, duration)
            if time.monotonic() >= self._next_sample:
                late = (time.monotonic() - self._next_sample) // self._interval
                self._next_sample += self._interval * (1 + late)
                self._sample()
            if arrived:
                return True
            if self._recovered():
                return False
        return False

    def _arrived(self, goal: np.ndarray, duration: float) -> bool:
        if not self._followed.messages:
            return False
        desired = self._followed.messages[-1].points[0]
        since = 1e-9 * nanoseconds(desired.time_from_start)
        return bool(since > duration and np.abs(np.array(desired.positions) - goal).max() < 1e-6)

    def _recovered(self) -> bool:
        """After a fault: count it, clear it, and say that the motion has to be started again."""
        cause = self._client.diagnostics(CONTROLLER, new=False).get("fault", "")
        if not cause:
            return False
        self.faults += 1
        self.last_fault = cause
        self._client.clear_fault(timeout=PATIENCE)
        self._client.diagnostics(CONTROLLER)
        return True

    def _sample(self) -> None:
        last, self.seconds = self.seconds, time.monotonic() - self._begin
        for name, pid in self._pids.items():
            for quantity, value in _process(pid).items():
                self._add(name, quantity, value)
        points = [(m.points[0].positions, m.points[1].positions) for m in self._followed.messages]
        self._followed.messages.clear()
        self._add(CONTROLLER, "rate", self._cycles_per_state * len(points) / (self.seconds - last))
        if points:
            error = np.diff(np.array(points), axis=1)[:, 0][:, self._driven]
            self._add(CONTROLLER, "tracking error", 1e3 * float(np.sqrt(np.mean(error**2))))
        self._tell()

    def _add(self, owner: str, quantity: str, value: float) -> None:
        self.series.setdefault((owner, quantity), []).append((self.seconds, value))

    def _tell(self) -> None:
        memory = sum(samples[-1][1] for (_, quantity), samples in self.series.items() if quantity == "memory")
        text = f"{self.seconds / 60:.1f} of {self._length / 60:g} min, {self.motions} motions, {memory:.0f} MB"
        if self._progress.live:
            self._progress.wait(f"soak: {text},", self._begin)
        elif self.seconds - self._told >= self._length / 10.0:
            self._told = self.seconds
            self._progress.say(f"dyn soak: {text}")


def soak_report(robot: Robot, soak: Soak, problem: str) -> dict[str, Any]:
    """What drifted, by how much, and what went wrong."""
    rows, problems = [], [problem] if problem else []
    for (owner, quantity), samples in soak.series.items():
        t, values = np.array(samples).T
        found, limit = trend(t[t >= soak.warm_up], values[t >= soak.warm_up]), LIMITS[quantity]
        if found is None:
            continue
        allowed = limit.absolute + limit.relative * abs(float(np.median(values)))
        drifts = found.falls_by(allowed) if limit.falls else found.grows_by(allowed)
        row = {"owner": owner, "quantity": quantity, "unit": limit.unit, "first": found.first, "last": found.last}
        row |= {"growth": found.growth, "growth_low": found.low, "growth_high": found.high}
        rows.append(row | {"allowed": allowed, "drifts": drifts})
        if drifts:
            amount = f"{found.growth:+.3g} {limit.unit}".rstrip()
            problems.append(f"{owner}: {quantity} drifts by {amount} in {soak.seconds / 60:.1f} min")
    if soak.faults:
        many = "a fault" if soak.faults == 1 else f"{soak.faults} faults, the last"
        problems.append(f"the controller had {many}: {soak.last_fault}")
    if not rows:
        problems.append("the run was too short to say anything; give it more --minutes")
    return {
        "robot": robot.name,
        "minutes": soak.seconds / 60.0,
        "warm_up_minutes": soak.warm_up / 60.0,
        "motions": soak.motions,
        "faults": soak.faults,
        "samples": max(map(len, soak.series.values()), default=0),
        "rows": rows,
        "problems": problems,
        "ok": not problems,
    }


def _process(pid: int) -> dict[str, float]:
    """What a process has: resident memory (MB), open file handles, threads, mapped files in shared memory."""
    folder = Path("/proc") / str(pid)
    try:
        mapped = (folder / "maps").read_text(errors="replace").splitlines()
        return {
            "memory": int((folder / "statm").read_text().split()[1]) * PAGE / 1e6,
            "file handles": len(os.listdir(folder / "fd")),
            "threads": len(os.listdir(folder / "task")),
            "shared memory files": len({line.split(None, 5)[5] for line in mapped if "/dev/shm/" in line}),
        }
    except OSError as error:
        raise ClientError(f"process {pid} cannot be looked at ({error.strerror})") from error
