"""Lemmas over symbols that stand for terms: a lemma is written once over the algebra, and used of the terms.

Symbols are named by their place in the lemma. So a lemma about each of many terms is one lemma, used many times.

Facts about single terms of a sum that several proofs in steps begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Self

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.walk import Substitution
from mmaproof.smt.semantics import StepSignals
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term


class Leaves:
    """Symbols in the place of terms. Constants stay what they are, because the semantics folds them."""

    def __init__(self, algebra: TermAlgebra) -> None:
        self._algebra = algebra
        self._given: dict[FNode, FNode] = {}

    def word(self, x: Word[FNode]) -> Word[FNode]:
        """Return a word in the place of another one."""
        return Word(self._leaf(x.data, x.width), x.width, x.signed, self._algebra)

    def truth(self, x: Truth[FNode]) -> Truth[FNode]:
        """Return a truth value in the place of another one. What is negated stays negated."""
        if x.data.is_not():
            return ~self.truth(Truth(x.data.arg(0), self._algebra))
        return Truth(self._leaf(x.data, 0), self._algebra)

    def term(self, x: Term[FNode, FNode]) -> Term[FNode, FNode]:
        """Return a term of a sum in the place of another one."""
        negative, present = self.truth(x.negative), self.truth(x.present)
        exponent, significand = self.word(x.exponent), self.word(x.significand)
        opposes = None if x.opposes is None else self.truth(x.opposes)
        return Term(x.fraction_bits, negative, exponent, significand, present, x.largest, opposes)

    def number(self, x: Word[FNode]) -> Word[FNode]:
        """Return a word in the place of a number: the lemma is about any number."""
        return Word(self._symbol(x.data, x.width), x.width, x.signed, self._algebra)

    def placed(self, x: Word[FNode]) -> Word[FNode]:
        """Return what a word is with the terms in the place of the symbols. Nothing is computed of numbers."""
        return Word(self._placed(x.data), x.width, x.signed, self._algebra)

    def placed_truth(self, x: Truth[FNode]) -> Truth[FNode]:
        """Return what a truth value is with the terms in the place of the symbols."""
        return Truth(self._placed(x.data), self._algebra)

    def _placed(self, x: FNode) -> FNode:
        return Substitution(self._algebra.environment, self._given)(x)

    def _leaf(self, term: FNode, width: int) -> FNode:
        return term if term.is_constant() else self._symbol(term, width)

    def _symbol(self, term: FNode, width: int) -> FNode:
        kinds = self._algebra.environment.type_manager
        kind = kinds.BVType(width) if width else kinds.BOOL()
        name = f"part{len(self._given)}_{width}"
        symbol: FNode = self._algebra.environment.formula_manager.Symbol(name, kind)
        self._given[symbol] = term
        return symbol

    def parts(self, *parts: Word[FNode] | Truth[FNode]) -> Self:
        """Take symbols in the place of several words and truth values. Return these leaves."""
        for x in parts:
            if isinstance(x, Word):
                self.word(x)
            else:
                self.truth(x)
        return self

    def use_of(self, laws: LawsInUse, claim: Truth[FNode], assumptions: Sequence[Truth[FNode]], why: str) -> None:
        """Use a lemma that is written of the terms themselves: symbols take their places where there are any."""
        x, *others = (Truth(y, self._algebra) for y in self.replaced([t.data for t in (claim, *assumptions)]))
        self.use(laws, x, others, why)

    def replaced(self, terms: Iterable[FNode]) -> list[FNode]:
        """Return terms with symbols in the place of parts of them."""
        return list(map(Substitution(self._algebra.environment, {x: y for y, x in self._given.items()}), terms))

    def use(self, laws: LawsInUse, claim: Truth[FNode], assumptions: Sequence[Truth[FNode]], why: str) -> None:
        """Use the lemma that the assumptions imply the claim, of the terms. Raises NotComposedError."""
        assumed = [x.data for x in assumptions if not x.data.is_true()]
        if not claim.data.is_true():
            laws.claim(claim.data, assumed, self._given, why)


def use_equal_results(
    kernel: Kernel,
    result: Word[FNode],
    same: Callable[[Word[FNode], Word[FNode]], Truth[FNode]],
) -> None:
    """Use that a result is the same as itself; the other one is proved to be equal to it."""
    leaves = Leaves(TermAlgebra(kernel.environment))
    d = leaves.word(result)
    leaves.use(LawsInUse(kernel), same(d, d), (), "a result is equal to itself")


def factors_of(algebra: TermAlgebra, x: Word[FNode]) -> list[Word[FNode]]:
    """Return the factors of a product of two words; of another word, itself."""
    if not x.data.is_bv_mul():
        return [x]
    factors = [f.arg(0) if f.is_bv_zext() else f for f in x.data.args()]
    return [Word(f, f.bv_width(), False, algebra) for f in factors]


def prove_product_is_zero(laws: LawsInUse, algebra: TermAlgebra, product: Word[FNode]) -> None:
    """Prove that a product of two words is zero where one of them is. Nothing is done for another word."""
    factors = factors_of(algebra, product)
    if len(factors) > 1:
        leaves = Leaves(algebra)
        x, y = (leaves.word(f) for f in factors)
        for zero in (x.is_value(0), y.is_value(0)):
            leaves.use(laws, ~zero | (x * y).is_value(0), (), "a product is zero where a factor is")


def prove_where_not_zero(
    laws: LawsInUse,
    algebra: TermAlgebra,
    word: Word[FNode],
    claim: Truth[FNode],
    why: str,
    assumed: Sequence[Truth[FNode]] = (),
) -> None:
    """Prove a claim about operands, or that a word is zero: of a product, whatever its factors are."""
    zeros = [f.is_value(0) for f in factors_of(algebra, word)]
    claim_of_operands(laws, algebra.any_of([claim, *zeros]), assumed, why)
    if len(zeros) > 1:
        prove_product_is_zero(laws, algebra, word)
        leaves = Leaves(algebra)
        holds, zero, *parts = (leaves.truth(x) for x in (claim, word.is_value(0), *zeros))
        known = [algebra.any_of([holds, *parts]), *(~x | zero for x in parts)]
        leaves.use(laws, algebra.any_of([holds, zero]), known, why)


def prove_where_zero(
    laws: LawsInUse,
    algebra: TermAlgebra,
    word: Word[FNode],
    claim: Truth[FNode],
    why: str,
    assumed: Sequence[Truth[FNode]] = (),
) -> None:
    """Prove a claim about operands where a word is zero: of a product, where either factor is."""
    factors = factors_of(algebra, word)
    zeros = [f.is_value(0) for f in factors]
    for z in zeros:
        claim_of_operands(laws, ~z | claim, assumed, why)
    if len(factors) > 1:
        leaves = Leaves(algebra)
        x, y = (leaves.word(f) for f in factors)
        some = algebra.any_of([x.is_value(0), y.is_value(0), ~(x * y).is_value(0)])
        leaves.use(laws, some, (), "a product is zero only if a factor is")
        leaves = Leaves(algebra)
        p, q, zero, holds = (leaves.truth(z) for z in (*zeros, word.is_value(0), claim))
        leaves.use(laws, ~zero | holds, [~p | holds, ~q | holds, algebra.any_of([p, q, ~zero])], why)


def claim_of_operands(laws: LawsInUse, claim: Truth[FNode], assumed: Sequence[Truth[FNode]], why: str) -> None:
    """Prove a claim about operands from those of the assumptions that are about its operands alone."""
    if claim.data.is_true():
        return
    symbols_of = laws.environment.fvo.get_free_variables
    symbols = symbols_of(claim.data)
    laws.claim(claim.data, [x.data for x in assumed if symbols_of(x.data) <= symbols], {}, why)


def prove_largest(laws: LawsInUse, algebra: TermAlgebra, term: Term[FNode, FNode]) -> None:
    """Prove that a significand is at most the largest one: of a product, whatever its factors are, if that suffices."""
    leaves, factors, why = (
        Leaves(algebra),
        factors_of(algebra, term.significand),
        "a significand is at most the largest one",
    )
    if prod((1 << x.width) - 1 for x in factors) > term.largest:
        claim_of_operands(laws, at_most(term.significand, term.largest), (), why)
        return
    significand, *others = map(leaves.word, factors)
    for x in others:
        significand = significand * x
    leaves.use(laws, at_most(significand, term.largest), (), why)


def prove_largest_exponent(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode]) -> None:
    """Prove that no exponent of a term that is present is above e_max, which is a tree of maxima."""
    why, top = "no exponent is above the largest one", total.e_max
    width = max(t.exponent.width for t in total.terms)
    least = algebra.signed(-(1 << (width - 1)), width)
    laws.maxima(top.width).none_exceeds(top.data)
    for i, t in enumerate(total.terms):
        leaves, counted = Leaves(algebra), ite(t.present, t.exponent, least)
        if counted.data is not top.data and laws.kernel.holds((counted <= top).data):
            own, highest = leaves.term(t), leaves.word(top)
            known = [ite(own.present, own.exponent, least) <= highest]
        else:
            every, known = [leaves.term(x) for x in total.terms], []
            own, highest = every[i], largest_exponent(algebra, every, total.path.floor, total.path.comparator)
        leaves.use(laws, ~own.present | (own.exponent <= highest), known, why)


def prove_bounds(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode]) -> list[int]:
    """Prove that each aligned term is within its bound, and return the bounds. No exponent is above e_max."""
    bounds = []
    for term, cut in zip(total.terms, total.path.cuts, strict=True):
        finer = total.fraction_bits - cut.fraction_bits
        bounds.append(cut.bound(term.largest, term.fraction_bits) << finer)
        prove_largest(laws, algebra, term)
        leaves = Leaves(algebra)
        own, top = leaves.term(term), leaves.word(total.e_max)
        known = [~own.present | (own.exponent <= top), at_most(own.significand, own.largest)]
        bounded = within(align(algebra, own, top, cut) << finer, bounds[-1])
        leaves.use(laws, bounded, known, "an aligned term is within its bound")
    return bounds


def prove_sum_within(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode]) -> int:
    """Prove the bound of a sum whose register holds it, and return the bound. Raises NotComposedError."""
    prove_largest_exponent(laws, algebra, total)
    most, *bounds = prove_bounds(laws, algebra, total)
    prove_first_bound(laws, algebra, total, most)
    width = total.total.width
    words = [x.extend(width) for x in total.aligned]
    register = words[0]
    for x, term, bound in zip(words[1:], total.aligned[1:], bounds, strict=True):
        prove_bound_of_sum(laws, algebra, register, term, most, bound)
        register, most = algebra.modular_sum([register, x], width), most + bound
    prove_total(laws, algebra, register, total)
    return most


def prove_total(laws: LawsInUse, algebra: TermAlgebra, register: Word[FNode], total: FusedSum[FNode, FNode]) -> None:
    """Prove that the aligned terms, added in turn, are the sum. Raises NotComposedError."""
    width = total.total.width
    if not laws.kernel.same(register.data, total.total.data):
        laws.sums(width).compressed([x.extend(width).data for x in total.aligned], algebra)
    if not laws.kernel.same(register.data, total.total.data):
        raise NotComposedError("a sum is added in another way")


def prove_first_bound(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode], bound: int) -> None:
    """Prove that the first term, as wide as its sum, is within its bound."""
    leaves = Leaves(algebra)
    x = leaves.word(total.aligned[0])
    leaves.use(laws, within(x.extend(total.total.width), bound), [within(x, bound)], "a sum begins with a term")


def prove_bound_of_sum(
    laws: LawsInUse, algebra: TermAlgebra, register: Word[FNode], term: Word[FNode], most: int, more: int
) -> None:
    """Prove the bound of a sum with one more term, from the bounds of both."""
    leaves = Leaves(algebra)
    p, x = leaves.word(register), leaves.word(term)
    total = algebra.modular_sum([p, x], p.width)
    leaves.use(laws, within(total, most + more), [within(p, most), within(x, more)], "a sum is bounded")


def prove_no_special(
    laws: LawsInUse, algebra: TermAlgebra, signals: StepSignals[FNode, FNode], assumed: FNode | None
) -> None:
    """Prove that a result is the sum, converted, of the operands that are meant."""
    known = [] if assumed is None else [Truth(assumed, algebra)]
    leaves = Leaves(algebra).parts(signals.converted)
    leaves.use_of(laws, signals.d == signals.converted, known, "finite operands give no special result")


def at_most(x: Word[FNode], largest: int) -> Truth[FNode]:
    """Return whether an unsigned word is at most a number."""
    return x <= x.algebra.unsigned(largest, x.width)


def within(x: Word[FNode], bound: int) -> Truth[FNode]:
    """Return whether a signed word is at most a bound in magnitude."""
    algebra = x.algebra
    return (x <= algebra.signed(bound)) & (x >= algebra.signed(-bound))


def whole_and_rest(x: Word[FNode], places: int) -> tuple[Word[FNode], Truth[FNode]]:
    """Return a word without its lowest places, which may be all, rounded down, and whether anything is lost."""
    x = x.extend(max(x.width, places + 1))
    return x.drop_low(places), ~x.extract(places - 1, 0).is_value(0)


def with_sign(negative: Truth[FNode], magnitude: Word[FNode]) -> Word[FNode]:
    """Return a word, negated in its own width where ``negative`` holds."""
    minus = magnitude.algebra.modular_sum([magnitude.algebra.negate(magnitude)], magnitude.width)
    return ite(negative, minus, magnitude)
