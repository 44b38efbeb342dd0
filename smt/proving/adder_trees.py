"""The adders of a circuit, column by column from the lowest bit of the result, whatever their gates are.

A bit of the result is the parity of what its column adds up: products, and the carries of the column below. Values on
samples tell what a literal is. Two or three literals with a parity are an adder if the next column reads their carry,
itself or within a parity. A carry that has no gate is added to the circuit. So what synthesis left of an adder need not
be one gate for its sum and one for its carry, and mutually exclusive bits may be joined by any gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Final

from mmaproof.smt.solving.gates import FALSE, TRUE
from mmaproof.smt.solving.sums import value_of

Cut = tuple[int, ...]
MOST_GATES: Final = 24
"""gates from which a carry is computed that counts as near"""


@dataclass(frozen=True)
class FoundAdder:
    """sum + 2 carry is the sum of the inputs. All are literals; samples alone say so."""

    sum: int
    carry: int
    inputs: tuple[int, ...]

    @property
    def lemma(self) -> tuple[tuple[int, int], ...]:
        """The equation of the adder."""
        return (1, self.sum), (2, self.carry), *((-1, x) for x in self.inputs)

    def after(self, lower: FoundAdder) -> bool:
        """Return whether the carry of another adder is added here."""
        return abs(lower.carry) != TRUE and lower.carry in self.inputs


@dataclass(frozen=True)
class _Candidate:
    adder: FoundAdder
    value: int
    """of the carry on samples"""
    read: int
    """2: the next column reads the carry; 1: it does so within a parity; -1: the carry is not new"""
    carried: int
    """inputs that are carries of the column below"""
    near: int
    """2: gates compute the carry from the inputs alone; 1: a gate tells that two of them generate it"""

    @property
    def rank(self) -> tuple[int, ...]:
        return self.read, self.carried, len(self.adder.inputs), self.near


class AdderTrees:
    """The adders of all columns. ``roots`` give bits of the result; ``adders`` has all, by their sums."""

    def __init__(
        self,
        bits: Sequence[int],
        parities: Mapping[int, Sequence[Cut]],
        made: Mapping[int, tuple[str | int, ...]],
        values: dict[int, int],
        gate: Callable[..., int],
        keep_to_time: Callable[[], None],
    ) -> None:
        self._bits, self._parities, self._made, self._values, self._gate = bits, parities, made, values, gate
        self._every = values[TRUE]
        self._alike: dict[int, list[int]] = {}
        for v in sorted(values):
            self._alike.setdefault(self._key(values[v]), []).append(v)
        self._read: list[dict[int, int]] = [self._within(abs(x)) for x in bits]
        self._carries: dict[int, int] = {}
        self.adders: dict[int, FoundAdder] = {}
        self.roots: list[FoundAdder | None] = []
        for i, x in enumerate(bits):
            keep_to_time()
            self._add_up(i, x)

    # --- values -----------------------------------------------------------------------------------------------

    def _key(self, value: int) -> int:
        return min(value, value ^ self._every)

    def _value(self, x: int) -> int:
        return self._values[x] if x > 0 else self._values[-x] ^ self._every

    def _literal(self, value: int) -> int:
        """Return the first literal that has these values, 0 if there is none."""
        v = self._alike.get(self._key(value), (0,))[0]
        return v if v and self._values[v] == value else -v

    def _within(self, v: int) -> dict[int, int]:
        """Return what a parity is of, at any depth, by values."""
        found, pending = dict[int, int](), [v]
        while pending:
            x = pending.pop()
            key = self._key(self._values[x])
            if key not in found:
                found[key] = x
                pending += (y for cut in self._parities.get(x, ()) for y in cut)
        return found

    # --- columns ----------------------------------------------------------------------------------------------

    def _add_up(self, i: int, root: int) -> None:
        """Find the adders of a column, and what they carry into the next one."""
        below, self._carries = self._carries, {}
        pending = [root]
        while pending:
            x = pending.pop()
            carried = below.get(self._key(self._value(x)), 0)
            if carried and abs(x) != abs(carried) and x == root:
                self.adders[abs(x)] = FoundAdder(x if self._value(x) == self._value(carried) else -x, FALSE, (carried,))
            if carried or abs(x) == TRUE or abs(x) in self.adders:
                continue
            best = self._best(i, x, below)
            if best is not None:
                self.adders[abs(x)] = adder = replace(best.adder, carry=self._carry(i, best))
                if abs(adder.carry) != TRUE:
                    self._carries[self._key(best.value)] = adder.carry
                pending += adder.inputs
        self.roots.append(self.adders.get(abs(root)))

    def _carry(self, i: int, of: _Candidate) -> int:
        """Return the literal of a carry: what the next column reads, else any, else a gate that is added."""
        v = self._read[i + 1].get(self._key(of.value), 0) if i + 1 < len(self._bits) else 0
        carry = (v if self._values[v] == of.value else -v) if v else self._literal(of.value)
        if carry:
            return carry
        x, y, *z = of.adder.inputs
        return self._added("ite", self._added("xor", x, y), z[0], x) if z else self._added("and", x, y)

    def _added(self, kind: str, *inputs: int) -> int:
        x = self._gate(kind, *inputs)
        if abs(x) not in self._values:
            value = value_of((kind, *inputs), self._values, self._every)
            self._values[abs(x)] = value if x > 0 else value ^ self._every
            self._alike.setdefault(self._key(value), []).append(abs(x))
        return x

    def _best(self, i: int, x: int, below: Mapping[int, int]) -> _Candidate | None:
        """Return the adder whose sum a literal is. It is None for a literal that no adder gives."""
        following = self._read[i + 1] if i + 1 < len(self._bits) else {}
        found = [y for cut in self._cuts(x, below) for y in self._candidates(x, cut, below, following)]
        if following and not any(y.read > 1 for y in found):
            found = [replace(y, read=1) if not y.read and self._is_within(y.value, following) else y for y in found]
        best = max(found, key=lambda y: y.rank, default=None)
        if best is None or not following or best.read > 0 or best.carried:
            return best
        inner = self._within(abs(x))
        return best if any(key in inner for key in below) else None

    def _is_within(self, carry: int, following: Mapping[int, int]) -> bool:
        return any(self._key(carry ^ self._values[u]) in self._alike for u in following.values())

    def _cuts(self, x: int, below: Mapping[int, int]) -> list[Cut]:
        """Return sets of two or three variables of which a literal is the parity."""
        v = abs(x)
        near = self._parities.get(v, ())
        pairs = dict.fromkeys(cut for cut in near if len(cut) == 2)
        for c in below.values():
            y = abs(self._literal(self._values[v] ^ self._value(c)))
            if TRUE < y < v or (y > TRUE and self._key(self._values[y]) in below):
                pairs[abs(c), y] = None
        found = dict.fromkeys([*near, *pairs])
        for cut in pairs:
            for y, z in (cut, cut[::-1]):
                if self._key(self._values[z]) not in below:
                    inner = (c for c in self._parities.get(z, ()) if len(c) == 2 and y not in c)
                    found |= dict.fromkeys((y, *c) for c in inner)
        return list(found)

    def _candidates(
        self, x: int, cut: Cut, below: Mapping[int, int], following: Mapping[int, int]
    ) -> Iterator[_Candidate]:
        """Yield the adders of some variables with this sum. Carries of the column below are added as they are."""
        total = self._value(x)
        known = [below.get(self._key(self._values[v]), 0) for v in cut]
        for literals in product(*((c,) if c else (v, -v) for v, c in zip(cut, known, strict=True))):
            p, q, *r = map(self._value, literals)
            one = (p ^ q ^ (r[0] if r else 0)) != total
            if one and r:
                continue
            carry = p & q | (p | q) & r[0] if r else p | q if one else p & q
            key = self._key(carry)
            near = int(any(self._key(a & b) in self._alike for a, b in combinations((p, q, *r), 2)))
            read = 2 if key in following else 0
            near = 2 if read and self._is_near(carry, literals, one) else near
            if key in self._carries or (near < 2 and key in {self._key(self._value(z)) for z in (x, *literals)}):
                read = -1
            adder = FoundAdder(x, 0, (*literals, TRUE) if one else literals)
            yield _Candidate(adder, carry, read, sum(map(bool, known)), near)

    def _is_near(self, carry: int, literals: Sequence[int], one: bool) -> bool:
        """Return whether a few gates compute the carry from what is added."""
        every = (1 << (1 << len(literals))) - 1
        inputs = {TRUE: every}
        for i, x in enumerate(literals):
            pattern = every // ((1 << (1 << i)) + 1) << (1 << i)
            inputs[abs(x)] = pattern if x > 0 else pattern ^ every
        p, q, *r = (inputs[abs(x)] if x > 0 else inputs[-x] ^ every for x in literals)
        wanted = p & q | (p | q) & r[0] if r else p | q if one else p & q
        for v in self._alike.get(self._key(carry), ()):
            value = self._computed(v, inputs, every)
            if value == (wanted if self._values[v] == carry else wanted ^ every):
                return True
        return False

    def _computed(self, v: int, inputs: Mapping[int, int], every: int) -> int | None:
        pending, cone = [v], set[int]()
        while pending:
            x = pending.pop()
            if x not in inputs and x not in cone:
                if x not in self._made or len(cone) == MOST_GATES:
                    return None
                cone.add(x)
                pending += (abs(int(y)) for y in self._made[x][1:])
        values = dict(inputs)
        for x in sorted(cone):
            values[x] = value_of(self._made[x], values, every)
        return values[v]


def chains(roots: Sequence[FoundAdder | None]) -> Iterator[tuple[list[FoundAdder], bool]]:
    """Yield the adders of results that pass carries on, the lowest first, and whether a column is above them."""
    chain: list[FoundAdder] = []
    for root in (*roots, None):
        if chain and (root is None or not root.after(chain[-1])):
            if len(chain) > 1:
                yield chain, chain[-1] is not roots[-1]
            chain = []
        if root is not None:
            chain.append(root)


def word_of(chain: Sequence[FoundAdder], more: bool) -> tuple[int, list[tuple[int, int, int]]]:
    """Return what is carried into a chain of adders, and their sums with the two literals that are added to carries.

    The first adder is left out if it adds three literals; then its carry goes into the others. Where more columns
    follow, the last carry is a sum of nothing but what is carried there.
    """
    first, *others = chain
    into, sign, word = first.carry, 1, list[tuple[int, int, int]]()
    if len(first.inputs) == 2 or first.inputs[-1] == TRUE:
        into, sign = FALSE, 1 if len(first.inputs) == 2 else -1
        word.append((sign * first.sum, sign * first.inputs[0], sign * first.inputs[1]))
    carry = first.carry
    for adder in others:
        added = list(adder.inputs)
        added.remove(carry)
        x, y = (*(sign * z for z in added), FALSE, FALSE)[:2]
        word.append((sign * adder.sum, x, y))
        carry = adder.carry
    if more and abs(carry) != TRUE:
        word.append((sign * carry, FALSE, FALSE))
    return into, word
