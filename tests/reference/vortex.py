"""Vortex's tensor unit, variant TFR: four-stage fused dot products.

Written from the RTL alone (vortexgpgpu/vortex, ``hw/rtl/tcu/tfr``, as readable in LazyLatte/vortex-raytracing): files
``VX_tcu_tfr_mul_f16.sv``, ``_mul_f8.sv``, ``_mul_join.sv``, ``_align.sv``, ``_acc.sv`` and ``_norm_round.sv``. It
shares no code with the package. Exponents are those of numbers here; the RTL adds a bias, so that its smallest
exponent, which is that of a zero, is ``least_exponent``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference.formats import FORMATS, Number, decode

W = 25
"""Bits of a product with its sign (parameter W of the RTL)."""
FRACTION = W - 1
"""Fraction bits below the largest exponent: products and c are shifted by it and truncated."""
PAIR_FRACTION = 22
"""Fraction bits of the sum of two FP8 products; the lowest bit of the sum is dropped."""
INFINITY, NAN = 0x7F800000, 0x7FC00000


@dataclass(frozen=True)
class Lane:
    """A term ``(-1)**sign * magnitude * 2**(exponent - fraction)``, zeros included."""

    sign: int
    magnitude: int
    fraction: int
    exponent: int


def carry_width(lanes: int) -> int:
    """HR of the RTL: the bits that the register has above those of one aligned term, its sign included."""
    return lanes.bit_length()  # $clog2(lanes + 1)


def least_exponent(lanes: int) -> int:
    """The exponent that the RTL's exponent 0 stands for: that of every zero term."""
    return -(127 + 128 + W + 1 + carry_width(lanes) - W)


def significand(x: Number, name: str, zero_has_one: bool) -> tuple[int, int]:
    """The significand with the implicit one as the RTL sets it, and the exponent of the field."""
    layout = FORMATS[name]
    if x.kind == "zero":
        return int(zero_has_one) << layout.fraction_bits, layout.e_min - 1
    return x.integer, x.exponent


def product(x: Number, y: Number, a_format: str, b_format: str, least: int) -> Lane:
    """``mul_f16``: a zero factor has the implicit one too, and only the exponent says that the product is zero."""
    (m, e), (n, f) = significand(x, a_format, True), significand(y, b_format, True)
    exponent = least if "zero" in (x.kind, y.kind) else e + f
    return Lane(x.sign ^ y.sign, m * n, FORMATS[a_format].fraction_bits + FORMATS[b_format].fraction_bits, exponent)


def pair(products: Sequence[tuple[Number, Number]], a_format: str, b_format: str, least: int) -> Lane:
    """``mul_f8``: two products aligned at the larger exponent, cut to 22 bits, added, and cut by one bit more.

    A zero keeps the exponent of its own encoding, unless the first product alone is not zero.
    """
    parts = []
    for x, y in products:
        (m, e), (n, f) = significand(x, a_format, False), significand(y, b_format, False)
        places = FORMATS[a_format].fraction_bits + FORMATS[b_format].fraction_bits
        parts.append((x.sign ^ y.sign, m * n << (PAIR_FRACTION - places), e + f, "zero" not in (x.kind, y.kind)))
    (s0, m0, e0, v0), (s1, m1, e1, v1) = parts
    first = (v0 and not v1) or e0 >= e1
    top = e0 if first else e1
    if first:
        m1 = 0 if m1 == 0 else m1 >> (e0 - e1)
    else:
        m0 = 0 if m0 == 0 else m0 >> (e1 - e0)
    total = (-m0 if s0 else m0) + (-m1 if s1 else m1)
    cancelled = s0 != s1 and m0 == m1
    exponent = top + 1 if (v0 or v1) and not cancelled else least
    sign = 0 if cancelled else (s0 if m0 > m1 else s1)
    return Lane(sign, abs(total) >> 1, PAIR_FRACTION, exponent)


def accumulator(c: int, least: int) -> Lane:
    """``mul_join``: c always has the implicit one; a subnormal c the exponent of its field, -127."""
    field, fraction = c >> 23 & 0xFF, c & 0x7FFFFF
    exponent = least if field == 0 and fraction == 0 else field - 127
    return Lane(c >> 31, 1 << 23 | fraction, 23, exponent)


def special(pairs: Sequence[tuple[Number, Number]], c: Number) -> int | None:
    """NaN and infinities as ``mul_join`` collects them."""
    signs = {c.sign} if c.kind == "inf" else set()
    for x, y in pairs:
        kinds = {x.kind, y.kind}
        if "nan" in kinds or kinds == {"inf", "zero"}:
            return NAN
        if "inf" in kinds:
            signs.add(x.sign ^ y.sign)
    if c.kind == "nan" or len(signs) == 2:
        return NAN
    return INFINITY | signs.pop() << 31 if signs else None


def rounded(negative: bool, magnitude: int, sticky: bool, unit: int) -> int:
    """``norm_round``: to nearest even with the sticky bit; what is below 2**-126 then is a zero, of its sign."""
    sign = int(negative) << 31
    if magnitude == 0:
        return sign
    magnitude, unit = magnitude << 27, unit - 27
    places = magnitude.bit_length() - 24
    kept, rest = divmod(magnitude, 1 << places)
    half = 1 << (places - 1)
    if rest > half or (rest == half and (sticky or kept % 2)):
        kept += 1
    exponent = kept.bit_length() - 1 + places + unit
    kept >>= kept.bit_length() - 24
    if exponent > 127:
        return sign | INFINITY
    return sign if exponent < -126 else sign | (exponent + 127) << 23 | kept % (1 << 23)


def tfr_step(a: Sequence[int], b: Sequence[int], c: int, a_format: str, b_format: str) -> int:
    """One step: N registers of 32 bits hold the elements of a and of b; 2*N lanes and c are added."""
    width = FORMATS[a_format].width
    lanes = 2 * len(a) * width // 32 if width < 32 else 2 * len(a)
    least = least_exponent(lanes)
    pairs = [(decode(x, a_format), decode(y, b_format)) for x, y in zip(a, b, strict=True)]
    result = special(pairs, decode(c, "fp32"))
    if result is not None:
        return result
    if width == 8:
        terms = [pair(pairs[i : i + 2], a_format, b_format, least) for i in range(0, len(pairs), 2)]
    else:
        terms = [product(x, y, a_format, b_format, least) for x, y in pairs]
    terms.append(accumulator(c, least))
    largest = max(term.exponent for term in terms)
    unit, total, sticky = largest - FRACTION, 0, False
    for term in terms:
        places = unit - (term.exponent - term.fraction)
        kept = term.magnitude >> places if places > 0 else term.magnitude << -places
        sticky |= places > 0 and term.magnitude % (1 << places) != 0
        total += -kept if term.sign else kept
    register = W + 1 + carry_width(lanes)
    total = (total + (1 << (register - 1))) % (1 << register) - (1 << (register - 1))
    magnitude = abs(total) % (1 << (register - 1))  # the most negative number has the magnitude 0
    return rounded(total < 0, magnitude, sticky, unit)


def tfr(a: Sequence[int], b: Sequence[int], c: int, *, a_format: str, b_format: str, L: int) -> int:  # noqa: N803
    """One element of D: a chain of steps of L products."""
    if len(a) != len(b) or len(a) == 0 or len(a) % L:
        raise ValueError(f"{len(a)} and {len(b)} operands are not steps of {L}")
    d = c
    for start in range(0, len(a), L):
        d = tfr_step(a[start : start + L], b[start : start + L], d, a_format, b_format)
    return d
