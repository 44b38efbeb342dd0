"""Dot products whose sums are rounded down: DOT2, DOT4 and WMMA of AMD's RDNA4 (gfx12).

Written from the comments of AMD's emulator (ROCm/rocm-systems, emulation/rocjitsu, gfx12_dot.h in the folder of shared
AMDGPU files), which describe what a gfx1201 returned:

* Products of a pair, or all four of eight-bit formats, are aligned with each other 24 bits below the largest sum of
  their operands' exponents as the fields have them, each rounded towards minus infinity, and added.
* These sums and the accumulator are aligned at the coarsest of the products' grids and 26 bits below the leading bit
  of the accumulator, which reads the least normal exponent of its format or more, and rounded likewise.
* An accumulator below one unit of a grid above that least exponent is zero, even a negative one.
* The total is rounded to nearest, ties to even, with gradual underflow. Zero is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from reference.exact import Pair, chain, check_nan, decode_pairs, special_value
from reference.formats import CONVERSIONS, FORMATS, Number, convert, floor_log2


@dataclass(frozen=True)
class Unit:
    """What a step does. ``group`` products are added before the accumulator joins."""

    rho: str
    nan_code: int
    group: int
    c_format: str
    product_bits: int = 24
    own_bits: int = 26
    least: int | None = None
    drops_small: bool = True
    overflow: str = "A"
    negative_zero: str = "A"
    flush: bool = False


def in_units(x: Fraction, grid: int) -> int:
    """The multiple of ``2**grid`` next below a number."""
    return floor(x / Fraction(2) ** grid)


def dot(pairs: Sequence[Pair], c: Number, unit: Unit) -> int:
    """One step."""
    special = special_value(pairs, c, FORMATS[CONVERSIONS[unit.rho].format], unit.nan_code)
    if special is not None:
        return special
    sums: list[tuple[Fraction, int]] = []
    for first in range(0, len(pairs), unit.group):
        found = [(x, y) for x, y in pairs[first : first + unit.group] if x.integer and y.integer]
        if found:
            grid = max(x.exponent + y.exponent for x, y in found) - unit.product_bits
            exact = [Fraction(x.signed * y.signed) * Fraction(2) ** (x.scale + y.scale) for x, y in found]
            sums.append((sum(in_units(p, grid) for p in exact) * Fraction(2) ** grid, grid))
    e_min = FORMATS[unit.c_format].e_min
    grids = [grid for _, grid in sums]
    grids += [max(floor_log2(c.integer, c.scale), e_min) - unit.own_bits] if c.integer else []
    grids += [] if unit.least is None else [unit.least - unit.own_bits]
    if not grids:
        return 0
    grid = max(grids)
    accumulator = Fraction(c.signed) * Fraction(2) ** c.scale
    if unit.drops_small and abs(accumulator) < Fraction(2) ** grid and grid > e_min:
        accumulator = Fraction(0)
    total = in_units(accumulator, grid) + sum(in_units(x, grid) for x, _ in sums)
    return convert(total, grid, unit.rho, overflow=unit.overflow, negative_zero=unit.negative_zero, flush=unit.flush)


def sums_rounded_down(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    unit: Unit,
    *,
    a_format: str,
    b_format: str,
    d_format: str,
    L: int,  # noqa: N803 - its name in the papers
    order: Sequence[int],
    chain_infinity: str = "A",
    subnormals: str = "kept",
) -> int:
    """One element of D by a chain of steps of L products; ``order`` is that of the products of an instruction.

    ``subnormals`` is a key of FLUSHED; in the units named above it is "kept".
    """
    check_nan(unit.nan_code, d_format)
    ks = [first + k for first in range(0, len(a), len(order)) for k in order]
    return chain(
        decode_pairs([a[k] for k in ks], [b[k] for k in ks], a_format, b_format, L, subnormals),
        c,
        lambda _, of_step, accumulator: dot(of_step, accumulator, unit),
        c_format=unit.c_format,
        d_format=d_format,
        length=L,
        chain_infinity=chain_infinity,
        subnormals=subnormals,
    )
