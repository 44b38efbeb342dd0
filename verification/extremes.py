"""Operands with one pattern in a whole column, so that all terms have the same size and add up.

Random operands hardly ever reach the ends of a register, or the places below the smallest result. These do.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.properties.question import Question


def extreme_patterns(fmt: Format) -> tuple[int, ...]:
    """Return patterns of large significands and of the largest numbers. The first one is plus or minus one."""
    top, ones = 1 << (fmt.bits - 1), (1 << fmt.bits) - 1
    if fmt.is_integer:
        return (ones, top, top - 1, ones, 0)
    fraction = ((1 << fmt.fraction_bits) - 1) << fmt.ignored_bits
    below_two = fmt.one | fraction
    sign = top if fmt.signed else 0
    return (fmt.one | sign, below_two, fmt.max_finite, below_two | sign, 0)


def extreme_operands(question: Question) -> OperandBatch:
    """Return a row for every choice of one extreme pattern for each column of a question."""
    columns = question.columns()
    rows = list(product(*(dict.fromkeys(extreme_patterns(fmt)) for _, fmt, _ in columns)))

    def column(position: int) -> Patterns:
        _, fmt, count = columns[position]
        values = np.array([row[position] for row in rows], dtype=pattern_dtype(fmt))
        return np.repeat(values[:, np.newaxis], count, axis=1)

    a, b, c, *scales = (column(i) for i in range(len(columns)))
    return OperandBatch(a, b, c[:, 0], *scales)


def small_products(question: Question, smallest: int) -> OperandBatch | None:
    """Return rows of products at and below ``2**smallest``, the least result, beside c = +0.

    Powers of two add up to a result that none of them is, or a smaller one is subtracted from one that is: whether a
    bit below the least result is kept decides what is returned. There are none for integers, for units with scales and
    for elements without a sign.
    """
    a, b, _ = question.formats
    if question.k < 2 or question.scale_format is not None or not (a.fraction_bits and a.signed) or a.is_integer:
        return None
    whole = _power(smallest, a, b)
    rows = []
    for exponent in range(smallest - _BELOW, smallest + 1):
        part = _power(exponent, a, b)
        if whole is None or part is None:
            continue
        taken = (part[0] | 1 << a.sign_position, part[1])
        none = (0, 0)
        for products in ([part] * question.k, [whole, taken], [whole] * (question.k - 1) + [taken]):
            x, y = zip(*products, *[none] * (question.k - len(products)), strict=True)
            rows.append(Operands(x, y, 0))
    return OperandBatch.of_rows(question.formats, rows) if rows else None


_BELOW = 64
"""How far below the least result bits of a product are looked at."""


def _power(exponent: int, a: Format, b: Format) -> tuple[int, int] | None:
    """Return a power of two of each format with a product of this exponent; None if there are none."""
    of_a = max(a.e_min - a.fraction_bits, exponent - b.e_max)
    of_b = exponent - of_a
    if of_a > a.e_max or of_b < b.e_min - b.fraction_bits:
        return None
    return a.encode(Fraction(2) ** of_a), b.encode(Fraction(2) ** of_b)
