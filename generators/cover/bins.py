"""Bins: the conditions under which the events of a datapath are hit, collected from the steps of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Generic

from mmaproof.designs.conversions import Conversion
from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.datapath import Addend, Label, Partial, is_of_products
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.integer_step import integer_range
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.semantics.terms import Term


@dataclass(frozen=True, slots=True)
class Bin:
    """One value of an event. ``of_step`` says that it is about any single step and not about the order of several."""

    event: str
    value: str
    of_step: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{self.event}: {self.value}"


class Bins(Generic[D, T]):
    """The bins of one run in order. A condition is computed only if it is asked for.

    ``unasked`` says which events of the design have no bins; it is empty if there are none.
    """

    def __init__(self, algebra: Algebra[D, T]) -> None:
        self.algebra, self.unasked = algebra, ""
        self._conditions: dict[Bin, list[tuple[Truth[T], Callable[[], Truth[T]]]]] = {}

    def __iter__(self) -> Iterator[Bin]:
        return iter(self._conditions)

    def add(
        self, event: str, value: str, given: Truth[T], condition: Callable[[], Truth[T]], *, of_step: bool = True
    ) -> None:
        """Add a condition for a bin: it is hit if both truth values hold. A bin may have several conditions."""
        self._conditions.setdefault(Bin(event, value, of_step), []).append((given, condition))

    def hit(self, wanted: Bin) -> Truth[T]:
        """Return whether a bin is hit. A bin that this run does not have is never hit."""
        conditions = self._conditions.get(wanted, [])
        return self.algebra.any_of([self.algebra.all_of([given, holds()]) for given, holds in conditions])


def is_number(algebra: Algebra[D, T], x: Word[D], value: int) -> Truth[T]:
    """Return whether a word has a value that is not negative, which may be too large for it."""
    if value.bit_length() + x.signed > x.width:
        return algebra.truth(False)
    return algebra.is_value(x, value)


def is_nonzero(algebra: Algebra[D, T], x: Word[D]) -> Truth[T]:
    """Return whether a word is not zero."""
    return algebra.negation(algebra.is_value(x, 0))


@dataclass(frozen=True, slots=True)
class Exact(Generic[D]):
    """The magnitude of what is rounded: ``magnitude * 2**(exponent - fraction_bits)``, unsigned."""

    magnitude: Word[D]
    exponent: Word[D]
    fraction_bits: int

    @classmethod
    def of_sum(cls, algebra: Algebra[D, T], total: FusedSum[D, T]) -> Exact[D]:
        """Return the magnitude of a fused sum."""
        return cls(algebra.magnitude(total.total), total.e_max, total.fraction_bits)


def add_rounding(bins: Bins[D, T], name: str, given: Truth[T], exact: Exact[D], rho: Conversion) -> None:
    """Add how the bits that a nonzero magnitude loses compare with half a unit in the last place.

    Just above and just below half are one unit of ``magnitude`` away from it.
    """
    algebra, event = bins.algebra, f"rounding of {name}"
    width = exact.magnitude.width
    there = algebra.all_of([given, is_nonzero(algebra, exact.magnitude)])
    one = algebra.unsigned(1, 1)
    above = algebra.add(exact.magnitude, one)
    below = algebra.extract(algebra.subtract(exact.magnitude, one), width - 1, 0)
    sticky, half, odd = _cut_bits(algebra, exact, exact.magnitude, rho)
    not_sticky, not_half = algebra.negation(sticky), algebra.negation(half)
    is_below, is_above = algebra.all_of([sticky, not_half]), algebra.all_of([sticky, half])
    is_tie = algebra.all_of([half, not_sticky])
    bins.add(event, "exact", there, partial(algebra.all_of, [not_sticky, not_half]))
    bins.add(event, "below half", there, lambda: is_below)
    bins.add(event, "just below half", there, lambda: algebra.all_of([is_below, _ties(algebra, exact, above, rho)]))
    bins.add(event, "tie, last kept bit 0", there, lambda: algebra.all_of([is_tie, algebra.negation(odd)]))
    bins.add(event, "tie, last kept bit 1", there, partial(algebra.all_of, [is_tie, odd]))
    # taken for a tie, it would be rounded down
    is_above_even = algebra.all_of([is_above, algebra.negation(odd)])
    just_above = partial(_ties, algebra, exact, below, rho)
    bins.add(event, "just above half", there, lambda: algebra.all_of([is_above, just_above()]))
    even = "just above half, last kept bit 0"
    bins.add(event, even, there, lambda: algebra.all_of([is_above_even, just_above()]))
    bins.add(event, "above half", there, lambda: is_above)
    if rho.rounding.truncates:
        return
    _, top_exponent = with_top_exponent(exact.magnitude, exact.exponent, exact.fraction_bits)
    small = algebra.all_of([there, algebra.less(top_exponent, algebra.signed(rho.target.e_min))])
    event = f"rounding of subnormal {name}"
    bins.add(event, "below half", small, lambda: is_below)
    bins.add(event, "tie, last kept bit 0", small, lambda: algebra.all_of([is_tie, algebra.negation(odd)]))
    bins.add(event, "tie, last kept bit 1", small, partial(algebra.all_of, [is_tie, odd]))
    bins.add(event, "above half, last kept bit 0", small, lambda: is_above_even)


def add_result(
    bins: Bins[D, T], name: str, given: Truth[T], pattern: Word[D], rho: Conversion, exact: Exact[D] | None
) -> None:
    """Add the class of a rounded result, and where its exact magnitude is known, how it got there."""
    algebra, fmt, event = bins.algebra, rho.target, f"result of {name}"
    x = unpack(algebra, fmt, pattern)
    normal = algebra.negation(algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan]))
    unused = fmt.ignored_bits + fmt.fraction_bits - rho.fraction_bits
    magnitude = algebra.extract(pattern, fmt.sign_position - 1, 0)
    bins.add(event, "subnormal", given, lambda: x.subnormal)
    bins.add(event, "normal", given, lambda: normal)
    bins.add(event, "largest finite", given, lambda: algebra.is_value(magnitude, fmt.max_finite >> unused << unused))
    if exact is None:
        bins.add(event, "zero", given, lambda: x.zero)
        bins.add(event, "overflow", given, lambda: x.infinite)
        return
    nonzero = is_nonzero(algebra, exact.magnitude)
    _, top_exponent = with_top_exponent(exact.magnitude, exact.exponent, exact.fraction_bits)
    beyond = algebra.all_of([nonzero, algebra.less(algebra.signed(fmt.e_max), top_exponent)])
    bins.add(event, "exactly zero", given, partial(algebra.all_of, [x.zero, algebra.negation(nonzero)]))
    bins.add(event, "underflow to zero", given, partial(algebra.all_of, [x.zero, nonzero]))
    bins.add(event, "beyond the largest exponent", given, lambda: beyond)
    bins.add(event, "rounds up to infinity", given, partial(algebra.all_of, [x.infinite, algebra.negation(beyond)]))
    if rho.rounding.truncates:
        return
    carries = algebra.all_of([nonzero, normal, algebra.less(top_exponent, x.exponent)])
    small = algebra.less(top_exponent, algebra.signed(fmt.e_min))
    carry = partial(algebra.all_of, [carries, algebra.negation(small)])
    bins.add(event, "rounding carries into the next binade", given, carry)
    bins.add(event, "rounds up to the smallest normal number", given, partial(algebra.all_of, [carries, small]))


def add_classes(bins: Bins[D, T], role: str, fmt: Format, words: Sequence[Word[D]]) -> None:
    """Add the classes of numbers that the format of an operand has; any of the words is meant."""
    algebra, event, always = bins.algebra, f"class of {role}", bins.algebra.truth(True)
    for word in words:
        if fmt.is_integer:
            value = algebra.twos_complement(word) if fmt.signed else algebra.as_signed(word)
            _add_integer_classes(bins, event, always, value, fmt)
            continue
        x = unpack(algebra, fmt, word)
        if fmt.fraction_bits:
            bins.add(event, "zero", always, partial(algebra.all_of, [x.zero]))
            bins.add(event, "subnormal", always, partial(algebra.all_of, [x.subnormal]))
        others = algebra.any_of([x.zero, x.subnormal, x.infinite, x.nan])
        bins.add(event, "normal", always, partial(algebra.negation, others))
        if fmt.infinity is not None:
            bins.add(event, "infinity", always, partial(algebra.all_of, [x.infinite]))
        if fmt.quiet_nan is not None:
            bins.add(event, "NaN", always, partial(algebra.all_of, [x.nan]))


def _add_integer_classes(bins: Bins[D, T], event: str, given: Truth[T], x: Word[D], fmt: Format) -> None:
    algebra = bins.algebra
    low, high = integer_range(fmt)
    bins.add(event, "zero", given, partial(algebra.is_value, x, 0))
    bins.add(event, "positive", given, partial(algebra.less, algebra.signed(0), x))
    bins.add(event, "largest", given, partial(algebra.is_value, x, high))
    if low:
        bins.add(event, "negative", given, partial(algebra.less, x, algebra.signed(0)))
        bins.add(event, "least", given, partial(algebra.is_value, x, low))


def _cut_bits(algebra: Algebra[D, T], exact: Exact[D], magnitude: Word[D], rho: Conversion) -> tuple[Truth[T], ...]:
    """Return whether any bit below the first lost one is set, that one, and the last kept one, of another magnitude.

    A number has the precision of the conversion, and less where its exponent is below e_min (gradual underflow).
    """
    precision = rho.fraction_bits + 1
    top, exponent = with_top_exponent(magnitude, exact.exponent, exact.fraction_bits)
    below_min = algebra.subtract(algebra.signed(rho.target.e_min), exponent)
    down = algebra.maximum([below_min, algebra.signed(0)])
    top = algebra.shift_left(top, max(precision + 2 - top.width, 0))
    surplus = top.width - precision - 2
    if surplus:
        top = algebra.shift_right_jam(top, algebra.unsigned(surplus, surplus.bit_length()))
        top = algebra.narrow(top, precision + 2)
    moved = algebra.shift_right_jam(top, algebra.narrow_to_unsigned(down, down.width - 1))
    return tuple(algebra.is_bit_set(moved, i) for i in range(3))


def _ties(algebra: Algebra[D, T], exact: Exact[D], magnitude: Word[D], rho: Conversion) -> Truth[T]:
    """Return whether a magnitude next to the exact one lies half way between two numbers."""
    sticky, half, _ = _cut_bits(algebra, exact, magnitude, rho)
    return algebra.all_of([half, algebra.negation(sticky)])


_KINDS: Mapping[Label, str] = {
    Addend.C: "c",
    Addend.X: "addend",
    Addend.Y: "addend",
    Partial.PRODUCTS: "sum of products",
    Partial.EVEN: "even sum",
    Partial.ODD: "odd sum",
    Partial.FIRST: "sum of the first half",
    Partial.SECOND: "sum of the second half",
}


WRAPPED = 7
"""The most places that a term is moved by where a shift amount has wrapped and a bin is about it."""


def kind_of(label: Label) -> str:
    """Return what the term of a label is: a product, also where it is a scaled group of some, or what it is called."""
    return "product" if is_of_products(label) else _KINDS.get(label, str(label))


def name_of(kinds: Sequence[str]) -> str:
    """Return what a sum of terms of these kinds is of."""
    return " + ".join(dict.fromkeys(kinds))


def add_shifts(
    bins: Bins[D, T],
    given: Truth[T],
    kinds: Sequence[str],
    terms: Sequence[Term[D, T]],
    e_max: Word[D],
    kept: Sequence[int],
) -> None:
    """Add by how many places each nonzero term is moved down: 0 to F + 1, or beyond; ``kept`` is F for each term.

    Beyond, there is a bin just above each power of two, where a shift amount with fewer bits wraps to a small one.
    """
    algebra = bins.algebra
    for kind, term, bits in zip(kinds, terms, kept, strict=True):
        event, there = f"shift of {kind}", algebra.all_of([given, is_nonzero(algebra, term.significand)])
        distance = algebra.subtract(e_max, term.exponent)
        for places in range(bits + 2):
            bins.add(event, str(places), there, partial(is_number, algebra, distance, places))
        bins.add(event, f"beyond {bits + 1}", there, partial(_is_above, algebra, distance, bits + 1))
        for power in (1 << n for n in range((bits + 1).bit_length(), distance.width - 1)):
            wraps = partial(_is_from, algebra, distance, power, power + WRAPPED)
            bins.add(event, f"{power} to {power + WRAPPED}", there, wraps)


def add_losses(
    bins: Bins[D, T],
    given: Truth[T],
    kinds: Sequence[str],
    terms: Sequence[Term[D, T]],
    e_max: Word[D],
    kept: Sequence[int],
) -> None:
    """Add which bit of each nonzero term is the last kept one, and whether any nonzero bit is lost below it.

    Bits are named by their weight relative to the exponent of the term: bit 2^0 is the integer bit of a normal number.
    """
    algebra = bins.algebra
    for kind, term, bits in zip(kinds, terms, kept, strict=True):
        event = f"last kept bit of {kind}"
        there = algebra.all_of([given, is_nonzero(algebra, term.significand)])
        distance = algebra.subtract(e_max, term.exponent)
        lost = cache(partial(loses_bits, algebra, term, e_max, Cut(bits)))
        top = term.largest.bit_length() - 1 - term.fraction_bits
        whole = bits - term.fraction_bits
        if whole >= 0:
            bins.add(event, "the lowest", there, partial(_is_at_most, algebra, distance, whole))
        for places in range(max(whole + 1, 0), bits + top + 1):
            for loses in (False, True):
                value = f"2^{places - bits}, {'bits' if loses else 'nothing'} lost"
                bins.add(event, value, there, partial(_loses, algebra, distance, places, lost, loses))
        bins.add(event, "none", there, partial(_is_above, algebra, distance, bits + top))


def add_sum(bins: Bins[D, T], given: Truth[T], kinds: Sequence[str], total: FusedSum[D, T]) -> None:
    """Add where e_max comes from, the top bit of the sum, its sign, its cancellation, and a register that wraps."""
    algebra, name = bins.algebra, name_of(kinds)
    add_leaders(bins, given, kinds, total.terms, total.e_max)
    nonzero = is_nonzero(algebra, total.total)
    there = algebra.all_of([given, nonzero])
    magnitude = algebra.magnitude(total.total)
    event = f"top bit of {name}"
    bins.add(event, "below 2^0", there, partial(_top_is_below, algebra, magnitude, total.fraction_bits))
    for position in range(total.fraction_bits, total.largest.bit_length()):
        value = f"2^{position - total.fraction_bits}"
        bins.add(event, value, there, partial(_top_is, algebra, magnitude, position))
    negative = algebra.less(total.total, algebra.signed(0))
    bins.add(f"sign of {name}", "+", there, lambda: algebra.negation(negative))
    bins.add(f"sign of {name}", "-", there, lambda: negative)
    _add_cancellation(bins, given, name, total, magnitude)
    enough = max(x.width for x in total.aligned) + (len(total.aligned) - 1).bit_length()
    if total.path.register is not None and total.total.width < enough:
        exact = algebra.bounded_sum(total.aligned, enough)
        bins.add(f"register of {name}", "wraps", given, lambda: algebra.negation(algebra.equal(exact, total.total)))


def add_leaders(
    bins: Bins[D, T], given: Truth[T], kinds: Sequence[str], terms: Sequence[Term[D, T]], e_max: Word[D]
) -> None:
    """Add which kind of nonzero terms has the exponent e_max, and how many terms have."""
    algebra, name = bins.algebra, name_of(kinds)
    leads = [
        algebra.all_of([is_nonzero(algebra, t.significand), t.present, algebra.equal(t.exponent, e_max)]) for t in terms
    ]
    by_kind: dict[str, list[Truth[T]]] = {}
    for kind, leader in zip(kinds, leads, strict=True):
        by_kind.setdefault(kind, []).append(leader)
    some = {kind: algebra.any_of(x) for kind, x in by_kind.items()}
    event, alone = f"e_max of {name}", " alone" if len(some) > 1 else ""
    for kind, x in some.items():
        others = algebra.any_of([y for other, y in some.items() if other != kind])
        bins.add(event, f"of {kind}{alone}", given, partial(algebra.all_of, [x, algebra.negation(others)]))
    if len(some) > 1:
        bins.add(event, "of each", given, partial(algebra.all_of, list(some.values())))
    bins.add(event, "of no nonzero term", given, lambda: algebra.negation(algebra.any_of(leads)))
    one, none = algebra.unsigned(1, 1), algebra.unsigned(0, 1)
    count = none
    for leader in leads:
        count = algebra.add(count, algebra.ite(leader, one, none))
    for n in dict.fromkeys((1, 2, len(leads))):
        if n <= len(leads):
            bins.add(f"nonzero terms at e_max of {name}", str(n), given, partial(is_number, algebra, count, n))


def _add_cancellation(bins: Bins[D, T], given: Truth[T], name: str, total: FusedSum[D, T], magnitude: Word[D]) -> None:
    """Add by how many places the top bit of the sum lies below that of the largest aligned term."""
    algebra, event = bins.algebra, f"cancellation in {name}"
    largest = algebra.maximum([algebra.magnitude(x) for x in total.aligned])
    width = max(largest.width, magnitude.width)
    # the top bit of an aligned term is below the sign of its word
    deepest = largest.width - 2
    (_, above), (_, above_sum) = (algebra.normalise(algebra.extend(x, width)) for x in (largest, magnitude))
    depth = algebra.subtract(above_sum, above)
    there = algebra.all_of([given, is_nonzero(algebra, magnitude)])
    bins.add(event, "none", there, partial(_is_at_most, algebra, depth, 0))
    for places in range(1, deepest + 1):
        bins.add(event, str(places), there, partial(is_number, algebra, depth, places))
    zero = algebra.all_of([is_nonzero(algebra, largest), algebra.is_value(magnitude, 0)])
    bins.add(event, "to zero", given, lambda: zero)


def _is_above(algebra: Algebra[D, T], x: Word[D], limit: int) -> Truth[T]:
    return algebra.less(algebra.signed(limit), x)


def _is_from(algebra: Algebra[D, T], x: Word[D], first: int, last: int) -> Truth[T]:
    return algebra.all_of([_is_above(algebra, x, first - 1), _is_at_most(algebra, x, last)])


def _is_at_most(algebra: Algebra[D, T], x: Word[D], limit: int) -> Truth[T]:
    return algebra.negation(_is_above(algebra, x, limit))


def _loses(
    algebra: Algebra[D, T], distance: Word[D], places: int, lost: Callable[[], Truth[T]], loses: bool
) -> Truth[T]:
    moved = is_number(algebra, distance, places)
    return algebra.all_of([moved, lost() if loses else algebra.negation(lost())])


def _top_is(algebra: Algebra[D, T], magnitude: Word[D], position: int) -> Truth[T]:
    """Return whether the highest bit that is one is at ``position``."""
    if position >= magnitude.width:
        return algebra.truth(False)
    return algebra.is_value(algebra.extract(magnitude, magnitude.width - 1, position), 1)


def _top_is_below(algebra: Algebra[D, T], magnitude: Word[D], position: int) -> Truth[T]:
    if position >= magnitude.width:
        return algebra.truth(True)
    return algebra.is_value(algebra.extract(magnitude, magnitude.width - 1, position), 0)
