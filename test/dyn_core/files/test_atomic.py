"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dyn_core.errors import InputError
from dyn_core.files import write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.yaml"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    monkeypatch.undo()
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
