"""The integer interpretation against the exact-rational reference, which shares no code with it."""

import numpy as np
import pytest
from reference.designs import reference_result
from sampling import basic_operands, distinct_designs, fp16_design

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.parameters import DEFINITIONS, IntegerRange
from mmaproof.generators.distributions import DISTRIBUTIONS, draw
from mmaproof.smt.evaluate import evaluate, evaluate_batch


def differences(design: Design, rows: int) -> list[str]:
    """Rows on which reference, integers and arrays are not all the same."""
    found = []
    for distribution, batch in basic_operands(design, rows).items():
        arrays = evaluate_batch(design, batch).tolist()
        for i, from_arrays in enumerate(arrays):
            operands = batch.row(i)
            reference, integers = reference_result(design, operands), evaluate(design, operands)
            if not reference == integers == from_arrays:
                found.append(f"{distribution} row {i}: {reference:#x} {integers:#x} {from_arrays:#x} {operands}")
    return found


@pytest.mark.parametrize("design", distinct_designs(), ids=lambda d: d.name)
def test_every_design_agrees_on_2000_operands(design):
    assert differences(design, 2_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("design", distinct_designs(), ids=lambda d: d.name)
def test_every_design_agrees_on_100000_operands(design):
    assert differences(design, 100_000) == []


def test_the_designs_left_out_are_the_same_arithmetic():
    kept = {(d.formats, d.k, d.parameters) for d in distinct_designs()}
    assert {(d.formats, d.k, d.parameters) for d in load_catalogue().designs.values()} == kept


BASES = ("ampere/f32.bf16.bf16.f32", "ampere/f16.f16.f16.f16", "hopper/wgmma.f32.e5m2.e5m2", "volta/f32.f16.f16.f16")
INTEGERS = {"L": (1, 2, 4), "fraction_bits": (3, 10, 24, 40), "e_zero": (-133, -20), "floor": (None, -132, -20, 3)}
INTEGERS["carry_bits"] = (None, 0, 1, 2)


def random_settings(rng: np.random.Generator) -> dict[str, object]:
    settings = {}
    for name, definition in DEFINITIONS.items():
        if name in ("rho", "zero_sum", "nan_code") or rng.random() < 0.4:
            continue
        choices = INTEGERS[name] if isinstance(definition.values, IntegerRange) else list(definition.values)
        settings[name] = choices[rng.integers(len(choices))]
    return settings


@pytest.mark.parametrize("seed", range(60))
def test_any_combination_of_parameters_agrees(seed):
    rng = np.random.default_rng(seed)
    design = find_design(BASES[seed % len(BASES)]).change(**random_settings(rng))
    for name in DISTRIBUTIONS:
        batch = draw(name, design, 25, design.k * (1 + seed % 2), rng)
        arrays = evaluate_batch(design, batch).tolist()
        for i, from_arrays in enumerate(arrays):
            operands = batch.row(i)
            assert reference_result(design, operands) == evaluate(design, operands) == from_arrays, (design.name, name)


@pytest.mark.parametrize("k", [1, 3, 16, 48])
def test_lengths_other_than_the_instructions(k):
    design = find_design("ampere/f32.f16.f16.f32")
    for batch in basic_operands(design, 100, k=k).values():
        for i, from_arrays in enumerate(evaluate_batch(design, batch).tolist()):
            operands = batch.row(i)
            assert reference_result(design, operands) == evaluate(design, operands) == from_arrays


@pytest.mark.parametrize("length", [4, 8, 16, 32])
def test_one_carry_bit_too_few_is_noticed_by_the_reference(length):
    from mmaproof.designs.operands import Operands
    from mmaproof.smt.semantics.widths import sum_widths

    design = fp16_design(length)
    enough = sum_widths(design).carry_bits
    # every term at its largest, all at the same exponent: the sum that carry bits are counted for
    operands = Operands((0x7BFF,) * length, (0x3BFF,) * length, 0x46FFFFFF)
    full = reference_result(design, operands)
    assert evaluate(design.change(carry_bits=enough), operands) == full
    fewer = design.change(carry_bits=enough - 1)
    assert evaluate(fewer, operands) == reference_result(fewer, operands) != full
