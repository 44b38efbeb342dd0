"""Whether one algorithm ever has the larger error: on integers, on arrays, and as the solver is asked."""

from fractions import Fraction

import numpy as np
import pytest
from reference.algorithms import decode, largest_finite, reference_algorithm, value
from support.deciding import decide
from support.fp32_operands import FINITE, random_arrays, random_operands

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.gemm.answers.compare import SHAPED_FOR
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.questions.finite_operands import LargerError
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.search import Budget, search

VOLTA, BF16 = "volta/mma.m8n8k4.f32.f16.f16.f32", "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
TF32 = "ampere/mma.m16n8k4.f32.tf32.tf32.f32"


def question(first: str, second: str, unit: str, *where: str, k: int | None = None, by: Fraction | int = 1):
    meant = [parse_precondition(x) for x in where]
    return LargerError(find_gemm(first, unit), find_gemm(second, unit), k=k, where=meant, by=Fraction(by))


def expected_claim(asked: LargerError, operands: Operands) -> bool:
    """The claim, from its text, on finite operands."""
    products = [value(x, "fp32") * value(y, "fp32") for x, y in zip(operands.a, operands.b, strict=True)]
    exact = sum(products, value(operands.c, "fp32"))
    if abs(exact) > largest_finite("fp32"):
        return True
    errors: list[Fraction | None] = []  # None: infinite
    for plan in asked.plans:
        d = reference_algorithm(plan.algorithm, plan.unit, operands)
        errors.append(None if decode(d, "fp32").kind in ("inf", "nan") else abs(value(d, "fp32") - exact))
    first, second = errors
    if second is None:
        return True
    if first is None:
        return False
    return first <= second if asked.by == 1 else not first or first < asked.by * second


PAIRS = [
    ("ootomo-yokota", "markidis", VOLTA, 1),
    ("markidis", "ootomo-yokota", VOLTA, 8),
    ("plain", "markidis-a", VOLTA, Fraction(3, 2)),
    ("plain", "bf16x3", BF16, Fraction(3, 2)),
    ("3xtf32", "ootomo-yokota-tf32", TF32, 8),
]


@pytest.mark.middle
@pytest.mark.parametrize(("first", "second", "unit", "by"), PAIRS)
def test_the_claim_is_what_fractions_say(first, second, unit, by):
    asked, seen = question(first, second, unit, by=by), set()
    for n, kind in enumerate(FINITE * 2):
        operands = random_operands(kind, asked.k, n)
        assert asked.is_meant(operands)
        holds = asked.claim(IntegerAlgebra(), asked.integer_words(operands)).data
        assert holds is expected_claim(asked, operands), kind
        assert asked.is_refuted_by(operands) is not holds
        seen.add(holds)
    assert seen == {True, False}


ENCODE = find_design(VOLTA).c_format.encode
ONE, MAX = 0x3F800000, 0x7F7FFFFF


def test_errors_at_the_ends():
    # 2**17 is infinite in fp16
    asked = question("plain", "plain@c=last", VOLTA, k=1)
    both_infinite = Operands((ENCODE(2**17),), (ONE,), 0)
    assert expected_claim(asked, both_infinite) and not asked.is_refuted_by(both_infinite)
    # the largest number is in reach; a quarter of its last bit above it nothing is, though that rounds to it
    for c, in_reach in ((0, True), (ENCODE(2**102), False)):
        asked = question("plain@rounding=rtp", "plain@rounding=rz", BF16, k=1)
        operands = Operands((MAX,), (ONE,), c)
        assert asked.is_refuted_by(operands) is in_reach
        assert expected_claim(asked, operands) is not in_reach


def test_a_larger_error_is_any_multiple_of_none():
    asked = question("plain", "markidis", VOLTA, k=1, by=10**6)
    exact_in_two_words = Operands((ENCODE(1 + 2**-12),), (ONE,), 0)
    assert asked.is_refuted_by(exact_in_two_words)
    both_exact = Operands((ONE,), (ONE,), 0)
    assert not asked.is_refuted_by(both_exact)


def test_by_counts_from_equality():
    # 1 + 2**-11 + 2**-12: off by 2**-12 in fp16; the residual in bf16 words of a product of 2 is off by less
    for by, refuted in ((1, False), (Fraction(3, 2), False), (Fraction(1, 2), True)):
        asked = question("plain", "plain@c=last", VOLTA, k=1, by=by)
        assert asked.is_refuted_by(Operands((ENCODE(1 + 2**-11 + 2**-12),), (ONE,), 0)) is refuted


def test_preconditions():
    asked = question("plain", "markidis", VOLTA, "exponents=-3..3", k=1)
    for meant, operands in (
        (True, Operands((ONE,), (0x80000000,), 0)),
        (True, Operands((ENCODE(15),), (ENCODE(-0.125),), ENCODE(8))),
        (False, Operands((ENCODE(16),), (ONE,), 0)),
        (False, Operands((ONE,), (ONE,), ENCODE(2**-4))),
        (False, Operands((ONE,), (0x7F800000,), 0)),
    ):
        assert asked.is_meant(operands) is meant
    anything = question("plain", "markidis", VOLTA, k=1)
    assert anything.is_meant(Operands((1,), (MAX,), 0x80000000))
    for special in (0x7F800000, 0xFF800000, 0x7FC00000):
        assert not anything.is_meant(Operands((special,), (ONE,), 0))
        assert not anything.is_meant(Operands((ONE,), (special,), 0))
        assert not anything.is_meant(Operands((ONE,), (ONE,), special))


@pytest.mark.few(2)
@pytest.mark.parametrize("where", ["exponents=-149..-140", "exponents=-60..-50", "exponents=17..40"])
@pytest.mark.parametrize("first", ["plain@rounding=rtp", "markidis@residual_rounding=rna,rounding=rtn"])
def test_exponents_that_the_words_do_not_have(first, where):
    """Words are far larger or smaller than the operands: no exact value is wider than the word that holds it."""
    asked, rng = question(first, "plain@rounding=rtp,c=last", VOLTA, where), np.random.default_rng(5)
    low, high = (int(x) for x in where.removeprefix("exponents=").split(".."))
    for _ in range(20):
        xs = [Fraction(2) ** int(rng.integers(low, high + 1)) * int(rng.choice([-1, 0, 1, 1])) for _ in range(9)]
        operands = Operands(tuple(map(ENCODE, xs[:4])), tuple(map(ENCODE, xs[4:8])), ENCODE(xs[8]))
        assert asked.is_refuted_by(operands) is not expected_claim(asked, operands)


@pytest.mark.middle
@pytest.mark.parametrize(("first", "second", "unit", "by"), PAIRS[:3:2])
def test_arrays_find_what_integers_confirm(first, second, unit, by):
    asked = question(first, second, unit, "exponents=-30..40", by=by)
    columns = [random_arrays(kind, (6, asked.k, 6), seed) for seed, kind in enumerate(FINITE)]
    a, b, c = (np.concatenate(x) for x in zip(*((a, b.T, c[:, 0]) for a, b, c in columns), strict=True))
    batch = OperandBatch(a, b, c)
    meant, refuted = asked.examine(batch)
    rows = [Operands(tuple(a[i].tolist()), tuple(b[i].tolist()), int(c[i])) for i in range(len(c))]
    assert meant.tolist() == [asked.is_meant(x) for x in rows]
    assert refuted.tolist() == [asked.is_refuted_by(x) for x in rows]
    assert refuted.any() and meant.any() and not meant.all() and (meant & ~refuted).any()


@pytest.mark.parametrize(
    ("first", "second", "by"), [("ootomo-yokota", "markidis", 1), ("markidis", "ootomo-yokota", 1)]
)
def test_a_search_finds_witnesses_on_volta(first, second, by):
    """Valpey et al. 2025, property 5: neither algorithm is always the better one."""
    asked = question(first, second, VOLTA, "exponents=-15..14", by=by)
    found = search(asked, find_design(SHAPED_FOR), seed=0, budget=Budget(rows=20_000, seconds=60))
    assert found.witnesses
    for witness in found.witnesses:
        assert asked.is_refuted_by(witness) and not expected_claim(asked, witness)


@pytest.mark.middle
@pytest.mark.parametrize(
    ("first", "second", "where", "status"),
    [
        ("markidis", "markidis", "exponents=-2..2", Status.PROVED),
        # the residual of one operand only corrects what rounding it to fp16 lost; of both it may make matters worse
        ("plain@c=last", "plain@outside=all", "exponents=0..0", Status.PROVED),
        ("plain", "markidis", "exponents=0..0", Status.REFUTED),
    ],
)
def test_what_the_solver_says(first, second, where, status):
    asked = question(first, second, VOLTA, where, "c=0", k=1)
    assert decide(asked) is status
