"""Staged proofs of questions: sample operands that suggest relations, and the lemmas in the form of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import LemmaVerdict
from mmaproof.properties.question import Question
from mmaproof.smt.proving.lemma import StagedLemma, StagedProof
from mmaproof.smt.proving.staged import prove_by_stages
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import steer

ROWS = 8
"""The number of samples from each distribution."""


def by_stages(
    question: Question, design: Design, ask: Ask, limits: Limits, seed: int, *, unconditionally: bool = False
) -> StagedProof:
    """Try to prove ``question`` stage by stage. Samples are shaped for ``design``.

    With ``unconditionally`` the claim is proved for all operands, which also proves the question. Otherwise nothing is
    proved if no sample meets the preconditions.
    """
    samples = Samples(sample_models(question, design, seed, unconditionally=unconditionally))
    whole = question.formula
    return prove_by_stages(
        replace(whole, precondition=None) if unconditionally else whole,
        lambda algebra: question.claim(algebra, question.symbols(algebra)),
        samples,
        ask,
        limits,
        question.related_results(),
        whole.violation,
    )


def sample_models(
    question: Question, design: Design, seed: int, *, unconditionally: bool = False, rows: int = ROWS
) -> list[Mapping[str, int]]:
    """Return N operands of every distribution, those that meet the preconditions, as symbol name -> value."""
    rng = np.random.default_rng(seed)
    count = sum(n for _, _, n in question.columns())
    names = [symbol.symbol_name() for symbol in question.formula.symbols[:count]]
    models: list[Mapping[str, int]] = []
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, rows, question.k, rng)
        if not unconditionally:
            batch = steer(batch, question, rng)
        for x in (batch.row(i) for i in range(len(batch))):
            if unconditionally or question.is_meant(x):
                values = (*x.a, *x.b, x.c, *x.scale_a, *x.scale_b)
                models.append(dict(zip(names, values, strict=True)))
    return models


def proved_of(lemmas: Iterable[StagedLemma]) -> tuple[LemmaVerdict, ...]:
    """Return the verdicts on the lemmas that are proved."""
    return tuple(lemma_verdict(x) for x in lemmas if x.status is Status.PROVED)


def lemma_verdict(lemma: StagedLemma) -> LemmaVerdict:
    """Return the verdict on a lemma of a staged proof."""
    x, times = lemma.reply, f", {lemma.uses} times" if lemma.uses > 1 else ""
    return LemmaVerdict(
        lemma.status,
        x.seconds,
        x.reason,
        x.model,
        x.solver,
        x.certified_by,
        x.stored,
        name=lemma.relation + times,
        stage=lemma.stage,
    )


def netlist_and_model(question: Question) -> tuple[Design, Design] | None:
    """Return the netlist and the design that it is compared with; None where the question is about something else."""
    if type(question) is not Equivalence:
        return None
    parametric = [x for x in question.designs if x.step.is_parametric]
    netlists = [x for x in question.designs if not x.step.is_parametric]
    if len(parametric) != 1 or len(netlists) != 1:
        return None
    return netlists[0], parametric[0]
