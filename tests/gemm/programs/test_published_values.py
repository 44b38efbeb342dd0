"""What publications say that algorithms return on the units that they name."""

from fractions import Fraction

import pytest
from reference.algorithms import value

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.named import find_gemm

VOLTA = find_design("volta/mma.m8n8k4.f32.f16.f16.f32")
ENCODE = FORMATS["fp32"].encode
ONE, ONE_AND_AN_ULP = 0x3F800000, 0x3F800001


def operands(a: list[float], b: list[float], c: float) -> Operands:
    return Operands(tuple(map(ENCODE, a)), tuple(map(ENCODE, b)), ENCODE(c))


def exact_error(pattern: int, x: Operands) -> Fraction:
    products = [value(p, "fp32") * value(q, "fp32") for p, q in zip(x.a, x.b, strict=True)]
    return abs(value(pattern, "fp32") - sum(products, value(x.c, "fp32")))


TABLE_5 = operands(
    [1.0009765625 * 2**-8, 1.326171875 * 2**-14, 2**-12, 2**-12],
    [1.998046875 * 2**7, 1.4443359375 * 2**-7, 2**-12, 2**-12],
    2**-24,
)
"""Valpey et al. 2025, table 5, with the exponent of b_1 that its results need: 7, printed as -7."""


@pytest.mark.parametrize(
    ("name", "d"),
    [
        ("markidis", ONE_AND_AN_ULP),
        ("ootomo-yokota", ONE),
        ("ootomo-yokota@products=00.10.01.11,c=last", ONE),
        ("markidis@c=last", ONE),  # their explanation: only where c is added tells the two apart
    ],
)
def test_table_5_of_valpey(name, d):
    assert trace(find_gemm(name, VOLTA), TABLE_5).d == d


def test_table_5_as_printed_does_not_evaluate_to_its_results():
    printed = Operands(TABLE_5.a, (ENCODE(1.998046875 * 2**-7), *TABLE_5.b[1:]), TABLE_5.c)
    assert trace(find_gemm(find_algorithm("markidis"), VOLTA), printed).d < ENCODE(2.0**-10)


def test_the_walk_through_of_valpey():
    """Section 6, steps 3 to 7: what is added to 1 - 2**-24 in turn, c inside the unit or outside."""
    ones = [2.0**-12, 2.0**-12]
    sums = []
    for count in (0, 1, 2):
        a = [*TABLE_5.a[:2], *(ENCODE(x) for x in ones[:count])]
        b = [*TABLE_5.b[:2], *(ENCODE(x) for x in ones[:count])]
        sums.append(trace(find_gemm(find_algorithm("plain"), VOLTA), Operands(tuple(a), tuple(b), 0)).d)
    # 1 - 2**-24 is a number of fp32; 1 + 2**-24 is not, and normalised loses its last bit
    assert sums == [ENCODE(1 - 2**-24), ONE, ONE]
    steps = trace(find_gemm(find_algorithm("ootomo-yokota@products=00.10.01.11,c=last"), VOLTA), TABLE_5).steps
    main = next(s for s in steps if s.unit is not None)
    assert (main.operands[2][0].word.data, main.result.word.data) == (0, ONE)
    assert [x[0].word.data for x in steps[-1].operands] == [ONE, TABLE_5.c]
    inside = [s for s in trace(find_gemm(find_algorithm("markidis"), VOLTA), TABLE_5).steps if s.unit is not None][-1]
    assert (inside.operands[2][0].word.data, inside.result.word.data) == (TABLE_5.c, ONE_AND_AN_ULP)


SCRIPT = operands([2**-24, -(2**-30), 2**-35, 2**-35], [2**-24 + 2**-35, 2**-29, 2**-35, 2**-35], 0)
"""A model of Valpey et al.'s published script, its comparison corrected."""


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("markidis", 1.6940658945086007e-21),
        ("ootomo-yokota", 1.7330294100822985e-18),
        ("ootomo-yokota@products=00.10.01.11,c=last", 0),
    ],
)
def test_a_witness_of_the_published_script(name, error):
    """Markidis' 1.7e-21 and Ootomo-Yokota's 1.7e-18, also with residuals of rounded words, which the script has not."""
    assert exact_error(trace(find_gemm(find_algorithm(name), VOLTA), SCRIPT).d, SCRIPT) == Fraction(error)


def test_words_of_ootomo_and_yokota_lose_what_underflows_unscaled():
    """Section 3 of the paper: a residual below the numbers of fp16 is lost unless it is scaled."""
    x = operands([2**-8 * (1 + 2**-20)], [1.0], 0)
    assert trace(find_gemm(find_algorithm("markidis"), VOLTA), x).d == ENCODE(2**-8)
    assert trace(find_gemm(find_algorithm("ootomo-yokota"), VOLTA), x).d == x.a[0]
