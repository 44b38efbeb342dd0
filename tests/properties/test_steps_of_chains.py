"""What is proved of a step is said of a chain only where it is proved of every kind of step of it.

The designs here read c in another format than d, so that the first step of a chain is not what later steps are.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.sampling import covering

from mmaproof.designs.arithmetic import repeats_one_step, steps_of_chain
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.readings import KOrder
from mmaproof.designs.signature import Signature
from mmaproof.gemm.answers.unit_slices import exact_sums, value_of
from mmaproof.gemm.kernels import outcome
from mmaproof.gemm.kernels.tree import are_same
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.normal_form import takes_any_order
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence, never_minus_zero
from mmaproof.properties.equivalence import alignment_lemmas
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import evaluate
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.verification.distributions import draw
from mmaproof.verification.search import Budget, search

VOLTA, NARROW_C = "volta/f32.f16.f16.f32", "volta/mma.m8n8k4.f32.f16.f16.f16"
E2M1 = FORMATS["e2m1"]
INTEGERS = IntegerAlgebra()


def own(k=16, **settings):
    """Return a unit of e2m1 whose c is e2m1 too, while its d is fp32."""
    unit = find_design(VOLTA).change(zero_c="absent", zero_product="absent", **settings)
    return replace(
        unit, k=k, step=replace(unit.step, L=8), signature=Signature(E2M1, E2M1, E2M1, FORMATS["fp32"]), changed=()
    )


@pytest.mark.parametrize(
    ("name", "length", "formats"),
    [
        (VOLTA, None, ["fp32"]),
        (VOLTA, 8, ["fp32"]),
        (NARROW_C, 4, ["fp16"]),
        (NARROW_C, 3, ["fp16"]),
        (NARROW_C, 8, ["fp16", "fp32"]),
        (NARROW_C, None, ["fp16", "fp32"]),
        (f"{VOLTA}@chain_infinity=finite", 4, ["fp32"]),
        (f"{VOLTA}@chain_infinity=finite", 8, None),
        (f"{VOLTA}@join=ieee-once", 4, ["fp32"]),
        (f"{VOLTA}@join=ieee-once", 8, None),
        ("cdna2/v_mfma_f32_32x32x4bf16@minus_zero=positive", None, None),
    ],
)
def test_kinds_of_steps(name, length, formats):
    unit = find_design(name)
    steps = steps_of_chain(unit, length)
    assert (None if steps is None else [x.c_format.name for x in steps]) == formats
    assert all(x.k == x.step.L for x in steps or ())
    if length is not None:
        assert repeats_one_step(unit, length) == (formats is not None and len(formats) == 1)


UNITS = [
    x
    for x in (*covering(list(load_catalogue().designs.values())), own(fraction_bits=9, grouping="even-odd"))
    if steps_of_chain(x) is not None and not x.d_format.is_integer
]


@pytest.mark.parametrize("unit", UNITS, ids=lambda x: x.name)
def test_a_kind_of_step_computes_what_each_step_of_a_chain_does(unit):
    """This is what every statement about chains rests on."""
    length, kinds = (2 if unit.hands_on else 1) * unit.k, steps_of_chain(unit)
    paths = datapath(unit, length)
    for distribution in ("normal", "edges", "uniform-bits"):
        batch = draw(distribution, unit, 3, length, np.random.default_rng(0))
        for operands in map(batch.row, range(len(batch))):
            columns = (operands.a, operands.b, (operands.c,), operands.scale_a or (), operands.scale_b or ())
            formats = (*unit.formats[:3], *[unit.scale_format or unit.a_format] * 2)
            words = [[INTEGERS.unsigned(x, f.bits) for x in y] for f, y in zip(formats, columns, strict=True)]
            steps = dot_product_accumulate(unit, INTEGERS, OperandWords(*words[:2], words[2][0], *words[3:])).steps
            for number, (path, step) in enumerate(zip(paths, steps, strict=True)):
                kind = kinds[0 if number == 0 else -1]
                blocks = [] if unit.block is None else list(dict.fromkeys(k // unit.block for k in path.ks))
                given = Operands(
                    tuple(operands.a[k] for k in path.ks),
                    tuple(operands.b[k] for k in path.ks),
                    operands.c if number == 0 else steps[number - 1].d.data,
                    *(tuple(x[i] for i in blocks) for x in ((operands.scale_a, operands.scale_b) if blocks else ())),
                )
                assert evaluate(kind, given) == step.d.data, (distribution, number)


def test_any_order_is_asked_of_later_steps_too():
    """Their c has more bits than the even and the odd products leave it. The first step adds everything exactly."""
    unit, order = own(fraction_bits=9, grouping="even-odd"), KOrder("mod16:0/2/4/6/1/3/5/7/8/a/c/e/9/b/d/f")
    question = PlanEquivalence(Plan(unit), Plan(unit, order=order), k=16)
    first, later = question.other_questions()
    assert [x.question.formats[2].name for x in (first, later)] == ["e2m1", "fp32"]
    assert first.name != later.name
    budget = Budget(rows=20000, seconds=60)
    assert not search(first.question, first.design, seed=0, budget=budget).witnesses
    assert search(later.question, later.design, seed=0, budget=budget).witnesses
    six, half = 0b0111, 0b0001
    a = (*[six] * 8, half, 0, half, *[0] * 5)
    d = [
        value_of(FORMATS["fp32"], x.data) for x in question.results(INTEGERS, question.integer_words(Operands(a, a, 0)))
    ]
    assert d == [288.5, 288]


def test_one_step_is_asked_about_where_no_call_is_longer():
    unit = own(k=8, fraction_bits=9, grouping="even-odd")
    question = PlanEquivalence(Plan(unit), Plan(unit, order=KOrder("reversed")), k=8)
    assert [x.question.formats[2].name for x in question.other_questions()] == ["e2m1"]
    volta = [read_plan(x) for x in (VOLTA, f"{VOLTA} | order=reversed")]
    assert len(PlanEquivalence(*volta, k=64).other_questions()) == 1


def test_products_of_a_group_do_not_move_by_themselves():
    assert takes_any_order(find_design(VOLTA))
    grouped = find_design("blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3")
    assert grouped.step.group_size is not None
    assert not takes_any_order(grouped)


def test_minus_zero_is_asked_of_every_kind_of_step():
    assert [x.formats[2].name for x in never_minus_zero(find_design(NARROW_C))] == ["fp16", "fp32"]
    assert [x.k for x in never_minus_zero(find_design(VOLTA))] == [4]
    assert [x.k for x in never_minus_zero(find_design(f"{VOLTA}@join=ieee-once,L=2"))] == [4]
    assert never_minus_zero(find_design(f"{VOLTA}@chain_infinity=finite")) == []


def test_rivals_are_not_equal_without_a_proof_of_every_kind_of_step(monkeypatch):
    asked = []
    monkeypatch.setattr(outcome, "never_minus_zero", lambda unit: asked.append(unit.name) or [])
    plans = [read_plan(x) for x in (VOLTA, f"{VOLTA} | promote=8")]
    assert outcome._same_but_for_zeros(*plans, 8, None) is None
    assert asked == [find_design(VOLTA).name]


def test_an_infinity_that_is_handed_in_is_not_one_of_the_chain():
    unit = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
    plans = [read_plan(f"{unit}@chain_infinity=finite{x}") for x in ("", " | rescale=8:1")]
    assert not are_same(*plans, 16)
    largest, lowest = 0x7F7F, 0xFF7F
    operands = Operands((largest,) * 8 + (lowest,) * 8, (largest,) * 16, 0)
    assert PlanEquivalence(*plans, k=16).is_refuted_by(operands)
    assert are_same(read_plan(unit), read_plan(f"{unit} | rescale=8:1"), 16)


def test_low_bits_of_a_step_are_not_those_of_a_chain():
    """The chain of these steps has sums of 17 bits, and one of them of 11."""
    unit, count = own(k=8, fraction_bits=23), 64
    a = (0b0111,) * 8 * count
    d = evaluate(unit, Operands((*a, 0b0001, *[0] * 7), (*a, 0b0010, *[0] * 7), 0))
    assert d & 0x3FF


def test_alignment_of_a_first_step_is_not_that_of_later_ones():
    unit = find_design(f"{VOLTA}@join=ieee-once")
    assert len(alignment_lemmas(unit, unit.change(zero_c="absent"), 8)) == 2


class _Asked:
    """Someone who notes the lemmas, and proves all of them."""

    def __init__(self):
        self.names = []

    def prove(self, lemma):
        from mmaproof.smt.solving.verdict import Status, Verdict

        self.names.append(lemma.name)
        return Verdict(Status.PROVED, 0.0)


def test_integer_sums_of_later_steps_have_lemmas_of_their_own():
    narrow, same = _Asked(), _Asked()
    exact_sums(find_design(VOLTA), (11, 11), same)
    unit = find_design(VOLTA)
    signature = replace(unit.signature, d=FORMATS["fp16"])
    wide = replace(unit, signature=signature, step=replace(unit.step, rho="rne-fp16"))
    exact_sums(wide, (11, 11), narrow)
    assert len(narrow.names) == 2 * len(same.names)
