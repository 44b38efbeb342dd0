"""Fingerprints: the questions, when designs differ, and which vectors show it."""

from dataclasses import replace

import pytest
from support.fake_properties import BF16, HALF_STEP, Assuming, Never, Undecided, Valued

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.generators.standard import vectors_of
from mmaproof.properties.library import find_property
from mmaproof.properties.property import PropertyVerdict
from mmaproof.properties.question import Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.check import SEARCH, Check, Feature, designs_differ, feature_of
from mmaproof.verification.search import Means

MEANS = Means(Solving(), Limits(60, 4 << 30), SEARCH)
TINY = find_design("volta/f32.f16.f16.f32@L=2")
SMALL = find_design(f"{BF16}@L=2")
ORIGIN = {"origin": "a test", "version": "0"}


def look(asked, design, *, shown=False):
    return feature_of(asked, design, MEANS, shown=shown)


class _Refuses(Never):
    def settle(self, design, scope, ask):
        raise DesignError("not today")


@pytest.mark.middle
def test_what_is_asked_and_what_is_not():
    feature = look(Never(), SMALL)
    assert (feature.verdict, feature.value, feature.is_known, feature.runs) == ("holds", None, True, ())
    feature = look(Valued(), find_design(BF16))
    assert (feature.verdict, feature.value, feature.is_known) == ("holds", 8, True)
    feature = look(Undecided(), TINY)
    assert (feature.verdict, feature.reason, feature.is_known) == ("unknown", "timeout: made up", False)
    assert feature.is_unknown
    feature = look(Assuming(), TINY)
    assert (feature.verdict, feature.is_known, feature.is_unknown) == ("vacuous", False, False)
    for feature, reason in (
        (look(Never(), find_design("volta/f16.f16.f16.f16")), "its d is not fp32"),
        (look(_Refuses(), TINY), "not today"),
    ):
        assert (feature.verdict, feature.done, feature.reason) == ("not asked", None, reason)
        assert (feature.is_known, feature.is_unknown) == (False, False)


@pytest.mark.middle
def test_the_same_seed_gives_the_same_runs():
    asked = find_property("chain-order-independent")
    runs = [feature_of(asked, TINY, replace(MEANS, seed=seed), shown=False).runs for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.middle
def test_designs_differ_in_what_is_known():
    holds, valued, unknown = look(Never(), SMALL), look(Valued(), find_design(BF16)), look(Undecided(), TINY)
    violated = look(Never(), find_design(HALF_STEP))
    not_asked = look(Never(), find_design("volta/f16.f16.f16.f16"))
    assert designs_differ([holds, violated])
    assert designs_differ([holds, unknown, not_asked, valued])
    for same in ([holds], [holds, holds], [holds, unknown, not_asked], [unknown, not_asked], []):
        assert not designs_differ(same)


@pytest.mark.middle
def test_vectors_hold_what_each_design_returns():
    others = [find_design(x) for x in (BF16, "hopper/wgmma.f32.bf16.bf16", "volta/f32.f16.f16.f32")]
    feature = look(Valued(), find_design(BF16))
    (vector,) = vectors_of(feature, others, **ORIGIN)
    assert len(feature.runs) == 2, "of two designs on the same operands"
    assert vector.outputs == {
        d.name: evaluate(d, vector.operands) for d in (*(r.design for r in feature.runs), *others[:2])
    }
    assert (vector.why, vector.origin, vector.version) == (f"valued: holds (8) for {others[0].name}", "a test", "0")


@pytest.mark.middle
def test_what_holds_is_shown_against_its_mutant():
    asked = find_property("order-independent")
    feature = look(asked, TINY, shown=True)
    vectors = vectors_of(feature, [TINY], **ORIGIN)
    assert feature.verdict == "holds"
    assert len({v.outputs[TINY.name] for v in vectors}) == 1
    assert len({v.outputs[asked.mutant(TINY).name] for v in vectors}) > 1
    assert {v.why for v in vectors} == {f"order-independent: holds for {TINY.name}, shown against its mutant"}


def test_designs_that_do_not_take_the_operands_are_left_out():
    feature = look(find_property("chain-order-independent"), find_design("ampere/m16n8k8.f32.f16.f16.f32@L=4"))
    length = len(feature.runs[0].operands)
    taking = find_design("volta/f32.f16.f16.f32")
    for other, takes in (
        (taking, True),
        (replace(taking, k=12), True),
        (replace(taking, k=3, step=replace(taking.step, L=3)), False),
        (find_design("volta/f16.f16.f16.f16"), False),
        (find_design("ampere/f32.bf16.bf16.f32"), False),
    ):
        assert length == 8
        for vector in vectors_of(feature, [other], **ORIGIN):
            assert (other.name in vector.outputs) is takes


@pytest.mark.middle
def test_scales_and_their_blocks():
    block32, block16 = (
        find_design(f"blackwell/{x}") for x in ("block32.f32.e2m1.e2m1.ue8m0", "block16.f32.e2m1.e2m1.ue8m0")
    )
    feature = look(find_property("order-independent"), block32, shown=True)
    vectors = vectors_of(feature, [block32, block16], **ORIGIN)
    assert vectors
    for vector in vectors:
        assert vector.scale_format is block32.scale_format
        assert block32.name in vector.outputs
        assert block16.name not in vector.outputs


def test_steps_are_left_out():
    feature = look(Never(), find_design(HALF_STEP))
    assert feature.runs
    assert vectors_of(feature, [find_design(BF16)], **ORIGIN) == []


@pytest.mark.parametrize("length", [1, 4])
def test_the_search_ends_by_rows(length):
    """Not by the clock, which would make answers depend on the machine."""
    assert SEARCH.seconds > MEANS.limits.seconds * length


@pytest.mark.parametrize(
    ("status", "known", "unknown"),
    [
        (Status.PROVED, True, False),
        (Status.REFUTED, True, False),
        (Status.UNKNOWN, False, True),
        (Status.VACUOUS, False, False),
    ],
)
def test_what_is_known_and_what_more_time_might_tell(status, known, unknown):
    found = Check(Never(), SMALL, Scope(), PropertyVerdict(status), 0.0)
    feature = Feature(Never(), SMALL, found, None)
    assert (feature.is_known, feature.is_unknown) == (known, unknown)
    other = Feature(Never(), SMALL, replace(found, finding=PropertyVerdict(Status.PROVED, 1)), None)
    assert designs_differ([feature, other]) is known
