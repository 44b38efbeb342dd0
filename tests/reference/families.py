"""The families of Xie et al. besides T-FDPA and FMA chains: FTZ-AddMul, E-, ST-, GST-, TR- and GTR-FDPA.

Sources and notation as in exact.py, whose steps are used where a family shares them with T-FDPA. Products in
excess of whole steps, groups or blocks are the caller's to pad with +0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reference.exact import (
    CHOICES,
    FLUSHED,
    ZERO_EXPONENT,
    Design,
    Pair,
    Term,
    align,
    c_term,
    chain,
    check_nan,
    check_output,
    decode_pairs,
    exact_sum,
    fused_multiply_add,
    fused_sum,
    product_term,
    read,
    special_value,
)
from reference.formats import CONVERSIONS, FORMATS, Number, decode, floor_log2

ONE = Number("finite", 0, 1, 0, 0)


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a misspelt reading."""
    if value not in tuple(allowed):
        raise ValueError(f"{name} is {value!r}, not one of {', '.join(allowed)}")


# --- FTZ-AddMul


def ieee_add(x: Number, y: Number, format: str, nan_code: int, **rounding: Any) -> int:
    """IEEE 754 addition: 1*x + y, the product 1*x being exact with the sign of x."""
    return fused_multiply_add(ONE, x, y, format, nan_code, **rounding)


def ieee_multiply(x: Number, y: Number, format: str, nan_code: int, **rounding: Any) -> int:
    """IEEE 754 multiplication: x*y + 0, the zero having the sign of the product, which a zero product keeps."""
    return fused_multiply_add(x, y, Number("zero", x.sign ^ y.sign, 0, 0, 0), format, nan_code, **rounding)


def ftz_addmul(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    P: int,  # noqa: N803 - its name in the papers
    c_format: str = "fp32",
    rho: str = "rne-fp32",
    overflow: str = "A",
    subnormals: str = "flushed",
    minus_zero: str = "kept",
    zero_products: str = "ieee",
    instruction: int | None = None,
    nan_code: int,
) -> int:
    """Xie, algorithms 1 and 2, for one element; d and every intermediate result are of the format of rho.

    With ``minus_zero`` "positive" elements of -0 become +0, and so does such a c of an ``instruction`` of N
    products: MMA-Sim 2.1.1, arithmetic/ftz_mul_add.py, and fpy's models compare magnitudes with the smallest normal
    number. With ``zero_products`` "plus-zero" a product is a fused multiply-add with +0: MMA-Sim of early 2026,
    simulator/arithmetic.py, pairwise_dot.

    ``P`` is a power of two: P consecutive products are summed as a balanced tree. With "kept" subnormal numbers the
    same tree is plain IEEE arithmetic with gradual underflow (point 9, reading B, and point 10 by P). Every operation
    is rounded by ``rho``; of an RZ one ``overflow`` is point 6.
    """
    format = CONVERSIONS[rho].format
    check_nan(nan_code, format)
    if P < 1 or P & (P - 1):
        raise ValueError(f"P is {P}, not a power of two")
    flushed = FLUSHED[subnormals]
    rounding: dict[str, Any] = {"rho": rho, "overflow": overflow, "flush": "d" in flushed}

    def add(x: Number, y: int) -> int:
        return ieee_add(x, decode(y, format), format, nan_code, **rounding)

    def tree(products: Sequence[int]) -> int:
        if len(products) == 1:
            return products[0]
        half = len(products) // 2
        return add(decode(tree(products[:half]), format), tree(products[half:]))

    def cleared(x: Number) -> Number:
        return replace(x, sign=0) if x.kind == "zero" and minus_zero == "positive" else x

    plus_zero = Number("zero", 0, 0, 0, 0)
    products = []
    for x, y in decode_pairs(a, b, a_format, b_format, P, subnormals):
        factors = cleared(x), cleared(y)
        if zero_products == "plus-zero":
            products.append(fused_multiply_add(*factors, plus_zero, format, nan_code, **rounding))
        else:
            products.append(ieee_multiply(*factors, format, nan_code, **rounding))
    d, d_format = c, c_format
    for start in range(0, len(products), P):
        accumulator = read(d, d_format, "c" in flushed)
        if start % (instruction or len(products)) == 0:
            accumulator = cleared(accumulator)
        d = add(accumulator, tree(products[start : start + P]))
        d_format = format
    return d


# --- Interleaved FMA chains


def complex_factors(pairs: Sequence[Pair], k: int, part: str) -> Pair:
    """The factors of product k where elements 2j and 2j + 1 are the real and the imaginary part of a number."""
    x, y = pairs[k]
    if part == "imaginary":
        x = pairs[k - 1 if k % 2 else k + 1][0]
    return (replace(x, sign=1 - x.sign) if part == "real" and k % 2 else x), y


def interleaved_fma(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    nan_code: int,
    c_format: str = "fp32",
    rho: str = "rne-fp32",
    overflow: str = "A",
    subnormals: str = "flushed",
    flushed_sign: str = "kept",
    tininess: str = "rounded",
    temporaries: int = 2,
    pairs: bool = False,
    part: str = "none",
) -> int:
    """Intel SDM volume 2, TDPBF16PS, for one element: L products in a step, every operation rounded by ``rho``.

    The SDM accumulates the elements of even index in one temporary and those of odd index in another, both from +0,
    each by a fused multiply-add, then adds the two and that sum to c. TMMULTF32PS (ISE programming reference) has one
    of the ``temporaries``, which is added to c. TDPBF8PS adds ``pairs`` of products, bytes 0 and 1 of a word to one
    temporary and bytes 2 and 3 to the other. Of complex numbers (TCMMRLFP16PS, TCMMIMFP16PS) the real ``part`` takes
    the products of two imaginary numbers with the other sign, the imaginary one multiplies a real by an imaginary one.
    """
    format = CONVERSIONS[rho].format
    check_nan(nan_code, format)
    flushed = FLUSHED[subnormals]
    rounding: dict[str, Any] = {"rho": rho, "overflow": overflow, "flush": "d" in flushed, "tininess": tininess}
    decoded = decode_pairs(a, b, a_format, b_format, L, subnormals, flushed_sign)
    d, d_format = c, c_format
    for start in range(0, len(decoded), L):
        temporary = [0] * temporaries
        step = [complex_factors(decoded, start + i, part) for i in range(L)]
        for i in range(0, L if pairs else 0, 2):
            x, y = (decode(ieee_multiply(*p, format, nan_code, **rounding), format) for p in step[i : i + 2])
            z, place = decode(ieee_add(x, y, format, nan_code, **rounding), format), i // 2 % temporaries
            temporary[place] = ieee_add(decode(temporary[place], format), z, format, nan_code, **rounding)
        for i, (x, y) in enumerate(() if pairs else step):
            z = decode(temporary[i % temporaries], format)
            temporary[i % temporaries] = fused_multiply_add(x, y, z, format, nan_code, **rounding)
        total = decode(temporary[0], format)
        for other in temporary[1:]:
            total = decode(ieee_add(total, decode(other, format), format, nan_code, **rounding), format)
        d = ieee_add(read(d, d_format, "c" in flushed, flushed_sign), total, format, nan_code, **rounding)
        d_format = format
    return d


# --- E-FDPA


def e_fdpa(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    nan_code: int,
    c_format: str = "fp32",
    d_format: str = "fp32",
    rho: str = "rne-fp32",
    overflow: str = "A",
    negative_zero: str = "A",
    subnormals: str = "kept",
) -> int:
    """Xie, algorithms 5 and 6, for one element: steps of L products, each an exact sum rounded once to d.

    An exact zero sum is +0. Open points: 6 ``overflow`` of an RZ rho, 7 ``negative_zero``.
    """
    design = Design(
        a_format=a_format,
        b_format=b_format,
        fraction_bits=0,
        nan_code=nan_code,
        rho=rho,
        overflow=overflow,
        negative_zero=negative_zero,
        subnormals=subnormals,
    )
    check_output(design, d_format)

    def step(_: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], nan_code)
        if special is not None:
            return special
        products = [(x.signed * y.signed, x.scale + y.scale) for x, y in pairs]
        return design.convert(*exact_sum([*products, (accumulator.signed, accumulator.scale)]))

    pairs = decode_pairs(a, b, a_format, b_format, L, subnormals)
    return chain(pairs, c, step, c_format=c_format, d_format=d_format, length=L, subnormals=subnormals)


# --- ST-FDPA and GST-FDPA


def decode_scales(
    scale_a: Sequence[int], scale_b: Sequence[int], scale_format: str, products: int, block: int
) -> list[Pair]:
    """The two scale factors of every product; product k has those of block k // block."""
    blocks = -(-products // block)
    if len(scale_a) != blocks or len(scale_b) != blocks:
        raise ValueError(f"{len(scale_a)} and {len(scale_b)} scales for {blocks} blocks of {block}")
    scales = [(decode(x, scale_format), decode(y, scale_format)) for x, y in zip(scale_a, scale_b, strict=True)]
    return [scales[k // block] for k in range(products)]


def has_nan(pairs: Sequence[Pair]) -> bool:
    """Whether any of the numbers is a NaN."""
    return any("nan" in (x.kind, y.kind) for x, y in pairs)


def scaled(term: Term, scale_a: Number, scale_b: Number, design: Design) -> Term:
    """Xie, algorithm 8, line 4: the exponents of both E8M0 scales added to those of a product.

    A zero product that reads e_zero (2C) reads it whatever its scales are.
    """
    shift = scale_a.exponent + scale_b.exponent
    exponent = term.exponent
    if exponent is not None and (term.integer != 0 or design.zero_product in ("A", "D")):
        exponent += shift
    return Term(term.integer, term.scale + shift, exponent)


def st_fdpa(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    scale_a: Sequence[int],
    scale_b: Sequence[int],
    block: int,
    L: int,  # noqa: N803 - its name in the papers
    c_format: str = "fp32",
    d_format: str = "fp32",
    **parameters: Any,
) -> int:
    """Xie, algorithms 5 and 8, for one element; ``parameters`` are the rest of those of ``dot``.

    ``scale_a`` and ``scale_b`` are E8M0 patterns, one for each ``block`` products. A NaN scale makes the
    result ``nan_code``.
    """
    design = Design(**parameters)
    check_output(design, d_format)
    pairs = decode_pairs(a, b, design.a_format, design.b_format, L, design.subnormals)
    scales = decode_scales(scale_a, scale_b, "e8m0", len(pairs), block)
    if has_nan(scales):
        return design.nan_code

    def step(start: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], design.nan_code)
        if special is not None:
            return special
        terms = [
            scaled(product_term(x, y, design), *scales_of_product, design)
            for (x, y), scales_of_product in zip(pairs, scales[start : start + L], strict=True)
        ]
        return fused_sum([*terms, c_term(accumulator, design)], design)

    return chain(
        pairs,
        c,
        step,
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=design.chain_infinity,
        subnormals=design.subnormals,
    )


def group_term(pairs: Sequence[Pair], scale_a: Number, scale_b: Number, group_zero: str, e_zero: int | None) -> Term:
    """Xie, algorithm 9, step 1: the exact scaled dot product of a group, at the exponent of its scales.

    Point 15 is the exponent of a group that is zero.
    """
    products = [(x.signed * y.signed, x.scale + y.scale) for x, y in pairs]
    total, scale = exact_sum(products)
    integer = total * scale_a.integer * scale_b.integer
    exponent: int | None = scale_a.exponent + scale_b.exponent
    if integer == 0 and group_zero == "B":
        exponent = None
    if group_zero == "D":
        # MMA-Sim of early 2026, simulator/arithmetic.py: extract_significand_exponent gives a zero the exponent -126
        exponent = sum(s.exponent if s.integer else ZERO_EXPONENT for s in (scale_a, scale_b))
    if group_zero == "C":
        no_products = all(product == 0 for product, _ in products)
        if no_products or scale_a.integer == 0 or scale_b.integer == 0:
            exponent = e_zero
    return Term(integer, scale + scale_a.scale + scale_b.scale, exponent)


def gst_fdpa(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    scale_format: str,
    scale_a: Sequence[int],
    scale_b: Sequence[int],
    block: int,
    G: int,  # noqa: N803 - its name in the papers
    L: int,  # noqa: N803
    group_zero: str = "A",
    c_format: str = "fp32",
    d_format: str = "fp32",
    **parameters: Any,
) -> int:
    """Xie, algorithms 5 and 9, for one element; ``parameters`` are those of ``dot`` (no ``carry_bits``).

    ``scale_format`` is "e8m0" or "ue4m3", one scale for each ``block`` products, a multiple of the ``G``
    products of a group. A NaN scale makes the result ``nan_code``. ``group_zero`` is point 15.
    """
    design = Design(**parameters)
    check_output(design, d_format)
    check_choice("group_zero", group_zero, "ABCD")
    if group_zero == "C" and design.e_zero is None:
        raise ValueError("reading C of a group that is zero needs e_zero")
    if L % G or block % G:
        raise ValueError(f"steps of {L} and blocks of {block} are not whole groups of {G}")
    if design.carry_bits is not None:
        raise ValueError("no source says how wide the sum of scaled groups is: carry_bits must be None")
    if any(FORMATS[x].special != "none" for x in (design.a_format, design.b_format)):
        raise ValueError("groups are of formats without infinity and NaN")
    pairs = decode_pairs(a, b, design.a_format, design.b_format, L, design.subnormals)
    scales = decode_scales(scale_a, scale_b, scale_format, len(pairs), block)
    if has_nan(scales):
        return design.nan_code

    def step(start: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], design.nan_code)
        if special is not None:
            return special
        groups = [
            group_term(pairs[k : k + G], *scales[start + k], group_zero, design.e_zero) for k in range(0, len(pairs), G)
        ]
        return fused_sum([*groups, c_term(accumulator, design)], design)

    return chain(
        pairs,
        c,
        step,
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=design.chain_infinity,
        subnormals=design.subnormals,
    )


# --- TR-FDPA and GTR-FDPA


@dataclass(frozen=True)
class Rounded:
    """What TR-FDPA and GTR-FDPA have besides the parameters of a T-FDPA step: F2 and two open points.

    ``late_alignment`` takes the place of what the algorithms round down; a final rounding only rounds down.
    """

    step: Design
    f2: int
    final_rounding: str
    product_overflow: str
    late_alignment: str = "floor"
    far_c: str = "rounded"
    d_format: str = "fp32"

    def __post_init__(self) -> None:
        """Refuse a misspelt choice."""
        check_output(self.step, self.d_format)
        check_choice("final_rounding", self.final_rounding, "AB")
        check_choice("product_overflow", self.product_overflow, "AB")
        check_choice("late_alignment", self.late_alignment, CHOICES["alignment"])
        check_choice("far_c", self.far_c, ("rounded", "dropped", "specials-dropped"))


def truncated_sum(terms: Sequence[Term], fraction_bits: int) -> Term:
    """Xie, algorithm 10, step 2: aligned at the largest exponent, truncated and summed, with that exponent.

    Where no product takes part (2B, all of them zero) the sum is zero and takes no part either.
    """
    exponents = [term.exponent for term in terms if term.exponent is not None]
    if not exponents:
        return Term(0, 0, None)
    unit = max(exponents) - fraction_bits
    return Term(sum(align(term, unit, "truncate") for term in terms), unit, max(exponents))


def rounded_sum(even: Term, odd: Term, fraction_bits: int, alignment: str) -> Term:
    """Xie, algorithm 11, step 3: two sums rounded down at the larger of their exponents."""
    exponents = [term.exponent for term in (even, odd) if term.exponent is not None]
    if not exponents:
        return Term(0, 0, None)
    unit = max(exponents) - fraction_bits
    return Term(align(even, unit, alignment) + align(odd, unit, alignment), unit, max(exponents))


def final_sum(products: Term, c: Term, design: Rounded, *, drops_small_c: bool) -> int:
    """Xie, algorithm 10, steps 3 and 4: the sum of the products and c, rounded down, and the result in fp32.

    ``drops_small_c`` is the special truncation of algorithm 11, line 24. Under 11B the products keep one bit
    more until the sum is renormalised, and that is rounded down to F2 bits once more (MMA-Sim 2.1.1, arithmetic/fdpa.py
    renormalises as fp32 does, to an exponent of -126 at least).
    """
    exponents = [term.exponent for term in (products, c) if term.exponent is not None]
    if not exponents:
        return 0
    largest, fraction_bits = max(exponents), design.step.fraction_bits
    twice = design.final_rounding == "B" and design.late_alignment == "floor"
    products_unit = largest - (design.f2 + 1 if twice else design.f2)
    c_unit = largest - fraction_bits
    kept_c = align(c, c_unit, design.late_alignment)
    if drops_small_c and c.exponent is not None and c.exponent < largest - fraction_bits - 1:
        kept_c = 0
    kept_products = align(products, products_unit, design.late_alignment)
    total, scale = exact_sum([(kept_products, products_unit), (kept_c, c_unit)])
    if twice and total != 0:
        unit = max(floor_log2(total, scale), FORMATS["fp32"].e_min) - design.f2
        total, scale = align(Term(total, scale, None), unit, "floor"), unit
    return design.step.convert(total, scale)


def overflow_to_infinity(x: Number, y: Number) -> Pair:
    """Xie, section 4.2: a finite product of 2**128 or more in magnitude counts as an infinity of its sign."""
    integer = x.integer * y.integer
    if integer != 0 and floor_log2(integer, x.scale + y.scale) >= 128:
        return Number("inf", x.sign ^ y.sign, 0, 0, 0), ONE
    return x, y


def rounded_special_value(pairs: Sequence[Pair], c: Number, design: Rounded) -> int | None:
    """Section 4.2 with the products that overflow; under 12B they count only where no operand is infinite.

    So under 12B an infinite operand, c or of a product, decides the result whatever sign they have.
    """
    overflowed = [overflow_to_infinity(x, y) for x, y in pairs]
    if design.product_overflow == "B":
        special = special_value(pairs, c, FORMATS[design.d_format], design.step.nan_code)
        if special is not None:
            return special
    return special_value(overflowed, c, FORMATS[design.d_format], design.step.nan_code)


def tr_fdpa(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    fraction_bits: int = 24,
    f2: int = 31,
    zero_c: str = "A",
    zero_product: str = "A",
    e_zero: int | None = None,
    final_rounding: str = "A",
    product_overflow: str = "A",
    late_alignment: str = "floor",
    nan_code: int,
    c_format: str = "fp32",
    d_format: str = "fp32",
    rho: str = "rne-fp32",
    **parameters: Any,
) -> int:
    """Xie, algorithms 5 and 10, for one element; ``parameters`` are the rest of those of ``dot``.

    ``fraction_bits`` is F. Open points: 1 ``zero_c``, 2 ``zero_product``, 11 ``final_rounding``, 12
    ``product_overflow``.
    """
    inner = Design(
        a_format=a_format,
        b_format=b_format,
        fraction_bits=fraction_bits,
        rho=rho,
        nan_code=nan_code,
        zero_c=zero_c,
        zero_product=zero_product,
        e_zero=e_zero,
        **parameters,
    )
    design = Rounded(inner, f2, final_rounding, product_overflow, late_alignment, d_format=d_format)

    def step(_: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = rounded_special_value(pairs, accumulator, design)
        if special is not None:
            return special
        products = truncated_sum([product_term(x, y, inner) for x, y in pairs], fraction_bits)
        return final_sum(products, c_term(accumulator, inner), design, drops_small_c=False)

    pairs = decode_pairs(a, b, a_format, b_format, L, inner.subnormals)
    return chain(pairs, c, step, c_format=c_format, d_format=d_format, length=L, subnormals=inner.subnormals)


def gtr_fdpa(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    fraction_bits: int = 24,
    f2: int = 31,
    zero_c: str = "A",
    zero_product: str = "A",
    e_zero: int | None = None,
    final_rounding: str = "A",
    product_overflow: str = "A",
    late_alignment: str = "floor",
    far_c: str = "dropped",
    nan_code: int,
    c_format: str = "fp32",
    d_format: str = "fp32",
    rho: str = "rne-fp32",
    scale_a: Sequence[int] = (),
    scale_b: Sequence[int] = (),
    block: int | None = None,
    **parameters: Any,
) -> int:
    """Xie, algorithms 5 and 11, for one element; parameters as for ``tr_fdpa``.

    With ``far_c`` "specials-dropped" an infinite or NaN c has the exponent -1 that frexp gives it, and is dropped as
    any other c is (MMA-Sim 2.1.1, arithmetic/fdpa.py, gtr_fdpa; fpy, examples/mmasim/models/amd.py).
    With a ``block``, E8M0 scales enter each product as in algorithm 8 (a combination that no source describes).
    """
    inner = Design(
        a_format=a_format,
        b_format=b_format,
        fraction_bits=fraction_bits,
        rho=rho,
        nan_code=nan_code,
        zero_c=zero_c,
        zero_product=zero_product,
        e_zero=e_zero,
        **parameters,
    )
    design = Rounded(inner, f2, final_rounding, product_overflow, late_alignment, far_c, d_format)

    pairs = decode_pairs(a, b, a_format, b_format, L, inner.subnormals)
    scales = [(ONE, ONE)] * len(pairs) if block is None else decode_scales(scale_a, scale_b, "e8m0", len(pairs), block)
    if has_nan(scales):
        return nan_code

    def step(start: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        of_products = scales[start : start + L]
        terms = [scaled(product_term(x, y, inner), *s, inner) for (x, y), s in zip(pairs, of_products, strict=True)]
        even, odd = (truncated_sum(half, fraction_bits) for half in (terms[0::2], terms[1::2]))
        products = rounded_sum(even, odd, fraction_bits, late_alignment)
        joins = c_term(accumulator, inner)
        reads_minus_1 = far_c == "specials-dropped" and accumulator.kind in ("inf", "nan")
        if reads_minus_1 and products.exponent is not None and products.exponent - fraction_bits > 0:
            accumulator, joins = Number("zero", 0, 0, 0, 0), Term(0, 0, None)
        special = rounded_special_value(pairs, accumulator, design)
        if special is not None:
            return special
        return final_sum(products, joins, design, drops_small_c=far_c != "rounded")

    return chain(pairs, c, step, c_format=c_format, d_format=d_format, length=L, subnormals=inner.subnormals)
