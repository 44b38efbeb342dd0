"""The lemmas that prove that Fasi's sequential accumulator is a T-FDPA under some conditions.

The conditions are these. The sum starts with a term of the largest EXPONENT, where products are not normalised. It
takes the other terms in order of index, truncates every ADDEND to F fraction bits below that exponent, and does not
normalise. Then it returns the result of the T-FDPA with the same other parameters, for any number of terms:

1. If any term is present, exactly one of the terms with the exponent e_max is chosen (``StartIsUnique``).
2. The accumulator starts as the cut of that term, which is the aligned term of T-FDPA (``StartsAligned``).
3. Adding another term adds its aligned word, whatever the accumulator holds, and does not move the accumulator
   (``AddsAligned``). So in the end it holds the sum of all aligned terms. This is the sum of T-FDPA, because the order
   of a sum does not matter (a law of ``laws``) and a term that is not present is zero.
4. The conversion reads the same number from the accumulator, which has zeros below F (``WidenedConversion``). If no
   term is present, the sum is zero, and it converts to the same result at any exponent (``ZeroConverts``).

The same stage decides special values from the same operands. The other readings of Fasi et al. 2021 differ from T-FDPA
(tests/smt/proving/test_sequential.py has inputs): the largest MAGNITUDE first, because a product with a smaller
exponent may be larger; NORMALISED exponents; truncated PARTIAL SUMS; and a sum that normalises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.proving.cuts import TermLemma, TermShape, cut_terms
from mmaproof.smt.proving.laws import Law, Operation, of_law
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.two_terms import WidenedConversion
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.sequential_step import (
    Accumulator,
    add,
    cut_at,
    fraction_of,
    sequential,
    start,
    with_exponent,
)
from mmaproof.smt.semantics.terms import Term

_T_FDPA = (
    *(Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_SUM, Guarantee.TRUNCATED_TERMS, Guarantee.EXACT_SUM),
    *(Guarantee.SINGLE_PRODUCTS, Guarantee.C_AS_TERM, Guarantee.NO_FLOOR, Guarantee.POSITIVE_ZERO_SUM),
)


def is_rewriting(fused: Design, in_turn: Design) -> bool:
    """Return whether the lemmas apply: one is a T-FDPA, the other the same with such a sequential accumulator."""
    if not fused.guarantees(*_T_FDPA) or fused.adds_c_last or not fused.chain.keeps_infinities:
        return False
    if not in_turn.guarantees(Guarantee.SUM_IN_TURN):
        return False
    rewritten = fused.change(summation="sequential")
    same = (rewritten.step, rewritten.chain) == (in_turn.step, in_turn.chain)
    return same and fused.signature == in_turn.signature and fused.k == in_turn.k


class StartIsUnique(Lemma):
    """If any term is present, exactly one term is the first present one with the largest exponent."""

    def __init__(self, total: FusedSum[Any, Any]) -> None:
        self.widths = [t.exponent.width for t in total.terms]
        self.name = f"the sum of {len(self.widths)} terms starts with one of the largest exponent"
        words = [Input(f"exponent{i}", w, signed=True) for i, w in enumerate(self.widths)]
        words += [Input(f"present{i}", 1) for i in range(len(self.widths))]
        self.inputs = (*words, Input("e_max", total.e_max.width, signed=True))

    def _terms(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> list[Term[D, T]]:
        one, no = algebra.unsigned(1, 1), algebra.truth(False)
        return [
            Term(0, no, words[f"exponent{i}"], one, words[f"present{i}"].is_value(1), 1)
            for i in range(len(self.widths))
        ]

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether e_max is the exponent of a term that is present."""
        e_max = words["e_max"]
        return algebra.any_of([t.present & (t.exponent == e_max) for t in self._terms(algebra, words)])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether exactly one term is chosen, and it is present and has that exponent."""
        terms, e_max = self._terms(algebra, words), words["e_max"]
        seen, good = algebra.truth(False), []
        for term, chosen in zip(terms, with_exponent(algebra, terms, e_max), strict=True):
            right = algebra.all_of([term.present, term.exponent == e_max, ~seen])
            good.append(~chosen | right)
            seen = seen | chosen
        return algebra.all_of([*good, seen])


class _OfAccumulator(TermLemma):
    """A statement about one term and the accumulator of ``design`` with ``fraction`` fraction bits."""

    def __init__(self, name: str, design: Design, shape: TermShape, cut: Cut, fraction: int) -> None:
        super().__init__(name, shape, cut)
        self.step, self.fraction = sequential(design.step), fraction

    def aligned(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Word[D]:
        """Return the aligned term as the accumulator holds it."""
        return align(algebra, term, e_max, self.cut) << (self.fraction - self.cut.fraction_bits)


class StartsAligned(_OfAccumulator):
    """The accumulator starts as the aligned term that it starts with."""

    def __init__(self, kind: str, design: Design, shape: TermShape, cut: Cut, fraction: int) -> None:
        super().__init__(f"a sum that starts with one of the {kind} starts aligned", design, shape, cut, fraction)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does, unless the term is not present or lies below e_max."""
        term, e_max = self.term_of(algebra, words), words["e_max"]
        state = start(algebra, [term], [algebra.truth(True)], self.fraction)
        state = cut_at(self.step, state, self.fraction)
        excluded = ~term.present | (term.exponent < e_max)
        same = state.value == self.aligned(algebra, term, e_max)
        return excluded | algebra.all_of([same, state.exponent == e_max, state.present])


class AddsAligned(_OfAccumulator):
    """A term that is taken adds its aligned word to the accumulator. A term that is not taken adds nothing."""

    def __init__(self, kind: str, design: Design, shape: TermShape, cut: Cut, fraction: int, total_width: int) -> None:
        super().__init__(f"adding one of the {kind} adds its aligned word", design, shape, cut, fraction)
        self.inputs = (*self.inputs, Input("held", total_width, signed=True), Input("taken", 1))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether that holds and the accumulator keeps its exponent."""
        term, e_max = self.term_of(algebra, words), words["e_max"]
        value = words["held"] << (self.fraction - self.cut.fraction_bits)
        taken = term.present & words["taken"].is_value(1)
        state = Accumulator(value, e_max, algebra.truth(True))
        after = add(self.step, algebra, state, term, taken, self.fraction)
        amount = ite(taken, self.aligned(algebra, term, e_max), 0)
        moved = after.value == value + amount
        return algebra.all_of([moved, after.exponent == e_max, after.present])


class ZeroConverts(Lemma):
    """A sum that is zero converts to the same result at any exponent."""

    name = "zero converts to the same at any exponent"

    def __init__(self, design: Design, total: FusedSum[Any, Any]) -> None:
        self.rules, self.fraction_bits = Rules.of(design.step), total.fraction_bits
        self.inputs = tuple(Input(n, total.e_max.width, signed=True) for n in ("x", "y"))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it does."""
        no, zero = algebra.truth(False), algebra.signed(0)
        x, y = (convert(algebra, self.rules, zero, words[n], self.fraction_bits, no)[0] for n in ("x", "y"))
        return x == y


def sequential_lemmas(in_turn: Design, total: FusedSum[Any, Any]) -> Sequence[Lemma]:
    """Return the lemmas that ``in_turn`` returns what its T-FDPA returns. ``total`` is the only sum of that."""
    fraction = fraction_of(sequential(in_turn.step), total.terms)
    found: list[Lemma] = [StartIsUnique(total)]
    for kind, (shape, cut) in cut_terms(total).items():
        found.append(StartsAligned(kind, in_turn, shape, cut, fraction))
        found.append(AddsAligned(kind, in_turn, shape, cut, fraction, total.total.width))
    found += [of_law(Law(Operation.SUM, total.total.width)), ZeroConverts(in_turn, total)]
    return [*found, WidenedConversion(Rules.of(in_turn.step), fraction, total)]
