"""Stopping and slowing down along a path, within what motors and joints can give.

A motion q(s) is followed at a path speed u = ds/dt: u = 1 is the motion as planned, u = 0 is standstill. The desired
state is

    q_d = q(s),   qd_d = q'(s) u,   qdd_d = q''(s) u^2 + q'(s) du/dt

so that the path is kept whatever the path speed. The torque of computed torque is linear in du/dt, so two commands show
how strong a deceleration every motor can give at the present state (online time scaling: Dahl and Nielsen,
"Torque-limited path following by online trajectory time scaling", IEEE Trans. Robotics and Automation 6(5), 1990).

Where there is no path, or the robot is too far from it, the path is a straight line in joint space, from the measured
position along the measured speed.
"""

from __future__ import annotations

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.trajectory.joint_trajectory import Sample, Trajectory

from .computed_torque import Command, ComputedTorque
from .limits import Limits

RESERVE = 0.9
"""Part of the torques that a braking may use; the rest is left to the feedback."""


def at_path_speed(path: Sample, u: float, rate: float) -> Sample:
    """The desired state on a path (q, q', q'') at a path speed u that changes by ``rate`` per second."""
    q, slope, curve = path
    return q, slope * u, curve * (u * u) + slope * rate


class PathSpeed:
    """The path speed u = ds/dt and its rate of change du/dt; as planned: u = 1, rate 0."""

    def __init__(self, u: float = 1.0) -> None:
        self.u = u
        self.rate = 0.0
        self.target = u

    def aim(self, target: float, rate: float) -> None:
        """Go towards a target path speed at ``rate`` (1/s, not negative)."""
        self.target = target
        self.rate = np.sign(target - self.u) * rate

    @property
    def steady(self) -> bool:
        """Whether the path speed has come to its target."""
        return self.u == self.target

    def advance(self, dt: float) -> float:
        """Let dt seconds pass; returns how far s has gone (s)."""
        if self.rate == 0.0:
            return self.u * dt
        changing = min(dt, (self.target - self.u) / self.rate)
        gone = (self.u + 0.5 * self.rate * changing) * changing
        if changing < dt:
            self.u, self.rate = self.target, 0.0
            return gone + self.u * (dt - changing)
        self.u += self.rate * dt
        return gone


class Brake:
    """Finds the strongest deceleration along a path that the motors can give.

    shortest: no stop from full path speed is shorter than this (s), which bounds the jolt. longest: nor, where the
    motors are too weak to hold the path, longer than this; they then saturate, and the path is left.
    """

    def __init__(self, law: ComputedTorque, limits: Limits, shortest: float = 0.1, longest: float = 1.0) -> None:
        if law.mode != "computed_torque":
            raise InputError("braking needs the mode 'computed_torque', which uses the measured state")
        if not 0.0 < shortest <= longest:
            raise InputError(f"a stop takes from {shortest:g} to {longest:g} s, which is no positive range")
        self.law = law
        self._limits = limits
        self._strongest, self._weakest = 1.0 / shortest, 1.0 / longest

    def deceleration(self, path: Sample, u: float, q: Floats, qd: Floats) -> float:
        """-du/dt (1/s) for a robot at q, qd (n,) that is to be on the path (q, q', q'') at the path speed u."""
        torque = self.law.command(at_path_speed(path, u, 0.0), q, qd).torque
        slope = self.law.command(at_path_speed(path, u, -1.0), q, qd).torque - torque
        low, high = self._limits.torque_range(qd)
        room = np.where(slope > 0.0, RESERVE * high - torque, RESERVE * low - torque)
        with np.errstate(divide="ignore", invalid="ignore"):
            possible = room / slope
        # A joint that is beyond its limit already, or that the deceleration does not touch, decides nothing.
        possible = possible[self._limits.driven & np.isfinite(possible) & (possible > 0.0)]
        strongest = float(possible.min()) if possible.size else self._strongest
        return min(max(strongest, self._weakest), self._strongest)

    def command(
        self, path: Trajectory, s: float, speed: PathSpeed, q: Floats, qd: Floats, target: float = 0.0
    ) -> tuple[Sample, Command]:
        """Desired state and command of a robot at q, qd that slows down to a target path speed; sets its rate."""
        at = path.sample(s)
        if speed.u > target:
            speed.aim(target, self.deceleration(at, speed.u, q, qd))
        desired = at_path_speed(at, speed.u, speed.rate)
        return desired, self.law.command(desired, q, qd)
