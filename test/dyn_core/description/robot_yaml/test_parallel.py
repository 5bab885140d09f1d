"""`kind: parallel` of the robot YAML: what is read, what is refused, and what conversion keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_parallel import MAKERS, load

from dyn_core import load_robot
from dyn_core.description import load_mechanism, robot_files
from dyn_core.errors import ClosureError, DescriptionError
from dyn_core.robots import ParallelRobot, convert

TEXT = robot_files()["gough_stewart_wang"].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 1.5", "mass: 0", "platform.mass: found 0; allowed: a mass > 0"),
        ("zz: 0.08}", "zz: 0.2}", "platform.inertia: violates the triangle inequality"),
        ("zz: 0.08}", "zz: 0.08, xy: 0.3}", "platform.inertia: not positive definite"),
        ("{xx: 0.08, yy: 0.08, zz: 0.08}", "{xx: 0, yy: 0, zz: 0}", "can turn without any inertia"),
        ("type: UPS", "type: USP", "did you mean 'UPS'"),
        ("[0.5, 4.5]}", "[4.5, 0.5]}", "the lower 4.5 is not below"),
        ("[0.5, 4.5]}", "[-1, 4.5]}", "the shortest length is -1 m"),
        ("name: leg2", "name: leg1", "'leg1' is already the name of a leg"),
        ("com: [0, 0, 0.5]", "com: [0.1, 0, 0.5]", "is not round about the leg's axis"),
        ("    limits", "    elbow: [0, 0, 1]\n    limits", "has no meaning for a leg of type UPS"),
        ("kind: parallel", "kind: parallel\nloops: []", "loops: given for a parallel robot"),
        ("base: [-2.12, 1.374, 0]", "base: [-2.12, 1.374]", "a list of 3 finite numbers"),
        ("[0.5, 4.5]}", "[0.5, 0.6]}", "limits: 0.5 to 0.6, but the home pose has it at"),
        ("  home: {xyz: [", "  motion: helical\n  home: {xyz: [", "motion: found 'helical'"),
        ("    limits", "    axis: [0, 0, 0]\n    limits", "an axis across the leg"),
    ],
)  # fmt: skip
def test_mistakes_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TEXT
    with pytest.raises(DescriptionError) as caught:
        load(tmp_path, TEXT.replace(old, new, 1))
    assert message in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_fewer_legs_than_freedoms_are_refused(tmp_path: Path) -> None:
    lines = TEXT.splitlines()
    last = next(i for i, line in enumerate(lines) if "name: leg6" in line)
    with pytest.raises(DescriptionError, match=r"5 active joints in 5 legs, but the .* joints and loops"):
        load(tmp_path, "\n".join(lines[:last]))


def test_what_is_wrong_with_a_leg_is_said_and_not_what_follows_from_it(tmp_path: Path) -> None:
    for old, new, message in (
        ("home: {xyz: [-1.5,", "home: {xyz: [.nan,", r"^\S+ platform.home.xyz\[0\]: found .nan"),
        ("    limits", "    axis: [0, 0, 0]\n    limits", r"^\S+ legs\[0\].axis: lies along the leg"),
    ):
        with pytest.raises(DescriptionError, match=message):
            load(tmp_path, TEXT.replace(old, new, 1))


def test_a_leg_that_does_not_reach_home_is_named(tmp_path: Path) -> None:
    text = MAKERS["3-rrr"](np.random.default_rng(5)).replace("xyz: [0.02, -0.03, 0.1]", "xyz: [3, 0, 0.1]")
    with pytest.raises(ClosureError, match=r"leg 'leg.' does not reach the platform in its home pose"):
        load(tmp_path, text)


def test_legs_without_spin_do_not_care_for_their_joints_axes(tmp_path: Path) -> None:
    """Whatever the universal joints' first axes, the forces are the same; with spin they are not."""
    plain = load(tmp_path, TEXT)
    q, qd, qdd = plain.neutral(), np.linspace(-1, 1, 6), np.linspace(2, -1, 6)
    turned = TEXT.replace("    limits", "    axis: [0.3, 1, 0.2]\n    limits")
    np.testing.assert_allclose(load(tmp_path, turned).inverse_dynamics(q, qd, qdd), plain.inverse_dynamics(q, qd, qdd))
    spinning = turned.replace("    limits", "    spin: true\n    limits")
    assert (
        np.abs(load(tmp_path, spinning).inverse_dynamics(q, qd, qdd) - plain.inverse_dynamics(q, qd, qdd)).max() > 1e-6
    )


def test_an_rss_leg_is_a_crank_and_a_rod(tmp_path: Path) -> None:
    """The rod keeps its length, the crank its radius, at every pose."""
    robot = load(tmp_path, MAKERS["rss"](np.random.default_rng(5)))
    m = robot.mechanism
    assert robot.joint_names == tuple(f"leg{k}" for k in range(6))
    np.testing.assert_allclose(robot.neutral(), 0.0, atol=1e-12)
    T = robot.platform.home.copy()
    T[:3, 3] += [0.02, -0.03, 0.04]
    q = robot.platform.inverse_kinematics(T).q
    elbows = [robot.forward_kinematics(q, f"leg{k}_rod")[:3, 3] for k in range(6)]
    body = robot.forward_kinematics(q, "platform")
    frame = m.frame("platform")
    for k, loop in enumerate(m.loops):
        tip = body[:3, :3] @ (frame.R.T @ (loop.second.p - frame.p)) + body[:3, 3]
        home = robot.platform.home_of("platform")
        start = home[:3, :3] @ (frame.R.T @ (loop.second.p - frame.p)) + home[:3, 3]
        rest = robot.forward_kinematics(robot.neutral(), f"leg{k}_rod")[:3, 3]
        np.testing.assert_allclose(np.linalg.norm(tip - elbows[k]), np.linalg.norm(start - rest), rtol=1e-10)


def test_conversion_keeps_the_platform(tmp_path: Path) -> None:
    target = tmp_path / "there.yaml"
    convert("gough_stewart", target, "mdh")
    there, original = load_robot(target), load_robot("gough_stewart")
    assert isinstance(there, ParallelRobot)
    assert there.mechanism.platform == load_mechanism(robot_files()["gough_stewart"]).platform
    q, qd, qdd = original.neutral() + 0.02, np.linspace(-0.2, 0.2, 6), np.ones(6)
    np.testing.assert_allclose(there.inverse_dynamics(q, qd, qdd), original.inverse_dynamics(q, qd, qdd), rtol=1e-9)


def test_the_shipped_platform_holds_and_moves_with_its_motors() -> None:
    robot = load_robot("gough_stewart")
    assert isinstance(robot, ParallelRobot)
    m = robot.mechanism
    T = np.tile(robot.platform.home, (50, 1, 1))
    T[:, 2, 3] += np.linspace(-0.1, 0.12, 50)
    legs = robot.platform.legs(T, [0, 0, 0.3, 0, 0, 0], [0, 0, 3.0, 0, 0, 0])
    tau = robot.inverse_dynamics(legs.q, legs.qd, legs.qdd)
    assert (np.abs(tau) < m.effort_limits[robot.joints]).all()
    volts = robot.voltages(tau, legs.qd)
    assert (np.abs(volts) < 0.9 * 300).all()
    robot.dac_codes(volts)
