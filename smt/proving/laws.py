"""Proofs by laws: two results are equal because sums, maxima and products do not depend on the order of operands.

``LawfulTerms`` builds terms with the operands of every commutative (and associative) operation in a canonical order. It
notes which laws it used, and at which widths. If two results become the same term, they are equal if the laws hold, and
the claim that they are equal becomes the constant true. The laws are lemmas about three words, whatever the number of
products.

Two facts are trusted besides the lemmas. A sum, maximum, conjunction or disjunction of n operands may be written in any
order if its binary operation is associative and commutative. Equal terms may replace each other.

Small lemmas that a composition uses: each is refuted before it is used, and used with terms in place of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, assert_never

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.composer import Maxima, Sums
from mmaproof.smt.proving.journal import Place, Recording
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.proving.walk import bottom_up, substituted
from mmaproof.smt.solving.query import indices_of, width_of


class Operation(StrEnum):
    """The operations whose operands may be reordered, and what else is proved of some of them."""

    MAXIMUM = "maximum"
    EXTENDED_MAXIMUM = "extended maximum"
    TRANSLATED_MAXIMUM = "translated maximum"
    LATTICE = "maximum and minimum"
    EXCHANGE = "exchange"
    SUM = "sum"
    CARRY_SAVE_SUM = "carry-save sum"
    LINEAR = "linear combination"
    RESIZED_SUM = "resized sum"
    BOUNDED_SUM = "bounded sum"
    PRODUCT = "product"
    JUNCTION = "junction"


@dataclass(frozen=True, order=True)
class Law:
    """A law that was used: its operation, and the width and signedness of its words."""

    operation: Operation
    width: int
    signed: bool = False
    wider: int = 0
    """the width to which a maximum or a sum is extended, for the laws about that"""


_Place = tuple[tuple[Any, ...], bytes, bytes]
"""The first symbol of a term (name and number), a digest of its form without names, and a digest of the whole term."""


class LawfulTerms(TermAlgebra):
    """Terms whose operands are in canonical order wherever the order does not matter. ``used`` holds the laws used."""

    def __init__(self, environment: Environment | None = None) -> None:
        super().__init__(environment)
        self.used: set[Law] = set()
        self.recording = Recording()
        self._places: dict[FNode, _Place] = {}

    def _in_order(self, xs: Iterable[FNode]) -> list[FNode]:
        """Return terms in an order that depends only on the terms. It is the same in every process."""
        return sorted(xs, key=self._place)

    def _place(self, term: FNode) -> _Place:
        return bottom_up(term, self._places, _place_of)

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the largest of one or more words in the widest one's width.

        Each word is taken once, and they are in canonical order.
        """
        with self.recording.place() as noted:
            found = self._largest(words)
        if noted:
            terms = tuple(self.extend(w, found.width).data for w in words)
            taken = tuple(self._in_order(self._words_of(found, terms)))
            self.recording.entries.append(Place("maximum", terms, found.data, found.data, found.signed, taken))
        return found

    def _words_of(self, maximum: Word[FNode], terms: Sequence[FNode]) -> set[FNode]:
        """Return the words that a maximum is of, each once."""
        return set(terms)

    def _largest(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        width, signed = max(w.width for w in words), words[0].signed
        for word in words:
            if word.width < width:
                self.used.add(Law(Operation.EXTENDED_MAXIMUM, word.width, signed, width))
        distinct = self._in_order({self.extend(w, width).data for w in words})
        if len(words) > 1:
            self.used.add(Law(Operation.MAXIMUM, width, signed))
        largest = distinct[0]
        for x in distinct[1:]:
            largest = self._maximum(largest, x, signed)
        return Word(largest, width, signed, self)

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        self.used.add(Law(Operation.SUM, width))
        pairs = sorted(zip(xs, widths, strict=True), key=lambda pair: self._place(pair[0]))
        return super()._add_up([x for x, _ in pairs], [w for _, w in pairs], width, wraps)

    def compressed_sum(self, words: Sequence[Word[FNode]], width: int) -> Word[FNode]:
        """Return the sum without compressors. The law used is that a compressor keeps the sum of its words."""
        self.used.add(Law(Operation.CARRY_SAVE_SUM, width))
        with self.recording.place() as noted:
            found = self.modular_sum(words, width)
        if noted:
            self._note_sum("compressed sum", words, width, found)
        return found

    def _sum(self, words: Sequence[Word[FNode]], width: int, wraps: bool) -> Word[FNode]:
        with self.recording.place() as noted:
            found = super()._sum(words, width, wraps)
        if noted:
            self._note_sum("sum", words, width, found)
        return found

    def _note_sum(self, kind: str, words: Sequence[Word[FNode]], width: int, found: Word[FNode]) -> None:
        taken = self.in_one_width(sorted(words, key=lambda w: self._place(w.data)), width)
        place = Place(kind, self.in_one_width(words, width), found.data, found.data, taken=taken)
        self.recording.entries.append(place)

    def maximum_in_turn(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the maximum in canonical order."""
        return self.maximum(words)

    def _and(self, xs: list[FNode]) -> FNode:
        self.used.add(Law(Operation.JUNCTION, 1))
        return super()._and(self._in_order(set(xs)))

    def _or(self, xs: list[FNode]) -> FNode:
        self.used.add(Law(Operation.JUNCTION, 1))
        return super()._or(self._in_order(set(xs)))

    def _xor(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law(Operation.JUNCTION, 1))
        return super()._xor(*self._in_order([x, y]))

    def _add(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law(Operation.SUM, x.bv_width()))
        return super()._add(*self._in_order([x, y]))

    def _multiply(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law(Operation.PRODUCT, x.bv_width()))
        return super()._multiply(*self._in_order([x, y]))

    def _equal(self, x: FNode, y: FNode) -> FNode:
        return self._truth(True) if x is y else super()._equal(*self._in_order([x, y]))


def _place_of(node: FNode, operands: Sequence[_Place]) -> _Place:
    if node.is_symbol():
        # numbers are compared as numbers, so that a10 comes after a9
        name = tuple(int(x) if x.isdigit() else x for x in re.split(r"(\d+)", node.symbol_name()))
        return name, b"symbol", repr(name).encode()
    content = node.constant_value() if node.is_constant() else tuple(indices_of(node))
    own = repr((node.node_type(), content)).encode()
    form = blake2b(own + b"".join(x for _, x, _ in operands), digest_size=16).digest()
    whole = blake2b(own + b"".join(x for _, _, x in operands), digest_size=16).digest()
    return min((first for first, _, _ in operands), default=()), form, whole


class _OfLaw(Lemma):
    """A law as a lemma about words x, y and z."""

    def __init__(self, law: Law) -> None:
        self.law = law
        width = f"{law.width} bits" + (f" extended to {law.wider}" if law.wider else "")
        words = f"{'signed' if law.signed else 'unsigned'} words of {width}"
        what = {
            Operation.BOUNDED_SUM: "bounds of two words add up to bounds of their sum",
            Operation.CARRY_SAVE_SUM: "a compressor of three words keeps their sum",
            Operation.TRANSLATED_MAXIMUM: "the larger of two sums with one word in common",
            Operation.LATTICE: "they form a distributive lattice",
            Operation.EXCHANGE: "the sum of two words is that of the same words exchanged",
            Operation.LINEAR: "sums, negatives and doubles in any order",
            Operation.RESIZED_SUM: "cut off, extended and moved up, a sum is that of its words",
        }
        self.name = f"{law.operation} of {words}: {what.get(law.operation, 'any order')}"
        names = "xyzuvw" if law.operation is Operation.BOUNDED_SUM else "xyz"
        size = law.wider if law.operation is Operation.RESIZED_SUM else law.width
        self.inputs = tuple(Input(n, size, law.signed) for n in names)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the operation is commutative, and also associative or idempotent if that is used."""
        return algebra.all_of(self.claims(algebra, words))

    def claims(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> list[Truth[T]]:
        """Return the claims that the law consists of."""
        x, y, z = (words[n] for n in ("x", "y", "z"))
        match self.law.operation:
            case Operation.MAXIMUM:
                claims = _maximum(algebra, x, y, z)
            case Operation.EXTENDED_MAXIMUM:
                claims = _extended_maximum(algebra, self.law.wider, x, y)
            case Operation.TRANSLATED_MAXIMUM:
                claims = [algebra.maximum([x + z, y + z]) == algebra.maximum([x, y]) + z]
            case Operation.LATTICE:
                claims = _lattice(algebra, x, y, z)
            case Operation.EXCHANGE:
                claims = [_exchange(algebra, x, y, z)]
            case Operation.SUM:
                claims = _sum(algebra, self.law.width, x, y, z)
            case Operation.LINEAR | Operation.RESIZED_SUM:
                resized = self.law.operation is Operation.RESIZED_SUM
                claims = _resized_sum(algebra, self.law.width, x, y) if resized else _linear(algebra, x, y, z)
            case Operation.CARRY_SAVE_SUM:
                claims = [_compressor(algebra, self.law.width, x, y, z)]
            case Operation.BOUNDED_SUM:
                claims = _bounded_sum(algebra, self.law.width, list(words.values()))
            case Operation.PRODUCT:
                claims = [x * y == y * x]
            case Operation.JUNCTION:
                claims = _junction(algebra, x, y, z)
            case _:
                assert_never(self.law.operation)
        return claims


class _ClaimOfLaw(_OfLaw):
    """One claim of a law as a lemma."""

    def __init__(self, law: Law, number: int) -> None:
        super().__init__(law)
        self.name += f", claim {number + 1}"
        self._number = number

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return this claim."""
        return self.claims(algebra, words)[self._number]


def _maximum(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    top = algebra.maximum
    return [
        top([x, y]) == top([y, x]),
        top([top([x, y]), z]) == top([x, top([y, z])]),
        top([x, x]) == x,
        *(top([x, y]) >= w for w in (x, y)),
    ]


def _extended_maximum(algebra: Algebra[D, T], wider: int, x: Word[D], y: Word[D]) -> list[Truth[T]]:
    wide = [w.extend(wider) for w in (x, y)]
    return [algebra.maximum([x, y]).extend(wider) == algebra.maximum(wide)]


def _lattice(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    """Return whether maximum and minimum obey the axioms of a distributive lattice, and its order is that of words."""
    top = algebra.maximum

    def bottom(words: Sequence[Word[D]]) -> Word[D]:
        p, q = words
        return ite(p < q, p, q)

    claims = [top([x, y]) >= x, x >= bottom([x, y])]
    for join, meet in ((top, bottom), (bottom, top)):
        claims += [
            join([x, x]) == x,
            join([x, y]) == join([y, x]),
            join([join([x, y]), z]) == join([x, join([y, z])]),
            join([x, meet([x, y])]) == x,
            join([x, meet([y, z])]) == meet([join([x, y]), join([x, z])]),
        ]
    return claims


def _exchange(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> Truth[T]:
    """Return whether two words, exchanged where a condition holds, have the same sum."""
    condition = z.is_value(1)
    exchanged = algebra.wrapped_sum(ite(condition, y, x), ite(condition, x, y))
    return exchanged == algebra.wrapped_sum(x, y)


def _sum(algebra: Algebra[D, T], width: int, x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    signed = [algebra.twos_complement(w) for w in (x, y, z)]

    def add(*some: Word[D]) -> Word[D]:
        return algebra.modular_sum(some, width)

    a, b, c = signed
    return [add(a, b) == add(b, a), add(add(a, b), c) == add(a, add(b, c))]


def _linear(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    """Return whether sums modulo a power of two may be taken apart and put together as sums of integers are.

    Multiples by constants are doubles and sums.
    """
    add, minus = algebra.wrapped_sum, algebra.wrapped_difference
    zero, one = algebra.unsigned(0, x.width), algebra.unsigned(1, x.width)

    def negative(w: Word[D]) -> Word[D]:
        return minus(zero, w)

    return [
        add(x, y) == add(y, x),
        add(add(x, y), z) == add(x, add(y, z)),
        add(x, negative(x)) == zero,
        minus(x, y) == add(x, negative(y)),
        algebra.complement(x) == minus(negative(x), one),
        algebra.shift_left_within(x, one) == add(x, x),
    ]


def _resized_sum(algebra: Algebra[D, T], width: int, x: Word[D], y: Word[D]) -> list[Truth[T]]:
    """Return whether the sum of words cut to N bits is their sum cut, and with zeros below it that of such words.

    A sum of the cut words that fits N bits is the sum of these extended.
    """
    add, wide, half = algebra.wrapped_sum, x.width, 1 << (width - 1)
    p, q = (w.extract(width - 1, 0) for w in (x, y))
    total, nothing = add(p, q), algebra.unsigned(0, wide - width)
    a, b = (algebra.twos_complement(w) for w in (p, q))
    unsigned, exact = add(p.extend(wide), q.extend(wide)), algebra.modular_sum([a, b], wide)
    return [
        add(x, y).extract(width - 1, 0) == total,
        algebra.concatenate(total, nothing) == add(*(algebra.concatenate(w, nothing) for w in (p, q))),
        (total.extend(wide) == unsigned) | (algebra.unsigned((1 << width) - 1, wide) < unsigned),
        (algebra.twos_complement(total).extend(wide) == exact)
        | (exact < algebra.signed(-half))
        | (algebra.signed(half - 1) < exact),
    ]


def _compressor(algebra: Algebra[D, T], width: int, x: Word[D], y: Word[D], z: Word[D]) -> Truth[T]:
    """Return whether the results of a compressor have the same sum as its three words."""
    signed = [algebra.twos_complement(w) for w in (x, y, z)]
    return algebra.compressed_sum(signed, width) == algebra.modular_sum(signed, width)


def _bounded_sum(algebra: Algebra[D, T], width: int, words: Sequence[Word[D]]) -> list[Truth[T]]:
    """Return whether the bounds of two signed words add up to bounds of their sum, if these fit the width.

    The last claim says so. The others are what it follows from, and are assumed of it.
    """
    wide = width + 2
    x, y, low_x, low_y, high_x, high_y = (algebra.twos_complement(w).extend(wide) for w in words)
    low, high, exact = (algebra.modular_sum(p, wide) for p in ((low_x, low_y), (high_x, high_y), (x, y)))
    half = 1 << (width - 1)
    least, most = algebra.signed(-half), algebra.signed(half - 1)
    total = algebra.modular_sum([x.narrow(width), y.narrow(width)], width).extend(wide)
    claims = [*_monotone(algebra, (x, y), (low_x, low_y)), *_monotone(algebra, (high_x, high_y), (x, y))]
    claims.append(algebra.any_of([exact < least, most < exact, total == exact]))
    outside = [(x, low_x), (y, low_y), (high_x, x), (high_y, y), (low, least), (most, high)]
    within = ~((total < low) | (high < total))
    return [*claims, algebra.any_of([*(p < q for p, q in outside), within, *(~c for c in claims)])]


def _monotone(algebra: Algebra[D, T], larger: Sequence[Word[D]], words: Sequence[Word[D]]) -> list[Truth[T]]:
    """Return whether the sum of two words is not below that of two that are not larger (of two bits less than theirs).

    The last claim says so. The others say that a word is below another where their difference is negative, and that the
    difference of the sums is the sum of the differences; they are assumed of the last one.
    """
    (p, q), (r, s) = larger, words
    width = p.width

    def difference(x: Word[D], y: Word[D]) -> Word[D]:
        return algebra.twos_complement(algebra.wrapped_difference(algebra.pattern(x), algebra.pattern(y)))

    above, below = algebra.modular_sum(larger, width), algebra.modular_sum(words, width)
    first, second = difference(p, r), difference(q, s)
    both = algebra.modular_sum([first, second], width)
    pairs = ((p, r), (q, s), (above, below))
    claims = [(x < y) == (difference(x, y) < 0) for x, y in pairs]
    claims += [difference(above, below) == both, (first < 0) | (second < 0) | ~(both < 0)]
    return [*claims, algebra.any_of([p < r, q < s, ~(above < below), *(~c for c in claims)])]


def _junction(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    p, q, r = (w.is_value(1) for w in (x, y, z))

    def same(s: Truth[T], t: Truth[T]) -> Truth[T]:
        return s == t

    claims = [same(p ^ q, q ^ p)]
    for join in (algebra.all_of, algebra.any_of):
        claims += [same(join([p, q]), join([q, p])), same(join([p, p]), p)]
        claims += [same(join([join([p, q]), r]), join([p, join([q, r])]))]
    return claims


def lemmas_of(terms: LawfulTerms) -> list[Lemma]:
    """Return the laws that ``terms`` used, as lemmas that are to be proved."""
    return [lemma for law in sorted(terms.used) for lemma in lemmas_of_law(law)]


def lemmas_of_law(law: Law) -> list[Lemma]:
    """Return a law as lemmas that are to be proved: one, or each claim by itself where a solver needs the steps."""
    if law.operation is not Operation.BOUNDED_SUM:
        return [of_law(law)]
    algebra, whole = IntegerAlgebra(), _OfLaw(law)
    count = len(whole.claims(algebra, {x.name: algebra.unsigned(0, x.width) for x in whole.inputs}))
    return [_ClaimOfLaw(law, i) for i in range(count)]


def of_law(law: Law) -> Lemma:
    """Return a law as one lemma."""
    return _OfLaw(law)


LEMMA_SECONDS = 20.0
"""Seconds in which a small lemma is refuted."""


class LawsInUse:
    """Uses lemmas in a kernel. ``establish`` proves a fact that was noted, where that is still to be done.

    By default nothing is left to be done. A lemma is refuted in N ``seconds``, or not at all.
    """

    def __init__(
        self,
        kernel: Kernel,
        establish: Callable[[FNode], None] = lambda _: None,
        seconds: float = LEMMA_SECONDS,
    ) -> None:
        self._seconds = seconds
        self.kernel, self._establish = kernel, establish
        self.environment: Environment = kernel.environment
        self._terms: Any = self.environment.formula_manager
        self._sums: dict[int, Sums] = {}

    @property
    def definitions(self) -> Mapping[FNode, FNode]:
        """What each variable stands for."""
        return self.kernel.definitions

    def sums(self, width: int) -> Sums:
        """Return the folds of words of a width."""
        if width not in self._sums:
            self._sums[width] = Sums(self.kernel, width)
        return self._sums[width]

    def maxima(self, width: int) -> Maxima:
        """Return the folds by which signed words of a width have a largest one."""
        return Maxima(self.kernel, width, True)

    def words(self, width: int) -> list[FNode]:
        """Return three words of a width, as laws are about them."""
        kind = self.environment.type_manager.BVType(width)
        return [self._terms.Symbol(f"word{i}_{width}", kind) for i in range(3)]

    def use(self, left: FNode, right: FNode, given: Mapping[FNode, FNode], why: str) -> None:
        """Use the law that two terms over words are equal."""
        self.claim(self._terms.EqualsOrIff(left, right), (), given, why)

    def equal(self, x: FNode, y: FNode, why: str) -> None:
        """Prove that two terms are equal, whatever their variables are. Nothing is done for what is known."""
        if not self.kernel.same(x, y):
            self.claim(self._terms.EqualsOrIff(x, y), (), {}, why)

    def of_any(
        self, x: FNode, y: FNode, leaves: Sequence[FNode], why: str, instead: Mapping[FNode, FNode] | None = None
    ) -> None:
        """Prove that two terms are equal, whatever the leaves are. ``instead`` are equal terms of ``y`` for leaves."""
        places, given = {}, {}
        for i, leaf in enumerate(dict.fromkeys(leaves)):
            kind = self.environment.type_manager.BVType(width_of(leaf))
            word = self._terms.Symbol(f"leaf{i}_{width_of(leaf)}", kind)
            places[leaf], given[word] = word, leaf
        others = {**places, **{other: places[leaf] for leaf, other in (instead or {}).items()}}
        both = substituted(self.environment, x, places), substituted(self.environment, y, others)
        self.use(*both, given, why)

    def claim(self, claim: FNode, assumptions: Sequence[FNode], given: Mapping[FNode, FNode], why: str) -> None:
        """Use a lemma: the assumptions imply the claim. Raises NotComposedError if it is not refuted in time."""
        self.kernel.refute(claim, assumptions, why, self._seconds)
        if not given:
            for x in assumptions:
                self._establish(x)
        self.kernel.use(claim, assumptions, why, given or None)
