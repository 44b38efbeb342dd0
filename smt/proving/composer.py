"""A staged proof as the steps of a bundle.

The claim without cuts and the claim of the staged proof come from the same text, which names the same places in the
same order. For each place it is shown that the term without cuts is equal to what replaces it, given that this holds
for the places before. Mostly the two are one term by then. Where operands were taken in another order, laws are used
step by step (below). Where constants were folded, or a junction was sorted, a small lemma says that both terms are
equal.

Sums and maxima in another order, step by step: each step is a law about two or three words.

A fold is an operation on operands from left to right: ((x1 + x2) + x3) + ... Two folds of the same operands are equal
by exchanging neighbours, where these are few exchanges. Else a fold is parted: into that of the words that come first,
and that of the others. No law about n operands is used: every exchange is a step of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any, Protocol

from pysmt import operators as op
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.journal import Bounded, Defined, Entry, Place, Proved, Related
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.walk import bottom_up, rebuilt, substituted, symbols_in
from mmaproof.smt.solving.query import indices_of, width_of

EXCHANGES = 2
"""Exchanges for each word of a fold, up to which neighbours are exchanged."""
_Placed = tuple[int, FNode]
"""A word, and its place in the order that is wanted."""


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
        if len(xs) != len(ys):
            raise NotComposedError(f"{self.what}: {len(xs)} operands, and {len(ys)} in the staged proof")
        places: dict[int, list[int]] = {}
        for place in range(len(ys) - 1, -1, -1):
            places.setdefault(self._kernel.class_of(ys[place]), []).append(place)
        placed: list[_Placed] = []
        for x in xs:
            found = places.get(self._kernel.class_of(x))
            if not found:
                raise NotComposedError(f"{self.what}: an operand of the staged proof is none of the claim's")
            placed.append((found.pop(), x))
        self._sort(placed)

    def _sort(self, xs: Sequence[_Placed]) -> list[FNode]:
        """Prove that a fold is that of its words in the order of their places, and return these."""
        places, words = [place for place, _ in xs], [word for _, word in xs]
        wanted = sorted(places)
        exchanges = sum(p > q for p, q in combinations(places, 2))
        if exchanges > EXCHANGES * len(xs):
            middle = wanted[len(xs) // 2]
            self._part(words, [place >= middle for place in places])
            low, high = ([x for x in xs if (x[0] >= middle) is later] for later in (False, True))
            return self.regroup(self._sort(low), self._sort(high))
        for place, least in enumerate(wanted):
            for i in range(places.index(least), place, -1):
                self.exchange(words, i - 1)
                places[i - 1 : i + 1] = places[i], places[i - 1]
        return words

    def _part(self, words: Sequence[FNode], later: Sequence[bool]) -> None:
        """Prove that a fold is the operation on that of some of its words and that of the others, the later ones."""
        x, y, z = self._words
        parts: tuple[list[FNode], list[FNode]] = [], []
        for word, is_later in zip(words, later, strict=True):
            first, second = (self.fold(part) if part else None for part in parts)
            parts[is_later].append(word)
            if first is not None and second is not None:
                left = self.of_two(self.of_two(x, y), z)
                if is_later:
                    self.law("any grouping", self.of_two(x, self.of_two(y, z)), left, [first, second, word])
                else:
                    self.law("any order", left, self.of_two(self.of_two(x, z), y), [first, second, word])
            elif second is not None and not is_later:
                self.law("any order", self.of_two(x, y), self.of_two(y, x), [second, word])

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

    def sides(self, node: FNode) -> Sequence[FNode]:
        """Return the two words of which a word is the maximum; none where it is written in another way."""
        sides = node.args()[:0:-1] if node.is_ite() else ()
        return sides if sides and node is self.of_two(*sides) else ()

    def none_exceeds(self, top: FNode) -> None:
        """Prove that a tree of maxima is not less than any word in it."""
        x, y, z = self._words
        pending = [top]
        while pending:
            node = pending.pop()
            sides = self.sides(node)
            for word, part in zip((x, y), sides, strict=False):
                whole = self.not_less(self.of_two(x, y), word)
                self._fact("no word exceeds it", whole, (), sides)
                if node is not top:
                    order = (self.not_less(x, y), self.not_less(y, z))
                    self._fact("the order is transitive", self.not_less(x, z), order, [top, node, part])
                pending.append(part)

    def _fact(self, what: str, claim: FNode, assumptions: Sequence[FNode], given: Sequence[FNode]) -> None:
        words = dict(zip(self._words, given, strict=False))
        self._kernel.use(claim, assumptions, f"law: {self.what} of {self._width} bits, {what}", words)


LEMMA_SECONDS = 20.0
"""Seconds in which a small lemma is refuted."""
COMMUTATIVE = frozenset({op.AND, op.OR, op.IFF, op.EQUALS, op.BV_AND, op.BV_OR, op.BV_XOR, op.BV_ADD, op.BV_MUL})
"""Operators whose operands a staged proof may have sorted."""


class Values(Protocol):
    """The values of terms on samples."""

    def values(self, term: FNode) -> tuple[int, ...]:
        """Return the values of a term, one for each sample."""


class Composer:
    """Joins the places of a claim without cuts and those of its staged proof."""

    def __init__(self, kernel: Kernel, samples: Values) -> None:
        self._kernel, self._samples = kernel, samples
        self._environment = kernel.environment
        self._terms: Any = self._environment.formula_manager
        self._raw = symbols_in(kernel.root)
        self._images: dict[FNode, FNode] = {}
        """what replaces the terms without cuts"""
        self._known: dict[FNode, FNode] = {}
        """what replaces the terms of the staged proof"""
        self._facts: dict[FNode, Callable[[], None]] = {}
        """how what is known of variables is proved, once it is needed"""
        self._bounds: dict[FNode, FNode] = {}

    def compose(self, plain: Sequence[Entry], staged: Sequence[Entry], claim: FNode, claimed: FNode) -> None:
        """Add the steps that prove ``claim``: the staged proof is of ``claimed``.

        Raises NotComposedError.
        """
        places = iter([x for x in plain if isinstance(x, Place)])
        for entry in staged:
            if isinstance(entry, Defined):
                self._kernel.define(entry.variable, entry.definition)
            elif isinstance(entry, Proved):
                self._use(entry)
            elif isinstance(entry, Bounded):
                self._note_bounds(entry)
            elif isinstance(entry, Place):
                self._place(next(places, None), entry)
            else:
                self._other(entry)
        if next(places, None) is not None:
            raise NotComposedError("the claim has more places than its staged proof")
        self._equate_either(self._image(claim), claimed, "the claim")

    def _other(self, entry: Entry) -> None:
        if not isinstance(entry, Related):
            raise TypeError(f"{type(entry).__name__} is nothing that a staged proof notes")
        self._facts[entry.fact] = partial(self._equate, entry.of_terms, entry.fact, "a relation of variables")

    def _use(self, lemma: Proved, seconds: float | None = None) -> None:
        assumptions = [] if lemma.assumption is None else [lemma.assumption]
        for fact in [x for a in assumptions for x in (a.args() if a.is_and() else [a])]:
            self._establish(fact)
        self._kernel.use(lemma.claim, assumptions, lemma.why, seconds=seconds)

    def _establish(self, fact: FNode) -> None:
        if fact in self._facts and not self._kernel.holds(fact):
            self._facts[fact]()

    def _note_bounds(self, bounded: Bounded) -> None:
        self._bounds[bounded.variable] = bounded.fact
        if bounded.of_words:
            self._facts[bounded.fact] = lambda: self._prove_bounds(bounded)

    def _prove_bounds(self, bounded: Bounded) -> None:
        """Prove bounds of a partial sum from those of its words."""
        definition = self._kernel.definitions[bounded.variable]
        fact = substituted(self._environment, bounded.fact, {bounded.variable: definition})
        symbols = self._environment.fvo.get_free_variables(definition)
        known = [self._bounds[v] for v in symbols if v in self._bounds]
        for x in known:
            self._establish(x)
        self._kernel.use(fact, known, "bounds of a sum of two words")

    # --- places -----------------------------------------------------------------------------------------------

    def _place(self, plain: Place | None, staged: Place) -> None:
        if plain is None or plain.kind != staged.kind:
            raise NotComposedError(f"{staged.kind} of the staged proof is not a place of the claim")
        if not self._kernel.same(plain.term, staged.replaced):
            folds = {"sum": self._sum, "compressed sum": self._compressed_sum, "maximum": self._maximum}
            if staged.kind in folds:
                folds[staged.kind](plain, staged)
            else:
                self._equate_either(self._image(plain.term), staged.term, staged.kind)
                replaced = self._kernel.definitions.get(staged.replaced, staged.replaced)
                self._equate(staged.term, replaced, staged.kind)
            if not self._kernel.same(plain.term, staged.replaced):
                raise NotComposedError(f"{staged.kind}: what replaces it is not proved to be equal to it")
        if not plain.term.is_constant():
            self._images[plain.term] = staged.replaced
        if not staged.term.is_constant() and not staged.term.is_symbol():
            self._known[staged.term] = staged.replaced
        if staged.kind == "maximum":
            self._note_bounds_of_maximum(staged)

    def _operands(self, plain: Sequence[FNode], staged: Sequence[FNode], what: str) -> None:
        if len(plain) != len(staged):
            raise NotComposedError(f"{what}: {len(plain)} operands, and {len(staged)} in the staged proof")
        for x, y in zip(plain, staged, strict=True):
            self._equate(self._image(x), y, what)

    def _sum(self, plain: Place, staged: Place) -> None:
        self._operands(plain.operands, staged.operands, staged.kind)
        Sums(self._kernel, width_of(staged.replaced)).prove(staged.operands, staged.taken)

    def _compressed_sum(self, plain: Place, staged: Place) -> None:
        self._operands(plain.operands, staged.operands, staged.kind)
        width = width_of(staged.replaced)
        Sums(self._kernel, width).compressed(staged.operands, TermAlgebra(self._environment))
        Sums(self._kernel, width).prove(staged.operands, staged.taken)

    def _maximum(self, plain: Place, staged: Place) -> None:
        leaves = {self._image(x) for x in plain.operands}
        words = self._flat(self._image(plain.term), leaves, staged.signed)
        if len(words) != len(staged.operands):
            raise NotComposedError(f"{staged.kind}: {len(words)} operands, not {len(staged.operands)}")
        for x, y in zip(words, staged.operands, strict=True):
            self._equate(x, y, staged.kind)
        maxima = Maxima(self._kernel, width_of(staged.replaced), staged.signed)
        maxima.prove(maxima.without_repetitions(words), maxima.without_repetitions(staged.taken))

    def _flat(self, term: FNode, leaves: set[FNode], signed: bool) -> list[FNode]:
        """Return the words whose fold a tree of maxima is proved to be."""
        width = width_of(term)
        inner = term.arg(0) if term.is_bv_sext() or term.is_bv_zext() else None
        if term in leaves or inner in leaves:
            return [term]
        if inner is not None:
            words = self._flat(inner, leaves, signed)
            return Maxima(self._kernel, width_of(inner), signed).widened(words, width)
        maxima = Maxima(self._kernel, width, signed)
        if not term.is_ite() or term is not maxima.of_two(term.arg(2), term.arg(1)):
            raise NotComposedError("maximum: it is not a tree of comparisons")
        first, second = (self._flat(x, leaves, signed) for x in (term.arg(2), term.arg(1)))
        return maxima.regroup(first, second)

    def _note_bounds_of_maximum(self, staged: Place) -> None:
        maxima = Maxima(self._kernel, width_of(staged.replaced), staged.signed)
        same = self._kernel.class_of
        for x in staged.operands:

            def prove(x: FNode = x) -> None:
                for i, y in enumerate(staged.taken):
                    if same(x) == same(y):
                        return maxima.bound(staged.taken, i)
                raise NotComposedError("maximum: a word is none of those that it was taken of")

            self._facts.setdefault(maxima.not_less(staged.replaced, x), prove)

    # --- equal terms ------------------------------------------------------------------------------------------

    def _image(self, term: FNode) -> FNode:
        """Return a term without cuts over the variables that replace parts of it."""
        return bottom_up(term, self._images, self._rebuilt)

    def _rebuilt(self, node: FNode, operands: Sequence[FNode]) -> FNode:
        return rebuilt(self._environment, node, operands)

    def _equate_either(self, x: FNode, y: FNode, what: str) -> None:
        """Prove that two terms are equal, the second one as it is or with all that is known in the place of its parts.

        Raises NotComposedError.
        """
        try:
            self._equate(x, y, what)
        except NotComposedError:
            self._equate(x, bottom_up(y, self._known, self._rebuilt), what)

    def _equate(self, x: FNode, y: FNode, what: str) -> None:
        """Prove that two terms over variables are equal: their parts are, or a lemma says it of the whole.

        Raises NotComposedError if they are not proved to be equal.
        """
        if self._kernel.same(x, y):
            return
        if not self._alike(x, y):
            raise NotComposedError(f"{what}: operands give another value in the staged proof")
        matched = self._matched(x, y)
        if matched is not None:
            with suppress(NotComposedError):
                for p, q in zip(x.args(), matched, strict=True):
                    self._equate(p, q, what)
                x = self._terms.create_node(y.node_type(), tuple(matched), y._content.payload)
            if self._kernel.same(x, y):
                return
        equation = self._terms.EqualsOrIff(x, y)
        known, why = self._definitions_among(equation), f"{what}: written in another way"
        self._kernel.use(equation, known, why, seconds=LEMMA_SECONDS)

    def _definitions_among(self, claim: FNode) -> list[FNode]:
        """Return what the variables of a claim stand for, where that is about other symbols of the claim alone."""
        symbols, found = self._environment.fvo.get_free_variables(claim), []
        for v in sorted(symbols, key=lambda v: v.node_id()):
            definition = self._kernel.definitions.get(v)
            if definition is not None and self._environment.fvo.get_free_variables(definition) <= symbols:
                found.append(self._terms.EqualsOrIff(v, definition))
        return found

    def _matched(self, x: FNode, y: FNode) -> list[FNode] | None:
        """Return the operands of ``y`` that those of ``x`` may be equal to; None where that is not clear.

        Operands that may change places are told apart by their values on the samples.
        """
        operands = list(y.args())
        if x.node_type() != y.node_type() or list(indices_of(x)) != list(indices_of(y)) or not operands:
            return None
        if len(x.args()) != len(operands) or sorted(map(width_of, x.args())) != sorted(map(width_of, operands)):
            return None
        if y.node_type() in COMMUTATIVE:
            of_value = {(width_of(q), self._samples.values(q)): q for q in operands}
            found = [of_value.get((width_of(p), self._samples.values(p))) for p in x.args()]
            distinct = len(of_value) == len(operands) and None not in found and len(set(found)) == len(found)
            return [q for q in found if q is not None] if distinct else None
        fits = all(width_of(p) == width_of(q) and self._alike(p, q) for p, q in zip(x.args(), operands, strict=True))
        return operands if fits else None

    def _alike(self, x: FNode, y: FNode) -> bool:
        """Return whether two terms have the same values on the samples."""
        return self._samples.values(x) == self._samples.values(y)
