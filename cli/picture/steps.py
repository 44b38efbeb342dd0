"""The steps of a design on operands with their signals as exact values, and where two designs come to differ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mmaproof.cli.picture.values import exact, finite, names, pattern_value, scaled, units, unpacked
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.designs.readings import Alignment, ChainInfinity
from mmaproof.smt.semantics.signals import StepSignals


class Step:
    """Step ``index`` of a design on operands, with its signals as exact values.

    ``labels`` name the terms p0, p1, ..., c; ``given`` are the numbers of the products that the operands hold, any
    others being +0. ``cut`` is the weight of the lowest bit kept by the alignment, ``rounded`` that of the lowest
    bit of the sum kept by the conversion. ``decided`` says that a NaN or an infinity decided d, ``beyond`` that the
    sum exceeds the largest finite number.
    """

    def __init__(
        self, title: str, design: Design, operands: Operands, steps: Sequence[StepSignals[int, bool]], index: int
    ) -> None:
        self.title, self.design, self.operands = title, design, operands
        self.index, self.count, self.signals = index, len(steps), steps[index]
        self.before = steps[index - 1] if index else None
        self.c = (design.d_format, self.before.d.data) if self.before else (design.c_format, operands.c)
        fused, length = design.parameters.L, len(operands)
        self.given = range(min(index * fused, length), min((index + 1) * fused, length))
        self.labels = [*(f"p{k}" for k in range(index * fused, (index + 1) * fused)), "c"]

        s, special, fmt = self.signals, self.signals.special, design.d_format
        self.e_max = s.e_max.data
        self.cut = self.e_max - design.parameters.fraction_bits
        values = [
            scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits) for t in s.terms
        ]
        self.terms = dict(zip(self.labels, values, strict=True))
        self.aligned = dict(zip(self.labels, (scaled(x.data, self.cut) for x in s.aligned), strict=True))
        self.total = scaled(s.total.data, self.cut)
        self.decided = special.nan.data or (special.infinite.data and fmt.infinity is not None)
        highest = self.cut + abs(s.total.data).bit_length() - 1
        self.rounded = max(highest, fmt.e_min) - design.parameters.conversion.fraction_bits
        self.d = finite(unpacked(fmt, s.d.data))
        self.beyond = s.overflowed.data or abs(self.total) - abs(self.d) >= scaled(1, self.rounded)
        self.result = f"{fmt.hex(s.d.data)} = {pattern_value(fmt, s.d.data)}"

    def patterns(self, label: str) -> list[tuple[Format, int]]:
        """Return the operands behind a given term."""
        if label == "c":
            return [self.c]
        k = int(label[1:])
        return [(self.design.a_format, self.operands.a[k]), (self.design.b_format, self.operands.b[k])]

    def lost(self, label: str) -> Fraction:
        """Return what lies below the cut in a term."""
        term = self.terms[label]
        below = abs(term) % scaled(1, self.cut)
        return -below if term < 0 else below

    def special_terms(self) -> dict[str, str]:
        """Return the terms that are NaN, or else those that are infinite, with which of these they are."""
        # an infinity that rho produced in the step before may count as a number: open point 8
        produced = self.before is not None and self.before.overflowed.data and not self.before.special.infinite.data
        c_counts = not produced or self.design.parameters.chain_infinity is ChainInfinity.INFINITE
        found = {}
        for label in [*self.labels[: len(self.given)], "c"]:
            values = [pattern_value(f, x) for f, x in self.patterns(label)]
            infinite = any(v.endswith("infinity") for v in values)
            if "NaN" in values or (infinite and {"+0", "-0"} & {*values}):
                found[label] = "NaN"
            elif infinite and (label != "c" or c_counts):
                found[label] = "+-"[[v[0] for v in values].count("-") % 2] + "infinity"
        return {label: value for label, value in found.items() if value == "NaN"} or found

    def added(self) -> list[str]:
        """Return the products that are not zero."""
        special = self.special_terms() if self.decided else {}
        return [label for label in self.labels[:-1] if self.terms[label] or label in special]

    def idle(self) -> str:
        """Return why the step returns its c and is not worth drawing; empty where it is."""
        if self.c != (self.design.d_format, self.signals.d.data):
            return ""
        if self.decided:
            return f"c is {pattern_value(*self.c)}" if self.index and [*self.special_terms()] == ["c"] else ""
        return "" if any(self.terms[label] for label in self.labels[:-1]) else "products are zero"


def paired(a: Sequence[Step], b: Sequence[Step]) -> list[tuple[Step, ...]] | None:
    """Return the steps of two designs in order and in pairs that add the same products.

    A step that adds none may stand alone. None is returned where the designs group products in different ways.
    """
    result: list[tuple[Step, ...]] = []
    left, right = list(a), list(b)
    while left or right:
        if left and right and left[0].added() == right[0].added():
            result.append((left.pop(0), right.pop(0)))
        elif left and not left[0].added() and (left[0].idle() or not right):
            result.append((left.pop(0),))
        elif right and not right[0].added() and (right[0].idle() or not left):
            result.append((right.pop(0),))
        else:
            return None
    return result


def first_difference(a: Sequence[Step], b: Sequence[Step]) -> str:
    """Say in which step, and by which signal, the results of two designs A and B come to differ.

    Signals that differ in a step with the same d have no effect, for the next step reads the same c.
    """
    if a[-1].result == b[-1].result:
        return f"no difference: A and B return {a[-1].result}"
    groups = paired(a, b)
    for x, y in zip(a, b, strict=False) if groups is None else (g for g in groups if len(g) == 2):
        if x.added() != y.added():
            words = [names(step.added()) or "no product" for step in (x, y)]
            return f"first difference: step {x.index + 1}, A adds {words[0]} and B adds {words[1]}"
        if x.result != y.result:
            where = f"step {x.index + 1}" if x.index == y.index else f"step {x.index + 1} of A, {y.index + 1} of B"
            return f"first difference: {where}, {_differing_signal(x, y)}"
    return f"first difference: the last step of {'A' if len(a) > len(b) else 'B'}, which the other does not take"


def _differing_signal(a: Step, b: Step) -> str:
    """Say which stage of a step is the first to differ: terms, e_max, aligned terms, sum or conversion."""
    shared = [label for label in a.labels if label in b.labels]
    read = [label for label in shared if a.terms[label] != b.terms[label]]
    held = [label for label in shared if a.aligned[label] != b.aligned[label]]
    if a.decided or b.decided:
        return f"special values: A returns {a.result}, B returns {b.result}"
    if read:
        return f"{read[0]} is {exact(a.terms[read[0]])} in A and {exact(b.terms[read[0]])} in B"
    if held and a.e_max != b.e_max:
        return f"e_max is {a.e_max} in A and {b.e_max} in B"
    if held:
        also = f" ({names(held[1:])} differ{'s' * (len(held) == 2)} too)" if held[1:] else ""
        return _differing_alignment(held[0], a, b) + also
    if a.total != b.total:
        return f"the sum is {exact(a.total)} in A and {exact(b.total)} in B"
    return f"conversion of {exact(a.total)}: A returns {a.result}, B returns {b.result}"


def _differing_alignment(label: str, a: Step, b: Step) -> str:
    low = min(a.cut, b.cut)
    x, y = (units(step.aligned[label], low) for step in (a, b))
    truncated = all(step.design.parameters.alignment is Alignment.TRUNCATE for step in (a, b))
    if not truncated or x & y != min(x, y):
        return f"{label} is aligned to {exact(a.aligned[label])} in A and to {exact(b.aligned[label])} in B"
    keeps, loses = ("A", "B") if x > y else ("B", "A")
    changed = x ^ y
    high, last = low + changed.bit_length() - 1, low + (changed & -changed).bit_length() - 1
    bits = f"bit 2^{high}" if high == last else f"bits 2^{high} to 2^{last}"
    return f"{label} keeps {bits} in {keeps} and loses {'it' if high == last else 'them'} in {loses}"
