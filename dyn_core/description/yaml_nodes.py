"""YAML nodes: what a document is made of, to change and to write again."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from ..mechanism import Floats


def copied(node: yaml.Node) -> yaml.Node:
    """A copy in which anchors and aliases have become nodes of their own."""
    if isinstance(node, yaml.ScalarNode):
        return yaml.ScalarNode(node.tag, node.value, style=node.style)
    if isinstance(node, yaml.SequenceNode):
        return yaml.SequenceNode(node.tag, [copied(child) for child in node.value], flow_style=node.flow_style)
    pairs = [(copied(key), copied(value)) for key, value in node.value]
    return yaml.MappingNode(node.tag, pairs, flow_style=node.flow_style)


def get(node: yaml.MappingNode, key: str) -> Any:
    return next((value for name, value in node.value if name.value == key), None)


def put(node: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    for k, (name, _) in enumerate(node.value):
        if name.value == key:
            node.value[k] = (name, value)
            return
    node.value.append((yaml.ScalarNode("tag:yaml.org,2002:str", key), value))


def number(x: float) -> yaml.ScalarNode:
    """A number as every YAML reader takes it: with a point before an exponent."""
    mantissa, e, exponent = f"{x:.12g}".partition("e")
    text = f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}"
    return yaml.ScalarNode("tag:yaml.org,2002:float", text)


def tidy(values: Floats) -> Floats:
    """Without what is only rounding beside the largest entry."""
    return np.where(np.abs(values) < 1e-13 * np.abs(values).max(), 0.0, values)


def number_list(values: Floats) -> yaml.SequenceNode:
    return yaml.SequenceNode("tag:yaml.org,2002:seq", [number(x) for x in values], flow_style=True)


def group(entries: dict[str, yaml.ScalarNode]) -> yaml.MappingNode:
    pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", key), value) for key, value in entries.items()]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=True)
