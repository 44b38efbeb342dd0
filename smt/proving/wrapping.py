"""The lemma that integer units with wrapping registers do not depend on the grouping and order of products.

A step adds the exact sum of its products to the register, which keeps the result modulo a power of two. The lemma
(``RegroupedSum``) says that adding two sums one after the other leaves the same in the register as adding their exact
sum at once. By induction over the steps, the register finally holds c plus the exact sum of all products, modulo that
power. So neither the steps nor the order of products matter. Elements of padding add zero.
"""

from __future__ import annotations

from collections.abc import Mapping

from mmaproof.designs.arithmetic import differing_parameters
from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics.integer_step import product_range

_GROUPING = ("L", "k_order")
"""The parameters that only say which products are added in which step."""


class RegroupedSum(Lemma):
    """A register of ``bits`` bits holds the same after adding two sums of ``width`` bits as after their exact sum."""

    def __init__(self, width: int, bits: int) -> None:
        self.name = f"sums of {width} bits wrap in {bits} bits one after the other as they do at once"
        self.bits = bits
        self.inputs = (Input("x", width, signed=True), Input("y", width, signed=True), Input("c", bits, signed=True))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does."""
        x, y, c = (words[n] for n in "xyc")
        in_turn = algebra.modular_sum([y, algebra.modular_sum([x, c], self.bits)], self.bits)
        return in_turn == algebra.modular_sum([x + y, c], self.bits)


def is_regrouping(first: Design, second: Design) -> bool:
    """Return whether two designs are wrapping integer units that differ only in the grouping or order of products."""
    if first.formats != second.formats or not all(d.guarantees(Guarantee.WRAPS_MODULO) for d in (first, second)):
        return False
    return differing_parameters(first, second) <= set(_GROUPING)


def regrouping_lemmas(design: Design, k: int) -> tuple[Lemma, ...]:
    """Return the lemma for dot products of length ``k``. Its width suffices for any sum of their products."""
    least, largest = (k * x for x in product_range(design.a_format, design.b_format))
    width = max(abs(least), largest).bit_length() + 1
    return (RegroupedSum(width, design.d_format.bits),)
