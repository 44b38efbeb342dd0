"""The project's own RTL: units that equal a design for all operands. The tests of RTL proofs prove it.

``tests/rtl/units/*/*.toml`` say how each is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

UNITS = Path(__file__).parents[1] / "rtl" / "units"


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


_ZEROS = "@zero_c=minus-126,zero_product=operand-minus-126"
"""Exponents of zeros that the units' sources have; those of the catalogue are smaller, or absent."""
_VOLTA = f"volta/mma.m8n8k4.f32.f16.f16.f32{_ZEROS}"
_AMPERE = f"ampere/mma.m16n8k8.f32.f16.f16.f32{_ZEROS}"
_HOPPER = f"hopper/mma.m16n8k16.f32.f16.f16.f32{_ZEROS}"
_BF16 = f"ampere/mma.m16n8k8.f32.bf16.bf16.f32{_ZEROS}"
_ADA_E4M3 = f"ada/mma.m16n8k16.f32.e4m3.e4m3.f32{_ZEROS}"
_ADA_E5M2 = f"ada/mma.m16n8k16.f32.e5m2.e5m2.f32{_ZEROS}"
_HOPPER_E4M3 = f"hopper/wgmma.m64n8k32.f32.e4m3.e4m3{_ZEROS}"
_INT8 = "ampere/mma.m16n8k16.s32.s8.s8.s32"
_SCALED = f"blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0{_ZEROS}"
_LATE_FOUR = "cdna3/v_mfma_f32_32x32x4_2b_f16@zero_product=operand-minus-126"
_LATE_EIGHT = "cdna3/v_mfma_f32_32x32x8_f16@zero_product=operand-minus-126"
_TWO_STEPS = f"ampere/mma.m16n8k16.f32.f16.f16.f32{_ZEROS}"
_INT8_SATURATED = "ampere/mma.m16n8k16.satfinite.s32.s8.s8.s32"

_FMA = "cdna1/v_mfma_f32_32x32x4f16@L=1,fraction_bits=76,alignment=jam,zero_sum=ieee"
"""One product and c, exactly: no bits are lost below those that rounding sees."""
_FMA_BF16 = "cdna1/v_mfma_f32_32x32x4bf16@L=1,fraction_bits=42,alignment=jam,zero_sum=ieee"
_FMA_TO_BF16 = "cpu/vfmadd231bf16@subnormals=kept,product_exponent=summed,c_subnormal=e-min"
_FMUL = "cpu/vfmadd231ps"
_FADD = "cpu/vfmadd231ps@product_exponent=summed,c_subnormal=e-min"
"""x * 1 + y: what is not normalised before it is aligned loses no bits that rounding sees."""
FADD_FP16 = (
    "volta/mma.m8n8k4.f16.f16.f16.f16@L=1,fraction_bits=24,alignment=jam,rho=rne-fp16,zero_sum=ieee,"
    "negative_zero=negative,zero_c=absent,zero_product=absent,nan_code=quiet"
)

OWN_UNITS = (
    OwnUnit("fma/single_fp16.toml", _FMA, Tier.SLOW),
    OwnUnit("fma/single_bf16.toml", _FMA_BF16, Tier.SLOW),
    OwnUnit("fma/single_to_bf16.toml", _FMA_TO_BF16, Tier.MIDDLE),
    OwnUnit("fma/counted_fp16.toml", _FMA, Tier.SLOW),
    OwnUnit("fma/counted_bf16.toml", _FMA_BF16, Tier.SLOW),
    OwnUnit("fma/counted_to_bf16.toml", _FMA_TO_BF16, Tier.MIDDLE),
    OwnUnit("fma/single_fp32.toml", _FADD, Tier.SLOW),
    OwnUnit("fma/counted_fp32.toml", _FADD, Tier.SLOW),
    OwnUnit("fadd/fp16_single.toml", FADD_FP16, Tier.MIDDLE),
    OwnUnit("fadd/fp16_two_path.toml", FADD_FP16, Tier.MIDDLE),
    OwnUnit("fadd/fp32_single.toml", _FADD, Tier.SLOW),
    OwnUnit("fadd/fp32_two_path.toml", _FADD, Tier.SLOW),
    OwnUnit("fmul/fp32_single.toml", _FMUL, Tier.SLOW),
    OwnUnit("fmul/fp32_booth.toml", _FMUL, Tier.SLOW),
    OwnUnit("tree/fp16_l4.toml", _VOLTA, Tier.QUICK),
    OwnUnit("tree/fp16_l8.toml", _AMPERE, Tier.MIDDLE),
    OwnUnit("tree/fp16_l16.toml", _HOPPER, Tier.MIDDLE),
    OwnUnit("tree/bf16_l8.toml", _BF16, Tier.MIDDLE),
    OwnUnit("tree/e4m3_l16.toml", _ADA_E4M3, Tier.MIDDLE),
    OwnUnit("tree/e5m2_l16.toml", _ADA_E5M2, Tier.SLOW),
    OwnUnit("tree/e4m3_l32.toml", _HOPPER_E4M3, Tier.MIDDLE),
    OwnUnit("tree/pipe3_fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("tree/pipe4_e4m3_l16.toml", _ADA_E4M3, Tier.SLOW),
    OwnUnit("tree/pipe6_fp16_l16.toml", _HOPPER, Tier.SLOW),
    OwnUnit("tree/pipe7_fp16_l8.toml", _AMPERE, Tier.SLOW),
    OwnUnit("tree/x_fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l8.toml", _AMPERE, Tier.MIDDLE),
    OwnUnit("carry_save/fp16_l16.toml", _HOPPER, Tier.SLOW),
    OwnUnit("carry_save/e4m3_l16.toml", _ADA_E4M3, Tier.SLOW),
    OwnUnit("carry_save/e4m3_l32.toml", _HOPPER_E4M3, Tier.SLOW),
    OwnUnit("two_step/fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("two_step/fp16_l8.toml", _AMPERE, Tier.SLOW),
    OwnUnit("two_step/fp16_l16.toml", _HOPPER, Tier.SLOW),
    OwnUnit("two_step/e4m3_l16.toml", _ADA_E4M3, Tier.SLOW),
    OwnUnit("two_step/e4m3_l32.toml", _HOPPER_E4M3, Tier.SLOW),
    OwnUnit("sorted/fp16_l4.toml", _VOLTA, Tier.SLOW),
    OwnUnit("sorted/fp16_l8.toml", _AMPERE, Tier.SLOW),
    OwnUnit("two_path/fp16_l4.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("two_path/fp16_l8.toml", _AMPERE, Tier.SLOW),
    OwnUnit("two_path/fp16_l16.toml", _HOPPER, Tier.SLOW),
    OwnUnit("two_path/bf16_l8.toml", _BF16, Tier.SLOW),
    OwnUnit("vhdl/fp16_l4.toml", _VOLTA, Tier.MIDDLE, needs_ghdl=True),
    OwnUnit("chain/fp16_k16.toml", _TWO_STEPS, Tier.SLOW),
    OwnUnit("chain/fp16_k16_passes.toml", _TWO_STEPS, Tier.SLOW),
    OwnUnit("scaled/e4m3_l32.toml", _SCALED, Tier.SLOW),
    OwnUnit("scaled/counted_e4m3_l32.toml", _SCALED, Tier.MIDDLE),
    OwnUnit("late_join/fp16_l4.toml", _LATE_FOUR, Tier.MIDDLE),
    OwnUnit("late_join/fp16_l8.toml", _LATE_EIGHT, Tier.SLOW),
    OwnUnit("late_join/fp16_l8_arrays.toml", _LATE_EIGHT, Tier.SLOW),
    OwnUnit("integer/s8_wrap.toml", _INT8, Tier.MIDDLE),
    OwnUnit("integer/s8_saturate.toml", _INT8_SATURATED, Tier.MIDDLE),
    OwnUnit("integer/s8_passes.toml", _INT8, Tier.MIDDLE),
    OwnUnit("streaming/stream_int8.toml", f"{_INT8}@L=4", Tier.QUICK),
    OwnUnit("streaming/held_int8.toml", f"{_INT8}@L=4", Tier.MIDDLE),
    OwnUnit("streaming/kept_int8.toml", f"{_INT8}@L=4", Tier.MIDDLE),
    OwnUnit("small/acc_int3.toml", "integer/dot1.int8.int3.int3.int8", Tier.MIDDLE),
    OwnUnit("small/pair_int3.toml", "integer/dot1.int8.int3.int3.int8", Tier.MIDDLE),
    OwnUnit("small/column_int3.toml", "integer/dot2.int7.int3.int3.int7", Tier.QUICK),
    OwnUnit("streaming/elastic_int8.toml", "integer/dot2.int24.int8.int8.int24", Tier.MIDDLE),
    OwnUnit("accumulator/signed_magnitude.toml", "integer/dot1.int8.int4.int4.int8", Tier.MIDDLE),
    OwnUnit("accumulator/pair_int8.toml", "integer/dot1.int24.int8.int8.int24", Tier.MIDDLE),
    OwnUnit("accumulator/drained_int8.toml", "integer/dot2.int20.int8.int8.int20", Tier.QUICK),
    OwnUnit("accumulator/acc_e8m13.toml", f"{_VOLTA.replace('@', '@accumulator=e8m13,')}", Tier.MIDDLE),
    OwnUnit("accumulator/pe_int8.toml", f"{_INT8}@L=1", Tier.QUICK),
    OwnUnit("accumulator/acc_fp16.toml", _VOLTA, Tier.MIDDLE),
    OwnUnit("accumulator/mac_int8.toml", f"{_INT8_SATURATED}@L=4", Tier.MIDDLE),
)
