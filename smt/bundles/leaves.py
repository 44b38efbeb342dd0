"""Lemmas over symbols that stand for terms: a lemma is written once over the algebra, and used of the terms.

Symbols are named by their place in the lemma. So a lemma about each of many terms is one lemma, used many times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.laws_in_use import LawsInUse
from mmaproof.smt.proving.walk import Substitution
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

    def _leaf(self, term: FNode, width: int) -> FNode:
        if term.is_constant():
            return term
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
        places = {term: symbol for symbol, term in self._given.items()}
        substitute = Substitution(self._algebra.environment, places)
        x, *others = (Truth(substitute(t.data), self._algebra) for t in (claim, *assumptions))
        self.use(laws, x, others, why)

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
