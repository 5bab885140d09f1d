"""A robot YAML with other parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_core.description import load_mechanism
from dyn_core.description.robot_yaml.update_parameters import RobotText
from dyn_core.dynamics.parameters.regressor import WIDTH
from dyn_core.errors import DescriptionError
from dyn_core.identification import (
    with_parameters,
)
from dyn_core.identification.physical_parameters import (
    from_log_cholesky,
    inertial_parameters,
)
from dyn_core.mechanism import Mechanism

ROOT = Path(__file__).parents[4]


WELDED = """\
name: welded
joints:
  - name: no
    type: revolute
    dh: {theta: 30 deg, d: 0.3, a: 0.2, alpha: 90 deg}
    Fv: 0.3
    friction: {coulomb: 1e-1}
    link: &heavy {mass: 3, com: [0.1, 0, 0.05], inertia: {xx: 0.02, yy: 0.03, zz: 0.04, xy: 0.001}}
  - name: tray
    type: fixed
    origin: {xyz: [0.1, 0, 0], rpy: [0, 0.4, 0]}
    link: {mass: 0.5, com: [0, 0, 0.1]}
  - name: slide
    type: prismatic
    dh: {d: 0.1}
    Ia: 0.7
    link: {name: carriage, M: 2, MS: [0.1, 0.2, 0], J: [[0.1, -0.01, 0], [-0.01, 0.1, 0], [0, 0, 0.12]]}
  - {name: bare, type: revolute, origin: {xyz: [0, 0, 0.1]}, axis: [0, 1, 0], rotor_inertia: 0.1}
"""


def physical_change(m: Mechanism, fixed: np.ndarray, rng: np.random.Generator) -> Mechanism:
    """Other physical parameters, on top of the welded links."""
    chi = np.empty((m.n, WIDTH))
    for j in range(m.n):
        chi[j, :10] = fixed[j] + inertial_parameters(from_log_cholesky(rng.normal(size=10) * 0.3 - 1.0)[0])
    chi[:, 10:] = rng.uniform(0.1, 1.0, (m.n, 3))
    return with_parameters(m, chi.ravel())


@pytest.mark.parametrize("name", ["welded", "planar_2r", "puma560", "cmu_dd_arm"])
def test_a_yaml_takes_other_parameters_and_keeps_the_rest(name: str, tmp_path: Path) -> None:
    path = ROOT / "config" / "robots" / f"{name}.yaml"
    if name == "welded":
        path = tmp_path / "welded.yaml"
        path.write_text(WELDED)
    text = RobotText(path)
    wanted = physical_change(text.mechanism, text.fixed_parameters(), np.random.default_rng(0))
    (tmp_path / "new.yaml").write_text(text.with_mechanism(wanted, ["a heading"]))
    found = load_mechanism(tmp_path / "new.yaml")
    for field in ("M", "MS", "J", "Ia", "Fv", "Fs"):
        assert getattr(found, field) == pytest.approx(getattr(wanted, field), rel=1e-9, abs=1e-11)
    for field in ("joint_names", "body_names", "description"):
        assert getattr(found, field) == getattr(text.mechanism, field)
    for field in ("R", "p", "position_limits", "velocity_limits", "effort_limits", "stiffness", "gravity", "active"):
        assert np.array_equal(getattr(found, field), getattr(text.mechanism, field))
    assert (tmp_path / "new.yaml").read_text().startswith("# a heading\nname: ")


def test_welded_links_are_known(tmp_path: Path) -> None:
    path = tmp_path / "welded.yaml"
    path.write_text(WELDED)
    fixed = RobotText(path).fixed_parameters()
    assert fixed[:, 9] == pytest.approx([0.5, 0.0, 0.0], abs=1e-12)
    light = np.zeros(WIDTH * 3)
    with pytest.raises(DescriptionError, match="cannot be rewritten"):
        RobotText(path).with_mechanism(with_parameters(load_mechanism(path), light + 1e-3))
