"""Kernels over a leading batch axis, shared out among the cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

from .jit import COMPILED, compiled_call, is_compiled
from .mechanism import Floats
from .tree.record import BEYOND

MANY = 1024  # rows from which on kernels run in lanes: fewer are done in less than a millisecond anyhow
SMALLEST_SHARE = 256  # rows below which handing work to another thread costs more than it saves
SMALLEST_SHARE_IN_LANES = 1024


@cache
def _threads() -> tuple[ThreadPoolExecutor, int]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(cores, thread_name_prefix="dyn_batch"), cores


def run_batch(kernel: Any, record: Floats, count: int, slices: Callable[[slice], tuple[Any, ...]]) -> int:
    """Run kernel(record, *slices(rows)) over `count` rows in as many shares as pay; the worst status is returned.

    Many rows run in lanes (several at a time in vector registers) where the kernel can and the angles allow it.
    Kernels release the GIL; every share works on a record of its own.
    """
    if COMPILED and count >= MANY:
        from .tree.lanes import IN_LANES  # only now: most programs never ask for so many

        if kernel in IN_LANES:
            status = _shared_out(IN_LANES[kernel], record, count, slices, SMALLEST_SHARE_IN_LANES)
            if status != BEYOND:
                return status
    return _shared_out(kernel, record, count, slices, SMALLEST_SHARE)


def _shared_out(
    kernel: Any, record: Floats, count: int, slices: Callable[[slice], tuple[Any, ...]], smallest: int
) -> int:
    pool, cores = _threads()
    shares = max(1, min(cores, count // smallest))
    if shares == 1:
        return int(compiled_call(kernel, record, *slices(slice(0, count))))
    if not is_compiled(kernel):  # once, before the threads start
        compiled_call(kernel, record, *slices(slice(0, 0)))
    edges = [count * k // shares for k in range(shares + 1)]
    first, *others = (slice(lo, hi) for lo, hi in pairwise(edges))
    jobs = [pool.submit(compiled_call, kernel, record.copy(), *slices(part)) for part in others]
    own = compiled_call(kernel, record.copy(), *slices(first))
    return max(int(status) for status in (own, *(job.result() for job in jobs)))
