"""What a bundle claims is what was asked: its formula holds exactly at the counterexamples.

A proved claim has no counterexample, so these questions are about designs for which the claim is false. The values of
the formula are computed by the checker. The counterexamples are found without the question: each design is evaluated
by itself, and errors are computed on rational numbers.
"""

from fractions import Fraction

import numpy as np
import pytest
from reference.formats import decode
from support.bundles import load_checker

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.evaluate import trace as trace_of_plan
from mmaproof.gemm.questions.plan_equivalence import PlanEquivalence
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.question import Scope
from mmaproof.smt.solving.query import Query, to_smtlib
from mmaproof.smt.trace import evaluate, trace
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
INFINITY = 0x7F800000


def differ(x, y):
    """Whether two results in fp32 differ. NaNs do not."""
    return x != y and not all(p & ~(1 << 31) > INFINITY for p in (x, y))


def designs(mutant):
    pair = [find_design(VOLTA), find_design(mutant)]
    return Equivalence(*pair), pair[0], lambda x: differ(*(evaluate(d, x) for d in pair))


def plans(other):
    pair = [read_plan("turing/mma.m16n8k8.f32.f16.f16.f32"), read_plan(f"turing/mma.m16n8k8.f32.f16.f16.f32 | {other}")]
    return PlanEquivalence(*pair, k=16), pair[0].unit, lambda x: differ(*(trace_of_plan(p, x).d for p in pair))


def bound(change):
    design = find_design(f"ampere/m16n8k8.f32.bf16.bf16.f32@{change}")
    step = design.one_step()

    def violated(operands):
        (signals,) = trace(step, operands).steps
        numbers = [
            decode(x, f.name) for f, xs in ((design.a_format, operands.a), (design.b_format, operands.b)) for x in xs
        ]
        c, d = decode(operands.c, "fp32"), decode(signals.d.data, "fp32")
        if any(x.kind in ("nan", "inf") for x in (*numbers, c, d)):
            return False
        signed = [-x.magnitude if x.sign else x.magnitude for x in (*numbers, c, d)]
        products = sum(x * y for x, y in zip(signed[: step.step.L], signed[step.step.L : -2], strict=True))
        exponent = -126
        while signed[-1] and Fraction(2) ** (exponent + 1) <= abs(signed[-1]):
            exponent += 1
        unit = Fraction(2) ** (signals.e_max.data - step.step.fraction_bits)
        return abs(signed[-1] - products - signed[-2]) >= (step.step.L + 1) * unit + Fraction(2) ** (exponent - 23)

    return WithinBound(design, Scope()), step, violated


CASES = {
    "a cut": (designs, f"{VOLTA}@fraction_bits=22"),
    "another rounding": (designs, f"{VOLTA}@rho=rne-fp32"),
    "a sum in turn": (designs, f"{VOLTA}@summation=sequential,truncates=partial-sum"),
    "two parts": (plans, "split-k=2"),
    "a narrow register": (bound, "carry_bits=0"),
    "an overflow": (bound, "overflow=largest-finite"),
}


def holds_exactly_at(question, is_counterexample, operands, rng, count=4):
    """Let the checker find out of N operands of each kind that the formula holds at the counterexamples alone."""
    rows = {False: [], True: []}
    for x in operands:
        rows[is_counterexample(x)].append(x)
    chosen = [x for kind in rows.values() for x in (kind[i] for i in rng.permutation(len(kind))[:count])]
    assert all(rows.values())
    checker = load_checker()
    terms = checker.Terms()
    claim = checker.Script(to_smtlib(Query.of(question.formula.violation)), "claim.smt2", terms)
    for x in chosen:
        operands = (*x.a, *x.b, x.c)
        values = dict(zip((s.symbol_name() for s in question.formula.symbols), operands, strict=True))
        held = checker.translated(terms, claim.asserted, values)[1][claim.asserted[0]] == [checker.TRUE]
        assert held == is_counterexample(x), x


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_the_formula_holds_exactly_at_the_counterexamples(case):
    make, argument = CASES[case]
    question, shaped, is_counterexample = make(argument)
    rng = np.random.default_rng(7)
    batches = (draw(name, shaped, 20, question.k, rng) for name in sorted(DISTRIBUTIONS))
    holds_exactly_at(question, is_counterexample, [x for batch in batches for x in map(batch.row, range(20))], rng)


@pytest.mark.parametrize("spreads", [(5, 1), (3, 2)])
def test_the_formula_holds_exactly_at_terms_that_lie_too_far_apart(spreads):
    """One product of normal numbers, and c. Both lie at most so far below the larger exponent, and a bit is lost."""
    design = find_design(f"{VOLTA}@L=1")
    question = WithinSpread(design, Scope(), *spreads)

    def exponents(x):
        return (x.a[0] >> 10 & 31) + (x.b[0] >> 10 & 31) - 30, (x.c >> 23 & 255) - 127 if x.c else -126

    def is_other(x):
        return differ(*(evaluate(d.one_step(), x) for d in (design, question.exact)))

    def violated(x):
        product, c = exponents(x)
        near = max(product, c) - product <= spreads[0] and (not x.c or max(product, c) - c <= spreads[1])
        return near and is_other(x)

    rng = np.random.default_rng(5)
    rows = []
    for _ in range(300):
        a, b = (int(rng.integers(2)) << 15 | int(rng.integers(1, 31)) << 10 | int(rng.integers(1 << 10)) for _ in "ab")
        exponent = exponents(Operands((a,), (b,), 0))[0] + int(rng.integers(-3, 8))
        c = 0 if rng.random() < 0.2 else exponent + 127 << 23 | int(rng.integers(1 << 23))
        rows.append(Operands((a,), (b,), c))
    holds_exactly_at(question, violated, [x for x in rows if is_other(x)], rng, count=20)
