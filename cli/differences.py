"""How far two results are apart, and in which bits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmaproof.designs.formats import Format


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two results are apart: exactly, and in ulps of the larger one. Integers have no ulp."""

    absolute: Fraction
    ulps: Fraction | None

    @property
    def words(self) -> str:
        """How the two results differ, for a person."""
        return f"differ by {self}" if self.absolute else "differ only in the sign of zero"

    def record(self) -> dict[str, Any]:
        """Return it as JSON data: a rational number, and about how many ulps it is."""
        return {"absolute": str(self.absolute), "ulps": None if self.ulps is None else float(self.ulps)}

    def __str__(self) -> str:
        """Return it for a person."""
        from mmaproof.explain.values import magnitude

        ulps = "" if self.ulps is None else f" = {float(self.ulps):.4g} ulp"
        return f"{magnitude(self.absolute)}{ulps}"


def difference(fmt: Format, results: Sequence[int]) -> Difference | None:
    """Return how far two patterns of ``fmt`` are apart; None if one of them is an infinity or a NaN, or is missing."""
    from mmaproof.explain.values import is_finite, pattern_number
    from mmaproof.gemm.answers.compare import ulp

    if len(results) != 2 or not all(is_finite(fmt, x) for x in results):
        return None
    first, second = (pattern_number(fmt, x) for x in results)
    apart = abs(first - second)
    return Difference(apart, None if fmt.is_integer else apart / ulp(max(abs(first), abs(second)), fmt))


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
