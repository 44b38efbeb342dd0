"""When two results are equal."""

from __future__ import annotations

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.unpack import unpack


def equal_results(algebra: Algebra[D, T], fmt: Format, x: Word[D], y: Word[D], *, nan_codes: bool = False) -> Truth[T]:
    """Return whether both are NaN (with ``nan_codes``: the same code) or have the same bits; +0 and -0 differ."""
    same = algebra.equal(x, y)
    if nan_codes or fmt.is_integer:
        return same
    both_nan = algebra.all_of([unpack(algebra, fmt, p).nan for p in (x, y)])
    return algebra.any_of([same, both_nan])
