"""Joint states of a ROS 2 bag: an MCAP file, an SQLite database, or the folder that holds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.errors import InputError, MissingLibraryError
from dyn_core.identification import LogFormat, MotionLog, joint_motion
from dyn_core.mechanism import Mechanism

from .recording import JOINT_STATE

SUFFIXES = (".mcap", ".db3")
TYPE = "sensor_msgs/msg/JointState"
MOST_MESSAGES = 5_000_000


def is_bag(path: Path) -> bool:
    """Whether a path is a bag by its ending, or a folder."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def read_bag(path: Path, mechanism: Mechanism, log_format: LogFormat | None = None) -> MotionLog:
    """The motion that a bag's joint states tell: positions, speeds where all messages have them, and efforts."""
    form = log_format or LogFormat()
    files = sorted(p for p in path.iterdir() if p.suffix.lower() in SUFFIXES) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: holds no {' or '.join(SUFFIXES)} file")
    topics = sorted({topic for file in files for topic in _topics(file)})
    topic = form.topic or _only(path, topics)
    if topic not in topics:
        raise InputError(f"{path}: no topic {topic} of type {TYPE}; it has {', '.join(topics) or 'none'}")
    messages = [pair for file in files for pair in _messages(file, topic)]
    if not messages:
        raise InputError(f"{path}: {topic} has no messages")
    names = [name for name in mechanism.joint_names if name in messages[0][1].name]
    if not names:
        raise InputError(f"{path}: {topic} tells of {', '.join(messages[0][1].name[:8])}, none of {mechanism.name}")
    columns = [mechanism.joint_names.index(name) for name in names]
    times: list[float] = []
    rows: dict[str, list[list[float]]] = {"q": [], "qd": [], "tau": []}
    for stamp, message in messages:
        place = {name: k for k, name in enumerate(message.name)}
        if not all(name in place for name in names):
            continue
        times.append(stamp)
        for key, values in (("q", message.position), ("qd", message.velocity), ("tau", message.effort)):
            if len(values) == len(message.name):
                rows[key].append([float(values[place[name]]) for name in names])
    for key, what in (("q", "positions"), ("tau", "efforts")):
        if len(rows[key]) < len(times):
            raise InputError(f"{path}: {len(times) - len(rows[key])} messages of {topic} have no {what}")
    order = np.argsort(np.array(times), kind="stable")
    arrays = {}
    for key, values in rows.items():
        if len(values) == len(times) and np.isfinite(values).all():
            arrays[key] = np.zeros((len(times), mechanism.n))
            arrays[key][:, columns] = np.array(values)[order]
    if missing := {"q", "tau"} - arrays.keys():
        raise InputError(f"{path}: {topic} has {' and '.join(sorted(missing))} that are not finite")
    moved = np.isin(np.arange(mechanism.n), columns)
    t = np.array(times)[order]
    return joint_motion(str(path), t - t[0], arrays, mechanism, form, moved)


def _only(path: Path, topics: list[str]) -> str:
    if len(topics) == 1:
        return topics[0]
    named = [topic for topic in topics if topic.endswith("/joint_states")]
    if len(named) == 1:
        return named[0]
    raise InputError(
        f"{path}: {len(topics)} topics of type {TYPE} ({', '.join(topics) or 'none'}); name one: `topic` in --format"
    )


def _database(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{file.resolve()}?mode=ro", uri=True)


def _topics(file: Path) -> list[str]:
    try:
        if file.suffix.lower() == ".db3":
            with _database(file) as database:
                found = database.execute("SELECT name FROM topics WHERE type = ?", (TYPE,)).fetchall()
            return [str(name) for (name,) in found]
        with file.open("rb") as stream:
            summary = _mcap_reader(stream).get_summary()
        if summary is None:
            raise InputError(f"{file}: has no summary; was the recording cut off? `mcap recover` mends it")
        of_type = {schema.id for schema in summary.schemas.values() if schema.name == TYPE}
        return [channel.topic for channel in summary.channels.values() if channel.schema_id in of_type]
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{file}: cannot be read ({error})") from error


def _messages(file: Path, topic: str) -> Iterator[tuple[float, Any]]:
    """Times (s) and messages: the time of the header where it has one, else that of the recorder."""
    raw = _database_messages(file, topic) if file.suffix.lower() == ".db3" else _mcap_messages(file, topic)
    for count, (nanoseconds, message) in enumerate(raw):
        if count >= MOST_MESSAGES:
            raise InputError(f"{file}: more than {MOST_MESSAGES} messages")
        stamp = message.header.stamp
        header = stamp.sec * 10**9 + stamp.nanosec
        yield (header or nanoseconds) * 1e-9, message


def _mcap_messages(file: Path, topic: str) -> Iterator[tuple[int, Any]]:
    from mcap_ros2.decoder import DecoderFactory

    with file.open("rb") as stream:
        reader = _mcap_reader(stream, [DecoderFactory()])
        for _, _, message, decoded in reader.iter_decoded_messages([topic]):
            yield message.log_time, decoded


def _database_messages(file: Path, topic: str) -> Iterator[tuple[int, Any]]:
    try:
        from mcap.records import Schema
        from mcap_ros2.decoder import DecoderFactory
    except ImportError:
        raise _missing() from None
    decode: Any = DecoderFactory().decoder_for("cdr", Schema(1, JOINT_STATE.encode(), "ros2msg", TYPE))
    wanted = "SELECT m.timestamp, m.data FROM messages m JOIN topics t ON m.topic_id = t.id WHERE t.name = ? ORDER BY 1"
    with _database(file) as database:
        for nanoseconds, data in database.execute(wanted, (topic,)):
            yield nanoseconds, decode(data)


def _mcap_reader(stream: Any, decoders: Any = ()) -> Any:
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise _missing() from None
    try:
        return make_reader(stream, decoder_factories=decoders)
    except McapError as error:
        raise InputError(f"{stream.name}: is not MCAP ({error})") from error


def _missing() -> MissingLibraryError:
    return MissingLibraryError("reading bags needs a library that is not installed: pip install mcap-ros2-support")
