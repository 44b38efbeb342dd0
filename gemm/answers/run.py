"""One element of a GEMM as a plan computes it: the result, its error, and every operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import Patterns
from mmaproof.explain import Picture, explain, joined
from mmaproof.explain.figure import answer_html
from mmaproof.explain.values import exact, is_finite, pattern_number, pattern_value
from mmaproof.gemm.answers.compare import error_text
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.arithmetic import Number, Step
from mmaproof.gemm.programs.evaluate import Trace, trace
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.programs.normal_form import exact_result
from mmaproof.smt.evaluate import OpenPoints, results_under_readings


@dataclass(frozen=True)
class GemmRun:
    """One element that a plan, or an algorithm on a unit, computed on integers.

    ``exact`` is the exact result, None if an operand is not finite or numbers are integers. ``error`` is d - exact,
    None if d is not finite either.
    """

    plan: Plan
    operands: Operands
    traced: Trace = field(compare=False)
    exact: Fraction | None
    error: Fraction | None
    factors: tuple[int, ...] = ()

    @property
    def d(self) -> int:
        """The pattern of the result."""
        return self.traced.d

    @property
    def unit(self) -> Design:
        """The unit."""
        return self.plan.unit

    @property
    def d_format(self) -> Format:
        """The format of the result."""
        return self.plan.formats[3]

    @cached_property
    def open_points(self) -> OpenPoints:
        """The open points of the unit on which the result rests."""

        def computed(unit: Design) -> Patterns:
            d = trace(self.plan.with_unit(unit), self.operands, self.factors).d
            return np.array([d], dtype=np.uint64)

        return results_under_readings(self.unit, computed, self.d_format)

    @property
    def ulps(self) -> Fraction | None:
        """The error in units in the last place of the exact result, in the format of d; None if there is none."""
        if self.error is None or self.exact is None:
            return None
        return self.error / self.d_format.ulp(self.exact)

    @property
    def operations(self) -> tuple[str, ...]:
        """What happened, as lines: words of operands, calls of the unit, sums outside it, and what each lost."""
        return tuple(explanation(self.traced))

    @property
    def error_text(self) -> str:
        """The error for a person: exact, and in units in the last place of the exact result."""
        of_format = f" of {self.d_format.name}" if self.error and not self.plan.is_algorithm else ""
        return error_text(self.error, self.ulps) + of_format

    def __repr__(self) -> str:
        fmt = self.d_format
        tail = "" if self.exact is None else f", exact {exact(self.exact)}, error {self.error_text}"
        return f"<{self.plan.title}: d = {fmt.hex(self.d)} = {pattern_value(fmt, self.d)}{tail}>"

    def pictures(self) -> list[tuple[str, Picture]]:
        """Return the name and the picture of each call of the unit, in order."""
        found = []
        for step in self.traced.steps:
            if step.unit is not None:
                a, b, (c,), *scales = (tuple(x.word.data for x in column) for column in step.operands)
                found.append((step.label, explain([step.unit], Operands(a, b, c, *scales))))
        return found

    def picture(self, call: int | None = None) -> Picture:
        """Return the picture of all calls of the unit, or of one of them: 0 is the first call and -1 the last one.

        Raises OperandError for a call that there is not.
        """
        found = self.pictures()
        if call is None:
            return joined(found)
        if not -len(found) <= call < len(found):
            raise OperandError(f"call {call}: the unit is called {len(found)} times, from 0 to {len(found) - 1}")
        return found[call][1]

    def _repr_html_(self) -> str:
        return answer_html([repr(self)[1:-1]], self.pictures())


def run_gemm(
    program: Algorithm | Plan | str,
    operands: Operands,
    unit: Design | str | None = None,
    *,
    factors: Sequence[int] = (),
    random: int | None = None,
) -> GemmRun:
    """Compute one element, ``c + sum_k a[k]*b[k]``, as an algorithm or a plan does, and its error.

    ``program`` is an algorithm, for which ``unit`` is needed, or a plan, or the name or text of one. ``operands`` are
    patterns: of fp32 for an algorithm, of its own formats for a plan. ``factors`` are patterns of fp32, for a plan
    whose factors are operands, and ``random`` the random bits of a plan that takes them. Raises InputError and
    DesignError for names that are not known and for what does not fit together, OperandError for operands that do not
    fit.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 16, b=(0x3C00,) * 16, c=0)
    >>> hex(mmaproof.run_gemm("hopper/wgmma.f32.f16.f16", ones).d)
    '0x41800000'
    """
    plan = find_gemm(program, unit)
    plan = plan if random is None else plan.drawn(random)
    if plan.scale_format is None and (operands.scale_a or operands.scale_b):
        raise OperandError(f"{plan.name} has no scales: leave those of a and b out")
    traced = trace(plan, operands, factors)
    fp32 = FORMATS["fp32"]
    scale = plan.scale_format or fp32
    columns = [
        *zip(plan.formats[:3], (operands.a, operands.b, (operands.c,)), strict=True),
        *((scale, x) for x in (operands.scale_a, operands.scale_b)),
        (fp32, factors),
    ]
    d_format = plan.formats[3]
    if d_format.is_integer or not all(is_finite(f, x) for f, column in columns for x in column):
        return GemmRun(plan, operands, traced, None, None, tuple(factors))
    a, b, (c,), scale_a, scale_b, multiplied = [[pattern_number(f, x) for x in column] for f, column in columns]
    if plan.scale_format is not None:
        size = plan.unit.block or 1
        a, b = ([x * of[i // size] for i, x in enumerate(xs)] for xs, of in ((a, scale_a), (b, scale_b)))
    meant = exact_result(plan.schedule(len(operands)), a, b, c, multiplied)
    error = pattern_number(d_format, traced.d) - meant if is_finite(d_format, traced.d) else None
    return GemmRun(plan, operands, traced, meant, error, tuple(factors))


def explanation(done: Trace) -> Iterator[str]:
    """Yield what happens: words, calls of the unit with the exact sum and what it returns, sums outside.

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
    partial = step.unit is not None and step.unit.step.multiplied_places is not None
    if total is not None and d is not None and not partial:
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
