"""A step whose products are added in fused sums: the FDPA operations of Xie et al. 2026, algorithms 6 to 11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from mmaproof.designs.formats import Format
from mmaproof.designs.readings import (
    Adder,
    Alignment,
    Comparator,
    FarC,
    Grouping,
    Join,
    JoinRounding,
    LateRounding,
    SmallC,
    Sticky,
    Summation,
    ZeroC,
    ZeroGroup,
)
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.aligned import POINTS, AlignedStep, ScaledGroups
from mmaproof.designs.steps.step import Guarantee, IntegerRange, Record, parameter, record, stated


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
        return self.far_c is not FarC.ROUNDED

    @property
    def drops_far_specials(self) -> bool:
        """Whether an infinite or NaN c is one of exponent -1, which becomes zero far below the sum of the products."""
        return self.far_c is FarC.SPECIALS_DROPPED


@dataclass(frozen=True)
class JoinedInIeee(Record):
    """The converted sum of the products is added to c in an addition of IEEE 754."""

    selects = {"join": Join.IEEE}  # noqa: RUF012

    join_rounding: JoinRounding = parameter(
        JoinRounding.NEAREST,
        JoinRounding,
        "rounding of the sum with c where the converted sum of the products is added to it",
        "recordings of FP8 mma.sync; rho: RISC-V Zvbdota, Arm BFDOT",
    )


@dataclass(frozen=True)
class JoinedExactly(Record):
    """The sum of the products and c are added exactly, and rho rounds once."""

    selects = {"join": Join.EXACT}  # noqa: RUF012


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
    join: JoinedAsTerm | JoinedRoundedDown | JoinedInIeee | JoinedExactly = record(
        JoinedAsTerm(), JoinedAsTerm, JoinedRoundedDown, JoinedInIeee, JoinedExactly
    )
    alignment: Alignment = parameter(
        Alignment.TRUNCATE,
        Alignment,
        "what happens to bits below the last kept one",
        "Xie et al. 2026, algorithm 7, line 10",
    )
    sticky: Sticky = parameter(
        Sticky.NO,
        Sticky,
        "effect of bits that are cut off the terms on the rounding of the sum",
        "RTL practice: the tensor unit of Vortex",
    )
    c_extra_bits: int = parameter(
        0,
        IntegerRange(0, 16),
        "fraction bits that c keeps beyond F: it is aligned with an exponent so much lower",
        "ROCm/rocm-systems, issue 12056 and rocjitsu's gfx11_dot2.h",
        only=lambda step: isinstance(step.join, JoinedAsTerm | JoinedRoundedDown),
    )
    small_c: SmallC = parameter(
        SmallC.ROUNDED,
        SmallC,
        "a c below the last bit that is kept of it, where terms are rounded down",
        "ROCm/rocm-systems, rocjitsu's gfx12_dot.h",
        only=lambda step: isinstance(step.join, JoinedAsTerm) and step.alignment is Alignment.FLOOR,
    )
    carry_bits: int | None = parameter(
        None,
        IntegerRange(-64, 64, otherwise="sufficient"),
        "integer bits of the sum above those of one product; the register wraps, 'sufficient' never does",
        POINTS + "13; Valpey et al. 2025; below zero, a register that holds fewer than 2**e_max: Qualcomm HMX",
    )
    dropped_bits: int = parameter(
        0,
        IntegerRange(0, 64),
        "lowest bits of the magnitude of the sum that are dropped before rho rounds it",
        "Sony PSP, vdot: hrydgard/ppsspp, issue 21070 and pull request 21820",
    )
    floor: int | None = parameter(
        None, IntegerRange(-2000, 2000, otherwise="none"), "least value of e_max", POINTS + "3 and 4"
    )

    def other_exponents(self, *c_formats: Format) -> tuple[int, ...] | None:
        """Return the exponents that zeros may read, and the floor of e_max.

        Nothing is stated of a c that keeps extra bits.
        """
        if self.c_extra_bits:
            return None
        of_c: tuple[int, ...] = ()
        match self.zero_c:
            case ZeroC.E_ZERO:
                of_c = (self.e_zero,)
            case ZeroC.NATURAL:
                of_c = tuple(f.e_min for f in c_formats)
            case ZeroC.MINUS_126 | ZeroC.ABSENT:
                pass
            case _:
                assert_never(self.zero_c)
        products = (self.e_zero,) if self.terms.reads_e_zero else ()
        if isinstance(self.terms, ScaledGroups) and self.terms.zero_group is ZeroGroup.E_ZERO:
            products = (self.terms.group_e_zero,)
        return (*of_c, *products, *(() if self.floor is None else (self.floor,)))

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What follows from the alignment, the register and the join."""
        if self.terms.drops_bits or self.dropped_bits:
            return frozenset()
        as_term, alone = isinstance(self.join, JoinedAsTerm), self._converts_its_sum
        own_cuts = self.alignment is not Alignment.COMPLEMENT and self.small_c is SmallC.ROUNDED
        return super().guarantees | stated(
            {
                Guarantee.ALIGNED_SUMS: True,
                Guarantee.BOUNDED_SUM: self._cuts_near_terms and self.rounds_near and not self.terms.shift,
                Guarantee.SINGLE_SUM: as_term and alone and self.grouping is Grouping.ALL,
                Guarantee.CONVERTED_SUM: alone,
                Guarantee.CONVERTED_VALUE: alone or self._converts_exact_sum,
                Guarantee.C_AS_TERM: as_term and own_cuts and not self.c_extra_bits,
                Guarantee.ROUNDED_LAST_SUM: self.adds_c_last,
                Guarantee.OWN_CUTS: own_cuts,
                Guarantee.TRUNCATED_TERMS: alone and self.alignment is Alignment.TRUNCATE,
                Guarantee.TRUNCATES: alone and self.alignment is Alignment.TRUNCATE,
                Guarantee.JAMMED_TERMS: alone and self.alignment is Alignment.JAM,
                Guarantee.EXACT_SUM: self.carry_bits is None,
                Guarantee.NO_FLOOR: self.floor is None,
            }
        )

    @property
    def _converts_its_sum(self) -> bool:
        """Whether rho converts the sum of its last terms and looks at nothing else."""
        joins = (JoinedAsTerm, JoinedRoundedDown, JoinedInIeee)
        again = isinstance(self.join, JoinedRoundedDown) and self.join.rounds_twice
        return isinstance(self.join, joins) and not again and self.sticky is Sticky.NO

    @property
    def _converts_exact_sum(self) -> bool:
        """Whether rho converts the sum of two numbers that are normalised first, and looks at nothing else."""
        return isinstance(self.join, JoinedExactly) and self.sticky is Sticky.NO

    @property
    def _cuts_near_terms(self) -> bool:
        """Whether no cut makes much of little.

        Rounding down and jamming do so far below e_max, where that is not a nonzero term's: the floor, or a zero's.
        """
        cuts = {self.alignment}
        if isinstance(self.join, JoinedRoundedDown):
            cuts.add(self.join.late_alignment)
        of_terms = self.floor is None and self.zeros_are_absent and not self.c_extra_bits
        near = {Alignment.TRUNCATE, Alignment.NEAREST}
        return cuts <= near or (of_terms and cuts <= {*near, Alignment.FLOOR, Alignment.JAM})

    @property
    def aligns_c(self) -> bool:
        """Whether c is aligned as it is read. An exact sum with c does not depend on how c is written."""
        return not isinstance(self.join, JoinedExactly)

    @property
    def adds_c_last(self) -> bool:
        """Whether c joins in an IEEE 754 addition."""
        return isinstance(self.join, JoinedInIeee)

    @property
    def adds_c_as_rho(self) -> bool:
        """Whether the sum with c is rounded as the sum of the products is."""
        return isinstance(self.join, JoinedInIeee) and self.join.join_rounding is JoinRounding.RHO

    @property
    def can_start_at_zero(self) -> bool:
        """Whether c is one of its terms. Only then may a chain start at +0 instead of c."""
        return isinstance(self.join, JoinedAsTerm)

    @property
    def hands_on_overflow(self) -> bool:
        """True if d is the converted sum, which may be infinite. It is not if c is added after the conversion."""
        return not self.adds_c_last and self.range_end is None

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``. A c that is added last must have the output format."""
        yield from super().misfits(signature, k)
        for fmt in (signature.c, signature.d):
            if self.c_extra_bits > fmt.fraction_bits:
                yield "c_extra_bits", f"c_extra_bits = {self.c_extra_bits} exceeds the fraction bits of {fmt.name}"
        if self.carry_bits is not None and self.carry_bits <= -self.fraction_bits:
            yield "carry_bits", f"carry_bits = {self.carry_bits} leaves no bit of F = {self.fraction_bits}"
        if self.dropped_bits >= self.fraction_bits:
            yield "dropped_bits", f"dropped_bits = {self.dropped_bits} leaves none of F = {self.fraction_bits}"
        yield from self._misfits_of_complement()
        if self.adds_c_last and signature.c is not signature.d:
            yield "join", f"join = {Join.IEEE} adds c in {signature.d.name}, and c is {signature.c.name}"
        if self.grouping.is_before_c and not isinstance(self.join, JoinedAsTerm):
            yield "grouping", f"grouping = {self.grouping} is of steps in which c is a term of a sum"
        elif self.grouping is Grouping.HALVES and self.L % (2 * (self.group_size or 1)):
            terms = "products" if self.group_size is None else f"products in groups of {self.group_size}"
            yield "grouping", f"grouping = {self.grouping}: L = {self.L} {terms} have no halves"
        if isinstance(self.join, JoinedExactly) and self.grouping is not Grouping.ALL:
            yield "grouping", f"grouping = {self.grouping}: join = {Join.EXACT} adds c to one sum of all products"

    def _misfits_of_complement(self) -> Iterator[tuple[str, str]]:
        """Yield where the sign of c, against which terms are inverted, is not known when they are added."""
        if isinstance(self.join, JoinedRoundedDown) and self.join.late_alignment is Alignment.COMPLEMENT:
            yield "late_alignment", f"late_alignment = {Alignment.COMPLEMENT} is of terms that are added with c"
        if self.alignment is not Alignment.COMPLEMENT:
            return
        if not isinstance(self.join, JoinedAsTerm):
            yield "alignment", f"alignment = {Alignment.COMPLEMENT} is of steps in which c is a term of the sum"
        if self.grouping is not Grouping.ALL:
            yield "grouping", f"alignment = {Alignment.COMPLEMENT} is of steps whose terms are added together"
        if self.sticky is not Sticky.NO:
            yield "sticky", f"sticky = {self.sticky} is of terms that are cut, and not of inverted ones"
