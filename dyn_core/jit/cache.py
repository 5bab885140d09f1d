"""Where machine code is kept: a folder per content of the source that it was made from.

numba renews a cached kernel when its own file changes, not when a kernel that it calls does. A folder per digest of a
file and of all that it imports makes stale machine code impossible, lets an edit of one kernel cost only those that
depend on it, and lets every checkout of the same sources share what was compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(rb"^ *from (\.*)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(rb"\w+")


@cache
def digest(source: Path) -> str:
    """A digest of a source file and of all of dyn_core that it imports, one from another."""
    found: dict[Path, bytes] = {}
    # besides what it imports: how kernels are compiled, and a number type for which
    ahead = [source, ROOT / "jit" / "kernel.py", ROOT / "jit" / "simd_math.py"]
    while ahead:
        path = ahead.pop()
        if path in found or not path.is_file():
            continue
        found[path] = path.read_bytes()
        for dots, name, names in _IMPORT.findall(found[path]):
            target = path.parents[len(dots) - 1] if dots else ROOT.parent
            target = target.joinpath(*name.decode().split(".")) if name else target
            if target.is_relative_to(ROOT):
                ahead += [target.with_suffix(".py"), target / "__init__.py"]
                ahead += [target / f"{each.decode()}.py" for each in _NAME.findall(names)]
    texts = hashlib.sha256()
    for path in sorted(found):
        texts.update(found[path])
    return texts.hexdigest()[:16]


def cache_folder(source: Path) -> Path:
    """Where machine code of a source's kernels is kept, and source that it generates."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else user / "dyn_robot") / f"{source.stem}-{digest(source)}"


def register() -> None:
    """Let numba keep the kernels of this package in their folders, and every other function where it would be kept."""
    from numba.core import caching

    class Locator(caching._CacheLocator):
        """The folder of a kernel of this package."""

        def __init__(self, function: Any, source: Path) -> None:
            self._line, self._folder = function.__code__.co_firstlineno, cache_folder(source)

        def get_cache_path(self) -> str:
            return str(self._folder)

        def get_source_stamp(self) -> str:
            return self._folder.name

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, function: Any, file: str) -> Locator | None:
            source = Path(file)
            if not source.is_relative_to(ROOT) and not source.name.startswith("dyn_customised_"):
                return None
            locator = cls(function, source)
            try:
                locator.ensure_cache_path()
            except OSError:
                return None
            return locator

    kinds = getattr(caching, "CacheImpl", None) or caching._CacheImpl
    kinds._locator_classes.insert(0, Locator)
