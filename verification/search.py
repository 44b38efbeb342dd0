"""The search before any solver: batches of random operands are tried until one violates the claim.

Witnesses and proofs of whole questions are kept in a store. A stored witness counts only after it was evaluated again.
A stored proof counts if the same sources made it, with a solver that would be asked now, and nothing has to certify it:
certificates belong to single queries, which the store keeps too.

The simplification of a witness: fewer nonzero operands, then shorter significands, as long as it stays a witness.

Trials are rows of arrays: the time of an evaluation hardly depends on how many there are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import digest_of_sources
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.properties.preconditions import (
    Exponents,
    Finite,
    Normal,
    OfClass,
    Pattern,
    Positive,
    Precondition,
    ZeroAccumulator,
)
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Examined, Question
from mmaproof.smt.native.paying import Switch
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.portfolio import racers
from mmaproof.smt.solving.query import from_hexadecimal, to_hexadecimal
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.store import KeptProof, Store
from mmaproof.smt.solving.verdict import SolverIdentity, Status
from mmaproof.verification.distributions import DISTRIBUTIONS, assemble, draw

FIRST_ROWS, LARGEST_ROWS, LARGEST_PRODUCTS = 64, 8192, 1 << 22
"""A batch grows from FIRST_ROWS to LARGEST_ROWS rows, or to LARGEST_PRODUCTS products."""
WITNESSES = 8
"""The most witnesses of a batch that are returned. A person is shown the one that simplifies best."""
NO_SOLVER = SolverIdentity("a kernel", "without a solver")
"""Who proved a question of the store whose theorem has leaves that were refuted by trying all values alone."""
SIMPLIFYING = 5.0
"""Seconds for which a witness is simplified at most. A long one is as simple then as a person needs it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search may run: a number of rows, and seconds. It ends at the first of the two limits."""

    rows: int = 200_000
    seconds: float = 3.0


@dataclass(frozen=True, slots=True)
class Means:
    """How questions are answered: the solvers, their limits, and the budget and seed of the search.

    If the budget is None, there is no search. If ``solving`` has a store, witnesses are looked up and kept there too.
    If a search finds several witnesses at once, at most ``simplified`` of them are simplified, to show the simplest.
    That takes at most ``simplifying`` seconds. When it begins, ``told`` is called with a line for a person, if there
    is one.
    """

    solving: Solving
    limits: Limits
    budget: Budget | None
    seed: int = 0
    simplified: int = WITNESSES
    simplifying: float = SIMPLIFYING
    told: Callable[[str], None] | None = None

    def begun(self) -> Self:
        """Return the means of a question that begins now, or that has begun: its limits end at a point of time."""
        return replace(self, limits=self.limits.begun())


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A few simple ``witnesses`` of the first batch that has any, the rows tried, and the seconds that it took.

    ``precondition_met`` says whether any row satisfied the preconditions.
    """

    witnesses: tuple[Operands, ...]
    rows: int
    seconds: float
    precondition_met: bool
    seed: int


def search(question: Question, design: Design, *, seed: int, budget: Budget) -> SearchResult:
    """Search for a witness against ``question`` among random operands shaped for ``design``.

    Batches grow, so that an easy witness is found at once and small arrays do not slow down a hard question.
    A seed always gives the same rows. Only the end of the search may depend on the clock.
    """
    rng, examine = np.random.default_rng(seed), _examiner(question)
    started = worked()
    tried, rows, met, thins = 0, FIRST_ROWS, False, False
    largest = max(FIRST_ROWS, min(LARGEST_ROWS, LARGEST_PRODUCTS // question.k))
    while tried < budget.rows:
        for name in DISTRIBUTIONS:
            seconds_ahead = budget.seconds - (worked() - started)
            if seconds_ahead <= 0:
                return SearchResult((), tried, worked() - started, met, seed)
            drawn = draw(name, design, rows, question.k, rng)
            batch = question.completed(steer(_thinned(drawn, rng) if thins else drawn, question, rng), rng)
            meant, refuted = examine(batch, rows_ahead=budget.rows - tried, seconds_ahead=seconds_ahead)
            tried += rows
            met = met or bool(meant.any())
            if refuted.any():
                witnesses = _simplest(batch, np.flatnonzero(refuted))
                return SearchResult(witnesses, tried, worked() - started, True, seed)
        # both kinds of rows are tried while batches are small
        rows, thins = min(rows * (4 if thins else 1), largest), not thins
    return SearchResult((), tried, worked() - started, met, seed)


def _thinned(batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return the batch with two products, one or none in every second row, and zeros in the place of the others.

    What many products hide shows there: how one product or c alone is read.
    """
    rows, k = batch.a.shape
    places = rng.permuted(np.tile(np.arange(k), (rows, 1)), axis=1)
    kept = places < np.where(np.arange(rows) % 2, k, rng.integers(0, 3, rows))[:, None]
    return replace(batch, a=np.where(kept, batch.a, batch.a.dtype.type(0)))


def _examiner(question: Question) -> Callable[..., Examined]:
    """Return what examines rows. A question that examines them in a way of its own does so, whatever pays."""
    if type(question).examine is not Question.examine:
        return lambda batch, **_: question.examine(batch)
    return Switch(question.examine, question.lowered, question.compiled)


def _simplest(batch: OperandBatch, rows: npt.NDArray[np.intp]) -> tuple[Operands, ...]:
    """Return up to WITNESSES of ``rows``, those with the fewest one bits."""
    every = (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b, batch.random)
    columns = [x for x in every if x is not None]
    ones = sum(np.bitwise_count(x[rows]).reshape(len(rows), -1).sum(axis=1, dtype=int) for x in columns)
    return tuple(batch.row(int(i)) for i in rows[np.argsort(ones, kind="stable")[:WITNESSES]])


def steer(batch: OperandBatch, question: Question, rng: np.random.Generator) -> OperandBatch:
    """Return the batch changed towards the preconditions of the question. Some rows may still not meet them."""
    if not question.where:
        return batch
    patterns = {"a": batch.a, "b": batch.b, "c": batch.c}
    for name, fmt in zip(patterns, question.formats, strict=True):
        only = _one_pattern(name, question.where)
        if only is None:
            patterns[name] = _steer_column(fmt, patterns[name], question.where, rng)
        else:
            patterns[name] = np.full_like(patterns[name], only)
    return OperandBatch(patterns["a"], patterns["b"], patterns["c"], batch.scale_a, batch.scale_b)


def _one_pattern(operand: str, where: tuple[Precondition, ...]) -> int | None:
    """Return the pattern that the preconditions leave for the elements of an operand; None if they leave others."""
    for p in where:
        if isinstance(p, Pattern) and p.operand == operand and not p.negated:
            return p.bits
        if p == (ZeroAccumulator() if operand == "c" else OfClass(operand, "0", False)):
            return 0
        if p == OfClass(operand, "+0", False):
            return 0
    return None


def _steer_column(
    fmt: Format, patterns: Patterns, where: tuple[Precondition, ...], rng: np.random.Generator
) -> Patterns:
    if fmt.is_integer:
        return patterns
    word = patterns.dtype.type
    fraction_mask = (1 << fmt.fraction_bits) - 1
    fields = ((patterns >> word(fmt.fraction_bits + fmt.ignored_bits)) & word((1 << fmt.exponent_bits) - 1)).astype(int)
    fractions = ((patterns >> word(fmt.ignored_bits)) & word(fraction_mask)).astype(np.int64)
    signs = (patterns >> word(fmt.sign_position)).astype(np.int64) if fmt.signed else np.zeros_like(fractions)
    low, high = fmt.e_min, fmt.e_max
    for precondition in where:
        if isinstance(precondition, Exponents):
            low, high = max(low, precondition.low), min(high, precondition.high)
    windowed = any(isinstance(p, Exponents) for p in where)
    bounded = windowed or any(isinstance(p, Normal | Finite) for p in where)
    nonzero = any(isinstance(p, Normal | Positive) for p in where)
    zeros = (fields == 0) & (fractions == 0)
    if bounded and low <= high:
        window = rng.integers(low, high + 1, fields.shape) - fmt.e_min + 1
        outside = (fields - 1 + fmt.e_min > high) | ((fields - 1 + fmt.e_min < low) & (windowed & ~zeros))
        if any(isinstance(p, Normal) for p in where):
            outside |= fields == 0
        fields = np.where(outside, window, fields)
    if nonzero:
        fractions = np.where((fields == 0) & (fractions == 0), 1, fractions)
    if any(isinstance(p, Positive) for p in where):
        signs = np.zeros_like(signs)
    return assemble(fmt, signs, fields, fractions)


def extreme_patterns(fmt: Format) -> tuple[int, ...]:
    """Return patterns of large significands and of the largest numbers. The first one is plus or minus one."""
    top, ones = 1 << (fmt.bits - 1), (1 << fmt.bits) - 1
    if fmt.is_integer:
        return (ones, top, top - 1, ones, 0)
    fraction = ((1 << fmt.fraction_bits) - 1) << fmt.ignored_bits
    below_two = fmt.one | fraction
    sign = top if fmt.signed else 0
    return (fmt.one | sign, below_two, fmt.max_finite, below_two | sign, 0)


def extreme_operands(question: Question) -> OperandBatch:
    """Return a row for every choice of one extreme pattern for each column of a question.

    All terms have the same size and add up. Random operands hardly ever reach the ends of a register, or the places
    below the smallest result. These do.
    """
    columns = question.columns()
    rows = list(product(*(dict.fromkeys(extreme_patterns(fmt)) for _, fmt, _ in columns)))

    def column(position: int) -> Patterns:
        _, fmt, count = columns[position]
        values = np.array([row[position] for row in rows], dtype=pattern_dtype(fmt))
        return np.repeat(values[:, np.newaxis], count, axis=1)

    a, b, c, *scales = (column(i) for i in range(len(columns)))
    return OperandBatch(a, b, c[:, 0], *scales)


def small_products(question: Question, smallest: int) -> OperandBatch | None:
    """Return rows of products at and below ``2**smallest``, the least result, beside c = +0.

    Powers of two add up to a result that none of them is, or a smaller one is subtracted from one that is: whether a
    bit below the least result is kept decides what is returned. There are none for integers, for units with scales and
    for elements without a sign.
    """
    a, b, _ = question.formats
    if question.k < 2 or question.scale_format is not None or not (a.fraction_bits and a.signed) or a.is_integer:
        return None
    whole = _power(smallest, a, b)
    rows = []
    for exponent in range(smallest - _BELOW, smallest + 1):
        part = _power(exponent, a, b)
        if whole is None or part is None:
            continue
        taken = (part[0] | 1 << a.sign_position, part[1])
        none = (0, 0)
        for products in ([part] * question.k, [whole, taken], [whole] * (question.k - 1) + [taken]):
            x, y = zip(*products, *[none] * (question.k - len(products)), strict=True)
            rows.append(Operands(x, y, 0))
    return OperandBatch.of_rows(question.formats, rows) if rows else None


def products_at_half(question: Question, smallest: int) -> OperandBatch | None:
    """Return rows of one product just above or below half of ``2**smallest``, the least result, beside c = +0 and -0.

    Such a product differs from half of it in its lowest bits alone. A datapath that loses them sees a tie. There are
    none but for one product of floating-point numbers with a sign.
    """
    a, b, c = question.formats
    if question.k != 1 or question.scale_format is not None or not (a.fraction_bits and a.signed) or a.is_integer:
        return None
    rows = []
    for places in range(1, a.fraction_bits + 1):
        x = (1 << places) + 1
        n = b.fraction_bits + x.bit_length()
        for y in (-((-1 << n) // x), (1 << n) // x):  # x y is next to 2^n
            for of_a in (a.e_min - a.fraction_bits, a.e_min, 0):
                of_b = Fraction(2) ** (smallest - 1 - n - of_a)
                try:
                    factors = (a.encode(x * Fraction(2) ** of_a),), (b.encode(y * of_b),)
                except InputError:
                    continue
                rows += [Operands(*factors, zero) for zero in (0, 1 << c.sign_position)]
    return OperandBatch.of_rows(question.formats, rows) if rows else None


_BELOW = 64
"""How far below the least result bits of a product are looked at."""


def _power(exponent: int, a: Format, b: Format) -> tuple[int, int] | None:
    """Return a power of two of each format with a product of this exponent; None if there are none."""
    of_a = max(a.e_min - a.fraction_bits, exponent - b.e_max)
    of_b = exponent - of_a
    if of_a > a.e_max or of_b < b.e_min - b.fraction_bits:
        return None
    return a.encode(Fraction(2) ** of_a), b.encode(Fraction(2) ** of_b)


SOURCES = ("designs", "smt", "rtl", "gemm", "generators", "hardware_replay", "properties", "verification")
"""The folders whose sources decide what is proved."""


def stored_witness(store: Path | None, question: Question) -> tuple[Operands, str] | None:
    """Return stored operands that refute ``question`` on integers, and their origin; None if there are none."""
    found = kept_witness(store, question)
    return found if found is not None and question.is_refuted_by(found[0]) else None


def kept_witness(store: Path | None, question: Question) -> tuple[Operands, str] | None:
    """Return the operands that a store has for ``question``, which nobody has evaluated here, and their origin."""
    if store is None or (key := question.key) is None:
        return None
    found = Store(store).witness(key)
    if found is None:
        return None
    operands = _read(question, found[0])
    return None if operands is None else (operands, f"the store: {found[1]}")


def store_witness(store: Path | None, question: Question, witness: Operands, origin: str) -> None:
    """Keep a witness of ``question`` in the store, with its origin."""
    if store is None or (key := question.key) is None:
        return
    held = (witness.a, witness.b, (witness.c,), witness.scale_a, witness.scale_b)
    record = {
        name: [to_hexadecimal(x, fmt.bits) for x in column]
        for (name, fmt, _), column in zip(question.columns(), held, strict=False)
    }
    Store(store).keep_witness(key, json.dumps(record), origin)


def stored_proof(solving: Solving, question: Question) -> KeptProof | None:
    """Return the proof of ``question`` in the store; None if there is none that counts."""
    if solving.store is None or solving.certify is not None or (key := question.own_key) is None:
        return None
    solvers = *racers(solving.solver, solving.jobs), NO_SOLVER
    kept = Store(solving.store).proofs(key, digest_of_sources(*SOURCES))
    return next((x for solver in solvers for x in kept if x.solver == solver), None)


def store_proof(store: Path | None, found: QuestionVerdict) -> None:
    """Keep that a question is proved, if one solver answered all of its queries, or a kernel needed none.

    Other verdicts are not kept.
    """
    if store is None or found.status is not Status.PROVED or found.stored is not None:
        return
    solver = NO_SOLVER if found.solver is None and needs_no_solver(found) else found.solver
    # lemmas that are not all proved are not part of the proof
    lemmas = found.lemmas if all(x.status is Status.PROVED for x in found.lemmas) else ()
    key = found.question.own_key
    if solver is None or key is None or any(x.solver != found.solver for x in lemmas):
        return
    kept = KeptProof(solver, tuple((x.name, x.stage) for x in lemmas), found.seconds)
    Store(store).keep_proof(key, digest_of_sources(*SOURCES), kept)


def needs_no_solver(found: QuestionVerdict) -> bool:
    """Return whether a kernel proved it, and every leaf was refuted by trying all values."""
    if found.theorem is None:
        return False
    from mmaproof.smt.proving.exhaustion import exhaustion  # noqa: PLC0415  (a search needs none of it)

    return all(leaf.refuted_by == str(exhaustion()) for leaf in found.theorem.leaves)


def _read(question: Question, text: str) -> Operands | None:
    """Return the operands in a text that ``store_witness`` wrote for this question; None for any other text."""
    try:
        record = json.loads(text)
        columns = [tuple(from_hexadecimal(x, f.bits) for x in record[name]) for name, f, _ in question.columns()]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if [len(column) for column in columns] != [count for _, _, count in question.columns()]:
        return None
    a, b, c, *scales = columns
    return Operands(a, b, c[0], *scales)


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
