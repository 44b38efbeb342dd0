"""A step whose products are added in fused sums: the FDPA operations of Xie et al. 2026, algorithms 6 to 11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmaproof.designs.readings import (
    Adder,
    Alignment,
    Comparator,
    FarC,
    Grouping,
    Join,
    LateRounding,
    Summation,
    ZeroC,
)
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.aligned import POINTS, AlignedStep
from mmaproof.designs.steps.record import IntegerRange, Record, parameter, record
from mmaproof.designs.steps.step import Guarantee, stated


@dataclass(frozen=True)
class JoinedAsTerm(Record):
    """c is one more term of the sum."""

    selects = {"join": Join.FUSED}  # noqa: RUF012

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether c joins as a term. With the join ieee-once that term is the +0 that a chain starts with."""
        return settings["join"] in (Join.FUSED, Join.IEEE_ONCE)


@dataclass(frozen=True)
class JoinedRoundedDown(Record):
    """The sum of the products is rounded down to late_bits, c to fraction_bits, below the larger exponent."""

    selects = {"join": Join.ROUND_DOWN}  # noqa: RUF012

    late_bits: int = parameter(
        31,
        IntegerRange(1, 400),
        "F2: fraction bits of the products' sum where c joins rounded down",
        "algorithm 10",
    )
    late_alignment: Alignment = parameter(
        Alignment.FLOOR,
        Alignment,
        "what happens to bits below the last kept one where c joins rounded down",
        "algorithm 10; truncated: the hypothetical instruction of Xie et al. 2026, figure 3",
    )
    late_rounding: LateRounding = parameter(
        LateRounding.ONCE,
        LateRounding,
        "final rounding where c joins rounded down",
        POINTS + "11",
        only=lambda join: join.late_alignment is Alignment.FLOOR,
    )
    far_c: FarC = parameter(FarC.ROUNDED, FarC, "a far smaller c that joins rounded down", "algorithm 11, line 24")

    @property
    def rounds_twice(self) -> bool:
        """Whether the sum with c is normalised and rounded down again."""
        return self.late_rounding is LateRounding.TWICE

    @property
    def first_bits(self) -> int:
        """The fraction bits to which the sum of the products is rounded down before c is added."""
        return self.late_bits + (1 if self.rounds_twice else 0)

    @property
    def drops_far_c(self) -> bool:
        """Whether a c far below the sum of the products becomes zero."""
        return self.far_c is FarC.DROPPED


@dataclass(frozen=True)
class JoinedInIeee(Record):
    """The converted sum of the products is added to c in IEEE round to nearest."""

    selects = {"join": Join.IEEE}  # noqa: RUF012


@dataclass(frozen=True)
class FusedStep(AlignedStep):
    """Terms are aligned at the largest exponent, cut, and added exactly."""

    selects = {"summation": Summation.FUSED}  # noqa: RUF012

    adder: Adder = parameter(
        Adder.SEQUENCE,
        Adder,
        "how the adder of the aligned terms is built (the sum is the same)",
        "RTL practice; proved equal by smt/proving/laws.py",
    )
    comparator: Comparator = parameter(
        Comparator.TREE,
        Comparator,
        "how the largest exponent is found (it is the same)",
        "RTL practice; proved equal by smt/proving/laws.py",
    )
    grouping: Grouping = parameter(
        Grouping.ALL, Grouping, "products that are aligned with each other", "Xie et al. 2026, algorithm 11"
    )
    join: JoinedAsTerm | JoinedRoundedDown | JoinedInIeee = record(
        JoinedAsTerm(), JoinedAsTerm, JoinedRoundedDown, JoinedInIeee
    )
    alignment: Alignment = parameter(
        Alignment.TRUNCATE,
        Alignment,
        "what happens to bits below the last kept one",
        "Xie et al. 2026, algorithm 7, line 10",
    )
    carry_bits: int | None = parameter(
        None,
        IntegerRange(0, 64, otherwise="sufficient"),
        "integer bits of the sum above those of one product; the register wraps, 'sufficient' never does",
        POINTS + "13; Valpey et al. 2025",
    )
    floor: int | None = parameter(
        None, IntegerRange(-2000, 2000, otherwise="none"), "least value of e_max", POINTS + "3 and 4"
    )

    @property
    def other_exponents(self) -> tuple[int, ...] | None:
        """The exponents that zeros may read, and the floor of e_max. Nothing is stated of groups of zeros."""
        if self.group_size is not None:
            return None
        zeros = (self.e_zero,) if self.zero_c is ZeroC.E_ZERO or self.terms.reads_e_zero else ()
        return zeros if self.floor is None else (*zeros, self.floor)

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What follows from the alignment, the register and the join."""
        as_term = isinstance(self.join, JoinedAsTerm)
        return super().guarantees | stated(
            {
                Guarantee.ALIGNED_SUMS: True,
                Guarantee.BOUNDED_SUM: self._cuts_near_terms and self.rounds_near,
                Guarantee.SINGLE_SUM: as_term and self.grouping is Grouping.ALL,
                Guarantee.C_AS_TERM: as_term,
                Guarantee.ROUNDED_LAST_SUM: self.adds_c_last,
                Guarantee.TRUNCATED_TERMS: self.alignment is Alignment.TRUNCATE,
                Guarantee.TRUNCATES: self.alignment is Alignment.TRUNCATE,
                Guarantee.JAMMED_TERMS: self.alignment is Alignment.JAM,
                Guarantee.EXACT_SUM: self.carry_bits is None,
                Guarantee.NO_FLOOR: self.floor is None,
            }
        )

    @property
    def _cuts_near_terms(self) -> bool:
        """Whether no cut makes much of little.

        Rounding down and jamming do so far below e_max, where that is no nonzero term's: the floor, or a zero's.
        """
        cuts = {self.alignment}
        if isinstance(self.join, JoinedRoundedDown):
            cuts.add(self.join.late_alignment)
        of_terms = self.floor is None and self.zeros_are_absent
        return cuts <= {Alignment.TRUNCATE, Alignment.NEAREST} or of_terms

    @property
    def adds_c_last(self) -> bool:
        """Whether c joins in an IEEE 754 addition."""
        return isinstance(self.join, JoinedInIeee)

    @property
    def can_start_at_zero(self) -> bool:
        """Whether c is one of its terms. Only then may a chain start at +0 instead of c."""
        return isinstance(self.join, JoinedAsTerm)

    @property
    def hands_on_overflow(self) -> bool:
        """True if d is the converted sum. It is not if c is added after the conversion."""
        return not self.adds_c_last

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. A c that is added last must have the output format."""
        yield from super().misfits(signature, k)
        if self.adds_c_last and signature.c is not signature.d:
            yield "join", f"join = {Join.IEEE} adds c in {signature.d.name}, and c is {signature.c.name}"
