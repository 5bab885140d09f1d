"""Forward dynamics at poses of a platform: against its inverse dynamics, and against that in the active joints."""

from __future__ import annotations

import numpy as np
import pytest
from random_parallel import six_ups, three_rrr, vector

from dyn_core import load_robot
from dyn_core.errors import InputError


@pytest.fixture(scope="module", params=["ups", "rrr"])
def robot(request, tmp_path_factory):
    make = {"ups": six_ups, "rrr": three_rrr}[request.param]
    path = tmp_path_factory.mktemp("platform") / "random.yaml"
    path.write_text(make(np.random.default_rng(5)))
    return load_robot(path)


def motions(robot, count: int = 5):
    rng = np.random.default_rng(6)
    q = robot.neutral() + 0.03 * rng.normal(size=(count, robot.n))
    poses = robot.forward_kinematics(q)
    S = robot.platform.freedoms
    arm = poses[:, :3, 3] - robot.platform.body_motion(poses, None, None, "tool")[2][:, :3]
    twists = rng.normal(size=(count, S.shape[1])) @ S.T
    twists[:, :3] += np.cross(twists[:, 3:], arm)
    return rng, q, poses, twists


def test_it_inverts_the_inverse_dynamics(robot):
    rng, _, poses, twists = motions(robot)
    forces = rng.normal(size=(len(poses), robot.n)) * 20.0
    wrench = robot.platform.wrenches(rng.normal(size=(len(poses), 6)))
    acceleration = robot.platform.forward_dynamics(poses, twists, forces, wrench)
    again = robot.platform.inverse_dynamics(poses, twists, acceleration, wrench)
    np.testing.assert_allclose(again, forces, rtol=1e-8, atol=1e-8)
    one = robot.platform.forward_dynamics(poses[1], twists[1], forces[1], wrench[1])
    np.testing.assert_allclose(one, acceleration[1], rtol=1e-12)


def test_it_moves_the_active_joints_as_their_own_forward_dynamics(robot):
    rng, q, poses, twists = motions(robot)
    forces = rng.normal(size=(len(poses), robot.n)) * 20.0
    acceleration = robot.platform.forward_dynamics(poses, twists, forces)
    legs = robot.platform.legs(poses, twists, acceleration)
    np.testing.assert_allclose(legs.q, q, atol=1e-9)
    np.testing.assert_allclose(robot.forward_dynamics(legs.q, legs.qd, forces), legs.qdd, rtol=1e-7, atol=1e-7)


def test_there_is_an_answer_in_a_singularity(tmp_path):
    """A platform with its legs' ends in the base's plane, above the base: they neither lift nor tilt it, it falls."""
    points = [np.array([np.cos(turn), np.sin(turn), 0.0]) for turn in np.arange(6) * np.pi / 3]
    tips = [points[(k + (-1) ** k) % 6] for k in range(6)]
    legs = "".join(
        f"  - {{name: leg{k}, type: UPS, base: {vector(2.0 * points[k])}, platform: {vector(tips[k])}}}\n"
        for k in range(6)
    )
    platform = "platform: {home: {xyz: [0, 0, 1]}, mass: 3, inertia: {xx: 1, yy: 1, zz: 2}}"
    text = f"name: flat\nkind: parallel\n{platform}\nlegs:\n{legs}"
    path = tmp_path / "flat.yaml"
    path.write_text(text)
    robot = load_robot(path)
    flat = np.eye(4)
    assert robot.platform.singularity_distance(flat) < 1e-9
    forces = np.linspace(-30.0, 40.0, 6)
    acceleration = robot.platform.forward_dynamics(flat, None, forces, check=False)
    np.testing.assert_allclose(acceleration[[2, 3, 4]], [-9.81, 0.0, 0.0], atol=1e-9)
    pushes = [(tips[k] - 2.0 * points[k]) for k in range(6)]
    pushes = [f * d / np.linalg.norm(d) for f, d in zip(forces, pushes, strict=True)]
    np.testing.assert_allclose(acceleration[:2], sum(pushes)[:2] / 3.0, atol=1e-9)
    turn = sum(np.cross(tips[k], pushes[k]) for k in range(6))
    np.testing.assert_allclose(acceleration[5], turn[2] / 2.0, atol=1e-9)


def test_bad_forces_are_refused(robot):
    with pytest.raises(InputError, match="forces have shape"):
        robot.platform.forward_dynamics(robot.platform.home, None, np.zeros(robot.n + 1))
    with pytest.raises(InputError, match="not finite"):
        robot.platform.forward_dynamics(robot.platform.home, None, np.full(robot.n, np.nan))
