"""The cut of a term: the fraction bits that are kept below the largest exponent, and what happens to the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mmaproof.designs.readings import Alignment


@dataclass(frozen=True, slots=True)
class Cut:
    """How many fraction bits below the largest exponent are kept, and what happens to the others."""

    fraction_bits: int
    alignment: Alignment = Alignment.TRUNCATE

    @classmethod
    def jammed(cls, fraction_bits: int) -> Cut:
        """Return a cut that sets the last kept bit where anything was lost."""
        return cls(fraction_bits, Alignment.JAM)

    def bound(self, largest: int, fraction_bits: int) -> int:
        """Return a bound of the magnitude of a cut significand that is at most ``largest``.

        Its exponent is at most the one aligned at, so it only moves down. Truncation keeps the whole part;
        rounding towards minus infinity adds one unit to a negative magnitude, inverting instead of negating adds one to
        a magnitude that opposes c, jamming at most sets the last bit.
        Rounding to nearest keeps the order of magnitudes, so the largest becomes the largest.
        """
        units = Fraction(largest << self.fraction_bits, 1 << fraction_bits)
        if self.alignment is Alignment.NEAREST:
            return round(units)  # ties to even
        whole = int(units)
        return whole if self.alignment is Alignment.TRUNCATE else whole + 1

    @property
    def truncates(self) -> bool:
        """Whether bits of the magnitude are dropped, so that a cut moves a term towards zero."""
        return self.alignment is Alignment.TRUNCATE

    @property
    def rounds_to_nearest(self) -> bool:
        """Whether a cut moves a term by at most half of its last bit."""
        return self.alignment is Alignment.NEAREST

    @property
    def jams(self) -> bool:
        """Whether the last kept bit tells that something was lost."""
        return self.alignment is Alignment.JAM

    @property
    def rounds_down(self) -> bool:
        """Whether a cut moves a term towards minus infinity."""
        return self.alignment is Alignment.FLOOR

    @property
    def inverts(self) -> bool:
        """Whether a term whose sign is not c's is moved one unit further from c."""
        return self.alignment is Alignment.COMPLEMENT
