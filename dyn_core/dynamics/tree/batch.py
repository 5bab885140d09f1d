"""Kernels over a leading batch axis, shared out among the cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

from dyn_core.jit.kernel import compiled_call, is_compiled
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import OK, TOO_LARGE

from ..workspaces import Workspaces

MANY = 1024  # rows from which on SIMD is used: fewer are done in less than a millisecond anyhow
SMALLEST_SHARE = 256  # rows below which handing work to another thread costs more than it saves
SMALLEST_SHARE_IN_LANES = 1024


@cache
def _threads() -> tuple[ThreadPoolExecutor, int]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(cores, thread_name_prefix="dyn_batch"), cores


Arguments = Callable[[Any, slice], tuple[Any, ...]]
"""What a kernel is called with, from a workspace and the rows to compute."""


def run_batch(
    kernel: Any, workspaces: Workspaces, count: int, arguments: Arguments, failed: Callable[[Any], None] | None = None
) -> int:
    """Run kernel(*arguments(workspace, rows)) over `count` rows in as many shares as pay; returns the worst status.

    kernel: a StateKernel, or an entry over rows. Many rows run by SIMD where the kernel can and the angles allow it.
    Kernels release the GIL; every share works on a workspace of its own. failed: is shown the workspace of a share that
    ends with another status than OK.
    """
    if isinstance(kernel, StateKernel):
        if count >= MANY and kernel.lanes is not None:
            status = _shared_out(kernel.lanes, workspaces, count, arguments, failed, SMALLEST_SHARE_IN_LANES)
            if status != TOO_LARGE:
                return status
        kernel = kernel.rows
    return _shared_out(kernel, workspaces, count, arguments, failed, SMALLEST_SHARE)


def _shared_out(
    kernel: Any, workspaces: Workspaces, count: int, arguments: Arguments, failed: Any, smallest: int
) -> int:
    def run(part: slice) -> int:
        with workspaces.one() as workspace:
            status = int(compiled_call(kernel, *arguments(workspace, part)))
            if status != OK and failed is not None:
                failed(workspace)
            return status

    pool, cores = _threads()
    shares = max(1, min(cores, count // smallest))
    if shares == 1:
        return run(slice(0, count))
    if not is_compiled(kernel):  # once, before the threads start
        run(slice(0, 0))
    edges = [count * k // shares for k in range(shares + 1)]
    first, *others = (slice(lo, hi) for lo, hi in pairwise(edges))
    jobs = [pool.submit(run, part) for part in others]
    own = run(first)
    return max(own, *(job.result() for job in jobs))
