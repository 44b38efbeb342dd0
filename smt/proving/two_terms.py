"""Lemmas about a term that is jammed: it is the term, or an odd number less than one unit from it.

The lemmas that prove that Fasi's sequential accumulator is a T-FDPA under some conditions.

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
from mmaproof.smt.proving.cuts import ConversionError, CutLemma, TermLemma, TermShape, compared, cut_terms
from mmaproof.smt.proving.laws import Law, Operation, of_law
from mmaproof.smt.proving.lemma import Input, Lemma
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


class JammedCut(CutLemma):
    """A cut that jams returns the term, or an odd number less than one unit from it.

    A term that loses bits is at most half of ``2**e_max``. A term with the exponent e_max is at least ``2**e_max``, and
    its cut is even, so it loses none.
    """

    def __init__(self, kind: str, shape: TermShape, bits: int) -> None:
        super().__init__(f"{kind} jammed at {bits} fraction bits are odd where they lose bits", shape, Cut.jammed(bits))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return also whether the term is zero or normalised."""
        return super().assumption(algebra, words) & is_zero_or_normalised(algebra, self.term_of(algebra, words))

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether the cut is so."""
        kept = align(algebra, term, e_max, self.cut)
        scaled, exact, unit = compared(algebra, term, e_max, self.shape, self.cut)
        error, bits = (scaled - exact).magnitude(), self.cut.fraction_bits
        lost, odd = ~error.is_value(0), kept.bit(0)
        small = exact.magnitude() <= (unit << (bits - 1))
        is_largest = ~term.significand.is_value(0) & (term.exponent == e_max)
        return algebra.all_of(
            [
                ~lost | algebra.all_of([odd, error < unit, small]),
                ~is_largest | (~odd & is_at_least(algebra, kept, bits)),
            ]
        )


class WidenedConversion(Lemma):
    """A sum with zeros appended converts to the same."""

    def __init__(self, rules: Rules, exact_bits: int, jammed: FusedSum[Any, Any]) -> None:
        self.name = f"a sum of {jammed.fraction_bits} fraction bits converts as it does with {exact_bits}"
        self.rules, self.exact_bits, self.bits = rules, exact_bits, jammed.fraction_bits
        self.inputs = (
            Input("total", jammed.total.width, signed=True),
            Input("e_max", jammed.e_max.width, signed=True),
            Input("zero_negative", 1),
        )

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both convert to the same."""
        total, e_max = words["total"], words["e_max"]
        zero_negative = words["zero_negative"].is_value(1)
        wide = total << (self.exact_bits - self.bits)
        given, _ = convert(algebra, self.rules, total, e_max, self.bits, zero_negative)
        widened, _ = convert(algebra, self.rules, wide, e_max, self.exact_bits, zero_negative)
        return given == widened


class JammedError(ConversionError):
    """What lies less than one unit from a sum of two terms, one of them jammed, is moved as little as the sum is.

    The words are those of ``JammedCut``: a term that is even and large, and an odd one that is at most half as large.
    So the exact sum of the two terms, of which one lost bits, is one of these numbers.
    """

    beside = 1

    def __init__(self, of: Rules, total: FusedSum[Any, Any]) -> None:
        super().__init__(of, total, up_to_largest=True)
        self.name = f"{self.name}, also of a sum that was jammed"
        self.inputs = (*self.inputs, Input("kept", total.total.width, signed=True))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return also whether the sum is that of such terms; ``total - kept`` is the one with the larger exponent."""
        total, kept = words["total"], words["kept"]
        largest = total - kept
        half = algebra.unsigned(1 << (self.fraction_bits - 1), self.fraction_bits)
        terms = [~largest.bit(0), is_at_least(algebra, largest, self.fraction_bits), kept.bit(0)]
        return algebra.all_of([super().assumption(algebra, words), *terms, kept.magnitude() <= half])


def jammed_errors(rules: Rules, name: str, total: FusedSum[Any, Any]) -> Sequence[Lemma]:
    """Return lemmas that the rounded sum of two numbers is as near to their exact sum as one rounding takes it.

    The term with the larger exponent loses nothing. If the other one loses nothing either, the exact sum is rounded.
    Else it is odd and lies less than a unit from the exact one, which is at most half of the larger one's power.
    """
    shapes = dict.fromkeys(TermShape.of(x, total.e_max) for x in total.terms)
    cuts = [JammedCut(f"terms of {name}", x, total.fraction_bits) for x in shapes]
    return [*cuts, ConversionError(rules, total, up_to_largest=True), JammedError(rules, total)]


def is_at_least(algebra: Algebra[D, T], x: Word[D], place: int) -> Truth[T]:
    """Return whether the magnitude of ``x`` is at least ``2**place``."""
    return x.magnitude() >= algebra.unsigned(1 << place, place + 1)


def is_zero_or_normalised(algebra: Algebra[D, T], term: Term[D, T]) -> Truth[T]:
    """Return whether the significand of a term is zero or at least one."""
    one = algebra.unsigned(1 << term.fraction_bits, term.fraction_bits + 1)
    return term.significand.is_value(0) | (term.significand >= one)


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
