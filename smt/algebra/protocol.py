"""The algebra that the semantics of a unit is written over: fixed-width words and truth values.

A ``Word`` is a bit-vector of a stated width, read as unsigned or as two's complement. The name of an operation says
what happens to the extra bits: ``add``, ``subtract``, ``multiply``, ``negate``, ``shift_left`` and ``extend`` expand,
so that nothing is lost; the ones that lose bits say so (``modular_sum``, ``shift_right``, ``extract``); and those that
claim that nothing is lost (``narrow``, ``bounded_sum``) are checked by the integer interpretation. Words write the
expanding operations and the comparisons as operators.

There is no branch on data: ``ite`` chooses, and a ``Truth`` raises when it is used as a bool. Widths and
signedness are Python values and are decided here, once, for every interpretation; an interpretation supplies
the primitives below, whose arguments already have the right width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic

from mmaproof.smt.algebra.words import D, Signal, T, Truth, Word, ite

__all__ = ["Algebra", "D", "T", "Truth", "Word", "ite"]


class Algebra(ABC, Generic[D, T]):
    """Operations on words and truth values, with their width rules; see the module text."""

    on_net: Callable[[str, Word[D]], Word[D]] | None = None
    """what is called with the name of every net of a netlist and its word, and returns the word that replaces it"""

    # --- words from outside ---------------------------------------------------------------------------------

    def unsigned(self, value: int, width: int) -> Word[D]:
        """Return the constant ``value`` as an unsigned word."""
        if not 0 <= value < 1 << width:
            raise OverflowError(f"{value} does not fit {width} unsigned bits")
        return Word(self._constant(value, width), width, False, self)

    def signed(self, value: int, width: int | None = None) -> Word[D]:
        """Return the constant ``value`` as a two's complement word (of the least width by default)."""
        least = (value if value >= 0 else ~value).bit_length() + 1
        width = width or least
        if width < least:
            raise OverflowError(f"{value} does not fit {width} signed bits")
        return Word(self._constant(value, width), width, True, self)

    def truth(self, value: bool) -> Truth[T]:
        """Return a constant truth value."""
        return Truth(self._truth(value), self)

    # --- expanding arithmetic -------------------------------------------------------------------------------

    def extend(self, x: Word[D], width: int) -> Word[D]:
        """Return the same value in at least as many bits."""
        if width == x.width:
            return x
        if width < x.width:
            raise ValueError(f"extend from {x.width} to {width} bits would lose bits")
        return Word(self._extend(x.data, x.width, width, x.signed), width, x.signed, self)

    def as_signed(self, x: Word[D]) -> Word[D]:
        """Return an unsigned value as a two's complement word of one more bit."""
        if x.signed:
            return x
        return Word(self._extend(x.data, x.width, x.width + 1, False), x.width + 1, True, self)

    def add(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x + y in one bit more than the wider one."""
        x, y = self._alike(x, y, extra=1)
        return Word(self._add(x.data, y.data), x.width, x.signed, self)

    def subtract(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x - y, signed, in one bit more than the wider one."""
        x, y = self._alike(x, y, extra=1)
        return Word(self._subtract(x.data, y.data, x.width), x.width, True, self)

    def negate(self, x: Word[D]) -> Word[D]:
        """Return -x, signed, in one bit more."""
        wide = self.extend(x, x.width + 1)
        return Word(self._negate(wide.data, wide.width), wide.width, True, self)

    def multiply(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x * y in the sum of the two widths (unsigned words)."""
        self._need_unsigned(x, y)
        width = x.width + y.width
        return Word(self._multiply(self.extend(x, width).data, self.extend(y, width).data), width, False, self)

    def multiply_signed(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x * y of two signed words in the sum of the two widths."""
        if not x.signed or not y.signed:
            raise TypeError("signed words are needed here")
        width = x.width + y.width
        return Word(self._multiply(self.extend(x, width).data, self.extend(y, width).data), width, True, self)

    def twos_complement(self, x: Word[D]) -> Word[D]:
        """Return an unsigned pattern read as a two's complement word of the same width."""
        self._need_unsigned(x)
        return Word(self._to_signed(x.data, x.width), x.width, True, self)

    def shift_left(self, x: Word[D], places: int) -> Word[D]:
        """Return x * 2**places in ``places`` bits more."""
        if not places:
            return x
        wide = self.extend(x, x.width + places)
        return Word(self._shift_left(wide.data, places, wide.width), wide.width, x.signed, self)

    def shift_left_by(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return x * 2**amount (``amount`` unsigned), expanded by the largest amount that its word holds."""
        self._need_unsigned(amount)
        for position in range(amount.width):
            x = self.ite(self.is_bit_set(amount, position), self.shift_left(x, 1 << position), x)
        return x

    def concatenate(self, high: Word[D], low: Word[D]) -> Word[D]:
        """Return the bits of ``high`` above those of ``low`` (unsigned words)."""
        self._need_unsigned(high, low)
        width = high.width + low.width
        return Word(self._concatenate(high.data, low.data, high.width, low.width), width, False, self)

    def magnitude(self, x: Word[D]) -> Word[D]:
        """Return |x| of a signed word as an unsigned one of the same width (the most negative value fits)."""
        if not x.signed:
            return x
        negative = self._less(x.data, self._constant(0, x.width), True)
        return Word(self._magnitude(x.data, negative, x.width), x.width, False, self)

    # --- operations that lose bits, or claim that none are lost ---------------------------------------------

    def extract(self, x: Word[D], high: int, low: int) -> Word[D]:
        """Return bits ``high`` to ``low`` (both included, 0 the lowest) as an unsigned word."""
        if not 0 <= low <= high < x.width:
            raise ValueError(f"bits {high}..{low} of a word of {x.width} bits")
        if low == 0 and high == x.width - 1 and not x.signed:
            return x
        return Word(self._extract(x.data, x.width, high, low), high - low + 1, False, self)

    def drop_low(self, x: Word[D], places: int) -> Word[D]:
        """Return floor(x / 2**places), with signedness kept (places less than the width)."""
        if not places:
            return x
        part = self._extract(x.data, x.width, x.width - 1, places)
        width = x.width - places
        return Word(self._to_signed(part, width) if x.signed else part, width, x.signed, self)

    def shift_right(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return floor(x / 2**amount) for an unsigned ``amount`` of any size; low bits are lost."""
        self._need_unsigned(amount)
        return Word(self._shift_right(x.data, x.width, x.signed, amount.data, amount.width), x.width, x.signed, self)

    def shift_right_jam(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return ``x / 2**amount`` (unsigned both) with the lowest bit set if any lost bit was (round to odd)."""
        moved = self.shift_right(x, amount)
        lost = Truth(self._any_below(x.data, x.width, amount.data, amount.width), self)
        odd = self.unsigned(1, 1) if x.width == 1 else self.concatenate(self.drop_low(moved, 1), self.unsigned(1, 1))
        return self.ite(lost, odd, moved)

    def normalise(self, x: Word[D]) -> tuple[Word[D], Word[D]]:
        """Return the unsigned ``x`` shifted left until its top bit is set, and the number of places (unsigned).

        Zero stays zero; its number of places is all ones and means nothing.
        """
        self._need_unsigned(x)
        shifted, places = self._normalise(x.data, x.width)
        return Word(shifted, x.width, False, self), Word(places, self.places_width(x.width), False, self)

    @staticmethod
    def places_width(width: int) -> int:
        """Return the width of the number of places by which a word of ``width`` bits is normalised."""
        return max((width - 1).bit_length(), 1)

    def narrow(self, x: Word[D], width: int) -> Word[D]:
        """Return the same value in fewer bits; that it fits is claimed by the caller."""
        if width >= x.width:
            return self.extend(x, width)
        return Word(self._narrow(x.data, x.width, width, x.signed), width, x.signed, self)

    def narrow_to_unsigned(self, x: Word[D], width: int) -> Word[D]:
        """Return a signed value, claimed to be >= 0 and to fit, as an unsigned word of ``width`` bits."""
        if width >= x.width:
            x = self.extend(x, width + 1)
        return Word(self._narrow(x.data, x.width, width, False), width, False, self)

    def bounded_sum(self, words: Sequence[Word[D]], width: int) -> Word[D]:
        """Return the sum of signed words in ``width`` bits; that it fits is claimed by the caller."""
        return self._sum(words, width, wraps=False)

    def modular_sum(self, words: Sequence[Word[D]], width: int) -> Word[D]:
        """Return the sum of signed words as a two's complement register of ``width`` bits holds it."""
        return self._sum(words, width, wraps=True)

    def compressed_sum(self, words: Sequence[Word[D]], width: int) -> Word[D]:
        """Return the same as ``modular_sum``, by carry-save addition.

        Each compressor takes three words to the bits of their sum and the carries between them, in a tree until two
        words are left, which are added.
        """
        level = [self.modular_sum([w], width) for w in words]
        while len(level) > 2:
            threes = [level[i : i + 3] for i in range(0, len(level), 3)]
            level = []
            for three in threes:
                if len(three) < 3:
                    level += three
                    continue
                x, y, z = (w.data for w in three)
                level += [Word(kept, width, True, self) for kept in self._compress(x, y, z, width)]
        return self.modular_sum(level, width)

    # --- unsigned words of one width as patterns of bits, which a netlist computes with -----------------------

    def bitwise_and(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return the bits that are set in both of two words of one width."""
        return Word(self._bitwise_and(x.data, y.data), self._one_width(x, y), False, self)

    def bitwise_or(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return the bits that are set in one of two words of one width."""
        return Word(self._bitwise_or(x.data, y.data), self._one_width(x, y), False, self)

    def bitwise_xor(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return the bits in which two words of one width differ."""
        return Word(self._bitwise_xor(x.data, y.data), self._one_width(x, y), False, self)

    def complement(self, x: Word[D]) -> Word[D]:
        """Return the word whose bits are those of ``x`` inverted."""
        return Word(self._complement(x.data, x.width), self._one_width(x), False, self)

    def wrapped_sum(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x + y modulo 2**width of two words of one width."""
        return Word(self._wrapped_sum(x.data, y.data, x.width), self._one_width(x, y), False, self)

    def wrapped_difference(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x - y modulo 2**width of two words of one width."""
        return Word(self._wrapped_difference(x.data, y.data, x.width), self._one_width(x, y), False, self)

    def wrapped_product(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x * y modulo 2**width of two words of one width."""
        return Word(self._wrapped_product(x.data, y.data, x.width), self._one_width(x, y), False, self)

    def shift_left_within(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return x * 2**amount modulo 2**width for an unsigned ``amount`` of any size and width."""
        self._need_unsigned(x, amount)
        return Word(self._shift_left_within(x.data, x.width, amount.data, amount.width), x.width, False, self)

    def shift_right_within(self, x: Word[D], amount: Word[D]) -> Word[D]:
        """Return the pattern ``x`` shifted right by ``amount``, copies of its top bit coming in."""
        self._need_unsigned(x, amount)
        moved = self._shift_right(self._to_signed(x.data, x.width), x.width, True, amount.data, amount.width)
        return Word(self._to_pattern(moved, x.width), x.width, False, self)

    def pattern(self, x: Word[D]) -> Word[D]:
        """Return the bits of a word as an unsigned one of the same width."""
        return Word(self._to_pattern(x.data, x.width), x.width, False, self) if x.signed else x

    def quotient(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return floor(x / y) of two words of one width; all ones where y is zero (SMT-LIB's bvudiv)."""
        return Word(self._divide(x.data, y.data, x.width)[0], self._one_width(x, y), False, self)

    def remainder(self, x: Word[D], y: Word[D]) -> Word[D]:
        """Return x - y * floor(x / y) of two words of one width; x where y is zero (SMT-LIB's bvurem)."""
        return Word(self._divide(x.data, y.data, x.width)[1], self._one_width(x, y), False, self)

    def unknown(self, name: str, width: int) -> Word[D]:
        """Return an unsigned word that may have any value.

        Terms have a variable for it, another one in each run of the semantics (``begin``). Integers take the value that
        is stated for it. Other interpretations take zero.
        """
        return self.unsigned(0, width)

    def unknown_name(self, name: str, width: int) -> str:
        """Return the name of such a word in this run."""
        return f"unknown.{self._runs}.{name}:{width}"

    def known_truth(self, x: Truth[T]) -> bool | None:
        """Return a truth value that is the same for all data, None where it is not known."""
        return self._known(x.data)

    def known_value(self, x: Word[D]) -> int | None:
        """Return the pattern of a word that is the same for all data, None where it is not known."""
        return None

    @property
    def handy_width(self) -> int | None:
        """The widest words that are computed fast. What is done bit by bit may be done in such parts; None: any."""
        return None

    # --- comparison and choice ------------------------------------------------------------------------------

    def equal(self, x: Word[D], y: Word[D]) -> Truth[T]:
        """Return x = y (words of the same signedness)."""
        x, y = self._alike(x, y)
        return Truth(self._equal(x.data, y.data), self)

    def less(self, x: Word[D], y: Word[D]) -> Truth[T]:
        """Return x < y (words of the same signedness)."""
        x, y = self._alike(x, y)
        return Truth(self._less(x.data, y.data, x.signed), self)

    def is_value(self, x: Word[D], value: int) -> Truth[T]:
        """Return x = value for a constant that fits the word."""
        constant = self.signed(value, x.width) if x.signed else self.unsigned(value, x.width)
        return Truth(self._equal(x.data, constant.data), self)

    def is_bit_set(self, x: Word[D], position: int) -> Truth[T]:
        """Return whether the bit at ``position`` (0 the lowest) is one."""
        return self.is_value(self.extract(x, position, position), 1)

    def ite(self, condition: Truth[T], x: Word[D], y: Word[D]) -> Word[D]:
        """Return x where ``condition`` holds and y elsewhere, in the wider one's width."""
        known = self._known(condition.data)
        x, y = self._alike(x, y)
        if known is not None:
            return x if known else y
        return Word(self._ite(condition.data, x.data, y.data), x.width, x.signed, self)

    def maximum(self, words: Sequence[Word[D]]) -> Word[D]:
        """Return the largest of one or more words of the same signedness, in the widest one's width."""
        if len(words) == 1:
            return words[0]
        half = len(words) // 2
        x, y = self._alike(self.maximum(words[:half]), self.maximum(words[half:]))
        return Word(self._maximum(x.data, y.data, x.signed), x.width, x.signed, self)

    def maximum_in_turn(self, words: Sequence[Word[D]]) -> Word[D]:
        """Return the same as ``maximum``, one comparison after the other."""
        largest = words[0]
        for word in words[1:]:
            x, y = self._alike(largest, word)
            largest = Word(self._maximum(x.data, y.data, x.signed), x.width, x.signed, self)
        return largest

    def conditional_negate(self, condition: Truth[T], x: Word[D]) -> Word[D]:
        """Return -x where ``condition`` holds and x elsewhere, signed, in one bit more (unsigned word)."""
        self._need_unsigned(x)
        return self.ite(condition, self.negate(x), self.as_signed(x))

    # --- names ----------------------------------------------------------------------------------------------

    _runs = 0

    def begin(self) -> None:
        """Note that the next signals, and words that may have any value, are those of another run of the semantics."""
        self._runs += 1

    def signal(self, name: Signal, x: Word[D], bounds: tuple[int, int] | None = None) -> Word[D]:
        """Return ``x``, which one stage hands to the next under this name; an interpretation may cut there.

        ``bounds`` are the least and the largest value that it has.
        """
        return x

    def signal_truth(self, name: Signal, x: Truth[T], observable: Callable[[], Truth[T]] | None = None) -> Truth[T]:
        """Return the truth value ``x``, which one stage hands to the next under this name.

        Where ``observable`` does not hold, ``x`` has no effect on what follows. Only interpretations that need to know
        compute it.
        """
        return x

    # --- invariants -----------------------------------------------------------------------------------------

    def check(self, of: object, invariant: Callable[..., Truth[T]], *arguments: object) -> None:
        """Note that ``invariant(*arguments)`` always holds of a value.

        Only integers that were asked to compute it do (see ``IntegerAlgebra``); nobody else pays for it.
        """

    # --- truth values ---------------------------------------------------------------------------------------

    def all_of(self, truths: Sequence[Truth[T]]) -> Truth[T]:
        """Return the conjunction (true for none)."""
        return self._junction(truths, neutral=True)

    def any_of(self, truths: Sequence[Truth[T]]) -> Truth[T]:
        """Return the disjunction (false for none)."""
        return self._junction(truths, neutral=False)

    def both(self, x: Truth[T], y: Truth[T]) -> Truth[T]:
        """Return ``all_of`` the two."""
        known = self._known(x.data)
        if known is not None:
            return y if known else x
        known = self._known(y.data)
        if known is not None:
            return x if known else y
        return Truth(self._and([x.data, y.data]), self)

    def either(self, x: Truth[T], y: Truth[T]) -> Truth[T]:
        """Return ``any_of`` the two."""
        known = self._known(x.data)
        if known is not None:
            return x if known else y
        known = self._known(y.data)
        if known is not None:
            return y if known else x
        return Truth(self._or([x.data, y.data]), self)

    def negation(self, x: Truth[T]) -> Truth[T]:
        """Return not x."""
        known = self._known(x.data)
        return Truth(self._not(x.data), self) if known is None else self.truth(not known)

    def exclusive_or(self, x: Truth[T], y: Truth[T]) -> Truth[T]:
        """Return whether exactly one of the two holds."""
        return Truth(self._xor(x.data, y.data), self)

    def _junction(self, truths: Sequence[Truth[T]], neutral: bool) -> Truth[T]:
        open_truths = []
        for x in truths:
            known = self._known(x.data)
            if known is None:
                open_truths.append(x.data)
            elif known is not neutral:
                return x
        if not open_truths:
            return truths[0] if truths else self.truth(neutral)
        return Truth(self._and(open_truths) if neutral else self._or(open_truths), self)

    # --- helpers of the width rules -------------------------------------------------------------------------

    def _alike(self, x: Word[D], y: Word[D], extra: int = 0) -> tuple[Word[D], Word[D]]:
        if x.signed is not y.signed:
            raise TypeError("a signed word meets an unsigned one: say as_signed")
        if x.width == y.width and not extra:
            return x, y
        width = max(x.width, y.width) + extra
        return self.extend(x, width), self.extend(y, width)

    @staticmethod
    def _need_unsigned(*words: Word[D]) -> None:
        if any(w.signed for w in words):
            raise TypeError("unsigned words are needed here")

    def _one_width(self, x: Word[D], *others: Word[D]) -> int:
        self._need_unsigned(x, *others)
        for other in others:
            if other.width != x.width:
                raise ValueError(f"words of {x.width} and {other.width} bits: one width is needed here")
        return x.width

    def _sum(self, words: Sequence[Word[D]], width: int, wraps: bool) -> Word[D]:
        if not all(w.signed for w in words):
            raise TypeError("a sum is of signed words")
        return Word(self._add_up([w.data for w in words], [w.width for w in words], width, wraps), width, True, self)

    # --- primitives of an interpretation --------------------------------------------------------------------

    @abstractmethod
    def _constant(self, value: int, width: int) -> D: ...

    @abstractmethod
    def _truth(self, value: bool) -> T: ...

    @abstractmethod
    def _known(self, x: T) -> bool | None:
        """Return the value of a truth that is the same for all data, None where it is not known."""

    @abstractmethod
    def _extend(self, x: D, width: int, to_width: int, signed: bool) -> D: ...

    @abstractmethod
    def _add(self, x: D, y: D) -> D: ...

    @abstractmethod
    def _subtract(self, x: D, y: D, width: int) -> D: ...

    @abstractmethod
    def _negate(self, x: D, width: int) -> D: ...

    @abstractmethod
    def _magnitude(self, x: D, negative: T, width: int) -> D: ...

    @abstractmethod
    def _multiply(self, x: D, y: D) -> D: ...

    @abstractmethod
    def _shift_left(self, x: D, places: int, width: int) -> D: ...

    @abstractmethod
    def _shift_right(self, x: D, width: int, signed: bool, amount: D, amount_width: int) -> D: ...

    @abstractmethod
    def _any_below(self, x: D, width: int, amount: D, amount_width: int) -> T:
        """Return whether any of the ``amount`` lowest bits of an unsigned word is one."""

    @abstractmethod
    def _normalise(self, x: D, width: int) -> tuple[D, D]: ...

    @abstractmethod
    def _concatenate(self, high: D, low: D, high_width: int, low_width: int) -> D: ...

    @abstractmethod
    def _extract(self, x: D, width: int, high: int, low: int) -> D: ...

    @abstractmethod
    def _to_signed(self, x: D, width: int) -> D:
        """Read an unsigned pattern of ``width`` bits as two's complement."""

    @abstractmethod
    def _narrow(self, x: D, width: int, to_width: int, signed: bool) -> D: ...

    @abstractmethod
    def _add_up(self, xs: list[D], widths: list[int], width: int, wraps: bool) -> D: ...

    @abstractmethod
    def _compress(self, x: D, y: D, z: D, width: int) -> tuple[D, D]:
        """Return, of three signed words, bit by bit the lower bit of the sum, and the upper one moved up a place."""

    @abstractmethod
    def _to_pattern(self, x: D, width: int) -> D:
        """Read a signed word of ``width`` bits as an unsigned pattern."""

    @abstractmethod
    def _bitwise_and(self, x: D, y: D) -> D: ...

    @abstractmethod
    def _bitwise_or(self, x: D, y: D) -> D: ...

    @abstractmethod
    def _bitwise_xor(self, x: D, y: D) -> D: ...

    @abstractmethod
    def _complement(self, x: D, width: int) -> D: ...

    @abstractmethod
    def _wrapped_sum(self, x: D, y: D, width: int) -> D: ...

    @abstractmethod
    def _wrapped_difference(self, x: D, y: D, width: int) -> D: ...

    @abstractmethod
    def _wrapped_product(self, x: D, y: D, width: int) -> D: ...

    @abstractmethod
    def _shift_left_within(self, x: D, width: int, amount: D, amount_width: int) -> D: ...

    @abstractmethod
    def _divide(self, x: D, y: D, width: int) -> tuple[D, D]:
        """Return quotient and remainder of unsigned words of one width; see ``quotient`` and ``remainder``."""

    @abstractmethod
    def _equal(self, x: D, y: D) -> T: ...

    @abstractmethod
    def _less(self, x: D, y: D, signed: bool) -> T: ...

    @abstractmethod
    def _ite(self, condition: T, x: D, y: D) -> D: ...

    @abstractmethod
    def _maximum(self, x: D, y: D, signed: bool) -> D: ...

    @abstractmethod
    def _not(self, x: T) -> T: ...

    @abstractmethod
    def _and(self, xs: list[T]) -> T: ...

    @abstractmethod
    def _or(self, xs: list[T]) -> T: ...

    @abstractmethod
    def _xor(self, x: T, y: T) -> T: ...
