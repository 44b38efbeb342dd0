"""Refutations of clauses: proofs that a SAT solver writes, by a process for one query or one that stays."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mmaproof.smt.solving.limits import Clock, Limits, add_work, clock_of
from mmaproof.smt.solving.lrat import SAT_SOLVER, Refutation
from mmaproof.smt.solving.portfolio import Attempt
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Reply, SolverIdentity, SolverNotInstalledError

# ``process`` explains -P.
_PROVER: Final = (sys.executable, "-P", "-m", "mmaproof.smt.solving.proof_worker")


def require_prover() -> SolverIdentity:
    """Return the identity of the SAT solver and the checker, with the versions of their packages.

    Raises ``SolverNotInstalledError`` if the package of the SAT solver is missing.
    """
    from importlib.metadata import version  # noqa: PLC0415

    if importlib.util.find_spec("pysat") is None:
        raise SolverNotInstalledError(
            "a proof is written by a SAT solver, and no Python package 'pysat' is here: pip install 'mmaproof[proofs]'"
        )
    return SolverIdentity(f"{SAT_SOLVER}+lrat", f"python-sat {version('python-sat')}, mmaproof {version('mmaproof')}")


def certify_by_proof(query: Query, limits: Limits, *, keep: Path | None = None) -> Reply:
    """Find out whether a query is unsatisfiable, by a checked proof.

    The reply is UNSAT only if the proof holds. SAT comes with the values of all symbols, on which the query was
    evaluated. A time-out, an exceeded memory limit, a crash and a proof that does not hold give UNKNOWN with a reason.
    ``keep`` is a folder in which other checkers find the clauses (HASH.cnf, DIMACS) and the proof (HASH.lrat, LRAT as
    text) of an unsatisfiable query, even if the proof does not hold. HASH is the beginning of the SHA-256 of the
    query's text.

    Raises ``SolverNotInstalledError``, and ``OSError`` if the folder cannot be made.

    A SAT solver writes the proof. Neither it nor any SMT solver is trusted. The trusted modules are ``cnf``, which
    writes the clauses, and ``lrat.check``, which checks the proof.
    """
    prover = require_prover()
    stem = ""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        stem = str(keep.absolute() / hashlib.sha256(query.text.encode()).hexdigest()[:16])
    return Attempt(query, prover, limits, limits.seconds, (*_PROVER, stem)).answer()


# ``process`` explains -P.
_WORKER: Final = (sys.executable, "-P", "-m", "mmaproof.smt.solving.refuting_worker")


class NotRefutedError(Exception):
    """There is no refutation within the limits; the text says why."""


class Refuter:
    """A process that refutes clauses. Use it in a ``with`` block, which ends it.

    Raises SolverNotInstalledError if the package of the SAT solver is missing.
    """

    def __init__(self, memory_bytes: int) -> None:
        require_prover()
        self._command = (*_WORKER, str(memory_bytes), str(os.getpid()))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def refute(self, clauses: Sequence[Sequence[int]], limits: Limits) -> Refutation:
        """Return a refutation of the clauses. Raises NotRefutedError."""
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        text = json.dumps(list(map(list, clauses)), separators=(",", ":")).encode() + b"\n"
        clock = clock_of(self._process.pid)
        try:
            line = self._exchange(self._process, text, limits, clock)
        except BaseException:
            self._stop()
            raise
        finally:
            add_work(clock())
        found = json.loads(line)
        if "problem" in found:
            raise NotRefutedError(str(found["problem"]))
        steps = tuple((number, tuple(literals), tuple(hints)) for number, literals, hints in found["steps"])
        return Refutation(tuple(map(tuple, found["clauses"])), steps)

    def _exchange(self, process: subprocess.Popen[bytes], text: bytes, limits: Limits, clock: Clock) -> bytes:
        """Send a line and return the line that answers it."""
        if process.stdin is None or process.stdout is None:
            raise NotRefutedError("the process of the SAT solver has no pipes")
        answer, ends = bytearray(), limits.begun_with(limits.seconds)
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdin, selectors.EVENT_WRITE)
            ready.register(process.stdout, selectors.EVENT_READ)
            os.set_blocking(process.stdin.fileno(), False)
            while not answer.endswith(b"\n"):
                left = min(limits.seconds - clock(), ends - time.monotonic())
                if left <= 0:
                    raise NotRefutedError("no refutation within the time limit")
                for key, _ in ready.select(left):
                    if key.fileobj is process.stdout:
                        part = os.read(process.stdout.fileno(), 1 << 20)
                        if not part:
                            raise NotRefutedError("the process of the SAT solver ended without an answer")
                        answer += part
                        continue
                    try:
                        text = text[os.write(process.stdin.fileno(), text[: 1 << 20]) :]
                    except BrokenPipeError:
                        raise NotRefutedError("the process of the SAT solver ended") from None
                    if not text:
                        ready.unregister(process.stdin)
        return bytes(answer)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()
