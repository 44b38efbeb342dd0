"""Where lemmas prove a property of a small step, no operands violate it."""

from collections import Counter
from contextlib import suppress

import pytest
from support import in_this_process
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, use_small_formats
from support.small_steps import random_step

from mmaproof.designs.errors import DesignError
from mmaproof.designs.readings import Alignment, FarC, Grouping, Join, SmallC, Summation
from mmaproof.properties.library import find_property
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemmas, decide
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.verdict import Status

LIMITS = Limits(20, 4 << 30)
FUSED = {"summation": Summation.FUSED}
KINDS = {
    "late": {**FUSED, "join": Join.ROUND_DOWN},
    "far": {**FUSED, "join": Join.ROUND_DOWN, "far_c": FarC.DROPPED},
    "small": {**FUSED, "join": Join.FUSED, "alignment": Alignment.FLOOR, "small_c": SmallC.DROPPED},
    "halves": {**FUSED, "join": Join.FUSED, "grouping": Grouping.HALVES},
    "exact": {**FUSED, "join": Join.EXACT},
    "ieee": {**FUSED, "join": Join.IEEE},
    "fused": {**FUSED, "join": Join.FUSED},
    "tree": {"summation": Summation.PAIRWISE},
    "chains": {"summation": Summation.INTERLEAVED},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["scaling", "monotone-in-a", "monotone-in-c"])
def test_what_lemmas_prove_holds_for_all_operands(monkeypatch, name, kind):
    use_small_formats(monkeypatch)
    asked, solving, found = find_property(name), InThisProcess(), Counter[bool]()
    for seed in range(20):
        design = random_step(seed, **KINDS[kind])
        if asked.why_not(design) is not None:
            continue
        question = asked.question(design, Scope())
        lemmas = question.lemmas()
        if not lemmas or any(decide(x, solving.ask, LIMITS).status is not Status.PROVED for x in lemmas):
            continue
        meant, violating = question.examine(all_operands(question))
        assert not violating.any(), (seed, design.settings)
        found[bool(meant.any())] += 1
    # no result in between of so small a format is surely normal
    assert found[True] or (name == "scaling" and kind in ("ieee", "tree", "chains"))


JAMMED = {
    "own alignment": {**FUSED, "join": Join.FUSED, "alignment": Alignment.JAM},
    "where c joins": {**FUSED, "join": Join.EXACT},
}


@pytest.mark.parametrize(
    ("name", "kind", "seeds"),
    [
        ("sticky-bit", "own alignment", 20),
        pytest.param("sticky-bit", "where c joins", 60, marks=pytest.mark.middle),
        pytest.param("guard-bit", "own alignment", 40, marks=pytest.mark.middle),
    ],
)
def test_a_jammed_sum_is_rounded_as_the_exact_one_for_all_operands(monkeypatch, name, kind, seeds):
    use_small_formats(monkeypatch)
    monkeypatch.setattr(in_this_process, "MOST_SECONDS", LIMITS.seconds)  # few are proved, and other programs may run
    asked, found = find_property(name), Counter[bool]()
    for seed in range(seeds):
        design = random_step(seed, **JAMMED[kind])
        try:
            question = asked.question(design, Scope())
        except DesignError:  # it has no exact twin
            continue
        argument, whole = question.argument(), question.formula
        if argument is None:
            continue
        meant, violating = question.examine(all_operands(question))
        refute = Lemmas(InThisProcess().ask, LIMITS, worked(), whole.environment).refute
        kernel = Kernel(whole.environment, whole.violation, refute)
        with suppress(NotComposedError):
            argument(kernel)
        proved = kernel.complete
        assert not (proved and violating.any()), (seed, design.settings)
        if meant.any():
            found[proved] += 1
    assert found[True]
    assert found[False] or name == "guard-bit"
