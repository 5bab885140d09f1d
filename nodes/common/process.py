"""Life of a node's process: start, serve, end cleanly on SIGINT or SIGTERM, and say errors in one line."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from dyn_core.errors import DynError

LAST_RESORT = 3
"""Seconds after which a process that was told to end and did not is ended by the kernel."""


class StopSignal:
    """Notices SIGINT and SIGTERM even while the main thread sits in a C call.

    The interpreter's C handler writes the signal's number into a pipe; a thread reads it, arms SIGALRM as the last
    resort, and wakes the executor.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._wake: Callable[[], None] = lambda: None
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # the pipe tells the watcher
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        threading.Thread(target=self._watch, name="stop_signal", daemon=True).start()

    def on_stop(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when the signal comes."""
        self._wake = wake

    @property
    def received(self) -> bool:
        return self._event.is_set()

    def _watch(self) -> None:
        os.read(self._read, 1)
        signal.alarm(LAST_RESORT)
        self._event.set()
        self._wake()


def run(name: str, make: Callable[[], Any], args: Sequence[str] | None = None) -> int:
    """Run a node until it is told to end; returns the process's exit status (0 clean, 1 failed, 2 wrong input).

    The node that ``make`` makes has ``failure``, why its loop ended by itself, and ``close``, which makes motors safe.
    It may have ``threads``, how many answer at once.
    """
    stop = StopSignal()
    served: Any = None
    executor: Executor | None = None
    try:
        rclpy.init(args=list(args) if args is not None else None, signal_handler_options=SignalHandlerOptions.NO)
        served = make()
        threads = getattr(served, "threads", 1)
        executor = SingleThreadedExecutor() if threads == 1 else MultiThreadedExecutor(threads)
        executor.add_node(served)
        # The executor's own wake-up does not end a spin_once; work does.
        stop.on_stop(served.create_guard_condition(lambda: None).trigger)
        while not stop.received:
            try:  # a callback that fails is reported, and the node keeps answering
                executor.spin_once(timeout_sec=0.5)
            except Exception as error:
                if not rclpy.ok():
                    raise
                served.get_logger().error(f"a callback failed: {_line(error)}")
            if served.failure is not None:
                return _say(name, f"the loop failed: {_line(served.failure)}", 1)
        return 0
    except (DynError, ParameterException) as error:
        return _say(name, _line(error), 2)
    except Exception as error:
        if stop.received:
            return 0
        if served is None and type(error).__module__.startswith("rclpy"):
            return _say(name, _line(error), 2)
        return _say(name, f"unexpected {type(error).__name__}: {_line(error)}", 1)
    finally:
        signal.alarm(LAST_RESORT)
        if served is not None:
            served.close()
            if executor is not None:
                executor.shutdown(timeout_sec=0.5)
            served.destroy_node()
        rclpy.try_shutdown()
        signal.alarm(0)
        for number in (signal.SIGINT, signal.SIGTERM):  # the interpreter's end would take a second one for a crash
            signal.signal(number, signal.SIG_IGN)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _say(name: str, sentence: str, status: int) -> int:
    print(f"{name}: {sentence}", file=sys.stderr, flush=True)
    return status
