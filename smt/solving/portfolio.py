"""Which solvers work on a query, and the race between them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from mmaproof.smt.solving.attempt import COMMANDS, Attempt
from mmaproof.smt.solving.backends import available_solvers, require_solver
from mmaproof.smt.solving.disagreement import require_agreement
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity


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
