"""YAML nodes: what a document is made of, to change and to write again."""

from __future__ import annotations

import re
from typing import Any

import yaml

from dyn_core.arrays import Floats

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
NOT_FINITE = re.compile(r"[-+]?\.?(nan|inf(inity)?)", re.IGNORECASE)


def describe(node: yaml.Node | None) -> str:
    """A node in a few words, for error messages."""
    if node is None:
        return "nothing"
    if isinstance(node, yaml.ScalarNode):
        if node.style is None and node.value in ("", "~", "null"):
            return "nothing"
        text = node.value if len(node.value) <= 60 else node.value[:57] + "..."
        plain = node.style is None and (NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text))
        return text if plain else repr(text)
    if isinstance(node, yaml.SequenceNode):
        return f"a list of {len(node.value)}"
    return "a group of keys"


def copied(node: yaml.Node) -> yaml.Node:
    """A copy in which anchors and aliases have become nodes of their own."""
    if isinstance(node, yaml.ScalarNode):
        return yaml.ScalarNode(node.tag, node.value, style=node.style)
    if isinstance(node, yaml.SequenceNode):
        return yaml.SequenceNode(node.tag, [copied(child) for child in node.value], flow_style=node.flow_style)
    pairs = [(copied(key), copied(value)) for key, value in node.value]
    return yaml.MappingNode(node.tag, pairs, flow_style=node.flow_style)


def serialized(node: yaml.Node) -> str:
    """The text of a document."""
    return str(yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True, width=110))


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


def number_list(values: Floats) -> yaml.SequenceNode:
    return yaml.SequenceNode("tag:yaml.org,2002:seq", [number(x) for x in values], flow_style=True)


def group(entries: dict[str, yaml.ScalarNode]) -> yaml.MappingNode:
    pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", key), value) for key, value in entries.items()]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=True)
