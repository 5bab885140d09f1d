"""A node that answers GetStiffness and GetDeflection with nothing: what a service costs before it does anything."""

from __future__ import annotations

import sys
from typing import Any

from dyn_robot.srv import GetDeflection, GetStiffness
from rclpy.node import Node

from dyn_nodes.common.process import run


class EmptyServer(Node):
    """Services of the stiffness server's types and names that return the response as it comes."""

    failure: Exception | None = None

    def __init__(self) -> None:
        super().__init__("stiffness_server")
        self.create_service(GetStiffness, "get_stiffness", _unchanged)
        self.create_service(GetDeflection, "get_deflection", _unchanged)

    def close(self) -> None:
        """Nothing to end."""


def _unchanged(request: Any, response: Any) -> Any:
    return response


if __name__ == "__main__":
    sys.exit(run("empty_service", EmptyServer))
