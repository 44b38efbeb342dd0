"""RISC-V dot products by bulk normalisation: the Zvdota and Zvbdota extensions.

Written from the draft alone: riscv/riscv-isa-manual, pull request 2618, sections "RISC-V Bulk Normalization Algorithm"
(RVBNA) and "Bulk Normalization of Dot Products". Every number is an integer times a power of two, so nothing is
rounded except where the draft says so. It shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference.formats import Number, decode

F32_FRACTION, F32_LEAST, F32_LARGEST = 23, -126, 127
F32_INFINITY = 0xFF << 23
CANONICAL_NAN = 0x7FC00000


def overflow_bits(n: int) -> int:
    """Section RVBNA: ``ceil(log2(n))``, the number of guard bits g, and of overflow bits o."""
    return (n - 1).bit_length()


def to_odd(magnitude: int, places: int) -> int:
    """Rounding to odd of ``magnitude / 2**places``: what is lost sets the lowest kept bit."""
    if places <= 0:
        return magnitude << -places
    return magnitude >> places | int(magnitude % (1 << places) != 0)


def f32_to_odd(total: int, scale: int) -> int:
    """``total * 2**scale`` in binary32, rounded to odd: an overflow is an infinity, a zero is +0."""
    if total == 0:
        return 0
    sign, magnitude = int(total < 0) << 31, abs(total)
    exponent = magnitude.bit_length() - 1 + scale
    if exponent > F32_LARGEST:
        return sign | F32_INFINITY
    unit = max(exponent, F32_LEAST) - F32_FRACTION
    kept = to_odd(magnitude, unit - scale)
    # a subnormal has no implicit one and the field 0; rounding to odd never carries out of the significand
    field = exponent - F32_LEAST + 1 if kept >> F32_FRACTION else 0
    return sign | field << F32_FRACTION | kept % (1 << F32_FRACTION)


def special_sum(signs: set[int], nan: bool) -> int | None:
    """What a NaN, or infinities of these signs, make of a sum; None where all is finite."""
    if nan or len(signs) == 2:
        return CANONICAL_NAN
    return signs.pop() << 31 | F32_INFINITY if signs else None


def rvbna(pairs: Sequence[tuple[Number, Number]], guard_bits: int) -> int:
    """Section RVBNA: the dot product without c, in binary32."""
    signs, nan = set(), False
    for x, y in pairs:
        kinds = {x.kind, y.kind}
        nan |= "nan" in kinds or kinds == {"inf", "zero"}
        if "inf" in kinds:
            signs.add(x.sign ^ y.sign)
    special = special_sum(signs, nan)
    if special is not None:
        return special
    # the reference exponent of a zero product is below that of any other: it loses no accuracy of theirs
    products = [(x, y) for x, y in pairs if "zero" not in (x.kind, y.kind)]
    if not products:
        return 0
    unit = max(x.exponent + y.exponent for x, y in products) - (F32_FRACTION + guard_bits)
    total = 0
    for x, y in products:
        rounded = to_odd(x.integer * y.integer, unit - x.scale - y.scale)
        total += -rounded if x.sign ^ y.sign else rounded
    return f32_to_odd(total, unit)


def add_to_odd(x: int, y: int) -> int:
    """The sum of two binary32 numbers, rounded to odd; one that is exactly zero is -0 only where both are -0."""
    numbers = (decode(x, "fp32"), decode(y, "fp32"))
    special = special_sum({z.sign for z in numbers if z.kind == "inf"}, any(z.kind == "nan" for z in numbers))
    if special is not None:
        return special
    scale = min(z.scale for z in numbers)
    total = sum(z.signed << (z.scale - scale) for z in numbers)
    if total == 0 and all(z.sign for z in numbers):
        return 1 << 31
    return f32_to_odd(total, scale)


def bulk_dot(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    n: int,
    guard_bits: int | None = None,
) -> int:
    """Section "Bulk Normalization of Dot Products", for one element of ``vd``: sets of ``n`` pairs, each by RVBNA.

    Their sums are added to c one after the other (``vfredusum.vs`` permits any order), each rounded to odd. An
    instruction that computes one set is ``len(a) == n``.
    """
    if len(a) != len(b) or len(a) == 0 or len(a) % n:
        raise ValueError(f"{len(a)} and {len(b)} operands are not sets of {n}")
    g, d = overflow_bits(n) if guard_bits is None else guard_bits, c
    pairs = [(decode(x, a_format), decode(y, b_format)) for x, y in zip(a, b, strict=True)]
    for start in range(0, len(pairs), n):
        d = add_to_odd(rvbna(pairs[start : start + n], g), d)
    return d
