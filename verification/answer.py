"""A question answered: by search, by lemmas, or by a solver on the whole question, in this order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pysmt.environment import get_env

from mmaproof.designs.design import Design, check_askable
from mmaproof.designs.operands import Operands
from mmaproof.properties.property import Answer, LemmaAnswer
from mmaproof.properties.question import Question
from mmaproof.smt.proving.asked import StagedLemma
from mmaproof.smt.proving.decide import decide
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Status, Verdict
from mmaproof.verification.search import WITNESSES, Budget, SearchResult, search
from mmaproof.verification.simplify import simplest
from mmaproof.verification.stages import by_stages, lemma_answer
from mmaproof.verification.stored import store_witness, stored_witness

AT_ONCE = 1.0
"""Seconds for which a question about several runs is asked in one piece before it is taken apart."""
LEAST_SIMPLIFICATION = 1.0
"""Seconds for which a witness is simplified even where the time limit has passed."""


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, the budget of the search (None: no search), its seed.

    Where ``solving`` has a store, witnesses are looked up and kept there too. Of those that a search finds at once,
    ``simplified`` are simplified at most, to show the simplest.
    """

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0
    simplified: int = WITNESSES


def answer(question: Question, design: Design, means: Means) -> Answer:
    """Answer ``question``; random operands are shaped for ``design``.

    A witness that is stored comes first, then the search; lemmas and solver get what is left of
    ``means.limits.seconds``, and so does the simplification of a witness (a second at least). Lemmas, those of a
    staged proof too, are a proof if every one of them is proved and the preconditions have a model; a lemma that fails
    says nothing about the question, which is then asked in one piece. Witnesses are simplified and were confirmed on
    integers.
    Raises DesignError for a length that no formula can have, WitnessDoesNotReplay (an internal error: formula and
    integer interpretation disagree), SolversDisagree, UnknownSolverError and SolverNotInstalledError.
    """
    check_askable(question.k)
    started = time.monotonic()
    try:
        stored = stored_witness(means.solving.store, question)
        if stored is not None:
            witness, origin = stored
            seconds = time.monotonic() - started
            return Answer(question, Status.REFUTED, seconds, witness=witness, origin=f"the store: {origin}")
        found = _answer(question, design, means, started)
        if found.witness is not None:
            store_witness(means.solving.store, question, found.witness, found.origin)
        return found
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
    proof = _prove(question, design, means, limits, met)
    limits = limits.after(proof.seconds, "lemmas")
    # what follows from proved lemmas holds; whether something meets the preconditions is still open
    statement = _Implied(question) if proof.complete else question
    verdict = proof.verdict
    if verdict is None:
        verdict = decide(statement, means.solving.ask, limits, precondition_met=met)
    found = None if verdict.model is None else _simplest(question, [question.operands(verdict.model)], means, started)
    after = "" if searched is None else f" after a search of {searched.rows} operand sets"
    rests_on = proof.lemmas if proof.complete and verdict.status is Status.PROVED else ()
    lemma_count = f", {len(rests_on)} lemmas" if rests_on else ""
    return Answer(
        question,
        verdict.status,
        time.monotonic() - started,
        witness=found,
        reason=verdict.reason,
        solver=verdict.solver,
        origin=f"{_by_solver(verdict, rests_on)}{lemma_count}{after}",
        lemmas=proof.lemmas,
        certified_by=verdict.certified_by,
    )


@dataclass(frozen=True, slots=True)
class _Proof:
    """Lemmas that were tried, whether they prove the question, and the answer where it was found on the way."""

    lemmas: tuple[LemmaAnswer, ...]
    complete: bool
    seconds: float
    verdict: Verdict | None = None


def _prove(question: Question, design: Design, means: Means, limits: Limits, met: bool) -> _Proof:
    """Try to prove ``question`` by its lemmas, and where it compares runs stage by stage.

    Before the latter it is asked in one piece for a moment: a witness comes at once or hardly ever. ``met`` says that
    an input is known to meet the preconditions.
    """
    started, ask = time.monotonic(), means.solving.ask
    lemmas: list[LemmaAnswer] = []
    for lemma in question.lemmas():
        left = limits.after(time.monotonic() - started, "lemmas")
        verdict = decide(lemma, ask, left)
        lemmas.append(LemmaAnswer.of(lemma.name, verdict))
        if verdict.status is not Status.PROVED:
            break
    else:
        if lemmas:
            return _Proof(tuple(lemmas), True, time.monotonic() - started)
    if not question.compares_runs:
        return _Proof(tuple(lemmas), False, time.monotonic() - started)
    left = limits.after(time.monotonic() - started, "lemmas")
    moment = replace(left, seconds=min(left.seconds, AT_ONCE))
    at_once = decide(question, ask, moment, precondition_met=met)
    if at_once.status is not Status.UNKNOWN:
        return _Proof(tuple(lemmas), False, time.monotonic() - started, at_once)
    tried: list[StagedLemma] = []
    for unconditionally in (False, True) if question.where else (False,):
        left = limits.after(time.monotonic() - started, "lemmas")
        share = replace(left, seconds=left.seconds / 2)
        staged = by_stages(question, design, ask, share, means.seed, unconditionally=unconditionally)
        if staged.proved:
            used = tuple(x for x in map(lemma_answer, staged.lemmas) if x.status is Status.PROVED)
            return _Proof(used, True, time.monotonic() - started)
        tried += staged.lemmas
    return _Proof((*lemmas, *map(lemma_answer, tried)), False, time.monotonic() - started)


def _by_solver(verdict: Verdict, lemmas: Sequence[LemmaAnswer]) -> str:
    """Return who answered, in words; it was stored where the ``lemmas`` it rests on were too."""
    seconds = [x for x in (verdict.stored, *(lemma.stored for lemma in lemmas)) if x is not None]
    stored = f" (stored; {sum(seconds):.2f} s then)" if len(seconds) == 1 + len(lemmas) else ""
    certified = "" if verdict.certified_by is None else f", certified by {verdict.certified_by}"
    return f"{verdict.solver}{stored}{certified}"


def _by_search(s: SearchResult) -> str:
    return f"search (seed {s.seed}, {s.rows} operand sets tried, {s.seconds:.2f} s)"


def _simplest(question: Question, witnesses: Sequence[Operands], means: Means, started: float) -> Operands:
    deadline = max(started + means.limits.seconds, time.monotonic() + LEAST_SIMPLIFICATION)
    return simplest(question, witnesses[: means.simplified], deadline)


class _Implied:
    """A question whose claim is known to follow from its preconditions: only whether these have a model is open."""

    def __init__(self, question: Question) -> None:
        whole = question.formula
        self.formula = Formula(whole.symbols, whole.precondition, get_env().formula_manager.TRUE())

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return False: nothing refutes what is proved."""
        return False
