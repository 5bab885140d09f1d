"""A robot in another notation is the same robot: forces, frames, and every figure that is not geometry."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from random_robots import random_inertia, random_mechanism, random_rotation

from dyn_core import load_robot, robot_names
from dyn_core.description import load_mechanism, robot_files
from dyn_core.description.robot_yaml.joint_notation import modified_transform, standard_transform
from dyn_core.description.robot_yaml.writer import to_yaml, write_yaml
from dyn_core.errors import DescriptionError, InputError, UnknownRobotError
from dyn_core.mechanism import BASE, FloatingBase, Frame, Mechanism, Mimic, Motors, Springs
from dyn_core.robots import robot_of
from dyn_core.robots.conversion import convert, differences, read
from dyn_core.spatial.poses import rotation_from_rpy, rotation_x, rotation_z, rpy_from_rotation

NOTATIONS = ("dh", "mdh", "origin")


def everything(rng: np.random.Generator, n: int, floating: bool = False) -> Mechanism:
    """A random tree with something in every field: limits, motors, springs, passive joints, frames, a base."""
    m = random_mechanism(rng, n)
    kind = rng.integers(0, 3, n)  # driven, elastic, passive
    kind[0] = 0
    none = np.where(kind == 0, 0.0, math.nan)
    motors = Motors(
        gear=rng.choice([-50.0, 80.0], n) + none,
        Kt=rng.uniform(0.05, 0.2, n) + none,
        resistance=rng.uniform(0.5, 2.0, n) + none,
        current_limit=rng.choice([5.0, math.inf], n) + none,
        voltage_limit=rng.choice([24.0, math.inf], n) + none,
        dac_bits=np.where(kind == 0, rng.integers(8, 17, n), 0),
        dac_low=-rng.uniform(5, 10, n) + none,
        dac_high=rng.uniform(5, 10, n) + none,
        dac_gain=rng.choice([1.0, 4.8], n) + none,
        dac_sign=rng.choice([-1.0, 1.0], n) + none,
        dac_offset=rng.choice([0.0, 0.5], n) + none,
    )
    low = -rng.uniform(1.0, 3.0, n)
    limited = rng.random(n) < 0.7
    K = np.where(kind == 1, rng.uniform(10.0, 100.0, n), 0.0)
    frames = list(m.frames)
    for k in range(3):
        frames.insert(-1, Frame(f"sensor{k}", int(rng.integers(BASE, n)), random_rotation(rng), rng.normal(size=3)))
    base = None
    if floating:
        com, mass = rng.normal(size=3) * 0.1, 7.0
        J = random_inertia(rng, mass) + mass * (com @ com * np.eye(3) - np.outer(com, com))
        base = FloatingBase("trunk", mass, mass * com, J)
    return dataclasses.replace(
        m,
        motors=motors,
        springs=Springs(K, np.where(K > 0.0, rng.normal(size=n), 0.0)) if K.any() else None,
        active=kind == 0,
        position_limits=np.where(limited[:, None], np.stack([low, low + 2.5], axis=1), [-math.inf, math.inf]),
        velocity_limits=np.where(limited, rng.uniform(1, 5, n), math.inf),
        effort_limits=np.where(limited, math.inf, rng.uniform(10, 50, n)),
        stiffness=np.where(limited | (K > 0.0), rng.uniform(1e3, 1e5, n), math.inf),
        frames=tuple(frames),
        base=base,
    )


def through(m: Mechanism, notations: tuple[str, ...], folder: Path) -> Mechanism:
    """The mechanism after being written and read once by each notation."""
    for notation in notations:
        file = folder / "robot.yaml"
        file.write_text(to_yaml(m, notation))
        m = load_mechanism(file)
    return m


def assert_same(a: Mechanism, b: Mechanism) -> None:
    """The forces of joints (with wrenches at the links' frames) and the frames agree to 1e-9, all else to rounding."""
    assert (a.name, a.joint_names, a.body_names) == (b.name, b.joint_names, b.body_names)
    assert {frame.name for frame in a.frames} <= {frame.name for frame in b.frames}
    assert differences(a, b) == ""
    first, second = robot_of(a), robot_of(b)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = first.neutral()
        q[-first.n :] += (0.1 if a.loops else 1.0) * rng.normal(size=first.n)
        qd, qdd = rng.normal(size=(2, first.nv))
        links = a.n if a.loops else first.n
        w = rng.normal(size=(first.nv - first.n) // 6 * 6 + 6 * links).reshape(-1, 6)
        tau = first.inverse_dynamics(q, qd, qdd, w)
        scale = max(1.0, np.abs(tau).max())
        np.testing.assert_allclose(second.inverse_dynamics(q, qd, qdd, w), tau, rtol=0, atol=1e-9 * scale)
        for frame in a.frames:
            found = second.forward_kinematics(q, frame.name)
            np.testing.assert_allclose(found, first.forward_kinematics(q, frame.name), rtol=0, atol=1e-9)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_random_trees_go_through_all_notations(seed: int, floating: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    m = everything(rng, int(rng.integers(1, 9)), floating)
    for notation in NOTATIONS:
        assert_same(m, through(m, (notation,), tmp_path))
    order = tuple(rng.permutation(np.repeat(NOTATIONS, 2)))
    assert_same(m, through(m, order, tmp_path))


@pytest.mark.parametrize("name", robot_names())
@pytest.mark.parametrize("notation", [*NOTATIONS, "urdf"])
def test_shipped_robots_there_and_back(name: str, notation: str, tmp_path: Path) -> None:
    there, back = tmp_path / f"there.{'urdf' if notation == 'urdf' else 'yaml'}", tmp_path / "back.yaml"
    original = load_mechanism(robot_files()[name])
    if notation == "urdf" and (original.spherical is not None or original.beams):
        sentence = "a spherical robot, which URDF cannot say|without a change: other links are flexible"
        with pytest.raises(DescriptionError, match=sentence):
            convert(name, there, notation)
        return
    convert(name, there, notation)
    convert(there, back, "mdh")
    assert_same(original, load_robot(there).mechanism)
    assert_same(original, load_mechanism(back))


def chain(angle: float, offset: float, n: int = 4) -> Mechanism:
    """Axes at an angle to and an offset from each other, one after the other."""
    m = random_mechanism(np.random.default_rng(7), n, chain=True)
    R = np.array([rotation_z(0.3 * j) @ rotation_x(angle) @ rotation_z(0.2) for j in range(n)])
    p = np.array([rotation_z(0.3 * j) @ [offset, 0.0, 0.1] for j in range(n)])
    return dataclasses.replace(m, R=R, p=p)


@pytest.mark.parametrize("offset", [0.0, 1e-14, 0.3])
@pytest.mark.parametrize(
    "angle", [0.0, 1e-16, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.04, 1.0, math.pi / 2, math.pi - 1e-8, math.pi]
)
def test_parallel_nearly_parallel_and_intersecting_axes(angle: float, offset: float, tmp_path: Path) -> None:
    m = chain(angle, offset)
    for notation in NOTATIONS:
        assert_same(m, through(m, (notation,), tmp_path))


def test_a_serial_robot_has_one_row_per_joint_and_no_gamma_and_b(tmp_path: Path) -> None:
    """Khalil's frames: on a chain of general axes gamma and b are zero, but where the base's frame is given."""
    m = random_mechanism(np.random.default_rng(3), 6, chain=True)
    rows = [line for line in to_yaml(m, "mdh").splitlines() if "mdh:" in line]
    assert len(rows) == 6
    assert not any("gamma" in row or " b:" in row or "[" in row for row in rows[1:])
    rows = [line for line in to_yaml(m, "dh").splitlines() if " dh:" in line]
    assert not any("[" in row for row in rows[1:])


def test_the_puma_s_table_in_khalil_s_notation_is_craig_s() -> None:
    """alpha and d of joints 2 to 6 as in the modified tables of the literature (signs of this Puma's DH frames)."""
    text = to_yaml(load_robot("puma560").mechanism, "mdh")
    rows = [line.strip() for line in text.splitlines() if "mdh:" in line]
    assert rows == [
        "mdh: {r: 0.672}",
        "mdh: {alpha: 90 deg}",
        "mdh: {d: 0.4318, r: 0.15005}",
        "mdh: {alpha: -90 deg, d: 0.0203, r: 0.4318}",
        "mdh: {alpha: 90 deg}",
        "mdh: {alpha: -90 deg}",
    ]


def test_rows_are_their_products_of_turns_and_shifts() -> None:
    g, b, a, d, t, r = 0.3, 0.1, -1.1, 0.4, 2.0, -0.2

    def z(angle: float, shift: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, shift], [0, 0, 0, 1]])

    def x(angle: float, shift: float) -> np.ndarray:
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[1, 0, 0, shift], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])

    np.testing.assert_allclose(modified_transform(g, b, a, d, t, r), z(g, b) @ x(a, d) @ z(t, r), atol=1e-15)
    np.testing.assert_allclose(standard_transform(t, r, d, a), z(t, r) @ x(a, d), atol=1e-15)


@pytest.mark.parametrize("cosine", [1e-5, 1e-9, 1e-11, 1e-13, 0.0])
def test_rpy_near_straight_up_gives_the_rotation_back(cosine: float) -> None:
    A = random_rotation(np.random.default_rng(0))
    R = A @ (A.T @ rotation_from_rpy(0.4, math.acos(cosine), 1.1))  # with rounding in every entry
    np.testing.assert_allclose(rotation_from_rpy(*rpy_from_rotation(R)), R, atol=1e-12)


def test_point_masses_and_massless_links_stay_what_they_are(tmp_path: Path) -> None:
    m = random_mechanism(np.random.default_rng(5), 4, chain=True)
    m.M[1], m.MS[1], m.J[1] = 0.0, 0.0, 0.0
    c = m.MS[3] / m.M[3]
    m.J[3] = m.M[3] * (c @ c * np.eye(3) - np.outer(c, c))
    for notation in NOTATIONS:
        assert_same(m, through(m, (notation,), tmp_path))


def test_followers_follow_in_every_notation(tmp_path: Path) -> None:
    m = random_mechanism(np.random.default_rng(2), 4)
    mimic = Mimic(np.array([0, 0, 2, 2]), np.array([1.0, -0.5, 1.0, 2.0]), np.array([0.0, 0.1, 0.0, 0.0]))
    m = dataclasses.replace(m, mimic=mimic)
    for notation in NOTATIONS:
        found = through(m, (notation,), tmp_path)
        assert found.mimic is not None
        np.testing.assert_array_equal(found.mimic.leader, mimic.leader)
        np.testing.assert_array_equal(found.mimic.multiplier, mimic.multiplier)
        np.testing.assert_array_equal(found.mimic.offset, mimic.offset)
        assert differences(m, found) == ""


def test_names_that_yaml_cannot_have_are_changed_and_said(tmp_path: Path) -> None:
    m = random_mechanism(np.random.default_rng(0), 3)
    frames = (
        Frame("1st/link", *dataclasses.astuple(m.frames[0])[1:]),
        Frame("link-1", *dataclasses.astuple(m.frames[1])[1:]),
        Frame("link_1", *dataclasses.astuple(m.frames[2])[1:]),
        Frame("base", BASE, rotation_z(math.pi), np.zeros(3)),
        m.frames[-1],
    )
    m = dataclasses.replace(m, frames=frames, body_names=tuple(frame.name for frame in frames[:3]))
    written = write_yaml(m, "origin")
    file = tmp_path / "robot.yaml"
    file.write_text(written.text)
    found = load_mechanism(file)
    assert [frame.name for frame in found.frames] == ["n1st_link", "link_1", "link_1_2", "base_2", "tool"]
    assert len(written.notes) == 4
    assert "the frame 'link-1' is called 'link_1' here" in written.notes
    assert "# the frame 'base' is called 'base_2' here" in written.text
    assert differences(m, found, written.names) == ""
    assert differences(m, found).startswith("frames lost: 1st/link, base, link-1")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"position_limits": np.array([[0.0, 0.0]])}, "position limits of joint 'joint0' are 0 to 0"),
        ({"position_limits": np.array([[0.0, math.inf]])}, "position limits of joint 'joint0' are 0 to inf"),
        ({"effort_limits": np.zeros(1)}, "effort limit of joint 'joint0' is 0"),
        (
            {"springs": Springs(np.ones(1), np.zeros(1)), "stiffness": np.full(1, math.inf)},
            "'joint0' has a spring, but an infinite",
        ),
    ],
)
def test_what_yaml_has_no_words_for_is_refused(change: dict, sentence: str) -> None:
    m = dataclasses.replace(random_mechanism(np.random.default_rng(0), 1), **change)
    with pytest.raises(DescriptionError, match=sentence):
        to_yaml(m, "mdh")
    with pytest.raises(InputError, match="no notation 'xyz'"):
        to_yaml(m, "xyz")


def test_convert_writes_whole_files_or_none(tmp_path: Path) -> None:
    target = tmp_path / "out.yaml"
    convert("planar_2r", target, "dh")
    before = target.read_text()
    with pytest.raises(InputError, match="exists already; --force"):
        convert("planar_2r", target, "mdh")
    assert target.read_text() == before
    convert("planar_2r", target, "mdh", force=True)
    assert target.read_text() != before
    assert [file.name for file in tmp_path.iterdir()] == ["out.yaml"]
    with pytest.raises(InputError, match=r"nowhere.*cannot be written"):
        convert("planar_2r", tmp_path / "nowhere" / "out.yaml", "mdh")
    with pytest.raises(UnknownRobotError, match="no robot 'nobody'"):
        convert("nobody", tmp_path / "x.yaml", "mdh")
    with pytest.raises(InputError, match="says itself whether its base floats"):
        convert("planar_2r", tmp_path / "x.yaml", "mdh", floating=True)
    with pytest.raises(InputError, match="no notation 'sdf'"):
        convert("planar_2r", tmp_path / "x.yaml", "sdf")
    assert [file.name for file in tmp_path.iterdir()] == ["out.yaml"]


def test_convert_keeps_the_sources_and_tells_what_urdf_cannot_say(tmp_path: Path) -> None:
    convert("puma560", tmp_path / "a.yaml", "mdh")
    assert "sources:" in (tmp_path / "a.yaml").read_text()
    done = convert("puma560", tmp_path / "a.urdf", "urdf")
    assert done.notes == [
        "URDF has no place for rotor inertias, motors, joint stiffnesses; the element <dyn_robot> keeps them"
    ]


def test_a_mistake_in_the_urdf_s_extension_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.urdf"
    convert("planar_2r", file, "urdf")
    text = file.read_text()
    for old, new, sentence in (
        ('<joint name="elbow" link=', '<joint name="elbo" link=', "no joint that moves is called 'elbo'"),
        ('name="elbow" link="forearm"', 'name="elbow" link="arm"', "its joint moves no link called 'arm'"),
        ('resistance="1.0"', 'resistance="one"', r"a.urdf:\d+: <motor>: resistance is 'one'"),
    ):
        assert text.count(old) == 1, old
        file.write_text(text.replace(old, new))
        with pytest.raises(DescriptionError, match=sentence):
            read(file)
