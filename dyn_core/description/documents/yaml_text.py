"""Numbers and groups as text of a YAML document, which reads back as the same numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping


def number_text(x: object) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(str(x)) + 0.0).removesuffix(".0")


def angle_text(x: float) -> str:
    """Degrees where they are round and give the same number, else rad."""
    degrees = round(math.degrees(x), 9)
    return f"{number_text(degrees)} deg" if x and math.radians(degrees) == x else number_text(x)


def list_text(values: Iterable[object]) -> str:
    """A list in one line; what is text already stays."""
    return f"[{', '.join(_value(value) for value in values)}]"


def group_text(values: Mapping[str, object]) -> str:
    """A group in one line; what is text already stays."""
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in values.items()) + "}"


def line_text(text: str) -> str:
    """Any text, quoted, on one line."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _value(x: object) -> str:
    return x if isinstance(x, str) else number_text(x)


def rounded(x: float) -> float:
    """A length without its rounding: 0 for next to nothing, 0.4 for 0.39999999999999997."""
    return float(near) if abs((near := round(float(x), 12)) - x) < 2e-16 * max(1.0, abs(x)) else float(x)


def rounded_angle(x: float) -> float:
    """An angle in rad that is a round number of degrees but for its rounding, as that number."""
    return math.radians(near) if abs(math.radians(near := round(math.degrees(x), 9)) - x) < 4e-16 else float(x)
