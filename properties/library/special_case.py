"""Special cases of questions, in which their violations show best.

Questions about one product. Every other product is (+0) * (+0), and c is +0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.properties.question import RunQuestion, SpecialCase
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.patterns import Unpacked, unpack, zero
from mmaproof.smt.semantics.terms import Factors, Term, normalised_product

_INTEGERS = IntegerAlgebra()


class OfSpecialOperands(RunQuestion):
    """Another question, about special operands that are made from any. Its witnesses refute the other question."""

    def __init__(self, general: RunQuestion) -> None:
        super().__init__(general.design, general.scope)
        self.general = general

    @abstractmethod
    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return operands of the special kind, made from ``operands``."""

    def as_case(self) -> SpecialCase:
        """Return it as a special case of the other question."""
        return SpecialCase(self, self.taken)

    def taken(self, witness: Operands) -> Operands:
        """Return the special operands made from a witness. They are a witness of the other question."""
        x = self.special(_INTEGERS, self.integer_words(witness))
        a, b, scale_a, scale_b = (tuple(w.data for w in y) for y in (x.a, x.b, x.scale_a, x.scale_b))
        return Operands(a, b, x.c.data, scale_a, scale_b)

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the other question's runs."""
        return self.general.runs(algebra, self.special(algebra, operands))

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the other question is about the special operands."""
        return self.general.precondition(algebra, self.special(algebra, operands))

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return the other question's claim."""
        return self.general.relation(algebra, self.special(algebra, operands), results)


class NothingBesideC(OfSpecialOperands):
    """All products from some index on are (+0) * (+0)."""

    def __init__(self, general: RunQuestion, first: int) -> None:
        super().__init__(general)
        self.first = first

    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with these products."""
        x = operands
        a, b = (
            [*column[: self.first], *[zero(algebra, fmt)] * (len(column) - self.first)]
            for fmt, column in zip(self.formats[:2], (x.a, x.b), strict=True)
        )
        return OperandWords(a, b, x.c, x.scale_a, x.scale_b)


class RepeatedProducts(OfSpecialOperands):
    """All products from some index on are the same one, of blocks with the same scales."""

    def __init__(self, general: RunQuestion, first: int) -> None:
        super().__init__(general)
        self.first = first

    def special(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return the operands with the product at the index from there on."""
        x = operands
        a, b = ([*y[: self.first], *[y[self.first]] * (len(y) - self.first)] for y in (x.a, x.b))
        scales = ([y[0]] * len(y) if y else [] for y in (x.scale_a, x.scale_b))
        return OperandWords(a, b, x.c, *scales)


class OfOneProduct(RunQuestion):
    """A question about the product of finite a[0] and b[0], with the scales of the first block everywhere."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the product by itself."""
        return ((self.design, self.alone(algebra, operands)),)

    def alone(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> OperandWords[D]:
        """Return a[0] and b[0] with nothing but +0 beside them."""
        a, b, c = (zero(algebra, f) for f in self.formats)
        rest = len(operands.a) - 1
        scales = [[x[0]] * len(x) if x else [] for x in (operands.scale_a, operands.scale_b)]
        return OperandWords([operands.a[0], *[a] * rest], [operands.b[0], *[b] * rest], c, *scales)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the factors are finite and the question is about them."""
        x = self.factors(algebra, operands)
        return algebra.all_of([self.finite(algebra, self.alone(algebra, operands)), self.meant(algebra, x)])

    @abstractmethod
    def meant(self, algebra: Algebra[D, T], x: Factors[D, T]) -> Truth[T]:
        """Return whether the question is about these factors."""

    def factors(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Factors[D, T]:
        """Return a[0] and b[0] with their scales, taken apart."""
        scales: tuple[Unpacked[D, T], ...] = ()
        if self.scale_format is not None:
            words = (operands.scale_a[0], operands.scale_b[0])
            scales = tuple(unpack(algebra, self.scale_format, w) for w in words)
        a, b = (unpack(algebra, f, x) for f, x in ((self.formats[0], operands.a[0]), (self.formats[1], operands.b[0])))
        return Factors(a, b, scales)


def exact_product(algebra: Algebra[D, T], x: Factors[D, T]) -> Term[D, T]:
    """Return the exact product, scales included. Its exponent is floor(log2|x|), and a zero is not present."""
    return normalised_product(algebra, x)


def smallest_product(design: Design, *, normal: bool = False) -> Fraction:
    """Return the smallest positive product of elements, or of ``normal`` ones, scales included."""
    sizes = [_smallest(f, normal=normal) for f in (design.a_format, design.b_format)]
    if design.scale_format is not None:
        sizes += [_smallest(design.scale_format)] * 2
    return _product(sizes)


def _smallest(fmt: Format, *, normal: bool = False) -> Fraction:
    return Fraction(2) ** (fmt.e_min - (0 if normal else fmt.fraction_bits))


def _product(sizes: Sequence[Fraction]) -> Fraction:
    result = Fraction(1)
    for x in sizes:
        result *= x
    return result
