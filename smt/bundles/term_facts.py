"""Facts about single terms of a sum that several proofs in steps begin with."""

from __future__ import annotations

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.laws_in_use import LawsInUse
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.semantics.terms import Term


def factors_of(algebra: TermAlgebra, x: Word[FNode]) -> list[Word[FNode]]:
    """Return the factors of a product of two words; of another word, itself."""
    if not x.data.is_bv_mul():
        return [x]
    factors = [f.arg(0) if f.is_bv_zext() else f for f in x.data.args()]
    return [Word(f, f.bv_width(), False, algebra) for f in factors]


def prove_largest(laws: LawsInUse, algebra: TermAlgebra, term: Term[FNode, FNode]) -> None:
    """Prove that a significand is at most the largest one: of a product, whatever its factors are."""
    leaves = Leaves(algebra)
    significand, *others = (leaves.word(f) for f in factors_of(algebra, term.significand))
    for x in others:
        significand = significand * x
    leaves.use(laws, at_most(significand, term.largest), (), "a significand is at most the largest one")


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
