"""Conversions rho: how the sum of a step becomes a number of the output format (Xie et al. 2026, table 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mmaproof.designs.formats import FORMATS, Format


class Rounding(StrEnum):
    """Rounding of the conversion; truncation of the magnitude is the papers' RZ."""

    RZ = "rz"
    RNE = "rne"


@dataclass(frozen=True, slots=True)
class Conversion:
    """rho: how ``S * 2**e_max`` becomes a number of ``target`` with ``fraction_bits`` of its fraction used."""

    rounding: Rounding
    target: Format
    fraction_bits: int


RHO: dict[str, Conversion] = {
    "rz-fp32": Conversion(Rounding.RZ, FORMATS["fp32"], 23),
    "rz-e8m13": Conversion(Rounding.RZ, FORMATS["fp32"], 13),
    "rne-fp32": Conversion(Rounding.RNE, FORMATS["fp32"], 23),
    "rne-fp16": Conversion(Rounding.RNE, FORMATS["fp16"], 10),
    "rne-fp64": Conversion(Rounding.RNE, FORMATS["fp64"], 52),
    "int32": Conversion(Rounding.RZ, FORMATS["int32"], 31),
}
"""Conversions by name; ``int32`` is the register of an integer unit, whose overflow ``integer_overflow`` decides."""
