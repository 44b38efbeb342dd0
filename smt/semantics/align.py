"""Stage 3: the largest exponent, and every term cut to F fraction bits below it."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.parameters import Alignment, Parameters
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics.shifts import shift_right_jam
from mmaproof.smt.semantics.terms import Term


def largest_exponent(algebra: Algebra[D, T], parameters: Parameters, terms: Sequence[Term[D, T]]) -> Word[D]:
    """Return e_max (signed): the largest exponent of the terms that are present, and at least ``floor``.

    Where no term is present it is the least value of the word: every term is zero then.
    """
    width = max(t.exponent.width for t in terms)
    least = algebra.signed(-(1 << (width - 1)), width)
    exponents = [algebra.ite(t.present, t.exponent, least) for t in terms]
    if parameters.floor is not None:
        exponents.append(algebra.signed(parameters.floor))
    return algebra.maximum(exponents)


def align(
    algebra: Algebra[D, T], parameters: Parameters, term: Term[D, T], e_max: Word[D], integer_bits: int
) -> Word[D]:
    """Return the signed multiple of ``2**(e_max - F)`` that ``term`` is cut to, ``integer_bits + F + 1`` wide.

    Bits further than F below e_max are lost however far down they are, so dropping the fixed surplus of a
    significand with more than F fraction bits before the variable shift loses the same bits.
    """
    distance = algebra.subtract(e_max, term.exponent)
    amount = algebra.narrow_to_unsigned(algebra.ite(term.present, distance, algebra.signed(0)), distance.width - 1)
    surplus = term.fraction_bits - parameters.fraction_bits
    significand = algebra.shift_left(term.significand, max(-surplus, 0))
    magnitude_bits = integer_bits + parameters.fraction_bits
    if parameters.alignment is Alignment.FLOOR:
        value = algebra.conditional_negate(term.negative, significand)
        value = algebra.shift_right(algebra.drop_low(value, max(surplus, 0)), amount)
        return algebra.extend(value, magnitude_bits + 1)
    if parameters.alignment is Alignment.JAM:
        # one bit below the surplus is kept as the sticky bit, the rest is jammed into it
        significand = _drop_low_jam(algebra, significand, max(surplus, 0))
        magnitude = shift_right_jam(algebra, significand, amount)
    else:
        magnitude = algebra.shift_right(algebra.drop_low(significand, max(surplus, 0)), amount)
    return algebra.extend(algebra.conditional_negate(term.negative, magnitude), magnitude_bits + 1)


def _drop_low_jam(algebra: Algebra[D, T], x: Word[D], places: int) -> Word[D]:
    if not places:
        return x
    amount = algebra.unsigned(places, places.bit_length())
    return algebra.narrow(shift_right_jam(algebra, x, amount), x.width - places)
