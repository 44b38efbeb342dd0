"""Readings that change no alignment that matters, as steps: a step of either design returns the same.

Z says that every product is zero. Where Z does not hold, e_max of both designs is the same, and so is the aligned c.
Then a product that is not zero is aligned alike, because readings of zero operands change only the exponents of zero
products. So the sums are the same, and what they are converted to. Where Z holds, the results are the same at once.
Both hold of a step whatever its c is, so they hold of a chain: each step is given the same c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pysmt.fnode import FNode

from mmaproof.designs.arithmetic import differing_parameters, same_chain
from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import (
    Leaves,
    factors_of,
    prove_product_is_zero,
    prove_total,
    prove_where_not_zero,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align
from mmaproof.smt.semantics.datapath import Addend, is_of_products

DECIDE_ALIGNMENT = ("zero_c", "zero_product", "e_zero", "floor", "zero_group", "group_e_zero", "c_subnormal")
"""The parameters that affect only e_max and the alignment of c."""
_Word = Word[FNode]
_Truth = Truth[FNode]
_Signals = StepSignals[FNode, FNode]


def differ_in_alignment(first: Design, second: Design, k: int) -> bool:
    """Return whether two designs chain alike, and differ only in what decides alignment."""
    if not all(x.step.is_parametric for x in (first, second)):
        return False
    return same_chain(first, second, k) and differing_parameters(first, second) <= set(DECIDE_ALIGNMENT)


class AlignedAlikeSteps:
    """Proves that two steps return the same. ``given`` are the c of both, which are known to be the same.

    Raises NotComposedError.
    """

    def __init__(self, kernel: Kernel, first: _Signals, second: _Signals, given: Sequence[_Word]) -> None:
        self._algebra, self._laws, self._kernel = (
            TermAlgebra(kernel.environment),
            LawsInUse(kernel, seconds=120.0),
            kernel,
        )
        self._signals, self._given = (first, second), given
        if any(len(x.sums) != 1 or x.path.rounds_again is not None for x in self._signals):
            raise NotComposedError("terms that pass through several sums")
        self._sums = (first.sums[0], second.sums[0])
        labels = self._sums[0].labels
        if Addend.C not in labels or any(not (is_of_products(x) or x is Addend.C) for x in labels):
            raise NotComposedError("terms that are not those of products and c")
        if any(cut.inverts for x in self._sums for cut in x.path.cuts):
            raise NotComposedError("terms that are inverted where they oppose c")
        self._products = [i for i, x in enumerate(labels) if is_of_products(x)]
        self._c = labels.index(Addend.C)
        self._significands = [self._same_product(i) for i in self._products]
        self._nothing = self._algebra.all_of([x.is_value(0) for x in self._significands])

    def prove(self) -> None:
        """Add the steps."""
        for x in self._significands:
            prove_product_is_zero(self._laws, self._algebra, x)
        self._same_exponents()
        for i in self._products:
            self._aligned(i)
        self._added()
        self._converted()

    def _same_product(self, i: int) -> _Word:
        """Return the significand of a product, which is that of both."""
        x, y = (total.terms[i] for total in self._sums)
        if any(p.data is not q.data for p, q in ((x.significand, y.significand), (x.negative, y.negative))):
            raise NotComposedError("a product is another one")
        return x.significand

    def _of_operands(self, claim: _Truth, why: str) -> None:
        """Prove a claim about operands, whatever c and the products of significands are."""
        factors = [factors_of(self._algebra, x) for x in self._significands]
        leaves = Leaves(self._algebra).parts(*self._given, *self._significands)
        known = [
            ~f.is_value(0) | x.is_value(0)
            for x, own in zip(self._significands, factors, strict=True)
            for f in own
            if len(own) > 1
        ]
        p, q = self._given
        if p.data is not q.data:
            known.append(p == q)
        leaves.use_of(self._laws, claim, known, why)

    def _same_exponents(self) -> None:
        """Prove where some product is not zero that e_max and the aligned c are the same."""
        x, y = self._sums
        same = (x.e_max == y.e_max, x.aligned[self._c] == y.aligned[self._c])
        for claim in same:
            self._of_operands(self._nothing | claim, "where a product is not zero, e_max and the aligned c agree")

    def _aligned(self, i: int) -> None:
        """Prove where some product is not zero that an aligned product is the same."""
        x, y = (total.terms[i] for total in self._sums)
        alike = (x.exponent == y.exponent) & (x.present == y.present)
        prove_where_not_zero(self._laws, self._algebra, x.significand, alike, "only zeros read another exponent")
        leaves = Leaves(self._algebra)
        own, e, f = leaves.term(x), *(leaves.word(t.e_max) for t in self._sums)
        other = replace(own, exponent=leaves.word(y.exponent), present=leaves.truth(y.present))
        nothing, zero = leaves.truth(self._nothing), own.significand.is_value(0)
        same = (own.exponent == other.exponent) & (own.present == other.present)
        known = self._algebra.any_of([same, zero])
        cuts = [total.path.cuts[i] for total in self._sums]
        equal = align(self._algebra, own, e, cuts[0]) == align(self._algebra, other, f, cuts[1])
        leaves.use(self._laws, nothing | equal, [nothing | (e == f), known], "a product is aligned alike")

    def _added(self) -> None:
        """Prove where some product is not zero that both sums are the same."""
        width = self._sums[0].total.width
        first, second = (x.aligned for x in self._sums)
        p, q = (self._algebra.modular_sum([x[0]], width) for x in (first, second))
        self._alike([(first[0], second[0])], (p, q))
        for x, y in zip(first[1:], second[1:], strict=True):
            before = (p, q)
            p, q = self._algebra.modular_sum([p, x], width), self._algebra.modular_sum([q, y], width)
            self._alike([before, (x, y)], (p, q))
        for x, total in ((p, self._sums[0]), (q, self._sums[1])):
            prove_total(self._laws, self._algebra, x, total)

    def _alike(self, known: Sequence[tuple[_Word, _Word]], claim: tuple[_Word, _Word]) -> None:
        """Prove that words are the same where some product is not zero, from the words that they are made of."""
        leaves = Leaves(self._algebra).parts(self._nothing, *(w for pair in known for w in pair))
        same = [self._nothing | (x == y) for x, y in known]
        leaves.use_of(self._laws, self._nothing | (claim[0] == claim[1]), same, "sums of the same words")

    def _converted(self) -> None:
        """Prove that the results are the same."""
        x, y = self._signals
        totals = [(self._sums[0].total, self._sums[1].total), (self._sums[0].e_max, self._sums[1].e_max)]
        negatives = [(s.negative, t.negative) for s, t in zip(*(z.terms for z in self._sums), strict=True)]
        own = [(s, t) for s, t in negatives if s.data is not t.data]
        for s, t in own:
            self._of_operands(self._nothing | (s == t), "where a product is not zero, the signs agree")
        leaves = Leaves(self._algebra).parts(
            self._nothing, *(w for pair in totals for w in pair), *(w for pair in negatives for w in pair)
        )
        known = [*(self._nothing | (p == q) for p, q in totals), *(self._nothing | (s == t) for s, t in own)]
        claim = self._nothing | (x.converted == y.converted)
        leaves.use_of(self._laws, claim, known, "the same sum is converted to the same")
        leaves = Leaves(self._algebra).parts(self._nothing, x.converted, y.converted, *self._given)
        same = [self._nothing | (x.converted == y.converted)]
        (p, q), result = self._given, x.d == y.d
        same += [] if p.data is q.data else [p == q]
        leaves.use_of(self._laws, self._nothing | result, same, "the same special results")
        leaves = Leaves(self._algebra).parts(*(w for w in self._given if not w.data.is_symbol()))
        known = [] if p.data is q.data else [p == q]
        leaves.use_of(self._laws, ~self._nothing | result, known, "where all products are zero, the results agree")
        leaves = Leaves(self._algebra)
        nothing, equal = leaves.truth(self._nothing), leaves.truth(result)
        leaves.use(self._laws, equal, [nothing | equal, ~nothing | equal], "the results are the same")
