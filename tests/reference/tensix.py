"""Tenstorrent Tensix, MVMUL: what one fidelity phase multiplies, and the sum that its documentation gives as a guide.

Written from tenstorrent/tt-isa-documentation (WormholeB0, TensixCoprocessor) alone: ``SrcAFidelityBits`` and
``SrcBFidelityBits`` of ELWMUL.md, which mask the pattern of an element held as fp32, the functional model of MVMUL.md,
and the numbers of FloatBitPatterns.md. It shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from reference.exact import fused_multiply_add, read
from reference.families import ieee_add
from reference.formats import FORMATS, Number, decode

HIGH = {"A": 0xFFF80000, "B": 0xFFFE0000}
"""The masks of phases that multiply the highest bits: of SrcA four fraction bits, of SrcB six."""
REST = {"A": 0xFFF83FFF, "B": 0xFFFE1FFF}
"""The masks of the others: the element minus what they leave is multiplied."""


def held_as_fp32(pattern: int, format: str) -> tuple[int, int, int]:
    """Sign, exponent and the 23 bits of the fraction field of a number that is not subnormal."""
    layout = FORMATS[format]
    bits = pattern >> layout.ignored_bits
    fraction = bits % (1 << layout.fraction_bits) << (23 - layout.fraction_bits)
    field = bits >> layout.fraction_bits & (1 << layout.exponent_bits) - 1
    return bits >> (layout.fraction_bits + layout.exponent_bits), field, fraction


def fidelity_bits(pattern: int, format: str, source: str, phase: int) -> Number:
    """What a phase multiplies of an element of SrcA or SrcB; a subnormal element is a zero of its sign."""
    sign, field, fraction = held_as_fp32(pattern, format)
    if field == 0:
        return Number("zero", sign, 0, 0, 0)
    exponent = field - FORMATS[format].bias
    mask = REST if phase & {"A": 1, "B": 2}[source] else HIGH
    kept = 1 << 23 | fraction & mask[source] & 0x7FFFFF
    integer = (1 << 23 | fraction) - kept if mask is REST else kept
    return Number("finite" if integer else "zero", sign, integer, exponent - 23, exponent)


def mvmul(
    a: Sequence[int], b: Sequence[int], c: int, *, a_format: str, b_format: str, phase: int, nan_code: int, k: int = 16
) -> int:
    """One element of Dst in fp32, by instructions of ``k`` products; ``a`` is of SrcB, ``b`` of SrcA.

    The sum of the functional model: the products in turn from +0, each added with one rounding, then Dst.
    """
    if len(a) != len(b) or len(a) == 0 or len(a) % k:
        raise ValueError(f"{len(a)} and {len(b)} operands are not instructions of {k}")
    d = c
    for start in range(0, len(a), k):
        total = 0
        for x, y in zip(a[start : start + k], b[start : start + k], strict=True):
            of_b, of_a = fidelity_bits(x, a_format, "B", phase), fidelity_bits(y, b_format, "A", phase)
            total = fused_multiply_add(of_b, of_a, decode(total, "fp32"), "fp32", nan_code, flush=True)
        d = ieee_add(read(d, "fp32", True, "kept"), decode(total, "fp32"), "fp32", nan_code, flush=True)
    return d


def value(x: Number) -> Fraction:
    """The number with its sign."""
    return -x.magnitude if x.sign else x.magnitude
