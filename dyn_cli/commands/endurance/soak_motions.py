"""Motions of a running system for a long time, and what is measured meanwhile."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from dyn_cli.client.recorder import Recorder
from dyn_cli.client.robot_client import CONTROLLER, ClientError, RobotClient
from dyn_cli.setup.progress import Progress
from dyn_core import Robot
from dyn_core.trajectory import exercise_motion

from .trend import Trend, trend

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

    def allowed(self, size: float) -> float:
        return self.absolute + self.relative * abs(size)


LIMITS = {
    "memory": Limit("MB", 1.0, 0.01),
    "file handles": Limit("", 0.9),
    "threads": Limit("", 0.9),
    "shared memory files": Limit("", 0.9),
    "rate": Limit("Hz", 0.0, 0.05, falls=True),
    "tracking error": Limit("mrad, mm", 0.1, 0.25),
}


@dataclass
class Series:
    """One quantity over the run."""

    owner: str
    quantity: str
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, seconds: float, value: float) -> None:
        self.times.append(seconds)
        self.values.append(value)

    def trend(self, after: float) -> Trend | None:
        t, y = np.array(self.times), np.array(self.values)
        kept = t >= after
        return trend(t[kept], y[kept])


class Soak:
    """Moves the robot there and back, and samples the running system."""

    def __init__(self, robot: Robot, client: RobotClient, pids: dict[str, int], seconds: float) -> None:
        self.motions = self.faults = 0
        self.last_fault = ""
        self.seconds = 0.0
        self._robot, self._client, self._pids, self._length = robot, client, pids, seconds
        self._series: dict[tuple[str, str], Series] = {}
        self._interval = max(1.0, seconds / SAMPLES)
        self._driven = robot.driven
        self._progress = Progress()
        self._begin = time.monotonic()
        self._told = 0.0

    @property
    def series(self) -> list[Series]:
        return list(self._series.values())

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
            arrived = self._arrived(self._followed, goal, duration)
            if time.monotonic() >= self._next_sample:
                late = (time.monotonic() - self._next_sample) // self._interval
                self._next_sample += self._interval * (1 + late)
                self._sample(self._followed)
            if arrived:
                return True
            if self._recovered():
                return False
        return False

    def _arrived(self, followed: Recorder, goal: np.ndarray, duration: float) -> bool:
        if not followed.messages:
            return False
        desired = followed.messages[-1].points[0]
        since = desired.time_from_start.sec + 1e-9 * desired.time_from_start.nanosec
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

    def _sample(self, followed: Recorder) -> None:
        last, self.seconds = self.seconds, time.monotonic() - self._begin
        for name, pid in self._pids.items():
            for quantity, value in _process(pid).items():
                self._add(name, quantity, value)
        points = [(m.points[0].positions, m.points[1].positions) for m in followed.messages]
        followed.messages.clear()
        self._add(CONTROLLER, "rate", self._cycles_per_state * len(points) / (self.seconds - last))
        if points:
            error = np.diff(np.array(points), axis=1)[:, 0][:, self._driven]
            self._add(CONTROLLER, "tracking error", 1e3 * float(np.sqrt(np.mean(error**2))))
        self._tell()

    def _add(self, owner: str, quantity: str, value: float) -> None:
        self._series.setdefault((owner, quantity), Series(owner, quantity)).add(self.seconds, value)

    def _tell(self) -> None:
        memory = sum(s.values[-1] for s in self.series if s.quantity == "memory")
        text = f"{self.seconds / 60:.1f} of {self._length / 60:g} min, {self.motions} motions, {memory:.0f} MB"
        if self._progress.live:
            self._progress.wait(f"soak: {text},", self._begin)
        elif self.seconds - self._told >= self._length / 10.0:
            self._told = self.seconds
            self._progress.say(f"dyn soak: {text}")


def soak_report(robot: Robot, soak: Soak, problem: str) -> dict[str, Any]:
    """What drifted, by how much, and what went wrong."""
    rows, problems = [], [problem] if problem else []
    for series in soak.series:
        found = series.trend(soak.warm_up)
        limit = LIMITS[series.quantity]
        if found is None:
            continue
        allowed = limit.allowed(float(np.median(series.values)))
        drifts = found.falls_by(allowed) if limit.falls else found.grows_by(allowed)
        rows.append(
            {
                "owner": series.owner,
                "quantity": series.quantity,
                "unit": limit.unit,
                "first": found.first,
                "last": found.last,
                "growth": found.growth,
                "growth_low": found.low,
                "growth_high": found.high,
                "allowed": allowed,
                "drifts": drifts,
            }
        )
        if drifts:
            unit = f" {limit.unit}" if limit.unit else ""
            problems.append(
                f"{series.owner}: {series.quantity} drifts by {found.growth:+.3g}{unit} in {soak.seconds / 60:.1f} min"
            )
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
        "samples": max((len(series.times) for series in soak.series), default=0),
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
