"""Matrices of comparisons: shared questions are answered as each pair would be, and no pair goes missing."""

import itertools
import json
import math
import os
import sqlite3
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import numpy as np
import pytest
from reference.designs import reference_result
from support.sampling import basic_operands, fp16_design

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import Joined, Recalled
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.cluster import cluster
from mmaproof.verification.compare import compare
from mmaproof.verification.executors import DISTRIBUTION, local_pool
from mmaproof.verification.matrix import (
    SEARCH,
    Task,
    compare_all,
    compared,
    groups_of,
    not_comparable,
    pairs_of,
    simplest_difference,
)
from mmaproof.verification.strategies import BY_IDENTITY

CATALOGUE = [d for d in load_catalogue().designs.values() if not d.is_assumed]
LIMITS = Limits(120, 4 << 30)
NAMES = [
    "volta/f32.f16.f16.f32",
    "volta/f32.f16.f16.f32@carry_bits=4",
    "turing/f32.f16.f16.f32",
    "ampere/m16n8k8.f32.f16.f16.f32",
    "volta/f16.f16.f16.f16",
]
FEW = [find_design(name) for name in NAMES]


HERE = partial(ThreadPoolExecutor, 1)


def ask_all(designs, pool=HERE, **options):
    options = {"at_once": 1, "solving": Solving(), "limits": LIMITS, **options}
    with closing(compare_all(designs, pool=pool, **options)) as answers:
        return list(answers)


class Unused(ThreadPoolExecutor):
    """An executor that is asked nothing."""

    def submit(self, *_):
        raise AssertionError


def known(answers):
    """What the answers say, whenever and wherever they were given."""
    return {a.names: (a.status, a.number, a.comparison.witness, a.comparison.reason) for a in answers}


@pytest.fixture(scope="module")
def few():
    return ask_all(FEW)


def confirm(answer):
    """The answer to a pair is the one that a comparison of its own gives, and a witness separates this pair."""
    question = answer.comparison.question
    assert compare(*question.designs, limits=LIMITS, budget=SEARCH).status is answer.status
    if answer.status is Status.REFUTED:
        outputs = [reference_result(d, answer.comparison.witness) for d in question.designs]
        assert list(answer.comparison.outputs.values()) == outputs
        assert outputs[0] != outputs[1]


@pytest.mark.middle
def test_every_comparable_pair_is_answered_as_by_itself(few):
    assert len(few) == len(pairs_of(FEW)) == 6
    assert {a.names for a in few} == {(x.name, y.name) for x, y in pairs_of(FEW)}
    assert sum(a.status is Status.PROVED for a in few) == 2
    for answer in few:
        confirm(answer)


@pytest.mark.slow
def test_a_question_is_asked_once_for_all_that_share_it():
    shapes = ["ampere/m16n8k8.f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32", "ada/m16n8k16.f32.f16.f16.f32"]
    answers = ask_all([find_design(x) for x in (NAMES[0], *shapes)])
    numbers = {a.names: a.number for a in answers}
    assert sorted(n for n in numbers.values() if n is not None) == [0, 1, 1]
    assert [a.comparison.question.k for a in answers if a.number is not None] == [8, 16, 16]
    for answer in answers:
        confirm(answer)


@pytest.mark.slow
def test_one_arithmetic_is_one_computation_whatever_its_k():
    """On arrays: the catalogue's designs of one arithmetic return the same d at every common length."""
    held = {}
    for design in CATALOGUE:
        held.setdefault(Arithmetic.of(design), {}).setdefault(design.k, design)
    several = [list(of.values()) for of in held.values() if len(of) > 1]
    assert len(several) > 20
    for first, *others in several:
        for other in others:
            length = math.lcm(first.k, other.k)
            for batch in basic_operands(first, 200, k=length).values():
                assert np.array_equal(evaluate_batch(first, batch), evaluate_batch(other, batch)), other.name


@pytest.mark.parametrize(
    "setting",
    [*(pytest.param(f"k_order={x}", marks=pytest.mark.middle) for x in ("reversed", "mod4:01/23")), "join=ieee-once"],
)
def test_k_is_part_of_the_arithmetic_where_it_shows(setting):
    short, long = (f"ampere/m16n8k{k}.f32.f16.f16.f32@L=4,{setting}" for k in (8, 16))
    (answer,) = ask_all([find_design(short), find_design(long)])
    assert (answer.number, answer.status) == (0, Status.REFUTED)
    assert len(set(answer.comparison.outputs.values())) == 2


def test_identity_is_a_theorem_and_is_asked_once():
    units = "turing/f32.f16.f16.f32", "ampere/m16n8k8.f32.f16.f16.f32", "ampere/m16n8k8.f32.f16.f16.f32@carry_bits=20"
    same, *others = sorted(ask_all(map(find_design, units)), key=lambda x: x.number is not None)
    assert (same.number, same.comparison.origin, same.comparison.solver) == (None, BY_IDENTITY, None)
    assert same.comparison.proof == Recalled()
    assert {x.number for x in others} == {0}


def test_what_is_said_to_be_one_computation_is_proved_or_unknown(monkeypatch):
    """A matrix that believes the parameters of designs alone would say that these are equal."""
    monkeypatch.setattr("mmaproof.verification.matrix.same_arithmetic", lambda *_: True)
    monkeypatch.setattr("mmaproof.properties.equivalence.same_arithmetic", lambda *_: True)
    (answer,) = ask_all([find_design(f"volta/f32.f16.f16.f32{x}") for x in ("", "@fraction_bits=22")])
    assert answer.status is Status.REFUTED


def test_comparable_is_what_a_comparison_accepts():
    one_of_each = list({d.signature: d for d in CATALOGUE}.values())
    for x, y in itertools.combinations(one_of_each, 2):
        with pytest.raises(DesignError, match="are not comparable"):
            Equivalence(x, y)
    pairs = math.comb(len(CATALOGUE), 2)
    assert not_comparable(CATALOGUE).total() + len(pairs_of(CATALOGUE)) == pairs
    assert not_comparable(FEW) == {"c is of different formats": 4}


class Breaking(Executor):
    """An executor whose process dies of one question."""

    def __init__(self, deadly):
        self.deadly = deadly

    def submit(self, function, task):
        future = Future()
        if task.second.name == self.deadly:
            future.set_exception(BrokenProcessPool("a process died"))
        else:
            future.set_result(function(task))
        return future


@pytest.mark.slow
def test_a_pair_whose_worker_dies_is_unknown_not_missing(few):
    deadly = FEW[2].name
    answers = ask_all(FEW, pool=lambda: Breaking(deadly))
    found, before = known(answers), known(few)
    numbers = {a.number for a in few if a.names[1] == deadly}
    lost = {a.names for a in few if a.number in numbers}
    assert len(lost) == 4
    for names in before:
        if names in lost:
            assert found[names][0] is Status.UNKNOWN
            assert found[names][3] == "asked twice, no answer came back: BrokenProcessPool: a process died"
        else:
            assert found[names] == before[names]


@pytest.mark.slow
def test_processes_give_the_same_answers_in_any_order(few):
    answers = ask_all(FEW, pool=partial(local_pool, 2), at_once=2)
    assert known(answers) == known(few)
    assert [g.classes for g in groups_of(FEW, answers)] == [g.classes for g in groups_of(FEW, reversed(few))]


@pytest.mark.middle
def test_a_killed_worker_of_a_cluster_changes_no_answer(few):
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as workers,
        cluster(workers.scheduler_address) as (pool, number),
        closing(compare_all(FEW, pool=pool, at_once=2 * number, solving=Solving(), limits=LIMITS)) as results,
    ):
        answers = [next(results)]
        os.kill(workers.workers[0].pid, 9)
        answers += results
    assert known(answers) == known(few)


def test_what_goes_wrong_in_a_worker_is_a_reason():
    task = Task(FEW[0], FEW[2], Solving(), LIMITS, 0, "0.0.1")
    assert compared(task).reason.startswith("the process that was asked has mmaproof ")
    too_long = [replace(FEW[0], k=k, instruction=f"k{k}") for k in (1 << 16, 3 << 8)]
    (answer,) = ask_all([too_long[0], too_long[1].change(fraction_bits=24)])
    assert answer.comparison.reason == "DesignError: " + (
        "k = 196608 is above 65536: a formula of that length takes gigabytes"
    )


def test_pairs_that_share_a_question_have_the_results_of_their_designs_in_their_order():
    x, y = FEW[0], FEW[2]
    again = [replace(d, instruction=f"{d.instruction}.again") for d in (y, x)]
    different = [a for a in ask_all([x, y, *again]) if a.status is Status.REFUTED]
    assert [a.number for a in different] == [0, 0, 0, 0]
    first = {a.comparison.question.designs[0].step for a in different}
    assert first == {x.step, y.step}
    for answer in different:
        confirm(answer)


def test_a_witness_that_does_not_replay_is_not_believed(monkeypatch):
    answer = compared(Task(FEW[0], FEW[2], Solving(), LIMITS, 0, version(DISTRIBUTION)))
    lie = replace(answer, witness=replace(answer.witness, c=0))
    monkeypatch.setattr("mmaproof.verification.matrix.compared", lambda task: lie)
    (found,) = ask_all([FEW[0], FEW[2]])
    assert (found.status, found.comparison.witness) == (Status.UNKNOWN, None)


@pytest.mark.middle
def test_stored_witnesses_are_evaluated_without_an_executor(few, tmp_path):
    """The answers are those that questions have alone, and only what is proved is asked."""
    solving = Solving(store=tmp_path / "s.sqlite")
    before, again = (ask_all(FEW, solving=solving) for _ in range(2))
    assert known(again) == known(before) == known(few)
    stored = [x.comparison for x in again if x.comparison.witness is not None]
    assert stored
    assert all(x.origin.startswith("the store: search") for x in stored)
    for x in stored:
        assert x.results == tuple(d.data for d in x.question.integer_results(x.witness, {}))
    different = [find_design(x) for x in NAMES[:3:2]]
    assert [x.status for x in ask_all(different, Unused, solving=solving)] == [Status.REFUTED]


@pytest.mark.parametrize("forged", [{"a": 0}, {"b": 0}, {"a": 1 << 16}], ids=["equal", "zero", "too wide"])
def test_a_stored_witness_that_does_not_replay_is_asked_again(tmp_path, forged):
    path = tmp_path / "s.sqlite"
    pair = [find_design(x) for x in NAMES[:3:2]]
    (before,) = ask_all(pair, solving=Solving(store=path))
    with closing(sqlite3.connect(path)) as store:
        (text,) = store.execute("SELECT operands FROM witnesses").fetchone()
        held = json.loads(text)
        held |= {name: [f"{value:#06x}"] * len(held[name]) for name, value in forged.items()}
        store.execute("UPDATE witnesses SET operands = ?", (json.dumps(held),))
        store.commit()
    (answer,) = ask_all(pair, solving=Solving(store=path))
    assert answer.status is Status.REFUTED
    assert answer.comparison.witness == before.comparison.witness
    assert answer.comparison.origin.startswith("search")


def test_classes_hold_what_is_proved_pair_by_pair(few):
    fp16, alone = groups_of(FEW, few)
    assert [[FEW.index(d) for d in c] for c in fp16.classes] == [[0, 1], [2, 3]]
    assert alone.classes == [(FEW[4],)]
    assert fp16.verdict(*fp16.classes) == "different"
    assert list(fp16.not_transitive()) == []
    assert simplest_difference(fp16.between(*fp16.classes)).status is Status.REFUTED
    assert simplest_difference(alone.answers.values()) is None


@pytest.mark.middle
def test_what_is_not_transitive_is_not_merged():
    x, y, z = (fp16_design(4, fraction_bits=f) for f in (23, 24, 25))
    answers = {a.names: a for a in ask_all([x, y, z], limits=Limits(0.001, 4 << 30))}
    same = {"status": Status.PROVED, "witness": None, "proof": Joined()}
    proved = [replace(a, comparison=replace(a.comparison, **same)) for a in answers.values()]
    different = proved.pop(1)
    assert different.names == (x.name, z.name)
    nobody_knows = replace(
        different.comparison, status=Status.UNKNOWN, witness=None, proof=None, reason="timeout: made up"
    )
    unknown = replace(different, comparison=nobody_knows)
    (group,) = groups_of([x, y, z], [*proved, unknown])
    assert group.classes == [(x,), (y,), (z,)]
    assert [[a.names for a in three] for three in group.not_transitive()] == [
        [(x.name, y.name), (y.name, z.name), (x.name, z.name)]
    ]
