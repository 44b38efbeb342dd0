"""The simplification of a witness: fewer nonzero operands, then shorter significands, as long as it stays a witness.

Trials are rows of arrays: the time of an evaluation hardly depends on how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.question import Question
from mmaproof.smt.solving.limits import worked

_LONG, _PARTS = 64, (64, 8, 2)
"""From N products on, a witness is cut in N parts first, the smallest of which come first."""
_PRODUCTS = 256
"""The most products in the witnesses that are simplified to show the simplest. At least one witness is."""
_FEW = 2
"""Up to N products are kept alone."""
_PRODUCTS_AT_ONCE, _LEAST_AT_ONCE = 1 << 14, 16
"""How many products the trials of one witness have that are evaluated at once, and the least number of such trials."""

_Trials = Generator[OperandBatch, int | None, None]
"""Simpler operands than a witness, the simplest first, to be tried at once. It is sent the place of the first one that
is a witness, None if there is none."""


def simplify(question: Question, witness: Operands, deadline: float = math.inf) -> Operands:
    """Return a witness against the same question that is at least as simple, confirmed on integers.

    The method is greedy, so there may be a simpler witness. It keeps one or two products and c if they are a witness
    alone. Otherwise it sets products to +0, of a long witness many parts at once, and then c. Then it clears fraction
    bits, with the sign or without it, the most at once that it can. At ``deadline`` (by ``worked``) it returns
    what it has.
    """
    return simplest(question, [witness], deadline)


def simplest(question: Question, witnesses: Sequence[Operands], deadline: float = math.inf) -> Operands:
    """Return the simplest of ``witnesses`` after simplification: fewest nonzero operands, then fewest one bits.

    If witnesses are long, only the first few are simplified, because each takes long.
    """
    chosen = witnesses[: max(_PRODUCTS // question.k, 1)]
    found = _each(question, chosen, _narrowed, deadline)
    found = _each(question, found, _with_few_products, deadline)
    few = [x for x in found if len(_nonzero(x)) <= _FEW]
    found = few or _each(question, found, _without_what_may_go, deadline)
    fewest = min(_complexity(x)[0] for x in found)
    shortest = [x for x in found if _complexity(x)[0] == fewest]
    found = sorted(_each(question, shortest, partial(_shortened, question), deadline), key=_complexity)
    return next((x for x in found if x in chosen or question.is_refuted_by(x)), chosen[0])


def _complexity(operands: Operands) -> tuple[int, int]:
    patterns = (*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b, *operands.random)
    return sum(p != 0 for p in patterns), sum(p.bit_count() for p in patterns)


def _nonzero(operands: Operands) -> list[int]:
    """Return the numbers of the products that are not of two zeros."""
    return [i for i in range(len(operands)) if operands.a[i] or operands.b[i]]


def _each(
    question: Question,
    witnesses: Sequence[Operands],
    trials_of: Callable[[Operands, OperandBatch], _Trials],
    deadline: float,
) -> list[Operands]:
    """Simplify all witnesses in one way, one round of each at a time.

    ``trials_of`` has a witness twice: as numbers, and as a row.
    """
    found = list(witnesses)
    trials = {i: trials_of(x, OperandBatch.of_rows(question.formats, [x])) for i, x in enumerate(witnesses)}
    tried = {i: rows for i, x in trials.items() if (rows := next(x, None)) is not None}
    while tried and worked() < deadline:
        refuted = question.examine(OperandBatch.concatenate(list(tried.values())))[1]
        ends = np.cumsum([len(rows) for rows in tried.values()])[:-1]
        following: dict[int, OperandBatch] = {}
        for (i, rows), of_rows in zip(tried.items(), np.split(refuted, ends), strict=True):
            first = int(of_rows.argmax()) if of_rows.any() else None
            if first is not None:
                found[i] = rows.row(first)
            try:
                following[i] = trials[i].send(first)
            except StopIteration:
                continue
        tried = following
    return found


def _narrowed(witness: Operands, row: OperandBatch) -> _Trials:
    """Keep the smallest part of the products of a long witness that is a witness alone, as long as one is."""
    kept = range(len(witness))
    while len(kept) >= _LONG:
        nonzero = [i for i in _nonzero(witness) if i in kept]
        sizes = [len(kept) // n for n in _PARTS]
        parts = [range(i, min(i + size, kept.stop)) for size in sizes for i in range(kept.start, kept.stop, size)]
        parts = [part for part in parts if not all(i in part for i in nonzero)]
        smallest = (yield _only(row, parts)) if parts else None
        if smallest is None:
            break
        kept = parts[smallest]


def _with_few_products(witness: Operands, row: OperandBatch) -> _Trials:
    """Keep no product, one or two, and c only if it has to be kept."""
    trials: list[OperandBatch] = []
    for count in range(_FEW + 1):
        kept = list(combinations(_nonzero(witness), count))
        if len(kept) > max(_PRODUCTS_AT_ONCE // row.k, _LEAST_AT_ONCE):
            break
        if kept:
            rows = _only(row, kept)
            trials += [_without_c(rows), rows]
    if trials:
        yield OperandBatch.concatenate(trials)


def _without_what_may_go(witness: Operands, row: OperandBatch) -> _Trials:
    """Set products to +0, half of them at once, then ever smaller runs, and then c. Few matter, so most go early.

    Changes are tried ahead, as if none before them were made.
    """
    size = k = row.k
    runs: list[range] = []
    while size:
        runs += [range(i, min(i + size, k)) for i in range(0, k, size)]
        size //= 2
    at_once = max(_PRODUCTS_AT_ONCE // k, _LEAST_AT_ONCE)
    left = [True] * k
    while True:
        ahead = [run for run in runs if any(left[i] and (witness.a[i] or witness.b[i]) for i in run)][:at_once]
        if not ahead:
            break
        masks = [[i for i in range(k) if left[i] and i not in run] for run in ahead]
        first = yield _only(row, masks)
        if first is None:
            runs = runs[runs.index(ahead[-1]) + 1 :]
            continue
        runs = runs[runs.index(ahead[first]) + 1 :]
        for i in ahead[first]:
            left[i] = False
    if witness.c:
        yield _without_c(_only(row, [[i for i in range(k) if left[i]]]))


def _shortened(question: Question, witness: Operands, row: OperandBatch) -> _Trials:
    """Make elements simpler, as many at once as there are few enough ways to change all; again while that helps."""
    before, at_once = None, False
    # what is simpler than the first witness of all ways was tried before it
    while witness != before and not at_once:
        before = witness
        row, at_once = yield from _shortened_once(question, witness, row)
        witness = row.row(0)


def _shortened_once(
    question: Question, witness: Operands, row: OperandBatch
) -> Generator[OperandBatch, int | None, tuple[OperandBatch, bool]]:
    """Return the row with simpler elements, and whether all ways to change them were tried at once."""
    most = max(_PRODUCTS_AT_ONCE // row.k, _LEAST_AT_ONCE)
    places = [x for x in _places(question, row.k) if x.pattern(witness)]
    groups = 0
    while places:
        groups += 1
        ways: list[list[int]] = []
        for place in places:
            of_place = place.ways(witness)
            if ways and math.prod(map(len, ways)) * len(of_place) > most:
                break
            ways.append(of_place)
        changed, places = places[: len(ways)], places[len(ways) :]
        sizes = [len(x) for x in ways]
        ranks = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes))
        # the simplest first; the last one changes nothing
        ranks = ranks[:, np.argsort(ranks.sum(axis=0), kind="stable")[:-1]]
        if not ranks.size:
            continue
        trials = row.select(np.zeros(ranks.shape[1], dtype=np.intp))
        for place, way, rank in zip(changed, ways, ranks, strict=True):
            place.of(trials)[:] = np.array(way, dtype=np.uint64)[rank]
        first = yield trials
        if first is not None:
            row = trials.select(slice(first, first + 1))
    return row, groups <= 1


def _only(row: OperandBatch, kept: Sequence[Sequence[int]]) -> OperandBatch:
    """Return a row of each kind with the products that it keeps; the others are +0."""
    mask = np.zeros((len(kept), row.k), dtype=bool)
    for of_row, numbers in zip(mask, kept, strict=True):
        of_row[list(numbers)] = True
    rows = row.select(np.zeros(len(kept), dtype=np.intp))
    return replace(rows, a=rows.a * mask, b=rows.b * mask)


def _without_c(rows: OperandBatch) -> OperandBatch:
    return replace(rows, c=np.zeros_like(rows.c))


@dataclass(frozen=True)
class _Place:
    """An element of a column of operands."""

    column: str
    number: int
    format: Format

    def pattern(self, operands: Operands) -> int:
        """Return its pattern."""
        held = getattr(operands, self.column)
        return int(held if self.column == "c" else held[self.number])

    def ways(self, operands: Operands) -> list[int]:
        """Return patterns that it may have instead, the simplest first, and its own last."""
        pattern = self.pattern(operands)
        zero = [] if self.column.startswith("scale") else [0]
        return [*zero, *_simpler(self.format, pattern), pattern]

    def of(self, rows: OperandBatch) -> npt.NDArray[np.unsignedinteger]:
        """Return the element of each row, to be read and written."""
        held: npt.NDArray[np.unsignedinteger] = getattr(rows, self.column)
        return held if self.column == "c" else held[:, self.number]


def _places(question: Question, k: int) -> Iterator[_Place]:
    a, b, c = question.formats
    yield _Place("c", 0, c)
    yield from (
        _Place(name, i, fmt) for name, fmt, count in question.columns() if name == "random" for i in range(count)
    )
    for i in range(k):
        yield _Place("a", i, a)
        yield _Place("b", i, b)
    if question.scale_format is not None:
        for i in range(question.blocks):
            yield _Place("scale_a", i, question.scale_format)
            yield _Place("scale_b", i, question.scale_format)


def _simpler(fmt: Format, pattern: int) -> Iterator[int]:
    """Yield simpler patterns than ``pattern``, the simplest first: one, powers of two, then longer fractions."""
    if fmt.is_integer:
        yield from {1: (), (1 << fmt.bits) - 1: (1,)}.get(pattern, (1, (1 << fmt.bits) - 1))
        return
    sign = pattern & 1 << fmt.sign_position if fmt.signed else 0
    magnitude = pattern ^ sign
    candidates = [fmt.one]
    for kept in range(fmt.fraction_bits):
        low = fmt.fraction_bits - kept + fmt.ignored_bits
        candidates.append(magnitude >> low << low)
    for candidate in candidates:
        if candidate == magnitude:
            return
        if candidate:
            yield from (candidate, candidate | sign) if sign else (candidate,)
