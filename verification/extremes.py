"""Operands with one pattern in a whole column, so that all terms have the same size and add up.

Random operands hardly ever reach the ends of a register. These do.
"""

from __future__ import annotations

from itertools import product

import numpy as np

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
