"""Every algorithm on integers and on arrays against the reference in exact rationals, which shares no code with it."""

from enum import StrEnum
from typing import Any

import numpy.typing as npt
import pytest
from pysmt.shortcuts import BV
from reference.algorithms import NAN, is_nan, reference_algorithm
from support.fp32_operands import FINITE, KINDS, element, random_arrays, random_operands, widened
from support.native import needs_native

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm
from mmaproof.gemm.programs.algorithms import ALGORITHMS, find_algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic
from mmaproof.gemm.programs.evaluate import as_number, multiply, trace
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.smt.algebra.terms import TermAlgebra

VOLTA, VOLTA_FP16 = (f"volta/mma.m8n8k4.{x}" for x in ("f32.f16.f16.f32", "f16.f16.f16.f16"))
TURING, HOPPER = "turing/mma.m16n8k8.f32.f16.f16.f32", "hopper/wgmma.m64n8k16.f32.f16.f16"
CDNA1, CDNA3 = "cdna1/v_mfma_f32_32x32x8f16", "cdna3/v_mfma_f32_16x16x16_f16"
AMX_FP16, AMX_BF16 = "cpu/tdpfp16ps.m16n16k32.f32.f16.f16.f32", "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"
TF32, XF32 = "ampere/mma.m16n8k4.f32.tf32.tf32.f32", "cdna3/v_mfma_f32_16x16x8_xf32"
BF16, CDNA2_BF16 = "ampere/mma.m16n8k8.f32.bf16.bf16.f32", "cdna2/v_mfma_f32_32x32x8bf16_1k"
E4M3, E4M3_FNUZ = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3", "cdna3/v_mfma_f32_16x16x32_fp8_fp8"
EMULATED, E3M2 = "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", "blackwell/tcgen05.mma.m64n8k32.f32.e3m2.e3m2"
CDNA1_FP32 = "cdna1/v_mfma_f32_32x32x2f32"
INT8, CDNA3_INT8 = "turing/mma.m8n8k16.s32.s8.s8.s32", "cdna3/v_mfma_i32_16x16x32_i8"
FP16_C = "volta/mma.m8n8k4.f32.f16.f16.f16"
ANY = (VOLTA, VOLTA_FP16, TURING, HOPPER, CDNA1, CDNA3, TF32, BF16, E4M3, EMULATED, E4M3_FNUZ, E3M2, CDNA1_FP32)

UNITS = {
    "plain": ANY,
    "markidis-a": (VOLTA, CDNA3, E4M3),
    "markidis": ANY,
    "markidis@intermediate=fp16": (VOLTA, TURING, FP16_C),
    "markidis@intermediate=bf16,accumulators=separate,products=11.01.10.00": (VOLTA, BF16),
    "markidis@intermediate=fp16,accumulators=separate,products=10.01.00,c=last": (VOLTA,),
    "markidis@outside=main,interval=16,accumulators=separate,intermediate=fp16": (VOLTA, HOPPER),
    "markidis@outside=all,c=last,rounding=rz,residual_rounding=rtp": (TURING, BF16),
    "markidis@schedule=block,interval=32,rounding=rtn,residual_rounding=rz": (HOPPER, CDNA2_BF16),
    "ootomo-yokota": (VOLTA, VOLTA_FP16, TURING, HOPPER, CDNA1, CDNA3, AMX_FP16),
    "ootomo-yokota@products=00.10.01.11,c=last": (VOLTA, HOPPER),
    "ootomo-yokota@scale=24,schedule=gemm": (VOLTA,),
    "ootomo-yokota@scale=5,outside=all,products=11.00.02.20": (TURING,),
    "ootomo-yokota@outside=none,rounding=rna,residual_rounding=rtn": (VOLTA,),
    "ootomo-yokota@outside=none,rounding=rto,residual_rounding=rto": (VOLTA,),
    "ootomo-yokota-tf32": (TF32, XF32),
    "ootomo-yokota-bf16": (BF16, AMX_BF16),
    "3xtf32": (TF32, XF32),
    "3xtf32-staged": (TF32,),
    "3xtf32@products=10.01.00.11,accumulators=separate": (TF32,),
    "3xtf32@outside=joint,interval=32": (TF32,),
    "bf16x3@schedule=block,outside=joint,interval=32,c=last": (BF16,),
    "bf16x6@products=11.20.02.10.01.00,schedule=block,outside=joint,interval=32": (BF16, CDNA2_BF16),
    "bf16x3": (BF16, CDNA2_BF16),
    "bf16x6": (BF16, CDNA2_BF16),
    "bf16x9": (BF16,),
    "bf16x9@rounding=rna,residual_rounding=rna,schedule=block": (BF16,),
    "bf16x6@rounding=rz,scale=8,accumulators=separate": (CDNA2_BF16,),
    "promoted": (E4M3, TURING, FP16_C),
    "promoted@interval=64": (E4M3, E4M3_FNUZ),
    "promoted@interval=32,c=last,rounding=rtp": (E4M3, CDNA1),
    "slices": (INT8, CDNA3_INT8),
    "slices@slices=3,kept=all,sums=weight": (INT8,),
    "slices@slices=1,bits=1": (INT8,),
    "slices@slices=9,bits=3,outside=fp32,kept=all": (CDNA3_INT8,),
    "slices@slices=5,bits=6,outside=fp32,sums=weight": (INT8,),
    "slices@interval=16": (INT8,),
    "slices-fp8": (E4M3,),
    "residues": (INT8, CDNA3_INT8),
    "residues@moduli=3,bits=7,outside=fp32": (INT8,),
    "residues@moduli=16,bits=53": (INT8,),
    "residues@operands=fp64,moduli=20,bits=53": (INT8,),
    "slices@operands=fp64,slices=9": (INT8, CDNA3_INT8),
    "slices@operands=fp64,slices=9,headroom=1,order=descending": (INT8,),
    "slices@operands=fp64,slices=7,bits=8,sign=first": (INT8,),
    "slices@slices=3,bits=8,sign=first,headroom=2,sums=weight,outside=fp32": (INT8,),
    "slices@operands=fp64,slices=13,outside=fp32,kept=all": (INT8,),
    "slices-fp8@slices=3,interval=32,sums=weight": (E4M3,),
    "slices-fp8@bits=11,slices=2,kept=all": (VOLTA,),
}
CASES = [(find_algorithm(name), find_design(unit)) for name, units in UNITS.items() for unit in units]


def kinds_for(algorithm: Algorithm, unit: Design) -> tuple[str, ...]:
    """Operands that have a result: slices have no infinities, and words no NaN where the unit's format has none."""
    return FINITE if algorithm.finite_only or unit.a_format.quiet_nan is None else KINDS


def operand_arrays(algorithm: Algorithm, kind: str, shape: tuple[int, int, int], seed: int) -> list[npt.NDArray[Any]]:
    """Operands in the format that the algorithm takes."""
    given = random_arrays(kind, shape, seed)
    return [widened(x, seed + i) if algorithm.operand_format.bits == 64 else x for i, x in enumerate(given)]


def differences(algorithm: Algorithm, unit: Design, kinds: tuple[str, ...], seeds: range) -> list[str]:
    """Operands on which integers, arrays and reference do not all return the same."""
    found = []
    for n, kind in enumerate(kinds):
        for seed in seeds:
            k = (1, unit.k, max(unit.k - 1, 1), 2 * unit.k, 3 * unit.k)[(n + seed) % 5]
            a, b, c = operand_arrays(algorithm, kind, (2, k, 2), seed)
            d = multiply(algorithm, unit, a, b, c)
            for i in range(2):
                operands = element(a, b, c, i, i)
                on_integers = trace(Plan(unit, algorithm), operands).d
                expected = reference_algorithm(algorithm, unit, operands)
                nan = is_nan(on_integers, algorithm.operand_format.name)
                if d[i, i] != on_integers or (NAN if nan else on_integers) != expected:
                    found.append(f"{kind} k={k} {operands}: {d[i, i]:#x} {on_integers:#x} {expected:#x}")
    return found


FIRST = {a.base_name: n for n, (a, _) in reversed([*enumerate(CASES)])}.values()
"""Numbers of the first case of each algorithm, which the quick tier runs."""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(n, id=f"{a.name}-{u.name}", marks=() if n in FIRST else pytest.mark.middle)
        for n, (a, u) in enumerate(CASES)
    ],
)
def test_integers_and_arrays_are_what_the_reference_returns(case):
    algorithm, unit = CASES[case]
    some = kinds_for(algorithm, unit)[case % 3 :: 3]
    assert differences(algorithm, unit, some, range(case, case + 1)) == []


FIRST_OF_UNIT = {u.name: n for n, (_, u) in reversed([*enumerate(CASES)])}.values()
"""Numbers of the first case of each unit: the others have nothing new for native code, which computes units alone."""


@pytest.mark.few(1)
@pytest.mark.slow_values(
    "ootomo-yokota-bf16-cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
    "ootomo-yokota-cpu/tdpfp16ps.m16n16k32.f32.f16.f16.f32",
)
@needs_native
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            n,
            id=f"{a.name}-{u.name}",
            marks=() if n in FIRST else pytest.mark.middle if n in FIRST_OF_UNIT else pytest.mark.slow,
        )
        for n, (a, u) in enumerate(CASES)
    ],
)
def test_units_in_native_code_return_the_same(monkeypatch, case):
    algorithm, unit = CASES[case]
    for kind in kinds_for(algorithm, unit)[case % 2 :: 2]:
        operands = operand_arrays(algorithm, kind, (9, 2 * unit.k, 20), case)
        monkeypatch.setenv("MMAPROOF_BACKEND", "arrays")
        expected = multiply(algorithm, unit, *operands)
        monkeypatch.setenv("MMAPROOF_BACKEND", "native")
        assert (multiply(algorithm, unit, *operands) == expected).all(), kind


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "unit"), CASES, ids=lambda x: x.name)
def test_many_operands_agree(algorithm, unit):
    assert differences(algorithm, unit, kinds_for(algorithm, unit), range(100, 110)) == []


SMALL = {"plain": VOLTA, "markidis-a": VOLTA, "markidis": VOLTA, "ootomo-yokota": VOLTA, "promoted": CDNA1}
SMALL |= {
    "ootomo-yokota-tf32": TF32,
    "3xtf32": TF32,
    "3xtf32-staged": TF32,
    "slices": INT8,
    "slices-fp8": VOLTA,
    "residues": INT8,
}
SMALL |= dict.fromkeys(("bf16x3", "bf16x6", "bf16x9", "ootomo-yokota-bf16"), BF16)


@pytest.mark.middle
@pytest.mark.parametrize("name", ALGORITHMS)
def test_terms_of_constants_are_what_integers_return(name):
    algorithm, unit, algebra, k = find_algorithm(name), find_design(SMALL[name]), TermAlgebra(), 2
    words = [algebra.symbol(f"{name}_{i}", 32) for i in range(2 * k + 1)]
    numbers = [as_number(OPERANDS, x) for x in words]
    plan = Plan(unit, algorithm)
    elements = Elements(numbers[:k], numbers[k : 2 * k], numbers[-1])
    d = run(Arithmetic(algebra), plan.schedule(k), elements).word.data
    for kind in ("moderate", "ties", "next to underflow of fp16"):
        operands = random_operands(kind, k, 0)
        patterns = (*operands.a, *operands.b, operands.c)
        constants = {w.data: BV(x, 32) for w, x in zip(words, patterns, strict=True)}
        assert d.substitute(constants).simplify().constant_value() == trace(plan, operands).d, kind


def test_every_algorithm_and_every_choice_is_tried():
    tried = [a for a, _ in CASES]
    assert {a.base_name for a in tried} == set(ALGORITHMS)
    for kind in {type(a) for a in tried}:
        for name, choice in kind.choices().items():
            values = {getattr(a, name) for a in tried if type(a) is kind}
            if isinstance(choice.values, type) and issubclass(choice.values, StrEnum):
                assert values == set(choice.values), name
            else:
                assert len(values) > 1, name
