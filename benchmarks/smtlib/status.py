"""What is known of each benchmark, and how: earned by this project, and kept with a hash of the query.

A query is satisfiable if operands that violate its statement were computed again on integers. It is unsatisfiable if
two solvers say so, or if mmaproof proved the statement by lemmas. What a single solver says is not enough: then the
status is unknown. A status is of one query: a query whose hash is another one has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import assert_never

from smtlib.questions import Benchmark

from mmaproof.properties.question import Question
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.backends import BACKENDS, DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import racers, require_agreement
from mmaproof.smt.solving.query import Query, asserted
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity, Status
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

FILE = Path(__file__).with_name("statuses.json")
SEARCHED = Budget(20_000, float("inf"))
"""Operand sets that are tried before a solver is asked."""


@dataclass(frozen=True, slots=True)
class Known:
    """The status of a query, ``sat`` or ``unsat``, and in words how it was earned."""

    query: str
    """the hash of the query"""
    status: str
    earned: str


def digest(benchmark: Benchmark) -> str:
    """Return a hash of what is asserted."""
    return hashlib.sha256("\n".join(asserted(benchmark.query)).encode()).hexdigest()


def earn(benchmark: Benchmark, limits: Limits) -> Known | None:
    """Find out the status of a benchmark; None if nobody could within ``limits``, which are for each attempt.

    Raises SolversDisagree, and WitnessDoesNotReplay if a model violates nothing on integers.
    """
    found = _by_solvers(benchmark, limits) or _by_mmaproof(benchmark, limits)
    return None if found is None else Known(digest(benchmark), *found)


def _by_solvers(benchmark: Benchmark, limits: Limits) -> tuple[str, str] | None:
    """Return what a solver found and integers or another solver confirm."""
    first, *others = racers(DEFAULT_SOLVER, len(BACKENDS))
    verdict = decide(benchmark.asked, Solving(first.name).ask, limits)
    match verdict.status:
        case Status.REFUTED:
            return "sat", f"a model of {_called(first)} violates the statement on integers"
        case Status.PROVED | Status.VACUOUS:
            violation = benchmark.asked.formula.violation
            for other in others:
                reply = Solving(other.name).ask(violation, (), limits=limits)
                require_agreement(Query.of(violation), [Reply(Outcome.UNSAT, first, verdict.seconds), reply])
                if reply.outcome is Outcome.UNSAT:
                    return "unsat", f"{_called(first)} and {_called(other)} agree"
            return None
        case Status.UNKNOWN:
            return None
        case _:
            assert_never(verdict.status)


def _by_mmaproof(benchmark: Benchmark, limits: Limits) -> tuple[str, str] | None:
    """Return what mmaproof finds out of a question by its own means: a search, lemmas, a proof in stages."""
    if not isinstance(benchmark.asked, Question):
        return None
    verdict = answer(benchmark.asked, benchmark.design, Means(Solving(), limits, SEARCHED, simplified=1))
    match verdict.status:
        case Status.REFUTED:
            return "sat", "operands that violate the statement on integers"
        case Status.PROVED if verdict.lemmas:
            return "unsat", f"mmaproof proves the statement by {len(verdict.lemmas)} lemmas (docs/proofs.md)"
        case _:
            return None


def _called(solver: SolverIdentity) -> str:
    return f"{solver.name} {solver.version}"


def read_statuses() -> dict[str, Known]:
    """Return the statuses that were earned, by the path of the benchmark."""
    text = FILE.read_text(encoding="utf-8")
    return {path: Known(**held) for path, held in json.loads(text).items()}


def statuses_text(known: Mapping[str, Known]) -> str:
    """Return statuses as the file has them."""
    return json.dumps({path: asdict(known[path]) for path in sorted(known)}, indent=0) + "\n"
