"""The datapath of a design: which products enter which step, where c comes from, and the sums of each step.

It is computed once for a design and a length. The semantics follows it; pictures, coverage, emulation and proofs read
it. Widths of the register that adds the terms of a step follow from it, too.

Aligned terms are multiples of ``2**(e_max - F)``; the integer bits of a term are those of its magnitude at and above
``2**e_max``. Every width inside the semantics follows from bounds that the terms carry with them; the counts of
``SumWidths`` are what people call carry bits.

What the parts of a datapath are called: products, groups of them, partial sums, and what is added to them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Adder, Comparator, Grouping, ProductExponent, SmallC
from mmaproof.designs.steps import (
    FusedStep,
    JoinedAsTerm,
    JoinedExactly,
    JoinedInIeee,
    JoinedRoundedDown,
    LanesStep,
    Step,
)
from mmaproof.designs.steps.aligned import PartialProducts
from mmaproof.smt.semantics.align import Cut


class Element(NamedTuple):
    """An element of a or b."""

    column: str
    k: int

    def __str__(self) -> str:
        return f"{self.column}{self.k}"


class Product(NamedTuple):
    """The product of the elements at ``k``."""

    k: int

    def __str__(self) -> str:
        return f"p{self.k}"


class Part(NamedTuple):
    """A part of the product of the elements at ``k``: of the high, the middle or the low bits of either significand."""

    k: int
    of_a: str
    of_b: str
    parts: int
    """the number of parts of this product"""

    def __str__(self) -> str:
        return f"p{self.k}.{self.of_a}{self.of_b}"

    @classmethod
    def all_of(cls, k: int, terms: PartialProducts) -> tuple[Part, ...]:
        """Return the parts of one product, the largest first."""
        return tuple(cls(k, of_a, of_b, len(terms.pairs)) for of_a, of_b in terms.pairs)


class Group(NamedTuple):
    """The exact sum of the products at ``ks``, scaled."""

    ks: tuple[int, ...]

    def __str__(self) -> str:
        return f"p{self.ks[0]}..p{self.ks[-1]}"


class Partial(Enum):
    """A sum inside a step."""

    EVEN = "even"
    """of the products of even index"""
    ODD = "odd"
    """of those of odd index"""
    FIRST = "first-half"
    """of the products of the first half of the step"""
    SECOND = "second-half"
    """of those of the second half"""
    PRODUCTS = "products"
    """of all products"""
    WHOLE = "sum"
    """what is converted"""

    def __str__(self) -> str:
        return self.value


class Addend(Enum):
    """What is added to products, or to another number."""

    C = "c"
    """the accumulator"""
    X = "x"
    """the first number of an addition"""
    Y = "y"
    """the second one"""

    def __str__(self) -> str:
        return self.value


class RoundedSum(NamedTuple):
    """A sum of numbers that is a number of the output format itself."""

    parts: tuple[Label, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


Label = Product | Part | Group | Partial | Addend | RoundedSum


def is_of_products(label: object) -> bool:
    """Return whether a term is a product, a part of one, or a scaled group of some."""
    return isinstance(label, Product | Part | Group)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a c comes from: the d of ``step``, else +0 where ``zero`` is set, else the operand c."""

    step: int | None = None
    zero: bool = False

    def format_in(self, design: Design) -> Format:
        """Return the format of this c."""
        return design.d_format if self.zero or self.step is not None else design.c_format


OPERAND = Source()
ZERO = Source(zero=True)


@dataclass(frozen=True, slots=True)
class SumPath:
    """One fused sum: its terms with the cut of each, aligned at the largest exponent, and what is converted or added.

    ``label`` is what a later sum calls it as a term, ``WHOLE`` for the sum that is converted. ``floor`` is the least
    e_max; ``register`` the width of a two's complement register that may wrap, None for one that is wide enough.
    """

    label: Partial
    terms: tuple[Label, ...]
    cuts: tuple[Cut, ...]
    floor: int | None = None
    register: int | None = None
    adder: Adder = Adder.SEQUENCE
    comparator: Comparator = Comparator.TREE

    @property
    def fraction_bits(self) -> int:
        """The fraction bits of the sum below e_max: those of the finest cut."""
        return max(cut.fraction_bits for cut in self.cuts)

    @property
    def adds_sums(self) -> bool:
        """Whether its terms are sums, and no products."""
        return any(isinstance(label, Partial) for label in self.terms)

    def cut_of(self, label: Label) -> Cut:
        """Return the cut of a term."""
        return self.cuts[self.terms.index(label)]


@dataclass(frozen=True, slots=True)
class StepPath:
    """One step: the products at ``ks`` in order, and the c that joins them.

    ``terms`` are what the products become, ``sums`` the fused sums in order, of which the last one is converted; there
    are none where the step adds otherwise. ``far_c_dropped`` is the number of fraction bits below the products' sum
    beyond which a c is dropped; ``rounds_again`` the fraction bits at which the last sum is rounded down a second time.
    ``small_c_dropped`` is the exponent of the units above which a c below one unit is dropped.
    ``added_last`` is the c that is added to the converted sum in IEEE 754, None where there is none. With
    ``normalises_addends`` the last sum is that of two numbers that are normalised before they are aligned.
    """

    ks: tuple[int, ...]
    c: Source
    terms: tuple[Label, ...]
    sums: tuple[SumPath, ...]
    far_c_dropped: int | None = None
    rounds_again: int | None = None
    added_last: Source | None = None
    normalises_addends: bool = False
    small_c_dropped: int | None = None

    @property
    def drops_c(self) -> bool:
        """Whether a c that is not zero may be none of the terms."""
        return self.far_c_dropped is not None or self.small_c_dropped is not None

    def holds(self, label: Label, ks: Collection[int]) -> bool:
        """Return whether a term is c, or whether some element at ``ks`` enters it."""
        match label:
            case Product(k=k) | Part(k=k):
                return k in ks
            case Group(ks=members):
                return any(k in ks for k in members)
            case Partial():
                (total,) = (x for x in self.sums if x.label is label)
                return any(self.holds(x, ks) for x in total.terms)
            case _:
                return True

    @property
    def joins_last(self) -> Source:
        """The c that joins the products: in their sum, or after it was converted."""
        return self.c if self.added_last is None else self.added_last


@lru_cache(maxsize=4096)
def datapath(design: Design, length: int) -> tuple[StepPath, ...]:
    """Return the steps of a dot product of ``length`` elements; DesignError where the length does not fit.

    Below K elements of +0 fill up, or the instruction is configured to what there is; above it is a chain of
    instructions, each of which takes its products in the order that ``k_order`` states.
    """
    design = design.configured(length)
    order = design.chain.k_order.permutation(design.k)
    per_step, once = design.step.L, design.chain.adds_c_once
    steps: list[StepPath] = []
    carried = OPERAND
    for first in range(0, design.padded_length(length), design.k):
        running = ZERO if once else carried
        for place in range(0, design.k, per_step):
            ks = tuple(first + k for k in order[place : place + per_step])
            ends = place + per_step == design.k
            steps.append(_step(design, ks, running, carried if once and ends else None))
            running = Source(len(steps) - 1)
        carried = running
    return tuple(steps)


def _step(design: Design, ks: tuple[int, ...], c: Source, added_once: Source | None) -> StepPath:
    step = design.step
    terms = _terms(ks, step)
    if not isinstance(step, FusedStep):
        return StepPath(ks, c, terms, ())
    if isinstance(step.join, JoinedInIeee):
        return StepPath(ks, ZERO, terms, _sums(design, step, terms), added_last=c)
    if isinstance(step.join, JoinedExactly):
        return StepPath(ks, c, terms, _sums(design, step, terms), normalises_addends=True)
    dropped, again = None, None
    if isinstance(step.join, JoinedRoundedDown):
        dropped = step.fraction_bits if step.join.drops_far_c else None
        again = step.join.late_bits if step.join.rounds_twice else None
    small = c.format_in(design).e_min if step.small_c is SmallC.DROPPED else None
    return StepPath(ks, c, terms, _sums(design, step, terms), dropped, again, added_once, small_c_dropped=small)


def _terms(ks: tuple[int, ...], step: Step) -> tuple[Label, ...]:
    size = step.group_size
    if size is not None:
        return tuple(Group(ks[i : i + size]) for i in range(0, len(ks), size))
    if isinstance(step, FusedStep) and isinstance(step.terms, PartialProducts):
        return tuple(part for k in ks for part in Part.all_of(k, step.terms))
    return tuple(map(Product, ks))


def _sums(design: Design, step: FusedStep, terms: Sequence[Label]) -> tuple[SumPath, ...]:
    cut = Cut(step.fraction_bits, step.alignment)
    register = None if step.carry_bits is None else sum_widths(design).register
    late = step.join if isinstance(step.join, JoinedRoundedDown) else None

    def add(
        label: Partial, of: Sequence[Label], cuts: Sequence[Cut], *, floor: int | None, register: int | None = None
    ) -> SumPath:
        return SumPath(label, tuple(of), tuple(cuts), floor, register, step.adder, step.comparator)

    def joined(late: JoinedRoundedDown) -> SumPath:
        cuts = [Cut(late.first_bits, late.late_alignment), Cut(step.fraction_bits, late.late_alignment)]
        return add(Partial.WHOLE, [Partial.PRODUCTS, Addend.C], cuts, floor=None)

    if isinstance(step.join, JoinedExactly):
        products = add(Partial.PRODUCTS, terms, [cut] * len(terms), floor=step.floor, register=register)
        # as in an addition of IEEE 754 (see ieee), of numbers whose widest significand has this many bits
        precision = max(largest_sum(design).bit_length() + 1, *(f.precision for f in design.formats[2:]))
        return products, add(Partial.WHOLE, [Partial.PRODUCTS, Addend.C], [Cut.jammed(precision + 2)] * 2, floor=None)
    if step.grouping is Grouping.ALL:
        if late is None:
            with_c = [*terms, Addend.C]
            return (add(Partial.WHOLE, with_c, [cut] * len(with_c), floor=step.floor, register=register),)
        products = add(Partial.PRODUCTS, terms, [cut] * len(terms), floor=step.floor, register=register)
        return products, joined(late)
    if step.grouping.is_before_c:
        middle, end = len(terms) // 2, len(terms)
        parts = {Partial.FIRST: terms[:middle], Partial.SECOND: terms[middle:end]}
        if step.grouping is Grouping.APART:
            parts = {Partial.PRODUCTS: terms}
        before = [add(x, of, [cut] * len(of), floor=None, register=register) for x, of in parts.items()]
        with_sums: list[Label] = [*parts, Addend.C]
        return *before, add(Partial.WHOLE, with_sums, [cut] * len(with_sums), floor=step.floor)
    halves = [
        add(label, half, [cut] * len(half), floor=step.floor, register=register)
        for label, half in ((Partial.EVEN, terms[0::2]), (Partial.ODD, terms[1::2]))
        if half
    ]
    labels: list[Label] = [half.label for half in halves]
    if late is None:
        labels.append(Addend.C)
        return *halves, add(Partial.WHOLE, labels, [cut] * len(labels), floor=step.floor)
    down = Cut(step.fraction_bits, late.late_alignment)
    return *halves, add(Partial.PRODUCTS, labels, [down] * len(labels), floor=step.floor), joined(late)


@dataclass(frozen=True, slots=True)
class SumWidths:
    """Sizes in bits of the register that adds the aligned terms of a step.

    ``integer_bits`` of one product, ``carry_bits`` above them, ``fraction_bits`` below; the sign is extra.
    """

    integer_bits: int
    carry_bits: int
    fraction_bits: int
    sufficient_carry_bits: int

    @property
    def register(self) -> int:
        """Width of the two's complement register."""
        return 1 + self.carry_bits + self.integer_bits + self.fraction_bits

    @property
    def may_wrap(self) -> bool:
        """Whether some operands exceed the register."""
        return self.carry_bits < self.sufficient_carry_bits


def _fused(design: Design) -> FusedStep:
    if not isinstance(design.step, FusedStep):
        raise TypeError(f"{design.name}: its step adds no aligned terms in a register")
    return design.step


def _product_bound(design: Design, cut: Cut) -> int:
    """Bound of one product term (or scaled group, or of the parts of one product together), cut."""
    step = _fused(design)
    a, b = design.a_format, design.b_format
    if isinstance(step.terms, PartialProducts):
        point = a.fraction_bits + b.fraction_bits
        of_a, of_b = (_largest_parts(f, step.terms) for f in (a, b))
        return sum(cut.bound(of_a[x] * of_b[y], point) for x, y in step.terms.pairs)
    largest, point = a.max_significand * b.max_significand, a.fraction_bits + b.fraction_bits
    if step.group_size is not None:
        # the exact sum of a group: its products lie up to 2**(e_max(a) + e_max(b)) above its fixed point
        largest = (largest << (a.e_max + b.e_max)) * step.group_size
    if design.scale_format is not None:
        largest *= design.scale_format.max_significand**2
        point += 2 * design.scale_format.fraction_bits
    if step.product_exponent is ProductExponent.NORMALISED:
        width = largest.bit_length()
        largest, point = (1 << width) - 1, width - 1  # every bit set, below 2
    return cut.bound(largest, point)


def _largest_parts(fmt: Format, terms: PartialProducts) -> dict[str, int]:
    """Return the parts of the largest significand by letter, each in its place."""
    found, below = {}, 0
    for letter, bits in reversed(terms.widths):
        width = fmt.precision - below if bits is None else bits
        found[letter] = ((1 << width) - 1) << below
        below += width
    return found


def _bound(fmt: Format, cut: Cut, extra: int) -> int:
    return cut.bound(fmt.max_significand, fmt.fraction_bits - extra)


def largest_sum(design: Design) -> int:
    """Return a bound of the products' sum (and c, where it joins fused), in units of ``2**(e_max - F)``.

    It is attained when every term is at its largest and all have the same exponent; the largest significand occurs
    at every exponent but possibly the top one, so truncating formats of more than one exponent do attain it.
    """
    step = _fused(design)
    cut = Cut(step.fraction_bits, step.alignment)
    terms = step.L // (step.group_size or 1) // (2 if step.grouping in (Grouping.EVEN_ODD, Grouping.HALVES) else 1)
    total = max(terms, 1) * _product_bound(design, cut)
    if not isinstance(step.join, JoinedAsTerm | JoinedInIeee) or step.grouping is not Grouping.ALL:
        return total
    # from the second step of a chain on, c is the d of the step before
    return total + max(_bound(fmt, cut, step.c_extra_bits) for fmt in (design.c_format, design.d_format))


def sum_widths(design: Design) -> SumWidths:
    """Return the sizes of the sum of one step of ``design``.

    The sufficient number of carry bits is what the magnitude of ``largest_sum`` needs above the integer bits of
    one product: two for [0, 4), one where products are normalised to [1, 2). Two's complement of that many bits and
    a sign holds every sum of either sign.
    """
    if isinstance(design.step, LanesStep):
        return _lanes_widths(design, design.step)
    step = _fused(design)
    integer_bits = 1 if step.product_exponent is ProductExponent.NORMALISED else 2
    sufficient = max(largest_sum(design).bit_length() - step.fraction_bits - integer_bits, 0)
    carry = sufficient if step.carry_bits is None else step.carry_bits
    return SumWidths(integer_bits, carry, step.fraction_bits, sufficient)


def _lanes_widths(design: Design, step: LanesStep) -> SumWidths:
    """Return the sizes of the sum of lanes: every lane and c at its largest, all at one exponent.

    A lane of two products has their exponent and one more, so it is below 4 as a product is.
    """
    cut, a, b = Cut(step.fraction_bits), design.a_format, design.b_format
    lanes = step.L if step.pair_bits is None else step.L // 2
    one = cut.bound(a.max_significand * b.max_significand, a.fraction_bits + b.fraction_bits)
    total = lanes * one + max(_bound(fmt, cut, 0) for fmt in (design.c_format, design.d_format))
    sufficient = max(total.bit_length() - step.fraction_bits - 2, 0)
    carry = sufficient if step.carry_bits is None else step.carry_bits
    return SumWidths(2, carry, step.fraction_bits, sufficient)
