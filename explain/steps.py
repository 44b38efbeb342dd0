"""The steps of a design on operands: what enters them; their signals, fused sums and roundings as exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import prod

from mmaproof.designs.conversions import Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import ComplexPart, ElementProduct, ProductInfinity, ProductRange
from mmaproof.designs.steps import (
    FusedStep,
    IntegerStep,
    InterleavedStep,
    LanesStep,
    NetlistStep,
    PairwiseStep,
    SequentialStep,
)
from mmaproof.explain.values import (
    pattern_number,
    pattern_value,
    scaled,
    top_weight,
    unpacked,
)
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.datapath import Addend, Group, Label, Part, Partial, Product, Source, is_of_products
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.signals import StepSignals


class Running(Enum):
    """A term c that is not the operand c."""

    ACC = "acc"
    """what a chain has summed so far; the operand c is added after its last step"""

    def __str__(self) -> str:
        return self.value


Name = Label | Running
"""What a term is called in a picture."""


class Sum:
    """One fused sum of a step, read from its datapath and its signals.

    ``label`` is what later sums call it; ``labels`` name its terms, among them the ``accumulator`` in place of c.
    ``path_cuts`` are the cuts of the terms, ``cuts`` the weights of the lowest bits that they keep; ``cut`` is the
    weight of the lowest bit of the sum. ``of_sums`` says that its terms are sums before it (and c).
    """

    def __init__(self, signals: FusedSum[int, bool], accumulator: Name) -> None:
        path = signals.path
        self.label, self.signals, self.of_sums, self.register = path.label, signals, path.adds_sums, path.register
        self.labels: tuple[Name, ...] = tuple(accumulator if x is Addend.C else x for x in path.terms)
        self.e_max = signals.e_max.data
        self.cut = self.e_max - signals.fraction_bits
        self.path_cuts: dict[Name, Cut] = dict(zip(self.labels, path.cuts, strict=True))
        self.cuts = {label: self.e_max - cut.fraction_bits for label, cut in self.path_cuts.items()}
        values = [
            scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits)
            for t in signals.terms
        ]
        self.terms = dict(zip(self.labels, values, strict=True))
        self.aligned = dict(zip(self.labels, (scaled(x.data, self.cut) for x in signals.aligned), strict=True))
        self.total = scaled(signals.total.data, self.cut)

    @property
    def title(self) -> str:
        """What is added, in words."""
        if self.label in (Partial.EVEN, Partial.ODD, Partial.FIRST, Partial.SECOND):
            return f"{self.label} products"
        named = [str(label) for label in self.labels if not is_of_products(label)]
        named = named if self.of_sums else ["products", *named]
        return " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)

    @property
    def truncates(self) -> bool:
        """Whether every term loses low bits of its magnitude, and nothing else happens to it."""
        return all(cut.truncates for cut in self.path_cuts.values())

    @property
    def rounds_to_nearest(self) -> bool:
        """Whether every term is rounded to the nearest."""
        return all(cut.rounds_to_nearest for cut in self.path_cuts.values())

    @property
    def rounds_down(self) -> bool:
        """Whether every term is rounded towards minus infinity."""
        return all(cut.rounds_down for cut in self.path_cuts.values())

    @property
    def inverts(self) -> bool:
        """Whether the bits of terms that oppose c are inverted."""
        return any(cut.inverts for cut in self.path_cuts.values())

    @property
    def inverted(self) -> list[Name]:
        """The terms whose bits are inverted, zeros among them: each lies one unit further from c."""
        if not self.inverts:
            return []
        return [x for x in self.labels if abs(self.aligned[x]) != abs(self.terms[x] - self.lost(x))]

    @property
    def is_cut_in_one_way(self) -> bool:
        """Whether the same happens to the lost bits of every term."""
        return len({cut.alignment for cut in self.path_cuts.values()}) == 1

    def lost(self, label: Name) -> Fraction:
        """Return what lies below the cut in a term."""
        term = self.terms[label]
        below = abs(term) % scaled(1, self.cuts[label])
        return -below if term < 0 else below


@dataclass(frozen=True, slots=True)
class Rounded:
    """An exact sum, and the pattern that it was rounded to.

    N ``fraction_bits`` of the format's fraction are in use. ``overflowed`` says that the pattern is an infinity, or NaN
    where the format has none, ``flushes`` that a subnormal result becomes zero.
    """

    exact: Fraction
    fmt: Format
    pattern: int
    fraction_bits: int
    rounding: Rounding | Stochastic
    overflowed: bool
    flushes: bool

    @property
    def value(self) -> Fraction:
        """The value of the pattern."""
        return pattern_number(self.fmt, self.pattern)

    @property
    def low(self) -> int:
        """Weight of the lowest bit of the sum that is kept."""
        highest = top_weight(self.exact) if self.exact else self.fmt.e_min
        return max(highest, self.fmt.e_min) - self.fraction_bits

    @property
    def beyond(self) -> bool:
        """Whether the sum exceeds the largest finite number."""
        return self.overflowed or (bool(self.exact) and top_weight(self.exact) > self.fmt.e_max)

    @property
    def flushed(self) -> bool:
        """Whether a sum that is not zero became zero where subnormal results do."""
        return self.flushes and bool(self.exact) and not self.value


def _reads_infinities(design: Design) -> bool:
    """Return whether something is stated for infinite operands. What a netlist makes of them is in its bits."""
    return design.step.range_end is not None or design.d_format.infinity is not None


Pattern = tuple[Format, int]
"""A bit pattern and its format."""

_KINDS: dict[type, str] = {
    IntegerStep: "an integer sum",
    FusedStep: "a fused sum",
    LanesStep: "a sum of lanes",
    PairwiseStep: "an adder tree",
    SequentialStep: "a sequential sum",
    InterleavedStep: "two chains of fused multiply-adds",
    NetlistStep: "a netlist",
}
"""What adds the terms of a step, in words."""


class Step:
    """Step ``index`` of a design on operands.

    ``path`` is its datapath, ``ks`` are the numbers of its products, ``products`` their exact values. ``accumulator``
    is the pattern behind the term c of its sum. Where another c is added ``late`` (to the sum, already converted to
    the pattern ``output``), that one is ``c``; ``once`` says that only the last step of an instruction adds c.
    ``decided`` says that a NaN or an infinity of the operands decided the output.
    """

    def __init__(
        self, title: str, design: Design, operands: Operands, steps: Sequence[StepSignals[int, bool]], index: int
    ) -> None:
        fmt, self.signals = design.d_format, steps[index]
        self.title, self.design, self.operands = title, design, operands
        self.index, self.count, self.path = index, len(steps), self.signals.path
        self.ks = self.path.ks

        def entering(source: Source) -> Pattern:
            if source.step is not None:
                return fmt, steps[source.step].d.data
            return source.format_in(design), 0 if source.zero else operands.c

        self.once = design.chain.adds_c_once
        self.before = None if self.path.c.step is None else steps[self.path.c.step]
        self.c, self.accumulator = entering(self.path.joins_last), entering(self.path.c)
        self.starts, self.late = self.path.c.zero, self.path.added_last is not None
        named = {label: word.data for label, word in self.signals.rounded}
        self.output = named.pop(Partial.WHOLE) if self.late else self.signals.d.data
        self.results: dict[Label, int] = named

        special = self.signals.special
        self.sums = tuple(Sum(s, self.accumulator_name) for s in self.signals.sums)
        self.products: dict[Name, Fraction] = {Product(k): self._product(k) for k in self.ks}
        self.decided = special.nan.data or (special.infinite.data and _reads_infinities(design))
        self.result = f"{fmt.hex(self.signals.d.data)} = {pattern_value(fmt, self.signals.d.data)}"

    @property
    def labels(self) -> list[Name]:
        """The names of all terms of its sums."""
        return [label for s in self.sums for label in s.labels]

    @property
    def terms(self) -> dict[Name, Fraction]:
        """The terms of its sums."""
        return {label: value for s in self.sums for label, value in s.terms.items()}

    @property
    def aligned(self) -> dict[Name, Fraction]:
        """The terms as they enter their sums."""
        return {label: value for s in self.sums for label, value in s.aligned.items()}

    @property
    def total(self) -> Fraction:
        """The sum that is converted."""
        return self.sums[-1].total

    @property
    def sticky_weight(self) -> int | None:
        """Weight of a bit that stands for all that was cut off; None where there is none.

        It lies below the last place of the sum, and below the first bit that the rounding drops.
        """
        cut_off = any(s.lost(label) for s in self.sums for label in s.labels)
        if self.design.settings.get("sticky") != "yes" or not self.total or not cut_off:
            return None
        return min(self.sums[-1].cut, self._rounded(self.total).low - 1) - 1

    @property
    def conversion(self) -> Rounded:
        """How the sum, and the sticky bit below it, became the output."""
        weight = self.sticky_weight
        sticky = Fraction(0) if weight is None else scaled(1 if self.total > 0 else -1, weight)
        return self._rounded(self.total + sticky)

    def _rounded(self, exact: Fraction) -> Rounded:
        """Return what the conversion made of a sum of this value."""
        rho = self.design.step.conversion
        overflowed, flushes = self.signals.overflowed.data, self.design.step.subnormals.of_results
        return Rounded(exact, rho.target, self.output, rho.fraction_bits, rho.rounding, overflowed, flushes)

    @property
    def rounded(self) -> int:
        """Weight of the lowest bit of the sum that the conversion keeps."""
        return self.conversion.low

    @property
    def beyond(self) -> bool:
        """Whether the sum exceeds the largest finite number."""
        return self.conversion.beyond

    @property
    def d(self) -> Fraction:
        """The value of d where it is finite."""
        return pattern_number(self.design.d_format, self.signals.d.data)

    @property
    def accumulator_name(self) -> Name:
        """What the term c of the sum is called: ``acc`` where c itself is added late."""
        return Running.ACC if self.once or self.late else Addend.C

    @property
    def result_name(self) -> str:
        """What the result is called: ``acc`` inside a chain whose sum is added to c at its end."""
        return "acc" if self.once and not self.late else "d"

    @property
    def output_name(self) -> str:
        """What the output is called: the result, or the ``sum`` that c is added to."""
        return "sum" if self.late else self.result_name

    @property
    def returned(self) -> str:
        """The output in words."""
        fmt = self.design.d_format
        return f"{self.output_name} = {fmt.hex(self.output)} = {pattern_value(fmt, self.output)}"

    @property
    def kind(self) -> str:
        """What adds its terms, in words."""
        kind = type(self.design.step)
        return _KINDS.get(kind, f"a step of the kind {kind.__name__}")

    def element(self, column: str, k: int) -> Pattern:
        """Return element ``k`` of ``a`` or ``b``, +0 where the operands hold none."""
        fmt, elements = {
            "a": (self.design.a_format, self.operands.a),
            "b": (self.design.b_format, self.operands.b),
        }[column]
        return fmt, elements[k] if k < len(elements) else 0

    def flushes(self, column: str) -> bool:
        """Return whether subnormals of ``a``, ``b`` or ``c`` read as zeros."""
        subnormals = self.design.step.subnormals
        return {"a": subnormals.of_a, "b": subnormals.of_b, "c": subnormals.of_c}[column]

    def number(self, column: str, k: int) -> Fraction:
        """Return the value of element ``k`` of ``a`` or ``b`` as it is read, or of the part that is multiplied."""
        fmt, pattern = self.element(column, k)
        places = self.design.step.multiplied_places
        if places is None:
            return pattern_number(fmt, pattern, flushes=self.flushes(column))
        x, (first, last) = unpacked(fmt, pattern, flushes=self.flushes(column)), places["ab".index(column)]
        low = max(x.fraction_bits - last, 0)
        kept = (x.significand.data % (1 << (x.fraction_bits - first + 1))) >> low << low
        return scaled(-kept if x.negative.data else kept, x.exponent.data - x.fraction_bits)

    def scales(self, k: int) -> list[Pattern]:
        """Return the scales of a and b at ``k``, none where the design has none."""
        fmt, block = self.design.scale_format, self.design.block
        if fmt is None or block is None:
            return []
        columns = (self.operands.scale_a, self.operands.scale_b)
        return [(fmt, x[k // block] if k // block < len(x) else fmt.encode(1)) for x in columns]

    def factors(self, k: int) -> list[Pattern]:
        """Return everything that product ``k`` is made of."""
        return [self.element("a", k), self.element("b", k), *self.scales(k)]

    @property
    def counts_differing_bits(self) -> bool:
        """Whether a product of two elements is 1 where they differ, and not what they are as numbers."""
        step = self.design.step
        return isinstance(step, IntegerStep) and step.element_product is ElementProduct.XOR

    def _factors(self, k: int) -> tuple[int, int]:
        """Return the k of both elements of a product: of an imaginary part, those of the other element of a pair."""
        if self._part is not ComplexPart.IMAGINARY:
            return k, k
        return self.ks[self.ks.index(k) ^ 1], k

    def _sign(self, k: int) -> int:
        """Return -1 for a product that is subtracted: of a real part, that of two imaginary parts."""
        return -1 if self._part is ComplexPart.REAL and self.ks.index(k) % 2 else 1

    @property
    def _part(self) -> ComplexPart:
        step = self.design.step
        return step.complex_part if isinstance(step, InterleavedStep) else ComplexPart.NONE

    def _product(self, k: int) -> Fraction:
        (of_a, of_b), sign = self._factors(k), self._sign(k)
        elements = [sign * self.number("a", of_a), self.number("b", of_b)]
        if self.counts_differing_bits:
            return Fraction(elements[0] != elements[1])
        return prod((*elements, *(pattern_number(*s) for s in self.scales(k))), start=Fraction(1))

    def patterns(self, label: Name) -> list[Pattern]:
        """Return the patterns behind a term: those of a and b, the scales of a group, or the accumulator."""
        match label:
            case Product(k) | Part(k, "h", "h"):
                return [self.element(x, of) for x, of in zip("ab", self._factors(k), strict=True)]
            case Group(ks):
                return self.scales(ks[0])
            case Addend.C | Running.ACC:
                return [self.accumulator]
            case _:
                return []

    def special_terms(self) -> dict[Name, str]:
        """Return the terms that are NaN, or else those that are infinite, with which of these they are."""
        # an infinity that rho produced in the step before may count as a number: open point 8
        produced = self.before is not None and self.before.overflowed.data and not self.before.special.infinite.data
        c_counts = not produced or self.design.chain.keeps_infinities
        found: dict[Name, str] = {Product(k): value for k in self.ks if (value := self._special_product(k))}
        value = pattern_value(*self.accumulator)
        if value == "NaN" or (value.endswith("infinity") and c_counts):
            found[self.accumulator_name] = value
        infinite = [n for n in found if found[n] in ("+infinity", "-infinity")]
        operand = self.design.settings.get("product_infinity") is ProductInfinity.OPERAND
        if self.product_limit is not None and not (operand and infinite):
            found |= {Product(k): beyond for k in self.ks if Product(k) not in found and (beyond := self._beyond(k))}
        return {label: value for label, value in found.items() if value == "NaN"} or found

    @property
    def product_limit(self) -> int | None:
        """A product of magnitude ``2**product_limit`` or more is an infinity; None where none is."""
        limit: int | None = self.design.settings.get("product_limit")
        return limit

    def _special_product(self, k: int) -> str:
        factors = zip("ab", self._factors(k), strict=True)
        elements = [unpacked(*self.element(x, of), flushes=self.flushes(x)) for x, of in factors]
        scales = [unpacked(*s) for s in self.scales(k)]
        infinite = any(x.infinite.data for x in elements)
        if any(x.nan.data for x in (*elements, *scales)) or (infinite and any(x.zero.data for x in elements)):
            return "NaN"
        return (
            "+-"[elements[0].negative.data ^ elements[1].negative.data ^ (self._sign(k) < 0)] + "infinity"
            if infinite
            else ""
        )

    def _beyond(self, k: int) -> str:
        """Say that a product of finite elements counts as infinite, where it does."""
        limit, value = self.product_limit, prod((self.number(x, k) for x in "ab"), start=Fraction(1))
        if limit is None or abs(value) < scaled(1, limit):
            return ""
        if self.design.settings["product_range"] is ProductRange.TWOS_COMPLEMENT and value == -scaled(1, limit):
            return ""
        return f"{'-' if value < 0 else '+'}infinity, for its magnitude is 2^{limit} or more"

    def added(self) -> list[Name]:
        """Return the products that are not zero, in order of k."""
        special = self.special_terms() if self.decided else {}
        return [Product(k) for k in sorted(self.ks) if self.products[Product(k)] or Product(k) in special]

    def idle(self) -> str:
        """Return why the step returns its c and is not worth drawing; empty if it is worth drawing."""
        c, d = self.c, (self.design.d_format, self.signals.d.data)
        # a chain that starts at +0 may hold a sum by now
        if c != d or (self.late and pattern_value(*self.accumulator) != "+0"):
            return ""
        if self.decided:
            only = [*self.special_terms()] == [Addend.C]
            return f"c is {pattern_value(*c)}" if self.index and only and not self.late else ""
        return "" if any(self.products.values()) else "products are zero"
