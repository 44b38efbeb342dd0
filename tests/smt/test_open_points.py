"""Which readings of open points change results: alone, together, of one operand set, of many and of a matrix."""

from itertools import combinations

import numpy as np
import pytest

import mmaproof
from mmaproof import Operands, dot, evaluate, find_design, matmul, open_points
from mmaproof.designs import open_points as readings
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Level
from mmaproof.designs.open_points import levels_of, load_recorded, open_readings
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import complete_settings, format_parameter
from mmaproof.designs.profiles import load_disputes
from mmaproof.hardware_replay import emulation
from mmaproof.smt import evaluate as results
from mmaproof.smt.evaluate import evaluate_batch

BLACKWELL = "blackwell/tcgen05.mma.m64n8k16.f32.bf16.bf16"
A = "9b94 19f3 9a2e 1a67 9a25 9b4e 9b29 9a33 99e0 1a14 9914 99d1 9ae9 1b1a 9a9c 1b3a"
B = "9aaf 99f3 9acc 1b7c 19ed 1b25 9a1b 9a20 9af7 9a48 1ae1 1b32 1b12 1b0e 9a68 1735"
TINY = Operands(tuple(int(x, 16) for x in A.split()), tuple(int(x, 16) for x in B.split()), 0)
"""What an H100 returned 0000000b for: north-numerical-computing/MATLAB-tensor-core#7."""


def tiny_rows(count):
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(size=(count, 16)) * 1e-22).astype(np.float32).view(np.uint32) >> 16 for _ in "ab")
    return OperandBatch(a.astype(np.uint16), b.astype(np.uint16), np.zeros(count, dtype=np.uint32))


def test_a_row_that_a_gpu_of_another_architecture_decided_rests_on_the_exponent_of_zeros():
    found = open_points(BLACKWELL, TINY)
    ways = {evaluate(find_design(BLACKWELL), TINY), *(x.d for x in found.changes)}
    assert ways == {0xA, 0xB}
    assert found.changes[0].reading.points in ((1,), (1, 2))
    assert str(found).startswith(f"0x{evaluate(BLACKWELL, TINY):08x}; 0x")
    assert "open point" in str(found)
    (first, *_) = found.record()["readings"]
    assert first["d"] != first["d_under_reading"]


@pytest.mark.middle
def test_every_reading_that_changes_a_result_is_found():
    """The other results of an operand set are those of all sources as a whole, of each point and of each two."""
    batch = tiny_rows(40)
    for i in range(len(batch)):
        found = open_points(BLACKWELL, batch.row(i))
        own = evaluate(BLACKWELL, batch.row(i))
        every = {evaluate(x.design, batch.row(i)) for x in open_readings(find_design(BLACKWELL))} - {own}
        assert {x.d for x in found.changes} == every
        assert bool(found) == bool(every)


def test_of_many_rows_it_is_counted_how_many_change():
    batch = tiny_rows(300)
    found = open_points(BLACKWELL, batch)
    own = evaluate_batch(BLACKWELL, batch)
    others = [evaluate_batch(x.design, batch) for x in open_readings(find_design(BLACKWELL))]
    changed = np.any([x != own for x in others], axis=0)
    assert (found.results, found.looked_at, found.changed) == (300, 300, int(changed.sum()))
    assert 0 < found.changed < 300
    for change in found.changes:
        d = evaluate_batch(change.reading.design, batch)
        assert (change.count, change.d) == (int((d != own).sum()), int(d[change.first]))
        assert found.d[change.first] == own[change.first] != change.d
    assert f"{found.changed} of 300 results change: " in str(found)


def test_of_too_many_a_sample_is_looked_at_and_said(monkeypatch):
    monkeypatch.setattr(results, "PRODUCTS", 16 * 50)
    found = open_points(BLACKWELL, tiny_rows(300))
    assert (found.results, found.looked_at) == (300, 50)
    assert "of 50 looked at (300 in all) results change" in str(found)
    assert all(0 <= x.first < 300 for x in found.changes)


def test_a_matrix_and_a_plan():
    batch = tiny_rows(12)
    a, b = batch.a[:6], batch.b[6:10].T
    d, found = matmul(BLACKWELL, a, b, open_points=True)
    assert (d == matmul(BLACKWELL, a, b)).all()
    assert (found.results, found.looked_at) == (24, 24)
    assert found.changes
    for change in found.changes:
        other = matmul(change.reading.design, a, b).view(np.uint32).ravel()
        assert int(other[change.first]) == change.d
        assert int(d.view(np.uint32).ravel()[change.first]) == found.d[change.first]
    planned = matmul(f"{BLACKWELL} | out=fp32", a, b, open_points=True)[1]
    assert [(x.first, x.d) for x in planned.changes] == [(x.first, x.d) for x in found.changes]


@pytest.mark.middle
def test_one_result_and_many_along_leading_dimensions(monkeypatch):
    assert evaluate(BLACKWELL, TINY, open_points=True) == (evaluate(BLACKWELL, TINY), open_points(BLACKWELL, TINY))
    batch = tiny_rows(300)
    a, b, c = (x.reshape(30, 10, *x.shape[1:]) for x in (batch.a, batch.b, batch.c))
    d, found = dot(BLACKWELL, a, b, c, open_points=True)
    assert (d == dot(BLACKWELL, a, b, c)).all() and d.shape == (30, 10)
    assert found and found == open_points(BLACKWELL, batch)
    monkeypatch.setattr(emulation, "PRODUCTS", 16 * 50)
    some = dot(BLACKWELL, a, b, c, open_points=True)[1]
    assert (some.results, some.looked_at) == (300, 50)
    for change in some.changes:
        assert change.d == evaluate(change.reading.design, batch.row(change.first))
    one = dot(BLACKWELL, a[0, 0], b[0, 0], c[0, 0], open_points=True)[1]
    assert one == open_points(BLACKWELL, batch.row(0))
    assert not dot(BLACKWELL, a[:0], b[:0], c[:0], open_points=True)[1]


def test_ordinary_operands_rest_on_nothing():
    one = Operands((0x3F80,), (0x3F80,), 0x3F800000)
    assert not open_points(BLACKWELL, one)
    assert str(open_points(BLACKWELL, one)) == ""


@pytest.mark.parametrize("name", [f"{BLACKWELL}@as=fpy", f"{BLACKWELL}@zero_c=absent"])
def test_what_the_user_chose_is_not_open(name):
    design = find_design(name)
    own = design.settings["zero_c"]
    assert all(x.settings.get("zero_c", own) is own for x in open_readings(design))
    assert not design.profile or not open_readings(design)


@pytest.mark.middle
def test_what_recordings_decide_is_not_open():
    seen = 0
    for design in load_catalogue().designs.values():
        decided = {n for n, x in levels_of(design).items() if x.level is Level.RECORDED}
        left = getattr(load_recorded().get(design.evidence.row), "left", {})
        held = complete_settings(design.chain, design.step)
        for reading in open_readings(design):
            for name, value in reading.settings.items():
                assert value == held[name] or name not in decided, (design.name, reading.words)
                text = format_parameter(name, value)
                assert value == held[name] or name not in left or text in left[name], (design.name, reading.words)
                seen += 1
    assert seen


def test_single_points_two_points_and_whole_sources_are_tried():
    design = find_design(BLACKWELL)
    made = {(x.design.chain, x.design.step) for x in open_readings(design)} | {(design.chain, design.step)}
    disputes = load_disputes()
    decided = {n for n, x in levels_of(design).items() if x.level is Level.RECORDED}
    for profile in disputes.sources(design):
        settings = {}
        for point in disputes.points:
            held = disputes.settings(design, profile, point.number)
            settings |= {} if held.keys() & decided else held
        other = design.under_profile(profile, settings)
        assert (other.chain, other.step) in made
    points = {x.points for x in open_readings(design)}
    alone = {x[0] for x in points if len(x) == 1}
    assert {tuple(sorted(x)) for x in points if len(x) == 2} <= set(combinations(sorted(alone), 2))
    assert any(len(x) == 2 and readings.CHAIN_INFINITY in x for x in points), "no source as a whole has these"
    assert readings.CHAIN_INFINITY in alone


def test_the_package_says_its_version_and_its_public_names():
    assert mmaproof.__version__.count(".") >= 1
    assert set(dir(mmaproof)) == {*mmaproof.__all__, "__version__"}
