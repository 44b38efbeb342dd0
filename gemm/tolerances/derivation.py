"""The bound of products with stated maxima, derived from lemmas, number by number, in rationals.

Every number of a computation has an exact part and an error: c and zeros have none. A step of a unit adds products to a
number. It cuts the terms (lemma ``cut``), below the largest exponent that the maxima allow (``top``), and converts
their sum (``rho``). A sum outside the unit is a step of two terms, and a conversion rounds one number. A derivation is
a list of these numbers, with the lemmas of each, and the checker of bundles computes it again (docs/bundle.md).

The bound of arrays (``bound``) is another one: it takes several steps at once, knows each element, and rounds outwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs.schedule import Add, Call, Convert, Operand, Operation, Schedule, Zero, described
from mmaproof.properties.step_loss import loss_of, symbolic_step, why_no_loss
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.stated import (
    NAMED,
    Record,
    StatedLemma,
    cut_lemma,
    rho_lemma,
    top_lemma,
    top_of_sum_lemma,
)
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import OPERAND, Addend, Source, datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import unpack


class NotDerivedError(Exception):
    """There is no derivation of a bound; the text says why."""


@dataclass(frozen=True, slots=True)
class Maximum:
    """What is stated of an operand: a pattern that no magnitude exceeds, and a power of two that divides all of them.

    ``unit`` is the exponent of this power.
    """

    fmt: Format
    pattern: int
    unit: int

    @property
    def value(self) -> Fraction:
        """The number of the pattern."""
        field, fraction = divmod(self.pattern >> self.fmt.ignored_bits, 1 << self.fmt.fraction_bits)
        significand = fraction | (bool(field) << self.fmt.fraction_bits)
        return significand * Fraction(2) ** (max(field, 1) - self.fmt.bias - self.fmt.fraction_bits)

    @property
    def record(self) -> Record:
        """What a bundle states."""
        return {"format": self.fmt.name, "most": self.pattern, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Derived:
    """A number: bounds of its exact part and of its error, and the fraction bits beyond which it has none."""

    most: Fraction
    error: Fraction
    fmt: Format
    bits: int

    @property
    def exponent(self) -> int:
        """The exponent that its pattern has at most."""
        return self.fmt.exponent_of(self.most + self.error)


@dataclass(frozen=True)
class Derivation:
    """How far a product is from the exact one at most: its numbers in order, each derived from earlier ones by lemmas.

    ``claim`` states the maxima, k and the error.
    """

    claim: Record
    lemmas: tuple[StatedLemma, ...]
    numbers: tuple[Record, ...]
    error: Fraction

    @property
    def record(self) -> Record:
        """The derivation, as a bundle has it."""
        named = {name_of(i): {"says": x.says, "of": x.of} for i, x in enumerate(self.lemmas)}
        return {"lemmas": named, "numbers": list(self.numbers)}


def name_of(number: int) -> str:
    """Return the name of a lemma in a bundle, from its number from 0."""
    return f"{number + 1:04}"


def derive(schedule: Schedule, a: Maximum, b: Maximum, c: Maximum | None) -> Derivation:
    """Return the derivation for all operands up to stated maxima; c is zero where it is None.

    It means nothing unless its lemmas are proved. Raises NotDerivedError where a number may overflow, and for units
    and operations that no rule is about.
    """
    return _Deriving(schedule, a, b, c).derivation()


def _why_not(design: Design) -> Iterator[str]:
    """Yield what a unit has that no rule is about."""
    if design.d_format.is_integer:
        yield "its sums are exact integers, of which no derivation is written"
        return
    reason = why_no_loss(design)
    if reason is not None:
        yield reason
        return
    loss = loss_of(design)
    if not loss.of_one_sum:
        yield "a step is not one sum of its products and c"
    if loss.flushed or design.step.subnormals.of_a or design.step.subnormals.of_b:
        yield "it flushes subnormal numbers"
    if design.scale_format is not None:
        yield "its operands have scales"
    if not design.guarantees(Guarantee.FINITE_PRODUCTS):
        yield "a product may be an infinity"
    if design.step.conversion.fraction_bits < 1:
        yield "its results have no fraction bits"
    if design.step.conversion.via is not None:
        yield "it converts a sum twice"
    if odd := [x.name for x in design.formats if x.name not in NAMED]:
        yield f"no bundle is about numbers of {odd[0]}"


class _Deriving:
    def __init__(self, schedule: Schedule, a: Maximum, b: Maximum, c: Maximum | None) -> None:
        self.schedule, self.a, self.b, self.c = schedule, a, b, c
        self._lemmas: dict[str, tuple[str, StatedLemma]] = {}
        self._numbers: list[tuple[Derived, Record]] = []
        self._steps: dict[tuple[Design, Format], _StepLemmas] = {}

    def derivation(self) -> Derivation:
        held: dict[int, int | None] = {}
        for i, operation in enumerate(self.schedule.operations):
            held[i] = self._operation(operation, held)
        last, _ = self._numbers[-1]
        own = {"a": self.a.record, "b": self.b.record, "c": None if self.c is None else self.c.record}
        claim = {"k": self.schedule.k, **own, "error": _dyadic(last.error)}
        lemmas = tuple(x for _, x in self._lemmas.values())
        return Derivation(claim, lemmas, tuple(x for _, x in self._numbers), last.error)

    def _operation(self, operation: Operation, held: dict[int, int | None]) -> int | None:
        """Derive a number. Return its place; None of a zero, which is written where it is used."""
        match operation:
            case Zero():
                return None
            case Operand(fmt=fmt):
                if self.c is None:
                    return None
                return self._note(Derived(self.c.value, Fraction(0), fmt, fmt.fraction_bits), {"is": "c"})
            case Call(words=(), c=c):
                return self._call(operation, self._taken(held, c, operation.unit.c_format))
            case Add(x=x, y=y, fmt=fmt, rounding=rounding) if not fmt.is_integer:
                return self._sum(self._taken(held, x, fmt), self._taken(held, y, fmt), fmt, rounding)
            case Convert(x=x, fmt=fmt) if not fmt.is_integer:
                return self._convert(self._taken(held, x, self.schedule.operations[x].fmt), operation)
            case _:
                raise NotDerivedError(f"no rule is about {described(operation)}")

    def _taken(self, held: dict[int, int | None], index: int, fmt: Format) -> int:
        place = held[index]
        if place is None:
            return self._note(Derived(Fraction(0), Fraction(0), fmt, 0), {"is": "zero", "format": fmt.name})
        return place

    def _note(self, derived: Derived, record: Mapping[str, Any]) -> int:
        bounds = {"most": _dyadic(derived.most), "error": _dyadic(derived.error)}
        self._numbers.append((derived, {**record, **bounds}))
        return len(self._numbers) - 1

    def _named(self, lemma: StatedLemma) -> str:
        return self._lemmas.setdefault(lemma.script, (name_of(len(self._lemmas)), lemma))[0]

    def _call(self, call: Call, start: int) -> int:
        unit, length = call.unit.configured(len(call.ks)), len(call.ks)
        if (reason := next(_why_not(unit), None)) is not None:
            raise NotDerivedError(f"{unit.name}: {reason}")
        place = start
        for i, path in enumerate(datapath(unit, length)):
            if path.c != (Source(step=i - 1) if i else OPERAND):
                raise NotDerivedError(f"{unit.name}: it does not add its steps in turn")
            place = self._step(unit, place, sum(k < length for k in path.ks))
        return place

    def _step(self, unit: Design, start: int, products: int) -> int:
        x, _ = self._numbers[start]
        if (unit, x.fmt) not in self._steps:
            of = replace(unit, signature=replace(unit.signature, c=x.fmt))
            self._steps[unit, x.fmt] = _StepLemmas.of(of, self.a, self.b)
        lemmas = self._steps[unit, x.fmt]
        power = max(lemmas.most, x.exponent)
        lost = unit.step.L * _cut_off(lemmas.product.of, power, self.a.unit + self.b.unit)
        if x.most + x.error:
            reached = lemmas.most if x.bits <= lemmas.accumulator.of["cut"] else power
            lost += _cut_off(lemmas.accumulator.of, reached, x.fmt.e_min - x.bits)
        most = x.most + products * self.a.value * self.b.value
        found = _converted(most, x.error + lost, lemmas.rho.of, unit.d_format)
        named = {
            "product": self._named(lemmas.product),
            "accumulator": self._named(lemmas.accumulator),
            "top": self._named(lemmas.top),
            "rho": self._named(lemmas.rho),
        }
        return self._note(found, {"is": "step", "c": start, "products": products, **named})

    def _sum(self, first: int, second: int, fmt: Format, rounding: Rounding) -> int:
        (x, _), (y, _) = self._numbers[first], self._numbers[second]
        if fmt.name not in NAMED or fmt.ignored_bits:
            raise NotDerivedError(f"no bundle is about sums of {fmt.name}")

        def total_of(algebra: TermAlgebra, x: Word[Any], y: Word[Any]) -> FusedSum[Any, Any]:
            return ieee.aligned_sum(algebra, fmt, *(unpack(algebra, fmt, z) for z in (x, y)))

        algebra = TermAlgebra()
        total = total_of(algebra, *(algebra.symbol(f"{name}_{fmt.name}", fmt.bits) for name in "xy"))
        shapes = {(TermShape.of(t, total.e_max), cut) for t, cut in zip(total.terms, total.path.cuts, strict=True)}
        ((shape, cut),) = shapes
        kept, top = cut_lemma(shape, cut), top_of_sum_lemma(total_of, fmt)
        rho = rho_lemma(
            Rules.of_format(fmt, rounding), total.total.width, total.e_max.width, total.fraction_bits, total.largest
        )
        bits = max(x.bits, y.bits)
        count = 1 + (bits > cut.fraction_bits)
        of = [(top.of["most"], 2), (x.exponent, count), (y.exponent, count)]
        lost = max(n * _cut_off(kept.of, power, fmt.e_min - bits) for power, n in of)
        found = _converted(x.most + y.most, x.error + y.error + lost, rho.of, fmt)
        named = {"cut": self._named(kept), "top": self._named(top), "rho": self._named(rho)}
        return self._note(found, {"is": "sum", "x": first, "y": second, **named})

    def _convert(self, place: int, operation: Convert) -> int:
        x, _ = self._numbers[place]
        if operation.fmt.name not in NAMED or operation.fmt.ignored_bits or x.fmt.name not in NAMED:
            raise NotDerivedError(f"no bundle is about conversions from {x.fmt.name} to {operation.fmt.name}")
        algebra = TermAlgebra()
        read = unpack(algebra, x.fmt, algebra.symbol(f"x_{x.fmt.name}", x.fmt.bits))
        rules = Rules.of_format(operation.fmt, operation.rounding, operation.out_of_range)
        width, largest = read.significand.negated_where(read.negative).width, (2 << x.fmt.fraction_bits) - 1
        rho = rho_lemma(rules, width, read.exponent.width, x.fmt.fraction_bits, largest)
        found = _converted(x.most, x.error, rho.of, operation.fmt)
        return self._note(found, {"is": "converted", "x": place, "rho": self._named(rho)})


@dataclass(frozen=True, slots=True)
class _StepLemmas:
    """The lemmas about one step of a unit, with c of some format; ``most`` bounds e_max where c does not."""

    product: StatedLemma
    accumulator: StatedLemma
    top: StatedLemma
    rho: StatedLemma
    most: int

    @classmethod
    def of(cls, design: Design, a: Maximum, b: Maximum) -> _StepLemmas:
        (total,) = symbolic_step(design).sums
        terms: dict[bool, tuple[TermShape, Cut]] = {}
        for label, term, cut in zip(total.labels, total.terms, total.path.cuts, strict=True):
            this = TermShape.of(term, total.e_max), cut
            if terms.setdefault(label is Addend.C, this) != this:
                raise NotDerivedError(f"{design.name}: its products differ in shape")
        for shape, formats in ((terms[False][0], design.formats[:2]), (terms[True][0], design.formats[2:3])):
            if shape.fraction_bits != sum(f.fraction_bits for f in formats):
                raise NotDerivedError(f"{design.name}: its terms have other bits than their factors")
        if len({cut.fraction_bits for _, cut in terms.values()}) != 1 or len(total.terms) != design.step.L + 1:
            raise NotDerivedError(f"{design.name}: its terms are not its products and c, cut at one place")
        loss = loss_of(design)
        top = max(_exponent(a) + _exponent(b) + loss.excess, loss.least_exponent)
        rules = Rules.of(design.step)
        return cls(
            cut_lemma(*terms[False]),
            cut_lemma(*terms[True]),
            top_lemma(design, a.pattern, b.pattern, top),
            rho_lemma(rules, total.total.width, total.e_max.width, total.fraction_bits, total.largest),
            top,
        )


def _exponent(x: Maximum) -> int:
    return x.fmt.exponent_of(x.value)


def _cut_off(cut: Record, power: int, last: int) -> Fraction:
    """Return what a term loses whose bits lie at ``2**last`` and above, if e_max is at most ``power``."""
    kept = power - int(cut["cut"])
    return Fraction(0) if last >= kept else Fraction(2) ** (kept - int(cut["half"]))


def _converted(most: Fraction, off: Fraction, rho: Record, fmt: Format) -> Derived:
    """Return what a sum becomes whose exact part is at most ``most``, and which is off by at most ``off``."""
    size, bits = most + off, int(rho["fraction_bits"])
    ulp = Fraction(2) ** (fmt.e_max - bits)
    if size > fmt.largest // ulp * ulp:
        raise NotDerivedError("a number may overflow")
    unit, power = Fraction(1, 1 << bits + int(rho["half"])), fmt.exponent_of(size)
    # a result with a larger exponent is larger than the sum by more than its conversion moves it
    power += size >= Fraction(2) ** (power + 1) * (1 - unit)
    return Derived(most, off + Fraction(2) ** power * unit, fmt, bits)


def _dyadic(x: Fraction) -> Sequence[int]:
    """Return an integer and the exponent of a power of two, whose product is a dyadic rational."""
    places = x.denominator.bit_length() - 1
    return [x.numerator, -places]
