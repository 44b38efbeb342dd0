"""The reference asked about a design of the project: names of readings become the letters of the open points."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.parameters import complete_settings
from reference import (
    accumulators,
    aie,
    arm,
    exact,
    families,
    gaudi,
    hmx,
    psp,
    riscv,
    sign_frame,
    sums_rounded_down,
    tensix,
    vortex,
)
from reference.formats import ENDLESS, decode

Patterns = list[int]
Ask = Callable[[Design, Patterns, Patterns, Operands, int], int]
"""What computes d of a design for patterns of a and b, padded to whole steps; c and scales are those of operands."""


def _letter(reading: Enum) -> str:
    return "ABCD"[list(type(reading)).index(reading)]


def _settings(design: Design) -> SimpleNamespace:
    """Every parameter by name, those without an effect too."""
    return SimpleNamespace(**complete_settings(design.chain, design.step))


def _output(design: Design) -> str:
    """The format of d; where it has no infinities, with what takes their place."""
    name = design.d_format.name
    return f"{name}~{_settings(design).out_of_range.value}" if name in ENDLESS else name


def _formats(design: Design) -> dict[str, Any]:
    c = _output(design) if design.c_format is design.d_format else design.c_format.name
    formats = {"a_format": design.a_format.name, "b_format": design.b_format.name, "c_format": c}
    return formats | {"d_format": _output(design)}


def _readings(design: Design) -> dict[str, Any]:
    """Everything that ``exact.dot`` takes besides operands."""
    p = _settings(design)
    return {
        **_formats(design),
        "fraction_bits": p.fraction_bits,
        "rho": p.rho.replace(design.d_format.name, _output(design)),
        "alignment": p.alignment.value,
        "product_exponent": p.product_exponent.value,
        "carry_bits": p.carry_bits,
        "zero_c": _letter(p.zero_c),
        "e_zero": p.e_zero,
        "zero_product": _letter(p.zero_product),
        "floor": p.floor,
        "c_subnormal": _letter(p.c_subnormal),
        "overflow": _letter(p.overflow),
        "negative_zero": _letter(p.negative_zero),
        "chain_infinity": _letter(p.chain_infinity),
        "subnormals": p.subnormals.value,
        "sticky": p.sticky.value,
        "product_shift": p.product_shift,
    }


def _some(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {n: settings[n] for n in names}


OF_RESULTS = ("rho", "overflow", "subnormals")
OF_FUSED_SUMS = ("a_format", "b_format", "zero_c", "zero_product", "e_zero", "negative_zero", *OF_RESULTS)


def _fdpa_late(function: Callable[..., int]) -> Ask:
    def ask(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
        p = _settings(design)
        chosen = _some(_readings(design), *OF_FUSED_SUMS, "c_format", "d_format")
        if function is families.gtr_fdpa:
            chosen["far_c"] = p.far_c.value
        if design.block is not None:
            chosen |= {"scale_a": operands.scale_a, "scale_b": operands.scale_b, "block": design.block}
        return function(
            a,
            b,
            operands.c,
            L=p.L,
            fraction_bits=p.fraction_bits,
            f2=p.late_bits,
            final_rounding=_letter(p.late_rounding),
            product_overflow=_letter(p.product_infinity),
            late_alignment=p.late_alignment.value,
            nan_code=nan_code,
            **chosen,
        )

    return ask


def _tree(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    return families.ftz_addmul(
        a,
        b,
        operands.c,
        P=design.step.L,
        minus_zero=_settings(design).minus_zero.value,
        instruction=design.k,
        zero_products=_settings(design).zero_product_sign.value,
        nan_code=nan_code,
        **_some(_readings(design), "a_format", "b_format", "c_format", *OF_RESULTS),
    )


LEAST_UNCUT = 276
"""F with which no bit of fp16 products is cut; bf16 needs 520, and what is cut in between no row has."""


def _e_fdpa(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    if p.summation.value == "pairwise":
        return _tree(design, a, b, operands, nan_code)
    if p.fraction_bits < LEAST_UNCUT:
        return _t_fdpa(design, a, b, operands, nan_code)
    chosen = _some(_readings(design), *_formats(design), "negative_zero", *OF_RESULTS)
    return families.e_fdpa(a, b, operands.c, L=p.L, nan_code=nan_code, **chosen)


def _st(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    assert design.block is not None
    return families.st_fdpa(
        a,
        b,
        operands.c,
        scale_a=operands.scale_a,
        scale_b=operands.scale_b,
        block=design.block,
        L=design.step.L,
        nan_code=nan_code,
        **_readings(design),
    )


def _gst(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    assert design.scale_format is not None
    assert design.block is not None
    settings = _readings(design)
    del settings["carry_bits"]
    return families.gst_fdpa(
        a,
        b,
        operands.c,
        scale_format=design.scale_format.name,
        scale_a=operands.scale_a,
        scale_b=operands.scale_b,
        block=design.block,
        G=p.group_size,
        L=p.L,
        group_zero=_letter(p.zero_group),
        nan_code=nan_code,
        **settings,
    )


def _late(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return accumulators.late_ieee(
        a,
        b,
        operands.c,
        widen=None if p.widening.value == "none" else p.widening.value,
        order=p.k_order.permutation(design.k),
        L=p.L,
        each_step=p.join.value == "ieee",
        join_rounding=p.join_rounding.value,
        nan_code=nan_code,
        **_readings(design),
    )


def _integer(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    return accumulators.integer_dot(
        a,
        b,
        operands.c,
        L=design.step.L,
        saturate=_settings(design).integer_overflow.value == "saturate",
        register=design.d_format.name,
        intermediate=_settings(design).intermediate_bits,
        operation=_settings(design).element_product.value,
        **_some(_formats(design), "a_format", "b_format"),
    )


def _sequential(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return accumulators.sequential(
        a,
        b,
        operands.c,
        first={"index": "none"}.get(p.first.value, p.first.value),
        truncates=p.truncates.value,
        normalises=p.normalises.value == "yes",
        L=p.L,
        nan_code=nan_code,
        **_readings(design),
    )


def _joined_exactly(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    settings = _readings(design)
    for name in ("zero_c", "c_subnormal", "carry_bits", "sticky"):
        del settings[name]
    return accumulators.joined_exactly(a, b, operands.c, L=design.step.L, nan_code=nan_code, **settings)


def _t_fdpa(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    if _settings(design).join.value == "exact":
        return _joined_exactly(design, a, b, operands, nan_code)
    return exact.dot(a, b, operands.c, L=design.step.L, nan_code=nan_code, **_readings(design))


def _fma(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    if p.join.value == "ieee-once":
        return _interleaved(design, a, b, operands, nan_code)
    return exact.fma_chain(
        a,
        b,
        operands.c,
        _output(design),
        nan_code,
        flushed_sign=p.flushed_sign.value,
        tininess=p.tininess.value,
        factors=design.a_format.name,
        c_format=_formats(design)["c_format"],
        order=p.k_order.permutation(design.k),
        **_some(_readings(design), *OF_RESULTS),
    )


def _interleaved(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return families.interleaved_fma(
        a,
        b,
        operands.c,
        L=design.k if p.join.value == "ieee-once" else design.step.L,
        temporaries=1 if p.join.value == "ieee-once" else 2,
        pairs=p.chain_terms == 2,
        part=p.complex_part.value,
        nan_code=nan_code,
        flushed_sign=p.flushed_sign.value,
        tininess=p.tininess.value,
        **_some(_readings(design), "a_format", "b_format", "c_format", *OF_RESULTS),
    )


def _rvbna(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    """Only what the draft fixes: the guard bits follow from n, and nothing else is asked of the design."""
    assert nan_code == riscv.CANONICAL_NAN
    return riscv.bulk_dot(a, b, operands.c, n=design.step.L, **_some(_formats(design), "a_format", "b_format"))


def _vortex(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    """Only what the RTL fixes for some number of lanes: nothing else is asked of the design."""
    assert nan_code == vortex.NAN
    return vortex.tfr(a, b, operands.c, L=design.step.L, **_some(_formats(design), "a_format", "b_format"))


def _arm(function: Callable[..., int]) -> Ask:
    """A function of Arm's pseudo-code: FPCR and FPMR have the values that the settings stand for."""

    def ask(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
        p = _settings(design)
        rho = p.rho.partition("-")[0]
        flushed = p.subnormals.value
        fields = {
            "kept": {},
            "flushed": {"fz": True, "fz16": True, "fiz": True},
            "accumulator-and-results": {"fz": True, "fiz": True},
            "operands": {"fz16": True},
            "results": {"fz": True, "ah": True},
        }[flushed]
        if p.tininess.value == "unbounded" and fields:
            fields |= {"ah": True}
        return arm.chain(
            function,
            a,
            b,
            operands.c,
            length=design.step.L,
            formats=(design.a_format.name, design.b_format.name, design.c_format.name),
            control=arm.Control(
                nan_code,
                rmode="rne" if rho == "rto" else rho,
                osm=rho == "rne" and _letter(p.overflow) == "B",
                lscale=-p.product_shift,
                **fields,
            ),
        )

    return ask


def _gaudi2(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return gaudi.gaudi2(
        a,
        b,
        operands.c,
        L=p.L,
        fraction_bits=p.fraction_bits,
        via=_via(p),
        product_exponent=p.product_exponent.value,
        cut=_cut(p),
        zero_sum=p.zero_sum.value,
        flushes_operands=p.subnormals.value == "flushed",
        nan_code=nan_code,
        **_formats(design),
        **_some(_readings(design), "rho"),
    )


def _gaudi3(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return gaudi.gaudi3(
        a,
        b,
        operands.c,
        L=p.L,
        fraction_bits=p.fraction_bits,
        via=_via(p),
        cut=_cut(p),
        floor=p.floor,
        nan_code=nan_code,
        **_formats(design),
        **_some(_readings(design), "rho"),
    )


def _cut(p: SimpleNamespace) -> gaudi.Cut:
    bits = () if p.low_bits is None else (p.low_bits,)
    return gaudi.Cut(bits if p.middle_bits is None else (*bits, p.middle_bits))


def _via(p: SimpleNamespace) -> str | None:
    widening: str = p.widening.value
    return None if widening == "none" else widening


def _sign_frame(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p, readings = _settings(design), _readings(design)
    if p.alignment.value == "jam":  # the pseudo-code of the instruction set
        return _fma(design, a, b, operands, nan_code)
    unit = sign_frame.Unit(
        nan_code=nan_code,
        product_bits=p.fraction_bits,
        own_bits=p.fraction_bits + p.c_extra_bits,
        least=None if p.floor is None else p.floor + p.c_extra_bits,
        flush="d" in exact.FLUSHED[p.subnormals.value],
        flushed_result=p.flushed_result.value,
        tininess=p.tininess.value,
        **_some(readings, "rho", "overflow", "negative_zero", "c_subnormal"),
    )
    chosen = _some(readings, *_formats(design), "subnormals", "chain_infinity")
    return sign_frame.sign_frame(a, b, operands.c, unit, L=p.L, flushed_sign=p.flushed_sign.value, **chosen)


def _sums_rounded_down(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    unit = sums_rounded_down.Unit(
        nan_code=nan_code,
        group=p.L // 2 if p.grouping.value == "halves" else p.L,
        product_bits=p.fraction_bits,
        own_bits=p.fraction_bits + p.c_extra_bits,
        least=None if p.floor is None else p.floor + p.c_extra_bits,
        drops_small=p.small_c.value == "dropped",
        flush="d" in exact.FLUSHED[p.subnormals.value],
        **_some(_readings(design), "c_format", "rho", "overflow", "negative_zero"),
    )
    chosen = _some(_readings(design), "a_format", "b_format", "d_format", "chain_infinity", "subnormals")
    order = p.k_order.permutation(design.k)
    return sums_rounded_down.sums_rounded_down(a, b, operands.c, unit, L=p.L, order=order, **chosen)


def _tensix(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    """Only what the documentation says of a phase, and its guide of the sum: nothing else is asked of the design."""
    phase = _settings(design).fidelity_phase
    formats = _some(_formats(design), "a_format", "b_format")
    return tensix.mvmul(a, b, operands.c, phase=phase, nan_code=nan_code, k=design.k, **formats)


def _hmx(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    """Only how far products are kept, whether the register wraps, and the rounding are asked of the design."""
    p = _settings(design)
    return hmx.dot(
        a,
        b,
        operands.c,
        places=p.fraction_bits - p.floor,
        wraps=p.carry_bits is not None,
        nan_code=nan_code,
        **_some(_readings(design), "d_format", "rho"),
    )


def _vfpu(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    p = _settings(design)
    return psp.vdot_and_vadd(
        a,
        b,
        operands.c,
        product_bits=p.product_bits,
        fraction_bits=p.fraction_bits,
        dropped_bits=p.dropped_bits,
        nan_code=nan_code,
        **_some(_readings(design), "d_format", "rho"),
    )


def _aie_blocks(design: Design, a: Patterns, b: Patterns, operands: Operands, nan_code: int) -> int:
    """Blocks in the vendor's encoding, which has two's complement. Nothing is asked of the design but how c joins."""
    if _settings(design).join.value != "exact":
        return _gst(design, a, b, operands, nan_code)
    of_a, of_b = ([aie.mantissa(Fraction(decode(x, "e1m6").signed, 64)) for x in column] for column in (a, b))
    return aie.dot(of_a, of_b, operands.c, operands.scale_a, operands.scale_b)


_FAMILIES: dict[str, Ask] = {
    "t-fdpa": _t_fdpa,
    "fma-chain": _fma,
    "st-fdpa": _st,
    "gst-fdpa": _gst,
    "e-fdpa": _e_fdpa,
    "tr-fdpa": _fdpa_late(families.tr_fdpa),
    "gtr-fdpa": _fdpa_late(families.gtr_fdpa),
    "ftz-addmul": _tree,
    "adder-tree": _tree,
    "emulated-fp8": _late,
    "bulk-normalisation": _late,
    "rvbna": _rvbna,
    "vortex-tfr": _vortex,
    "tensix": _tensix,
    "vfpu": _vfpu,
    "hmx": _hmx,
    "aie-blocks": _aie_blocks,
    "integer": _integer,
    "interleaved-fma": _interleaved,
    "sequential": _sequential,
    "bf16-to-odd": _arm(arm.bf_dot_add),
    "fused-pairs": _arm(arm.fp_dot_add),
    "rounded-pairs": _arm(arm.fp_mat_mul_add),
    "fp8-dot": _arm(arm.fp8_dot_add),
    "gaudi2": _gaudi2,
    "gaudi3": _gaudi3,
    "sign-frame": _sign_frame,
    "sums-rounded-down": _sums_rounded_down,
}


def reference_result(design: Design, operands: Operands) -> int:
    """What the exact-rational reference returns for a design of any family of the catalogue."""
    if design.k_multiple is not None and len(operands) < design.k:
        # there are no elements beyond whole words
        length = len(operands) + -len(operands) % design.k_multiple
        design = replace(design, k=length, step=replace(design.step, L=min(design.step.L, length)), k_multiple=None)
    padding = [0] * (design.padded_length(len(operands)) - len(operands))
    if design.scale_format is not None:
        assert design.block is not None
        ones = (design.scale_format.encode(1),) * (len(padding) // design.block)
        operands = replace(operands, scale_a=operands.scale_a + ones, scale_b=operands.scale_b + ones)
    nan_code = 0 if design.d_format.is_integer else _settings(design).nan_code.pattern(design.d_format)
    return _FAMILIES[design.family](design, [*operands.a, *padding], [*operands.b, *padding], operands, nan_code)
