"""Terms that lie close together lose nothing, as steps of a bundle: a step returns what one with more places returns.

The *wide* step has the same terms, those that are zero perhaps absent or with another exponent, and at least as many
fraction bits. With E and E' the largest exponents of the step and of the wide one:

* E' is the exponent of a present term, whose distance from E is within its spread. So E - E' is from 0 to the largest
  spread, and each difference is a case; or no term is present, and all are zero. The difference is 0 where no zero has
  an exponent above the least one of such a term;
* in each case an aligned term of the wide step is that of the step, moved up by as many places, because nothing is lost
  of it. So is the sum, term by term, because no register wraps;
* ``ConvertedAlike`` says that both sums are converted to the same number.

More fraction bits than are needed, as steps: a step returns what it returns with more of them.

Both steps have the same terms, and so the same e_max. Where all operands are finite, no exponent is above the bound of
its kind. So e_max is within the bounds of all other terms, or it is the exponent of the term itself. There no term
loses a bit: this is a lemma about one term. What loses nothing is, with more bits, the same moved up, and so is the
sum, term by term. A sum with zeros below it is converted to the same. Where an operand is not finite, both results are
the special value that it gives.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import accumulate

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.converted_alike import Case, Converted, ConvertedAlike, is_moved
from mmaproof.smt.bundles.leaves import (
    Leaves,
    at_most,
    prove_bounds,
    prove_first_bound,
    prove_largest_exponent,
    prove_total,
    prove_where_zero,
    within,
)
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.walk import Substitution
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent, loses_bits
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term

CONVERTED_SECONDS = 120.0
"""Seconds in which a lemma about two conversions is refuted."""

_Word = Word[FNode]
_Truth = Truth[FNode]
_Term = Term[FNode, FNode]
_Sum = FusedSum[FNode, FNode]
_HIGHEST = "no exponent is above the largest one of the other step"


class CloseTermsSteps:
    """Proves that a step and a wide one convert their sums to the same number. Raises NotComposedError.

    ``spreads`` are the distances from e_max, one for each term, at which a term that is not zero may lie at most; None
    where it is zero. That they do is known to hold. ``least`` are the least exponents of terms that are not zero; what
    does not hold of them is not used.
    """

    def __init__(
        self,
        kernel: Kernel,
        signals: StepSignals[FNode, FNode],
        wide: StepSignals[FNode, FNode],
        spreads: Sequence[int | None],
        least: Sequence[int],
    ) -> None:
        self._algebra = TermAlgebra(kernel.environment)
        self._laws = LawsInUse(kernel, seconds=CONVERTED_SECONDS)
        self._signals, self._wide_signals, self._spreads, self._least = signals, wide, spreads, least
        if len(signals.sums) != 1 or len(wide.sums) != 1:
            raise NotComposedError("terms that pass through several sums")
        (self._sum,), (self._wide,) = signals.sums, wide.sums
        self._more = self._wide.fraction_bits - self._sum.fraction_bits
        self._most = 0
        """how far the largest exponent may be above that of the wide step"""
        self._same_terms()

    def _same_terms(self) -> None:
        if len(self._sum.terms) != len(self._wide.terms) or self._more < 0:
            raise NotComposedError("an exact sum of other terms")
        for total in (self._sum, self._wide):
            if any(cut.fraction_bits != total.fraction_bits for cut in total.path.cuts):
                raise NotComposedError("terms that are cut in different places")
        for x, y in zip(self._sum.terms, self._wide.terms, strict=True):
            if not all(map(self._laws.kernel.same, *((z.negative.data, z.significand.data) for z in (x, y)))):
                raise NotComposedError("an exact sum of other terms")

    def prove(self) -> None:
        """Add the steps."""
        self._terms()
        self._largest_exponents()
        kinds = list(zip(self._least, self._spreads, strict=True))
        low = {e for e in sorted({e for e, spread in kinds if spread}) if self._is_never_below(e)}
        self._most = max(0 if e in low else spread or 0 for e, spread in kinds)
        absent = self._algebra.all_of([~t.present for t in self._wide.terms])
        e, wide = self._sum.e_max, self._wide.e_max
        cases = [Case(absent, None), Case(self._is_near(e, wide), self._more, self._apart(e, wide))]
        self._close(cases, low)
        self._converted(cases)

    def _is_near(self, e: _Word, wide: _Word) -> _Truth:
        """Return whether an exponent is that of the wide step, or not too far above it."""
        return (wide <= e) & (e <= wide + self._most) if self._most else e == wide

    def _apart(self, e: _Word, wide: _Word) -> _Word | None:
        """Return how far above that of the wide step an exponent is which is near; None if it is the same."""
        return (e - wide).extract(self._most.bit_length() - 1, 0) if self._most else None

    def _converted(self, cases: Sequence[Case]) -> None:
        """Prove that both sums are converted to the same number, if one of the cases always holds."""
        both = (self._sum, self._wide)
        bounds = list(zip(*(prove_bounds(self._laws, self._algebra, x) for x in both), strict=True))
        for case in cases:
            self._aligned(case)
        self._added(cases, bounds)
        wide, other = (
            Converted(x.total, x.e_max, x.fraction_bits, y.converted, y.overflowed)
            for x, y in ((self._wide, self._wide_signals), (self._sum, self._signals))
        )
        converted = ConvertedAlike(self._algebra, self._laws, wide, other)
        for case in cases:
            e, f = wide.e_max, other.e_max
            self._use(~case.at | converted.exponents(case, e, f), (), [e, f], "each case is what it says of exponents")
        converted.prove(cases)
        if not self._laws.kernel.same(self._signals.d.data, self._wide_signals.d.data):
            raise NotComposedError("both sums are converted to one number, and the results differ")

    def _use(self, claim: _Truth, known: Sequence[_Truth], parts: Sequence[_Word | _Truth], why: str) -> None:
        Leaves(self._algebra).parts(*parts).use_of(self._laws, claim, known, why)

    # --- terms --------------------------------------------------------------------------------------------------

    def _terms(self) -> None:
        """Prove of each term that it is present in both sums if it is not zero, and with the same exponent there."""
        same = self._laws.kernel.same
        for x, y in zip(self._sum.terms, self._wide.terms, strict=True):
            use = partial(self._laws.claim, given={}, why="a term that is not zero is the same in both sums")
            zero = x.significand.is_value(0)
            for claim in (zero | y.present, zero | x.present, zero | (x.exponent == y.exponent)):
                if not same(claim.data, self._algebra.truth(True).data):
                    use(claim.data, ())
            prove_where_zero(self._laws, self._algebra, y.significand, ~y.present, "a term that is present is not zero")

    # --- exponents ----------------------------------------------------------------------------------------------

    def _largest_exponents(self) -> None:
        """Prove that no exponent is above e_max, and that the one of the wide step is not above that of the step."""
        algebra, e = self._algebra, self._sum.e_max
        for total in (self._sum, self._wide):
            prove_largest_exponent(self._laws, algebra, total)
        leaves = Leaves(algebra)
        own = [leaves.truth(t.present) for t in self._wide.terms]
        absent = algebra.all_of([~x for x in own])
        leaves.use(self._laws, algebra.all_of([~absent | ~x for x in own]), (), "no term is present")
        for x, y in zip(self._sum.terms, self._wide.terms, strict=True):
            zero = x.significand.is_value(0)
            known = [~zero | ~y.present, zero | x.present, zero | (x.exponent == y.exponent)]
            known.append(~x.present | (x.exponent <= e))
            claim = self._below(e) | (_counted(self._wide, y) <= e)
            self._use(claim, known, [zero, y.present, x.present, x.exponent, y.exponent, e], _HIGHEST)
        self._none_above(self._wide.e_max, e, self._below(e))

    def _below(self, e: _Word) -> _Truth:
        """Return whether an exponent is below all that terms of the wide step may have."""
        return e < -(1 << (self._wide.e_max.width - 1))

    def _none_above(self, top: _Word, limit: _Word, unless: _Truth) -> None:
        """Prove that a tree of maxima is at most a limit, unless something holds. This is known of its words."""
        pending, nodes, maxima = [top], list[tuple[_Word, list[_Word]]](), self._laws.maxima(top.width)
        while pending:
            node = pending.pop()
            sides = [Word(x, top.width, True, self._algebra) for x in maxima.sides(node.data)]
            nodes += [(node, sides)] if sides else []
            pending += sides
        for node, sides in reversed(nodes):
            known = [unless | (x <= limit) for x in sides]
            self._use(unless | (node <= limit), known, [unless, *sides, limit], "a maximum is at most a limit")

    def _is_never_below(self, least: int) -> bool:
        """Return whether E is proved to be at most an E' of at least so much: no zero has an exponent above that."""
        try:
            self._never_below(least)
        except NotComposedError:
            return False
        return True

    def _never_below(self, least: int) -> None:
        algebra, terms = self._algebra, self._sum.terms
        for x, own in zip(terms, self._least, strict=True):
            if own == least:
                claim = x.significand.is_value(0) | (x.exponent >= least)
                self._laws.claim(claim.data, (), {}, "an exponent is not below the smallest one")
        for x, y in zip(terms, self._wide.terms, strict=True):
            prove_where_zero(self._laws, algebra, x.significand, x.exponent <= least, "a zero has a small exponent")
            zero, wide = x.significand.is_value(0), self._wide.e_max
            known = [zero | y.present, zero | (x.exponent == y.exponent), ~y.present | (y.exponent <= wide)]
            known.append(~zero | (x.exponent <= least))
            claim = (wide < least) | (_counted(self._sum, x) <= wide)
            self._use(claim, known, [zero, y.present, x.present, x.exponent, y.exponent, wide], _HIGHEST)
        wide, floor = self._wide.e_max, self._sum.path.floor
        if floor is not None:
            self._use((wide < least) | (algebra.signed(floor, self._sum.e_max.width) <= wide), (), [wide], _HIGHEST)
        self._none_above(self._sum.e_max, wide, wide < least)

    def _close(self, cases: Sequence[Case], low: Collection[int]) -> None:
        """Prove that one of the cases holds. At or above exponents that are ``low``, E is at most E'."""
        algebra = self._algebra
        parts = zip(self._sum.terms, self._wide.terms, self._spreads, self._least, strict=True)
        for x, y, spread, least in parts:
            leaves = Leaves(algebra)
            e, wide = leaves.word(self._sum.e_max), leaves.word(self._wide.e_max)
            present, m = leaves.truth(y.present), leaves.word(x.significand)
            here, at, other = leaves.truth(x.present), leaves.word(x.exponent), leaves.word(y.exponent)
            zero = m.is_value(0)
            known = [~zero | ~present, zero | here, zero | (at == other), ~here | (at <= e)]
            known += [~present | (other <= wide), self._below(e) | (wide <= e)]
            known.append(replace(x, exponent=at, significand=m).lies_near(e, spread))
            if least in low:
                known += [zero | (at >= least), (wide < least) | (e <= wide)]
            claim = ~present | self._is_near(e, wide)
            leaves.use(self._laws, claim, known, "a term that is present lies close to the largest exponent")
        some, near = [t.present for t in self._wide.terms], cases[1].at
        known = [~x | near for x in some]
        self._use(algebra.any_of([x.at for x in cases]), known, [*some, near], "the largest exponents are close")

    # --- sums ---------------------------------------------------------------------------------------------------

    def _aligned(self, case: Case) -> None:
        """Prove how the aligned terms of both sums are related in a case."""
        algebra, why = self._algebra, "nothing is lost of a term that lies close"
        cuts = (self._sum.path.cuts, self._wide.path.cuts)
        for x, y, cut, finer, spread in zip(self._sum.terms, self._wide.terms, *cuts, self._spreads, strict=True):
            leaves = Leaves(algebra)
            own, e = leaves.term(x), leaves.word(self._sum.e_max)
            exponent, present = leaves.word(y.exponent), leaves.truth(y.present)
            wide = leaves.word(self._wide.e_max)
            zero = own.significand.is_value(0)
            other = replace(own, exponent=exponent, present=present)
            known = [zero | own.present, zero | present, zero | (own.exponent == exponent)]
            known += [~own.present | (own.exponent <= e), ~present | (exponent <= wide)]
            known += [at_most(own.significand, own.largest), own.lies_near(e, spread)]
            if case.places is None:
                within_leaf = case.over(leaves)
                known = [zero | present, ~within_leaf.at | ~present]
            else:
                within_leaf = Case(self._is_near(e, wide), case.places, self._apart(e, wide))
            claim = within_leaf.of_sums(align(algebra, other, wide, finer), align(algebra, own, e, cut))
            leaves.use(self._laws, ~within_leaf.at | claim, known, why)

    def _added(self, cases: Sequence[Case], bounds: Sequence[Sequence[int]]) -> None:
        """Prove how the sums are related in each case. ``bounds`` are those of each term in both.

        They are not needed where what is moved up is as wide as the wide sum: then both may wrap, but not apart. Else
        those of the wide sum suffice if they say, in units of the other one, that this does not wrap either.
        """
        both = (self._sum, self._wide)
        apart = self._wide.total.width - self._sum.total.width
        whole = [sum(of) for of in zip(*bounds, strict=True)]
        fits = whole[1] >> self._more < 1 << (self._sum.total.width - 1)
        may_wrap = any(case.places not in (None, apart) or case.further is not None for case in cases)
        held = range(int(fits), 2) if may_wrap else ()
        sums, most = [t.aligned[0].extend(t.total.width) for t in both], list(bounds[0])
        self._begun(cases)
        for n in held:
            prove_first_bound(self._laws, self._algebra, both[n], most[n])
        for i in range(1, len(self._sum.terms)):
            terms = [t.aligned[i] for t in both]
            limits = [(n, whole[n] - bounds[i][n], bounds[i][n]) for n in held]
            for n, room, more in limits:
                self._leaves_room(sums[n], terms[n], most[n], room, more)
                most[n] += more
            for case in cases:
                self._with_one_more(case, sums, terms, limits)
            sums = [self._algebra.modular_sum(pair, pair[0].width) for pair in zip(sums, terms, strict=True)]
        for x, t in zip(sums, both, strict=True):
            prove_total(self._laws, self._algebra, x, t)

    def _begun(self, cases: Sequence[Case]) -> None:
        """Prove of the first terms, each as wide as its sum, what is proved of the sums."""
        why, both = "a sum begins with a term", (self._sum, self._wide)
        for case in cases:
            leaves = Leaves(self._algebra)
            x, y = (leaves.word(t.aligned[0]) for t in both)
            own = case.over(leaves)
            p, q = (w.extend(t.total.width) for w, t in zip((x, y), both, strict=True))
            leaves.use(self._laws, ~own.at | own.of_sums(q, p), [~own.at | own.of_sums(y, x)], why)

    def _leaves_room(self, register: _Word, term: _Word, most: int, room: int, more: int) -> None:
        """Prove the bound of a sum with one more term, and that without it the sum leaves room for the term.

        The room is the same for each term of a kind, so that few lemmas are about related sums.
        """
        leaves = Leaves(self._algebra)
        p, x = leaves.word(register), leaves.word(term)
        bounded = within(p, room) & within(self._algebra.modular_sum([p, x], p.width), most + more)
        leaves.use(self._laws, bounded, [within(p, most), within(x, more)], "a sum is bounded, and leaves room")

    def _with_one_more(
        self, case: Case, sums: Sequence[_Word], terms: Sequence[_Word], limits: Sequence[tuple[int, int, int]]
    ) -> None:
        """Prove in a case that sums that are related are so with one more term each: the step's, and the wide one.

        ``limits`` say of one of the two, or of both, how large the sum and the term are at most.
        """
        leaves = Leaves(self._algebra)
        (p, q), (x, y) = registers, added = [[leaves.word(w) for w in words] for words in (sums, terms)]
        case = case.over(leaves)
        known = [~case.at | case.of_sums(q, p), ~case.at | case.of_sums(y, x)]
        for n, *bounds in limits:
            known += [within(w, bound) for w, bound in zip((registers[n], added[n]), bounds, strict=True)]
        after = [self._algebra.modular_sum(pair, pair[0].width) for pair in ((q, y), (p, x))]
        leaves.use(self._laws, ~case.at | case.of_sums(*after), known, "sums of related terms are related")


def _counted(total: _Sum, t: _Term) -> _Word:
    """Return the exponent with which a term takes part in the largest one."""
    width = max(x.exponent.width for x in total.terms)
    return ite(t.present, t.exponent, total.e_max.algebra.signed(-(1 << (width - 1)), width))


class EnoughBitsSteps(CloseTermsSteps):
    """Proves that a step and one with more fraction bits return the same. Raises NotComposedError.

    ``numbers`` are operands, each with whether it is finite. ``highest`` are bounds of the exponents that terms of
    finite operands have, and ``floor`` is one of e_max where no term is as high. ``given`` are the c of both steps,
    which are known to be the same, and ``assumed`` holds of operands.
    """

    def __init__(
        self,
        kernel: Kernel,
        pair: tuple[StepSignals[FNode, FNode], StepSignals[FNode, FNode]],
        numbers: Sequence[tuple[_Word, _Truth]],
        highest: Sequence[int],
        floor: int,
        given: tuple[_Word, _Word],
        assumed: Sequence[_Truth],
    ) -> None:
        super().__init__(kernel, *pair, (), ())
        self._highest, self._floor, self._given, self._assumed = highest, floor, given, assumed
        if not kernel.same(self._sum.e_max.data, self._wide.e_max.data):
            raise NotComposedError("the largest exponents differ")
        self._finite = [self._own(t, [x for x in numbers if not x[1].data.is_true()]) for t in self._sum.terms]
        self._all = reduce(self._algebra.both, self._finite)

    def _own(self, term: _Term, numbers: Sequence[tuple[_Word, _Truth]]) -> _Truth:
        """Return whether the operands of a term are finite."""
        c = Leaves(self._algebra).parts(*self._given)
        symbols = self._symbols(c, term.significand, term.exponent, term.negative)
        return self._algebra.all_of([finite for x, finite in numbers if self._symbols(c, x) <= symbols])

    def _symbols(self, leaves: Leaves, *parts: _Word | _Truth) -> set[FNode]:
        """Return the symbols of words and truth values, with those of leaves in the place of their parts."""
        symbols_of = self._laws.environment.fvo.get_free_variables
        return {symbol for x in leaves.replaced(part.data for part in parts) for symbol in symbols_of(x)}

    def prove(self) -> None:
        """Add the steps."""
        prove_largest_exponent(self._laws, self._algebra, self._sum)
        self._each_is_finite()
        for i, term in enumerate(self._sum.terms):
            self._bounded(i, term)
        others = [max(self._floor, *self._highest[:i], *self._highest[i + 1 :]) for i in range(len(self._highest))]
        # no other term is as high as the highest may be
        near = [(n, i if n < own else None) for i, (n, own) in enumerate(zip(others, self._highest, strict=True))]
        for x in dict.fromkeys(near):
            self._reached(*x)
        for i, term in enumerate(self._sum.terms):
            self._loses_nothing(i, term, self._near(self._sum.e_max, self._sum.terms, *near[i]))
        case = Case(self._all, self._more)
        bounds = list(zip(*(prove_bounds(self._laws, self._algebra, x) for x in (self._sum, self._wide)), strict=True))
        self._aligned(case)
        self._added([case], bounds)
        self._results()

    def _each_is_finite(self) -> None:
        """Prove of each term that its operands are finite if all are."""
        whole, why = self._all, "all operands are finite"
        some = [x for x in self._finite if not x.data.is_true()]
        prefixes = list(accumulate(some, self._algebra.both))
        for prefix, before, last in zip(prefixes[:0:-1], prefixes[-2::-1], some[:0:-1], strict=True):
            is_whole = prefix.data is whole.data
            for part in (before, last):
                known, parts = ([], [before, last]) if is_whole else ([~whole | prefix], [whole, before, last])
                self._use(~whole | part, known, parts, why)

    def _bounded(self, i: int, term: _Term) -> None:
        """Prove that the exponent of a term is within its bound."""
        own, bounded, why = self._finite[i], ~term.present | (term.exponent <= self._highest[i]), "a bound of exponents"
        self._of_operands(~own | bounded, why)
        known = [*self._if_all(own), ~own | bounded]
        self._use(~self._all | bounded, known, [self._all, own, bounded], why)

    def _if_all(self, own: _Truth) -> list[_Truth]:
        """Return what was proved of the operands of a term: that they are finite if all are."""
        return [] if own.data is self._all.data else [~self._all | own]

    def _of_operands(self, claim: _Truth, why: str, *parts: _Word) -> None:
        """Prove a claim about operands, whatever c is, from those of the assumptions that are about the same."""
        leaves = Leaves(self._algebra).parts(*parts, *self._given)
        symbols = self._symbols(leaves, claim)
        known = [x for x in self._assumed if self._symbols(leaves, x) <= symbols]
        leaves.use_of(self._laws, claim, known, why)

    @staticmethod
    def _near(e_max: _Word, terms: Sequence[_Term], others: int, own: int | None) -> _Truth:
        """Return whether e_max is within the bounds of the others, or is the exponent of a term's own."""
        within_bound = e_max <= others
        return within_bound if own is None else within_bound | (terms[own].present & (e_max == terms[own].exponent))

    def _reached(self, others: int, own: int | None) -> None:
        """Prove how high e_max is, from the bounds of exponents."""
        leaves, path = Leaves(self._algebra), self._sum.path
        every, terms = leaves.truth(self._all), [leaves.term(t) for t in self._sum.terms]
        bounds = zip(terms, self._highest, strict=True)
        known = [~every | (~t.present | (t.exponent <= highest)) for t, highest in bounds]
        top = largest_exponent(self._algebra, terms, path.floor, path.comparator)
        leaves.use(self._laws, ~every | self._near(top, terms, others, own), known, "e_max is within bounds")

    def _loses_nothing(self, i: int, term: _Term, near: _Truth) -> None:
        """Prove that a term loses no bit where e_max is ``near``."""
        e, own, why = self._sum.e_max, self._finite[i], "no term loses a bit"
        kept = ~loses_bits(self._algebra, term, e, self._sum.path.cuts[i])
        valid = ~term.present | (term.exponent <= e)
        claim = self._algebra.any_of([~own, ~near, ~valid, kept])
        self._of_operands(claim, why, e)
        known = [*self._if_all(own), ~self._all | near, valid, claim]
        self._use(~self._all | kept, known, [self._all, own, near, valid, kept], why)

    def _aligned(self, case: Case) -> None:
        """Prove that each aligned term is moved up where there are more bits."""
        cuts = (self._sum.path.cuts, self._wide.path.cuts)
        for x, cut, finer in zip(self._sum.terms, *cuts, strict=True):
            leaves = Leaves(self._algebra)
            every, own, e = leaves.truth(case.at), leaves.term(x), leaves.word(self._sum.e_max)
            known = [~every | ~loses_bits(self._algebra, own, e, cut), ~own.present | (own.exponent <= e)]
            known.append(at_most(own.significand, own.largest))
            claim = case.of_sums(align(self._algebra, own, e, finer), align(self._algebra, own, e, cut))
            leaves.use(self._laws, ~every | claim, known, "what loses no bit is moved up")

    def _results(self) -> None:
        """Prove that both sums are converted to the same, and that the results are the same."""
        x, y, every = self._signals, self._wide_signals, self._all
        equal = x.converted == y.converted, self._equivalent(x.overflowed, y.overflowed)
        (total, e), (wide, f) = ((z.total, z.e_max) for z in (self._sum, self._wide))
        moved, why = total << self._more, "a sum with zeros below it is converted to the same"
        same = [p == q for p, q in ((e, f), self._given) if p.data is not q.data]
        is_so = ~every | is_moved(wide, total, self._more)
        of_first: tuple[_Word | _Truth, ...] = x.converted, x.overflowed
        for claim, own in zip(equal, of_first, strict=True):
            if moved.width > wide.width:
                self._use(~every | claim, [is_so, *same], [every, total, wide, e, f, *self._given], why)
                continue
            # first of the sum that is moved up, whatever it is, and then of the one that is known to be that
            fits = moved.extend(wide.width)
            places = Substitution(self._algebra.environment, {wide.data: fits.data})
            of_moved = Truth(places(claim.data), self._algebra)
            self._use(of_moved, same, [total, e, f, *self._given], why)
            self._use(~every | claim, [of_moved, is_so], [every, own, wide, fits, f, self._given[1]], why)
        special = [(z.special.nan, z.special.infinite, z.special.negative) for z in (x, y)]
        shown = self._algebra.any_of([every, *special[0][:2]])
        self._of_operands(shown, "an operand that is not finite shows")
        known = [*(~every | claim for claim in equal), shown]
        known += [self._equivalent(p, q) for p, q in zip(*special, strict=True) if p.data is not q.data]
        parts: list[_Word | _Truth] = [every, *of_first, y.converted, y.overflowed, *special[0], *special[1]]
        self._use(x.d == y.d, known, parts, "the results are the same")

    def _equivalent(self, x: _Truth, y: _Truth) -> _Truth:
        return Truth(self._algebra.environment.formula_manager.EqualsOrIff(x.data, y.data), self._algebra)
