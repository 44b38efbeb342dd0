"""The steps for terms that lie close together refute their counterexamples, and are refused where bits may be lost."""

import pytest
from support.bundles import small_design, written
from support.small_designs import use_small_formats

from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.close_terms_steps import CloseTermsSteps
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.cuts import kind_of
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter
from mmaproof.verification import bundle
from mmaproof.verification.bundle import NoBundleError

LIMITS = Limits(100, 2 << 30)


def question_of(length, spreads, **settings):
    design = small_design(length, **settings)
    return design, WithinSpread(design, Scope(), *spreads)


def composed(length, spreads, *, asked=None, **settings):
    """The steps for a small unit, by the spreads of products and c; ``asked`` are those of the question."""
    _, question = question_of(length, asked or spreads, **settings)
    whole = question.formula
    terms = whole.environment.formula_manager
    root = terms.And(whole.precondition, terms.Not(whole.claim))
    algebra = TermAlgebra(whole.environment)
    runs = question.runs(algebra, question.symbols(algebra))
    (step,), (wide,) = (dot_product_accumulate(question.asked(d), algebra, x).steps for d, x in runs)
    a, b, c = question.formats
    of_kind = {"products": (spreads[0], a.e_min + b.e_min), "c": (spreads[1], c.e_min)}
    of_terms = zip(*(of_kind[kind_of(label)] for label in step.sums[-1].labels), strict=True)
    with Refuter(LIMITS.memory_bytes) as refuter:
        kernel = Kernel(whole.environment, root, Refutations(refuter, LIMITS).refute)
        CloseTermsSteps(kernel, step, wide, *of_terms).prove()
    return kernel.same(step.d.data, wide.d.data)


CLOSE = [
    (1, (1, 1), {}),
    (1, (2, None), {"fraction_bits": 4, "zero_product": "natural"}),
    (1, (1, 1), {"floor": 2}),
    (1, (2, None), {"fraction_bits": 4, "zero_product": "e-zero", "e_zero": 4}),  # zeros up to two places above
    (2, (1, 1), {"rho": "rz-fp16", "comparator": "chain"}),
    (2, (None, 1), {}),
    (2, (1, 1), {"adder": "B"}),
    (2, (1, 1), {"alignment": "nearest", "zero_product": "absent"}),
]


@pytest.mark.middle
@pytest.mark.parametrize(
    ("length", "spreads", "settings"), [CLOSE[0], *(pytest.param(*x, marks=pytest.mark.middle) for x in CLOSE[1:])]
)
def test_results_are_proved_to_be_the_same(monkeypatch, length, spreads, settings):
    use_small_formats(monkeypatch)
    assert composed(length, spreads, **settings)


REFUSED = [
    (1, (2, 1), {}, "nothing is lost"),
    (1, (1, 1), {"asked": (2, 2)}, "an assumption is not known"),
    (1, (1, 2), {}, "nothing is lost"),
    (1, (1, 1), {"carry_bits": 0}, "related: the clauses are satisfiable"),
    (1, (1, 1), {"subnormals": "operands-of-a"}, "other terms"),
    (1, (0, 0), {"fraction_bits": 6}, "other terms"),
]


@pytest.mark.parametrize(
    ("length", "spreads", "settings", "why"),
    [*REFUSED[:2], *(pytest.param(*x, marks=pytest.mark.middle) for x in REFUSED[2:])],
)
def test_they_are_refused_where_the_argument_does_not_hold(monkeypatch, length, spreads, settings, why):
    use_small_formats(monkeypatch)
    with pytest.raises(NotComposedError, match=why):
        composed(length, spreads, **settings)


@pytest.mark.middle
@pytest.mark.parametrize(("spreads", "exact"), [((1, 2), {}), ((1, 1), {"rho": "rtn-fp16"})])
def test_a_false_claim_is_no_bundle(monkeypatch, tmp_path, spreads, exact):
    use_small_formats(monkeypatch)
    monkeypatch.setattr(bundle, "AT_ONCE", 1e-3)
    design, question = question_of(1, spreads)
    if exact:
        question.exact = question.exact.change(**exact)
    with pytest.raises(NoBundleError, match="satisfiable"):
        written(question, design, tmp_path / "proof")
    assert not (tmp_path / "proof").exists()


def test_that_a_result_is_equal_to_itself_says_nothing_of_others():
    algebra = TermAlgebra()
    x, y = (algebra.symbol(f"result_{n}", 4) for n in "xy")
    with Refuter(LIMITS.memory_bytes) as refuter:
        refute = Refutations(refuter, LIMITS).refute
        for root, proved in ((~(x == y), False), ((x == y) & ~(x == y), True)):
            kernel = Kernel(algebra.environment, root.data, refute)
            use_equal_results(kernel, x, algebra.equal)
            assert kernel.complete == proved
