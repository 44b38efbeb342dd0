"""The symbolic interpretation, with constants substituted, against the integer one."""

import pytest
from pysmt.environment import get_env
from support.sampling import basic_operands, distinct_designs, others_are_slow

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.trace import evaluate

SETTINGS = (
    "zero_c=B,zero_product=B,floor=-132",
    "zero_c=C,zero_product=C,e_zero=-20,c_subnormal=B",
    "zero_c=natural,zero_product=natural,c_subnormal=B",
    "alignment=jam,fraction_bits=10,overflow=B",
    "alignment=floor,carry_bits=0,negative_zero=B",
    "product_exponent=normalised,carry_bits=1,chain_infinity=B,L=2",
    "rho=rna-fp32,subnormals=operands-of-a",
    "alignment=nearest,fraction_bits=10,carry_bits=1,L=2",
    "rho=rtn-fp32,subnormals=flushed,zero_sum=ieee,L=2",
    "rho=rtp-fp32,subnormals=results,alignment=jam,L=2",
)
OTHER_FAMILIES = (
    "cdna2/v_mfma_f32_32x32x8bf16_1k@rho=rtn-fp32,subnormals=operands",
    "paper/tree.m1n1k4.f32.f16.f16.f32@rho=rz-fp32,overflow=largest-finite,subnormals=accumulator",
    "cdna3/v_mfma_f32_32x32x8_bf16@rho=rtp-fp32,subnormals=flushed",
    "ampere/f16.f16.f16.f16@rho=rna-fp16,subnormals=results",
    "riscv/bulk.m1n1k4.f32.bf16.f16.f32@rho=rtn-fp32,subnormals=flushed",
    "cdna3/v_mfma_f32_16x16x32_fp8_bf8@late_alignment=nearest,late_bits=24",
    "paper/sequential.f32.f16.f16.f32@rho=rna-fp32,subnormals=results",
)


def check(design: Design, rows: int) -> None:
    algebra = TermAlgebra()
    a, b, c, d = design.formats
    columns = [("a", a, design.k), ("b", b, design.k), ("c", c, 1)]
    if design.scale_format is not None:
        columns += [(x, design.scale_format, design.blocks(design.k)) for x in ("scale_a", "scale_b")]
    words = [[algebra.symbol(f"{x}{i}_{f.name}", f.bits) for i in range(n)] for x, f, n in columns]
    result = dot_product_accumulate(design, algebra, OperandWords(words[0], words[1], words[2][0], *words[3:])).d
    assert result.width == d.bits
    terms = get_env().formula_manager
    for batch in basic_operands(design, rows).values():
        for i in range(len(batch)):
            operands = batch.row(i)
            values = [*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b]
            symbols = [w.data for column in words for w in column]
            constants = {s: terms.BV(v, s.symbol_type().width) for s, v in zip(symbols, values, strict=True)}
            value = result.data.substitute(constants).simplify()
            assert value.is_bv_constant()
            assert value.constant_value() == evaluate(design, operands), operands


@pytest.mark.few(1)
@pytest.mark.parametrize("design", others_are_slow(distinct_designs()))
def test_constants_give_what_integers_give(design):
    check(design, 5)


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ampere/f32.bf16.bf16.f32", marks=pytest.mark.middle),
        "turing/f32.f16.f16.f32",
        pytest.param("ada/f32.e4m3.e5m2.f32", marks=pytest.mark.middle),
    ],
)
def test_readings_too(name, settings):
    check(find_design(f"{name}@{settings}"), 10)


@pytest.mark.middle
@pytest.mark.parametrize("name", OTHER_FAMILIES)
def test_readings_of_other_families_too(name):
    check(find_design(name), 10)
