"""What lifecycle nodes with a loop share: transitions, the loop's thread, faults that a service clears."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from dyn_core import DynError
from dyn_core.errors import InputError

from .diagnostics import Diagnostics, Report
from .direct_subscription import SubscriptionWaiter, subscribe
from .loop_thread import CycleStatistics, LoopThread, quiet_interpreter
from .message_checks import DropCounter
from .parameter_spec import ParameterSpec, declare, parameter_values

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class LoopLifecycleNode(LifecycleNode):
    """A lifecycle node whose loop runs, in a thread of its own, while it is active.

    The loop waits for the messages of one subscription. Whichever way it ends, ``_make_safe`` is called.
    """

    def __init__(self, name: str, table: Sequence[ParameterSpec]) -> None:
        super().__init__(name)
        self._table = table
        self._given = declare(self, table)
        """The parameters' values, at the last configure if there was one."""
        self._drops = DropCounter()
        self._statistics = CycleStatistics()
        self._label = "unconfigured"
        """Of the lifecycle's state."""
        self._loop: LoopThread | None = None
        self._made = ExitStack()
        """Gives back what configure made."""

    def _serve(self) -> None:
        """The last step of being made: answer, report, and start by itself where that is asked."""
        _refuse_impossible_transitions(self)
        self.create_service(Trigger, "~/clear_fault", self._on_clear_fault)
        self._diagnostics = Diagnostics(self, self._report, self._drops)
        if self.get_parameter("autostart").value:
            for transition in (self.trigger_configure, self.trigger_activate):
                if transition() != SUCCESS:
                    raise InputError("autostart failed; see the previous log line")

    @abstractmethod
    def _configure(self, given: dict[str, Any]) -> str:
        """Make what the loop needs; returns what is logged."""

    @abstractmethod
    def _activate(self) -> str:
        """Prepare the loop's first cycle; returns what is logged."""

    @abstractmethod
    def _cycle(self) -> None:
        """One cycle of the loop."""

    @abstractmethod
    def _make_safe(self) -> str:
        """After the loop's end; returns what is logged."""

    @abstractmethod
    def _report(self) -> Report:
        """For /diagnostics."""

    @abstractmethod
    def _on_clear_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response: ...

    def _loop_values(self) -> dict[str, object]:
        """What /diagnostics says about the loop."""
        scheduling = {} if self._loop is None else {"scheduling": self._loop.scheduling}
        return {"cycles": self._statistics.count, **self._statistics.summary(), **scheduling}

    @property
    def failure(self) -> Exception | None:
        """Why the loop ended by itself, if it did."""
        return None if self._loop is None else self._loop.failure

    def close(self) -> None:
        """End the loop, make safe, and give everything back."""
        self._given_back("finalized")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make what the loop needs, and compile and call once what it will call."""
        self._given = parameter_values(self, self._table)
        return self._transition("configure", "inactive", self._configure, self._given)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the loop."""
        return self._transition("activate", "active", self._start_loop)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the loop and make safe."""
        self.get_logger().info(f"inactive, {self._stop_loop()}")
        self._label = "inactive"
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give back what configure made; after a transition that failed midway too."""
        return self._given_back("unconfigured")

    on_error = on_cleanup

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the loop, make safe, and give everything back."""
        return self._given_back("finalized")

    def _transition(self, what: str, label: str, do: Callable[..., str], *arguments: Any) -> TransitionCallbackReturn:
        try:
            sentence = do(*arguments)
        except DynError as error:
            self.get_logger().error(f"cannot {what}: {error}")
            if what == "configure":
                self._release()
            return FAILURE
        self._label = label
        self.get_logger().info(sentence)
        return SUCCESS

    def _given_back(self, label: str) -> TransitionCallbackReturn:
        self._stop_loop()
        self._release()
        self._label = label
        return SUCCESS

    def _kept(self, entity: Any, destroy: Callable[[Any], Any]) -> Any:
        """The entity, which is destroyed when the node gives back what configure made."""
        self._made.callback(destroy, entity)
        return entity

    def _listen(self, message_type: type, topic: str) -> Subscription:
        """The subscription for whose messages the loop waits, with ``self._waiter``."""
        subscription = self._kept(subscribe(self, message_type, topic), self.destroy_subscription)
        self._waiter = SubscriptionWaiter(self, subscription)
        self._kept(self._waiter.guard, self.destroy_guard_condition)
        return subscription

    def _release(self) -> None:
        self._made.close()

    def _start_loop(self) -> str:
        sentence = self._activate()
        quiet_interpreter()
        self._statistics.pause()
        self._loop = LoopThread(self.get_name(), self._cycle, self._given["realtime_priority"])
        self._loop.start()
        return sentence

    def _stop_loop(self) -> str:
        loop, self._loop = self._loop, None
        if loop is None:
            return ""
        loop.stop(0.0)
        self._waiter.wake()
        loop.stop()
        return self._make_safe()


def _refuse_impossible_transitions(node: LifecycleNode) -> None:
    """rclpy lets a transition that the present state does not have raise out of the service; answer false."""
    answer = node._service_change_state.callback

    def guarded(request: Any, response: Any) -> Any:
        try:
            return answer(request, response)
        except _rclpy.RCLError:
            response.success = False
            return response

    node._service_change_state.callback = guarded
