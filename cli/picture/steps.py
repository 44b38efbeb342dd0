"""The steps of a design on operands: what enters them, and their signals as exact values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from mmaproof.cli.picture.sums import Rounded, fused_sums
from mmaproof.cli.picture.values import (
    pattern_number,
    pattern_value,
    product_number,
    scaled,
    unpacked,
)
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.designs.readings import ChainInfinity, Join, ProductInfinity, Summation
from mmaproof.smt.semantics.signals import StepSignals

Pattern = tuple[Format, int]
"""A bit pattern and its format."""


class Step:
    """Step ``index`` of a design on operands.

    ``ks`` are the numbers of its products, ``products`` their exact values by label. ``c`` is the pattern that the
    products are added to; ``accumulator`` the one behind the term c of its sum. Where c is added ``late`` (to the sum,
    already converted to the pattern ``output``), the accumulator ``starts`` at +0; ``once`` says that only the last
    step of an instruction adds c. ``decided`` says that a NaN or an infinity of the operands decided the output.
    """

    def __init__(
        self, title: str, design: Design, operands: Operands, steps: Sequence[StepSignals[int, bool]], index: int
    ) -> None:
        p, fmt = design.parameters, design.d_format
        self.title, self.design, self.operands = title, design, operands
        self.index, self.count, self.signals = index, len(steps), steps[index]
        instruction, place = divmod(index * p.L, design.k)
        order = p.k_order.permutation(design.k)
        self.ks = [instruction * design.k + k for k in order[place : place + p.L]]

        def entering(number: int) -> Pattern:
            return (fmt, steps[number - 1].d.data) if number else (design.c_format, operands.c)

        self.once = p.join is Join.IEEE_ONCE
        self.before = steps[index - 1] if index else None
        self.c = entering(index - place // p.L if self.once else index)
        self.starts = p.join is Join.IEEE or (self.once and not place)
        self.accumulator = (fmt, 0) if self.starts else entering(index)
        named = dict(self.signals.rounded)
        self.late = p.join in (Join.IEEE, Join.IEEE_ONCE) and "sum" in named
        self.output = named["sum"].data if self.late else self.signals.d.data
        self.results = {} if self.late else {name: word.data for name, word in named.items()}

        special = self.signals.special
        self.sums = tuple(fused_sums(design, self.signals.sums, self.accumulator_name))
        self.products = {f"p{k}": self._product(k) for k in self.ks}
        self.decided = special.nan.data or (special.infinite.data and fmt.infinity is not None)
        self.result = f"{fmt.hex(self.signals.d.data)} = {pattern_value(fmt, self.signals.d.data)}"

    @property
    def labels(self) -> list[str]:
        """The names of all terms of its sums."""
        return [label for s in self.sums for label in s.labels]

    @property
    def terms(self) -> dict[str, Fraction]:
        """The terms of its sums."""
        return {label: value for s in self.sums for label, value in s.terms.items()}

    @property
    def aligned(self) -> dict[str, Fraction]:
        """The terms as they enter their sums."""
        return {label: value for s in self.sums for label, value in s.aligned.items()}

    @property
    def total(self) -> Fraction:
        """The sum that is converted."""
        return self.sums[-1].total

    @property
    def conversion(self) -> Rounded:
        """How the sum became the output."""
        rho = self.design.parameters.conversion
        overflowed, flushes = self.signals.overflowed.data, self.design.parameters.subnormals.of_results
        return Rounded(self.total, rho.target, self.output, rho.fraction_bits, rho.rounding, overflowed, flushes)

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
    def accumulator_name(self) -> str:
        """What the term c of the sum is called: ``acc`` where c itself is added late."""
        return "acc" if self.once or self.late else "c"

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
        if self.design.d_format.is_integer:
            return "an integer sum"
        if self.sums:
            return "a fused sum"
        return "an adder tree" if self.design.parameters.summation is Summation.PAIRWISE else "a sequential sum"

    def element(self, column: str, k: int) -> Pattern:
        """Return element ``k`` of ``a`` or ``b``, +0 where the operands hold none."""
        fmt, elements = {
            "a": (self.design.a_format, self.operands.a),
            "b": (self.design.b_format, self.operands.b),
        }[column]
        return fmt, elements[k] if k < len(elements) else 0

    def flushes(self, column: str) -> bool:
        """Return whether subnormals of ``a``, ``b`` or ``c`` read as zeros."""
        subnormals = self.design.parameters.subnormals
        return {"a": subnormals.of_a, "b": subnormals.of_b, "c": subnormals.of_c}[column]

    def number(self, column: str, k: int) -> Fraction:
        """Return the value of element ``k`` of ``a`` or ``b`` as it is read."""
        return pattern_number(*self.element(column, k), flushes=self.flushes(column))

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

    def group(self, label: str) -> list[int]:
        """Return the numbers of the products that a term is made of; ``p0..p15`` is a scaled group."""
        if found := re.fullmatch(r"p(\d+)\.\.p(\d+)", label):
            first, last = (self.ks.index(int(number)) for number in found.groups())
            return self.ks[first : last + 1]
        number = product_number(label)
        return [] if number is None else [number]

    def patterns(self, label: str) -> list[Pattern]:
        """Return the patterns behind a term: those of a and b, the scales of a group, or the accumulator."""
        if label in ("c", "acc"):
            return [self.accumulator]
        ks = self.group(label)
        return [] if not ks else self.scales(ks[0]) if ".." in label else [self.element(x, ks[0]) for x in "ab"]

    def special_terms(self) -> dict[str, str]:
        """Return the terms that are NaN, or else those that are infinite, with which of these they are."""
        # an infinity that rho produced in the step before may count as a number: open point 8
        produced = self.before is not None and self.before.overflowed.data and not self.before.special.infinite.data
        c_counts = not produced or self.design.parameters.chain_infinity is ChainInfinity.INFINITE
        found = {f"p{k}": value for k in self.ks if (value := self._special_product(k))}
        value = pattern_value(*self.accumulator)
        if value == "NaN" or (value.endswith("infinity") and c_counts):
            found[self.accumulator_name] = value
        p, infinite = self.design.parameters, [n for n in found if found[n] in ("+infinity", "-infinity")]
        if p.product_limit is not None and not (p.product_infinity is ProductInfinity.OPERAND and infinite):
            found |= {n: value for n in self.products if n not in found and (value := self._beyond(n))}
        return {label: value for label, value in found.items() if value == "NaN"} or found

    def _special_product(self, k: int) -> str:
        elements = [unpacked(*self.element(x, k), flushes=self.flushes(x)) for x in "ab"]
        scales = [unpacked(*s) for s in self.scales(k)]
        infinite = any(x.infinite.data for x in elements)
        if any(x.nan.data for x in (*elements, *scales)) or (infinite and any(x.zero.data for x in elements)):
            return "NaN"
        return "+-"[elements[0].negative.data ^ elements[1].negative.data] + "infinity" if infinite else ""

    def _beyond(self, label: str) -> str:
        """Say that a product of finite elements counts as infinite, where it does."""
        limit, k = self.design.parameters.product_limit, product_number(label) or 0
        value = prod((self.number(x, k) for x in "ab"), start=Fraction(1))
        if limit is None or abs(value) < scaled(1, limit):
            return ""
        return f"{'-' if value < 0 else '+'}infinity, for its magnitude is 2^{limit} or more"

    def added(self) -> list[str]:
        """Return the products that are not zero, in order of k."""
        special = self.special_terms() if self.decided else {}
        return [f"p{k}" for k in sorted(self.ks) if self.products[f"p{k}"] or f"p{k}" in special]

    def idle(self) -> str:
        """Return why the step returns its c and is not worth drawing; empty where it is."""
        c, d = self.c if self.late else self.accumulator, (self.design.d_format, self.signals.d.data)
        # a chain that starts at +0 may hold a sum by now
        if c != d or (self.late and pattern_value(*self.accumulator) != "+0"):
            return ""
        if self.decided:
            only = [*self.special_terms()] == ["c"]
            return f"c is {pattern_value(*c)}" if self.index and only and not self.late else ""
        return "" if any(self.products.values()) else "products are zero"
