"""The tool's Cartesian stiffness, or deflection under a load."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from dyn_cli.options import finite, json_option, namespace_option, numbers, offline_options

if TYPE_CHECKING:
    import numpy as np

    from dyn_core.stiffness_maps import DeflectionAnswer, StiffnessAnswer

NEEDS = "ros"
OFFLINE = "core"
EXAMPLES = (
    "./dyn stiffness 0 0.5 -1.2 0 0.4 0",
    "./dyn stiffness --wrench 0 0 -50 0 0 0",
    "./dyn stiffness --offline --robot agile_wrist --orientation 45 30 0",
)

ROBOT = "puma560"
"""Which robot is looked at offline if none is named."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "dyn stiffness [Q ...] [OPTIONS]"
    parser.add_argument(
        "positions",
        nargs="*",
        type=finite,
        metavar="Q",
        help="one position per joint (rad, m; default: where the arm is)",
    )
    numbers(parser, "--orientation", 3, "azimuth, tilt, torsion of the platform (degrees)")
    numbers(parser, "--pose", 6, "x y z (m) and roll pitch yaw (degrees) of the platform")
    numbers(parser, "--wrench", 6, "force (N), moment (N m), base axes: show the deflection")
    offline_options(parser)
    json_option(parser)
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the answer; status 1 where there is nothing to show."""
    from dyn_core.stiffness_maps import DeflectionAnswer, as_json

    if args.offline:
        answer = _computed(args)
    else:
        from dyn_cli.client.stiffness_client import ask

        answer = ask(args, given_pose(args))
    known = answer.success or any(
        getattr(answer, name, None) is not None for name in ("stiffness", "compliance", "translation")
    )
    if args.json:
        print(json.dumps(as_json(answer)))
    elif not known:
        print(f"dyn stiffness: {answer.message}", file=sys.stderr)
    else:
        lines = _deflection_lines if isinstance(answer, DeflectionAnswer) else _stiffness_lines
        free = [f"nothing resists the motion {_vector(v)} (m, rad)" for v in answer.null_directions]
        print("\n".join([*lines(answer), *free]))
    return 0 if known and (answer.success or args.wrench is None) else 1


def given_pose(args: argparse.Namespace) -> np.ndarray | None:
    """(3, 3) or (4, 4) the platform's rotation or pose that the options give, if they do."""
    import numpy as np

    from dyn_core.errors import InputError
    from dyn_core.spatial import azimuth_tilt_torsion, pose, rotation_from_rpy

    given = [name for name in ("positions", "orientation", "pose") if getattr(args, name)]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given, expected one of them")
    if args.orientation:
        return azimuth_tilt_torsion(*np.radians(args.orientation))
    if args.pose:
        roll, pitch, yaw = np.radians(args.pose[3:])
        return pose(rotation_from_rpy(roll, pitch, yaw), np.array(args.pose[:3]))
    return None


def _computed(args: argparse.Namespace) -> StiffnessAnswer | DeflectionAnswer:
    import numpy as np

    from dyn_core.stiffness_maps import deflection_answer, stiffness_answer
    from dyn_nodes.common.robot import load_fixed_robot

    robot = load_fixed_robot(args.robot or ROBOT)
    frame = args.frame or "tool"
    at = given_pose(args)
    if at is None:
        at = np.array(args.positions) if args.positions else robot.neutral()
    if args.wrench is not None:
        return deflection_answer(robot, at, np.array(args.wrench), frame)
    return stiffness_answer(robot, at, frame)


def _stiffness_lines(answer: Any) -> list[str]:
    lines = [answer.message, f"point {_vector(answer.point)} m in {answer.frame_id!r}"]
    if answer.stiffness is not None:
        lines += ["stiffness (N/m, N/rad; N m/m, N m/rad):", _matrix(answer.stiffness)]
        lines.append(f"condition {answer.condition:.4g}")
    else:
        lines += ["compliance (m/N, m/(N m); rad/N, rad/(N m)):", _matrix(answer.compliance)]
    return lines


def _deflection_lines(answer: Any) -> list[str]:
    shift, turn = answer.translation, answer.rotation
    lines = [] if answer.success else [answer.message]
    lines.append(f"translation {_vector(shift)} m, rotation {_vector(turn)} rad")
    lines.append(f"{1e3 * math.hypot(*shift):.4g} mm, {math.degrees(math.hypot(*turn)):.4g} degrees")
    return lines


def _vector(v: Any) -> str:
    return f"[{', '.join(f'{x:.5g}' for x in v)}]"


def _matrix(values: Any) -> str:
    return "\n".join("  " + " ".join(f"{x:11.4g}" for x in row) for row in values)
