"""How many fraction bits are enough: the published 34, and every way in which the lemmas could be fooled."""

import pytest
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, random_pair, use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.formats import FORMATS
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import find_property
from mmaproof.properties.library.enough_bits import SameWithBits, expected_bits
from mmaproof.properties.preconditions import Exponents, ZeroAccumulator
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.check import check
from mmaproof.verification.compare import compare

HOPPER = "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"
SCALED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
C_IS_ZERO = (ZeroAccumulator(),)
LIMITS = Limits(60, 4 << 30)
SOLVING = Solving("bitwuzla")


def with_bits(bits, **settings):
    return find_design(HOPPER).change(fraction_bits=bits, **settings)


def has_theorem(question, solving=SOLVING):
    whole, argument = question.formula, question.argument()
    asked = Lemmas(solving.ask, LIMITS, worked(), whole.environment)
    return argument is not None and asked.joined(whole.violation, argument) is not None


def between(fewer, more, k=None, where=C_IS_ZERO, **settings):
    """The question whether two numbers of fraction bits return the same."""
    return Equivalence(with_bits(fewer, **settings), with_bits(more, **settings), k=k, where=where)


def test_34_and_40_bits_are_equal_for_e4m3():
    question = between(34, 40)
    assert question.decides_by_argument
    assert has_theorem(question)


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
    assert not has_theorem(between(fewer, more, where=where, **settings))


@pytest.mark.parametrize(
    ("fewer", "settings", "where"),
    [
        (35, {"floor": 17}, C_IS_ZERO),
        (34, {"zero_c": "e-zero", "e_zero": 16}, C_IS_ZERO),
        (34, {"alignment": "jam"}, C_IS_ZERO),
        (165, {}, ()),
        (165, {"alignment": "nearest"}, ()),
        (22, {}, (*C_IS_ZERO, Exponents(-4, 4))),
    ],
)
def test_the_step_before_is_proved(fewer, settings, where):
    assert has_theorem(between(fewer, fewer + 6, where=where, **settings))


@pytest.mark.parametrize(
    ("first", "second", "length", "where"),
    [
        ({"carry_bits": 2}, {"carry_bits": 2}, 32, C_IS_ZERO),  # the register wraps
        ({"alignment": "complement"}, {"alignment": "complement"}, 32, C_IS_ZERO),  # c decides what is cut
        ({"sticky": "yes"}, {"sticky": "yes"}, 32, C_IS_ZERO),
        ({"grouping": "even-odd"}, {"grouping": "even-odd"}, 32, C_IS_ZERO),
        ({}, {"rho": "rne-fp32"}, 32, C_IS_ZERO),  # another difference
        ({}, {"chain_infinity": "finite"}, 64, ()),  # what overflows is read as a number
    ],
)
def test_where_the_argument_does_not_apply_there_is_none(first, second, length, where):
    question = Equivalence(with_bits(34, **first), with_bits(40, **second), k=length, where=where)
    assert not question.decides_by_argument


@pytest.mark.parametrize(("k", "bits", "proved"), [(64, 165, True), (64, 164, False)])
def test_in_a_chain_each_step_loses_nothing(k, bits, proved):
    assert has_theorem(between(bits, 170, k, where=())) is proved


def test_a_chain_hands_on_results_of_another_format_than_c():
    """The c of the second step is a number of fp32. Its range is larger than that of fp16."""

    def question(bits, k):
        name = "volta/mma.m8n8k4.f32.f16.f16.f16"
        return Equivalence(*(find_design(name).change(fraction_bits=n) for n in (bits, 181)), k=k)

    assert [has_theorem(question(80, k)) for k in (4, 8)] == [True, False]
    assert has_theorem(question(179, 8))


def test_with_scales_a_step_has_a_theorem():
    first, second = (find_design(SCALED).change(fraction_bits=n) for n in (600, 610))
    assert has_theorem(Equivalence(first, second))


def test_infinities_have_exponents_above_all_numbers():
    """Where an element may be an infinity, terms may lose bits that no result shows."""
    first, second = (find_design("volta/mma.m8n8k4.f32.f16.f16.f32").change(fraction_bits=n) for n in (179, 185))
    assert has_theorem(Equivalence(first, second))
    assert not has_theorem(Equivalence(first.change(fraction_bits=178), second))


def test_in_a_chain_c_is_any_number():
    """The c of the second step is not a zero, whatever is asked of the first."""
    assert not has_theorem(between(34, 40, 64))


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
            proved = has_theorem(question, InThisProcess())
            violated = question.examine(all_operands(question))[1].any()
            assert not (proved and violated), (seed, bits, design.settings)
            seen.add((proved, bool(violated)))
    assert {(True, False), (False, True)} <= seen


def test_a_sum_that_is_moved_up_may_have_more_bits_than_the_wide_one(monkeypatch):
    """The bound of a sum that is cut to few bits may be coarser than that of the exact one."""
    use_small_formats(monkeypatch)
    design = random_pair(5173, wide=False).question.designs[0].one_step()
    one, two = (SameWithBits(design, Scope(), bits) for bits in (1, 2))
    assert [has_theorem(x, InThisProcess()) for x in (one, two)] == [False, True]
    assert not two.examine(all_operands(two))[1].any()
