"""Proofs by laws: two results are equal because sums, maxima and products do not depend on an order of operands.

``LawfulTerms`` writes terms with the operands of every commutative (and associative) operation in one canonical order
and notes which laws it used, at which widths. Where two results written so are one and the same term, the results are
equal if the laws hold, and the claim that they are equal becomes the constant true. The laws are lemmas about three
words, whatever the number of products.

What is trusted beside the lemmas: that a finite sum, maximum, conjunction or disjunction of n operands may be written
in any order because its binary operation is associative and commutative, and that equal terms may replace each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pysmt.fnode import FNode

from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.lemma import Input, Lemma


@dataclass(frozen=True, order=True)
class Law:
    """A law that was used: of which operation, on words of which width and signedness."""

    operation: str
    width: int
    signed: bool = False
    wider: int = 0
    """for the extension of a maximum: the width extended to"""


class LawfulTerms(TermAlgebra):
    """Terms whose operands are in canonical order wherever the order does not matter; ``used`` says by which laws."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[Law] = set()

    def maximum(self, words: Sequence[Word[FNode]]) -> Word[FNode]:
        """Return the largest of one or more words, each taken once, extended to the widest, in canonical order."""
        width, signed = max(w.width for w in words), words[0].signed
        for word in words:
            if word.width < width:
                self.used.add(Law("extended maximum", word.width, signed, width))
        distinct = _in_order({self.extend(w, width).data for w in words})
        if len(words) > 1:
            self.used.add(Law("maximum", width, signed))
        largest = distinct[0]
        for x in distinct[1:]:
            largest = self._maximum(largest, x, signed)
        return Word(largest, width, signed)

    def _add_up(self, xs: list[FNode], widths: list[int], width: int, wraps: bool) -> FNode:
        self.used.add(Law("sum", width))
        pairs = sorted(zip(xs, widths, strict=True), key=lambda pair: pair[0].node_id())
        return super()._add_up([x for x, _ in pairs], [w for _, w in pairs], width, wraps)

    def _and(self, xs: list[FNode]) -> FNode:
        self.used.add(Law("junction", 1))
        return super()._and(_in_order(set(xs)))

    def _or(self, xs: list[FNode]) -> FNode:
        self.used.add(Law("junction", 1))
        return super()._or(_in_order(set(xs)))

    def _xor(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law("junction", 1))
        return super()._xor(*_in_order([x, y]))

    def _add(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law("sum", x.bv_width()))
        return super()._add(*_in_order([x, y]))

    def _multiply(self, x: FNode, y: FNode) -> FNode:
        self.used.add(Law("product", x.bv_width()))
        return super()._multiply(*_in_order([x, y]))

    def _equal(self, x: FNode, y: FNode) -> FNode:
        return self._truth(True) if x is y else super()._equal(*_in_order([x, y]))


def _in_order(xs: set[FNode] | list[FNode]) -> list[FNode]:
    """Return terms in an order that depends on the terms alone, not on how they were combined."""
    return sorted(xs, key=lambda x: x.node_id())


class _OfLaw(Lemma):
    """A law as a lemma about words x, y and z."""

    def __init__(self, law: Law) -> None:
        self.law = law
        width = f"{law.width} bits" + (f" extended to {law.wider}" if law.wider else "")
        self.name = f"{law.operation} of {'signed' if law.signed else 'unsigned'} words of {width}: any order"
        self.inputs = tuple(Input(n, law.width, law.signed) for n in ("x", "y", "z"))

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the operation is commutative, and associative and idempotent where that is used."""
        x, y, z = (words[n] for n in ("x", "y", "z"))
        match self.law.operation:
            case "maximum":
                claims = _maximum(algebra, x, y, z)
            case "extended maximum":
                claims = _extended_maximum(algebra, self.law.wider, x, y)
            case "sum":
                claims = _sum(algebra, self.law.width, x, y, z)
            case "product":
                claims = [algebra.equal(algebra.multiply(x, y), algebra.multiply(y, x))]
            case _:
                claims = _junction(algebra, x, y, z)
        return algebra.all_of(claims)


def _maximum(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    top = algebra.maximum
    return [
        algebra.equal(top([x, y]), top([y, x])),
        algebra.equal(top([top([x, y]), z]), top([x, top([y, z])])),
        algebra.equal(top([x, x]), x),
    ]


def _extended_maximum(algebra: Algebra[D, T], wider: int, x: Word[D], y: Word[D]) -> list[Truth[T]]:
    wide = [algebra.extend(w, wider) for w in (x, y)]
    return [algebra.equal(algebra.extend(algebra.maximum([x, y]), wider), algebra.maximum(wide))]


def _sum(algebra: Algebra[D, T], width: int, x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    signed = [algebra.twos_complement(w) for w in (x, y, z)]

    def add(*some: Word[D]) -> Word[D]:
        return algebra.modular_sum(some, width)

    a, b, c = signed
    return [algebra.equal(add(a, b), add(b, a)), algebra.equal(add(add(a, b), c), add(a, add(b, c)))]


def _junction(algebra: Algebra[D, T], x: Word[D], y: Word[D], z: Word[D]) -> list[Truth[T]]:
    p, q, r = (algebra.is_value(w, 1) for w in (x, y, z))

    def same(s: Truth[T], t: Truth[T]) -> Truth[T]:
        return algebra.negation(algebra.exclusive_or(s, t))

    claims = [same(algebra.exclusive_or(p, q), algebra.exclusive_or(q, p))]
    for join in (algebra.all_of, algebra.any_of):
        claims += [same(join([p, q]), join([q, p])), same(join([p, p]), p)]
        claims += [same(join([join([p, q]), r]), join([p, join([q, r])]))]
    return claims


def lemmas_of(terms: LawfulTerms) -> list[Lemma]:
    """Return the laws that ``terms`` used as lemmas to be proved."""
    return [_OfLaw(law) for law in sorted(terms.used)]
