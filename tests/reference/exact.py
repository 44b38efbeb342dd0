"""An exact model of truncated fused dot products and of FMA chains, written from the papers alone.

It shares no code with the package and is there to disagree with it. Sources, as cited below: "Xie" is Xie et
al. 2026 (MMA-Sim), with its algorithms, tables and sections; "point n" is row n of the table of open points,
where publications disagree and every reading is a parameter.

Every magnitude is ``integer * 2**scale`` in unbounded integers, so nothing is rounded except where the text
says so. Formats, readings and conversions are named by the strings of the tables here and in formats.py;
operands are bit patterns. The other families are in families.py and accumulators.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reference.formats import CONVERSIONS, FORMATS, Format, Number, convert, decode, floor_log2, is_subnormal

ZERO_EXPONENT = -126
"""What a zero reads as its exponent under 1A and 2A, whatever its format."""

Pair = tuple[Number, Number]


@dataclass(frozen=True)
class Term:
    """A summand ``integer * 2**scale``, with its exponent, or None where it takes no part in e_max."""

    integer: int
    scale: int
    exponent: int | None


FLUSHED = {
    "kept": "",
    "flushed": "abcd",
    "operands": "ab",
    "operands-of-a": "a",
    "accumulator": "c",
    "results": "d",
    "accumulator-and-results": "cd",
    "all-but-a": "bcd",
    "all-but-b": "acd",
}
"""Whose subnormal numbers become zero: those of operands +0 (or of their sign), those of a result d of its sign."""

CHOICES = {
    "rho": tuple(CONVERSIONS),
    "subnormals": tuple(FLUSHED),
    "alignment": ("truncate", "floor", "jam", "nearest"),
    "product_exponent": ("summed", "normalised"),
    "zero_c": ("A", "B", "C", "D"),
    "zero_product": ("A", "B", "C", "D"),
    "c_subnormal": ("A", "B"),
    "overflow": ("A", "B"),
    "negative_zero": ("A", "B"),
    "chain_infinity": ("A", "B"),
    "sticky": ("no", "yes"),
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
    subnormals: str = "kept"
    sticky: str = "no"
    product_shift: int = 0

    def __post_init__(self) -> None:
        """Refuse a misspelt choice, which would otherwise be taken for some other one."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}, not one of {', '.join(allowed)}")
        if self.e_zero is None and "C" in (self.zero_c, self.zero_product):
            raise ValueError("reading C of a zero needs e_zero")

    def convert(self, total: int, scale: int) -> int:
        """The result of a step whose exact sum is ``total * 2**scale``."""
        flush = "d" in FLUSHED[self.subnormals]
        readings = {"overflow": self.overflow, "negative_zero": self.negative_zero}
        return convert(total, scale, self.rho, flush=flush, **readings)


def read(pattern: int, format: str, flush: bool, flushed_sign: str = "positive") -> Number:
    """Xie, algorithm 2, lines 1 to 3, where subnormal operands are flushed: such a one becomes +0.

    With ``flushed_sign`` "kept" it becomes a zero of its sign (Intel SDM volume 1, denormals-are-zeros).
    """
    x = decode(pattern, format)
    if not flush or not is_subnormal(x, format):
        return x
    return Number("zero", x.sign if flushed_sign == "kept" else 0, 0, x.scale, x.exponent)


def special_value(pairs: Sequence[Pair], c: Number, layout: Format, nan_code: int) -> int | None:
    """Xie, section 4.2: the result where NaNs and infinities decide it, None where all is finite.

    ``layout`` is the output format.
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
    return layout.of_infinity(signs.pop()) if signs else None


def product_term(x: Number, y: Number, design: Design) -> Term:
    """Xie, algorithm 7, step 1: the exact product; the exponent of a zero product is point 2."""
    integer, scale = x.signed * y.signed, x.scale + y.scale + design.product_shift
    exponent: int | None
    if integer != 0 and design.product_exponent == "summed":
        exponent = x.exponent + y.exponent + design.product_shift
    elif integer != 0:
        exponent = floor_log2(integer, scale)
    elif design.zero_product == "A":
        exponent = sum(ZERO_EXPONENT if operand.kind == "zero" else operand.exponent for operand in (x, y))
        exponent += design.product_shift
    elif design.zero_product == "D":
        # a zero has the exponent field of a subnormal number
        exponent = x.exponent + y.exponent + design.product_shift
    else:
        exponent = None if design.zero_product == "B" else design.e_zero
    return Term(integer, scale, exponent)


def c_term(c: Number, design: Design) -> Term:
    """Xie, algorithm 7, lines 6 and 7; the exponent of a zero is point 1, of a subnormal number point 5."""
    exponent: int | None
    if c.kind == "zero":
        exponent = {"A": ZERO_EXPONENT, "B": None, "C": design.e_zero, "D": c.exponent}[design.zero_c]
    elif design.c_subnormal == "A":
        exponent = c.exponent
    else:
        exponent = floor_log2(c.integer, c.scale)  # of a normal number this is its exponent
    return Term(c.signed, c.scale, exponent)


def align(term: Term, unit: int, alignment: str) -> int:
    """Xie, algorithm 7, line 10: the term as a multiple of ``2**unit``, what lies below being cut off.

    "truncate" cuts the magnitude; "floor" rounds towards minus infinity; "jam" cuts the magnitude and sets
    its lowest kept bit where anything was lost (round to odd); "nearest" takes the nearest multiple, and of two
    equally near ones the even one.
    """
    if term.scale >= unit:
        return term.integer << (term.scale - unit)
    if alignment == "floor":
        return term.integer // (1 << (unit - term.scale))
    if alignment == "nearest":
        half, below = divmod(term.integer, 1 << (unit - term.scale - 1))  # in half units, rounded down
        if half % 4 == 1 and below == 0:
            return half >> 1
        return (half + 1) >> 1
    kept, lost = divmod(abs(term.integer), 1 << (unit - term.scale))
    if alignment == "jam" and lost:
        kept |= 1
    return -kept if term.integer < 0 else kept


def wrap(total: int, width: int) -> int:
    """What a two's complement register of ``width`` bits holds of a sum (point 13, reading B)."""
    half = 1 << (width - 1)
    return (total + half) % (2 * half) - half


def fused_sum(terms: Sequence[Term], design: Design) -> int:
    """Xie, algorithm 7, lines 8 to 13: aligned at e_max, cut off, summed exactly and converted."""
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
    if design.sticky == "yes" and total and any(loses_bits(term, unit) for term in terms):
        # far below the last place of any rounding: a sticky bit makes no tie, it breaks one
        total, unit = (total << 200) + (1 if total > 0 else -1), unit - 200
    return design.convert(total, unit)


def loses_bits(term: Term, unit: int) -> bool:
    """Whether a term is not a multiple of ``2**unit``."""
    return term.scale < unit and term.integer % (1 << (unit - term.scale)) != 0


def t_fdpa(pairs: Sequence[Pair], c: Number, design: Design) -> int:
    """Xie, algorithm 7: one step, as a bit pattern of the format in which rho stores it."""
    special = special_value(pairs, c, FORMATS[CONVERSIONS[design.rho].format], design.nan_code)
    if special is not None:
        return special
    return fused_sum([product_term(x, y, design) for x, y in pairs] + [c_term(c, design)], design)


def decode_pairs(
    a: Sequence[int],
    b: Sequence[int],
    a_format: str,
    b_format: str,
    length: int,
    subnormals: str = "kept",
    flushed_sign: str = "positive",
) -> list[Pair]:
    """The operands of the products, which must be whole steps of ``length``."""
    if len(a) != len(b) or len(a) == 0 or len(a) % length != 0:
        raise ValueError(f"{len(a)} and {len(b)} operands are not steps of {length}")
    flushed = FLUSHED[subnormals]
    return [
        (read(x, a_format, "a" in flushed, flushed_sign), read(y, b_format, "b" in flushed, flushed_sign))
        for x, y in zip(a, b, strict=True)
    ]


def check_nan(nan_code: int, d_format: str) -> None:
    """Refuse a NaN pattern that would not read as one in the next step."""
    if FORMATS[d_format].special != "none" and decode(nan_code, d_format).kind != "nan":
        raise ValueError(f"{nan_code:#x} is not a NaN of {d_format}")


def check_output(design: Design, d_format: str) -> None:
    """Refuse an output format that rho does not store, and a NaN pattern that is none of it."""
    if CONVERSIONS[design.rho].format != d_format:
        raise ValueError(f"{design.rho} does not store {d_format}")
    check_nan(design.nan_code, d_format)


def chain(
    pairs: Sequence[Pair],
    c: int,
    step: Callable[[int, Sequence[Pair], Number], int],
    *,
    c_format: str,
    d_format: str,
    length: int,
    chain_infinity: str = "A",
    subnormals: str = "kept",
    flushed_sign: str = "positive",
) -> int:
    """Xie, algorithm 5, for one element: steps of ``length`` products, the d of one being the c of the next.

    A step gets the index of its first product, its products and its c. Point 8: under B an infinity that a
    step made of finite operands enters the next step as 2**(largest exponent + 1); that step then has finite
    operands too, and what it makes of them is treated alike.
    """
    flush = "c" in FLUSHED[subnormals]
    accumulator, d = read(c, c_format, flush, flushed_sign), 0
    for start in range(0, len(pairs), length):
        of_step = pairs[start : start + length]
        d = step(start, of_step, accumulator)
        made_of_infinity = accumulator.kind == "inf" or any("inf" in (x.kind, y.kind) for x, y in of_step)
        accumulator = read(d, d_format, flush, flushed_sign)
        if chain_infinity == "B" and accumulator.kind == "inf" and not made_of_infinity:
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
    subnormals: str = "kept",
    sticky: str = "no",
    product_shift: int = 0,
    nan_code: int,
) -> int:
    """One element of D, ``c + sum a[k]*b[k]``, by a chain of T-FDPA steps (Xie, algorithms 5 and 7).

    ``fraction_bits`` is F. Open points: 1 ``zero_c``, 2 ``zero_product``, 3 and 4 ``floor``, 5
    ``c_subnormal`` (for a c of any format), 6 ``overflow``, 7 ``negative_zero``, 8 ``chain_infinity``, 13
    ``carry_bits``. ``subnormals`` is a key of FLUSHED; c is flushed in each step. With ``sticky`` "yes" a sum that is
    not zero grows by next to nothing where any term lost a nonzero bit. Products are multiplied with
    ``2**product_shift``.
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
        subnormals=subnormals,
        sticky=sticky,
        product_shift=product_shift,
    )
    check_output(design, d_format)
    return chain(
        decode_pairs(a, b, a_format, b_format, L, subnormals),
        c,
        lambda _, pairs, accumulator: t_fdpa(pairs, accumulator, design),
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=chain_infinity,
        subnormals=subnormals,
    )


def exact_sum(terms: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The sum of ``integer * 2**scale`` terms, as such a term."""
    scale = min(scale for _, scale in terms)
    return sum(integer << (own - scale) for integer, own in terms), scale


def fused_multiply_add(
    x: Number,
    y: Number,
    z: Number,
    format: str,
    nan_code: int,
    *,
    rho: str | None = None,
    overflow: str = "A",
    flush: bool = False,
    tininess: str = "rounded",
) -> int:
    """Xie, algorithm 3: IEEE 754 ``x*y + z`` rounded once to a format; x, y, z may be of any other.

    ``rho`` is a conversion to the format, RNE by default; of an RZ one ``overflow`` is point 6. With ``flush``, a
    subnormal result becomes a zero of its sign; which are, ``tininess`` says.
    """
    special = special_value([(x, y)], z, FORMATS[format], nan_code)
    if special is not None:
        return special
    rho = rho or f"rne-{format}"
    total, scale = exact_sum([(x.signed * y.signed, x.scale + y.scale), (z.signed, z.scale)])
    if total == 0:
        # IEEE 754, clause 6.3: opposite numbers, and zeros of opposite signs, give +0, but rounded down -0
        signs = {x.sign ^ y.sign, z.sign}
        negative = signs.pop() if len(signs) == 1 else CONVERSIONS[rho].direction == "rtn"
        return FORMATS[format].signed(int(negative), 0) << FORMATS[format].ignored_bits
    return convert(total, scale, rho, overflow=overflow, negative_zero="B", flush=flush, tininess=tininess)


def fma_chain(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    format: str,
    nan_code: int,
    *,
    rho: str | None = None,
    overflow: str = "A",
    subnormals: str = "kept",
    flushed_sign: str = "positive",
    tininess: str = "rounded",
    factors: str | None = None,
    c_format: str | None = None,
    order: Sequence[int] = (0,),
) -> int:
    """Xie, algorithm 4, for one element: one FMA after the other, whose z is the result of the one before.

    ``factors`` is the format of a and b where it is another one, and ``c_format`` is that of c. ``order`` is that
    in which an instruction takes its products, as many as it has; a longer dot product is a chain of instructions.
    """
    flushed, d = FLUSHED[subnormals], c
    pairs = decode_pairs(a, b, factors or format, factors or format, len(order), subnormals, flushed_sign)
    for k in (first + k for first in range(0, len(pairs), len(order)) for k in order):
        z, c_format = read(d, c_format or format, "c" in flushed, flushed_sign), None
        x, y = pairs[k]
        d = fused_multiply_add(
            x, y, z, format, nan_code, rho=rho, overflow=overflow, flush="d" in flushed, tininess=tininess
        )
    return d
