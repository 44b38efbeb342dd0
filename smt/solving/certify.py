"""Certification: a reply that a query is unsatisfiable counts only after another solver or a proof confirmed it."""

from dataclasses import replace
from enum import Enum
from typing import assert_never

from mmaproof.smt.solving.attempt import COMMANDS, Attempt
from mmaproof.smt.solving.backends import BACKENDS
from mmaproof.smt.solving.errors import SolverNotInstalledError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import racers, require_agreement
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import certify_by_proof, require_prover
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity


class Certify(Enum):
    """What confirms that a query is unsatisfiable."""

    SOLVER = "solver"
    """A second, different solver confirms it."""
    PROOF = "proof"
    """A SAT solver writes a proof, and a checker accepts it."""


def certifiers(first: str, certify: Certify) -> tuple[SolverIdentity, ...]:
    """Return the solvers or the checker that can confirm a reply of the solver ``first``. The first one is asked.

    Raises ``SolverNotInstalledError`` if there is none.
    """
    match certify:
        case Certify.PROOF:
            return (require_prover(),)
        case Certify.SOLVER:
            others = racers(first, len(BACKENDS))[1:]
            if not others:
                raise SolverNotInstalledError(
                    f"no solver besides {first} is installed to certify what it says: pip install cvc5"
                )
            return others
        case _:
            assert_never(certify)


def confirmation(query: Query, first: str, certify: Certify, limits: Limits) -> Reply:
    """Return the reply of the solver or checker that is to confirm what the solver ``first`` says of the query."""
    match certify:
        case Certify.PROOF:
            return certify_by_proof(query, limits)
        case Certify.SOLVER:
            second = certifiers(first, certify)[0]
            return Attempt(query, second, limits, limits.seconds, COMMANDS[second.name]).answer()
        case _:
            assert_never(certify)


def certified(query: Query, answer: Reply, second: Reply) -> Reply:
    """Return the unsat ``answer`` with its certificate, or UNKNOWN if ``second`` is unknown.

    Raises ``SolversDisagree`` if ``second`` is sat.
    """
    require_agreement(query, [answer, second])
    if second.outcome is Outcome.UNSAT:
        return replace(answer, certified_by=second.solver, certificate=second.certificate)
    cause, _, detail = str(second.reason).partition(": ")
    reason = f"{cause}: not certified by {second.solver}: {detail}"
    return Reply(Outcome.UNKNOWN, answer.solver, answer.seconds, reason=reason)
