"""Residues on an integer unit: Ozaki's scheme II, which makes one wide product of products modulo small numbers.

A row of A (a column of B) shares one exponent, that of its largest element. Every element becomes a fixed-point number
below it, cut to ``bits`` bits of magnitude. The unit multiplies the residues of these numbers modulo each of ``moduli``
numbers that have no common factor, exactly, in int32. The residues of the sums determine the exact sum of the cut
products, if that is below half of the product of the moduli (Chinese remainder theorem). It is scaled and rounded once,
and c is added last (Ozaki, Uchino and Imamura, arXiv 2504.08009). Operands are finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm, parameter
from mmaproof.gemm.programs.schedule import Add, Builder, Call, Combine, Residues, Words, Zero
from mmaproof.gemm.programs.slice_gemm import Outside

MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193)
"""Numbers without a common factor, as large as residues of eight bits allow."""
REGISTER = FORMATS["int32"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ModularGemm(Algorithm):
    """The algorithm that the module describes; what the source leaves open is a parameter."""

    finite_only: ClassVar[bool] = True

    moduli: int = parameter(8, range(2, len(MODULI) + 1), "how many moduli, the largest ones first")
    bits: int = parameter(24, range(1, 54), "bits to which elements are cut, besides their sign")
    outside: Outside = parameter(Outside.FP64, Outside, "format to which the sum is rounded, and in which c is added")

    def why_not(self, unit: Design) -> str | None:
        """Return why the unit does not fit: it must add products of int8 exactly in int32."""
        for fmt in (unit.a_format, unit.b_format):
            if fmt is not FORMATS["int8"]:
                return f"its operands are {fmt.name}, and int8 is meant"
        if unit.d_format is not REGISTER:
            return f"its sums are {unit.d_format.name}, and int32 is meant"
        return None

    @property
    def chosen(self) -> tuple[int, ...]:
        """The moduli."""
        return MODULI[: self.moduli]

    @property
    def longest(self) -> int:
        """The largest K for which the residues determine the sum, and each of their sums fits int32."""
        determined = (prod(self.chosen) - 1) // 2 // ((1 << self.bits) - 1) ** 2
        return min(determined, REGISTER.max_finite // (1 << 14))

    def lower(self, builder: Builder, unit: Design, ks: tuple[int, ...], c: int) -> int:
        """Append the residues, the calls of the unit, and the sum that theirs determine."""
        if len(ks) > self.longest:
            raise DesignError(
                f"{self.name}: sums of k = {len(ks)} products are not determined by {self.moduli} residues: at most "
                f"{self.longest}; take more moduli or fewer bits"
            )
        a, b = (builder.add(Residues(side, ks, FORMATS["int8"], self.chosen, self.bits)) for side in "ab")
        start, fmt = builder.add(Zero(REGISTER)), FORMATS[self.outside]
        sums = tuple(
            builder.add(Call(unit, ks, start, Words(a, i), Words(b, i), label=f"residues modulo {p}"))
            for i, p in enumerate(self.chosen)
        )
        places = 2 - 2 * self.bits
        found = builder.add(Combine(sums, self.chosen, a, b, places, fmt, label="sum from its residues"))
        total = builder.add(Add(found, builder.convert(c, fmt), fmt, label="c"))
        return builder.convert(total, OPERANDS, label="d")
