"""Attributes of StableHLO, TOSA and ONNX as spellings of plans, and the readings that they leave open."""

import re
from pathlib import Path

import numpy as np
import pytest

from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import pattern_dtype
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import multiply_plan

PAGE = (Path(__file__).parents[4] / "docs/conformance.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| (.+?) \| (.+?) \| `(.+?)` (0x\w+) \| `(.+?)` (0x\w+) \| (0x.+?) \| (0x.+?) \| (0x\w+) \|")
OPEN = [row.groups() for row in map(ROW.fullmatch, PAGE.splitlines()) if row is not None]
"""The table of readings that attributes leave open."""
K = 32

BF16, TF32 = "ampere/m16n8k16.f32.bf16.bf16.f32", "ampere/m16n8k8.f32.tf32.tf32.f32"
HOPPER, BLACKWELL = "hopper/wgmma.f32.e4m3.e4m3", "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
XDNA = "xdna1/vmac.m4n4k4.s64.s16.s16.s64"
FP16 = "ampere/m16n8k16.f16.f16.f16.f16"


def attribute(first, second, total, count=1, imprecise="false", components=1, head="#stablehlo.dot_algorithm"):
    """The algorithm as MLIR prints it."""
    return (
        f"{head}<lhs_precision_type = {first}, rhs_precision_type = {second}, accumulation_type = {total}, "
        f"lhs_component_count = {components}, rhs_component_count = 1, num_primitive_operations = {count}, "
        f"allow_imprecise_accumulation = {imprecise}>"
    )


@pytest.mark.parametrize(
    ("plan", "means"),
    [
        (f"{TF32} | dot_algorithm=TF32_TF32_F32_X3", f"{TF32} | algorithm=3xtf32"),
        (f"{TF32} | dot_algorithm=TF32_TF32_F32 | c=none", f"{TF32} | c=none"),
        (f"{BF16} | dot_algorithm=BF16_BF16_F32_X3", f"{BF16} | algorithm=bf16x3"),
        (f"{BF16} | dot_algorithm=bf16_bf16_f32_x6 | out=bf16", f"{BF16} | algorithm=bf16x6 | out=bf16"),
        (f"{BF16} | dot_algorithm=ALG_DOT_BF16_BF16_F32_X9", f"{BF16} | algorithm=bf16x9"),
        (f"{HOPPER} | dot_algorithm=ANY_F8_ANY_F8_F32_FAST_ACCUM", HOPPER),
        (f"{BLACKWELL} | dot_algorithm=ANY_F8_ANY_F8_F32", BLACKWELL),
        ("cpu/vfmadd231ps | dot_algorithm=F32_F32_F32", "cpu/vfmadd231ps"),
        (f"{TF32} | dot_algorithm={attribute('tf32', 'tf32', 'f32', 3)}", f"{TF32} | algorithm=3xtf32"),
        (f"{BF16} | dot_algorithm={attribute('bf16', 'bf16', 'f32')} | out=bf16", f"{BF16} | out=bf16"),
        (f"{HOPPER} | dot_algorithm={attribute('f8E4M3FN', 'f8E4M3FN', 'f32', 1, 'true')}", HOPPER),
        (f"cpu/vfmadd231pd | dot_algorithm=\n{attribute('f64', 'f64', 'f64', head='')}", "cpu/vfmadd231pd"),
        (f"{FP16} | acc_type=FP16 | dot_algorithm=F16_F16_F16", FP16),
        (f"{BF16} | acc_type=fp32 | out=bf16", f"{BF16} | out=bf16"),
        ("cpu/vpdpbusd | acc_type=INT32", "cpu/vpdpbusd"),
        (f"{XDNA} | acc_type=INT48", XDNA),
        ("cpu/vpdpbusd | onnx=MatMulInteger", "cpu/vpdpbusd"),
        (f"{BF16} | onnx=Gemm", f"{BF16} | c=last:bf16 | out=bf16"),
        (f"{BF16} | onnx=Gemm:transB=1, alpha=0.5, beta=0", f"{BF16} | c=none | alpha=0.5 | out=bf16"),
        (f"{FP16} | onnx=Gemm:beta=2", f"{FP16} | c=last:fp16 | beta=2 | out=fp16"),
        ("cpu/vfmadd231pd | onnx=Gemm:beta=0.0", "cpu/vfmadd231pd | c=none"),
        (f"{HOPPER} | onnx=GemmFloat8", f"{HOPPER} | c=none"),
        (f"{HOPPER} | onnx=GemmFloat8:dtype=17,beta=1", f"{HOPPER} | c=last:fp32 | out=e4m3"),
        ("cpu/vfmadd231ps | cast=e4m3", "cpu/vfmadd231ps | out=e4m3:rne:saturate"),
        ("cpu/vfmadd231ps | cast=e4m3:saturate=0", "cpu/vfmadd231ps | out=e4m3:rne:nan"),
        ("cpu/vfmadd231ps | cast=float8_e5m2:saturate=0", "cpu/vfmadd231ps | out=e5m2:rne:infinity"),
        ("cpu/vfmadd231ps | cast=e5m2fnuz:saturate=1", "cpu/vfmadd231ps | out=e5m2fnuz:rne:saturate/nan"),
    ],
)
def test_an_attribute_is_a_spelling(plan, means):
    assert read_plan(plan) == read_plan(means)
    assert read_plan(read_plan(plan).name) == read_plan(means)


@pytest.mark.parametrize(
    ("plan", "kind", "problem"),
    [
        (f"{BF16} | dot_algorithm=TF32_TF32_F32", DesignError, "a is bf16, and tf32 is needed"),
        (f"{FP16} | dot_algorithm=F16_F16_F32", DesignError, "the sum is fp16, and fp32 is needed"),
        (f"{BF16} | dot_algorithm=ANY_F8_ANY_F8_F32", DesignError, "a is bf16, and a float of 8 bits is needed"),
        (f"{HOPPER} | dot_algorithm=ANY_F8_ANY_F8_F32", DesignError, "keeps 13 of the 23 fraction bits"),
        (f"{BF16} | dot_algorithm=BF16_BF16_F32_X4", InputError, "4 products of words of bf16 are not an algorithm"),
        (f"{FP16} | dot_algorithm=F16_F16_F16_X3", InputError, "3 products of words of fp16 are not an algorithm"),
        (f"{BF16} | dot_algorithm=DEFAULT", InputError, "A_B_SUM"),
        (f"{BF16} | dot_algorithm=BF16_BF16_Q32", InputError, "unknown format 'q32'"),
        (f"{BF16} | dot_algorithm=BF16_BF16_F32_X3 | algorithm=bf16x3", InputError, "algorithm is given twice"),
        (f"{BF16} | dot_algorithm=BF16_BF16_F32 | dot_algorithm=BF16_BF16_F32_X3", InputError, "given twice"),
        (f"{BF16} | dot_algorithm={attribute('tf32', 'tf32', 'f32', 3)}", DesignError, "a is bf16, and tf32 is needed"),
        (f"{HOPPER} | dot_algorithm={attribute('f8E5M2', 'f8E4M3FN', 'f32', 1, 'true')}", DesignError, "a is e4m3"),
        (f"{HOPPER} | dot_algorithm={attribute('f8E4M3FN', 'f8E4M3FN', 'f32')}", DesignError, "keeps 13 of the 23"),
        (
            f"{BF16} | dot_algorithm={attribute('bf16', 'bf16', 'f32', 3, components=2)}",
            InputError,
            "as MLIR prints it",
        ),
        (f"{BF16} | dot_algorithm={attribute('bf16', 'bf16', 'f32', 3)[:-8]}>", InputError, "as MLIR prints it"),
        (
            f"{BF16} | dot_algorithm=<lhs_precision_type = bf16>",
            InputError,
            "as MLIR prints it",
        ),
        (f"{BF16} | dot_algorithm={attribute('bf16', 'bf16', 'f32')[:-1]}", InputError, "as MLIR prints it"),
        (f"{BF16} | dot_algorithm={attribute('bf16', 'bf16', 'f32')}_X3", InputError, "as MLIR prints it"),
        (f"{BLACKWELL} | dot_algorithm={attribute('ANY_F8', 'ANY_F8', 'f32')}", InputError, "as MLIR prints it"),
        (f"{BLACKWELL} | dot_algorithm={attribute('any_f8', 'any_f8', 'f32')}", InputError, "unknown format 'any_f8'"),
        (f"{BF16} | cast=e4m3 | out=bf16", InputError, "out is given twice"),
        (f"{BF16} | cast=bf16", InputError, "one of e4m3, e5m2"),
        (f"{BF16} | cast=e4m3:saturate=2", InputError, "FORMAT"),
        (f"{BF16} | acc_type=FP16", DesignError, "the sum is fp32, and fp16 is needed"),
        ("cpu/vpdpbusd | acc_type=INT48", DesignError, "the sum is int32, and int64 is needed"),
        ("cpu/vpdpbusd | acc_type=INT8", InputError, "one of FP16, FP32, INT32, INT48"),
        (
            "cpu/vpdpbusd | onnx=QLinearMatMul",
            InputError,
            "converts sums of MatMulInteger to 8 bits, which no plan does",
        ),
        ("cpu/vpdpbusd | onnx=Gemm", DesignError, "a is uint8"),
        ("cpu/vpdpbusd | onnx=MatMulInteger:alpha=1", InputError, "each once"),
        ("cpu/vpdpwssd | onnx=MatMulInteger", DesignError, "a is int16, and an integer of 8 bits is needed"),
        (f"{XDNA} | onnx=MatMulInteger", DesignError, "a is int16"),
        (f"{TF32} | onnx=Gemm", DesignError, "a is tf32, and one of fp64, fp32, fp16, bf16 is needed"),
        (f"{BF16} | onnx=Gemm:gamma=1", InputError, "each once"),
        (f"{BF16} | onnx=Gemm:alpha=1,alpha=2", InputError, "each once"),
        (f"{BF16} | onnx=Gemm:alpha", InputError, "each once"),
        (f"{BF16} | onnx=Gemm:alpha=x", InputError, "alpha=x is not allowed"),
        (f"{BF16} | onnx=Gemm:beta=inf", InputError, "beta=inf is not allowed"),
        (f"{BF16} | onnx=Gemm | c=none", InputError, "c is given twice"),
        (f"{BF16} | onnx=Gemm:alpha=2 | alpha=2", InputError, "alpha is given twice"),
        (f"{HOPPER} | onnx=GemmFloat8:dtype=3", InputError, "dtype of 1, 10, 16, 17, 19"),
        (f"{HOPPER} | onnx=GemmFloat8:activation=RELU", InputError, "activation=NONE"),
        ("xdna2/vmac | onnx=GemmFloat8", DesignError, "a is e1m6"),
        ("cdna3/v_mfma_f32_32x32x16_fp8_fp8 | onnx=GemmFloat8", DesignError, "a is e4m3fnuz"),
    ],
)
def test_what_an_attribute_excludes_is_refused(plan, kind, problem):
    with pytest.raises(kind, match=problem):
        read_plan(plan)


def elements(text: str, fmt) -> np.ndarray:
    """K elements of a row: patterns, 0x0*7 for seven zeros, and zeros after them."""
    found = [
        int(x, 16) for part in text.split() for x, _, count in [part.partition("*")] for _ in range(int(count or 1))
    ]
    return np.array(found + [0] * (K - len(found)), dtype=pattern_dtype(fmt))


@pytest.mark.parametrize("row", OPEN, ids=lambda row: row[0])
def test_operands_tell_two_readings_apart(row):
    _, _, one, d, other, other_d, a, b, c = row
    assert int(d, 16) != int(other_d, 16)
    for spelled, expected in ((one, d), (other, other_d)):
        plan = read_plan(spelled.replace("\\|", "|"))
        formats = plan.formats
        start = np.array([[int(c, 16)]], dtype=pattern_dtype(formats[2]))
        found = multiply_plan(plan, elements(a, formats[0])[None, :], elements(b, formats[1])[:, None], start)
        assert formats[3].hex(int(found[0, 0])) == expected, spelled


def test_every_reading_of_the_page_is_a_row_of_this_test():
    after = PAGE.split("## What these attributes leave open")[1].split("\n## ")[0]
    rows = [x for x in after.splitlines() if x.startswith("| ") and not x.startswith("| reading")]
    assert len(rows) == len(OPEN) == 25
