"""A sum in turn as the steps of a bundle: Fasi's sequential accumulator returns what its T-FDPA returns.

The argument is that of ``proving.sequential``. Each stage of the sequential step is rebuilt from the terms without
cuts, so that its terms are those of the claim. With A_i the aligned terms, all in one width:

* Z_j is the A_i, of those with i >= j, that the sum starts with, and zero if it starts with an earlier one. The
  accumulator starts as Z_0;
* term j adds A_j, or zero if the sum started with it. So the accumulator holds ``A_0 + ... + A_j + Z_(j+1)`` then, by
  one lemma about four words for each j, and there is no Z after the last term;
* the register of the T-FDPA holds the same sum, because every aligned term is within its bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.converted_alike import Case, Converted, ConvertedAlike
from mmaproof.smt.bundles.leaves import Leaves, at_most, prove_largest, within
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import Cut, align, largest_exponent
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.sequential_step import (
    Accumulator,
    MovedTerm,
    addend_of,
    cut_at,
    fraction_of,
    sequential,
    start,
    with_addend,
    with_exponent,
)
from mmaproof.smt.semantics.terms import Term

_Words = Sequence[Word[FNode]]
_State = Accumulator[FNode, FNode]


class InTurnSteps:
    """Proves of one step that its sum in turn is converted as its fused sum is. Raises NotComposedError."""

    def __init__(
        self,
        kernel: Kernel,
        in_turn: Design,
        signals: StepSignals[FNode, FNode],
        fused: StepSignals[FNode, FNode],
    ) -> None:
        self._algebra = TermAlgebra(kernel.environment)
        self._laws = LawsInUse(kernel)
        self._step = sequential(in_turn.step)
        self._signals, self._fused = signals, fused
        (self._total,) = fused.sums
        self._terms = [term for _, term in signals.in_turn]
        self._same_terms(kernel)
        self._e_max = largest_exponent(self._algebra, self._terms)
        self._fraction = fraction_of(self._step, self._terms)
        self._places = self._fraction - self._total.fraction_bits

    def _same_terms(self, kernel: Kernel) -> None:
        total = self._total
        if any(not t.present.data.is_true() for t in (*self._terms, *total.terms)):
            raise NotComposedError("a sum in turn of terms that may be absent")
        if any(cut.fraction_bits != total.fraction_bits or not cut.truncates for cut in total.path.cuts):
            raise NotComposedError("a sum in turn of terms that are cut in different places")
        for x, y in zip(self._terms, total.terms, strict=True):
            parts = ((x.negative, y.negative), (x.exponent, y.exponent), (x.significand, y.significand))
            if not all(kernel.same(p.data, q.data) for p, q in parts):
                raise NotComposedError("a sum in turn has other terms than the fused sum")

    def prove(self) -> None:
        """Add the steps."""
        algebra, cuts = self._algebra, self._total.path.cuts
        chosen = with_exponent(algebra, self._terms, self._e_max)
        states = [cut_at(self._step, start(algebra, self._terms, chosen, self._fraction), self._fraction)]
        addends: list[MovedTerm[FNode, FNode]] = []
        for term, first in zip(self._terms, chosen, strict=True):
            state = states[-1]
            addends.append(addend_of(self._step, algebra, state, term, term.present & ~first, self._fraction))
            states.append(with_addend(self._step, state, addends[-1], self._fraction))
        self._width = max(states[-1].value.width - self._places, self._total.total.width)
        aligned = [align(algebra, t, self._e_max, cut) for t, cut in zip(self._terms, cuts, strict=True)]
        tails = self._tails([self._wide(x) for x in aligned], chosen)
        self._exponents()
        self._start(states[0], tails[0])
        self._tails_end()
        zero, held = algebra.signed(0, self._width), tails[0]
        sums = zero
        self._nothing_added(tails[0], (zero, tails[0]))
        for i, (term, first, cut) in enumerate(zip(self._terms, chosen, cuts, strict=True)):
            self._addend(term, first, cut, states[i], addends[i])
            after = self._added(self._wide(aligned[i]), first, states[i : i + 2], addends[i], held)
            sums = self._regrouped(sums, self._wide(aligned[i]), tails[i + 1], first, held, after)
            held = after
        self._nothing_added(sums, (sums, zero))
        self._register(aligned, sums)
        self._converted(states[-1], held)

    # --- the exponents, and where the sum starts ----------------------------------------------------------------

    def _exponents(self) -> None:
        """Prove that the sum starts with some term, and that no exponent is above e_max."""
        leaves = Leaves(self._algebra)
        own = [leaves.term(t) for t in self._terms]
        top = largest_exponent(self._algebra, own)
        some = self._algebra.any_of(with_exponent(self._algebra, own, top))
        leaves.use(self._laws, some, (), "a sum starts with a term of the largest exponent")
        for t in own:
            leaves.use(self._laws, t.exponent <= top, (), "no exponent is above the largest one")

    def _start(self, state: _State, first: Word[FNode]) -> None:
        """Prove that the accumulator starts as Z_0 at e_max."""
        algebra, why = self._algebra, "a sum starts with an aligned term"
        for term, cut in zip(self._terms, self._total.path.cuts, strict=True):
            leaves = Leaves(algebra)
            own, top = leaves.term(term), leaves.word(self._e_max)
            claim = ~(own.exponent == top) | (self._alone(own) == self._placed(align(algebra, own, top, cut)))
            leaves.use(self._laws, claim, (), why)
        leaves = Leaves(algebra)
        every, top = [leaves.term(t) for t in self._terms], leaves.word(self._e_max)
        aligned = [
            leaves.word(align(algebra, t, self._e_max, cut))
            for t, cut in zip(self._terms, self._total.path.cuts, strict=True)
        ]
        chosen = with_exponent(algebra, every, top)
        begun = cut_at(self._step, start(algebra, every, chosen, self._fraction), self._fraction)
        known = [
            algebra.any_of(chosen),
            *(~(t.exponent == top) | (self._alone(t) == self._placed(x)) for t, x in zip(every, aligned, strict=True)),
        ]
        (tail, *_) = self._tails([self._wide(x) for x in aligned], chosen)
        leaves.use(self._laws, begun.exponent == top, known[:1], why)
        leaves.use(self._laws, begun.present, known[:1], why)
        leaves.use(self._laws, begun.value == tail << self._places, known, why)

    def _alone(self, term: Term[FNode, FNode]) -> Word[FNode]:
        """Return the accumulator that starts with a term."""
        begun = start(self._algebra, [term], [self._algebra.truth(True)], self._fraction)
        return cut_at(self._step, begun, self._fraction).value

    def _placed(self, x: Word[FNode]) -> Word[FNode]:
        return x << self._places

    def _tails(self, aligned: _Words, chosen: Sequence[Truth[FNode]]) -> list[Word[FNode]]:
        """Return Z_0, Z_1, ..., the last of which is zero."""
        tails = [self._algebra.signed(0, self._width)]
        for x, first in zip(reversed(aligned), reversed(chosen), strict=True):
            tails.insert(0, ite(first, x, tails[0]))
        return tails

    def _tails_end(self) -> None:
        """Prove that Z_(j+1) is zero where the sum starts with term j."""
        leaves, cuts = Leaves(self._algebra), self._total.path.cuts
        own, top = [leaves.term(t) for t in self._terms], leaves.word(self._e_max)
        words = [
            leaves.word(self._wide(align(self._algebra, t, self._e_max, cut)))
            for t, cut in zip(self._terms, cuts, strict=True)
        ]
        chosen = with_exponent(self._algebra, own, top)
        for first, tail in zip(chosen, self._tails(words, chosen)[1:], strict=True):
            leaves.use(self._laws, ~first | tail.is_value(0), (), "a sum starts with one term")

    # --- one term after the other -------------------------------------------------------------------------------

    def _addend(
        self,
        term: Term[FNode, FNode],
        first: Truth[FNode],
        cut: Cut,
        state: _State,
        addend: MovedTerm[FNode, FNode],
    ) -> None:
        """Prove that a term that is taken adds what its aligned term is."""
        algebra, leaves = self._algebra, Leaves(self._algebra)
        own, top, x = leaves.term(term), leaves.word(self._e_max), leaves.truth(first)
        held = Accumulator(leaves.word(state.value), leaves.word(state.exponent), leaves.truth(state.present))
        added = addend_of(self._step, algebra, held, own, own.present & ~x, self._fraction)
        known = [own.exponent <= top, held.exponent == top, held.present]
        why = "a term adds its aligned word"
        leaves.use(self._laws, added.exponent == top, known[1:], why)
        leaves.use(self._laws, ~added.starts, known[1:], why)
        leaves.use(self._laws, added.taken | x, known[1:], why)
        leaves.use(self._laws, ~(added.taken & x), known[1:], why)
        aligned = self._placed(self._wide(align(algebra, own, top, cut)))
        leaves.use(self._laws, x | (added.value == aligned), known, why)

    def _added(
        self,
        aligned: Word[FNode],
        first: Truth[FNode],
        states: Sequence[_State],
        addend: MovedTerm[FNode, FNode],
        held: Word[FNode],
    ) -> Word[FNode]:
        """Prove what the accumulator holds after a term, and return that."""
        algebra, leaves, (state, _) = self._algebra, Leaves(self._algebra), states
        before = Accumulator(leaves.word(state.value), leaves.word(state.exponent), leaves.truth(state.present))
        taken, starts = leaves.truth(addend.taken), leaves.truth(addend.starts)
        own = MovedTerm(leaves.word(addend.value), leaves.word(addend.exponent), taken, starts)
        top, x, h, a = leaves.word(self._e_max), leaves.truth(first), leaves.word(held), leaves.word(aligned)
        after = with_addend(self._step, before, own, self._fraction)
        known = [
            before.present,
            before.exponent == top,
            own.exponent == top,
            before.value == self._placed(h),
            x | (own.value == self._placed(a)),
            own.taken | x,
            ~(own.taken & x),
        ]
        why = "the accumulator holds a sum"
        leaves.use(self._laws, after.exponent == top, known[1:3], why)
        leaves.use(self._laws, after.present, known[:1], why)
        total = algebra.modular_sum([h, self._unless(x, a)], self._width)
        leaves.use(self._laws, after.value == self._placed(total), known[3:], why)
        return algebra.modular_sum([held, self._unless(first, aligned)], self._width)

    def _unless(self, first: Truth[FNode], x: Word[FNode]) -> Word[FNode]:
        return ite(first, self._algebra.signed(0, self._width), x)

    def _regrouped(
        self,
        sums: Word[FNode],
        aligned: Word[FNode],
        tail: Word[FNode],
        first: Truth[FNode],
        held: Word[FNode],
        after: Word[FNode],
    ) -> Word[FNode]:
        """Prove that the accumulator is a sum of aligned terms and what follows, and return that sum."""

        def of(x: Word[FNode], y: Word[FNode]) -> Word[FNode]:
            return self._algebra.modular_sum([x, y], self._width)

        laws = self._laws.sums(self._width)
        words = [x.data for x in (sums, tail, aligned)]
        laws.regroup(words[:1], words[1:])
        laws.exchange(words[1:], 0)
        laws.regroup(words[:1], [words[2], words[1]])
        leaves = Leaves(self._algebra)
        p, a, z = leaves.word(sums), leaves.word(aligned), leaves.word(tail)
        x, h = leaves.truth(first), leaves.word(held)
        known = [
            h == of(p, ite(x, a, z)),
            ~x | z.is_value(0),
            of(of(p, z), a) == of(of(p, a), z),
        ]
        leaves.use(self._laws, of(h, self._unless(x, a)) == of(of(p, a), z), known, "the accumulator holds a sum")
        return of(sums, aligned)

    # --- the sum ------------------------------------------------------------------------------------------------

    def _register(self, aligned: _Words, sums: Word[FNode]) -> None:
        """Prove that the register of the fused sum holds the sum of the aligned terms."""
        algebra, total, why = self._algebra, self._total.total, "the register holds the sum"
        total_cuts = self._total.path.cuts
        bounds = [cut.bound(t.largest, t.fraction_bits) for t, cut in zip(self._terms, total_cuts, strict=True)]
        for term, cut, bound in zip(self._terms, total_cuts, bounds, strict=True):
            prove_largest(self._laws, algebra, term)
            leaves = Leaves(algebra)
            own, top = leaves.term(term), leaves.word(self._e_max)
            known = [own.exponent <= top, at_most(own.significand, own.largest)]
            bounded = within(align(algebra, own, top, cut), bound)
            leaves.use(self._laws, bounded, known, "an aligned term is within its bound")
        register, added, most = algebra.signed(0, total.width), algebra.signed(0, self._width), 0
        for i, (x, bound) in enumerate(zip(aligned, bounds, strict=True)):
            leaves = Leaves(algebra)
            t, p, a = leaves.word(register), leaves.word(added), leaves.word(x)
            known = [] if i == 0 else [self._wide(t) == p, within(t, most)]
            now = algebra.modular_sum([t, a] if i else [a], total.width)
            same = self._wide(now) == algebra.modular_sum([p, self._wide(a)], self._width)
            most += bound
            leaves.use(self._laws, same, [*known, within(a, bound)], why)
            leaves.use(self._laws, within(now, most), [*known, within(a, bound)], why)
            register = algebra.modular_sum([register, x] if i else [x], total.width)
            added = algebra.modular_sum([added, self._wide(x)], self._width)
        if not self._laws.kernel.same(register.data, total.data) or added.data is not sums.data:
            raise NotComposedError("the fused sum is added in another way")

    def _converted(self, state: _State, held: Word[FNode]) -> None:
        """Prove that both sums are converted to the same number."""
        algebra, rules, total = self._algebra, Rules.of(self._step), self._total
        leaves = Leaves(algebra)
        v, h, t = leaves.word(state.value), leaves.word(held), leaves.word(total.total)
        widened = algebra.extend(self._placed(t), v.width)
        why = "the accumulator holds the register"
        leaves.use(self._laws, v == widened, [v == self._placed(h), h == self._wide(t)], why)
        wide, other = (
            Converted(x, self._e_max, bits, *convert(algebra, rules, x, self._e_max, bits, algebra.truth(False)))
            for x, bits in ((state.value, self._fraction), (total.total, total.fraction_bits))
        )
        ConvertedAlike(algebra, self._laws, wide, other).prove([Case(algebra.truth(True), self._places)])
        if not self._laws.kernel.same(self._signals.d.data, self._fused.d.data):
            raise NotComposedError("both sums are converted to one number, and the results differ")

    def _wide(self, x: Word[FNode]) -> Word[FNode]:
        return self._algebra.extend(x, self._width)

    def _nothing_added(self, x: Word[FNode], words: _Words) -> None:
        """Prove that the sum of a word and a constant zero is that word."""
        leaves = Leaves(self._algebra)
        own = leaves.word(x)
        total = self._algebra.modular_sum([own if w is x else w for w in words], x.width)
        leaves.use(self._laws, own == total, (), "nothing is added")
