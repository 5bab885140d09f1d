"""A robot that runs on its customised models."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..batch import run_batch
from ..errors import CustomisationError
from ..files import write_whole
from ..jit import cache_folder, compiled_call, digest
from ..mechanism import Floats, Mechanism
from ..robot import Method, Robot
from ..tree.record import OK, WRONG_SHAPE, pack
from .source import ARGUMENTS, MODELS, CustomisedSource, Model, customised_source, require_customisable

HERE = Path(__file__)
TOLERANCE = 1e-10

ENTRIES = """
from dyn_core.jit import entry, kernel

{model} = kernel({model})


@entry
def single({arguments}):
    if {shapes}:
        return {WRONG_SHAPE}
    return {model}({arguments})


@entry
def batch(record, {arguments}):
    status = OK
    for b in range(q.shape[0]):
        status = max(status, {model}({rows}))
    return status
"""
"""What the module of a model has beside its source: entries like those of the general kernels. No record is read."""


def customised_module(mechanism: Mechanism, model: Model) -> ModuleType:
    """The module of a model, with its entries `single` and `batch`; generated where it is not in the cache folder."""
    require_customisable(mechanism, model)
    made_from = hashlib.sha256(f"{digest(HERE)} {mechanism.name} {model} ".encode() + pack(mechanism).tobytes())
    name = f"dyn_customised_{model}_{made_from.hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_folder(HERE) / f"{name}.py"
    if not path.is_file():
        text = checked_source(mechanism, model).text + _entries(mechanism.n, model)
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
    arguments = ARGUMENTS[model]
    return ENTRIES.format(
        model=model,
        arguments=", ".join(arguments),
        shapes=" or ".join(f"{argument}.shape[0] != {n}" for argument in arguments[:-1]),
        rows=", ".join(f"{argument}[b]" for argument in arguments),
        WRONG_SHAPE=WRONG_SHAPE,
    )


class CustomisedRobot(Robot):
    """A robot whose models named here run on code of its own; all else, and wrenches, on the general kernels."""

    def __init__(self, mechanism: Mechanism, *models: Model) -> None:
        super().__init__(mechanism)
        self._single: dict[str, Any] = {}
        self._batch: dict[str, Any] = {}
        for model in models or MODELS:
            module = customised_module(mechanism, model)
            self._single[model], self._batch[model] = module.single, module.batch
        self._inverse = self._single.get("inverse")
        self._direct = self._single.get("direct")
        self._mass_matrix = self._single.get("mass_matrix")

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        if wrenches is not None or self._inverse is None:
            return super().inverse_dynamics(q, qd, qdd, wrenches)
        tau = np.empty(self.n)
        try:
            if self._inverse(q, qd, qdd, tau) == OK:
                return tau
        except TypeError:
            pass  # not plain float64 vectors: converted and checked below
        return self._customised("inverse", {"q": q, "qd": qd, "qdd": qdd}, (self.n,))

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "recursive") -> Floats:
        if wrenches is not None or self._direct is None or method != "recursive":
            return super().forward_dynamics(q, qd, tau, wrenches, method)
        qdd = np.empty(self.n)
        try:
            if self._direct(q, qd, tau, qdd) == OK:
                return qdd
        except TypeError:
            pass
        return self._customised("direct", {"q": q, "qd": qd, "tau": tau}, (self.n,))

    def mass_matrix(self, q: Any) -> Floats:
        if self._mass_matrix is None:
            return super().mass_matrix(q)
        H = np.empty((self.n, self.n))
        try:
            if self._mass_matrix(q, H) == OK:
                return H
        except TypeError:
            pass
        return self._customised("mass_matrix", {"q": q}, (self.n, self.n))

    def _customised(self, model: Model, values: dict[str, Any], shape: tuple[int, ...]) -> Floats:
        """The common path of everything that is not a single plain call."""
        lead, arrays = self._arrays(values)
        out = np.empty((*lead, *shape))
        if lead == ():
            status = compiled_call(self._single[model], *arrays, out)
        else:
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
