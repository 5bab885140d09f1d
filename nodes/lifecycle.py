"""What lifecycle nodes share."""

from __future__ import annotations

from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode


def refuse_impossible_transitions(node: LifecycleNode) -> None:
    """rclpy lets a transition that the present state does not have raise out of the service; answer false."""
    answer = node._service_change_state.callback

    def guarded(request: Any, response: Any) -> Any:
        try:
            return answer(request, response)
        except _rclpy.RCLError:
            response.success = False
            return response

    node._service_change_state.callback = guarded
