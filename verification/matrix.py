"""All comparable pairs of many designs are decided. Each distinct question is asked once, on any executor."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace

from mmaproof.designs.arithmetic import Arithmetic, same_arithmetic
from mmaproof.designs.design import Design
from mmaproof.designs.signature import Signature
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import DEFAULT_LIMITS, Comparison, compare
from mmaproof.verification.executors import DISTRIBUTION, ONE_AT_A_TIME, Pool, finished, running_version
from mmaproof.verification.search import Budget
from mmaproof.verification.strategies import BY_IDENTITY

SEARCH = Budget(rows=20_000, seconds=math.inf)
"""A limit of rows and not of time ends the search before the solver, so that a seed gives the same answers."""


def comparable_groups(designs: Iterable[Design]) -> dict[Signature, list[Design]]:
    """Return the designs by signature. Two designs are comparable exactly if their signatures are equal."""
    groups: dict[Signature, list[Design]] = {}
    for design in designs:
        groups.setdefault(design.signature, []).append(design)
    return groups


def not_comparable(designs: Iterable[Design]) -> Counter[str]:
    """Return the numbers of pairs that are not comparable, by the first difference."""
    groups = comparable_groups(designs)
    reasons: Counter[str] = Counter()
    for (x, some), (y, others) in itertools.combinations(groups.items(), 2):
        reasons[why_not(x, y)] += len(some) * len(others)
    return reasons


def why_not(x: Signature, y: Signature) -> str:
    """Return why designs of two signatures are not comparable."""
    for name, f, g in zip("abcd", x.formats, y.formats, strict=True):
        if f != g:
            return f"{name} is of different formats"
    return "the scales differ" if x.scale != y.scale else "the blocks of the scales differ"


@dataclass(frozen=True)
class Task:
    """A question of the matrix and the means to answer it. It is plain data, so that another process can run it."""

    first: Design
    second: Design
    solving: Solving
    limits: Limits
    seed: int
    version: str
    """the version of mmaproof in the process that asks"""


def compared(task: Task) -> Comparison:
    """Answer a question. Any exception becomes the reason of an unknown verdict."""
    question = Equivalence(task.first, task.second)
    here = running_version()
    if here != task.version:
        reason = f"the process that was asked has {DISTRIBUTION} {here}, the one that asks {task.version}"
        return _unknown(question, reason)
    try:
        with ONE_AT_A_TIME:
            answer = compare(
                task.first,
                task.second,
                solver=task.solving,
                limits=task.limits,
                budget=SEARCH,
                seed=task.seed,
                preferring=0,
            )
    except Exception as error:
        # it is not passed on, because many exceptions cannot be sent to another process
        return _unknown(question, f"{type(error).__name__}: {error}")
    # the question holds its formula, which cannot be sent to another process
    return replace(answer, question=question, results=answer.computed())


def _unknown(question: Equivalence, reason: str) -> Comparison:
    return Comparison(Status.UNKNOWN, 0.0, " ".join(reason.split()), question=question, origin="nobody")


@dataclass(frozen=True)
class PairVerdict:
    """The verdict on two designs. Pairs with the same ``number`` share one; it is None if both are one computation."""

    comparison: Comparison
    number: int | None

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two designs."""
        first, second = self.comparison.question.designs
        return first.name, second.name

    @property
    def status(self) -> Status:
        """What is known."""
        return self.comparison.status


def pairs_of(designs: Sequence[Design]) -> list[tuple[Design, Design]]:
    """Return the comparable pairs: group by group, in the order of the designs."""
    groups = comparable_groups(designs).values()
    return [pair for group in groups for pair in itertools.combinations(group, 2)]


def compare_all(
    designs: Sequence[Design],
    *,
    pool: Pool,
    at_once: int,
    solving: Solving,
    limits: Limits = DEFAULT_LIMITS,
    seed: int = 0,
    replays: bool = True,
) -> Generator[PairVerdict, None, None]:
    """Yield the verdict on every comparable pair of designs of different names, in the order in which verdicts come.

    A question is asked once for all pairs of the same two arithmetics at the same length, and last where the two are
    one computation. No verdict is inferred from others, because lengths differ from pair to pair. At most ``at_once``
    questions are submitted at a time to the executor that ``pool`` makes. If a question raises or its process dies, it
    is asked once more in an executor of its own. If that fails too, it is unknown. The process that answers has
    evaluated the witness. With ``replays`` it is evaluated in this process too, as is right where other machines
    answer. Closing the iterator ends what still runs.
    """
    asked: dict[tuple[frozenset[int], int], list[Equivalence]] = {}
    same: dict[tuple[frozenset[int], int], list[Equivalence]] = {}
    numbered = _Arithmetics()
    for first, second in pairs_of(designs):
        question = Equivalence(first, second)
        arithmetics = frozenset(map(numbered.number, question.designs))
        is_same = len(arithmetics) == 1 and same_arithmetic(*question.designs, question.k)
        of = same if is_same else asked
        of.setdefault((arithmetics, question.k), []).append(question)
    sharing = [*asked.values(), *same.values()]
    tasks = [Task(*questions[0].designs, solving, limits, seed, running_version()) for questions in sharing]
    for number, result in finished(compared, tasks, pool, at_once):
        question = sharing[number][0]
        answer = _believed(question, result, replays=replays).about(question)
        for other in sharing[number]:
            yield PairVerdict(answer.about(other), None if answer.origin == BY_IDENTITY else number)


class _Arithmetics:
    """The arithmetics of designs, numbered: of some thousand designs each is in many pairs, and compared once."""

    def __init__(self) -> None:
        self._numbers: dict[Arithmetic, int] = {}
        self._known: dict[int, tuple[Design, int]] = {}

    def number(self, design: Design) -> int:
        """Return the number of the arithmetic of a design."""
        known = self._known.get(id(design))
        if known is None:
            number = self._numbers.setdefault(Arithmetic.of(design), len(self._numbers))
            # the design is held, so that no other one gets its id
            known = self._known[id(design)] = design, number
        return known[1]


def _believed(question: Equivalence, result: Comparison | str, *, replays: bool) -> Comparison:
    """Return the comparison for a question. With ``replays``, what a witness returns is computed here."""
    if isinstance(result, str):
        return _unknown(question, f"asked twice, no answer came back: {result}")
    if not replays or result.witness is None:
        return result
    d, e = question.integer_results(result.witness, result.unknown)
    if not question.is_meant(result.witness) or question.are_equal(d.algebra, d, e).data:
        return _unknown(question, "the witness that came back does not replay here")
    return replace(result, results=(d.data, e.data))
