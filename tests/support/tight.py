"""Terms of bounds made smaller, one at a time: what a tight witness exceeds then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from mmaproof.designs.design import Design
from mmaproof.gemm.programs.schedule import Flush
from mmaproof.gemm.tolerances import bound, tolerance, walk
from mmaproof.gemm.tolerances.given import Box, Side
from mmaproof.properties import step_loss
from mmaproof.properties.step_loss import StepLoss

PART = Fraction(9, 10)
"""What is left of a term: a witness exceeds a bound with less of it."""

Lessen = Callable[[pytest.MonkeyPatch], None]


def _of_loss(change: Callable[[StepLoss], StepLoss]) -> Lessen:
    def lessen(patch: pytest.MonkeyPatch) -> None:
        for module in (bound, tolerance):
            patch.setattr(module, "loss_of", lambda design: change(step_loss.loss_of(design)))

    return lessen


def _term(name: str) -> Lessen:
    return _of_loss(lambda loss: replace(loss, **{name: getattr(loss, name) * PART}))


def _smallest(patch: pytest.MonkeyPatch) -> None:
    true = bound._Numbers.of

    def of(design: Design, loss: StepLoss) -> Any:
        found = true(design, loss)
        return replace(found, smallest=found.smallest / 2)

    patch.setattr(bound._Numbers, "of", of)


def _last_bits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bound, "_CUT_ONE_BY_ONE", 0)
    true = vars(Side)["reciprocal_last_bits"].func
    patch.setattr(Side, "reciprocal_last_bits", property(lambda side: true(side) / 2))


def _rests(patch: pytest.MonkeyPatch) -> None:
    true = bound._Each.taken
    patch.setattr(bound._Each, "taken", lambda *given: true(*given) * float(PART))


def _flushed_operands(patch: pytest.MonkeyPatch) -> None:
    true = bound.flushed_products
    for module in (bound, tolerance):
        patch.setattr(module, "flushed_products", lambda *given: true(*given) * float(PART))


def _flushed_sums(patch: pytest.MonkeyPatch) -> None:
    true = walk._perform

    def perform(operation: Any, held: Any, *given: Any) -> Any:
        found = true(operation, held, *given)
        if isinstance(operation, Flush):
            before = held[operation.x].error
            found = replace(found, error=before + (found.error - before) * float(PART))
        return found

    patch.setattr(walk, "_perform", perform)


def _rounded_outside(patch: pytest.MonkeyPatch) -> None:
    true = step_loss.rounding_unit
    patch.setattr(walk, "rounding_unit", lambda *given: true(*given) * PART)


def _boxed(change: Callable[[Box], Box]) -> Lessen:
    true = tolerance._box

    def lessen(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(tolerance, "_box", lambda *given: change(true(*given)))

    return lessen


LESSENED: dict[str, Lessen] = {
    **{name: _term(name) for name in ("of_products", "of_sums", "of_c", "rounded_sums", "rounded_c", "flushed")},
    "least_exponent": _of_loss(lambda loss: replace(loss, least_exponent=loss.least_exponent - 1)),
    "excess": _of_loss(lambda loss: replace(loss, excess=loss.excess - 1)),
    "largest": _of_loss(lambda loss: replace(loss, largest=loss.largest / PART)),
    "smallest": _smallest,
    "last bits": _last_bits,
    "rests": _rests,
    "flushed operands": _flushed_operands,
    "flushed sums of plans": _flushed_sums,
    "rounded outside": _rounded_outside,
    "last bits of a range": _boxed(lambda box: replace(box, last_bit=box.last_bit * 2)),
    "subnormal numbers of a range": _boxed(lambda box: replace(box, subnormal=box.subnormal * float(PART))),
}
