"""Preconditions mean what their names say, on every pattern of a small format and on edges of wide ones."""

import math

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import find_format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.verification.distributions import draw, from_float64
from mmaproof.verification.search import steer

E5M2 = "hopper/wgmma.f32.e5m2.e5m2"


def meant(where, a=0, b=0, c=0):
    """Whether one product a*b with accumulator c satisfies the preconditions."""
    question = Equivalence(find_design(E5M2), find_design(E5M2), k=1, where=[parse_precondition(w) for w in where])
    rows, _ = question.examine(OperandBatch.of_rows(question.formats, [Operands((a,), (b,), c)]))
    return bool(rows[0])


def values_of_e5m2():
    import ml_dtypes

    return np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64).tolist()


PLAIN = {
    "finite": math.isfinite,
    "positive": lambda x: x > 0,
    "normal": lambda x: math.isfinite(x) and abs(x) >= 2.0**-14,
    "exponents=-15..3": lambda x: x == 0 or (math.isfinite(x) and -15 <= math.floor(math.log2(abs(x))) <= 3),
}


@pytest.mark.parametrize("where", PLAIN)
def test_every_pattern_of_e5m2(where):
    question = Equivalence(find_design(E5M2), find_design(E5M2), k=1, where=[parse_precondition(where)])
    every = OperandBatch.of_rows(question.formats, [Operands((a,), (0x3C,), 0x3F800000) for a in range(256)])
    assert question.examine(every)[0].tolist() == [PLAIN[where](value) for value in values_of_e5m2()]


def test_the_accumulator_counts_too():
    assert not meant(["finite"], c=0x7F800000)
    assert not meant(["normal"], a=0x3C, b=0x3C, c=0)
    assert meant(["c=0"], c=0x80000000)
    assert not meant(["c=0"], c=1)
    tiny = int(from_float64(find_format("fp32"), np.array([2.0**-140]))[0])
    assert meant(["exponents=-140..-140"], c=tiny)
    assert not meant(["exponents=-139..0"], c=tiny)


@pytest.mark.parametrize("where", ["exponents=-200..-150", "exponents=128..300"])
def test_a_range_of_exponents_without_numbers(where):
    with pytest.raises(InputError, match=r"only the zeros of e5m2, fp32 are there; others have exponents -149\.\.127"):
        meant([where])


@pytest.mark.parametrize("where", ["exponents=-200..-149", "exponents=127..300"])
def test_a_range_in_which_one_format_has_numbers(where):
    assert meant([where])


@pytest.mark.parametrize("where", ["finite", "positive", "normal", "exponents=2..3"])
def test_scales_are_not_restricted(where):
    design = find_design("blackwell/block16.f32.e2m1.e2m1.ue4m3")
    question = Equivalence(design, design, k=16, where=[parse_precondition(where)])
    for scale in (0x00, 0x01, 0x38, 0x7F):
        operands = Operands((7,) * 16, (7,) * 16, design.c_format.encode(8), (scale,), (scale,))
        assert question.is_meant(operands)
    rng = np.random.default_rng(0)
    batch = draw("uniform-bits", design, 64, 16, rng)
    steered = steer(batch, question, rng)
    assert (steered.scale_a == batch.scale_a).all()
    assert (steered.scale_b == batch.scale_b).all()


def test_several_hold_together():
    assert meant(["positive", "normal"], a=0x3C, b=0x3C, c=0x3F800000)
    assert not meant(["positive", "c=0"], a=0x3C, b=0x3C, c=0)


@pytest.mark.parametrize("text", ["", "finit", "exponents", "exponents=1", "exponents=3..1", "c=one", "exponents=a..b"])
def test_unknown_ones_are_refused(text):
    with pytest.raises(InputError):
        parse_precondition(text)


def test_text_is_read_back():
    for text in ("finite", "positive", "normal", "c=0", "exponents=-14..15"):
        assert str(parse_precondition(text)) == text


def test_designs_with_other_formats_are_not_comparable():
    with pytest.raises(DesignError, match="not comparable: c is fp32 in one, fp16 in the other"):
        Equivalence(find_design("volta/f32.f16.f16.f32"), find_design("volta/f32.f16.f16.f16"))


def test_default_length_is_the_least_common_multiple():
    assert Equivalence(find_design("volta/f32.f16.f16.f32"), find_design("turing/f32.f16.f16.f32")).k == 8
    with pytest.raises(DesignError, match="multiple"):
        Equivalence(find_design("volta/f32.f16.f16.f32"), find_design("turing/f32.f16.f16.f32"), k=12)


def bits(value):
    return int(value, 16)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("where", "of_a"),
    [
        ("a=0", ["00", "80"]),
        ("a=+0", ["00"]),
        ("a=-0", ["80"]),
        ("a=subnormal", ["01", "02", "03", "81", "82", "83"]),
        ("a=inf", ["7c", "fc"]),
        ("a=nan", ["7d", "7e", "7f", "fd", "fe", "ff"]),
        ("a=0x81", ["81"]),
    ],
)
def test_what_an_operand_is(where, of_a):
    def met(text):
        question = Equivalence(find_design(E5M2), find_design(E5M2), k=2, where=[parse_precondition(text)])
        rows = [Operands((x, 0x3C), (0x3C, 0x3C), 0) for x in range(256)]
        both = [Operands((x, x), (0x3C, 0x3C), 0) for x in range(256)]
        return [question.examine(OperandBatch.of_rows(question.formats, x))[0].tolist() for x in (rows, both)]

    expected = [x in map(bits, of_a) for x in range(256)]
    # every element of a, and 0x3c is none of these
    assert met(where) == [[False] * 256, expected]
    assert met(where.replace("=", "!=")) == [[not x for x in expected]] * 2


def test_what_c_is():
    assert meant(["c!=0"], c=1) and not meant(["c!=0"], c=1 << 31)
    assert meant(["c!=0x80000000"]) and not meant(["c!=0x80000000"], c=1 << 31)
    assert meant(["c=negative", "b=normal"], b=0x3C, c=1 << 31) and not meant(["c=negative"], c=0xFFC00000)


def test_patterns_are_drawn_where_they_are_asked_for():
    question = Equivalence(
        find_design(E5M2), find_design(E5M2), k=2, where=[parse_precondition(x) for x in ("a=0x81", "c=+0")]
    )
    rng = np.random.default_rng(0)
    batch = steer(draw("uniform-bits", question.designs[0], 64, 2, rng), question, rng)
    assert question.examine(batch)[0].all() and (batch.a == 0x81).all()


def test_a_pattern_fits_its_operand():
    with pytest.raises(InputError, match="c=0x100000000: fp32 has 32 bits"):
        meant(["c=0x100000000"])


def test_integers_have_patterns_only():
    design = find_design("cdna3/v_mfma_i32_16x16x32_i8")
    question = Equivalence(design, design, k=1, where=[parse_precondition("c=0x5")])
    assert question.is_meant(Operands((1,), (1,), 5)) and not question.is_meant(Operands((1,), (1,), 4))
    with pytest.raises(DesignError, match="patterns only"):
        Equivalence(design, design, where=[parse_precondition("c!=0")])
