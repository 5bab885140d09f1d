"""A robot YAML with other inertial parameters, rotor inertias and friction, and all else as it was (but comments)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError
from dyn_core.mechanism import Mechanism
from dyn_core.spatial.poses import inverse

from ..documents.yaml_document import Document
from ..documents.yaml_nodes import copied, get, group, number, number_list, put, serialized
from ..inertial import Inertial, combined, cut
from .inertia import ABOUT_COM, KHALIL, PRODUCTS
from .reader import read_joints, read_mechanism

Drive = tuple[float, float, float]
"""Ia, Fv and Fs of a joint."""


class RobotText:
    """A robot YAML whose numbers can be exchanged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        document = Document(path)
        self.mechanism, joints = read_joints(document)
        self._root = document.node
        self._notated = {joint.body: joint.notated for joint in joints if joint.moves}
        welded = [(joint.body, joint.inertial.moved(joint.notated)) for joint in joints if not joint.moves]
        self._fixed = [combined([each for body, each in welded if body == j]) for j in range(self.mechanism.n)]

    def fixed_parameters(self) -> Floats:
        """(n, 10) what links welded to it give to each body, as [XX XY XZ YY YZ ZZ MX MY MZ M]."""
        rows, columns = np.triu_indices(3)
        return np.array([[*J[rows, columns], *MS, M] for M, MS, J in map(Inertial.standard_parameters, self._fixed)])

    def with_mechanism(self, wanted: Mechanism, heading: Sequence[str] = ()) -> str:
        """The file's text with M, MS, J, Ia, Fv and Fs of another mechanism, checked by reading it."""
        root = copied(self._root)
        body = {name: j for j, name in enumerate(self.mechanism.joint_names)}
        for joint in get(root, "joints").value:
            if (j := body.get(get(joint, "name").value)) is not None:
                M, MS, J = self._fixed[j].standard_parameters()
                own = Inertial.from_standard_parameters(float(wanted.M[j]) - M, wanted.MS[j] - MS, wanted.J[j] - J)
                _write_link(joint, own.moved(inverse(self._notated[j])))
                _write_drive(joint, (float(wanted.Ia[j]), float(wanted.Fv[j]), float(wanted.Fs[j])))
        text = "".join(f"# {line}\n" for line in heading) + serialized(root)
        try:
            found = read_mechanism(Document(Path("line"), text))
        except DescriptionError as error:
            raise DescriptionError(f"{self.path}: cannot be rewritten ({error})") from error
        for name in ("M", "MS", "J", "Ia", "Fv", "Fs"):
            value = getattr(wanted, name)
            if not np.allclose(getattr(found, name), value, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(value).max())):
                raise DescriptionError(f"{self.path}: its notation of {name} cannot be rewritten")
        return text


def _write_link(joint: yaml.MappingNode, link: Inertial) -> None:
    node = get(joint, "link")
    if node is None:
        node = yaml.MappingNode("tag:yaml.org,2002:map", [], flow_style=False)
        put(joint, "link", node)
    khalil = any(get(node, key) is not None for key in KHALIL)
    mass, moment, tensor = link.standard_parameters() if khalil else link
    mass_key, moment_key, inertia_key = KHALIL if khalil else ABOUT_COM
    put(node, mass_key, number(mass))
    put(node, moment_key, number_list(cut(moment)))
    put(node, inertia_key, group({key: number(cut(tensor)[at]) for key, at in PRODUCTS.items()}))


def _write_drive(joint: yaml.MappingNode, drive: Drive) -> None:
    Ia, Fv, Fs = drive
    motor = get(joint, "motor")
    gear = 1.0 if motor is None else float(get(motor, "gear_ratio").value)
    if motor is not None and get(motor, "rotor_inertia") is not None:
        put(motor, "rotor_inertia", number(Ia / gear**2))
    else:
        put(joint, "Ia" if get(joint, "Ia") is not None else "rotor_inertia", number(Ia))
    _write_friction(joint, motor, Fv, gear**2, "viscous", "Fv")
    _write_friction(joint, motor, Fs, abs(gear), "coulomb", "Fs")


def _write_friction(
    joint: yaml.MappingNode, motor: yaml.MappingNode | None, total: float, gear: float, word: str, symbol: str
) -> None:
    """Friction where the file has it; where motor and joint both have some, the joint's part changes."""
    friction = get(joint, "friction")
    at_joint = get(joint, symbol) is not None or (friction is not None and get(friction, word) is not None)
    share = 0.0
    if motor is not None and get(motor, word) is not None:
        share = gear * float(get(motor, word).value)
        if not at_joint or share > total:
            put(motor, word, number(total / gear))
            share = total
        if not at_joint:
            return
    rest = number(total - share)
    if get(joint, symbol) is not None:
        put(joint, symbol, rest)
    elif friction is not None:
        put(friction, word, rest)
    else:
        put(joint, "friction", group({word: rest}))
