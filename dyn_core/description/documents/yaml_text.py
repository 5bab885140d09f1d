"""Values as the text of a YAML document, which reads back as the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import yaml


class _Dumper(yaml.SafeDumper):
    """Indents lists, repeats what occurs twice, and knows numpy's numbers."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


for kind in (float, np.float64):
    _Dumper.add_representer(kind, lambda dumper, x: dumper.represent_float(float(x) + 0.0))  # no -0
_Dumper.add_representer(np.int64, lambda dumper, x: dumper.represent_int(int(x)))


def document_text(values: Mapping[str, object]) -> str:
    """A document of nested groups and lists, the innermost of them in one line each."""
    options = {"sort_keys": False, "default_flow_style": None, "allow_unicode": True, "width": math.inf}
    return str(yaml.dump(dict(values), Dumper=_Dumper, **options))


def angle_value(x: float) -> str | float:
    """Degrees with their unit where they are round and give the same number, else rad."""
    degrees = round(math.degrees(x), 9) + 0.0
    return f"{repr(degrees).removesuffix('.0')} deg" if x and math.radians(degrees) == x else float(x)


def rounded(x: float) -> float:
    """A length without its rounding: 0 for next to nothing, 0.4 for 0.39999999999999997."""
    return float(near) if abs((near := round(float(x), 12)) - x) < 2e-16 * max(1.0, abs(x)) else float(x)


def rounded_angle(x: float) -> float:
    """An angle in rad that is a round number of degrees but for its rounding, as that number."""
    return math.radians(near) if abs(math.radians(near := round(math.degrees(x), 9)) - x) < 4e-16 else float(x)
