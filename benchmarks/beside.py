"""Work in a process of its own that may compute for a number of seconds: how provers are asked side by side."""

from __future__ import annotations

import multiprocessing
import resource
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

NO_ANSWER = "no answer"


def limited(work: Callable[[], str], seconds: int) -> tuple[str, float]:
    """Return what ``work`` says, and the seconds that its process and those that it starts computed.

    It says NO_ANSWER where a signal ends the process, as it does after ``seconds`` of computing. Raises RuntimeError
    where the work fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(work, seconds, sending))
    process.start()
    sending.close()
    said = NO_ANSWER
    with suppress(EOFError):
        said = receiving.recv()
    process.join()
    if process.exitcode is not None and process.exitcode > 0:
        raise RuntimeError("the work failed; its process says why")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(words: list[str], repeats: int) -> dict[str, float]:
    """Return the seconds of a command and its children, and those by the clock, of the fastest run."""
    found = []
    for _ in range(repeats):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(words, capture_output=True, check=False)
        clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock))
    return {"seconds": min(x for x, _ in found), "clock": min(x for _, x in found)}


def _run(work: Callable[[], str], seconds: int, sending: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sending.send(work())
