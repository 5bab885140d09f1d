"""A robot that runs on its customised models."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..batch import run_batch
from ..errors import CustomisationError
from ..fastcall import FastCall
from ..files import write_whole
from ..integration import Integrator
from ..jit import cache_folder, digest
from ..mechanism import Floats, Mechanism
from ..robot import Method, Robot
from ..tree.record import OK, pack
from .source import ARGUMENTS, MODELS, CustomisedSource, Model, customised_source, require_customisable

HERE = Path(__file__)
TOLERANCE = 1e-10

ENTRIES = """
from dyn_core.fastcall import (
    FastCall, answered, bound_to, is_vector, matrix, new_answer, no_answer, vector, words
)
from dyn_core.jit import COMPILED, entry, kernel

if COMPILED:
    from dyn_core.lanes import LANES, any_cosine, any_sine, beyond, drain, empty, fill, in_lanes
    from dyn_core.tree.lanes import IN_LANES
    from dyn_core.tree.record import BEYOND

    sin, cos = any_sine, any_cosine  # in the function above too
{model} = kernel({model})


@FastCall
def fast(self, arguments, count):
    context, a = bound_to(self), words(arguments)
    if count != {count} or not ({vectors}):
        return no_answer(context)
    answer = new_answer(self)
    if answer == 0:
        return answer
    return answered(context, answer, {model}({views}))


@entry
def batch(record, {arguments}):
    status = OK
    for b in range(q.shape[0]):
        status = max(status, {model}({rows}))
    return status


if COMPILED:

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
                return BEYOND
            status = max(status, {model}({given}, {answer}))
            drain(answer, rows, first)
        return status

    IN_LANES[batch] = lanes
"""
"""What the module of a model has beside its source: calls like those of the general kernels. No record is read."""

MOTION = """
from dyn_core.integration import UNKNOWN, Integrator, drive_forces, fill_rows, step_once, take_steps
from dyn_core.tree.record import friction

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


@FastCall
def step(self, arguments, count):
    return step_once(acceleration, {n}, self, arguments, count)


integrator = Integrator(steps, rows, step)
"""
"""What the module of a direct model has besides, for simulation, of a model that is then without friction: that is read
from a record, where it is continuous. `direct` reads all of its arguments before it writes."""

CALLS: dict[str, str] = {"inverse": "_inverse_call", "direct": "_direct_call", "mass_matrix": "_mass_call"}
"""Which fast call of a robot each model is."""


def customised_module(mechanism: Mechanism, model: Model) -> ModuleType:
    """The module of a model, with its entries `single` and `batch`; generated where it is not in the cache folder."""
    require_customisable(mechanism, model)
    made_from = hashlib.sha256(f"{digest(HERE)} {mechanism.name} {model} ".encode() + pack(mechanism).tobytes())
    name = f"dyn_customised_{model}_{made_from.hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_folder(HERE) / f"{name}.py"
    if not path.is_file():
        source = checked_source(mechanism, model)
        text = source.text + _entries(mechanism.n, model)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CustomisationError(f"a customised model cannot be kept in {path.parent}: {error}") from error
        write_whole(path, text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba looks the module up by its name when it loads machine code from its cache
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def checked_source(mechanism: Mechanism, model: Model) -> CustomisedSource:
    """The source of a model that was seen to answer as the general kernels do.

    It is made from the base parameters, or from the described ones where grouping them costs digits that matter.
    """
    for grouped in (True, False):
        source = customised_source(mechanism, model, grouped)
        worst = difference(mechanism, source)
        if worst < TOLERANCE:
            return source
    raise CustomisationError(
        f"{mechanism.name}: its customised {model} model would differ from the general one by {worst:.1e} (relative)"
    )


def difference(mechanism: Mechanism, source: CustomisedSource) -> float:
    """The largest relative difference between a source and the general kernels over a few states."""
    names: dict[str, Any] = {}
    exec(compile(source.text, f"<{mechanism.name}>", "exec"), names)
    robot = Robot(mechanism)
    general: Any = {
        "inverse": robot.inverse_dynamics,
        "direct": robot.forward_dynamics,
        "mass_matrix": robot.mass_matrix,
    }[source.model]
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(3):
        arguments = list(rng.uniform(-1.0, 1.0, (len(ARGUMENTS[source.model]) - 1, robot.n)))
        expected = general(*arguments)
        found = np.empty_like(expected)
        if names[source.model](*arguments, found) != OK:
            return np.inf
        worst = max(worst, float(np.abs(found - expected).max() / np.abs(expected).max()))
    return worst


def _entries(n: int, model: Model) -> str:
    *given, last = ARGUMENTS[model]
    square = model == "mass_matrix"
    views = [f"vector(a[{k}], {n})" for k in range(len(given))]
    views.append(f"matrix(answer, {n}, {n})" if square else f"vector(answer, {n})")
    text = ENTRIES + MOTION if model == "direct" else ENTRIES
    return text.format(
        n=n,
        model=model,
        count=len(given),
        vectors=" and ".join(f"is_vector(context, a[{k}], {n})" for k in range(len(given))),
        views=", ".join(views),
        arguments=", ".join(ARGUMENTS[model]),
        rows=", ".join(f"{argument}[b]" for argument in ARGUMENTS[model]),
        last=last,
        answers=n * n if square else n,
        blocks="; ".join(f"{argument}_ = in_lanes(empty({n}))" for argument in given),
        fills="; ".join(f"fill({argument}_, {argument}, first)" for argument in given),
        given=", ".join(f"{argument}_" for argument in given),
        answer=f"answer.reshape({n}, {n})" if square else "answer",
    )


class CustomisedRobot(Robot):
    """A robot whose models named here run on code of its own; all else, and wrenches, on the general kernels."""

    def __init__(self, mechanism: Mechanism, *models: Model) -> None:
        super().__init__(mechanism)
        modules = {model: customised_module(mechanism, model) for model in models or MODELS}
        self._batch = {model: module.batch for model, module in modules.items()}
        self._own_calls = {CALLS[model]: module.fast for model, module in modules.items()}

    def _fast_call(self, name: str) -> FastCall:
        return self._own_calls.get(name) or super()._fast_call(name)

    def integrator(self, Ia: Floats) -> Integrator:
        if "direct" not in self._batch:
            return super().integrator(Ia)
        none = np.zeros(self.n)
        smooth = replace(self.mechanism, Ia=Ia, Fv=none, Fs=none)
        integrator: Integrator = customised_module(smooth, "direct").integrator
        return integrator

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        if wrenches is not None or "inverse" not in self._batch:
            return super().inverse_dynamics(q, qd, qdd, wrenches)
        tau = self._inverse_call(q, qd, qdd)
        if tau is not None:
            return tau
        return self._customised("inverse", {"q": q, "qd": qd, "qdd": qdd}, (self.n,))

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "recursive") -> Floats:
        if wrenches is not None or "direct" not in self._batch or method != "recursive":
            return super().forward_dynamics(q, qd, tau, wrenches, method)
        qdd = self._direct_call(q, qd, tau)
        if qdd is not None:
            return qdd
        return self._customised("direct", {"q": q, "qd": qd, "tau": tau}, (self.n,))

    def mass_matrix(self, q: Any) -> Floats:
        if "mass_matrix" not in self._batch:
            return super().mass_matrix(q)
        H = self._mass_call(q)
        if H is not None:
            return H
        return self._customised("mass_matrix", {"q": q}, (self.n, self.n))

    def _customised(self, model: Model, values: dict[str, Any], shape: tuple[int, ...]) -> Floats:
        """The common path of everything that is not a single plain call."""
        lead, arrays = self._arrays(values)
        answer = self._called(CALLS[model], shape, *arrays) if lead == () else None
        if answer is not None:
            return answer
        out = np.empty((*lead, *shape))
        flat = [array.reshape(-1, self.n) for array in arrays]
        flat_out = out.reshape(-1, *shape)
        status = run_batch(
            self._batch[model],
            self._record,
            len(flat_out),
            lambda part: (*(array[part] for array in flat), flat_out[part]),
        )
        self._check(status)
        return out
