"""The kernels as ordinary Python functions, to be run with numbers that are not floats.

A customised model is what a kernel does to symbols; a count of operations is what it does to numbers that count. So
there is one formulation of each algorithm, compiled for every robot and traced for one.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from dyn_core.dynamics.linear_solvers import solve_from_tips
from dyn_core.dynamics.tree.aba import articulated_bodies
from dyn_core.dynamics.tree.crba import composite_bodies
from dyn_core.dynamics.tree.record import D, start_fixed
from dyn_core.dynamics.tree.rnea import newton_euler

Objects = Any
"""An array of dtype object."""
Replacements = dict[str, Callable[..., Any]]
"""What stands for kernels, and for functions of Python, by their names."""


def unfolded(kernel: Any, replacements: Replacements) -> Callable[..., Any]:
    """The Python function behind a kernel; so are all kernels that it calls, except those replaced by name."""
    done: dict[Any, Callable[..., Any]] = {}

    def copy(function: Any) -> Callable[..., Any]:
        if function not in done:
            python = getattr(function, "py_func", function)
            names: dict[str, Any] = {"__builtins__": builtins}
            done[function] = FunctionType(python.__code__, names, python.__name__)
            for name in python.__code__.co_names:
                value = python.__globals__.get(name)
                if name in replacements:
                    names[name] = replacements[name]
                elif isinstance(value, FunctionType) or hasattr(value, "py_func"):
                    names[name] = copy(value)
                elif name in python.__globals__:
                    names[name] = value
        return done[function]

    return copy(kernel)


def inverse(record: Objects, replacements: Replacements, q: Objects, qd: Objects, qdd: Objects) -> Any:
    """Joint forces (n,), by `newton_euler` on a fixed base."""
    tau = np.empty(len(q), object)
    unfolded(start_fixed, replacements)(record, 1.0)
    unfolded(newton_euler, replacements)(record, q, qd, qdd, record[:0], tau)
    return tau


def direct(record: Objects, replacements: Replacements, q: Objects, qd: Objects, tau: Objects) -> tuple[Any, Any]:
    """Joint accelerations (n,), and the inertias (n,) that the joints move, by `articulated_bodies` on a fixed base."""
    qdd = np.empty(len(q), object)
    unfolded(start_fixed, replacements)(record, 1.0)
    unfolded(articulated_bodies, replacements)(record, q, qd, qdd[:0], record[:0], tau, qdd)
    return qdd, record[1 : len(q) + 1, D]


def direct_by_matrices(
    record: Objects, replacements: Replacements, q: Objects, qd: Objects, tau: Objects
) -> tuple[Any, Any]:
    """The same from mass matrix and bias, for which customised models of short chains need fewer operations."""
    qdd = tau - inverse(record, replacements, q, qd, np.zeros(len(q), object))
    H = mass_matrix(record, replacements, q)
    unfolded(solve_from_tips, replacements)(H, qdd)
    return qdd, np.diagonal(H)


def mass_matrix(record: Objects, replacements: Replacements, q: Objects) -> Any:
    """H (n, n), by `composite_bodies`."""
    H = np.empty((len(q), len(q)), object)
    unfolded(composite_bodies, replacements)(record, q, H)
    return H
