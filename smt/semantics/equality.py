"""When two results are equal."""

from __future__ import annotations

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.unpack import is_zero, unpack


def equal_results(
    algebra: Algebra[D, T],
    fmt: Format,
    x: Word[D],
    y: Word[D],
    *,
    nan_codes: bool = False,
    zero_signs: bool = True,
) -> Truth[T]:
    """Return whether both are NaN (with ``nan_codes``: the same code) or have the same bits.

    +0 and -0 differ, unless ``zero_signs`` is False.
    """
    same = x == y
    if fmt.is_integer:
        return same
    numbers = [unpack(algebra, fmt, p) for p in (x, y)]
    alike = [same]
    if not nan_codes:
        alike.append(algebra.all_of([n.nan for n in numbers]))
    if not zero_signs:
        alike.append(algebra.all_of([is_zero(fmt, n) for n in numbers]))
    return algebra.any_of(alike)
