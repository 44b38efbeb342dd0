"""How two sums are proved equal: the adders of a circuit are found by what they compute, whatever their gates are.

``AdderTrees`` finds them column by column. Those that give the bits of the result are chains, each of which
``CarryProofs`` proves as a word. Every other one is a lemma about a few gates. Sums are eliminated from the result
downwards. ``smt.solving.sums`` checks what is found here, so nothing in this file is trusted.

The adders of a circuit, column by column from the lowest bit of the result, whatever their gates are.

A bit of the result is the parity of what its column adds up: products, and the carries of the column below. Values on
samples tell what a literal is. Two or three literals with a parity are an adder if the next column reads their carry,
itself or within a parity. A carry that has no gate is added to the circuit. So what synthesis left of an adder need not
be one gate for its sum and one for its carry, and mutually exclusive bits may be joined by any gate.

Where a result is wider than its sum, literals are alike for all operands that differ for other products and carries. So
there is a second way to look for adders. Carries that a few gates compute are any bits on samples from the next column
on, as if nothing computed them, and two carries that the next column adds up are not taken for one.
"""

from __future__ import annotations

import math
import random
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations, product
from typing import Final

from pysmt.fnode import FNode

from mmaproof.smt.proving.carries import CarryProofs
from mmaproof.smt.proving.kernel import Stated, conjuncts
from mmaproof.smt.proving.operand_samples import SAMPLES, sampled
from mmaproof.smt.solving.cnf import FALSE, TRUE
from mmaproof.smt.solving.limits import Limits, Until, worked
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.sums import EqualSums, SumLemma, SumProof, value_of
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity

Cut = tuple[int, ...]
MOST_GATES: Final = 24
"""gates from which a carry is computed that counts as near"""
LOWEST: Final = (1 << 60) - 1
"""values on the first samples, which are compared first: Python computes on them faster than on all"""


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
        return abs(lower.carry) != TRUE and lower.carry in self.inputs and len(self.inputs) > 1


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
    plain: bool
    """whether the carry is not the sum of two, which the next column adds up"""
    turned: tuple[int, ...]
    """carries of the column below that a one is added to: they are inverted, and carried as they are"""

    @property
    def rank(self) -> tuple[int, ...]:
        return self.read, self.plain, -len(self.turned), self.carried, len(self.adder.inputs), self.near


class AdderTrees:
    """The adders of all columns. ``roots`` give bits of the results; ``adders`` has all, by their sums."""

    def __init__(
        self,
        columns: Sequence[Sequence[int]],
        parities: Mapping[int, Sequence[Cut]],
        made: Mapping[int, tuple[str | int, ...]],
        values: dict[int, int],
        gate: Callable[..., int],
        keep_to_time: Callable[[], None],
        wide: bool,
    ) -> None:
        self._wide = wide
        """whether carries are set free, and not joined where the circuit adds them up"""
        self._columns, self._parities, self._made, self._values, self._gate = columns, parities, made, values, gate
        self._every = values[TRUE]
        self._alike: dict[int, list[int]] = {}
        self._lowest = set[int]()
        """the lowest values of literals, and more: what is not among them is not in ``_alike``"""
        for v in sorted(values):
            self._listed(values[v]).append(v)
        self._readers: dict[int, list[int]] = {}
        for v, (_, *inputs) in made.items():
            for y in inputs:
                self._readers.setdefault(abs(int(y)), []).append(v)
        self._halves = {
            frozenset(abs(int(x)) for x in inputs)
            for kind, *inputs in made.values()
            if kind == "and" and len(inputs) == 2 and max(map(int, inputs)) > 0
        }
        """pairs of which both may be ones, as the circuit has it"""
        self._free = set[int]()
        self._carries: dict[int, int] = {}
        self.adders: dict[int, FoundAdder] = {}
        self.roots: list[list[FoundAdder]] = []
        for i, roots in enumerate(columns):
            keep_to_time()
            self._add_up(i, roots)

    # --- values -----------------------------------------------------------------------------------------------

    def _set_free(self, carries: Iterable[int]) -> None:
        """Let variables have any values on samples, and gates those that follow from these."""
        changed = set[int]()
        for v in set(carries) - self._free:
            self._free.add(v)
            self._put(v, random.Random(v).getrandbits(self._every.bit_length()))
            changed.update(self._readers.get(v, ()))
        pending = list(changed)
        heapify(pending)
        while pending:
            v = heappop(pending)  # the inputs of a gate have smaller numbers
            changed.discard(v)
            value = value_of(self._made[v], self._values, self._every)
            if v not in self._free and value != self._values[v]:
                self._put(v, value)
                for reader in self._readers.get(v, ()):
                    if reader not in changed:
                        changed.add(reader)
                        heappush(pending, reader)

    def _put(self, v: int, value: int) -> None:
        self._alike[self._key(self._values[v])].remove(v)
        self._values[v] = value
        insort(self._listed(value), v)

    def _listed(self, value: int) -> list[int]:
        """Return the variables that have these values, or the inverted ones."""
        self._lowest |= {value & LOWEST, ~value & LOWEST}
        return self._alike.setdefault(self._key(value), [])

    def _key(self, value: int) -> int:
        return min(value, value ^ self._every)

    def _value(self, x: int) -> int:
        return self._values[x] if x > 0 else self._values[-x] ^ self._every

    def _literal(self, value: int) -> int:
        """Return the first literal that has these values, 0 if there is none."""
        v = (self._alike.get(self._key(value)) or (0,))[0]
        return v if v and self._values[v] == value else -v

    def _within(self, roots: Iterable[int]) -> dict[int, int]:
        """Return what parities are of, at any depth, by values: of variables that are alike the one computed first."""
        found, pending, seen = dict[int, int](), list(map(abs, roots)), set[int]()
        while pending:
            x = pending.pop()
            if x not in seen:
                seen.add(x)
                key = self._key(self._values[x])
                found[key] = min(x, found.get(key, x))
                pending += (y for cut in self._parities.get(x, ()) for y in cut)
        return found

    # --- columns ----------------------------------------------------------------------------------------------

    def _add_up(self, i: int, roots: Sequence[int]) -> None:
        """Find the adders of a column, and what they carry into the next one."""
        below, self._carries = {self._key(self._value(c)): c for c in self._carries.values()}, {}
        following = self._within(self._columns[i + 1]) if i + 1 < len(self._columns) else {}
        pending, near = list(roots), list[int]()
        while pending:
            x = pending.pop()
            carried = below.get(self._key(self._value(x)), 0)
            if carried and x in roots and self._value(x) != self._value(carried):  # a one is added, and the carry stays
                self.adders[abs(x)] = FoundAdder(x, carried, (carried, TRUE))
                self._carries[self._key(self._value(carried))] = carried
            elif carried and x in roots and abs(x) != abs(carried):
                self.adders[abs(x)] = FoundAdder(x, FALSE, (carried,))
            if carried or abs(x) == TRUE or abs(x) in self.adders:
                continue
            best = self._best(x, below, following)
            if best is not None:
                self.adders[abs(x)] = adder = replace(best.adder, carry=self._carry(best, following))
                if abs(adder.carry) != TRUE:
                    self._carries[self._key(best.value)] = adder.carry
                self._carries |= {self._key(self._value(c)): c for c in best.turned}
                if best.near > 1 and x not in roots and abs(adder.carry) in self._made:
                    near.append(abs(adder.carry))
                pending += adder.inputs
        self.roots.append([self.adders[abs(x)] for x in roots if abs(x) in self.adders])
        if self._wide:
            self._set_free(near)

    def _carry(self, of: _Candidate, following: Mapping[int, int]) -> int:
        """Return the literal of a carry: what the next column reads, else any, else a gate that is added."""
        v = following.get(self._key(of.value), 0)
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
            self._listed(value).append(abs(x))
        return x

    def _best(self, x: int, below: Mapping[int, int], following: Mapping[int, int]) -> _Candidate | None:
        """Return the adder whose sum a literal is. It is None for a literal that no adder gives."""
        found = [y for cut in self._cuts(x, below) for y in self._candidates(x, cut, below, following)]
        found.sort(key=lambda y: y.rank, reverse=True)
        best = found[0] if found else None
        if best is not None and following and best.read < 2:
            within = (replace(y, read=1) for y in found if not y.read and self._is_within(y.value, following))
            best = next(within, best)
        if best is None or not following or best.read > 0 or best.carried:
            return best
        inner = self._within([x])
        return best if any(key in inner for key in below) else None

    def _is_within(self, carry: int, following: Mapping[int, int]) -> bool:
        """Return whether the parity of a carry and of a variable has the values of some variable."""
        lowest = carry & LOWEST
        return any(
            (x := self._values[u]) & LOWEST ^ lowest in self._lowest and self._key(carry ^ x) in self._alike
            for u in following.values()
        )

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
        for literals in product(*((c, -c) if c else (v, -v) for v, c in zip(cut, known, strict=True))):
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
            of_carry = self._parities.get(following[key], ()) if read > 1 and (r or one) else ()
            plain = not self._wide or all(frozenset(pair) not in self._halves for pair in of_carry)
            turned = tuple(c for y, c in zip(literals, known, strict=True) if c and y == -c)
            yield _Candidate(adder, carry, read, sum(map(bool, known)), near, plain, turned)

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


def chains(columns: Iterable[Sequence[FoundAdder]]) -> Iterator[tuple[list[FoundAdder], bool]]:
    """Yield the adders of results that pass carries on, the lowest first, and whether a column is above them."""
    going: list[list[FoundAdder]] = []
    for roots in columns:
        left, kept = list(roots), list[list[FoundAdder]]()
        for chain in going:
            after = next((x for x in left if x.after(chain[-1])), None)
            if after is not None:
                left.remove(after)
                kept.append([*chain, after])
            elif len(chain) > 1:
                yield chain, True
        going = kept + [[x] for x in left]
    yield from ((chain, False) for chain in going if len(chain) > 1)


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


BY_SUMS: Final = "lemmas about adders"
MOST_CUTS: Final = 8
"""sets of at most three variables that are kept for a gate, of which it is a function"""
SUM_SECONDS: Final = 30.0
"""Seconds for one lemma that two sums are equal, before solvers are asked."""
_PARITIES: Final = {2: (0x6, 0x9), 3: (0x96, 0x69)}


def prove_sums(query: Query, seconds: float | None = None) -> SumProof:
    """Return the proof that the two words are equal that a query says to differ.

    Raises NotRefutedError, also when it has not found one after ``seconds`` of computing.
    """
    if not any(node.operator == "bvmul" for node in query.nodes):
        raise NotRefutedError("there are no products")
    until = Until.after(math.inf if seconds is None else seconds)
    try:
        sums = EqualSums(query, seconds)
        if all(len(x) < 2 for x in sums.difference):
            raise NotRefutedError("no products are added")
        search = _Search(sums)  # words that differ on samples are not looked at in another way
        try:
            return _found(query, search, wide=sums.spare)
        except NotRefutedError:
            return _found(query, _Search(EqualSums(query, until.left)), wide=not sums.spare)
    except RecursionError:
        raise NotRefutedError("a sum is nested too deep") from None


def _found(query: Query, search: _Search, wide: bool) -> SumProof:
    proof = search.proof(wide)
    EqualSums(query).check(proof)
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
        """Return the values of all variables on samples of operands, a bit for each."""
        made = self._gates.inputs()
        products = {k: min(c, self._sums.modulus - c) for k, c in self._sums.difference.items() if len(k) > 1}
        most = max(products.values())
        operands = [v for v in range(2, self._gates.variables + 1) if v not in made]
        return sampled(operands, made, [k for k, c in products.items() if c == most], self._made)

    # --- elimination ------------------------------------------------------------------------------------------

    def proof(self, wide: bool) -> SumProof:
        """Return lemmas and their order, with adders found in the one way or the other. Raises NotRefutedError."""
        gates = self._gates.inputs()
        values = {v: x for v, x in self._values.items() if v in self._made or v not in gates}
        columns, keep_to_time = self._columns(), self._sums.keep_to_time
        trees = AdderTrees(columns, self._parities, self._made, values, self.gate, keep_to_time, wide)
        carries = CarryProofs(self._sums, self._added, values)
        lemmas, proved = carries.lemmas, dict[int, SumLemma]()
        for chain, more in chains(trees.roots):
            into, word = word_of(chain, more)
            for (x, *_), lemma in zip(word, carries.prove_word(word, into), strict=True):
                if all(abs(y) != abs(x) for _, y in lemma.sum[1:]):  # else it is the carry of another chain
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

    def _columns(self) -> list[list[int]]:
        """Return what is added for each bit: that bit of the result, or bits of all words of which it is the sum."""
        known = {v: c for key, c in self._sums.difference.items() if len(key) == 1 for v in key}
        for word in self._sums.compared:
            if known.keys() | {TRUE} >= set(map(abs, word)):
                return [[x] for x in word]
        found: list[list[int]] = [[] for _ in range(self._sums.width)]
        for v, c in known.items():
            if v in self._made:
                found[(c & -c).bit_length() - 1].append(v if 2 * c < self._sums.modulus else -v)
        return found

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
