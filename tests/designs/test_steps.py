"""Records of steps: what they hold, what they refuse, and that flat settings and records say the same."""

import pickle
import subprocess
import sys
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import DEFINITIONS, Chain, complete_settings, compose, settings_of
from mmaproof.designs.readings import ChainInfinity, FlushedSign, Join, KOrder, Summation
from mmaproof.designs.steps import (
    STEPS,
    FusedStep,
    Guarantee,
    IntegerStep,
    LanesStep,
    PairwiseStep,
    SequentialStep,
    Step,
)
from mmaproof.designs.steps.step import IntegerRange

FUSED_ONLY = {"adder", "comparator", "grouping", "join", "alignment", "carry_bits", "floor"}
LATE_ONLY = {"late_bits", "late_alignment", "late_rounding", "far_c"}


def values_of(name):
    match DEFINITIONS[name].values:
        case IntegerRange(low, high, otherwise):
            numbers = st.integers(low, min(high, low + 300))
            return numbers if otherwise is None else numbers | st.none()
        case tuple() as texts:
            return st.sampled_from(texts)
        case kind if kind is KOrder:
            return st.sampled_from([KOrder("consecutive"), KOrder("reversed"), KOrder("mod4:01/23")])
        case readings:
            return st.sampled_from(list(readings))


SETTINGS = st.fixed_dictionaries({}, optional={name: values_of(name) for name in DEFINITIONS})


@given(SETTINGS)
def test_records_and_settings_say_the_same(settings):
    chain, step = compose(settings)
    held = settings_of(chain, step)
    assert compose(held) == (chain, step)
    assert compose(complete_settings(chain, step)) == (chain, step)
    assert {name: held[name] for name in settings if name in held} == {
        name: value for name, value in settings.items() if name in held
    }


@given(SETTINGS, SETTINGS)
def test_parameters_without_an_effect_do_not_tell_records_apart(settings, others):
    made = compose(settings)
    effective = settings_of(*made)
    idle = {name: value for name, value in others.items() if name not in effective}
    # a choice that has no effect here may have one beside the idle values
    assert compose(settings | {n: x for n, x in idle.items() if n not in ("summation", "join", "group_size")}) == made


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
def test_a_step_holds_its_own_parameters_only(kind):
    held = set(kind.definitions())
    assert {"L", "rho"} <= held
    assert (kind is FusedStep) == (held >= FUSED_ONLY - {"join"} | LATE_ONLY)
    if kind is not FusedStep:
        # lanes are added in a register, and bits that they lose enter the rounding
        assert held & (FUSED_ONLY | LATE_ONLY) == ({"carry_bits"} if kind is LanesStep else set())
    if kind in (IntegerStep, PairwiseStep):
        assert not held & {"fraction_bits", "zero_c", "zero_product", "product_limit"}


def test_no_record_of_a_fused_join_has_late_bits():
    assert not hasattr(compose({})[1], "late_bits")
    assert not LATE_ONLY & set(settings_of(*compose({"late_bits": 40})))
    late = compose({"join": Join.ROUND_DOWN, "late_bits": 40})
    assert settings_of(*late)["late_bits"] == 40


def test_a_parameter_that_others_leave_idle_is_at_its_default():
    step = FusedStep(flushed_sign=FlushedSign.KEPT)
    assert step == FusedStep()
    assert "flushed_sign" not in step.settings()


def test_a_step_that_states_nothing_guarantees_nothing():
    class Unknown(Step):
        pass

    assert Unknown().guarantees == frozenset()
    assert not any(Unknown().guarantees_all(x) for x in Guarantee)
    assert Unknown().kept_bits is None


def test_every_design_has_its_settings_and_no_others():
    for design in load_catalogue().designs.values():
        assert compose(design.settings) == (design.chain, design.step), design.name


@pytest.mark.parametrize(
    ("kind", "changes", "problem"),
    [
        (SequentialStep, {}, None),
        (PairwiseStep, {}, None),
        (PairwiseStep, {"chain_infinity": ChainInfinity.FINITE}, "chain_infinity"),
        (SequentialStep, {"adds_c_once": True}, "join"),
    ],
)
def test_a_chain_that_does_not_fit_its_step_is_refused(kind, changes, problem):
    design = find_design("volta/f32.f16.f16.f32")
    step = kind(L=4)
    if problem is None:
        assert replace(design, step=step, chain=Chain(**changes)).step == step
        return
    with pytest.raises(DesignError) as refused:
        replace(design, step=step, chain=Chain(**changes))
    assert refused.value.field == problem


def test_an_integer_step_does_not_fit_numbers_nor_the_reverse():
    numbers, integers = find_design("volta/f32.f16.f16.f32"), find_design("ampere/mma.m16n8k32.s32.s8.s8.s32")
    with pytest.raises(DesignError, match="rho"):
        replace(numbers, step=IntegerStep(L=4))
    with pytest.raises(DesignError, match="rho"):
        replace(integers, step=FusedStep(L=4))


def test_changes_are_given_as_values_or_as_texts():
    design = find_design("hopper/wgmma.f32.f16.f16")
    assert design.change(summation="sequential") == design.change(summation=Summation.SEQUENTIAL)
    assert design.change(floor="none").step == design.change(floor=None).step == design.step
    with pytest.raises(DesignError, match="no effect"):
        design.change(late_bits=24)
    with pytest.raises(DesignError, match="unknown parameter"):
        design.change(fraction="24")


def test_a_design_is_found_by_its_hash_in_another_process():
    design = find_design("hopper/wgmma.f32.f16.f16@fraction_bits=24")
    assert hash(design) == hash(pickle.loads(pickle.dumps(design)))
    program = (
        "import pickle, sys; from mmaproof.designs.catalogue import find_design; "
        "sent = pickle.loads(sys.stdin.buffer.read()); "
        "sys.exit(sent not in {find_design('hopper/wgmma.f32.f16.f16@fraction_bits=24')})"
    )
    found = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(design), check=False)
    assert found.returncode == 0
    assert {f.name for f in fields(design)} == set(design.__getstate__())


@pytest.mark.parametrize(
    "settings",
    [
        "summation=pairwise,negative_zero=positive",
        "summation=interleaved,zero_sum=positive",
        "join=fused,late_bits=31",
        "summation=sequential,first=magnitude,alignment=truncate",
    ],
)
def test_a_name_finds_the_design_whose_name_it_is(settings):
    design = find_design(f"volta/f32.f16.f16.f32@{settings}")
    assert find_design(design.name) == design


@pytest.mark.parametrize(
    "what",
    [
        "volta/f32.f16.f16.f32@L=1,grouping=halves",
        "blackwell/tcgen05.mma.m128n8k64.block32.f32.e2m1.e2m1.ue8m0@grouping=halves,L=32,group_size=32",
    ],
)
def test_one_product_and_one_group_have_no_halves(what):
    with pytest.raises(DesignError, match="have no halves"):
        find_design(what)


def test_a_parameter_of_another_kind_of_step_has_no_effect():
    with pytest.raises(DesignError, match="parameter group_size has no effect"):
        find_design("volta/f32.f16.f16.f32@summation=sequential,group_size=2")


@pytest.mark.parametrize(
    ("rho", "problem"),
    [
        ("rne-binary8p4ue", "binary8p4ue has no sign; allowed is rz, rne"),
        ("rne-e8m0", "e8m0 has no sign"),
        ("rz-int8", "it is called int8"),
        ("rtn-e6m9", "it is called rtn-packed-e6m9"),
        ("rne-fp17", "= rne-fp17: allowed is rz, rne, rna, rtn, rtp, rto to a format with a sign"),
        ("up-bf16", "= up-bf16: allowed is"),
    ],
)
def test_a_conversion_is_refused_with_its_reason(rho, problem):
    with pytest.raises(DesignError, match=f"parameter rho .*{problem}"):
        find_design(f"volta/f32.f16.f16.f32@rho={rho}")


def test_an_order_may_have_sixteen_residues():
    assert KOrder("mod16:0123/89ab/4567/cdef").permutation(16) == [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]
    with pytest.raises(DesignError, match=r"each residue 0\.\.15 must occur once"):
        KOrder("mod16:0123/89ab/4567/cde")
    with pytest.raises(DesignError, match="allowed is consecutive"):
        KOrder("mod17:0123")
