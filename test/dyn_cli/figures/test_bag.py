"""Joint states of bags as motion logs."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dyn_cli.figures.bag import TYPE, is_bag, read_bag
from dyn_cli.figures.recording import JOINT_STATE
from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.identification import LogFormat

mcap_writer = pytest.importorskip("mcap_ros2.writer")
ROWS = 50


def message(k: int, names: list[str], effort: bool = True) -> dict[str, object]:
    return {
        "header": {"stamp": {"sec": 5, "nanosec": k * 10**7}, "frame_id": ""},
        "name": names,
        "position": [0.1 * k + j for j in range(len(names))],
        "velocity": [10.0] * len(names),
        "effort": [float(j - k) for j in range(len(names))] if effort else [],
    }


def write_mcap(path: Path, names: list[str], topics: tuple[str, ...] = ("/joint_states",), effort: bool = True) -> None:
    with path.open("wb") as file:
        writer = mcap_writer.Writer(file)
        schema = writer.register_msgdef(TYPE, JOINT_STATE)
        for topic in topics:
            for k in range(ROWS):
                writer.write_message(topic, schema, message(k, names, effort), k, k, k)
        writer.finish()


def write_db3(path: Path, names: list[str]) -> None:
    """As rosbag2's SQLite storage has it, with the bytes that the MCAP file holds."""
    from mcap.reader import make_reader

    write_mcap(path.with_suffix(".mcap"), names)
    stored = make_reader(io.BytesIO(path.with_suffix(".mcap").read_bytes())).iter_messages()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)")
        database.execute("CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB)")
        database.execute("INSERT INTO topics VALUES (1, '/joint_states', ?, 'cdr')", (TYPE,))
        rows = [(k, 1, each.log_time, each.data) for k, (_, _, each) in enumerate(stored)]
        database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)
    path.with_suffix(".mcap").unlink()


@pytest.mark.parametrize("kind", ["mcap", "db3", "folder"])
def test_joint_states_become_a_log_by_the_names_of_joints(tmp_path: Path, kind: str) -> None:
    names = ["gripper", "elbow", "shoulder"]
    path = tmp_path / f"bag_0.{'db3' if kind == 'folder' else kind}"
    (write_mcap if kind == "mcap" else write_db3)(path, names)
    path = tmp_path if kind == "folder" else path
    assert is_bag(path)
    log = read_bag(path, load_robot("planar_2r").mechanism)
    assert log.t == pytest.approx(np.arange(ROWS) * 0.01)
    k = np.arange(ROWS)
    assert log.q == pytest.approx(np.column_stack([0.1 * k + 2.0, 0.1 * k + 1.0]))
    assert log.tau == pytest.approx(np.column_stack([2.0 - k, 1.0 - k]))
    assert log.qd == pytest.approx(np.full((ROWS, 2), 10.0))


def test_bags_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    m = load_robot("planar_2r").mechanism
    path = tmp_path / "a.mcap"
    with pytest.raises(InputError, match="holds no"):
        read_bag(tmp_path, m)
    with pytest.raises(InputError, match="cannot be read"):
        read_bag(path, m)
    write_mcap(path, ["shoulder", "elbow"], ("/a", "/b"))
    with pytest.raises(InputError, match="2 topics of type"):
        read_bag(path, m)
    assert len(read_bag(path, m, LogFormat(topic="/a")).t) == ROWS
    with pytest.raises(InputError, match="no topic /c"):
        read_bag(path, m, LogFormat(topic="/c"))
    write_mcap(path, ["left", "right"])
    with pytest.raises(InputError, match="none of planar_2r"):
        read_bag(path, m)
    write_mcap(path, ["shoulder", "elbow"], effort=False)
    with pytest.raises(InputError, match="have no efforts"):
        read_bag(path, m)
    path.write_bytes(b"no bag at all")
    with pytest.raises(InputError, match="is not MCAP"):
        read_bag(path, m)
