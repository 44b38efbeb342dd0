"""Every operation of an algorithm on one element, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

from mmaproof.algorithms.arithmetic import Step
from mmaproof.algorithms.evaluate import Trace
from mmaproof.algorithms.numbers import Number
from mmaproof.explain.values import exact, is_finite, pattern_number, pattern_value


def explanation(done: Trace) -> Iterator[str]:
    """Yield what happens: words, calls of the unit with the exact sum beside what it returns, sums outside.

    The words of a zero, and sums of zeros, are left out.
    """
    heading = None
    for step in done.steps:
        if step.unit is not None:
            yield f"unit  {step.label}"
            yield from (f"  {line}" for line in _call(step))
            heading = None
            continue
        if all(_value(x) == 0 for column in step.operands for x in column):
            continue
        part = "outside" if len(step.operands) > 1 and step.label in _SUMS else "words"
        if part != heading:
            heading = part
            yield part
        yield f"  {_operation(step)}"


_SUMS = ("outside", "d", "c")


def _operation(step: Step[int]) -> str:
    """Return an operation outside the unit as one line: what it is, its operands, its result, what rounding lost."""
    shown = ", ".join(_short(column) for column in step.operands)
    lost = _lost(step)
    tail = "" if lost is None or not lost else f"  (rounded by {exact(lost)})"
    return f"{step.label}: {shown} -> {_number(step.result)}{tail}"


def _lost(step: Step[int]) -> Fraction | None:
    """Return how far the result of a sum of two numbers is from the exact one, None where that says nothing."""
    values = [_value(x[0]) for x in step.operands if len(x) == 1]
    result = _value(step.result)
    if step.label not in _SUMS or len(values) != 2 or None in values or result is None:
        return None
    return result - sum((v for v in values if v is not None), Fraction(0))


def _call(step: Step[int]) -> Iterator[str]:
    """Yield the products of a call of the unit that are not zero, c, the exact sum, and what is returned."""
    a, b, (c,), *scales = step.operands
    size = (step.unit.block if step.unit is not None else None) or len(a)
    total: Fraction | None = _value(c)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        factors = [x, y, *(of[k // size] for of in scales)]
        values = [v for v in map(_value, factors) if v is not None]
        spelled = " * ".join(map(_number, factors))
        if len(values) < len(factors) or total is None:
            total = None
            yield f"p{k}  {spelled}"
            continue
        total += prod(values, start=Fraction(1))
        if all(values):
            yield f"p{k}  {spelled} = {exact(prod(values, start=Fraction(1)))}"
    yield f"c   {_number(c)}"
    d = _value(step.result)
    if total is not None and d is not None:
        yield f"sum {exact(total)}"
        yield f"d   {_number(step.result)}" + (f"  (lost: {exact(total - d)})" if d != total else "")
    else:
        yield f"d   {_number(step.result)}"


def _short(column: Sequence[Number[int]]) -> str:
    if len(column) == 1:
        return _number(column[0])
    return f"{len(column)} numbers"


def _number(x: Number[int]) -> str:
    return f"{x.fmt.hex(x.word.data)} = {pattern_value(x.fmt, x.word.data)}"


def _value(x: Number[int]) -> Fraction | None:
    """Return the number, None where it is not finite."""
    return pattern_number(x.fmt, x.word.data) if is_finite(x.fmt, x.word.data) else None
