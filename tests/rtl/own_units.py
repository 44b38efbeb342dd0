"""The project's own RTL: units that equal a design for all operands. The tests of RTL proofs prove it.

``units/*/*.toml`` say how each is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

UNITS = Path(__file__).parent / "units"


class Tier(StrEnum):
    """Which tests ask about a unit."""

    QUICK = "quick"
    """every run"""
    MIDDLE = "middle"
    """CI"""
    SLOW = "slow"
    """the long ones"""


@dataclass(frozen=True, slots=True)
class OwnUnit:
    """A unit; ``path`` is its UNIT.toml, below ``UNITS``, and ``design`` what it equals for all operands."""

    path: str
    design: str
    tier: Tier
    needs_ghdl: bool = False

    @property
    def file(self) -> Path:
        """The UNIT.toml."""
        return UNITS / self.path


_VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
_AMPERE = "ampere/mma.m16n8k8.f32.f16.f16.f32"
_HOPPER = "hopper/mma.m16n8k16.f32.f16.f16.f32"

OWN_UNITS = (
    OwnUnit("tree/fp16_l4.toml", _VOLTA, Tier.QUICK),
    OwnUnit("tree/fp16_l8.toml", _AMPERE, Tier.MIDDLE),
    OwnUnit("tree/fp16_l16.toml", _HOPPER, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l8.toml", _AMPERE, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l16.toml", _HOPPER, Tier.SLOW),
)
