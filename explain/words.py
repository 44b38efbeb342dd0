"""Sentences about a step: special values, zeros, scales, how operands are read, and how sums are rounded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.readings import FlushedSign, Subnormals, Widening
from mmaproof.explain.steps import Name, Pattern, Rounded, Running, Step, Sum
from mmaproof.explain.values import (
    exact,
    is_finite,
    is_negative_zero,
    is_subnormal,
    listed,
    magnitude,
    names,
    pattern_number,
    pattern_value,
    scaled,
    unpacked,
)
from mmaproof.smt.semantics.datapath import Addend, Group, Part, Product

LONGEST = 60
"""Characters of an exact value that is still read; terms far apart need a longer significand."""


def specials(step: Step) -> Iterator[str]:
    """Say which special value is returned, and because of which terms."""
    terms = step.special_terms()
    nan, opposite = step.signals.special.nan.data, len({value[0] for value in terms.values()}) > 1
    value = "infinities of both signs make a NaN" if opposite else "a NaN decides" if nan else "an infinity decides"
    yield f"{value}, there is no sum"
    for label, value in itertools.islice(terms.items(), 4):
        found = step.factors(label.k) if isinstance(label, Product) else [step.accumulator]
        spelled = (f.hex(x) + (f" ({pattern_value(f, x)})" if len(found) > 1 else "") for f, x in found)
        yield f"{label} = {' * '.join(spelled)} is {value}"
    if len(terms) > 4:
        yield f"and {names([*terms][4:])}"


def zeros(step: Step, of: Sum) -> Iterator[str]:
    """Say which terms are zero, and which exponents they have, on one line for each sign."""
    missing = [x for x in of.labels if (ks := products_of(x)) and all(k >= len(step.operands) for k in ks)]
    pairs = [*zip(of.labels, of.signals.terms, strict=True)]
    for sign in "+-":
        alike = {n: t for n, t in pairs if not t.significand.data and t.negative.data is (sign == "-")}
        # where c is added late the sum starts without it
        alike = {n: t for n, t in alike.items() if t.present.data or n is not Running.ACC}
        if is_dropped(step, of):
            alike.pop(Addend.C, None)
        ends = sorted({t.exponent.data for t in alike.values() if t.present.data})
        words = "no exponent" if not ends else f"exponent {ends[0]}"
        if len(ends) > 1:
            words = f"exponents {ends[0]} to {ends[-1]}"
        if sign == "+" and missing:
            products = [label for label in alike if products_of(label)]
            which = "" if [*alike] == missing else "products " if products == missing else f"{names(missing)} "
            words += f"; {which}not given"
        if alike:
            yield f"{names([*alike])}: {sign}0 ({words})"


def products_of(label: Name) -> tuple[int, ...]:
    """Return the numbers of the products that a term is made of; there are none in a sum before it."""
    match label:
        case Product(k) | Part(k):
            return (k,)
        case Group(ks):
            return ks
        case _:
            return ()


def is_dropped(step: Step, of: Sum) -> bool:
    """Return whether c became zero because it lies too far below the products, or below the last bit that is kept."""
    if not step.path.drops_c or of.terms.get(Addend.C) != 0:
        return False
    fmt, c = step.accumulator
    return not is_finite(fmt, c) or not unpacked(fmt, c, flushes=step.flushes("c")).zero.data


def dropped(step: Step, of: Sum) -> Iterator[str]:
    """Say that c became zero because it lies too far below the products."""
    if not is_dropped(step, of):
        return
    fmt, c = step.accumulator
    if step.path.small_c_dropped is not None and Addend.C in of.terms:
        yield f"c = {fmt.hex(c)} = {pattern_value(fmt, c)} is dropped: it is below 2^{of.cut}"
    elif step.path.far_c_dropped is not None:
        below = f"more than F + 1 = {step.path.far_c_dropped + 1} below that of the products"
        exponent = "its exponent is" if is_finite(fmt, c) else "its exponent reads -1,"
        yield f"c = {fmt.hex(c)} = {pattern_value(fmt, c)} is dropped: {exponent} {below}"


def scales(step: Step) -> Iterator[str]:
    """Give the scales of the step's products, or of each of its groups with the exact value that they scale."""

    def spelled(k: int) -> str:
        found = (
            f"{x} {f.hex(s)} ({magnitude(pattern_number(f, s)) if is_finite(f, s) else 'NaN'})"
            for x, (f, s) in zip("ab", step.scales(k), strict=True)
        )
        return " and ".join(found)

    if step.design.scale_format is None:
        return
    groups = [label for s in step.sums for label in s.labels if isinstance(label, Group)]
    if not groups:
        yield f"scales of every product: {spelled(step.ks[0])}"
    for label in groups:
        ks = label.ks
        value = sum((step.number("a", k) * step.number("b", k) for k in ks), 0)
        if ks[0] < len(step.operands):
            yield f"{label}: exact sum {exact(Fraction(value))}; scales {spelled(ks[0])}"


def readings(step: Step) -> Iterator[str]:
    """Say which operands are read as another kind of number than their pattern is."""
    read = [(f"{x}[{k}]", x, step.element(x, k)) for k in sorted(step.ks) for x in "ab"]
    read.append((str(step.accumulator_name), "c", step.accumulator))
    small = [entry for entry in read if is_subnormal(*entry[2])]
    yield from flushed(step, [(name, pattern) for name, column, pattern in small if step.flushes(column)])
    extra = step.design.settings.get("c_extra_bits", 0)
    if extra and pattern_number(*step.accumulator):
        yield f"{step.accumulator_name} keeps {extra} bits more than F: it is aligned with an exponent {extra} lower"
    if step.design.step.clears_minus_zero:
        enters = step.index % (step.design.k // step.design.step.L) == 0
        zeros = [name for name, column, (f, x) in read if is_negative_zero(f, x) and (column != "c" or enters)]
        if zeros:
            yield f"operands of -0 that read +0: {listed(zeros)}"
    shift = step.design.settings.get("product_shift", 0)
    if shift and any(step.products.values()):
        yield f"each product is multiplied with 2^{shift} before it is aligned"
    ones = [str(name) for name, value in step.terms.items() if value and not _value(step, name)]
    if ones:
        yield f"zeros whose significand keeps its implicit one: {', '.join(ones)}"
    widening = step.design.settings.get("widening", Widening.NONE)
    if widening is not Widening.NONE:
        target = FORMATS[widening.value]
        wider = [
            f"{name} = {f.hex(x)} = {pattern_value(f, x)}"
            for name, column, (f, x) in small
            if column != "c" and not step.flushes(column) and f.e_min > target.e_min
        ]
        if wider:
            fmt = step.design.a_format
            yield f"widened to {target.name}, where these subnormals of {fmt.name} are normal: {listed(wider, 2)}"


def parts(step: Step) -> Iterator[str]:
    """Say what the parts of products are, where products are cut in parts, or which part is multiplied."""
    places = step.design.step.multiplied_places
    if places is not None:
        (first_a, last_a), (first_b, last_b) = places
        phase = step.design.settings["fidelity_phase"]
        yield f"phase {phase}: the places {first_a} to {last_a} of a and {first_b} to {last_b} of b are multiplied"
    kept = step.design.settings.get("product_bits")
    if kept is not None:
        yield f"products keep {kept} fraction bits, the last one set where anything was lost"
    dropped = step.design.settings.get("dropped_bits")
    if dropped:
        yield f"the last {dropped} bits of the sum's magnitude are dropped before it is rounded"
    low = step.design.settings.get("low_bits")
    if low is not None:
        k = step.ks[0]
        middle = step.design.settings["middle_bits"]
        more = "" if middle is None else f"; m: the {middle} bits between them"
        yield f"p{k}.hl: the high bits (h) of a[{k}] times the low {low} bits (l) of b[{k}], and so on{more}"


def _value(step: Step, name: Name) -> Fraction:
    """Return the value of a product or of c, as it is read; of anything else, which is not such a term, its own."""
    match name:
        case Product():
            return step.products[name]
        case Addend.C if is_finite(*step.accumulator):
            return pattern_number(*step.accumulator, flushes=step.flushes("c"))
        case _:
            return step.terms[name]


_ZERO = {FlushedSign.POSITIVE: "+0", FlushedSign.KEPT: "a zero of their sign", None: "zero"}


def flushed(step: Step, operands: Sequence[tuple[str, Pattern]]) -> Iterator[str]:
    """Say which subnormal operands read as zeros."""
    if operands:
        zero = _ZERO[step.design.settings.get("flushed_sign")]
        yield f"subnormal operands that read {zero}: {listed([f'{name} = {f.hex(x)}' for name, (f, x) in operands])}"


def flushing(subnormals: Subnormals) -> str:
    """Say in a heading which subnormals become zero; nothing where none do."""
    columns = {"a": subnormals.of_a, "b": subnormals.of_b, "c": subnormals.of_c, "results": subnormals.of_results}
    which = "" if all(columns.values()) else f" of {', '.join(x for x, flushes in columns.items() if flushes)}"
    return f"; subnormals{which} are flushed to zero" if any(columns.values()) else ""


_FLOOR = "floor: a negative term that loses bits is moved down to the next multiple"
_JAM = "jam: where bits are lost the lowest kept bit is set"


def losses(of: Sum) -> Iterator[str]:
    """Say what the cut lost and whether the register wrapped."""
    losers = [label for label in of.labels if of.lost(label)]
    if of.of_sums and of.rounds_down:
        moved = (f"{label} by {_short(of.terms[label] - of.aligned[label], of.cuts[label])}" for label in losers)
        yield f"rounded down: {', '.join(moved)}" if losers else "rounded down: nothing is lost"
    elif of.rounds_to_nearest:
        up = [label for label in losers if abs(of.aligned[label]) > abs(of.terms[label])]
        ways = {"up": up, "down": [label for label in losers if label not in up]}
        rounded = " and ".join(f"{names(labels)} {way}" for way, labels in ways.items() if labels)
        yield f"rounded to nearest, ties to even: {f'{rounded} in magnitude' if losers else 'nothing is lost'}"
    else:
        together = exact(sum(map(of.lost, losers), Fraction(0)))
        # each row has its own value
        what = f"{together} of" if len(together) <= LONGEST else "bits of"
        yield f"lost by the cut: {what} {names(losers)}" if losers else "lost by the cut: nothing"
        if inverted := of.inverted:
            are = "is" if len(inverted) == 1 else "are each"
            yield f"complement: inverted, not negated, {names(inverted)} {are} 2^{of.cut} further from c"
        elif any(abs(of.aligned[label]) != abs(of.terms[label] - of.lost(label)) for label in losers):
            yield _FLOOR if of.rounds_down else _JAM
    whole = sum(of.aligned.values(), Fraction(0))
    if whole != of.total:
        yield f"the register of {of.signals.total.width} bits wrapped: the aligned terms make {exact(whole)}"


def _short(value: Fraction, cut: int) -> str:
    words = magnitude(value)
    return words if len(words) <= LONGEST // 2 else f"less than 2^{cut}"


def rounding(name: str, x: Rounded) -> str:
    """Say how a sum was rounded."""
    fmt, unit = x.fmt, scaled(1, x.low)
    if x.beyond:
        return f"{name}: the sum is beyond the largest finite number, {fmt.hex(fmt.max_finite)}"
    if x.flushed:
        return f"{name}: below the smallest normal number, flushed to zero"
    if x.exact == x.value:
        return f"{name}: exact"
    way = "up" if abs(x.value) > abs(x.exact) else "down"
    how = f"rounded {way} in magnitude"
    if x.rounding in _TIES and 2 * (abs(x.exact) % unit) == unit:
        how = f"a tie, {how}{_TIES[x.rounding]}"
    return f"{name}: bits below 2^{x.low} are dropped, {how}"


_TIES = {Rounding.RNE: " to even", Rounding.RNA: ", away from zero"}
