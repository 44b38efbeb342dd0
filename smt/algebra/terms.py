"""The symbolic interpretation: pySMT bit-vector terms (QF_BV).

A word's data is a term of exactly its width. Constants are folded by pySMT's own construction rules and by the solvers;
only choices with a constant condition are folded here.

An environment of pySMT keeps the terms of formulas, and whatever builds formulas is given one. Terms of two
environments never meet in one formula. An environment is not made for several threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from pysmt.environment import Environment, get_env
from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Algebra, Word

_OF_THREAD = threading.local()


def default_environment() -> Environment:
    """Return the environment of formulas for which none is given.

    It is pySMT's current one on the main thread, so that formulas of pySMT's own functions can be used, and another
    one on each other thread.
    """
    if threading.current_thread() is threading.main_thread():
        return get_env()
    if not hasattr(_OF_THREAD, "environment"):
        _OF_THREAD.environment = Environment()
    return _OF_THREAD.environment


WIDE = 128
"""Bits of a word above which a shift by a variable amount is written out."""


class TermAlgebra(Algebra[FNode, FNode]):
    """Words are bit-vector terms, truth values are Boolean terms, of the environment given or the default one."""

    def __init__(self, environment: Environment | None = None) -> None:
        self.environment = default_environment() if environment is None else environment
        self._terms: Any = self.environment.formula_manager
        self.unknowns: dict[str, FNode] = {}
        """the variables of words that may have any value, by name"""

    def unknown(self, name: str, width: int) -> Word[FNode]:
        """Return a variable that is this run's own."""
        word = self.symbol(self.unknown_name(name, width), width)
        self.unknowns[word.data.symbol_name()] = word.data
        return word

    def symbol(self, name: str, width: int) -> Word[FNode]:
        """Return the unsigned variable ``name``."""
        return Word(self._terms.Symbol(name, self.environment.type_manager.BVType(width)), width, False, self)

    def _constant(self, value: int, width: int) -> FNode:
        return self._terms.BV(value % (1 << width), width)

    def _truth(self, value: bool) -> FNode:
        return self._terms.Bool(value)

    def _known(self, x: FNode) -> bool | None:
        return bool(x.is_true()) if x.is_bool_constant() else None

    def _extend(self, x: FNode, width: int, to_width: int, signed: bool) -> FNode:
        more = to_width - width
        return self._terms.BVSExt(x, more) if signed else self._terms.BVZExt(x, more)

    def _add(self, x: FNode, y: FNode) -> FNode:
        return self._terms.BVAdd(x, y)

    def _subtract(self, x: FNode, y: FNode, width: int) -> FNode:
        return self._terms.BVSub(x, y)

    def _negate(self, x: FNode, width: int) -> FNode:
        return self._terms.BVNeg(x)

    def _magnitude(self, x: FNode, negative: FNode, width: int) -> FNode:
        return self._terms.Ite(negative, self._terms.BVNeg(x), x)

    def _multiply(self, x: FNode, y: FNode) -> FNode:
        return self._terms.BVMul(x, y)

    def _shift_left(self, x: FNode, places: int, width: int) -> FNode:
        return self._terms.BVLShl(x, self._constant(places, width))

    def _shift_right(self, x: FNode, width: int, signed: bool, amount: FNode, amount_width: int) -> FNode:
        shift = self._terms.BVAShr if signed else self._terms.BVLShr
        return self._shift(shift, x, width, amount, amount_width)

    def _shift(self, shift: Any, x: FNode, width: int, amount: FNode, amount_width: int) -> FNode:
        if width > WIDE and not amount.is_constant():
            return self._shift_in_steps(shift, x, width, amount, amount_width)
        if amount_width <= width:
            return shift(x, self._extend(amount, amount_width, width, False) if amount_width < width else amount)
        # SMT-LIB wants an amount of the operand's width; one that does not fit shifts everything out
        beyond = self._terms.BVUGE(amount, self._constant(width, amount_width))
        most = self._constant(min(width, (1 << width) - 1), width)
        return shift(x, self._terms.Ite(beyond, most, self._terms.BVExtract(amount, 0, width - 1)))

    def _shift_in_steps(self, shift: Any, x: FNode, width: int, amount: FNode, amount_width: int) -> FNode:
        """Return a wide word shifted by each bit of the amount, the highest one first, as ``_normalise`` goes.

        Two such words are alike step by step. Solvers shift by the lowest bit first, and if one word is shifted and the
        other one normalised, they have to find out that the order of a thousand choices at each step does not matter.
        """
        steps = min((width - 1).bit_length(), amount_width)
        if steps < amount_width:
            beyond = self._extract(amount, amount_width, amount_width - 1, steps)
            is_near = self._equal(beyond, self._constant(0, amount_width - steps))
            x = self._terms.Ite(is_near, x, shift(x, self._constant(width, width)))
        for step in reversed(range(steps)):
            bit = self._extract(amount, amount_width, step, step)
            moved = shift(x, self._constant(1 << step, width))
            x = self._terms.Ite(self._equal(bit, self._constant(1, 1)), moved, x)
        return x

    def _any_below(self, x: FNode, width: int, amount: FNode, amount_width: int) -> FNode:
        kept = self._shift(self._terms.BVLShl, self._constant(-1, width), width, amount, amount_width)
        lost = self._terms.BVAnd(x, self._terms.BVNot(kept))
        return self._terms.Not(self._terms.Equals(lost, self._constant(0, width)))

    def _normalise(self, x: FNode, width: int) -> tuple[FNode, FNode]:
        # a halving step for each bit of the count: where the top `places` bits are zero, the rest moves up by as many
        count = None
        for step in reversed(range(self.places_width(width))):
            places = min(1 << step, width - 1)
            if not places:
                return x, self._terms.Ite(
                    self._equal(x, self._constant(0, 1)), self._constant(1, 1), self._constant(0, 1)
                )
            clear = self._equal(self._extract(x, width, width - 1, width - places), self._constant(0, places))
            moved = self._terms.BVConcat(self._extract(x, width, width - 1 - places, 0), self._constant(0, places))
            x = self._terms.Ite(clear, moved, x)
            bit = self._terms.Ite(clear, self._constant(1, 1), self._constant(0, 1))
            count = bit if count is None else self._terms.BVConcat(count, bit)
        return x, count

    def _concatenate(self, high: FNode, low: FNode, high_width: int, low_width: int) -> FNode:
        return self._terms.BVConcat(high, low)

    def _extract(self, x: FNode, width: int, high: int, low: int) -> FNode:
        return self._terms.BVExtract(x, low, high)

    def _to_signed(self, x: FNode, width: int) -> FNode:
        return x

    def _narrow(self, x: FNode, width: int, to_width: int, signed: bool) -> FNode:
        return self._terms.BVExtract(x, 0, to_width - 1)

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        total, *others = self._in_one_width(xs, widths, width)
        for x in others:
            total = self._partial_sum(total, x)
        return total

    def _partial_sum(self, total: FNode, x: FNode) -> FNode:
        return self._terms.BVAdd(total, x)

    def _in_one_width(self, xs: list[FNode], widths: list[int], width: int) -> list[FNode]:
        """Return signed terms in one width, the widest ones cut to it."""
        change = [self._extend if w < width else self._narrow for w in widths]
        return [x if w == width else f(x, w, width, True) for x, w, f in zip(xs, widths, change, strict=True)]

    def _compress(self, x: FNode, y: FNode, z: FNode, width: int) -> tuple[FNode, FNode]:
        m = self._terms
        either = m.BVOr(m.BVOr(m.BVAnd(x, y), m.BVAnd(x, z)), m.BVAnd(y, z))
        return m.BVXor(m.BVXor(x, y), z), self._shift_left(either, 1, width)

    def compressor(self, x: FNode, y: FNode, z: FNode, width: int) -> tuple[FNode, FNode]:
        """Return the two terms that a carry-save adder makes of three words of N bits."""
        return self._compress(x, y, z, width)

    def in_one_width(self, words: Sequence[Word[FNode]], width: int) -> tuple[FNode, ...]:
        """Return the terms of the words of a sum in its width."""
        return tuple(self._in_one_width([w.data for w in words], [w.width for w in words], width))

    def known_value(self, x: Word[FNode]) -> int | None:
        """Return the pattern of a constant, None for any other term."""
        return int(x.data.constant_value()) if x.data.is_bv_constant() else None

    def _to_pattern(self, x: FNode, width: int) -> FNode:
        return x

    def _bitwise_and(self, x: FNode, y: FNode) -> FNode:
        return self._terms.BVAnd(x, y)

    def _bitwise_or(self, x: FNode, y: FNode) -> FNode:
        return self._terms.BVOr(x, y)

    def _bitwise_xor(self, x: FNode, y: FNode) -> FNode:
        return self._terms.BVXor(x, y)

    def _complement(self, x: FNode, width: int) -> FNode:
        return self._terms.BVNot(x)

    def _wrapped_sum(self, x: FNode, y: FNode, width: int) -> FNode:
        return self._add(x, y)

    def _wrapped_difference(self, x: FNode, y: FNode, width: int) -> FNode:
        return self._terms.BVSub(x, y)

    def _wrapped_product(self, x: FNode, y: FNode, width: int) -> FNode:
        return self._multiply(x, y)

    def _shift_left_within(self, x: FNode, width: int, amount: FNode, amount_width: int) -> FNode:
        return self._shift(self._terms.BVLShl, x, width, amount, amount_width)

    def _divide(self, x: FNode, y: FNode, width: int) -> tuple[FNode, FNode]:
        return self._terms.BVUDiv(x, y), self._terms.BVURem(x, y)

    def _equal(self, x: FNode, y: FNode) -> FNode:
        return self._terms.Equals(x, y)

    def _less(self, x: FNode, y: FNode, signed: bool) -> FNode:
        return self._terms.BVSLT(x, y) if signed else self._terms.BVULT(x, y)

    def _ite(self, condition: FNode, x: FNode, y: FNode) -> FNode:
        return x if x is y else self._terms.Ite(condition, x, y)

    def _maximum(self, x: FNode, y: FNode, signed: bool) -> FNode:
        return self._terms.Ite(self._less(x, y, signed), y, x)

    def _not(self, x: FNode) -> FNode:
        return self._terms.Not(x)

    def _and(self, xs: list[FNode]) -> FNode:
        return self._terms.And(xs)

    def _or(self, xs: list[FNode]) -> FNode:
        return self._terms.Or(xs)

    def _xor(self, x: FNode, y: FNode) -> FNode:
        return self._terms.Xor(x, y)
