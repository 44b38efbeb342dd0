"""If lemmas prove a property of a random small design, trying all operands confirms it."""

from collections import Counter
from collections.abc import Callable

import pytest
from pysmt.environment import Environment
from support.in_this_process import InThisProcess
from support.small_designs import all_operands, random_pair, use_small_formats

from mmaproof.designs.design import Design
from mmaproof.properties.library import find_property
from mmaproof.properties.library.carry import SumFits
from mmaproof.properties.library.error_bound import WithinBound
from mmaproof.properties.library.exactness import WithinSpread
from mmaproof.properties.library.monotonicity import MonotoneInA, MonotoneInC
from mmaproof.properties.library.scaling import Scaling
from mmaproof.properties.question import RunQuestion, Scope
from mmaproof.smt.proving.lemma import Lemmas, decide
from mmaproof.smt.semantics.datapath import datapath, sum_widths
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.verdict import Status

LIMITS = Limits(60, 4 << 30)
QUESTIONS: dict[str, Callable[[Design], RunQuestion]] = {
    "carry-bits": lambda d: SumFits(d, Scope(), sum_widths(d).sufficient_carry_bits),
    "error-bound": lambda d: WithinBound(d, Scope()),
    "exactness-of-c": lambda d: WithinSpread(d, Scope(), 1, 0),
    "monotone-in-a": lambda d: MonotoneInA().question(d, Scope()),
    "monotone-in-c": lambda d: MonotoneInC().question(d, Scope()),
    "scaling": lambda d: Scaling().question(d, Scope()),
}
"""Questions whose proofs are about the terms of a fused sum, by their properties."""


def is_proved(question: RunQuestion) -> bool:
    """Whether the argument of a question makes a theorem, or its lemmas are proved."""
    ask, argument = InThisProcess().ask, question.argument() if question.decides_by_argument else None
    if argument is not None:
        asked = Lemmas(ask, LIMITS, worked(), question.formula.environment)
        return asked.joined(question.formula.violation, argument) is not None
    lemmas = question.lemmas()
    return bool(lemmas) and all(decide(x, ask, LIMITS).status is Status.PROVED for x in lemmas)


def examine_all(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    use_small_formats(monkeypatch)
    proved: Counter[str] = Counter()
    for seed in seeds:
        design = random_pair(seed, wide=False).question.designs[0].one_step()
        for name, ask in QUESTIONS.items():
            if find_property(name).why_not(design) is not None:
                continue
            with Environment():
                question = ask(design)
                if not is_proved(question):
                    continue
            violated = question.examine(all_operands(question))[1]
            assert not violated.any(), (seed, name, design.settings)
            proved[name] += 1
    return proved


MOST_BITS = 19
"""Bits of operands that are all tried, of dot products that are longer or shorter than a step."""


def examine_lengths(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Examine what lemmas prove of monotonicity where a step is padded, and of chains of steps."""
    use_small_formats(monkeypatch)
    proved: Counter[str] = Counter()
    for seed in seeds:
        design = random_pair(seed, wide=False).question.designs[0]
        length = design.step.L
        if design.d_format.is_integer:
            continue
        for k in {1, length, design.k, 2 * design.k} - {length if design.k == length else 0}:
            for asked in (MonotoneInA(), MonotoneInC()):
                with Environment():
                    question = asked.question(design, Scope(k=k))
                    if sum(f.bits * count for _, f, count in question.columns()) > MOST_BITS:
                        continue
                    if not is_proved(question):
                        continue
                violated = question.examine(all_operands(question))[1]
                assert not violated.any(), (seed, asked.name, k, design.settings)
                steps = len(datapath(design, k))
                proved["padded" if k < length else "one step" if steps == 1 else "chain"] += 1
                proved["other c"] += steps > 1 and design.c_format is not design.d_format
    return proved


@pytest.mark.middle
def test_what_lemmas_prove_of_other_lengths_is_so(monkeypatch):
    proved = examine_lengths(range(60), monkeypatch)
    assert min(proved[x] for x in ("padded", "chain", "other c")) > 0, proved


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_what_lemmas_prove_of_other_lengths_of_many_is_so(first, monkeypatch):
    examine_lengths(range(first, first + 100), monkeypatch)


@pytest.mark.middle
def test_what_lemmas_prove_is_so(monkeypatch):
    assert len(examine_all(range(16), monkeypatch)) >= len(QUESTIONS) / 2


@pytest.mark.slow
def test_what_lemmas_prove_of_every_question_is_so(monkeypatch):
    proved = examine_all(range(150), monkeypatch)
    assert {*proved} == {*QUESTIONS}, proved


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_what_lemmas_prove_of_many_is_so(first, monkeypatch):
    examine_all(range(first, first + 100), monkeypatch)
