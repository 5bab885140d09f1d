"""From a measured state to a command: follow plans, slow down, brake, hold, as safety and limits ask. No ROS."""

from __future__ import annotations

import threading

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DynError
from dyn_core.trajectory.joint_trajectory import Sample

from .braking import Brake, PathSpeed, at_path_speed
from .computed_torque import Command, ComputedTorque
from .motion_plan import Line, Plan, TrackedState
from .safety_state import Safety
from .watchdogs import SAFE_STOP, SLOW_DOWN, LimitWatch

RECOVERY = 2.0
"""A robot that was slowed down gains so much of its planned speed per second."""
JUMP = (1e-3, 0.05)
"""A plan that was made for another position or speed (rad, rad/s; m, m/s) than the present one is not begun."""
NANOSECONDS = 1_000_000_000


class Follower:
    """Steps once per joint state, from the loop's thread; ``offer``, ``cancel`` and ``ahead`` are for another one.

    slow_pace: part of the planned speed after a limit asked to slow down, until slow_time seconds after it was exceeded
    last. stop_timeout: a braking that takes longer ends in 0 V (s).
    """

    def __init__(
        self,
        law: ComputedTorque,
        brake: Brake,
        watch: LimitWatch,
        safety: Safety,
        slow_pace: float = 0.25,
        slow_time: float = 0.5,
        stop_timeout: float = 1.0,
    ) -> None:
        self.safety = safety
        self.watch = watch
        self.stamp = 0
        """Stamp of the last step (ns); 0: none yet."""
        self.plan: Plan | None = None
        self.path_speed = PathSpeed()
        self.warnings: tuple[str, ...] = ()
        """What is exceeded now and only warned of or slowed down for."""
        self.overtaken = 0
        """Plans that were not begun, because the robot was no longer where they began."""
        self.last: TrackedState | None = None
        """Of the last step that gave a command."""
        self._law, self._brake = law, brake
        self._slow_pace, self._slow_time = slow_pace, round(slow_time * NANOSECONDS)
        self._stop_timeout = round(stop_timeout * NANOSECONDS)
        self._next: Plan | None = None
        self._cancelling = False
        self._slow_until = 0
        self._stop_began = 0
        self._lock = threading.Lock()

    def warm_up(self, plan: Plan, q: Floats) -> None:
        """Call everything once at rest at q (n,), so that no compilation is left for the loop."""
        qd = np.zeros_like(q)
        desired = plan.sample(0)
        self._law.command(desired, q, qd)
        self._brake.command(plan.motion, 0.0, PathSpeed(), q, qd)
        self._brake.command(Line(q, qd), 0.0, PathSpeed(), q, qd)
        self.watch.check(q, qd, desired[0] + 1e9, qd, 0.0)
        self.watch.check(q, qd, q, qd, 0.0)

    def forget(self) -> None:
        """Forget the plans: the next step holds the position that it finds."""
        with self._lock:
            self.stamp = 0
            self.plan = self._next = self.last = None
        self.path_speed = PathSpeed()
        self.warnings = ()
        self._cancelling = False
        self._slow_until = self._stop_began = 0
        for law in (self._law, self._brake.law):
            law.forget()

    @property
    def cancelling(self) -> bool:
        """Whether the robot brakes because its motion was cancelled."""
        return self._cancelling

    @property
    def moving(self) -> bool:
        """Whether a motion is under way or will begin."""
        plan = self.plan
        return self._next is not None or (plan is not None and plan.remaining(self.stamp) > 0.0)

    def cancel(self) -> bool:
        """Brake along the path and hold; says whether there was a motion."""
        with self._lock:
            self._next, moving = None, self.moving
            self._cancelling = moving
        return moving

    def ahead(self, stamp: int) -> Sample:
        """Desired state at a stamp ahead, by the plans and the path speed that are known now."""
        following, plan = self._next, self.plan
        if following is not None and stamp >= following.start:
            return following.sample(stamp)
        assert plan is not None
        u = self.path_speed.u
        if u == 1.0:
            return plan.sample(stamp)
        return at_path_speed(plan.motion.sample((self.stamp - plan.start + u * (stamp - self.stamp)) * 1e-9), u, 0.0)

    def offer(self, plan: Plan) -> bool:
        """Follow a plan from its start on; False if that has passed. The loop has not reached it, or never sees it."""
        with self._lock:
            if self.stamp >= plan.start:
                return False
            self._next = plan
            return True

    def step(self, stamp: int, q: Floats, qd: Floats) -> tuple[Sample, Command] | None:
        """Desired state and command at a measured state; None for 0 V."""
        with self._lock:
            passed, self.stamp = (stamp - self.stamp if self.stamp else 0), stamp
        safety = self.safety
        if not safety.powered:
            return None
        try:
            desired, command = self._command(stamp, passed, q, qd)
        except DynError as error:
            safety.stop(f"no command: {error}", known=False)
            return None
        if not np.isfinite(command.voltage).all():
            safety.stop("the control law gave a voltage that is not finite", known=False)
            return None
        self._react(stamp, q, qd, desired[0], command.torque)
        self.last = TrackedState(stamp, desired, q, qd)
        return (desired, command) if safety.powered else None

    def leave_path(self, stamp: int, q: Floats, qd: Floats) -> None:
        """Brake from the measured state, not along the plan, from which the robot is too far away."""
        self.plan, self.path_speed = Plan(stamp, Line(q, qd)), PathSpeed()

    def _command(self, stamp: int, passed: int, q: Floats, qd: Floats) -> tuple[Sample, Command]:
        plan = self._begun(stamp, q)
        stopping = self.safety.state != "active"
        if not stopping and not self._cancelling and self.path_speed.u == 1.0 and stamp >= self._slow_until:
            desired = plan.sample(stamp)
            return desired, self._law.command(desired, q, qd)
        if stopping:
            self._next = None
        return self._at_path_speed(plan, stamp, passed, q, qd, stopping)

    def _begun(self, stamp: int, q: Floats) -> Plan:
        """The plan at a stamp: the one before, or one that begins now."""
        if self.plan is None:
            self.plan = Plan(stamp, Line(q))
        following = self._next
        if following is not None and stamp >= following.start and not self._cancelling:
            with self._lock:
                if self._next is following:
                    self._next = None
            if self.path_speed.u == 1.0 or self._continues(following):
                # It was made from the speed that the robot has, so it begins at full speed.
                self.plan, self.path_speed = following, PathSpeed()
            else:
                self.overtaken += 1
        return self.plan

    def _continues(self, following: Plan) -> bool:
        assert self.plan is not None
        s = (following.start - self.plan.start) * 1e-9
        here = at_path_speed(self.plan.motion.sample(s), self.path_speed.u, 0.0)
        there = following.sample(following.start)
        return all(np.abs(a - b).max() <= jump for a, b, jump in zip(here[:2], there[:2], JUMP, strict=True))

    def _at_path_speed(
        self, plan: Plan, stamp: int, passed: int, q: Floats, qd: Floats, stopping: bool
    ) -> tuple[Sample, Command]:
        speed = self.path_speed
        dt = passed * 1e-9
        self.plan = plan = plan.delayed(round((dt - speed.advance(dt)) * NANOSECONDS))
        s = (stamp - plan.start) * 1e-9
        law = self._brake.law if stopping else self._law
        if self.safety.state == "stopped":
            desired = plan.sample(stamp)
            return desired, law.command(desired, q, qd)
        target = 0.0 if stopping or self._cancelling else self._slow_pace if stamp < self._slow_until else 1.0
        if speed.u > target:
            result = self._brake.command(plan.motion, s, speed, q, qd, target)
        else:
            speed.aim(target, RECOVERY)
            desired = at_path_speed(plan.motion.sample(s), speed.u, speed.rate)
            result = desired, law.command(desired, q, qd)
        if target == 0.0:
            self._watch_stop(stamp, speed, result[0][0])
        return result

    def _watch_stop(self, stamp: int, speed: PathSpeed, q_d: Floats) -> None:
        self._stop_began = self._stop_began or stamp
        if speed.u == 0.0:
            self.plan, self.path_speed = Plan(stamp, Line(q_d)), PathSpeed()
            self._cancelling, self._stop_began, self._slow_until = False, 0, 0
            self.safety.at_rest()
        elif stamp - self._stop_began > self._stop_timeout:
            self.safety.stop("did not come to rest in time", known=False)

    def _react(self, stamp: int, q: Floats, qd: Floats, q_d: Floats, torque: Floats) -> None:
        verdict = self.watch.check(q, qd, q_d, torque, stamp * 1e-9)
        if verdict is None:
            if self.warnings:
                self.warnings = ()
            return
        cause = "; ".join(verdict.sentences)
        if verdict.reaction == SAFE_STOP:
            if self.safety.state == "active":
                if verdict.off_path:
                    self.leave_path(stamp, q, qd)
                self.safety.stop(cause)
            elif verdict.off_path:  # nor does it follow the braking
                self.safety.stop(cause, known=False)
            return
        self.warnings = verdict.sentences
        if verdict.reaction == SLOW_DOWN:
            self._slow_until = stamp + self._slow_time
