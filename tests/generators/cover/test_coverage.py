"""Coverage: what is proved unreachable is so, tags are what integers say, and more is hit than by random vectors."""

import numpy as np
import pytest
from pysmt.environment import Environment
from support.event_tags import tags_on_integers
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, random_pair, use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.steps import PairwiseStep, SequentialStep
from mmaproof.generators.cover.bins import Bin
from mmaproof.generators.cover.coverage import NeverHit, ask_solver, choose, cover, hits_of
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate

LIMITS = Limits(120, 4 << 30)
MOST_BITS = 18
"""Of all operands of a small design together."""
KINDS = {
    "a sequential sum": lambda d: isinstance(d.step, SequentialStep),
    "a tree": lambda d: isinstance(d.step, PairwiseStep),
    "a chain that c joins once": lambda d: d.chain.adds_c_once and is_chain(d),
    "a chain of finite infinities": lambda d: not d.chain.keeps_infinities and is_chain(d),
}
CHAIN = find_design("ampere/m16n8k16.f32.f16.f16.f32")
INTEGERS = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
VOLTA = find_design("volta/f32.f16.f16.f32@L=2")


def is_chain(design):
    return design.k > design.step.L


def small_design(seed):
    """A design at random; None where it has too many operands to try all."""
    design = random_pair(seed, wide=False).question.designs[0]
    columns = Equivalence(design, design, k=design.k).columns()
    return design if sum(f.bits * count for _, f, count in columns) <= MOST_BITS else None


def check_against_exhaustion(design):
    """Ask of every bin that no operands hit, and of some of the others."""
    bins, found = hits_of(design, all_operands(Equivalence(design, design, k=design.k)))
    said = set()
    with Environment():
        for i, (wanted, is_hit) in enumerate(zip(bins, found.any(axis=0), strict=True)):
            if is_hit and i % 5:
                continue
            asked = ask_solver(design, wanted, InThisProcess().ask, LIMITS)
            expected = Status.REFUTED if is_hit else Status.PROVED
            assert asked.verdict.status in (expected, Status.UNKNOWN), wanted
            if asked.operands is not None:
                assert NeverHit(design, Scope(design.k), wanted).is_refuted_by(asked.operands)
            said.add(asked.verdict.status)
    assert said >= {Status.PROVED, Status.REFUTED}


@pytest.mark.middle
@pytest.mark.slow_values("a chain that c joins once", "a tree")
@pytest.mark.parametrize("kind", [x if "chain" not in x else pytest.param(x, marks=pytest.mark.middle) for x in KINDS])
def test_what_is_proved_unreachable_is_hit_by_no_operands(kind, monkeypatch):
    use_small_formats(monkeypatch)
    designs = filter(None, map(small_design, range(1000)))
    check_against_exhaustion(next(filter(KINDS[kind], designs)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_what_is_proved_unreachable_is_hit_by_no_operands_of_many(first, monkeypatch):
    use_small_formats(monkeypatch)
    for seed in range(first, first + 10):
        design = small_design(seed)
        if design is not None:
            check_against_exhaustion(design)


@pytest.mark.middle
@pytest.mark.parametrize("design", [INTEGERS, pytest.param(VOLTA, marks=pytest.mark.middle)], ids=lambda d: d.name)
def test_vectors_have_the_tags_that_integers_say(design):
    done = cover(design, 80, limits=LIMITS)
    assert done.is_complete
    assert len(done.vectors) == 80
    for vector in done.vectors:
        assert vector.tags == tags_on_integers(design, vector.operands)
        assert vector.outputs == {design.name: evaluate(design, vector.operands)}
        assert vector.seed == 0
    for x in done.bins:
        assert x.hits == sum(str(x.bin) in v.tags for v in done.vectors)
        assert not (x.status == "unreachable" and x.baseline)
    assert done.count("hit") > sum(x.baseline > 0 for x in done.bins)


@pytest.mark.middle
def test_hits_seed_and_too_few_vectors():
    first, again, other = (cover(INTEGERS, 60, hits=3, seed=seed) for seed in (1, 1, 2))
    assert first.vectors == again.vectors != other.vectors
    assert all(x.hits >= 3 for x in first.bins)
    few = cover(INTEGERS, 2)
    assert (len(few.vectors), few.is_complete, few.count("unknown")) == (2, False, 0)
    assert few.count("reachable") == len(few.bins) - few.count("hit") > 0


def test_rows_are_chosen_for_what_is_still_missing():
    found = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], dtype=bool)
    assert choose(found, 2, 1) == [0, 2]
    assert choose(found, 3, 2) == [0, 1, 2]
    assert choose(found, 9, 1) == [0, 2, 1, 3]


def test_a_step_stands_for_a_chain():
    """Operands that hit a bin in one step are those of an instruction; what no step does no instruction does."""
    asked = ask_solver(CHAIN, Bin("top bit of product + c", "2^4"), Solving().ask, LIMITS)
    assert "top bit of product + c: 2^4" in tags_on_integers(CHAIN, asked.operands)
    assert len(asked.operands) == CHAIN.k
    wanted = Bin("last kept bit of product", "2^1, nothing lost")
    assert ask_solver(CHAIN, wanted, Solving().ask, LIMITS).verdict.status is Status.PROVED


def test_no_answer_is_not_unreachable(monkeypatch):
    monkeypatch.setattr("mmaproof.generators.cover.coverage.aim", lambda *_: None)
    done = cover(VOLTA, 20, limits=Limits(0.001, 4 << 30))
    unknown = [x for x in done.bins if x.status == "unknown"]
    assert unknown
    assert all(x.verdict.reason.startswith("timeout") for x in unknown)
    assert not done.is_complete
    assert done.count("unreachable") == 0
