"""Shifts that stages share: normalisation, a variable left shift, and the right shift that jams lost bits."""

from __future__ import annotations

from mmaproof.smt.algebra.protocol import Algebra, D, T, Word


def normalise(algebra: Algebra[D, T], x: Word[D]) -> tuple[Word[D], Word[D]]:
    """Return the unsigned ``x`` shifted left until its top bit is set, and the number of places (unsigned).

    Zero stays zero, with a number of places that means nothing. One halving step for each bit of the count:
    where the top ``places`` bits are zero, the rest moves up by ``places``.
    """
    width = x.width
    count = None
    for step in reversed(range((width - 1).bit_length())):
        places = 1 << step
        clear = algebra.is_value(algebra.extract(x, width - 1, width - places), 0)
        moved = algebra.concatenate(algebra.extract(x, width - 1 - places, 0), algebra.unsigned(0, places))
        x = algebra.ite(clear, moved, x)
        bit = algebra.ite(clear, algebra.unsigned(1, 1), algebra.unsigned(0, 1))
        count = bit if count is None else algebra.concatenate(count, bit)
    return x, count if count is not None else algebra.unsigned(0, 1)


def shift_right_jam(algebra: Algebra[D, T], x: Word[D], amount: Word[D]) -> Word[D]:
    """Return ``x / 2**amount`` (unsigned both) with the lowest bit set if any lost bit was (round to odd).

    One stage for each bit of the amount. A stage that moves by the whole width or more leaves only whether x was
    zero; jamming between stages composes, since a jammed bit is itself a nonzero bit.
    """
    width = x.width
    for step in range(amount.width):
        places = 1 << step
        moved = algebra.ite(
            algebra.is_value(algebra.extract(x, min(places, width) - 1, 0), 0),
            _shift_right_by(algebra, x, places),
            _set_lowest(algebra, _shift_right_by(algebra, x, places)),
        )
        x = algebra.ite(algebra.is_bit_set(amount, step), moved, x)
    return x


def shift_left_by(algebra: Algebra[D, T], x: Word[D], amount: Word[D]) -> Word[D]:
    """Return ``x * 2**amount`` (unsigned both), expanded by the largest amount that the word holds."""
    for step in range(amount.width):
        moved = algebra.shift_left(x, 1 << step)
        x = algebra.ite(algebra.is_bit_set(amount, step), moved, x)
    return x


def _shift_right_by(algebra: Algebra[D, T], x: Word[D], places: int) -> Word[D]:
    if places >= x.width:
        return algebra.unsigned(0, x.width)
    return algebra.extend(algebra.drop_low(x, places), x.width)


def _set_lowest(algebra: Algebra[D, T], x: Word[D]) -> Word[D]:
    if x.width == 1:
        return algebra.unsigned(1, 1)
    return algebra.concatenate(algebra.drop_low(x, 1), algebra.unsigned(1, 1))
