"""Whether what one step loses is proved for a unit: a solver proves each lemma of ``properties.step_loss``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from mmaproof.designs.conversions import Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import cache_folder
from mmaproof.designs.formats import Format
from mmaproof.gemm.programs.schedule import Schedule
from mmaproof.gemm.tolerances.walk import outside, units
from mmaproof.gemm.tolerances.words import why_no_words
from mmaproof.properties.property import LemmaVerdict
from mmaproof.properties.step_loss import lemmas_of_loss, lemmas_of_operation, why_no_loss
from mmaproof.smt.proving.decide import decide
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.solving.errors import StoreError
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Status

LIMITS = Limits(seconds=120, memory_bytes=4 << 30)
STORE_VARIABLE = "MMAPROOF_STORE"


@dataclass(frozen=True, slots=True)
class LossProof:
    """Whether the loss of one step is proved. ``reason`` says by what, or why it is not.

    ``undecided`` says that a solver did not answer in time. Without it and without a proof, there is nothing to prove.
    """

    proved: bool
    reason: str
    seconds: float = 0.0
    lemmas: tuple[LemmaVerdict, ...] = ()
    undecided: bool = False


@lru_cache(maxsize=256)
def prove_loss(design: Design, solving: Solving | None = None, limits: Limits = LIMITS) -> LossProof:
    """Decide the lemmas of the loss of one step. All of them must be proved, and each must have a model.

    ``solving`` is None for the default solver with the store of answers that the commands use. Raises what
    ``Solving.of`` raises for a store or a solver that cannot be used.
    """
    reason = why_no_loss(design)
    if reason is not None:
        return LossProof(False, reason)
    if design.d_format.is_integer:
        return LossProof(True, "its sums are exact integers where the register holds them")
    return _decided(lemmas_of_loss(design), solving, limits)


@lru_cache(maxsize=256)
def prove_operation(
    kind: str,
    fmt: Format,
    source: Format,
    rounding: Rounding | Stochastic,
    solving: Solving | None = None,
    limits: Limits = LIMITS,
) -> LossProof:
    """Decide the lemmas about an operation outside a unit, as ``lemmas_of_operation`` has them."""
    return _decided(lemmas_of_operation(kind, fmt, source, rounding), solving, limits)


def prove_schedule(schedule: Schedule, solving: Solving | None = None, limits: Limits = LIMITS) -> LossProof:
    """Decide everything that the bound of a schedule rests on: the steps of its units and the operations outside.

    What is not proved ends it: nothing more is asked then, and nothing at all of words that have no bound.
    """
    reasons = filter(None, map(why_no_words, schedule.operations))
    if (reason := next(reasons, None)) is not None:
        return LossProof(False, reason)
    proofs: list[LossProof] = []
    questions = list(_questions(schedule))
    if len(questions) == 1:
        return questions[0][1](solving, limits)
    for name, decided in questions:
        proof = decided(solving, limits)
        # the seconds of a proof that is held in memory are those that it took once, so that the next is found there too
        limits = limits.after(proof.seconds, "lemmas")
        proofs.append(proof)
        lemmas, seconds = tuple(y for x in proofs for y in x.lemmas), sum(x.seconds for x in proofs)
        if not proof.proved:
            return LossProof(False, f"{name}{proof.reason}", seconds, lemmas, proof.undecided)
    text = f"{len(lemmas)} lemmas about the steps of its units and about operations outside them"
    return LossProof(True, text, seconds, lemmas)


def _questions(schedule: Schedule) -> Iterator[tuple[str, Callable[[Solving | None, Limits], LossProof]]]:
    """Yield what a schedule rests on: words for what it is of, and what decides it."""
    for name, design in units(schedule).items():
        yield f"of {name}: ", partial(prove_loss, design)
    for kind, fmt, source, rounding in outside(schedule):
        name = f"of the {kind} of {source.name} in {fmt.name} ({rounding}): "
        yield name, partial(prove_operation, kind, fmt, source, rounding)


def _decided(lemmas: Sequence[Lemma], solving: Solving | None, limits: Limits) -> LossProof:
    started, left = worked(), limits
    means = Solving.of(default_solving() if solving is None else solving)
    found: list[LemmaVerdict] = []
    for lemma in lemmas:
        began = worked()
        verdict = LemmaVerdict.of(lemma.name, decide(lemma, means.ask, left))
        left = left.after(worked() - began, "lemmas")
        found.append(verdict)
        if verdict.status is not Status.PROVED:
            seconds = worked() - started
            why = verdict.reason or verdict.status.value
            text = f"the lemma {lemma.name!r} is not proved: {why}"
            return LossProof(False, text, seconds, tuple(found), verdict.status is Status.UNKNOWN)
    solvers = ", ".join(sorted({str(x.solver) for x in found if x.solver is not None}))
    return LossProof(True, f"{len(found)} lemmas proved by {solvers}", worked() - started, tuple(found))


def default_solving() -> Solving:
    """Return the default solver, with the file of answers that the commands use where it can be used."""
    named = os.environ.get(STORE_VARIABLE)
    if named == "":
        return Solving()
    try:
        file = Path(named) if named else cache_folder() / "answers.sqlite"
        file.parent.mkdir(parents=True, exist_ok=True)
        Store(file).check()
    except (InputError, StoreError, OSError):
        if named:
            raise
        return Solving()
    return Solving(store=file)
