"""Executors for many tasks: processes of this machine or of a cluster. No task is lost on them."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_end
from typing import Generic, Protocol, TypeVar

from mmaproof.designs.errors import TargetUnavailable

X = TypeVar("X")
Y = TypeVar("Y")

Pool = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor. At the end of its ``with`` block, what still runs on it is ended as far as possible."""

DISTRIBUTION = "mmaproof"


@cache
def running_version() -> str:
    """Return the version of mmaproof that this process runs."""
    return version(DISTRIBUTION)


ONE_AT_A_TIME = threading.Lock()
"""Held while a question is decided: the threads of a worker share its cores, and limits are of time."""


class ClusterNotReachable(TargetUnavailable):
    """No scheduler answers at an address, or it has no workers, or one of these is not fit for the questions."""


class TaskLost(TargetUnavailable):
    """A task was run twice, and neither run returned a result."""


class Runner(Protocol):
    """Runs tasks and yields their results in the order of the tasks."""

    def __call__(self, function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
        """Apply ``function`` to each task."""


@contextmanager
def local_pool(jobs: int) -> Iterator[Executor]:
    """Yield an executor of ``jobs`` processes. None of them outlives the block or the process that runs it."""
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(reader,))
    try:
        yield executor
    finally:
        writer.close()
        executor.shutdown(cancel_futures=True)
        reader.close()


def _begin(parent: Connection) -> None:
    # Ctrl-C in a terminal reaches every process, but the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    """End this process when the other end of a pipe is closed. The parent closes it, or dies."""
    wait_for_end([parent])
    os._exit(1)


def finished(function: Callable[[X], Y], tasks: Sequence[X], pool: Pool, at_once: int) -> Iterator[tuple[int, Y | str]]:
    """Yield the number of each task and the result of ``function``, or the text of why there is no result.

    Results come in the order in which tasks end. At most ``at_once`` tasks are submitted at a time. A task that fails
    is run once more in an executor of its own, because the death of a process fails all tasks of its executor. Closing
    the iterator ends what still runs. Raises ClusterNotReachable where a cluster is gone for good.
    """
    waiting = deque((number, False) for number in range(len(tasks)))
    running: dict[Future[Y], tuple[int, Executor, ExitStack | None]] = {}
    with ExitStack() as stack:
        shared = stack.enter_context(pool())
        while waiting or running:
            while waiting and len(running) < at_once:
                number, again = waiting.popleft()
                own = stack.enter_context(ExitStack()) if again else None
                executor = shared if own is None else own.enter_context(pool())
                running[_submit(executor, function, tasks[number])] = number, executor, own
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number, executor, own = running.pop(future)
                problem = _problem(future)
                if problem is None:
                    yield number, future.result()
                elif isinstance(problem, ClusterNotReachable):
                    raise problem
                elif own is not None:
                    yield number, f"{type(problem).__name__}: {problem}".removesuffix(": ")
                else:
                    waiting.appendleft((number, True))
                    if isinstance(problem, BrokenExecutor) and executor is shared:
                        shared = stack.enter_context(pool())
                if own is not None:
                    own.close()


def here(function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
    """Run the tasks in this process, each when its result is wanted."""
    return map(function, tasks)


def in_order(pool: Pool, at_once: int) -> Runner:
    """Return a runner on executors. Its results do not depend on the order in which tasks end.

    It raises TaskLost if a task was run twice without a result.
    """

    def run(function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
        done: dict[int, Y] = {}
        wanted = 0
        for number, result in finished(_Alone(function, running_version()), tasks, pool, at_once):
            if isinstance(result, str):
                raise TaskLost(f"asked twice, no answer came back: {result}")
            done[number] = result
            while wanted in done:
                yield done.pop(wanted)
                wanted += 1

    return run


@dataclass(frozen=True)
class _Alone(Generic[X, Y]):
    """A function that runs one task at a time in a process, and only if the version of mmaproof is the caller's."""

    function: Callable[[X], Y]
    version: str

    def __call__(self, task: X) -> Y:
        """Run a task. Raises TaskLost if the version differs."""
        found = running_version()
        if found != self.version:
            raise TaskLost(f"the process that was asked has {DISTRIBUTION} {found}, the one that asks {self.version}")
        with ONE_AT_A_TIME:
            return self.function(task)


def _submit(executor: Executor, function: Callable[[X], Y], task: X) -> Future[Y]:
    """Return the future of a task. It is a failed one if the executor does not take the task."""
    try:
        return executor.submit(function, task)
    except Exception as problem:
        failed: Future[Y] = Future()
        failed.set_exception(problem)
        return failed


def _problem(future: Future[Y]) -> BaseException | None:
    """Return the exception of a finished task; None if it did not fail."""
    try:
        return future.exception()
    except CancelledError as cancelled:
        return cancelled
