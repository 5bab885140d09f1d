"""`mass, com, inertia` or `M, MS, J` of a link or base in the robot YAML."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.arrays import Floats

from ..documents.yaml_section import YamlSection
from ..inertial import INERTIA_TOLERANCE, NO_MASS, ROUNDING, Inertial

ABOUT_COM = ("mass", "com", "inertia")
KHALIL = ("M", "MS", "J")  # the same about the frame's origin
INERTIAL_KEYS = (*ABOUT_COM, *KHALIL)
PRODUCTS = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
"""Where each entry of an inertia stands."""


def read_inertial(link: YamlSection) -> Inertial:
    """Inertial parameters of a link or base in its notation's frame, given about the centre of mass or the origin."""
    khalil = [key for key in KHALIL if key in link]
    if khalil and (others := [key for key in ABOUT_COM if key in link]):
        link.problem(khalil[0], f"given together with {', '.join(others)}", "either mass, com, inertia or M, MS, J")
        return NO_MASS
    mass_key, moment_key, inertia_key = KHALIL if khalil else ABOUT_COM
    weighty = moment_key in link or inertia_key in link
    M = link.number(mass_key, unit="kg", least=0.0, default=None if weighty else 0.0)
    moment = link.vector(moment_key, 3, unit="kg m" if khalil else "m", default=(0.0, 0.0, 0.0))
    tensor = _read_tensor(link, inertia_key)
    if tensor is None or not (math.isfinite(M) and np.isfinite(moment).all() and np.isfinite(tensor).all()):
        return NO_MASS
    if not khalil:
        check_inertia(link, "inertia", M, tensor, rounding=0.0)
        return Inertial(M, moment, tensor)
    if M == 0.0:
        if moment.any() or tensor.any():
            link.problem("M", "is 0 but MS or J is not", "a mass > 0 in kg, or no MS and J")
        return NO_MASS
    rounding = ROUNDING * float(np.abs(tensor).max())
    body = Inertial.from_standard_parameters(M, moment, tensor)
    body.inertia[np.abs(body.inertia) < rounding] = 0.0
    check_inertia(link, "J", M, body.inertia, rounding)
    return body


def _read_tensor(link: YamlSection, key: str) -> Floats | None:
    """A symmetric 3 x 3 matrix, by its entries or by its rows; None where it is wrong."""
    if link.is_list(key):
        tensor = link.matrix(key, 3)
        if tensor is None:
            return None
        if (np.abs(tensor - tensor.T) > 1e-9 * np.abs(tensor).max()).any():
            link.problem(key, "is not symmetric", "a symmetric 3 x 3 matrix")
            return None
        return 0.5 * (tensor + tensor.T)
    parts = link.section(key, tuple(PRODUCTS))
    tensor = np.zeros((3, 3))
    for name, (a, b) in PRODUCTS.items():
        required = a == b and key in link
        tensor[a, b] = tensor[b, a] = parts.number(name, unit="kg m^2", default=None if required else 0.0)
    return tensor


def check_inertia(link: YamlSection, key: str, mass: float, inertia: Floats, rounding: float) -> None:
    """A real body's principal moments are not negative, and none exceeds the sum of the other two.

    inertia: about the centre of mass, known up to the rounding.
    """
    small, middle, large = np.linalg.eigvalsh(inertia)
    slack = INERTIA_TOLERANCE * max(abs(small), abs(large)) + rounding
    where = " about the centre of mass" if key == "J" else ""
    principal = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2{where}"
    if small < -slack:
        link.problem(key, f"not positive definite ({principal})", "moments that are not negative")
    elif small + middle < large - slack:
        found = f"violates the triangle inequality ({principal})"
        link.problem(key, found, "moments of which the two smaller add up to at least the largest")
    elif mass == 0.0 and large > 0.0:
        link.problem("mass", "is 0 but the link has an inertia", "a mass > 0 in kg, or no inertia")
