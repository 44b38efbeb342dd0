"""Equivalence of two plans: the same d for the same operands, bit for bit.

That a unit never makes a -0: a step whose c is not -0 returns no -0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import steps_of_chain
from mmaproof.designs.conversions import Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.operands import OperandBatch
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.programs.evaluate import rows
from mmaproof.gemm.programs.normal_form import Numbering, same_computation, takes_any_order
from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.gemm.programs.plan import JoinsC, Plan
from mmaproof.gemm.programs.program import Elements, Values, perform, run
from mmaproof.gemm.programs.schedule import Call, Combine, Convert, Cut, Operand, Schedule, Weigh
from mmaproof.properties.preconditions import Precondition, restricting
from mmaproof.properties.question import Argument, OtherQuestion, Question
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import DotProduct, OperandWords, equal_results

MOST_PRODUCTS = 256
"""Products of plans that are one computation, up to which a theorem says so of their formula."""
MOST_SUMMED = 6
"""Numbers about whose sums a lemma is asked: more additions are more than solvers decide."""


class PlanEquivalence(Question):
    """Both plans return equal d for ``k`` elements: both are NaN, or they have the same bits (+0 and -0 differ).

    Random bits that are an operand are one operand of both: they have every value, and each plan gets the same.

    Raises DesignError if the plans take or return different formats, or if ``k`` does not fit one of them, and
    InputError if a range of exponents leaves only zeros.
    """

    def __init__(self, first: Plan, second: Plan, *, k: int, where: Sequence[Precondition] = ()) -> None:
        unread = "c" if first.epilogue.c is second.epilogue.c is JoinsC.NONE else ""
        for x, f, g in zip("abcd", first.formats, second.formats, strict=True):
            if f is not g and x != unread:
                raise DesignError(
                    f"{first.name} and {second.name} are not comparable: {x} is {f.name} in one, {g.name} in the other"
                )
        if where and first.formats[2].is_integer:
            raise DesignError(f"{first.name} is of an integer unit: preconditions are of floating-point operands")
        self.plans = (first, second)
        self.k = k
        self.schedules = (first.schedule(k), second.schedule(k))
        self.formats = first.formats[:3]
        if first.has_factors or second.has_factors:
            raise DesignError(
                f"{first.name} and {second.name}: bits are compared for all a, b and c, and not for factors that are "
                "operands: state constants, such as rescale=64:0.5"
            )
        self.random_bits = max(x.random_bits for x in self.plans)
        if min(x.random_bits for x in self.plans) not in (0, self.random_bits):
            raise DesignError(
                f"{first.name} takes {first.random_bits} random bits and {second.name} takes {second.random_bits}: "
                "which of them are the same is not stated; state those of one, such as out=e4m3:sr8@0x80"
            )
        if (first.scale_format, first.unit.block) != (second.scale_format, second.unit.block):
            raise DesignError(f"{first.name} and {second.name} are not comparable: their scales of blocks differ")
        self.scale_format, self.blocks = first.scale_format, first.blocks(k)
        self.where = restricting(where, self.formats)

    @property
    def d_format(self) -> Format:
        """The format of d."""
        return self.plans[0].formats[3]

    def is_same_computation(self) -> bool:
        """Return whether both schedules are one computation."""
        return same_computation(*self.schedules)

    def results(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> tuple[Word[D], ...]:
        """Return d of each plan."""
        a, b, (c,) = (
            [Number(f, w, Span.of_format(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        elements = Elements(a, b, c, self._scales(operands), random=next(iter(operands.random), None))
        return tuple(run(Arithmetic(algebra), x, elements).word for x in self.schedules)

    def columns(self) -> list[tuple[str, Format, int]]:
        """Return the columns, with that of the random bits where they are an operand."""
        columns = super().columns()
        if self.random_bits:
            fmt = _random_format(self.random_bits)
            columns += [(x, fmt, 0) for x in ("scale_a", "scale_b") if self.scale_format is None]
            columns.append(("random", fmt, 1))
        return columns

    def completed(self, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
        """Return the rows with random bits where they are an operand: in half of the rows the ends and the middle."""
        if not self.random_bits:
            return batch
        largest = (1 << self.random_bits) - 1
        special = np.array([0, 1, largest, largest >> 1, (largest >> 1) + 1], dtype=np.int64)
        any_of_them = rng.integers(0, largest, len(batch), endpoint=True)
        chosen = np.where(rng.integers(0, 2, len(batch)), rng.choice(special, len(batch)), any_of_them)
        return replace(batch, random=chosen.astype(np.uint32)[:, np.newaxis])

    def _scales(self, operands: OperandWords[D]) -> tuple[Sequence[Number[D]], Sequence[Number[D]]]:
        fmt = self.scale_format
        if fmt is None:
            return (), ()
        first, second = ([Number(fmt, w, Span.of_format(fmt)) for w in x] for x in (operands.scale_a, operands.scale_b))
        return first, second

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether both plans return equal d."""
        d, e = self.results(algebra, operands)
        return equal_results(algebra, self.d_format, d, e)

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim.

        The units compute many rows by native code where that pays.
        """
        meant = self.examine_precondition(batch)
        d, e = (rows(x, batch) for x in self.schedules)
        return meant, meant & ~equal_patterns(self.d_format, d, e)

    def argument(self) -> Argument | None:
        """Return that one computation, if it is no longer than a formula can be, returns what it returns."""
        return self._the_same if self.k <= MOST_PRODUCTS and self.is_same_computation() else None

    def _the_same(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        d, _ = self.results(algebra, self.symbols(algebra))
        use_equal_results(kernel, d, partial(equal_results, algebra, self.d_format))

    def lemmas(self) -> Sequence[Lemma]:
        """Return that the sums are equal whatever the units return, if both plans make the same calls of units."""
        lemma = WhateverTheUnitsReturn(*self.schedules)
        return (lemma,) if lemma.compares_same_calls else ()

    def other_questions(self) -> Sequence[OtherQuestion]:
        """Return, where the plans differ in the order of products within steps alone, that it does not matter.

        The steps of a call are a chain: the question is asked of each kind of step in it (``steps_of_chain``).
        """
        if not same_computation(*self.schedules, any_order_in_steps=True):
            return ()
        from mmaproof.properties.library.order import OrderIndependence  # noqa: PLC0415  (loads all properties)

        units = {x.unit for schedule in self.schedules for x in schedule.calls}
        asked, found = OrderIndependence(), []
        for unit in sorted(units, key=lambda x: x.name):
            if not takes_any_order(unit) or unit.step.L == 1:
                continue
            # a longer call is a chain of instructions only where c has the format of d
            steps = steps_of_chain(unit, unit.k)
            if steps is None:
                return ()
            for step in steps:
                name = f"{asked.name} of {unit.name}" + ("" if step is steps[0] else ", in steps after the first")
                found.append(OtherQuestion(name, asked.question(step, Scope()), step))
        return found


_GIVEN = Call | Operand | Weigh | Combine
"""The operations about whose numbers nothing is known."""


class WhateverTheUnitsReturn(Lemma):
    """Two schedules make equal numbers of what the units return and of c, whatever those are.

    Calls of units that are one computation return one number. So do sums that are weighed with exponents of operands.
    """

    def __init__(self, first: Schedule, second: Schedule) -> None:
        self.schedules = (first, second)
        numbering = Numbering()
        self.numbers = (numbering.of(first), numbering.of(second))
        formats = {}
        for schedule, numbers in zip(self.schedules, self.numbers, strict=True):
            for operation, number in zip(schedule.operations, numbers, strict=True):
                if isinstance(operation, _GIVEN):
                    formats[f"v{number}"] = operation.fmt
        self.formats: dict[str, Format] = formats
        self.inputs = tuple(Input(name, fmt.bits) for name, fmt in formats.items())
        drawn = {x.rounding for schedule in self.schedules for x in schedule.operations if isinstance(x, Convert)}
        bits = {x.bits for x in drawn if isinstance(x, Stochastic) and x.drawn is None}
        self.inputs += tuple(Input("random", n) for n in bits)
        self.name = f"the sums of {len(self.inputs)} numbers are equal, whatever these are"

    @property
    def compares_same_calls(self) -> bool:
        """Whether both schedules make the same calls, and operations outside the unit alone tell them apart."""
        called = [
            {n for x, n in zip(schedule.operations, numbers, strict=True) if isinstance(x, Call)}
            for schedule, numbers in zip(self.schedules, self.numbers, strict=True)
        ]
        return called[0] == called[1] and len(self.inputs) <= MOST_SUMMED

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both make the same number."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        results = []
        for schedule, numbers in zip(self.schedules, self.numbers, strict=True):
            values: dict[int, Number[D]] = {}
            for i, (operation, number) in enumerate(zip(schedule.operations, numbers, strict=True)):
                fmt = operation.fmt
                if isinstance(operation, _GIVEN):
                    values[i] = Number(fmt, words[f"v{number}"], Span.of_format(fmt))
                elif not isinstance(operation, Cut):
                    unread = Elements((), (), arithmetic.zero(fmt), random=words.get("random"))
                    values[i] = perform(arithmetic, operation, "", Values(values, {}), unread)
            results.append(values[len(schedule.operations) - 1].word)
        return equal_results(algebra, self.schedules[0].formats[3], *results)


def _random_format(bits: int) -> Format:
    return find_format("b1" if bits == 1 else f"uint{bits}")


class NeverMinusZero(RunQuestion):
    """A step, or an instruction, returns -0 only if its c is -0."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether c is not -0."""
        return algebra.negation(algebra.is_value(operands.c, _minus_zero(self.design.c_format)))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether d is not -0."""
        return algebra.negation(algebra.is_value(results[0].d, _minus_zero(self.design.d_format)))


def never_minus_zero(unit: Design) -> Sequence[NeverMinusZero]:
    """Return questions that imply that a chain of instructions never returns -0 if it starts from another number.

    To add +0 to such a result, to nearest or towards zero, changes nothing. Every kind of step of the chain is asked
    about (``steps_of_chain``), or the whole instruction where it is not such a chain. There are none if a later step,
    or a later instruction, reads what the question does not cover.
    """
    steps = steps_of_chain(unit)
    if steps is not None:
        return [NeverMinusZero(x, Scope()) for x in steps]
    if unit.c_format is not unit.d_format or not unit.chain.keeps_infinities:
        return []
    return [NeverMinusZero(unit, Scope(k=unit.k))]


def _minus_zero(fmt: Format) -> int:
    return 1 << fmt.sign_position
