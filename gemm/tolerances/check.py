"""Questions about a plan, or an algorithm on a unit, by name, with limits for the whole answer.

Whether a number of a plan can overflow: bounds decide it if they suffice, else the largest operands or a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import Patterns
from mmaproof.explain.figure import answer_html
from mmaproof.gemm.answers.compare import SHAPED_FOR, SIMPLIFIED
from mmaproof.gemm.answers.dropped import check_dropped
from mmaproof.gemm.answers.exact_operands import check_exact_operands
from mmaproof.gemm.answers.slices import check_slices
from mmaproof.gemm.answers.split import check_split, every_precision, exponents_of
from mmaproof.gemm.answers.verdict import ROUNDS, AlgorithmVerdict, Asked, Shown, Witness
from mmaproof.gemm.programs.algorithm import OPERANDS, Algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, Cutting, Number, Span
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.programs.normal_form import shortest_k, weights_of_words
from mmaproof.gemm.programs.parts import ASCENDING
from mmaproof.gemm.programs.plan import JoinsC, Plan
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.gemm.programs.schedule import Cut, Split
from mmaproof.gemm.programs.slice_gemm import Sign, SliceGemm, Wide
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.questions import split as splits
from mmaproof.gemm.questions.finite_operands import NoOverflow
from mmaproof.gemm.tolerances.given import Given, Side
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.gemm.tolerances.walk import bound_of_schedule, prove_schedule
from mmaproof.gemm.tolerances.words import CutSide, bounded
from mmaproof.properties import preconditions as pre
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.check import WORDS
from mmaproof.verification.compare import DEFAULT_BUDGET, DEFAULT_LIMITS
from mmaproof.verification.search import Budget, Means
from mmaproof.verification.strategies import answer

_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()

LONGEST = 1 << 12
"""The largest length for which the argument by bounds is tried."""
MOST_SHOWN = 64
"""The largest K for which the largest operands are computed on integers and shown."""


def check_overflow(plan: Plan, k: int | None, where: Sequence[pre.Precondition], asked: Asked) -> AlgorithmVerdict:
    """Find out whether some number becomes infinite, NaN or clamped for ``k`` elements.

    ``k`` is by default the least one at which all parts of the plan occur. Where operands are split into words, bounds
    on the words of one operand are proved, which hold for any K, and carried through the schedule. If a bound leaves
    its format, the search and the solver decide the question at length k, as they do of other words. Operands of the
    unit's formats are bounded by exponents, which must be given (InputError).
    """
    if plan.algorithm is None:
        return _by_largest_operands(plan, shortest_k((plan,)) if k is None else k, where, asked)
    question = NoOverflow(plan, k=k, where=where)
    proved = _by_bounds(plan, plan.algorithm, question, asked) if isinstance(plan.algorithm, SplitGemm) else None
    if proved is not None:
        return proved
    found = answer(question, find_design(SHAPED_FOR), replace(asked.means, limits=asked.left))
    values = {"k": question.k, "by": found.origin}
    if found.witness is not None:
        conclusion, shown = f"an operation overflows, k = {question.k}", _witness(plan, found.witness)
        if shown is None:
            raise AssertionError("a confirmed witness overflows nowhere")
        return asked.verdict(Status.REFUTED, conclusion, values=values, witnesses=(shown,))
    conclusions = {
        Status.PROVED: f"nothing overflows for k = {question.k}",
        Status.VACUOUS: "no operands satisfy the preconditions",
    }
    conclusion = conclusions.get(found.status, "not settled")
    return asked.verdict(found.status, conclusion, values=values, reason=found.reason)


def _by_largest_operands(plan: Plan, k: int, where: Sequence[pre.Precondition], asked: Asked) -> AlgorithmVerdict:
    """Decide for operands of a range of exponents by the bound of the largest ones, or by what these give.

    PROVED where the bound of all operands is finite: it is finite only where no sum, product or conversion can
    leave its format. REFUTED with the largest operands where one of their numbers is not finite or is clamped. Raises
    InputError without exponents, and for other conditions than a sign and a c of zero.
    """
    allowed = pre.Exponents | pre.Positive | pre.ZeroAccumulator
    if not any(isinstance(x, pre.Exponents) for x in where) or not all(isinstance(x, allowed) for x in where):
        raise InputError(
            "overflow of a plan is asked for a range of exponents: --where exponents=LO..HI, such as exponents=-8..2; "
            "`c=0` and `positive` are also allowed"
        )
    found = Tolerance(plan, k, tuple(where), asked.means.solving, asked.left)
    a, b, c = found.largest_operands()
    values = {"k": k}
    if found.proved and found.bound_of_all() < inf:
        details = (f"the bound is finite: {found.proof.reason}",)
        return AlgorithmVerdict(
            Status.PROVED, f"nothing overflows, k = {k}", values, details=details, lemmas=found.proof.lemmas
        )
    # of orders that are not determined, the ascending one is one
    operands = Operands((a,) * k, (b,) * k, c or 0)
    witness = _witness(plan.with_open_orders(ASCENDING), operands, all_alike=True) if k <= MOST_SHOWN else None
    if witness is not None:
        return AlgorithmVerdict(Status.REFUTED, f"a number overflows, k = {k}", values, witnesses=(witness,))
    reason = "the bound of the largest operands is infinite, and no number that they make overflows"
    if k > MOST_SHOWN:
        reason = f"the bound is infinite, and operands that overflow are looked for up to k = {MOST_SHOWN} only"
    if not found.proved:
        reason = f"nothing is proved about the error: {found.proof.reason}"
    return AlgorithmVerdict(Status.UNKNOWN, "not settled", values, reason=reason)


def _by_bounds(plan: Plan, algorithm: SplitGemm, question: NoOverflow, asked: Asked) -> AlgorithmVerdict | None:
    """Return the verdict that nothing overflows if it follows from bounds on the words, else None."""
    most: dict[str, tuple[int, ...]] = {}
    for name in "ab":
        found = _word_bounds(splits.Splitting.of(algorithm, plan.unit, name), question, asked)
        if found is None:
            return None
        most[name] = found
    span, why = question.span(OPERANDS), "no operation passes a power of two by more than its number of terms"
    by_spans = partial(_stays_by_spans, plan, span, most)
    longest = _most_tried(plan, question.k)
    if not by_spans(longest):
        step = prove_schedule(plan.schedule(question.k), asked.means.solving, asked.left)
        longest = _longest(plan, question.k, partial(_stays_by_loss, plan, span, most)) if step.proved else 0
        if longest:
            why = f"what each step loses is bounded, {step.reason}"
            asked.lemmas += step.lemmas
        else:
            longest = _longest(plan, question.k, by_spans)
    if not longest:
        return None
    words = {n: ", ".join(f"2^{m}" for m in most[n]) for n in "ab"}
    return asked.verdict(
        Status.PROVED,
        f"nothing overflows, for every K up to {longest} (by bounds)"
        if plan.is_algorithm
        else f"nothing overflows for k = {longest} (by bounds)",
        values={"k": question.k, "by": "bounds", "largest_k": longest, "words": {n: list(m) for n, m in most.items()}},
        details=(
            *(f"words of {n} are at most {text}: proved" for n, text in words.items()),
            f"sums follow by bounds: {why}",
            *((f"lengths above {LONGEST} were not tried",) if longest > LONGEST - plan.unit.k else ()),
        ),
    )


def _word_bounds(splitting: splits.Splitting, question: NoOverflow, asked: Asked) -> tuple[int, ...] | None:
    """Return proved exponents of powers of two that the words do not exceed; None if a word can be infinite."""
    low, high = splits.EXPONENTS[0], splits.EXPONENTS[-1]
    for p in question.where:
        if isinstance(p, pre.Exponents):
            low, high = max(low, p.low), min(high, p.high)
    if low > high:
        return None
    patterns = every_precision(asked.means.seed)
    exponents = exponents_of(patterns)
    most = _largest_words(splitting, patterns[(exponents >= low) & (exponents <= high)])
    for _ in range(ROUNDS):
        if most is None:
            return None
        lemma = splits.WordsAreBounded(splitting, most, splits.Window(low, high))
        verdict = asked.prove(lemma)
        if verdict.witness is None:
            return most if verdict.status is Status.PROVED else None
        found = _largest_words(splitting, np.array([lemma.operand(verdict.witness)], dtype=np.uint32))
        most = None if found is None else tuple(map(max, most, found))
    return None


def _largest_words(splitting: splits.Splitting, patterns: Patterns) -> tuple[int, ...] | None:
    """Return for each word the least power of two that it does not exceed; None if something is not finite."""
    fmt, most = splitting.fmt, []
    arithmetic: Arithmetic[Any, Any] = Arithmetic(_ARRAYS, record=True)
    words = splitting.split(arithmetic, _ARRAYS.from_patterns(patterns, OPERANDS.bits))
    if not np.all(splits.all_finite(arithmetic).data):
        return None
    for found in words:
        largest = int(np.max(_ARRAYS.extract(found.word, fmt.bits - 2, 0).data))
        powers = range(fmt.e_min - fmt.fraction_bits, fmt.e_max + 1)
        most.append(next((e for e in powers if splits.power_pattern(fmt, e) >= largest), fmt.e_max + 1))
    return tuple(most)


class _Spanned(Arithmetic[int, bool]):
    """Operations on zeros whose spans say how large numbers are. Words are at most ``2**most``."""

    def __init__(self, span: Span, most: Mapping[str, Sequence[int]]) -> None:
        super().__init__(_INTEGERS, record=True)
        self._span, self._most = span, most

    def split(self, cut: Split, xs: Sequence[Number[int]]) -> Cutting[int]:
        zero, least = self.zero(cut.fmt), self._span.least
        words = [replace(zero, span=Span(min(least, m), m)) for m in self._most[cut.side]]
        return Cutting(cut.ks, [[x] * len(xs) for x in words])


def _stays_by_spans(plan: Plan, span: Span, most: Mapping[str, Sequence[int]], k: int) -> bool:
    """Return whether no sum of ``k`` products can overflow by the spans of the words.

    A number of at most ``2**e`` rounds to at most ``2**e``, which the format holds if e is at most its e_max.
    """
    arithmetic = _Spanned(span, most)
    c = replace(arithmetic.zero(plan.formats[2]), span=span)
    run(arithmetic, plan.schedule(k), Elements([c] * k, [c] * k, c))
    return all(x.result.span.most <= x.result.fmt.e_max for x in arithmetic.steps)


def _stays_by_loss(plan: Plan, span: Span, most: Mapping[str, Sequence[int]], k: int) -> bool:
    """Return whether no sum of ``k`` products of words of at most ``2**most`` can overflow, by what its steps lose."""
    fmt = plan.formats[2]
    if span.most > fmt.e_max:
        return False

    def cut(side: Side, operation: Cut) -> CutSide:
        sizes = most["a" if side.along else "b"]
        words = [bounded(side.along, operation.fmt, Fraction(2) ** x, len(operation.ks)) for x in sizes]
        return CutSide(operation.ks, tuple(words), weights_of_words(operation))

    a, b = (bounded(along, x, Fraction(0), k) for along, x in zip((1, 0), plan.formats, strict=False))
    given = Given(a, b, np.full((1, 1), 2.0**span.most))
    return bool(np.isfinite(bound_of_schedule(plan.schedule(k), given, cut=cut)).all())


def _most_tried(plan: Plan, k: int) -> int:
    """Return the largest length that is tried: plans of parts are tried at ``k`` alone."""
    return max(k, LONGEST // plan.unit.k * plan.unit.k) if plan.is_algorithm else k


def _longest(plan: Plan, k: int, stays: Callable[[int], bool]) -> int:
    """Return the largest length up to LONGEST for which the bounds suffice; 0 if they do not suffice for k."""
    if not stays(k):
        return 0
    low, high, unit = k, _most_tried(plan, k), plan.unit
    if stays(high):
        return high
    while high - low > unit.k:
        middle = max((low + high) // 2 // unit.k * unit.k, unit.k)
        if stays(middle):
            low = middle
        else:
            high = middle
    return low


def _witness(plan: Plan, operands: Operands, *, all_alike: bool = False) -> Witness | None:
    """Return operands with the first operation that overflows, computed on integers; None if there is none.

    Of elements that are ``all_alike`` one stands for all.
    """
    a, b, c, _ = plan.formats
    for step in trace(plan, operands).steps:
        if splits.overflows(_INTEGERS, step).data:
            fmt, numbers = step.result.fmt, []
            for name, of_side, xs in (("a", a, operands.a), ("b", b, operands.b)):
                if all_alike and len(xs) > 1:
                    numbers.append(Shown(f"{name}[0..{len(xs) - 1}]", of_side, xs[0]))
                else:
                    numbers += [Shown(f"{name}[{i}]", of_side, x) for i, x in enumerate(xs)]
            numbers += [Shown("c", c, operands.c), Shown(step.label, fmt, step.result.word.data)]
            return Witness(f"{step.label} overflows {fmt.name}", tuple(numbers))
    return None


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
    where: tuple[pre.Precondition, ...]
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
    where: pre.Conditions = (),
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
    plan, meant = find_gemm(program, unit), pre.preconditions_of(where)
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
    question: str, plan: Plan, k: int | None, where: Sequence[pre.Precondition], below: int | None, asked: Asked
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
