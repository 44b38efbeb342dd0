"""A case of a claim, net by net: words that are one word in the case take each other's place.

In a case most words of two datapaths agree: the distance of exponents is a number, an effective subtraction has one
sign, a count of zeros is the other one. Samples of the case suggest which words are equal, up to zeros on either side,
and which have one value. Each such equation is a leaf, "the case does not hold, or they are equal", over symbols in the
place of the words that were replaced before. The last leaf says that the case does not hold.

A wrong suggestion costs a question, and nothing else. Samples are operands of a fused multiply-add whose product and
addend have exponents in some distance.

Words that depend on exponents alone are functions of that distance and of the exponent of the addend. Two datapaths
compute them in many ways: sums of fields, their differences, the larger one, clamped amounts of shifts, whether one is
above a limit. A solver that is given sums of fields must find this again in every case. So the distance is a variable,
and each such word is proved once to be what it is of it, as samples of all distances suggest:

    [the exponent of the addend +] (below a limit: a constant or the distance, plus or minus; else another of these)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from pysmt import operators as op
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.proving.columns import Columns, signed
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.walk import bottom_up, rebuilt, substituted
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.query import width_of

LEAST_BITS, LEAST_CUT = 4, 8
"""Words of fewer bits are not compared, as wholes and as upper bits of others: samples say little of them."""
LEMMA_SECONDS, LOST_SECONDS, LAST_SECONDS = 3.0, 6.0, 8.0
"""Seconds for an equation, for all that are not proved, and for the case when no more words are to be replaced."""
MOVES = frozenset({op.BV_EXTRACT, op.BV_ZEXT, op.BV_SEXT, op.BV_CONCAT})
"""What moves bits alone is equal to something else only if its operands are."""


@dataclass(frozen=True)
class _Value:
    """The values of a word on samples without the zeros below its lowest bit, of which there are ``zeros``."""

    column: tuple[int, ...]
    zeros: int

    @classmethod
    def of(cls, column: Sequence[int]) -> _Value:
        """Return the values of a word."""
        used = 0
        for x in column:
            used |= x
        zeros = (used & -used).bit_length() - 1 if used else 0
        return cls(tuple(x >> zeros for x in column), zeros)

    @property
    def constant(self) -> int | None:
        """The only value, None where there are several."""
        return self.column[0] << self.zeros if len(set(self.column)) == 1 else None


SHIFTS = frozenset({op.BV_LSHL, op.BV_LSHR, op.BV_ASHR})


def _cone(term: FNode) -> dict[FNode, None]:
    found: dict[FNode, None] = {}
    bottom_up(term, found, lambda *_: None)
    return found


def of_one_side(claim: FNode) -> dict[FNode, int]:
    """Return the terms that only one of two compared results is computed from, with its number."""
    best: dict[FNode, int] = {}
    least = 0
    for equation in [x for x in _cone(claim) if x.is_equals() and width_of(x.arg(0)) >= LEAST_BITS]:
        x, y = map(_cone, equation.args())
        smaller = min(len(x.keys() - y.keys()), len(y.keys() - x.keys()))
        if smaller > least:
            least = smaller
            best = {**dict.fromkeys(x.keys() - y.keys(), 0), **dict.fromkeys(y.keys() - x.keys(), 1)}
    return best


class CaseNets:
    """Refutes cases of ``claim``, which is known to hold as ``facts`` are.

    Symbols of the claim may stand for terms; ``equations`` are known of them.
    """

    def __init__(
        self,
        kernel: Kernel,
        claim: FNode,
        facts: Sequence[FNode],
        stands: Mapping[FNode, FNode] = MappingProxyType({}),
        equations: Mapping[FNode, FNode] = MappingProxyType({}),
    ) -> None:
        self._kernel, self._claim, self._facts = kernel, claim, facts
        self._stands, self._equations = stands, equations
        order: dict[FNode, None] = {}
        bottom_up(claim, order, lambda *_: None)
        self._words = [x for x in order if width_of(x) >= LEAST_BITS]
        self._flags = [x for x in order if not width_of(x) and not x.is_constant()]
        self._of_one = of_one_side(claim)
        self._users: dict[FNode, list[FNode]] = {}
        for x in order:
            for y in x.args():
                self._users.setdefault(y, []).append(x)
        self._amounts = {
            y
            for x in order
            if x.node_type() in SHIFTS
            for y in (x.arg(1), *(x.arg(1).args() if x.arg(1).is_bv_zext() else ()))
        }

    def within(
        self, case: FNode, rows: Sequence[Mapping[str, int]], why: str, divided: Sequence[FNode] = ()
    ) -> CaseNets:
        """Return the claim with words replaced in a case of which there are samples."""
        sweep = self._sweep(case, rows, why, divided)
        left = sweep.reduced(self._claim)
        return CaseNets(self._kernel, left, self._facts, *sweep.known())

    def refute(self, case: FNode, rows: Sequence[Mapping[str, int]], why: str, divided: Sequence[FNode] = ()) -> None:
        """Refute a case of which there are samples; a word of ``divided`` is one that shifts depend on.

        Raises NotComposedError.
        """
        self._sweep(case, rows, why, divided).refute(self._claim)

    def _sweep(self, case: FNode, rows: Sequence[Mapping[str, int]], why: str, divided: Sequence[FNode]) -> _Sweep:
        columns = Columns(rows)
        for variable, term in (*self._kernel.definitions.items(), *self._stands.items()):
            columns.define(variable, columns.values(term))
        raw = {x: [int(v) for v in columns.values(x)] for x in self._words}
        flags = {x: [int(v) for v in columns.values(x)] for x in self._flags}
        values = {x: _Value.of(column) for x, column in raw.items()}
        sides: dict[tuple[int, ...], set[int | None]] = {}
        for x, value in values.items():
            sides.setdefault(value.column, set()).add(self._of_one.get(x))
        values = {
            x: value
            for x, value in values.items()
            if (x in self._amounts if value.constant is not None else len(sides[value.column]) > 1)
        }
        columns_of = {x: y for x, y in {**raw, **flags}.items() if len(set(y)) > 1 and x in self._of_one}
        sweep = _Sweep(self._kernel, case, self._facts, values, self._users, why, divided)
        sweep.begin(columns_of, self._of_one, self._stands, self._equations)
        return sweep


class _Sweep:
    """One walk through a claim in one case."""

    def __init__(
        self,
        kernel: Kernel,
        case: FNode,
        facts: Sequence[FNode],
        values: Mapping[FNode, _Value],
        users: Mapping[FNode, Sequence[FNode]],
        why: str,
        divided: Sequence[FNode],
    ) -> None:
        self._kernel, self._facts, self._values, self._users, self._why = kernel, facts, values, users, why
        self._divided = divided
        self._m: Any = kernel.environment.formula_manager
        self._not_here = self._m.Not(case)
        self._first: dict[tuple[int, ...], tuple[FNode, int]] = {}
        """the first word of each column, with words replaced, and the zeros below its lowest bit"""
        self._stands: dict[FNode, FNode] = {}
        """what each symbol in the place of a word stands for"""
        self._lost = 0.0
        self._equations: dict[FNode, FNode] = {}
        """what is known of such a symbol"""

    def begin(
        self,
        columns: Mapping[FNode, Sequence[int]],
        sides: Mapping[FNode, int],
        stands: Mapping[FNode, FNode],
        equations: Mapping[FNode, FNode],
    ) -> None:
        """Compare words with the upper bits of others, too, and flags with whether the lower ones are zero."""
        self._before = stands
        self._stands.update(stands)
        self._equations.update(equations)
        self._columns, self._sides = columns, sides
        self._cuttable: list[tuple[FNode, FNode, int]] = []
        """each word that others may be upper bits of, what it became, and the most bits that a sample of it has"""
        self._lost_bits: dict[tuple[int, ...], FNode] = {}
        """whether the lower bits of such a word are not zero, by its values"""

    def _upper(self, node: FNode, word: FNode) -> FNode | None:
        """Return the upper bits of a word of the other side that a word is on all samples."""
        own = self._columns.get(node)
        if own is None or width_of(node) < LEAST_CUT or len(set(own)) < LEAST_CUT:
            return None
        bits = max(own).bit_length()
        for other, became, most in self._cuttable:
            k = most - bits
            if k <= 0 or self._sides[other] == self._sides[node]:
                continue
            column = self._columns[other]
            if all(x >> k == y for x, y in zip(column, own, strict=True)):
                kept = min(width_of(became) - k, width_of(word))
                m = self._m
                upper: FNode = m.BVExtract(became, k, k + kept - 1)
                image = upper if kept == width_of(word) else m.BVZExt(upper, width_of(word) - kept)
                found = self._equal(node, word, image)
                if found is not word:
                    lost = tuple(int(x & ((1 << k) - 1) != 0) for x in column)
                    if len(set(lost)) > 1:
                        low = m.Not(m.Equals(m.BVExtract(became, 0, k - 1), m.BV(0, k)))
                        self._lost_bits.setdefault(lost, low)
                    return found
        return None

    def _lost_flag(self, node: FNode, flag: FNode) -> FNode:
        """Return what says whether bits below a cut are zero, where a flag is that on all samples."""
        own = self._columns.get(node)
        if own is None or width_of(node):
            return flag
        for negated in (False, True):
            image = self._lost_bits.get(tuple(int(bool(x) != negated) for x in own))
            if image is not None:
                return self._equal(node, flag, self._m.Not(image) if negated else image)
        return flag

    def known(self) -> tuple[Mapping[FNode, FNode], Mapping[FNode, FNode]]:
        """Return what each symbol stands for, and what is known of it."""
        return self._stands, self._equations

    def reduced(self, claim: FNode) -> FNode:
        """Return the claim with words replaced."""
        return bottom_up(claim, {}, self._replaced)

    def refute(self, claim: FNode) -> None:
        """Refute the case. Raises NotComposedError."""
        left = self.reduced(claim)
        self._prove(self._not_here, [left], self._why, LAST_SECONDS)

    def _replaced(self, node: FNode, operands: Sequence[FNode]) -> FNode:
        """Return a word with others in the place of its operands, or the symbol that stands for it."""
        word = rebuilt(self._kernel.environment, node, operands)
        if word.is_constant():
            return word
        found = self._compared(node, word)
        if found is word:
            if width_of(node):
                found = self._upper(node, word) or word
            elif self._lost_bits:
                found = self._lost_flag(node, word)
        if node in self._columns and width_of(node) >= LEAST_CUT and node.node_type() not in MOVES:
            self._cuttable.append((node, found, max(self._columns[node]).bit_length()))
        return found

    def _compared(self, node: FNode, word: FNode) -> FNode:
        """Return what is equal to a word, up to zeros on either side, the word itself if nothing is."""
        value = self._values.get(node)
        if value is None:
            return word
        constant = value.constant
        if constant is not None:
            if node.node_type() in MOVES or word.is_symbol():
                return word
            return self._equal(node, word, self._m.BV(constant, width_of(word)))
        first, zeros = self._first.setdefault(value.column, (word, value.zeros))
        users = self._users.get(node, ())
        inside = bool(users) and all(self._is_same(value, x) for x in users)
        if first is word or inside or node.node_type() in MOVES or word.is_symbol():
            return word
        return self._equal(node, word, self._moved(first, zeros, value.zeros, width_of(word)))

    def _is_same(self, value: _Value, user: FNode) -> bool:
        of = self._values.get(user)
        return of is not None and of.column == value.column

    def _moved(self, word: FNode, zeros: int, wanted: int, width: int) -> FNode:
        """Return a word without its lowest zeros, with others in their place, ``width`` bits long."""
        m = self._m
        kept = min(width_of(word) - zeros, width - wanted)
        found: FNode = m.BVExtract(word, zeros, zeros + kept - 1)
        if wanted:
            found = m.BVConcat(found, m.BV(0, wanted))
        return found if kept + wanted == width else m.BVZExt(found, width - kept - wanted)

    def _equal(self, node: FNode, word: FNode, image: FNode) -> FNode:
        """Return a symbol for a word that is proved to be equal to another one, the word itself where it is not."""
        m = self._m
        if self._lost > LOST_SECONDS:
            return word
        began = worked()
        try:
            same = m.Equals(word, image) if width_of(word) else m.Iff(word, image)
            self._prove(m.Or(self._not_here, same), [], f"{self._why}: a word", LEMMA_SECONDS)
        except NotComposedError:
            self._lost += worked() - began
            return word
        kinds = self._kernel.environment.type_manager
        symbol: FNode = m.FreshSymbol(kinds.BVType(width_of(word)) if width_of(word) else kinds.BOOL())
        self._stands[symbol] = substituted(self._kernel.environment, node, self._before)
        self._equations[symbol] = m.Or(
            self._not_here, m.Equals(symbol, image) if width_of(word) else m.Iff(symbol, image)
        )
        return symbol

    def _prove(self, claim: FNode, assumed: Sequence[FNode], why: str, seconds: float) -> None:
        """Prove a claim at once, or for each place of the highest bit of a word that shifts depend on."""
        try:
            self._use(claim, assumed, why, seconds)
        except NotComposedError:
            for word in self._divided:
                try:
                    self._divide(claim, assumed, word, why, seconds)
                except NotComposedError:
                    continue
                return
            raise

    def _divide(self, claim: FNode, assumed: Sequence[FNode], word: FNode, why: str, seconds: float) -> None:
        m, width = self._m, word.bv_width()
        whole, symbol = m.FreshSymbol(), m.FreshSymbol(self._kernel.environment.type_manager.BVType(width))

        def is_at(word: FNode, place: int) -> FNode:
            """Return whether the highest bit of a word that is set is at a place, counted from one; 0 if it is zero."""
            above: FNode = (
                m.Equals(m.BVExtract(word, place, width - 1), m.BV(0, width - place)) if place < width else m.TRUE()
            )
            return m.And(above, m.Equals(m.BVExtract(word, place - 1, place - 1), m.BV(1, 1))) if place else above

        for place in range(width, -1, -1):
            self._use(m.Or(m.Not(is_at(word, place)), claim), assumed, f"{why}, {place} bits", seconds)
        parts = [m.Or(m.Not(is_at(symbol, place)), whole) for place in range(width, -1, -1)]
        self._kernel.use(whole, parts, "all places of the highest bit", {whole: claim, symbol: word})

    def _use(self, claim: FNode, assumed: Sequence[FNode], why: str, seconds: float) -> None:
        needed: dict[FNode, None] = {}
        pending = [claim, *assumed]
        while pending:
            for x in self._kernel.environment.fvo.get_free_variables(pending.pop()):
                if x in self._stands and x not in needed:
                    needed[x] = None
                    pending.append(self._equations[x])
        known = [self._equations[x] for x in self._stands if x in needed]
        given = {x: self._stands[x] for x in needed}
        self._kernel.use(claim, [*self._facts, *known, *assumed], why, given, seconds=seconds)


# --- operands of a case -----------------------------------------------------------------------------------

COUNT, MOST_TRIES = 200, 20_000


@dataclass(frozen=True)
class Operand:
    """The name of an operand's symbol, its format, and its value where it has only one."""

    name: str
    fmt: Format
    constant: int | None

    def drawn(self, rng: random.Random, field: int, fraction: int) -> int:
        """Return a pattern with an exponent field and a fraction."""
        if self.constant is not None:
            return self.constant
        fmt, sign = self.fmt, rng.getrandbits(1)
        return (sign << fmt.sign_position) | (((field << fmt.fraction_bits) | fraction) << fmt.ignored_bits)

    def field(self, pattern: int) -> int:
        """Return the exponent field of a pattern."""
        return pattern >> (self.fmt.ignored_bits + self.fmt.fraction_bits) & ((1 << self.fmt.exponent_bits) - 1)

    @property
    def fields(self) -> tuple[int, int]:
        """The least and the largest exponent field of a finite number, 1 for a subnormal one."""
        if self.constant is not None:
            return (max(1, self.field(self.constant)),) * 2
        return 1, max(1, (1 << self.fmt.exponent_bits) - 2)

    def significand(self, pattern: int) -> int:
        """Return the significand of a pattern of a finite number, with the integer bit."""
        fraction = pattern >> self.fmt.ignored_bits & ((1 << self.fmt.fraction_bits) - 1)
        return fraction | (bool(self.field(pattern)) << self.fmt.fraction_bits)


def samples(
    a: Operand, b: Operand, c: Operand, distance: tuple[int, int], flags: Sequence[bool | None]
) -> list[Mapping[str, int]]:
    """Return operands with a distance in a range, none if there seem to be none.

    Flags say whether a, b, and c are subnormal, whether the product and c have opposite signs, and whether c is zero;
    None is for both. Products are not zero.
    """
    rng = random.Random(0)
    offset = a.fmt.e_min + b.fmt.e_min - c.fmt.e_min - 1
    of_a, of_b, of_c, opposite, zero = flags
    found: list[Mapping[str, int]] = []
    for _ in range(MOST_TRIES):
        if len(found) == COUNT:
            break
        x, y = (
            z.drawn(rng, _field(rng, z.fmt, of), _fraction(rng, z.fmt)) for z, of in ((a, bool(of_a)), (b, bool(of_b)))
        )
        field = max(a.field(x), 1) + max(b.field(y), 1) + offset - rng.randint(*distance)
        if (field != 1) if of_c else not 0 < field < (1 << c.fmt.exponent_bits) - 1:
            continue
        product = a.significand(x) * b.significand(y)
        near = _near(rng, product, c.fmt)
        fraction = 0 if zero else rng.choice((_fraction(rng, c.fmt), near))
        z = c.drawn(rng, 0 if of_c else field, fraction)
        signs = [value >> operand.fmt.sign_position & 1 for operand, value in ((a, x), (b, y), (c, z))]
        is_zero = not c.significand(z)
        if product and zero in (None, is_zero) and opposite in (None, bool(sum(signs) % 2)):
            found.append({a.name: x, b.name: y, c.name: z})
    return found


def _field(rng: random.Random, fmt: Format, subnormal: bool) -> int:
    return 0 if subnormal else rng.randint(1, max(1, (1 << fmt.exponent_bits) - 2))


def _fraction(rng: random.Random, fmt: Format) -> int:
    bits = fmt.fraction_bits
    any_bits = rng.getrandbits(bits)
    return rng.choice((any_bits, any_bits, 0, (1 << bits) - 1, any_bits & rng.getrandbits(bits), any_bits >> bits // 2))


def _near(rng: random.Random, significand: int, fmt: Format) -> int:
    """Return a fraction whose highest bits are those of a significand, so that a difference cancels."""
    down = significand.bit_length() - 1 - fmt.fraction_bits
    moved = significand >> down if down > 0 else significand << -down
    changed = rng.choice((rng.randint(-2, 2), rng.getrandbits(rng.randint(1, max(1, fmt.fraction_bits)))))
    return (moved ^ changed) & ((1 << fmt.fraction_bits) - 1)


# --- words of exponents -----------------------------------------------------------------------------------

EXPONENT_BITS = 32
"""Words of more bits are not exponents."""
ROWS_OF_DISTANCE, TRIES_OF_DISTANCE = 5, 8
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

    Both are signed words of one width; the kernel has the definition of ``distance``. ``known`` are the assumptions of
    each lemma.
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
        self._d = signed(self._columns.values(meaning), width_of(meaning))
        self._e = signed(self._columns.values(addend), width_of(addend))

    def places(self, claim: FNode, operands: frozenset[FNode]) -> dict[FNode, FNode]:
        """Return what replaces words of a claim that depend on these operands and, with them, on the distance.

        A word that is replaced hides those that it is computed from.
        """
        found: dict[FNode, FNode] = {}
        symbols: dict[FNode, frozenset[FNode]] = {}
        bottom_up(claim, symbols, lambda x, of: frozenset([x]) if x.is_symbol() else frozenset().union(*of))
        operand = frozenset(self._kernel.environment.fvo.get_free_variables(self._addend))
        pending, seen = [claim] if len(self._d) else [], {claim}
        while pending:
            node = pending.pop()
            if width_of(node) <= EXPONENT_BITS and operands <= symbols[node] <= operands | operand:
                image = self._image(node)
                if image is not None:
                    found[node] = image
                    continue
            new = [x for x in node.args() if x not in seen]
            seen.update(new)
            pending += new
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


def rows_of_all_distances(
    a: Operand, b: Operand, c: Operand, count: int = ROWS_OF_DISTANCE
) -> dict[int, list[Mapping[str, int]]]:
    """Return some finite operands of each distance that there is, whose product is not zero."""
    rng = random.Random(0)
    ends = [x.fields for x in (a, b, c)]
    offset = a.fmt.e_min + b.fmt.e_min - c.fmt.e_min - 1
    first, last = (ends[0][i] + ends[1][i] for i in (0, 1))
    found: dict[int, list[Mapping[str, int]]] = {}
    for d in range(first - ends[2][1], last - ends[2][0] + 1):
        rows = found.setdefault(d + offset, [])
        least, most = max(first, d + ends[2][0]), min(last, d + ends[2][1])
        for i in range(TRIES_OF_DISTANCE * count):
            total = (least, most)[i // 2 % 2] if i % 2 == 0 else rng.randint(least, most)
            of_a = max(ends[0][0], total - ends[1][1]), min(ends[0][1], total - ends[1][0])
            x = rng.choice((*of_a, rng.randint(*of_a)))
            fields = x, total - x, total - d
            row = {z.name: _of_field(rng, z, field) for z, field in zip((a, b), fields, strict=False)}
            significand = a.significand(row[a.name]) * b.significand(row[b.name])
            if not significand:
                continue
            fraction = rng.choice((_fraction(rng, c.fmt), _near(rng, significand, c.fmt)))
            row[c.name] = _of_field(rng, c, fields[2], fraction)
            rows.append(row)
            if len(rows) == count:
                break
    return found


def _of_field(rng: random.Random, operand: Operand, field: int, fraction: int | None = None) -> int:
    """Return a pattern with an exponent field from 1 on, or a subnormal one in the place of the first."""
    subnormal = field == 1 and rng.random() < 0.5
    some = rng.choice((_fraction(rng, operand.fmt), 1 if subnormal else 0)) if fraction is None else fraction
    return operand.drawn(rng, 0 if subnormal else field, some)
