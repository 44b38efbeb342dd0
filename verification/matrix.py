"""All comparable pairs of many designs are decided. Each distinct question is asked once, on any executor.

Classes of designs that return the same results, derived from the verdicts on all pairs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmaproof.designs.arithmetic import Arithmetic, same_arithmetic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.signature import Signature
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import DEFAULT_LIMITS, Comparison, compare
from mmaproof.verification.executors import DISTRIBUTION, ONE_AT_A_TIME, Pool, finished, running_version
from mmaproof.verification.search import Budget, kept_witness
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
    one computation. No verdict is inferred from others, because lengths differ from pair to pair. Stored witnesses are
    evaluated first, and here. At most ``at_once`` questions are submitted at a time to the executor that ``pool``
    makes. If a question raises or its process dies, it is asked once more in an executor of its own. If that fails too,
    it is unknown. The process that answers has evaluated the witness. With ``replays`` it is evaluated in this process
    too, as is right where other machines answer. Closing the iterator ends what still runs.
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
    replayed = set()
    for number, answer in _replayed([questions[0] for questions in asked.values()], solving.store, numbered):
        replayed.add(number)
        yield from _of_all(answer, sharing[number], number)
    left = [number for number in range(len(sharing)) if number not in replayed]
    tasks = [Task(*sharing[number][0].designs, solving, limits, seed, running_version()) for number in left]
    for place, result in finished(compared, tasks, pool, at_once):
        number = left[place]
        question = sharing[number][0]
        answer = _believed(question, result, replays=replays).about(question)
        yield from _of_all(answer, sharing[number], None if answer.origin == BY_IDENTITY else number)


def _of_all(answer: Comparison, sharing: Sequence[Equivalence], number: int | None) -> Iterator[PairVerdict]:
    """Yield the verdict for each of the questions that share it."""
    for question in sharing:
        yield PairVerdict(answer.about(question), number)


def _replayed(
    questions: Sequence[Equivalence], store: Path | None, numbered: _Arithmetics
) -> Iterator[tuple[int, Comparison]]:
    """Yield the questions that stored witnesses refute again, by number. A design evaluates all of its own at once."""
    began = worked()
    kept = {
        number: found
        for number, question in enumerate(questions)
        if all(x.step.is_parametric for x in question.designs) and (found := kept_witness(store, question)) is not None
    }
    given: dict[tuple[int, int], tuple[Design, dict[Operands, int]]] = {}
    for number, (witness, _) in kept.items():
        for design in questions[number].designs:
            _, rows = given.setdefault((numbered.number(design), questions[number].k), (design, {}))
            rows.setdefault(witness, len(rows))
    returned = {
        x: evaluate_batch(design, OperandBatch.of_rows(design.formats, [*rows])) for x, (design, rows) in given.items()
    }
    seconds = (worked() - began) / max(len(kept), 1)
    for number, (witness, origin) in kept.items():
        question = questions[number]
        of = [(numbered.number(x), question.k) for x in question.designs]
        d, e = (int(returned[x][given[x][1][witness]]) for x in of)
        if question.is_refuted_by_results(witness, d, e):
            yield (
                number,
                Comparison(Status.REFUTED, seconds, witness=witness, origin=origin, question=question, results=(d, e)),
            )


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
    if not question.is_refuted_by_results(result.witness, d.data, e.data):
        return _unknown(question, "the witness that came back does not replay here")
    return replace(result, results=(d.data, e.data))


Class = tuple[Design, ...]


@dataclass(frozen=True)
class Group:
    """Designs that are comparable with each other, the verdict on each pair (by the two names), and their classes.

    A class holds designs that are proved equivalent to exactly the same designs. So every pair inside it is proved, at
    its own length. A design that is equivalent to one design of another class is equivalent to all of that class.
    """

    signature: Signature
    designs: Sequence[Design]
    answers: Mapping[frozenset[str], PairVerdict]
    classes: Sequence[Class]

    def between(self, first: Class, second: Class) -> list[PairVerdict]:
        """Return the verdicts on the pairs with one design in each of two classes."""
        return [self.answers[frozenset((x.name, y.name))] for x, y in itertools.product(first, second)]

    def verdict(self, first: Class, second: Class) -> str:
        """Return "different" if some pair of the two classes is, else "unknown" if some pair is, else "equivalent"."""
        verdicts = {a.comparison.verdict for a in self.between(first, second)}
        return next(v for v in ("different", "unknown", "equivalent") if v in verdicts)

    def not_transitive(self) -> Iterator[tuple[PairVerdict, PairVerdict, PairVerdict]]:
        """Yield the verdicts on three designs of which two pairs are equivalent and the third is not known to be.

        That is possible because each pair is compared at its own length. Any three classes give at most one example.
        """
        for y in self.classes:
            equal = [x for x in self.classes if x is not y and self._of_first(x, y).status is Status.PROVED]
            for x, z in itertools.combinations(equal, 2):
                if self._of_first(x, z).status is not Status.PROVED:
                    yield self._of_first(x, y), self._of_first(y, z), self._of_first(x, z)

    def _of_first(self, first: Class, second: Class) -> PairVerdict:
        return self.answers[frozenset((first[0].name, second[0].name))]


def groups_of(designs: Sequence[Design], answers: Iterable[PairVerdict]) -> list[Group]:
    """Return the designs grouped by comparability. ``answers`` are the verdicts on all pairs, in any order."""
    known = {frozenset(a.names): a for a in answers}
    found = []
    for signature, members in comparable_groups(designs).items():
        classes: dict[frozenset[str], list[Design]] = {}
        for x in members:
            equal = {y.name for y in members if _equivalent(known, x, y)}
            classes.setdefault(frozenset(equal), []).append(x)
        pairs = [frozenset((x.name, y.name)) for x, y in itertools.combinations(members, 2)]
        found.append(Group(signature, members, {p: known[p] for p in pairs}, [tuple(c) for c in classes.values()]))
    return found


def _equivalent(known: Mapping[frozenset[str], PairVerdict], x: Design, y: Design) -> bool:
    return x is y or known[frozenset((x.name, y.name))].status is Status.PROVED


def simplest_difference(answers: Iterable[PairVerdict]) -> Comparison | None:
    """Return the first comparison whose witness has the fewest nonzero products; None if there is no witness."""
    found = [(a.comparison, a.comparison.witness) for a in answers]
    return min(((c, w) for c, w in found if w is not None), key=lambda x: _products(x[1]), default=(None, None))[0]


def _products(witness: Operands) -> int:
    return sum(1 for a, b in zip(witness.a, witness.b, strict=True) if a or b)
