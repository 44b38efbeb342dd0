"""Suites of vectors: they separate what differs and nothing else, with as few vectors as trying all operands shows."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from reference.designs import reference_result
from support.deciding import proof_if
from support.small_designs import DRAWN, all_operands, differences, random_pair, use_small_formats

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators import suite as module
from mmaproof.generators.suite import (
    Choice,
    EquivalentSeparatedError,
    Fewest,
    Pool,
    Task,
    breed,
    choose,
    needs_of,
    strip,
    suite,
)
from mmaproof.properties.equivalence import Equivalence, SomePairAgrees
from mmaproof.properties.preconditions import Finite
from mmaproof.properties.property import Joined
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status, Verdict
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import Comparison
from mmaproof.verification.distributions import draw
from mmaproof.verification.matrix import PairVerdict, compare_all, groups_of

LIMITS = Limits(120, 4 << 30)
NVIDIA = ("volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell")
FOUR = ["volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32", "hopper/mma.f32.f16.f16"]
HERE = partial(ThreadPoolExecutor, 1)


def decided(designs):
    answers = compare_all(designs, pool=HERE, at_once=1, solving=Solving(), limits=LIMITS)
    with closing(answers):
        return groups_of(designs, list(answers))


def task_of(group, *, simple=True, limits=LIMITS):
    return Task(group.classes, needs_of(group), Solving(), limits, seed=0, simple=simple)


def apart(fmt, x, y):
    return x != y and not (fmt.is_nan(x) and fmt.is_nan(y))


def confirm(found):
    """What is different is separated by some vector, what is equivalent by none; an exact reference returns the d."""
    fmt = found.group.designs[0].d_format
    for vector in found.vectors:
        k = len(vector.chosen.operands)
        assert set(vector.outputs) == {x.name for x in found.group.designs if k % x.k == 0}
        for name, d in vector.outputs.items():
            assert not apart(fmt, d, reference_result(find_design(name), vector.chosen.operands))
    for x, y in itertools.combinations(found.group.designs, 2):
        both = [v.outputs for v in found.vectors if {x.name, y.name} <= v.outputs.keys()]
        status = found.group.answers[frozenset((x.name, y.name))].status
        assert any(apart(fmt, d[x.name], d[y.name]) for d in both) == (status is Status.REFUTED), (x.name, y.name)


def nonzero(operands):
    return sum(x != 0 for x in (*operands.a, *operands.b, operands.c))


@pytest.fixture(scope="module")
def four():
    (group,) = decided([find_design(x) for x in FOUR])
    return group


@pytest.mark.slow_values("fp16 fp16 fp16 fp16-4", "fp16 fp16 fp32 fp32-4")
@pytest.mark.middle
@pytest.mark.parametrize(("formats", "classes"), [("fp16 fp16 fp32 fp32", 4), ("fp16 fp16 fp16 fp16", 4)])
def test_one_vector_separates_the_fp16_units_of_nvidia_at_k_16(formats, classes):
    """The statement of equation (10) of Xie et al., for all classes at once."""
    designs = [
        x
        for x in load_catalogue().designs.values()
        if x.architecture in NVIDIA and " ".join(f.name for f in x.formats) == formats
    ]
    (group,) = decided(designs)
    assert len(designs) > 10
    assert len(group.classes) == classes
    found = suite(group, choose(task_of(group)))
    (vector,) = found.vectors
    assert (found.fewest, found.left) == (Fewest.ONE, [])
    assert len(vector.chosen.operands) == 16
    assert list(vector.outputs) == [x.name for x in designs]
    assert len(set(vector.outputs.values())) == classes
    confirm(found)


def family(seed):
    """A few small designs of one kind, each with up to three parameters of its own, and what is so of each pair."""
    first = random_pair(seed, wide=False).question.designs[0]
    rng, designs = np.random.default_rng(seed), [first]
    while len(designs) < 8:
        names = rng.permutation([*DRAWN])[: rng.integers(1, 4)]
        try:
            changed = first.change(**{str(n): DRAWN[n][rng.integers(len(DRAWN[n]))] for n in names})
            designs.append(replace(changed, architecture=f"d{len(designs)}"))
        except DesignError:
            continue
    if any(sum(f.bits * n for _, f, n in Equivalence(first, x).columns()) > 16 for x in designs):
        return None
    answers = []
    for x, y in itertools.combinations(designs, 2):
        question = Equivalence(x, y)
        different, _ = differences(question)
        witness = different.row(0) if len(different) else None
        status = Status.PROVED if witness is None else Status.REFUTED
        answers.append(
            PairVerdict(Comparison(status, 0.0, witness=witness, question=question, proof=proof_if(status)), 0)
        )
    (group,) = groups_of(designs, answers)
    return group


def fewest_of_all(group):
    """The least number of inputs that separate all classes, found by trying all of them."""
    firsts = [members[0] for members in group.classes]
    fmt, batch = firsts[0].d_format, all_operands(Equivalence(*firsts[:2]))
    codes = np.array([-1 if fmt.is_nan(x) else x for x in range(1 << fmt.bits)])
    d = np.stack([codes[evaluate_batch(x, batch)] for x in firsts])
    pairs = list(itertools.combinations(range(len(firsts)), 2))
    held = {frozenset(np.flatnonzero(row).tolist()) for row in np.stack([d[i] != d[j] for i, j in pairs], axis=1)}
    held = [x for x in held if not any(x < y for y in held)]
    return next(
        n for n in range(1, 9) if any(len(set().union(*c)) == len(pairs) for c in itertools.combinations(held, n))
    )


@pytest.mark.slow
def test_as_few_vectors_as_trying_all_operands_shows(monkeypatch):
    use_small_formats(monkeypatch)
    monkeypatch.setattr(module, "ROWS", 2000)
    numbers = []
    for seed in range(40):
        group = family(seed)
        if group is None or not needs_of(group):
            continue
        task = task_of(group)
        choice = choose(task)
        least, number = fewest_of_all(group), len(choice.chosen)
        assert number == least if least <= 2 else number >= least
        assert (choice.fewest is Fewest.ONE) == (number == 1)
        assert choice.fewest is not Fewest.PROVED or number == 2
        assert choice.fewest is Fewest.PROVED or number != 2
        batch = OperandBatch.of_rows(group.designs[0].formats, [x.operands for x in choice.chosen])
        assert set().union(*task.met(batch)) == set(range(len(task.needs)))
        assert suite(group, choice).left == []
        numbers.append(number)
    assert min(numbers.count(n) for n in (1, 2, 3)) >= 1, numbers


@pytest.mark.slow
def test_without_a_vector_for_all_those_of_the_pairs_remain_each_at_its_own_length(four, monkeypatch):
    task = task_of(four, limits=Limits(0.01, 4 << 30))
    volta_turing, *_, ampere_hopper = task.needs
    pool = breed(SomePairAgrees(four.designs, [(0, 1), (2, 3)], 16), seed=0, rows=1000)
    (row, *_) = np.flatnonzero(~pool.separated[:, 0] & pool.separated[:, 1])
    task = replace(task, needs=[volta_turing, replace(ampere_hopper, witness=pool.batch.row(row))])

    def fruitless(question, *, start, **_):
        zeros = OperandBatch(np.zeros_like(start.a), np.zeros_like(start.b), np.zeros_like(start.c))
        return Pool(zeros, question.separated(zeros), 0)

    monkeypatch.setattr(module, "breed", fruitless)
    choice = choose(task)
    assert choice.fewest is Fewest.FOUND
    assert "timeout: " in choice.reason
    assert [len(x.operands) for x in choice.chosen] == [8, 16]
    first, second = suite(four, choice).vectors
    assert list(first.outputs) == [find_design(x).name for x in FOUR[:2]]
    assert len(second.outputs) == 4
    assert len(set(first.outputs.values())) == 2
    assert second.outputs[four.designs[2].name] != second.outputs[four.designs[3].name]


@pytest.mark.middle
def test_vectors_are_made_simple(four, monkeypatch):
    task = task_of(four)
    question = task.question(range(len(task.needs)), 16)
    pool = breed(question, seed=0, rows=2000)
    found = pool.batch.select(pool.complete)
    simple = [strip(question, found, seed=0).row(0), module._simple(question, task, found)]
    assert nonzero(simple[1]) <= nonzero(simple[0]) <= 4 < nonzero(found.row(0))
    assert all(question.is_refuted_by(x) for x in simple)
    assert module._simple(question, replace(task, simple=False), found) == found.row(0)


@pytest.mark.middle
def test_no_infinity_and_no_nan_where_none_is_needed(four):
    (chosen,) = choose(task_of(four)).chosen
    assert Finite() in task_of(four).question([0], 16, finite=True).where
    assert SomePairAgrees(four.designs, [(0, 1)], 16, (Finite(),)).is_meant(chosen.operands)


def test_an_equivalent_pair_that_is_separated_is_an_internal_error(four):
    choice = choose(task_of(four))
    claimed = {
        pair: replace(a, comparison=replace(a.comparison, status=Status.PROVED, witness=None, proof=Joined()))
        for pair, a in four.answers.items()
    }
    with pytest.raises(EquivalentSeparatedError, match="were proved equivalent, and a vector separates them"):
        suite(replace(four, answers=claimed), choice)


@pytest.mark.few(1)
@pytest.mark.parametrize("status", [Status.UNKNOWN, Status.VACUOUS])
def test_what_is_not_proved_equal_may_be_told_apart_and_is_left_otherwise(four, status):
    reason = "timeout: made up" if status is Status.UNKNOWN else None
    said = {
        pair: replace(a, comparison=replace(a.comparison, status=status, witness=None, reason=reason, proof=None))
        for pair, a in four.answers.items()
    }
    group = replace(four, answers=said)
    assert suite(group, Choice([], Fewest.FOUND, "none")).left == list(said.values())
    left = suite(group, choose(task_of(four))).left
    assert [a.names for a in left] == [a.names for a in four.answers.values() if a.status is Status.PROVED]


@pytest.mark.parametrize("status", [Status.PROVED, Status.UNKNOWN, Status.VACUOUS])
def test_fewer_vectors_are_excluded_only_where_no_one_is_proved_to_tell_all_apart(monkeypatch, four, status):
    def nothing_found(question, *, start, **_):
        return Pool(start, np.zeros((len(start), len(question.pairs)), dtype=bool), 0)

    reason = "timeout: made up" if status is Status.UNKNOWN else None
    monkeypatch.setattr(module, "breed", nothing_found)
    monkeypatch.setattr(module, "decide", lambda *_: Verdict(status, 0.0, reason))
    choice = choose(task_of(four, simple=False))
    assert ("proved by" in choice.reason) is (status is Status.PROVED)
    assert (choice.fewest is Fewest.PROVED) is (status is Status.PROVED and len(choice.chosen) == 2)


def test_what_is_different_and_not_separated_is_left(four):
    nothing = suite(four, Choice([], Fewest.FOUND, "none"))
    assert nothing.left == [a for a in four.answers.values() if a.status is Status.REFUTED]


def test_a_seed_gives_the_same_rows(four):
    task = task_of(four)
    question = task.question(range(len(task.needs)), 16)
    rows = []
    for _ in range(2):
        pool = breed(question, seed=3, rows=2000)
        stripped = strip(question, pool.batch.select(pool.complete), seed=3)
        assert question.separated(stripped).all()
        rows.append((pool.tried, stripped.row(0)))
    assert rows[0] == rows[1]
    assert question.is_refuted_by(rows[0][1])


@pytest.mark.slow
def test_arrays_and_integers_agree_on_what_is_separated():
    designs = [find_design(x) for x in (*FOUR, f"{FOUR[0]}@nan_code=quiet")]
    pairs = [(0, 1), (2, 3), (1, 2), (0, 4)]
    whole = SomePairAgrees(designs, pairs, 16)
    edges = draw("edges", designs[0], 40, 16, np.random.default_rng(0))
    batch = OperandBatch.concatenate([breed(whole, seed=0, rows=1000).batch, edges])
    rows = [batch.row(i) for i in range(len(batch))]
    fmt, d = designs[0].d_format, [[evaluate(x, row) for row in rows] for x in designs]
    assert any(map(fmt.is_nan, d[0]))
    separated = whole.separated(batch)
    assert separated.any(axis=0).tolist() == [True, True, False, False]
    for i, (x, y) in enumerate(pairs):
        assert separated[:, i].tolist() == [apart(fmt, *both) for both in zip(d[x], d[y], strict=True)]
        question = SomePairAgrees(designs, [(x, y)], 16)
        assert separated[:, i].tolist() == [question.is_refuted_by(row) for row in rows]
