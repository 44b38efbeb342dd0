"""Suites: a few vectors that separate any two designs of a list unless these are equivalent."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.properties.equivalence import SomePairAgrees
from mmaproof.properties.preconditions import Finite
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Model, Status, Verdict
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.executors import ONE_AT_A_TIME, finished
from mmaproof.verification.executors import Pool as Executors
from mmaproof.verification.matrix import Class, Group, PairVerdict
from mmaproof.verification.search import simplest, steer, store_witness, stored_witness

FRESH, CHILDREN = 32, 768
"""Random rows of each distribution, and rows bred from the pool, in one generation."""
POOL, ALIKE = 128, 16
"""Rows that are kept from one generation to the next, and at most N of them that separate the same pairs."""

STRIPPED, SIMPLEST, IDLE = 256, 8, 10
"""Simpler rows that are tried at once, the simplest that are kept, and how often in a row none may be simpler."""


@dataclass(frozen=True)
class Pool:
    """Rows, and which of the pairs of a question each separates, shape (rows, pairs); the best come first."""

    batch: OperandBatch
    separated: npt.NDArray[np.bool_]
    tried: int

    @property
    def complete(self) -> npt.NDArray[np.intp]:
        """The rows that separate all pairs."""
        return np.flatnonzero(self.separated.all(axis=1))


def breed(question: SomePairAgrees, *, seed: int, rows: int, start: OperandBatch | None = None) -> Pool:
    """Return the best rows found: those that separate the most pairs, and for each pair some that separate it.

    ``start`` are rows to begin with. The search ends with the first generation in which a row separates all pairs, or
    when ``rows`` were tried; the same seed gives the same rows.
    """
    rng = np.random.default_rng(seed)
    batch = _fresh(question, rng) if start is None else OperandBatch.concatenate([start, _fresh(question, rng)])
    pool = _best(batch, question.separated(batch), len(batch))
    while pool.tried < rows and not len(pool.complete):
        new = OperandBatch.concatenate([_bred(question, pool.batch, rng), _fresh(question, rng)])
        both = OperandBatch.concatenate([pool.batch, new])
        pool = _best(both, np.concatenate([pool.separated, question.separated(new)]), pool.tried + len(new))
    return pool


def _fresh(question: SomePairAgrees, rng: np.random.Generator) -> OperandBatch:
    """Return random rows of every distribution, each shaped for one of the designs."""
    shapes = [question.designs[i] for i in rng.integers(0, len(question.designs), len(DISTRIBUTIONS))]
    drawn = [draw(name, x, FRESH, question.k, rng) for name, x in zip(DISTRIBUTIONS, shapes, strict=True)]
    return steer(OperandBatch.concatenate(drawn), question, rng)


def _best(batch: OperandBatch, separated: npt.NDArray[np.bool_], tried: int) -> Pool:
    # a pair that few rows separate counts for more, or the rows that do would die out
    worth = separated @ (1 / np.maximum(separated.sum(axis=0), 1))
    order = np.lexsort((_one_bits(batch), -worth))
    alike: Counter[bytes] = Counter()
    missing = separated.any(axis=0)
    kept: list[np.intp] = []
    for row in order:
        signature = separated[row].tobytes()
        alike[signature] += 1
        # beyond the best, one row for each pair that none of them separates
        if alike[signature] <= ALIKE and (len(kept) < POOL or (separated[row] & missing).any()):
            kept.append(row)
            missing = missing & ~separated[row]
    rows = np.array(kept, dtype=np.intp)
    return Pool(batch.select(rows), separated[rows], tried)


def _one_bits(batch: OperandBatch) -> npt.NDArray[np.int64]:
    return sum((_per_row(np.bitwise_count(x)) for x in _columns(batch)), np.zeros(len(batch), dtype=np.int64))


def _nonzero(batch: OperandBatch) -> npt.NDArray[np.int64]:
    return sum((_per_row(x != 0) for x in _columns(batch)), np.zeros(len(batch), dtype=np.int64))


def _columns(batch: OperandBatch) -> list[Patterns]:
    return [x for x in (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b) if x is not None]


def _per_row(x: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.asarray(x.reshape(len(x), -1).sum(axis=1), dtype=np.int64)


def strip(question: SomePairAgrees, batch: OperandBatch, *, seed: int) -> OperandBatch:
    """Return rows that separate all pairs, as those of ``batch`` do, with fewer nonzero operands and one bits.

    Products are dropped and significands cut, many ways at once; the simplest rows come first.
    """
    rng = np.random.default_rng(seed)
    idle = 0
    while idle < IDLE:
        varied = OperandBatch.concatenate(
            [batch.select(rng.integers(0, len(batch), STRIPPED)), _bred(question, batch, rng)]
        )
        both = OperandBatch.concatenate([batch, _stripped(question, varied, rng)])
        both = both.select(np.concatenate([np.arange(len(batch)), len(batch) + _complete(question, both, len(batch))]))
        order = np.lexsort((_one_bits(both), _nonzero(both)))
        idle = idle + 1 if order[0] == 0 else 0
        batch = both.select(order[:SIMPLEST])
    return batch


def _complete(question: SomePairAgrees, batch: OperandBatch, first: int) -> npt.NDArray[np.intp]:
    """Return which rows separate all pairs, among those from ``first`` on and counted from there."""
    return np.flatnonzero(question.separated(batch.select(slice(first, None))).all(axis=1))


def _stripped(question: SomePairAgrees, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return rows without some of their products, and with some of their elements cut short."""
    products, count = (len(batch), question.k), len(batch)
    rate = rng.choice([0.0, 0.5, 2.0, 8.0], (3, count, 1)) / question.k
    dropped = rng.random(products) < rate[0]
    of_a, of_b, of_c = question.formats
    a, b = (
        np.where(dropped, x.dtype.type(0), _cut(f, x, rng.random(products) < rate[n], rng))
        for n, f, x in ((1, of_a, batch.a), (2, of_b, batch.b))
    )
    c = _cut(of_c, batch.c, rng.random(count) < 0.25, rng)
    c = np.where(rng.random(count) < 0.05, c.dtype.type(0), c)
    return OperandBatch(a, b, c, batch.scale_a, batch.scale_b)


def _cut(fmt: Format, patterns: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator) -> Patterns:
    """Return patterns some of which are one, or lack low bits of the significand (of integers any), or the sign."""
    low = rng.integers(0, (fmt.fraction_bits or fmt.bits - 1) + 1, patterns.shape).astype(patterns.dtype)
    cut = patterns >> (low + patterns.dtype.type(fmt.ignored_bits)) << (low + patterns.dtype.type(fmt.ignored_bits))
    one = np.where(patterns == 0, patterns, patterns.dtype.type(fmt.one))
    absolute = patterns & patterns.dtype.type((1 << (fmt.bits - 1 if fmt.signed else fmt.bits)) - 1)
    shorter: Patterns = np.choose(rng.choice(3, patterns.shape, p=[0.6, 0.2, 0.2]), [cut, one, absolute])
    return np.where(which, shorter, patterns).astype(patterns.dtype)


def _bred(question: SomePairAgrees, parents: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return rows made of the products of one parent, often some of another too, with a few elements changed."""
    # the better ones more often
    first, second = (np.floor(len(parents) * rng.random(CHILDREN) ** 2).astype(np.intp) for _ in "xy")
    child, other = parents.select(first), parents.select(second)
    products = (CHILDREN, question.k)
    mixed = (rng.random(CHILDREN) < 0.5)[:, np.newaxis]
    taken = mixed & (rng.random(products) < rng.random((CHILDREN, 1)))
    a, b = (np.where(taken, y, x) for x, y in ((child.a, other.a), (child.b, other.b)))
    c = np.where(mixed[:, 0] & (rng.random(CHILDREN) < 0.3), other.c, child.c)
    # a product takes the place of another, often under the opposite sign
    place = rng.integers(0, question.k, products)
    copied = rng.random(products) < rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
    a, b = (np.where(copied, np.take_along_axis(x, place, 1), x) for x in (a, b))
    of_a, of_b, of_c = question.formats
    if of_a.signed:
        sign = a.dtype.type(1 << of_a.sign_position)
        a = np.where(copied & (rng.random(products) < 0.5), a ^ sign, a)
    a = np.where(rng.random(products) < rng.choice([0.0, 1 / question.k], (CHILDREN, 1)), a.dtype.type(0), a)
    few = rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
    a, b = (_nudged(f, x, rng.random(products) < few, rng) for f, x in ((of_a, a), (of_b, b)))
    if not of_a.is_integer:
        few = rng.choice([0.0, 1 / question.k], (CHILDREN, 1))
        a, b = _rebalanced(of_a, a, of_b, b, rng.random(products) < few, rng)
    c = _nudged(of_c, c, rng.random(CHILDREN) < 0.25, rng)
    scales = [
        x if x is None or question.scale_format is None else _nudged(question.scale_format, x, y, rng)
        for x, y in ((s, rng.random((CHILDREN, question.blocks)) < 0.1) for s in (child.scale_a, child.scale_b))
    ]
    return OperandBatch(a, b, c, *scales)


def _rebalanced(
    of_a: Format, a: Patterns, of_b: Format, b: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Patterns, Patterns]:
    """Return a and b with powers of two moved from one to the other: subnormal operands of a product as large."""
    places = [f.fraction_bits + f.ignored_bits for f in (of_a, of_b)]
    fields = [
        (x >> x.dtype.type(place)).astype(np.int64) & ((1 << f.exponent_bits) - 1)
        for f, x, place in zip((of_a, of_b), (a, b), places, strict=True)
    ]
    tops = [f.e_max - f.e_min + 1 for f in (of_a, of_b)]
    least = np.maximum(-fields[1], fields[0] - tops[0])
    most = np.minimum(fields[0], tops[1] - fields[1])
    # beside an infinity there may be no room
    moved = np.where(which & (least <= most), rng.integers(least, np.maximum(most, least) + 1), 0)
    low, high = a - (moved << places[0]).astype(a.dtype), b + (moved << places[1]).astype(b.dtype)
    return low, high


def _nudged(fmt: Format, patterns: Patterns, which: npt.NDArray[np.bool_], rng: np.random.Generator) -> Patterns:
    """Return patterns some of which are one bit position larger or smaller, or have one bit changed."""
    bit = np.left_shift(
        patterns.dtype.type(1), rng.integers(fmt.ignored_bits, fmt.bits, patterns.shape, dtype=patterns.dtype)
    )
    changed = np.choose(rng.integers(0, 3, patterns.shape), [patterns + bit, patterns - bit, patterns ^ bit])
    mask = patterns.dtype.type((1 << fmt.bits) - 1)
    nudged: Patterns = np.where(which, changed & mask, patterns).astype(patterns.dtype)
    return nudged


STEPS = 200_000
"""Sets that are tried, at most, in the search for a smaller cover than the greedy one."""


def set_cover(sets: Sequence[frozenset[int]]) -> list[int]:
    """Return the positions of few sets whose union is that of all of them.

    The greedy choice, each time the set with most of what is missing, is improved by an exhaustive search of bounded
    length: the answer does not depend on the clock. Among equal sets the first is chosen.
    """
    first = {s: i for i, s in reversed(list(enumerate(sets)))}
    # a set within another one is never needed
    useful = [s for s in first if s and not any(s < t for t in first)]
    everything = frozenset().union(*useful)
    best = _greedy(useful, everything)
    steps = [STEPS]
    while len(best) > 1:
        smaller = _within(useful, everything, len(best) - 1, steps)
        if smaller is None:
            break
        best = smaller
    return sorted(first[s] for s in best)


def _greedy(sets: Sequence[frozenset[int]], missing: frozenset[int]) -> list[frozenset[int]]:
    chosen = []
    while missing:
        chosen.append(max(sets, key=lambda s: len(s & missing)))
        missing -= chosen[-1]
    return chosen


def _within(
    sets: Sequence[frozenset[int]], missing: frozenset[int], most: int, steps: list[int]
) -> list[frozenset[int]] | None:
    """Return at most ``most`` sets that hold what is ``missing``; None if there are none, or no steps are left."""
    if not missing:
        return []
    if most * max(len(s & missing) for s in sets) < len(missing):
        return None
    # the element that the fewest sets hold: one of them is chosen
    hardest = min(missing, key=lambda x: sum(x in s for s in sets))
    for s in sorted((s for s in sets if hardest in s), key=lambda s: -len(s & missing)):
        steps[0] -= 1
        if steps[0] <= 0:
            return None
        rest = _within(sets, missing - s, most - 1, steps)
        if rest is not None:
            return [s, *rest]
    return None


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
        return _one(Chosen(*stored))
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
