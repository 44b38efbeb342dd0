"""Cases of a fused multiply-add whose sum is any word: what rounds it is proved once for many distances.

Up to the sum two datapaths differ in where they align the addend, after it in how they normalise and round. The sum of
one is the other one without its lowest bits, which set the last bit, or a flag, where they are not zero. Operands of
each distance suggest which two words are so related, by how many places, and in which flags the sign and the lost bits
are. In a range of distances in which the places are a constant, or a constant plus or minus the distance, each of these
is a leaf: "the case does not hold, or it is so". A last leaf says that nothing satisfies the case where the sum, its
sign and its flags are any, but as large as they are and related. It has no product, and not the addend's bits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

from pysmt.fnode import FNode

from mmaproof.smt.proving.case_nets import SHIFTS, of_one_side
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.walk import bottom_up, rebuilt, substituted, symbols_in
from mmaproof.smt.solving.query import width_of

RELATION_SECONDS, FACT_SECONDS, ROUNDING_SECONDS = 8.0, 2.0, 12.0
"""Seconds for what relates the sums, for a fact about one or a flag, and for the case of a free sum."""
MOST_MOVED = 13
"""Distances with which the places change that are asked about together at first, at most."""
UPPER_BITS = 3
"""The highest bits of the largest sum that is seen, which bound the others."""
MORE_BITS, MOST_FLAGS = 2, 64
"""How many bits a sum has at least beyond the significand of the result, and how many flags at most."""


@dataclass(frozen=True)
class _Kind:
    """That ``coarse`` is ``fine`` without some lowest bits, and jams or does not.

    ``flag`` says whether bits below ``fine`` are lost, None where none seem to be; ``negated`` whether it says not.
    """

    fine: FNode
    coarse: FNode
    jams: bool
    flag: FNode | None = None
    negated: bool = False


@dataclass(frozen=True)
class Cut:
    """How two sums are related in a range of distances: ``offset + slope * distance`` bits are lost."""

    kind: _Kind
    offset: int
    slope: int

    def places(self, distance: int) -> int:
        """Return how many bits are lost."""
        return self.offset + self.slope * distance


class FreeSums:
    """Refutes ranges of distances of a claim that is known to hold, as ``facts`` are. ``rows`` are by the distance.

    ``product`` is a variable; ``conditions`` are of operands, under which a sum may be larger; ``signs`` are what its
    sign may be. All ranges, and all rows, are in one case ``within``: branches of the claim that are not taken in it
    are not looked at.
    """

    def __init__(
        self,
        kernel: Kernel,
        claim: FNode,
        facts: Sequence[FNode],
        terms: tuple[FNode, FNode, FNode],
        precision: int,
        conditions: Sequence[FNode],
        signs: Sequence[FNode],
        rows: Mapping[int, Sequence[Mapping[str, int]]],
        within: FNode | None = None,
    ) -> None:
        self.kernel, self.facts, self.conditions, self.signs = kernel, facts, conditions, signs
        self._product, addend, self.distance = terms
        self._least = precision + MORE_BITS
        self.m: Any = kernel.environment.formula_manager
        every = [(distance, x) for distance, some in sorted(rows.items()) for x in some]
        self._distances = [distance for distance, _ in every]
        self._columns = Columns([x for _, x in every])
        for variable, term in kernel.definitions.items():
            self._columns.define(variable, self._columns.values(term))
        self._known: dict[FNode, list[int]] = {}
        self._within = within
        self.claim = claim if within is None or not every else self._taken(claim, self.m.Not(within))
        self._is_whole = self.claim is claim
        self._sides = of_one_side(self.claim)
        self.of_product, self.of_addend = _depends(self.claim, self._product), _depends(self.claim, addend)
        self.of_exponents = [x for x in facts if symbols_in(x) <= {addend, self.distance}]
        self.shifts: dict[FNode, bool] = {}
        bottom_up(self.claim, self.shifts, lambda x, of: x.node_type() in SHIFTS or any(of))

    def _taken(self, claim: FNode, elsewhere: FNode) -> FNode:
        """Return the claim without the branches that are never taken, and prove that it holds in the case."""
        m, environment = self.m, self.kernel.environment
        symbols: dict[FNode, FNode] = {}
        always: dict[FNode, bool] = {}
        pending, seen = [claim], {claim}
        while pending:
            node = pending.pop()
            of = node.args()
            if node.is_ite():
                flag = of[0]
                if flag not in symbols and (holds := self._always(flag, elsewhere)) is not None:
                    symbols[flag], always[flag] = m.FreshSymbol(), holds
                if flag in always:
                    of = of[1:2] if always[flag] else of[2:]
            new = [x for x in of if x not in seen]
            seen.update(new)
            pending += new

        def chosen(node: FNode, operands: Sequence[FNode]) -> FNode:
            if node.is_ite() and node.arg(0) in always:
                return operands[1] if always[node.arg(0)] else operands[2]
            return rebuilt(environment, node, operands)

        left = bottom_up(claim, {}, chosen)
        if left is claim:
            return claim
        known = [m.Or(elsewhere, symbols[x] if holds else m.Not(symbols[x])) for x, holds in always.items()]
        whole, short = (substituted(environment, x, symbols) for x in (claim, left))
        given = {symbol: flag for flag, symbol in symbols.items()}
        self.kernel.use(m.Or(elsewhere, short), [whole, *known], "branches that are taken", given)
        return left

    def _always(self, flag: FNode, elsewhere: FNode) -> bool | None:
        """Return the value that a flag is proved to have, None if there is none."""
        values = set(self._columns.values(flag).tolist())
        if len(values) != 1 or flag.is_constant():
            return None
        holds, m = bool(values.pop()), self.m
        try:
            claim = m.Or(elsewhere, flag if holds else m.Not(flag))
            self.kernel.use(claim, self.facts, "a branch", seconds=FACT_SECONDS)
        except NotComposedError:
            return None
        return holds

    def left(self, places: Mapping[FNode, FNode]) -> FNode:
        """Return what is known of the claim, with others in the places of words."""
        found = substituted(self.kernel.environment, self.claim, places)
        return found if self._is_whole else self.m.Or(self.m.Not(self._within), found)

    def ranges(self, low: int, high: int) -> Iterator[tuple[int, int, Cut | None]]:
        """Yield ranges that make this one, each with how the sums are related in it, None where they do not seem to be.

        A range is as long as there is one way for all of it.
        """
        pair = self._pair(low, high)
        begin, alive = low, dict[_Kind, list[tuple[int, int]]]()
        for distance in filter(self._has_rows, range(low, high + 1)):
            if pair is None:
                break
            now = dict(self._kinds(*pair, distance))
            longer = {x: [*of, (distance, now[x])] for x, of in alive.items() if x in now}
            longer = {x: of for x, of in longer.items() if _slope(of) == 0 or (_slope(of) and len(of) <= MOST_MOVED)}
            if alive and not longer:
                yield begin, distance - 1, _line(alive)
                begin = distance
            alive = longer or {x: [(distance, places)] for x, places in now.items()}
        yield begin, high, _line(alive) if alive else None

    def refute(self, case: FNode, cut: Cut, distances: tuple[int, int], why: str) -> None:
        """Refute a case of these distances. Raises NotComposedError."""
        _Case(self, case, cut, distances, why).refute()

    def refuted_at_once(self, case: FNode, why: str) -> bool:
        """Refute a case with all words as they are, and return whether that took not too long."""
        try:
            self.kernel.use(self.m.Not(case), [self.left({}), *self.facts], why, seconds=ROUNDING_SECONDS)
        except NotComposedError:
            return False
        return True

    def column(self, term: FNode, distances: tuple[int, int]) -> list[int]:
        """Return the values of a term on the rows of a range of distances."""
        if term not in self._known:
            self._known[term] = [int(x) for x in self._columns.values(term)]
        low, high = distances
        return self._known[term][bisect_left(self._distances, low) : bisect_right(self._distances, high)]

    # --- the sums -----------------------------------------------------------------------------------------------

    def _has_rows(self, distance: int) -> bool:
        return bisect_left(self._distances, distance) < bisect_right(self._distances, distance)

    def _pair(self, low: int, high: int) -> tuple[FNode, FNode] | None:
        """Return the first words of both sides that are related at all distances, None if there are none.

        Not too many flags may be computed from the product beside them.
        """
        words: tuple[list[FNode], list[FNode]] = [], []
        for x, of_product in self.of_product.items():
            if of_product and self.of_addend[x] and width_of(x) >= self._least and x in self._sides:
                words[self._sides[x]].append(x)
        tried = list(filter(self._has_rows, range(low, high + 1)))
        few = tried[:: len(tried) // 4 + 1]  # since most words are not related at all
        for x, y in product(*words):
            if tried and all(any(self._kinds(x, y, d)) for d in [*few, *tried]):
                flags = self._flags_beside(x, y)
                if flags is not None and flags <= MOST_FLAGS:
                    return x, y
        return None

    def _flags_beside(self, x: FNode, y: FNode) -> int | None:
        """Count the flags that depend on the product, but on neither word; None if a word does so, too."""
        pending, seen, flags = [self.claim], {x, y}, 0
        above = dict.fromkeys(seen, True)
        bottom_up(self.claim, above, lambda _, of: any(of))
        while pending:
            node = pending.pop()
            if node in seen or not self.of_product[node]:
                continue
            seen.add(node)
            if node is self._product:
                return None
            if width_of(node) > 1 or above[node]:
                pending += node.args()
            else:
                flags += 1
        return flags

    def _kinds(self, x: FNode, y: FNode, distance: int) -> Iterator[tuple[_Kind, int]]:
        """Yield how two words are related at a distance, and by how many places."""
        for fine, coarse in ((x, y), (y, x)):
            pairs = list(zip(*(self.column(z, (distance, distance)) for z in (fine, coarse)), strict=True))
            first, other = max(pairs)
            places = first.bit_length() - other.bit_length()
            if places < 0 or not other or places >= width_of(fine):
                continue
            ones = (1 << places) - 1
            if all(p >> places | bool(p & ones) == q for p, q in pairs):
                yield _Kind(fine, coarse, jams=True), places
            elif all(p >> places | 1 == q | 1 for p, q in pairs):
                must = [None if p >> places & 1 or p & ones else bool(q & 1) for p, q in pairs]
                must = [False if not q & 1 else x for (_, q), x in zip(pairs, must, strict=True)]
                yield from ((x, places) for x in self._flagged(fine, coarse, must, distance))
            if all(p >> places == q for p, q in pairs):
                yield _Kind(fine, coarse, jams=False), places

    def _flagged(self, fine: FNode, coarse: FNode, must: Sequence[bool | None], distance: int) -> Iterator[_Kind]:
        """Yield ways with a flag that sets the last bit, too; it must have values where these are not None."""
        for x, of_addend in self.of_addend.items():
            if width_of(x) or not of_addend or not self.shifts[x] or self._sides.get(x) != self._sides[fine]:
                continue
            values = self.column(x, (distance, distance))
            for negated in (False, True):
                if all(y is None or (bool(v) != negated) == y for v, y in zip(values, must, strict=True)):
                    yield _Kind(fine, coarse, jams=True, flag=x, negated=negated)


class _Case:
    """One range of distances. Symbols stand for the two sums and for flags."""

    def __init__(self, of: FreeSums, case: FNode, cut: Cut, distances: tuple[int, int], why: str) -> None:
        self._of, self._cut, self._distances, self._why = of, cut, distances, f"{why}: a sum"
        self._m, self._not_here = of.m, of.m.Not(case)
        self._given: dict[FNode, FNode] = {}
        self._equations: list[FNode] = []
        """what is known of the symbols"""
        kind = cut.kind
        self._fine, self._coarse = self._symbol(kind.fine), self._symbol(kind.coarse)
        self._places = {kind.fine: self._fine, kind.coarse: self._coarse}
        self._flag = None
        if kind.flag is not None:
            self._flag = self._places[kind.flag] = self._symbol(kind.flag)
        self._sign: tuple[FNode, Sequence[int]] | None = None

    def refute(self) -> None:
        """Refute the case. Raises NotComposedError."""
        of, m = self._of, self._m
        lost = self._lost()
        odd: list[FNode] = [lost] if self._cut.kind.jams else []
        if self._flag is not None:
            odd.append(m.Not(self._flag) if self._cut.kind.negated else self._flag)
        self._prove(self._is_moved(m.Or(odd)), RELATION_SECONDS)
        left = substituted(of.kernel.environment, of.claim, self._places)
        self._places |= {x: self._as_symbol(x, lost) for x in self._flags(left)}
        facts = list(self._facts(lost))
        if facts and not self._proves(m.And([x[0] for x in facts if x])):
            for ways in facts:
                any(map(self._proves, ways))
        assumed = [of.left(self._places), *self._equations, *of.of_exponents]
        of.kernel.use(self._not_here, assumed, f"{self._why} of any value", self._given, seconds=ROUNDING_SECONDS)

    def _symbol(self, term: FNode) -> FNode:
        width, kinds = width_of(term), self._of.kernel.environment.type_manager
        symbol: FNode = self._m.FreshSymbol(kinds.BVType(width) if width else kinds.BOOL())
        self._given[symbol] = term
        return symbol

    def _prove(self, equation: FNode, seconds: float) -> None:
        """Prove what holds of symbols in the case, and note it."""
        known = self._m.Or(self._not_here, equation)
        own = substituted(self._of.kernel.environment, known, self._given)
        self._of.kernel.use(own, self._of.facts, self._why, seconds=seconds)
        self._equations.append(known)

    def _proves(self, equation: FNode) -> bool:
        try:
            self._prove(equation, FACT_SECONDS)
        except NotComposedError:
            return False
        return True

    def _number(self) -> FNode:
        """Return how many bits are lost, as a word as wide as the fine sum."""
        m, width = self._m, self._fine.bv_width()
        low, high = self._distances
        if low == high or not self._cut.slope:
            return m.BV(self._cut.places(low), width)
        distance = self._of.distance
        wide = m.BVSExt(distance, width - distance.bv_width())
        offset = m.BV(self._cut.offset % (1 << width), width)
        return m.BVAdd(offset, wide) if self._cut.slope > 0 else m.BVSub(offset, wide)

    def _lost(self) -> FNode:
        """Return whether lowest bits of the fine sum are lost that are not zero."""
        m, width, number = self._m, self._fine.bv_width(), self._number()
        ones = m.BV((1 << width) - 1, width)
        if number.is_constant():
            ones = m.BV(((1 << width) - 1 << number.constant_value()) % (1 << width), width)
        else:
            ones = m.BVLShl(ones, number)
        return m.Not(m.Equals(m.BVAnd(self._fine, m.BVNot(ones)), m.BV(0, width)))

    def _is_moved(self, odd: FNode) -> FNode:
        """Return whether the coarse sum is the fine one without the lowest bits, its last bit set where it is odd."""
        m, width = self._m, max(self._fine.bv_width(), self._coarse.bv_width())
        moved, found = m.BVLShr(self._fine, self._number()), self._coarse
        moved, found = (x if x.bv_width() == width else m.BVZExt(x, width - x.bv_width()) for x in (moved, found))
        same: FNode = m.Equals(found, m.BVOr(moved, m.Ite(odd, m.BV(1, width), m.BV(0, width))))
        return same

    # --- flags --------------------------------------------------------------------------------------------------

    def _flags(self, left: FNode) -> Iterator[FNode]:
        """Yield the flags that are computed from the product or from a moved addend, and from no symbol."""
        of, pending, seen = self._of, [left], {left}
        while pending:
            node = pending.pop()
            original = node in of.of_product
            wanted = original and (of.of_product[node] or (of.of_addend[node] and of.shifts[node]))
            if wanted and width_of(node) <= 1 and not node.is_constant():
                yield node
            elif wanted or not original:
                new = [x for x in node.args() if x not in seen]
                seen.update(new)
                pending += new

    def _as_symbol(self, flag: FNode, lost: FNode) -> FNode:
        """Return the symbol for a flag, of which it is proved what it is; the flag itself if it is nothing known."""
        of, m = self._of, self._m
        values = of.column(flag, self._distances)
        symbol = self._symbol(flag)
        holds = m.Equals(symbol, m.BV(1, 1)) if width_of(flag) else symbol
        if len(set(values)) == 1 and self._proves(holds if values[0] else m.Not(holds)):
            return symbol
        known: list[tuple[FNode, Sequence[int]]] = [] if self._cut.kind.jams else [(lost, self._values_lost())]
        known += [(x, of.column(x, self._distances)) for x in of.signs]
        for (word, column), negated in product(known, (False, True)):
            same = all(bool(v) == (bool(x) != negated) for v, x in zip(values, column, strict=True))
            if same and self._proves(m.Iff(holds, m.Not(word) if negated else word)):
                return symbol
        if not of.of_product[flag]:
            del self._given[symbol]
            return flag
        if not self._is_bit(holds, values):
            self._compare(holds, values)
        return symbol

    def _is_bit(self, holds: FNode, values: Sequence[int]) -> bool:
        """Prove that a flag is a bit of the coarse sum, or its opposite, and return whether that is proved."""
        m, sums = self._m, self._of.column(self._cut.kind.coarse, self._distances)
        for i, negated in product(range(self._coarse.bv_width()), (False, True)):
            if all((x >> i & 1 != v) == negated for x, v in zip(sums, values, strict=True)):
                bit = m.Equals(m.BVExtract(self._coarse, i, i), m.BV(int(not negated), 1))
                return self._proves(m.Iff(holds, bit))
        return False

    def _values_lost(self) -> list[bool]:
        of, fine = self._of, self._cut.kind.fine
        low, high = self._distances
        return [bool(x & (1 << self._cut.places(d)) - 1) for d in range(low, high + 1) for x in of.column(fine, (d, d))]

    def _compare(self, holds: FNode, values: Sequence[int]) -> None:
        """Prove what a flag is that depends on the sign of the sum, where the sum is not zero, and where it is."""
        m, sums = self._m, self._of.column(self._cut.kind.fine, self._distances)
        zero = m.Equals(self._fine, m.BV(0, self._fine.bv_width()))
        if self._sign is None:
            self._sign = holds, values
            self._proves(m.Or(m.Not(zero), m.Not(holds)))
            return
        sign, of_sign = self._sign
        for negated in (False, True):
            if all((v != x) == negated for v, x, s in zip(values, of_sign, sums, strict=True) if s):
                self._proves(m.Or(zero, m.Iff(holds, m.Not(sign) if negated else sign)))

    # --- how large a sum is -------------------------------------------------------------------------------------

    def _facts(self, lost: FNode) -> Iterator[tuple[FNode, ...]]:
        """Yield how large and how small the sums seem to be, also under conditions and where bits are lost.

        After each comes what to say if that is too much, because no sample is the smallest sum, or the largest. Where
        the places change with the distance one of the sums begins where it always does, else both are one.
        """
        of, kind = self._of, self._cut.kind
        conditions = [(self._m.TRUE(), [True] * len(self._values_lost())), (lost, self._values_lost())]
        conditions += [(x, [bool(y) for y in of.column(x, self._distances)]) for x in of.conditions]
        if self._flag is not None and kind.flag is not None:
            values = of.column(kind.flag, self._distances)
            flag = self._m.Not(self._flag) if kind.negated else self._flag
            conditions.append((flag, [bool(x) != kind.negated for x in values]))
        moves = self._cut.slope and self._distances[0] < self._distances[1]
        for word, whole in ((self._fine, kind.fine), (self._coarse, kind.coarse))[: 2 if moves else 1]:
            yield from self._bounds(word, of.column(whole, self._distances), conditions)

    def _bounds(
        self, word: FNode, values: Sequence[int], conditions: Sequence[tuple[FNode, Sequence[bool]]]
    ) -> Iterator[tuple[FNode, ...]]:
        m, width = self._m, word.bv_width()
        most, used = width, reduce(or_, values, 0)
        if used and (zeros := (used & -used).bit_length() - 1):
            yield (m.Equals(m.BVExtract(word, 0, zeros - 1), m.BV(0, zeros)),)
        # two words of one size, one of them moved by some places, are less than twice the larger one
        top = max(values).bit_length() - UPPER_BITS
        if top > 0:
            some = [x + (max(values) >> top) << top for x in (1, 2)]
            yield tuple(m.BVULT(word, m.BV(x, width)) for x in some if x < 1 << width)
        for condition, holds in conditions:
            some = [x for x, y in zip(values, holds, strict=True) if y]
            no = m.Not(condition)
            if not some:
                yield (no,)
                continue
            if (high := max(some).bit_length()) < most:
                most = high if condition.is_true() else most
                yield tuple(m.Or(no, m.BVULT(word, m.BV(1 << min(x, width - 1), width))) for x in (high, high + 1))
            if (low := min(some).bit_length() - 1) >= 0:
                powers = sorted({low, max(low - 1, 0), 0}, reverse=True)
                yield tuple(m.Or(no, m.BVULE(m.BV(1 << x, width), word)) for x in powers)


def _slope(points: Sequence[tuple[int, int]]) -> int | None:
    """Return 0 where places are a constant, 1 or -1 where they rise or fall with the distance, None otherwise."""
    return next((s for s in (0, 1, -1) if len({y - s * x for x, y in points}) == 1), None)


def _line(alive: Mapping[_Kind, Sequence[tuple[int, int]]]) -> Cut:
    kind, points = next(iter(alive.items()))
    slope = _slope(points) or 0
    return Cut(kind, points[0][1] - slope * points[0][0], slope)


def _depends(claim: FNode, on: FNode) -> dict[FNode, bool]:
    """Return of each term of a claim whether it depends on another one."""
    found = {on: True}
    bottom_up(claim, found, lambda _, of: any(of))
    return found
