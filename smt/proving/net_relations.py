"""How a net may be related to a variable of the model, as samples suggest it. Every suggestion is to be proved.

A net of n bits may be, modulo 2**n: a variable plus or minus a constant, a constant minus it, a multiple of it by a
power of two, some of its bits, its magnitude, or the first of these where a condition holds and a constant elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.proving.columns import FAST_BITS, Column, Columns, signed_column
from mmaproof.smt.solving.query import TRUTH, width_of

NET_SECONDS, LONG_SECONDS = 5.0, 40.0
"""Seconds that a query about a net may take, and one about a word that all terms enter."""
FEWEST_BITS_OF_SUMS = 2
FEWEST_BITS_OF_STEPPED = 4
MOST_BITS_OF_CHOICES, MOST_BITS_OF_COUNTS = 20, 32
"""The bits of a word that may be an exponent where a condition holds, and of one that may be a count of zeros.

A wider word that chooses between an exponent and a constant is rather one of the model itself, as modules have them
that are printed with words of 32 bits.
"""
LOOKED_AT = 48
"""Samples of which it is looked at first whether few values are left."""
FEWEST_VALUES = 4
"""A column with fewer values says too little to suggest anything."""


@dataclass(frozen=True)
class MatchedNet:
    """A net and the variable of the model that it was proved to be related to."""

    net: str
    signal: str
    relation: str


@dataclass(frozen=True, slots=True)
class Number:
    """A variable of the model or of a sum, as nets are compared with it."""

    name: str
    variable: FNode
    definition: FNode
    width: int
    signed: bool
    values: npt.NDArray[np.int64]
    """its value on each sample"""
    has_bits: bool
    """whether single bits of it are worth comparing"""
    may_be_absent: bool
    """whether a net may have a constant in the place of some of its values"""
    is_added: bool
    """whether it is a word of a sum"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A number that a net may be related to, the relation in words, and the net as a term over the number."""

    number: Number
    relation: str
    of: Callable[[FNode], FNode]
    is_part: bool = False
    """whether the net is some of its bits"""


@dataclass
class _Some:
    """Some of the numbers, and their values below each other."""

    numbers: list[Number]
    _stacked: npt.NDArray[np.uint64] | None = None

    def add(self, number: Number) -> None:
        """Add a number."""
        self.numbers.append(number)
        self._stacked = None

    def values(self, rows: int) -> npt.NDArray[np.uint64]:
        """Return the values, one row for each number."""
        if self._stacked is None:
            columns = [x.values.view(np.uint64) for x in self.numbers]
            self._stacked = np.stack(columns) if columns else np.zeros((0, rows), dtype=np.uint64)
        return self._stacked


class Relations:
    """The numbers, indexed by what their columns look like modulo powers of two."""

    def __init__(self, environment: Environment, columns: Columns) -> None:
        self._terms: Any = environment.formula_manager
        self._columns = columns
        self._numbers: list[Number] = []
        self._index: dict[int, dict[tuple[str, bytes], list[tuple[int, int]]]] = {}
        self._indexed: dict[int, int] = {}
        self._added, self._absent = _Some([]), _Some([])
        self._top_bits: dict[bytes, list[FNode]] = {}
        self._truths: dict[bytes, list[FNode]] = {}
        self._conditions: list[tuple[FNode, npt.NDArray[np.bool_]]] = []

    def add_number(
        self,
        name: str,
        variable: FNode,
        definition: FNode,
        signed: bool,
        *,
        has_bits: bool = False,
        may_be_absent: bool = False,
        is_added: bool = False,
    ) -> None:
        """Add a word."""
        width = variable.bv_width()
        if width > FAST_BITS:
            return
        values = signed_column(self._columns.values(variable), width) if signed else self._plain(variable)
        if values is not None and len(np.unique(values)) >= FEWEST_VALUES:
            number = Number(name, variable, definition, width, signed, values, has_bits, may_be_absent, is_added)
            self._numbers.append(number)
            if is_added:
                self._added.add(number)
            if may_be_absent:
                self._absent.add(number)

    def _plain(self, variable: FNode) -> npt.NDArray[np.int64] | None:
        values = self._columns.values(variable)
        return values.astype(np.int64) if int(values.max()) < 1 << (FAST_BITS - 1) else None

    def add_truth(self, variable: FNode) -> None:
        """Add a truth value."""
        column = self._columns.values(variable)
        self._truths.setdefault(column.tobytes(), []).append(variable)
        self._conditions.append((variable, column.astype(bool)))

    # --- truths -----------------------------------------------------------------------------------------------

    def of_bit(self, term: FNode) -> Iterator[tuple[str, FNode, bool]]:
        """Yield the truth values that a word of one bit may be: name of the relation, variable, whether negated."""
        column = self._columns.values(term)
        for negated in (False, True):
            seen = column ^ np.uint64(1) if negated else column
            for variable in reversed(self._truths.get(seen.tobytes(), [])):
                yield "negated" if negated else "equal", variable, negated

    def add_top_bit(self, variable: FNode) -> None:
        """Add the highest bit of a word, which says of a significand whether the number is normal."""
        top = variable.bv_width() - 1
        column = self._columns.values(variable) >> np.uint64(top)
        self._top_bits.setdefault(column.tobytes(), []).append(variable)

    def of_top_bit(self, term: FNode) -> Iterator[tuple[FNode, bool]]:
        """Yield the words whose highest bit a word of one bit may be, and whether it is negated."""
        column = self._columns.values(term)
        for negated in (False, True):
            seen = column ^ np.uint64(1) if negated else column
            for variable in self._top_bits.get(seen.tobytes(), []):
                yield variable, negated

    # --- words ------------------------------------------------------------------------------------------------

    def of_word(self, term: FNode) -> Iterator[Suggestion]:
        """Yield what a word may be, the last numbers first."""
        width = term.bv_width()
        if width > FAST_BITS:
            return
        column = self._columns.values(term)
        if len(np.unique(column)) < FEWEST_VALUES:
            return
        mask = _mask(width)
        index = self._indexed_for(width)
        for kind, key in (
            ("offset", (column - column[0]) & mask),
            ("opposite", (column[0] - column) & mask),
            ("magnitude", column),
            ("bits", column),
        ):
            for position, places in reversed(index.get((kind if kind != "opposite" else "offset", key.tobytes()), [])):
                yield self._suggestion(kind, self._numbers[position], places, width, int(column[0]))
        zeros = _trailing_zeros(column)
        if zeros and width - zeros > 1:
            narrow = self._indexed_for(width - zeros)
            moved = (column >> np.uint64(zeros)) & _mask(width - zeros)
            for position, places in reversed(narrow.get(("multiple", moved.tobytes()), [])):
                if zeros != places:
                    yield self._multiple(self._numbers[position], zeros - places, width)
        yield from self._stepped(column, width)
        yield from self._conditional(column, width)

    def _stepped(self, column: Column, width: int) -> Iterator[Suggestion]:
        """Yield numbers that the word is, plus one constant where a truth value holds and another one elsewhere."""
        if width < FEWEST_BITS_OF_STEPPED:
            return
        m = self._terms
        for number, rest in self._without(column, width, self._added):
            low, others = int(rest[0]), rest[rest != rest[0]]
            if not len(others) or (others != others[0]).any():
                continue
            high = int(others[0])
            where = (rest != rest[0]).astype(np.uint64)
            for negated in (False, True):
                seen = where ^ np.uint64(1) if negated else where
                for truth in self._truths.get(seen.tobytes(), []):
                    yes, no = (low, high) if negated else (high, low)

                    def stepped(
                        x: FNode, number: Number = number, truth: FNode = truth, yes: int = yes, no: int = no
                    ) -> FNode:
                        step = m.Ite(truth, m.BV(yes, width), m.BV(no, width))
                        return m.BVAdd(self.resized(x, number.signed, width), step)

                    yield Suggestion(number, f"offset by {yes} where {truth}, by {no} elsewhere", stepped)

    def _without(self, column: Column, width: int, of: _Some) -> Iterator[tuple[Number, Column]]:
        """Yield some numbers, the last ones first, and a column without each of them, where few values are left."""
        rest = (column - of.values(len(column))) & _mask(width)
        seen = rest[:, :LOOKED_AT]
        few = (seen == seen[:, :1]).sum(axis=1) + (seen == seen[:, -1:]).sum(axis=1) >= LOOKED_AT // 2
        for position in np.flatnonzero(few)[::-1]:
            yield of.numbers[position], rest[position]

    def _indexed_for(self, width: int) -> dict[tuple[str, bytes], list[tuple[int, int]]]:
        index = self._index.setdefault(width, {})
        mask = _mask(width)
        for position in range(self._indexed.get(width, 0), len(self._numbers)):
            number = self._numbers[position]
            values = number.values.view(np.uint64)
            index.setdefault(("offset", ((values - values[0]) & mask).tobytes()), []).append((position, 0))
            zeros = _trailing_zeros(values)
            index.setdefault(("multiple", ((values >> np.uint64(zeros)) & mask).tobytes()), []).append(
                (position, zeros)
            )
            if number.signed:
                size = np.abs(number.values).view(np.uint64)
                index.setdefault(("magnitude", (size & mask).tobytes()), []).append((position, 0))
            if number.has_bits and width >= 3:
                for places in range(1, max(number.width - 2, 1)):
                    part = (number.values >> np.int64(places)).view(np.uint64) & mask
                    index.setdefault(("bits", part.tobytes()), []).append((position, places))
        self._indexed[width] = len(self._numbers)
        return index

    def _suggestion(self, kind: str, number: Number, places: int, width: int, first: int) -> Suggestion:
        m, whole = self._terms, 1 << width
        start = int(number.values[0])
        if kind == "offset":
            amount = (first - start) % whole
            near = amount - whole if amount >= whole // 2 else amount

            def offset(x: FNode) -> FNode:
                y = self.resized(x, number.signed, width)
                return y if not amount else m.BVAdd(y, m.BV(amount, width))

            return Suggestion(number, "equal" if not near else f"offset by {near}", offset)
        if kind == "opposite":
            amount = (first + start) % whole

            def opposite(x: FNode) -> FNode:
                return m.BVSub(m.BV(amount, width), self.resized(x, number.signed, width))

            return Suggestion(number, f"{amount} minus it", opposite)
        if kind == "magnitude":

            def magnitude(x: FNode) -> FNode:
                y = m.Ite(m.BVSLT(x, m.BV(0, number.width)), m.BVNeg(x), x)
                return self.resized(y, False, width)

            return Suggestion(number, "its magnitude", magnitude)

        def bits(x: FNode) -> FNode:
            return self.resized(m.BVExtract(x, places, number.width - 1), number.signed, width)

        return Suggestion(number, f"its bits from {places} on", bits, is_part=True)

    def _multiple(self, number: Number, places: int, width: int) -> Suggestion:
        m = self._terms

        def multiple(x: FNode) -> FNode:
            if places < 0:
                return self.resized(m.BVExtract(x, -places, number.width - 1), number.signed, width)
            kept = self.resized(x, number.signed, width - places)
            return m.BVConcat(kept, m.BV(0, places))

        return Suggestion(number, f"moved by {places} places", multiple)

    def _conditional(self, column: Column, width: int) -> Iterator[Suggestion]:
        """Yield numbers that the word is, plus a constant, where a condition holds; it is a constant elsewhere."""
        if not FEWEST_BITS_OF_STEPPED <= width <= MOST_BITS_OF_COUNTS:
            return
        m, whole = self._terms, 1 << width
        for number, shifted in self._without(column, width, self._absent):
            amount = int(_common(shifted))
            on = shifted == np.uint64(amount)
            if on.all() or on.sum() < FEWEST_VALUES:
                continue
            off = column[~on]
            if (off != off[0]).any():
                continue
            constant = int(off[0])
            for text, condition in self._conditions_for(number, on, column == np.uint64(constant), width):

                def conditional(
                    x: FNode,
                    number: Number = number,
                    amount: int = amount,
                    constant: int = constant,
                    condition: Callable[[FNode], FNode] = condition,
                ) -> FNode:
                    y = m.BVAdd(self.resized(x, number.signed, width), m.BV(amount, width))
                    return m.Ite(condition(x), y, m.BV(constant, width))

                near = amount - whole if amount >= whole // 2 else amount
                yield Suggestion(number, f"offset by {near} where {text}, {constant} elsewhere", conditional)

    def _conditions_for(
        self, number: Number, on: npt.NDArray[np.bool_], constant: npt.NDArray[np.bool_], width: int
    ) -> Iterator[tuple[str, Callable[[FNode], FNode]]]:
        """Yield conditions that hold only where ``on`` does, and elsewhere only where the word has its constant.

        Of a wide word it is only whether the number is one.
        """
        m = self._terms
        edge = -(1 << (number.width - 1)) if number.signed else (1 << number.width) - 1
        at_edge = number.values == edge
        if at_edge.any() and on[~at_edge].all() and constant[at_edge].all():
            yield "it is a number", lambda x: m.Not(m.Equals(x, m.BV(edge % (1 << number.width), number.width)))
        for variable, holds in reversed(self._conditions if width <= MOST_BITS_OF_CHOICES else []):
            for negated in (False, True):
                where = ~holds if negated else holds
                if on[where].all() and constant[~where].all():
                    if negated:
                        yield f"not {variable}", lambda x, v=variable: m.Not(v)  # type: ignore[misc]
                    else:
                        yield f"{variable}", lambda x, v=variable: v  # type: ignore[misc]

    def resized(self, x: FNode, signed: bool, width: int) -> FNode:
        """Return a word modulo 2**width: cut, or extended as its signedness has it."""
        m = self._terms
        if width_of(x) == TRUTH:
            return m.Ite(x, m.BV(1, width), m.BV(0, width))
        own = x.bv_width()
        if own == width:
            return x
        if own > width:
            return m.BVExtract(x, 0, width - 1)
        return m.BVSExt(x, width - own) if signed else m.BVZExt(x, width - own)


def _mask(width: int) -> np.uint64:
    return np.uint64((1 << width) - 1)


def _trailing_zeros(values: Column) -> int:
    """Return the number of low bits that are zero in all values (0 where all bits are)."""
    together = int(np.bitwise_or.reduce(values))
    return (together & -together).bit_length() - 1 if together else 0


def _common(values: Column) -> int:
    """Return a value that is common among the first ones."""
    found, counts = np.unique(values[:LOOKED_AT], return_counts=True)
    return int(found[counts.argmax()])
