"""Blocks of steps without fused sums: adder trees, sequential accumulators and integers, one line for each number."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from mmaproof.cli.picture import words
from mmaproof.cli.picture.blocks import Block, Entry
from mmaproof.cli.picture.steps import Pattern, Step
from mmaproof.cli.picture.values import (
    exact,
    is_finite,
    magnitude,
    names,
    pattern_number,
    pattern_value,
)
from mmaproof.designs.readings import First, IntegerOverflow, Normalises, Truncates


def tree_block(step: Step) -> Block:
    """Return the block of a step that rounds each product and each sum of two."""
    p = step.design.parameters
    flushing = words.flushing(p.subnormals)
    heading = f"adder tree: each product and each sum of two is rounded by {p.rho}, c is added last{flushing}"
    return Block("", heading, tuple(words.readings(step)), (), tuple(_tree(step)), (step.returned,))


def _tree(step: Step) -> Iterator[Entry]:
    fmt, results = step.design.d_format, step.results
    for name, pattern in results.items():
        parts = name.split("+")
        half = len(parts) // 2
        if half:
            inputs = [(fmt, results["+".join(x)]) for x in (parts[:half], parts[half:])]
            note = _addition_note(step, inputs, [pattern_number(*x) for x in inputs], (fmt, pattern))
        else:
            factors = [step.element(x, int(name[1:])) for x in "ab"]
            whole = step.products[name] if all(is_finite(*x) for x in factors) else None
            note = " * ".join(f.hex(x) for f, x in factors)
            note = ", ".join(x for x in (note, _rounding_note(step, whole, (fmt, pattern))) if x)
        shown = name if len(parts) <= 4 else f"{parts[0]}+..+{parts[-1]}"
        yield Entry(shown, fmt.hex(pattern), pattern_value(fmt, pattern), note)
    c_fmt, c = step.accumulator
    yield Entry(step.accumulator_name, c_fmt.hex(c), pattern_value(c_fmt, c))
    d = (fmt, step.output)
    if results:
        last = (fmt, [*results.values()][-1])
        values = [pattern_number(*step.accumulator, flushes=step.flushes("c")), pattern_number(*last)]
        note = _addition_note(step, [step.accumulator, last], values, d)
        yield Entry(step.output_name, fmt.hex(step.output), pattern_value(*d), note)


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
    if not value and step.design.parameters.subnormals.of_results:
        return f"flushed to zero from {exact(whole)}"
    exactly = exact(whole)
    return f"rounded from {exactly}" if len(exactly) <= words.LONGEST // 2 else f"rounded by {magnitude(value - whole)}"


_FIRST = {
    First.EXPONENT: "starting with the largest exponent",
    First.MAGNITUDE: "starting with the largest magnitude",
    First.INDEX: "in order",
}
_TRUNCATES = {Truncates.ADDEND: "each addend", Truncates.PARTIAL_SUM: "each partial sum"}


def sequential_block(step: Step) -> Block:
    """Return the block of a step that adds its terms one after the other."""
    p = step.design.parameters
    if step.decided:
        heading, *causes = words.specials(step)
        return Block("", heading, tuple(causes), after=(step.returned,))
    normalises = ", partial sums are normalised" if p.normalises is Normalises.YES else ""
    heading = (
        f"terms are added one after the other, {_FIRST[p.first]}; {_TRUNCATES[p.truncates]} is cut to "
        f"F = {p.fraction_bits} fraction bits{normalises}{words.flushing(p.subnormals)}"
    )
    accumulator = pattern_number(*step.accumulator, flushes=step.flushes("c"))
    terms = step.products | {step.accumulator_name: accumulator}
    entries = (
        Entry(label, " * ".join(f.hex(x) for f, x in step.patterns(label)), exact(value))
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


def integer_block(step: Step) -> Block:
    """Return the block of an integer step: products, c, their exact sum, and what the register holds of it."""
    fmt = step.design.d_format
    terms = step.products | {"c": pattern_number(*step.accumulator)}
    entries = (
        Entry(label, " * ".join(f.hex(x) for f, x in step.patterns(label)), f"{value.numerator:+d}")
        for label, value in terms.items()
        if value
    )
    zeros = names([label for label, value in terms.items() if not value])
    whole = sum(terms.values(), Fraction(0))
    held = "fits in" if whole == step.d else _OVERFLOWS[step.design.parameters.integer_overflow]
    return Block(
        title="",
        heading="integer products and c, added exactly",
        before=(f"{zeros}: 0",) if zeros else (),
        entries=tuple(entries),
        after=(f"sum = {whole.numerator:+d}, {held} {fmt.bits} bits", step.returned),
    )


_OVERFLOWS = {IntegerOverflow.WRAP: "wrapped to", IntegerOverflow.SATURATE: "limited to what fits in"}
