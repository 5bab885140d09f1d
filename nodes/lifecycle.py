"""What lifecycle nodes share."""

from __future__ import annotations

from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from dyn_core.errors import InputError


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


def start_by_itself(node: LifecycleNode) -> None:
    """Configure and activate a node that is being made; InputError where one of the two fails."""
    for transition in (node.trigger_configure, node.trigger_activate):
        if transition() != TransitionCallbackReturn.SUCCESS:
            raise InputError("cannot start by itself; the line above says why")
