"""The emergency stop: the topic ``emergency_stop`` in a thread of its own, and the service ``~/emergency_stop``.

The thread waits for nothing else, so that neither the executor nor the control loop can keep a message waiting. Three
subscriptions hear every kind of publisher: best effort, reliable, and latched, whose last message a controller that is
started later still gets.
"""

import threading
import time

from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from dyn_core.control import Safety
from dyn_nodes.common.direct_subscription import SubscriptionWaiter, subscribe, take_all
from dyn_nodes.common.loop_thread import LoopThread
from dyn_nodes.common.qos import FRESH, LATCHED, STREAM

TOPIC, SERVICE, SILENCE = "topic", "service", "no message on its topic in time"
PATIENCE = 0.5
"""Longest wait of the thread where no timeout asks for a shorter one (s)."""


class EmergencyStop:
    """Presses and releases ``safety``."""

    def __init__(self, node: Node, safety: Safety) -> None:
        self.timeout = 0.0
        """Without a message for this long it counts as pressed (s); 0: never."""
        self._safety, self._logger = safety, node.get_logger()
        self._heard = time.monotonic()
        self._lock = threading.Lock()
        self._subscriptions = [subscribe(node, Bool, "emergency_stop", quality) for quality in (FRESH, STREAM, LATCHED)]
        self._waiter = SubscriptionWaiter(node, *self._subscriptions)
        node.create_service(SetBool, "~/emergency_stop", self._on_service)
        self._thread = LoopThread("emergency_stop", self._cycle)
        self._thread.start()

    def watch(self, timeout: float) -> None:
        """Expect a message at least every ``timeout`` seconds from now on (0: do not)."""
        with self._lock:
            self.timeout, self._heard = timeout, time.monotonic()
        self._set(SILENCE, False)
        self._waiter.wake()

    def close(self) -> None:
        """End the thread."""
        self._thread.stop(0.0)
        self._waiter.wake()
        self._thread.stop()

    @property
    def failure(self) -> Exception | None:
        """Why the thread ended by itself, if it did."""
        return self._thread.failure

    def _cycle(self) -> None:
        self._waiter.wait(min(PATIENCE, self.timeout / 5.0) if self.timeout else PATIENCE)
        for subscription in self._subscriptions:
            for message in take_all(subscription):  # even a momentary press stops the robot
                with self._lock:
                    self._heard = time.monotonic()
                self._set(TOPIC, message.data)
        with self._lock:
            late = bool(self.timeout) and time.monotonic() - self._heard > self.timeout
        self._set(SILENCE, late)

    def _set(self, source: str, pressed: bool) -> None:
        if not (self._safety.press(source) if pressed else self._safety.release(source)):
            return
        if sources := self._safety.pressed:
            self._logger.error(f"emergency stop pressed ({', '.join(sources)})")
        else:
            self._logger.info("emergency stop released")

    def _on_service(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._set(SERVICE, request.data)
        pressed = self._safety.pressed
        response.success = True
        response.message = f"pressed ({', '.join(pressed)})" if pressed else "released; ~/clear_fault lets it go on"
        return response
