"""Proofs that two sums are equal, by small lemmas about adders. docs/bundle.md specifies them.

Both words become integer polynomials over the literals of their circuit. A lemma is a linear equation between literals.
It is decided by trying all values of a few literals, from which gates compute the others, and lemmas before it may be
used. Each elimination subtracts a multiple of a lemma. What is left after that has polynomials of gates in the place
of gates, and has to vanish modulo 2^N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from mmaproof.smt.solving.cnf import TRUE, Gates, Word, words_of
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.query import CONST, Query
from mmaproof.smt.solving.refuting import NotRefutedError

Polynomial = dict[frozenset[int], int]
"""Products of variables, each with its coefficient."""
MOST_INPUTS: Final = 16
"""literals of which all values are tried in a lemma"""
MOST_TERMS: Final = 1 << 21
"""products of literals that polynomials have in all"""
CALLS_OF_CLOCK: Final = 16
"""calls of what keeps to the time for one look at the clock, which may take a millisecond"""


@dataclass(frozen=True)
class SumLemma:
    """A linear equation: literals times their weights add up to zero.

    It is decided by all values of ``inputs``; ``using`` are the numbers of lemmas that hold of them.
    """

    inputs: tuple[int, ...]
    using: tuple[int, ...]
    sum: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SumProof:
    """Gates that are added to the circuit, lemmas, and the numbers of those that eliminate their first literal."""

    gates: tuple[tuple[str | int, ...], ...]
    lemmas: tuple[SumLemma, ...]
    order: tuple[int, ...]


class PlainGates(Gates):
    """Gates without clauses."""

    def _gate(self, key: tuple[str | int, ...], clauses: Callable[[int], list[list[int]]]) -> int:
        return super()._gate(key, lambda _: [])


class EqualSums:
    """The last truth value that a query asserts, if it says that two words differ: its circuit, and their difference.

    Raises NotRefutedError if it says something else, as all of its methods do when it has computed for ``seconds``.
    """

    def __init__(self, query: Query, seconds: float | None = None) -> None:
        self._query, self.gates, self._left = query, PlainGates(), MOST_TERMS
        self._ends, self._calls = None if seconds is None else worked() + seconds, 0
        self._integers: dict[int, tuple[Polynomial, int, int]] = {}
        *nodes, last = query.nodes
        claim = nodes[last.operands[-1]]
        equation = nodes[claim.operands[0]] if claim.operator == "not" else claim
        if claim.operator != "not" or equation.operator != "=" or not nodes[equation.operands[0]].width:
            raise NotRefutedError("no two words are said to differ")
        self.words, self.symbols = words_of(nodes, self.gates)
        self.width = nodes[equation.operands[0]].width
        self.modulus = 1 << self.width
        self.compared = [self.words[i] for i in equation.operands]
        """the literals of the two words"""
        x, y = (self._integer(i) for i in equation.operands)
        self.difference = self._reduced(_plus(x[0], y[0], -1))
        self.spare = 2 * min(high - low for _, low, high in (x, y)) < self.modulus
        """whether a word has more than half of its values never"""

    def keep_to_time(self) -> None:
        """Raise NotRefutedError if the time is over. One call in several looks at the clock."""
        self._calls += 1
        if self._ends is not None and self._calls % CALLS_OF_CLOCK == 0 and worked() > self._ends:
            raise NotRefutedError("the time is over")

    def _spend(self, amount: int) -> None:
        self.keep_to_time()
        self._left -= amount
        if self._left < 0:
            raise NotRefutedError(f"polynomials have more than {MOST_TERMS} terms")

    def _reduced(self, x: Polynomial) -> Polynomial:
        return {k: r for k, c in x.items() if (r := c % self.modulus)}

    def _times(self, x: Polynomial, y: Polynomial) -> Polynomial:
        self._spend(len(x) * len(y))
        found: Polynomial = {}
        for (p, c), (q, d) in product(x.items(), y.items()):
            key = p | q
            found[key] = found.get(key, 0) + c * d
        return {k: c for k, c in found.items() if c}

    def _integer(self, number: int) -> tuple[Polynomial, int, int]:
        """Return a polynomial that is the word of a node modulo 2^width, and bounds of its values."""
        if number not in self._integers:
            self._integers[number] = self._integer_of(number)
        return self._integers[number]

    def _integer_of(self, number: int) -> tuple[Polynomial, int, int]:  # noqa: PLR0911
        node = self._query.nodes[number]
        width = node.width
        if node.operator in ("bvadd", "bvsub", "bvmul", "bvneg"):
            parts = [self._integer(i) for i in node.operands]
            (x, a, b), (y, c, d) = parts if len(parts) == 2 else (({}, 0, 0), parts[0])
            if node.operator == "bvmul":
                ends = [a * c, a * d, b * c, b * d]
                return self._times(x, y), min(ends), max(ends)
            if node.operator == "bvadd":
                return _plus(x, y, 1), a + c, b + d
            return _plus(x, y, -1), a - d, b - c
        if node.operator == "extract" and node.indices[1] == 0:
            return self._integer(node.operands[0])
        if node.operator == "concat":
            (x, a, b), (y, c, d) = (self._integer(i) for i in node.operands)
            low = 1 << self._query.nodes[node.operands[1]].width
            if c >= 0 and d < low:
                return _plus(y, x, low), low * a + c, low * b + d
        if node.operator in ("zero_extend", "sign_extend"):
            x, a, b = self._integer(node.operands[0])
            inner = self._query.nodes[node.operands[0]].width
            least = -(1 << (inner - 1)) if node.operator == "sign_extend" else 0
            if least <= a and b < least + (1 << inner):
                return x, a, b
            bits = self._bits(self.words[node.operands[0]])
            if node.operator == "sign_extend":
                return _plus(bits, self.literal(self.words[node.operands[0]][-1]), -1 << inner), least, -least - 1
            return bits, 0, (1 << inner) - 1
        if node.operator == CONST:
            return ({frozenset(): node.value} if node.value else {}), node.value, node.value
        return self._bits(self.words[number]), 0, (1 << width) - 1

    def _bits(self, word: Word) -> Polynomial:
        self._spend(len(word))
        found: Polynomial = {}
        for i, x in enumerate(word):
            for k, c in self.literal(x).items():
                found[k] = found.get(k, 0) + (c << i)
        return {k: c for k, c in found.items() if c}

    @staticmethod
    def literal(x: int) -> Polynomial:
        """Return a literal as a polynomial."""
        one: Polynomial = {frozenset() if abs(x) == TRUE else frozenset((abs(x),)): 1}
        if x > 0:
            return one
        return {} if x == -TRUE else {frozenset(): 1, frozenset((-x,)): -1}

    def add_gate(self, gate: Sequence[str | int]) -> int:
        """Add a gate, its kind with its literals. Return its literal. Raises NotRefutedError."""
        kind, *literals = gate
        inputs = [int(x) for x in literals]
        if any(not 0 < abs(x) <= self.gates.variables for x in inputs):
            raise NotRefutedError("a gate is of literals that are none")
        if kind == "and":
            return self.gates.all_of(inputs)
        if kind == "xor" and len(inputs) == 2:
            return self.gates.xor(*inputs)
        if kind == "ite" and len(inputs) == 3:
            return self.gates.ite(*inputs)
        raise NotRefutedError(f"{kind} is not a gate")

    def check(self, proof: SumProof) -> None:
        """Raise NotRefutedError unless the proof says that the two words are equal."""
        for gate in proof.gates:
            self.add_gate(gate)
        made = self.gates.inputs()
        for number, lemma in enumerate(proof.lemmas):
            self.keep_to_time()
            if any(not 0 <= x < number for x in lemma.using):
                raise NotRefutedError("a lemma uses one that is not before it")
            if not holds(made, lemma, [proof.lemmas[x] for x in lemma.using]):
                raise NotRefutedError(f"lemma {number}, {lemma.sum}, does not hold")
        left = dict(self.difference)
        for number in proof.order:
            eliminate(left, proof.lemmas[number], self.modulus)
        if self.expanded(left, made):
            raise NotRefutedError("the difference of the sums does not vanish")

    def expanded(self, x: Polynomial, made: Mapping[int, tuple[str | int, ...]]) -> Polynomial:
        """Return a polynomial with those of gates in the place of gates."""
        known: dict[int, Polynomial] = {}
        total: Polynomial = {}
        for key, c in x.items():
            term: Polynomial = {frozenset(): c}
            for v in key:
                term = self._times(term, self._of_gate(v, made, known))
            self._spend(len(term))
            for k, d in term.items():
                total[k] = total.get(k, 0) + d
        return self._reduced(total)

    def _of_gate(
        self, variable: int, made: Mapping[int, tuple[str | int, ...]], known: dict[int, Polynomial]
    ) -> Polynomial:
        pending = [variable]
        while pending:
            v = pending[-1]
            missing = [abs(int(x)) for x in made.get(v, ())[1:] if abs(int(x)) not in known]
            if v in known or missing:
                pending.pop() if v in known else pending.extend(missing)
                continue
            kind, *inputs = made.get(v, ("", v))
            x, *others = (self._literal_of(int(i), known if v in made else {}) for i in inputs)
            for y in others[:1] if kind != "and" else others:
                if kind == "ite":  # y + c (x - y)
                    x = _plus(others[1], self._times(x, _plus(others[0], others[1], -1)), 1)
                else:
                    both = self._times(x, y)
                    x = both if kind == "and" else _plus(_plus(x, y, 1), both, -2)
            known[v] = {k: r for k, c in x.items() if (r := c % self.modulus)}
        return known[variable]

    def _literal_of(self, x: int, known: Mapping[int, Polynomial]) -> Polynomial:
        if abs(x) not in known:
            return self.literal(x)
        return known[x] if x > 0 else _plus({frozenset(): 1}, known[-x], -1)


def _plus(x: Polynomial, y: Polynomial, times: int) -> Polynomial:
    found = dict(x)
    for k, c in y.items():
        found[k] = found.get(k, 0) + times * c
    return {k: c for k, c in found.items() if c}


def eliminate(left: Polynomial, lemma: SumLemma, modulus: int) -> None:
    """Subtract the multiple of a lemma that eliminates its first literal, which has weight 1 or -1 in it."""
    (weight, first), *_ = lemma.sum
    times = left.get(frozenset((abs(first),)), 0) * (weight if first > 0 else -weight)
    for w, x in lemma.sum:
        for k, c in EqualSums.literal(x).items():
            left[k] = (left.get(k, 0) - times * w * c) % modulus
            if not left[k]:
                del left[k]


def holds(made: Mapping[int, tuple[str | int, ...]], lemma: SumLemma, used: Iterable[SumLemma]) -> bool:
    """Return whether a lemma holds for all values of its inputs for which those hold that it uses."""
    count = len(lemma.inputs)
    if count > MOST_INPUTS or len(set(map(abs, lemma.inputs))) != count:
        return False
    every = (1 << (1 << count)) - 1
    values = {abs(x): every // ((1 << (1 << i)) + 1) << (1 << i) for i, x in enumerate(lemma.inputs)}
    values[TRUE] = every
    used = list(used)
    if not _evaluate([abs(x) for y in (lemma, *used) for _, x in y.sum], made, values, every):
        return False
    rows = every
    for of in used:
        rows &= _where(of, values, every)
    return not rows & ~_where(lemma, values, every)


def _where(lemma: SumLemma, values: Mapping[int, int], every: int) -> int:
    """Return a number with a bit for each assignment for which a sum is zero."""
    of_value = {0: every}
    for w, x in lemma.sum:
        value = values[x] if x > 0 else values[-x] ^ every
        found: dict[int, int] = {}
        for total, rows in of_value.items():
            found[total + w] = found.get(total + w, 0) | rows & value
            found[total] = found.get(total, 0) | rows & ~value
        of_value = found
    return of_value.get(0, 0)


def value_of(gate: Sequence[str | int], values: Mapping[int, int], every: int) -> int:
    """Return what a gate is for several assignments, a bit of ``every`` each, from the values of its inputs."""
    kind, *inputs = gate
    x, *others = (values[i] if (i := int(y)) > 0 else values[-i] ^ every for y in inputs)
    if kind == "ite":
        return x & others[0] | (x ^ every) & others[1]
    for y in others:
        x = x & y if kind == "and" else x ^ y
    return x


def _evaluate(
    roots: Iterable[int], made: Mapping[int, tuple[str | int, ...]], values: dict[int, int], every: int
) -> bool:
    """Compute the values of variables from those that are given. Return whether that is possible."""
    pending, cone = list(roots), set[int]()
    while pending:
        v = pending.pop()
        if v in values or v in cone:
            continue
        if v not in made or len(cone) > 1 << 10:
            return False
        cone.add(v)
        pending += (abs(int(x)) for x in made[v][1:])
    for v in sorted(cone):  # the inputs of a gate have smaller numbers
        values[v] = value_of(made[v], values, every)
    return True
