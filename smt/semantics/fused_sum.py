"""Stage 4: terms aligned at their largest exponent and added exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from mmaproof.designs.readings import Adder
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.semantics.align import align, largest_exponent
from mmaproof.smt.semantics.datapath import Addend, Label, SumPath
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True, slots=True)
class FusedSum(Generic[D, T]):
    """The signals of one fused sum: ``total * 2**(e_max - fraction_bits)``.

    ``path`` says what its terms are and how they are cut; ``aligned`` are the terms in the units of the sum;
    ``largest`` bounds the magnitude of ``total`` (which is wrapped where the register is too narrow). Where no term is
    ``present`` the sum is zero and takes no part in a further alignment.
    """

    path: SumPath
    terms: tuple[Term[D, T], ...]
    e_max: Word[D]
    aligned: tuple[Word[D], ...]
    total: Word[D]
    present: Truth[T]
    largest: int

    @property
    def labels(self) -> tuple[Label, ...]:
        """What its terms are."""
        return self.path.terms

    @property
    def fraction_bits(self) -> int:
        """The fraction bits of the sum below e_max."""
        return self.path.fraction_bits

    def as_term(self) -> Term[D, T]:
        """Return the sum as a term of a further one: its exponent is e_max, its significand un-normalised."""
        negative, magnitude = self.total < 0, self.total.magnitude()
        return Term(self.fraction_bits, negative, self.e_max, magnitude, self.present, self.largest)


def fused_sum(algebra: Algebra[D, T], path: SumPath, terms: Sequence[Term[D, T]]) -> FusedSum[D, T]:
    """Align ``terms`` at their largest exponent, cut each as ``path`` says, and add them exactly.

    The sum has the fraction bits of the finest cut. A register that is not stated is as wide as the bounds of the terms
    need: the magnitude of a sum, and of every partial sum, is at most the sum of the bounds, whatever the order of
    additions.
    """
    terms = [term.named(label) for term, label in zip(terms, path.terms, strict=True)]
    if any(cut.inverts for cut in path.cuts):
        terms = _against_c(algebra, path, terms)
    e_max = algebra.signal(Signal(SignalKind.E_MAX), largest_exponent(algebra, terms, path.floor, path.comparator))
    aligned, largest = [], 0
    for term, cut, label in zip(terms, path.cuts, path.terms, strict=True):
        algebra.check(term, term.valid_at, e_max)
        finer = path.fraction_bits - cut.fraction_bits
        bound = cut.bound(term.largest, term.fraction_bits) << finer
        largest += bound
        kept = align(algebra, term, e_max, cut) << finer
        aligned.append(algebra.signal(Signal(SignalKind.ALIGNED, label), kept, (-bound, bound)))
    enough = largest.bit_length() + 1
    width = path.register or enough
    if path.adder is Adder.CARRY_SAVE:
        total = algebra.compressed_sum(aligned, width)
    elif width < enough:
        total = algebra.modular_sum(aligned, width)
    else:
        total = algebra.bounded_sum(aligned, width)
    if width < enough:
        largest = 1 << (width - 1)
    total = algebra.signal(Signal(SignalKind.SUM), total, (-largest, largest))
    present = algebra.any_of([t.present for t in terms])
    return FusedSum(path, tuple(terms), e_max, tuple(aligned), total, present, largest)


def _against_c(algebra: Algebra[D, T], path: SumPath, terms: Sequence[Term[D, T]]) -> list[Term[D, T]]:
    """Return the terms, with which of them oppose the sign of c: also zeros, but nothing where every term is zero."""
    c = terms[path.terms.index(Addend.C)]
    nonzero = algebra.any_of([~t.significand.is_value(0) for t in terms])
    return [replace(t, opposes=(t.negative ^ c.negative) & nonzero) for t in terms]
