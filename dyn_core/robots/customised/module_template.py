"""The module of a customised model: what it has beside the model's own source."""

from __future__ import annotations

from .code_generator import ARGUMENTS, Model

ENTRIES = """
from dyn_core.jit.kernel import SIMD, entry, kernel
from dyn_core.jit.native_call import NativeCall

if SIMD:
    from dyn_core.jit.simd import LANES, drain, empty, fill, in_lanes
    from dyn_core.jit.simd_math import any_cosine, any_sine, beyond
    from dyn_core.dynamics.tree.batch_simd import IN_LANES
    from dyn_core.jit.status import TOO_LARGE

    sin, cos = any_sine, any_cosine  # in the function above too
{model} = kernel({model})


@NativeCall
def call(record, {arguments}):
    return {model}({arguments})


@entry
def batch(record, {arguments}):
    status = OK
    for b in range(q.shape[0]):
        status = max(status, {model}({rows}))
    return status


if SIMD:

    @entry
    def lanes(record, {arguments}):
        count = q.shape[0]
        rows = {last}.reshape(count, {answers})
        {blocks}
        answer = in_lanes(empty({answers}))
        status = OK
        for k in range(0, count, LANES):
            first = min(k, count - LANES)
            {fills}
            if beyond(q_):
                return TOO_LARGE
            status = max(status, {model}({given}, {answer}))
            drain(answer, rows, first)
        return status

    IN_LANES[batch] = lanes
"""
"""What the module of a model has beside its source: calls like those of the general kernels. No record is read."""

MOTION = """
from dyn_core.dynamics.tree.integrators import UNKNOWN, Integrator, drive_forces, fill_rows, step_once, take_steps
from dyn_core.dynamics.tree.record import friction

SIZES = {n}, {n}, {n}


@kernel
def acceleration(record, motors, q, v, drive, wrenches, tau, vd):
    drive_forces(motors, v, drive, tau)
    for j in range({n}):
        vd[j] = tau[j] - friction(record[j + 1], v[j])
    return direct(q, v, vd, vd)


@entry
def steps(record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work):
    return take_steps(
        acceleration, SIZES, UNKNOWN, record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work
    )[0]


@entry
def rows(record, motors, q, v, vd, tau, drives, hold, wrenches, h, table, work, first, rows_q, rows):
    return fill_rows(
        acceleration, SIZES, record, motors, q, v, vd, tau, drives, hold, wrenches, h, table, work, first, rows_q, rows
    )


@NativeCall
def step(record, motors, q, v, vd, tau, held, work, table, h, drive):
    return step_once(acceleration, {n}, record, motors, q, v, vd, tau, held, work, table, h, drive)


@NativeCall
def evaluate(record, motors, q, v, vd, tau, drive):
    return acceleration(record, motors, q, v, drive, record[:0], tau, vd)


integrator = Integrator(steps, rows, step, evaluate)
"""
"""What the module of a direct model has besides, for simulation, of a model that is then without friction: that is read
from a record, where it is continuous. `direct` reads all of its arguments before it writes."""


def module_entries(n: int, model: Model) -> str:
    """The text of what the module of a model of n joints has beside its source."""
    *given, last = ARGUMENTS[model]
    square = model == "mass_matrix"
    text = ENTRIES + MOTION if model == "direct" else ENTRIES
    return text.format(
        n=n,
        model=model,
        arguments=", ".join(ARGUMENTS[model]),
        rows=", ".join(f"{argument}[b]" for argument in ARGUMENTS[model]),
        last=last,
        answers=n * n if square else n,
        blocks="; ".join(f"{argument}_ = in_lanes(empty({n}))" for argument in given),
        fills="; ".join(f"fill({argument}_, {argument}, first)" for argument in given),
        given=", ".join(f"{argument}_" for argument in given),
        answer=f"answer.reshape({n}, {n})" if square else "answer",
    )
