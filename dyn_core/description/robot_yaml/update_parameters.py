"""A robot YAML with other inertial parameters, rotor inertias and friction, and all else as it was (but comments).

What the numbers of a link mean in its body's frame depends on the file's notations and on links welded to it. Instead
of knowing the notations, this module asks the reader: a body's parameters are an affine function of its link's numbers,

    body = fixed + transport(R, p) link

and reading the file with a few chosen numbers in it gives `fixed`, R and p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError
from dyn_core.mechanism import Mechanism
from dyn_core.spatial.poses import skew

from ..documents.yaml_document import Document
from ..documents.yaml_nodes import copied, get, group, number, number_list, put, serialized
from ..inertial import Inertial, cut
from .inertia import ABOUT_COM, KHALIL, PRODUCTS
from .reader import load_mechanism, read_mechanism


@dataclass(frozen=True)
class Numbers:
    """Inertial parameters of a body or link in some frame, J about its origin."""

    M: float
    MS: Floats
    J: Floats

    def moved(self, R: Floats, p: Floats) -> Numbers:
        """The same body seen from the frame in which this one stands at (R, p)."""
        MS = R @ self.MS
        P, S = skew(p), skew(MS)
        return Numbers(self.M, MS + self.M * p, R @ self.J @ R.T - P @ S - S @ P - self.M * P @ P)

    def __sub__(self, other: Numbers) -> Numbers:
        return Numbers(self.M - other.M, self.MS - other.MS, self.J - other.J)


@dataclass(frozen=True)
class Drive:
    """Rotor inertia and friction at a joint."""

    Ia: float
    Fv: float
    Fs: float


class RobotText:
    """A robot YAML whose numbers can be exchanged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mechanism = load_mechanism(path)
        self._root = Document(path).node
        unit = Numbers(1.0, np.zeros(3), np.eye(3))
        n = self.mechanism.n
        heavy, shifted = Numbers(2.0, np.zeros(3), np.eye(3)), [unit.moved(np.eye(3), axis) for axis in np.eye(3)]
        zero, double, *along = (self._probe(numbers) for numbers in (unit, heavy, *shifted))
        self.p = double.MS - zero.MS
        """(n, 3) origin of the frame of each link's numbers, in the body's frame."""
        self.R = np.stack([probe.MS - zero.MS for probe in along], axis=2)
        """(n, 3, 3) its axes."""
        self.fixed = [
            Numbers(float(zero.M[j]), zero.MS[j], zero.J[j]) - unit.moved(self.R[j], self.p[j]) for j in range(n)
        ]
        """What links welded to it give to each body."""

    def _probe(self, numbers: Numbers) -> Mechanism:
        drives = [Drive(1.0, 0.0, 0.0)] * self.mechanism.n
        return _loaded(self._edited([numbers] * self.mechanism.n, drives), self.path)

    def fixed_parameters(self) -> Floats:
        """(n, 10) `fixed` as [XX XY XZ YY YZ ZZ MX MY MZ M]."""
        rows, columns = np.triu_indices(3)
        return np.array([[*f.J[rows, columns], *f.MS, f.M] for f in self.fixed])

    def with_mechanism(self, wanted: Mechanism, heading: Sequence[str] = ()) -> str:
        """The file's text with M, MS, J, Ia, Fv and Fs of another mechanism, checked by reading it."""
        links = []
        for j in range(wanted.n):
            own = Numbers(float(wanted.M[j]), wanted.MS[j], wanted.J[j]) - self.fixed[j]
            links.append(own.moved(self.R[j].T, -self.R[j].T @ self.p[j]))
        drives = [Drive(*map(float, values)) for values in zip(wanted.Ia, wanted.Fv, wanted.Fs, strict=True)]
        text = "".join(f"# {line}\n" for line in heading) + self._edited(links, drives)
        found = _loaded(text, self.path)
        for name in ("M", "MS", "J", "Ia", "Fv", "Fs"):
            value = getattr(wanted, name)
            if not np.allclose(getattr(found, name), value, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(value).max())):
                raise DescriptionError(f"{self.path}: its notation of {name} cannot be rewritten")
        return text

    def _edited(self, links: Sequence[Numbers], drives: Sequence[Drive]) -> str:
        root = copied(self._root)
        body = {name: j for j, name in enumerate(self.mechanism.joint_names)}
        for joint in get(root, "joints").value:
            name = get(joint, "name").value
            if name in body:
                _write_link(joint, links[body[name]])
                _write_drive(joint, drives[body[name]])
        return serialized(root)


def _loaded(text: str, path: Path) -> Mechanism:
    """The mechanism of a text; errors name the file that it was made from."""
    try:
        return read_mechanism(Document(Path("line"), text))
    except DescriptionError as error:
        raise DescriptionError(f"{path}: cannot be rewritten ({error})") from error


def _write_link(joint: yaml.MappingNode, link: Numbers) -> None:
    node = get(joint, "link")
    if node is None:
        node = yaml.MappingNode("tag:yaml.org,2002:map", [], flow_style=False)
        put(joint, "link", node)
    khalil = any(get(node, key) is not None for key in KHALIL)
    about_com = Inertial.from_standard_parameters(link.M, link.MS, link.J)
    moment, tensor = (cut(values) for values in ((link.MS, link.J) if khalil else about_com[1:]))
    mass_key, moment_key, inertia_key = KHALIL if khalil else ABOUT_COM
    put(node, mass_key, number(link.M))
    put(node, moment_key, number_list(moment))
    put(node, inertia_key, group({key: number(tensor[at]) for key, at in PRODUCTS.items()}))


def _write_drive(joint: yaml.MappingNode, drive: Drive) -> None:
    motor = get(joint, "motor")
    gear = 1.0 if motor is None else float(get(motor, "gear_ratio").value)
    if motor is not None and get(motor, "rotor_inertia") is not None:
        put(motor, "rotor_inertia", number(drive.Ia / gear**2))
    else:
        put(joint, "Ia" if get(joint, "Ia") is not None else "rotor_inertia", number(drive.Ia))
    _write_friction(joint, motor, drive.Fv, gear**2, "viscous", "Fv")
    _write_friction(joint, motor, drive.Fs, abs(gear), "coulomb", "Fs")


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
