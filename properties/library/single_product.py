"""Questions about one product. Every other product is (+0) * (+0), and c is +0."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.properties.run_question import RunQuestion
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.patterns import zero
from mmaproof.smt.semantics.terms import Factors, Term, normalised_product
from mmaproof.smt.semantics.unpack import Unpacked, unpack


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
