"""Random robots on a floating base, and Pinocchio's model of them."""

from __future__ import annotations

import dataclasses

import numpy as np
from random_robots import pinocchio_model, random_inertia, random_mechanism

from dyn_core.mechanism import FloatingBase


def random_floating(rng, n, **options):
    mechanism = random_mechanism(rng, n, **options)
    com = rng.normal(size=3) * 0.2
    J = random_inertia(rng, 3.0) + 3.0 * (com @ com * np.eye(3) - np.outer(com, com))
    return dataclasses.replace(mechanism, base=FloatingBase("trunk", 3.0, 3.0 * com, J))


def free_flyer(m):
    return pinocchio_model(m, floating=True)
