"""An action server whose goals are worked at in a thread of their own, while the executor goes on answering."""

import threading
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node

KEPT = 60
"""Seconds that a result is kept for a client that has not fetched it yet."""


class ThreadedActionServer(ActionServer):
    """Works at goals: work(goal_handle, stopping) returns the result, soon once the event `stopping` is set.

    The result has the fields `success` (false: the goal is aborted) and `complete` (false: it was cancelled). rclpy
    would run the work inside the executor, where nothing else is answered until it ends; here the executor is only
    told the outcome.
    """

    def __init__(self, node: Node, action_type: Any, name: str, work: Callable[[Any, threading.Event], Any]) -> None:
        super().__init__(node, action_type, name, work, cancel_callback=self._on_cancel, result_timeout=KEPT)
        self._work = work
        self._stopping: dict[bytes, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Called by rclpy in the executor's thread when a goal has been accepted."""
        stopping = self._stopping[bytes(goal_handle.goal_id.uuid)] = threading.Event()
        thread = threading.Thread(target=self._run, args=(goal_handle, stopping), name="action", daemon=True)
        self._threads = [other for other in self._threads if other.is_alive()] + [thread]
        thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """Give up all goals, and wait for that."""
        for stopping in self._stopping.values():
            stopping.set()
        for thread in self._threads:
            thread.join(timeout)

    def _on_cancel(self, goal_handle: Any) -> CancelResponse:
        if stopping := self._stopping.get(bytes(goal_handle.goal_id.uuid)):
            stopping.set()
        return CancelResponse.ACCEPT

    def _run(self, goal_handle: Any, stopping: threading.Event) -> None:
        try:
            result = self._work(goal_handle, stopping)
        except Exception as error:
            sentence = " ".join(str(error).split()) or type(error).__name__
            result = self.action_type.Result(message=f"unexpected {type(error).__name__}: {sentence}")
        self._stopping.pop(bytes(goal_handle.goal_id.uuid), None)

        def conclude(handle: Any) -> Any:
            if not result.success:
                handle.abort()
            elif handle.is_cancel_requested and not result.complete:
                handle.canceled()
            else:
                handle.succeed()
            return result

        super().notify_execute(goal_handle, conclude)
