"""The code interpretation: words are nodes of a graph of machine operations, to be compiled or printed.

The data of a word is a ``Value``: a node, and the least and the largest number that the word is known to be. Such
intervals come from the widths of operands, from the operations, and from what the semantics claims of its words
(``narrow``, ``bounded_sum``, the bounds of signals). They decide which operations are made: a number lives in the
narrowest lane of 32, 64 or 128 bits that holds its interval, as two's complement where the interval has negative
numbers. Nothing but the choice of operations depends on them; the graph holds no intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mmaproof.smt.algebra.nodes import HALF, LANES, Graph, Node, Op, mask, most, needed, signed
from mmaproof.smt.algebra.protocol import Algebra, Truth, Word
from mmaproof.smt.algebra.words import Signal


class TooWideError(ArithmeticError):
    """A number needs more bits than the widest lane has."""


class Value(NamedTuple):
    """A number in a lane: ``node``, read in two's complement where ``least`` is negative, from least to largest."""

    node: Node
    least: int
    largest: int


def lane(least: int, largest: int) -> int:
    """Return the width of the narrowest lane that holds an interval. Raises TooWideError where there is none."""
    for bits in LANES:
        if fits(bits, least, largest):
            return bits
    needed = max((x if x >= 0 else ~x).bit_length() for x in (least, largest)) + (least < 0)
    raise TooWideError(f"a number needs {needed} bits, and there are no words of more than {LANES[-1]} bits")


def fits(bits: int, least: int, largest: int) -> bool:
    """Return whether words of ``bits`` hold an interval, in two's complement where it has negative numbers."""
    return largest < 1 << bits if least >= 0 else -(1 << (bits - 1)) <= least and largest < 1 << (bits - 1)


class CodeAlgebra(Algebra[Value, Node]):
    """Data of words are values, truth values are nodes of one bit, of one graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._assumed: dict[Node, tuple[int, int]] = {}
        self._summands: dict[Node, tuple[Value, Value]] = {}
        """of a sum, the two values that it was made of"""

    def _lane(self, least: int, largest: int) -> int:
        """Return the width of the words that hold an interval."""
        return lane(least, largest)

    # --- what is known from outside ---------------------------------------------------------------------------

    def symbol(self, name: str, width: int) -> Word[Value]:
        """Return the unsigned input ``name``."""
        largest = mask(width)
        return Word(Value(self.graph.input(name, width, self._lane(0, largest)), 0, largest), width, False, self)

    def assume(self, truth: Truth[Node], holds: bool) -> None:
        """Take for granted that a truth value is always ``holds``, wherever it occurs from now on."""
        if not truth.data.is_constant:
            self._assumed[truth.data] = (int(holds), int(holds))

    def assume_within(self, word: Word[Value], least: int, largest: int) -> None:
        """Take for granted that a word lies within an interval, wherever it occurs from now on."""
        if not word.data.node.is_constant:
            self._assumed[word.data.node] = (least, largest)

    # --- values ---------------------------------------------------------------------------------------------

    def _value(self, node: Node, least: int, largest: int) -> Value:
        """Return a value of a node that lies within an interval; a constant where there is one number in it."""
        if node.is_constant:
            return self._number(signed(node.value, node.bits) if least < 0 else node.value)
        if node in self._assumed and least >= 0:
            low, high = self._assumed[node]
            least, largest = max(least, low), min(largest, high)
        if least == largest:
            return self._number(least)
        return Value(node, least, largest)

    def _number(self, number: int) -> Value:
        return Value(self.graph.constant(number, self._lane(number, number)), number, number)

    def _in_lane(self, x: Value, bits: int) -> Node:
        """Return the number, modulo 2**bits, as a word of ``bits``."""
        if x.node.is_constant:
            return self.graph.constant(x.least, bits)
        if bits == x.node.bits:
            return x.node
        if bits < x.node.bits:
            return self.graph.node(Op.TRUNCATE, (x.node,), bits)
        return self.graph.node(Op.SIGN_EXTEND if x.least < 0 else Op.ZERO_EXTEND, (x.node,), bits)

    def _modular(self, op: Op, x: Value, y: Value, least: int, largest: int) -> Value:
        """Return x op y, an operation that is exact modulo any power of two, of a result within an interval."""
        bits = self._lane(least, largest)
        return self._value(self.graph.node(op, (self._in_lane(x, bits), self._in_lane(y, bits)), bits), least, largest)

    def _within(self, x: Value, least: int, largest: int) -> Value:
        """Return a value that is claimed to lie within an interval, in a narrower lane where that holds it."""
        least, largest = max(x.least, least), min(x.largest, largest)
        if x.node.is_constant or (least, largest) == (x.least, x.largest) or least > largest:
            return x
        bits = min(self._lane(least, largest), x.node.bits)
        return self._value(self._in_lane(x, bits), least, largest)

    def _bit(self, condition: Node, bits: int = LANES[0]) -> Value:
        if condition.is_constant:
            return self._number(condition.value)
        return Value(self.graph.node(Op.ZERO_EXTEND, (condition,), bits), 0, 1)

    def _or(self, xs: list[Node]) -> Node:
        return self._junction_of(Op.OR, xs)

    def _and(self, xs: list[Node]) -> Node:
        return self._junction_of(Op.AND, xs)

    def _junction_of(self, op: Op, xs: Iterable[Node]) -> Node:
        level = list(dict.fromkeys(xs))
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self._binary_truth(op, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
        return level[0]

    def _binary_truth(self, op: Op, x: Node, y: Node) -> Node:
        for one, other in ((x, y), (y, x)):
            if one.is_constant:
                return (other if one.value else one) if op is Op.AND else (one if one.value else other)
        if op is Op.AND and self._contradict(x, y):
            return self._truth(False)
        return self._truth_node(self.graph.node(op, (x, y), 1))

    def _contradict(self, x: Node, y: Node) -> bool:
        """Return whether a truth, or a part of it that is a conjunction, is the negation of such a one of the other."""
        parts, others = ({p, *(p.operands if p.op is Op.AND else ())} for p in (x, y))
        return any(_negated(p) in others for p in parts) or any(_negated(p) in parts for p in others)

    def _truth_node(self, node: Node) -> Node:
        assumed = self._assumed.get(node)
        return node if assumed is None else self._truth(bool(assumed[0]))

    # --- constants and expanding arithmetic --------------------------------------------------------------------

    def _constant(self, value: int, width: int) -> Value:
        return self._number(value)

    def _truth(self, value: bool) -> Node:
        return self.graph.constant(int(value), 1)

    def _known(self, x: Node) -> bool | None:
        return bool(x.value) if x.is_constant else None

    def _extend(self, x: Value, width: int, to_width: int, signed: bool) -> Value:
        return x

    def _add(self, x: Value, y: Value) -> Value:
        if x.node.is_constant:
            x, y = y, x
        if y.node.is_constant and not y.least:
            return x
        total = self._modular(Op.ADD, x, y, x.least + y.least, x.largest + y.largest)
        self._summands[total.node] = x, y
        return total

    def _subtract(self, x: Value, y: Value, width: int) -> Value:
        if y.node.is_constant and not y.least:
            return x
        return self._modular(Op.SUBTRACT, x, y, x.least - y.largest, x.largest - y.least)

    def _negate(self, x: Value, width: int) -> Value:
        return self._subtract(self._number(0), x, width)

    def _magnitude(self, x: Value, negative: Node, width: int) -> Value:
        if x.least >= 0:
            return x
        if x.largest <= 0:
            return self._negate(x, width)
        largest = max(-x.least, x.largest)
        return self._value(self.graph.node(Op.MAGNITUDE, (x.node,), x.node.bits), 0, largest)

    def _multiply(self, x: Value, y: Value) -> Value:
        for one, other in ((x, y), (y, x)):
            if one.node.is_constant and one.least == 1:
                return other
        corners = [a * b for a in (x.least, x.largest) for b in (y.least, y.largest)]
        return self._modular(Op.MULTIPLY, x, y, min(corners), max(corners))

    def _shift_left(self, x: Value, places: int, width: int) -> Value:
        if not places or x.node.is_constant:
            return self._number(x.least << places) if places else x
        least, largest = x.least << places, x.largest << places
        bits = self._lane(least, largest)
        if x.node.op is Op.MULTIPLY and x.node.bits == bits and x.least >= 0:
            # of a product, factors move: where both are unpacked before they meet, that costs nothing
            y, z = x.node.operands
            spare = [HALF - most(factor).bit_length() for factor in (y, z)]
            of_z = max(places - max(spare[0], 0), 0) if places <= sum(spare) and min(spare) >= 0 else 0
            node = self.graph.node(Op.MULTIPLY, (self._shifted(y, places - of_z), self._shifted(z, of_z)), bits)
        else:
            node = self._shifted(self._in_lane(x, bits), places)
        return self._value(node, least, largest)

    def _shifted(self, node: Node, places: int) -> Node:
        if not places:
            return node
        return self.graph.node(Op.SHIFT_LEFT, (node, self.graph.constant(places, node.bits)), node.bits)

    def shift_left_by(self, x: Word[Value], amount: Word[Value]) -> Word[Value]:
        """Return x * 2**amount (``amount`` unsigned), expanded by the largest amount that its word holds."""
        self._need_unsigned(amount)
        value, places = x.data, amount.data
        ends = [v << p for v in (value.least, value.largest) for p in (places.least, places.largest)]
        least, largest = min(ends), max(ends)
        bits = self._lane(least, largest)
        node = self.graph.node(Op.SHIFT_LEFT, (self._in_lane(value, bits), self._in_lane(places, bits)), bits)
        width = x.width + (1 << amount.width) - 1
        return Word(self._value(node, least, largest), width, x.signed, self)

    def conditional_negate(self, condition: Truth[Node], x: Word[Value]) -> Word[Value]:
        """Return -x where ``condition`` holds and x elsewhere, signed, in one bit more (unsigned word).

        Where two truths differ, it is (x ^ m) - m, of the word m of all ones or zeros: each of the two becomes a word
        of its own, which costs nothing where it is unpacked before they meet.
        """
        where, largest = condition.data, x.data.largest
        if where.op is not Op.XOR or any(p.is_constant for p in where.operands) or x.data.node.is_constant:
            return super().conditional_negate(condition, x)
        self._need_unsigned(x)
        bits = self._lane(-largest, largest)
        ones = self._ones_where(where, bits)
        inverted = self.graph.node(Op.XOR, (self._in_lane(x.data, bits), ones), bits)
        negated = self.graph.node(Op.SUBTRACT, (inverted, ones), bits)
        return Word(self._value(negated, -largest, largest), x.width + 1, True, self)

    def _ones_where(self, truth: Node, bits: int) -> Node:
        """Return the word of all ones where a truth holds, of zeros elsewhere."""
        if truth.op is Op.XOR and not any(p.is_constant for p in truth.operands):
            return self.graph.node(Op.XOR, [self._ones_where(p, bits) for p in truth.operands], bits)
        one = self.graph.node(Op.ZERO_EXTEND, (truth,), bits)
        return self.graph.node(Op.SUBTRACT, (self.graph.constant(0, bits), one), bits)

    # --- operations that lose bits, or claim that none are lost -------------------------------------------------

    def _at_most(self, amount: Value, most: int) -> Value:
        if amount.largest <= most:
            return amount
        if amount.least >= most:
            return self._number(most)
        bits = amount.node.bits
        node = self.graph.node(Op.MINIMUM, (amount.node, self.graph.constant(most, bits)), bits)
        return self._value(node, amount.least, most)

    def _moved_right(self, x: Value, amount: Value) -> tuple[Node, Node, Node]:
        """Return x in a lane in which a shift by the whole lane but one leaves no bit, the amount there, the result."""
        bits = max(self._lane(0, 2 * x.largest + 1), x.node.bits) if x.least >= 0 else x.node.bits
        node, places = self._in_lane(x, bits), self._at_most(amount, bits - 1)
        op = Op.SHIFT_RIGHT_SIGNED if x.least < 0 else Op.SHIFT_RIGHT
        by = self._in_lane(places, bits)
        return node, by, self.graph.node(op, (node, by), bits)

    def _shift_right(self, x: Value, width: int, signed: bool, amount: Value, amount_width: int) -> Value:
        if amount.node.is_constant:
            return self._dropped(x, amount.least)
        if x.least >= 0 and amount.largest >= x.node.bits:
            bits = x.node.bits
            moved = self.graph.node(
                Op.SHIFT_OUT, (x.node, self._in_lane(self._at_most(amount, mask(bits)), bits)), bits
            )
        else:
            _, _, moved = self._moved_right(x, amount)
        return self._moved_within(x, moved, width, amount)

    def _moved_within(self, x: Value, moved: Node, width: int, amount: Value) -> Value:
        low, high = (min(p, width) for p in (amount.least, amount.largest))
        least = x.least >> (low if x.least < 0 else high)
        largest = x.largest >> (high if x.largest < 0 else low)
        return self._within(self._value(moved, *_of_lane(moved, x.least < 0)), least, largest)

    def _dropped(self, x: Value, places: int) -> Value:
        """Return floor(x / 2**places)."""
        least, largest = x.least >> places, x.largest >> places
        if not places or least == largest:
            return x if not places else self._number(least)
        op = Op.SHIFT_RIGHT_SIGNED if x.least < 0 else Op.SHIFT_RIGHT
        bits = x.node.bits
        node = self.graph.node(op, (x.node, self.graph.constant(min(places, bits - 1), bits)), bits)
        return self._within(self._value(node, *_of_lane(node, x.least < 0)), least, largest)

    def drop_low(self, x: Word[Value], places: int) -> Word[Value]:
        """Return floor(x / 2**places), with signedness kept (places less than the width)."""
        if not places:
            return x
        return Word(self._dropped(x.data, places), x.width - places, x.signed, self)

    def _any_below(self, x: Value, width: int, amount: Value, amount_width: int) -> Node:
        if amount.node.is_constant:
            return self._not(self._equal(self._masked(x, mask(min(amount.least, width))), self._number(0)))
        whole, by, moved = self._moved_right(x, amount)
        back = self.graph.node(Op.SHIFT_LEFT, (moved, by), moved.bits)
        return self._not(self._truth_node(self.graph.node(Op.EQUAL, (back, whole), 1)))

    def shift_right_jam(self, x: Word[Value], amount: Word[Value]) -> Word[Value]:
        """Return ``x / 2**amount`` (unsigned both) with the lowest bit set if any lost bit was (round to odd)."""
        self._need_unsigned(x, amount)
        if amount.data.node.is_constant:
            moved = self._dropped(x.data, amount.data.least)
        else:
            # what was lost is seen by shifting back, which needs an amount below the width
            moved = self._moved_within(x.data, self._moved_right(x.data, amount.data)[2], x.width, amount.data)
        lost = self._bit(self._any_below(x.data, x.width, amount.data, amount.width))
        return Word(self._either(moved, lost), x.width, False, self)

    def _either(self, x: Value, y: Value) -> Value:
        """Return the bits of two numbers that are not negative."""
        for one, other in ((x, y), (y, x)):
            if one.node.is_constant and not one.least:
                return other
        largest = mask(max(x.largest.bit_length(), y.largest.bit_length()))
        return self._modular(Op.OR, x, y, max(x.least, y.least), largest)

    def _masked(self, x: Value, kept: int) -> Value:
        """Return the lowest bits of a number, ``kept`` being that many ones."""
        if x.least >= 0 and x.largest <= kept:
            return x
        largest = min(kept, x.largest) if x.least >= 0 else kept
        bits = max(x.node.bits, self._lane(0, kept)) if x.least < 0 else x.node.bits
        node = self.graph.node(Op.AND, (self._in_lane(x, bits), self.graph.constant(kept, bits)), bits)
        return self._within(self._value(node, 0, mask(bits)), 0, largest)

    def _normalise(self, x: Value, width: int) -> tuple[Value, Value]:
        all_ones = mask(self.places_width(width))
        if x.node.is_constant:
            by = width - x.least.bit_length()
            return self._number(x.least << by), self._number(by if x.least else all_ones)
        bits, narrow = self._lane(0, mask(width)), self._lane(0, x.largest)
        node, counted, surplus = self._in_lane(x, bits), self._in_lane(x, narrow), narrow - width
        nonzero = counted if x.least else self.graph.node(Op.OR, (counted, self.graph.constant(1, narrow)), narrow)
        least, last = width - x.largest.bit_length(), width - max(x.least.bit_length(), 1)
        count = self._value(self.graph.node(Op.LEADING_ZEROS, (nonzero,), narrow), least + surplus, last + surplus)
        places = self._subtract(count, self._number(surplus), 0)
        shifted = self.graph.node(Op.SHIFT_LEFT, (node, self._in_lane(places, bits)), bits)
        top = self._value(shifted, 1 << (width - 1) if x.least else 0, mask(width))
        if x.least:
            return top, places
        return top, self._ite(self._equal(x, self._number(0)), self._number(all_ones), places)

    def _concatenate(self, high: Value, low: Value, high_width: int, low_width: int) -> Value:
        return self._either(self._shift_left(high, low_width, high_width + low_width), low)

    def _extract(self, x: Value, width: int, high: int, low: int) -> Value:
        kept = mask(high - low + 1)
        return self._assumed_of(self._masked(self._dropped(x, low), kept))

    def _assumed_of(self, x: Value) -> Value:
        return x if x.node.is_constant else self._value(*x)

    def is_bit_set(self, x: Word[Value], position: int) -> Truth[Node]:
        """Return whether the bit at ``position`` (0 the lowest) is one."""
        value = x.data
        if (
            value.node.is_constant
            or position >= value.node.bits
            or (value.least >= 0 and value.largest >> position <= 1)
        ):
            return super().is_bit_set(x, position)
        bits = value.node.bits
        alone = self.graph.node(Op.AND, (value.node, self.graph.constant(1 << position, bits)), bits)
        return Truth(self._not(self._equal(Value(alone, 0, mask(bits)), self._number(0))), self)

    def _to_signed(self, x: Value, width: int) -> Value:
        half = 1 << (width - 1)
        if x.largest < half:
            return x
        return self._sign_of(x, width)

    def _sign_of(self, x: Value, width: int) -> Value:
        """Return the lowest ``width`` bits of a number, read in two's complement."""
        if x.node.is_constant:
            return self._number(signed(x.least & mask(width), width))
        half = 1 << (width - 1)
        bits = self._lane(-half, half - 1)
        node, spare = self._in_lane(x, bits), bits - width
        if spare:
            by = self.graph.constant(spare, bits)
            node = self.graph.node(Op.SHIFT_LEFT, (node, by), bits)
            node = self.graph.node(Op.SHIFT_RIGHT_SIGNED, (node, by), bits)
        return self._value(node, -half, half - 1)

    def _narrow(self, x: Value, width: int, to_width: int, signed: bool) -> Value:
        half = 1 << (to_width - 1)
        return self._within(x, *((-half, half - 1) if signed else (0, mask(to_width))))

    def _add_up(self, xs: list[Value], widths: list[int], width: int, wraps: bool) -> Value:
        half = 1 << (width - 1)
        if wraps and not -half <= sum(x.least for x in xs) <= sum(x.largest for x in xs) < half:
            bits = self._lane(-half, half - 1)
            nodes = [self._in_lane(x, bits) for x in xs]
            while len(nodes) > 1:
                pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
                nodes = [self.graph.node(Op.ADD, pair, bits) if len(pair) > 1 else pair[0] for pair in pairs]
            return self._sign_of(self._value(nodes[0], *_of_lane(nodes[0], True)), width)
        level = list(xs)
        while len(level) > 1:
            pairs_ = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self._add(*pair) if len(pair) > 1 else pair[0] for pair in pairs_]
        return level[0] if wraps else self._within(level[0], -half, half - 1)

    def compressed_sum(self, words: list[Word[Value]], width: int) -> Word[Value]:  # type: ignore[override]
        """Return ``modular_sum``, which is the same number; how hardware adds it is of no interest here."""
        return self.modular_sum(words, width)

    def _compress(self, x: Value, y: Value, z: Value, width: int) -> tuple[Value, Value]:
        raise NotImplementedError("compressed_sum compresses nothing here")

    # --- patterns of bits -------------------------------------------------------------------------------------

    @property
    def handy_width(self) -> int:
        """The widest words that one register of a machine holds."""
        return LANES[1]

    def known_value(self, x: Word[Value]) -> int | None:
        """Return the pattern of a constant, None for any other node."""
        return x.data.least & mask(x.width) if x.data.node.is_constant else None

    def _to_pattern(self, x: Value, width: int) -> Value:
        return self._masked(x, mask(width))

    def _bitwise_and(self, x: Value, y: Value) -> Value:
        if x == y:
            return x
        for one, other in ((x, y), (y, x)):
            if one.node.is_constant and one.least == mask(other.largest.bit_length()):
                return other
        return self._modular(Op.AND, x, y, 0, min(x.largest, y.largest))

    def _bitwise_or(self, x: Value, y: Value) -> Value:
        return self._either(x, y)

    def _bitwise_xor(self, x: Value, y: Value) -> Value:
        for one, other in ((x, y), (y, x)):
            if one.node.is_constant and not one.least:
                return other
        return self._modular(Op.XOR, x, y, 0, mask(max(x.largest.bit_length(), y.largest.bit_length())))

    def _complement(self, x: Value, width: int) -> Value:
        ones = mask(width)
        return self._modular(Op.XOR, x, self._number(ones), ones - x.largest, ones - x.least)

    def _wrapped_sum(self, x: Value, y: Value, width: int) -> Value:
        if x.largest + y.largest <= mask(width):
            return self._add(x, y)
        return self._wrapped(Op.ADD, x, y, width)

    def _wrapped_difference(self, x: Value, y: Value, width: int) -> Value:
        if x.least >= y.largest:
            return self._subtract(x, y, width)
        return self._wrapped(Op.SUBTRACT, x, y, width)

    def _wrapped_product(self, x: Value, y: Value, width: int) -> Value:
        if x.largest * y.largest <= mask(width):
            return self._multiply(x, y)
        return self._wrapped(Op.MULTIPLY, x, y, width)

    def _wrapped(self, op: Op, x: Value, y: Value, width: int) -> Value:
        """Return x op y modulo 2**width, of an operation that is exact modulo any power of two."""
        bits = self._lane(0, mask(width))
        return self._masked(self._modular(op, x, y, 0, mask(bits)), mask(width))

    def _shift_left_within(self, x: Value, width: int, amount: Value, amount_width: int) -> Value:
        if amount.least >= width:
            return self._number(0)
        # a largest number that loses bits says nothing about the others
        largest = min(x.largest << min(amount.largest, width), mask(width))
        bits = self._lane(0, mask(width))
        places = self._at_most(amount, bits - 1)
        node = self.graph.node(Op.SHIFT_LEFT, (self._in_lane(x, bits), self._in_lane(places, bits)), bits)
        moved = self._within(self._masked(self._value(node, 0, mask(bits)), mask(width)), 0, largest)
        if width < bits or amount.largest < bits:
            return moved
        # a shift by the whole lane has no meaning in a graph, and here it leaves nothing
        return self._chosen(self._less(amount, self._number(width), False), moved, self._number(0))

    def _divide(self, x: Value, y: Value, width: int) -> tuple[Value, Value]:
        """Divide as by hand, a bit of the quotient after the other."""
        quotient = rest = self._number(0)
        for position in reversed(range(width)):
            bit = self._masked(self._dropped(x, position), 1)
            rest = self._concatenate(rest, bit, width, 1)
            fits = self._not(self._less(rest, y, False))
            quotient = self._concatenate(quotient, self._bit(fits), width, 1)
            rest = self._within(self._ite(fits, self._subtract(rest, y, width), rest), 0, mask(width))
        zero = self._equal(y, self._number(0))
        return self._chosen(zero, self._number(mask(width)), quotient), self._chosen(zero, x, rest)

    def _chosen(self, condition: Node, x: Value, y: Value) -> Value:
        known = self._known(condition)
        return self._ite(condition, x, y) if known is None else (x if known else y)

    # --- comparison and choice ------------------------------------------------------------------------------

    def _compared(self, op: Op, op_signed: Op, x: Value, y: Value) -> Node:
        least = min(x.least, y.least)
        bits = self._lane(least, max(x.largest, y.largest))
        operands = (self._in_lane(x, bits), self._in_lane(y, bits))
        return self._truth_node(self.graph.node(op_signed if least < 0 else op, operands, 1))

    def _equal(self, x: Value, y: Value) -> Node:
        if x.largest < y.least or y.largest < x.least:
            return self._truth(False)
        return self._compared(Op.EQUAL, Op.EQUAL, x, y)

    def _less(self, x: Value, y: Value, signed: bool) -> Node:
        if x.largest < y.least or x.least >= y.largest:
            return self._truth(x.largest < y.least)
        return self._compared(Op.LESS, Op.LESS_SIGNED, x, y)

    def _ite(self, condition: Node, x: Value, y: Value) -> Value:
        if x == y:
            return x
        if (x.least, x.largest, y.least, y.largest) in ((1, 1, 0, 0), (0, 0, 1, 1)):
            return self._bit(condition if x.least else self._not(condition))
        for apart in (self._sum_unless, self._positive_part, self._negative_part):
            if (found := apart(condition, x, y)) is not None:
                return found
        least, largest = min(x.least, y.least), max(x.largest, y.largest)
        bits = self._lane(least, largest)
        node = self.graph.node(Op.SELECT, (condition, self._in_lane(x, bits), self._in_lane(y, bits)), bits)
        return self._value(node, least, largest)

    def _positive_part(self, condition: Node, x: Value, y: Value) -> Value | None:
        """Return max(y, 0) where that is what is chosen: 0 where y < 0, and y elsewhere."""
        if not _is_negative(condition, y.node) or not _is_zero(x):
            return None
        return self._maximum(y, x, True)

    def _negative_part(self, condition: Node, x: Value, y: Value) -> Value | None:
        """Return max(z, 0) - z where that is what is chosen: -z = x where z < 0, and 0 elsewhere."""
        node = x.node
        if node.op is not Op.SUBTRACT or not _is_zero(y) or not _is_negative(condition, node.operands[1]):
            return None
        if not (node.operands[0].is_constant and node.operands[0].value == 0):
            return None
        z = Value(node.operands[1], -x.largest, -x.least)
        return self._within(self._subtract(self._maximum(z, y, True), z, 0), 0, max(x.largest, 0))

    def _sum_unless(self, condition: Node, otherwise: Value, total: Value) -> Value | None:
        """Return a sum of two values, ``otherwise`` where one of two conditions holds; None where that is not faster.

        Where the sum is at least ``otherwise``, each value becomes so low where its own condition holds that the
        largest of the sum and ``otherwise`` is the choice. Each value with its condition is of one operand, where they
        are unpacked before they meet, and no condition is left for the sum.
        """
        if condition.op is not Op.OR or total.node not in self._summands or not otherwise.node.is_constant:
            return None
        summands, limit = self._summands[total.node], otherwise.least
        conditions = sorted(condition.operands, key=lambda x: self._operand(x) != self._operand(summands[0].node))
        operands = [self._operand(x) for x in (*conditions, *(x.node for x in summands))]
        if None in operands or operands[:2] != operands[2:] or operands[0] == operands[1]:
            return None
        if sum(x.least for x in summands) < limit:
            return None
        low = self._number(min(limit - max(x.largest for x in summands), limit // 2))
        lowered = [self._ite(where, low, x) for where, x in zip(conditions, summands, strict=True)]
        return self._within(self._maximum(self._add(*lowered), otherwise, True), limit, max(limit, total.largest))

    def _operand(self, node: Node) -> str | None:
        """Return the letter of the one operand that a node is computed from: None where there are several, or none."""
        letters = {x.name.rstrip("0123456789") for x in needed([node]) if x.op is Op.INPUT}
        return letters.pop() if len(letters) == 1 else None

    def _maximum(self, x: Value, y: Value, signed: bool) -> Value:
        for one, other in ((x, y), (y, x)):
            if one.least >= other.largest:
                return one
        least, largest = max(x.least, y.least), max(x.largest, y.largest)
        lowest = min(x.least, y.least)
        bits = self._lane(lowest, largest)
        op = Op.MAXIMUM_SIGNED if lowest < 0 else Op.MAXIMUM
        node = self.graph.node(op, (self._in_lane(x, bits), self._in_lane(y, bits)), bits)
        return self._value(node, least, largest)

    def _not(self, x: Node) -> Node:
        if (negated := _negated(x)) is not None:
            return negated
        return self._truth_node(self.graph.node(Op.XOR, (self.graph.constant(1, 1), x), 1))

    def _xor(self, x: Node, y: Node) -> Node:
        for one, other in ((x, y), (y, x)):
            if one.is_constant:
                return self._not(other) if one.value else other
        return self._truth_node(self.graph.node(Op.XOR, (x, y), 1))

    # --- names ----------------------------------------------------------------------------------------------

    def signal(self, name: Signal, x: Word[Value], bounds: tuple[int, int] | None = None) -> Word[Value]:
        """Return ``x``, which lies within ``bounds``."""
        return x if bounds is None else Word(self._within(x.data, *bounds), x.width, x.signed, self)


def _negated(truth: Node) -> Node | None:
    """Return what a truth is the negation of; None where it is none."""
    return truth.operands[1] if truth.op is Op.XOR and truth.operands[0].is_constant else None


def _is_zero(x: Value) -> bool:
    return x.node.is_constant and x.least == 0


def _is_negative(condition: Node, node: Node) -> bool:
    """Return whether a truth is that a word is negative."""
    return (
        condition.op is Op.LESS_SIGNED
        and condition.operands[0] is node
        and condition.operands[1].value == 0
        and condition.operands[1].is_constant
    )


def _of_lane(node: Node, is_signed: bool) -> tuple[int, int]:
    """Return the least and the largest number that a node's lane holds."""
    half = 1 << (node.bits - 1)
    return (-half, half - 1) if is_signed else (0, mask(node.bits))


class WideCodeAlgebra(CodeAlgebra):
    """The interpretation of ``CodeAlgebra`` with words of 32 bits, 64, 128, and so on, as wide as a number needs."""

    def _lane(self, least: int, largest: int) -> int:
        bits = LANES[0]
        while not fits(bits, least, largest):
            bits *= 2
        return bits
