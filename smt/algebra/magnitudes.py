"""What stages, lemmas and coverage ask about a magnitude: where its top bit is, and whether it is rounded up.

A magnitude ``x`` with an ``exponent`` and ``fraction_bits`` is the number ``x * 2**(exponent - fraction_bits)``.
"""

from __future__ import annotations

from typing import Any

from mmaproof.smt.algebra.words import D, Truth, Word


def normalised(x: Word[D], exponent: Word[D]) -> tuple[Word[D], Word[D]]:
    """Return the unsigned ``x`` shifted left until its top bit is set, and the exponent that keeps the number the same.

    The number of fraction bits stays. The exponent (signed) gets as many bits as it needs for any ``x``; for zero it
    means nothing.
    """
    top, places = x.algebra.normalise(x)
    return top, exponent - places.as_signed()


def with_top_exponent(x: Word[D], exponent: Word[D], fraction_bits: int) -> tuple[Word[D], Word[D]]:
    """Return the unsigned ``x`` shifted left until its top bit is set, and the exponent E of that bit.

    The number is from ``2**E`` to below ``2**(E + 1)``: the top bit of the word as it comes weighs
    ``2**(exponent + width - 1 - fraction_bits)``, and every place that it is shifted by halves that. For zero, E means
    nothing.
    """
    return normalised(x, exponent + (x.width - 1 - fraction_bits))


def nearest_rounds_up(x: Word[D]) -> Truth[Any]:
    """Return whether rounding to nearest, ties to even, rounds up an unsigned word at its third lowest bit.

    The bit below that one is the round bit, and the lowest one says whether anything nonzero lies further down.
    """
    x = x.extend(max(x.width, 3))
    sticky, half, odd = (x.bit(i) for i in range(3))
    return half & (sticky | odd)
