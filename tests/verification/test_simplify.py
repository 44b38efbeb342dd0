"""Witnesses become simpler and stay witnesses, for as long as there is time."""

from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import combinations

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import preconditions_of
from mmaproof.smt.solving.limits import worked
from mmaproof.verification.compare import compare
from mmaproof.verification.search import (
    Budget,
    _complexity,
    _shortened,
    _simpler,
    _with_few_products,
    search,
    simplest,
    simplify,
)

VOLTA = find_design("volta/f32.f16.f16.f32")
FINER = find_design("volta/f32.f16.f16.f32@fraction_bits=24")


def witnesses(k):
    question = Equivalence(VOLTA, FINER, k=k)
    return question, search(question, FINER, seed=0, budget=Budget()).witnesses


@pytest.mark.middle
def test_few_products_remain():
    question, found = witnesses(16)
    simple = simplest(question, found)
    assert question.is_refuted_by(simple)
    assert sum(x != 0 for x in simple.a) <= 3


def test_a_format_without_one_is_simplified_to_its_powers_of_two():
    units = [find_design(f"{x}/mme.f32.e4m3b15.e4m3b15.f32") for x in ("gaudi2", "gaudi3")]
    question = Equivalence(*units)
    found = search(question, units[0], seed=0, budget=Budget()).witnesses[:1]
    assert question.is_refuted_by(simplest(question, found))


def test_nothing_is_tried_after_the_deadline(monkeypatch):
    question, found = witnesses(8)
    past = worked() - 1
    monkeypatch.setattr(Equivalence, "is_refuted_by", lambda self, operands: pytest.fail("too late"))
    monkeypatch.setattr(Equivalence, "examine", lambda self, batch: pytest.fail("too late"))
    assert simplify(question, found[0], past) == found[0]
    assert simplest(question, found, past) in found


def test_ways_that_were_all_tried_at_once_are_not_tried_again():
    """What is simpler than the first that is a witness was tried with it."""
    question = Equivalence(VOLTA, FINER, k=4)
    witness = Operands((0x3E00, 0, 0, 0), (0x3C00, 0, 0, 0), 0x3F800000)
    trials = _shortened(question, witness, OperandBatch.of_rows(question.formats, [witness]))
    assert len(next(trials)) > 1
    with pytest.raises(StopIteration):
        trials.send(1)


@pytest.mark.few(2)
@pytest.mark.parametrize(("k", "looked_at"), [(8, 8), (128, 2), (384, 1)])
def test_of_long_witnesses_few_are_simplified(monkeypatch, k, looked_at):
    question, found = witnesses(k)
    assert len(found) == 8
    seen = []
    monkeypatch.setattr(
        "mmaproof.verification.search._each", lambda _, chosen, *__: seen.append(list(chosen)) or list(chosen)
    )
    assert simplest(question, found) in seen[0]
    assert seen[0] == list(found[:looked_at])


@pytest.mark.slow
def test_a_long_witness_is_narrowed_to_a_part_at_once(monkeypatch):
    question, found = witnesses(384)
    seen = []
    whole = Equivalence.examine
    monkeypatch.setattr(Equivalence, "examine", lambda *x: seen.append(x[1]) or whole(*x))
    simple = simplify(question, found[0])
    assert question.is_refuted_by(simple)
    assert sum(x != 0 for x in simple.a) <= 3
    first = seen[0].row(0)
    assert 0 < sum(x != 0 for x in first.a) <= 384 // 64, "the smallest parts are tried first"


@pytest.mark.middle
def test_simplification_has_its_own_limit_and_is_told_of():
    told = []
    found = compare(VOLTA, FINER, k=64, budget=Budget(), simplifying=0.0, told=told.append)
    assert (found.verdict, told[-1:]) == ("different", ["simplifying the operands that were found"])
    assert sum(x != 0 for x in found.witness.a) > 3


def test_witnesses_that_are_simplified_together_become_what_each_becomes_alone():
    question, found = witnesses(8)
    alone = [simplify(question, x) for x in found]
    assert len(set(alone)) > 1
    assert simplest(question, found) == min(alone, key=_complexity)


def test_what_arrays_take_for_a_witness_counts_only_if_integers_do_too(monkeypatch):
    question, found = witnesses(8)
    everything = np.ones(1 << 16, dtype=bool)
    monkeypatch.setattr(Equivalence, "examine", lambda _, batch: (everything[: len(batch)],) * 2)
    assert simplest(question, found) == found[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (VOLTA, FINER),
        (find_design("turing/f32.f16.f16.f32"), find_design("cdna2/v_mfma_f32_32x32x8f16")),
        (find_design("volta/f32.f16.f16.f32"), find_design("cdna1/v_mfma_f32_32x32x4f16")),
    ],
    ids=["truncation", "chain of pairs", "exact sum"],
)
def test_as_few_operands_stay_as_any_two_products_need(first, second):
    question = Equivalence(first, second)
    found = search(question, second, seed=0, budget=Budget()).witnesses[0]
    places = [i for i in range(question.k) if found.a[i] or found.b[i]]
    sizes = []
    for kept in [x for count in range(3) for x in combinations(places, count)]:
        a, b = (tuple(x if i in kept else 0 for i, x in enumerate(column)) for column in (found.a, found.b))
        rows = [replace(found, a=a, b=b, c=c) for c in {0, found.c}]
        sizes += [(len(kept), x.c != 0) for x in rows if question.is_refuted_by(x)]
    simple = simplify(question, found)
    assert question.is_refuted_by(simple)
    left = (sum(x != 0 for x in simple.a), simple.c != 0)
    assert left == min(sizes) if sizes else left > (2, False)


def test_scales_are_made_simpler():
    first = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
    question = Equivalence(first, find_design(f"{first.name}@fraction_bits=20"))
    found = search(question, first, seed=0, budget=Budget()).witnesses[0]
    simple = simplify(question, found)
    assert question.is_refuted_by(simple)
    one = first.scale_format.encode(1)
    assert [(*x.scale_a, *x.scale_b).count(one) for x in (found, simple)] == [0, 8]


@pytest.mark.parametrize("needs_c", [False, True])
@pytest.mark.parametrize("needed", [set(), {5}, {2, 7}, {0, 3, 6}, {0, 1, 2, 3, 4, 7}], ids=len)
@pytest.mark.parametrize("k", [8, 128, 384])
def test_what_a_witness_needs_stays_and_nothing_else(monkeypatch, k, needed, needs_c):
    question = Equivalence(VOLTA, FINER, k=k)
    needed = sorted({x * (k - 1) // 7 for x in needed})

    def refuted(a, b, c):
        return all(a[..., i].all() and b[..., i].all() for i in needed) and bool(c or not needs_c)

    def examine(_, batch):
        rows = np.array([refuted(*row) for row in zip(batch.a, batch.b, batch.c, strict=True)], dtype=bool)
        return np.ones_like(rows), rows

    monkeypatch.setattr(Equivalence, "examine", examine)
    monkeypatch.setattr(Equivalence, "is_refuted_by", lambda _, x: refuted(np.array(x.a), np.array(x.b), x.c))
    simple = simplify(question, Operands((0x3C01,) * k, (0x4105,) * k, 0x40000003))
    assert [i for i in range(k) if simple.a[i] or simple.b[i]] == needed
    assert (simple.c != 0) is needs_c
    assert {*simple.a, *simple.b} <= {0, 0x3C00}, "1.0 will do"
    assert simple.c in (0, VOLTA.c_format.one)


@pytest.mark.parametrize(
    "name", ["ampere/m16n8k8.f32.f16.f16.f32", "ampere/mma.m16n8k16.s32.s8.s8.s32", "hopper/m64n8k32.f32.e4m3.e4m3"]
)
def test_every_pattern_has_only_simpler_ones(name):
    design = find_design(name)
    for fmt in {design.a_format, design.c_format}:
        steps = [1 << n for n in range(fmt.bits)]
        patterns = {x for p in steps for x in (p, p - 1, (1 << fmt.bits) - p)} | {fmt.bits}
        reached = {p: set(_simpler(fmt, p)) for p in patterns}
        for _ in range(3):
            reached |= {q: set(_simpler(fmt, q)) for found in list(reached.values()) for q in found if q not in reached}
        TopologicalSorter(reached).prepare()  # it raises where patterns lead back to themselves


def test_an_element_beside_one_that_must_not_be_zero_becomes_zero():
    first, second = find_design("volta/f32.f16.f16.f32"), find_design("turing/f32.f16.f16.f32")
    question = Equivalence(first, second, where=preconditions_of("a!=0"))
    found = search(question, first, seed=0, budget=Budget()).witnesses[0]
    simple = simplify(question, found)
    assert question.is_refuted_by(simple)
    assert all(simple.a)
    assert [sum(b != 0 for b in x.b) <= 2 for x in (found, simple)] == [False, True]


def test_a_simplified_witness_is_not_made_simpler_once_more():
    first = find_design("hopper/m64n8k16.f32.f16.f16")
    question = Equivalence(first, find_design(f"{first.name}@fraction_bits=20"))
    for found in search(question, first, seed=0, budget=Budget()).witnesses:
        simple = simplify(question, found)
        assert simplify(question, simple) == simple


def test_a_witness_too_long_for_trials_of_few_products_is_tried_without_them():
    one = Operands((0x3C00,) * 32768, (0x3C00,) * 32768, 0)
    row = OperandBatch.of_rows(VOLTA.formats, [one])
    assert len(next(_with_few_products(one, row))) == 2
