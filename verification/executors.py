"""Executors on which many tasks are done, processes of this machine or of a cluster, and no task lost on them."""

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
    InvalidStateError,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_end
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mmaproof.designs.errors import InputError, TargetUnavailable

if TYPE_CHECKING:
    from distributed import Client

X = TypeVar("X")
Y = TypeVar("Y")

Pool = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor; the end of its ``with`` block ends what still runs on it, as far as it can be ended."""

CONNECT_SECONDS = 5
"""How long the scheduler of a cluster may take to answer, and its first worker to be there."""


DISTRIBUTION = "mmaproof"

ONE_AT_A_TIME = threading.Lock()
"""The terms of formulas are kept in one environment of the process, which is not made for several threads."""


class ClusterNotReachable(TargetUnavailable):
    """No scheduler answers at an address, or it has no workers."""


class TaskLost(TargetUnavailable):
    """A task was done twice, and nothing came back."""


class Runner(Protocol):
    """Does tasks, and yields what comes of them in the order of the tasks."""

    def __call__(self, function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
        """Do ``function`` of each of the tasks."""


@contextmanager
def local_pool(jobs: int) -> Iterator[Executor]:
    """Yield an executor of ``jobs`` processes; none outlives the block, nor the process that is in it."""
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
    # a Ctrl-C in a terminal reaches every process; the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    """End this process once the other end of a pipe is closed, by the parent or by its death."""
    wait_for_end([parent])
    os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[tuple[Pool, int]]:
    """Yield the executors of a dask cluster, given by the address of its scheduler, and the number of its workers.

    What runs there when the block ends is cancelled, but dask ends no thread: a question ends by its own time limit.
    Raises InputError where dask is not installed or the address cannot be read, ClusterNotReachable.
    """
    try:
        from distributed import Client  # noqa: PLC0415 - an optional package
        from distributed.comm.addressing import get_address_host_port  # noqa: PLC0415
    except ImportError as error:
        raise InputError(f"dask is not installed ({error}): pip install 'mmaproof[dask]'") from error
    try:
        get_address_host_port(address)
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (ValueError, TypeError) as error:  # TypeError: of a tls address without a certificate
        raise InputError(f"{address!r} is no address of a dask scheduler such as tcp://HOST:8786: {error}") from error
    except OSError as error:
        raise ClusterNotReachable(f"target not reachable: no dask scheduler answers at {address}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise ClusterNotReachable(f"target not reachable: the dask scheduler at {address} has no worker") from error

        with _failing(client) as watched:

            @contextmanager
            def pool() -> Iterator[Executor]:
                # pure: dask would take the failure of a task for the answer to the same task asked again
                executor = client.get_executor(pure=False)
                try:
                    yield _Watched(executor, watched)
                finally:
                    if client.status != "closed":
                        executor.shutdown(wait=False)

            yield pool, len(client.nthreads())


@dataclass(frozen=True)
class _Watched(Executor):
    """An executor whose futures are kept where somebody watches them."""

    executor: Executor
    futures: list[Future[Any]]

    def submit(self, function: Callable[..., Y], /, *arguments: Any, **options: Any) -> Future[Y]:
        """Hand out a task."""
        future = self.executor.submit(function, *arguments, **options)
        self.futures.append(future)
        return future


@contextmanager
def _failing(client: Client) -> Iterator[list[Future[Any]]]:
    """Yield a list of futures; dask leaves them open where its scheduler goes away, here they fail then."""
    futures: list[Future[Any]] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1):
            if client.status == "closed":
                for future in list(futures):
                    with suppress(InvalidStateError):
                        future.set_exception(ClusterNotReachable("the dask scheduler does not answer any more"))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield futures
    finally:
        over.set()
        watcher.join()


def finished(function: Callable[[X], Y], tasks: Sequence[X], pool: Pool, at_once: int) -> Iterator[tuple[int, Y | str]]:
    """Yield the number of each task and what ``function`` returns for it, or the text of why nothing came back.

    They come as they are finished. At most ``at_once`` are handed out at a time. A task that fails, as all on an
    executor do whose process dies, is done once more in an executor of its own, where no other can take it along.
    Closing the iterator ends what still runs.
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
                elif own is not None:
                    yield number, f"{type(problem).__name__}: {problem}".removesuffix(": ")
                else:
                    waiting.appendleft((number, True))
                    if isinstance(problem, BrokenExecutor) and executor is shared:
                        shared = stack.enter_context(pool())
                if own is not None:
                    own.close()


def here(function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
    """Do tasks in this process, each when it is wanted."""
    return map(function, tasks)


def in_order(pool: Pool, at_once: int) -> Runner:
    """Return what does tasks on executors; what comes back does not depend on the order in which they end.

    It raises TaskLost where nothing came back of a task that was done twice.
    """

    def run(function: Callable[[X], Y], tasks: Sequence[X], /) -> Iterator[Y]:
        done: dict[int, Y] = {}
        wanted = 0
        for number, result in finished(_Alone(function, version(DISTRIBUTION)), tasks, pool, at_once):
            if isinstance(result, str):
                raise TaskLost(f"asked twice, no answer came back: {result}")
            done[number] = result
            while wanted in done:
                yield done.pop(wanted)
                wanted += 1

    return run


@dataclass(frozen=True)
class _Alone(Generic[X, Y]):
    """A function of tasks, done one at a time in a process, and only where the version is that of who asks."""

    function: Callable[[X], Y]
    version: str

    def __call__(self, task: X) -> Y:
        """Do a task. Raises TaskLost for another version."""
        found = version(DISTRIBUTION)
        if found != self.version:
            raise TaskLost(f"the process that was asked has {DISTRIBUTION} {found}, the one that asks {self.version}")
        with ONE_AT_A_TIME:
            return self.function(task)


def _submit(executor: Executor, function: Callable[[X], Y], task: X) -> Future[Y]:
    """Return the future of a task, a failed one where the executor takes none."""
    try:
        return executor.submit(function, task)
    except Exception as problem:
        failed: Future[Y] = Future()
        failed.set_exception(problem)
        return failed


def _problem(future: Future[Y]) -> BaseException | None:
    """Return what made a finished task fail, None where it did not."""
    try:
        return future.exception()
    except CancelledError as cancelled:
        return cancelled
