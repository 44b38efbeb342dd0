"""What a schedule computes without any rounding: ``sum_k weight[k]*a[k]*b[k] + weight_c*c``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.plans.schedule import Add, Call, Convert, Flush, Multiply, MultiplyAdd, Operand, Schedule, Zero


@dataclass(frozen=True, slots=True)
class Weights:
    """The exact factors of the products, by k, and of c."""

    products: dict[int, Fraction]
    c: Fraction

    def plus(self, other: Weights) -> Weights:
        """Return the weights of a sum."""
        products = dict(self.products)
        for k, x in other.products.items():
            products[k] = products.get(k, Fraction(0)) + x
        return Weights(products, self.c + other.c)

    def times(self, factor: Fraction) -> Weights:
        """Return the weights of a product with a constant."""
        return Weights({k: x * factor for k, x in self.products.items()}, self.c * factor)


NOTHING = Weights({}, Fraction(0))


def weights_of(schedule: Schedule, factors: Sequence[Fraction] = ()) -> Weights:
    """Return the exact weights of the products and of c in d. ``factors`` are those that are operands."""
    found: list[Weights] = []
    for operation in schedule.operations:
        match operation:
            case Operand():
                made = Weights({}, Fraction(1))
            case Zero():
                made = NOTHING
            case Call(ks=ks, c=c):
                made = found[c].plus(Weights(dict.fromkeys(ks, Fraction(1)), Fraction(0)))
            case Add(x=x, y=y):
                made = found[x].plus(found[y])
            case Multiply(x=x, factor=factor, fmt=fmt):
                times = constant(fmt, factor) if isinstance(factor, int) else factors[factor.index]
                made = found[x].times(times)
            case MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
                made = found[x].times(constant(fmt, factor)).plus(found[y])
            case Convert(x=x) | Flush(x=x):
                made = found[x]
            case _:
                assert_never(operation)
        found.append(made)
    return found[-1]


def exact_result(
    schedule: Schedule, a: Sequence[Fraction], b: Sequence[Fraction], c: Fraction, factors: Sequence[Fraction] = ()
) -> Fraction:
    """Return what the schedule computes of these numbers without any rounding. a and b are times their scales."""
    weights = weights_of(schedule, factors)
    products = (weight * a[k] * b[k] for k, weight in weights.products.items())
    return sum(products, weights.c * c)


def constant(fmt: Format, pattern: int) -> Fraction:
    """Return the number of a finite pattern of an IEEE 754 format without ignored bits."""
    fraction = pattern & ((1 << fmt.fraction_bits) - 1)
    field = pattern >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
    if field == (1 << fmt.exponent_bits) - 1 or fmt.ignored_bits:
        raise DesignError(f"{fmt.hex(pattern)} is no finite constant of {fmt.name}")
    significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
    magnitude = significand * Fraction(2) ** (max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits)
    return -magnitude if pattern >> fmt.sign_position else magnitude
