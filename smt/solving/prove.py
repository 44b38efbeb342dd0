"""From a claim to a verdict: can the precondition be met, and does a witness violate the claim."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pysmt.environment import get_env
from pysmt.fnode import FNode

from mmaproof.smt.solving.errors import WitnessDoesNotReplay
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib
from mmaproof.smt.solving.verdict import Cause, Model, Outcome, Reply, SolverIdentity, Status, Verdict


class Ask(Protocol):
    """How one query is answered: ``Solving.ask``, or something that stands for it."""

    def __call__(self, formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        """Answer the query; see ``Solving.ask``."""


def prove(
    claim: FNode,
    *,
    precondition: FNode | None,
    symbols: Sequence[FNode],
    confirm: Callable[[Mapping[str, int]], bool],
    ask: Ask,
    limits: Limits,
    precondition_witnessed: bool = False,
) -> Verdict[Model]:
    """Decide whether the claim holds for all values of its symbols that meet the precondition.

    ``precondition and not claim`` is asked: PROVED when nothing satisfies it and the precondition by itself is
    satisfiable (else VACUOUS), which is not asked where ``precondition_witnessed`` says that an input is known to
    meet it.
    A witness is given to ``confirm`` as symbol name -> unsigned value (0 or 1 for a truth value; 0 for a symbol
    which does not occur), which evaluates it without a solver and returns whether it violates the claim:
    REFUTED. The time limit is for both queries together.

    Raises ``WitnessDoesNotReplay`` when ``confirm`` denies the witness, and what ``ask`` raises.
    """
    started = time.monotonic()
    manager = get_env().formula_manager
    violation = manager.Not(claim)
    if precondition is not None:
        violation = manager.And(precondition, violation)
    answer = ask(violation, symbols, limits=limits)
    if answer.model is not None and not confirm(answer.model):
        raise WitnessDoesNotReplay(answer.model, to_smtlib(Query.of(violation)))
    seconds = time.monotonic() - started
    if answer.reason is not None:
        return _unknown(answer.reason, seconds, answer.solver)
    if answer.outcome is Outcome.SAT:
        return Verdict(Status.REFUTED, seconds, witness=answer.model, solver=answer.solver, stored=answer.stored)
    if precondition is not None and not precondition_witnessed:
        return _met(precondition, answer, started, ask, limits)
    return _decided(Status.PROVED, seconds, answer)


def _met(precondition: FNode, proof: Reply, started: float, ask: Ask, limits: Limits) -> Verdict[Model]:
    """Return PROVED for a claim that nothing violates if something meets its precondition, VACUOUS if nothing does."""
    spent = time.monotonic() - started
    left = limits.after(spent, "the claim")
    if spent >= limits.seconds:
        return _unknown(Cause.TIMEOUT.reason(f"no answer within {left}"), spent, proof.solver)
    answer = ask(precondition, (), limits=left)
    seconds = time.monotonic() - started
    if answer.reason is not None:
        return _unknown(f"{answer.reason} (is the precondition satisfiable?)", seconds, answer.solver)
    if answer.outcome is Outcome.SAT:
        return _decided(Status.PROVED, seconds, proof)
    return _decided(Status.VACUOUS, seconds, answer)


def _decided(status: Status, seconds: float, unsat: Reply) -> Verdict[Model]:
    """Return the verdict of a query that nothing satisfies."""
    return Verdict(status, seconds, solver=unsat.solver, certified_by=unsat.certified_by, stored=unsat.stored)


def _unknown(reason: str, seconds: float, solver: SolverIdentity) -> Verdict[Model]:
    return Verdict(Status.UNKNOWN, seconds, reason=reason, solver=solver)
