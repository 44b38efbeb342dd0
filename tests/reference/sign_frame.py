"""Dot products in the sign frame of the accumulator: V_DOT2 and WMMA of AMD's RDNA3 and RDNA3.5 (gfx11).

Written from the description in ROCm/rocm-systems issue 12056, which was found on a gfx1151, and from the comments of
AMD's emulator (emulation/rocjitsu, gfx11_dot2.h in the folder of shared AMDGPU files), which was found on a gfx1100:

* The operands are multiplied exactly. The grid is fixed by the sums of the operands' exponents as their fields have
  them (a subnormal reads the least one), 24 bits below the largest, and by the accumulator: 26 bits below its leading
  bit. Zeros take no part. With fp16 results the accumulator reads 2**-14 at least, a zero one too.
* Each magnitude is cut to the grid. In the frame of the accumulator's sign a term of the other sign counts as the
  complement of its bits, ~m = -m - 1. Signed zeros have a sign, too. If every term is zero the result is +0.
* The sum is rounded to nearest, ties to even. What is below the smallest normal fp32 number after that is +0.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference.exact import FLUSHED, Pair, chain, check_nan, decode_pairs, special_value
from reference.formats import CONVERSIONS, FORMATS, Number, convert, floor_log2

PRODUCT_BITS = 24
"""Bits below the largest sum of operand exponents."""
ACCUMULATOR_BITS = 26
"""Bits below the leading bit of the accumulator."""


def dot2(
    pairs: Sequence[Pair], c: Number, *, rho: str, nan_code: int, least: int | None, product_bits: int, own_bits: int
) -> int:
    """One step. ``least`` is the least exponent that the accumulator reads, None where a zero one takes no part."""
    special = special_value(pairs, c, FORMATS[CONVERSIONS[rho].format].infinity, nan_code)
    if special is not None:
        return special
    terms = [(x.sign ^ y.sign, x.integer * y.integer, x.scale + y.scale) for x, y in pairs]
    terms.append((c.sign, c.integer, c.scale))
    if not any(integer for _, integer, _ in terms):
        return 0
    grids = [x.exponent + y.exponent - product_bits for x, y in pairs if x.integer * y.integer]
    grids += [floor_log2(c.integer, c.scale) - own_bits] if c.integer else []
    grids += [] if least is None else [least - own_bits]
    grid = max(grids)
    in_frame = 0
    for sign, integer, scale in terms:
        magnitude = integer << (scale - grid) if scale >= grid else integer >> (grid - scale)
        in_frame += ~magnitude if sign != c.sign else magnitude
    total = -in_frame if c.sign else in_frame
    kept = CONVERSIONS[rho].format != "fp32"
    d = convert(total, grid, rho, flush=not kept, tininess="unbounded")
    sign_bit = 1 << (FORMATS[CONVERSIONS[rho].format].width - 1)
    return 0 if d == sign_bit else d


def sign_frame(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    c_format: str,
    d_format: str,
    L: int,  # noqa: N803 - its name in the papers
    rho: str,
    subnormals: str,
    nan_code: int,
    least: int | None,
    product_bits: int = PRODUCT_BITS,
    own_bits: int = ACCUMULATOR_BITS,
) -> int:
    """One element of D by a chain of steps of L products (two in the units named above), in the order of k.

    A flushed operand becomes a zero of its sign; ``subnormals`` is a key of FLUSHED.
    """
    check_nan(nan_code, d_format)
    if "d" in FLUSHED[subnormals] and d_format != "fp32":
        raise ValueError(f"results of {d_format} keep their subnormal numbers in these units")
    pairs = decode_pairs(a, b, a_format, b_format, L, subnormals, "kept")
    return chain(
        pairs,
        c,
        lambda _, of_step, accumulator: dot2(
            of_step,
            accumulator,
            rho=rho,
            nan_code=nan_code,
            least=least,
            product_bits=product_bits,
            own_bits=own_bits,
        ),
        c_format=c_format,
        d_format=d_format,
        length=L,
        subnormals=subnormals,
        flushed_sign="kept",
    )
