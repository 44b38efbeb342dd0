"""Proofs that a carry is one, whatever the adder: prefix, lookahead, skip, select and ripple adders.

A chain of adders has inputs x and y at each position. With samples of these, gates are told by what they compute: G
of positions i to k is the carry out of them, P says that they pass one on. With C for the carries of a ripple adder,
gates that are added, the lemma of each pair is that C of i + 1 is ``G or (P and C of k)``. It follows from the same of
the pairs from which G and P are computed, so it is a lemma of a few bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mmaproof.smt.solving.gates import FALSE, TRUE
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.sums import MOST_INPUTS, EqualSums, SumLemma, holds

Made = Mapping[int, tuple[str | int, ...]]
Key = tuple[int, int, tuple[int, ...]]
"""the literals of a sum, of its carry and of what is added"""
RANDOM_SAMPLES: Final = 512
MOST_SPANS: Final = 6
"""spans of which one gate is taken for the generated carry, beside the longest one"""


@dataclass(frozen=True)
class _Span:
    """A literal that carries G (``generates``) or P of the positions from ``last`` down to ``first``."""

    generates: bool
    last: int
    first: int
    literal: int


@dataclass(frozen=True)
class _Position:
    key: Key
    x: int
    y: int
    carry: int
    """the literal of the carry out of this position, as the adder above takes it"""


class CarryProofs:
    """The lemmas about carries, and the gates that these need. The lemmas are those of a whole proof."""

    def __init__(self, sums: EqualSums, made: Made, added: list[tuple[str | int, ...]]) -> None:
        self._sums, self._made, self._added = sums, made, added
        self.lemmas: list[SumLemma] = []
        self._of_key: dict[Key, SumLemma] = {}
        self._of_carry: dict[int, Key] = {}
        self._first: list[Key] = []

    def lemma(self, key: Key) -> SumLemma:
        """Return the lemma of an adder whose carry was proved. Raises NotRefutedError."""
        if key not in self._of_key:
            raise NotRefutedError(f"literal {key[1]} is not proved to be a carry")
        return self._of_key[key]

    def prove(self, far: Iterable[Key], used: Iterable[Key], results: Container[int]) -> None:
        """Prove the carries of adders in chains of those that are used. Raises NotRefutedError.

        ``results`` are the variables of the sums that the last adder gives.
        """
        far = list(dict.fromkeys(far))
        self._of_carry = {abs(x[1]): x for x in used}
        self._first = [*far, *(x for x in self._of_carry.values() if abs(x[0]) in results)]
        below = {x: self._of_carry.get(abs(self._carry_in(x))) for x in far}
        lower = set(below.values())
        for top in far:
            if top not in lower:
                self._chain(top)

    def _carry_in(self, key: Key) -> int:
        """Return the input that is carried into an adder, 0 where none is told from the others.

        Of three inputs it is the one that the gate of the sum reads by itself, of two the carry of another adder.
        """
        s, _, inputs = key
        if len(inputs) == 3:
            _, *read = self._made[abs(s)]
            alone = [x for x in inputs if abs(x) in {abs(int(y)) for y in read}]
        else:
            alone = [x for x in inputs if self._of_carry.get(abs(x)) in self._first]
        return alone[0] if len(alone) == 1 else 0

    def _gate(self, *gate: str | int) -> int:
        self._added.append(gate)
        return self._sums.add_gate(gate)

    # --- a chain ----------------------------------------------------------------------------------------------

    def _chain(self, top: Key) -> None:
        chain = [top]
        while (lower := self._of_carry.get(abs(self._carry_in(chain[-1])))) is not None and lower not in chain:
            chain.append(lower)
        positions = list[_Position]()
        for key in reversed(chain):
            _, out, inputs = key
            into = self._carry_in(key)
            x, y = (*(z for z in inputs if z != into), FALSE)[:2]
            below = positions[-1].carry if positions else into
            sign = 1 if into in (0, below) else -1
            positions.append(_Position(key, sign * x, sign * y, sign * out))
        first = self._carry_in(chain[-1])
        _Chain(self, self._sums, self._gate, positions, first or FALSE, self._of_key).prove()

    @property
    def made(self) -> Mapping[int, tuple[str | int, ...]]:
        """The gates, with those that were added."""
        return self._sums.gates.inputs()


class _Chain:
    """One chain of adders: positions from the lowest, and what is carried into it."""

    def __init__(
        self,
        proofs: CarryProofs,
        sums: EqualSums,
        gate: Callable[..., int],
        positions: Sequence[_Position],
        into: int,
        of_key: dict[Key, SumLemma],
    ) -> None:
        self._proofs, self._made, self._gate = proofs, dict(sums.gates.inputs()), gate
        self._positions, self._into, self._of_key = positions, into, of_key
        self._carries = [into]
        for p in positions:
            self._carries.append(gate("ite", gate("xor", p.x, p.y), self._carries[-1], p.x))
        self._all = dict(sums.gates.inputs())
        self._position: dict[int, list[int]] = {}
        for i, p in enumerate(positions):
            for z in {abs(p.x), abs(p.y)} - {TRUE}:
                self._position.setdefault(z, []).append(i)
        self._spans: dict[int, list[_Span]] = {}
        self._others = set[int]()
        """what carries read beside the positions"""
        self._facts: dict[int, list[tuple[int, int | None]]] = {}
        """of a variable that carries G: the number of a lemma about it, and the variable of P"""
        self._of_fact: dict[int, set[int]] = {}
        """the carries that a lemma is about"""

    def prove(self) -> None:
        cone = self._cone()
        self._find(cone)
        pairs: dict[tuple[int, int], list[_Span]] = {}
        for x in (x for found in self._spans.values() for x in found if not x.generates):
            pairs.setdefault((x.last, x.first), []).append(x)
        for v in cone:
            of = [x for x in self._spans.get(v, ()) if x.generates]
            for x in of[:1] + of[1:][-MOST_SPANS:]:
                for p in [None] if x.first < 0 else pairs.get((x.last, x.first), ()):
                    self._pair(x, p)
        for i, position in enumerate(self._positions):
            self._adder(i, position)

    def _cone(self) -> list[int]:
        """Return the gates between the positions and the carries, each after its inputs."""
        pending, found = [abs(p.carry) for p in self._positions], set[int]()
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
        for p, a, b in zip(self._positions, x, y, strict=True):
            for z, value in ((p.x, a), (p.y, b)):
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
        for i, p in enumerate(self._positions):  # one variable may be in several positions
            for z, column in ((p.x, x), (p.y, y)):
                bits = of.integers(0, 2, rows, dtype=np.uint8)
                bits = np.where(firsts - 1 == i, carried, bits)
                if z == p.y:
                    bits = np.where((firsts <= i) & (i <= lasts), 1 - x[:, i], bits)
                known.setdefault(abs(z), bits if z > 0 else 1 - bits)
                column[:, i] = known[abs(z)] if z > 0 else 1 - known[abs(z)]

        def packed(column: Any) -> int:
            return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")

        return rows, [packed(x[:, i]) for i in range(count)], [packed(y[:, i]) for i in range(count)], packed(into)

    # --- lemmas -----------------------------------------------------------------------------------------------

    def _pair(self, g: _Span, p: _Span | None) -> None:
        """Prove that G, with P and the carry into the span, is the carry out of it, from the same of smaller spans."""
        out, passed = self._carries[g.last + 1], None if p is None else self._carries[g.first]
        roots = {abs(g.literal)} | ({abs(p.literal)} if p is not None else set())
        inputs = self._read(roots)
        of = g.literal if p is None else -self._gate("and", -g.literal, -self._gate("and", p.literal, passed))
        needed = {out} | ({passed} if passed is not None else set())
        using = []
        for v in inputs:
            for number, other in self._facts.get(v, ()):
                if other is None or other in inputs:
                    using.append(number)
                    needed |= self._of_fact[number]
        lemma = SumLemma(self._with_carries(inputs, needed), tuple(using), ((1, of), (-1, out)))
        held = self._hold(lemma)
        if held is not None:
            self._facts.setdefault(abs(g.literal), []).append((held, None if p is None else abs(p.literal)))
            self._of_fact[held] = {out} if passed is None else {out, passed}

    def _hold(self, lemma: SumLemma) -> int | None:
        """Add a lemma if it holds. Return its number."""
        lemmas = self._proofs.lemmas
        made = self._proofs.made
        if len(lemma.inputs) > MOST_INPUTS or not holds(made, lemma, [lemmas[x] for x in lemma.using]):
            return None
        lemmas.append(lemma)
        return len(lemmas) - 1

    def _read(self, roots: Iterable[int]) -> list[int]:
        """Return the variables that gates are computed from: those of spans with lemmas, of P, and of positions."""
        pending, found = [abs(int(x)) for v in roots for x in self._made[v][1:]], dict[int, None]()
        seen = set(roots)
        while pending:
            v = pending.pop()
            if v in seen:
                continue
            seen.add(v)
            known = v in self._facts or any(not x.generates for x in self._spans.get(v, ()))
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
            if {abs(self._positions[i].x), abs(self._positions[i].y)} <= read:
                computed.add(i)
        for v in inputs:  # G and P of one position are computed where its x and y are read
            if any(x.first == x.last and x.last in computed for x in self._spans.get(v, ())):
                del found[v]
        wanted = {abs(x) for x in needed} | {abs(self._carries[i]) for i in computed}
        wanted -= {abs(self._carries[i + 1]) for i in computed}
        return tuple(found | dict.fromkeys(sorted(wanted - {TRUE})))

    def _adder(self, i: int, p: _Position) -> None:
        s, out, added = p.key
        into = self._carries[i]
        below = self._positions[i - 1].carry if i else self._into
        inputs = dict.fromkeys(abs(x) for x in (p.x, p.y, p.carry, into, below) if abs(x) != TRUE)
        using = [n for v in (abs(p.carry), abs(below)) for n, other in self._facts.get(v, ()) if other is None]
        lemma = SumLemma(tuple(inputs), tuple(using), ((1, s), (2, out), *((-1, x) for x in added)))
        if holds(self._proofs.made, lemma, [self._proofs.lemmas[x] for x in using]):
            self._of_key[p.key] = lemma
