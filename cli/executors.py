"""Where the work of long commands is done: in this process, in processes of this machine, on a dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli.options import option

if TYPE_CHECKING:
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.verification.executors import Pool, Runner

Dask = Annotated[
    str | None,
    option("--dask ADDRESS", "Ask on the workers of a dask cluster: tcp://HOST:8786."),
]

Processes = Annotated[
    int | None,
    option("--jobs N", "Questions at a time, in processes of this machine; default its CPUs.", min=1),
]


@contextmanager
def executors(dask: str | None, jobs: int | None, solving: Solving | None = None) -> Iterator[tuple[Pool, int]]:
    """Yield what makes executors, and how many questions to hand to one at a time.

    Without a cluster they are ``jobs`` processes of this machine, by default as many as it has CPUs. Raises InputError
    for both, ClusterNotReachable: also where a worker lacks what ``solving`` needs.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.verification.executors import local_pool

    if dask is None:
        jobs = jobs or os.cpu_count() or 1
        # the next question is there when a process has answered one
        yield partial(local_pool, jobs), 2 * jobs
    elif jobs is not None:
        raise InputError("--jobs is of processes on this machine: leave it out with --dask")
    else:
        from mmaproof.verification.cluster import cluster

        with cluster(dask, solving) as (pool, workers):
            yield pool, 2 * workers


@contextmanager
def runner(dask: str | None, solving: Solving | None = None, jobs: int = 1) -> Iterator[Runner]:
    """Yield what does tasks: in this process, in ``jobs`` of them, or on a cluster.

    Raises InputError for both, ClusterNotReachable.
    """
    from mmaproof.verification.executors import here, in_order

    if dask is None and jobs == 1:
        yield here
    else:
        with executors(dask, None if jobs == 1 else jobs, solving) as (pool, at_once):
            yield in_order(pool, at_once)
