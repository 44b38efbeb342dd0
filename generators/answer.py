"""A question answered: by search, by lemmas, or by a solver on the whole question, in this order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pysmt.environment import get_env

from mmaproof.designs.design import Design, check_askable
from mmaproof.designs.operands import Operands
from mmaproof.generators.search import Budget, SearchResult, search
from mmaproof.generators.simplify import simplest
from mmaproof.properties.property import Answer, LemmaAnswer
from mmaproof.properties.question import Question
from mmaproof.smt.proving.decide import decide
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Status

LEAST_SIMPLIFICATION = 1.0
"""Seconds for which a witness is simplified even where the time limit has passed."""


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, the budget of the search (None: no search), its seed."""

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0


def answer(question: Question, design: Design, means: Means) -> Answer:
    """Answer ``question``; random operands are shaped for ``design``.

    The search comes first; lemmas and solver get what is left of ``means.limits.seconds``, and so does the
    simplification of a witness (a second at least). Lemmas are a proof if every one of them is proved and the
    preconditions have a model; a lemma that fails says nothing about the question, which is then asked in one piece.
    Witnesses are simplified and were confirmed on integers.
    Raises DesignError for a length that no formula can have, WitnessDoesNotReplay (an internal error: formula and
    integer interpretation disagree), UnknownSolverError and SolverNotInstalledError.
    """
    check_askable(question.k)
    started = time.monotonic()
    try:
        return _answer(question, design, means, started)
    except MemoryError:
        reason = Cause.MEMORY.reason(f"mmaproof itself ran out of it (k = {question.k})")
        return Answer(question, Status.UNKNOWN, time.monotonic() - started, reason=reason, origin="nobody")


def _answer(question: Question, design: Design, means: Means, started: float) -> Answer:
    searched, met, limits = None, False, means.limits
    if means.budget is not None:
        allowed = Budget(means.budget.rows, min(means.budget.seconds, limits.seconds / 2))
        searched = search(question, design, seed=means.seed, budget=allowed)
        met = searched.precondition_met
        if searched.witnesses:
            witness = _simplest(question, searched.witnesses, means, started)
            return Answer(
                question, Status.REFUTED, time.monotonic() - started, witness=witness, origin=_by_search(searched)
            )
        limits = limits.after(searched.seconds, "the search")
    lemmas: list[LemmaAnswer] = []
    for lemma in question.lemmas():
        verdict = decide(lemma, means.solving.ask, limits)
        limits = limits.after(verdict.seconds, "lemmas")
        lemmas.append(LemmaAnswer(lemma.name, verdict.status, verdict.seconds, verdict.solver, verdict.reason))
        if verdict.status is not Status.PROVED:
            break
    by_lemmas = bool(lemmas) and all(x.status is Status.PROVED for x in lemmas)
    # what follows from proved lemmas holds; whether something meets the preconditions is still open
    statement = _Implied(question) if by_lemmas else question
    verdict = decide(statement, means.solving.ask, limits, precondition_met=met)
    found = None if verdict.model is None else _simplest(question, [question.operands(verdict.model)], means, started)
    after = "" if searched is None else f" after a search of {searched.rows} operand sets"
    lemma_count = f", {len(lemmas)} lemmas" if by_lemmas and verdict.status is Status.PROVED else ""
    return Answer(
        question,
        verdict.status,
        time.monotonic() - started,
        witness=found,
        reason=verdict.reason,
        solver=verdict.solver,
        origin=f"{verdict.solver}{lemma_count}{after}",
        lemmas=tuple(lemmas),
    )


def _by_search(s: SearchResult) -> str:
    return f"search (seed {s.seed}, {s.rows} operand sets tried, {s.seconds:.2f} s)"


def _simplest(question: Question, witnesses: Sequence[Operands], means: Means, started: float) -> Operands:
    deadline = max(started + means.limits.seconds, time.monotonic() + LEAST_SIMPLIFICATION)
    return simplest(question, witnesses, deadline)


class _Implied:
    """A question whose claim is known to follow from its preconditions: only whether these have a model is open."""

    def __init__(self, question: Question) -> None:
        whole = question.formula
        self.formula = Formula(whole.symbols, whole.precondition, get_env().formula_manager.TRUE())

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return False: nothing refutes what is proved."""
        return False
