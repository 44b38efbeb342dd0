"""The matrix engines of Intel Gaudi 2 and Gaudi 3, written from the behaviour of the vendor's own model.

Source: HabanaAI/Intel_Gaudi3_Software, ``coral-sim`` (``fs_fma_gaudi2.h`` and ``fs_fma_gaudi3.h``, the functions that
the vendor uses to verify the RTL) and ``mme/mme_reference/chip_fma``, which chains their steps over K. Read, run, and
described here in exact integers.

Both align the products at the largest exponent among them and cut magnitudes below it. Gaudi 2 leaves c out: the cut
sum and c are added exactly and rounded once, to nearest. Gaudi 3 aligns c with the products, at -132 at least, and
truncates; it multiplies fp16 and tf32 in parts of three and eight bits whose four products are cut one by one, and
fp32 in three parts of eight bits, of whose nine products eight are computed. Gaudi 2 cuts fp32 in halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from reference.exact import Pair, chain, decode_pairs, exact_sum, special_value
from reference.formats import FORMATS, Number, convert, floor_log2


@dataclass(frozen=True)
class Factor:
    """A finite factor of a product: ``significand * 2**(exponent - fraction_bits)`` with its sign."""

    negative: bool
    exponent: int
    significand: int
    fraction_bits: int


def factor(x: Number, format: str, via: str | None) -> Factor:
    """The number as the multiplier reads it: first converted, exactly, to the format ``via`` where that is given.

    A subnormal number of the first format has a leading one in the second, unless it is subnormal there too.
    """
    fraction_bits = FORMATS[format].fraction_bits
    if x.integer == 0:
        return Factor(bool(x.sign), 0, 0, fraction_bits)
    exponent = x.exponent if via is None else max(floor_log2(x.integer, x.scale), FORMATS[via].e_min)
    shift = x.scale - (exponent - fraction_bits)
    if shift < 0 and x.integer % (1 << -shift):
        raise ValueError(f"{format} has numbers that {via} cuts")
    significand = x.integer << shift if shift >= 0 else x.integer >> -shift
    return Factor(bool(x.sign), exponent, significand, fraction_bits)


@dataclass(frozen=True)
class Cut:
    """Where significands are cut: the bits of all parts but the highest, the lowest first; and what is left out."""

    bits: tuple[int, ...] = ()
    without_lowest: bool = False

    def parts(self, significand: int) -> list[int]:
        """The parts of a significand that are multiplied by themselves, the lowest first."""
        found = []
        for place in accumulate(self.bits):
            low = significand % (1 << place)
            found.append(low)
            significand -= low
        return [*found, significand]

    def products(self, x: int, y: int) -> list[int]:
        """The products of parts of two significands that are computed."""
        found = [p * q for p in self.parts(x) for q in self.parts(y)]
        return found[1:] if self.without_lowest else found


WHOLE = Cut()
"""Significands in one piece."""


@dataclass(frozen=True)
class Product:
    """One product as the tree adds it: its exponent, None where it is zero, and its parts ``integer * 2**scale``."""

    exponent: int | None
    negative: bool
    magnitudes: tuple[int, ...]
    scale: int

    def cut(self, unit: int) -> int:
        """The sum of the parts, each in units of ``2**unit`` and without what lies below."""
        kept = sum(x << self.scale - unit if self.scale >= unit else x >> unit - self.scale for x in self.magnitudes)
        return -kept if self.negative else kept


def product(x: Factor, y: Factor, product_exponent: str, cut: Cut) -> Product:
    """The product of two factors, at the sum of their exponents or at its own."""
    scale = x.exponent - x.fraction_bits + y.exponent - y.fraction_bits
    magnitudes = cut.products(x.significand, y.significand)
    exponent: int | None = x.exponent + y.exponent
    if x.significand * y.significand == 0:
        exponent = None
    elif product_exponent == "normalised":
        exponent = floor_log2(sum(magnitudes), scale)
    return Product(exponent, x.negative != y.negative, tuple(magnitudes), scale)


def products_of(
    pairs: Sequence[Pair], formats: tuple[str, str], via: str | None, product_exponent: str, cut: Cut
) -> list[Product]:
    """The products of a step."""
    factors = [tuple(factor(x, format, via) for x, format in zip(pair, formats, strict=True)) for pair in pairs]
    return [product(x, y, product_exponent, cut) for x, y in factors]


def gaudi2(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    fraction_bits: int,
    via: str | None,
    product_exponent: str,
    cut: Cut = WHOLE,
    zero_sum: str,
    flushes_operands: bool,
    nan_code: int,
    c_format: str = "fp32",
    d_format: str = "fp32",
    rho: str = "rne-fp32",
) -> int:
    """Gaudi 2: the products, cut at F below their largest exponent, plus c, rounded once to nearest even fp32.

    A c or a result that is subnormal is a zero of its sign, and so is an operand where ``flushes_operands`` says so.
    A sum that is exactly zero is +0 ("positive"); or it is -0 if all of its terms are, or if they are not alike and
    ``rho`` rounds down ("ieee"); or if all products are zero and most of them negative ("majority").
    """
    if zero_sum not in ("positive", "ieee", "majority"):
        raise ValueError(f"zero_sum is {zero_sum!r}")
    layout = FORMATS[d_format]

    def step(_: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, layout, nan_code)
        if special is not None:
            return special
        products = products_of(pairs, (a_format, b_format), via, product_exponent, cut)
        exponents = [x.exponent for x in products if x.exponent is not None]
        unit = max(exponents, default=0) - fraction_bits
        total = sum(x.cut(unit) for x in products)
        whole, scale = exact_sum([(total, unit), (accumulator.signed, accumulator.scale)])
        if whole == 0:
            negatives = sum(x.negative for x in products)
            signs = {accumulator.sign == 1, *(x.negative for x in products)}
            all_zero = all(x.exponent is None for x in products)
            negative = {
                "positive": False,
                "ieee": signs == {True} or (len(signs) == 2 and rho.startswith("rtn")),
                "majority": all_zero and 2 * negatives > len(products),
            }[zero_sum]
            return layout.signed(int(negative), 0) << layout.ignored_bits
        return convert(whole, scale, rho, negative_zero="B", flush=True)

    flushed = "flushed" if flushes_operands else "kept"
    pairs = decode_pairs(a, b, a_format, b_format, L, flushed, "kept")
    settings = {"subnormals": "accumulator-and-results", "flushed_sign": "kept"}
    return chain(pairs, c, step, c_format=c_format, d_format=d_format, length=L, **settings)


def gaudi3(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    fraction_bits: int,
    via: str | None,
    cut: Cut,
    floor: int | None,
    nan_code: int,
    c_format: str = "fp32",
    d_format: str = "fp32",
    rho: str = "rz-fp32",
) -> int:
    """Gaudi 3: the products and c, cut at F below the largest exponent of all (``floor`` at least), truncated to fp32.

    A zero result is +0, and what overflows is infinite.
    """

    def step(start: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], nan_code)
        if special is not None:
            return special
        terms = products_of(pairs, (a_format, b_format), via, "summed", cut)
        of_c = factor(accumulator, d_format if start else c_format, None)
        one = Factor(False, 0, 1, 0)
        terms.append(product(of_c, one, "summed", WHOLE))
        exponents = [x.exponent for x in terms if x.exponent is not None]
        e_max = max(exponents, default=0) if floor is None else max(*exponents, floor, floor)
        unit = e_max - fraction_bits
        return convert(sum(x.cut(unit) for x in terms), unit, rho)

    pairs = decode_pairs(a, b, a_format, b_format, L)
    return chain(pairs, c, step, c_format=c_format, d_format=d_format, length=L)
