"""When two schedules are one computation.

Every operation is given a number, the same one for operations that are the same. Five differences are none:

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

So it is known, too, at which K the operations of plans differ.

What a schedule computes without any rounding: ``sum_k weight[k]*a[k]*b[k] + weight_c*c``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, assert_never

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.programs import schedule as op
from mmaproof.gemm.programs.parts import ASCENDING
from mmaproof.gemm.programs.plan import LONGEST_PLANNED, PartSum, Plan


def same_computation(first: op.Schedule, second: op.Schedule, *, any_order_in_steps: bool = False) -> bool:
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
    """Numbers of operations: two operations have the same number if they are the same computation.

    With ``c_is_zero`` c is +0. ``never_minus_zero`` says of a unit that it returns -0 only if its c is -0.
    """

    def __init__(
        self,
        any_order_in_steps: bool = False,
        *,
        c_is_zero: bool = False,
        never_minus_zero: Callable[[Design], bool] = lambda unit: False,
    ) -> None:
        self._any_order, self._c_is_zero = any_order_in_steps, c_is_zero
        self._unit_never_minus_zero = never_minus_zero
        self._numbers: dict[Hashable, int] = {}
        self._units: dict[Design, int] = {}
        self._never_minus_zero: set[int] = set()
        """numbers that are never -0"""
        self._onto_zero: dict[int, int] = {}
        """for a number that is +0 and another one, the other one"""
        self._sums: dict[int, _Sum] = {}
        """for a number that is a sum of integers, what it adds up"""

    def of(self, schedule: op.Schedule) -> list[int]:
        """Return the number of every operation of a schedule."""
        found: list[int] = []
        for operation in schedule.operations:
            renamed = op.renumbered(operation, found.__getitem__)
            match renamed:
                case op.Operand(fmt=fmt) if self._c_is_zero:
                    number = self._zero(fmt)
                case op.Zero(fmt=fmt):
                    number = self._zero(fmt)
                case op.Split():  # a word depends on its element alone
                    number = self._number(replace(renamed, ks=()))
                case op.Call(c=c):
                    number = self._of_call(renamed, c)
                case op.Add(x=x, y=y, fmt=fmt, rounding=rounding):
                    number = self._of_addition(fmt, rounding, x, y)
                case op.Convert(x=x, fmt=fmt):
                    before = schedule.operations[op.arguments(operation)[0]].fmt
                    number = self._of_conversion(renamed, x, before, fmt)
                case _:
                    number = self._number(renamed)
            found.append(number)
        return found

    def _number(self, key: Hashable, *, never_minus_zero: bool = False) -> int:
        number = self._numbers.setdefault(key, len(self._numbers))
        if never_minus_zero:
            self._never_minus_zero.add(number)
        return number

    def _zero(self, fmt: Format) -> int:
        if fmt.is_integer:
            return self._of_sum(_Sum((), (), None), fmt)
        return self._number(("zero", fmt.name), never_minus_zero=True)

    def _of_addition(self, fmt: Format, rounding: Rounding, x: int, y: int) -> int:
        """Return the number of a sum of two numbers.

        Rounded to nearest or towards zero, +0 changes nothing but -0. A sum of which one summand is never -0 is never
        -0 either, so that it makes no difference whether the other one is -0 or +0.
        """
        if fmt.is_integer:
            total = self._as_sum(x).plus(self._as_sum(y))
            if total is not None:
                return self._of_sum(total, fmt)
        zero = self._zero(fmt)
        if rounding is Rounding.RTN:  # +0 and -0 are -0, so that +0 changes no number
            if zero in (x, y):
                return x if y == zero else y
            return self._number(("add", *sorted((x, y)), fmt.name, rounding))
        keeps = rounding in (Rounding.RNE, Rounding.RZ)
        for one, other in ((x, y), (y, x)):
            if keeps and one == zero and other in self._never_minus_zero:
                return other
        never = keeps and not self._never_minus_zero.isdisjoint((x, y))
        if keeps and x in self._never_minus_zero:
            y = self._onto_zero.get(y, y)
        if keeps and y in self._never_minus_zero:
            x = self._onto_zero.get(x, x)
        inner = [self._onto_zero.get(n, n) for n in (x, y)]
        if inner != [x, y]:
            return self._number(("add from zero", *sorted(inner), fmt.name, rounding), never_minus_zero=keeps)
        number = self._number(("add", *sorted((x, y)), fmt.name, rounding), never_minus_zero=never)
        if zero in (x, y):
            self._onto_zero[number] = x if y == zero else y
        return number

    def _of_conversion(self, renamed: op.Convert, x: int, before: Format, fmt: Format) -> int:
        """Return the number of a conversion. One to a wider format keeps that a number is never -0."""
        if not before.is_integer and not fmt.is_integer and x == self._zero(before):
            return self._zero(fmt)
        wider = fmt.fraction_bits >= before.fraction_bits and fmt.exponent_bits >= before.exponent_bits
        return self._number(renamed, never_minus_zero=wider and x in self._never_minus_zero)

    def _as_sum(self, number: int) -> _Sum:
        return self._sums.get(number, _Sum((), (number,), None))

    def _of_sum(self, total: _Sum, fmt: Format) -> int:
        """Return the number of a sum of integers: that of its only term if it has just one."""
        if not total.ks and len(total.others) == 1:
            return total.others[0]
        number = self._number(("modulo", total.ks, total.others, total.signature, fmt.name))
        self._sums[number] = total
        return number

    def _of_call(self, call: op.Call, c: int) -> int:
        """Return the number of a call, whose words are given by the numbers of what cuts them.

        Where d does not depend on where an instruction ends, each step has a number, those of the padding too, and
        where instructions chain as calls do, each instruction has.
        """
        unit, words = call.unit, (call.a, call.b)
        if unit.guarantees(Guarantee.WRAPS_MODULO) and unit.c_format is unit.d_format:
            of_words = self._number(call.a), self._number(call.b)
            products = tuple(sorted((*of_words, k) for k in call.ks))
            total = self._as_sum(c).plus(_Sum(products, (), unit.signature))
            if total is not None:
                return self._of_sum(total, unit.d_format)
        if unit not in self._units:
            self._units[unit] = self._number(("unit", Arithmetic.of(unit)))
        never, length = c in self._never_minus_zero, unit.padded_length(len(call.ks))
        at_once = unit.k if Arithmetic.of(unit).k is not None else unit.step.L
        if not unit.chain.keeps_infinities:  # an infinity that is handed in is not read as one of the chain's own
            at_once = length
        moved = self._any_order and takes_any_order(unit)
        for first in range(0, length, at_once):
            ks = call.ks[first : first + at_once]
            c = self._number(("call", self._units[unit], c, tuple(sorted(ks)) if moved else ks, at_once, words))
        if never and self._unit_never_minus_zero(unit):
            self._never_minus_zero.add(c)
        return c


def takes_any_order(unit: Design) -> bool:
    """Return whether the order of the products in a step may be changed in the elements of an instruction.

    The steps of an instruction must be runs of L consecutive elements, and no element may have a scale or belong to a
    group: a step in any order is proved of products that move by themselves.
    """
    moves_alone = unit.scale_format is None and unit.step.group_size is None
    return moves_alone and Arithmetic.of(unit).k is None and unit.chain.keeps_infinities


MOST_TILES = 256
"""How many tiles are tried to find a K at which all parts of plans occur."""
MOST_COMPARED = 48
"""How many K are tried to find one at which the operations of plans differ."""


def shortest_k(plans: Sequence[Plan], parts: int = 2) -> int:
    """Return the least K that all plans take and at which each rule of parts makes at least N.

    Raises DesignError if there is none: the sizes that a plan states may not fit, or may not fit each other.
    """
    tile = math.lcm(*(x.k_tile for x in plans))
    problem = None
    for k in range(tile, min(tile * MOST_TILES, LONGEST_PLANNED) + 1, tile):
        try:
            if all(_has_parts(x, k, parts) for x in plans):
                return k
        except DesignError as error:
            problem = error
    names = " and ".join(x.name for x in plans)
    raise DesignError(f"no K was found for {names}: give one with --k" + (f" ({problem})" if problem else ""))


def telling_k(plans: Sequence[Plan]) -> int:
    """Return the least K at which all parts of all plans occur and at which the operations of two of them differ.

    Where they are the same at every K that is tried, it is ``shortest_k``. Raises as that.
    """
    shortest, tile = shortest_k(plans), math.lcm(*(x.k_tile for x in plans))
    for k in range(shortest, min(shortest + MOST_COMPARED * tile, LONGEST_PLANNED), tile):
        try:
            first, *others = (x.with_open_orders(ASCENDING).schedule(k) for x in plans)
        except DesignError:
            continue
        if not all(same_computation(first, x) for x in others):
            return k
    return shortest


def _has_parts(plan: Plan, k: int, least: int) -> bool:
    """Return whether every level makes at least N parts of ``k``. Raises DesignError where K does not fit."""
    plan.with_open_orders(ASCENDING).schedule(k)
    ks: Sequence[Sequence[int]] = [range(k)]
    for level in reversed(plan.levels):
        parts = [level.parts.divide(x, plan.k_tile) for x in ks]
        wanted = least if isinstance(level, PartSum) else 2
        if max(map(len, parts)) < min(wanted, level.parts.most):
            return False
        ks = [x for found in parts for x in found]
    return True


@dataclass(frozen=True, slots=True)
class Weights:
    """The exact factors of the products, by k, and of c. Products that are left out are not in d.

    They are numbers, or arrays where factors are. ``calls`` are those of the sums that calls of a unit make, by index.
    Words of slices and residues are multiplied with the powers of their rows and columns besides.
    """

    products: dict[int, Any]
    c: Any
    calls: dict[int, Any]


def weights_of(schedule: op.Schedule, factors: Sequence[Any] = ()) -> Weights:
    """Return the exact weights of the products and of c in d. ``factors`` are those that are operands.

    The first words of operands stand for the operands, and the others for what the first ones lost, which is nothing.
    """
    last = len(schedule.operations) - 1
    weights: dict[int, Any] = {last: Fraction(1)}
    products: dict[int, Any] = {}
    calls: dict[int, Any] = {}
    of_c: Any = Fraction(0)
    for i in range(last, -1, -1):
        operation, weight = schedule.operations[i], weights.pop(i, Fraction(0))
        if isinstance(operation, op.Operand):
            of_c = weight
        elif isinstance(operation, op.Call):
            calls[i] = weight
            first = prod(weights_of_words(schedule.operations[x.cut])[0] for x in operation.words)
            for k in operation.ks if operation.is_first else ():
                products[k] = products.get(k, 0) + weight / first
        for x, part in _taken(operation, weight, factors):
            weights[x] = weights[x] + part if x in weights else part
    return Weights(products, of_c, calls)


def _taken(operation: op.Operation, weight: Any, factors: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return what an operation of a weight takes, with the weights of that."""
    match operation:
        case op.Operand() | op.Zero() | op.Split() | op.Slices() | op.Residues():
            taken = []
        case op.Call(c=c):
            taken = [(c, weight)]
        case op.Add(x=x, y=y):
            taken = [(x, weight), (y, weight)]
        case op.Multiply(x=x, factor=factor, fmt=fmt):
            times = constant(fmt, factor) if isinstance(factor, int) else factors[factor.index]
            taken = [(x, weight * times)]
        case op.MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            taken = [(x, weight * constant(fmt, factor)), (y, weight)]
        case op.Convert(x=x) | op.Flush(x=x):
            taken = [(x, weight)]
        case op.Scale(x=x, places=places) | op.Weigh(x=x, places=places):
            taken = [(x, weight * Fraction(2) ** places)]
        case op.Combine(xs=xs):  # the first sum stands for all of them
            taken = [(xs[0], weight)]
        case _:
            assert_never(operation)
    return taken


def weights_of_words(operation: op.Operation) -> tuple[Fraction, ...]:
    """Return what the words of an operand are multiplied with in their sum, which stands for the operand.

    Slices are multiplied with the power of their row or column besides. Of residues the first one stands for all.
    """
    match operation:
        case op.Split(count=count, scale=scale):
            return tuple(Fraction(2) ** (-scale * i) for i in range(count))
        case op.Slices(count=count):
            return tuple(Fraction(2) ** operation.weight(i) for i in range(count))
        case _:
            return (Fraction(1),)


def exact_result(
    schedule: op.Schedule, a: Sequence[Fraction], b: Sequence[Fraction], c: Fraction, factors: Sequence[Fraction] = ()
) -> Fraction:
    """Return what the schedule computes of these numbers without any rounding. a and b are times their scales."""
    weights = weights_of(schedule, factors)
    products = (weight * a[k] * b[k] for k, weight in weights.products.items())
    return Fraction(sum(products, weights.c * c))


def constant(fmt: Format, pattern: int) -> Fraction:
    """Return the number of a finite pattern of an IEEE 754 format without ignored bits."""
    fraction = pattern & ((1 << fmt.fraction_bits) - 1)
    field = pattern >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
    if field == (1 << fmt.exponent_bits) - 1 or fmt.ignored_bits:
        raise DesignError(f"{fmt.hex(pattern)} is not a finite constant of {fmt.name}")
    significand = fraction + ((1 << fmt.fraction_bits) if field else 0)
    magnitude = significand * Fraction(2) ** (max(field - fmt.bias, fmt.e_min) - fmt.fraction_bits)
    return -magnitude if pattern >> fmt.sign_position else magnitude
