"""Show where the joints are."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dyn_cli.options import json_option, namespace_option
from dyn_cli.table import table

if TYPE_CHECKING:
    from dyn_cli.client.robot_client import RobotClient

NEEDS = "ros"
EXAMPLES = ("./dyn state", "./dyn state --watch", "./dyn state --json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--watch", action="store_true", help="go on until Ctrl-C")
    json_option(parser)
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Show the joints."""
    from dyn_cli.client.robot_client import connected
    from dyn_nodes.simulated_robot.platform_publisher import POSE

    with connected(args.namespace) as client:
        controller = _controller_label(client)
        try:
            while True:
                message = client.joint_state()
                platform = client.platform() if client.node.count_publishers(POSE) else None
                show = _state_json if args.json else _state_table
                print(show(message, controller, platform), flush=True)
                if not args.watch:
                    return 0
                client.spin(0.5)
        except KeyboardInterrupt:
            return 0


def _controller_label(client: RobotClient) -> str:
    from dyn_cli.client.robot_client import ClientError

    try:
        return client.lifecycle_state(timeout=2.0)
    except ClientError:
        return "not running"


def _state_rows(message: Any) -> list[tuple[str, float, float, float]]:
    efforts = message.effort if len(message.effort) else [float("nan")] * len(message.name)
    return list(zip(message.name, message.position, message.velocity, efforts, strict=True))


def _state_table(message: Any, controller: str, platform: Any = None) -> str:
    rows = [("joint", "position", "velocity", "effort")]
    rows += [(name, f"{q:.5f}", f"{qd:.5f}", f"{tau:.4f}") for name, q, qd, tau in _state_rows(message)]
    heading, *lines = table(rows, "<>")
    lines = [f"{heading}   (rad, rad/s, N m; m, m/s, N)", *lines]
    if platform is not None:
        shown = {name: "  ".join(f"{x:.5f}" for x in values) for name, values in _platform(platform).items()}
        lines.append(f"platform at {shown['position']} m")
        lines.append(f"  roll pitch yaw {shown['roll_pitch_yaw']} rad")
        lines.append(f"  velocity {shown['velocity']} m/s")
        lines.append(f"  angular velocity {shown['angular_velocity']} rad/s")
    return "\n".join([*lines, f"controller: {controller}"])


def _state_json(message: Any, controller: str, platform: Any = None) -> str:
    keys = ("name", "position", "velocity", "effort")
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    joints = [dict(zip(keys, row, strict=True)) for row in _state_rows(message)]
    shown = {} if platform is None else {"platform": _platform(platform)}
    return json.dumps({"stamp": stamp, "controller": controller, "joints": joints, **shown})


def _platform(platform: Any) -> dict[str, list[float]]:
    from dyn_core.spatial import rpy_from_rotation
    from dyn_nodes.common.geometry_messages import pose_array, twist_array

    at, moving = platform
    T, V = pose_array(at.pose), twist_array(moving.twist)
    return {
        "position": T[:3, 3].tolist(),
        "roll_pitch_yaw": list(rpy_from_rotation(T[:3, :3])),
        "velocity": V[:3].tolist(),
        "angular_velocity": V[3:].tolist(),
    }
