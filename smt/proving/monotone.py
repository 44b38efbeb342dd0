"""The lemmas behind monotonicity: if one operand is raised to the next number above it, d does not fall.

One term v of a sum rises to v', and the others stay. The argument applies to a fused sum of all terms, to the sum of c
and the sum of the products, and to a rounded addition:

1. If e_max stays, the cuts of the other terms stay too, and the cut of v is at most that of v'. ``TermRises`` says that
   v is at most v'. ``CutOrdered`` is for terms of the same sign and exponent, and ``CutOfDoubled`` for exponents that
   differ by one. If the signs differ, the cuts have different signs too.
2. If e_max changes, let E be the larger one. It is the exponent of v or of v', whichever is higher. Cutting another
   term at E is the same as cutting its earlier cut again (``CutAgain``). So it loses less than a unit of E, and at most
   half a unit if E is one above the other e_max. If terms are rounded to nearest, a term moves up or down as little: by
   at most half a unit of either cut (``cuts.CutError``), and by at most half a unit of E if E is one above. But v and
   v' are cut where e_max is their own exponent, and the distance of these cuts is at least what all the others can lose
   (``LargeStep``). The others lose nothing if E is at most the least exponent of a product (``ProductsLieAbove``): then
   either one of them keeps e_max where it is, or all of them are zero. The others may lose
   half a unit of E more where the result is truncated (``LowBitUnseen``), if E is one above. Let there be L of them,
   truncated, and let the magnitude of v or v' that is below ``2**E`` be at most L half units below. The sum falls only
   if each of the L terms loses half a unit and has the sign of v. So the sum that is larger in magnitude is at least
   ``2**E``. It is half a unit larger than the other one, which is a multiple of a unit of E. The conversion does not
   see that half unit, so the result does not fall.
3. So the sum never falls, or not so that it is seen. It is the sum of the cut terms, because these fit the register
   (``cuts.CutBound``). Its conversion does not fall either (``OrderedConversion``).

Where a small c is dropped, ``cuts`` has the lemmas about its cut. If another operand is a special value, the
result is the same before and after. If e_max has a floor above all exponents, it does not change, so only 1 and 3 are
needed.

Fewer products than a step takes are filled up with (+0) * (+0). Such a term takes part in e_max as a floor does: its
exponent is constant, and it loses nothing. So "the others" are those terms that some given element enters.

A chain of steps is monotone if every step of it is, the padding of its last ones included. Let d of one step be x, and
y >= x with the larger c. Where both are finite, the next step is asked about every number between x and y. It does not
tell +0 from -0 (``ZerosAlike``). A NaN between them makes the result at one end NaN: either it comes from products, so
that every finite c gives it, or from an overflow, which the end beyond has too. An infinity is the least or the largest
number of all. The result is the same infinity then, or NaN, of which nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mmaproof.designs.arithmetic import steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee, Step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import with_top_exponent
from mmaproof.smt.proving.cuts import (
    CutBound,
    CutError,
    CutLemma,
    Dropped,
    KeptAtTop,
    KeptInOrder,
    TermShape,
    without_drops,
)
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.rising_terms import (
    Changed,
    ChangedAddend,
    ChangedC,
    Neighbours,
    beside_zeros,
    last_sum,
)
from mmaproof.smt.semantics import dot_product_accumulate, ieee
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Label, StepPath, datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import order_key, unpack
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.semantics.unit import factors


class TermRises(Neighbours):
    """The term of the number above is not smaller, as ``_rises`` defines it."""

    def __init__(self, changed: Changed) -> None:
        super().__init__("the term of a larger number is not smaller", changed)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether ``_rises`` holds of the terms."""
        return _rises(algebra, v, above)


def _rises(algebra: Algebra[D, T], v: Term[D, T], above: Term[D, T]) -> Truth[T]:
    """Return whether v is at most ``above`` and their exponents differ by at most one, unless one of them is zero."""
    x, y = (t.significand.negated_where(t.negative) for t in (v, above))
    same = v.exponent == above.exponent
    up = above.exponent == v.exponent + 1
    down = v.exponent == above.exponent + 1
    return algebra.any_of(
        [
            same & (x <= y),
            up & (x <= (y << 1)),
            down & ((x << 1) <= y),
            v.significand.is_value(0) & (y >= 0),
            above.significand.is_value(0) & (x <= 0),
        ]
    )


class CutOrdered(CutLemma):
    """If two terms of the same sign and exponent are cut at the same e_max, the larger term has the larger cut.

    The significands have one bit more than those of the terms. So a term may be written with an exponent that is one
    lower, which is that of another term (``CutOfDoubled``).
    """

    def __init__(self, shape: TermShape, cut: Cut) -> None:
        wider = replace(shape, significand_width=shape.significand_width + 1, largest=2 * shape.largest)
        super().__init__("at the same e_max, the cut of a larger term is not smaller", wider, cut)
        self.inputs = (*self.inputs, Input("larger", wider.significand_width))

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether a term of this shape can have the larger significand."""
        larger = {**words, "significand": words["larger"]}
        order = words["larger"] >= words["significand"]
        return algebra.all_of([super().assumption(algebra, words), super().assumption(algebra, larger), order])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the larger significand has the larger cut."""
        pair = (words, {**words, "significand": words["larger"]})
        x, y = (align(algebra, self.term_of(algebra, w), words["e_max"], self.cut).magnitude() for w in pair)
        return x <= y

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return the constant true, because nothing is claimed of a single cut."""
        return algebra.truth(True)


class CutOfDoubled(CutLemma):
    """A cut has the sign of its term and depends only on the value of the term.

    A term has the same cut if it is written with a leading zero bit, or with twice the significand and an exponent that
    is one lower.
    """

    def __init__(self, shape: TermShape, cut: Cut) -> None:
        super().__init__("the cut of a term depends on its value, and has its sign", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether it is so."""
        kept = align(algebra, term, e_max, self.cut)
        wider = term.significand.extend(term.significand.width + 1)
        same = replace(term, significand=wider, largest=2 * term.largest)
        doubled = replace(same, significand=term.significand << 1, exponent=term.exponent - 1)
        signs = (term.negative & (kept <= 0)) | (~term.negative & (kept >= 0))
        return algebra.all_of([signs, *(kept == align(algebra, t, e_max, self.cut) for t in (same, doubled))])


class LargeStep(Neighbours):
    """If the exponents differ, what is kept of the term rises by at least as much as the other terms can lose.

    ``others`` are the cuts of the other terms. Let E be the larger exponent and F the fraction bits of a cut. Each
    other term loses at most ``2**(E - F)``, and half of that if the exponents differ by one. With ``half_unseen``, half
    of ``2**(E - F)`` more may be lost if the exponents differ by one and the lower number is close enough to ``2**E``.
    The others lose nothing if E is at most ``least``, their least exponent.
    """

    def __init__(
        self,
        changed: Changed,
        cut: Cut,
        others: Sequence[Cut],
        floor: int | None,
        *,
        half_unseen: bool = False,
        least: int | None = None,
    ) -> None:
        but = ", but for half a unit" if half_unseen else ""
        super().__init__(
            f"where a larger number has another exponent, the step makes up for the other terms{but}", changed
        )
        self.cut, self.floor, self.half_unseen, self.least = cut, floor, half_unseen, least
        self.finest = max([cut.fraction_bits, *(x.fraction_bits for x in others)])
        self.lost = sum(1 << (self.finest - x.fraction_bits) for x in others)

    def of_terms(
        self, algebra: Algebra[D, T], words: Mapping[str, Word[D]], v: Term[D, T], above: Term[D, T]
    ) -> Truth[T]:
        """Return whether that holds, or e_max cannot change because the exponents agree or the floor is as high."""
        both = v.present & above.present
        stays = [both & (v.exponent == above.exponent), ~(v.present | above.present)]
        if self.floor is not None:
            high = [t.present & (t.exponent > self.floor) for t in (v, above)]
            stays.append(~algebra.any_of(high))
        x, y = (self._kept(algebra, t) for t in (v, above))
        enough = [
            both & self._one_apart(algebra, x, y),
            self._beside_zero(algebra, x, y, negative=False),
            self._beside_zero(algebra, y, x, negative=True),
        ]
        return algebra.any_of([*stays, *enough])

    def _kept(self, algebra: Algebra[D, T], t: Term[D, T]) -> Term[D, T]:
        """Return what is kept of a term where e_max is its own exponent."""
        kept = align(algebra, t, t.exponent, self.cut).magnitude()
        most = self.cut.bound(t.largest, t.fraction_bits)
        return replace(t, fraction_bits=self.cut.fraction_bits, significand=kept, largest=most)

    def _one_apart(self, algebra: Algebra[D, T], v: Term[D, T], above: Term[D, T]) -> Truth[T]:
        """Return whether the exponents differ by one and the rise is at least half a unit of every other term."""
        x, y = (t.significand.negated_where(t.negative) for t in (v, above))
        up = above.exponent == v.exponent + 1
        down = v.exponent == above.exponent + 1
        rise = ite(up, (y << 1) - x, y - (x << 1))
        covered = (up & self._covers(algebra, above, rise)) | (down & self._covers(algebra, v, rise))
        if not self.half_unseen:
            return covered
        # in half units of E, which are units of the cut below the lower exponent
        finer = self.finest - self.cut.fraction_bits
        rises, lower = ((w << finer) for w in (rise, ite(up, x, -y)))
        enough = (rises + 1 >= self.lost) & (lower + self.lost >= 1 << (self.finest + 1))
        return covered | ((up | down) & enough)

    def _beside_zero(self, algebra: Algebra[D, T], nothing: Term[D, T], t: Term[D, T], *, negative: bool) -> Truth[T]:
        """Return whether one term is zero and not higher, and the other has this sign and covers the losses."""
        higher = nothing.present & (nothing.exponent >= t.exponent)
        sign = t.negative if negative else ~t.negative
        size = self._covers(algebra, t, t.significand.as_signed())
        zero_there = nothing.significand.is_value(0)
        return algebra.all_of([zero_there, t.present, sign, size, ~higher])

    def _covers(self, algebra: Algebra[D, T], highest: Term[D, T], step: Word[D]) -> Truth[T]:
        """Return whether a rise in units of the cut is at least what the others lose at the exponent of the term."""
        rises = step << (self.finest - self.cut.fraction_bits)
        covered = rises >= self.lost
        if self.least is None:
            return covered
        return covered | ((highest.exponent <= self.least) & (rises >= 0))


class ProductsLieAbove(Lemma):
    """The exponent of a product is at least ``least`` unless one of its factors is zero."""

    def __init__(self, design: Design, least: int) -> None:
        self.step, self.least = design.one_step(), least
        self.name = f"a product of nonzero factors is aligned at an exponent of at least {least}"
        scale = design.scale_format
        scales = [] if scale is None else [Input(f"scale_{x}", scale.bits) for x in "ab"]
        self.inputs = (Input("a", design.a_format.bits), Input("b", design.b_format.bits), *scales)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is."""
        operands = beside_zeros(algebra, self.step, words)
        x = factors(self.step, algebra, operands, 0)
        term = dot_product_accumulate(self.step, algebra, operands).steps[0].sums[0].terms[0]
        zero = algebra.any_of([f.zero for f in (x.a, x.b, *x.scales)])
        return zero | (term.present & (term.exponent >= self.least))


def least_exponent(design: Design) -> int | None:
    """Return the least exponent of a product of nonzero factors beside c in one sum; None if it is not stated."""
    (path,) = datapath(design.one_step(), design.step.L)
    if not design.guarantees(*_SUMMED_PRODUCTS) or len(path.sums) > 1:
        return None
    scale = 0 if design.scale_format is None else 2 * design.scale_format.e_min
    return design.a_format.e_min + design.b_format.e_min + scale


class LowBitUnseen(Lemma):
    """Of a sum of at least ``2**(e_max + 1)`` the last bit does not change the result: the magnitude is truncated."""

    def __init__(self, total: FusedSum[Any, Any], rules: Rules) -> None:
        self.name = "the conversion does not see the last bit of a sum of at least 2^(e_max + 1)"
        self.rules, self.fraction_bits = rules, total.fraction_bits
        self.inputs = (
            Input("total", total.total.width, signed=True),
            Input("e_max", total.e_max.width, signed=True),
            Input("zero_negative", 1),
        )

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the result is that of the sum without its last bit, or the sum is smaller."""
        total, sign = words["total"], words["zero_negative"].is_value(1)
        magnitude = total.magnitude()
        even = (magnitude.drop_low(1) << 1).negated_where(total < 0)
        given, shorter = (
            convert(algebra, self.rules, x, words["e_max"], self.fraction_bits, sign)[0] for x in (total, even)
        )
        return (magnitude.as_signed() < 1 << (self.fraction_bits + 1)) | (given == shorter)


class CutAgain(CutLemma):
    """The cut of a term at an e_max one higher is its cut, cut again by one bit. Induction extends it to any e_max.

    Rounding to nearest twice differs from rounding once. Such a cut is at most half a unit away.
    """

    def __init__(self, kind: str, shape: TermShape, cut: Cut) -> None:
        again = "at most half a unit from its cut" if cut.rounds_to_nearest else "its cut, cut again"
        super().__init__(f"one of the {kind}, cut below a higher e_max, is {again}", shape, cut)

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether the second cut is the floor, truncation or rounding to odd of the first, or so close to it."""
        one = algebra.unsigned(1, 1)
        low, high = (align(algebra, term, e, self.cut) for e in (e_max, e_max + 1))
        if self.cut.rounds_to_nearest:
            apart = ((high << 1) - low).magnitude()
            return ~term.present | (apart <= one)
        if self.cut.rounds_down:
            again = low.shift_right(one)
        elif self.cut.jams or self.cut.truncates:
            shift = algebra.shift_right_jam if self.cut.jams else algebra.shift_right
            again = shift(low.magnitude(), one).negated_where(term.negative)
        else:
            raise ValueError(f"{self.cut}: how such a cut is cut again is not known")
        return ~term.present | (high == again)


class OrderedConversion(Lemma):
    """The conversion keeps the order of sums, whatever their e_max is. Zeros of either sign count as equal."""

    def __init__(self, total: FusedSum[Any, Any], rules: Rules) -> None:
        self.name = "the conversion keeps the order of sums"
        self.rules, self.fraction_bits, self.largest = rules, total.fraction_bits, total.largest
        width, e_max_width = total.total.width, total.e_max.width
        self.inputs = tuple(
            given
            for n in ("x", "y")
            for given in (
                Input(n, width, signed=True),
                Input(f"e_max_{n}", e_max_width, signed=True),
                Input(f"zero_negative_{n}", 1),
            )
        )

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether both sums are within their bound, and x is at most y by the exponents of their top bits."""
        claims, keys = [], []
        for n in ("x", "y"):
            magnitude = words[n].magnitude()
            width = max(magnitude.width, self.largest.bit_length())
            claims.append(magnitude <= algebra.unsigned(self.largest, width))
            top, exponent = with_top_exponent(magnitude, words[f"e_max_{n}"], self.fraction_bits)
            keys.append((exponent, top))
        x, y = words["x"], words["y"]
        negative = [t < 0 for t in (x, y)]
        positive = [t > 0 for t in (x, y)]
        ordered = [
            ~positive[0] & ~negative[1],
            algebra.all_of([*positive, at_most(algebra, keys[0], keys[1])]),
            algebra.all_of([*negative, at_most(algebra, keys[1], keys[0])]),
        ]
        return algebra.all_of([*claims, algebra.any_of(ordered)])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the result of x is at most that of y."""
        keys = []
        for n in ("x", "y"):
            sign = words[f"zero_negative_{n}"].is_value(1)
            pattern, _ = convert(algebra, self.rules, words[n], words[f"e_max_{n}"], self.fraction_bits, sign)
            keys.append(order_key(algebra, self.rules.rho.target, pattern))
        return keys[0] <= keys[1]


def at_most(algebra: Algebra[D, T], x: tuple[Word[D], Word[D]], y: tuple[Word[D], Word[D]]) -> Truth[T]:
    """Return whether one pair of words is at most another in lexicographic order."""
    return (x[0] < y[0]) | ((x[0] == y[0]) & (x[1] <= y[1]))


_SUMMED_PRODUCTS = (Guarantee.SUMMED_EXPONENTS, Guarantee.SINGLE_PRODUCTS, Guarantee.UNCHANGED_OPERANDS)
"""The guarantees by which the exponent of a product is that of two elements as their formats have it."""


class ZerosAlike(Lemma):
    """A c of +0 and one of -0 are one term of a step: nothing, with one exponent."""

    name = "c of +0 is the term that c of -0 is"
    inputs = (Input("sign", 1),)

    def __init__(self, step: Design) -> None:
        fmt = step.c_format
        added = step.adds_c_last or step.guarantees(Guarantee.ROUNDED_LAST_SUM)
        self.fmt, self.changed = fmt, ChangedAddend(fmt, step.step) if added else ChangedC(step)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether they are."""
        plain = algebra.unsigned(0, self.fmt.bits)
        signed = words["sign"].extend(self.fmt.bits) << self.fmt.sign_position
        x, y = self.changed.terms(algebra, {"x": plain}, signed.narrow_to_unsigned(self.fmt.bits))
        same = (x.present == y.present) & (~x.present | (x.exponent == y.exponent))
        return algebra.all_of([same, *(t.significand.is_value(0) for t in (x, y))])


_RISING_C = (Guarantee.ALIGNED_SUMS, Guarantee.EXACT_SUM, Guarantee.CONVERTED_VALUE)
"""The guarantees by which a sum of which c is a term is converted."""


Given = Callable[[Label], bool]
"""Whether some given element, or c, enters a term. All others are (+0) * (+0)."""


def every_term(label: Label) -> bool:
    """Return True: a whole step of products is given."""
    return True


def lemmas_for_c(design: Design, length: int | None = None) -> Sequence[Lemma]:
    """Return lemmas that together imply that d does not fall if c rises; none if the argument does not apply.

    They are about one step, or about dot products of ``length``. The argument applies if c is added last, and if c is a
    term of the last fused sum.
    """
    if length is None or len(datapath(design, length)) == 1:
        return _lemmas_of_step(design, given_terms(design.one_step(), range(length or design.step.L)))
    return lemmas_of_steps(design, length, 0)


def given_terms(step: Design, places: Collection[int]) -> Given:
    """Return which terms of a step the elements at some places enter."""
    (path,) = datapath(step, step.k)
    return partial(path.holds, ks=frozenset(places))


def lemmas_of_steps(design: Design, length: int, first: int) -> Sequence[Lemma]:
    """Return the lemmas about c for every step of a chain from the step ``first`` on; none if one has none."""
    kinds = steps_of_chain(design, length)
    if kinds is None or not design.step.hands_on_nans:
        return ()
    paths = datapath(design, length)
    # the c of the first step, and what each step adds: places of its elements
    asked = dict.fromkeys(
        (kinds[0 if number == 0 else -1], tuple(i for i, k in enumerate(path.ks) if k < length))
        for number, path in enumerate(paths)
        if number >= first
    )
    found: list[Lemma] = []
    for step, places in asked:
        lemmas = _lemmas_of_step(step, given_terms(step, places))
        if not lemmas:
            return ()
        which = f"a step of {len(places)} products, c {step.c_format.name}"
        for lemma in (*lemmas, ZerosAlike(step)):
            lemma.name = f"{lemma.name} ({which})"
            found.append(lemma)
    return list({x.name: x for x in found}.values())


def _lemmas_of_step(design: Design, given: Given) -> Sequence[Lemma]:
    """Return the lemmas about one step."""
    step, d = design.step, design.d_format
    if design.adds_c_last or design.guarantees(Guarantee.ROUNDED_LAST_SUM):
        if design.c_format is not d:
            return ()
        rules = Rules.of_late_addition(design) if design.adds_c_last else Rules.of_operation(step)
        return lemmas_of_addition(d, rules, step)
    (path,) = datapath(design.one_step(), step.L)
    if not design.guarantees(*_RISING_C) or Addend.C not in path.sums[-1].terms:
        return ()
    if path.drops_c:
        return _of_dropped_c(design, path, given)
    # other cuts change with e_max alone
    if not design.guarantees(Guarantee.OWN_CUTS):
        return ()
    place, least = path.sums[-1].terms.index(Addend.C), least_exponent(design)
    found = lemmas_of_sum(ChangedC(design), last_sum(design), place, Rules.of(step), given, least)
    return found if least is None else [ProductsLieAbove(design, least), *found]


def _of_dropped_c(design: Design, path: StepPath, given: Given) -> Sequence[Lemma]:
    """Return the lemmas where a small c is dropped. Other cuts change with e_max alone."""
    kept = without_drops(design)
    if not kept.guarantees(Guarantee.OWN_CUTS):
        return ()
    changed, total, place = ChangedC(kept), last_sum(kept), path.sums[-1].terms.index(Addend.C)
    term, cut = total.terms[place], total.path.cuts[place]
    width = max(t.exponent.width for t in total.terms)
    about = changed, Dropped(path, cut), TermShape.of(term, total.e_max), width
    whole = lemmas_of_sum(changed, total, place, Rules.of(design.step), given)
    return [*(x for x in whole if not isinstance(x, CutOrdered | CutOfDoubled)), KeptInOrder(*about), KeptAtTop(*about)]


def lemmas_of_addition(fmt: Format, rules: Rules, step: Step | None = None) -> Sequence[Lemma]:
    """Return the lemmas about a rounded addition in which one addend rises: c as a ``step`` reads it, or any number."""
    algebra = TermAlgebra()
    x = unpack(algebra, fmt, algebra.symbol(f"addend_{fmt.name}", fmt.bits))
    return lemmas_of_sum(ChangedAddend(fmt, step), ieee.aligned_sum(algebra, fmt, x, x), 0, rules)


def lemmas_of_sum(
    changed: Changed,
    total: FusedSum[Any, Any],
    place: int,
    rules: Rules,
    given: Given = every_term,
    least: int | None = None,
) -> Sequence[Lemma]:
    """Return the lemmas about a converted sum in which the term at ``place`` rises."""
    term, cut = total.terms[place], total.path.cuts[place]
    half_unseen = isinstance(changed, ChangedC) and _loses_half_a_unit_more(term, cut, _others(total, place, given))
    return [
        *lemmas_of_rise(changed, total, place, half_unseen=half_unseen, given=given, least=least),
        *([LowBitUnseen(total, rules)] if half_unseen else []),
        OrderedConversion(total, rules),
    ]


def lemmas_of_rise(
    changed: Changed,
    total: FusedSum[Any, Any],
    place: int,
    later: Sequence[Cut] = (),
    *,
    half_unseen: bool = False,
    given: Given = every_term,
    least: int | None = None,
) -> Sequence[Lemma]:
    """Return the lemmas that a sum does not fall in which the term at ``place`` rises. Its datapath says how it is cut.

    ``later`` are cuts of further terms, for which the rise has to make up as well where e_max changes.
    """
    own, cut = TermShape.of(total.terms[place], total.e_max), total.path.cuts[place]
    losing = [*_others(total, place, given), *later]
    return [
        TermRises(changed),
        CutOrdered(own, cut),
        CutOfDoubled(own, cut),
        LargeStep(changed, cut, losing, total.path.floor, half_unseen=half_unseen, least=least),
        *lemmas_of_others(total, (place,), "other terms"),
        CutBound("terms that rise", own, cut),
    ]


def _others(total: FusedSum[Any, Any], place: int, given: Given) -> list[Cut]:
    """Return the cuts of all terms but the one at a place that may lose something."""
    terms = zip(total.labels, total.path.cuts, strict=True)
    return [cut for i, (label, cut) in enumerate(terms) if i != place and given(label)]


def lemmas_of_others(total: FusedSum[Any, Any], without: Collection[int], which: str) -> Sequence[Lemma]:
    """Return the lemmas about the cuts of all terms but those at some places."""
    rest = [x for i, x in enumerate(zip(total.terms, total.path.cuts, strict=True)) if i not in without]
    shapes = list(dict.fromkeys((TermShape.of(t, total.e_max), c) for t, c in rest))
    kinds = [(f"{which}{f' of shape {i + 1}' if i else ''}", shape, c) for i, (shape, c) in enumerate(shapes)]
    return [
        *(CutAgain(kind, shape, c) for kind, shape, c in kinds),
        *(CutError(kind, shape, c) for kind, shape, c in kinds if c.rounds_to_nearest),
        *(CutBound(kind, shape, c) for kind, shape, c in kinds),
    ]


def _loses_half_a_unit_more(term: Term[Any, Any], cut: Cut, others: Sequence[Cut]) -> bool:
    """Return whether truncated terms lose half a unit more than a number of N bits rises at a power of two."""
    alike = cut.truncates and all(x == cut for x in others)
    finer = max(cut.fraction_bits - term.fraction_bits, 0)
    return alike and len(others) == (1 << finer) + 1
