"""Names and numbers for messages that no sane node sends, and whether a check lets them pass."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st

from dyn_core.errors import RefusedError

NAMES = st.lists(st.sampled_from(("a", "b", "p", "", "a ", "x" * 1000, "\n")) | st.text("abc", max_size=2), max_size=4)
LISTS = st.lists(st.floats(), max_size=4) | st.just([0.0, 0.0])
randomly = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def accepted(check: Callable[[], object]) -> bool:
    """Whether a check lets a message pass; if not, it says why in a few words."""
    said = ""
    try:
        check()
    except RefusedError as refused:
        said = str(refused)
    assert said.isprintable()
    assert len(said) < 300
    return not said
