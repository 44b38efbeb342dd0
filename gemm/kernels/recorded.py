"""Which plans reproduce a recorded matrix product: nothing can be asked, so plans are tried one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np

from mmaproof.gemm.kernels.fit import Answer, differing, listed_plans, same_units, with_formats
from mmaproof.gemm.kernels.identify import COMPARING, EVERYTHING, KEPT, NEAREST, Trial, difference_at, fits
from mmaproof.gemm.kernels.outcome import Finding, Outcome
from mmaproof.gemm.kernels.rivals import rival
from mmaproof.gemm.programs import Plan
from mmaproof.hardware_replay.matrix_target import Product

SIDE = 8
"""Rows and columns of the elements that are compared first."""


def search_recorded(
    answer: Answer, product: Product, name: str, *, seconds: float, given: Iterable[Plan] = (), seed: int = 0
) -> Outcome:
    """Return which plans reproduce a recorded product: of ``given``, and of the plans that are listed.

    Elements from anywhere are compared first, then all. Without ``seconds`` left, the plans tried so far decide.
    """
    started = time.monotonic()
    until = started + seconds
    sample = _sample(answer, seed)
    finding = Finding(None, no_tree="a recorded product answers no masks")
    trial = Trial(product)
    agreeing = trial.agreeing
    late = False
    for plan in _candidates(product, given, trial):
        late = time.monotonic() > until
        if late or len(agreeing) >= KEPT:
            break
        if not trial.is_new(plan):
            continue
        finding.tried += 1
        wrong = differing(plan, sample, EVERYTHING, EVERYTHING)
        share = int(wrong.sum()) * max(answer.d.size // wrong.size, 1)
        if not wrong.any():
            share = int(differing(plan, answer, EVERYTHING, EVERYTHING).sum())
        if not share:
            agreeing.append(plan)
        else:
            trial.wrong.append(((0, share), len(trial.wrong), plan))
    if agreeing:
        finding.plan = agreeing[0]
        finding.rivals = [
            rival(finding.plan, x, product, min(COMPARING, until - time.monotonic())) for x in agreeing[1:]
        ]
        finding.units, finding.same = same_units(finding.plan.unit), trial.same_as(finding.plan)
        finding.validated = answer.d.size
    elif trial.wrong:
        finding.nearest = trial.nearest_first()[0]
        wrong = differing(finding.nearest, answer, EVERYTHING, EVERYTHING)
        finding.difference = difference_at(finding.nearest, answer, wrong)
    return Outcome(name, product, [finding], 0, time.monotonic() - started, recorded=True, late=late and not agreeing)


def _candidates(product: Product, given: Iterable[Plan], trial: Trial) -> Iterator[Plan]:
    yield from (x for x in given if fits(x, product))
    yield from listed_plans(product)
    if not trial.agreeing:
        yield from (y for x in trial.nearest_first()[:NEAREST] for y in with_formats(x, product))


def _sample(answer: Answer, seed: int) -> Answer:
    """Return some rows and columns of an answer."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.sort(rng.permutation(n)[:SIDE]) for n in answer.d.shape)
    return answer.part(rows, columns)
