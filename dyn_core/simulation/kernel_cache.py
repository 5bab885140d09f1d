"""Whether the kernels of the simulation are compiled already."""

from pathlib import Path

from dyn_core.dynamics.tree import integrators
from dyn_core.jit.cache import cache_folder


def kernels_compiled() -> bool:
    """Whether machine code of the integrators is kept; without it a first start compiles for a minute or two."""
    return cache_folder(Path(integrators.__file__)).exists()
