"""The simplification of a witness: fewer nonzero operands, then shorter significands, as long as it stays a witness."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.question import Question

_LONG, _PARTS = 64, (64, 8, 2)
"""From so many products on, a witness is cut in so many parts first, the smallest of which come first."""
_PRODUCTS = 256
"""The most products in the witnesses that are simplified to show the simplest. At least one witness is."""
_PRODUCTS_AT_ONCE, _LEAST_AT_ONCE = 1 << 10, 16
"""How many products the changes of one witness have that are tried at once, and the least number of such changes."""

_Trials = Generator[Sequence[Operands], int | None, None]
"""Simpler operands than a witness, to be tried at once. It is sent the place of the first one that is a witness."""
_Change = Callable[[Operands], Iterator[Operands]]
"""What yields operands that differ from a witness in one way, the simplest first. The first witness is taken."""


def simplify(question: Question, witness: Operands, deadline: float = math.inf) -> Operands:
    """Return a witness against the same question that is at least as simple, confirmed on integers.

    The method is greedy, so there may be a simpler witness. It sets products to +0, of a long witness many parts at
    once, then c, and then clears fraction bits from the lowest up, and signs. At ``deadline`` (by ``time.monotonic``)
    it returns what it has.
    """
    return simplest(question, [witness], deadline)


def simplest(question: Question, witnesses: Sequence[Operands], deadline: float = math.inf) -> Operands:
    """Return the simplest of ``witnesses`` after simplification: fewest nonzero operands, then fewest one bits.

    If witnesses are long, only the first few are simplified, because each takes long.
    """
    chosen = witnesses[: max(_PRODUCTS // question.k, 1)]
    found = sorted(_simplified(question, chosen, deadline), key=_complexity)
    return next((x for x in found if x in chosen or question.is_refuted_by(x)), chosen[0])


def _complexity(operands: Operands) -> tuple[int, int]:
    patterns = (*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b)
    return sum(p != 0 for p in patterns), sum(p.bit_count() for p in patterns)


def _simplified(question: Question, witnesses: Sequence[Operands], deadline: float) -> list[Operands]:
    """Simplify all witnesses, one change of each at a time, by arrays: an evaluation of one row takes half as long."""
    found = list(witnesses)
    trials = {i: _trials(question, witness) for i, witness in enumerate(witnesses)}
    tried = {i: next(x, ()) for i, x in trials.items()}
    while (tried := {i: rows for i, rows in tried.items() if rows}) and time.monotonic() < deadline:
        batch = OperandBatch.of_rows(question.formats, [x for rows in tried.values() for x in rows])
        refuted = iter(question.examine(batch)[1].tolist())
        for i, rows in tried.items():
            kept = [j for j, is_witness in enumerate(islice(refuted, len(rows))) if is_witness]
            if kept:
                found[i] = rows[kept[0]]
            try:
                tried[i] = trials[i].send(kept[0] if kept else None)
            except StopIteration:
                tried[i] = ()
    return found


def _trials(question: Question, found: Operands) -> _Trials:
    at_once = max(_PRODUCTS_AT_ONCE // len(found), _LEAST_AT_ONCE)
    found = yield from _narrowed(found)
    found = yield from _changed(found, [*_products_left_out(len(found)), _without_c], at_once)
    yield from _changed(found, list(_shorter(question, len(found))), at_once)


def _narrowed(found: Operands) -> Generator[Sequence[Operands], int | None, Operands]:
    """Keep the smallest part of the products of a long witness that is a witness alone, as long as one is."""
    kept = range(len(found))
    while len(kept) >= _LONG:
        sizes = [len(kept) // n for n in _PARTS]
        parts = [range(i, min(i + size, kept.stop)) for size in sizes for i in range(kept.start, kept.stop, size)]
        smaller = [(part, x) for part in parts if (x := _only(found, part)) != found]
        smallest = (yield [x for _, x in smaller]) if smaller else None
        if smallest is None:
            break
        kept, found = smaller[smallest]
    return found


def _only(found: Operands, part: range) -> Operands:
    """Return the operands with the products of ``part`` only; the others are +0."""
    a, b = (tuple(x if i in part else 0 for i, x in enumerate(column)) for column in (found.a, found.b))
    return replace(found, a=a, b=b)


def _changed(
    found: Operands, changes: Sequence[_Change], at_once: int
) -> Generator[Sequence[Operands], int | None, Operands]:
    """Make each change that leaves a witness, in turn. Changes are tried ahead, as if none before them were made."""
    done, ahead = 0, _ahead(found, changes, 0)
    while rows := list(islice(ahead, at_once)):
        first = yield [x for _, x in rows]
        if first is not None:
            done, found = rows[first]
            ahead = _ahead(found, changes, done)
    return found


def _ahead(found: Operands, changes: Sequence[_Change], done: int) -> Iterator[tuple[int, Operands]]:
    """Yield operands by all changes but the first ``done``, each with how many changes are done after it."""
    for i in range(done, len(changes)):
        yield from ((i + 1, x) for x in changes[i](found) if x != found)


def _products_left_out(k: int) -> Iterator[_Change]:
    """Yield how to set products to +0: half of them at once, then ever smaller runs. Few matter, so most go early."""
    size = k
    while size:
        for first in range(0, k, size):
            yield partial(_without, run=range(first, min(first + size, k)))
        size //= 2


def _without(found: Operands, run: range) -> Iterator[Operands]:
    if any(found.a[i] or found.b[i] for i in run):
        a, b = (tuple(0 if i in run else x for i, x in enumerate(column)) for column in (found.a, found.b))
        yield replace(found, a=a, b=b)


def _without_c(found: Operands) -> Iterator[Operands]:
    yield replace(found, c=0)


def _shorter(question: Question, k: int) -> Iterator[_Change]:
    """Yield how to make an element simpler, for each of them."""
    for get, put, fmt in _places(question, k):
        yield partial(_simpler_at, get=get, put=put, fmt=fmt)


def _simpler_at(
    found: Operands, get: Callable[[Operands], int], put: Callable[[Operands, int], Operands], fmt: Format
) -> Iterator[Operands]:
    return (put(found, pattern) for pattern in _simpler(fmt, get(found)))


def _places(
    question: Question, k: int
) -> Iterator[tuple[Callable[[Operands], int], Callable[[Operands, int], Operands], Format]]:
    a, b, c = question.formats

    def column(name: str, i: int) -> tuple[Callable[[Operands], int], Callable[[Operands, int], Operands]]:
        def put(operands: Operands, pattern: int) -> Operands:
            values = list(getattr(operands, name))
            values[i] = pattern
            return replace(operands, **{name: tuple(values)})  # type: ignore[arg-type]

        return lambda operands: getattr(operands, name)[i], put

    yield lambda operands: operands.c, lambda operands, pattern: replace(operands, c=pattern), c
    for i in range(k):
        yield *column("a", i), a
        yield *column("b", i), b
    if question.scale_format is not None:
        for i in range(question.blocks):
            yield *column("scale_a", i), question.scale_format
            yield *column("scale_b", i), question.scale_format


def _simpler(fmt: Format, pattern: int) -> Iterator[int]:
    """Yield simpler patterns than ``pattern``, the simplest first: one, powers of two, then longer fractions."""
    if pattern == 0:
        return
    if fmt.is_integer:
        yield from (p for p in (1, (1 << fmt.bits) - 1) if p != pattern)
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
