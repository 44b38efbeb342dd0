"""How many fraction bits are enough: the published 34, and every way in which the lemmas could be fooled."""

import pytest
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, random_pair, use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.formats import FORMATS
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import find_property
from mmaproof.properties.library.enough_bits import ENOUGH_TERMS, SameWithBits, expected_bits, lemmas_of_bits
from mmaproof.properties.preconditions import Exponents, Normal, ZeroAccumulator
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import check
from mmaproof.verification.compare import compare

HOPPER = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
C_IS_ZERO = (ZeroAccumulator(),)
LIMITS = Limits(60, 4 << 30)
SOLVING = Solving("bitwuzla")


def with_bits(bits, **settings):
    return find_design(HOPPER).change(fraction_bits=bits, **settings)


def statuses(lemmas, solving=SOLVING):
    return [decide(x, solving.ask, LIMITS).status for x in lemmas]


def test_34_and_40_bits_are_equal_for_e4m3():
    lemmas = Equivalence(with_bits(34), with_bits(40), where=C_IS_ZERO).lemmas()
    assert statuses(lemmas) == [Status.PROVED] * 2


@pytest.mark.middle
def test_they_are_proved_equal_at_full_length():
    answer = compare(with_bits(34), with_bits(40), where=C_IS_ZERO, budget=None)
    assert answer.verdict == "equivalent"
    assert compare(with_bits(33), with_bits(40), where=C_IS_ZERO).verdict == "different"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("fewer", "more", "settings", "where"),
    [
        (33, 40, {}, C_IS_ZERO),
        (34, 40, {}, ()),
        (34, 40, {"floor": 17}, C_IS_ZERO),
        (34, 40, {"zero_product": "e-zero", "e_zero": 17}, C_IS_ZERO),
        (34, 40, {"zero_c": "e-zero", "e_zero": 17}, C_IS_ZERO),
        (34, 40, {"product_exponent": "normalised"}, C_IS_ZERO),
        (33, 40, {"L": 1}, ()),
        (21, 40, {}, (*C_IS_ZERO, Exponents(-4, 4))),
    ],
)
def test_one_bit_too_few_is_noticed(fewer, more, settings, where):
    """Each of the claims is one step beyond a true one."""
    designs = with_bits(fewer, **settings), with_bits(more, **settings)
    assert Status.REFUTED in statuses(lemmas_of_bits(*designs, 32, where))


@pytest.mark.parametrize("settings", [{"floor": 16}, {"zero_c": "e-zero", "e_zero": 16}, {"alignment": "jam"}])
def test_the_step_before_is_proved(settings):
    designs = with_bits(34, **settings), with_bits(40, **settings)
    assert statuses(lemmas_of_bits(*designs, 32, C_IS_ZERO)) == [Status.PROVED] * 2


@pytest.mark.parametrize(
    ("first", "second", "length", "where"),
    [
        ({"carry_bits": 2}, {"carry_bits": 2}, 32, C_IS_ZERO),  # the register wraps
        ({"alignment": "complement"}, {"alignment": "complement"}, 32, C_IS_ZERO),  # c decides what is cut
        ({"sticky": "yes"}, {"sticky": "yes"}, 32, C_IS_ZERO),
        ({"grouping": "even-odd"}, {"grouping": "even-odd"}, 32, C_IS_ZERO),
        ({}, {"rho": "rne-fp32"}, 32, C_IS_ZERO),  # another difference
        ({"chain_infinity": "finite"}, {"chain_infinity": "finite"}, 64, ()),  # what overflows is read as a number
        ({}, {}, 16, (Normal(),)),  # the products that fill up are zeros
    ],
)
def test_where_the_argument_does_not_apply_there_are_no_lemmas(first, second, length, where):
    assert not lemmas_of_bits(with_bits(34, **first), with_bits(40, **second), length, where)


def test_a_chain_hands_on_results_of_another_format_than_c():
    """The c of the second step is a number of fp32, and the lemmas would be about those of fp16."""
    first, second = (find_design("volta/mma.m8n8k4.f32.f16.f16.f16").change(fraction_bits=n) for n in (60, 70))
    assert lemmas_of_bits(first, second, 4)
    assert not lemmas_of_bits(first, second, 8)


def test_with_scales_the_step_has_all_of_its_products():
    """Two products may have the same scales where others of the step have not."""
    first, second = (find_design(SCALED).change(fraction_bits=n) for n in (300, 310))
    exact, _ = lemmas_of_bits(first, second, first.k)
    assert exact.question.design.step.L == first.step.L > ENOUGH_TERMS
    exact, _ = lemmas_of_bits(with_bits(34), with_bits(40), 32)
    assert exact.question.design.step.L == ENOUGH_TERMS


def test_in_a_chain_c_is_any_number():
    """The c of the second step is not a zero, whatever is asked of the first."""
    assert Status.REFUTED in statuses(lemmas_of_bits(with_bits(34), with_bits(40), 64, C_IS_ZERO))


@pytest.mark.slow
def test_the_published_number_is_the_least():
    answer = check("fraction-bits-sufficient", with_bits(34), where=C_IS_ZERO)
    assert (answer.verdict, answer.finding.value) == ("holds", 34)
    answer = check("fraction-bits-sufficient", with_bits(13), where=C_IS_ZERO)
    assert (answer.verdict, answer.finding.value) == ("violated", 34)


def test_the_mutant_has_too_few():
    asked = find_property("fraction-bits-sufficient")
    assert asked.mutant(with_bits(34)).step.kept_bits == 1
    assert asked.mutant(with_bits(1)).step.kept_bits > 165


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_the_guess_starts_at_the_range_of_exponents(name):
    """Of products: from twice the highest exponent to twice the lowest bit."""
    fmt = FORMATS[name]
    design = find_design(f"hopper/wgmma.m64n8k32.f32.{name}.{name}")
    assert expected_bits(design, C_IS_ZERO) == 2 * (fmt.e_max - fmt.e_min + fmt.fraction_bits)


@pytest.mark.slow
def test_small_formats_agree_with_exhaustion(monkeypatch):
    """At the least number of bits no operands differ; at one fewer some do, and the lemmas are not proved."""
    use_small_formats(monkeypatch)
    seen = set()
    for seed in range(30):
        design = random_pair(seed, wide=False).question.designs[0].one_step()
        if find_property("fraction-bits-sufficient").why_not(design) is not None:
            continue
        least = expected_bits(design, ())
        for bits in (least - 1, least):
            question = SameWithBits(design, Scope(), bits)
            lemmas = question.lemmas()
            proved = bool(lemmas) and set(statuses(lemmas, InThisProcess())) == {Status.PROVED}
            violated = question.examine(all_operands(question))[1].any()
            assert not (proved and violated), (seed, bits, design.settings)
            seen.add((proved, bool(violated)))
    assert {(True, False), (False, True)} <= seen
