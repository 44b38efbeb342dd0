"""The picture of a dot product: what a unit does to each bit of it, drawn for a terminal.

Every bit is placed by its weight: the column of weight w holds the bits worth 2**w, in every row and for every
design. A ``Block`` says what there is to draw of a step and a ``Layout`` in which columns, both without any styling.
Values are exact everywhere: sign, odd significand and power of two, or a bit pattern in hexadecimal.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Operands
from mmaproof.designs.parameters import Alignment, ChainInfinity, Rounding
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import trace
from mmaproof.smt.semantics.unit import StepSignals
from mmaproof.smt.semantics.unpack import Unpacked, unpack
from mmaproof.smt.semantics.widths import sum_widths

# --- exact values ----------------------------------------------------------------------------------------------------


def exact(value: Fraction, negative_zero: bool = False) -> str:
    """Return ``value``, a multiple of some power of two, as sign, odd significand and power: ``-3 * 2^2``, ``+0``."""
    if not value:
        return "-0" if negative_zero else "+0"
    significand = abs(value.numerator)
    places = (significand & -significand).bit_length() - 1
    power = places - (value.denominator.bit_length() - 1)
    return f"{'-' if value < 0 else '+'}{significand >> places} * 2^{power}"


def pattern_value(fmt: Format, pattern: int) -> str:
    """Return what ``pattern`` means: its exact value, ``NaN`` or a signed ``infinity``."""
    x = _unpacked(fmt, pattern)
    if x.nan.data:
        return "NaN"
    if x.infinite.data:
        return "-infinity" if x.negative.data else "+infinity"
    return exact(_finite(x), x.negative.data)


def _unpacked(fmt: Format, pattern: int) -> Unpacked[int, bool]:
    algebra = IntegerAlgebra()
    return unpack(algebra, fmt, algebra.unsigned(pattern, fmt.bits))


def _finite(x: Unpacked[int, bool]) -> Fraction:
    return _scaled((-1) ** x.negative.data * x.significand.data, x.exponent.data - x.fraction_bits)


def _scaled(integer: int, weight: int) -> Fraction:
    return Fraction(integer) * Fraction(2) ** weight


def _units(value: Fraction, weight: int) -> int:
    """Return the magnitude of ``value`` in units of ``2**weight``, cut."""
    return int(abs(value) / _scaled(1, weight))


def _names(labels: Sequence[str]) -> str:
    """Return p0, p1, p2, p8, c as ``p0..p2, p8, c``."""
    runs: list[list[str]] = []
    for label in labels:
        if runs and label != "c" and int(label[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


# --- a step ----------------------------------------------------------------------------------------------------------


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
            _scaled((-1) ** t.negative.data * t.significand.data, t.exponent.data - t.fraction_bits) for t in s.terms
        ]
        self.terms = dict(zip(self.labels, values, strict=True))
        self.aligned = dict(zip(self.labels, (_scaled(x.data, self.cut) for x in s.aligned), strict=True))
        self.total = _scaled(s.total.data, self.cut)
        self.decided = special.nan.data or (special.infinite.data and fmt.infinity is not None)
        highest = self.cut + abs(s.total.data).bit_length() - 1
        self.rounded = max(highest, fmt.e_min) - design.parameters.conversion.fraction_bits
        self.d = _finite(_unpacked(fmt, s.d.data))
        self.beyond = s.overflowed.data or abs(self.total) - abs(self.d) >= _scaled(1, self.rounded)
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
        below = abs(term) % _scaled(1, self.cut)
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

    def idle(self) -> str:
        """Return why the step returns its c and is not worth drawing; empty where it is."""
        if self.c != (self.design.d_format, self.signals.d.data):
            return ""
        if self.decided:
            return f"c is {pattern_value(*self.c)}" if self.index and [*self.special_terms()] == ["c"] else ""
        return "" if any(self.terms[label] for label in self.labels[:-1]) else "products are zero"


def first_difference(a: Sequence[Step], b: Sequence[Step]) -> str:
    """Say in which step, and by which signal, the results of two designs A and B come to differ.

    Signals that differ in a step with the same d have no effect, for the next step reads the same c.
    """
    if a[-1].result == b[-1].result:
        return f"no difference: A and B return {a[-1].result}"
    for x, y in zip(a, b, strict=False):
        if x.given != y.given:
            added = [_names([f"p{k}" for k in step.given]) or "nothing" for step in (x, y)]
            return f"first difference: step {x.index + 1}, A adds {added[0]} and B adds {added[1]}"
        if x.result != y.result:
            return f"first difference: step {x.index + 1}, {_differing_signal(x, y)}"
    return f"first difference: step {min(len(a), len(b)) + 1}, taken by {'A' if len(a) > len(b) else 'B'} only"


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
        also = f" ({_names(held[1:])} differ{'s' * (len(held) == 2)} too)" if held[1:] else ""
        return _differing_alignment(held[0], a, b) + also
    if a.total != b.total:
        return f"the sum is {exact(a.total)} in A and {exact(b.total)} in B"
    return f"conversion of {exact(a.total)}: A returns {a.result}, B returns {b.result}"


def _differing_alignment(label: str, a: Step, b: Step) -> str:
    low = min(a.cut, b.cut)
    x, y = (_units(step.aligned[label], low) for step in (a, b))
    truncated = all(step.design.parameters.alignment is Alignment.TRUNCATE for step in (a, b))
    if not truncated or x & y != min(x, y):
        return f"{label} is aligned to {exact(a.aligned[label])} in A and to {exact(b.aligned[label])} in B"
    keeps, loses = ("A", "B") if x > y else ("B", "A")
    changed = x ^ y
    high, last = low + changed.bit_length() - 1, low + (changed & -changed).bit_length() - 1
    bits = f"bit 2^{high}" if high == last else f"bits 2^{high} to 2^{last}"
    return f"{label} keeps {bits} in {keeps} and loses {'it' if high == last else 'them'} in {loses}"


# --- what there is to draw of a step ---------------------------------------------------------------------------------


class RowKind(StrEnum):
    """What the bits of a row are; ALIGNED follows a term that floor or jam made more than its kept bits."""

    TERM = "term"
    ALIGNED = "aligned"
    SUM = "sum"
    RESULT = "result"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Row:
    """The bits of ``integer * 2**scale`` from the weight ``top`` down to ``scale``, and what stands beside them."""

    kind: RowKind
    label: str
    sign: str
    integer: int
    scale: int
    top: int
    value: str
    operands: str = ""

    def bit(self, weight: int) -> int | None:
        """Return the bit worth ``2**weight``, None outside the significand."""
        return self.integer >> (weight - self.scale) & 1 if self.scale <= weight <= self.top else None

    @property
    def ones(self) -> tuple[int, int] | None:
        """Weights of the highest and the lowest bit that is set, None for a zero."""
        lowest = (self.integer & -self.integer).bit_length() - 1
        return (self.scale + self.integer.bit_length() - 1, self.scale + lowest) if self.integer else None


@dataclass(frozen=True, slots=True)
class Block:
    """What is drawn of a step, or of neighbouring steps that return their c: lines of text around rows of bits.

    ``cut`` is the weight of the lowest kept bit, ``integer_top`` that of the highest integer bit of a product; the
    carry bits are above it, up to ``register_top``. These four mean nothing without rows.
    """

    title: str
    heading: str
    e_max: int
    cut: int
    integer_top: int
    register_top: int
    before: tuple[str, ...]
    rows: tuple[Row, ...]
    after: tuple[str, ...]


def idle_block(first: Step, last: Step) -> Block:
    """Return the block of neighbouring steps that return their c."""
    steps = f"steps {first.index + 1}..{last.index + 1}" if last is not first else f"step {first.index + 1}"
    number = f"{steps} of {first.count}: " if first.count > 1 else ""
    heading = f"{number}{first.idle()}, d = c unchanged"
    return Block(first.title, heading, 0, 0, 0, 0, (), (), (f"d = {last.result}",))


def step_block(step: Step) -> Block:
    """Return the block of one step: rows of bits, unless special values decide or there is nothing but zeros."""
    widths = sum_widths(step.design)
    integer_top = step.e_max + widths.integer_bits - 1
    register_top = integer_top + widths.carry_bits
    before = tuple(_zeros(step))
    rows: tuple[Row, ...] = ()
    after: tuple[str, ...] = (f"d = {step.result}",)
    if step.decided:
        heading, *before_lines = _specials(step)
        before = tuple(before_lines)
    elif not any(step.terms.values()):
        heading = "every term is zero"
    else:
        pairs = zip(step.labels, step.signals.terms, strict=True)
        highest = _names([label for label, t in pairs if t.present.data and t.exponent.data == step.e_max])
        heading = (
            f"e_max = {step.e_max} ({highest or 'its floor'}), F = {step.design.parameters.fraction_bits}: "
            f"bits below 2^{step.cut} are cut"
        )
        rows = (*_term_rows(step), *_sum_rows(step, register_top))
        after = (*_losses(step), _conversion(step), *after)
    number = f"step {step.index + 1} of {step.count}: " if step.count > 1 else ""
    return Block(step.title, number + heading, step.e_max, step.cut, integer_top, register_top, before, rows, after)


def _specials(step: Step) -> Iterator[str]:
    """Say which special value is returned, and because of which terms."""
    terms = step.special_terms()
    nan, opposite = step.signals.special.nan.data, len({*terms.values()}) > 1
    value = "infinities of both signs make a NaN" if opposite else "a NaN decides" if nan else "an infinity decides"
    yield f"{value}, there is no sum"
    for label, value in itertools.islice(terms.items(), 4):
        found = step.patterns(label)
        spelled = (f.hex(x) + (f" ({pattern_value(f, x)})" if len(found) > 1 else "") for f, x in found)
        yield f"{label} = {' * '.join(spelled)} is {value}"
    if len(terms) > 4:
        yield f"and {_names([*terms][4:])}"


def _zeros(step: Step) -> Iterator[str]:
    """Say which terms are zero, and which exponents they have, on one line for each sign."""
    missing = step.labels[len(step.given) : -1]
    for sign in "+-":
        pairs = zip(step.labels, step.signals.terms, strict=True)
        alike = {n: t for n, t in pairs if not t.significand.data and t.negative.data is (sign == "-")}
        ends = sorted({t.exponent.data for t in alike.values() if t.present.data})
        words = "no exponent" if not ends else f"exponent {ends[0]}"
        if len(ends) > 1:
            words = f"exponents {ends[0]} to {ends[-1]}"
        if sign == "+" and missing:
            words += "; not given" if [*alike] == missing else f"; {_names(missing)} not given"
        if alike:
            yield f"{_names([*alike])}: {sign}0 ({words})"


def _term_rows(step: Step) -> Iterator[Row]:
    for label, t in zip(step.labels, step.signals.terms, strict=True):
        value, held = step.terms[label], step.aligned[label]
        if not value:
            continue
        sign, scale = "+-"[t.negative.data], t.exponent.data - t.fraction_bits
        top = scale + t.significand.width - 1
        operands = " * ".join(f.hex(x) for f, x in step.patterns(label))
        yield Row(RowKind.TERM, label, sign, t.significand.data, scale, top, exact(value), operands)
        kept, there = _units(value, step.cut), _units(held, step.cut)
        if there != kept:
            name, top = step.design.parameters.alignment.value, step.cut + there.bit_length() - 1
            yield Row(RowKind.ALIGNED, name, sign, there, step.cut, top, exact(held))


def _sum_rows(step: Step, register_top: int) -> Iterator[Row]:
    """Give the register, the bits of d, and the bits of the register that the conversion drops."""
    total, low = abs(step.signals.total.data), step.rounded
    sign, top = "+-"[step.total < 0], max(register_top, step.cut + total.bit_length() - 1)
    yield Row(RowKind.SUM, "sum", sign, total, step.cut, top, exact(step.total))
    if step.beyond:
        return
    fmt, pattern = step.design.d_format, step.signals.d.data
    integer = _units(step.d, low)
    end = low + max(integer.bit_length() - 1, step.design.parameters.conversion.fraction_bits)
    yield Row(RowKind.RESULT, "d", "+-"[pattern >> fmt.sign_position], integer, low, end, fmt.hex(pattern))
    if dropped := total % (1 << max(low - step.cut, 0)):
        value = exact(_scaled(-dropped if step.total < 0 else dropped, step.cut))
        yield Row(RowKind.DROPPED, "rest", sign, dropped, step.cut, min(low - 1, top), value)


_ALIGNED = {
    Alignment.FLOOR: "floor: a negative term that loses bits is moved down to the next multiple",
    Alignment.JAM: "jam: where bits are lost the lowest kept bit is set",
}


def _losses(step: Step) -> Iterator[str]:
    """Say what the cut lost and whether the register wrapped."""
    losers = [label for label in step.labels if step.lost(label)]
    together = exact(sum(map(step.lost, losers), Fraction(0)))
    # terms far apart need a significand too long to be read; each row has its own value
    what = f"{together} of" if len(together) <= 60 else "bits of"
    yield f"lost by the cut: {what} {_names(losers)}" if losers else "lost by the cut: nothing"
    if any(abs(step.aligned[label]) != _scaled(_units(step.terms[label], step.cut), step.cut) for label in losers):
        yield _ALIGNED[step.design.parameters.alignment]
    whole = sum(step.aligned.values(), Fraction(0))
    if whole != step.total:
        yield f"the register of {step.signals.total.width} bits wrapped: the aligned terms make {exact(whole)}"


def _conversion(step: Step) -> str:
    """Say how the sum was rounded."""
    p, fmt, unit = step.design.parameters, step.design.d_format, _scaled(1, step.rounded)
    if step.beyond:
        return f"conversion {p.rho}: the sum is beyond the largest finite number, {fmt.hex(fmt.max_finite)}"
    if step.total == step.d:
        return f"conversion {p.rho}: exact"
    tie = 2 * (abs(step.total) % unit) == unit and p.conversion.rounding is Rounding.RNE
    way = "up" if abs(step.d) > abs(step.total) else "down"
    how = f"a tie, rounded {way} in magnitude to even" if tie else f"rounded {way} in magnitude"
    return f"conversion {p.rho}: bits below 2^{step.rounded} are dropped, {how}"


# --- in which columns ------------------------------------------------------------------------------------------------


class Mark(StrEnum):
    """What a column is: bits, or a mark right of the bit it is next to."""

    BITS = "bits"
    SPACE = "space"
    POINT = "point"
    CUT = "cut"


class Column(NamedTuple):
    """The column of the bits worth ``2**weight``; with ``folded``, of so many from there down, none of them set."""

    weight: int
    mark: Mark = Mark.BITS
    folded: int = 0

    @property
    def width(self) -> int:
        """Characters it takes."""
        return len(str(self.folded)) + 2 if self.folded else 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How blocks are drawn alike: their columns, in bands one below the other, and what stands beside the bits.

    Bits below the weight ``lowest`` are counted and not drawn; ``hidden`` is the width of the count. ``labels``,
    ``values`` and ``operands`` are widths too, 0 where there is no place for them beside the bits.
    """

    width: int
    bands: tuple[tuple[Column, ...], ...]
    lowest: int
    hidden: int
    labels: int
    values: int
    operands: int

    @property
    def offset(self) -> int:
        """Characters left of the bits: the label and the sign."""
        return self.labels + 3


class Fold(StrEnum):
    """Where runs of columns in which no bit is set become one."""

    NONE = "none"
    LOST = "lost"
    FRACTION = "fraction"


LEAST_FOLD = 8
"""Columns that are worth folding."""


def columns(blocks: Sequence[Block], fold: Fold = Fold.NONE, group: int = 0) -> list[Column]:
    """Return the columns that show every bit that is set, and each mark that some block needs.

    ``group`` sets so many kept fraction bits apart.
    """
    rows = [row for block in blocks for row in block.rows]
    ones = [weight for row in rows for weight in row.ones or ()]
    high, low = max(*(b.register_top for b in blocks), *ones), min(*(b.cut for b in blocks), *ones)
    point, cut = max(b.e_max for b in blocks), min(b.cut for b in blocks)
    below = {Fold.NONE: low, Fold.LOST: cut, Fold.FRACTION: point}[fold]
    spaces = {b.integer_top + 1 for b in blocks if b.register_top > b.integer_top}
    spaces |= {w for w in range(cut + 1, point) if group and (point - w) % group == 0}
    points, cuts = {b.e_max for b in blocks}, {b.cut for b in blocks}
    found: list[Column] = []
    for w in range(high, low - 1, -1):
        found.append(Column(w, folded=int(w < below and not any(row.bit(w) for row in rows))))
        marks = ((Mark.SPACE, spaces - cuts), (Mark.POINT, points), (Mark.CUT, cuts))
        found += [Column(w, mark) for mark, at in marks if w in at]
    result: list[Column] = []
    for empty, run in itertools.groupby(found, key=lambda column: column.folded):
        these = list(run)
        long = empty and len(these) >= LEAST_FOLD
        result += [these[0]._replace(folded=len(these))] if long else [c._replace(folded=0) for c in these]
    return result


# grouping, fold, most characters of lost bits, values and operands beside the bits: the first that fits is taken
_CHOICES = (
    (4, Fold.NONE, None, True, True),
    (0, Fold.NONE, None, True, True),
    (0, Fold.NONE, None, True, False),
    (0, Fold.LOST, None, True, False),
    (0, Fold.LOST, 16, True, False),
    (0, Fold.LOST, 8, True, False),
    (0, Fold.FRACTION, None, True, False),
    (0, Fold.FRACTION, 16, True, False),
    (0, Fold.FRACTION, 8, True, False),
    (0, Fold.FRACTION, None, False, False),
    (0, Fold.FRACTION, 16, False, False),
    (0, Fold.FRACTION, 8, False, False),
)


def fit(blocks: Sequence[Block], width: int) -> Layout:
    """Return how to draw ``blocks``, which have rows, in ``width`` characters (40 or more).

    What does not fit is folded, then lost bits are hidden, then values go to lines of their own, then the columns
    are broken into bands.
    """
    rows = [row for block in blocks for row in block.rows]
    labels, value, operand = (max(len(text) for text in texts) for texts in zip(*map(_beside, rows), strict=True))
    for group, fold, lost, values, operands in _CHOICES:
        band, lowest, hidden = _shortened(columns(blocks, fold, group), rows, lost)
        sizes = (value * values, operand * operands)
        if labels + 3 + sum(c.width for c in band) + hidden + sum(x + 2 for x in sizes if x) <= width:
            return Layout(width, (tuple(band),), lowest, hidden, labels, *sizes)
    band, lowest, hidden = _shortened(columns(blocks, Fold.FRACTION), rows, 24)
    room = max(width - labels - 3 - hidden, 8)
    bands: list[tuple[Column, ...]] = [()]
    for column in band:
        if sum(c.width for c in bands[-1]) + column.width > room:
            bands.append(())
        bands[-1] += (column,)
    return Layout(width, tuple(bands), lowest, hidden, labels, 0, 0)


def _beside(row: Row) -> tuple[str, str, str]:
    return row.label, row.value, row.operands


def _shortened(band: list[Column], rows: Sequence[Row], lost: int | None) -> tuple[list[Column], int, int]:
    """Keep at most ``lost`` characters right of the last cut; return the columns, and lowest and hidden of Layout."""
    cut = max(i for i, column in enumerate(band) if column.mark is Mark.CUT) + 1
    ends = itertools.accumulate(column.width for column in band[cut:])
    kept = band[:cut] + [c for c, end in zip(band[cut:], ends, strict=True) if lost is None or end <= lost]
    lowest = min(column.weight - max(column.folded - 1, 0) for column in kept)
    longest = max(len(_count(row, lowest)) for row in rows)
    return kept, lowest, longest + 1 if longest else 0


def _count(row: Row, lowest: int) -> str:
    """Say how many bits of a row lie below ``lowest``."""
    below = lowest - row.ones[1] if row.ones else 0
    return f"+{below} bits" if below > 0 else ""


# --- as text ---------------------------------------------------------------------------------------------------------

SIDE_BY_SIDE = 150
"""Width of a console from which on two designs stand side by side."""


class Glyphs(NamedTuple):
    """Characters of the drawing: no bit, the cut, folded columns, and the rule above the sum."""

    outside: str
    cut: str
    fold: str
    rule: str


UNICODE = Glyphs("·", "┆", "⋯", "─")
ASCII = Glyphs("_", "|", "~", "-")

# nothing is said by a style alone
_TITLE, _FAINT, _VALUE, _RESULT = "bold", "dim", "cyan", "bold green"
_ONE, _CARRY, _LOST = "bold", "bold yellow", "dim red"


def block_text(block: Block, layout: Layout | None, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Give the lines of a block; a block without rows needs no layout."""
    if block.title:
        yield from _wrapped(block.title, width, _TITLE)
    for words in (block.heading, *block.before):
        yield from _wrapped(words, width)
    if layout and block.rows:
        for band in layout.bands:
            yield from _ruler(block, layout, band, glyphs)
            for row in block.rows:
                if row.kind is RowKind.SUM:
                    yield Text(" " * layout.offset + glyphs.rule * sum(c.width for c in band), _FAINT)
                yield _row_text(block, row, layout, band, glyphs)
        for row in block.rows if not layout.values else ():
            if row.kind is not RowKind.RESULT:
                words = f"{row.label} = {row.operands} = {row.value}" if row.operands else f"{row.label} = {row.value}"
                yield from _wrapped(words, width, _VALUE)
    for words in block.after[:-1]:
        yield from _wrapped(words, width)
    yield from _wrapped(block.after[-1], width, _RESULT)


def _row_text(block: Block, row: Row, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Text:
    text = Text(f"{row.label:<{layout.labels}} {row.sign} ")
    for column in band:
        text.append(*_cell(block, row, column, glyphs))
    if band is layout.bands[-1]:
        count = _count(row, layout.lowest)
        text.append(f"{glyphs.fold + count if count else '':<{layout.hidden}}", _LOST)
    if layout.values:
        text.append(f"  {row.value:<{layout.values}}", _VALUE)
    if layout.operands:
        text.append(f"  {row.operands}", _FAINT)
    text.rstrip()
    return text


def _cell(block: Block, row: Row, column: Column, glyphs: Glyphs) -> tuple[str, str]:
    """Return the characters of a row in a column, and their style."""
    if column.mark is not Mark.BITS:
        here = {Mark.POINT: (block.e_max, "."), Mark.CUT: (block.cut, glyphs.cut)}.get(column.mark)
        return (here[1] if here and here[0] == column.weight else " "), _ONE
    bit, kept = row.bit(column.weight), column.weight >= block.cut
    if column.weight > max(block.register_top, row.top) or (not kept and row.kind is not RowKind.TERM):
        return " " * column.width, ""
    if column.folded:
        return glyphs.fold * column.width, _FAINT
    if bit is None:
        return glyphs.outside, _FAINT
    if not kept or row.kind is RowKind.DROPPED:
        return str(bit), _LOST
    carry = column.weight > block.integer_top and row.kind is RowKind.SUM
    return str(bit), "" if not bit else _CARRY if carry else _ONE


def _ruler(block: Block, layout: Layout, band: Sequence[Column], glyphs: Glyphs) -> Iterator[Text]:
    """Give a line that names the parts of the register, and one with weights and the sizes of folds."""
    places = list(zip(band, itertools.accumulate((c.width for c in band), initial=layout.offset), strict=False))
    at = {column.weight: x for column, x in places if column.mark is Mark.BITS}
    cut = next((x for c, x in places if c == Column(block.cut, Mark.CUT)), layout.width)
    names, weights = ([" "] * layout.width for _ in range(2))

    def put(line: list[str], start: int, text: str, end: int = layout.width) -> bool:
        around = "".join(line[max(start - 1, 0) : start + len(text) + 1])
        free = start >= 0 and start + len(text) <= end and not around.strip(f"{glyphs.cut} ")
        if free:
            line[start : start + len(text)] = text
        return free

    if cut < layout.width:
        names[cut] = weights[cut] = glyphs.cut
        if min(at) < block.cut or layout.hidden:
            put(names, cut + 1, "lost")
    for column, x in places:
        if column.folded:
            put(weights, x, f"{glyphs.fold}{column.folded}{glyphs.fold}")
    for weight in (block.e_max, block.cut, min(at)):
        start = at.get(weight, -1) + 1 - len(f"2^{weight}")
        if not start <= cut < start + len(f"2^{weight}"):
            put(weights, start, f"2^{weight}")
    if carries := [x for weight, x in at.items() if block.integer_top < weight <= block.register_top]:
        put(names, max(carries) + 1 - len("carry"), "carry")
    if block.integer_top in at:
        put(names, at[block.integer_top], "int")
    starts = [x for weight, x in at.items() if block.cut <= weight < block.e_max][:3]
    texts = (f"F = {block.e_max - block.cut} fraction bits", "fraction bits", "fraction", "F")
    any(put(names, x, text, cut) for text in texts for x in starts)
    yield from (Text("".join(line).rstrip(), _FAINT) for line in (names, weights))


def _wrapped(words: str, width: int, style: str = "") -> list[Text]:
    """Return lines of words; an exact value stays in one piece where it can."""
    lines = textwrap.wrap(words.replace(" * 2^", "\xa0*\xa02^"), width, subsequent_indent="  ")
    return [Text(line.replace("\xa0", " "), style) for line in lines]


@dataclass(frozen=True, slots=True)
class Picture:
    """What ``explain`` found; it is drawn when a rich console prints it, as wide as the console.

    A section holds blocks that share their columns, one of each design; where the console is wide enough they stand
    side by side.
    """

    sections: tuple[tuple[Block, ...], ...]
    closing: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give the sections, the closing lines and a legend."""
        width, glyphs, gap = options.max_width, ASCII if options.ascii_only else UNICODE, 3
        layouts = []
        for number, section in enumerate(self.sections):
            if number:
                yield Text()
            beside = width >= SIDE_BY_SIDE and len(section) > 1
            room = (width - gap * (len(section) - 1)) // len(section) if beside else width
            drawn = [block for block in section if block.rows]
            layout = fit(drawn, room) if drawn else None
            layouts += [layout] if layout else []
            cells = [Group(*block_text(block, layout, room, glyphs)) for block in section]
            if beside:
                table = Table.grid(padding=(0, gap, 0, 0))
                for _ in cells:
                    table.add_column(width=room)
                table.add_row(*cells)
                yield table
            else:
                for i, cell in enumerate(cells):
                    yield from ([Text()] if i else [])
                    yield cell
        closing = [line for words in self.closing for line in _wrapped(words, width, _RESULT)]
        closing += _wrapped(_legend(layouts, glyphs), width, _FAINT) if layouts else []
        yield from ([Text(), *closing] if closing else [])


def _legend(layouts: Sequence[Layout], glyphs: Glyphs) -> str:
    legend = f"0 and 1 are bits of a significand, {glyphs.outside} is outside it; right of {glyphs.cut} is what is lost"
    if any(column.folded for layout in layouts for band in layout.bands for column in band):
        legend += f"; {glyphs.fold}n{glyphs.fold}: n columns without a 1"
    return legend + (f"; {glyphs.fold}+n bits: so many more" if any(layout.hidden for layout in layouts) else "")


def explain(designs: Sequence[Design], operands: Operands) -> Picture:
    """Return the picture of what each design does with the operands, and of two designs where they first differ.

    Neighbouring steps that return their c unchanged make one block. Steps of two designs share a section if all
    their steps add the same of the given products. Raises OperandError where the operands do not fit a design.
    """
    walks: list[list[Step]] = []
    for number, design in enumerate(designs):
        steps = trace(design, operands).steps
        title = f"{chr(ord('A') + number)}  {design.name}" if len(designs) > 1 else design.name
        walks.append([Step(title, design, operands, steps, i) for i in range(len(steps))])
    spans = [[step.given for step in walk if step.given] for walk in walks]
    columns_of_steps = itertools.zip_longest(*walks) if spans.count(spans[0]) == len(spans) else _apart(walks)
    groups = [tuple(step for step in group if step) for group in columns_of_steps]
    sections: list[tuple[Block, ...]] = []
    for (_, idle), run in itertools.groupby(groups, key=_kind):
        found = list(run)
        if idle:
            sections.append(tuple(idle_block(x, y) for x, y in zip(found[0], found[-1], strict=True)))
        else:
            sections += [tuple(step_block(step) for step in group) for group in found]
    if len(walks) == 1:
        sections[1:] = [(replace(block, title=""),) for (block,) in sections[1:]]
    closing: tuple[str, ...] = ()
    if len(walks) == 2:
        results = (f"{letter}: d = {walk[-1].result}" for letter, walk in zip("AB", walks, strict=True))
        closing = (*results, first_difference(*walks))
    return Picture(tuple(sections), closing)


def _apart(walks: Sequence[Sequence[Step]]) -> Iterator[tuple[Step]]:
    return ((step,) for walk in walks for step in walk)


def _kind(group: tuple[Step, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the designs of a section, and why all its steps return their c; empty unless all do."""
    reasons = tuple(step.idle() for step in group)
    return tuple(step.title for step in group), reasons if all(reasons) else ()
