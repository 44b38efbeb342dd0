"""An exact model of truncated fused dot products and of FMA chains, written from the papers alone.

It shares no code with the package and is there to disagree with it. Sources, as cited below: "Xie" is Xie et
al. 2026 (MMA-Sim), with its algorithms, tables and sections; "point n" is row n of the table of open points,
where publications disagree and every reading is a parameter.

Every magnitude is ``integer * 2**scale`` in unbounded integers, so nothing is rounded except where the text
says so. Formats, readings and conversions are named by the strings in the tables below; operands are bit
patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

ZERO_EXPONENT = -126
"""What a zero reads as its exponent under 1A and 2A, whatever its format."""


@dataclass(frozen=True)
class Format:
    """Sign, exponent field, fraction field and, below them, bits that are ignored.

    ``special`` says which patterns are reserved, in ml_dtypes' words: "ieee" (infinities and NaNs in the
    highest exponent), "fn" (no infinity, NaN is all ones below the sign), "fnuz" (NaN in the place of -0),
    "none".
    """

    exponent_bits: int
    fraction_bits: int
    bias: int
    special: str = "ieee"
    ignored_bits: int = 0

    @property
    def width(self) -> int:
        """Bits of a stored pattern."""
        return 1 + self.exponent_bits + self.fraction_bits + self.ignored_bits

    @property
    def e_min(self) -> int:
        """Exponent of the smallest normal number and of all subnormal numbers."""
        return 1 - self.bias

    @property
    def e_infinity(self) -> int:
        """One above the largest exponent (of an "ieee" format): 128 for fp32."""
        return (1 << self.exponent_bits) - 1 - self.bias

    @property
    def infinity(self) -> int:
        """Pattern of +infinity (of an "ieee" format)."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits


FORMATS = {
    "fp64": Format(11, 52, 1023),
    "fp32": Format(8, 23, 127),
    "tf32": Format(8, 10, 127, ignored_bits=13),
    "bf16": Format(8, 7, 127),
    "fp16": Format(5, 10, 15),
    "e5m2": Format(5, 2, 15),
    "e4m3": Format(4, 3, 7, "fn"),
    "e5m2fnuz": Format(5, 2, 16, "fnuz"),
    "e4m3fnuz": Format(4, 3, 8, "fnuz"),
    "e3m2": Format(3, 2, 3, "none"),
    "e2m3": Format(2, 3, 1, "none"),
    "e2m1": Format(2, 1, 1, "none"),
}


@dataclass(frozen=True)
class Conversion:
    """A row of Xie, table 2: where the result is stored, how many fraction bits it keeps, RNE or RZ."""

    format: str
    fraction_bits: int
    nearest: bool


CONVERSIONS = {
    "rz-fp32": Conversion("fp32", 23, nearest=False),
    "rz-e8m13": Conversion("fp32", 13, nearest=False),
    "rne-fp32": Conversion("fp32", 23, nearest=True),
    "rne-fp16": Conversion("fp16", 10, nearest=True),
    "rne-fp64": Conversion("fp64", 52, nearest=True),
}


@dataclass(frozen=True)
class Number:
    """A decoded operand: kind "nan", "inf", "zero" or "finite" and ``(-1)**sign * integer * 2**scale``.

    ``exponent`` is Exp(x) of Xie, algorithm 7: that of the field, for subnormal numbers e_min. It means
    nothing for NaN and infinity, and for zero the readings of points 1 and 2 take its place.
    """

    kind: str
    sign: int
    integer: int
    scale: int
    exponent: int

    @property
    def signed(self) -> int:
        """The integer with its sign."""
        return -self.integer if self.sign else self.integer

    @property
    def magnitude(self) -> Fraction:
        """The absolute value."""
        return Fraction(self.integer) * Fraction(2) ** self.scale


Pair = tuple[Number, Number]


@dataclass(frozen=True)
class Term:
    """A summand ``integer * 2**scale``, with its exponent, or None where it takes no part in e_max."""

    integer: int
    scale: int
    exponent: int | None


CHOICES = {
    "rho": tuple(CONVERSIONS),
    "alignment": ("truncate", "floor", "jam"),
    "product_exponent": ("summed", "normalised"),
    "zero_c": ("A", "B", "C"),
    "zero_product": ("A", "B", "C"),
    "c_subnormal": ("A", "B"),
    "overflow": ("A", "B"),
    "negative_zero": ("A", "B"),
    "chain_infinity": ("A", "B"),
}


@dataclass(frozen=True)
class Design:
    """The parameters of one T-FDPA step (Xie, algorithm 7 and table 4) and its reading of each open point."""

    a_format: str
    b_format: str
    fraction_bits: int
    rho: str
    nan_code: int
    alignment: str = "truncate"
    product_exponent: str = "summed"
    carry_bits: int | None = None
    zero_c: str = "A"
    e_zero: int | None = None
    zero_product: str = "A"
    floor: int | None = None
    c_subnormal: str = "A"
    overflow: str = "A"
    negative_zero: str = "A"
    chain_infinity: str = "A"

    def __post_init__(self) -> None:
        """Refuse a misspelt choice, which would otherwise be taken for some other one."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}, not one of {', '.join(allowed)}")
        if self.e_zero is None and "C" in (self.zero_c, self.zero_product):
            raise ValueError("reading C of a zero needs e_zero")


def decode(pattern: int, format: str) -> Number:
    """What a bit pattern stands for."""
    layout = FORMATS[format]
    if not 0 <= pattern < 1 << layout.width:
        raise ValueError(f"{pattern:#x} does not fit the {layout.width} bits of {format}")
    bits = pattern >> layout.ignored_bits
    highest_field = (1 << layout.exponent_bits) - 1
    highest_fraction = (1 << layout.fraction_bits) - 1
    fraction = bits & highest_fraction
    field = bits >> layout.fraction_bits & highest_field
    sign = bits >> (layout.fraction_bits + layout.exponent_bits)
    if layout.special == "ieee" and field == highest_field:
        return Number("nan" if fraction else "inf", sign, 0, 0, 0)
    if layout.special == "fn" and field == highest_field and fraction == highest_fraction:
        return Number("nan", sign, 0, 0, 0)
    if layout.special == "fnuz" and sign == 1 and field == 0 and fraction == 0:
        return Number("nan", sign, 0, 0, 0)
    if field == 0:
        exponent, integer = layout.e_min, fraction
    else:
        exponent, integer = field - layout.bias, fraction + (1 << layout.fraction_bits)
    return Number("finite" if integer else "zero", sign, integer, exponent - layout.fraction_bits, exponent)


def floor_log2(integer: int, scale: int) -> int:
    """Floor of log2 of ``|integer| * 2**scale``, which is not zero."""
    return abs(integer).bit_length() - 1 + scale


def special_value(pairs: Sequence[Pair], c: Number, infinity: int, nan_code: int) -> int | None:
    """Xie, section 4.2: the result where NaNs and infinities decide it, None where all is finite.

    ``infinity`` is the pattern of +infinity of an output format, whose sign is the bit above its exponent.
    """
    signs = set()
    for x, y in pairs:
        kinds = {x.kind, y.kind}
        if "nan" in kinds or kinds == {"inf", "zero"}:
            return nan_code
        if "inf" in kinds:
            signs.add(x.sign ^ y.sign)
    if c.kind == "inf":
        signs.add(c.sign)
    if c.kind == "nan" or len(signs) == 2:
        return nan_code
    return infinity | signs.pop() << infinity.bit_length() if signs else None


def convert(total: int, scale: int, rho: str, *, overflow: str = "A", negative_zero: str = "A") -> int:
    """Xie, table 2: ``total * 2**scale`` rounded once, with gradual underflow, to its bit pattern.

    RNE overflows as in IEEE 754. RZ overflows to infinity or, under 6B, to its largest finite number. A
    zero is +0; a negative number that rounds to zero is +0 or, under 7B, -0.
    """
    conversion = CONVERSIONS[rho]
    layout = FORMATS[conversion.format]
    if total == 0:
        return 0
    # The result is a multiple of 2**unit, fraction_bits below its exponent (below e_min where subnormal).
    exponent = max(floor_log2(total, scale), layout.e_min)
    unit = exponent - conversion.fraction_bits
    if scale >= unit:
        kept = abs(total) << (scale - unit)
    else:
        kept, lost = divmod(abs(total), 1 << (unit - scale))
        half = 1 << (unit - scale - 1)
        if conversion.nearest and (lost > half or (lost == half and kept % 2 == 1)):
            kept += 1
    # The leading one of a normal number adds one to the exponent field; a subnormal number has none: field 0.
    # So a carry into the next binade, or from the largest finite number into infinity, is right as well.
    unstored = layout.fraction_bits - conversion.fraction_bits
    pattern = (((exponent - layout.e_min) << conversion.fraction_bits) + kept) << unstored
    if pattern >= layout.infinity:
        saturates = overflow == "B" and not conversion.nearest
        pattern = layout.infinity - (1 << unstored) if saturates else layout.infinity
    if total > 0 or (pattern == 0 and negative_zero == "A"):
        return pattern
    return pattern | 1 << (layout.width - 1)


def product_term(x: Number, y: Number, design: Design) -> Term:
    """Xie, algorithm 7, step 1: the exact product; the exponent of a zero product is point 2."""
    integer, scale = x.signed * y.signed, x.scale + y.scale
    exponent: int | None
    if integer != 0 and design.product_exponent == "summed":
        exponent = x.exponent + y.exponent
    elif integer != 0:
        exponent = floor_log2(integer, scale)
    elif design.zero_product == "A":
        exponent = sum(ZERO_EXPONENT if operand.kind == "zero" else operand.exponent for operand in (x, y))
    else:
        exponent = None if design.zero_product == "B" else design.e_zero
    return Term(integer, scale, exponent)


def c_term(c: Number, design: Design) -> Term:
    """Xie, algorithm 7, lines 6 and 7; the exponent of a zero is point 1, of a subnormal number point 5."""
    exponent: int | None
    if c.kind == "zero":
        exponent = {"A": ZERO_EXPONENT, "B": None, "C": design.e_zero}[design.zero_c]
    elif design.c_subnormal == "A":
        exponent = c.exponent
    else:
        exponent = floor_log2(c.integer, c.scale)  # of a normal number this is its exponent
    return Term(c.signed, c.scale, exponent)


def align(term: Term, unit: int, alignment: str) -> int:
    """Xie, algorithm 7, line 10: the term as a multiple of ``2**unit``, what lies below being cut off.

    "truncate" cuts the magnitude; "floor" rounds towards minus infinity; "jam" cuts the magnitude and sets
    its lowest kept bit where anything was lost (round to odd).
    """
    if term.scale >= unit:
        return term.integer << (term.scale - unit)
    if alignment == "floor":
        return term.integer // (1 << (unit - term.scale))
    kept, lost = divmod(abs(term.integer), 1 << (unit - term.scale))
    if alignment == "jam" and lost:
        kept |= 1
    return -kept if term.integer < 0 else kept


def wrap(total: int, width: int) -> int:
    """What a two's complement register of ``width`` bits holds of a sum (point 13, reading B)."""
    half = 1 << (width - 1)
    return (total + half) % (2 * half) - half


def t_fdpa(pairs: Sequence[Pair], c: Number, design: Design) -> int:
    """Xie, algorithm 7: one step, as a bit pattern of the format in which rho stores it."""
    special = special_value(pairs, c, FORMATS[CONVERSIONS[design.rho].format].infinity, design.nan_code)
    if special is not None:
        return special
    terms = [product_term(x, y, design) for x, y in pairs] + [c_term(c, design)]
    exponents = [term.exponent for term in terms if term.exponent is not None]
    if not exponents:
        return 0  # only zeros take no part in e_max, so all terms are zero
    e_max = max(exponents)
    if design.floor is not None:
        e_max = max(e_max, design.floor)  # points 3 and 4
    unit = e_max - design.fraction_bits
    total = sum(align(term, unit, design.alignment) for term in terms)
    if design.carry_bits is not None:
        product_bits = 2 if design.product_exponent == "summed" else 1
        total = wrap(total, 1 + design.carry_bits + product_bits + design.fraction_bits)
    return convert(total, unit, design.rho, overflow=design.overflow, negative_zero=design.negative_zero)


def chain(a: Sequence[int], b: Sequence[int], c: int, *, c_format: str, length: int, design: Design) -> int:
    """Xie, algorithm 5, for one element: steps of ``length`` products, the d of one being the c of the next.

    Point 8: under B an infinity that a step made of finite operands enters the next step as 2**(largest
    exponent + 1); that step then has finite operands too, and what it makes of them is treated alike.
    """
    if len(a) != len(b) or len(a) == 0 or len(a) % length != 0:
        raise ValueError(f"{len(a)} and {len(b)} operands are not steps of {length}")
    pairs = [(decode(x, design.a_format), decode(y, design.b_format)) for x, y in zip(a, b, strict=True)]
    d_format = CONVERSIONS[design.rho].format
    accumulator, d = decode(c, c_format), 0
    for start in range(0, len(pairs), length):
        step = pairs[start : start + length]
        d = t_fdpa(step, accumulator, design)
        made_of_infinity = accumulator.kind == "inf" or any("inf" in (x.kind, y.kind) for x, y in step)
        accumulator = decode(d, d_format)
        if design.chain_infinity == "B" and accumulator.kind == "inf" and not made_of_infinity:
            e_infinity = FORMATS[d_format].e_infinity
            accumulator = Number("finite", accumulator.sign, 1, e_infinity, e_infinity)
    return d


def dot(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    c_format: str,
    d_format: str,
    L: int,  # noqa: N803 - its name in the papers
    fraction_bits: int,
    rho: str,
    alignment: str = "truncate",
    product_exponent: str = "summed",
    carry_bits: int | None = None,
    zero_c: str = "A",
    e_zero: int | None = None,
    zero_product: str = "A",
    floor: int | None = None,
    c_subnormal: str = "A",
    overflow: str = "A",
    negative_zero: str = "A",
    chain_infinity: str = "A",
    nan_code: int,
) -> int:
    """One element of D, ``c + sum a[k]*b[k]``, by a chain of T-FDPA steps (Xie, algorithms 5 and 7).

    ``fraction_bits`` is F. Open points: 1 ``zero_c``, 2 ``zero_product``, 3 and 4 ``floor``, 5
    ``c_subnormal`` (for a c of any format), 6 ``overflow``, 7 ``negative_zero``, 8 ``chain_infinity``, 13
    ``carry_bits``.
    """
    design = Design(
        a_format=a_format,
        b_format=b_format,
        fraction_bits=fraction_bits,
        rho=rho,
        nan_code=nan_code,
        alignment=alignment,
        product_exponent=product_exponent,
        carry_bits=carry_bits,
        zero_c=zero_c,
        e_zero=e_zero,
        zero_product=zero_product,
        floor=floor,
        c_subnormal=c_subnormal,
        overflow=overflow,
        negative_zero=negative_zero,
        chain_infinity=chain_infinity,
    )
    if CONVERSIONS[rho].format != d_format:
        raise ValueError(f"{rho} does not store {d_format}")
    if decode(nan_code, d_format).kind != "nan":
        raise ValueError(f"{nan_code:#x} is no NaN of {d_format}")
    return chain(a, b, c, c_format=c_format, length=L, design=design)


def fma(a: int, b: int, c: int, format: str, nan_code: int) -> int:
    """Xie, algorithm 3: IEEE 754 ``a*b + c`` rounded once, RNE."""
    x, y, z = (decode(pattern, format) for pattern in (a, b, c))
    special = special_value([(x, y)], z, FORMATS[format].infinity, nan_code)
    if special is not None:
        return special
    product_scale = x.scale + y.scale
    scale = min(product_scale, z.scale)
    total = (x.signed * y.signed << (product_scale - scale)) + (z.signed << (z.scale - scale))
    if total == 0:  # opposite numbers have different signs and give +0; two zeros give -0 only if both are -0
        negative = (x.sign ^ y.sign) & z.sign
        return negative << (FORMATS[format].width - 1)
    return convert(total, scale, f"rne-{format}", negative_zero="B")


def fma_chain(a: Sequence[int], b: Sequence[int], c: int, format: str, nan_code: int) -> int:
    """Xie, algorithm 4, for one element: one FMA after the other."""
    d = c
    for x, y in zip(a, b, strict=True):
        d = fma(x, y, d, format, nan_code)
    return d
