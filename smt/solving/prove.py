"""From a claim to a verdict: whether the precondition can be met, and whether a witness violates the claim."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import default_environment
from mmaproof.smt.solving.errors import WitnessDoesNotReplay
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib
from mmaproof.smt.solving.verdict import Cause, Model, Outcome, Reply, SolverIdentity, Status, Verdict


class Ask(Protocol):
    """A function that answers one query: ``Solving.ask``, or something in its place."""

    def __call__(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Answer the query as ``Solving.ask`` does."""


def prove(
    claim: FNode,
    *,
    precondition: FNode | None,
    symbols: Sequence[FNode],
    confirm: Callable[[Mapping[str, int]], bool],
    ask: Ask,
    limits: Limits,
    precondition_witnessed: bool = False,
    environment: Environment | None = None,
) -> Verdict[Model]:
    """Decide whether the claim holds for all values of its symbols that meet the precondition.

    The first query is ``precondition and not claim``. If it is unsatisfiable, the second query is the precondition by
    itself: the claim is PROVED if something satisfies it, and VACUOUS otherwise. The second query is left out if
    ``precondition_witnessed`` says that an input is known to meet the precondition.
    A model of the first query is given to ``confirm`` as symbol name -> unsigned value (0 or 1 for a truth value; 0 for
    a symbol that does not occur). ``confirm`` evaluates it without a solver and returns whether it violates the claim.
    The claim is then REFUTED. The time limit is for both queries together. ``environment`` is that of the formulas.

    A variable that is not among ``symbols`` is a word of which nothing is known, and the claim is PROVED for all of its
    values. ``confirm`` takes zero for it; if a model needs another value, the verdict is UNKNOWN.

    Raises ``WitnessDoesNotReplay`` if ``confirm`` returns False though there is no such variable, and what ``ask``
    raises.
    """
    started = worked()
    violation = violation_of(claim, precondition, default_environment() if environment is None else environment)
    answer = ask(violation, symbols, limits=limits)
    if answer.model is not None and not confirm(answer.model):
        others = sorted(set(Query.of(violation).symbols) - {x.symbol_name() for x in symbols})
        if others:
            return _unknown(Cause.UNDEFINED.reason(_needed(others)), worked() - started, answer.solver)
        raise WitnessDoesNotReplay(answer.model, to_smtlib(Query.of(violation)))
    seconds = worked() - started
    match answer.outcome:
        case Outcome.UNKNOWN:
            return _unknown(answer.reason, seconds, answer.solver)
        case Outcome.SAT:
            return Verdict(Status.REFUTED, seconds, witness=answer.model, solver=answer.solver, stored=answer.stored)
        case Outcome.UNSAT:
            if precondition is not None and not precondition_witnessed:
                return _met(precondition, answer, started, ask, limits)
            return _decided(Status.PROVED, seconds, answer)
        case _:
            assert_never(answer.outcome)


def violation_of(claim: FNode, precondition: FNode | None, environment: Environment) -> FNode:
    """Return the formula of a claim's counterexamples: the precondition, and not the claim."""
    violation = environment.formula_manager.Not(claim)
    return violation if precondition is None else environment.formula_manager.And(precondition, violation)


def _met(precondition: FNode, proof: Reply, started: float, ask: Ask, limits: Limits) -> Verdict[Model]:
    """Return the verdict on a claim that nothing violates: PROVED if something meets its precondition, else VACUOUS."""
    spent = worked() - started
    left = limits.after(spent, "the claim")
    if spent >= limits.seconds:
        return _unknown(Cause.TIMEOUT.reason(f"no answer within {left}"), spent, proof.solver)
    answer = ask(precondition, (), limits=left)
    seconds = worked() - started
    match answer.outcome:
        case Outcome.UNKNOWN:
            return _unknown(f"{answer.reason} (is the precondition satisfiable?)", seconds, answer.solver)
        case Outcome.SAT:
            return _decided(Status.PROVED, seconds, proof)
        case Outcome.UNSAT:
            return _decided(Status.VACUOUS, seconds, answer)
        case _:
            assert_never(answer.outcome)


def _decided(status: Status, seconds: float, unsat: Reply) -> Verdict[Model]:
    """Return the verdict that follows from an unsatisfiable query."""
    return Verdict(status, seconds, solver=unsat.solver, certified_by=unsat.certified_by, stored=unsat.stored)


def _needed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"the claim is violated for some values of {', '.join(names[:3])}{more}, and not for zeros"


def _unknown(reason: str | None, seconds: float, solver: SolverIdentity) -> Verdict[Model]:
    return Verdict(Status.UNKNOWN, seconds, reason=reason, solver=solver)
