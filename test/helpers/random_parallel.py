"""Random parallel robots as robot YAML: six UPS legs, six RSS legs, a planar 3-RRR, and legs given as chains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from random_robots import random_inertia

from dyn_core.robots import ParallelRobot, load_robot


def vector(x: np.ndarray) -> str:
    return "[" + ", ".join(f"{float(value):.17g}" for value in x) + "]"


def body(rng: np.random.Generator, mass: float, com: np.ndarray) -> str:
    rows = ", ".join(vector(row) for row in random_inertia(rng, mass))
    return f"mass: {mass:.17g}, com: {vector(com)}, inertia: [{rows}]"


def drive(rng: np.random.Generator) -> str:
    viscous, coulomb, rotor = rng.uniform(0.0, 3.0, 3)
    return f"friction: {{viscous: {viscous}, coulomb: {coulomb}}}, rotor_inertia: {rotor}"


def rpy(rng: np.random.Generator, largest: float = 0.4) -> str:
    return vector(rng.uniform(-largest, largest, 3))


def head(rng: np.random.Generator, home: str) -> list[str]:
    return [
        "name: random", "kind: parallel", f"gravity: {vector(rng.normal(size=3) * 6.0)}",
        f"platform: {{home: {home}, {body(rng, 3.0, rng.normal(size=3) * 0.1)}}}",
        f"tool: {{xyz: {vector(rng.normal(size=3) * 0.2)}, rpy: {rpy(rng, 3.0)}}}", "legs:",
    ]  # fmt: skip


def six_ups(rng: np.random.Generator, spin: bool = True) -> str:
    """Six legs with universal joints of any first axis, spinning with off-axis masses, or round and not spinning."""
    lines = head(rng, f"{{xyz: {vector([*rng.normal(size=2) * 0.1, 1.0])}, rpy: {rpy(rng)}}}")
    for k in range(6):
        turn = np.pi / 3 * k + rng.uniform(-0.1, 0.1)
        foot = [np.cos(turn), np.sin(turn), 0.1 * rng.normal()]
        across = turn + (0.4 if k % 2 else -0.4) + rng.uniform(-0.1, 0.1)
        tip = [0.6 * np.cos(across), 0.6 * np.sin(across), 0.1 * rng.normal()]
        if spin:
            lower, upper = (body(rng, rng.uniform(0.3, 2.0), rng.normal(size=3) * 0.2) for _ in range(2))
            axis = f", axis: {vector([*rng.normal(size=2), 0.2 * rng.normal()])}, spin: true"
        else:
            lower, upper = (
                "mass: 1.0, com: [0, 0, 0.3], inertia: {xx: 0.1, yy: 0.1, zz: 0.01}",
                "mass: 0.4, com: [0, 0, -0.2]",
            )
            axis = ""
        lines.append(
            f"  - {{name: leg{k}, type: UPS, base: {vector(foot)}, platform: {vector(tip)}{axis},"
            f" lower: {{{lower}}}, upper: {{{upper}}}, {drive(rng)}}}"
        )
    return "\n".join(lines) + "\n"


def six_rss(rng: np.random.Generator) -> str:
    """Six cranks with rods between spherical joints."""
    lines = head(rng, f"{{xyz: {vector([*rng.normal(size=2) * 0.05, 0.9])}, rpy: {rpy(rng, 0.2)}}}")
    for k in range(6):
        turn = np.pi / 3 * k + rng.uniform(-0.1, 0.1)
        foot = np.array([0.8 * np.cos(turn), 0.8 * np.sin(turn), 0.0])
        out = np.array([-np.sin(turn), np.cos(turn), 0.0]) * (-1 if k % 2 else 1)
        elbow = foot + 0.3 * out + [0, 0, 0.05 * rng.normal()]
        across = turn + (0.35 if k % 2 else -0.35)
        tip = [0.5 * np.cos(across), 0.5 * np.sin(across), 0.0]
        axis = np.array([np.cos(turn), np.sin(turn), 0.1 * rng.normal()])
        lines.append(
            f"  - {{name: leg{k}, type: RSS, base: {vector(foot)}, axis: {vector(axis)}, elbow: {vector(elbow)},"
            f" platform: {vector(tip)}, crank: {{{body(rng, 1.0, rng.normal(size=3) * 0.1)}}},"
            f" rod: {{mass: 0.6, com: [0, 0, 0.4], inertia: {{xx: 0.05, yy: 0.05, zz: 0.001}}}}, {drive(rng)}}}"
        )
    return "\n".join(lines) + "\n"


def three_rrr(rng: np.random.Generator, active: int = 0) -> str:
    """A planar platform on three legs of two links; which joint of a leg is active is a choice."""
    lines = head(rng, "{xyz: [0.02, -0.03, 0.1], rpy: [0, 0, 0.1]}")
    lines[3] = lines[3].replace("platform: {", "platform: {motion: planar, ")
    lines[4] = f"tool: {{xyz: {vector([*rng.normal(size=2) * 0.1, 0])}, rpy: [0, 0, 1.0]}}"
    guesses = []
    for k in range(3):
        turn = 2 * np.pi / 3 * k + rng.uniform(-0.1, 0.1)
        foot, tip = np.array([np.cos(turn), np.sin(turn)]), 0.3 * np.array([np.cos(turn + 1.2), np.sin(turn + 1.2)])
        joints = ", ".join(
            f"{{name: leg{k}_{j}, type: revolute, origin: {{xyz: {place}}}, active: {str(j == active).lower()},"
            f" {drive(rng)}, link: {{{body(rng, 0.8, rng.normal(size=3) * 0.1)}}}}}"
            for j, place in enumerate((vector([*foot, 0.1]), "[0.6, 0, 0]"))
        )
        lines.append(
            f"  - {{name: leg{k}, type: chain, joints: [{joints}],"
            f" end: {{kind: planar_revolute, xyz: [0.6, 0, 0]}}, platform: {vector([*tip, 0.0])}}}"
        )
        guesses.append(f"leg{k}_0: {turn + np.pi - 0.8}, leg{k}_1: 1.6")
    return "\n".join([*lines, "assembly: {" + ", ".join(guesses) + "}"]) + "\n"


def delta(rng: np.random.Generator) -> str:
    """A platform that shifts without turning, on three cranks; each rod stands for a parallelogram of two."""
    lines = head(rng, f"{{xyz: {vector([*rng.normal(size=2) * 0.05, -0.6])}, rpy: {rpy(rng)}}}")
    lines[3] = lines[3].replace("platform: {", "platform: {motion: translational, ")
    for k in range(3):
        turn = 2 * np.pi / 3 * k + rng.uniform(-0.1, 0.1)
        foot = np.array([0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.02 * rng.normal()])
        elbow = foot + np.array([0.25 * np.cos(turn), 0.25 * np.sin(turn), -0.1])
        tip = [0.06 * np.cos(turn), 0.06 * np.sin(turn), 0.0]
        lines.append(
            f"  - {{name: leg{k}, type: RSS, base: {vector(foot)}, axis: {vector([-np.sin(turn), np.cos(turn), 0.0])},"
            f" elbow: {vector(elbow)}, platform: {vector(tip)}, crank: {{{body(rng, 1.0, rng.normal(size=3) * 0.1)}}},"
            f" rod: {{mass: 0.2, com: [0, 0, 0.3], inertia: {{xx: 0.02, yy: 0.02, zz: 0.001}}}}, {drive(rng)}}}"
        )
    return "\n".join(lines) + "\n"


def six_chains(rng: np.random.Generator, aiming: bool = False) -> str:
    """Six legs given joint by joint, with joints that do not meet, ended by spherical and by universal joints.

    Aiming: their joints meet, which makes them universal joints and slides, one driven in its first joint.
    """
    lines = head(rng, "{xyz: [0, 0, 1.0]}")
    for k in range(6):
        turn = np.pi / 3 * k
        foot = [np.cos(turn), np.sin(turn), 0.0]
        across = turn + (0.4 if k % 2 else -0.4)
        tip = [0.6 * np.cos(across), 0.6 * np.sin(across), 0.0]
        along = np.array([*tip[:2], 1.0]) - foot
        R = random_frame_along(rng, along)
        kinds = [("revolute", "[1, 0, 0]"), ("revolute", "[0, 1, 0]"), ("prismatic", "[0, 0, 1]")]
        origins = [f"{{xyz: {vector(foot)}, rpy: {vector(R)}}}", "{xyz: [0.03, 0.02, 0.1]}", "{xyz: [0.01, 0, 0.2]}"]
        if aiming:
            origins[1:] = "{}", "{}"
        elif k % 2:  # a universal joint at the platform needs one more joint, a turn about the leg
            kinds.append(("revolute", "[0, 0, 1]"))
            origins.append("{}")
        joints = ", ".join(
            f"{{name: leg{k}_{j}, type: {kind}, origin: {place}, axis: {axis}, "
            f" active: {str(j == 0 if aiming and k == 0 else kind == 'prismatic').lower()},"
            f" {drive(rng)}, link: {{{body(rng, 0.8, rng.normal(size=3) * 0.1)}}}}}"
            for j, ((kind, axis), place) in enumerate(zip(kinds, origins, strict=True))
        )
        at = "[0, 0, 0.3]" if aiming else "[0, 0.01, 0.3]"
        end = f"{{kind: {'universal' if k % 2 and not aiming else 'spherical'}, xyz: {at}, rpy: {vector([0, 0, 0])}}}"
        there = f"{{xyz: {vector(tip)}, rpy: {vector(R)}}}"
        lines.append(f"  - {{name: leg{k}, type: chain, joints: [{joints}], end: {end}, platform: {there}}}")
    guesses = ", ".join(f"leg{k}_2: 0.6" for k in range(6))
    return "\n".join([*lines, f"assembly: {{{guesses}}}"]) + "\n"


def random_frame_along(rng: np.random.Generator, along: np.ndarray) -> np.ndarray:
    """rpy of a frame whose z points along a direction."""
    z = along / np.linalg.norm(along)
    x = np.cross(rng.normal(size=3), z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


MAKERS = {
    "ups": six_ups,
    "ups without spin": lambda rng: six_ups(rng, spin=False),
    "rss": six_rss,
    "3-rrr": three_rrr,
    "3-rrr driven in the middle": lambda rng: three_rrr(rng, active=1),
    "chains": six_chains,
    "chains that aim": lambda rng: six_chains(rng, aiming=True),
    "delta": delta,
}


def load(folder: Path, text: str) -> ParallelRobot:
    file = folder / "random.yaml"
    file.write_text(text)
    robot = load_robot(file)
    assert isinstance(robot, ParallelRobot)
    return robot


def random_poses(rng: np.random.Generator, robot: ParallelRobot, count: int, reach: float) -> np.ndarray:
    """Poses of the tool about home that the platform's freedoms lead to."""
    poses = np.tile(robot.platform.home, (count, 1, 1))
    x = rng.uniform(-reach, reach, (count, 6))
    x = x @ robot.platform.freedoms @ robot.platform.freedoms.T
    for pose, (px, py, pz, a, b, c) in zip(poses, x, strict=True):
        pose[:3, :3] = rotation([a, b, c]) @ pose[:3, :3]
        pose[:3, 3] += [px, py, pz]
    return poses


def rotation(vector: list[float]) -> np.ndarray:
    """The rotation of a rotation vector, by Rodrigues."""
    angle = float(np.linalg.norm(vector))
    x, y, z = np.array(vector) / (angle or 1.0)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
