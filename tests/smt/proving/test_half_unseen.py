"""A sum of c and few products that are truncated does not fall where c rises (Mikaitis 2024), and one more may."""

import dataclasses

import pytest
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, random_pair, use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.steps import FusedStep
from mmaproof.properties.library.monotonicity import MonotoneInC
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.proving.monotone import ChangedC, LargeStep, LowBitUnseen, lemmas_for_c, lemmas_of_sum
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import check

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
LIMITS = Limits(60, 4 << 30)


def unit(products, bits, **settings):
    """A zero reads -126, as the least c that is not zero does, so that e_max is the same for both."""
    zeros = {"zero_c": "minus-126", "zero_product": "operand-minus-126"}
    design = find_design(VOLTA).change(fraction_bits=bits, **zeros, **settings)
    return dataclasses.replace(design, k=products, step=dataclasses.replace(design.step, L=products), changed=("L",))


def statuses(lemmas, solving=None):
    ask = (solving or Solving()).ask
    return {x.name: decide(x, ask, LIMITS).status for x in lemmas}


@pytest.mark.few(1)
@pytest.mark.parametrize(("products", "bits"), [(1, 23), (2, 23), (3, 24), (5, 25)])
def test_so_many_products_never_let_the_result_fall(products, bits):
    assert set(statuses(lemmas_for_c(unit(products, bits))).values()) == {Status.PROVED}


@pytest.mark.few(1)
@pytest.mark.parametrize(("products", "bits"), [(3, 23), (4, 24), (6, 25)])
def test_one_more_product_does(products, bits):
    design = unit(products, bits)
    assert Status.REFUTED in statuses(lemmas_for_c(design)).values()
    assert check("monotone-in-c", design).verdict == "violated"


def large_step(design, others):
    (total,) = MonotoneInC().question(design, Scope()).symbolic_step().sums
    cut = total.path.cuts[-1]
    return LargeStep(ChangedC(design), cut, [cut] * others, None, half_unseen=True)


def test_half_a_unit_more_is_all_that_may_be_lost():
    two = unit(2, 23)
    assert statuses([large_step(two, 2)]).popitem()[1] is Status.PROVED
    assert statuses([large_step(two, 3)]).popitem()[1] is Status.REFUTED


@pytest.mark.parametrize("rho", ["rne-fp32", "rtn-fp32", "rtp-fp32"])
def test_only_a_truncated_result_hides_it(rho):
    design = unit(2, 23, rho=rho)
    unseen = [x for x in lemmas_for_c(design) if isinstance(x, LowBitUnseen)]
    assert set(statuses(unseen).values()) == {Status.REFUTED}


@pytest.mark.parametrize("settings", [{"alignment": "floor"}, {"alignment": "jam"}, {"alignment": "nearest"}])
def test_terms_that_are_not_truncated_are_argued_about_as_before(settings):
    assert not any(isinstance(x, LowBitUnseen) for x in lemmas_for_c(unit(2, 23, **settings)))


@pytest.mark.parametrize("place", [0, 1])
def test_one_other_cut_is_enough_to_argue_as_before(place):
    """Half a unit is lost unseen only if each of the others loses as much."""
    (total,) = MonotoneInC().question(unit(2, 23), Scope()).symbolic_step().sums
    rules = Rules.of(unit(2, 23).step)
    cuts = list(total.path.cuts)
    for other in (Cut(22), Cut.jammed(23)):
        changed = [*cuts[:place], other, *cuts[place + 1 :]]
        mixed = dataclasses.replace(total, path=dataclasses.replace(total.path, cuts=tuple(changed)))
        lemmas = [lemmas_of_sum(ChangedC(unit(2, 23)), x, len(cuts) - 1, rules) for x in (total, mixed)]
        assert [any(isinstance(x, LowBitUnseen) for x in found) for found in lemmas] == [True, False]


def test_it_looks_at_the_last_bit_alone():
    (total,) = MonotoneInC().question(unit(2, 23), Scope()).symbolic_step().sums
    (lemma,) = (x for x in lemmas_for_c(unit(2, 23)) if isinstance(x, LowBitUnseen))
    algebra = IntegerAlgebra()
    words = {x.name: algebra.twos_complement(algebra.unsigned(0, x.width)) for x in lemma.inputs}
    words["total"] = algebra.signed((1 << 24) + 1, total.total.width)
    words["zero_negative"] = algebra.unsigned(0, 1)
    assert lemma.claim(algebra, words).data


@pytest.mark.slow
def test_small_designs_agree_with_exhaustion(monkeypatch):
    use_small_formats(monkeypatch)
    alike = {"alignment": "truncate", "grouping": "all", "join": "fused", "floor": None, "carry_bits": None}
    proved = 0
    for seed in range(200):
        design = random_pair(seed, wide=False).question.designs[0].one_step()
        if design.step.L != 2 or not design.step.is_parametric or not isinstance(design.step, FusedStep):
            continue
        design = design.change(**alike, sticky="no", c_extra_bits=0, fraction_bits=design.c_format.fraction_bits)
        question = MonotoneInC().question(design, Scope())
        lemmas = question.lemmas()
        if not any(isinstance(x, LowBitUnseen) for x in lemmas):
            continue
        if set(statuses(lemmas, InThisProcess()).values()) == {Status.PROVED}:
            assert not question.examine(all_operands(question))[1].any(), (seed, design.settings)
            proved += 1
    assert proved
