"""Which solvers work on a query, one solver at work on it, and the race between them.

What a solver's process writes is checked before it becomes a reply.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pysmt.fnode import FNode

from mmaproof.smt.solving.backends import BACKENDS, available_solvers, require_solver
from mmaproof.smt.solving.kept import Ended, Kept, KeptSolver, SolverProcess, reason_of_death
from mmaproof.smt.solving.limits import Limits, add_work
from mmaproof.smt.solving.protocol import Message, decode
from mmaproof.smt.solving.query import Query, to_smtlib
from mmaproof.smt.solving.verdict import Cause, MalformedReplyError, Outcome, Reply, SolverIdentity, SolversDisagree

if TYPE_CHECKING:
    from mmaproof.smt.solving.solving import Solving


_LOOK_SECONDS: Final = 0.02
"""How often a thread looks whether a rival has computed for long enough."""

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


def require_agreement(query: Query, answers: Sequence[Reply]) -> None:
    """Raise ``SolversDisagree`` if one reply is sat and another is unsat. Unknown agrees with everything.

    The query is then written to the current directory, once for each of the two solvers, with its reply at the top.
    """
    sat, unsat = ([a for a in answers if a.outcome is outcome] for outcome in (Outcome.SAT, Outcome.UNSAT))
    if not (sat and unsat):
        return
    both = sat[0], unsat[0]
    said = [_words(answer) for answer in both]
    name = f"mmaproof-disagreement-{hashlib.sha256(query.text.encode()).hexdigest()[:16]}"
    files, problem = [], None
    try:
        for answer, words, other in zip(both, said, reversed(said), strict=True):
            path = Path(f"{name}-{answer.solver.name}.smt2")
            path.write_text(to_smtlib(query, comments=[words, other]), encoding="utf-8")
            files.append(str(path))
    except OSError as error:
        problem = str(error)
    raise SolversDisagree(said, files, problem)


def _words(answer: Reply) -> str:
    words = f"{answer.solver} said {answer.outcome.value}"
    return words if answer.stored is None else f"{words} (stored)"


def racers(first: str, jobs: int) -> tuple[SolverIdentity, ...]:
    """Return at most ``jobs`` installed solvers: the solver ``first``, then others in the order of the back ends.

    Raises ``UnknownSolverError`` or ``SolverNotInstalledError`` for ``first``.
    """
    if jobs == 1:
        return (require_solver(first),)
    others = [SolverIdentity(x.name, x.version) for x in available_solvers().values() if x.version and x.name != first]
    return (require_solver(first), *others)[:jobs]


class Race:
    """Solvers that race for one query. The first reply that is sat or unsat wins, and the others are ended.

    Each may compute for N ``seconds``.
    """

    def __init__(self, query: Query, solvers: Sequence[SolverIdentity], limits: Limits, seconds: float) -> None:
        self.query, self._limits = query, limits
        self._attempts = [Attempt(query, solver, limits, seconds, COMMANDS[solver.name]) for solver in solvers]

    def run(self) -> Reply:
        """Return the first reply that is sat or unsat. If there is none, return UNKNOWN with each solver's reason.

        The processes of the other solvers have ended by then, or they answered before and are idle. Replies that they
        gave before are compared with the first. A single solver runs in the calling thread.

        Raises ``SolversDisagree``. An interrupt from the keyboard is passed on after all processes were killed.
        """
        if len(self._attempts) == 1:
            return self._attempts[0].answer()
        # The pool ends after all attempts: none still uses its process then.
        with ThreadPoolExecutor(len(self._attempts)) as pool:
            try:
                asked = [pool.submit(attempt.answer) for attempt in self._attempts]
                replies = (x.result() for x in as_completed(asked))
                winner = next((x for x in replies if x.outcome is not Outcome.UNKNOWN), None)
            finally:
                self.stop()
        answers = [x.result() for x in asked]
        require_agreement(self.query, answers)
        return _all_unknown(answers) if winner is None else winner

    @property
    def has_ended(self) -> bool:
        """Whether the time by the clock on the wall is over."""
        return self._limits.has_ended

    @property
    def worked(self) -> float:
        """The seconds that a solver computed until now, the most of any."""
        return max(x.worked for x in self._attempts)

    def stop(self) -> None:
        """End all solvers, even before they start. Another thread than that of ``run`` may call it."""
        try:
            self._stop_all()
        except KeyboardInterrupt:
            # The interrupt came before all were stopped.
            self._stop_all()
            raise

    def _stop_all(self) -> None:
        for attempt in self._attempts:
            attempt.stop()


def _all_unknown(answers: Sequence[Reply]) -> Reply:
    reason = "; ".join(f"{answer.reason} ({answer.solver.name})" for answer in answers)
    return Reply(Outcome.UNKNOWN, answers[0].solver, max(x.seconds for x in answers), reason=reason)


class Overtaken(Exception):  # noqa: N818  (it is not an error)
    """A query was interrupted, or was not asked, because ``rival`` has an answer."""

    def __init__(self, rival: Rival) -> None:
        super().__init__("another query has an answer")
        self.rival = rival


class Rival:
    """A query that is answered in a thread of its own, for ``solving``. ``Solving.beside`` begins it.

    The thread only waits for solver processes. Formulas are built, and replies are kept and certified, by whoever calls
    ``ask``. If the answer is ``known``, there is nothing to wait for. A rival has to be ended.
    """

    def __init__(self, solving: Solving, race: Race, known: Reply | None = None) -> None:
        self.query = race.query
        self._solving, self._race = solving, race
        self._lock = threading.Lock()
        self._interrupt: Callable[[], None] | None = None
        self._reply: Future[Reply] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        if known is None:
            self._thread.start()
        else:
            self._reply.set_result(known)

    @property
    def has_answer(self) -> bool:
        """Whether a solver said sat or unsat, or solvers disagree."""
        if not self._reply.done():
            return False
        return self._reply.exception() is not None or self._reply.result().outcome is not Outcome.UNKNOWN

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the solvers until they computed for N seconds more. Return whether there is an answer."""
        began = self._race.worked
        while self._race.worked - began < seconds and not self._race.has_ended:
            if wait([self._reply], _LOOK_SECONDS).done:
                break
        add_work(self._race.worked - began)
        return self.has_answer

    def ask(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Answer a query as ``Solving.ask`` does. If it is the one that was begun, wait for that."""
        return self._solving.ask(formula, symbols, limits=limits, begun=self)

    def reply(self) -> Reply:
        """Wait for the end of the solvers, which have a time limit, and return their reply.

        Raises what ``Race.run`` raises.
        """
        began = self._race.worked
        try:
            return self._reply.result()
        finally:
            add_work(self._race.worked - began)

    @contextlib.contextmanager
    def interrupting(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within this context, call ``stop`` as soon as there is an answer, from another thread perhaps."""
        with self._lock:
            self._interrupt = stop
            if self.has_answer:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None

    def end(self) -> None:
        """End the solvers. Nothing of the query runs any more when this returns."""
        try:
            self._race.stop()
        finally:
            if self._thread.is_alive():
                self._thread.join()

    def _run(self) -> None:
        try:
            self._reply.set_result(self._race.run())
        except BaseException as problem:  # it is raised where the reply is asked for
            self._reply.set_exception(problem)
        with self._lock:
            if self.has_answer and self._interrupt is not None:
                self._interrupt()


def run_beside(race: Race, rivals: Sequence[Rival]) -> Reply:
    """Return the reply to a query.

    Raises ``Overtaken`` if a rival has an answer first, and what ``Race.run`` raises.
    """
    with contextlib.ExitStack() as stack:
        for rival in rivals:
            stack.enter_context(rival.interrupting(race.stop))
        try:
            reply = race.run()
        finally:
            add_work(race.worked)
    if reply.outcome is Outcome.UNKNOWN:
        for rival in rivals:
            if rival.has_answer:
                raise Overtaken(rival)
    return reply
