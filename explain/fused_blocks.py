"""Blocks of a step that adds its terms in fused sums: one for each sum, and one where c is added late.

Other steps are not drawn bit by bit: adder trees, sequential accumulators, integers, and every kind of step of which
nothing more is known have one line for each number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import ComplexPart, First, IntegerOverflow, Normalises, Truncates, ZeroProductSign
from mmaproof.designs.steps import IntegerStep, InterleavedStep, PairwiseStep, SequentialStep
from mmaproof.explain import words
from mmaproof.explain.blocks import Block, Entry, Row, RowKind
from mmaproof.explain.steps import Name, Pattern, Rounded, Step, Sum
from mmaproof.explain.values import (
    exact,
    is_finite,
    is_subnormal,
    magnitude,
    names,
    pattern_number,
    pattern_value,
    scaled,
    top_weight,
    units,
    unpacked,
)
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import Addend, Label, Partial, Product, RoundedSum, sum_widths

DRAWN_BITS = 64
"""Between the highest and the lowest bit of a late addition that is drawn bit by bit."""


def fused_parts(step: Step) -> list[Block]:
    """Return the blocks of the fused sums of a step, in order."""
    readings = (*words.readings(step), *words.scales(step), *words.parts(step))
    if step.decided:
        heading, *causes = words.specials(step)
        return [Block("", heading, tuple(causes), after=(step.returned,))]
    if not any(step.terms.values()):
        before = [line for s in step.sums for line in words.zeros(step, s)]
        return [Block("", "every term is zero", (*readings, *before), after=(step.returned,))]
    first, *later = [_sum_block(step, s) for s in step.sums]
    *inner, last = replace(first, before=(*readings, *first.before)), *later
    final = (*last.after, *_converted(step), step.returned)
    return [*(replace(part, inner=True) for part in inner), replace(last, after=final)]


def _sum_block(step: Step, of: Sum) -> Block:
    """Return the block of one fused sum: rows of bits, unless there is nothing but zeros."""
    name = f"{of.title}: " if len(step.sums) > 1 or step.once or step.late else ""
    if step.starts:
        # there is nothing to add the sum to yet
        name = name.replace(" and acc:", ":")
    zeros = (*words.zeros(step, of), *words.dropped(step, of))
    if not any(of.terms.values()):
        return Block("", f"{name}every term is zero", zeros)
    pairs = zip(of.labels, of.signals.terms, strict=True)
    highest = names([label for label, t in pairs if t.present.data and t.exponent.data == of.e_max])
    heading = f"{name}e_max = {of.e_max} ({highest or 'its floor'})"
    last = of is step.sums[-1]
    rows = [*_term_rows(step, of)]
    integer_top, register_top = _register(step, of)
    return Block(
        title="",
        heading=heading + _cuts(step, of),
        before=zeros,
        rows=(*rows, *_sum_rows(step, of, register_top, last)),
        after=tuple(words.losses(of)),
        e_max=of.e_max,
        cut=of.cut,
        integer_top=integer_top,
        register_top=register_top,
        fraction=_fraction(step, of, min(of.labels, key=lambda label: of.cuts[label])),
    )


def _cuts(step: Step, of: Sum) -> str:
    """Say which bits are cut, and how."""
    if of.rounds_to_nearest:
        rounded = "rounded"
    elif of.of_sums and of.rounds_down:
        rounded = "rounded down"
    elif Partial.PRODUCTS in of.labels:
        rounded = "cut"
    else:
        return f", F = {of.signals.fraction_bits}: bits below 2^{of.cut} are cut"
    if Partial.PRODUCTS not in of.labels:
        return f", F = {of.signals.fraction_bits}: all are {rounded} to multiples of 2^{of.cut}"
    first, *others = (f"to multiples of 2^{of.cuts[x]} ({_fraction(step, of, x)})" for x in of.labels)
    verbs = [f"{of.labels[0]} are {rounded} {first}", *map("{} {}".format, of.labels[1:], others)]
    return f": {', '.join(verbs)}"


def _fraction(step: Step, of: Sum, label: Name) -> str:
    """Return how many fraction bits of a term are kept, as the parameter that says so."""
    bits, again = of.path_cuts[label].fraction_bits, step.path.rounds_again
    if label is not Partial.PRODUCTS or "late_bits" not in step.design.settings:
        return f"F = {bits}"
    return f"F2 + {bits - again} = {bits}" if again is not None and bits > again else f"F2 = {bits}"


def _register(step: Step, of: Sum) -> tuple[int, int]:
    """Return the weights of the highest integer bit of a term and of the highest bit of the register.

    The register that the design's parameters describe holds sums of products, of which two integer bits can be told
    apart; where sums or scaled groups are added, the picture is as wide as their values.
    """
    scaled_groups = step.design.step.group_size is not None
    if of.of_sums or scaled_groups:
        values = [v for v in (*of.aligned.values(), *of.terms.values(), of.total) if v]
        top = max(of.e_max, *map(top_weight, values))
        return top, top
    widths = sum_widths(step.design)
    integer_top = of.e_max + widths.integer_bits - 1
    return integer_top, integer_top + widths.carry_bits


def _term_rows(step: Step, of: Sum) -> Iterator[Row]:
    for label, t in zip(of.labels, of.signals.terms, strict=True):
        value, held, cut = of.terms[label], of.aligned[label], of.cuts[label]
        if not value and not held:
            continue
        sign, scale = "+-"[t.negative.data], t.exponent.data - t.fraction_bits
        top = scale + t.significand.width - 1
        operands = " * ".join(f.hex(x) for f, x in step.patterns(label))
        if value:
            yield Row(RowKind.TERM, str(label), sign, t.significand.data, scale, top, cut, exact(value), operands)
        kept, there = units(value, cut), units(held, cut)
        if there != kept:
            top = cut + there.bit_length() - 1
            yield Row(RowKind.ALIGNED, of.path_cuts[label].alignment.value, sign, there, cut, top, cut, exact(held))


def _sum_rows(step: Step, of: Sum, register_top: int, last: bool) -> Iterator[Row]:
    """Give the register, and for the sum that is converted the result and what the conversion drops."""
    total, sign = abs(of.signals.total.data), "+-"[of.total < 0]
    top = max(register_top, of.cut + total.bit_length() - 1)
    name = str(of.label) if not last else "total" if step.late or step.once else "sum"
    yield Row(RowKind.SUM, name, sign, total, of.cut, top, of.cut, exact(of.total))
    if last:
        scale = of.cut if step.sticky_weight is None else step.sticky_weight
        yield from _result_rows(step.output_name, step.conversion, scale, top, of.cut)


def _result_rows(name: str, x: Rounded, scale: int, top: int, cut: int | None) -> Iterator[Row]:
    """Give the bits of a rounded sum, a multiple of ``2**scale``, and those that the rounding drops."""
    if x.beyond or x.flushed:
        return
    low, total = x.low, units(x.exact, scale)
    integer = units(x.value, low)
    end = low + max(integer.bit_length() - 1, x.fraction_bits)
    sign = "+-"[x.pattern >> x.fmt.sign_position]
    yield Row(RowKind.RESULT, name, sign, integer, low, end, cut, x.fmt.hex(x.pattern))
    if dropped := total % (1 << max(low - scale, 0)):
        value = exact(scaled(-dropped if x.exact < 0 else dropped, scale))
        sign = "+-"[x.exact < 0]
        yield Row(RowKind.DROPPED, "rest", sign, dropped, scale, min(low - 1, top), cut, value)


def _converted(step: Step) -> Iterator[str]:
    """Say how the sum was rounded."""
    if step.path.rounds_again is not None:
        yield f"first the sum is rounded down to {step.path.rounds_again} bits below its own highest bit"
    if step.sticky_weight is not None:
        yield f"sticky: bits were cut off, so the sum is rounded as though a bit were set at 2^{step.sticky_weight}"
    yield words.rounding(f"conversion {step.design.step.rho}", step.conversion)
    if step.output_name == "acc":
        yield "acc goes into the next step; c is added after the last one"


def late_block(step: Step) -> Block:
    """Return the block of the addition of c to the converted sum: bits, unless they lie too far apart."""
    fmt, d = step.design.d_format, step.signals.d.data
    named: dict[Label, Pattern] = {Addend.C: step.c, Partial.WHOLE: (fmt, step.output)}
    heading, result = "late addition: c + sum = d", f"d = {step.result}"
    if not all(is_finite(*x) for x in named.values()):
        return Block("", heading, entries=(*_listed(named), _entry("d", fmt, d)), after=(result,))
    flushes = step.flushes("c") and is_subnormal(*step.c)
    readings = tuple(words.flushed(step, [("c", step.c)] if flushes else []))
    values = [pattern_number(*step.c, flushes=flushes), pattern_number(*named[Partial.WHOLE])]
    total, overflowed = sum(values, Fraction(0)), not is_finite(fmt, d)
    rho = Rules.of_late_addition(step.design).rho
    flushed = step.design.step.subnormals.of_results
    rounded = Rounded(total, fmt, d, rho.fraction_bits, rho.rounding, overflowed, flushed)
    way = "to nearest" if rho.rounding is Rounding.RNE else str(rho.rounding)
    after = [words.rounding(f"rounding {way} in {fmt.name}", rounded), result]
    rows = [_late_row(str(name), *x) for name, x in named.items()]
    highest, low = max(top_weight(v) for v in (*values, total) if v) if any(values) else 0, min(r.scale for r in rows)
    if not all(values) or highest - low > DRAWN_BITS:
        if total != rounded.value and not rounded.beyond:
            off = total - rounded.value
            after.insert(0, f"c + sum is {magnitude(off)} {'above' if off > 0 else 'below'} d")
        return Block("", heading, readings, entries=(*_listed(named), _entry("d", fmt, d)), after=tuple(after))
    integer, sign, value = units(total, low), "+-"[total < 0], exact(total)
    rows.append(Row(RowKind.SUM, "c+sum", sign, integer, low, highest, None, value))
    rows += _result_rows("d", rounded, low, highest, None)
    # nothing is aligned here: the point stays where it is above, if there are bits
    above = [s.e_max for s in step.sums if low <= s.e_max <= highest]
    point = above[-1] if above else max(row.top for row in rows[:2])
    return Block("", heading, (), tuple(rows), (), tuple(after), point, low, highest, highest)


def _listed(named: Mapping[Label, Pattern]) -> Iterator[Entry]:
    return (_entry(str(name), *x) for name, x in named.items())


def _entry(name: str, fmt: Format, pattern: int) -> Entry:
    return Entry(name, fmt.hex(pattern), pattern_value(fmt, pattern))


def _late_row(name: str, fmt: Format, pattern: int) -> Row:
    x = unpacked(fmt, pattern)
    scale, top = x.exponent.data - x.fraction_bits, x.exponent.data
    value, sign = pattern_value(fmt, pattern), "+-"[x.negative.data]
    return Row(RowKind.TERM, name, sign, x.significand.data, scale, top, None, value, fmt.hex(pattern))


def tree_block(step: Step, of: PairwiseStep) -> Block:
    """Return the block of a step that rounds each product and each sum of two."""
    flushing = words.flushing(of.subnormals)
    zero = ", added to +0," if of.zero_product_sign is ZeroProductSign.PLUS_ZERO else ""
    heading = f"adder tree: each product{zero} and each sum of two is rounded by {of.rho}, c is added last{flushing}"
    return Block("", heading, tuple(words.readings(step)), (), tuple(_tree(step)), (step.returned,))


def _tree(step: Step) -> Iterator[Entry]:
    fmt, results = step.design.d_format, step.results
    for label, pattern in results.items():
        note = ""
        match label:
            case RoundedSum(parts):
                half = len(parts) // 2
                inputs = [(fmt, results[_sum_of(x)]) for x in (parts[:half], parts[half:])]
                note = _addition_note(step, inputs, [pattern_number(*x) for x in inputs], (fmt, pattern))
            case Product(k):
                factors = [step.element(x, k) for x in "ab"]
                whole = step.products[label] if all(is_finite(*x) for x in factors) else None
                note = " * ".join(f.hex(x) for f, x in factors)
                note = ", ".join(x for x in (note, _rounding_note(step, whole, (fmt, pattern))) if x)
        yield Entry(_shown(label), fmt.hex(pattern), pattern_value(fmt, pattern), note)
    c_fmt, c = step.accumulator
    yield Entry(str(step.accumulator_name), c_fmt.hex(c), pattern_value(c_fmt, c))
    d = (fmt, step.output)
    if results:
        last = (fmt, [*results.values()][-1])
        values = [pattern_number(*step.accumulator, flushes=step.flushes("c")), pattern_number(*last)]
        note = _addition_note(step, [step.accumulator, last], values, d)
        yield Entry(step.output_name, fmt.hex(step.output), pattern_value(*d), note)


def _sum_of(parts: tuple[Label, ...]) -> Label:
    return RoundedSum(parts) if parts[1:] else parts[0]


def _shown(label: Label) -> str:
    if isinstance(label, RoundedSum) and len(label.parts) > 4:
        return f"{label.parts[0]}+..+{label.parts[-1]}"
    return str(label)


def _addition_note(step: Step, inputs: list[Pattern], values: list[Fraction], result: Pattern) -> str:
    if not all(is_finite(*x) for x in inputs):
        special = {pattern_value(*x) for x in inputs}
        return "infinities of both signs" if special == {"+infinity", "-infinity"} else ""
    return _rounding_note(step, sum(values, Fraction(0)), result)


def _rounding_note(step: Step, whole: Fraction | None, result: Pattern) -> str:
    """Say what rounding, flushing or overflow made of an exact value; nothing where it stayed."""
    if whole is None:
        return ""
    if not is_finite(*result):
        return "beyond the largest finite number"
    value = pattern_number(*result)
    if value == whole:
        return ""
    if not value and step.design.step.subnormals.of_results:
        return f"flushed to zero from {exact(whole)}"
    exactly = exact(whole)
    return f"rounded from {exactly}" if len(exactly) <= words.LONGEST // 2 else f"rounded by {magnitude(value - whole)}"


def interleaved_block(step: Step, of: InterleavedStep) -> Block:
    """Return the block of two chains of fused multiply-adds: one line for each that changes its sum."""
    parts = "" if of.complex_part is ComplexPart.NONE else f"{of.complex_part} part of complex products: "
    heading = (
        f"{parts}even and odd products in two chains from +0, each fused multiply-add is rounded by {of.rho}; "
        f"both sums are added, then c{words.flushing(of.subnormals)}"
    )
    fmt, results = step.design.d_format, [word.data for _, word in step.signals.rounded]
    entries: list[Entry] = []
    idle: list[Name] = []
    before = {0: (fmt, 0), 1: (fmt, 0)}
    in_turn = [(first, label) for first in (0, 1) for label in step.path.terms[first::2]]
    for (first, label), pattern in zip(in_turn, results, strict=False):
        total, factors = (fmt, pattern), step.patterns(label)
        if total == before[first] and not step.products[label] and all(is_finite(*x) for x in factors):
            idle.append(label)
            continue
        operands = " * ".join(f.hex(x) for f, x in factors)
        known = all(is_finite(*x) for x in (*factors, before[first]))
        whole = pattern_number(*before[first]) + step.products[label] if known else None
        note = ", ".join(x for x in (operands, _rounding_note(step, whole, total)) if x)
        entries.append(Entry(f"{_CHAINS[first]} + {label}", fmt.hex(pattern), pattern_value(*total), note))
        before[first] = total
    sums, total = [before[0], before[1]], (fmt, results[-1])
    note = _addition_note(step, sums, [pattern_number(*x) for x in sums], total)
    entries.append(Entry(" + ".join(_CHAINS), fmt.hex(results[-1]), pattern_value(*total), note))
    c, d = step.accumulator, (fmt, step.output)
    entries.append(Entry(str(step.accumulator_name), c[0].hex(c[1]), pattern_value(*c)))
    values = [pattern_number(*c, flushes=step.flushes("c")), pattern_number(*total)]
    note = _addition_note(step, [c, total], values, d)
    entries.append(Entry(step.output_name, fmt.hex(step.output), pattern_value(*d), note))
    in_order = names([label for label in step.path.terms if label in idle])
    zeros = (f"{in_order}: zero, which leaves its chain unchanged",) if idle else ()
    return Block("", heading, (*words.readings(step), *zeros), (), tuple(entries), (step.returned,))


_CHAINS = ("even", "odd")

_FIRST = {
    First.EXPONENT: "starting with the largest exponent",
    First.MAGNITUDE: "starting with the largest magnitude",
    First.INDEX: "in order",
}
_TRUNCATES = {Truncates.ADDEND: "each addend", Truncates.PARTIAL_SUM: "each partial sum"}


def sequential_block(step: Step, of: SequentialStep) -> Block:
    """Return the block of a step that adds its terms one after the other."""
    if step.decided:
        heading, *causes = words.specials(step)
        return Block("", heading, tuple(causes), after=(step.returned,))
    normalises = ", partial sums are normalised" if of.normalises is Normalises.YES else ""
    heading = (
        f"terms are added one after the other, {_FIRST[of.first]}; {_TRUNCATES[of.truncates]} is cut to "
        f"F = {of.fraction_bits} fraction bits{normalises}{words.flushing(of.subnormals)}"
    )
    accumulator = pattern_number(*step.accumulator, flushes=step.flushes("c"))
    terms = step.products | {step.accumulator_name: accumulator}
    entries = (
        Entry(str(label), " * ".join(f.hex(x) for f, x in step.patterns(label)), exact(value))
        for label, value in terms.items()
        if value
    )
    zeros = names([label for label, value in terms.items() if not value])
    whole, before = sum(terms.values(), Fraction(0)), (*words.readings(step), *([f"{zeros}: zero"] if zeros else ()))
    after = ("partial sums are not drawn", *_difference(step, whole), step.returned)
    return Block("", heading, before, entries=tuple(entries), after=after)


def _difference(step: Step, whole: Fraction) -> Iterator[str]:
    """Compare the output with the exact sum of the terms."""
    name, output = step.output_name, (step.design.d_format, step.output)
    words_of_sum = exact(whole)
    sum_is = f"the exact sum is {words_of_sum}" if len(words_of_sum) <= words.LONGEST else "the exact sum is longer"
    if not is_finite(*output):
        yield f"{sum_is}; {name} is beyond the largest finite number"
    elif pattern_number(*output) == whole:
        yield f"{sum_is}, which is {name}"
    else:
        off = pattern_number(*output) - whole
        yield f"{sum_is}; {name} is {'above' if off > 0 else 'below'} it" + (
            f" by {magnitude(off)}" if len(exact(off)) <= words.LONGEST else ""
        )


def integer_block(step: Step, of: IntegerStep) -> Block:
    """Return the block of an integer step: products, c, their exact sum, and what the register holds of it."""
    fmt = step.design.d_format
    terms = step.products | {step.accumulator_name: pattern_number(*step.accumulator)}
    sign = " ^ " if step.counts_differing_bits else " * "
    entries = (
        Entry(str(label), sign.join(f.hex(x) for f, x in step.patterns(label)), f"{value.numerator:+d}")
        for label, value in terms.items()
        if value
    )
    zeros = names([label for label, value in terms.items() if not value])
    added_up = "bits that differ" if step.counts_differing_bits else "integer products"
    heading, pairs = f"{added_up} and c, added exactly", dict[str, Fraction]()
    if of.intermediate_bits is not None:
        heading = f"integer products, each two added in {of.intermediate_bits} bits that saturate, then c"
        pairs = dict(_pairs(list(step.products.items()), of.intermediate_bits))
    added = (*pairs.values(), terms[step.accumulator_name]) if pairs else terms.values()
    whole = sum(added, Fraction(0))
    held = "fits in" if whole == step.d else _OVERFLOWS[of.integer_overflow]
    return Block(
        title="",
        heading=heading,
        before=(f"{zeros}: 0",) if zeros else (),
        entries=tuple(entries),
        after=(
            *(f"{name} = {value.numerator:+d}" for name, value in pairs.items()),
            f"sum = {whole.numerator:+d}, {held} {fmt.bits} bits",
            step.returned,
        ),
    )


def _pairs(products: Sequence[tuple[Name, Fraction]], bits: int) -> Iterator[tuple[str, Fraction]]:
    """Yield the sums of two neighbouring products, and what a register of N bits holds of them."""
    most = 1 << (bits - 1)
    for (i, x), (j, y) in zip(products[::2], products[1::2], strict=True):
        yield f"{i} + {j}", min(max(x + y, Fraction(-most)), Fraction(most - 1))


_OVERFLOWS = {IntegerOverflow.WRAP: "wrapped to", IntegerOverflow.SATURATE: "limited to what fits in"}


def plain_block(step: Step) -> Block:
    """Return the block of a step of an unknown kind. It lists its rounded results, c and d only."""
    fmt = step.design.d_format
    results = [(label, word.data) for label, word in step.signals.rounded if label is not Partial.WHOLE]
    entries = [Entry(_shown(label), fmt.hex(x), pattern_value(fmt, x)) for label, x in results]
    c_fmt, c = step.accumulator
    entries.append(Entry(str(step.accumulator_name), c_fmt.hex(c), pattern_value(c_fmt, c)))
    heading = "a step of this kind is not drawn bit by bit" + ("; its rounded results:" if results else "")
    return Block("", heading, entries=tuple(entries), after=(step.returned,))
