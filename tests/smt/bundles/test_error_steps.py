"""The steps of the bound of an error refute its counterexamples, and are refused where the argument does not hold."""

from dataclasses import replace

import pytest
from support.bundles import small_design
from support.small_designs import use_small_formats

from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.error_steps import ErrorSteps
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.semantics import dot_product_accumulate
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter

READ = {"zero_c": "natural", "zero_product": "natural"}
LIMITS = Limits(100, 2 << 30)


def composed(length=2, *, units=None, **settings):
    """The steps for a small unit; ``units`` in the place of those of the claim."""
    design = small_design(length, **READ | settings)
    question = WithinBound(design, Scope())
    whole = question.formula
    terms = whole.environment.formula_manager
    root = terms.And(whole.precondition, terms.Not(whole.claim))
    algebra = TermAlgebra(whole.environment)
    (step,) = dot_product_accumulate(design.one_step(), algebra, question.symbols(algebra)).steps
    sides = question.step_error(step.terms)
    sides = replace(sides, units=units or sides.units)
    with Refuter(LIMITS.memory_bytes) as refuter:
        kernel = Kernel(whole.environment, root, Refutations(refuter, LIMITS).refute)
        ErrorSteps(kernel, step, sides, whole.precondition).prove()
    return kernel


@pytest.mark.middle
@pytest.mark.parametrize(
    ("length", "settings"),
    [
        (1, {}),
        (2, {}),
        (2, {"adder": "carry-save"}),
        (2, {"alignment": "jam"}),
        (2, {"alignment": "nearest"}),
        (2, {"alignment": "floor"}),
        (2, {"rho": "rz-fp16"}),
        (2, {"fraction_bits": 1, "rho": "rz-fp16"}),
        # a zero reads an exponent below those of d: e_max may be there
        (2, {"zero_c": "minus-126", "zero_product": "operand-minus-126"}),
    ],
)
def test_they_refute_the_counterexamples(monkeypatch, length, settings):
    use_small_formats(monkeypatch)
    assert composed(length, **settings).complete


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"alignment": "complement"}, "inverted"),
        ({"rho": "rtp-fp16"}, "rounded"),
        ({"carry_bits": 0}, "register holds"),
        pytest.param({"units": 2}, "as many units as terms lose", marks=pytest.mark.middle),
    ],
)
def test_they_are_refused_where_the_argument_does_not_hold(monkeypatch, settings, why):
    use_small_formats(monkeypatch)
    with pytest.raises(NotComposedError, match=why):
        composed(**settings)
