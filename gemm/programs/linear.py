"""What a schedule computes without any rounding: ``sum_k weight[k]*a[k]*b[k] + weight_c*c``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, assert_never

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.gemm.programs.schedule import (
    Add,
    Call,
    Combine,
    Convert,
    Flush,
    Multiply,
    MultiplyAdd,
    Operand,
    Operation,
    Residues,
    Scale,
    Schedule,
    Slices,
    Split,
    Weigh,
    Zero,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """The exact factors of the products, by k, and of c. Products that are left out are not in d.

    They are numbers, or arrays where factors are. ``calls`` are those of the sums that calls of a unit make, by index.
    Words of slices and residues are multiplied with the powers of their rows and columns besides.
    """

    products: dict[int, Any]
    c: Any
    calls: dict[int, Any]


def weights_of(schedule: Schedule, factors: Sequence[Any] = ()) -> Weights:
    """Return the exact weights of the products and of c in d. ``factors`` are those that are operands.

    The first words of operands stand for the operands, and the others for what the first ones lost, which is nothing.
    """
    last = len(schedule.operations) - 1
    weights: dict[int, Any] = {last: Fraction(1)}
    products: dict[int, Any] = {}
    calls: dict[int, Any] = {}
    of_c: Any = Fraction(0)
    for i in range(last, -1, -1):
        operation, weight = schedule.operations[i], weights.pop(i, Fraction(0))
        if isinstance(operation, Operand):
            of_c = weight
        elif isinstance(operation, Call):
            calls[i] = weight
            first = prod(weights_of_words(schedule.operations[x.cut])[0] for x in operation.words)
            for k in operation.ks if operation.is_first else ():
                products[k] = products.get(k, 0) + weight / first
        for x, part in _taken(operation, weight, factors):
            weights[x] = weights[x] + part if x in weights else part
    return Weights(products, of_c, calls)


def _taken(operation: Operation, weight: Any, factors: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return what an operation of a weight takes, with the weights of that."""
    match operation:
        case Operand() | Zero() | Split() | Slices() | Residues():
            taken = []
        case Call(c=c):
            taken = [(c, weight)]
        case Add(x=x, y=y):
            taken = [(x, weight), (y, weight)]
        case Multiply(x=x, factor=factor, fmt=fmt):
            times = constant(fmt, factor) if isinstance(factor, int) else factors[factor.index]
            taken = [(x, weight * times)]
        case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            taken = [(x, weight * constant(fmt, factor)), (y, weight)]
        case Convert(x=x) | Flush(x=x):
            taken = [(x, weight)]
        case Scale(x=x, places=places) | Weigh(x=x, places=places):
            taken = [(x, weight * Fraction(2) ** places)]
        case Combine(xs=xs):  # the first sum stands for all of them
            taken = [(xs[0], weight)]
        case _:
            assert_never(operation)
    return taken


def weights_of_words(operation: Operation) -> tuple[Fraction, ...]:
    """Return what the words of an operand are multiplied with in their sum, which stands for the operand.

    Slices are multiplied with the power of their row or column besides. Of residues the first one stands for all.
    """
    match operation:
        case Split(count=count, scale=scale):
            return tuple(Fraction(2) ** (-scale * i) for i in range(count))
        case Slices(count=count):
            return tuple(Fraction(2) ** operation.weight(i) for i in range(count))
        case _:
            return (Fraction(1),)


def exact_result(
    schedule: Schedule, a: Sequence[Fraction], b: Sequence[Fraction], c: Fraction, factors: Sequence[Fraction] = ()
) -> Fraction:
    """Return what the schedule computes of these numbers without any rounding. a and b are times their scales."""
    weights = weights_of(schedule, factors)
    products = (weight * a[k] * b[k] for k, weight in weights.products.items())
    return Fraction(sum(products, weights.c * c))


def constant(fmt: Format, pattern: int) -> Fraction:
    """Return the number of a finite pattern of an IEEE 754 format without ignored bits."""
    fraction = pattern & ((1 << fmt.fraction_bits) - 1)
    field = pattern >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
    if field == (1 << fmt.exponent_bits) - 1 or fmt.ignored_bits:
        raise DesignError(f"{fmt.hex(pattern)} is not a finite constant of {fmt.name}")
    significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
    magnitude = significand * Fraction(2) ** (max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits)
    return -magnitude if pattern >> fmt.sign_position else magnitude
