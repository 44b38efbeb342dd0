"""Witnesses become simpler and stay witnesses, for as long as there is time."""

import time

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.verification.compare import compare
from mmaproof.verification.search import Budget, search
from mmaproof.verification.simplify import _complexity, simplest, simplify

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
    past = time.monotonic() - 1
    monkeypatch.setattr(Equivalence, "is_refuted_by", lambda self, operands: pytest.fail("too late"))
    monkeypatch.setattr(Equivalence, "examine", lambda self, batch: pytest.fail("too late"))
    assert simplify(question, found[0], past) == found[0]
    assert simplest(question, found, past) in found


@pytest.mark.parametrize(("k", "looked_at"), [(8, 8), (128, 2), (384, 1)])
def test_of_long_witnesses_few_are_simplified(monkeypatch, k, looked_at):
    question, found = witnesses(k)
    assert len(found) == 8
    seen = []
    monkeypatch.setattr(
        "mmaproof.verification.simplify._each", lambda _, chosen, *__: seen.append(list(chosen)) or list(chosen)
    )
    assert simplest(question, found) in seen[0]
    assert seen[0] == list(found[:looked_at])


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


def test_simplification_has_its_own_limit_and_is_told_of():
    told = []
    found = compare(VOLTA, FINER, k=64, budget=Budget(), simplifying=0.0, told=told.append)
    assert (found.verdict, told) == ("different", ["simplifying the operands that were found"])
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
