"""Two designs compared: a distinguishing vector, a proof that there is none, or the reason why neither is known."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.operands import Operands
from mmaproof.generators.search import Budget, SearchResult, search
from mmaproof.generators.simplify import simplest
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.evaluate import evaluate
from mmaproof.smt.solving.backends import DEFAULT_SOLVER, require_solver
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import prove
from mmaproof.smt.solving.verdict import SolverIdentity, Status

DEFAULT_BUDGET = Budget()
DEFAULT_LIMITS = Limits(seconds=60, memory_bytes=4 << 30)

WORDS = {
    Status.PROVED: "equivalent",
    Status.REFUTED: "different",
    Status.UNKNOWN: "unknown",
    Status.VACUOUS: "vacuous",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to a comparison.

    ``witness`` and ``outputs`` (design name -> pattern of d) belong to REFUTED, ``reason`` to UNKNOWN;
    ``solver`` is who answered, None where the search did; ``searched`` is None where it was switched off.
    """

    question: Equivalence
    status: Status
    seconds: float
    witness: Operands | None = None
    reason: str | None = None
    solver: SolverIdentity | None = None
    searched: SearchResult | None = None

    @property
    def verdict(self) -> str:
        """The answer in the word of the command line."""
        return WORDS[self.status]

    @property
    def outputs(self) -> Mapping[str, int]:
        """What each design returns for the witness, computed on integers."""
        if self.witness is None:
            return {}
        return {d.name: evaluate(d, self.witness) for d in self.question.designs}


def compare(
    first: Design,
    second: Design,
    *,
    solver: str = DEFAULT_SOLVER,
    limits: Limits = DEFAULT_LIMITS,
    k: int | None = None,
    where: Sequence[Precondition] = (),
    nan_codes: bool = False,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> Comparison:
    """Ask whether two designs are equivalent; ``budget`` None switches the search off.

    The search comes first; the solver gets what is left of ``limits.seconds``. Witnesses are simplified.
    Raises DesignError where the designs are not comparable, UnknownSolverError, SolverNotInstalledError, and
    WitnessDoesNotReplay (an internal error: formula and integer interpretation disagree).
    """
    require_solver(solver)
    started = time.monotonic()
    question = Equivalence(first, second, k=k, where=where, nan_codes=nan_codes)
    searched = None
    if budget is not None:
        allowed = Budget(budget.rows, min(budget.seconds, limits.seconds / 2))
        searched = search(question, _finer(first, second), seed=seed, budget=allowed)
        if searched.witnesses:
            return _different(question, searched.witnesses, started, searched, None)
    left = max(limits.seconds - (time.monotonic() - started), 1e-3)
    formula = question.formula
    verdict = prove(
        formula.claim,
        precondition=formula.precondition,
        symbols=formula.symbols,
        confirm=lambda model: question.is_refuted_by(question.operands(model)),
        solver=solver,
        limits=Limits(left, limits.memory_bytes),
        precondition_witnessed=searched is not None and searched.precondition_met,
    )
    if verdict.model is not None:
        return _different(question, [question.operands(verdict.model)], started, searched, verdict.solver)
    return Comparison(
        question,
        verdict.status,
        time.monotonic() - started,
        reason=verdict.reason,
        solver=verdict.solver,
        searched=searched,
    )


def _finer(first: Design, second: Design) -> Design:
    """Return the design whose alignment reaches further down: its cut is where operands should lie."""
    return max((first, second), key=lambda d: d.parameters.fraction_bits)


def _different(
    question: Equivalence,
    witnesses: Sequence[Operands],
    started: float,
    searched: SearchResult | None,
    solver: SolverIdentity | None,
) -> Comparison:
    simple = simplest(question, witnesses)
    return Comparison(
        question, Status.REFUTED, time.monotonic() - started, witness=simple, solver=solver, searched=searched
    )
