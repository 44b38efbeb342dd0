"""Whether an installed solver works here: its process starts, and it answers a query whose answer is known."""

from mmaproof.smt.environment import default_environment
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome

_LIMITS = Limits(60, 1 << 30)


def self_test(solver: str) -> str | None:
    """Return what is wrong with an installed solver, in one line; None if it works.

    It is asked for a word of eight bits whose square is 2 modulo 256, which does not exist, and for one whose square is
    1. Raises SolverNotInstalledError and UnknownSolverError.
    """
    terms = default_environment().formula_manager
    x = terms.Symbol("self_test_8", terms.env.type_manager.BVType(8))
    for square, wanted in ((2, Outcome.UNSAT), (1, Outcome.SAT)):
        reply = Solving(solver).ask(terms.Equals(terms.BVMul(x, x), terms.BV(square, 8)), (), limits=_LIMITS)
        if reply.outcome is not wanted:
            said = reply.reason if reply.outcome is Outcome.UNKNOWN else f"it said {reply.outcome.value}"
            return f"x * x = {square} modulo 256 is {wanted.value}: {said}"
    return None
