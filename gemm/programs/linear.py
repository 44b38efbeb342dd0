"""What a schedule computes without any rounding: ``sum_k weight[k]*a[k]*b[k] + weight_c*c``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
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

    They are numbers, or arrays where factors are.
    """

    products: dict[int, Any]
    c: Any


def weights_of(schedule: Schedule, factors: Sequence[Any] = ()) -> Weights:
    """Return the exact weights of the products and of c in d. ``factors`` are those that are operands.

    The first words of operands stand for the operands, and the others for what the first ones lost, which is nothing.
    """
    last = len(schedule.operations) - 1
    weights: dict[int, Any] = {last: Fraction(1)}
    products: dict[int, Any] = {}
    of_c: Any = Fraction(0)
    for i in range(last, -1, -1):
        operation, weight = schedule.operations[i], weights.pop(i, Fraction(0))
        taken: list[tuple[int, Any]] = []
        match operation:
            case Operand():
                of_c = weight
            case Zero() | Split() | Slices() | Residues():
                pass
            case Call(ks=ks, c=c):
                taken = [(c, weight)]
                for k in ks if operation.is_first else ():
                    products[k] = products[k] + weight if k in products else weight
            case Add(x=x, y=y):
                taken = [(x, weight), (y, weight)]
            case Multiply(x=x, factor=factor, fmt=fmt):
                times = constant(fmt, factor) if isinstance(factor, int) else factors[factor.index]
                taken = [(x, weight * times)]
            case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
                taken = [(x, weight * constant(fmt, factor)), (y, weight)]
            case Convert(x=x) | Flush(x=x) | Scale(x=x) | Weigh(x=x):
                taken = [(x, weight)]
            case Combine(xs=xs):  # the first sum stands for all of them
                taken = [(xs[0], weight)]
            case _:
                assert_never(operation)
        for x, part in taken:
            weights[x] = weights[x] + part if x in weights else part
    return Weights(products, of_c)


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
        raise DesignError(f"{fmt.hex(pattern)} is no finite constant of {fmt.name}")
    significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
    magnitude = significand * Fraction(2) ** (max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits)
    return -magnitude if pattern >> fmt.sign_position else magnitude
