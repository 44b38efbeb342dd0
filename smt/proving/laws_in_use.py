"""Small lemmas that a composition uses: each is refuted before it is used, and used with terms in place of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.folds import Maxima, Sums
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.solving.query import width_of

LEMMA_SECONDS = 20.0
"""Seconds in which a small lemma is refuted."""


class LawsInUse:
    """Uses lemmas in a kernel. ``establish`` proves a fact that was noted, where that is still to be done.

    By default nothing is left to be done. A lemma is refuted in N ``seconds``, or not at all.
    """

    def __init__(
        self,
        kernel: Kernel,
        establish: Callable[[FNode], None] = lambda _: None,
        seconds: float = LEMMA_SECONDS,
    ) -> None:
        self._seconds = seconds
        self.kernel, self._establish = kernel, establish
        self.environment: Environment = kernel.environment
        self._terms: Any = self.environment.formula_manager
        self._sums: dict[int, Sums] = {}

    @property
    def definitions(self) -> Mapping[FNode, FNode]:
        """What each variable stands for."""
        return self.kernel.definitions

    def sums(self, width: int) -> Sums:
        """Return the folds of words of a width."""
        if width not in self._sums:
            self._sums[width] = Sums(self.kernel, width)
        return self._sums[width]

    def maxima(self, width: int) -> Maxima:
        """Return the folds by which signed words of a width have a largest one."""
        return Maxima(self.kernel, width, True)

    def words(self, width: int) -> list[FNode]:
        """Return three words of a width, as laws are about them."""
        kind = self.environment.type_manager.BVType(width)
        return [self._terms.Symbol(f"word{i}_{width}", kind) for i in range(3)]

    def use(self, left: FNode, right: FNode, given: Mapping[FNode, FNode], why: str) -> None:
        """Use the law that two terms over words are equal."""
        self.claim(self._terms.EqualsOrIff(left, right), (), given, why)

    def equal(self, x: FNode, y: FNode, why: str) -> None:
        """Prove that two terms are equal, whatever their variables are. Nothing is done for what is known."""
        if not self.kernel.same(x, y):
            self.claim(self._terms.EqualsOrIff(x, y), (), {}, why)

    def of_any(
        self, x: FNode, y: FNode, leaves: Sequence[FNode], why: str, instead: Mapping[FNode, FNode] | None = None
    ) -> None:
        """Prove that two terms are equal, whatever the leaves are. ``instead`` are equal terms of ``y`` for leaves."""
        places, given = {}, {}
        for i, leaf in enumerate(dict.fromkeys(leaves)):
            kind = self.environment.type_manager.BVType(width_of(leaf))
            word = self._terms.Symbol(f"leaf{i}_{width_of(leaf)}", kind)
            places[leaf], given[word] = word, leaf
        others = {**places, **{other: places[leaf] for leaf, other in (instead or {}).items()}}
        both = substituted(self.environment, x, places), substituted(self.environment, y, others)
        self.use(*both, given, why)

    def claim(self, claim: FNode, assumptions: Sequence[FNode], given: Mapping[FNode, FNode], why: str) -> None:
        """Use a lemma: the assumptions imply the claim. Raises NotComposedError if it is not refuted in time."""
        self.kernel.refute(claim, assumptions, why, self._seconds)
        if not given:
            for x in assumptions:
                self._establish(x)
        self.kernel.use(claim, assumptions, why, given or None)
