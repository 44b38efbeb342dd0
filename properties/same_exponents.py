"""The lemma behind most proofs that a reading cannot be observed: it changes no alignment that matters.

Two designs that differ only in what decides e_max treat the same terms the same way from the alignment on. So where the
e_max of every fused sum of a step agree, or all of its terms are zero in both, both steps return the same; and where
that holds for one step on all operands, c included, so does it for a chain of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate

DECIDE_E_MAX = ("zero_c", "zero_product", "e_zero", "floor", "zero_group", "group_e_zero")
"""The parameters that act on nothing but e_max."""


class SameExponents(Equivalence):
    """Every fused sum of one step has the same e_max in both designs, or only zero terms in both.

    It implies that the designs are equivalent, for any length. Raises DesignError where the designs differ in a
    parameter that acts on more than e_max, or have more than one step.
    """

    def __init__(self, first: Design, second: Design, *, where: Sequence[Precondition] = ()) -> None:
        super().__init__(first, second, where=where)
        texts = [d.parameters.as_text() for d in self.designs]
        differing = [n for n in texts[0] if texts[0][n] != texts[1][n]]
        beyond = [n for n in differing if n not in DECIDE_E_MAX]
        if beyond or first.formats != second.formats or any(d.k != d.parameters.L for d in self.designs):
            raise DesignError(f"{first.name} and {second.name} differ in more than e_max of one step: {beyond}")

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether no alignment differs that matters."""
        steps = [dot_product_accumulate(d, algebra, operands).steps[0] for d in self.designs]
        same = []
        for x, y in zip(steps[0].sums, steps[1].sums, strict=True):
            # in both: a term may be zero in one of them only (a far c that GTR-FDPA drops)
            zero = [algebra.is_value(t.significand, 0) for t in (*x.terms, *y.terms)]
            same.append(algebra.any_of([algebra.equal(x.e_max, y.e_max), algebra.all_of(zero)]))
        return algebra.all_of(same)
