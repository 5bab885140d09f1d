"""Robot YAML: what is read, how it is placed, and what is said about every mistake."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from dyn_core.description import load_mechanism, robot_files
from dyn_core.description.documents.yaml_document import MAX_BYTES
from dyn_core.errors import DescriptionError, DescriptionWarning, SingularityError
from dyn_core.mechanism import BASE, PRISMATIC, REVOLUTE, Mechanism
from dyn_core.robots import TreeRobot, robot_of
from dyn_core.spatial.poses import quaternion_from_rotation, rotation_from_rpy, rotation_to_axis, rpy_from_rotation

GOOD = """\
name: arm
description: for tests
gravity: [0, 0, -9.81]
tool: {link: hand, xyz: [0, 0, 0.1]}
joints:
  - name: j1
    type: revolute
    dh: {theta: 0, d: 0.5, a: 0, alpha: 90 deg}
    limits: {position: [-160 deg, 160 deg], velocity: 2, effort: 100}
    friction: {viscous: 0.1, coulomb: 0.2}
    stiffness: 1e4
    link:
      name: upper
      mass: 5
      com: [0.1, 0.2, 0.3]
      inertia: {xx: 0.2, yy: 0.25, zz: 0.3, xy: 0.01}
    motor:
      gear_ratio: -50
      torque_constant: 0.1
      resistance: 1.5
      rotor_inertia: 1e-4
      viscous: 1e-4
      coulomb: 0.01
      current_limit: 5
      dac: {bits: 12, range: [-10, 10], gain: 4, sign: -1, offset: 0.5}
  - name: j2
    type: prismatic
    origin: {xyz: [0.1, 0, 0], rpy: [0, 90 deg, 0]}
    axis: [0, 0.6, 0.8]
    link: {name: hand, mass: 2, inertia: [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]}
    motor: {gear_ratio: 100, torque_constant: 0.1, resistance: 1, dac: {bits: 16, range: [0, 5]}}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "robot.yaml"
    file.write_text(text)
    return file


def load(folder: Path, text: str) -> Mechanism:
    return load_mechanism(write(folder, text))


def test_every_field_is_read(tmp_path: Path) -> None:
    m = load(tmp_path, GOOD)
    assert (m.name, m.description, m.n) == ("arm", "for tests", 2)
    assert m.joint_names == ("j1", "j2")
    assert m.body_names == ("upper", "hand")
    assert [f.name for f in m.frames] == ["upper", "hand", "tool"]
    np.testing.assert_array_equal(m.joint_type, [REVOLUTE, PRISMATIC])
    np.testing.assert_array_equal(m.parent, [BASE, 0])
    np.testing.assert_allclose(m.position_limits, [[-math.radians(160), math.radians(160)], [-math.inf, math.inf]])
    np.testing.assert_array_equal(m.velocity_limits, [2, math.inf])
    np.testing.assert_array_equal(m.effort_limits, [100, math.inf])
    np.testing.assert_array_equal(m.stiffness, [1e4, math.inf])
    np.testing.assert_allclose(m.Ia, [0.25, 0])
    np.testing.assert_allclose(m.Fv, [0.1 + 0.25, 0])
    np.testing.assert_allclose(m.Fs, [0.2 + 0.5, 0])
    np.testing.assert_array_equal(m.active, [True, True])
    assert m.motors is not None
    np.testing.assert_array_equal(m.motors.gear, [-50, 100])
    np.testing.assert_array_equal(m.motors.Kt, [0.1, 0.1])
    np.testing.assert_array_equal(m.motors.resistance, [1.5, 1])
    np.testing.assert_array_equal(m.motors.current_limit, [5, math.inf])
    np.testing.assert_array_equal(m.motors.voltage_limit, [math.inf, math.inf])
    np.testing.assert_array_equal(m.motors.dac_bits, [12, 16])
    np.testing.assert_array_equal([m.motors.dac_low, m.motors.dac_high], [[-10, 0], [10, 5]])
    np.testing.assert_array_equal([m.motors.dac_gain, m.motors.dac_sign], [[4, 1], [-1, 1]])
    np.testing.assert_array_equal(m.motors.dac_offset, [0.5, 0])


# (what is replaced in GOOD, by what, the line of the complaint, a pattern of the complaint)
MISTAKES = {
    "unknown key": ("    stiffness: 1e4", "    stifness: 1e4", 11, r"\.stifness: unknown key; .*'stiffness'"),
    "unknown key deep": ("sign: -1", "sing: -1", 25, r"motor\.dac\.sing: unknown key; .*did you mean 'sign'"),
    "duplicate key": ("      mass: 5", "      mass: 5\n      mass: 6", 15, r"joints\[0\]\.link\.mass: given twice"),
    "negative mass": ("mass: 5", "mass: -5", 14, r"link\.mass: found -5; allowed: a finite number >= 0 in kg"),
    "missing mass": ("      mass: 5\n", "", 13, r"link\.mass: missing; allowed: a finite number >= 0"),
    "no mass for inertia": ("mass: 5", "mass: 0", 14, r"link\.mass: is 0 but the link has an inertia"),
    "text for number": ("mass: 5", "mass: five", 14, r"link\.mass: found 'five'; allowed: a finite number"),
    "quoted number": ("mass: 5", "mass: '5'", 14, r"link\.mass: found '5'"),
    "clock for number": ("mass: 5", "mass: 1:30", 14, r"link\.mass: found '1:30'"),
    "nothing for number": ("mass: 5", "mass:", 14, r"link\.mass: found nothing"),
    "list for number": ("mass: 5", "mass: [5]", 14, r"link\.mass: found a list of 1"),
    "nan": ("mass: 5", "mass: .nan", 14, r"link\.mass: found \.nan; allowed: a finite number"),
    "infinity": ("velocity: 2", "velocity: .inf", 9, r"limits\.velocity: found \.inf"),
    "overflow": ("velocity: 2", "velocity: 1e999", 9, r"limits\.velocity: found 1e999"),
    "too large": ("gear_ratio: -50", "gear_ratio: -1e200", 18, r"gear_ratio: found -1e200; .*at most 1e\+50 in size"),
    "too large an angle": ("alpha: 90 deg", "alpha: 1e200 deg", 8, r"dh\.alpha: found '1e200 deg'; allowed: an angle"),
    "nan in vector": ("com: [0.1,", "com: [nan,", 15, r"link\.com\[0\]: found nan; allowed: a finite number"),
    "short vector": ("com: [0.1, 0.2, 0.3]", "com: [0.1, 0.2]", 15, r"link\.com: found a list of 2; allowed: a list"),
    "indefinite": ("zz: 0.3", "zz: -0.3", 16, r"link\.inertia: not positive definite .*principal moments"),
    "triangle": ("zz: 0.3", "zz: 0.6", 16, r"link\.inertia: violates the triangle inequality"),
    "hidden triangle": ("xy: 0.01", "xy: 0.15", 16, r"link\.inertia: violates the triangle inequality"),
    "missing moment": ("zz: 0.3, ", "", 16, r"link\.inertia\.zz: missing"),
    "asymmetric": ("[[0.1, 0, 0]", "[[0.1, 0.01, 0]", 30, r"link\.inertia: is not symmetric"),
    "bad row": ("[[0.1, 0, 0]", "[[0.1, 0]", 30, r"link\.inertia\[0\]: found a list of 2; allowed: a row of 3"),
    "axis not unit": ("[0, 0.6, 0.8]", "[0, 3, 4]", 29, r"axis: has length 5; .*e.g. \[0, 0.6, 0.8\]"),
    "axis zero": ("[0, 0.6, 0.8]", "[0, 0, 0]", 29, r"axis: has length 0; allowed: a unit vector$"),
    "axis with dh": ("    stiffness: 1e4", "    axis: [0, 0, 1]", 11, r"axis: has no meaning with dh"),
    "no placement": ("    dh: {theta: 0, d: 0.5, a: 0, alpha: 90 deg}\n", "", 6, r"exactly one of dh, mdh, origin"),
    "two placements": ("    axis: [0, 0.6, 0.8]", "    dh: {a: 1}", 28, r"found dh and origin; allowed: exactly one"),
    "unknown type": ("type: prismatic", "type: prizmatic", 27, r"found 'prizmatic'; .*mean 'prismatic'"),
    "missing type": ("    type: prismatic\n", "", 26, r"type: missing; allowed: revolute, prismatic, fixed"),
    "duplicate joint": ("name: j2", "name: j1", 26, r"joints\[1\]\.name: 'j1' is already the joint of joints\[0\]"),
    "duplicate link": ("name: hand,", "name: upper,", 30, r"link\.name: 'upper' is already the link of joints\[0\]"),
    "reserved link": ("name: upper", "name: base", 13, r"link\.name: 'base' is a frame that every robot has"),
    "bad name": ("name: j2", "name: 2nd joint", 26, r"joints\[1\]\.name: found '2nd joint'; allowed: a name"),
    "unknown parent": ("type: prismatic", "type: prismatic\n    parent: uper", 28, r"'uper'; .*did you mean 'upper'"),
    "own parent": ("type: prismatic", "type: prismatic\n    parent: hand", 28, r"parent: goes in a circle: 'hand'"),
    "circle": ("type: revolute", "type: revolute\n    parent: hand", 8, r"parent: goes in a circle: 'upper'"),
    "missing motor": ("    motor: {gear", "    motr: {gear", 26, r"joints\[1\]\.motor: missing for joint 'j2'"),
    "motor on passive": ("type: prismatic", "type: prismatic\n    active: false", 32, r"motor: given for a passive"),
    "not a boolean": ("type: prismatic", "type: prismatic\n    active: yes", 28, r"found 'yes'; allowed: true"),
    "limits reversed": ("[-160 deg, 160 deg]", "[160 deg, -160 deg]", 9, r"position: the lower 2\.79253 is not below"),
    "bad angle": ("alpha: 90 deg", "alpha: 90 degrees", 8, r"dh\.alpha: found '90 degrees'; allowed: an angle"),
    "zero velocity": ("velocity: 2", "velocity: 0", 9, r"limits\.velocity: found 0; allowed: a finite number > 0"),
    "negative friction": ("viscous: 0.1", "viscous: -0.1", 10, r"friction\.viscous: found -0\.1"),
    "zero stiffness": ("stiffness: 1e4", "stiffness: 0", 11, r"stiffness: found 0; allowed: a finite number > 0"),
    "zero gear": ("gear_ratio: -50", "gear_ratio: 0", 18, r"motor\.gear_ratio: found 0; allowed: motor turns"),
    "zero constant": ("torque_constant: 0.1\n", "torque_constant: 0\n", 19, r"motor\.torque_constant: found 0"),
    "zero resistance": ("resistance: 1.5", "resistance: 0", 20, r"motor\.resistance: found 0"),
    "missing resistance": ("      resistance: 1.5\n", "", 18, r"motor\.resistance: missing; allowed: .* > 0 in ohm"),
    "missing dac": (GOOD[GOOD.index("      dac") : GOOD.index("  - name: j2")], "", 18, r"motor\.dac: missing"),
    "half a bit": ("bits: 12", "bits: 12.5", 25, r"dac\.bits: found 12\.5; allowed: a whole number from 1 to 31"),
    "too many bits": ("bits: 12", "bits: 32", 25, r"dac\.bits: found 32; allowed: a whole number from 1 to 31"),
    "dac range": ("[-10, 10]", "[10, -10]", 25, r"dac\.range: the lower end 10 is not below the upper -10"),
    "dac sign": ("sign: -1", "sign: 2", 25, r"dac\.sign: found 2; allowed: 1 or -1"),
    "dac offset": ("offset: 0.5", "offset: 11", 25, r"dac\.offset: found 11; allowed: a voltage within the range"),
    "dac gain": ("gain: 4", "gain: 0", 25, r"dac\.gain: found 0"),
    "two rotors": ("stiffness: 1e4", "rotor_inertia: 1", 21, r"rotor_inertia: given at the motor and at the joint"),
    "unknown tool link": ("link: hand, xyz", "link: hant, xyz", 4, r"tool\.link: no link is called 'hant'; .*'hand'"),
    "no joints": (GOOD[GOOD.index("  - name: j1") :], "", 5, r"joints: found nothing; allowed: a list"),
    "group for list": (GOOD[GOOD.index("  - name: j1") :], "  a: 1\n", 6, r"joints: found a group of keys"),
    "missing joints": (GOOD[GOOD.index("joints:") :], "", 1, r"joints: missing"),
    "missing name": ("name: arm\n", "", 1, r"name: missing; allowed: a name"),
    "description of two lines": ("for tests", '"a\\n  b"', 2, r"description: found .*; allowed: text on one line"),
    "sources": ("description: for tests", "sources: here", 2, r"sources: found 'here'; allowed: a list of texts"),
    "tab": ("    stiffness", "\tstiffness", 11, r"is not valid YAML: found character '\\t'"),
    "python object": ("mass: 5", "mass: !!python/object/apply:os.getcwd []", 14, r"link\.mass: found a list of 0"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, what: str) -> None:
    found, by, line, complaint = MISTAKES[what]
    assert found in GOOD
    file = write(tmp_path, GOOD.replace(found, by, 1))
    with pytest.raises(DescriptionError) as caught:
        load_mechanism(file)
    every = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    place = f"{file}:{line}: "
    assert any(text.startswith(place) and re.search(complaint, text.removeprefix(place)) for text in every), every
    assert all("\n" not in text for text in every)


def test_fixed_joints_have_no_motion(tmp_path: Path) -> None:
    text = GOOD + "  - {name: j3, type: fixed, origin: {}, axis: [0, 0, 1], stiffness: 3}\n"
    with pytest.raises(DescriptionError, match=r":32: joints\[2\]\.axis: has no meaning on a fixed joint") as caught:
        load(tmp_path, text)
    assert "joints[2].stiffness: has no meaning on a fixed joint" in caught.value.__notes__[0]


def test_a_robot_that_cannot_move_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r":2: joints: no joint moves"):
        load(tmp_path, "name: a\njoints: [{name: b, type: fixed, origin: {}}]\n")


def one_joint(link: str) -> str:
    return f"name: a\njoints:\n  - name: b\n    type: revolute\n    origin: {{}}\n    {link}\n"


def test_a_joint_with_nothing_to_move_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"joints\[0\]\.link: joint 'b' has nothing to move"):
        load(tmp_path, one_joint(""))
    assert load(tmp_path, one_joint("rotor_inertia: 0.1")).n == 1


@pytest.mark.parametrize(
    "link",
    ["link: {mass: 1}", "link: {mass: 1, inertia: {xx: 1, yy: 1, zz: 0}}"],
    ids=["a point on the axis", "a rod on the axis"],
)
def test_mass_on_the_axis_of_the_last_joint_is_warned_of(tmp_path: Path, link: str) -> None:
    """Its torque is zero, which is right; only forward dynamics has no answer."""
    with pytest.warns(DescriptionWarning, match="the mass behind b lies on the joint's axis"):
        robot = robot_of(load(tmp_path, one_joint(link)))
    assert robot.inverse_dynamics([0.3], [1.0], [2.0]) == 0.0
    with pytest.raises(SingularityError):
        robot.forward_dynamics([0.3], [1.0], [0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path, one_joint(link) + "    rotor_inertia: 0.1\n")


def test_a_massless_link_may_carry_others(tmp_path: Path) -> None:
    one = "  - {{name: {0}, type: revolute, dh: {{alpha: 90 deg}}, link: {{name: {0}l{1}}}}}\n"
    text = "name: cardan\njoints:\n" + one.format("a", "") + one.format("b", ", mass: 1, com: [1, 0, 0]")
    assert TreeRobot(load(tmp_path, text)).mass_matrix([0.0, 0.0])[0, 0] == pytest.approx(1)


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("mass: 5", "mass: -5").replace("bits: 12", "bits: 0").replace("mass: 2", "mass: x")
    with pytest.raises(DescriptionError, match=r":14: .*\(and 2 more, see lines 25, 30\)\n") as caught:
        load(tmp_path, text)
    assert len(caught.value.__notes__) == 2


def test_numbers_and_names_escape_the_traps_of_yaml(tmp_path: Path) -> None:
    m = load(tmp_path, GOOD.replace("stiffness: 1e4", "stiffness: 1e6").replace("name: j1", "name: no"))
    assert m.stiffness[0] == 1e6
    assert m.joint_names[0] == "no"


def test_aliases_may_share_a_motor(tmp_path: Path) -> None:
    motor = "{gear_ratio: 9, torque_constant: 1, resistance: 1, dac: {bits: 8, range: [0, 1]}}"
    one = "  - {{name: {}, type: revolute, origin: {{}}, link: {{mass: 1, com: [1, 0, 0]}}, motor: {}}}\n"
    m = load(tmp_path, "name: a\njoints:\n" + one.format("x", "&m " + motor) + one.format("y", "*m"))
    assert m.motors is not None
    np.testing.assert_array_equal(m.motors.gear, [9, 9])


def a_billion_laughs() -> bytes:
    """Nine lists, each of ten aliases of the one before."""
    lists = [b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"]
    for name in range(ord("b"), ord("j")):
        ten = b",".join([b"*%c" % (name - 1)] * 10)
        lists.append(b"%c: &%c [%s]\n" % (name, name, ten))
    return b"".join(lists)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"name: a\n\xff", r":2: found a byte that is not UTF-8"),
        (b"name: a\x00", r":1: is not valid YAML"),
        (b"name: a\n---\nname: b\n", r":2: is not valid YAML"),
        (b"a: [1, 2\n", r":\d: is not valid YAML"),
        (b"", r":1: found nothing; allowed: keys name"),
        (b"- a\n", r":1: found a list of 1; allowed: keys name"),
        (b"x: " + b"[" * 5000, r":1: is not valid YAML: nested deeper than 20"),
        (b"#" * (MAX_BYTES + 1), r"is larger than 1000000 bytes"),
        (b"a: &a [*a]\n", r":1: is nested deeper than 20"),
        (a_billion_laughs(), r"unfolds to more than 100000 values"),
        (b"name: *b\n", r":1: is not valid YAML: found undefined alias"),
    ],
    ids=["not UTF-8", "NUL", "two documents", "open list", "empty", "list", "deep", "large", "endless", "laughs",
         "alias"],
)  # fmt: skip
def test_a_hostile_file_is_refused(tmp_path: Path, text: bytes, complaint: str) -> None:
    file = tmp_path / "robot.yaml"
    file.write_bytes(text)
    with pytest.raises(DescriptionError, match=complaint):
        load_mechanism(file)


TOKENS = [
    "", "0", "-1", ".nan", "1e308", "1e-320", "[]", "{}", "~", "''", "[1, 2]", "a", "90 deg", "base", "true", "fixed",
    "prismatic", "&a x", "*a", "- ", "  ", "? x", "!!set {a}", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]", "{xx: 1, yy: 1}",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_loads_or_is_refused_in_one_line(tmp_path: Path, seed: int) -> None:
    """Words, lines and lists of good files replaced at random: never any other error, never half a robot."""
    rng = np.random.default_rng(seed)
    refusals = []
    for _ in range(50):
        lines = str(rng.choice([GOOD, TREE])).splitlines()
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(lines))
            words = list(re.finditer(r"[-\w.]+|\[[^\]]*\]|\{[^}]*\}", lines[at]))
            if rng.random() < 0.2 or not words:
                lines[at] = lines[rng.integers(len(lines))]
            else:
                word = words[rng.integers(len(words))]
                lines[at] = lines[at][: word.start()] + str(rng.choice(TOKENS)) + lines[at][word.end() :]
        try:
            m = load(tmp_path, "\n".join(lines))
        except DescriptionError as error:
            refusals.append(str(error))
        else:
            assert all(np.isfinite(array).all() for array in (m.R, m.p, m.M, m.MS, m.J, m.Ia, m.Fv, m.Fs))
    assert refusals
    assert not any("\n" in refusal for refusal in refusals)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"nowhere\.yaml: cannot be read"):
        load_mechanism(tmp_path / "nowhere.yaml")
    with pytest.raises(DescriptionError, match=r"cannot be read"):
        load_mechanism(tmp_path)


def test_robots_of_your_own_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = set(robot_files())
    (tmp_path / "mine.yaml").write_text(GOOD)
    (tmp_path / "puma560.yaml").write_text(GOOD)
    monkeypatch.setenv("DYN_ROBOT_PATH", str(tmp_path))
    files = robot_files()
    assert set(files) == shipped | {"mine"}
    assert files["puma560"] == tmp_path / "puma560.yaml"
    assert list(files) == sorted(files)


def axis_angle(axis: str, angle: float) -> np.ndarray:
    """A rotation about x, y or z as a 4 x 4 matrix, written independently of the code under test."""
    T = np.eye(4)
    T[:3, :3] = pin.AngleAxis(angle, np.eye(3)["xyz".index(axis)]).matrix()
    return T


def shift(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def random_dh(rng: np.random.Generator, n: int) -> tuple[str, list[str], np.ndarray]:
    """A serial robot of n revolute and prismatic joints, its types, and its table of theta, d, a, alpha."""
    types = [str(rng.choice(["revolute", "prismatic"])) for _ in range(n)]
    table = rng.uniform(-1, 1, (n, 4)) * [3, 1, 1, 3]
    text = "name: random\njoints:\n"
    for i, (kind, row) in enumerate(zip(types, table.tolist(), strict=True)):
        theta, d, a, alpha = row
        mass, com = float(rng.uniform(1, 5)), rng.uniform(-0.3, 0.3, 3).tolist()
        text += f"  - {{name: j{i}, type: {kind}, dh: {{theta: {theta}, d: {d}, a: {a}, alpha: {alpha}}}, "
        text += f"link: {{name: l{i}, mass: {mass}, com: {com}, inertia: {random_inertia(rng)}}}}}\n"
    return text, types, table


def random_inertia(rng: np.random.Generator) -> list[list[float]]:
    """The inertia of a cloud of points."""
    points = rng.normal(0, 0.2, (5, 3))
    inertia: list[list[float]] = (np.eye(3) * (points**2).sum() - points.T @ points).tolist()
    return inertia


@pytest.mark.parametrize("seed", range(8))
def test_dh_is_the_product_of_four_matrices(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    text, types, table = random_dh(rng, 6)
    robot = TreeRobot(load(tmp_path, text))
    q = rng.uniform(-2, 2, 6)
    T = np.eye(4)
    poses = []
    for kind, (theta, d, a, alpha), qi in zip(types, table, q, strict=True):
        turn, slide = (theta + qi, d) if kind == "revolute" else (theta, d + qi)
        T = T @ axis_angle("z", turn) @ shift(0, 0, slide) @ shift(a, 0, 0) @ axis_angle("x", alpha)
        poses.append(T)
    np.testing.assert_allclose(robot.link_poses(q), [*poses, T], atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_dh_dynamics_agree_with_a_model_built_by_hand(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    text, types, table = random_dh(rng, 6)
    m = load(tmp_path, text)
    model = pin.Model()
    parent, before = 0, np.eye(4)
    for i, (kind, (theta, d, a, alpha)) in enumerate(zip(types, table, strict=True)):
        joint = pin.JointModelRZ() if kind == "revolute" else pin.JointModelPZ()
        parent = model.addJoint(parent, joint, pin.SE3(before @ axis_angle("z", theta)), f"j{i}")
        before = shift(0, 0, d) @ shift(a, 0, 0) @ axis_angle("x", alpha)
        block = text.splitlines()[2 + i]
        numbers = re.search(r"mass: (\S+), com: (\[.*?\]), inertia: (\[\[.*?\]\])", block)
        assert numbers is not None
        mass, com, inertia = float(numbers[1]), *(np.array(re.findall(r"[-\d.e]+", numbers[k]), float) for k in (2, 3))
        body = pin.Inertia(mass, com, inertia.reshape(3, 3))
        model.appendBodyToJoint(parent, body, pin.SE3(before))
    q, qd, qdd = rng.uniform(-2, 2, (3, 6))
    expected = pin.rnea(model, model.createData(), q, qd, qdd)
    np.testing.assert_allclose(TreeRobot(m).inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


def test_a_fixed_joint_may_use_dh(tmp_path: Path) -> None:
    fixed = "  - {name: f, type: fixed, dh: {theta: 0.1, d: 0.2, a: 0.3, alpha: 0.4}, link: {name: plate}}\n"
    robot = TreeRobot(load(tmp_path, GOOD.replace("joints:\n", "joints:\n" + fixed)))
    expected = axis_angle("z", 0.1) @ shift(0.3, 0, 0.2) @ axis_angle("x", 0.4)
    np.testing.assert_allclose(robot.forward_kinematics([0.0, 0.0], "plate"), expected, atol=1e-12)


AXES = [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -1, 0], [0.6, 0, -0.8], [1e-9, 0, -1], [2 / 3, -1 / 3, 2 / 3]]


@pytest.mark.parametrize("axis", AXES)
def test_the_rotation_to_an_axis(axis: list[float]) -> None:
    unit = np.array(axis) / np.linalg.norm(axis)
    Q = rotation_to_axis(unit)
    np.testing.assert_allclose(Q @ Q.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(Q) == pytest.approx(1)
    np.testing.assert_allclose(Q[:, 2], unit, atol=1e-9)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("axis", AXES)
def test_origin_and_axis_mean_what_urdf_means(tmp_path: Path, kind: str, axis: list[float]) -> None:
    """At q the described frame is the origin frame turned about, or moved along, the axis."""
    xyz, rpy = [0.1, -0.2, 0.3], [0.4, -0.5, 0.6]
    link = "{name: l, mass: 1, com: [0.2, 0.1, 0.3], inertia: {xx: 1, yy: 1, zz: 1}}"
    one = f"{{name: j, type: {kind}, origin: {{xyz: {xyz}, rpy: {rpy}}}, axis: {axis}, link: {link}}}"
    robot = TreeRobot(load(tmp_path, f"name: a\ngravity: [1, 2, 3]\njoints: [{one}]\n"))
    start = shift(*xyz) @ axis_angle("z", 0.6) @ axis_angle("y", -0.5) @ axis_angle("x", 0.4)
    q = 0.7
    motion = np.eye(4)
    if kind == "revolute":
        motion[:3, :3] = pin.AngleAxis(q, np.array(axis)).matrix()
    else:
        motion[:3, 3] = q * np.array(axis)
    np.testing.assert_allclose(robot.forward_kinematics([q], "l"), start @ motion, atol=1e-8)
    lever = start[:3, :3] @ motion[:3, :3] @ [0.2, 0.1, 0.3]
    weight = np.array([1.0, 2.0, 3.0])
    along = start[:3, :3] @ axis
    hold = -np.dot(along, np.cross(lever, weight)) if kind == "revolute" else -np.dot(along, weight)
    assert robot.gravity_forces([q])[0] == pytest.approx(hold, abs=1e-7)


def test_rpy_reads_back() -> None:
    rng = np.random.default_rng(0)
    angles = [*rng.uniform(-3, 3, (50, 3)), [0.3, math.pi / 2, 0.4], [0.3, -math.pi / 2, 0.4], [0, math.pi, 0]]
    for rpy in angles:
        R = rotation_from_rpy(*rpy)
        np.testing.assert_allclose(rotation_from_rpy(*rpy_from_rotation(R)), R, atol=1e-9)
        np.testing.assert_allclose(Rotation.from_quat(quaternion_from_rotation(R)).as_matrix(), R, atol=1e-14)


TREE = """\
name: tree
tool: {link: camera, xyz: [0, 0, 0.05]}
joints:
  - {name: camera_mount, type: fixed, parent: left, origin: {xyz: [0, 0.1, 0], rpy: [0.3, 0.2, 0.1]},
     link: {name: camera, mass: 0.7, com: [0.01, 0.02, 0.03], inertia: {xx: 0.01, yy: 0.012, zz: 0.014}}}
  - {name: pedestal, type: fixed, parent: base, origin: {xyz: [0, 0, 1]}, link: {name: column, mass: 30}}
  - {name: waist, type: revolute, parent: column, origin: {rpy: [0.1, 0, 0]},
     link: {name: torso, mass: 8, com: [0, 0, 0.2], inertia: {xx: 0.3, yy: 0.3, zz: 0.2}}}
  - {name: right_arm, type: prismatic, parent: torso, dh: {theta: 20 deg, d: 0.1, a: 0.2, alpha: 40 deg},
     link: {name: right, mass: 3, com: [0.1, 0, 0], inertia: {xx: 0.03, yy: 0.04, zz: 0.05}}}
  - {name: left_arm, type: revolute, parent: torso, origin: {xyz: [0, 0.3, 0.1]}, axis: [0.6, 0, 0.8],
     link: {name: left, mass: 2, com: [0, 0.1, 0], inertia: {xx: 0.02, yy: 0.02, zz: 0.03, xy: 0.005}}}
"""


def test_a_tree_with_fixed_links(tmp_path: Path) -> None:
    m = load(tmp_path, TREE)
    assert m.joint_names == ("waist", "left_arm", "right_arm")
    assert [f.name for f in m.frames] == ["torso", "left", "right", "column", "camera", "tool"]
    np.testing.assert_array_equal(m.parent, [BASE, 0, 0])
    assert m.frame("column").body == BASE
    assert m.frame("camera").body == 1
    assert m.M.sum() == pytest.approx(8 + 3 + 2 + 0.7), "what is fixed to the base does not move"


def test_a_merged_link_keeps_the_dynamics(tmp_path: Path) -> None:
    """The camera merged into its parent, against a model in which Pinocchio carries both bodies."""
    m = load(tmp_path, TREE)
    model = pin.Model()

    def placed(xyz: list[float], rpy: list[float]) -> pin.SE3:
        return pin.SE3(shift(*xyz) @ axis_angle("z", rpy[2]) @ axis_angle("y", rpy[1]) @ axis_angle("x", rpy[0]))

    waist = model.addJoint(0, pin.JointModelRZ(), placed([0, 0, 1], [0.1, 0, 0]), "waist")
    model.appendBodyToJoint(waist, pin.Inertia(8, np.array([0, 0, 0.2]), np.diag([0.3, 0.3, 0.2])), pin.SE3.Identity())
    axis = np.array([0.6, 0, 0.8])
    left = model.addJoint(waist, pin.JointModelRevoluteUnaligned(axis), placed([0, 0.3, 0.1], [0, 0, 0]), "left_arm")
    inertia = np.array([[0.02, 0.005, 0], [0.005, 0.02, 0], [0, 0, 0.03]])
    model.appendBodyToJoint(left, pin.Inertia(2, np.array([0, 0.1, 0]), inertia), pin.SE3.Identity())
    camera = pin.Inertia(0.7, np.array([0.01, 0.02, 0.03]), np.diag([0.01, 0.012, 0.014]))
    model.appendBodyToJoint(left, camera, placed([0, 0.1, 0], [0.3, 0.2, 0.1]))
    front = pin.SE3(axis_angle("z", math.radians(20)) @ shift(0, 0, 0.1))
    right = model.addJoint(waist, pin.JointModelPZ(), front, "right_arm")
    tail = pin.SE3(shift(0.2, 0, 0) @ axis_angle("x", math.radians(40)))
    model.appendBodyToJoint(right, pin.Inertia(3, np.array([0.1, 0, 0]), np.diag([0.03, 0.04, 0.05])), tail)

    robot, rng = TreeRobot(m), np.random.default_rng(1)
    for q, qd, qdd in rng.uniform(-2, 2, (10, 3, 3)):
        expected = pin.rnea(model, model.createData(), q, qd, qdd)
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


KHALIL = """\
name: khalil
base: {type: floating, name: trunk, M: 10, MS: [1, 0, 0], J: {xx: 0.2, yy: 0.5, zz: 0.5}}
joints:
  - name: j1
    type: revolute
    parent: trunk
    mdh: {gamma: 30 deg, b: 0.1, alpha: 90 deg, d: 0.2, theta: 0.3, r: 0.4}
    Ia: 0.5
    Fv: 0.6
    Fs: 0.7
    link: {name: one, M: 2, MS: [0.2, 0, 0.4], J: [[0.6, 0, -0.05], [0, 0.7, 0], [-0.05, 0, 0.5]]}
  - name: j2
    type: prismatic
    mdh: [{alpha: 90 deg}, {d: 0.1, r: 0.2}]
    spring: {stiffness: 300, rest: 0.05}
    link: {name: two, mass: 1, frame: {xyz: [0, 0, 0.3]}}
  - name: plate
    type: fixed
    parent: trunk
    mdh: {b: 0.5}
    link: {name: lid, mass: 3}
"""


def test_every_field_of_khalil_is_read(tmp_path: Path) -> None:
    m = load(tmp_path, KHALIL)
    assert m.base is not None
    assert m.springs is not None
    assert (m.base.name, m.base.M) == ("trunk", 13)  # with the lid, fixed to it
    np.testing.assert_allclose(m.base.MS, [1, 0, 1.5])
    np.testing.assert_allclose(m.base.J, np.diag([0.2 + 0.75, 0.5 + 0.75, 0.5]))
    np.testing.assert_allclose([m.Ia[0], m.Fv[0], m.Fs[0]], [0.5, 0.6, 0.7])
    np.testing.assert_allclose(m.M, [2, 1])
    np.testing.assert_allclose(m.MS[0], [0.2, 0, 0.4])
    np.testing.assert_allclose(m.J[0], [[0.6, 0, -0.05], [0, 0.7, 0], [-0.05, 0, 0.5]])
    np.testing.assert_array_equal(m.springs.K, [0, 300])
    np.testing.assert_array_equal(m.springs.rest, [0, 0.05])
    np.testing.assert_array_equal(m.active, [True, False])
    np.testing.assert_array_equal(m.stiffness, [math.inf, 300])
    assert [frame.name for frame in m.frames] == ["one", "two", "trunk", "lid", "tool"]
    np.testing.assert_allclose(m.frame("one").p, 0)
    np.testing.assert_allclose(m.frame("two").p, [0, 0, 0.3])
    np.testing.assert_allclose(m.frame("tool").p, [0, 0, 0.5])  # of the last joint of the file
    np.testing.assert_array_equal(m.MS[1], 0)  # inertia is about the frame of the notation


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_modified_rows_are_khalil_s(kind: str, tmp_path: Path) -> None:
    """T = Rot(z, gamma) Tran(z, b) Rot(x, alpha) Tran(x, d) Rot(z, theta) Tran(z, r), q added to its entry."""
    gamma, b, alpha, d, theta, r, q = 0.3, 0.1, -1.1, 0.4, 2.0, -0.2, 0.7
    row = f"{{gamma: {gamma}, b: {b}, alpha: {alpha}, d: {d}, theta: {theta}, r: {r}}}"
    text = f"name: a\njoints:\n  - {{name: j, type: {kind}, mdh: {row}, link: {{name: l, mass: 1}}, Ia: 1}}\n"
    theta, r = (theta + q, r) if kind == "revolute" else (theta, r + q)
    steps = [
        pin.SE3(pin.utils.rotate("z", gamma), np.array([0, 0, b])),
        pin.SE3(pin.utils.rotate("x", alpha), np.array([d, 0, 0])),
        pin.SE3(pin.utils.rotate("z", theta), np.array([0, 0, r])),
    ]
    expected = (steps[0] * steps[1] * steps[2]).homogeneous
    np.testing.assert_allclose(TreeRobot(load(tmp_path, text)).forward_kinematics([q], "l"), expected, atol=1e-12)


KHALIL_MISTAKES = {
    "both masses": ("M: 2,", "M: 2, mass: 2,", 11, r"link\.M: given together with mass; allowed: either mass"),
    "no mass": ("M: 2,", "M: 0,", 11, r"link\.M: is 0 but MS or J is not"),
    "missing M": ("M: 2, ", "", 11, r"link\.M: missing; allowed: a finite number >= 0 in kg"),
    "J too small": ("J: [[0.6,", "J: [[0.01,", 11, r"link\.J: not positive definite .* about the centre of mass"),
    "J of a base": ("xx: 0.2", "xx: -0.2", 2, r"base\.J: not positive definite"),
    "two Ia": ("    Ia: 0.5", "    Ia: 0.5\n    rotor_inertia: 1", 8, r"Ia: given together with .*rotor_inertia"),
    "two Fv": ("    Fv: 0.6", "    Fv: 0.6\n    friction: {viscous: 1}", 9, r"Fv: given together with .*viscous"),
    "negative Fs": ("Fs: 0.7", "Fs: -0.7", 10, r"Fs: found -0.7; allowed: a finite number >= 0"),
    "unknown parameter": ("theta: 0.3", "teta: 0.3", 7, r"mdh\.teta: unknown key; .*'theta'"),
    "no rows": ("[{alpha: 90 deg}, {d: 0.1, r: 0.2}]", "[]", 14, r"mdh: found a list of 0; allowed: a list with"),
    "bad row": ("{alpha: 90 deg},", "{alpha: x},", 14, r"mdh\[0\]\.alpha: found 'x'; allowed: an angle"),
    "axis": ("    Ia: 0.5", "    axis: [0, 0, 1]", 8, r"axis: has no meaning with mdh"),
    "base word": (
        KHALIL.splitlines()[1],
        "base: flying",
        2,
        r"base: found 'flying'; allowed: fixed, or {type: floating",
    ),
    "base type": ("type: floating", "type: flying", 2, r"base\.type: found 'flying'; allowed: .*floating"),
    "base key": ("name: trunk", "nam: trunk", 2, r"base\.nam: unknown key"),
    "base's name": ("name: one", "name: trunk", 11, r"link\.name: 'trunk' is the name of the base"),
    "base called tool": ("name: trunk", "name: tool", 2, r"base\.name: 'tool' is a frame that every robot has"),
    "no spring": ("stiffness: 300", "stiffness: 0", 15, r"spring\.stiffness: found 0; allowed: a finite number > 0"),
    "driven spring": ("    spring", "    active: true\n    spring", 15, r"active: true, but the joint has a spring"),
    "motor on spring": ("    spring", "    motor: {}\n    spring", 15, r"motor: given for a joint with a spring"),
    "spring on fixed": (
        "mdh: {b: 0.5}",
        "mdh: {b: 0.5}\n    spring: {}",
        21,
        r"spring: has no meaning on a fixed joint",
    ),
    "lonely mimic": ("    Fs: 0.7", "    mimic: {joint: j9}", 10, r"mimic\.joint: no independent joint is called 'j9'"),
    "mimic itself": ("    Fs: 0.7", "    mimic: {joint: j1}", 10, r"mimic\.joint: no independent joint is called 'j1'"),
    "mimic of spring": (
        "    spring",
        "    mimic: {joint: j1}\n    spring",
        16,
        r"spring: given for a joint that follows",
    ),
}


@pytest.mark.parametrize(("old", "new", "line", "complaint"), KHALIL_MISTAKES.values(), ids=KHALIL_MISTAKES)
def test_a_mistake_in_khalil_s_keys_is_named(old: str, new: str, line: int, complaint: str, tmp_path: Path) -> None:
    assert old in KHALIL
    file = write(tmp_path, KHALIL.replace(old, new, 1))
    with pytest.raises(DescriptionError) as caught:
        load_mechanism(file)
    every = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    place = f"{file}:{line}: "
    assert any(text.startswith(place) and re.search(complaint, text.removeprefix(place)) for text in every), every


def test_a_floating_robot_without_any_mass_is_refused(tmp_path: Path) -> None:
    text = "name: a\nbase: {type: floating}\njoints: [{name: j, type: revolute, mdh: {}, Ia: 1}]\n"
    with pytest.raises(DescriptionError, match="base: floats, but the robot has no mass at all"):
        load(tmp_path, text)
