"""Kernels over a leading batch axis, shared out among the cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

from .jit import compiled_call
from .mechanism import Floats

SMALLEST_SHARE = 256  # rows below which handing work to another thread costs more than it saves


@cache
def _threads() -> tuple[ThreadPoolExecutor, int]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(cores, thread_name_prefix="dyn_batch"), cores


def run_batch(kernel: Any, record: Floats, count: int, slices: Callable[[slice], tuple[Any, ...]]) -> int:
    """Run kernel(record, *slices(rows)) over `count` rows in as many shares as pay; the worst status is returned.

    Kernels release the GIL; every share works on a record of its own.
    """
    pool, cores = _threads()
    shares = max(1, min(cores, count // SMALLEST_SHARE))
    edges = [count * k // shares for k in range(shares + 1)]
    parts = [slice(lo, hi) for lo, hi in pairwise(edges)]
    if shares == 1:
        return int(compiled_call(kernel, record, *slices(parts[0])))
    compiled_call(kernel, record, *slices(slice(0, 0)))  # compiled once, before the threads start
    jobs = [pool.submit(compiled_call, kernel, record.copy(), *slices(part)) for part in parts]
    return max(int(job.result()) for job in jobs)
