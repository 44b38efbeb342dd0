"""The process that answers queries by an SMT solver, one after the other.

``mmaproof.smt.solving.kept`` starts it as ``python -P -m mmaproof.smt.solving.kept_worker SOLVER PARENT_PID``. It loads
the solver, and then a copy of it (``fork``) reads the queries and answers them. The first process only watches: when
the copy crashes, it ends in the same way; when the parent is gone, it ends both. A query comes with its limits, as
``protocol`` describes. Each has a solver of its own. A copy is replaced by a new one after as
many queries as ``backends`` allows, or when it has grown, so nothing that a library leaves behind stays for long.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time
from typing import Final

from mmaproof.smt.solving.backends import GaveUpError
from mmaproof.smt.solving.protocol import (
    HEADER_BYTES,
    Header,
    Message,
    answer_or_reason,
    begin,
    die_with_parent,
    encode,
    is_out_of_memory,
    lift_memory_limit,
    limit_cpu,
    limit_memory,
    mapped_bytes,
    unknown,
    write_all,
)
from mmaproof.smt.solving.verdict import Cause, Outcome

_REPLACED: Final = 75
"""the exit status of a copy that is to be replaced; no library ends a process with it"""
_MOST_GROWTH_BYTES: Final = 256 << 20
_LOOK_FOR_PARENT_MS: Final = 500


def main(arguments: list[str]) -> None:
    """Answer queries until the parent is gone or sends no more."""
    solver, parent_text = arguments
    parent = int(parent_text)
    if os.getppid() != parent:
        os._exit(1)
    answers = begin(solver)
    _load(solver)
    # The copies share what was loaded, and what they collect later is not walked by them.
    gc.freeze()
    status = _REPLACED
    while status == _REPLACED:
        status = _of_a_copy(solver, answers, parent)
    _end_like(status)


def _load(solver: str) -> None:
    """Import everything that a query needs, by making a solver. What fails here fails again, with its reason, later."""
    from mmaproof.smt.solving.backends import BACKENDS  # noqa: PLC0415

    # It is imported for what comes next.
    from mmaproof.smt.solving.query import Query  # noqa: F401, PLC0415

    with contextlib.suppress(Exception):
        BACKENDS[solver].engine()


def _of_a_copy(solver: str, answers: int, parent: int) -> int:
    """Let a copy answer queries until it ends. Return how it ended, as ``subprocess`` has it."""
    guardian = os.getpid()
    alive, held_by_copy = os.pipe()
    copy = os.fork()
    if copy == 0:
        os.close(alive)
        die_with_parent(guardian)
        _answer_queries(solver, answers)
    os.close(held_by_copy)
    looking = select.poll()
    looking.register(alive, select.POLLIN)
    # An error is reported when nobody can read the answers any more.
    looking.register(answers, 0)
    while not (happened := dict(looking.poll(_LOOK_FOR_PARENT_MS))).get(alive):
        if happened or os.getppid() != parent:
            os.kill(copy, signal.SIGKILL)
            # Where nobody waits for orphans, it would remain as a zombie.
            os.waitpid(copy, 0)
            os._exit(1)
    os.close(alive)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])


def _end_like(status: int) -> None:
    if status < 0:
        # Some signals cannot be reset, and need not be.
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(abs(status))


def _answer_queries(solver: str, answers: int) -> None:
    """Answer queries, and end this process."""
    from mmaproof.smt.solving.backends import BACKENDS  # noqa: PLC0415

    at_first = mapped_bytes()
    for _ in range(BACKENDS[solver].queries_of_a_process):
        start = _read(HEADER_BYTES)
        header = Header.parse(start) if len(start) == HEADER_BYTES else None
        text = b"" if header is None else _read(header.length)
        if header is None or len(text) < header.length:
            os._exit(0)
        limit_cpu(header.cpu_seconds)
        line = answer_or_reason(solver, lambda h=header, t=text: _answer(solver, h.memory_bytes, t))  # type: ignore[misc]
        write_all(answers, b"%d " % header.number + line)
        lift_memory_limit()
        if mapped_bytes() - at_first > _MOST_GROWTH_BYTES:
            break
        gc.collect()
    os._exit(_REPLACED)


def _read(length: int) -> bytes:
    """Read N bytes of standard input, or fewer at its end."""
    parts: list[bytes] = []
    while length and (part := os.read(0, min(length, 1 << 20))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _answer(solver: str, memory_bytes: int, text: bytes) -> bytes:
    """Return the line that answers a query."""
    from mmaproof.smt.solving.backends import BACKENDS  # noqa: PLC0415
    from mmaproof.smt.solving.query import Query  # noqa: PLC0415

    engine = BACKENDS[solver].engine()
    # The limit is set only now, because a library that cannot be mapped fails with a reason that does not name memory.
    limit_memory(memory_bytes)
    query = Query.parse(text.decode())
    started = time.process_time()
    try:
        model = engine.decide(query)
    except GaveUpError as problem:
        detail = f"{solver} gave up: {problem}"
        return unknown(Cause.MEMORY if is_out_of_memory(detail) else Cause.SOLVER_ERROR, detail)
    outcome = Outcome.UNSAT if model is None else Outcome.SAT
    return encode(Message(outcome, model=model, seconds=time.process_time() - started), query.symbols)


if __name__ == "__main__":
    main(sys.argv[1:])
