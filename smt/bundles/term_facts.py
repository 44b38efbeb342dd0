"""Facts about single terms of a sum that several proofs in steps begin with."""

from __future__ import annotations

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term


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
    laws: LawsInUse, algebra: TermAlgebra, word: Word[FNode], claim: Truth[FNode], why: str
) -> None:
    """Prove a claim about operands, or that a word is zero: of a product, whatever its factors are."""
    zeros = [f.is_value(0) for f in factors_of(algebra, word)]
    laws.claim(algebra.any_of([claim, *zeros]).data, (), {}, why)
    if len(zeros) > 1:
        prove_product_is_zero(laws, algebra, word)
        leaves = Leaves(algebra)
        holds, zero, *parts = (leaves.truth(x) for x in (claim, word.is_value(0), *zeros))
        known = [algebra.any_of([holds, *parts]), *(~x | zero for x in parts)]
        leaves.use(laws, algebra.any_of([holds, zero]), known, why)


def prove_where_zero(laws: LawsInUse, algebra: TermAlgebra, word: Word[FNode], claim: Truth[FNode], why: str) -> None:
    """Prove a claim about operands where a word is zero: of a product, where either factor is."""
    factors = factors_of(algebra, word)
    zeros = [f.is_value(0) for f in factors]
    for z in zeros:
        laws.claim((~z | claim).data, (), {}, why)
    if len(factors) > 1:
        leaves = Leaves(algebra)
        x, y = (leaves.word(f) for f in factors)
        some = algebra.any_of([x.is_value(0), y.is_value(0), ~(x * y).is_value(0)])
        leaves.use(laws, some, (), "a product is zero only if a factor is")
        leaves = Leaves(algebra)
        p, q, zero, holds = (leaves.truth(z) for z in (*zeros, word.is_value(0), claim))
        leaves.use(laws, ~zero | holds, [~p | holds, ~q | holds, algebra.any_of([p, q, ~zero])], why)


def prove_largest(laws: LawsInUse, algebra: TermAlgebra, term: Term[FNode, FNode]) -> None:
    """Prove that a significand is at most the largest one: of a product, whatever its factors are."""
    leaves = Leaves(algebra)
    significand, *others = (leaves.word(f) for f in factors_of(algebra, term.significand))
    for x in others:
        significand = significand * x
    leaves.use(laws, at_most(significand, term.largest), (), "a significand is at most the largest one")


def prove_largest_exponent(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode]) -> None:
    """Prove that no exponent of a term that is present is above e_max."""
    leaves = Leaves(algebra)
    own = [leaves.term(t) for t in total.terms]
    top = largest_exponent(algebra, own, total.path.floor, total.path.comparator)
    for t in own:
        leaves.use(laws, ~t.present | (t.exponent <= top), (), "no exponent is above the largest one")


def prove_bounds(laws: LawsInUse, algebra: TermAlgebra, total: FusedSum[FNode, FNode]) -> list[int]:
    """Prove that each aligned term is within its bound, and return the bounds. No exponent is above e_max."""
    bounds = [cut.bound(t.largest, t.fraction_bits) for t, cut in zip(total.terms, total.path.cuts, strict=True)]
    for term, cut, bound in zip(total.terms, total.path.cuts, bounds, strict=True):
        prove_largest(laws, algebra, term)
        leaves = Leaves(algebra)
        own, top = leaves.term(term), leaves.word(total.e_max)
        known = [~own.present | (own.exponent <= top), at_most(own.significand, own.largest)]
        bounded = within(align(algebra, own, top, cut), bound)
        leaves.use(laws, bounded, known, "an aligned term is within its bound")
    return bounds


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


def at_most(x: Word[FNode], largest: int) -> Truth[FNode]:
    """Return whether an unsigned word is at most a number."""
    return x <= x.algebra.unsigned(largest, x.width)


def within(x: Word[FNode], bound: int) -> Truth[FNode]:
    """Return whether a signed word is at most a bound in magnitude."""
    algebra = x.algebra
    return (x <= algebra.signed(bound)) & (x >= algebra.signed(-bound))


def whole_and_rest(x: Word[FNode], places: int) -> tuple[Word[FNode], Truth[FNode]]:
    """Return a word without its lowest places, rounded down, and whether anything is lost."""
    return x.drop_low(places), ~x.extract(places - 1, 0).is_value(0)


def with_sign(negative: Truth[FNode], magnitude: Word[FNode]) -> Word[FNode]:
    """Return a word, negated in its own width where ``negative`` holds."""
    minus = magnitude.algebra.modular_sum([magnitude.algebra.negate(magnitude)], magnitude.width)
    return ite(negative, minus, magnitude)
