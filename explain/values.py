"""Exact values as text: sign, odd significand and power of two, or what a bit pattern means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.datapath import Part, Product
from mmaproof.smt.semantics.integer_step import read_integer
from mmaproof.smt.semantics.patterns import Unpacked

_ALGEBRA = IntegerAlgebra()


def exact(value: Fraction, negative_zero: bool = False) -> str:
    """Return ``value``, a multiple of some power of two, as sign, odd significand and power: ``-3 * 2^2``, ``+0``."""
    if not value:
        return "-0" if negative_zero else "+0"
    significand = abs(value.numerator)
    places = (significand & -significand).bit_length() - 1
    power = places - (value.denominator.bit_length() - 1)
    return f"{'-' if value < 0 else '+'}{significand >> places} * 2^{power}"


def magnitude(value: Fraction) -> str:
    """Return the magnitude of ``value`` without a sign, a power of two as just that: ``3 * 2^2``, ``2^-4``, ``0``."""
    return exact(abs(value)).removeprefix("+").removeprefix("1 * ")


def pattern_value(fmt: Format, pattern: int) -> str:
    """Return what ``pattern`` means: its exact value, ``NaN`` or a signed ``infinity``; an integer in decimal."""
    if fmt.is_integer:
        return f"{pattern_number(fmt, pattern).numerator:+d}"
    x = unpacked(fmt, pattern)
    if x.nan.data:
        return "NaN"
    if x.infinite.data:
        return "-infinity" if x.negative.data else "+infinity"
    return exact(finite(x), x.negative.data)


def pattern_number(fmt: Format, pattern: int, *, flushes: bool = False) -> Fraction:
    """Return the value of ``pattern``; an infinity reads as 2**(e_max + 1), a NaN means nothing."""
    if fmt.is_integer:
        return Fraction(read_integer(_ALGEBRA, fmt, _ALGEBRA.unsigned(pattern, fmt.bits)).data)
    return finite(unpacked(fmt, pattern, flushes=flushes))


def unpacked(fmt: Format, pattern: int, *, flushes: bool = False) -> Unpacked[int, bool]:
    """Return the parts of a bit pattern; with ``flushes``, a subnormal reads as +0 (nobody asks its sign)."""
    return ieee.read(_ALGEBRA, fmt, _ALGEBRA.unsigned(pattern, fmt.bits), flushes=flushes)


def is_finite(fmt: Format, pattern: int) -> bool:
    """Return whether ``pattern`` is neither NaN nor infinite."""
    if fmt.is_integer:
        return True
    x = unpacked(fmt, pattern)
    return not (x.nan.data or x.infinite.data)


def is_negative_zero(fmt: Format, pattern: int) -> bool:
    """Return whether ``pattern`` is -0."""
    x = None if fmt.is_integer else unpacked(fmt, pattern)
    return x is not None and x.zero.data and x.negative.data and not x.nan.data


def is_subnormal(fmt: Format, pattern: int) -> bool:
    """Return whether ``pattern`` is a subnormal number."""
    return not fmt.is_integer and unpacked(fmt, pattern).subnormal.data


def finite(x: Unpacked[int, bool]) -> Fraction:
    """Return the value of an unpacked pattern that is neither NaN nor infinite."""
    return scaled((-1) ** x.negative.data * x.significand.data, x.exponent.data - x.fraction_bits)


def scaled(integer: int, weight: int) -> Fraction:
    """Return ``integer * 2**weight``."""
    return Fraction(integer) * Fraction(2) ** weight


def units(value: Fraction, weight: int) -> int:
    """Return the magnitude of ``value`` in units of ``2**weight``, cut."""
    return int(abs(value) / scaled(1, weight))


def top_weight(value: Fraction) -> int:
    """Return the weight of the highest bit of ``value``, a multiple of some power of two that is not zero."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length()


def names(labels: Sequence[object]) -> str:
    """Return the labels p0, p1, p2, p8, c as ``p0..p2, p8, c``; a product in the place of all of its parts."""
    runs: list[list[object]] = []
    for label in _with_whole_products(labels):
        last = runs[-1][-1] if runs else None
        if isinstance(label, Product) and isinstance(last, Product) and label.k == last.k + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _with_whole_products(labels: Sequence[object]) -> Iterator[object]:
    """Yield the labels, one product in the place of all parts of it, where they follow each other."""
    left = [*labels]
    while left:
        first = left[0]
        count = first.parts if isinstance(first, Part) else 1
        alike = [x for x in left[:count] if isinstance(x, Part) and isinstance(first, Part) and x.k == first.k]
        whole = len(alike) == count
        yield Product(alike[0].k) if whole else first
        del left[: count if whole else 1]


def listed(items: Sequence[str], limit: int = 4) -> str:
    """Return the first items and how many more there are."""
    more = [f"and {len(items) - limit} more"] if len(items) > limit else []
    return ", ".join([*items[:limit], *more])
