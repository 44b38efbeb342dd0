"""How two sums are proved equal: the adders of a circuit are found by what they compute, whatever their gates are.

A literal that is the parity of two or three others is the sum of an adder if its carry is known: a literal with the
same inputs that is their conjunction or majority, or one that samples say is. The latter is the carry of a prefix, a
lookahead or a skip adder, and has a proof of its own (``CarryProofs``). Sums are eliminated with their carries where
the weight of the carry is twice that of the sum. ``smt.solving.sums`` checks what is found here, so nothing in this
file is trusted.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, islice, product
from typing import Final

from mmaproof.smt.proving.carries import CarryProofs, Key
from mmaproof.smt.proving.kernel import Stated
from mmaproof.smt.solving.gates import FALSE, TRUE
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.sums import EqualSums, SumLemma, SumProof, eliminate, value_of
from mmaproof.smt.solving.verdict import SolverIdentity

BY_SUMS: Final = "lemmas about adders"
MOST_CUTS: Final = 8
"""sets of at most three variables that are kept for a gate, of which it is a function"""
SAMPLES: Final = 1 << 10
MOST_ALIKE: Final = 4
"""gates with the same values on samples that are tried as the carry of one sum"""
MOST_WORDS: Final = 64
"""pairs of words that are tried as what the last adder adds"""
MOST_STEPS: Final = 50_000
"""Bits that are tried as those of a last adder, in all words together."""
_XOR3, _XOR2 = (0x96, 0x69), (0x6, 0x9)

Cut = tuple[int, ...]


def _patterns(count: int) -> list[int]:
    every = (1 << (1 << count)) - 1
    return [every // ((1 << (1 << i)) + 1) << (1 << i) for i in range(count)]


def _carries() -> dict[tuple[int, int], tuple[tuple[int, ...], int]]:
    """Return the truth tables of carries: (inputs, table) -> the signs of the inputs, and that of the carry."""
    found: dict[tuple[int, int], tuple[tuple[int, ...], int]] = {}
    for count in (2, 3):
        every = (1 << (1 << count)) - 1
        for signs in product((1, -1), repeat=count):
            x, y, *z = (p if s > 0 else p ^ every for p, s in zip(_patterns(count), signs, strict=True))
            table = x & y | (x | y) & z[0] if z else x & y
            found.setdefault((count, table), (signs, 1))
            found.setdefault((count, table ^ every), (signs, -1))
    return found


_CARRIES: Final = _carries()


@dataclass(frozen=True)
class FoundAdder:
    """sum + 2 carry is the sum of the inputs. All are literals; samples alone say so of a carry that is ``far``."""

    sum: int
    carry: int
    inputs: tuple[int, ...]
    far: bool = False

    @property
    def key(self) -> Key:
        """Its literals."""
        return self.sum, self.carry, self.inputs

    @property
    def lemma(self) -> tuple[tuple[int, int], ...]:
        """The equation of the adder."""
        return (1, self.sum), (2, self.carry), *((-1, x) for x in self.inputs)


def prove_sums(query: Query, seconds: float | None = None) -> SumProof:
    """Return the proof that the two words are equal that a query says to differ.

    Raises NotRefutedError, also when it has not found one after ``seconds`` of computing.
    """
    if not any(node.operator == "bvmul" for node in query.nodes):
        raise NotRefutedError("there are no products")
    try:
        sums = EqualSums(query, seconds)
        if all(len(x) < 2 for x in sums.difference):
            raise NotRefutedError("no products are added")
        proof = _Search(sums).proof()
        EqualSums(query).check(proof)
    except RecursionError:
        raise NotRefutedError("a sum is nested too deep") from None
    return proof


def by_sums(stated: Stated, seconds: float | None = None) -> str:
    """Refute a leaf, as a kernel asks for it. Raises NotRefutedError."""
    prove_sums(stated.query, seconds)
    return BY_SUMS


@cache
def adder_lemmas() -> SolverIdentity:
    """Return who answers, with the version of this package."""
    from importlib.metadata import version  # noqa: PLC0415

    return SolverIdentity(BY_SUMS, version("mmaproof"))


class _Search:
    def __init__(self, sums: EqualSums) -> None:
        self._sums, self._gates = sums, sums.gates
        made = sums.gates.inputs()
        added = _cone((v for key in sums.difference if len(key) == 1 for v in key), made)
        self._made = {v: made[v] for v in added}
        """the gates of what is added, without those of the products that they are compared with"""
        self._cuts: dict[int, dict[Cut, int]] = {}
        self._adders: dict[int, list[FoundAdder]] = defaultdict(list)
        self._parities: dict[int, list[tuple[Cut, int]]] = defaultdict(list)
        self._added: list[tuple[str | int, ...]] = []
        self._values = self._samples()
        for x, y in zip(*sums.compared, strict=True):
            if self._values[abs(x)] ^ self._values[abs(y)] != (0 if (x > 0) == (y > 0) else (1 << SAMPLES) - 1):
                raise NotRefutedError("the words differ")
        self._find_cuts()
        self._find_adders()

    # --- what gates compute -----------------------------------------------------------------------------------

    def _find_cuts(self) -> None:
        own: dict[int, dict[Cut, int]] = {v: {(v,): 0b10} for v in range(2, self._gates.variables + 1)}
        for v, (kind, *inputs) in self._made.items():
            parts = [self._of_literal(int(x), own) for x in inputs]
            cuts = parts[0]
            if kind == "ite":
                cuts = _joined3(*parts)
            else:
                for other in parts[1:]:
                    cuts = _joined(cuts, other, kind == "and")
            kept = sorted(cuts.items(), key=lambda x: (len(x[0]), -sum(x[0])))[:MOST_CUTS]
            self._cuts[v] = dict(kept)
            own[v] = {(v,): 0b10, **self._cuts[v]}

    @staticmethod
    def _of_literal(x: int, own: Mapping[int, dict[Cut, int]]) -> dict[Cut, int]:
        if abs(x) == TRUE:
            return {(): int(x > 0)}
        cuts = own[abs(x)]
        return cuts if x > 0 else {cut: ((1 << (1 << len(cut))) - 1) ^ table for cut, table in cuts.items()}

    def _find_adders(self) -> None:
        carries: dict[Cut, list[tuple[int, int]]] = defaultdict(list)
        for v, cuts in self._cuts.items():
            for cut, table in cuts.items():
                if table in (_XOR3 if len(cut) == 3 else _XOR2 if len(cut) == 2 else ()):
                    self._parities[v].append((cut, table))
                elif (len(cut), table) in _CARRIES:
                    carries[cut].append((v, table))
        for s, found in self._parities.items():
            for cut, table in found:
                for c, of_carry in carries[cut]:
                    self._add(self._adder(s, table, c, of_carry, cut))
        self._find_far({(cut, table) for cut, found in carries.items() for _, table in found if len(cut) == 2})

    def _find_far(self, conjunctions: set[tuple[Cut, int]]) -> None:
        """Find carries by their values on samples.

        Different signs of inputs often have the same carry on samples. Those are right whose inputs have a gate that
        says whether they generate a carry.
        """
        values, every = self._values, (1 << SAMPLES) - 1
        of_value: dict[int, list[int]] = defaultdict(list)
        for v in self._made:
            of_value[min(values[v], values[v] ^ every)].append(v)
        for s, found in self._parities.items():
            for cut, table in found:
                of_cut = []
                for signs in product((1,) if len(cut) == 3 else (1, -1), *[(1, -1)] * (len(cut) - 1)):
                    x, y, *z = (
                        values[v] if sign > 0 else values[v] ^ every for v, sign in zip(cut, signs, strict=True)
                    )
                    value = x & y | (x | y) & z[0] if z else x & y
                    literals = tuple(v * sign for v, sign in zip(cut, signs, strict=True))
                    parity = self._parity(s, table, literals)
                    near = {abs(a.carry) for a in self._adders[s] if a.sum == parity} | {*cut, s}
                    generates = any(
                        not conjunctions.isdisjoint({((abs(p), abs(q)), t) for t in _of_signs(p * r, q * r)})
                        for p, q in combinations(literals, 2)
                        for r in (1, -1)
                    )
                    for c in of_value.get(min(value, value ^ every), ())[-MOST_ALIKE:] if 0 < value < every else ():
                        if c not in near:
                            adder = FoundAdder(parity, c if values[c] == value else -c, literals, far=True)
                            of_cut.append((generates, adder))
                best = any(generates for generates, _ in of_cut) and len(cut) == 3
                for generates, adder in of_cut:
                    if generates or not best:
                        self._add(adder)

    def _samples(self) -> dict[int, int]:
        """Return the values of all variables for random operands, a bit for each.

        In half of the samples most bits are like the one before, so carries pass through long words of operands.
        """
        of, every, last = random.Random(0), (1 << SAMPLES) - 1, 0
        runs = (1 << SAMPLES // 2) - 1
        values, made = dict[int, int](), self._gates.inputs()
        for v in (v for v in range(2, self._gates.variables + 1) if v not in made):
            changes = of.getrandbits(SAMPLES) & of.getrandbits(SAMPLES) & of.getrandbits(SAMPLES)
            last = of.getrandbits(SAMPLES) & ~runs | (last ^ changes) & runs
            values[v] = last
        values[TRUE] = every
        for v, gate in made.items():
            values[v] = value_of(gate, values, every)
        return values

    @staticmethod
    def _parity(s: int, table: int, literals: Sequence[int]) -> int:
        even = sum(x < 0 for x in literals) % 2 == 0
        return s if (table in (0x96, 0x6)) == even else -s

    def _adder(self, s: int, table: int, c: int, of_carry: int, cut: Cut) -> FoundAdder:
        signs, sign = _CARRIES[len(cut), of_carry]
        literals = tuple(v * x for v, x in zip(cut, signs, strict=True))
        return FoundAdder(self._parity(s, table, literals), sign * c, literals)

    def _add(self, adder: FoundAdder) -> None:
        for v in {abs(adder.sum), abs(adder.carry)}:
            self._adders[v].append(adder)

    # --- the last adder ---------------------------------------------------------------------------------------

    def _last_adders(self) -> Iterator[list[tuple[int, int, int]]]:
        """Yield the bits of the result from some position on, each with the two that are added there.

        Samples tell them: a bit without the carry into it is the parity of two others, and with the carry of these
        so is the next one. Where no gate is this parity, any two literals with it will do. The words come first that
        begin lowest and have the fewest of such places.
        """
        values, every = self._values, (1 << SAMPLES) - 1
        of_value: dict[int, int] = {}
        gates = self._gates.inputs()
        for v in (v for v in sorted(values) if v in self._made or v not in gates):
            of_value.setdefault(min(values[v], values[v] ^ every), v)

        def value(x: int) -> int:
            return values[x] if x > 0 else values[-x] ^ every

        def literal(of: int) -> int:
            v = of_value.get(min(of, of ^ every), 0)
            return v if v and values[v] == of else -v

        known = {v for key in self._sums.difference if len(key) == 1 for v in key} | {TRUE}
        bits = next((w for w in self._sums.compared if known.issuperset(map(abs, w))), ())
        results = set(map(abs, bits))

        @cache
        def pairs(parity: int) -> list[tuple[int, int]]:
            found = ((x, literal(values[x] ^ parity)) for x in of_value.values())
            return [(x, y) for x, y in found if y and abs(y) < x and results.isdisjoint((x, abs(y)))][:MOST_ALIKE]

        def added(parity: int, carry: int, free: int) -> Iterator[tuple[int, int, int]]:
            p = literal(parity)
            for cut, _ in self._parities.get(abs(p), ()):
                if len(cut) == 2:
                    x, y = cut
                    x = x if value(x) ^ value(y) == parity else -x
                    yield from ((x, y, free), (-x, -y, free))
            if p and carry:
                yield from ((p, FALSE, free), (-p, TRUE, free))
            for x, y in pairs(parity) if free and not p else ():
                yield from ((x, y, free - 1), (-x, -y, free - 1))

        dead: set[tuple[int, int, int]] = set()
        steps = 0

        def word(i: int, carry: int, free: int) -> Iterator[list[tuple[int, int, int]]]:
            nonlocal steps
            if i == len(bits):
                yield from [] if free else [[]]
                return
            parity, ended = value(bits[i]) ^ carry, True
            if (i, carry, free) not in dead and (free or literal(parity)):
                possible = added(parity, carry, free)
                for x, y, left in possible if i + 1 < len(bits) else islice(possible, 1):
                    steps += 1
                    if steps > MOST_STEPS:
                        return
                    p, q = value(x), value(y)
                    for above in word(i + 1, p & q | (p | q) & carry, left):
                        ended = False
                        yield [(bits[i], x, y), *above]
            if ended:
                dead.add((i, carry, free))

        for cost in range(len(bits)):
            for free in range(cost + 1):
                yield from islice(word(cost - free, 0, free), MOST_ALIKE)

    # --- elimination ------------------------------------------------------------------------------------------

    def proof(self) -> SumProof:
        """Return lemmas and their order. Raises NotRefutedError."""
        carries = CarryProofs(self._sums, self._made, self._added, self._values)
        lemmas, order, left = carries.lemmas, list[int](), dict(self._sums.difference)
        for word in islice(self._last_adders(), MOST_WORDS):
            self._sums.keep_to_time()
            with suppress(NotRefutedError):
                for lemma in carries.prove_word(word):
                    order.append(len(lemmas))
                    lemmas.append(lemma)
                    eliminate(left, lemma, self._sums.modulus)
                break
        used = list(self._eliminated(left))
        results = {v for key in self._sums.difference if len(key) == 1 for v in key}
        carries.prove((x.key for x in used if x.far), (x.key for x in used), results)
        known: dict[FoundAdder, int] = {}
        for adder in used:
            if adder not in known:
                known[adder] = len(lemmas)
                if adder.far:
                    lemmas.append(carries.lemma(adder.key))
                else:
                    inputs = tuple(map(abs, adder.inputs))
                    lemmas.append(SumLemma(inputs, (), adder.lemma))
            order.append(known[adder])
        return SumProof(tuple(self._added), tuple(lemmas), tuple(order))

    def _eliminated(self, left: dict[frozenset[int], int]) -> Iterator[FoundAdder]:
        """Yield the adders whose sums are eliminated, in order."""
        modulus = self._sums.modulus
        pending = [-v for key in left if len(key) == 1 for v in key]
        heapq.heapify(pending)
        while pending:
            v = -heapq.heappop(pending)
            adder = self._fitting(v, left) if frozenset((v,)) in left else None
            if adder is None:
                continue
            yield adder
            eliminate(left, SumLemma((), (), adder.lemma), modulus)
            for x in (*adder.inputs, adder.carry, adder.sum):
                heapq.heappush(pending, -abs(x))

    def _fitting(self, v: int, left: Mapping[frozenset[int], int]) -> FoundAdder | None:
        modulus = self._sums.modulus

        def weight(x: int) -> int:
            return (left.get(frozenset((abs(x),)), 0) * (1 if x > 0 else -1)) % modulus

        for far in (False, True):
            for adder in self._adders[v]:
                w = weight(adder.sum)
                carried = weight(adder.carry)
                if adder.far is far and w and carried == 2 * w % modulus and (carried or not far):
                    return adder
        if 2 * weight(v) % modulus == 0:
            for cut, table in sorted(self._parities[v], key=lambda x: -len(x[0])):
                return FoundAdder(self._parity(v, table, cut), self._carry(cut), cut)
        return None

    def _carry(self, cut: Cut) -> int:
        """Return the carry of some variables, a gate that is added."""
        if len(cut) == 2:
            return self.gate("and", *cut)
        x, y, z = cut
        return self.gate("ite", self.gate("xor", x, y), z, x)

    def gate(self, *gate: str | int) -> int:
        """Return a gate that is added to the circuit."""
        self._added.append(gate)
        return self._sums.add_gate(gate)


def _of_signs(x: int, y: int) -> tuple[int, int]:
    """Return the truth tables of the conjunction of two literals, and of what it is not."""
    p, q = _patterns(2)
    table = (p if x > 0 else p ^ 15) & (q if y > 0 else q ^ 15)
    return table, table ^ 15


@lru_cache(maxsize=1 << 16)
def _placed(table: int, places: tuple[int, ...], count: int) -> int:
    """Return a truth table over more variables: input i of the old one is input ``places[i]`` of the new one."""
    found = 0
    for row in range(1 << count):
        old = sum((row >> p & 1) << i for i, p in enumerate(places))
        found |= (table >> old & 1) << row
    return found


def _over(table: int, cut: Cut, joined: Cut) -> int:
    return table if cut == joined else _placed(table, tuple(map(joined.index, cut)), len(joined))


def _joined(first: Mapping[Cut, int], second: Mapping[Cut, int], conjunction: bool) -> dict[Cut, int]:
    found: dict[Cut, int] = {}
    for p, x in first.items():
        for q, y in second.items():
            both = p if p == q else tuple(sorted({*p, *q}))
            if len(both) <= 3 and both not in found:
                f, g = _over(x, p, both), _over(y, q, both)
                found[both] = f & g if conjunction else f ^ g
    return found


def _joined3(condition: Mapping[Cut, int], then: Mapping[Cut, int], other: Mapping[Cut, int]) -> dict[Cut, int]:
    found: dict[Cut, int] = {}
    for p, x in condition.items():
        for q, y in then.items():
            if len({*p, *q}) > 3:
                continue
            for r, z in other.items():
                both = tuple(sorted({*p, *q, *r}))
                if len(both) <= 3 and both not in found:
                    f, g, h = _over(x, p, both), _over(y, q, both), _over(z, r, both)
                    found[both] = f & g | ~f & h & ((1 << (1 << len(both))) - 1)
    return found


def _cone(roots: Iterable[int], made: Mapping[int, tuple[str | int, ...]]) -> list[int]:
    """Return the gates from which variables are computed, each after its inputs."""
    pending, found = list(roots), set[int]()
    while pending:
        v = pending.pop()
        if v in made and v not in found:
            found.add(v)
            pending += (abs(int(x)) for x in made[v][1:])
    return sorted(found)
