"""What the engine says of random pairs of small designs is what trying all operands says.

The search is switched off: answers come from staged proofs, lemmas and the solver.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from support.in_this_process import InThisProcess, unanswered
from support.small_designs import (
    Pair,
    differences,
    random_integer_pair,
    random_pair,
    random_scaled_pair,
    use_small_formats,
)

from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Cause, Reply, Status
from mmaproof.verification import stages, strategies
from mmaproof.verification.compare import compare

LIMITS = Limits(120, 4 << 30)


def answers_of(seed: int) -> Ask:
    """How lemmas are answered: for some pairs, one in ten is not."""
    rng = np.random.default_rng(seed)

    def ask(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        if seed % 4 == 0 and rng.random() < 0.1:
            return unanswered()
        return InThisProcess().ask(formula, symbols, limits=limits)

    return ask


def is_among(batch: OperandBatch, row: Operands) -> bool:
    same = (batch.a == row.a).all(axis=1) & (batch.b == row.b).all(axis=1) & (batch.c == row.c)
    return bool(same.any())


def examine(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is so of a pair; the engine must say nothing else."""
    question = pair.question
    different, tried = differences(question)
    expected = Status.REFUTED if len(different) else Status.PROVED if tried else Status.VACUOUS
    with Environment(), monkeypatch.context() as patch:
        if pair.seed % 4 == 2:
            # few samples, on which more is equal and constant than is so
            patch.setattr(stages, "ROWS", 1)
        proved = stages.by_stages(question, question.designs[0], answers_of(pair.seed), LIMITS, pair.seed).proved
    assert not (proved and len(different)), f"proved by stages, but {different.row(0)} refutes it: {pair}"
    with Environment(), monkeypatch.context() as patch:
        if pair.seed % 8 == 1:
            # no answer in one piece before the staged proof
            patch.setattr(strategies, "AT_ONCE", LEAST_SECONDS)
        found = compare(
            *question.designs, solver=InThisProcess(), limits=LIMITS, k=question.k, where=question.where, budget=None
        )
    assert found.status in (expected, Status.UNKNOWN), f"{found.verdict}, {len(different)} of {tried} differ: {pair}"
    if found.status is Status.UNKNOWN:
        assert found.reason.startswith(Cause.TIMEOUT.value), f"{found.reason}: {pair}"
    if found.witness is not None:
        assert is_among(different, found.witness), f"{found.witness} does not tell apart: {pair}"
    return [expected.name, *(["by stages"] if proved and expected is Status.PROVED else [])]


def drawn(seed: int) -> Pair:
    """A pair of any kind: three of five have neither scales nor integers."""
    kinds = {3: random_scaled_pair, 4: random_integer_pair}
    return kinds[seed % 5](seed) if seed % 5 in kinds else random_pair(seed, wide=True)


def examine_all(pairs: Sequence[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    so = Counter(x for pair in pairs for x in examine(pair, monkeypatch))
    assert min(so["PROVED"], so["REFUTED"]) >= len(pairs) / 5, so
    assert so["by stages"] >= so["PROVED"] / 8, so


def examine_some(pairs: Sequence[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    """So few may be of one kind by chance."""
    so = Counter(x for pair in pairs for x in examine(pair, monkeypatch))
    assert so["PROVED"] + so["REFUTED"] >= len(pairs) / 2, so


@pytest.fixture(autouse=True)
def small_formats(monkeypatch):
    use_small_formats(monkeypatch)


@pytest.mark.slow_values("400", "420", "440", "460")
@pytest.mark.parametrize("first", range(0, 500, 20))
@pytest.mark.middle
def test_the_engine_agrees_with_exhaustion_on_some(first, monkeypatch):
    examine_some([random_pair(seed, wide=False) for seed in range(first, first + 10, 3)], monkeypatch)
    examine_all([drawn(seed) for seed in range(first, first + 10)], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, 100))
def test_the_engine_agrees_with_exhaustion_on_many(first, monkeypatch):
    examine_all([drawn(seed) for seed in range(first, first + 100)], monkeypatch)
    examine_some([random_pair(seed, wide=False) for seed in range(first, first + 100, 11)], monkeypatch)
