"""``dyn stiffness``: the stiffness or the deflection of a running robot or, offline, of any robot without ROS."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from dyn_core.description.pose import pose, rotation_from_rpy
from dyn_core.errors import InputError
from dyn_core.spatial import azimuth_tilt_torsion
from nodes.robots import load_fixed_robot
from nodes.stiffness_answers import Answer, as_json, deflection_answer, stiffness_answer

ROBOT = "puma560"
"""Which robot is looked at offline if none is named."""


def run(args: argparse.Namespace) -> int:
    """Print the answer; status 1 where there is nothing to show."""
    answer = _computed(args) if args.offline else _asked(args)
    known = answer["success"] or any(answer.get(key) is not None for key in ("stiffness", "compliance", "translation"))
    if args.json:
        print(json.dumps(as_json(answer)))
    elif not known:
        print(f"dyn stiffness: {answer['message']}", file=sys.stderr)
    else:
        print("\n".join(_deflection_lines(answer) if args.wrench is not None else _stiffness_lines(answer)))
    return 0 if known and (answer["success"] or args.wrench is None) else 1


def given_pose(args: argparse.Namespace) -> np.ndarray | None:
    """(3, 3) or (4, 4) the platform's rotation or pose that the options give, if they do."""
    given = [name for name in ("positions", "orientation", "pose") if getattr(args, name)]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given, expected one of them")
    if args.orientation:
        return azimuth_tilt_torsion(*np.radians(args.orientation))
    if args.pose:
        roll, pitch, yaw = np.radians(args.pose[3:])
        return pose(rotation_from_rpy(roll, pitch, yaw), np.array(args.pose[:3]))
    return None


def _computed(args: argparse.Namespace) -> Answer:
    robot = load_fixed_robot(args.robot or ROBOT)
    frame = args.frame or "tool"
    at = given_pose(args)
    if at is None:
        at = np.array(args.positions) if args.positions else robot.neutral()
    if args.wrench is not None:
        return deflection_answer(robot, at, np.array(args.wrench), frame)
    return stiffness_answer(robot, at, frame)


def _asked(args: argparse.Namespace) -> Answer:
    from nodes.stiffness_client import ask

    return ask(args, given_pose(args))


def _stiffness_lines(answer: Answer) -> list[str]:
    lines = [answer["message"], f"point {_vector(answer['point'])} m in {answer['frame_id']!r}"]
    if answer["stiffness"] is not None:
        lines += ["stiffness (N/m, N/rad; N m/m, N m/rad):", _matrix(answer["stiffness"])]
        lines.append(f"condition {answer['condition']:.4g}")
    else:
        lines += ["compliance (m/N, m/(N m); rad/N, rad/(N m)):", _matrix(answer["compliance"])]
    return lines + _null_lines(answer)


def _deflection_lines(answer: Answer) -> list[str]:
    shift, turn = (np.asarray(answer[key]) for key in ("translation", "rotation"))
    lines = [] if answer["success"] else [answer["message"]]
    lines.append(f"translation {_vector(shift)} m, rotation {_vector(turn)} rad")
    lines.append(f"{1e3 * np.linalg.norm(shift):.4g} mm, {np.degrees(np.linalg.norm(turn)):.4g} degrees")
    return lines + _null_lines(answer)


def _null_lines(answer: Answer) -> list[str]:
    return [f"nothing resists the motion {_vector(v)} (m, rad)" for v in answer["null_directions"]]


def _vector(v: Any) -> str:
    return f"[{', '.join(f'{x:.5g}' for x in v)}]"


def _matrix(values: Any) -> str:
    return "\n".join("  " + " ".join(f"{x:11.4g}" for x in row) for row in np.reshape(values, (6, 6)))
