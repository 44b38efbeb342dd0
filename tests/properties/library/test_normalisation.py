"""Normalisation of partial sums: shown absent by the inputs of Fasi et al. and by others that are found."""

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import Operands
from mmaproof.generators.check import check
from mmaproof.generators.distributions import from_float64
from mmaproof.properties.library import find_property
from mmaproof.properties.run_question import Scope
from mmaproof.smt.evaluate import evaluate

VOLTA = "volta/f32.f16.f16.f32"
NAMES = ("normalised-in-addition", "normalised-in-subtraction")


def operands(design, products, c):
    def patterns(fmt, values):
        return tuple(int(x) for x in from_float64(fmt, np.array(values, dtype=float)))

    rest = [0.0] * (design.k - len(products))
    ones = [1.0] * len(products)
    return Operands(
        patterns(design.a_format, [*ones, *rest]),
        patterns(design.b_format, [*products, *rest]),
        patterns(design.c_format, [c])[0],
    )


@pytest.mark.parametrize("name", NAMES)
def test_mutants_come_out_the_other_way(name):
    asked = find_property(name)
    specimen = find_design(asked.specimen)
    answers = [check(name, d) for d in (specimen, asked.mutant(specimen))]
    assert [x.verdict for x in answers] == ["violated", "holds"]
    unit, twin = answers[0].finding.runs
    assert unit.d != twin.d
    assert (evaluate(unit.design, unit.operands), evaluate(twin.design, twin.operands)) == (unit.d, twin.d)


@pytest.mark.parametrize(
    ("name", "products", "c"),
    [
        ("normalised-in-addition", [2.0**-24] * 4, 1 - 2.0**-24),
        ("normalised-in-subtraction", [1.0, -(2.0**-24)], -1 + 2.0**-24),
    ],
)
def test_the_inputs_of_fasi_are_witnesses(name, products, c):
    design = find_design(VOLTA)
    question = find_property(name).question(design, Scope())
    given = operands(design, products, c)
    assert question.is_refuted_by(given)
    unit, twin = question.witness_runs(given)
    expected = {"normalised-in-addition": (0x3F800001, 0x3F800000), "normalised-in-subtraction": (0x34000000, 0)}
    assert (unit.d, twin.d)[0] == expected[name][0]
    # normalised after the carry, the other addends are lost; normalised after the cancellation, the last one is not
    assert twin.d == {"normalised-in-addition": 0x3F800000, "normalised-in-subtraction": 0x33800000}[name]


@pytest.mark.parametrize(
    "design", ["turing/f32.f16.f16.f32", "ampere/m16n8k16.f32.bf16.bf16.f32", "hopper/wgmma.f32.f16.f16"]
)
@pytest.mark.parametrize("name", NAMES)
def test_tensor_cores_do_not_normalise(name, design):
    assert check(name, find_design(design)).verdict == "violated"


@pytest.mark.parametrize("name", NAMES)
def test_other_units_are_refused_with_the_reason(name):
    with pytest.raises(DesignError, match="one fused sum"):
        check(name, find_design("cdna2/v_mfma_f32_32x32x8f16"))
