"""The documentation's examples do what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dyn_cli.shell import COMMANDS, VARIABLES, Session
from dyn_core import DynError, load_robot
from dyn_core.actuation.dac_file import read_dac_file
from dyn_core.description import build_parts
from dyn_core.description.parts.database import DIMENSIONS, MATERIAL_KEYS, PART_KEYS, SECTION_KEYS, WORKING
from dyn_core.description.parts.densities import DENSITIES
from dyn_core.description.robot_yaml.joint import JOINT_KEYS, LINK_KEYS, MOTOR_KEYS
from dyn_core.description.robot_yaml.reader import BASE_KEYS, ROBOT_KEYS
from dyn_core.identification import read_log_format
from dyn_core.simulation import read_schedule

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def examples(language: str) -> list[tuple[str, str]]:
    """Every fenced block of a language, with the page and line that it stands at."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for block in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, block.start()) + 1
            found.append((f"{page.relative_to(ROOT)}:{line}", block[1]))
    return found


def parametrize(language: str) -> pytest.MarkDecorator:
    blocks = examples(language)
    return pytest.mark.parametrize(("place", "text"), blocks, ids=[place for place, _ in blocks])


@parametrize("python")
def test_a_python_example_runs(place: str, text: str) -> None:
    exec(compile(text, place, "exec"), {"__name__": "example"})


@parametrize("yaml")
def test_a_description_loads(place: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    if "parts:" in text:
        database = tmp_path / "robot.parts.yaml"
        database.write_text(text)
        built = build_parts(database)
        assert built.warnings == ()
        text = built.text
    file.write_text(text)
    if text.startswith("interpolation:"):
        assert read_schedule(file, load_robot("planar_2r")).duration > 0.0
        return
    if text.startswith("columns:"):
        assert read_log_format(file, 3).coupling is not None
        return
    if "channels:" in text:
        assert read_dac_file(file, calibrated=False).channels
        return
    if text.startswith("    link:"):  # of a joint of a shipped robot, which it takes the place of
        shipped = (ROOT / "config" / "robots" / "four_bar_wang_flexible.yaml").read_text()
        own = re.compile(r"^    link:\n      name: coupler_link\n.*?(?=^  - )", re.DOTALL | re.MULTILINE)
        changed, count = own.subn(text, shipped)
        assert count == 1
        file.write_text(changed)
    robot = load_robot(file)
    assert robot.mass_matrix(robot.neutral()).shape == (robot.nv, robot.nv)


def test_the_shells_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session through the whole page."""
    monkeypatch.chdir(tmp_path)
    session = Session(COMMANDS)
    for place, text in examples("sim"):
        for number, line in enumerate(text.splitlines(), 1):
            try:
                session.execute(line)
            except DynError as error:
                pytest.fail(f"{place}, line {number} of the example: {error}")
    assert {path.name for path in tmp_path.iterdir()} >= {"run.png", "run.pdf", "run.html", "run.csv", "run.mcap"}


def test_the_shells_page_names_everything() -> None:
    text = (ROOT / "docs" / "arm_shell.md").read_text()
    assert [name for name in (*COMMANDS, *VARIABLES) if not re.search(rf"`{name}\b", text)] == []


def test_the_reference_names_every_key() -> None:
    text = (ROOT / "docs" / "robot_description.md").read_text()
    missing = [key for key in (*ROBOT_KEYS, *JOINT_KEYS, *LINK_KEYS, *BASE_KEYS, *MOTOR_KEYS) if f"`{key}`" not in text]
    assert not missing


def test_the_page_of_parts_names_every_key_shape_and_material() -> None:
    text = (ROOT / "docs" / "parts.md").read_text()
    keys = {*WORKING, *PART_KEYS, *SECTION_KEYS, *MATERIAL_KEYS, *DIMENSIONS, *DENSITIES}
    assert not [key for key in keys if f"`{key}`" not in text]
    for name, material in DENSITIES.items():
        assert f"| `{name}` | {material.value:g} |" in text


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    broken = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not broken
