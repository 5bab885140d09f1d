"""Reproducing Saha and Schiehlen: a quick part of it, and how the report is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_cli.main import build_parser
from dyn_core.errors import InputError
from papers import PAPERS, report, reproduce
from papers import __main__ as command
from papers.saha2001 import linkages as saha2001
from papers.saha2001.results import inverse_rows


@pytest.mark.parametrize("name", ["four_bar_saha", "five_bar_saha"])
def test_inverse_results_come_out_in_both_modes(name):
    for linkage in saha2001.linkages(name).values():
        linkage.t = linkage.t[::10]
        linkage.joints, linkage.torques  # noqa: B018 - along a tenth of the samples
        rows = inverse_rows(("a", "b", "c"), linkage)
        failed = [row.what for row in rows if row.verdict == "FAILS"]
        # differences and the work of the torques need all samples
        assert all("differences" in what or "work" in what for what in failed)


def test_free_fall_stops_at_the_singularity():
    """The errata's independent times: 1.333 s with the end point below, 0.482 s above."""
    start = np.radians([80.0, 70.0])
    for mode, expected in (("below", 1.333), ("above", 0.482)):
        motion = saha2001.linkages("five_bar_saha")[mode].simulate(start, 2.0, lambda *_: np.zeros(2))
        assert motion.end.startswith("singular")
        assert motion.t[-1] == pytest.approx(expected, abs=2e-3)


def test_feedback_law_follows_with_gravity_only():
    linkage = saha2001.linkages("four_bar_saha")["below"]
    off = linkage.simulate(linkage.start + 0.1, 3.0, linkage.feedback(True), tolerance=1e-9)
    wanted = np.array([linkage.trajectory(t)[0] for t in off.t])
    np.testing.assert_allclose((off.q - wanted)[:, 0], 0.1 * (1 + off.t) * np.exp(-off.t), atol=1e-6)
    bare = linkage.simulate(linkage.start, 3.0, linkage.feedback(False), tolerance=1e-6, within=0.5)
    assert bare.end == saha2001.LEFT


@pytest.mark.parametrize("holds", [True, False])
def test_the_status_says_whether_all_came_out(holds, monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    row = report.Row("Fig. 1", "a value", "1", "1", report.agrees(holds), "a reason")
    made = report.Report(
        "paper", "A paper", (row,), (report.Plot("fig1", (2, 2), lambda f: f.subplots().plot([0, 1])),)
    )
    monkeypatch.setattr(command, "reproduce", lambda name: made)
    for as_json in (False, True):
        given = ["paper", "--output", str(tmp_path / "new" / "folder"), *(["--json"] if as_json else [])]
        assert command.main(build_parser("reproduce").parse_args(given)) == (0 if holds else 1)
        out = capsys.readouterr().out
        if as_json:
            assert json.loads(out)["rows"][0]["verdict"] == ("agrees" if holds else "FAILS")
        else:
            assert "a reason" in out
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["paper_fig1.png"]
    assert (tmp_path / "new" / "folder" / "paper_fig1.png").read_bytes().startswith(b"\x89PNG")


def test_a_paper_that_is_not_there_and_a_folder_that_cannot_be(tmp_path):
    assert "saha2001" in PAPERS
    with pytest.raises(InputError, match="no paper 'nobody1900'"):
        reproduce("nobody1900")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write into"):
        report.write_images({"a.png": b""}, tmp_path / "file")
