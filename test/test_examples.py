"""Every example runs, prints something, and leaves the picture that it promises."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    text = path.read_text()
    assert len(text.splitlines()) < 40
    if "matplotlib" in text:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    pictures = re.findall(r"into (\w+\.png)", text)
    assert sorted(file.name for file in tmp_path.iterdir()) == pictures
