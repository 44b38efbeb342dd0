"""Stage 4: terms aligned at their largest exponent and added exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from mmaproof.designs.readings import Adder, Comparator
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import Cut, align, largest_exponent
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True, slots=True)
class FusedSum(Generic[D, T]):
    """The named signals of one fused sum: ``total * 2**(e_max - fraction_bits)``.

    ``aligned`` are the terms in the same units; ``labels`` name them; ``largest`` bounds the magnitude of ``total``
    (which is wrapped where the register is too narrow). Where no term is ``present`` the sum is zero and takes no
    part in a further alignment.
    """

    labels: tuple[str, ...]
    terms: tuple[Term[D, T], ...]
    e_max: Word[D]
    fraction_bits: int
    aligned: tuple[Word[D], ...]
    total: Word[D]
    present: Truth[T]
    largest: int

    def as_term(self, algebra: Algebra[D, T]) -> Term[D, T]:
        """Return the sum as a term of a further one: its exponent is e_max, its significand un-normalised."""
        negative = algebra.less(self.total, algebra.signed(0))
        magnitude = algebra.magnitude(self.total)
        return Term(self.fraction_bits, negative, self.e_max, magnitude, self.present, self.largest)


def fused_sum(
    algebra: Algebra[D, T],
    labels: Sequence[str],
    terms: Sequence[Term[D, T]],
    cuts: Sequence[Cut],
    *,
    floor: int | None = None,
    register: int | None = None,
    adder: Adder = Adder.SEQUENCE,
    comparator: Comparator = Comparator.TREE,
) -> FusedSum[D, T]:
    """Align ``terms`` at their largest exponent, cut each as its ``Cut`` says, and add them exactly.

    The sum has the fraction bits of the finest cut. ``register`` is the width of a two's complement register that
    holds the sum and may wrap; by default it is as wide as the bounds of the terms need: the magnitude of a sum, and
    of every partial sum, is at most the sum of the bounds, whatever the order of additions. ``adder`` and
    ``comparator`` say how sum and e_max are computed.
    """
    fraction_bits = max(cut.fraction_bits for cut in cuts)
    terms = [term.named(algebra, label) for term, label in zip(terms, labels, strict=True)]
    e_max = algebra.signal("e_max", largest_exponent(algebra, terms, floor, comparator))
    aligned, largest = [], 0
    for term, cut, label in zip(terms, cuts, labels, strict=True):
        finer = fraction_bits - cut.fraction_bits
        bound = cut.bound(term.largest, term.fraction_bits) << finer
        largest += bound
        kept = algebra.shift_left(align(algebra, term, e_max, cut), finer)
        aligned.append(algebra.signal(f"aligned {label}", kept, (-bound, bound)))
    enough = largest.bit_length() + 1
    width = register or enough
    if adder is Adder.CARRY_SAVE:
        total = algebra.compressed_sum(aligned, width)
    elif width < enough:
        total = algebra.modular_sum(aligned, width)
    else:
        total = algebra.bounded_sum(aligned, width)
    if width < enough:
        largest = 1 << (width - 1)
    total = algebra.signal("sum", total, (-largest, largest))
    present = algebra.any_of([t.present for t in terms])
    return FusedSum(tuple(labels), tuple(terms), e_max, fraction_bits, tuple(aligned), total, present, largest)
