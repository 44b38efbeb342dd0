"""The steps for a result that does not fall refute its counterexamples, and are refused where the argument fails."""

import json

import pytest
from support.bundles import checked, load_checker, of_files, small_design, written
from support.in_this_process import InThisProcess
from support.small_designs import use_small_formats

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.monotonicity import MonotoneInA, MonotoneInC
from mmaproof.properties.question import Scope
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.proving.monotone import LargeStep
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification import bundle

LIMITS = Limits(100, 2 << 30)


def composed(asked, design, k=None):
    """The steps for a design."""
    with Refuter(LIMITS.memory_bytes) as refuter:
        question = asked().question(design, Scope(k=k))
        whole = question.formula
        kernel = Kernel(whole.environment, whole.violation, Refutations(refuter, LIMITS).refute)
        question.argument()(kernel)
        return kernel


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "length", "settings"),
    [
        (MonotoneInA, 2, {}),
        (MonotoneInC, 2, {"adder": "carry-save"}),
        (MonotoneInC, 2, {"comparator": "chain"}),
        (MonotoneInA, 1, {"zero_product": "absent", "zero_c": "absent"}),
        (MonotoneInC, 1, {"floor": 1, "rho": "rz-fp16"}),
    ],
)
def test_they_refute_the_counterexamples(monkeypatch, asked, length, settings):
    use_small_formats(monkeypatch)
    assert composed(asked, small_design(length, **settings)).complete


@pytest.mark.middle
def test_the_checker_accepts_the_bundle_with_all_of_its_steps(monkeypatch, tmp_path):
    use_small_formats(monkeypatch)
    monkeypatch.setattr(bundle, "AT_ONCE", 1e-6)
    design = small_design(1)
    report = written(MonotoneInC().question(design, Scope()), design, tmp_path / "proof")
    assert report.steps > report.lemmas > 50
    checker, lemmas = load_checker(), {}
    right = checker.Lemma

    def lemma(bundle, name, outside):
        """Check a lemma once: those of all bundles are the same."""
        return lemmas[name] if name in lemmas else lemmas.setdefault(name, right(bundle, name, outside))

    monkeypatch.setattr(checker, "Lemma", lemma)
    found, said = checked(tmp_path / "proof", checker=checker)
    assert found == 0, said
    composition = json.loads((tmp_path / "proof" / "composition.json").read_text())
    whys = [x["why"] for x in composition["steps"]]
    for why in WHYS:
        changed = composition | {"steps": [x for x in composition["steps"] if x["why"] != why]}
        assert whys.count(why) == len(whys) - len(changed["steps"]) > 0
        folder = tmp_path / why.replace(" ", "-")
        files = {
            str(x.relative_to(tmp_path / "proof")): x.read_text()
            for x in (tmp_path / "proof").rglob("*")
            if x.is_file() and x.name != "manifest.json"
        }
        of_files(folder, files | {"composition.json": json.dumps(changed)})
        found, said = checked(folder, checker=checker)
        assert (found, "composition.json: " in said.splitlines()[-1]) == (1, True), said


WHYS = (
    "the term of the next number",
    "the cases are all",
    "a register does not wrap",
    "the surplus of a sum is that of its terms",
    "a smaller magnitude has a lower top",
    "finite operands give no special result",
)
"""steps without which nothing is shown"""


@pytest.mark.slow_values("MonotoneInA-volta/f32.f16.f16.f32@fraction_bits=20-the clauses are satisfiable")
@pytest.mark.parametrize(
    ("asked", "design", "why"),
    [
        (MonotoneInC, "volta/f32.f16.f16.f32", "the clauses are satisfiable"),
        (MonotoneInA, "cdna3/v_mfma_f32_32x32x8_f16", "through several sums"),
        (MonotoneInC, "cdna3/v_mfma_f32_16x16x32_fp8_fp8", "or are dropped"),
        (MonotoneInA, "cdna2/v_mfma_f32_32x32x8f16", "no term of one sum rises"),
        (MonotoneInA, "volta/f32.f16.f16.f32@fraction_bits=20", "the clauses are satisfiable"),
    ],
)
def test_they_are_refused_where_the_argument_does_not_hold(asked, design, why):
    with pytest.raises(NotComposedError, match=why):
        composed(asked, find_design(design))


@pytest.mark.middle
@pytest.mark.parametrize("given", [1, 2])
def test_zeros_that_fill_a_step_up_lose_nothing(monkeypatch, given):
    """The rise makes up for c, and not for c and another product."""
    use_small_formats(monkeypatch)
    design = small_design(2, fraction_bits=2)
    if given == 1:
        assert composed(MonotoneInA, design, given).complete
        return
    with pytest.raises(NotComposedError, match="the term of the next number: the clauses are satisfiable"):
        composed(MonotoneInA, design, given)


@pytest.mark.middle
def test_they_are_refused_where_the_rise_makes_up_only_for_what_other_terms_can_be(monkeypatch):
    why = "the term of the next number: the clauses are satisfiable"
    use_small_formats(monkeypatch)
    coarse = small_design(1, fraction_bits=1)
    (large,) = (x for x in MonotoneInC().question(coarse, Scope()).lemmas() if isinstance(x, LargeStep))
    assert decide(large, InThisProcess().ask, LIMITS).status is Status.PROVED
    with pytest.raises(NotComposedError, match=why):
        composed(MonotoneInC, coarse)
