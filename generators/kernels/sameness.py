"""Whether two plans are the same by what they do, with nothing computed: their schedules brought into one form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.plans import (
    Add,
    Call,
    Convert,
    Operand,
    Plan,
    Schedule,
    Split,
    Zero,
    arguments,
)
from mmaproof.designs.plans.schedule import Words, renumbered
from mmaproof.generators.kernels.schedule_tree import filled_length

_ZERO = "+0"


def are_same(
    first: Plan, second: Plan, k: int, never_minus_zero: Callable[[Design], bool] = lambda unit: False
) -> bool:
    """Return whether two plans are equal for every a and b of ``k`` elements and a c of +0, by identity.

    ``never_minus_zero`` as in ``Forms``.
    """
    lengths = [filled_length(x, k) for x in (first, second)]
    forms = Forms(never_minus_zero)
    return lengths[0] == lengths[1] and len({forms.form_of(x.schedule(lengths[0])) for x in (first, second)}) == 1


class Forms:
    """Numbers for what schedules compute: the same number, the same result for all a and b, and a c of +0.

    NaNs are equal whatever their codes. Units are the same if their arithmetics are. A chain of instructions may be cut
    anywhere if a step reads an infinity of the chain as one that it is given, and the summands of an addition have no
    order. To add +0, to nearest or towards zero, changes nothing but -0; a sum of which one summand is never -0 is
    never -0 either, and a conversion to a wider format keeps that. So whether the other summand of such a sum is -0 or
    +0 makes no difference.

    ``never_minus_zero`` says of a unit that it returns -0 only if its c is -0.
    """

    def __init__(self, never_minus_zero: Callable[[Design], bool] = lambda unit: False) -> None:
        self._unit_never_minus_zero = never_minus_zero
        self._numbers: dict[Any, int] = {}
        self._never_minus_zero: set[int] = set()
        self._units: dict[Design, int] = {}
        self._without_zero: dict[int, int] = {}

    def form_of(self, schedule: Schedule) -> int:
        """Return the number of what a schedule computes."""
        found: list[int] = []
        for operation in schedule.operations:
            renamed = renumbered(operation, found.__getitem__)
            match renamed:
                case Operand(fmt=fmt) | Zero(fmt=fmt):
                    form = self._number((_ZERO, fmt.name), never_minus_zero=True)
                case Split():  # a word depends on its element alone
                    form = self._number(replace(renamed, ks=()))
                case Call(unit=unit, ks=ks, c=c):
                    form = self._call(unit, ks, c, renamed.words)
                case Add(x=x, y=y, fmt=fmt, rounding=rounding):
                    form = self._add(x, y, fmt, rounding)
                case Convert(x=x, fmt=fmt, rounding=rounding):
                    before = arguments(operation)[0]
                    form = self._convert(x, schedule.operations[before].fmt, fmt, rounding)
                case _:
                    form = self._number(renamed)
            found.append(form)
        return found[-1]

    def _number(self, form: Any, *, never_minus_zero: bool = False) -> int:
        number = self._numbers.setdefault(form, len(self._numbers))
        if never_minus_zero:
            self._never_minus_zero.add(number)
        return number

    def _call(self, unit: Design, ks: tuple[int, ...], c: int, words: tuple[Words, ...]) -> int:
        if unit not in self._units:
            self._units[unit] = self._number(("unit", Arithmetic.of(unit)))
        # of steps that do not depend on where an instruction ends each is by itself, those of the padding too
        never, length = c in self._never_minus_zero, unit.padded_length(len(ks))
        at_once = unit.k if Arithmetic.of(unit).k is not None else unit.step.L
        if not unit.chain.keeps_infinities:  # an infinity that is handed in is not read as one of the chain's own
            at_once = length
        for first in range(0, length, at_once):
            c = self._number((self._units[unit], c, ks[first : first + at_once], at_once, words))
        if never and self._unit_never_minus_zero(unit):
            self._never_minus_zero.add(c)
        return c

    def _add(self, x: int, y: int, fmt: Format, rounding: Rounding) -> int:
        zero = self._number((_ZERO, fmt.name), never_minus_zero=True)
        keeps = not fmt.is_integer and rounding in (Rounding.RNE, Rounding.RZ)
        for one, other in ((x, y), (y, x)):
            if one == zero and keeps and other in self._never_minus_zero:
                return other
        never = keeps and bool({x, y} & self._never_minus_zero)
        if keeps and x in self._never_minus_zero:
            y = self._without_zero.get(y, y)
        if keeps and y in self._never_minus_zero:
            x = self._without_zero.get(x, x)
        for one, other in ((x, y), (y, x)):
            start = self._without_zero.get(one)
            if keeps and start is not None and other != zero:  # (+0 + x) + y is (+0 + y) + x
                form = ("add to +0", *sorted((start, other)), fmt.name, rounding)
                return self._number(form, never_minus_zero=True)
        number = self._number(("add", *sorted((x, y)), fmt.name, rounding), never_minus_zero=never)
        if zero in (x, y):
            self._without_zero[number] = y if x == zero else x
        return number

    def _convert(self, x: int, before: Format, fmt: Format, rounding: Rounding) -> int:
        if x == self._numbers.get((_ZERO, before.name)) and not (before.is_integer or fmt.is_integer):
            return self._number((_ZERO, fmt.name), never_minus_zero=True)
        wider = fmt.fraction_bits >= before.fraction_bits and fmt.exponent_bits >= before.exponent_bits
        never = wider and x in self._never_minus_zero
        return self._number(("convert", x, fmt.name, rounding), never_minus_zero=never)
