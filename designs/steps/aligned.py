"""The parameters that all steps with aligned and cut terms share: of products or scaled groups, of c, and of zeros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from mmaproof.designs.formats import Specials
from mmaproof.designs.readings import (
    NegativeZero,
    ProductExponent,
    ProductInfinity,
    ProductRange,
    SubnormalC,
    ZeroC,
    ZeroGroup,
    ZeroProduct,
    ZeroSum,
)
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import SCALES, Guarantee, IntegerRange, Record, RoundedStep, parameter, record, stated

POINTS = "publications disagree: open point "


@dataclass(frozen=True)
class Terms(Record):
    """What the products of a step become before they are aligned: one term each, unless a subclass says otherwise."""

    @property
    def group_size(self) -> int | None:
        """The number of products whose exact sum is scaled as one term; None if there are no groups."""
        return None

    @property
    def terms_per_product(self) -> int:
        """The number of terms that a product, or a group of them, becomes."""
        return 1

    @property
    def shift(self) -> int:
        """The exponent of the power of two that each product is multiplied with."""
        return 0

    @property
    def drops_bits(self) -> bool:
        """Whether bits of the significands are not multiplied, or bits of a product are dropped by itself."""
        return False

    @property
    def reads_e_zero(self) -> bool:
        """Whether a zero product reads the exponent e_zero."""
        return False

    @property
    def reads(self) -> frozenset[str]:
        """The fields of a signature that the terms are made of, besides the formats."""
        return frozenset()

    def misfits(self, signature: Signature, L: int) -> Iterator[tuple[str, str]]:  # noqa: N803
        """Yield what does not fit the signature or the number L of products of a step."""
        yield from ()


@dataclass(frozen=True)
class SingleProducts(Terms):
    """Each product is a term of its own."""

    selects = {"group_size": None, "low_bits": None, "fidelity_phase": None}  # noqa: RUF012

    product_shift: int = parameter(
        0,
        IntegerRange(-1000, 1000),
        "power of two that each product is multiplied with before it is aligned",
        "Arm, FPMR.LSCALE: its negative",
    )
    zero_product: ZeroProduct = parameter(
        ZeroProduct.OPERAND_MINUS_126, ZeroProduct, "exponent of a zero product in e_max", POINTS + "2"
    )

    product_bits: int | None = parameter(
        None,
        IntegerRange(1, 200, otherwise="all"),
        "fraction bits of a product that are kept; the last one is set where anything below it was lost",
        "Sony PSP, vdot: hrydgard/ppsspp, issue 21070",
        only=lambda terms: type(terms) is SingleProducts,
    )

    @property
    def shift(self) -> int:
        """The parameter ``product_shift``."""
        return self.product_shift

    @property
    def drops_bits(self) -> bool:
        """Whether bits of products are dropped before they are aligned."""
        return self.product_bits is not None

    @property
    def zeros_are_absent(self) -> bool:
        """Whether a zero product takes no part in e_max."""
        return self.zero_product is ZeroProduct.ABSENT

    @property
    def reads_e_zero(self) -> bool:
        """Whether ``zero_product`` says so."""
        return self.zero_product is ZeroProduct.E_ZERO

    @property
    def reads(self) -> frozenset[str]:
        """The scales of whole products: parts of them have none."""
        return SCALES if type(self) is SingleProducts else frozenset()


@dataclass(frozen=True)
class PhaseProducts(SingleProducts):
    """One fidelity phase: a high or a low part of the significand of a is multiplied with one of that of b.

    In the phases 0 and 1 the part of a is its implicit one and 6 fraction bits, in 2 and 3 the 4 fraction bits after
    these. In the phases 0 and 2 the part of b is its implicit one and 4 fraction bits, in 1 and 3 the 5 bits after.
    """

    selects = {"group_size": None, "low_bits": None}  # noqa: RUF012

    fidelity_phase: int = parameter(
        None,
        IntegerRange(0, 3, otherwise="none"),
        "phase that says which bits of the significands of a and b are multiplied",
        "Tenstorrent Tensix: tenstorrent/tt-isa-documentation, SrcASrcB.md",
    )

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether ``fidelity_phase`` is set."""
        return settings["fidelity_phase"] is not None

    @property
    def drops_bits(self) -> bool:
        """True: only those of two parts are multiplied."""
        return True

    @property
    def places_of_a(self) -> tuple[int, int]:
        """The first and the last place of a that is multiplied: place 0 is the implicit one, 1 the next bit."""
        return (7, 10) if self.fidelity_phase & 2 else (0, 6)

    @property
    def places_of_b(self) -> tuple[int, int]:
        """Those of b."""
        return (5, 9) if self.fidelity_phase & 1 else (0, 4)

    def misfits(self, signature: Signature, L: int) -> Iterator[tuple[str, str]]:  # noqa: N803
        """Yield formats of which a phase multiplies nothing."""
        for name, fmt, (first, _) in (("a", signature.a, self.places_of_a), ("b", signature.b, self.places_of_b)):
            if first > fmt.fraction_bits:
                yield (
                    "fidelity_phase",
                    f"fidelity_phase = {self.fidelity_phase} multiplies no bit of {name}, {fmt.name}",
                )


@dataclass(frozen=True)
class PartialProducts(SingleProducts):
    """The significands are cut into high and low bits, or high, middle and low ones; each product of parts is a term.

    All have the exponent of the whole product, also those whose value is zero.
    """

    selects = {"group_size": None}  # noqa: RUF012

    low_bits: int = parameter(
        None,
        IntegerRange(1, 63, otherwise="none"),
        "low bits of the significands of a and b that are multiplied by themselves, as terms of their own",
        "Intel Gaudi 3, fp16 and tf32: HabanaAI/Intel_Gaudi3_Software, coral-sim, fs_fma_gaudi3.h",
    )
    middle_bits: int | None = parameter(
        None,
        IntegerRange(1, 63, otherwise="none"),
        "bits above the low ones that are a third part",
        "Intel Gaudi 3, fp32: HabanaAI/Intel_Gaudi3_Software, coral-sim, fs_fma_gaudi3.h",
    )

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether ``low_bits`` is set."""
        return settings["low_bits"] is not None

    @property
    def widths(self) -> tuple[tuple[str, int | None], ...]:
        """The parts of a significand, the highest first: the letter of each, and its bits; None is all that is left."""
        middle = [] if self.middle_bits is None else [("m", self.middle_bits)]
        return (("h", None), *middle, ("l", self.low_bits))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The letters of the parts of a and of b that are multiplied, the largest product first."""
        letters = [letter for letter, _ in self.widths]
        return tuple((of_a, of_b) for of_a in letters for of_b in letters)

    @property
    def terms_per_product(self) -> int:
        """The number of products of parts."""
        return len(self.pairs)

    def misfits(self, signature: Signature, L: int) -> Iterator[tuple[str, str]]:  # noqa: N803
        """Yield formats whose significands have no bits above the low ones."""
        for name, fmt in (("a", signature.a), ("b", signature.b)):
            lower, middle = self.low_bits, self.middle_bits or 0
            if fmt.precision <= lower:
                yield "low_bits", f"low_bits = {lower} leaves nothing of the {fmt.precision} bits of {name}"
            elif fmt.precision <= lower + middle:
                problem = f"middle_bits = {middle} leaves nothing of the {fmt.precision} bits of {name}"
                yield "middle_bits", f"{problem} above low_bits = {lower}"


@dataclass(frozen=True)
class ScaledGroups(Terms):
    """The exact sum of a group of products, times its scales, is one term (GST-FDPA)."""

    group_size: int = parameter(
        None,
        IntegerRange(1, 1024, otherwise="none"),
        "G: products whose exact sum is scaled as one term",
        "Xie et al. 2026, algorithm 9",
    )
    zero_group: ZeroGroup = parameter(
        ZeroGroup.SCALES, ZeroGroup, "exponent of a scaled group that is zero", POINTS + "15"
    )
    group_e_zero: int = parameter(
        -139,
        IntegerRange(-2000, 2000),
        "exponent that the reading e-zero of zero_group uses",
        POINTS + "15",
        only=lambda groups: groups.zero_group is ZeroGroup.E_ZERO,
    )

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether ``group_size`` is set."""
        return settings["group_size"] is not None

    @property
    def reads(self) -> frozenset[str]:
        """The scales of its groups."""
        return SCALES

    @property
    def zeros_are_absent(self) -> bool:
        """Whether a group whose value is zero takes no part in e_max."""
        return self.zero_group is ZeroGroup.ABSENT

    def misfits(self, signature: Signature, L: int) -> Iterator[tuple[str, str]]:  # noqa: N803
        """Yield what does not fit the signature or the number of products of a step."""
        size, block = self.group_size, signature.block
        if block is None:
            yield "group_size", f"group_size = {size} is of scaled groups, and this unit has no scales"
        elif L % size or block % size:
            yield "group_size", f"group_size = {size} does not divide L = {L} and blocks of {block}"
        if any(f.specials is not Specials.NONE for f in (signature.a, signature.b)):
            yield "group_size", f"group_size = {size}: exact groups are of formats without infinities and NaN"


@dataclass(frozen=True)
class AlignedStep(RoundedStep):
    """A step whose terms are aligned at an exponent and cut to F fraction bits below it."""

    fraction_bits: int = parameter(
        23,
        IntegerRange(1, 5000),
        "F: fraction bits kept below 2**e_max after alignment",
        "Xie et al. 2026, algorithm 7, F",
    )
    product_limit: int | None = parameter(
        None,
        IntegerRange(0, 4096, otherwise="none"),
        "a product of magnitude 2**product_limit or more is an infinity",
        "Xie et al. 2026, section 4.2",
    )
    product_infinity: ProductInfinity = parameter(
        ProductInfinity.NAN,
        ProductInfinity,
        "such a product against an infinite c of the other sign",
        POINTS + "12",
        only=lambda step: step.product_limit is not None,
    )
    product_range: ProductRange = parameter(
        ProductRange.MAGNITUDE,
        ProductRange,
        "whether -2**product_limit is such a product",
        "Qualcomm HMX: quic/qemu, target/hexagon/hmx, hmx_fp16_mac",
        only=lambda step: step.product_limit is not None,
    )
    product_exponent: ProductExponent = parameter(
        ProductExponent.SUMMED,
        ProductExponent,
        "exponent with which a product enters the alignment",
        "Xie et al. 2026, algorithm 7, line 4; normalised: Valpey et al. 2025",
    )
    terms: SingleProducts | ScaledGroups | PartialProducts | PhaseProducts = record(
        SingleProducts(), SingleProducts, ScaledGroups, PartialProducts, PhaseProducts
    )
    zero_c: ZeroC = parameter(
        ZeroC.MINUS_126, ZeroC, "exponent of c = 0 in e_max", POINTS + "1", only=lambda step: step.aligns_c
    )
    e_zero: int = parameter(
        -133,
        IntegerRange(-2000, 2000),
        "exponent that the readings e-zero use",
        POINTS + "1 to 4",
        only=lambda step: step.zero_c is ZeroC.E_ZERO or step.terms.reads_e_zero,
    )
    c_subnormal: SubnormalC = parameter(
        SubnormalC.E_MIN, SubnormalC, "exponent of a subnormal c", POINTS + "5", only=lambda step: step.aligns_c
    )
    negative_zero: NegativeZero = parameter(
        NegativeZero.POSITIVE, NegativeZero, "sign of a negative sum that converts to zero", POINTS + "7"
    )
    zero_sum: ZeroSum = parameter(
        ZeroSum.POSITIVE, ZeroSum, "sign of an exactly zero sum", "Xie et al. 2026; IEEE 754 for FMA chains"
    )

    @property
    def reads(self) -> frozenset[str]:
        """The formats, and what its terms read."""
        return super().reads | self.terms.reads

    @property
    def aligns_c(self) -> bool:
        """Whether c, or the +0 that a chain starts with, is aligned at an exponent that a reading gives it."""
        return True

    @property
    def zeros_are_absent(self) -> bool:
        """Whether neither a zero product or group nor a zero c takes part in e_max."""
        return (self.zero_c is ZeroC.ABSENT or not self.aligns_c) and self.terms.zeros_are_absent

    @property
    def kept_bits(self) -> int | None:
        """F: the fraction bits below e_max that a product keeps."""
        return self.fraction_bits

    @property
    def group_size(self) -> int | None:
        """The number of products whose exact sum is scaled as one term; None if there are no groups."""
        return self.terms.group_size

    @property
    def multiplied_places(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Those of a fidelity phase."""
        if isinstance(self.terms, PhaseProducts):
            return self.terms.places_of_a, self.terms.places_of_b
        return None

    @property
    def cut_terms(self) -> int:
        """L, or as many as L products become."""
        return self.L * self.terms.terms_per_product

    @property
    def product_excess(self) -> int | None:
        """At most 1 if products are normalised, because the product of two significands below 2 is below 4.

        A power of two that products are multiplied with comes on top. Nothing is stated of groups.
        """
        if self.group_size is not None:
            return None
        match self.product_exponent:
            case ProductExponent.SUMMED:
                return self.terms.shift
            case ProductExponent.NORMALISED:
                return self.terms.shift + 1
            case _:
                assert_never(self.product_exponent)

    @property
    def has_scaled_groups(self) -> bool:
        """Whether there are groups."""
        return self.group_size is not None

    @property
    def infinite_from(self) -> int | None:
        """The parameter ``product_limit``. It is not stated where a product of that magnitude may be finite."""
        return self.product_limit if self.product_range is ProductRange.MAGNITUDE else None

    @property
    def guarantees(self) -> frozenset[Guarantee]:
        """What follows from the parameters of the terms and of the conversion. Nothing does where bits are dropped."""
        if self.terms.drops_bits:
            return frozenset()
        return self.about_numbers | stated(
            {
                Guarantee.ALIGNED_TERMS: True,
                Guarantee.MOVING_EXPONENTS: True,
                Guarantee.CONVERTED_BY_RHO: not self.terms.shift,
                Guarantee.SUMMED_EXPONENTS: self.product_exponent is ProductExponent.SUMMED and not self.terms.shift,
                Guarantee.SINGLE_PRODUCTS: self._adds_products,
                Guarantee.FINITE_PRODUCTS: self.product_limit is None,
                Guarantee.ABSENT_ZEROS: self.zeros_are_absent,
                Guarantee.POSITIVE_ZERO_SUM: self.zero_sum is ZeroSum.POSITIVE,
            }
        )

    @property
    def _adds_products(self) -> bool:
        """Whether each term but c is the product of two elements."""
        return self.group_size is None and self.terms.terms_per_product == 1 and not self.terms.shift

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit, as in ``Step``, the groups included."""
        yield from super().misfits(signature, k)
        if self.terms.terms_per_product > 1 and self.product_exponent is not ProductExponent.SUMMED:
            yield "low_bits", "the parts of a product have the sum of its exponents, and product_exponent is another"
        yield from self.terms.misfits(signature, self.L)
