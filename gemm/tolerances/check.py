"""Questions about a plan, or an algorithm on a unit, by name, with limits for the whole answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.explain.html import answer_html
from mmaproof.gemm.answers.compare import SIMPLIFIED
from mmaproof.gemm.answers.dropped import check_dropped
from mmaproof.gemm.answers.exact_operands import check_exact_operands
from mmaproof.gemm.answers.slices import check_slices
from mmaproof.gemm.answers.split import check_split
from mmaproof.gemm.answers.verdict import AlgorithmVerdict, Asked
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.programs.plan import JoinsC, Plan
from mmaproof.gemm.programs.slice_gemm import Sign, SliceGemm, Wide
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.tolerances.overflow import check_overflow
from mmaproof.properties.preconditions import Conditions, Precondition, preconditions_of
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.check import WORDS
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS
from mmaproof.verification.search import Budget, Means

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
    """A question about a plan, the verdict, and the seconds that it took."""

    question: str
    plan: Plan
    where: tuple[Precondition, ...]
    finding: AlgorithmVerdict
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.finding.status]

    @property
    def unit(self) -> Design:
        """The unit."""
        return self.plan.unit

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self.question} of {self.plan.title}>"

    def _repr_html_(self) -> str:
        found = self.finding
        return answer_html([repr(self)[1:-1], found.conclusion, *found.details, found.reason or ""], [])


def check_algorithm(
    question: str,
    program: Algorithm | Plan | str,
    unit: Design | str | None = None,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    below: int | None = None,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> GemmCheck:
    """Answer a question about an algorithm on a unit, or about a plan; all of them may be given by name.

    ``question`` is one of ``split``, ``overflow``, ``dropped``, ``slices`` and ``exact-operands``. ``limits``, or a
    number of seconds, are for the whole answer. ``k`` is the length of the dot products and ``where`` restricts the
    operands, of questions that take them; ``below`` is the q of a bound ``2**-q`` that ``dropped`` is to decide.
    ``budget`` None switches the search off.

    Raises InputError for an unknown question, algorithm or precondition, and for an argument that the question does
    not take, DesignError if the algorithm does not run on ``unit`` or the question has no meaning for the plan, and
    what ``check`` raises about solvers.

    >>> import mmaproof
    >>> str(mmaproof.check_algorithm("overflow", "hopper/wgmma.f32.f16.f16", k=16, where="exponents=-8..2").verdict)
    'holds'
    """
    plan, meant = find_gemm(program, unit), preconditions_of(where)
    if question not in QUESTIONS:
        raise InputError(f"unknown question {question!r}: one of {', '.join(QUESTIONS)}")
    for name, given in {"k": k is not None, "where": bool(meant), "below": below is not None}.items():
        if given and question not in _TAKES[name]:
            raise InputError(f"--{name} means nothing to {question}: it is for {', '.join(_TAKES[name])}")
    started = worked()
    asked = Asked(Means(Solving.of(solver), Limits.of(limits), budget, seed, SIMPLIFIED))
    finding = _answer(question, plan, k, meant, below, asked)
    return GemmCheck(question, plan, tuple(meant), finding, worked() - started)


def _answer(
    question: str, plan: Plan, k: int | None, where: Sequence[Precondition], below: int | None, asked: Asked
) -> AlgorithmVerdict:
    """Answer a question. What is around an algorithm changes nothing about the words of operands."""
    match question, plan.algorithm:
        case "overflow", _:
            return check_overflow(plan, k, where, asked)
        case "split", SplitGemm() as algorithm:
            return check_split(algorithm, plan.unit, where, asked)
        case "dropped", SplitGemm() as algorithm:
            return check_dropped(algorithm, plan.unit, where, below, asked)
        case "slices", SliceGemm(operands=Wide.FP32, sign=Sign.EACH) as algorithm if plan.is_algorithm:
            return check_slices(algorithm, plan.unit, asked)
        case "exact-operands", SplitGemm() as algorithm if plan.is_algorithm:
            return check_exact_operands(plan, algorithm, k, asked)
    raise DesignError(f"{question} cannot be asked of {plan.label}: {_why_not(question, plan)}")


def _why_not(question: str, plan: Plan) -> str:
    """Return why a question has no meaning for a plan, and what to ask instead."""
    if isinstance(plan.algorithm, SliceGemm) and question == "slices":
        return f"slices of fp32 with a sign each are asked about: `mmaproof gemm check slices {plan.unit.name}`"
    if plan.is_algorithm:
        return f"it is about {'slices' if question == 'slices' else 'words of a floating-point format'}"
    if question == "slices":
        return (
            "sums are exact up to the same K in each chain of the unit, whatever is done around it. Ask of the unit, "
            f"`mmaproof gemm check slices {plan.unit.name}`, and keep a chain that short with promote=N"
        )
    if plan.algorithm is None:
        return "its operands are in the unit's formats, so nothing is split, dropped or left over"
    joins = "where c is added" if plan.epilogue.c is not JoinsC.FIRST else "its parts and its epilogue"
    return (
        f"the answer is an identity of the algorithm alone, and {joins} would change it. Ask "
        f"`mmaproof gemm check {question} {plan.algorithm.name} --unit {plan.unit.name}`"
    )
