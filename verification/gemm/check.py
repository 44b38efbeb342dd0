"""Questions about an algorithm on a unit with fp32 operands, by name, with limits for the whole answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.algorithms.algorithm import Algorithm
from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.slice_gemm import SliceGemm
from mmaproof.algorithms.split_gemm import SplitGemm
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.plans.plan import Plan
from mmaproof.explain.html import answer_html
from mmaproof.properties.preconditions import Conditions, Precondition, preconditions_of
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.check import WORDS
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS
from mmaproof.verification.gemm.compare import SIMPLIFIED
from mmaproof.verification.gemm.dropped import check_dropped
from mmaproof.verification.gemm.exact_operands import check_exact_operands
from mmaproof.verification.gemm.overflow import check_overflow
from mmaproof.verification.gemm.slices import check_slices
from mmaproof.verification.gemm.split import check_split
from mmaproof.verification.gemm.verdict import AlgorithmVerdict, Asked
from mmaproof.verification.means import Means
from mmaproof.verification.search import Budget

QUESTIONS = {
    "split": "for which exponents and significant bits do the words add up to x, and how far do they miss it",
    "overflow": "does no word, no sum of the unit and no sum outside become infinite or NaN, or is clamped",
    "dropped": "how large is what is left out of a*b: products of words not computed, and words there are not",
    "slices": "up to which K is every sum of products of slices exact: of an algorithm, or of units, or `catalogue`",
    "exact-operands": "what does the algorithm come down to where the unit's format holds a and b, and for which c",
}
"""The questions by name."""

_TAKES = {"k": ("overflow", "exact-operands"), "where": ("split", "overflow", "dropped"), "below": ("dropped",)}
"""The questions that take an option."""


@dataclass(frozen=True)
class GemmCheck:
    """A question about an algorithm on a unit, or about a plan, the verdict, and the seconds that it took."""

    question: str
    algorithm: Algorithm | Plan
    unit: Design
    where: tuple[Precondition, ...]
    finding: AlgorithmVerdict
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.finding.status]

    @property
    def subject(self) -> str:
        """What was asked about, by name: a plan names its unit itself."""
        name = self.algorithm.name
        return name if name.startswith(self.unit.name) else f"{name} on {self.unit.name}"

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.question} of {self.subject}>"

    def _repr_html_(self) -> str:
        found = self.finding
        return answer_html([repr(self)[1:-1], found.conclusion, *found.details, found.reason or ""], [])


def check_algorithm(
    question: str,
    algorithm: Algorithm | str,
    unit: Design | str,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    below: int | None = None,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> GemmCheck:
    """Answer a question about an algorithm on a unit, both of which may be given by name.

    ``question`` is one of ``split``, ``overflow``, ``dropped``, ``slices`` and ``exact-operands``. ``limits``, or a
    number of seconds, are for the whole answer. ``k`` is the length of the dot products and ``where`` restricts the
    operands, of questions that take them; ``below`` is the q of a bound ``2**-q`` that ``dropped`` is to decide.
    ``budget`` None switches the search off.

    Raises InputError for an unknown question, algorithm or precondition, and for an argument that the question does
    not take, DesignError if the algorithm does not run on ``unit`` or is not of the kind that the question is about,
    and what ``check`` raises about solvers.
    """
    algorithm, unit = find_algorithm(algorithm) if isinstance(algorithm, str) else algorithm, find_design(unit)
    meant = preconditions_of(where)
    if question not in QUESTIONS:
        raise InputError(f"unknown question {question!r}: one of {', '.join(QUESTIONS)}")
    require_options(question, k is not None, bool(meant), below is not None)
    algorithm.require(unit)
    started = time.monotonic()
    asked = Asked(Means(Solving.of(solver), Limits.of(limits), budget, seed, SIMPLIFIED))
    finding = _answer(question, algorithm, unit, k, meant, below, asked)
    return GemmCheck(question, algorithm, unit, tuple(meant), finding, time.monotonic() - started)


def require_options(question: str, k: bool, where: bool, below: bool) -> None:
    """Raise InputError for an option that is given and that a question does not take."""
    for name, given in {"k": k, "where": where, "below": below}.items():
        if given and question not in _TAKES[name]:
            raise InputError(f"--{name} means nothing to {question}: it is for {', '.join(_TAKES[name])}")


def _answer(
    question: str,
    algorithm: Algorithm,
    unit: Design,
    k: int | None,
    where: Sequence[Precondition],
    below: int | None,
    asked: Asked,
) -> AlgorithmVerdict:
    match question, algorithm:
        case "overflow", _:
            return check_overflow(algorithm, unit, k, where, asked)
        case "slices", SliceGemm():
            return check_slices(algorithm, unit, asked)
        case "split", SplitGemm():
            return check_split(algorithm, unit, where, asked)
        case "dropped", SplitGemm():
            return check_dropped(algorithm, unit, where, below, asked)
        case "exact-operands", SplitGemm():
            return check_exact_operands(algorithm, unit, k, asked)
    kind = "slices" if question == "slices" else "words of a floating-point format"
    raise DesignError(f"{question} cannot be asked of {algorithm.name}: it is about {kind}")
