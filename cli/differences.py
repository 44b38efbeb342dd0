"""How far two results are apart, and in which bits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmaproof.designs.formats import Format
    from mmaproof.explain.answers.parts import Difference


def difference(fmt: Format, results: Sequence[int]) -> Difference | None:
    """Return how far two patterns of ``fmt`` are apart; None if one of them is an infinity or a NaN, or is missing."""
    from mmaproof.explain.answers.parts import Difference
    from mmaproof.explain.values import is_finite, pattern_number
    from mmaproof.gemm.answers.compare import ulp

    if len(results) != 2 or not all(is_finite(fmt, x) for x in results):
        return None
    first, second = (pattern_number(fmt, x) for x in results)
    apart = abs(first - second)
    ulps = None if fmt.is_integer else float(apart / ulp(max(abs(first), abs(second)), fmt))
    return Difference(absolute=str(apart), ulps=ulps)


def bit_lines(fmt: Format, results: Mapping[str, int]) -> list[str]:
    """Return two results in binary below each other, in sign, exponent and fraction, and marks below what differs."""
    width, columns = max(map(len, results)), _columns(fmt)
    lines = [f"{name:<{width}}  {_spaced(f'{x:0{fmt.bits}b}', columns)}" for name, x in results.items()]
    first, second = results.values()
    marks = f"{first ^ second:0{fmt.bits}b}".replace("0", " ").replace("1", "^")
    return [*lines, f"{'':<{width}}  {_spaced(marks, columns)}".rstrip()]


def _columns(fmt: Format) -> list[int]:
    """Return the places before which a blank stands: where exponent and fraction begin; of integers there are none."""
    if fmt.is_integer:
        return []
    fraction = fmt.bits - fmt.fraction_bits - fmt.ignored_bits
    return sorted({fraction - fmt.exponent_bits, fraction} - {0})


def _spaced(bits: str, columns: Sequence[int]) -> str:
    places = [0, *columns, len(bits)]
    return " ".join(bits[i:j] for i, j in itertools.pairwise(places))
