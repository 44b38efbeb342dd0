"""The steps of a design on operands: what enters them, and their signals as exact values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import ProductInfinity
from mmaproof.designs.steps import FusedStep, IntegerStep, InterleavedStep, LanesStep, PairwiseStep, SequentialStep
from mmaproof.explain.sums import Name, Rounded, Running, Sum
from mmaproof.explain.values import (
    pattern_number,
    pattern_value,
    scaled,
    unpacked,
)
from mmaproof.smt.semantics.datapath import Source
from mmaproof.smt.semantics.labels import Addend, Group, Label, Part, Partial, Product
from mmaproof.smt.semantics.signals import StepSignals

Pattern = tuple[Format, int]
"""A bit pattern and its format."""

_KINDS: dict[type, str] = {
    IntegerStep: "an integer sum",
    FusedStep: "a fused sum",
    LanesStep: "a sum of lanes",
    PairwiseStep: "an adder tree",
    SequentialStep: "a sequential sum",
    InterleavedStep: "two chains of fused multiply-adds",
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
        self.decided = special.nan.data or (special.infinite.data and fmt.infinity is not None)
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

    def _product(self, k: int) -> Fraction:
        elements = (self.number(column, k) for column in "ab")
        return prod((*elements, *(pattern_number(*s) for s in self.scales(k))), start=Fraction(1))

    def patterns(self, label: Name) -> list[Pattern]:
        """Return the patterns behind a term: those of a and b, the scales of a group, or the accumulator."""
        match label:
            case Product(k) | Part(k, "h", "h"):
                return [self.element(x, k) for x in "ab"]
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
        elements = [unpacked(*self.element(x, k), flushes=self.flushes(x)) for x in "ab"]
        scales = [unpacked(*s) for s in self.scales(k)]
        infinite = any(x.infinite.data for x in elements)
        if any(x.nan.data for x in (*elements, *scales)) or (infinite and any(x.zero.data for x in elements)):
            return "NaN"
        return "+-"[elements[0].negative.data ^ elements[1].negative.data] + "infinity" if infinite else ""

    def _beyond(self, k: int) -> str:
        """Say that a product of finite elements counts as infinite, where it does."""
        limit, value = self.product_limit, prod((self.number(x, k) for x in "ab"), start=Fraction(1))
        if limit is None or abs(value) < scaled(1, limit):
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
