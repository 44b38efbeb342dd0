"""Several solvers race for one query. The first reply that is sat or unsat wins, and the others are ended."""

import time
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


def race(query: Query, solvers: Sequence[SolverIdentity], limits: Limits, deadline: float) -> Reply:
    """Return the first reply that is sat or unsat. If there is none, return UNKNOWN with the reason of each solver.

    The processes of the other solvers have ended by then, or they answered before and are idle. Replies that they gave
    before are compared with the first. A single solver runs in the calling thread. ``deadline`` is a time of
    ``time.monotonic``.

    Raises ``SolversDisagree``. An interrupt from the keyboard is passed on after all processes were killed.
    """
    attempts = [Attempt(query, solver, limits, deadline, COMMANDS[solver.name]) for solver in solvers]
    if len(attempts) == 1:
        return attempts[0].answer()
    started = time.monotonic()
    # The pool ends after all attempts: none still uses its process then.
    with ThreadPoolExecutor(len(attempts)) as pool:
        try:
            asked = [pool.submit(attempt.answer) for attempt in attempts]
            winner = next((x.result() for x in as_completed(asked) if x.result().outcome is not Outcome.UNKNOWN), None)
        finally:
            _stop(attempts)
    answers = [x.result() for x in asked]
    require_agreement(query, answers)
    return _all_unknown(answers, time.monotonic() - started) if winner is None else winner


def _stop(attempts: Sequence[Attempt]) -> None:
    try:
        for attempt in attempts:
            attempt.stop()
    except KeyboardInterrupt:
        # The interrupt came before all were stopped.
        for attempt in attempts:
            attempt.stop()
        raise


def _all_unknown(answers: Sequence[Reply], seconds: float) -> Reply:
    reason = "; ".join(f"{answer.reason} ({answer.solver.name})" for answer in answers)
    return Reply(Outcome.UNKNOWN, answers[0].solver, seconds, reason=reason)
