"""An animation of a motion as one HTML page, with its data and its drawing inside: a browser opens it with no network.

A link is drawn from its joint's origin to what it carries: the next joints, the tool, and the joints at which closed
chains were cut. A joint is drawn as a piece of its axis.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from dyn_cli.figures.recording import Recording
from dyn_core import Robot
from dyn_core.arrays import Floats
from dyn_core.files import write_whole
from dyn_core.mechanism import BASE, PRISMATIC

TEMPLATE = Path(__file__).with_name("animation.html")
FRAMES_PER_SECOND = 50.0
MOST_NUMBERS = 1_000_000
MARK = "/* the motion */ null"


def write_animation(recording: Recording, path: Path) -> int:
    """Write the page; returns how many frames it shows."""
    scene = animation_data(recording)
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    page = TEMPLATE.read_text(encoding="utf-8")
    assert page.count(MARK) == 1
    write_whole(path, page.replace(MARK, text))
    return len(scene["t"])


def animation_data(recording: Recording) -> dict[str, Any]:
    """What the page draws: names, segments between points, and the points' positions (m, base frame) per frame."""
    robot, result = recording.robot, recording.result
    m = robot.mechanism
    carried = _carried(robot)
    segments = [[body, m.n + k] for k, (body, _) in enumerate(carried)]
    rows = _shown(result.t, 3 * (m.n + len(carried) + m.n) + 3 * robot.n)
    R, p = body_poses(robot, result.q[rows])
    tips = [p[:, body] + R[:, body] @ at if body != BASE else np.tile(at, (len(rows), 1)) for body, at in carried]
    points = np.concatenate([p, np.stack(tips, axis=1)], axis=1)
    size = float(np.ptp(points.reshape(-1, 3), axis=0).max()) or 1.0
    digits = 5 - int(np.floor(np.log10(size)))
    degrees = np.where(m.joint_type[robot.joints] == PRISMATIC, 1.0, 180.0 / np.pi)
    drive = "torque" if recording.torque_driven else "voltage"
    return {
        "robot": robot.name,
        "joints": list(robot.joint_names),
        "units": ["m" if unit == 1.0 else "\u00b0" for unit in degrees.tolist()],
        "drive": {"name": drive, "unit": "V" if drive == "voltage" else "N m"},
        "size": size,
        "segments": segments,
        "prismatic": (m.joint_type == PRISMATIC).tolist(),
        "tool": m.n + len(carried) - 1,
        "t": np.round(result.t[rows], 6).tolist(),
        "points": np.round(points, digits).reshape(len(rows), -1).tolist(),
        "axes": np.round(R[:, :, :, 2], 4).reshape(len(rows), -1).tolist(),
        "q": np.round(result.q[rows] * degrees, 4).tolist(),
        "u": np.round(result.drive[rows], 4).tolist(),
    }


def body_poses(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Rotations (m, bodies, 3, 3) and origins (m, bodies, 3) of all body frames in the base frame, at q (m, nq)."""
    mechanism = robot.mechanism
    names = [frame.name for frame in mechanism.frames]
    of = [names.index(name) for name in mechanism.body_names]
    poses = robot.link_poses(q)[:, of]
    frames = [mechanism.frames[k] for k in of]
    R = poses[:, :, :3, :3] @ np.array([frame.R.T for frame in frames])
    offsets = np.array([frame.p for frame in frames])
    return R, poses[:, :, :3, 3] - np.einsum("mbij,bj->mbi", R, offsets)


def _carried(robot: Robot) -> list[tuple[int, Floats]]:
    """(body, point in its frame) that links are drawn to; the tool is the last."""
    m = robot.mechanism
    found = [(int(m.parent[j]), m.p[j]) for j in range(m.n)]
    for loop in m.loops:
        found += [(frame.body, frame.p) for frame in (loop.first, loop.second)]
    tool = next((frame for frame in m.frames if frame.name == "tool"), m.frames[-1])
    return [*found, (tool.body, tool.p)]


def _shown(t: Floats, numbers: int) -> Any:
    """Rows to show: at most so many per second, and at most MOST_NUMBERS numbers in all, the last row always."""
    wanted = (t[-1] - t[0]) * FRAMES_PER_SECOND + 1.0
    count = int(max(1, min(wanted, MOST_NUMBERS // numbers, len(t))))
    return np.unique(np.rint(np.linspace(0, len(t) - 1, count)).astype(int)) if count > 1 else np.array([len(t) - 1])
