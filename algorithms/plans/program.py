"""A schedule as a program over ``Arithmetic``: it runs on integers, arrays, terms and enclosures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, assert_never

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.numbers import Number
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.plans.lengths import shortest_k
from mmaproof.designs.plans.plan import ONE, Plan, Rescale
from mmaproof.designs.plans.schedule import (
    FUSED,
    Add,
    Call,
    Convert,
    Factor,
    Flush,
    Multiply,
    MultiplyAdd,
    Operand,
    Operation,
    Schedule,
    Zero,
    spelled_ks,
)
from mmaproof.smt.algebra.protocol import D, T


@dataclass(frozen=True, slots=True)
class Elements(Generic[D]):
    """The elements of a and b, one for each k, c, the scales of blocks of a and of b, and factors that are operands."""

    a: Sequence[Number[D]]
    b: Sequence[Number[D]]
    c: Number[D]
    scales: tuple[Sequence[Number[D]], Sequence[Number[D]]] = ((), ())
    factors: Sequence[Number[D]] = ()


def require(plan: Plan) -> None:
    """Raise DesignError where the algorithm of a plan does not run on its unit, InputError where there is none."""
    if plan.algorithm is not None:
        find_algorithm(plan.algorithm).require(plan.unit)


def run(arithmetic: Arithmetic[D, T], schedule: Schedule, elements: Elements[D]) -> Number[D]:
    """Return d as the schedule computes it from operands."""
    values: list[Number[D]] = []
    for i, operation in enumerate(schedule.operations):
        values.append(perform(arithmetic, operation, label_of(operation, i), values, elements))
    return values[-1]


def label_of(operation: Operation, index: int) -> str:
    """Return what an operation is called where all of them are shown."""
    match operation:
        case Call(ks=ks):
            return f"v{index}, k = {spelled_ks(ks)}"
        case Add():
            return "outside"
        case _:
            return f"v{index}"


def perform(
    arithmetic: Arithmetic[D, T],
    operation: Operation,
    label: str,
    values: Sequence[Number[D]],
    operands: Elements[D],
) -> Number[D]:
    """Return the number that an operation makes from the numbers of the operations before it."""
    match operation:
        case Operand():
            return operands.c
        case Zero(fmt=fmt):
            return arithmetic.zero(fmt)
        case Call(unit=unit, ks=ks, c=start, algorithm=algorithm):
            elements = [operands.a[k] for k in ks], [operands.b[k] for k in ks]
            if algorithm is None:
                first, second = ([side[i] for i in operation.blocks] for side in operands.scales)
                return arithmetic.call(label, unit, *elements, values[start], (first, second))
            return find_algorithm(algorithm).run(arithmetic, unit, *elements, values[start])
        case outside:
            return _outside(arithmetic, outside, label, values, operands.factors)


def _outside(
    arithmetic: Arithmetic[D, T],
    operation: Add | Multiply | MultiplyAdd | Convert | Flush,
    label: str,
    values: Sequence[Number[D]],
    factors: Sequence[Number[D]],
) -> Number[D]:
    """Return the number that an operation outside the unit makes."""
    match operation:
        case Add(x=x, y=y, rounding=rounding):
            return arithmetic.add(label, values[x], values[y], rounding)
        case Multiply(x=x, factor=factor):
            if isinstance(factor, Factor):
                return arithmetic.product(label, values[x], factors[factor.index])
            return arithmetic.multiply(label, values[x], factor)
        case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            constant = arithmetic.constant(fmt, factor)
            return arithmetic.call(label, find_design(FUSED[fmt.name]), [values[x]], [constant], values[y])
        case Convert(x=x, fmt=fmt, rounding=rounding):
            return arithmetic.convert(label, values[x], fmt, rounding)
        case Flush(x=x):
            return arithmetic.flush(label, values[x])
        case _:
            assert_never(operation)


def schedule_of(plan: Plan, k: int) -> Schedule:
    """Return the schedule of a plan that can be computed. Raises DesignError where it cannot."""
    require(plan)
    return plan.schedule(k)


@dataclass(frozen=True)
class PlanProgram:
    """A plan whose exact result is ``c + sum a*b``, as a program whose errors are compared with others.

    Raises DesignError for a plan that scales its sum, or does not read c.
    """

    plan: Plan

    def __post_init__(self) -> None:
        epilogue = self.plan.epilogue
        scaled = (epilogue.alpha, epilogue.beta) != (ONE, ONE)
        if scaled or any(isinstance(x, Rescale) for x in self.plan.levels):
            raise DesignError(f"{self.plan.name} scales its sum: errors are compared of c + sum a*b")
        if self.plan.scale_format is not None:
            raise DesignError(f"{self.plan.name} has scales of blocks: errors are compared of c + sum a*b without them")

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.plan.name

    @property
    def interface(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return self.plan.formats

    def check_length(self, unit: Design, k: int) -> None:
        """Raise DesignError where so many elements do not fit the plan."""
        schedule_of(self.plan, k)

    def shortest_k(self, unit: Design) -> int:
        """Return the least K at which all parts of the plan occur."""
        return shortest_k((self.plan,))

    def require(self, unit: Design) -> None:
        """Raise DesignError where the plan's algorithm does not run on its unit."""
        require(self.plan)

    def run(
        self, arithmetic: Arithmetic[D, T], unit: Design, a: Sequence[Number[D]], b: Sequence[Number[D]], c: Number[D]
    ) -> Number[D]:
        """Return d as the plan computes it."""
        return run(arithmetic, schedule_of(self.plan, len(a)), Elements(a, b, c))
