"""Sums and maxima in another order, step by step: each step is a law about two or three words.

A fold is an operation on operands from left to right: ((x1 + x2) + x3) + ... Two folds of the same operands are equal
by exchanging neighbours. No law about n operands is used: every exchange is a step of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.kernel import Kernel, NotComposedError


class Folds(ABC):
    """Folds of one operation on words of one width."""

    what: str

    def __init__(self, kernel: Kernel, width: int) -> None:
        self._kernel, self._width = kernel, width
        self._environment: Environment = kernel.environment
        self._terms: Any = self._environment.formula_manager
        kind = self._environment.type_manager.BVType(width)
        self._folded: dict[tuple[FNode, ...], FNode] = {}
        self._words: list[FNode] = [self._terms.Symbol(f"word{i}_{width}", kind) for i in range(3)]

    @abstractmethod
    def of_two(self, x: FNode, y: FNode) -> FNode:
        """Return the operation on two words."""

    def fold(self, xs: Sequence[FNode]) -> FNode:
        """Return the fold of some words."""
        words = tuple(xs)
        known = next((i for i in range(len(words), 1, -1) if words[:i] in self._folded), 1)
        total = self._folded[words[:known]] if known > 1 else words[0]
        for i in range(known, len(words)):
            total = self._folded[words[: i + 1]] = self.of_two(total, words[i])
        return total

    def prove(self, xs: Sequence[FNode], ys: Sequence[FNode]) -> None:
        """Prove that the folds of the same words in two orders are equal. Raises NotComposedError if they differ."""
        same = self._kernel.class_of
        now, wanted = list(xs), list(ys)
        if len(now) != len(wanted):
            raise NotComposedError(f"{self.what}: {len(now)} operands, and {len(wanted)} in the staged proof")
        for place, y in enumerate(wanted):
            found = next((i for i in range(place, len(now)) if same(now[i]) == same(y)), None)
            if found is None:
                raise NotComposedError(f"{self.what}: an operand of the staged proof is none of the claim's")
            for i in range(found, place, -1):
                self.exchange(now, i - 1)

    def exchange(self, xs: list[FNode], i: int) -> None:
        """Exchange the neighbours at ``i`` and ``i + 1``."""
        x, y, z = self._words
        if i == 0:
            self.law("any order", self.of_two(x, y), self.of_two(y, x), [xs[0], xs[1]])
        else:
            before = self.fold(xs[:i])
            swapped = self.of_two(self.of_two(x, z), y)
            self.law("any order", self.of_two(self.of_two(x, y), z), swapped, [before, xs[i], xs[i + 1]])
        xs[i], xs[i + 1] = xs[i + 1], xs[i]

    def regroup(self, xs: Sequence[FNode], ys: Sequence[FNode]) -> list[FNode]:
        """Prove that the operation on the folds of xs and of ys is the fold of xs and ys together."""
        x, y, z = self._words
        head, rest = self.fold(xs), list(ys)
        while len(rest) > 1:
            *rest, last = rest
            grouped = self.of_two(x, self.of_two(y, z))
            self.law("any grouping", grouped, self.of_two(self.of_two(x, y), z), [head, self.fold(rest), last])
        return [*xs, *ys]

    def law(self, what: str, left: FNode, right: FNode, given: Sequence[FNode]) -> None:
        """Use a law, that two terms over words are equal, with terms in the place of the words."""
        claim = self._terms.Equals(left, right)
        words = dict(zip(self._words, given, strict=False))
        self._kernel.use(claim, (), f"law: {self.what} of {self._width} bits, {what}", words)


class Sums(Folds):
    """Sums modulo two to the width."""

    what = "sum"

    def of_two(self, x: FNode, y: FNode) -> FNode:
        """Return the sum."""
        found: FNode = self._terms.BVAdd(x, y)
        return found

    def compressed(self, xs: Sequence[FNode], algebra: TermAlgebra) -> None:
        """Prove that the sum of words by carry-save addition is their fold."""
        level = list(xs)
        while len(level) > 2:
            after: list[FNode] = []
            for i in range(0, len(level), 3):
                three = level[i : i + 3]
                after += three if len(three) < 3 else self._compressor(after, three, algebra)
            level = after

    def _compressor(self, before: Sequence[FNode], three: Sequence[FNode], algebra: TermAlgebra) -> list[FNode]:
        """Prove that the fold of some words and two results of a compressor is that of its three words."""
        x, y, z = self._words
        first, second, third = three
        self.law(
            "a compressor keeps the sum",
            self.fold(algebra.compressor(x, y, z, self._width)),
            self.fold([x, y, z]),
            three,
        )
        results = algebra.compressor(first, second, third, self._width)
        if before:
            head = self.fold(before)
            grouped = self.of_two(x, self.of_two(y, z))
            for given in ([head, first, second], [head, self.of_two(first, second), third], [head, *results]):
                self.law("any grouping", grouped, self.fold([x, y, z]), given)
        return list(results)


class Maxima(Folds):
    """Maxima of signed or unsigned words."""

    what = "maximum"

    def __init__(self, kernel: Kernel, width: int, signed: bool) -> None:
        super().__init__(kernel, width)
        self._signed = signed

    def of_two(self, x: FNode, y: FNode) -> FNode:
        """Return the larger one."""
        found: FNode = self._terms.Ite(self.less(x, y), y, x)
        return found

    def less(self, x: FNode, y: FNode) -> FNode:
        """Return the comparison."""
        found: FNode = (self._terms.BVSLT if self._signed else self._terms.BVULT)(x, y)
        return found

    def not_less(self, x: FNode, y: FNode) -> FNode:
        """Return the opposite of the comparison."""
        found: FNode = self._terms.Not(self.less(x, y))
        return found

    def extended(self, x: FNode, width: int) -> FNode:
        """Return a word in a wider width."""
        more = width - self._width
        if not more:
            return x
        found: FNode = (self._terms.BVSExt if self._signed else self._terms.BVZExt)(x, more)
        return found

    def without_repetitions(self, xs: Sequence[FNode]) -> list[FNode]:
        """Prove that a fold is that of its words without repetitions, and return these."""
        same = self._kernel.class_of
        now, kept = list(xs), 0
        while kept < len(now):
            first = next(i for i in range(len(now)) if same(now[i]) == same(now[kept]))
            if first == kept:
                kept += 1
                continue
            for i in range(kept - 1, first, -1):
                self.exchange(now, i)
            self._drop(now, first + 1)
        return now

    def _drop(self, xs: list[FNode], i: int) -> None:
        """Drop the word at ``i``, which is equal to the one before it."""
        x, y, _ = self._words
        if i == 1:
            self.law("idempotent", self.of_two(x, x), x, [xs[0]])
        else:
            left = self.of_two(self.of_two(x, y), y)
            self.law("idempotent", left, self.of_two(x, y), [self.fold(xs[: i - 1]), xs[i - 1]])
        del xs[i]

    def widened(self, xs: Sequence[FNode], width: int) -> list[FNode]:
        """Prove that a fold in a wider width is the fold of its words in that width, and return these."""
        x, y, _ = self._words
        wide = Maxima(self._kernel, width, self._signed)
        if width > self._width:
            for i in range(len(xs) - 1, 0, -1):
                left = self.extended(self.of_two(x, y), width)
                right = wide.of_two(self.extended(x, width), self.extended(y, width))
                self.law(f"extended to {width}", left, right, [self.fold(xs[:i]), xs[i]])
        return [self.extended(w, width) for w in xs]

    def bound(self, xs: Sequence[FNode], place: int) -> None:
        """Prove that no fold is less than its word at ``place``.

        That no fold is less than those of its first words is proved once for all places.
        """
        x, y, z = self._words
        order = (self.not_less(x, y), self.not_less(y, z))
        folds = [self.fold(xs[: i + 1]) for i in range(len(xs))]
        whole, own = folds[-1], folds[place]
        self._fact("no word is less than itself", self.not_less(x, x), (), [whole])
        for i in range(len(xs) - 1, place, -1):
            if not self._kernel.holds(self.not_less(whole, folds[i - 1])):
                self._fact("no word exceeds it", self.not_less(self.of_two(x, y), x), (), [folds[i - 1], xs[i]])
                self._fact("the order is transitive", self.not_less(x, z), order, [whole, folds[i], folds[i - 1]])
        if place:
            self._fact("no word exceeds it", self.not_less(self.of_two(x, y), y), (), [folds[place - 1], xs[place]])
            self._fact("the order is transitive", self.not_less(x, z), order, [whole, own, xs[place]])

    def none_exceeds(self, top: FNode) -> None:
        """Prove that a tree of maxima is not less than any word in it."""
        x, y, z = self._words
        pending = [top]
        while pending:
            node = pending.pop()
            if not node.is_ite() or node is not self.of_two(node.arg(2), node.arg(1)):
                continue
            for word, part in ((x, node.arg(2)), (y, node.arg(1))):
                whole = self.not_less(self.of_two(x, y), word)
                self._fact("no word exceeds it", whole, (), [node.arg(2), node.arg(1)])
                if node is not top:
                    order = (self.not_less(x, y), self.not_less(y, z))
                    self._fact("the order is transitive", self.not_less(x, z), order, [top, node, part])
                pending.append(part)

    def _fact(self, what: str, claim: FNode, assumptions: Sequence[FNode], given: Sequence[FNode]) -> None:
        words = dict(zip(self._words, given, strict=False))
        self._kernel.use(claim, assumptions, f"law: {self.what} of {self._width} bits, {what}", words)
