"""Words of a fused multiply-add that depend on exponents alone, as functions of a distance and of the addend.

Two datapaths compute the same exponents in many ways: sums of fields, their differences, the larger one, clamped
amounts of shifts, whether one is above a limit. Where the distance of the product and the addend is a number, each of
them is that of the addend plus a constant, or a constant. A solver that is given sums of fields must find this again in
every case. So the distance is a variable, and each such word is proved once to be what it is of the variable:

    [the exponent of the addend +] (below a limit: a constant or the distance, plus or minus; else another of these)

Samples of all distances suggest it. A wrong suggestion costs a question, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pysmt.fnode import FNode

from mmaproof.smt.proving.case_nets import Operand
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.walk import bottom_up, substituted
from mmaproof.smt.solving.query import width_of

MOST_BITS = 32
"""Words of more bits are not exponents."""
ROWS_OF_DISTANCE, TRIES = 5, 40
WORD_SECONDS = 5.0


@dataclass(frozen=True)
class _Line:
    """``slope`` times the distance, plus a constant; the slope is 0, 1 or -1."""

    slope: int
    constant: int


@dataclass(frozen=True)
class _Form:
    """The first line below a limit of the distance, the second from there on, and whether the addend is added."""

    first: _Line
    limit: int
    second: _Line
    with_addend: bool


class ExponentWords:
    """Finds and proves what words are of a ``distance``, a variable, and of the exponent of the addend.

    Both are signed words of one width, and ``meanings`` is what they stand for. ``known`` are the assumptions of each
    lemma.
    """

    def __init__(
        self,
        kernel: Kernel,
        distance: FNode,
        addend: FNode,
        known: Sequence[FNode],
        rows: Sequence[Mapping[str, int]],
    ) -> None:
        self._kernel, self._distance, self._addend, self._known = kernel, distance, addend, known
        self._m: Any = kernel.environment.formula_manager
        self._columns = Columns(rows)
        meaning = kernel.definitions[distance]
        self._d = _signed(self._columns.values(meaning), width_of(meaning))
        self._e = _signed(self._columns.values(addend), width_of(addend))

    def places(self, claim: FNode, operands: frozenset[FNode]) -> dict[FNode, FNode]:
        """Return what replaces words of a claim that depend on these operands and, with them, on the distance.

        A word that is replaced hides those that it is computed from.
        """
        found: dict[FNode, FNode] = {}
        symbols: dict[FNode, frozenset[FNode]] = {}
        bottom_up(claim, symbols, lambda x, of: frozenset([x]) if x.is_symbol() else frozenset().union(*of))
        operand = {self._addend_symbol(symbols)}
        pending, seen = [claim], {claim}
        while pending:
            node = pending.pop()
            if width_of(node) <= MOST_BITS and operands <= symbols[node] <= operands | operand:
                image = self._image(node)
                if image is not None:
                    found[node] = image
                    continue
            new = [x for x in node.args() if x not in seen]
            seen.update(new)
            pending += new
        return found

    def _addend_symbol(self, symbols: Mapping[FNode, frozenset[FNode]]) -> FNode:
        (found,) = self._kernel.environment.fvo.get_free_variables(self._addend)
        return found

    def _image(self, word: FNode) -> FNode | None:
        """Return what a word is, None where samples or a solver say that it is nothing of the kind."""
        for form in self._forms(word):
            image = self._built(form, width_of(word))
            meaning = {self._distance: self._kernel.definitions[self._distance]}
            m, own = self._m, substituted(self._kernel.environment, image, meaning)
            same = m.Equals(word, own) if width_of(word) else m.Iff(word, own)
            try:
                self._kernel.use(same, self._known, "a word of exponents", seconds=WORD_SECONDS)
            except NotComposedError:
                continue
            return image
        return None

    def _forms(self, word: FNode) -> Iterator[_Form]:
        width = max(1, width_of(word))
        values = self._columns.values(word).astype(np.int64)
        for with_addend in (False, True) if width > 1 else (False,):
            rest = (values - self._e if with_addend else values) % (1 << width)
            form = _two_lines(self._d, rest, width, with_addend=with_addend)
            if form is not None:
                yield form

    def _built(self, form: _Form, width: int) -> FNode:
        m, bits = self._m, max(1, width)
        distance, addend = (self._fitted(x, bits) for x in (self._distance, self._addend))

        def line(x: _Line) -> FNode:
            constant = m.BV(x.constant % (1 << bits), bits)
            if not x.slope:
                return constant
            moved: FNode = m.BVAdd(distance, constant) if x.slope > 0 else m.BVSub(constant, distance)
            return moved

        limit = m.BV(form.limit % (1 << self._distance.bv_width()), self._distance.bv_width())
        below = m.BVSLT(self._distance, limit)
        if not width:
            return below if form.first.constant else m.Not(below)
        found: FNode = line(form.first)
        if form.first != form.second:
            found = m.Ite(below, found, line(form.second))
        return m.BVAdd(found, addend) if form.with_addend else found

    def _fitted(self, word: FNode, bits: int) -> FNode:
        own = word.bv_width()
        if bits <= own:
            return word if bits == own else self._m.BVExtract(word, 0, bits - 1)
        return self._m.BVSExt(word, bits - own)


def _two_lines(d: np.ndarray, values: np.ndarray, width: int, *, with_addend: bool) -> _Form | None:
    """Return the two lines on which the values lie over the distance, None where there are none."""
    order = np.argsort(d, kind="stable")
    d, values = d[order], values[order]
    whole = 1 << width
    slopes = (0, 1, -1) if width > 2 else (0,)
    rests = {slope: (values - slope * d) % whole for slope in slopes}
    slope, end = max(((x, _alike(y)) for x, y in rests.items()), key=lambda z: z[1])
    first = _Line(slope, int(rests[slope][0]))
    if end == len(d):
        return _Form(first, int(d[0]), first, with_addend) if width > 1 and slope else None
    # a distance belongs to one line as a whole
    limit = int(d[end])
    begin = int(np.searchsorted(d, limit))
    for other, y in rests.items():
        if len(set(y[begin:].tolist())) == 1:
            return _Form(first, limit, _Line(other, int(y[begin])), with_addend)
    return None


def _alike(values: np.ndarray) -> int:
    """Return how many of the first values are one."""
    different = np.flatnonzero(values != values[0])
    return int(different[0]) if len(different) else len(values)


def _signed(values: np.ndarray, width: int) -> np.ndarray:
    plain = values.astype(np.int64)
    return np.where(plain >> (width - 1) & 1, plain - (1 << width), plain)


def rows_of_all_distances(a: Operand, b: Operand, c: Operand) -> list[Mapping[str, int]]:
    """Return some finite operands of each distance that there is, whose product is not zero."""
    rng = random.Random(0)
    tops = [max(1, (1 << x.fmt.exponent_bits) - 2) for x in (a, b, c)]
    found: list[Mapping[str, int]] = []
    for d in range(2 - tops[2], tops[0] + tops[1]):  # two fields minus that of c, each from 1 on
        least, most = max(2, d + 1), min(tops[0] + tops[1], d + tops[2])
        count = 0
        for i in range(TRIES if least <= most else 0):
            total = (least, most)[i % 2] if i < 2 else rng.randint(least, most)
            x = rng.randint(max(1, total - tops[1]), min(tops[0], total - 1))
            fields = x, total - x, total - d
            row = {
                z.name: z.drawn(rng, 0 if field == 1 and rng.random() < 0.5 else field, _any_fraction(rng, z))
                for z, field in zip((a, b, c), fields, strict=True)
            }
            if a.significand(row[a.name]) and b.significand(row[b.name]):
                found.append(row)
                count += 1
            if count == ROWS_OF_DISTANCE:
                break
    return found


def _any_fraction(rng: random.Random, operand: Operand) -> int:
    return rng.getrandbits(operand.fmt.fraction_bits) if operand.fmt.fraction_bits else 0
