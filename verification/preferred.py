"""Which witness of a difference is shown: one that is of use to whoever has a real unit, where the search finds one.

A witness holds under every reading if no open point makes the two results equal. One whose products are all zero shows
what is done with c, and is of no use to whoever cannot set c. The verdict stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.open_points import open_readings
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Precondition, ZeroAccumulator
from mmaproof.properties.question import Examined
from mmaproof.smt.arrays import ARRAYS, SharedBatch, evaluate_on_arrays
from mmaproof.smt.open_points import OpenPoints, open_points
from mmaproof.smt.solving.work import worked
from mmaproof.verification.search import Budget, search
from mmaproof.verification.simplify import simplest

PREFERRING = 1.0
"""Seconds for which another witness is looked for, for each thing that is preferred."""
_SEED = 0
ROWS, ROWS_AT_ONCE = 20_000, 64
"""Operand sets that are tried, and witnesses of a batch of them that are held against all readings."""


def fixed_parameters(question: Equivalence) -> frozenset[str] | None:
    """Return the parameters that the user set in either design; None if the question is about readings of one unit."""
    first, second = question.designs
    if first.base_name == second.base_name and (first.profile or second.profile):
        return None
    return frozenset((*first.changed, *second.changed))


def open_points_of(question: Equivalence, witness: Operands) -> dict[str, OpenPoints]:
    """Return the open points on which the results for a witness rest, by name of the design."""
    fixed = fixed_parameters(question)
    if fixed is None:
        return {}
    return {x.name: open_points(x, witness, nan_codes=question.nan_codes, fixed=fixed) for x in question.designs}


@dataclass(frozen=True)
class Readings:
    """The designs that two designs may be: the pairs of which no two may return the same."""

    question: Equivalence
    pairs: tuple[tuple[Design, Design], ...]

    @classmethod
    def of(cls, question: Equivalence) -> Readings:
        """Return the pairs of readings: of two units all, of one unit that was changed the same reading of both."""
        first, second = question.designs
        fixed = fixed_parameters(question)
        if fixed is None:
            return cls(question, ((first, second),))
        of_first, of_second = (open_readings(x, fixed) for x in (first, second))
        if first.base_name == second.base_name:
            others = {tuple(x.texts.items()): x.design for x in of_second}
            same = [(x.design, others.get(tuple(x.texts.items()), second)) for x in of_first]
            return cls(question, ((first, second), *same))
        held = [(x, *(r.design for r in of)) for x, of in ((first, of_first), (second, of_second))]
        return cls(question, tuple((x, y) for x in held[0] for y in held[1]))

    def told_apart(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return for which rows every pair returns different results."""
        shared = SharedBatch.of(batch)
        d = {x: evaluate_on_arrays(x, shared) for x in dict.fromkeys(x for pair in self.pairs for x in pair)}
        # most readings return the same, so each pair of results is compared once
        distinct = {(d[x].tobytes(), d[y].tobytes()): (d[x], d[y]) for x, y in self.pairs}
        apart = np.ones(len(batch), dtype=bool)
        for results in distinct.values():
            words = (ARRAYS.from_patterns(x, self.question.designs[0].d_format.bits) for x in results)
            apart &= ~self.question.are_equal(ARRAYS, *words).data
        return apart

    def told_apart_by(self, witness: Operands) -> bool:
        """Return whether every pair returns different results for one witness."""
        return bool(self.told_apart(OperandBatch.of_rows(self.question.designs[0].formats, [witness]))[0])


class _Preferred(Equivalence):
    """The same question about two designs, of which only some witnesses count."""

    def __init__(
        self, asked: Equivalence, also: Sequence[Precondition], readings: Readings | None, *, with_products: bool
    ) -> None:
        super().__init__(
            *asked.designs,
            k=asked.k,
            where=(*asked.where, *also),
            nan_codes=asked.nan_codes,
            zero_signs=asked.zero_signs,
        )
        self.readings, self.with_products = readings, with_products

    def examine(self, batch: OperandBatch) -> Examined:
        """Return which rows satisfy the preconditions, and which of them are witnesses that count."""
        meant, refuted = super().examine(batch)
        if self.with_products:
            refuted = refuted & has_products(self, batch)
        if self.readings is None:
            return meant, refuted
        chosen = np.flatnonzero(refuted)[:ROWS_AT_ONCE]
        counted = np.zeros_like(refuted)
        if len(chosen):
            counted[chosen] = self.readings.told_apart(batch.select(chosen))
        return meant, counted

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether operands are a witness that counts."""
        row = OperandBatch.of_rows(self.formats, [operands])
        return super().is_refuted_by(operands) and bool(self.examine(row)[1][0])


def has_products(question: Equivalence, batch: OperandBatch) -> npt.NDArray[np.bool_]:
    """Return which rows have a product that is not zero."""
    zero = []
    for x, fmt in zip((batch.a, batch.b), question.formats, strict=False):
        sign = 1 << fmt.sign_position if fmt.signed and not fmt.is_integer else 0
        zero.append((x == 0) | (x == sign))
    found: npt.NDArray[np.bool_] = ~(zero[0] | zero[1]).all(axis=1)
    return found


def preferred(
    question: Equivalence, design: Design, witness: Operands, *, seconds: float, simplifying: float
) -> tuple[Operands, str]:
    """Return a witness that holds under every reading and has products, and c = 0 if possible, and where it is from.

    The search has one seed, so that a witness that was kept in a store leads to the same one again.
    The text is empty if it is ``witness``, because that will do or nothing better was found.
    """
    if not all(x.step.is_parametric for x in question.designs):
        return witness, ""
    readings = Readings.of(question)
    holds = readings.told_apart_by(witness)
    multiplies = bool(has_products(question, OperandBatch.of_rows(question.formats, [witness]))[0])
    if holds and multiplies:
        return witness, ""
    zero_c = () if question.formats[2].is_integer else (ZeroAccumulator(),)
    wanted: list[tuple[Sequence[Precondition], Readings | None, bool]] = [
        (zero_c, readings, True),
        ((), readings, True),
    ]
    if not holds:
        wanted += [((), readings, False)] + ([] if multiplies else [(zero_c, None, True), ((), None, True)])
    for also, held, with_products in wanted:
        try:
            asked = _Preferred(question, also, held, with_products=with_products)
        except InputError:  # no such operands are meant
            continue
        found = search(asked, design, seed=_SEED, budget=Budget(ROWS, seconds))
        if found.witnesses:
            simple = simplest(asked, found.witnesses, worked() + simplifying)
            return simple, f"search for operands of use (seed {_SEED}, {found.rows} operand sets tried)"
    return witness, ""
