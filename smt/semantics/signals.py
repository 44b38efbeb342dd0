"""The named signals of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from mmaproof.smt.algebra.protocol import D, T, Truth, Word
from mmaproof.smt.semantics.datapath import Label, StepPath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.specials import SpecialResult
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True, slots=True)
class StepSignals(Generic[D, T]):
    """What happens inside one step.

    ``path`` is its datapath. ``sums`` are its fused sums in order, the last of which is converted; ``rounded`` are
    intermediate results that are numbers of the output format, by their labels (adder trees, late additions).
    ``converted`` is the pattern of rho of the sum (a subnormal one flushed where the design flushes results), ``d`` the
    result after special values; ``overflowed`` says that rho gave an infinity.
    """

    path: StepPath
    sums: tuple[FusedSum[D, T], ...]
    rounded: tuple[tuple[Label, Word[D]], ...]
    converted: Word[D]
    overflowed: Truth[T]
    special: SpecialResult[T]
    d: Word[D]
    in_turn: tuple[tuple[Label, Term[D, T]], ...] = ()
    """the terms of a sequential sum, which has no fused sums"""

    @property
    def terms(self) -> tuple[Term[D, T], ...]:
        """The terms of the sum that is converted."""
        return self.sums[-1].terms

    @property
    def e_max(self) -> Word[D]:
        """The exponent at which they are aligned."""
        return self.sums[-1].e_max

    @property
    def aligned(self) -> tuple[Word[D], ...]:
        """The terms as signed multiples of ``2**(e_max - F)``."""
        return self.sums[-1].aligned

    @property
    def total(self) -> Word[D]:
        """Their sum, wrapped where the register is too narrow."""
        return self.sums[-1].total
