"""What there is to draw of a step, without columns or styling: rows of bits and the lines of text around them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from mmaproof.cli.picture.steps import Step
from mmaproof.cli.picture.values import exact, names, pattern_value, scaled, units
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.readings import Alignment
from mmaproof.smt.semantics.widths import sum_widths


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

    def ones(self) -> list[int]:
        """Return the weights of the bits that are set."""
        return [self.scale + i for i in range(self.integer.bit_length()) if self.integer >> i & 1]


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
        highest = names([label for label, t in pairs if t.present.data and t.exponent.data == step.e_max])
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
        yield f"and {names([*terms][4:])}"


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
            words += "; not given" if [*alike] == missing else f"; {names(missing)} not given"
        if alike:
            yield f"{names([*alike])}: {sign}0 ({words})"


def _term_rows(step: Step) -> Iterator[Row]:
    for label, t in zip(step.labels, step.signals.terms, strict=True):
        value, held = step.terms[label], step.aligned[label]
        if not value:
            continue
        sign, scale = "+-"[t.negative.data], t.exponent.data - t.fraction_bits
        top = scale + t.significand.width - 1
        operands = " * ".join(f.hex(x) for f, x in step.patterns(label))
        yield Row(RowKind.TERM, label, sign, t.significand.data, scale, top, exact(value), operands)
        kept, there = units(value, step.cut), units(held, step.cut)
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
    integer = units(step.d, low)
    end = low + max(integer.bit_length() - 1, step.design.parameters.conversion.fraction_bits)
    yield Row(RowKind.RESULT, "d", "+-"[pattern >> fmt.sign_position], integer, low, end, fmt.hex(pattern))
    if dropped := total % (1 << max(low - step.cut, 0)):
        value = exact(scaled(-dropped if step.total < 0 else dropped, step.cut))
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
    yield f"lost by the cut: {what} {names(losers)}" if losers else "lost by the cut: nothing"
    if any(abs(step.aligned[label]) != scaled(units(step.terms[label], step.cut), step.cut) for label in losers):
        yield _ALIGNED[step.design.parameters.alignment]
    whole = sum(step.aligned.values(), Fraction(0))
    if whole != step.total:
        yield f"the register of {step.signals.total.width} bits wrapped: the aligned terms make {exact(whole)}"


def _conversion(step: Step) -> str:
    """Say how the sum was rounded."""
    p, fmt, unit = step.design.parameters, step.design.d_format, scaled(1, step.rounded)
    if step.beyond:
        return f"conversion {p.rho}: the sum is beyond the largest finite number, {fmt.hex(fmt.max_finite)}"
    if step.total == step.d:
        return f"conversion {p.rho}: exact"
    tie = 2 * (abs(step.total) % unit) == unit and p.conversion.rounding is Rounding.RNE
    way = "up" if abs(step.d) > abs(step.total) else "down"
    how = f"a tie, rounded {way} in magnitude to even" if tie else f"rounded {way} in magnitude"
    return f"conversion {p.rho}: bits below 2^{step.rounded} are dropped, {how}"
