"""Bounds on the slices of an fp32 operand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmaproof.designs.design import Design
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.programs.exact import exact_value
from mmaproof.gemm.programs.numbers import Number, Span
from mmaproof.gemm.programs.slice_gemm import SliceGemm
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.unpack import unpack


def slices_of(
    algebra: Algebra[D, T], algorithm: SliceGemm, unit: Design, operand: str, x: Word[D], other: Word[D]
) -> list[Word[D]]:
    """Return the slices (signed) of a pattern of fp32 in a row whose largest element is x or ``other``.

    The slices of an element depend on its row only by the exponent of the row, which is that of the largest element. So
    two elements stand for any row.
    """
    row = [Number(OPERANDS, w, Span.of_format(OPERANDS)) for w in (x, other)]
    found = Arithmetic(algebra).slices(algorithm.cut(unit, operand, (0, 1)), row)
    return [_integer(algebra, s[0], algorithm.bits) for s in found.words]


def _integer(algebra: Algebra[D, T], x: Number[D], bits: int) -> Word[D]:
    """Return a slice as a signed integer."""
    if x.fmt.is_integer:
        return algebra.twos_complement(x.word)
    return exact_value(algebra, x, Span(0, bits))[0]


class SlicesAreBounded(Lemma):
    """The magnitude of slice i of any element of any row is at most ``most[i]``."""

    inputs = (Input("x", OPERANDS.bits), Input("other", OPERANDS.bits))

    def __init__(self, algorithm: SliceGemm, unit: Design, operand: str, most: Sequence[int]) -> None:
        self.algorithm, self.unit, self.operand, self.most = algorithm, unit, operand, tuple(most)
        bounds = ", ".join(f"|{operand}[{i}]| <= {m}" for i, m in enumerate(most))
        self.name = f"{bounds}, whatever the exponent of the row"

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both are finite."""
        values = [unpack(algebra, OPERANDS, words[i.name]) for i in self.inputs]
        return algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether no slice is larger."""
        slices = slices_of(algebra, self.algorithm, self.unit, self.operand, words["x"], words["other"])
        return algebra.negation(
            algebra.any_of(
                [
                    algebra.less(algebra.unsigned(most, s.width), algebra.magnitude(s))
                    for s, most in zip(slices, self.most, strict=True)
                ]
            )
        )


class WeightIsBounded(Lemma):
    """The products of the slices of an element of a and one of b that share a register add up to at most ``most``.

    All slices of an element have the same sign, so these products have the same sign too.
    """

    inputs = tuple(Input(n, OPERANDS.bits) for n in ("a", "in_row_of_a", "b", "in_column_of_b"))

    def __init__(
        self, algorithm: SliceGemm, unit: Design, groups: Sequence[Sequence[tuple[int, int]]], most: int
    ) -> None:
        self.algorithm, self.unit, self.most = algorithm, unit, most
        self.groups = tuple(map(tuple, groups))
        self.name = f"one k adds at most {most} to a register, over the products of slices of one weight"

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether all are finite."""
        values = [unpack(algebra, OPERANDS, words[i.name]) for i in self.inputs]
        return algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether no group of products exceeds the bound."""
        x, row, y, column = (words[i.name] for i in self.inputs)
        first = [algebra.magnitude(s) for s in slices_of(algebra, self.algorithm, self.unit, "a", x, row)]
        second = [algebra.magnitude(s) for s in slices_of(algebra, self.algorithm, self.unit, "b", y, column)]
        held = []
        for group in self.groups:
            products = [algebra.as_signed(algebra.multiply(first[i], second[j])) for i, j in group]
            width = max(p.width for p in products) + len(products).bit_length()
            total = algebra.narrow_to_unsigned(algebra.bounded_sum(products, width), width - 1)
            limit = algebra.unsigned(self.most, max(width - 1, self.most.bit_length()))
            held.append(algebra.negation(algebra.less(limit, total)))
        return algebra.all_of(held)
