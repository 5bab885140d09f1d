"""Move the arm to joint positions, or a platform to a pose."""

import argparse

from dyn_cli.options import finite, namespace_option, positive

NEEDS = "ros"
EXAMPLES = (
    "./dyn move 0 0.5 -1.2 0 0.4 0",
    "./dyn move 0 45 -90 0 30 0 --degrees --duration 3",
    "./dyn move --pose 0.05 0 0.88 0 5 10 --degrees",
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "dyn move (Q ... | --pose X Y Z ROLL PITCH YAW) [OPTIONS]"
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "positions",
        nargs="*",
        type=finite,
        metavar="Q",
        default=[],
        help="one position per joint, in the robot's joint order (rad, m)",
    )
    target.add_argument(
        "--pose",
        nargs=6,
        type=finite,
        metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"),
        help="where the platform of a parallel robot shall be instead (m, rad)",
    )
    parser.add_argument(
        "--degrees", action="store_true", help="positions of revolute joints, roll, pitch and yaw are in degrees"
    )
    parser.add_argument(
        "--duration", type=positive, metavar="S", help="time of the motion in seconds (default: chosen)"
    )
    parser.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="return once the arm has arrived (default)",
    )
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Move the arm to joint positions, or a platform to a pose."""
    import numpy as np

    from dyn_cli.client.motion import await_arrival, distance_to, send_pose, send_positions
    from dyn_cli.client.robot_client import CONTROLLER, connected
    from dyn_core import load_robot
    from dyn_core.spatial import pose, rotation_from_rpy

    with connected(args.namespace) as client:
        robot = load_robot(client.parameter(CONTROLLER, "robot"))
        if args.pose is not None:
            angles = np.radians(args.pose[3:]) if args.degrees else args.pose[3:]
            goal = pose(rotation_from_rpy(*angles), np.array(args.pose[:3]))
            target, duration = send_pose(client, robot, goal, args.duration)
        else:
            target, duration = send_positions(client, robot, args.positions, args.degrees, args.duration)
        if not args.wait:
            client.spin(0.2)
            print(f"moving for {duration:.3g} s")
            return 0
        client.spin(duration + 0.1)
        worst = await_arrival(client, target)
        print(f"arrived after {duration:.3g} s, within {worst:.2g} of the target on every joint")
        if args.pose is not None:
            distance, angle = distance_to(client, goal)
            print(f"the platform is within {1e3 * distance:.2g} mm and {angle:.2g} rad of its pose")
        return 0
