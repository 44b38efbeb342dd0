"""The simplification of a witness: fewer nonzero operands, then shorter significands, as long as it stays a witness."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.question import Question

_LONG, _PARTS = 64, (64, 8, 2)
"""From so many products on, a witness is cut in so many parts first, the smallest of which come first."""
_PRODUCTS = 256
"""The most products in the witnesses that are simplified to show the simplest. At least one witness is."""


def simplify(question: Question, witness: Operands, deadline: float = math.inf) -> Operands:
    """Return a witness against the same question that is at least as simple. Every change is confirmed on integers.

    The method is greedy, so there may be a simpler witness. It sets products to +0, of a long witness many parts at
    once, then c, and then clears fraction bits from the lowest up, and signs. At ``deadline`` (by ``time.monotonic``)
    it returns what it has.
    """
    attempt = _Attempt(question, deadline)
    found = witness
    for step in (_narrowed, _without_products, _without_c, _shorter):
        found = step(attempt, found)
    return found


def simplest(question: Question, witnesses: Sequence[Operands], deadline: float = math.inf) -> Operands:
    """Return the simplest of ``witnesses`` after simplification: fewest nonzero operands, then fewest one bits.

    If witnesses are long, only the first few are simplified, because each takes long.
    """
    chosen = witnesses[: max(_PRODUCTS // question.k, 1)]
    return min((simplify(question, w, deadline) for w in chosen), key=_complexity)


def _complexity(operands: Operands) -> tuple[int, int]:
    patterns = (*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b)
    return sum(p != 0 for p in patterns), sum(p.bit_count() for p in patterns)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A question whose witness is simplified until a deadline."""

    question: Question
    deadline: float

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def keep(self, found: Operands, candidate: Operands) -> Operands:
        """Return ``candidate`` if it is another witness, else ``found``."""
        return candidate if candidate != found and self.question.is_refuted_by(candidate) else found


def _narrowed(attempt: _Attempt, found: Operands) -> Operands:
    """Keep the smallest part of the products of a long witness that is a witness alone, as long as one is.

    The parts are tried at once on arrays, because an evaluation on integers takes long.
    """
    kept = range(len(found))
    while len(kept) >= _LONG and not attempt.is_over:
        sizes = [len(kept) // n for n in _PARTS]
        parts = [range(i, min(i + size, kept.stop)) for size in sizes for i in range(kept.start, kept.stop, size)]
        rows = [_only(found, part) for part in parts]
        batch = OperandBatch.of_rows(attempt.question.formats, rows)
        enough = (
            i for i in np.flatnonzero(attempt.question.examine(batch)[1]) if attempt.keep(found, rows[i]) != found
        )
        smallest = next(enough, None)
        if smallest is None:
            break
        kept, found = parts[smallest], rows[smallest]
    return found


def _only(found: Operands, part: range) -> Operands:
    """Return the operands with the products of ``part`` only; the others are +0."""
    a, b = (tuple(x if i in part else 0 for i, x in enumerate(column)) for column in (found.a, found.b))
    return replace(found, a=a, b=b)


def _without_products(attempt: _Attempt, found: Operands) -> Operands:
    """Set products to +0: half of them at once, then ever smaller runs. Few products matter, so most go early."""
    size = len(found)
    while size:
        for first in range(0, len(found), size):
            if attempt.is_over:
                return found
            run = range(first, min(first + size, len(found)))
            if any(found.a[i] or found.b[i] for i in run):
                a, b = (tuple(0 if i in run else x for i, x in enumerate(column)) for column in (found.a, found.b))
                found = attempt.keep(found, replace(found, a=a, b=b))
        size //= 2
    return found


def _without_c(attempt: _Attempt, found: Operands) -> Operands:
    return found if attempt.is_over else attempt.keep(found, replace(found, c=0))


def _shorter(attempt: _Attempt, found: Operands) -> Operands:
    for get, put, fmt in _places(attempt.question, len(found)):
        for pattern in _simpler(fmt, get(found)):
            if attempt.is_over:
                return found
            candidate = put(found, pattern)
            if attempt.keep(found, candidate) is candidate:
                found = candidate
                break
    return found


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
