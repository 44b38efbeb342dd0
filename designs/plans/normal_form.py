"""When two schedules are one computation.

Both are taken apart from their results backwards, and every operation is given a number, the same one for operations
that are the same. Five differences are none:

* A chain that is cut into calls, each of which takes the d of the one before it as its c, is one chain. This needs
  whole instructions, and a chain that reads an infinity of its own as it reads one that was handed in.
* The K of an instruction, where no d depends on it (``designs.arithmetic``).
* The order of the two numbers of an addition. Nor does it matter which of two numbers is added to +0 first:
  ``(0 + x) + y`` and ``(0 + x) + (0 + y)`` are +0 where both are -0, and ``x + y`` elsewhere. Rounded towards minus
  infinity, ``0 + x`` is x itself.
* The order and the grouping of sums of integers, where the unit guarantees that its sum is that of the integers modulo
  a power of two.
* With ``any_order_in_steps``, the order of the products within a step. Whether a unit allows that is to be proved, of
  every kind of step of its chain (``designs.arithmetic.steps_of_chain``).

Results that differ only in the codes of NaNs are equal here, as everywhere.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.plans.schedule import (
    Add,
    Call,
    Schedule,
    Split,
    Zero,
    renumbered,
)
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Guarantee


def same_computation(first: Schedule, second: Schedule, *, any_order_in_steps: bool = False) -> bool:
    """Return whether two schedules compute the same from the same operands, by their operations alone."""
    if first.k != second.k or first.formats != second.formats:
        return False
    numbering = Numbering(any_order_in_steps)
    return numbering.of(first)[-1] == numbering.of(second)[-1]


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of integers modulo a register: products of the elements ``ks``, and other numbers, each in rising order.

    A product is of the elements of one k: of the operands, or of the words that its first two numbers stand for.
    """

    ks: tuple[tuple[int, int, int], ...]
    others: tuple[int, ...]
    signature: Signature | None

    def plus(self, other: _Sum) -> _Sum | None:
        """Return the sum of both; None if their products are of different formats."""
        if None not in (self.signature, other.signature) and self.signature != other.signature:
            return None
        ks, others = tuple(sorted(self.ks + other.ks)), tuple(sorted(self.others + other.others))
        return _Sum(ks, others, self.signature or other.signature)


class Numbering:
    """Numbers of operations: two operations have the same number if they are the same computation."""

    def __init__(self, any_order_in_steps: bool = False) -> None:
        self._any_order = any_order_in_steps
        self._numbers: dict[Hashable, int] = {}
        self._calls: dict[int, tuple[Call, int]] = {}
        """for a number, the call that has it, and the number of its c"""
        self._onto_zero: dict[int, int] = {}
        """for a number that is +0 and another one, the other one"""
        self._sums: dict[int, _Sum] = {}
        """for a number that is a sum of integers, what it adds up"""

    def of(self, schedule: Schedule) -> list[int]:
        """Return the number of every operation of a schedule."""
        found: list[int] = []
        for operation in schedule.operations:
            renamed = renumbered(operation, found.__getitem__)
            match renamed:
                case Zero(fmt=fmt):
                    number = self._zero(fmt)
                case Split():  # a word depends on its element alone
                    number = self._number(replace(renamed, ks=()))
                case Call(c=c):
                    number = self._of_call(renamed, c)
                case Add(x=x, y=y, fmt=fmt, rounding=rounding):
                    number = self._of_addition(fmt, rounding, x, y)
                case _:
                    number = self._number(renamed)
            found.append(number)
        return found

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _zero(self, fmt: Format) -> int:
        return self._of_sum(_Sum((), (), None), fmt) if fmt.is_integer else self._number(("zero", fmt.name))

    def _of_addition(self, fmt: Format, rounding: Rounding, x: int, y: int) -> int:
        """Return the number of a sum of two numbers."""
        if fmt.is_integer:
            total = self._as_sum(x).plus(self._as_sum(y))
            if total is not None:
                return self._of_sum(total, fmt)
        if rounding is Rounding.RTN:  # +0 and -0 are -0, so that +0 changes no number
            zero = self._zero(fmt)
            if zero in (x, y):
                return x if y == zero else y
            return self._number(("add", *sorted((x, y)), fmt.name, rounding))
        inner = [self._onto_zero.get(n, n) for n in (x, y)]
        if inner != [x, y]:
            return self._number(("add from zero", *sorted(inner), fmt.name, rounding))
        number = self._number(("add", *sorted((x, y)), fmt.name, rounding))
        zero = self._zero(fmt)
        if zero in (x, y):
            self._onto_zero[number] = x if y == zero else y
        return number

    def _as_sum(self, number: int) -> _Sum:
        return self._sums.get(number, _Sum((), (number,), None))

    def _of_sum(self, total: _Sum, fmt: Format) -> int:
        """Return the number of a sum of integers: that of its only term if it has just one."""
        if not total.ks and len(total.others) == 1:
            return total.others[0]
        number = self._number(("modulo", total.ks, total.others, total.signature, fmt.name))
        self._sums[number] = total
        return number

    def _of_call(self, call: Call, c: int) -> int:
        """Return the number of a call, joined with the call that made its c where both are one chain.

        The words of the call are given by the numbers of what cuts them.
        """
        unit = call.unit
        if unit.guarantees(Guarantee.WRAPS_MODULO) and unit.c_format is unit.d_format:
            words = self._number(call.a), self._number(call.b)
            products = tuple(sorted((*words, k) for k in call.ks))
            total = self._as_sum(c).plus(_Sum(products, (), unit.signature))
            if total is not None:
                return self._of_sum(total, unit.d_format)
        before = self._calls.get(c)
        if before is not None and _is_one_chain(before[0], call):
            return self._of_call(replace(before[0], ks=before[0].ks + call.ks), before[1])
        number = self._number(("call", *self._computation(call), c))
        self._calls[number] = (call, c)
        return number

    def _computation(self, call: Call) -> tuple[Hashable, ...]:
        """Return what decides the result of a call, beside its c."""
        unit, ks = call.unit, call.ks
        words = call.a, call.b
        if len(ks) % unit.k:
            return (unit.signature, unit.chain, unit.step, unit.k, ks, words)
        arithmetic = Arithmetic.of(unit)
        if self._any_order and takes_any_order(unit):
            length = unit.step.L
            ks = tuple(k for at in range(0, len(ks), length) for k in sorted(ks[at : at + length]))
        return (arithmetic.signature, arithmetic.chain, arithmetic.step, arithmetic.k, ks, words)


def takes_any_order(unit: Design) -> bool:
    """Return whether the order of the products in a step may be changed in the elements of an instruction.

    The steps of an instruction must be runs of L consecutive elements, and no element may have a scale or belong to a
    group: a step in any order is proved of products that move by themselves.
    """
    moves_alone = unit.scale_format is None and unit.step.group_size is None
    return moves_alone and Arithmetic.of(unit).k is None and unit.chain.keeps_infinities


def _is_one_chain(before: Call, call: Call) -> bool:
    """Return whether a call goes on with the chain of the call before it, as if both were one."""
    unit = call.unit
    return (
        (before.unit, before.a, before.b) == (unit, call.a, call.b)
        and len(before.ks) % unit.k == 0
        and len(call.ks) % unit.k == 0
        and unit.chain.keeps_infinities
        and unit.c_format is unit.d_format
    )
