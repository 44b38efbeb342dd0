"""The lemmas about a c that is dropped because it is small: of two neighbours the larger one keeps no less.

``lemmas_for_c`` (``monotone``) needs two things of the cut of c. At the same e_max the cut of a larger c is not
smaller. Where the exponent of c is e_max, nothing of c is lost. Here the cut comes after the decision to drop c, and
each of the two is a lemma (``KeptInOrder``, ``KeptAtTop``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.proving.lemma import Input
from mmaproof.smt.proving.rising_terms import Changed, Neighbours
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.datapath import StepPath, datapath
from mmaproof.smt.semantics.fused_step import without_far_c, without_small_c
from mmaproof.smt.semantics.terms import Term


def without_drops(design: Design) -> Design:
    """Return a design like this one, except that it aligns a c however small it is."""
    (path,) = datapath(design.one_step(), design.step.L)
    settings = {"far_c": "rounded"} if path.far_c_dropped is not None else {}
    settings |= {"small_c": "rounded"} if path.small_c_dropped is not None else {}
    return design.change(**settings) if settings else design


@dataclass(frozen=True)
class Dropped:
    """When a step drops c, by its path, and how c is cut otherwise."""

    path: StepPath
    cut: Cut

    def left(self, algebra: Algebra[D, T], c: Term[D, T], e_max: Word[D], products: Term[D, T]) -> Term[D, T]:
        """Return c, with a zero significand where it is dropped. ``products`` is their sum as a term."""
        if self.path.far_c_dropped is not None:
            c = without_far_c(self.path.far_c_dropped, products, c)
        if self.path.small_c_dropped is not None:
            c = without_small_c(algebra, c, e_max, self.cut.fraction_bits, self.path.small_c_dropped)
        return c

    def kept(self, algebra: Algebra[D, T], c: Term[D, T], e_max: Word[D], products: Term[D, T]) -> Word[D]:
        """Return what is added of c."""
        return align(algebra, self.left(algebra, c, e_max, products), e_max, self.cut)


class _KeptNeighbours(Neighbours):
    """A statement about what is kept of the terms of two neighbours, beside products whose e_max is one of the terms'.

    The sum of the products may be absent. It is a term only where c joins it.
    """

    def __init__(self, name: str, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        super().__init__(
            name,
            changed,
            Input("e_max", shape.e_max_width, signed=True),
            Input("of_products", products_width, signed=True),
            Input("present", 1),
        )
        self.dropped = dropped

    def of_products(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Term[D, T]:
        """Return the sum of the products as a term whose significand means nothing."""
        return Term(
            0,
            algebra.truth(False),
            words["of_products"],
            algebra.unsigned(1, 1),
            words["present"].is_value(1),
            1,
        )


class KeptInOrder(_KeptNeighbours):
    """At the same e_max, what is kept of a larger c is not smaller."""

    def __init__(self, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        name = "at the same e_max, what is kept of a larger c is not smaller"
        super().__init__(name, changed, dropped, shape, products_width)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether that holds, or e_max is below one of the exponents."""
        e_max, products = words["e_max"], self.of_products(algebra, words)
        below = [t.present & (t.exponent > e_max) for t in (v, above, products)]
        x, y = (self.dropped.kept(algebra, t, e_max, products) for t in (v, above))
        return algebra.any_of([*below, x <= y])


class KeptAtTop(_KeptNeighbours):
    """Nothing of c is dropped where e_max is its own exponent."""

    def __init__(self, changed: Changed, dropped: Dropped, shape: TermShape, products_width: int) -> None:
        name = "where e_max is its own exponent, c is not dropped"
        super().__init__(name, changed, dropped, shape, products_width)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether both terms are kept, or the exponent of the products is higher."""
        products = self.of_products(algebra, words)
        claims = []
        for t in (v, above):
            higher = products.present & (products.exponent > t.exponent)
            kept = self.dropped.kept(algebra, t, t.exponent, products)
            claims.append(algebra.any_of([~t.present, higher, kept == align(algebra, t, t.exponent, self.dropped.cut)]))
        return algebra.all_of(claims)
