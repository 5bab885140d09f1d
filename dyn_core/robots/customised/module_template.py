"""The module of a customised model: what it has beside the model's own source."""

from __future__ import annotations

from .code_generator import ARGUMENTS, Model

ENTRIES = """
from functools import partial

from dyn_core.jit.kernel import SIMD, kernel
from dyn_core.jit.state_kernel import StateKernel

if SIMD:
    from dyn_core.jit.simd_math import any_cosine as cos  # in the function above too
    from dyn_core.jit.simd_math import any_sine as sin
{model} = kernel({model})


@kernel
def first_angle(record):
    return 0


@partial(StateKernel, first_angle=first_angle)
def call(record, {taken}):
    return {model}({arguments})
"""
"""A kernel that takes what the general one does, and reads neither record nor wrenches."""

MOTION = """
from dyn_core.dynamics.tree.integrators import Integrator, drive_forces
from dyn_core.dynamics.tree.record import friction


@kernel
def acceleration(record, motors, q, v, drive, wrenches, tau, vd):
    drive_forces(motors, v, drive, tau)
    for j in range({n}):
        vd[j] = tau[j] - friction(record[j + 1], v[j])
    return direct(q, v, vd, vd)


@kernel
def sizes(q, v):
    return {n}, {n}, {n}


integrator = Integrator(acceleration, sizes)
"""
"""What the module of a direct model has besides, for simulation, of a model that is then without friction: that is read
from a record, where it is continuous. `direct` reads all of its arguments before it writes."""


def module_entries(n: int, model: Model) -> str:
    """The text of what the module of a model of n joints has beside its source."""
    *given, answer = ARGUMENTS[model]
    wrenches = [] if model == "mass_matrix" else ["wrenches"]
    text = ENTRIES + MOTION if model == "direct" else ENTRIES
    taken = ", ".join([*given, *wrenches, answer])
    return text.format(n=n, model=model, arguments=", ".join(ARGUMENTS[model]), taken=taken)
