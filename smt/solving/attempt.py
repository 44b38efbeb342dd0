"""One solver at work on one query. What its process writes is checked before it becomes a reply."""

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mmaproof.smt.solving.backends import BACKENDS
from mmaproof.smt.solving.errors import MalformedReplyError
from mmaproof.smt.solving.kept import Ended, Kept, KeptSolver, SolverProcess, reason_of_death
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.protocol import Message, decode
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity

# -P keeps the current directory out of the import path, so that a file named z3.py there does not become the solver.
WORKER: Final = Kept((sys.executable, "-P", "-m", "mmaproof.smt.solving.kept_worker"))

COMMANDS: Final[dict[str, Sequence[str] | Kept]] = dict.fromkeys(BACKENDS, WORKER)
"""The command that starts the process of each solver: one that is kept, or one that reads a query until its end,
answers and ends. Tests put their own solvers here."""


@dataclass
class Attempt:
    """A solver that works on a query until ``deadline`` (by ``time.monotonic``). ``command`` starts its process."""

    query: Query
    solver: SolverIdentity
    limits: Limits
    deadline: float
    command: Sequence[str] | Kept
    _process: SolverProcess | KeptSolver | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def answer(self) -> Reply:
        """Return the reply of the solver. A model has the values of all symbols.

        A time-out, an exceeded memory limit, a crash and malformed output give UNKNOWN with a reason. The process has
        ended, or is idle, when this returns. It has ended when an interrupt from the keyboard is passed on.
        """
        started = time.monotonic()
        reply = self._reply()
        seconds = time.monotonic() - started
        return Reply(
            reply.outcome,
            self.solver,
            seconds,
            reply.model,
            reply.reason,
            reply.seconds,
            certificate=reply.certificate,
        )

    def stop(self) -> None:
        """End the process, even one that has not started yet. Another thread than that of ``answer`` may call it."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.stop()

    def _reply(self) -> Message:
        text = self.query.text
        timeout = _unknown(Cause.TIMEOUT, f"no answer within {self.limits}")
        if time.monotonic() >= self.deadline:
            return timeout
        try:
            with self._started() as process:
                with self._lock:
                    self._process = process
                    if self._stopped:
                        process.stop()
                ended = process.finish(text, self.deadline - time.monotonic())
                reply = timeout if ended is None else self._checked(ended)
                process.reusable = reply.outcome is not Outcome.UNKNOWN
        except OSError as problem:
            return _unknown(Cause.SOLVER_ERROR, f"the solver process does not start: {problem}")
        return reply

    def _started(self) -> SolverProcess | KeptSolver:
        if isinstance(self.command, Kept):
            return KeptSolver(self.command, self.solver.name, self.limits)
        return SolverProcess(self.command, self.solver.name, self.limits)

    def _checked(self, ended: Ended) -> Message:
        """Return what an ended process found out, after checking it."""
        if ended.returncode != 0:
            return Message(Outcome.UNKNOWN, reason=reason_of_death(ended, self.limits))
        try:
            reply = decode(ended.output, self.query.symbols)
        except MalformedReplyError as problem:
            return _unknown(Cause.SOLVER_ERROR, str(problem))
        if reply.model is not None and not self.query.evaluate(reply.model):
            return _unknown(Cause.SOLVER_ERROR, f"the values that {self.solver.name} gave do not satisfy the query")
        return reply


def _unknown(cause: Cause, detail: str) -> Message:
    return Message(Outcome.UNKNOWN, reason=cause.reason(detail))
