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

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.integrators import Integrator
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.dynamics.tree.record import pack
from dyn_core.errors import CustomisationError
from dyn_core.files import write_whole
from dyn_core.jit.cache import cache_folder, digest
from dyn_core.jit.kernel import SIMD
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import OK
from dyn_core.mechanism import Mechanism

from ..robot import Robot
from ..tree_robot import TreeRobot, require_tree
from .code_generator import ARGUMENTS, MODELS, CustomisedSource, Model, customised_source, require_customisable
from .module_template import module_entries

HERE = Path(__file__)
TOLERANCE = 1e-10
MODEL_OF: dict[str, Model] = {
    "inverse_dynamics": "inverse",
    "forward_dynamics": "direct",
    "mass_matrix": "mass_matrix",
}
"""Which model stands for a general kernel."""


def customised_module(mechanism: Mechanism, model: Model) -> ModuleType:
    """The module of a model, with its kernel `call`; generated where it is not in the cache folder."""
    require_customisable(mechanism, model)
    # SIMD: machine code that was made with vectors would bring them along where they are turned off
    said = f"{digest(HERE)} {SIMD} {mechanism.name} {model} "
    made_from = hashlib.sha256(said.encode() + pack(mechanism).tobytes())
    name = f"dyn_customised_{model}_{made_from.hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache_folder(HERE) / f"{name}.py"
    if not path.is_file():
        source = checked_source(mechanism, model)
        text = source.text + module_entries(mechanism.n, model)
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
    robot = TreeRobot(mechanism)
    general: Any = next(getattr(robot, name) for name, model in MODEL_OF.items() if model == source.model)
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


class CustomisedModel(TreeModel):
    """A tree that moves in a simulation by its customised direct model."""

    def integrator(self, Ia: Floats) -> Integrator:
        none = np.zeros(self.mechanism.n)
        smooth = replace(self.mechanism, Ia=Ia, Fv=none, Fs=none)
        integrator: Integrator = customised_module(smooth, "direct").integrator
        return integrator


class CustomisedRobot(TreeRobot):
    """A robot whose models named here run on code of its own; all else, and wrenches, on the general kernels."""

    def __init__(self, mechanism: Mechanism, *models: Model) -> None:
        super().__init__(mechanism)
        self._modules = {model: customised_module(mechanism, model) for model in models or MODELS}
        if "direct" in self._modules:
            self.model = CustomisedModel(self.mechanism)

    def __getstate__(self) -> dict[str, Any]:
        """Modules stay where they are: a copy finds them by their names."""
        return super().__getstate__() | {"_modules": tuple(self._modules)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._modules = {model: customised_module(self.mechanism, model) for model in state["_modules"]}

    def kernel(self, name: str) -> StateKernel:
        model = MODEL_OF.get(name)
        return self._modules[model].call if model in self._modules else super().kernel(name)


def customise(robot: Robot, *models: Model) -> CustomisedRobot:
    """A robot with straight-line code of its own for some models, faster and with the same answers.

    models: "inverse", "direct", "mass_matrix"; all if none is named. Generating them needs CasADi and takes seconds;
    they are kept on disk for the next time. InputError for robots that are not trees on a fixed base.
    """
    return CustomisedRobot(require_tree(robot, "customised models").mechanism, *models)
