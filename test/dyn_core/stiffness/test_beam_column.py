"""Bars under load: Euler's, Greenhill's and Prandtl's buckling loads, stability functions, and chains of many parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_core import load_robot
from dyn_core.beams import Bar, BeamSection, Material, circle, rectangle
from dyn_core.errors import InputError
from dyn_core.mechanism import Compliance, Mechanism
from dyn_core.robots import TreeRobot
from dyn_core.stiffness.beam_column import loaded_stiffness

STEEL = Material.isotropic(210e9, 0.3)
SLIM = Bar(circle(0.005, np.inf), STEEL, 1.0)
EI = float(SLIM.rigidity[4])
EULER = np.pi**2 * EI / 4.0  # clamped at one end, free at the other
FLAT = Bar(rectangle(0.004, 0.02, np.inf), STEEL, 1.0)
ARC = Bar(BeamSection(3e-4, 2e-9, 5e-9, 9e-9), Material.isotropic(70e9, 0.33), np.radians(80.0), 0.3)
COLUMN = """
name: column
joints:
  - {{name: j, type: revolute, origin: {{}}, axis: [1, 0, 0],
      link: {{name: bar, mass: 1, inertia: {{xx: 1, yy: 1, zz: 1}},
             beam: {{tip: [0, 0, 1], up: {up}, section: {{shape: circle, radius: 0.005}}, E: 210e9, nu: 0.3}}}}}}
tool: {{xyz: {tool}}}
"""


def column(folder, up="[1, 0, 0]", tool="[0, 0, 1]"):
    file = folder / "column.yaml"
    file.write_text(COLUMN.format(up=up, tool=tool))
    return load_robot(file)


def tip_stiffness(bar: Bar, f, m) -> np.ndarray:
    return np.linalg.inv(bar.compliance) + loaded_stiffness(bar, np.array(f, float), np.array(m, float))[0]


def critical(stable, low: float, high: float) -> float:
    assert stable(low)
    assert not stable(high)
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


@pytest.mark.parametrize("part", [-3.0, -0.5, 0.1, 0.5, 0.9, 0.99])
def test_a_column_has_the_stability_functions_of_its_load(part):
    """Sideways the tip of a cantilever under P yields by (tan kL / kL - 1) L / P, k^2 = P / EI; by tanh if pulled."""
    k = np.sqrt(abs(part) * EULER / EI)
    expected = (np.tan(k) / k - 1.0) if part > 0.0 else (1.0 - np.tanh(k) / k)
    C = np.linalg.inv(tip_stiffness(SLIM, [-part * EULER, 0, 0], [0, 0, 0]))
    assert C[1, 1] == pytest.approx(expected / abs(part * EULER), rel=1e-6)
    assert C[2, 2] == pytest.approx(C[1, 1], rel=1e-9)
    assert C[0, 0] == pytest.approx(1.0 / SLIM.rigidity[0], rel=1e-9)


def test_buckling_loads_of_the_textbooks():
    def held(K: np.ndarray, kept: list[int]) -> bool:
        return bool(np.linalg.eigvalsh(K[np.ix_(kept, kept)])[0] > 0.0)

    def pushed(kept):
        return critical(lambda P: held(tip_stiffness(SLIM, [-P, 0, 0], [0, 0, 0]), kept), 0.1 * EULER, 15 * EULER)

    assert pushed([0, 1, 2, 3, 4, 5]) == pytest.approx(EULER, rel=1e-6)  # free
    assert pushed([0, 1, 2, 3]) == pytest.approx(4 * EULER, rel=1e-6)  # guided: it shifts, but does not turn
    assert pushed([0, 3, 4, 5]) == pytest.approx(20.1907 * EI, rel=1e-5)  # pinned
    clamped = critical(lambda P: not loaded_stiffness(SLIM, np.array([-P, 0, 0]), np.zeros(3))[1], EULER, 30 * EULER)
    assert clamped == pytest.approx(16 * EULER, rel=1e-4)
    twisted = critical(lambda T: not loaded_stiffness(SLIM, np.zeros(3), np.array([T, 0, 0]))[1], EI, 20 * EI)
    assert twisted == pytest.approx(8.9868 * EI, rel=1e-4)  # Greenhill, both ends clamped


def test_a_flat_cantilever_tips_over():
    """Prandtl: a force across a thin strip's tip, in its stiff direction, at 4.0126 sqrt(EI GJ) / L^2."""
    weak, twist = float(FLAT.rigidity[5]), float(FLAT.rigidity[3])
    assert FLAT.rigidity[4] > 20 * weak

    def stable(F):
        return bool(np.linalg.eigvalsh(tip_stiffness(FLAT, [0, 0, F], [0, 0, 0]))[0] > 0.0)

    # the strip is taken as straight under its load; the correction for its stiff direction is (1 - EI_weak / EI_stiff)
    found = critical(stable, 1.0, 300.0)
    assert found == pytest.approx(4.0126 * np.sqrt(weak * twist), rel=1e-3)


@pytest.mark.parametrize("bar", [SLIM, FLAT, ARC], ids=["round", "flat", "arc"])
def test_the_axes_do_not_matter_and_the_energy_has_one(bar):
    """Turned axes of the section and the load give the turned stiffness; a half of the bar on a half is the whole."""
    rng = np.random.default_rng(0)
    f, m = rng.normal(size=3) * 20.0, rng.normal(size=3) * 2.0
    K = tip_stiffness(bar, f, m)
    np.testing.assert_allclose(K, K.T, atol=1e-9 * np.abs(K).max())
    if bar is not SLIM:
        return
    turn = Rotation.from_rotvec([0.7, 0.0, 0.0]).as_matrix()
    X = np.kron(np.eye(2), turn)
    np.testing.assert_allclose(tip_stiffness(bar, turn @ f, turn @ m), X @ K @ X.T, atol=1e-9 * np.abs(K).max())


def chain(bar: Bar, parts: int) -> TreeRobot:
    """The bar cut into parts, each a rigid link with a spring of its own at its tip, on joints that do not move."""
    like = load_robot("planar_2r").mechanism
    step = dataclasses.replace(bar, size=bar.size / parts)
    ends = np.linspace(0.0, bar.length, parts + 1)
    axes, places, _ = bar.at(ends)
    R, p, links = np.empty((parts, 3, 3)), np.empty((parts, 3)), []
    before_R, before_p = axes[0], places[0]
    for j in range(parts):
        R[j], p[j] = before_R.T @ axes[j], before_R.T @ (places[j] - before_p)
        before_R, before_p = axes[j], places[j]
        tip_R, tip_p = axes[j].T @ axes[j + 1], axes[j].T @ (places[j + 1] - places[j])
        # the compliance of a part, as a spring in the middle of it
        middle = bar.at(np.array([0.5 * (ends[j] + ends[j + 1])]))
        mid_R, mid_p = axes[j].T @ middle[0][0], axes[j].T @ (middle[1][0] - places[j])
        h = step.length
        C = np.diag(h / bar.rigidity)
        links.append(Compliance(j, mid_R, mid_p, C))
        last = Compliance(j, tip_R, tip_p, C)
    R[0], p[0] = axes[0], places[0]
    zero, infinite = np.zeros(parts), np.full(parts, np.inf)
    frames = [
        dataclasses.replace(like.frames[0], name=f"l{j}", body=j, R=np.eye(3), p=np.zeros(3)) for j in range(parts)
    ]
    tool = dataclasses.replace(like.frames[-1], name="tool", body=parts - 1, R=last.R, p=last.p)
    m = Mechanism(
        name="chain", description="", joint_names=tuple(f"j{j}" for j in range(parts)),
        body_names=tuple(f"l{j}" for j in range(parts)), parent=np.arange(parts) - 1,
        joint_type=np.zeros(parts, np.int64), R=R, p=p, M=np.ones(parts), MS=np.zeros((parts, 3)),
        J=np.tile(np.eye(3), (parts, 1, 1)), Ia=zero, Fv=zero, Fs=zero, stiffness=infinite,
        position_limits=np.tile([-np.inf, np.inf], (parts, 1)), velocity_limits=infinite, effort_limits=infinite,
        active=np.ones(parts, bool), gravity=np.zeros(3), frames=(*frames, tool), compliances=tuple(links),
    )  # fmt: skip
    return TreeRobot(m)


@pytest.mark.parametrize("bar", [SLIM, FLAT, ARC], ids=["round", "flat", "arc"])
def test_a_bar_is_a_chain_of_many_short_ones(bar):
    """Springs between rigid parts have no stiffness of their own under load: all of it comes from how the chain moves.

    The chain's error falls with the square of the length of its parts, so that two chains give the limit.
    """
    rng = np.random.default_rng(1)
    scale = float(bar.rigidity[4:].min()) / bar.length**2
    f, m = rng.normal(size=3) * 0.15 * scale, rng.normal(size=3) * 0.1 * scale * bar.length
    f[0] -= 0.5 * scale
    found = np.linalg.inv(tip_stiffness(bar, f, m))
    plain = bar.compliance
    # the same bar on a joint that does not move, whose tip frame is the base
    wrench = np.concatenate([f, m])
    coarse, fine = (chain(bar, parts).stiffness(np.zeros(parts), wrench=wrench).C for parts in (8, 16))
    limit = fine + (fine - coarse) / 3.0
    # forces along the base's axes at the tip: the moment's axes stay where they are, which its rotation vector sees
    M = np.zeros((6, 6))
    M[3:, 3:] = 0.5 * np.array([[0, -m[2], m[1]], [m[2], 0, -m[0]], [-m[1], m[0], 0]])
    spatial = np.linalg.inv(np.linalg.inv(found) - M)
    unit = 1.0 / np.sqrt(np.diag(plain))
    error, effect = (np.abs((x - limit) * np.outer(unit, unit)).max() for x in (spatial, plain))
    assert effect > 0.05
    assert error < 0.01 * effect


def test_the_loaded_column_of_a_robot(tmp_path):
    """The whole way from the description: Euler's load, and no dependence on the section's axes."""
    robot = column(tmp_path)
    shear = 1.0 + EULER / (circle(0.005).A * STEEL.G)

    def stable(P):
        return robot.stiffness([0.0], wrench=[0, 0, -P, 0, 0, 0]).statement == ""

    assert critical(stable, 0.5 * EULER, 1.5 * EULER) == pytest.approx(EULER / shear, rel=1e-4)
    assert "not stable" in robot.stiffness([0.0], wrench=[0, 0, -1.5 * EULER, 0, 0, 0]).statement
    assert "buckles between its ends" in robot.stiffness([0.0], wrench=[0, 0, -20 * EULER, 0, 0, 0]).statement
    wrench = [0.3, 0.5, -20.0, 0.5, 1.0, 2.0]
    answers = [
        column(tmp_path, up, "[0.1, 0.2, 1.1]").stiffness([0.3], wrench=wrench).C
        for up in ("[1, 0, 0]", "[1, 2, 0]", "[-3, 1, 0]")
    ]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0], atol=1e-10 * np.abs(answers[0]).max())


def test_loads_beyond_the_theory_are_refused(tmp_path):
    robot = column(tmp_path)
    with pytest.raises(InputError, match=r"bends link 'bar' by .* rad"):
        robot.stiffness([0.0], wrench=[100.0, 0, 0, 0, 0, 0])
    with pytest.raises(InputError, match="too large for link 'bar'"):
        robot.stiffness([0.0], wrench=[0, 0, 1e6, 0, 0, 0])
