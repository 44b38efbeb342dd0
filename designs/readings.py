"""Named values of the parameters of a design.

Points on which publications disagree ("open points") are parameters whose values are named readings. The first
member of an enumeration is reading A, the second B, the third C, and the letters are accepted as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format


class Alignment(StrEnum):
    """What happens to the bits of an aligned term below the last kept one."""

    TRUNCATE = "truncate"
    """dropped from the magnitude, each term by itself"""
    FLOOR = "floor"
    """each term is rounded towards minus infinity"""
    JAM = "jam"
    """dropped, and the last kept bit is set if any of them was nonzero (round to odd)"""
    NEAREST = "nearest"
    """each term is rounded to the nearest, ties to even"""
    COMPLEMENT = "complement"
    """dropped; the bits of a term whose sign is not c's are inverted, not negated: it lies one unit further from c"""


class ProductExponent(StrEnum):
    """Which exponent a product enters the alignment with."""

    SUMMED = "summed"
    """Exp(a) + Exp(b); the significand lies in [0, 4)"""
    NORMALISED = "normalised"
    """floor(log2|a*b|); the significand lies in [1, 2)"""


class ZeroC(StrEnum):
    """Open point 1: the exponent of c = 0 in e_max."""

    MINUS_126 = "minus-126"
    """reads -126, whatever the format"""
    ABSENT = "absent"
    """takes no part"""
    E_ZERO = "e-zero"
    """reads e_zero"""
    NATURAL = "natural"
    """reads the exponent of its own encoding: e_min of its format"""


class ZeroProduct(StrEnum):
    """Open point 2: the exponent of a product with a zero operand in e_max."""

    OPERAND_MINUS_126 = "operand-minus-126"
    """the zero operand's exponent reads -126 and is added to the other operand's"""
    ABSENT = "absent"
    """takes no part"""
    E_ZERO = "e-zero"
    """the product reads e_zero"""
    NATURAL = "natural"
    """the zero operand reads the exponent of its own encoding, e_min of its format, added to the other operand's"""


class SubnormalC(StrEnum):
    """Open point 5: the exponent of a subnormal c."""

    E_MIN = "e-min"
    """that of its format's smallest normal number"""
    NORMALISED = "normalised"
    """that of the value normalised"""


class Widening(StrEnum):
    """Whether the elements of a and b are converted, exactly, to a wider format before anything else."""

    NONE = "none"
    """used as they are"""
    FP16 = "fp16"
    """converted to fp16: subnormals of a narrower format become normal"""
    FP32 = "fp32"
    """converted to fp32: subnormals of a format with a smaller range become normal"""

    @property
    def target(self) -> Format | None:
        """The wider format; None if they are used as they are."""
        return None if self is Widening.NONE else FORMATS[self.value]


class Subnormals(StrEnum):
    """Which subnormal numbers become zero.

    The parameters flushed_sign and flushed_result give the sign of a flushed operand and of a flushed result.
    Scales are never flushed.
    """

    KEPT = "kept"
    """none; subnormal numbers are used and produced"""
    FLUSHED = "flushed"
    """all: those of a, b and c, and results"""
    OPERANDS = "operands"
    """those of a and b"""
    OPERANDS_A = "operands-of-a"
    """those of a alone (on paper only: a and b can no longer be exchanged)"""
    ACCUMULATOR = "accumulator"
    """those of c, in each step of a chain"""
    RESULTS = "results"
    """results of a step, and of every rounded operation inside it"""
    ACCUMULATOR_AND_RESULTS = "accumulator-and-results"
    """those of c, in each step of a chain, and results"""
    ALL_BUT_A = "all-but-a"
    """those of b and c, and results: where elements of a are converted to a format in which they are normal"""
    ALL_BUT_B = "all-but-b"
    """those of a and c, and results"""

    @property
    def of_a(self) -> bool:
        """Whether subnormal elements of a become zero."""
        return self in (Subnormals.FLUSHED, Subnormals.OPERANDS, Subnormals.OPERANDS_A, Subnormals.ALL_BUT_B)

    @property
    def of_b(self) -> bool:
        """Whether subnormal elements of b become zero."""
        return self in (Subnormals.FLUSHED, Subnormals.OPERANDS, Subnormals.ALL_BUT_A)

    @property
    def of_c(self) -> bool:
        """Whether a subnormal c becomes zero, in each step of a chain."""
        return self is Subnormals.ACCUMULATOR or self in _OF_C_AND_RESULTS

    @property
    def of_results(self) -> bool:
        """Whether subnormal results of a step, and of rounded operations inside it, become zero."""
        return self is Subnormals.RESULTS or self in _OF_C_AND_RESULTS


_OF_C_AND_RESULTS = (
    *(Subnormals.FLUSHED, Subnormals.ACCUMULATOR_AND_RESULTS),
    *(Subnormals.ALL_BUT_A, Subnormals.ALL_BUT_B),
)


class FlushedSign(StrEnum):
    """The zero that a subnormal operand becomes."""

    POSITIVE = "positive"
    """+0"""
    KEPT = "kept"
    """a zero of its sign (denormals-are-zero of x86)"""


class FlushedResult(StrEnum):
    """The zero that a subnormal result becomes."""

    KEPT = "kept"
    """a zero of its sign"""
    POSITIVE = "positive"
    """+0"""


class Tininess(StrEnum):
    """When a result is one of the subnormal numbers that become zero (IEEE 754-2019, clause 7.5)."""

    ROUNDED = "rounded"
    """when it is rounded to a subnormal number: what rounds up to the smallest normal number is kept"""
    UNBOUNDED = "unbounded"
    """when it is below the smallest normal number once rounded as though exponents had no lower end"""
    EXACT = "exact"
    """when it is below the smallest normal number before it is rounded"""


class MinusZero(StrEnum):
    """Open point 16: an element, or a c that enters an instruction, that is -0."""

    KEPT = "kept"
    """stays -0"""
    POSITIVE = "positive"
    """becomes +0"""


class ZeroProductSign(StrEnum):
    """Open points 9 and 19: the sign of a product that is exactly zero, where products are rounded operations."""

    IEEE = "ieee"
    """that of the product"""
    PLUS_ZERO = "plus-zero"
    """that of its sum with +0, so +0 but where rho rounds towards minus infinity: the product is a multiply-add"""


class Summation(StrEnum):
    """How the terms of a step are added."""

    FUSED = "fused"
    """aligned at the largest exponent, cut, and added exactly"""
    PAIRWISE = "pairwise"
    """products, then sums of neighbours, then the sum with c: each rounded by rho (an adder tree)"""
    SEQUENTIAL = "sequential"
    """one after the other into one accumulator (Fasi et al. 2021)"""
    LANES = "lanes"
    """products, or sums of two, are lanes of a narrow register, cut and aligned with c, with a sticky bit (Vortex)"""
    INTERLEAVED = "interleaved"
    """even and odd products in two chains of fused multiply-adds from +0, then both sums, then c (Intel AMX)"""


class Adder(StrEnum):
    """How an adder of many terms is built. The sum does not depend on it."""

    SEQUENCE = "sequence"
    """one addition after the other"""
    CARRY_SAVE = "carry-save"
    """a tree of 3:2 compressors, and one addition"""


class Comparator(StrEnum):
    """How the largest exponent is found. Its value does not depend on it."""

    TREE = "tree"
    """the larger of each two neighbours, then the larger of each two of these, and so on"""
    CHAIN = "chain"
    """one after the other"""


class Grouping(StrEnum):
    """Which products are aligned with each other in a fused sum."""

    ALL = "all"
    """all of the step"""
    EVEN_ODD = "even-odd"
    """those of even index and those of odd index apart; then both sums are added"""
    APART = "apart"
    """all of the step, apart from c; then c is added to their sum (floor is of that addition)"""
    HALVES = "halves"
    """those of the first half of the step and of the second apart; then both sums and c are added (floor likewise)"""

    @property
    def is_before_c(self) -> bool:
        """Whether products are added before a c that is a term joins their sums."""
        return self in (Grouping.APART, Grouping.HALVES)


class SmallC(StrEnum):
    """What happens to a c below the last bit that is kept of it, where terms are rounded down."""

    ROUNDED = "rounded"
    """is rounded down like any other (a negative one to one unit)"""
    DROPPED = "dropped"
    """becomes zero, unless that bit is at most the smallest normal number of its format"""


class Join(StrEnum):
    """How the accumulator c joins the products of a step."""

    FUSED = "fused"
    """as one more term of the sum"""
    ROUND_DOWN = "round-down"
    """late: the sum of the products is rounded down to late_bits, c to fraction_bits, below the larger exponent"""
    IEEE = "ieee"
    """late: the converted sum of the products is added to c as in IEEE 754, in every step (see join_rounding)"""
    IEEE_ONCE = "ieee-once"
    """late: the chain of steps of an instruction starts at +0; its result is added to c once, rounded to nearest"""
    EXACT = "exact"
    """late: the sum of the products and c are added exactly, and rho rounds once"""


class JoinRounding(StrEnum):
    """How the sum of the products and c is rounded where both are numbers of the output format."""

    NEAREST = "nearest"
    """to nearest, ties to even"""
    RHO = "rho"
    """as rho rounds, its overflow included"""


class Sticky(StrEnum):
    """What the bits that the alignment cuts off the terms do to the rounding of their sum."""

    NO = "no"
    """nothing"""
    YES = "yes"
    """if any is one, a sum that is not zero is rounded as though its magnitude were larger by next to nothing"""


class ImplicitOnes(StrEnum):
    """Which operands have the one above the fraction in their significand. Only that of normal numbers has a value."""

    NORMAL = "normal"
    """normal numbers"""
    ACCUMULATOR = "accumulator"
    """also a zero and a subnormal c: the latter reads as 1.f at the exponent below the smallest normal number's"""
    ZEROS = "zeros"
    """as in accumulator, and zero elements: only its exponent says that a term is a zero, and its bits can be lost"""

    @property
    def of_c(self) -> bool:
        """Whether any c has it."""
        return self is not ImplicitOnes.NORMAL

    @property
    def of_zeros(self) -> bool:
        """Whether zero elements of a and b have it."""
        return self is ImplicitOnes.ZEROS


class LateRounding(StrEnum):
    """Open point 11: the final rounding where c joins late and rounded down."""

    ONCE = "once"
    """the sum of the products is rounded down once, at late_bits"""
    TWICE = "twice"
    """it is rounded down at late_bits + 1, c added, the sum renormalised (to e_min of d at least) and rounded down at
    late_bits"""


class FarC(StrEnum):
    """What happens to a c that joins rounded down and lies further than fraction_bits + 1 below the larger exponent."""

    ROUNDED = "rounded"
    """is rounded down like any other (a negative one to one unit)"""
    DROPPED = "dropped"
    """becomes zero (the special truncation of GTR-FDPA)"""
    SPECIALS_DROPPED = "specials-dropped"
    """becomes zero, and so does one that is infinite or NaN: its exponent reads -1 (open point 18)"""


class ProductInfinity(StrEnum):
    """Open point 12: a product beyond product_limit and an infinite operand (in particular c) of other sign."""

    NAN = "nan"
    """NaN, as infinity minus infinity"""
    OPERAND = "operand"
    """the operand's infinity: such a product counts only where no operand is infinite"""


class ProductRange(StrEnum):
    """Which finite products are infinities, where there is a product_limit."""

    MAGNITUDE = "magnitude"
    """those of magnitude 2**product_limit or more"""
    TWOS_COMPLEMENT = "twos-complement"
    """those that no signed integer below 2**product_limit holds: -2**product_limit is none"""


class ZeroGroup(StrEnum):
    """Open point 15: the exponent in e_max of a scaled group whose value is zero."""

    SCALES = "scales"
    """the group keeps its scale exponents"""
    ABSENT = "absent"
    """takes no part"""
    E_ZERO = "e-zero"
    """reads group_e_zero, but only if every product or a scale is zero"""
    SCALE_MINUS_126 = "scale-minus-126"
    """the group keeps its scale exponents, and that of a zero scale reads -126"""


class First(StrEnum):
    """Which term a sequential sum starts with. The others follow in index order, and c is last."""

    EXPONENT = "exponent"
    """the one with the largest exponent (the first of several)"""
    MAGNITUDE = "magnitude"
    """the one with the largest magnitude (the first of several)"""
    INDEX = "index"
    """the first product"""


class Truncates(StrEnum):
    """What a sequential sum cuts to fraction_bits."""

    ADDEND = "addend"
    """each addend, before it is added"""
    PARTIAL_SUM = "partial-sum"
    """each partial sum, after an exact addition"""


class Normalises(StrEnum):
    """Whether a sequential sum normalises its partial sums."""

    NO = "no"
    """they stay aligned at the first term's exponent"""
    YES = "yes"
    """each is normalised and cut to fraction_bits below its own exponent"""


class ComplexPart(StrEnum):
    """Which part of a product of complex numbers the neighbouring elements of even and odd index are taken for."""

    NONE = "none"
    """they are elements of their own"""
    REAL = "real"
    """re*re - im*im: the product of odd index is negated"""
    IMAGINARY = "imaginary"
    """im*re + re*im: elements of a are exchanged"""


class IntegerOverflow(StrEnum):
    """What an integer register does with a sum that does not fit."""

    WRAP = "wrap"
    """it keeps the low bits of the sum"""
    SATURATE = "saturate"
    """it holds the nearest integer that fits, once for each step"""


class ElementProduct(StrEnum):
    """How an integer unit multiplies an element of a by one of b."""

    TIMES = "times"
    """as numbers; of two bits that is their conjunction"""
    XOR = "xor"
    """1 where two bits differ, 0 where they do not"""


class Overflow(StrEnum):
    """Open point 6: the result beyond the largest finite number where a conversion truncates or rounds to nearest."""

    INFINITY = "infinity"
    """infinity"""
    LARGEST_FINITE = "largest-finite"
    """the largest finite number of the conversion (IEEE 754's rounding towards zero; saturation)"""


class RangeEnd(StrEnum):
    """What takes the place of an infinity in a d whose format has none, in the words of conversions outside units."""

    SATURATE = "saturate"
    """the largest finite number, of large sums and of infinities"""
    SATURATE_NAN = "saturate/nan"
    """the largest finite number of a large sum, NaN of an infinity"""
    NAN = "nan"
    """NaN"""


class NegativeZero(StrEnum):
    """Open point 7: a negative sum that converts to zero."""

    POSITIVE = "positive"
    """gives +0"""
    NEGATIVE = "negative"
    """gives -0"""


class ZeroSum(StrEnum):
    """The sign of a sum that is exactly zero."""

    POSITIVE = "positive"
    """always +0"""
    IEEE = "ieee"
    """-0 if every term is -0, else +0; where rho rounds towards minus infinity, +0 if every term is +0, else -0"""
    MAJORITY = "majority"
    """-0 if every product is zero and more of them are -0 than +0, else +0; c has no say"""


class ChainInfinity(StrEnum):
    """Open point 8: an infinity that an earlier step of a chain produced from finite operands."""

    INFINITE = "infinite"
    """stays an infinity"""
    FINITE = "finite"
    """behaves as the finite number 2**(e_max + 1) of the output format (2**128 for fp32)"""


class NanCode(StrEnum):
    """The pattern of a NaN result."""

    ALL_ONES = "all-ones"
    """every bit but the sign: 0x7fffffff, 0x7fff"""
    QUIET = "quiet"
    """exponent and top fraction bit: 0x7fc00000"""
    LARGEST_FINITE = "largest-finite"
    """none: the largest finite number takes its place (on paper only)"""

    def pattern(self, fmt: Format) -> int:
        """Return the bit pattern of the NaN in ``fmt``."""
        if self is NanCode.LARGEST_FINITE:
            return fmt.max_finite
        if fmt.quiet_nan is not None and (self is NanCode.QUIET or fmt.nan_is_minus_zero):
            return fmt.quiet_nan
        return (1 << fmt.sign_position) - 1


@dataclass(frozen=True, slots=True)
class KOrder:
    """An order of products that a text describes.

    ``text`` is ``consecutive``, ``reversed``, or groups of residues. For example, ``mod4:01/23`` takes the k with k mod
    4 in {0, 1} first and then the k with k mod 4 in {2, 3}, each group in rising order. Residues are hexadecimal
    digits.
    """

    text: str

    ALLOWED = "consecutive, reversed, or groups of residues such as mod4:01/23"

    def __post_init__(self) -> None:
        self.permutation(self._period())

    def __str__(self) -> str:
        return self.text

    def _period(self) -> int:
        spelled = re.fullmatch(r"mod([1-9]|1[0-6]):[0-9a-f]+(/[0-9a-f]+)*", self.text)
        if spelled is None and self.text not in ("consecutive", "reversed"):
            raise DesignError(f"k_order {self.text!r}: allowed is {self.ALLOWED}")
        return int(spelled[1]) if spelled else 1

    def permutation(self, length: int) -> list[int]:
        """Return the k in the order in which they are taken. Raises DesignError if the residues are not a partition."""
        if self.text == "consecutive":
            return list(range(length))
        if self.text == "reversed":
            return list(reversed(range(length)))
        period, groups = self._period(), self.text.partition(":")[2].split("/")
        residues = [int(r, 16) for group in groups for r in group]
        if sorted(residues) != list(range(period)):
            raise DesignError(f"k_order {self.text!r}: each residue 0..{period - 1} must occur once")
        return [k for group in groups for k in range(length) if f"{k % period:x}" in group]


CONSECUTIVE = KOrder("consecutive")
