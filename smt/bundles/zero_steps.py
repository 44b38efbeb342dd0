"""Zero products that make no difference, as steps: two runs of a step that differ in what zeros read alone.

Z is the least exponent of a product that is not zero: that of two smallest normal numbers, with their scales. Where
some product is not zero, it takes part with at least Z, in both runs alike, and each zero takes part with at most Z or
not at all. So e_max of both runs is the same: no exponent of a zero is above that of the other run, nor is another one.
A sum of products of which none is nonzero is zero, and as a term of a further sum it is such a zero again. So all
aligned terms are the same, all sums, and what the last one is converted to. Where every product is zero, the results
are the same at once: a solver sees what c alone is converted to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import (
    Leaves,
    factors_of,
    prove_largest_exponent,
    prove_product_is_zero,
    prove_total,
    prove_where_not_zero,
    prove_where_zero,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.datapath import is_of_products
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term

_Word = Word[FNode]
_Truth = Truth[FNode]
_Sum = FusedSum[FNode, FNode]
_Term = Term[FNode, FNode]

SECONDS = 60.0
"""Seconds in which a lemma is refuted."""


@dataclass(frozen=True)
class _Addend:
    """A term in both runs, and what says that it is of zeros: None for c, which is in both the same."""

    runs: tuple[_Term, _Term]
    nothing: _Truth | None
    earlier: _Pair | None = None
    """the sum that it is"""
    is_same: bool = False
    """whether it takes part with one exponent in both runs, whatever it is"""
    is_low: bool = True
    """whether it takes part with at most Z in both runs, if at all, where it is zero"""


@dataclass(frozen=True)
class _Pair:
    """A sum in both runs, its terms, and what says that all of its products are zero."""

    sums: tuple[_Sum, _Sum]
    terms: tuple[_Addend, ...]
    nothing: _Truth

    @property
    def is_same(self) -> bool:
        """Whether all terms take part with one exponent in both runs."""
        return all(t.is_same for t in self.terms)

    @property
    def is_low(self) -> bool:
        """Whether all terms take part with at most Z, if at all, where they are zero."""
        return all(t.is_low for t in self.terms)

    @property
    def is_of_products(self) -> bool:
        """Whether c is none of its terms."""
        return all(t.nothing is not None for t in self.terms)


class ZeroSteps:
    """Proves that two runs of a step return the same. ``same`` says so of two results, ``assumed`` holds of operands.

    ``least`` is the least exponent of a product that is not zero. Raises NotComposedError.
    """

    def __init__(
        self,
        kernel: Kernel,
        runs: Sequence[StepSignals[FNode, FNode]],
        least: _Word,
        assumed: Sequence[_Truth],
        same: Callable[[_Word, _Word], _Truth],
    ) -> None:
        self._algebra, self._laws = TermAlgebra(kernel.environment), LawsInUse(kernel, seconds=SECONDS)
        self._first, self._second = runs
        self._least, self._assumed, self._same = least, assumed, same
        self._pairs: list[_Pair] = []
        if any(cut.inverts for x in runs for total in x.sums for cut in total.path.cuts):
            raise NotComposedError("terms that are inverted where they oppose c")

    def prove(self) -> None:
        """Add the steps."""
        for sums in zip(self._first.sums, self._second.sums, strict=True):
            terms = tuple(self._addend(i, sums) for i in range(len(sums[0].terms)))
            zeros = [t.nothing for t in terms if t.nothing is not None]
            before = [t for t in terms if t.earlier is not None]
            pair = _Pair(sums, terms, zeros[0] if len(zeros) == len(before) == 1 else self._named(zeros))
            if len(zeros) == len(before) == 1:
                self._of_earlier(pair)
            else:
                self._largest_exponents(pair)
            self._aligned(pair)
            self._added(pair)
            self._pairs.append(pair)
        self._results()

    def _named(self, zeros: Sequence[_Truth]) -> _Truth:
        """Return a variable that says that all products of a sum are zero."""
        environment = self._laws.environment
        name = f"zeros{len(self._pairs)}"
        variable = environment.formula_manager.Symbol(name, environment.type_manager.BOOL())
        self._laws.kernel.define(variable, self._algebra.all_of(zeros).data)
        return Truth(variable, self._algebra)

    # --- terms --------------------------------------------------------------------------------------------------

    def _addend(self, i: int, sums: tuple[_Sum, _Sum]) -> _Addend:
        """Return a term of both sums, of which is proved what is known of the products that it is made of."""
        label, (x, y) = sums[0].labels[i], (s.terms[i] for s in sums)
        earlier = next((p for p in self._pairs if p.sums[0].path.label is label), None)
        if earlier is not None:
            return _Addend((x, y), earlier.nothing, earlier, earlier.is_same, earlier.is_low)
        if not is_of_products(label):
            if any(p.data is not q.data for p, q in ((x.exponent, y.exponent), (x.present, y.present))):
                raise NotComposedError("c is read in another way")
            return _Addend((x, y), None)
        if x.significand.data is not y.significand.data:
            for t in (x, y):
                self._is_zero(t.significand)
        elif x.negative.data is not y.negative.data:
            raise NotComposedError("a product is another one")
        for claim in (x.present, y.present, x.exponent == y.exponent, *(z.exponent >= self._least for z in (x, y))):
            why = "a product that is not zero is the same in both runs"
            prove_where_not_zero(self._laws, self._algebra, x.significand, claim, why, self._assumed)
        zeros, word = (self._is_low(t.present, t.exponent, self._least) for t in (x, y)), x.significand
        is_same = self._of_zero(word, (x.exponent == y.exponent, x.present == y.present), "zeros are read alike")
        is_low = self._of_zero(word, tuple(zeros), "a zero lies lowest")
        if not (is_same or is_low):
            raise NotComposedError("a zero does not lie lowest")
        return _Addend((x, y), word.is_value(0), None, is_same, is_low)

    def _of_zero(self, product: _Word, claims: Sequence[_Truth], why: str) -> bool:
        """Return whether claims about a product are proved where it is zero."""
        try:
            for claim in claims:
                prove_where_zero(self._laws, self._algebra, product, claim, why, self._assumed)
        except NotComposedError:
            return False
        return True

    def _is_zero(self, product: _Word) -> None:
        """Prove that a product is zero, because one of its factors is."""
        factors, why = factors_of(self._algebra, product), "zero times a number is zero"
        self._laws.claim(self._algebra.any_of([f.is_value(0) for f in factors]).data, (), {}, why)
        prove_product_is_zero(self._laws, self._algebra, product)
        leaves = Leaves(self._algebra)
        zero, *parts = (leaves.truth(z.is_value(0)) for z in (product, *factors))
        leaves.use(self._laws, zero, [self._algebra.any_of(parts), *(~p | zero for p in parts)], why)

    @staticmethod
    def _is_low(present: _Truth, exponent: _Word, least: _Word) -> _Truth:
        return ~present | (exponent <= least)

    # --- exponents ----------------------------------------------------------------------------------------------

    def _largest_exponents(self, pair: _Pair) -> None:
        """Prove that both exponents are the same where a product is not zero, and low where all are."""
        for total in pair.sums:
            prove_largest_exponent(self._laws, self._algebra, total)
        for run in (0, 1):
            self._not_below(pair, run)
        for run in (0, 1):
            self._at_most(pair, run)
        leaves = Leaves(self._algebra)
        e, f, nothing = (*(leaves.word(s.e_max) for s in pair.sums), leaves.truth(pair.nothing))
        known = [nothing | (e <= f), nothing | (f <= e)]
        leaves.use(self._laws, (e == f) | nothing, known, "the largest exponents are the same")
        if pair.is_of_products:
            for run in (0, 1):
                self._of_sum(pair, run)
            if pair.is_same:
                x, y = pair.sums
                for claim in (x.e_max == y.e_max, x.present == y.present):
                    leaves = Leaves(self._algebra).parts(pair.nothing, x.e_max, y.e_max, x.present, y.present)
                    leaves.use_of(self._laws, ~pair.nothing | claim, [claim], "sums are read alike")

    def _of_earlier(self, pair: _Pair) -> None:
        """Prove the same of a sum of one earlier sum and c."""
        (x, y), (parts, known) = pair.sums, self._known(self._pairs)
        claim = (x.e_max == y.e_max) | pair.nothing
        Leaves(self._algebra).parts(*parts).use_of(self._laws, claim, known, "the largest exponents are the same")

    def _not_below(self, pair: _Pair, run: int) -> None:
        """Prove where some product is not zero that e_max is not below the least exponent of one."""
        why, total, found = "e_max is not below the exponent of a product", pair.sums[run], []
        for term in pair.terms:
            if term.nothing is not None:
                leaves, x = Leaves(self._algebra), term.runs[run]
                present, at, none = leaves.truth(x.present), leaves.word(x.exponent), leaves.truth(term.nothing)
                top, least = leaves.word(total.e_max), leaves.word(self._least)
                known = [present | none, (at >= least) | none, ~present | (at <= top)]
                leaves.use(self._laws, (top >= least) | none, known, why)
                found.append(term.nothing)
        leaves = Leaves(self._algebra)
        zeros, above = [leaves.truth(x) for x in found], leaves.truth(total.e_max >= self._least)
        leaves.use(self._laws, above | self._algebra.all_of(zeros), [above | x for x in zeros], why)

    def _at_most(self, pair: _Pair, run: int) -> None:
        """Prove where some product is not zero that e_max is at most that of the other run."""
        why, (total, other) = "no exponent is above e_max of the other run", (pair.sums[run], pair.sums[1 - run])
        for term in pair.terms:
            leaves, x, y = Leaves(self._algebra), term.runs[run], term.runs[1 - run]
            own, nothing = leaves.parts(pair.nothing, other.e_max, self._least, x.exponent, y.exponent), pair.nothing
            own.parts(x.present, y.present)
            known = [~y.present | (y.exponent <= other.e_max), (other.e_max >= self._least) | nothing]
            if term.nothing is not None:
                own.parts(term.nothing)
                p, q = (t.exponent for t in term.runs)
                known += [y.present | term.nothing, (p == q) | term.nothing]
                low, (r, s) = self._is_low(x.present, x.exponent, self._least), (t.present for t in term.runs)
                known += [~term.nothing | z for z in ((p == q, r == s) if term.is_same else (low,))]
            claim = self._algebra.any_of([nothing, ~x.present, x.exponent <= other.e_max])
            own.use_of(self._laws, claim, known, why)
        path = total.path
        leaves = Leaves(self._algebra)
        terms, nothing, top = (
            [leaves.term(t) for t in total.terms],
            leaves.truth(pair.nothing),
            leaves.word(other.e_max),
        )
        known = [self._algebra.any_of([nothing, ~t.present, t.exponent <= top]) for t in terms]
        if path.floor is not None:
            self._laws.claim((other.e_max >= path.floor).data, (), {}, "e_max is not below its floor")
            known.append(top >= path.floor)
        highest = largest_exponent(self._algebra, terms, path.floor, path.comparator)
        leaves.use(self._laws, nothing | (highest <= top), known, why)

    def _of_sum(self, pair: _Pair, run: int) -> None:
        """Prove of a sum what is proved of products: it takes part where it is not of zeros, and is low where it is."""
        total, path = pair.sums[run], pair.sums[run].path
        leaves = Leaves(self._algebra)
        zeros = [leaves.truth(t.nothing) for t in pair.terms if t.nothing is not None]
        terms, least = [leaves.term(t) for t in total.terms], leaves.word(self._least)
        some = self._algebra.any_of([t.present for t in terms])
        known = [t.present | none for none, t in zip(zeros, terms, strict=True)]
        leaves.use(self._laws, some | self._algebra.all_of(zeros), known, "a sum of products takes part")
        if not pair.is_low:
            return
        known = [~none | self._is_low(t.present, t.exponent, least) for none, t in zip(zeros, terms, strict=True)]
        highest = largest_exponent(self._algebra, terms, path.floor, path.comparator)
        low = ~self._algebra.all_of(zeros) | self._is_low(some, highest, least)
        leaves.use(self._laws, low, known, "a sum of zeros lies lowest")

    # --- sums ---------------------------------------------------------------------------------------------------

    def _aligned(self, pair: _Pair) -> None:
        """Prove that the aligned terms are the same where some product is not zero, and zero where they are."""
        (x, y), nothing, why = pair.sums, pair.nothing, "a term is aligned alike"
        for i, term in enumerate(pair.terms):
            claim = nothing | (x.aligned[i] == y.aligned[i])
            if term.nothing is None or term.earlier is not None:
                parts, known = self._known(self._pairs)
                leaves = Leaves(self._algebra).parts(nothing, x.e_max, y.e_max, *parts)
                leaves.use_of(self._laws, claim, [*known, (x.e_max == y.e_max) | nothing], why)
                if term.earlier is not None and pair.is_of_products:
                    for total in pair.sums:
                        zero = ~term.nothing | total.aligned[i].is_value(0) if term.nothing is not None else claim
                        leaves = Leaves(self._algebra).parts(*parts, total.e_max)
                        leaves.use_of(self._laws, zero, known, "a sum of zeros is aligned to zero")
                continue
            self._product(pair, i)

    def _product(self, pair: _Pair, i: int) -> None:
        why, of_zero = "a product is aligned alike", "a zero is aligned to zero"
        x, y = pair.terms[i].runs
        for t, total in zip((x, y), pair.sums, strict=True):
            leaves = Leaves(self._algebra)
            own, e = leaves.term(t), leaves.word(total.e_max)
            zero = self._cut(total, i, own, e).is_value(0)
            leaves.use(self._laws, ~own.significand.is_value(0) | zero, (), of_zero)
        if x.significand.data is not y.significand.data:
            p, q = (s.aligned[i] for s in pair.sums)
            zeros = [t.significand.is_value(0) for t in (x, y)]
            leaves = Leaves(self._algebra).parts(pair.nothing, p, q, *zeros)
            known = [*zeros, *(~z | w.is_value(0) for z, w in zip(zeros, (p, q), strict=True))]
            leaves.use_of(self._laws, pair.nothing | (p == q), known, why)
            return
        leaves = Leaves(self._algebra)
        own, (e, f), nothing = leaves.term(x), (leaves.word(s.e_max) for s in pair.sums), leaves.truth(pair.nothing)
        other = replace(own, exponent=leaves.word(y.exponent), present=leaves.truth(y.present))
        zero = own.significand.is_value(0)
        known = [(e == f) | nothing, own.present | zero, other.present | zero, (own.exponent == other.exponent) | zero]
        equal = self._cut(pair.sums[0], i, own, e) == self._cut(pair.sums[1], i, other, f)
        leaves.use(self._laws, nothing | equal, known, why)

    def _cut(self, total: _Sum, i: int, term: _Term, e_max: _Word) -> _Word:
        """Return an aligned term, in units of the sum."""
        cut = total.path.cuts[i]
        return align(self._algebra, term, e_max, cut) << (total.fraction_bits - cut.fraction_bits)

    def _known(self, pairs: Sequence[_Pair]) -> tuple[list[_Word | _Truth], list[_Truth]]:
        """Return the signals of some sums, and what is proved of them."""
        parts: list[_Word | _Truth] = []
        known: list[_Truth] = []
        for p in pairs:
            x, y = p.sums
            parts += [p.nothing, x.e_max, y.e_max, x.total, y.total]
            known += [(x.e_max == y.e_max) | p.nothing, p.nothing | (x.total == y.total)]
            if p.is_of_products:
                known += [~p.nothing | t.total.is_value(0) for t in (x, y)]
        return parts, known

    def _added(self, pair: _Pair) -> None:
        """Prove where some product is not zero that both sums are the same; where all are, and no c, they are zero."""
        (x, y), width = pair.sums, pair.sums[0].total.width
        p, q = (self._algebra.modular_sum([s.aligned[0]], width) for s in (x, y))
        self._alike(pair, [(x.aligned[0], y.aligned[0])], (p, q))
        for u, v in zip(x.aligned[1:], y.aligned[1:], strict=True):
            before = (p, q)
            p, q = self._algebra.modular_sum([p, u], width), self._algebra.modular_sum([q, v], width)
            self._alike(pair, [before, (u, v)], (p, q))
        for found, total in ((p, x), (q, y)):
            prove_total(self._laws, self._algebra, found, total)
            if pair.is_of_products:
                zeros = [t.nothing for t in pair.terms if t.nothing is not None]
                leaves = Leaves(self._algebra).parts(*zeros, *total.aligned)
                known = [~z | w.is_value(0) for z, w in zip(zeros, total.aligned, strict=True)]
                claim = ~self._algebra.all_of(zeros) | total.total.is_value(0)
                leaves.use_of(self._laws, claim, known, "a sum of zeros is zero")

    def _alike(self, pair: _Pair, known: Sequence[tuple[_Word, _Word]], claim: tuple[_Word, _Word]) -> None:
        leaves = Leaves(self._algebra).parts(pair.nothing, *(w for words in known for w in words))
        same = [pair.nothing | (x == y) for x, y in known]
        leaves.use_of(self._laws, pair.nothing | (claim[0] == claim[1]), same, "sums of the same words")

    # --- results ------------------------------------------------------------------------------------------------

    def _results(self) -> None:
        """Prove that the results are the same: where some product is not zero, and where all are."""
        x, y, nothing = self._first, self._second, self._pairs[-1].nothing
        parts, known = self._known(self._pairs)
        products = [t for p in self._pairs for t in p.terms if t.earlier is None]
        signs = [tuple(z.negative for z in t.runs) for t in products]
        for s, t in signs:
            if s.data is not t.data:
                with suppress(NotComposedError):  # a zero may have no sign
                    self._laws.claim((s == t).data, (), {}, "the sign of a product is the same")
                    known.append(s == t)
        leaves = Leaves(self._algebra).parts(*parts, *(s for pair in signs for s in pair))
        converted = nothing | (x.converted == y.converted)
        leaves.use_of(self._laws, converted, known, "the same sum is converted to the same")
        same = self._same(x.d, y.d)
        leaves = Leaves(self._algebra).parts(nothing, x.converted, y.converted)
        leaves.use_of(self._laws, nothing | same, [converted, *self._assumed], "the same special results")
        self._of_zeros(same)

    def _of_zeros(self, same: _Truth) -> None:
        """Prove that the results are the same where all products are zero, and so that they always are."""
        products = [t for p in self._pairs for t in p.terms if t.nothing is not None and t.earlier is None]
        words = {t.significand.data: t.significand for x in products for t in x.runs}
        is_zero = {
            t.significand.data for x in products for t in x.runs if len({z.significand.data for z in x.runs}) > 1
        }
        known = []
        for w in words.values():
            of = [f.is_value(0) for f in factors_of(self._algebra, w)]
            if w.data in is_zero:
                known += [w.is_value(0), self._algebra.any_of(of)]
            elif len(of) > 1:
                known.append(self._algebra.any_of([*of, ~w.is_value(0)]))
        zeros = [t.nothing for t in products if t.nothing is not None]
        nothing, why = self._algebra.all_of(zeros), "where all products are zero, the results agree"
        Leaves(self._algebra).parts(*words.values()).use_of(self._laws, ~nothing | same, [*known, *self._assumed], why)
        leaves = Leaves(self._algebra)
        of = [leaves.truth(z) for z in zeros]
        named = {p.nothing.data: p for p in reversed(self._pairs)}
        held = {z.data: w for z, w in zip(zeros, of, strict=True)}
        held |= {x: leaves.truth(p.nothing) for x, p in named.items()}
        terms = self._laws.environment.formula_manager
        known = []
        for x, p in named.items():
            own = self._algebra.all_of([held[t.nothing.data] for t in p.terms if t.nothing is not None])
            known.append(Truth(terms.Iff(held[x].data, own.data), self._algebra))
        equal = leaves.truth(same)
        leaves.use(
            self._laws,
            equal,
            [*known, held[self._pairs[-1].nothing.data] | equal, ~self._algebra.all_of(of) | equal],
            why,
        )
