"""ROS 2 lifecycle node ``dac_bridge``: motor commands in, codes of real digital-to-analogue converters out."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger

from dyn_core.actuation import GAIN, LOW, OFFSET, STEP
from dyn_core.dac_file import read_dac_file
from dyn_core.errors import DynError, InputError
from nodes import parameters
from nodes.dac_outputs import Guardian, OutputError, Outputs
from nodes.diagnostics import ERROR, OK, WARN, Diagnostics, Report, cycle_values
from nodes.lifecycle import refuse_impossible_transitions, start_by_itself
from nodes.loop import CycleStatistics, LoopThread, StateWaiter, nanoseconds, quiet_interpreter, subscribe
from nodes.messages import DropCounter, Dropped, JointOrder, code_limits, motor_codes
from nodes.process import run
from nodes.robots import load_fixed_robot
from nodes.senders import SenderReader, senders
from nodes.service_manager import ServiceManager

TOPIC = "motor_commands"
SLICES = 5
"""The wait for a command is cut into so many slices of its timeout."""
RETRY = 0.1
"""Seconds between attempts to write the safe codes to outputs that refuse them."""
LOOK = 0.5
"""Seconds between looks at who publishes motor commands."""

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class DacBridge(LifecycleNode):
    """Writes the codes of the newest motor command of one publisher; the safe codes whenever in doubt.

    A thread waits for commands and writes each at once. A guardian process holds the outputs too, and writes the safe
    codes when this process dies or hangs.
    """

    def __init__(self) -> None:
        super().__init__("dac_bridge")
        parameters.declare(self, parameters.DAC_BRIDGE)
        self._manager = ServiceManager()
        self._drops = DropCounter()
        self._statistics = CycleStatistics()
        self._writing = threading.RLock()
        """Held by whoever uses the outputs."""
        self._label = "unconfigured"
        self._loop: LoopThread | None = None
        self._outputs: Outputs | None = None
        self._guardian: Guardian | None = None
        self._entities: list[Callable[[], Any]] = []
        self._fault = ""
        self._driving = False
        self._refusing: list[OutputError] = []
        self._cycled = self._fresh = self._tried = time.monotonic()
        self._sender, self._sender_name = b"", ""
        self._refused, self._strangers = set[bytes](), set[str]()
        self._stamp = 0
        self._commands = self._timeouts = self._passed_over = self._foreign = 0
        refuse_impossible_transitions(self)
        self.create_service(Trigger, "~/clear_fault", self._on_clear_fault)
        self._diagnostics = Diagnostics(self, self._report, self._drops)
        self.create_timer(LOOK, self._look_for_others)
        if self._manager.watchdog > 0.0:
            self.create_timer(self._manager.watchdog / 4.0, self._sign_of_life)
        if self.get_parameter("autostart").value:
            start_by_itself(self)
        self._manager.ready()

    @property
    def failure(self) -> Exception | None:
        """Why the loop ended by itself, if it did."""
        return None if self._loop is None else self._loop.failure

    def close(self) -> None:
        """Stop the loop, write the safe codes, let the guardian go."""
        self._manager.stopping()
        self._stop_loop()
        self._release()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the files, open and lock the outputs, start the guardian, and write the safe codes."""
        self._given = given = parameters.values(self, parameters.DAC_BRIDGE)
        try:
            if not given["dac"]:
                raise InputError("parameter dac: give the path of a DAC file (docs/dac.md)")
            if given["guardian_timeout"] < given["command_timeout"]:
                raise InputError("parameter guardian_timeout: must not be less than command_timeout")
            self._robot = load_fixed_robot(given["robot"])
            self._lowest, self._highest = code_limits(self._robot)
            self._open()
        except DynError as error:
            self._release()
            self.get_logger().error(f"cannot configure: {error}")
            return FAILURE
        self._described = self._robot.actuation.motors[:, (LOW, STEP, GAIN, OFFSET)].T
        self._joints = JointOrder(self._robot.joint_names)
        self._slice = given["command_timeout"] / SLICES
        self._publisher = given["publisher"]
        if self._publisher and not self._publisher.startswith("/"):
            self._publisher = f"{self.get_namespace().rstrip('/')}/{self._publisher}"
        subscription = subscribe(self, MotorCommand, TOPIC)
        self._reader = SenderReader(subscription)
        self._waiter = StateWaiter(self, subscription)
        self._entities = [
            self._reader.close,
            lambda: self.destroy_subscription(subscription),
            lambda: self.destroy_guard_condition(self._waiter.guard),
        ]
        self._label = "inactive"
        assert self._outputs is not None
        places = ", ".join(f"{j} {p}" for j, p in zip(self._outputs.map.joints, self._outputs.places, strict=True))
        self.get_logger().info(f"configured for {self._robot.name}, safe codes written: {places}")
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open what a fault may have closed, write the safe codes, and begin to wait for commands."""
        try:
            with self._writing:
                if self._outputs is None or self._guardian is None:
                    self._shut()
                    self._open()
                assert self._outputs is not None
                errors = self._outputs.make_safe()
            if errors:
                raise errors[0]
        except DynError as error:
            self._shut()
            self.get_logger().error(f"cannot activate: {error}")
            return FAILURE
        self._fault = ""
        self._forget()
        while self._reader.take() is not None:
            pass
        quiet_interpreter()
        self._statistics.pause()
        self._cycled = time.monotonic()
        self._loop = LoopThread("dac", self._cycle, self._given["realtime_priority"])
        self._loop.start()
        self._label = "active"
        self.get_logger().info("active, waiting for motor commands")
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the loop and write the safe codes."""
        self._stop_loop()
        self._label = "inactive"
        self.get_logger().info("inactive, safe codes written")
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give back what configure made."""
        self._release()
        self._label = "unconfigured"
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Safe codes, and give everything back."""
        self._stop_loop()
        self._release()
        self._label = "finalized"
        return SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After a transition that failed midway: safe codes, and back to unconfigured."""
        self._stop_loop()
        self._release()
        self._label = "unconfigured"
        return SUCCESS

    def _open(self) -> None:
        """Open the outputs; the guardian comes before the first write."""
        given = self._given
        dac = read_dac_file(given["dac"])
        if self._robot.name != dac.robot:
            raise InputError(f"{dac.path}: is for the robot {dac.robot}, but this system runs {self._robot.name}")
        with self._writing:
            self._outputs = Outputs(dac, self._robot, Path(given["iio_root"]))
            self._guardian = Guardian(self._outputs, given["guardian_timeout"], given["realtime_priority"])
            errors = self._outputs.make_safe()
            if errors:
                raise errors[0]
            self._outputs.wake()
            self._driving, self._refusing = False, []

    def _shut(self) -> None:
        """Safe codes, and close the outputs."""
        with self._writing:
            if self._outputs is not None:
                self._outputs.make_safe()
            if self._guardian is not None:
                self._guardian.close()
            if self._outputs is not None:
                self._outputs.close()
            self._outputs = self._guardian = None
            self._driving = False

    def _release(self) -> None:
        for destroy in self._entities:
            destroy()
        self._entities = []
        self._shut()

    def _stop_loop(self) -> None:
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        loop.stop(0.0)
        self._waiter.wake()
        loop.stop()
        self._rest()

    def _forget(self) -> None:
        """Obey whoever comes next."""
        self._sender, self._sender_name, self._stamp = b"", "", 0

    def _cycle(self) -> None:
        try:
            self._serve()
        except BaseException:
            self._rest()
            raise

    def _serve(self) -> None:
        self._waiter.wait(self._slice)
        now = time.monotonic()
        asleep, self._cycled = now - self._cycled, now
        timeout = self._given["command_timeout"]
        if self._driving and (asleep > timeout or now - self._fresh > timeout):
            self._time_out(asleep > timeout)
        message = self._newest()
        if message is not None and not self._fault:
            try:
                self._drive(message, now)
            except (DynError, OSError) as error:
                self._trip(str(error))
        with self._writing:
            if self._refusing and now - self._tried > RETRY:
                self._rest()
            guardian = self._guardian
            if guardian is None:
                return
            try:
                guardian.beat(self._driving)
            except OutputError as error:
                self._trip(str(error))
                self._guardian = None
                guardian.close()

    def _newest(self) -> MotorCommand | None:
        """The newest pending command of the obeyed publisher."""
        newest = None
        while True:
            if (taken := self._reader.take()) is None:
                return newest
            data, gid = taken
            if gid != self._sender and not self._adopt(gid):
                self._foreign += 1
                continue
            try:
                message = deserialize_message(data, MotorCommand)
            except Exception as error:
                self._drops.add(TOPIC, Dropped("not readable", str(error)))
                continue
            self._passed_over += newest is not None
            newest = message

    def _adopt(self, gid: bytes) -> bool:
        """Obey this publisher if none is obeyed yet, it is known to the graph, and its node may speak."""
        if self._sender or gid in self._refused:
            return False
        for sender in senders(self, self.resolve_topic_name(TOPIC)):
            if sender.gid == gid:
                if self._publisher in ("", sender.node):
                    self._sender, self._sender_name = gid, sender.node
                    self.get_logger().info(f"obeying {sender.node}")
                    return True
                self._refused.add(gid)
        return False

    def _drive(self, message: MotorCommand, now: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        if stamp < self._stamp:
            self._drops.add(TOPIC, Dropped("older than the last"))
            return
        codes = motor_codes(message, self._joints, self._lowest, self._highest)
        self._compare(message, codes)
        with self._writing:
            outputs = self._outputs
            assert outputs is not None
            assert self._guardian is not None
            since = min(now - self._fresh, self._given["command_timeout"]) if self._driving else self._slice
            raws = outputs.map.step(codes, since)
            if not self._driving:
                self._guardian.beat(True)
                outputs.enable()
                self._driving = True
                self.get_logger().info("driving")
            if time.monotonic() - now > self._given["command_timeout"]:
                self._time_out(True)
                return
            outputs.write(raws)
        self._stamp, self._fresh = stamp, now
        self._commands += 1
        self._statistics.tick()

    def _compare(self, message: MotorCommand, codes: np.ndarray) -> None:
        """The voltages beside the codes must be those that this robot's DAC makes of them."""
        order = self._joints.permutation(message.name)
        given = self._joints.arrange(message.voltage, order, "voltages")
        cut = np.asarray(message.saturated, bool)
        if cut.shape != given.shape:
            raise Dropped("wrong size", f"{cut.size} flags for {given.size} motors")
        cut = cut if order is None else cut[order]
        low, step, gain, offset = self._described
        apart = np.abs(gain * (low + codes * step - offset) - given) > np.abs(gain * step)
        if (apart & ~cut).any():
            j = int(np.argmax(apart & ~cut))
            raise InputError(
                f"{self._joints.names[j]}: code {codes[j]:g} is not {given[j]:.4g} V by this robot's description;"
                " the controller runs another robot"
            )

    def _time_out(self, stalled: bool) -> None:
        self._rest()
        self._forget()
        self._timeouts += 1
        self._statistics.pause()
        cause = "this process did not run" if stalled else "no motor command"
        self.get_logger().warning(f"{cause} for {self._given['command_timeout']:g} s: safe codes written")
        if stalled:
            while self._reader.take() is not None:  # from before the stall
                pass

    def _rest(self) -> None:
        """Safe codes, on every output that takes them; the others are tried again."""
        with self._writing:
            self._driving = False
            self._tried = time.monotonic()
            if self._outputs is None:
                return
            self._refusing = list(self._outputs.make_safe())

    def _trip(self, cause: str) -> None:
        self._rest()
        if self._fault:
            return
        self._fault = cause
        self._forget()
        self._statistics.pause()
        self.get_logger().error(f"fault, safe codes until ~/clear_fault: {cause}")

    def _on_clear_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._fault:
            response.success, response.message = True, "there was no fault"
            return response
        with self._writing:
            self._shut()
            try:
                self._open()
            except DynError as error:
                self._shut()
                response.success, response.message = False, f"the cause is still there: {error}"
                return response
            self._cycled = time.monotonic()
            response.success, response.message = True, f"cleared: {self._fault}; waiting for motor commands"
            self._fault = ""
        return response

    def _look_for_others(self) -> None:
        """Say who else publishes motor commands."""
        if self._label != "active":
            return
        self._refused.clear()  # the name of a node may become known later than its publisher
        allowed = self._sender_name or self._publisher
        known = senders(self, self.resolve_topic_name(TOPIC)) if allowed else []
        own = [sender for sender in known if sender.gid == self._sender or sender.node == allowed]
        others = {sender.node for sender in known if sender not in own}
        if len(own) > 1:
            others.add(f"{len(own) - 1} more called {allowed}")
        for name in others - self._strangers:
            self.get_logger().warning(f"{name} publishes {TOPIC} too, and is not obeyed; obeyed is {allowed}")
        self._strangers = others

    def _sign_of_life(self) -> None:
        """For systemd's watchdog: the executor runs this, and vouches for the loop too."""
        patience = max(self._manager.watchdog / 2.0, 2.0 * self._given["command_timeout"]) if self._loop else 0.0
        if self._loop is None or time.monotonic() - self._cycled < patience:
            self._manager.alive()

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self.get_parameter("robot").value,
            "state": self._label,
            "fault": self._fault,
            "driving": "yes" if self._driving else "no",
            "obeyed": self._sender_name,
            "not obeyed": ", ".join(sorted(self._strangers)),
            "commands": self._commands,
            "commands of others": self._foreign,
            "commands passed over": self._passed_over,
            "command timeouts": self._timeouts,
            "cycles": self._statistics.count,
            **cycle_values(self._statistics.summary()),
        }
        outputs, guardian = self._outputs, self._guardian
        if outputs is not None:
            values["clipped commands"] = outputs.map.clipped
            values["safe codes"] = " ".join(map(str, outputs.map.safe))
        if guardian is not None:
            values["guardian"] = guardian.pid
        if self._loop is not None:
            values["scheduling"] = self._loop.scheduling
        level, sentence = OK, self._label
        if self._fault:
            level, sentence = ERROR, f"fault, call ~/clear_fault: {self._fault}"
        elif self._strangers:
            level, sentence = WARN, f"not obeyed: {values['not obeyed']}"
        elif self._label == "active" and not self._driving:
            level, sentence = WARN, "active, safe codes out, waiting for motor commands"
        self._manager.status(sentence)
        return level, sentence, values


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the node."""
    return run("dac_bridge", DacBridge, args)


if __name__ == "__main__":
    sys.exit(main())
