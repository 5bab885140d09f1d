"""Straight-line Python of one robot's dynamic models.

CasADi traces the general kernels: its scalar symbols fold constants and drop zeros as they are combined, its `cse`
shares common subexpressions, and its functions keep only what their outputs need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import base_parameters
from dyn_core.dynamics.parameters.regressor import standard_parameters
from dyn_core.dynamics.tree.record import ELEMENTS, FS, FV, GRAVITY, IA, MS, J, M, P, T, pack
from dyn_core.errors import InputError, MissingLibraryError, SingularityError
from dyn_core.jit.status import NOT_FINITE, OK, SINGULAR
from dyn_core.mechanism import Mechanism

from . import tracing as unfolded
from .operation_count import Operations, source_operations

Model = Literal["inverse", "direct", "mass_matrix"]
MODELS: tuple[Model, ...] = get_args(Model)

ARGUMENTS: dict[Model, tuple[str, ...]] = {
    "inverse": ("q", "qd", "qdd", "tau"),
    "direct": ("q", "qd", "tau", "qdd"),
    "mass_matrix": ("q", "H"),
}
"""The arguments of a model's function, the answer last."""

ALGORITHMS: dict[Model, tuple[Callable[..., Any], ...]] = {
    "inverse": (unfolded.inverse,),
    "direct": (unfolded.direct, unfolded.direct_by_matrices),
    "mass_matrix": (unfolded.mass_matrix,),
}
"""What a model may be traced from; the code with fewest operations is taken."""

SUMMARIES: dict[Model, str] = {
    "inverse": "Write the joint forces tau ({n},) for the motion q, qd, qdd ({n},).",
    "direct": "Write the joint accelerations qdd ({n},) under the joint forces tau at q, qd ({n},).",
    "mass_matrix": "Write the mass matrix H ({n}, {n}) at q ({n},).",
}

ROUNDING = 1e-15
"""A parameter this much smaller than its like is a rounding error (of cos 90 deg, of grouping) and taken for zero."""


@dataclass(frozen=True)
class CustomisedSource:
    """The source of one model of one robot, and what it costs."""

    model: Model
    text: str
    """A module of plain Python with one function named after the model."""
    operations: Operations


def customised_source(mechanism: Mechanism, model: Model, grouped: bool = True) -> CustomisedSource:
    """Generate a model of a mechanism.

    grouped: from its base inertial parameters, of which there are fewer; otherwise from the described ones.
    """
    require_customisable(mechanism, model)
    casadi = _casadi()
    record = pack(mechanism)
    if grouped:
        group(record, mechanism)
    lines = _function(casadi, without_rounding(record), mechanism.n, model)
    operations = source_operations("\n".join(lines))
    head = [
        f'"""{mechanism.name}: its {model.replace("_", " ")} model, customised by dyn_robot from its description.',
        "",
        f"{operations}.",
        '"""',
        "",
        "from math import cos, sin, sqrt",
        "",
        f"OK, NOT_FINITE, SINGULAR = {OK}, {NOT_FINITE}, {SINGULAR}",
        "",
        "",
    ]
    return CustomisedSource(model, "\n".join([*head, *lines, ""]), operations)


def require_customisable(mechanism: Mechanism, model: Model) -> None:
    """InputError where there is no customised model of that kind."""
    parts = {
        "a floating base": mechanism.base,
        "joints that follow others": mechanism.mimic,
        "closed chains": mechanism.loops or None,
    }
    for what, part in parts.items():
        if part is not None:
            raise InputError(
                f"{mechanism.name} has {what}: customised models are of trees of independent joints on a fixed base"
            )
    if model not in MODELS:
        raise InputError(f"a customised model is one of {', '.join(MODELS)}, found {model!r}")


def group(record: Floats, mechanism: Mechanism) -> None:
    """Put the base parameters in a record, in the places of the standard parameters that stand for them."""
    base = base_parameters(mechanism)
    chi = np.zeros(len(base.parameter_names))
    chi[base.columns] = base.values(standard_parameters(mechanism))
    bodies = chi.reshape(mechanism.n, -1)
    for column, place, size in ((0, J, 6), (6, MS, 3), (9, M, 1), (10, IA, 1)):
        record[1 : mechanism.n + 1, place : place + size] = bodies[:, column : column + size]


def without_rounding(record: Floats) -> Floats:
    """The record with rounding errors of zeros and ones removed."""
    clean = record.copy()
    bodies = clean[1 : len(clean) - int(clean[0, ELEMENTS])]
    turn = bodies[:, T : T + 9]
    ones = np.abs(np.abs(turn) - 1.0) <= ROUNDING
    turn[ones] = np.sign(turn[ones])
    alike = [
        clean[0, GRAVITY : GRAVITY + 3],
        *(bodies[:, k : k + size] for k, size in ((T, 9), (P, 3), (MS, 3), (J, 6))),
    ]
    for block in alike:
        block[np.abs(block) <= ROUNDING * np.abs(block).max(initial=0.0)] = 0.0
    return clean


def _casadi() -> ModuleType:
    try:
        import casadi
    except ImportError:
        raise MissingLibraryError(
            "generating a customised model needs CasADi, which is not installed: pip install casadi"
        ) from None
    return casadi


def _function(casadi: ModuleType, record: Floats, n: int, model: Model) -> list[str]:
    """The lines of a model's function."""
    *names, answer = ARGUMENTS[model]
    symbols = {name: [casadi.SX.sym(f"{name}{j}") for j in range(n)] for name in names}
    inputs = casadi.vertcat(*(symbol for name in names for symbol in symbols[name]))
    found = []
    for algorithm in ALGORITHMS[model]:
        answers, watched, pivots = _trace(casadi, record, algorithm, [_objects(symbols[name]) for name in names])
        expressions = casadi.cse(casadi.vertcat(*answers.values(), *pivots))
        found.append((casadi.Function("model", [inputs], [expressions]), answers, watched))
    function, answers, watched = min(found, key=lambda each: each[0].n_instructions())
    reached = casadi.which_depends(casadi.vertcat(*watched), inputs)
    places = [f"{name}[{j}]" for name in names for j in range(n)]
    lines = [f"def {model}({', '.join(ARGUMENTS[model])}):", f'    """{SUMMARIES[model].format(n=n)}"""']
    results = _statements(casadi, function, places, lines)

    values = dict(zip(answers, results, strict=False))
    for place, value in values.items():
        for where in dict.fromkeys([place, place[::-1]]):
            lines.append(f"    {answer}[{', '.join(map(str, where))}] = {value}")
    guards = [pivot for pivot in results[len(answers) :] if pivot.startswith("x")]
    if guards:
        lines += [f"    if not ({' and '.join(f'{pivot} > 0.0' for pivot in guards)}):", "        return SINGULAR"]
    # what is not finite shows in the answers, except an input on which none of them depends
    shown = [values[place] for place in answers if len(set(place)) == 1]
    shown += [place for place, seen in zip(places, reached, strict=True) if not seen]
    lines.append(f"    return OK if 0.0 * ({' + '.join(shown)}) == 0.0 else NOT_FINITE")
    return lines


def _trace(
    casadi: ModuleType, record: Floats, algorithm: Callable[..., Any], arguments: list[Any]
) -> tuple[dict[tuple[int, ...], Any], list[Any], list[Any]]:
    """The answers by their places, those in which a value that is not finite must show, and what must be positive."""
    symbolic = record.astype(object)
    replacements = {
        "sin": casadi.sin,
        "cos": casadi.cos,
        "sqrt": casadi.sqrt,
        "friction": lambda row, qd: row[FV] * qd + row[FS] * casadi.sign(qd),
        "moves": lambda d: _moves(casadi.SX(d)),
    }
    found = algorithm(symbolic, replacements, *arguments)
    result, inertias = found if isinstance(found, tuple) else (found, ())
    answers: dict[tuple[int, ...], Any] = {
        place: casadi.SX(result[place]) for place in np.ndindex(result.shape) if list(place) == sorted(place)
    }
    watched = [value for place, value in answers.items() if len(set(place)) == 1]
    return answers, watched, [casadi.SX(d) for d in inertias]


def _moves(d: Any) -> bool:
    """Whether a joint moves an inertia; where that depends on the motion, the generated code finds out."""
    if d.is_constant() and not float(d) > 0.0:
        raise SingularityError("a joint moves no inertia at all; give its link or rotor a mass or inertia")
    return True


def _objects(symbols: list[Any]) -> Any:
    array = np.empty(len(symbols), object)
    for j, symbol in enumerate(symbols):
        array[j] = symbol
    return array


def _statements(casadi: ModuleType, function: Any, places: list[str], lines: list[str]) -> list[str]:
    """Append one assignment per operation of a function; returns what its results are called."""
    forms = {
        casadi.OP_ADD: "{} + {}",
        casadi.OP_SUB: "{} - {}",
        casadi.OP_MUL: "{} * {}",
        casadi.OP_NEG: "-{}",
        casadi.OP_SQ: "{0} * {0}",
        casadi.OP_TWICE: "{0} + {0}",
        casadi.OP_SIN: "sin({})",
        casadi.OP_COS: "cos({})",
        casadi.OP_SQRT: "sqrt({})",
        casadi.OP_SIGN: "1.0 * ({0} > 0.0) - 1.0 * ({0} < 0.0)",
    }
    slots: dict[int, str] = {}
    results: dict[int, str] = {}
    reciprocals: dict[str, str] = {}  # CasADi has divided by D wherever the kernel multiplies by 1 / D
    for k in range(function.n_instructions()):
        kind, read, written = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if kind == casadi.OP_OUTPUT:
            results[written[1]] = slots[read[0]]
        elif kind == casadi.OP_CONST:
            slots[written[0]] = f"{function.instruction_constant(k)!r}"
        elif kind == casadi.OP_INPUT:
            lines.append(f"    x{k} = {places[read[1]]}")
            slots[written[0]] = f"x{k}"
        elif kind in (casadi.OP_DIV, casadi.OP_INV):
            *factor, divisor = (slots[r] for r in read[: 2 if kind == casadi.OP_DIV else 1])
            if not divisor.startswith("x"):
                reciprocals[divisor] = repr(1.0 / float(divisor))
            elif divisor not in reciprocals:
                reciprocals[divisor] = f"r{k}"
                lines.append(f"    r{k} = 1.0 / {divisor}")
            slots[written[0]] = reciprocals[divisor]
            if factor:
                lines.append(f"    x{k} = {factor[0]} * {reciprocals[divisor]}")
                slots[written[0]] = f"x{k}"
        else:
            lines.append(f"    x{k} = {forms[kind].format(*(slots[r] for r in read))}")
            slots[written[0]] = f"x{k}"
    return [results.get(k, "0.0") for k in range(function.size1_out(0))]
