"""Blocks of steps that are not drawn bit by bit, one line for each number.

They are adder trees, sequential accumulators, integers, and every kind of step of which nothing more is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from mmaproof.designs.readings import First, IntegerOverflow, Normalises, Truncates, ZeroProductSign
from mmaproof.designs.steps import IntegerStep, InterleavedStep, PairwiseStep, SequentialStep
from mmaproof.explain import words
from mmaproof.explain.blocks import Block, Entry
from mmaproof.explain.steps import Pattern, Step
from mmaproof.explain.sums import Name
from mmaproof.explain.values import (
    exact,
    is_finite,
    magnitude,
    names,
    pattern_number,
    pattern_value,
)
from mmaproof.smt.semantics.labels import Label, Partial, Product, RoundedSum


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
    heading = (
        f"even and odd products in two chains from +0, each fused multiply-add is rounded by {of.rho}; "
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
    entries = (
        Entry(str(label), " * ".join(f.hex(x) for f, x in step.patterns(label)), f"{value.numerator:+d}")
        for label, value in terms.items()
        if value
    )
    zeros = names([label for label, value in terms.items() if not value])
    heading, pairs = "integer products and c, added exactly", dict[str, Fraction]()
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
