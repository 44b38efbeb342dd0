"""One solver at work on one query. What its process writes is checked before it becomes a reply."""

import sys
import threading
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
    """A solver that works on a query for N ``seconds``. ``command`` starts its process."""

    query: Query
    solver: SolverIdentity
    limits: Limits
    seconds: float
    command: Sequence[str] | Kept
    _process: SolverProcess | KeptSolver | None = field(default=None, init=False)
    _worked: float = field(default=0.0, init=False)
    _stopped: bool = field(default=False, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def answer(self) -> Reply:
        """Return the reply of the solver. A model has the values of all symbols.

        A time-out, an exceeded memory limit, a crash and malformed output give UNKNOWN with a reason. The process has
        ended, or is idle, when this returns. It has ended when an interrupt from the keyboard is passed on.
        """
        reply = self._reply()
        return Reply(
            reply.outcome,
            self.solver,
            max(self.worked, reply.seconds or 0.0),
            reply.model,
            reply.reason,
            reply.seconds,
            certificate=reply.certificate,
        )

    @property
    def worked(self) -> float:
        """The seconds that the solver computed until now."""
        with self._lock:
            return self._worked if self._process is None else self._process.worked

    def stop(self) -> None:
        """End the process, even one that has not started yet. Another thread than that of ``answer`` may call it."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.stop()

    def _reply(self) -> Message:
        text = self.query.text
        timeout = _unknown(Cause.TIMEOUT, f"no answer within {self.limits}")
        if self.seconds <= 0 or self.limits.has_ended:
            return timeout
        try:
            with self._started() as process:
                with self._lock:
                    self._process = process
                    if self._stopped:
                        process.stop()
                ended = process.finish(text, self.seconds)
                with self._lock:
                    self._process, self._worked = None, process.worked
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
