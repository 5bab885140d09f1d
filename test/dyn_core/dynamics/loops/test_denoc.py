"""The decoupled natural orthogonal complement: against the other formulations, and its matrices against definitions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from denoc_matrices import complement
from random_loops import SPATIAL, planar, random_loop, random_planar_loop
from random_robots import random_mechanism, random_rotation

from dyn_core import load_robot
from dyn_core.dynamics.loops.denoc_legs import ACTUATOR, BODY, find_legs
from dyn_core.errors import StructureError
from dyn_core.mechanism import BASE, Frame, Loop, Mechanism
from dyn_core.robots import LoopRobot, TreeRobot
from dyn_core.simulation import simulate

PER_JOINT = (
    "joint_type", "R", "p", "M", "MS", "J", "Ia", "Fv", "Fs", "stiffness", "position_limits", "velocity_limits",
    "effort_limits",
)  # fmt: skip
SHIPPED = ("four_bar_saha", "five_bar_saha", "four_bar_wang")


def parallel(rng: np.random.Generator, legs: int, m: int, kind: str, flat: bool) -> Mechanism:
    """Legs of m bodies: the last body of the first is the end effector, to which the others are tied by cut joints."""
    chains = [planar(rng, m) if flat else random_mechanism(rng, m, chain=True) for _ in range(legs)]
    n = legs * m
    fields = {name: np.concatenate([getattr(chain, name) for chain in chains]) for name in PER_JOINT}
    fields["joint_type"][:] = 0
    parent = np.array([j - 1 if j % m else BASE for j in range(n)])
    names = tuple(f"j{j}" for j in range(n))
    bodies = tuple(f"b{j}" for j in range(n))
    # a planar or spatial platform has 3 or 6 freedoms; the first leg has as many joints, the others the cut joint too
    active = np.zeros(n, bool)
    freedoms = 3 if flat else 6
    count = n - (freedoms - (1 if kind in ("planar_revolute", "revolute") else 3 if kind == "spherical" else 0)) * (
        legs - 1
    )
    order = [leg * m + j for j in range(m) for leg in range(legs)]
    active[order[:count]] = True
    frames = tuple(Frame(b, j, np.eye(3), np.zeros(3)) for j, b in enumerate(bodies))
    tool = Frame("tool", m - 1, np.eye(3), np.zeros(3))
    tree = dataclasses.replace(
        chains[0], joint_names=names, body_names=bodies, parent=parent, active=active, frames=(*frames, tool), **fields
    )
    q = rng.uniform(-1.0, 1.0, n)
    loops = []
    for leg in range(1, legs):
        last = leg * m + m - 1
        R = np.eye(3) if flat else random_rotation(rng)
        p = rng.normal(size=3) * 0.3 * np.array([1, 1, 0 if flat else 1])
        here = Frame("cut", last, R, p)
        pose = TreeRobot(dataclasses.replace(tree, frames=(*tree.frames, here))).forward_kinematics(q, "cut")
        platform = TreeRobot(tree).forward_kinematics(q, "tool")
        pose = np.linalg.inv(platform) @ pose
        loops.append(Loop(f"leg{leg}", kind, Frame("cut", m - 1, pose[:3, :3], pose[:3, 3]), here))
    return dataclasses.replace(tree, loops=tuple(loops), assembly=q)


CASES = [
    *((kind, seed) for kind in SPATIAL for seed in range(2)),
    *((n, seed) for n in (3, 4, 5) for seed in range(2)),
    *(((legs, m, kind, flat), 0) for legs, m, kind, flat in [
        (3, 3, "planar_revolute", True), (4, 2, "planar_revolute", True), (2, 4, "revolute", True),
        (3, 6, "fixed", False), (6, 3, "spherical", False), (3, 5, "revolute", False),
    ]),
]  # fmt: skip


def regular(what, seed):
    """A robot of that kind that is not near the end of its motion, and the generator that made it."""
    for attempt in range(200):
        rng = np.random.default_rng([seed, attempt])
        if isinstance(what, tuple):
            m = parallel(rng, *what)
        else:
            m = random_loop(rng, what) if isinstance(what, str) else random_planar_loop(rng, what)
        robot = LoopRobot(m)
        if np.abs(robot.closed(robot.neutral()).G).max() < 5.0:
            return robot, rng
    raise AssertionError("no regular mechanism found")


@pytest.fixture(params=[*CASES, *((name, 0) for name in SHIPPED)], ids=str)
def case(request):
    what, seed = request.param
    if what in SHIPPED:
        robot, rng = load_robot(what), np.random.default_rng(1)
    else:
        robot, rng = regular(what, seed)
    q = robot.neutral() + rng.uniform(-1e-3, 1e-3, robot.n)
    return robot, q, *3.0 * rng.normal(size=(2, robot.n)), rng


def relative(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0)


def test_agrees_with_the_other_formulations(case):
    robot, q, qd, x, rng = case
    denoc, multipliers = robot.using("denoc"), robot.using("multipliers")
    w = rng.normal(size=(robot.mechanism.n, 6))
    for wrenches in (None, w):
        tau = denoc.inverse_dynamics(q, qd, x, wrenches)
        qdd = denoc.forward_dynamics(q, qd, x, wrenches)
        for other in (robot, multipliers):
            assert relative(other.inverse_dynamics(q, qd, x, wrenches), tau) < 1e-9
            assert relative(other.forward_dynamics(q, qd, x, wrenches), qdd) < 1e-9
        assert relative(denoc.forward_dynamics(q, qd, tau, wrenches), x) < 1e-9
    assert relative(denoc.mass_matrix(q), robot.mass_matrix(q)) < 1e-9


def test_passive_rates_and_accelerations(case):
    """Recursive solution of (11b), (12b) and its derivative against the closure's."""
    robot, q, qd, qdd, _ = case
    at = robot.closed(q, qd)
    denoc = robot.using("denoc")
    _, speeds, accelerations = denoc.denoc.joint_motion(denoc.tree.model.workspaces.new(), at.q, qd, qdd)
    assert relative(speeds, at.qd) < 1e-9
    assert relative(accelerations, at.G @ qdd + at.g) < 1e-9


def test_complement_matrices(case):
    """N_l N_c N_d has the shapes and structure of (16c), (17b), and N^T M N is the inertia matrix without rotors."""
    robot, q, *_ = case
    bare = LoopRobot(dataclasses.replace(robot.mechanism, Ia=np.zeros(robot.mechanism.n))).using("denoc")
    found = complement(bare.denoc, bare.tree.model.workspaces.new(), bare.all_positions(q))
    s, a = len(bare.denoc.legs.steps), robot.n
    assert found.N_l.shape == (6 * s, 6 * s)
    assert found.N_c.shape == (6 * s, 6 * a)
    assert found.N_d.shape == (6 * a, a)
    np.testing.assert_allclose(np.triu(found.N_l, 6), 0.0, atol=1e-12)
    N = found.N_l @ found.N_c @ found.N_d
    assert relative(N.T @ found.M @ N, bare.using("projection").mass_matrix(q)) < 1e-9


@pytest.mark.parametrize("name", SHIPPED)
def test_simulations_agree(name):
    robot = load_robot(name)
    runs = [
        simulate(robot.using(each), duration=0.3, torques=np.zeros(robot.n), h=1e-3, method="rk4")
        for each in ("projection", "denoc", "multipliers")
    ]
    for run in runs:
        assert not run.failure
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-7)


def test_legs_of_the_five_bar_are_the_papers():
    """Leg 2 has the end effector (link 2 of leg 1) as its last body, whose mass is counted once."""
    m = load_robot("five_bar_saha").mechanism
    legs = find_legs(m)
    assert m.body_names[legs.end_effector] == "leg1_link2"
    np.testing.assert_array_equal(legs.starts, [0, 2, 8])  # two joints, and two with the four freedoms of the cut
    bodies = legs.steps[:, BODY]
    assert sorted(bodies[bodies > 0]) == [1, 2, 3, 4]
    assert sorted(legs.steps[:, ACTUATOR])[-2:] == [0, 1]


def test_other_structures_are_refused_in_a_sentence():
    m = random_planar_loop(np.random.default_rng(0), 4)
    loop = dataclasses.replace(m.loops[0], first=dataclasses.replace(m.loops[0].first, body=2))
    with pytest.raises(StructureError, match=r"denoc needs legs that meet in one end effector, but body .* one other"):
        find_legs(dataclasses.replace(m, loops=(loop,)))
    rng = np.random.default_rng(1)
    twice = parallel(rng, 4, 2, "planar_revolute", True)
    loops = list(twice.loops)
    loops[2] = dataclasses.replace(loops[2], first=dataclasses.replace(loops[2].first, body=3))
    with pytest.raises(StructureError, match="more than one body has three joints"):
        find_legs(dataclasses.replace(twice, loops=tuple(loops)))
