"""Dot products in the sign frame of the accumulator: V_DOT2 and WMMA of AMD's RDNA3 and RDNA3.5 (gfx11).

Written from the description in ROCm/rocm-systems issue 12056, which was found on a gfx1151, and from the comments of
AMD's emulator (emulation/rocjitsu, gfx11_dot2.h in the folder of shared AMDGPU files), which was found on a gfx1100:

* The operands are multiplied exactly. The grid is fixed by the sums of the operands' exponents as their fields have
  them (a subnormal reads the least one), 24 bits below the largest, and by the accumulator: 26 bits below its leading
  bit. Zeros take no part. With fp16 results the accumulator reads 2**-14 at least, a zero one too. A subnormal fp32
  accumulator reads zero in these units, so no source says where its grid lies: that is point 5, as in exact.py.
* Each magnitude is cut to the grid. In the frame of the accumulator's sign a term of the other sign counts as the
  complement of its bits, ~m = -m - 1. Signed zeros have a sign, too. If every term is zero the result is +0.
* The sum is rounded to nearest, ties to even. What is below the smallest normal fp32 number after that is +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference.exact import Pair, chain, check_nan, decode_pairs, special_value
from reference.formats import CONVERSIONS, FORMATS, Number, convert, floor_log2


@dataclass(frozen=True)
class Unit:
    """What a step does: the bits that products and the accumulator keep, and how the sum is rounded.

    ``least`` is the least exponent that the accumulator reads, None where a zero one takes no part. ``c_subnormal`` is
    the reading of point 5: A, a subnormal accumulator has the exponent of the smallest normal number; B, that of its
    leading bit. ``flush`` makes results that are subnormal, in the sense of ``tininess``, zeros: of their sign, or +0.
    """

    rho: str
    nan_code: int
    product_bits: int = 24
    own_bits: int = 26
    least: int | None = None
    c_subnormal: str = "B"
    overflow: str = "A"
    negative_zero: str = "A"
    flush: bool = False
    flushed_result: str = "positive"
    tininess: str = "unbounded"

    def exponent_of(self, c: Number) -> int:
        """The exponent of an accumulator that is not zero."""
        return c.exponent if self.c_subnormal == "A" else floor_log2(c.integer, c.scale)

    def rounded(self, total: int, grid: int) -> int:
        """The result of a step whose sum is ``total * 2**grid``."""
        d = convert(
            total,
            grid,
            self.rho,
            overflow=self.overflow,
            negative_zero=self.negative_zero,
            flush=self.flush,
            tininess=self.tininess,
        )
        minus_zero = 1 << (FORMATS[CONVERSIONS[self.rho].format].width - 1)
        return 0 if d == minus_zero and self.flush and self.flushed_result == "positive" else d


def dot2(pairs: Sequence[Pair], c: Number, unit: Unit) -> int:
    """One step, of two products in the units named above."""
    special = special_value(pairs, c, FORMATS[CONVERSIONS[unit.rho].format], unit.nan_code)
    if special is not None:
        return special
    terms = [(x.sign ^ y.sign, x.integer * y.integer, x.scale + y.scale) for x, y in pairs]
    terms.append((c.sign, c.integer, c.scale))
    if not any(integer for _, integer, _ in terms):
        return 0
    grids = [x.exponent + y.exponent - unit.product_bits for x, y in pairs if x.integer * y.integer]
    grids += [unit.exponent_of(c) - unit.own_bits] if c.integer else []
    grids += [] if unit.least is None else [unit.least - unit.own_bits]
    grid = max(grids)
    in_frame = 0
    for sign, integer, scale in terms:
        magnitude = integer << (scale - grid) if scale >= grid else integer >> (grid - scale)
        in_frame += ~magnitude if sign != c.sign else magnitude
    return unit.rounded(-in_frame if c.sign else in_frame, grid)


def sign_frame(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    unit: Unit,
    *,
    a_format: str,
    b_format: str,
    c_format: str,
    d_format: str,
    L: int,  # noqa: N803 - its name in the papers
    subnormals: str,
    flushed_sign: str = "kept",
    chain_infinity: str = "A",
) -> int:
    """One element of D by a chain of steps of L products, in the order of k.

    ``subnormals`` is a key of FLUSHED: which operands become zeros, of the sign that ``flushed_sign`` says.
    """
    check_nan(unit.nan_code, d_format)
    return chain(
        decode_pairs(a, b, a_format, b_format, L, subnormals, flushed_sign),
        c,
        lambda _, of_step, accumulator: dot2(of_step, accumulator, unit),
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=chain_infinity,
        subnormals=subnormals,
        flushed_sign=flushed_sign,
    )
