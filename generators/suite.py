"""Suites: a few vectors that separate any two designs of a list unless these are equivalent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.separate import Pool, breed, strip
from mmaproof.generators.set_cover import set_cover
from mmaproof.properties.preconditions import Finite
from mmaproof.properties.separation import SomePairAgrees
from mmaproof.smt.proving.decide import decide
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Model, Status, Verdict
from mmaproof.smt.solving.work import worked
from mmaproof.smt.trace import evaluate
from mmaproof.verification.classes import Class, Group
from mmaproof.verification.executors import ONE_AT_A_TIME, finished
from mmaproof.verification.executors import Pool as Executors
from mmaproof.verification.matrix import PairVerdict
from mmaproof.verification.simplify import simplest
from mmaproof.verification.stored import store_witness, stored_witness

ROWS = 60_000
"""The most operand sets that are tried to find one vector that separates everything."""
CANDIDATES = 2
"""Of N vectors that do, the one that simplifies best is taken."""


class EquivalentSeparatedError(RuntimeError):
    """A vector separates designs that were proved equivalent: model and proof contradict each other."""


class Fewest(Enum):
    """What is known about the number of vectors."""

    ONE = "minimal"
    """One, or none where none is needed."""
    PROVED = "proved minimal"
    """A solver proved that one vector fewer, of the common length, does not do."""
    FOUND = "smallest found"
    """No smaller suite was found."""


@dataclass(frozen=True)
class Need:
    """Two classes with designs that differ at length ``k``, and an input on which two of them do."""

    classes: tuple[int, int]
    k: int
    witness: Operands
    origin: str


@dataclass(frozen=True)
class Task:
    """Classes of comparable designs to tell apart, and the means. It is plain data for another process."""

    classes: Sequence[Class]
    needs: Sequence[Need]
    solving: Solving
    limits: Limits
    seed: int
    simple: bool

    @cached_property
    def length(self) -> int:
        """The least length that every design which differs from another one takes."""
        return math.lcm(*(need.k for need in self.needs))

    def question(self, needs: Sequence[int], k: int, *, finite: bool = False) -> SomePairAgrees:
        """Return the question whose witnesses, of length ``k``, are what meets these needs at once.

        Members of a class are proved equal at the lengths that both take, so one of each that takes ``k`` stands for
        all of those.
        """
        pairs = sorted({self.needs[i].classes for i in needs})
        named = sorted({x for pair in pairs for x in pair})
        designs = [next(x for x in self.classes[i] if k % x.k == 0) for i in named]
        positions = [(named.index(x), named.index(y)) for x, y in pairs]
        whole = finite and not designs[0].c_format.is_integer
        return SomePairAgrees(designs, positions, k, (Finite(),) if whole else ())

    def met(self, batch: OperandBatch) -> list[frozenset[int]]:
        """Return which needs each row meets: those of which both classes take its length and return different d."""
        taking = [i for i, need in enumerate(self.needs) if batch.k % need.k == 0]
        columns = {pair: n for n, pair in enumerate(sorted({self.needs[i].classes for i in taking}))}
        separated = self.question(taking, batch.k).separated(batch).tolist()
        return [frozenset(i for i in taking if row[columns[self.needs[i].classes]]) for row in separated]


@dataclass(frozen=True)
class Chosen:
    """An input of a suite, where it was found, and the seed of the random operands that it was found among."""

    operands: Operands
    origin: str
    seed: int | None = None


@dataclass(frozen=True)
class Choice:
    """The inputs chosen for a task, and what is known about their number, with the reason in words."""

    chosen: Sequence[Chosen]
    fewest: Fewest
    reason: str


def needs_of(group: Group) -> list[Need]:
    """Return what the vectors of comparable designs have to separate: classes, at each length at which they differ."""
    needs: dict[tuple[tuple[int, int], int], Need] = {}
    for (i, first), (j, second) in itertools.combinations(enumerate(group.classes), 2):
        for found in (a.comparison for a in group.between(first, second)):
            if found.witness is not None:
                k = found.question.k
                needs.setdefault(((i, j), k), Need((i, j), k, found.witness, found.origin))
    return list(needs.values())


def choose(task: Task) -> Choice:
    """Return few inputs that meet all needs of a task.

    One that meets all of them is looked for among the inputs of the least length that all the designs take: in the
    store, by search, first without infinities and NaN, then by a solver. Where none is found, the fewest of what the
    search came upon are chosen, with inputs of shorter lengths for designs that none of those separates.
    """
    everything = range(len(task.needs))
    whole = task.question(everything, task.length)
    stored = stored_witness(task.solving.store, whole)
    if stored is not None:
        return _one(Chosen(stored[0], f"the store: {stored[1]}"))
    start = _batch(whole, [x for need in task.needs for x in _padded(whole, need.witness)])
    finite = task.question(everything, task.length, finite=True)
    for question in (finite, whole) if finite.where else (whole,):
        pool = breed(question, seed=task.seed, rows=ROWS, start=start)
        found = pool.batch.select(pool.complete)
        if len(found):
            return _kept(task, whole, _by_search(task, pool, _simple(question, task, found)))
        start = pool.batch
    with ONE_AT_A_TIME:
        verdict = decide(whole, task.solving.ask, task.limits)
    if verdict.witness is not None:
        simple = _simple(whole, task, _batch(whole, [whole.operands(verdict.witness)]))
        return _kept(task, whole, Chosen(simple, str(verdict.solver)))
    return _several(task, whole, pool, verdict)


def _kept(task: Task, question: SomePairAgrees, chosen: Chosen) -> Choice:
    if task.simple:
        store_witness(task.solving.store, question, chosen.operands, chosen.origin)
    return _one(chosen)


def _one(chosen: Chosen) -> Choice:
    return Choice([chosen], Fewest.ONE, "one separates all that are known to differ")


def _by_search(task: Task, pool: Pool, operands: Operands) -> Chosen:
    return Chosen(operands, f"search (seed {task.seed}, {pool.tried} operand sets tried)", task.seed)


def _simple(question: SomePairAgrees, task: Task, rows: OperandBatch) -> Operands:
    """Return the simplest row found that separates what each of the rows does, all pairs of the question."""
    if not task.simple:
        return rows.row(0)
    stripped = strip(question, rows, seed=task.seed)
    found = [stripped.row(i) for i in range(min(len(stripped), CANDIDATES))]
    return simplest(question, found, worked() + task.limits.seconds)


def _batch(question: SomePairAgrees, rows: Sequence[Operands]) -> OperandBatch:
    return OperandBatch.of_rows(question.formats, rows)


def _padded(question: SomePairAgrees, x: Operands) -> list[Operands]:
    """Return an input with zeros behind it, and one with zeros before it, as long as the question has them."""
    zeros = (0,) * (question.k - len(x))
    fmt = question.scale_format
    ones = () if fmt is None else (fmt.encode(1),) * (question.blocks - len(x.scale_a))
    return [
        Operands(x.a + zeros, x.b + zeros, x.c, x.scale_a + ones, x.scale_b + ones),
        Operands(zeros + x.a, zeros + x.b, x.c, ones + x.scale_a, ones + x.scale_b),
    ]


def _several(task: Task, whole: SomePairAgrees, pool: Pool, verdict: Verdict[Model]) -> Choice:
    """Return the fewest of the inputs found that together meet all needs."""
    rows = [_by_search(task, pool, pool.batch.row(i)) for i in range(len(pool.batch))]
    held = task.met(pool.batch)
    for need in task.needs:
        rows.append(Chosen(need.witness, need.origin))
        held += task.met(_batch(whole, [need.witness]))
    chosen, missing = [], frozenset(range(len(task.needs)))
    for i in set_cover(held):
        question = task.question(sorted(held[i] & missing), len(rows[i].operands))
        simple = _simple(question, task, _batch(question, [rows[i].operands]))
        chosen.append(replace(rows[i], operands=simple))
        missing -= held[i]
    if verdict.status is not Status.PROVED:
        return Choice(chosen, Fewest.FOUND, f"whether one of k = {task.length} does is unknown: {verdict.reason}")
    certified = "" if verdict.certified_by is None else f", certified by {verdict.certified_by}"
    reason = f"no single one of k = {task.length} does, proved by {verdict.solver}{certified}"
    return Choice(chosen, Fewest.PROVED if len(chosen) == 2 else Fewest.FOUND, reason)


@dataclass(frozen=True)
class SuiteVector:
    """An input of a suite, and what all designs that take it return: those whose K divides its length."""

    chosen: Chosen
    outputs: Mapping[str, int]


@dataclass(frozen=True)
class Suite:
    """The vectors for designs that are comparable with each other.

    ``left`` are the pairs that no vector separates and that are not proved equivalent: unknown, or different and the
    vectors for them failed, as ``reason`` says.
    """

    group: Group
    vectors: Sequence[SuiteVector]
    fewest: Fewest
    reason: str
    left: Sequence[PairVerdict]

    def canonical(self, d: int) -> int:
        """Return the pattern of a result, the same for all NaNs."""
        return _canonical(self.group.designs[0].d_format, d)


def _canonical(fmt: Format, d: int) -> int:
    nan = fmt.quiet_nan
    return nan if nan is not None and fmt.is_nan(d) else d


def suites(
    groups: Sequence[Group],
    *,
    executors: Executors,
    at_once: int,
    solving: Solving,
    limits: Limits,
    seed: int = 0,
    simple: bool = True,
) -> Generator[Suite, None, None]:
    """Yield the suite of each group, as they come.

    Raises EquivalentSeparatedError (an internal error) where a vector separates designs that were proved equivalent.
    Closing the iterator ends what still runs.
    """
    needs = [needs_of(group) for group in groups]
    waiting = []
    for i, group in enumerate(groups):
        if needs[i]:
            waiting.append(i)
        else:
            yield suite(group, Choice([], Fewest.ONE, "no vector is needed"))
    tasks = [Task(groups[i].classes, needs[i], solving, limits, seed, simple) for i in waiting]
    for number, choice in finished(choose, tasks, executors, at_once):
        failed = Choice([], Fewest.FOUND, f"asked twice, no vectors came back: {choice}")
        yield suite(groups[waiting[number]], failed if isinstance(choice, str) else choice)


def suite(group: Group, choice: Choice) -> Suite:
    """Return the suite of chosen inputs, with the d of every design computed on integers, and checked with them.

    Raises EquivalentSeparatedError.
    """
    fmt = group.designs[0].d_format
    vectors = []
    for chosen in choice.chosen:
        taking = [x for x in group.designs if len(chosen.operands) % x.k == 0]
        vectors.append(SuiteVector(chosen, {x.name: evaluate(x, chosen.operands) for x in taking}))
    left = []
    for answer in group.answers.values():
        x, y = answer.names
        pairs = [(v.outputs[x], v.outputs[y]) for v in vectors if {x, y} <= v.outputs.keys()]
        apart = any(_canonical(fmt, d) != _canonical(fmt, e) for d, e in pairs)
        if apart and answer.status is Status.PROVED:
            raise EquivalentSeparatedError(f"{x} and {y} were proved equivalent, and a vector separates them")
        if not apart and answer.status is not Status.PROVED:
            left.append(answer)
    return Suite(group, vectors, choice.fewest, choice.reason, left)
