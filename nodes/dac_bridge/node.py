"""ROS 2 lifecycle node ``dac_bridge``: motor commands in, codes of real digital-to-analogue converters out."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from std_srvs.srv import Trigger

from dyn_core.actuation import read_dac_file
from dyn_core.errors import DynError, InputError, RefusedError
from dyn_nodes.common.diagnostics import ERROR, OK, WARN, Report
from dyn_nodes.common.lifecycle import LoopLifecycleNode
from dyn_nodes.common.message_checks import JointOrder, motor_codes
from dyn_nodes.common.robot import load_fixed_robot
from dyn_nodes.common.stamps import nanoseconds

from .command_source import TOPIC, CommandSource
from .guardian import Guardian
from .output_file import OutputError
from .outputs import Outputs
from .parameters import PARAMETERS
from .systemd import ServiceManager

SLICES = 5
"""The wait for a command is cut into so many slices of its timeout."""
RETRY = 0.1
"""Seconds between attempts to write the safe codes to outputs that refuse them."""
LOOK = 0.5
"""Seconds between looks at who publishes motor commands."""


class DacBridge(LoopLifecycleNode):
    """Writes the codes of the newest motor command of one publisher; the safe codes whenever in doubt.

    A thread waits for commands and writes each at once. A guardian process holds the outputs too, and writes the safe
    codes when this process dies or hangs.
    """

    def __init__(self) -> None:
        super().__init__("dac_bridge", PARAMETERS)
        self._manager = ServiceManager()
        self._writing = threading.RLock()
        """Held by whoever uses the outputs."""
        self._outputs: Outputs | None = None
        self._guardian: Guardian | None = None
        self._source: CommandSource | None = None
        self._fault = ""
        self._driving = False
        self._refusing: list[OutputError] = []
        self._cycled = self._fresh = self._tried = time.monotonic()
        self._stamp = 0
        self._commands = self._timeouts = 0
        self.create_timer(LOOK, self._look_for_others)
        if self._manager.watchdog > 0.0:
            self.create_timer(self._manager.watchdog / 4.0, self._sign_of_life)
        self._serve()
        self._manager.tell("READY=1")

    def close(self) -> None:
        """Stop the loop, write the safe codes, let the guardian go."""
        self._manager.tell("STOPPING=1")
        super().close()

    def _configure(self, given: dict[str, Any]) -> str:
        """Read the files, open and lock the outputs, start the guardian, and write the safe codes."""
        if not given["dac"]:
            raise InputError("parameter dac: give the path of a DAC file (docs/dac.md)")
        if given["guardian_timeout"] < given["command_timeout"]:
            raise InputError("parameter guardian_timeout: must not be less than command_timeout")
        self._robot = load_fixed_robot(given["robot"])
        self._lowest, self._highest = self._robot.described_motors.code_limits
        outputs = self._open()
        self._joints = JointOrder(self._robot.joint_names)
        self._slice = given["command_timeout"] / SLICES
        subscription = self._listen(MotorCommand, TOPIC)
        self._source = CommandSource(self, subscription, given["publisher"], self._drops)
        self._made.callback(self._source.close)
        places = ", ".join(f"{j} {p}" for j, p in zip(outputs.map.joints, outputs.places, strict=True))
        return f"configured for {self._robot.name}, safe codes written: {places}"

    def _activate(self) -> str:
        """Open what a fault may have closed, write the safe codes, and wait for commands."""
        assert self._source is not None
        try:
            with self._writing:
                outputs = self._outputs
                if outputs is None or self._guardian is None:
                    self._shut()
                    outputs = self._open()
                if errors := outputs.make_safe():
                    raise errors[0]
        except DynError:
            self._shut()
            raise
        self._fault = ""
        self._forget()
        self._source.empty()
        self._cycled = time.monotonic()
        return "active, waiting for motor commands"

    def _make_safe(self) -> str:
        self._rest()
        return "safe codes written"

    def _open(self) -> Outputs:
        """Open the outputs; the guardian comes before the first write."""
        given = self._given
        dac = read_dac_file(given["dac"])
        if self._robot.name != dac.robot:
            raise InputError(f"{dac.path}: is for the robot {dac.robot}, but this system runs {self._robot.name}")
        with self._writing:
            self._outputs = outputs = Outputs(dac, self._robot, Path(given["iio_root"]))
            self._guardian = Guardian(outputs, given["guardian_timeout"], given["realtime_priority"])
            if errors := outputs.make_safe():
                raise errors[0]
            outputs.wake()
            self._driving, self._refusing = False, []
            return outputs

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
        super()._release()
        self._shut()

    def _forget(self) -> None:
        """Obey whoever comes next."""
        assert self._source is not None
        self._source.forget()
        self._stamp = 0

    def _cycle(self) -> None:
        try:
            self._answer()
        except BaseException:
            self._rest()
            raise

    def _answer(self) -> None:
        self._waiter.wait(self._slice)
        now = time.monotonic()
        asleep, self._cycled = now - self._cycled, now
        timeout = self._given["command_timeout"]
        if self._driving and (asleep > timeout or now - self._fresh > timeout):
            self._time_out(asleep > timeout)
        assert self._source is not None
        message = self._source.newest()
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

    def _drive(self, message: MotorCommand, now: float) -> None:
        stamp = nanoseconds(message.header.stamp)
        if stamp < self._stamp:
            self._drops.add(TOPIC, RefusedError("older than the last"))
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
            raise RefusedError("wrong size", f"{cut.size} flags for {given.size} motors")
        cut = cut if order is None else cut[order]
        actuation = self._robot.actuation
        apart = np.abs(actuation.volts_of_codes(codes) - given) > actuation.volts_per_code
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
        if stalled and self._source is not None:
            self._source.empty()

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
        if self._label == "active" and self._source is not None:
            self._source.look_for_others()

    def _sign_of_life(self) -> None:
        """For systemd's watchdog: the executor runs this, and vouches for the loop too."""
        patience = max(self._manager.watchdog / 2.0, 2.0 * self._given["command_timeout"]) if self._loop else 0.0
        if self._loop is None or time.monotonic() - self._cycled < patience:
            self._manager.tell("WATCHDOG=1")

    def _report(self) -> Report:
        source = self._source
        strangers = "" if source is None else ", ".join(sorted(source.others))
        values: dict[str, object] = {
            "robot": self.get_parameter("robot").value,
            "state": self._label,
            "fault": self._fault,
            "driving": "yes" if self._driving else "no",
            "obeyed": "" if source is None else source.obeyed,
            "not obeyed": strangers,
            "commands": self._commands,
            "commands of others": 0 if source is None else source.foreign,
            "commands passed over": 0 if source is None else source.passed_over,
            "command timeouts": self._timeouts,
            **self._loop_values(),
        }
        outputs, guardian = self._outputs, self._guardian
        if outputs is not None:
            values["clipped commands"] = outputs.map.clipped
            values["safe codes"] = " ".join(map(str, outputs.map.safe))
        if guardian is not None:
            values["guardian"] = guardian.pid
        level, sentence = OK, self._label
        if self._fault:
            level, sentence = ERROR, f"fault, call ~/clear_fault: {self._fault}"
        elif strangers:
            level, sentence = WARN, f"not obeyed: {strangers}"
        elif self._label == "active" and not self._driving:
            level, sentence = WARN, "active, safe codes out, waiting for motor commands"
        self._manager.tell(f"STATUS={sentence}")
        return level, sentence, values
