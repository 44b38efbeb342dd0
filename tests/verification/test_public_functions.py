"""The public functions take names in the place of what they name; results are short in words, and arrays come out."""

import numpy as np
import pytest

import mmaproof
from mmaproof import find_algorithm, find_design, find_target
from mmaproof.designs.operands import OperandBatch

VOLTA, TURING = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
FIRST = find_design(VOLTA)
ONE = mmaproof.Operands((0x3C00,) * 4, (0x3C00,) * 4, 0)
BATCH = OperandBatch.of_rows(FIRST.formats, [ONE])
FP32 = np.ones((4, 4), dtype=np.uint32)


CALLS = {
    "compare": lambda volta, turing, plain, target: mmaproof.compare(volta, turing, k=8).witness,
    "check": lambda volta, turing, plain, target: mmaproof.check("nan-code", volta).verdict,
    "evaluate": lambda volta, turing, plain, target: mmaproof.evaluate(volta, ONE),
    "trace": lambda volta, turing, plain, target: mmaproof.trace(volta, ONE).d.data,
    "evaluate_batch": lambda volta, turing, plain, target: mmaproof.evaluate_batch(volta, BATCH).tolist(),
    "multiply": lambda volta, turing, plain, target: mmaproof.multiply(plain, volta, FP32, FP32, FP32).tolist(),
    "dot": lambda volta, turing, plain, target: mmaproof.dot(volta, *ONE.arrays(volta)).tolist(),
    "replay": lambda volta, turing, plain, target: mmaproof.replay([], target).rows,
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CALLS)
def test_names_stand_for_what_they_name(name):
    by_name = CALLS[name](VOLTA, TURING, "plain", f"model:{VOLTA}")
    meant = FIRST, find_design(TURING), find_algorithm("plain"), find_target(f"model:{VOLTA}")
    assert by_name == CALLS[name](*meant)


def test_unknown_names_are_said():
    with pytest.raises(mmaproof.designs.errors.DesignError, match="unknown architecture 'vlta'"):
        mmaproof.compare("vlta/f32.f16.f16.f32", TURING)


def test_a_witness_as_arrays_shows_the_difference():
    answer = mmaproof.compare(VOLTA, TURING)
    arrays = answer.witness.arrays(VOLTA)
    assert [x.dtype for x in arrays] == [np.float16, np.float16, np.float32]
    results = {mmaproof.find_design(x).name: mmaproof.dot(x, *arrays).view(np.uint32).item() for x in (VOLTA, TURING)}
    assert results == answer.outputs


def test_scales_are_arrays_too():
    design = next(x for x in mmaproof.load_catalogue().designs.values() if x.scale_format is not None)
    length, blocks = design.k, design.blocks(design.k)
    operands = mmaproof.Operands((0,) * length, (0,) * length, 0, (1,) * blocks, (2,) * blocks)
    arrays = operands.arrays(design)
    assert [x.shape for x in arrays] == [(length,), (length,), (), (blocks,), (blocks,)]
    assert mmaproof.dot(design, *arrays).shape == ()


def test_operands_of_another_design_are_refused():
    with pytest.raises(mmaproof.designs.errors.InputError):
        mmaproof.Operands((0,), (0, 0), 0).arrays(VOLTA)


def test_results_are_short_in_words():
    answer = mmaproof.compare(VOLTA, TURING)
    assert repr(FIRST) == f"<{FIRST.name}>"
    assert repr(answer) == f"<different: {FIRST.name} and {find_design(TURING).name}, k = 8>"
    assert repr(mmaproof.check("nan-code", VOLTA)).startswith("<holds: nan-code on volta/")


def test_the_patterns_of_a_witness_are_numbers():
    operands = mmaproof.Operands((0x3C00, 0x38AB), (0x3483, 0), 0xC0000000)
    assert mmaproof.array_of(operands.a, "fp16").tolist() == [1.0, 0x4AB / 2048]
    assert mmaproof.array_of(operands.c, "fp32") == -2
    with pytest.raises(mmaproof.designs.errors.OperandError, match=r"write operands.arrays\(DESIGN\)"):
        mmaproof.array_of(operands, "fp16")
    for refused in ([-1], [1 << 16], [1.0], np.array([1], dtype=np.int16)):
        with pytest.raises(mmaproof.designs.errors.OperandError):
            mmaproof.array_of(refused, "fp16")


PLAN = "hopper/wgmma.m64n8k16.f32.bf16.bf16"
REPRESENTATIONS = {
    "<fp16>": lambda: mmaproof.find_format("fp16"),
    f"<{PLAN} | split-k=2>": lambda: mmaproof.read_plan(f"{PLAN} | split-k=2"),
    "<markidis@rounding=rz>": lambda: mmaproof.find_algorithm("markidis@rounding=rz"),
    "<residues>": lambda: mmaproof.find_algorithm("residues"),
    f"<tolerance of {PLAN}, k = 64, finite>": lambda: mmaproof.tolerance(PLAN, 64, "finite"),
    f"<different: {PLAN} and {PLAN} | split-k=2, k = 32>": lambda: mmaproof.compare_plans(PLAN, f"{PLAN} | split-k=2"),
    "Operands(a=(0x3c00,), b=(0x0,), c=0x1)": lambda: mmaproof.Operands((0x3C00,), (0,), 1),
}


@pytest.mark.parametrize("text", REPRESENTATIONS)
def test_what_is_returned_shows_itself_in_a_line(text):
    shown = repr(REPRESENTATIONS[text]())
    assert shown == text
    if text.startswith("Operands"):
        assert eval(shown, {"Operands": mmaproof.Operands}) == mmaproof.Operands((0x3C00,), (0,), 1)
