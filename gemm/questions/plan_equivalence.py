"""Equivalence of two plans: the same d for the same operands, bit for bit.

That a unit never makes a -0: a step whose c is not -0 returns no -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
from pysmt.fnode import FNode

from mmaproof.designs.arithmetic import steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.operands import OperandBatch
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span
from mmaproof.gemm.programs.evaluate import rows
from mmaproof.gemm.programs.normal_form import Numbering, same_computation, takes_any_order
from mmaproof.gemm.programs.plan import JoinsC, Plan
from mmaproof.gemm.programs.program import Elements, Values, all_values, perform
from mmaproof.gemm.programs.schedule import Add, Call, Combine, Operand, Schedule, Weigh, Zero
from mmaproof.properties.preconditions import Precondition, restricting
from mmaproof.properties.question import Argument, OtherQuestion, Question, RunQuestion, Scope
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves, use_equal_results
from mmaproof.smt.bundles.regrouped_steps import RegroupedSteps
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import DotProduct, OperandWords, equal_results

MOST_PRODUCTS = 1024
"""Products of plans that are one computation, up to which a theorem decides: a formula takes seconds above."""
MOST_SUMMED = 6
"""Numbers whose sums are compared in a lemma: more additions are more than solvers decide."""


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
        return tuple(self._values(algebra, x, operands)[len(x.operations) - 1] for x in self.schedules)

    def _values(self, algebra: Algebra[D, T], schedule: Schedule, operands: OperandWords[D]) -> dict[int, Word[D]]:
        """Return what the operations of a schedule make, by their indices."""
        found = all_values(Arithmetic(algebra), schedule, self._elements(operands))
        return {i: x.word for i, x in found.numbers.items()}

    def _elements(self, operands: OperandWords[D]) -> Elements[D]:
        a, b, (c,) = (
            [Number(f, w, Span.of_format(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        return Elements(a, b, c, self._scales(operands), random=next(iter(operands.random), None))

    def columns(self) -> list[tuple[str, Format, int]]:
        """Return the columns, with that of the random bits where they are an operand."""
        columns = super().columns()
        if self.random_bits:
            fmt = find_format("b1" if self.random_bits == 1 else f"uint{self.random_bits}")
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

    @property
    def decides_by_argument(self) -> bool:
        """Whether both are one computation of not too many products, or make the same calls and differ in few sums."""
        if self.is_same_computation():
            return self.k <= MOST_PRODUCTS
        numbering = Numbering()
        calls, given = list[set[int]](), set[int]()
        for schedule in self.schedules:
            numbered = list(zip(schedule.operations, numbering.of(schedule), strict=True))
            calls.append({n for x, n in numbered if isinstance(x, Call)})
            given |= {n for x, n in numbered if isinstance(x, _GIVEN)}
        return calls[0] == calls[1] and len(given) <= MOST_SUMMED

    def argument(self) -> Argument | None:
        """Return that one computation returns one number, or that its sums are equal, whatever units return."""
        if self.is_same_computation():
            return self._the_same
        return self._whatever_units_return if self.decides_by_argument else None

    def _the_same(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        operands, schedule = self.symbols(algebra), self.schedules[0]
        d = self._values(algebra, schedule, operands)[len(schedule.operations) - 1]
        use_equal_results(kernel, d, partial(equal_results, algebra, self.d_format))
        if self.d_format.is_integer and not kernel.complete:
            steps = RegroupedSteps(kernel, self.plans[0].unit)
            steps.same(*(self._summed(steps, x, operands) for x in self.schedules))

    def _summed(self, steps: RegroupedSteps, schedule: Schedule, operands: OperandWords[FNode]) -> Sequence[FNode]:
        """Prove that d of a schedule is a fold of words, and return these. Raises NotComposedError for other sums."""
        arithmetic, elements = Arithmetic(steps.algebra), self._elements(operands)
        values: Values[FNode] = Values({}, {})
        words: dict[int, Sequence[FNode]] = {}
        for i, operation in enumerate(schedule.operations):
            steps.begin()
            found = values.numbers[i] = perform(arithmetic, operation, "", values, elements)
            match operation:
                case Call(c=c):
                    words[i] = steps.of_steps(found.word, words[c])
                case Add(x=x, y=y):
                    words[i] = steps.of_sum(found.word, *((values.numbers[n].word, words[n]) for n in (x, y)))
                case Operand() | Zero():
                    words[i] = [found.word.data]
                case _:
                    raise NotComposedError("operations outside units that do not add integers")
        return words[len(schedule.operations) - 1]

    def _whatever_units_return(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        operands, leaves, results = self.symbols(algebra), Leaves(algebra), []
        for schedule in self.schedules:
            values = self._values(algebra, schedule, operands)
            given = (values[i] for i, x in enumerate(schedule.operations) if isinstance(x, _GIVEN))
            leaves.parts(*given, *operands.random)
            results.append(values[len(schedule.operations) - 1])
        equal = equal_results(algebra, self.d_format, *results)
        leaves.use_of(LawsInUse(kernel), equal, (), "the sums are equal, whatever the units return")

    def other_questions(self) -> Sequence[OtherQuestion]:
        """Return, where the plans differ in the order of products within steps alone, that it does not matter.

        The steps of a call are a chain: the question is asked of each kind of step in it (``steps_of_chain``).
        """
        if not same_computation(*self.schedules, any_order_in_steps=True):
            return ()
        from mmaproof.properties.library.symmetry import OrderIndependence  # noqa: PLC0415  (loads all properties)

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
"""The operations about whose results nothing is said where sums of them are compared."""


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
