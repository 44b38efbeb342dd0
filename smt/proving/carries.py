"""Proofs that a carry is one, whatever the adder: prefix, lookahead, skip, select and ripple adders.

A chain of adders has inputs x and y at each position. With samples of these, gates are told by what they compute: G
of positions i to k is the carry out of them, P says that they pass one on. With C for the carries of a ripple adder,
gates that are added, the lemma of each pair is that C of i + 1 is ``G or (P and C of k)``. It follows from the same of
the pairs from which G and P are computed, so it is a lemma of a few bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mmaproof.smt.solving.cnf import FALSE, TRUE
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.sums import MOST_INPUTS, EqualSums, SumLemma, holds

RANDOM_SAMPLES: Final = 512
MOST_NEAR: Final = 12
"""gates that a lemma about one adder is of"""
MOST_SPANS: Final = 6
"""spans of which one gate is taken for the generated carry, beside the longest one"""


@dataclass(frozen=True)
class _Span:
    """A literal that carries G (``generates``) or P of the positions from ``last`` down to ``first``."""

    generates: bool
    last: int
    first: int
    literal: int


Position = tuple[int, int, int]
"""the literals of a sum, and of the two that are added there to the carry from below"""


class CarryProofs:
    """The lemmas about carries, and the gates that these need. The lemmas are those of a whole proof."""

    def __init__(self, sums: EqualSums, added: list[tuple[str | int, ...]], values: Mapping[int, int]) -> None:
        self._sums, self._added = sums, added
        self.values, self.every = dict(values), values[TRUE]
        """of all variables on samples, a bit for each, and a number with all bits"""
        self.lemmas: list[SumLemma] = []
        self.made = sums.gates.inputs()
        """the gates, with those that were added"""

    def near(self, of: tuple[tuple[int, int], ...]) -> SumLemma | None:
        """Return the lemma of a sum that holds of the gates from which it is computed, or None.

        The last gate of those that it is of is replaced by what it reads, until the lemma holds or there are too many:
        first with what is added left as it is. If the sum is of few operands, all of their values are tried.
        """
        made = self.made
        for kept in ({abs(x) for w, x in of if w < 0} - {TRUE}, set[int]()):
            inputs = {abs(x) for _, x in of} - {TRUE}
            while len(inputs) <= MOST_INPUTS:
                lemma = SumLemma(tuple(sorted(inputs)), (), of)
                if len(inputs) <= MOST_NEAR and holds(made, lemma, ()):
                    return lemma
                last = max(inputs - kept, default=0)
                if last not in made:
                    break
                inputs = inputs - {last} | {abs(int(x)) for x in made[last][1:]} - {TRUE}
                inputs -= {v for v in inputs if v in made and all(abs(int(x)) in inputs for x in made[v][1:])}
        lemma = SumLemma(self._operands({abs(x) for _, x in of}), (), of)
        return lemma if holds(made, lemma, ()) else None

    def _operands(self, of: set[int]) -> tuple[int, ...]:
        """Return the operands that variables are computed from, as far as they are tried."""
        made, found, seen, pending = self.made, list[int](), {TRUE}, list(of)
        while pending and len(found) <= MOST_INPUTS:
            v = pending.pop()
            if v not in seen:
                seen.add(v)
                found += () if v in made else (v,)
                pending += (abs(int(x)) for x in made.get(v, ())[1:])
        return tuple(found)

    def prove_word(self, positions: Sequence[Position], into: int) -> list[SumLemma]:
        """Prove that literals are the bits of a sum, the lowest first, where ``into`` is carried into the lowest.

        Return the lemmas of their adders, whose carries are gates that are added. Raises NotRefutedError.
        """
        found = _Chain(self, self._sums, self._gate, positions, into).prove()
        if len(found) < len(positions):
            raise NotRefutedError(f"literal {positions[len(found)][0]} is not proved to be a sum")
        return found

    def _gate(self, *gate: str | int) -> int:
        self._added.append(gate)
        return self._sums.add_gate(gate)


class _Chain:
    """One chain of adders: positions from the lowest, and what is carried into it."""

    def __init__(
        self,
        proofs: CarryProofs,
        sums: EqualSums,
        gate: Callable[..., int],
        positions: Sequence[Position],
        into: int,
    ) -> None:
        self._proofs, self._sums, self._made, self._gate = proofs, sums, dict(sums.gates.inputs()), gate
        self._positions, self._into = positions, into
        self._carries = [into]
        for _, x, y in positions:
            self._carries.append(gate("ite", gate("xor", x, y), self._carries[-1], x))
        self._all = sums.gates.inputs()
        self._position: dict[int, list[int]] = {}
        for i, (_, x, y) in enumerate(positions):
            for z in {abs(x), abs(y)} - {TRUE}:
                self._position.setdefault(z, []).append(i)
        self._spans: dict[int, list[_Span]] = {}
        self._value = proofs.values[into] if into > 0 else proofs.values[-into] ^ proofs.every
        """of the carry into a position on samples of operands"""
        self._never = set[tuple[int, int]]()
        """spans that generate no carry"""
        self._others = set[int]()
        """what carries read beside the positions"""
        self._facts: dict[int, list[tuple[int, int | None]]] = {}
        """of a variable that carries G: the number of a lemma about it, and the variable of P"""
        self._of_fact: dict[int, set[int]] = {}
        """the carries that a lemma is about"""

    def prove(self) -> list[SumLemma]:
        """Return the lemmas of the adders from the lowest position up to the first that is not proved."""
        cone, proved = self._cone(), list[SumLemma]()
        self._find(cone)
        pairs: dict[tuple[int, int], list[_Span]] = {}
        for x in (x for found in self._spans.values() for x in found if not x.generates):
            pairs.setdefault((x.last, x.first), []).append(x)
        of_last: dict[int, list[_Span]] = {}
        for v in cone:
            of = [x for x in self._spans.get(v, ()) if x.generates]
            for x in of[:1] + of[1:][-MOST_SPANS:]:
                of_last.setdefault(x.last, []).append(x)
        for i in range(len(self._positions)):
            self._sums.keep_to_time()
            never = [_Span(True, i, k, FALSE) for k in range(i, -1, -1) if (i, k) in self._never]
            for x in never + of_last.get(i, []):
                for p in [None] if x.first < 0 else pairs.get((x.last, x.first), ()):
                    self._pair(x, p)
            self._find_near(i, cone)
            lemma = self._adder(i)
            if lemma is None:
                break
            proved.append(lemma)
        return proved

    def _find_near(self, i: int, cone: Sequence[int]) -> None:
        """Prove of gates that they are the carry out of a position where they read what x and y are computed from."""
        values, every, carry = self._proofs.values, self._proofs.every, self._carries[i + 1]
        x, y = (values[abs(z)] ^ (0 if z > 0 else every) for z in self._positions[i][1:])
        self._value = value = x & y | (x | y) & self._value
        for v in cone if 0 < value < every else ():
            if v not in self._facts and values[v] in (value, value ^ every):
                of = ((1, v if values[v] == value else -v), (-1, carry))
                lemma = self._lemma({v}, {carry}, of) or self._proofs.near(of)
                if lemma is not None:
                    self._know(lemma, v, None, {carry})

    def _cone(self) -> list[int]:
        """Return the gates between the positions and the carries, each after its inputs."""
        pending, found = [abs(p[0]) for p in self._positions], set[int]()
        while pending:
            v = pending.pop()
            if v in found or v in self._position or v == abs(self._into):
                continue
            if v not in self._made:
                self._others.add(v)
                continue
            found.add(v)
            pending += (abs(int(x)) for x in self._made[v][1:])
        return sorted(found)

    def _find(self, cone: Sequence[int]) -> None:
        """Tell the gates that carry G and P of some positions."""
        rows, x, y, into = self._samples()
        every = (1 << rows) - 1
        values = {TRUE: every, abs(self._into): into if self._into > 0 else into ^ every}
        values |= {v: int.from_bytes(random.Random(v).randbytes(rows // 8 + 1)) & every for v in self._others}
        for (_, p, q), a, b in zip(self._positions, x, y, strict=True):
            for z, value in ((p, a), (q, b)):
                values[abs(z)] = value if z > 0 else value ^ every
        values[TRUE] = every
        of_value: dict[int, list[tuple[int, int]]] = {}
        for v in cone:
            kind, *inputs = self._made[v]
            q, *others = (values[i] if (i := int(z)) > 0 else values[-i] ^ every for z in inputs)
            if kind == "ite":
                q = q & others[0] | (q ^ every) & others[1]
            else:
                for z in others:
                    q = q & z if kind == "and" else q ^ z
            values[v] = q
            of_value.setdefault(q, []).append((v, v))
            of_value.setdefault(q ^ every, []).append((v, -v))

        def note(generates: bool, last: int, first: int, value: int) -> None:
            for v, literal in of_value.get(value, ()):
                self._spans.setdefault(v, []).append(_Span(generates, last, first, literal))

        carry = into if self._into != FALSE else 0
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            carry = a & b | (a | b) & carry
            note(True, i, -1, carry)
        for k in range(len(x)):
            g, passes, t = 0, every, every
            for i in range(k, len(x)):
                a, b = x[i], y[i]
                g, passes, t = a & b | (a | b) & g, passes & (a ^ b), t & (a | b)
                note(True, i, k, g)
                if not g:
                    self._never.add((i, k))
                note(False, i, k, passes)
                note(False, i, k, t)

    def _samples(self) -> tuple[int, list[int], list[int], int]:
        """Return x and y of each position and what is carried in, a bit for each sample.

        For each span of positions there are samples in which exactly these pass a carry on, or none beside random ones.
        """
        count, of = len(self._positions), np.random.default_rng(0)
        spans = [(i, k) for k in range(count) for i in range(k, count)]
        rows = 2 * len(spans) + RANDOM_SAMPLES
        into = of.integers(0, 2, rows, dtype=np.uint8)
        firsts, lasts = (np.full(rows, -2) for _ in range(2))
        lasts[: 2 * len(spans)] = np.repeat([i for i, _ in spans], 2)
        firsts[: 2 * len(spans)] = np.repeat([k for _, k in spans], 2)
        carried = np.arange(rows) % 2
        into = np.where(firsts == 0, carried, into).astype(np.uint8)
        x, y = (np.zeros((rows, count), dtype=np.uint8) for _ in range(2))
        known: dict[int, Any] = {TRUE: np.ones(rows, dtype=np.uint8)}
        for i, (_, *added) in enumerate(self._positions):  # one variable may be in several positions
            for z, column in zip(added, (x, y), strict=True):
                bits = of.integers(0, 2, rows, dtype=np.uint8)
                bits = np.where(firsts - 1 == i, carried, bits)
                if column is y or abs(added[1]) == TRUE:
                    other = x[:, i] if column is y else int(added[1] > 0)
                    bits = np.where((firsts <= i) & (i <= lasts), 1 - other, bits)
                known.setdefault(abs(z), bits if z > 0 else 1 - bits)
                column[:, i] = known[abs(z)] if z > 0 else 1 - known[abs(z)]

        def packed(column: Any) -> int:
            return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")

        return rows, [packed(x[:, i]) for i in range(count)], [packed(y[:, i]) for i in range(count)], packed(into)

    # --- lemmas -----------------------------------------------------------------------------------------------

    def _pair(self, g: _Span, p: _Span | None) -> None:
        """Prove that G, with P and the carry into the span, is the carry out of it, from the same of smaller spans."""
        out, passed = self._carries[g.last + 1], None if p is None else self._carries[g.first]
        roots = {abs(x.literal) for x in (g, p) if x is not None} - {TRUE}
        of = g.literal if p is None else -self._gate("and", -g.literal, -self._gate("and", p.literal, passed))
        needed = {out} | ({passed} if passed is not None else set())
        lemma = self._lemma(roots, needed, ((1, of), (-1, out)))
        if lemma is not None:
            known = [abs(x.literal) for x in (g, p) if x is not None and abs(x.literal) != TRUE]
            self._know(lemma, known[0], known[1] if len(known) > 1 else None, needed)

    def _know(self, lemma: SumLemma, g: int, p: int | None, carries: set[int]) -> None:
        """Keep a lemma about gates and the carries that it is of."""
        lemmas = self._proofs.lemmas
        self._facts.setdefault(g, []).append((len(lemmas), p))
        self._of_fact[len(lemmas)] = carries
        lemmas.append(lemma)

    def _lemma(self, roots: set[int], needed: set[int], of: tuple[tuple[int, int], ...]) -> SumLemma | None:
        """Return the lemma of a sum, from what was proved of the gates that are read, if it holds.

        It is tried with P and G as gates that are read, with x and y in place of those of single positions, in place of
        all P, and with the P that lemmas about these G need in place of longer ones.
        """
        needed_with = {p for v in self._read(roots, 0) for _, p in self._facts.get(v, ()) if p is not None}
        for opened in range(4):
            inputs = self._read(roots, opened, needed_with)
            using, carries = [], set(needed)
            for v in inputs:
                for number, other in self._facts.get(v, ()):
                    if other is None or other in inputs:
                        using.append(number)
                        carries |= self._of_fact[number]
            lemma = SumLemma(self._with_carries(inputs, carries), tuple(using), of)
            if holds(self._proofs.made, lemma, [self._proofs.lemmas[x] for x in using]):
                return lemma
        return None

    def _read(self, roots: set[int], opened: int, needed_with: Collection[int] = ()) -> list[int]:
        """Return the variables that gates are computed from: those of spans with lemmas, of P, and of positions.

        Those of spans of one position are none of them where ``opened`` is 1, and no P where it is 2. Where it is 3, no
        longer P is but those that are ``needed_with`` a G.
        """
        pending, found = [abs(int(x)) for v in roots for x in self._made.get(v, ("", v))[1:]], dict[int, None]()
        seen = roots & self._made.keys()
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            spans = self._spans.get(v, ())
            known = v in self._facts or any(not x.generates for x in spans)
            single = any(x.first == x.last for x in spans)
            if 0 < opened < 3 and single and not any(x.first < 0 for x in spans):
                known = False
            if opened == 3 and v not in self._facts and v not in needed_with and not single:
                known = False
            if opened == 2 and not any(x.generates for x in spans):
                known = False
            if known or v in self._position or v not in self._made or v == abs(self._into):
                found[v] = None
            else:
                pending += (abs(int(x)) for x in self._made[v][1:])
        return list(found)

    def _with_carries(self, inputs: Sequence[int], needed: Iterable[int]) -> tuple[int, ...]:
        """Return inputs with the carries that are needed. Those of positions that are read are computed."""
        found = dict.fromkeys(inputs)
        computed = set[int]()
        read = {*inputs, TRUE}
        for i in {i for v in inputs for i in self._position.get(v, ())}:
            if {abs(z) for z in self._positions[i][1:]} <= read:
                computed.add(i)
        for v in inputs:  # G and P of one position are computed where its x and y are read
            if any(x.first == x.last and x.last in computed for x in self._spans.get(v, ())):
                del found[v]
        wanted = {abs(x) for x in needed} | {abs(self._carries[i]) for i in computed}
        wanted -= {abs(self._carries[i + 1]) for i in computed}
        if not self._others.isdisjoint(inputs):
            wanted = {x for x in wanted if not self._is_of(x, read)}
        return tuple(found | dict.fromkeys(sorted(wanted - {TRUE})))

    def _excluded(self, i: int, of: tuple[tuple[int, int], ...]) -> SumLemma | None:
        """Return the lemma of a sum whose gate needs no parity: what is added there and the carry exclude each other.

        Of the positions i and i - 1, what x and y are computed from is read, and the carry into the lower one.
        """
        if not i:
            return None
        lower = abs(self._carries[i - 1])
        known = {
            v for v, found in self._facts.items() if any(self._of_fact[n] == {self._carries[i - 1]} for n, _ in found)
        }
        inputs = {abs(x) for _, x in of} - {TRUE}
        while len(inputs) <= MOST_INPUTS:
            using = [n for v in sorted(inputs & known) for n, other in self._facts[v] if other is None]
            lemma = SumLemma(tuple(sorted(inputs | ({lower} - {TRUE} if using else set()))), tuple(using), of)
            if holds(self._proofs.made, lemma, [self._proofs.lemmas[x] for x in using]):
                return lemma
            last = max(inputs - known - {lower}, default=0)
            if last not in self._all:
                return None
            inputs = inputs - {last} | {abs(int(x)) for x in self._all[last][1:]} - {TRUE}
        return None

    def _is_of(self, carry: int, read: set[int]) -> bool:
        """Return whether a carry is computed from variables that are read."""
        pending, seen = [carry], set[int]()
        while pending and len(seen) < MOST_NEAR * MOST_INPUTS:
            v = pending.pop()
            if v not in read and v not in seen:
                seen.add(v)
                if v not in self._all:
                    return False
                pending += (abs(int(x)) for x in self._all[v][1:])
        return not pending

    def _adder(self, i: int) -> SumLemma | None:
        s, x, y = self._positions[i]
        into = self._carries[i]
        of = ((1, s), (2, self._carries[i + 1]), (-1, x), (-1, y), (-1, into))
        known = [n for n, other in self._facts.get(abs(s), ()) if other is None and self._of_fact[n] == {into}]
        if known and x == y == FALSE:  # the sum is the carry of a gate that was proved
            return SumLemma((abs(s), abs(into)), (known[0],), of)
        return self._lemma({abs(s)}, {into}, of) or self._proofs.near(of) or self._excluded(i, of)
