"""Many designs on the same operands: what they share is computed once, and each result is that of its design alone."""

import dataclasses
import itertools

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.identify.space import Behaviour, Interface, default_axes, variants
from mmaproof.smt import evaluate
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import SharedBatch, evaluate_batch, evaluate_on_arrays
from mmaproof.smt.joint import JointDesigns
from mmaproof.smt.semantics import unit
from mmaproof.smt.trace import trace
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

FP8 = Interface.parse("f32.e4m3.e4m3.f32", 8)
FP16 = Interface.parse("f32.f16.f16.f32", 8)
SCALED = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
READINGS = ("subnormals", "flushed_sign", "widening")
"""What elements are read by."""


def rows_for(design, rows=40):
    rng = np.random.default_rng(3)
    batch = OperandBatch.concatenate([draw(name, design, rows, design.k, rng) for name in DISTRIBUTIONS])
    if not design.d_format.is_integer:
        # products of negative subnormals and one, and c = -0: what is flushed, and its sign, is all that d shows
        for row, of_a, of_b in ((0, True, False), (1, False, True), (2, True, True)):
            for x, fmt, low in ((batch.a, design.a_format, of_a), (batch.b, design.b_format, of_b)):
                x[row] = 1 if low else fmt.encode(1)
            batch.a[row] |= batch.a.dtype.type(1 << design.a_format.sign_position)
            batch.c[row] = 1 << design.c_format.sign_position
    return batch


def readers(name="ada/mma.m16n8k32.f32.e4m3.e4m3.f32", interface=FP8):
    """Designs that read their elements in every way, and differ in nothing else."""
    behaviour = Behaviour.of(find_design(name)).change(L=4).at_length(interface.k)
    found = [behaviour, *variants(behaviour, READINGS, default_axes(interface), interface)]
    assert len(found) >= 9
    return list(map(interface.design, found))


def several():
    """Designs that differ in one stage each."""
    behaviour = Behaviour.of(find_design("ada/mma.m16n8k32.f32.e4m3.e4m3.f32")).change(L=8).at_length(FP8.k)
    axes = default_axes(FP8)
    found = [behaviour]
    for names in (("L",), ("rho",), ("alignment",), ("join",), ("summation",), ("zero_c",), ("overflow",)):
        found += itertools.islice(variants(behaviour, names, axes, FP8), 4)
    return list(map(FP8.design, found))


@pytest.mark.middle
@pytest.mark.parametrize(("unit", "kinds"), [((), 5), (("cdna2/v_mfma_f32_32x32x8f16", FP16), 6)], ids=["fp8", "fp16"])
def test_designs_on_shared_rows_return_what_they_return_alone(unit, kinds):
    designs = readers(*unit)
    rows = rows_for(designs[0])
    shared = SharedBatch.of(rows)
    alone = [evaluate_on_arrays(x, rows) for x in designs]
    # everything that elements are read by shows in d, of one unit or the other
    assert len({x.tobytes() for x in alone}) == kinds
    for design, expected in zip([*designs, designs[0]], [*alone, alone[0]], strict=True):
        np.testing.assert_array_equal(evaluate_batch(design, shared, backend=Backend.ARRAYS), expected)


def test_shared_rows_with_scales_and_of_integers():
    for design in (SCALED, find_design("turing/mma.m8n8k16.s32.s8.s8.s32")):
        rows = rows_for(design, 8)
        shared = SharedBatch.of(rows)
        for _ in range(2):
            np.testing.assert_array_equal(evaluate_on_arrays(design, shared), evaluate_on_arrays(design, rows))


def test_shared_rows_are_read_once(monkeypatch):
    design = readers()[0]
    shared = SharedBatch.of(rows_for(design, 2))
    read = []
    monkeypatch.setattr(unit, "_factors", lambda *x, before=unit._factors: read.append(x) or before(*x))
    for bits in (20, 21, 22):
        other = dataclasses.replace(design, step=dataclasses.replace(design.step, fraction_bits=bits))
        evaluate_on_arrays(other, shared)
    assert len(read) == design.k


def test_operands_of_one_element_are_read_once(monkeypatch):
    """A witness is held against all readings of two units, and most of its elements are zero."""
    design = readers()[0]
    given = Operands((0x3C,) * 3 + (0,) * (design.k - 3), (0x3C,) * 3 + (0,) * (design.k - 3), 5)
    read = []
    monkeypatch.setattr(unit, "_factors", lambda *x, before=unit._factors: read.append(x) or before(*x))
    for bits in (20, 21, 22):
        trace(dataclasses.replace(design, step=dataclasses.replace(design.step, fraction_bits=bits)), given)
    assert len(read) == 2


def test_more_rows_than_are_shared_at_once(monkeypatch):
    monkeypatch.setattr(evaluate, "CHUNK_ROWS", 16)
    design = readers()[0]
    rows = rows_for(design, 5)
    np.testing.assert_array_equal(evaluate_on_arrays(design, SharedBatch.of(rows)), evaluate_on_arrays(design, rows))


@pytest.mark.few(1)
@pytest.mark.parametrize("made", [readers, several, lambda: [SCALED, SCALED]], ids=["readings", "stages", "scales"])
def test_designs_in_one_graph_return_what_they_return_alone(made):
    designs = made()
    joint = JointDesigns(designs[0], designs[0].k)
    nodes = [joint.add(x) for x in designs]
    rows = rows_for(designs[0], 12)
    for design, d in zip(designs, joint.results(nodes, rows), strict=True):
        np.testing.assert_array_equal(d, evaluate_on_arrays(design, rows))
        assert d.dtype == evaluate_on_arrays(design, rows).dtype


def test_designs_in_one_graph_share_nodes():
    design = readers()[0]
    joint = JointDesigns(design, design.k)
    first = joint.add(design)
    assert joint.add(design) is first
    other = dataclasses.replace(design, step=dataclasses.replace(design.step, fraction_bits=20))
    assert joint.add(other) is not first


def test_numbers_of_more_than_128_bits():
    design = find_design("cdna1/v_mfma_f32_16x16x8bf16")
    assert JointDesigns(design, design.k).add(design) is None


def test_designs_of_other_formats_are_refused():
    joint = JointDesigns(SCALED, SCALED.k)
    with pytest.raises(DesignError, match="has other formats"):
        joint.add(readers()[0])
