"""Exact values as text: sign, odd significand and power of two, or what a bit pattern means."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics.unpack import Unpacked, unpack


def exact(value: Fraction, negative_zero: bool = False) -> str:
    """Return ``value``, a multiple of some power of two, as sign, odd significand and power: ``-3 * 2^2``, ``+0``."""
    if not value:
        return "-0" if negative_zero else "+0"
    significand = abs(value.numerator)
    places = (significand & -significand).bit_length() - 1
    power = places - (value.denominator.bit_length() - 1)
    return f"{'-' if value < 0 else '+'}{significand >> places} * 2^{power}"


def pattern_value(fmt: Format, pattern: int) -> str:
    """Return what ``pattern`` means: its exact value, ``NaN`` or a signed ``infinity``."""
    x = unpacked(fmt, pattern)
    if x.nan.data:
        return "NaN"
    if x.infinite.data:
        return "-infinity" if x.negative.data else "+infinity"
    return exact(finite(x), x.negative.data)


def unpacked(fmt: Format, pattern: int) -> Unpacked[int, bool]:
    """Return the parts of a bit pattern."""
    algebra = IntegerAlgebra()
    return unpack(algebra, fmt, algebra.unsigned(pattern, fmt.bits))


def finite(x: Unpacked[int, bool]) -> Fraction:
    """Return the value of an unpacked pattern that is neither NaN nor infinite."""
    return scaled((-1) ** x.negative.data * x.significand.data, x.exponent.data - x.fraction_bits)


def scaled(integer: int, weight: int) -> Fraction:
    """Return ``integer * 2**weight``."""
    return Fraction(integer) * Fraction(2) ** weight


def units(value: Fraction, weight: int) -> int:
    """Return the magnitude of ``value`` in units of ``2**weight``, cut."""
    return int(abs(value) / scaled(1, weight))


def names(labels: Sequence[str]) -> str:
    """Return p0, p1, p2, p8, c as ``p0..p2, p8, c``."""
    runs: list[list[str]] = []
    for label in labels:
        if runs and label != "c" and int(label[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)
