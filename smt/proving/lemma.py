"""Lemmas: statements about one stage of a unit. Its inputs are free variables instead of results of earlier stages.

A lemma is written over the algebra, like the semantics, and it calls the stage that it is about. It holds for all words
of its inputs that meet the assumption. What the earlier stages deliver is among these words if it meets the assumption.
The text of each lemma says why it does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.proving.journal import Entry
from mmaproof.smt.proving.kernel import Kernel, Refute, Theorem, conjuncts
from mmaproof.smt.solving.prove import violation_of

_INTEGERS = IntegerAlgebra()


@dataclass(frozen=True)
class Formula:
    """A statement as pySMT formulas: for all values of the symbols, the precondition implies the claim."""

    symbols: tuple[FNode, ...]
    precondition: FNode | None
    claim: FNode
    environment: Environment
    """the pySMT environment of the formulas"""
    places: Sequence[Entry] = field(default=(), compare=False, repr=False)
    """the places of the claim, for proofs that cut it there"""

    @property
    def violation(self) -> FNode:
        """The formula of counterexamples: the precondition, and not the claim."""
        return violation_of(self.claim, self.precondition, self.environment)

    def in_one_piece(self, refute: Refute) -> Theorem:
        """Return the theorem whose only leaf is the whole statement. Raises NotComposedError if it is not refuted."""
        kernel = Kernel(self.environment, self.violation, refute)
        *others, last = conjuncts(self.violation)  # the root holds each of them, and no step joins them again
        kernel.use(self.environment.formula_manager.Not(last), others, "the whole claim")
        return kernel.theorem()


@dataclass(frozen=True)
class Input:
    """A word that a lemma ranges over."""

    name: str
    width: int
    signed: bool = False


class Lemma(ABC):
    """For all words of ``inputs``: the assumption implies the claim."""

    name: str
    """what is proved, in words; the lemmas of a proof have different names"""
    inputs: tuple[Input, ...]

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return what is assumed of the inputs. By default it is nothing."""
        return algebra.truth(True)

    @abstractmethod
    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return what is claimed."""

    @cached_property
    def formula(self) -> Formula:
        """The lemma as formulas of the default environment."""
        return self.formula_in(default_environment())

    def formula_in(self, environment: Environment) -> Formula:
        """Return the lemma as formulas of an environment."""
        algebra = TermAlgebra(environment)
        symbols = {i.name: algebra.symbol(f"{i.name}_{i.width}", i.width) for i in self.inputs}
        words = {i.name: _read(algebra, i, symbols[i.name]) for i in self.inputs}
        assumption = self.assumption(algebra, words).data
        return Formula(
            tuple(w.data for w in symbols.values()),
            None if assumption.is_true() else assumption,
            self.claim(algebra, words).data,
            environment,
        )

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return whether a solver's model of ``formula`` violates the lemma, computed on integers."""
        words = {
            i.name: _read(_INTEGERS, i, _INTEGERS.unsigned(model[f"{i.name}_{i.width}"], i.width)) for i in self.inputs
        }
        return self.assumption(_INTEGERS, words).data and not self.claim(_INTEGERS, words).data


def _read(algebra: Algebra[D, T], given: Input, word: Word[D]) -> Word[D]:
    return algebra.twos_complement(word) if given.signed else word
