"""Bins of a fused sum: how far its terms are moved, what they lose, which exponent leads, how the sum comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from mmaproof.generators.cover.bins import Bins, is_nonzero, is_number
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.align import loses_bits
from mmaproof.smt.semantics.cut import Cut
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.labels import Addend, Label, Partial, is_of_products
from mmaproof.smt.semantics.terms import Term

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
