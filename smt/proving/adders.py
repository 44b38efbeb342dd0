"""How two sums are proved equal: the adders of a circuit are found by what they compute, whatever their gates are.

``AdderTrees`` finds them column by column. Those that give the bits of the result are chains, each of which
``CarryProofs`` proves as a word. Every other one is a lemma about a few gates. Sums are eliminated from the result
downwards. ``smt.solving.sums`` checks what is found here, so nothing in this file is trusted.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from pysmt.fnode import FNode

from mmaproof.smt.proving.adder_trees import AdderTrees, Cut, chains, word_of
from mmaproof.smt.proving.carries import CarryProofs
from mmaproof.smt.proving.kernel import Stated, conjuncts
from mmaproof.smt.solving.gates import TRUE
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.sums import EqualSums, SumLemma, SumProof, value_of
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity

BY_SUMS: Final = "lemmas about adders"
MOST_CUTS: Final = 8
"""sets of at most three variables that are kept for a gate, of which it is a function"""
SUM_SECONDS: Final = 30.0
"""Seconds for one lemma that two sums are equal, before solvers are asked."""
SAMPLES: Final = 1 << 11
HIGHEST_ALONE: Final = 32
"""samples in which bits of operands are zero but the highest"""
_PARITIES: Final = {2: (0x6, 0x9), 3: (0x96, 0x69)}


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


def sums_first(of_solvers: Ask) -> Ask:
    """Return a way to answer queries: by lemmas about adders where two sums of products differ, else by solvers."""

    def ask(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
        started = worked()
        try:
            prove_sums(Query.all_of(tuple(conjuncts(formula))), min(limits.seconds, SUM_SECONDS))
        except NotRefutedError:
            return of_solvers(formula, symbols, limits=limits.after(worked() - started, "lemmas about adders"))
        seconds = worked() - started
        return Reply(Outcome.UNSAT, adder_lemmas(), seconds, solver_seconds=seconds)

    return ask


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
        self._parities: dict[int, list[Cut]] = {}
        self._added: list[tuple[str | int, ...]] = []
        self._values = self._samples()
        for x, y in zip(*sums.compared, strict=True):
            if self._values[abs(x)] ^ self._values[abs(y)] != (0 if (x > 0) == (y > 0) else (1 << SAMPLES) - 1):
                raise NotRefutedError("the words differ")
        self._find_parities()

    # --- what gates compute -----------------------------------------------------------------------------------

    def _find_parities(self) -> None:
        """Find the gates that are parities of two or three variables."""
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
            self._parities[v] = [cut for cut, table in kept if table in _PARITIES.get(len(cut), ())]
            own[v] = {(v,): 0b10, **dict(kept)}

    @staticmethod
    def _of_literal(x: int, own: Mapping[int, dict[Cut, int]]) -> dict[Cut, int]:
        if abs(x) == TRUE:
            return {(): int(x > 0)}
        cuts = own[abs(x)]
        return cuts if x > 0 else {cut: ((1 << (1 << len(cut))) - 1) ^ table for cut, table in cuts.items()}

    def _samples(self) -> dict[int, int]:
        """Return the values of all variables for random operands, a bit for each.

        In a quarter of the samples most bits are like the one before, so carries pass through long words of operands.
        In two others most bits are one, so the highest sums occur.
        """
        of, every, last = random.Random(0), (1 << SAMPLES) - 1, 0
        quarter = SAMPLES // 4
        runs, dense, most = (((1 << quarter) - 1) << quarter * i for i in range(3))
        values, made = dict[int, int](), self._gates.inputs()
        for v in (v for v in range(2, self._gates.variables + 1) if v not in made):
            x, y, z, t = (of.getrandbits(SAMPLES) for _ in range(4))
            last = x & ~runs | (last ^ x & y & z) & runs | (y | z | t) & dense | (x | y | z | t) & most
            values[v] = last
        products = {k: min(c, self._sums.modulus - c) for k, c in self._sums.difference.items() if len(k) > 1}
        most = max(products.values())
        highest = [k for k, c in products.items() if c == most]
        for i in range(0, SAMPLES, SAMPLES // HIGHEST_ALONE):  # only the highest bits of some factors
            ones = {v for k in highest if of.getrandbits(1) for v in k}
            for v in values:
                values[v] = values[v] & ~(1 << i) | (v in ones) << i
        values[TRUE] = every
        for v, gate in made.items():
            values[v] = value_of(gate, values, every)
        return values

    # --- elimination ------------------------------------------------------------------------------------------

    def proof(self) -> SumProof:
        """Return lemmas and their order. Raises NotRefutedError."""
        gates = self._gates.inputs()
        values = {v: x for v, x in self._values.items() if v in self._made or v not in gates}
        known = {v for key in self._sums.difference if len(key) == 1 for v in key} | {TRUE}
        bits = next((w for w in self._sums.compared if known.issuperset(map(abs, w))), ())
        trees = AdderTrees(bits, self._parities, self._made, values, self.gate, self._sums.keep_to_time)
        carries = CarryProofs(self._sums, self._added, values)
        lemmas, proved = carries.lemmas, dict[int, SumLemma]()
        for chain, more in chains(trees.roots):
            into, word = word_of(chain, more)
            for (x, *_), lemma in zip(word, carries.prove_word(word, into), strict=True):
                proved[abs(x)] = lemma
        for v, adder in trees.adders.items():
            self._sums.keep_to_time()
            found = proved.get(v) or carries.near(adder.lemma)
            if found is None:
                raise NotRefutedError(f"literal {adder.sum} is not proved to be a sum")
            proved[v] = found
        order = list[int]()
        for v in _above(proved):
            order.append(len(lemmas))
            lemmas.append(proved[v])
        return SumProof(tuple(self._added), tuple(lemmas), tuple(order))

    def gate(self, *gate: str | int) -> int:
        """Return a gate that is added to the circuit."""
        self._added.append(gate)
        return self._sums.add_gate(gate)


def _above(lemmas: Mapping[int, SumLemma]) -> list[int]:
    """Return the variables of sums, each before those that are added to give it."""
    found, entered = list[int](), set[int]()
    for v in lemmas:
        pending = [v]
        while pending:
            x = pending.pop()
            if x < 0:
                found.append(-x)
            elif x in lemmas and x not in entered:
                entered.add(x)
                pending += [-x, *(abs(y) for w, y in lemmas[x].sum if w < 0)]
    return found[::-1]


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
