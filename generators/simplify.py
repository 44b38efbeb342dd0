"""A witness made as simple as it stays one: fewer nonzero operands, then shorter significands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.properties.question import Question


def simplify(question: Question, witness: Operands) -> Operands:
    """Return a witness against the same question, no less simple; every step is confirmed on integers.

    Greedy, so not the smallest there is: products are set to +0, then c, then fraction bits are cleared from the
    lowest up, then signs.
    """
    found = witness
    for step in (_without_products, _without_c, _shorter):
        found = step(question, found)
    return found


def simplest(question: Question, witnesses: Sequence[Operands]) -> Operands:
    """Return the simplest of the simplified ``witnesses``: fewest nonzero operands, then fewest one bits."""
    return min((simplify(question, w) for w in witnesses), key=_complexity)


def _complexity(operands: Operands) -> tuple[int, int]:
    patterns = (*operands.a, *operands.b, operands.c, *operands.scale_a, *operands.scale_b)
    return sum(p != 0 for p in patterns), sum(p.bit_count() for p in patterns)


def _keep(question: Question, found: Operands, candidate: Operands) -> Operands:
    return candidate if candidate != found and question.is_refuted_by(candidate) else found


def _without_products(question: Question, found: Operands) -> Operands:
    """Set products to +0, half of them at once, then ever smaller runs: few matter, so most go early."""
    size = len(found)
    while size:
        for first in range(0, len(found), size):
            run = range(first, min(first + size, len(found)))
            if any(found.a[i] or found.b[i] for i in run):
                a, b = (tuple(0 if i in run else x for i, x in enumerate(column)) for column in (found.a, found.b))
                found = _keep(question, found, replace(found, a=a, b=b))
        size //= 2
    return found


def _without_c(question: Question, found: Operands) -> Operands:
    return _keep(question, found, replace(found, c=0))


def _shorter(question: Question, found: Operands) -> Operands:
    for get, put, fmt in _places(question, len(found)):
        for pattern in _simpler(fmt, get(found)):
            candidate = put(found, pattern)
            if _keep(question, found, candidate) is candidate:
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
    """Simpler patterns than ``pattern``, the simplest first: one, powers of two, then ever longer fractions."""
    if pattern == 0:
        return
    if fmt.is_integer:
        yield from (p for p in (1, (1 << fmt.bits) - 1) if p != pattern)
        return
    sign = pattern & 1 << fmt.sign_position if fmt.signed else 0
    magnitude = pattern ^ sign
    one = fmt.bias << (fmt.fraction_bits + fmt.ignored_bits)
    candidates = [one]
    for kept in range(fmt.fraction_bits):
        low = fmt.fraction_bits - kept + fmt.ignored_bits
        candidates.append(magnitude >> low << low)
    for candidate in candidates:
        if candidate == magnitude:
            return
        if candidate:
            yield from (candidate, candidate | sign) if sign else (candidate,)
