"""The operand of a step that rises, and the term that it is before and after.

Lemmas about one operand look at the term that it becomes in a step whose other operands are +0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, ieee
from mmaproof.smt.semantics.datapath import Addend
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, is_finite, is_largest, successor, unpack, zero
from mmaproof.smt.semantics.terms import Factors, Term, product_sign
from mmaproof.smt.semantics.unit import factors


class Changed(ABC):
    """The operand that rises: its format, the other inputs of its term, and the term before and after."""

    fmt: Format
    inputs: tuple[Input, ...] = ()

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]) -> Truth[T]:
        """Return what is assumed of ``inputs`` if the operand ``x`` rises to ``above``."""
        return algebra.truth(True)

    @abstractmethod
    def terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the term of the operand ``x`` and that of ``above``."""


class ChangedC(Changed):
    """The accumulator, as a term of the last sum of a step."""

    def __init__(self, design: Design) -> None:
        self.step, self.fmt = design.one_step(), design.c_format

    def terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the terms."""
        both = [beside_zeros(algebra, self.step, {"c": c}) for c in (words["x"], above)]
        sums = [dot_product_accumulate(self.step, algebra, x).steps[0].sums[-1] for x in both]
        first, second = (total.terms[total.labels.index(Addend.C)] for total in sums)
        return first, second


class ChangedProduct(Changed):
    """An element of a, multiplied by a positive number: the exact product, before it is aligned or rounded.

    The significands of both products are inputs. The lemma assumes only the distributive law of them,
    (s + m) * n = s * n + m * n, where n is the significand of the other factors and m is one, or a power of two where
    subnormal elements are normalised. So solvers need not reason about multipliers.
    """

    def __init__(self, design: Design) -> None:
        self.step, self.fmt = design.one_step(), design.a_format
        scale = design.scale_format
        scales = [] if scale is None else [Input(f"scale_{x}", scale.bits) for x in "ab"]
        width, self.largest = self._product(design)
        products = [Input(n, width) for n in ("product", "product_above", "n")]
        self.inputs = (Input("b", design.b_format.bits), *scales, *products)
        normalised = not design.guarantees(Guarantee.UNCHANGED_OPERANDS)
        self.steps_of_significands = range(width if normalised else 1)

    def _product(self, design: Design) -> tuple[int, int]:
        """Return the width of the significand of a product, and its largest value."""
        significand = self.number(TermAlgebra()).significand
        return significand.width, (1 << significand.width) - 1

    def number(self, algebra: TermAlgebra) -> Unpacked[FNode, FNode]:
        """Return the exact product of two elements as a number. Only the widths of its words are used."""
        formats = zip("ab", self.step.formats[:2], strict=True)
        x = self._factors(algebra, {n: algebra.symbol(f"{n}_{f.name}", f.bits) for n, f in formats})
        no, bits = algebra.truth(False), x.a.fraction_bits + x.b.fraction_bits
        significand, exponent = x.a.significand * x.b.significand, x.a.exponent + x.b.exponent
        return Unpacked(bits, product_sign(x), exponent, significand, x.a.zero | x.b.zero, no, no, no)

    def _factors(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Factors[D, T]:
        return factors(self.step, algebra, beside_zeros(algebra, self.step, words), 0)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]) -> Truth[T]:
        """Return whether the other factors are positive and finite and the products are related as above."""
        fmt, scale = self.step.b_format, self.step.scale_format
        b = unpack(algebra, fmt, words["b"])
        claims = [~(b.negative | b.zero), is_finite(algebra, fmt, words["b"])]
        claims += [] if scale is None else [is_finite(algebra, scale, words[f"scale_{x}"]) for x in "ab"]
        read = [self._factors(algebra, {**words, "a": x}) for x in (words["x"], above)]
        significands = [x.a.significand for x in read]
        products = [words["product"], words["product_above"]]
        (s, t), (p, q), n = significands, products, words["n"]
        nothing = read[0].b.significand.is_value(0)
        claims += [n.is_value(0) == nothing, implies(algebra, [(s, t)], [(p, q)])]
        for (x, y), (of_x, of_y) in (((s, t), (p, q)), ((t, s), (q, p))):
            most = of_x <= algebra.unsigned(self.largest, of_x.width)
            claims += [most, (x.is_value(0) | nothing) == of_x.is_value(0)]
            for twice in (0, 1):
                for m in self.steps_of_significands:
                    # 2**twice * x = y + 2**m, so 2**twice * x * n = y * n + 2**m * n
                    claims.append(implies(algebra, [(x << twice, y + (1 << m))], [(of_x << twice, of_y + (n << m))]))
        return algebra.all_of(claims)

    def terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the products as terms. Their significands are inputs."""
        found = []
        for pattern, product in ((words["x"], words["product"]), (above, words["product_above"])):
            x = self._factors(algebra, {**words, "a": pattern})
            bits, zero = x.a.fraction_bits + x.b.fraction_bits, x.a.zero | x.b.zero
            exponent = x.a.exponent + x.b.exponent
            found.append(Term(bits, product_sign(x), exponent, product, ~zero, self.largest))
        return found[0], found[1]


class ChangedA(ChangedProduct):
    """The same product as a term of the first sum of a step."""

    def _product(self, design: Design) -> tuple[int, int]:
        product = symbolic_sums(design)[0].terms[0]
        return product.significand.width, product.largest

    def terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the terms. Their products are inputs."""
        found = []
        for pattern, product in ((words["x"], words["product"]), (above, words["product_above"])):
            operands = beside_zeros(algebra, self.step, {**words, "a": pattern})
            term = dot_product_accumulate(self.step, algebra, operands).steps[0].sums[0].terms[0]
            found.append(replace(term, significand=product))
        return found[0], found[1]


def implies(
    algebra: Algebra[D, T], when: Sequence[tuple[Word[D], Word[D]]], then: Sequence[tuple[Word[D], Word[D]]]
) -> Truth[T]:
    """Return whether the words of the second pairs are equal wherever those of the first are."""
    first, second = (algebra.all_of([x == y for x, y in pairs]) for pairs in (when, then))
    return ~first | second


class ChangedAddend(Changed):
    """An addend of a rounded addition. Where a ``step`` is given, it is the c that such a step reads."""

    def __init__(self, fmt: Format, step: Step | None = None) -> None:
        self.fmt, self.step = fmt, step

    def terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], above: Word[D]
    ) -> tuple[Term[D, T], Term[D, T]]:
        """Return the terms."""
        x, y = (self._read(algebra, p) for p in (words["x"], above))
        first, second = (ieee.aligned_sum(algebra, self.fmt, t, t).terms[0] for t in (x, y))
        return first, second

    def _read(self, algebra: Algebra[D, T], pattern: Word[D]) -> Unpacked[D, T]:
        if self.step is None:
            return unpack(algebra, self.fmt, pattern)
        return ieee.read_accumulator(algebra, self.step, self.fmt, pattern)


def beside_zeros(algebra: Algebra[D, T], step: Design, words: Mapping[str, Word[D]]) -> OperandWords[D]:
    """Return operands of a step: the given a, b and c, and +0 elsewhere. Every block has the same scales."""
    a, b, c = ([zero(algebra, f)] for f in step.formats[:3])
    first = [[words.get("a", a[0])], [words.get("b", b[0])]]
    scales = [[words[f"scale_{x}"]] * step.blocks(step.k) if f"scale_{x}" in words else [] for x in "ab"]
    scale = step.scale_format
    if scale is not None and not scales[0]:
        scales = [[algebra.unsigned(scale.encode(1), scale.bits)] * step.blocks(step.k)] * 2
    rest = step.k - 1
    return OperandWords([*first[0], *a * rest], [*first[1], *b * rest], words.get("c", c[0]), *scales)


class Neighbours(Lemma):
    """A statement about the term of a finite operand and the term of the next number above it."""

    def __init__(self, name: str, changed: Changed, *more: Input) -> None:
        self.name, self.changed = name, changed
        self.inputs = (Input("x", changed.fmt.bits), *changed.inputs, *more)

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return that both numbers are finite. The largest one has none above it."""
        fmt, x = self.changed.fmt, words["x"]
        above = successor(algebra, fmt, x)
        finite = [is_finite(algebra, fmt, p) for p in (x, above)]
        below = ~is_largest(algebra, fmt, x)
        return algebra.all_of([below, *finite, self.changed.assumption(algebra, words, above)])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return the claim about the terms of both."""
        v, above = self.changed.terms(algebra, words, successor(algebra, self.changed.fmt, words["x"]))
        return self.of_terms(algebra, words, v, above)

    @abstractmethod
    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return the claim about both terms."""


def last_sum(design: Design) -> FusedSum[Any, Any]:
    """Return the last sum of a step. Only the widths of its words are used."""
    return symbolic_sums(design)[-1]


def symbolic_sums(design: Design) -> tuple[FusedSum[Any, Any], ...]:
    """Return the sums of a step. Only the widths of their words are used."""
    algebra, step = TermAlgebra(), design.one_step()
    words = {n: algebra.symbol(f"{n}_{f.name}", f.bits) for n, f in zip("abc", step.formats[:3], strict=True)}
    if step.scale_format is not None:
        fmt = step.scale_format
        words |= {f"scale_{x}": algebra.symbol(f"scale_{x}_{fmt.name}", fmt.bits) for x in "ab"}
    return dot_product_accumulate(step, algebra, beside_zeros(algebra, step, words)).steps[0].sums
