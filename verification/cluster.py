"""A Dask cluster as an executor. A worker that dies, and a scheduler that comes back, lose no task.

Dask runs a task again where its worker died. When its scheduler goes away, its client gives up all tasks; here they are
submitted to the scheduler that answers at the same address next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mmaproof.designs.errors import InputError
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import SolverNotInstalledError
from mmaproof.verification.executors import DISTRIBUTION, ClusterNotReachable, Pool, running_version

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Submitted

CONNECT_SECONDS = 5
"""Seconds that the scheduler of a cluster may take to answer, and its first worker to appear."""
RETURN_SECONDS = 60
"""Seconds that a scheduler which went away has to come back, with a worker."""
LOOK_SECONDS = 0.5
"""Seconds between two looks at whether the scheduler is there."""
_VERSION = (
    "(lambda found: found[0].version if found else None)"
    f"(list(__import__('importlib.metadata').metadata.distributions(name={DISTRIBUTION!r})))"
)
"""What returns the version of this package in a process that may not have it."""


@contextmanager
def cluster(address: str, solving: Solving | None = None) -> Iterator[tuple[Pool, int]]:
    """Yield a pool of the Dask cluster whose scheduler has this address, and the number of its workers.

    Its workers must have this version of the package, and what ``solving`` needs. At the end of the block, tasks are
    cancelled. Dask cannot end a thread, so a question that runs ends by its own time limit. Raises InputError if Dask
    is not installed or the address cannot be read, and ClusterNotReachable.
    """
    try:
        from distributed import Client  # noqa: PLC0415 - an optional package
        from distributed.comm.addressing import get_address_host_port  # noqa: PLC0415
    except ImportError as error:
        raise InputError(f"dask is not installed ({error}): pip install 'mmaproof[dask]'") from error
    try:
        get_address_host_port(address)
        connection = _Connection(Client, address, solving)
    except (ValueError, TypeError) as error:  # TypeError: of a tls address without a certificate
        raise InputError(
            f"{address!r} is not an address of a dask scheduler such as tcp://HOST:8786: {error}"
        ) from error
    try:

        @contextmanager
        def pool() -> Iterator[Executor]:
            executor = _OnCluster(connection)
            try:
                yield executor
            finally:
                executor.cancel()

        yield pool, len(connection.client.nthreads())
    finally:
        connection.close()


@dataclass
class _Task:
    """A task that was submitted and has no result yet."""

    call: Callable[[], Any]
    result: Future[Any]
    submitted: Submitted[Any] | None = None
    client: Client | None = None
    """to which it was submitted"""


class _Connection:
    """The client of a cluster, another one after its scheduler was gone, and the tasks that are open."""

    def __init__(self, made: type[Client], address: str, solving: Solving | None) -> None:
        self.made, self.address, self.solving = made, address, solving
        self.tasks: dict[int, _Task] = {}
        self.lock, self.over = threading.RLock(), threading.Event()
        self.client = self._connected(CONNECT_SECONDS)
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def _connected(self, seconds: float) -> Client:
        """Return a new client of a scheduler with workers that are fit for use. Raises ClusterNotReachable."""
        try:
            client = self.made(self.address, timeout=seconds, set_as_default=False)
        except OSError as error:
            raise ClusterNotReachable(
                f"target not reachable: no dask scheduler answers at {self.address}: {error}"
            ) from error
        try:
            client.wait_for_workers(1, timeout=seconds)
            self._check(client)
        except TimeoutError as error:
            client.close()
            raise ClusterNotReachable(
                f"target not reachable: the dask scheduler at {self.address} has no worker"
            ) from error
        except ClusterNotReachable:
            client.close()
            raise
        return client

    def _check(self, client: Client) -> None:
        """Raise ClusterNotReachable where a worker has another version or lacks a solver."""
        ours = running_version()
        for worker, version in client.run(eval, _VERSION).items():
            if version != ours:
                has = f"{DISTRIBUTION} {version}" if version else f"no {DISTRIBUTION}"
                raise ClusterNotReachable(
                    f"the worker {worker} has {has}, and {ours} asks: install {DISTRIBUTION}=={ours} on all workers"
                )
        if self.solving is None:
            return
        needed = replace(self.solving, store=None)
        for worker, found in client.run(_problem_of, needed).items():
            if found is not None:
                raise ClusterNotReachable(f"the worker {worker} cannot decide anything: {found}")

    def submit(self, task: _Task) -> None:
        """Hand a task to the cluster. Raises ClusterNotReachable where it is gone for good."""
        with self.lock:
            if self.over.is_set():
                raise ClusterNotReachable(f"the dask scheduler at {self.address} does not answer any more")
            self.tasks[id(task)] = task
            self._hand_over(task)

    def forget(self, task: _Task) -> None:
        """Cancel a task."""
        with self.lock:
            self.tasks.pop(id(task), None)
            task.result.cancel()
            if task.submitted is not None and self.client.status != "closed":
                with suppress(Exception):
                    self.client.cancel(task.submitted)

    def _hand_over(self, task: _Task) -> None:
        """Submit a task to the client that there is; the watcher does it again where that one is closing."""
        task.submitted, task.client = None, self.client
        try:
            # with pure=True, dask would return the failure of a task if the same task is submitted again
            task.submitted = self.client.submit(task.call, pure=False)
        except Exception as problem:
            if self.client.status == "running":  # it is the task that cannot be submitted
                del self.tasks[id(task)]
                task.result.set_exception(problem)
            return
        task.submitted.add_done_callback(lambda done: self._end(task, done))

    def _end(self, task: _Task, done: Submitted[Any]) -> None:
        """Take over what became of a task; one that its client has given up stays open."""
        if done.status not in {"finished", "error"}:
            return
        try:
            result, problem = (done.result(), None) if done.status == "finished" else (None, done.exception())
        except (CancelledError, OSError, TimeoutError):  # the scheduler went away before the result was here
            return
        with self.lock:
            if id(task) not in self.tasks or task.submitted is not done:
                return
            del self.tasks[id(task)]
        if problem is None:
            task.result.set_result(result)
        else:
            task.result.set_exception(problem)

    def _watch(self) -> None:
        """Submit again what a client has given up, to a new one where the scheduler was gone."""
        while not self.over.wait(LOOK_SECONDS):
            try:
                if self.client.status == "closed":
                    client = self._back()
                    with self.lock:
                        self.client = client
                with self.lock:
                    for task in list(self.tasks.values()):
                        given_up = task.submitted is None or task.submitted.status in {"cancelled", "lost"}
                        if given_up or task.client is not self.client:
                            self._hand_over(task)
            except ClusterNotReachable as problem:
                with self.lock:
                    self.over.set()
                    for task in self.tasks.values():
                        task.result.set_exception(problem)
                    self.tasks.clear()

    def _back(self) -> Client:
        """Return a client of the scheduler that is back. Raises ClusterNotReachable if it is not in time."""
        until = time.monotonic() + RETURN_SECONDS
        while True:
            try:
                return self._connected(CONNECT_SECONDS)
            except ClusterNotReachable:
                if time.monotonic() > until or self.over.is_set():
                    raise

    def close(self) -> None:
        """Give up what is open."""
        self.over.set()
        self.watcher.join()
        for task in list(self.tasks.values()):
            self.forget(task)
        self.client.close()


def _problem_of(solving: Solving) -> str | None:
    """Return why a process cannot decide as is wanted; None if it can."""
    try:
        Solving.of(solving)
    except SolverNotInstalledError as problem:
        return str(problem)
    return None


class _OnCluster(Executor):
    """An executor on a connection, with tasks of its own."""

    def __init__(self, connection: _Connection) -> None:
        self._connection, self._tasks = connection, dict[Future[Any], _Task]()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Submit a task. Raises ClusterNotReachable where the cluster is gone for good."""
        result: Future[Any] = Future()
        self._tasks[result] = task = _Task(_Call(function, arguments, options), result)
        result.add_done_callback(lambda done: self._tasks.pop(done, None))
        self._connection.submit(task)
        return result

    def cancel(self) -> None:
        """Cancel all tasks that are open."""
        for task in list(self._tasks.values()):
            self._connection.forget(task)


@dataclass(frozen=True)
class _Call:
    """A call that can be sent to another process."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self) -> Any:
        """Do it."""
        return self.function(*self.arguments, **self.options)
