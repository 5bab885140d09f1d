"""One kernel of one state, and all that is made of it: a native call, a batch row by row, a batch by SIMD."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from .kernel import SIMD, argument_names, entry, generated
from .native_call import NativeCall
from .status import OK, TOO_LARGE

ROWS = """
def rows_{name}({arguments}):
    for _b in range({last}.shape[0]):
        _status = function({rows})
        if _status != OK:
            return _status
    return OK
"""

LANES = """
def lanes_{name}({arguments}):
    _count = {last}.shape[0]
    _wide = spread(record)
    {space}
    _angles = {first}_[first_angle(_wide) :]
    _status = OK
    for _k in range(0, _count, LANES):
        _start = min(_k, _count - LANES)
        {fill}
        if beyond(_angles):
            return TOO_LARGE
        _status = max(_status, function({vectors}))
        {drain}
    return _status
"""
"""The last rows are computed together with some before them."""


class StateKernel(NativeCall):
    """function(record, *shared, *given, *answers) -> status of one state, given its positions first; a decorator.

    shared: how many arguments behind the record are the same for all states. answers: how many there are; several are
    read too. first_angle: a kernel that tells from the record where angles begin in the positions; where it is given,
    the conditions of the function hold for several states at a time, and it can run by SIMD.
    """

    def __init__(
        self, function: Callable[..., Any], shared: int = 0, answers: int = 1, first_angle: Any = None
    ) -> None:
        super().__init__(function)
        self._names = argument_names(function)
        self._shared, self._answers, self._first_angle = 1 + shared, answers, first_angle

    @cached_property
    def rows(self) -> Any:
        """Entry over rows of all but the record and what is shared; ends with the status of one that fails."""
        rows = [*self._names[: self._shared], *(f"{name}[_b]" for name in self._names[self._shared :])]
        return self._entry(ROWS, {"OK": OK}, rows=", ".join(rows))

    @cached_property
    def lanes(self) -> Any:
        """The same by SIMD for at least LANES rows, or none; None where there is no SIMD.

        Its answer is the worst status, or TOO_LARGE where an angle is.
        """
        if not SIMD or self._first_angle is None:
            return None
        from . import simd, simd_math  # only now: most programs never need it

        names = self._names[self._shared :]
        last = names[-self._answers :]
        read = names if self._answers > 1 else names[:-1]
        return self._entry(
            LANES,
            vars(simd)
            | {"beyond": simd_math.beyond, "first_angle": self._first_angle, "OK": OK, "TOO_LARGE": TOO_LARGE},
            first=names[0],
            space="; ".join(f"{name}_, {name}_x, {name}_rows = space({name})" for name in names),
            fill="; ".join(f"fill({name}_x, {name}_rows, _start)" for name in read),
            vectors=", ".join(["_wide", *self._names[1 : self._shared], *(f"{name}_" for name in names)]),
            drain="; ".join(f"drain({name}_x, {name}_rows, _start)" for name in last),
        )

    def _entry(self, text: str, names: dict[str, Any], **parts: str) -> Any:
        filled = text.format(
            name=self.function.__name__, arguments=", ".join(self._names), last=self._names[-1], **parts
        )
        return entry(generated(filled, self.function, {**names, "__name__": __name__, "function": self.inlined}))
