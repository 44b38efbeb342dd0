"""A schedule as a program over ``Arithmetic``: it runs on integers, arrays, terms and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, assert_never

from mmaproof.gemm.programs import schedule as op
from mmaproof.gemm.programs.arithmetic import Arithmetic, Cutting, Number
from mmaproof.smt.algebra.protocol import D, T, Word


@dataclass(frozen=True, slots=True)
class Elements(Generic[D]):
    """The elements of a and b, one for each k, c, the scales of blocks of a and of b, and factors that are operands."""

    a: Sequence[Number[D]]
    b: Sequence[Number[D]]
    c: Number[D]
    scales: tuple[Sequence[Number[D]], Sequence[Number[D]]] = ((), ())
    factors: Sequence[Number[D]] = ()
    random: Word[D] | None = None
    """random bits of a conversion that takes them as an operand"""

    def of(self, side: str) -> Sequence[Number[D]]:
        """Return the elements of ``a`` or ``b``."""
        return self.a if side == "a" else self.b


@dataclass(frozen=True, slots=True)
class Values(Generic[D]):
    """What operations made, by their indices: numbers, and the words of operands."""

    numbers: dict[int, Number[D]]
    cuttings: dict[int, Cutting[D]]


def run(arithmetic: Arithmetic[D, T], schedule: op.Schedule, elements: Elements[D]) -> Number[D]:
    """Return d as the schedule computes it from operands."""
    return all_values(arithmetic, schedule, elements).numbers[len(schedule.operations) - 1]


def all_values(arithmetic: Arithmetic[D, T], schedule: op.Schedule, elements: Elements[D]) -> Values[D]:
    """Return what every operation of a schedule makes from operands."""
    values: Values[D] = Values({}, {})
    for i, operation in enumerate(schedule.operations):
        if isinstance(operation, op.Cut):
            values.cuttings[i] = cut(arithmetic, operation, elements)
        else:
            values.numbers[i] = perform(arithmetic, operation, label_of(operation, i), values, elements)
    return values


def label_of(operation: op.Operation, index: int) -> str:
    """Return what an operation is called where all of them are shown."""
    match operation:
        case op.Call(label="", ks=ks):
            return f"v{index}, k = {op.spelled_ks(ks)}"
        case op.Add(label=""):
            return "outside"
        case (
            op.Call(label=label)
            | op.Add(label=label)
            | op.Scale(label=label)
            | op.Weigh(label=label)
            | op.Combine(label=label)
        ):
            return label
        case op.Convert(label=label):
            return label or f"v{index}"
        case _:
            return f"v{index}"


def cut(arithmetic: Arithmetic[D, T], operation: op.Cut, operands: Elements[D]) -> Cutting[D]:
    """Return the words of the elements that an operation cuts."""
    elements = operands.of(operation.side)
    xs = [elements[k] for k in operation.ks]
    match operation:
        case op.Split():
            return arithmetic.split(operation, xs)
        case op.Slices():
            return arithmetic.slices(operation, xs)
        case op.Residues():
            return arithmetic.residues(operation, xs)
        case _:
            assert_never(operation)


def perform(
    arithmetic: Arithmetic[D, T], operation: op.Operation, label: str, values: Values[D], operands: Elements[D]
) -> Number[D]:
    """Return the number that an operation makes from what the operations before it made."""
    numbers = values.numbers
    match operation:
        case op.Operand():
            found = operands.c
        case op.Zero(fmt=fmt):
            found = arithmetic.zero(fmt)
        case op.Call(unit=unit, ks=ks, c=start):
            sides = zip((operands.a, operands.b), (operation.a, operation.b), strict=True)
            a, b = (_taken(xs, words, ks, values.cuttings) for xs, words in sides)
            first, second = ([side[i] for i in operation.blocks] for side in operands.scales)
            found = arithmetic.call(label, unit, a, b, numbers[start], (first, second))
        case op.Multiply(x=x, factor=op.Factor(index=index)):
            found = arithmetic.product(label, numbers[x], operands.factors[index])
        case op.Convert(x=x, fmt=fmt, rounding=rounding, out_of_range=stated):
            found = arithmetic.convert(label, numbers[x], fmt, rounding, stated, operands.random)
        case op.Scale(x=x, places=places):
            found = arithmetic.scale(label, numbers[x], places)
        case op.Weigh(x=x, a=of_a, b=of_b, places=places, fmt=fmt):
            found = arithmetic.weigh(label, numbers[x], values.cuttings[of_a], values.cuttings[of_b], places, fmt)
        case op.Combine(xs=xs, moduli=moduli, a=of_a, b=of_b, places=places, fmt=fmt):
            cuttings = values.cuttings[of_a], values.cuttings[of_b]
            found = arithmetic.combine(label, [numbers[x] for x in xs], moduli, *cuttings, places, fmt)
        case _:
            found = _outside(arithmetic, operation, label, numbers)
    return found


def _outside(
    arithmetic: Arithmetic[D, T], operation: op.Operation, label: str, numbers: Mapping[int, Number[D]]
) -> Number[D]:
    """Return the number that an operation of IEEE 754 makes."""
    match operation:
        case op.Add(x=x, y=y, rounding=rounding):
            return arithmetic.add(label, numbers[x], numbers[y], rounding)
        case op.Multiply(x=x, factor=int(factor)):
            return arithmetic.multiply(label, numbers[x], factor)
        case op.MultiplyAdd(x=x, factor=factor, y=y):
            return arithmetic.multiply_add(label, numbers[x], factor, numbers[y])
        case op.Flush(x=x):
            return arithmetic.flush(label, numbers[x])
        case _:
            raise TypeError(f"{operation} makes no number")


def _taken(
    elements: Sequence[Number[D]], words: op.Words | None, ks: Sequence[int], cuttings: Mapping[int, Cutting[D]]
) -> list[Number[D]]:
    """Return the numbers that a call multiplies: elements, or words of them."""
    return [elements[k] for k in ks] if words is None else cuttings[words.cut].at(words.word, ks)
