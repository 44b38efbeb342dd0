"""Which rows satisfy preconditions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Precondition, of_numbers, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords


class _Nothing(Question):
    """Preconditions without a claim."""

    def __init__(self, formats: Sequence[Format], batch: OperandBatch, where: Sequence[Precondition]) -> None:
        a, b, c = formats[:3]
        self.formats, self.scale_format, self.k, self.blocks = (a, b, c), None, batch.k, 0
        self.where = restricting(where, self.formats)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return True."""
        return algebra.truth(True)


def meant_rows(formats: Sequence[Format], batch: OperandBatch, where: Sequence[Precondition]) -> npt.NDArray[np.bool_]:
    """Return which rows of ``batch`` satisfy every precondition. They do not restrict scales.

    Raises InputError where a precondition is about numbers and an operand is an integer.
    """
    if of_numbers(where) and any(f.is_integer for f in formats[:3]):
        names = ", ".join(dict.fromkeys(f.name for f in formats[:3]))
        raise InputError(f"rows of {names} are of integers: of preconditions they have patterns only, such as c=0x0")
    unscaled = OperandBatch(batch.a, batch.b, batch.c)
    return _Nothing(formats, unscaled, where).examine_precondition(unscaled)
