"""Terms as sums of words, step by step: what ``Linear`` says at once is derived from laws about two or three words.

A term becomes a list of words whose fold it is, modulo two to its width. Each word is a *multiple*: a variable in that
width, moved by some places, perhaps negated; or a constant. Operations that keep sums (negation, cutting off the
highest bits, zeros below) are moved to the words one by one, each by a law about two words. Then every variable of a
sum is replaced by the words of that sum, the words are brought into one order, and those of one variable are put
together. Two terms with the same words in the end are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysmt import operators as op
from pysmt.fnode import FNode

from mmaproof.smt.proving.kernel import NotComposedError
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.proving.linear import Form, in_order
from mmaproof.smt.proving.net_relations import Relations
from mmaproof.smt.proving.net_sums import NetSums
from mmaproof.smt.proving.walk import substituted
from mmaproof.smt.solving.query import width_of


class NotLinearError(NotComposedError):
    """A term is not a sum of multiples."""


@dataclass(frozen=True, slots=True)
class Multiple:
    """``factor * 2**places`` times a variable, with factor 1 or -1; or the constant ``factor`` (no variable)."""

    variable: FNode | None
    factor: int
    places: int = 0


NOTHING = Multiple(None, 0)
Multiples = list[Multiple]
_Operation = Callable[[FNode], FNode]


class LinearSteps:
    """Proves that terms are equal as sums. ``fact`` proves a fact about a variable that the proof noted."""

    def __init__(self, laws: LawsInUse, sums: NetSums, relations: Relations, within: Callable[[FNode], FNode | None]):
        self._laws, self._sums, self._relations, self._within = laws, sums, relations, within
        self._terms: Any = laws.environment.formula_manager
        self._read: dict[FNode, Multiples] = {}
        self._own: dict[FNode, Multiples] = {}
        self._expanded: dict[tuple[FNode, int], Multiples] = {}

    def prove(self, x: FNode, y: FNode) -> None:
        """Prove that two terms are equal as sums. Raises NotComposedError if they are not."""
        width = x.bv_width()
        found = [self.settled(self.read(z), width) for z in (x, y)]
        if found[0] != found[1]:
            raise NotLinearError("the sums have other words")
        if not self._laws.kernel.same(x, y):
            raise NotLinearError("the sums are not proved to be equal")

    def of_form(self, form: Form) -> FNode:
        """Return the sum that a form is, as a term."""
        terms, constant = form.centred()
        multiples = [Multiple(v, s, p) for v, c in terms for s, p in _digits(c)]
        if constant or not multiples:
            multiples.append(Multiple(None, constant))
        return self._fold(multiples, form.width)

    # --- multiples --------------------------------------------------------------------------------------------

    def term(self, x: Multiple, width: int) -> FNode:
        """Return a multiple as a term of N bits."""
        m = self._terms
        if x.variable is None:
            found: FNode = m.BV(x.factor % (1 << width), width)
            return found
        found = self._resized(x.variable, width - x.places)
        if x.places:
            found = m.BVConcat(found, m.BV(0, x.places))
        return m.BVNeg(found) if x.factor < 0 else found

    def _resized(self, variable: FNode, width: int) -> FNode:
        return self._relations.resized(variable, bool(self._sums.summands[variable]), width)

    def _fold(self, multiples: Sequence[Multiple], width: int) -> FNode:
        return self._laws.sums(width).fold([self.term(x, width) for x in multiples])

    def _kept(self, x: Multiple, width: int) -> Multiple:
        """Return a multiple modulo two to a width."""
        return NOTHING if x.variable is not None and x.places >= width else x

    # --- terms as sums ----------------------------------------------------------------------------------------

    def read(self, node: FNode) -> Multiples:
        """Return the multiples whose fold a term is proved to be. Raises NotComposedError."""
        if node not in self._read:
            found = self._read_node(node)
            whole = self._fold(found, node.bv_width())
            if not self._laws.kernel.same(node, whole):
                raise NotLinearError("a sum is not proved to be that of its words")
            self._read[node] = found
        return self._read[node]

    def _read_node(self, node: FNode) -> Multiples:  # noqa: PLR0911, PLR0912 - a case for each kind of node
        m, width, kind = self._terms, node.bv_width(), node.node_type()
        if node.is_bv_constant():
            return [Multiple(None, node.constant_value())]
        if node.is_symbol():
            if self._sums.summands.get(node) is None:
                raise NotLinearError(f"{node} is not a word of a sum")
            return [Multiple(node, 1)]
        match kind:
            case op.BV_ADD:
                first, second = (self.read(x) for x in node.args())
                self._regroup(first, second, width)
                return [*first, *second]
            case op.BV_SUB:
                x, y = node.args()
                return self._as(node, m.BVAdd(x, m.BVNeg(y)), "difference")
            case op.BV_NEG:
                return self._moved(m.BVNeg, self.read(node.arg(0)), width, width, _opposite)
            case op.BV_NOT:
                whole = m.BVAdd(m.BVNeg(node.arg(0)), m.BV((1 << width) - 1, width))
                return self._as(node, whole, "complement")
            case op.BV_MUL if any(x.is_bv_constant() for x in node.args()):
                return self._product(node)
            case op.BV_LSHL if node.arg(1).is_bv_constant():
                places = min(node.arg(1).constant_value(), width)
                if places in (0, width):
                    raise NotLinearError("a shift by nothing or by all places")
                low = m.BVExtract(node.arg(0), 0, width - places - 1)
                return self._as(node, m.BVConcat(low, m.BV(0, places)), "shift")
            case op.BV_CONCAT:
                return self._concatenation(node)
            case op.BV_EXTRACT if node.bv_extract_start() == 0:
                own = node.arg(0).bv_width()
                if node.arg(0).is_symbol() and self._sums.adders.carries_of(node.arg(0)) is not None:
                    raise NotLinearError("carries are not sum")
                return self._cut(self.read(node.arg(0)), own, width)
            case op.BV_ZEXT | op.BV_SEXT:
                return self._extension(node, node.arg(0), node.is_bv_sext())
            case op.ITE:
                return self._choice(node)
            case op.BV_XOR:
                variable = self._sums.adders.exclusive_of(node)
                if variable is not None:
                    return self._as(node, variable, "exclusive or")
            case _:
                pass
        raise NotLinearError("a term is not a sum")

    def _as(self, node: FNode, other: FNode, why: str) -> Multiples:
        """Return a term as another one, to which a small lemma about any words says that it is equal."""
        if not self._laws.kernel.same(node, other):
            leaves = [x for x in node.args() if not x.is_constant()]
            self._laws.of_any(node, other, leaves, f"law: {why} of {node.bv_width()} bits")
        return self.read(other)

    def _regroup(self, first: Sequence[Multiple], second: Sequence[Multiple], width: int) -> None:
        terms = [[self.term(x, width) for x in xs] for xs in (first, second)]
        self._laws.sums(width).regroup(*terms)

    def _moved(
        self, operation: _Operation, xs: Multiples, own: int, width: int, of: Callable[[Multiple], Multiple]
    ) -> Multiples:
        """Return the words of an operation on a sum, which is that on each of its words."""
        words, sums = [self.term(x, own) for x in xs], self._laws.sums(own)
        for i in range(len(words) - 1, 0, -1):
            x, y = self._laws.words(own)[:2]
            left, right = operation(self._terms.BVAdd(x, y)), self._terms.BVAdd(operation(x), operation(y))
            given = [sums.fold(words[:i]), words[i]]
            self._laws.use(left, right, {x: given[0], y: given[1]}, f"law: words of a sum of {own} bits, in {width}")
        found = [self._kept(of(x), width) for x in xs]
        for word, x in zip(words, found, strict=True):
            self._laws.equal(operation(word), self.term(x, width), "a word of a sum")
        return found

    def _cut(self, xs: Multiples, own: int, width: int) -> Multiples:
        if own == width:
            return xs
        return self._moved(lambda x: self._terms.BVExtract(x, 0, width - 1), xs, own, width, lambda x: x)

    def _shifted(self, xs: Multiples, own: int, places: int) -> Multiples:
        """Return the words of a sum with zeros below it."""
        if not places:
            return xs
        zeros = self._terms.BV(0, places)

        def shifted(x: Multiple) -> Multiple:
            if x.variable is None:
                return replace(x, factor=(x.factor << places) % (1 << (own + places)))
            return replace(x, places=x.places + places)

        return self._moved(lambda x: self._terms.BVConcat(x, zeros), xs, own, own + places, shifted)

    def _product(self, node: FNode) -> Multiples:
        m, width = self._terms, node.bv_width()
        x, y = node.args()
        x, factor = (x, y.constant_value()) if y.is_bv_constant() else (y, x.constant_value())
        parts = []
        for sign, places in _digits(_near(factor, width)):
            part = x if not places else m.BVConcat(m.BVExtract(x, 0, width - places - 1), m.BV(0, places))
            parts.append(part if sign > 0 else m.BVNeg(part))
        whole = self._laws.sums(width).fold(parts) if parts else m.BV(0, width)
        if not self._laws.kernel.same(node, whole):
            self._laws.of_any(node, whole, [] if x.is_constant() else [x], f"law: {factor} times a word")
        return self.read(whole)

    def _choice(self, node: FNode) -> Multiples:
        condition, yes, no = node.args()
        if not (condition.is_symbol() and yes.is_bv_constant() and no.is_bv_constant()):
            raise NotLinearError("a choice is not a sum")
        if self._sums.summands.get(condition) is None:
            raise NotLinearError(f"{condition} is not a word of a sum")
        width = node.bv_width()
        found = [Multiple(condition, s, p) for s, p in _digits(yes.constant_value() - no.constant_value())]
        found = [x for x in found if x.places < width]
        if no.constant_value() or not found:
            found.append(Multiple(None, no.constant_value()))
        self._laws.equal(node, self._fold(found, width), "a choice between constants")
        return found

    def _concatenation(self, node: FNode) -> Multiples:
        high, low = node.args()
        m, places = self._terms, low.bv_width()
        if high.is_bv_constant() and high.constant_value() == 0:
            return self._as(node, m.BVZExt(low, high.bv_width()), "zeros above")
        if not (low.is_bv_constant() and low.constant_value() == 0):
            raise NotLinearError("two words side by side")
        try:
            return self._shifted(self.read(high), high.bv_width(), places)
        except NotLinearError:
            return self._twice(node, high, places)

    def _twice(self, node: FNode, high: FNode, places: int) -> Multiples:
        """Return a word of carries, with zeros below it, as the sum of three words without their exclusive or."""
        m = self._terms
        whole = high.arg(0) if high.is_bv_extract() and high.bv_extract_start() == 0 else high
        found = self._sums.adders.carries_of(whole)
        if found is None:
            raise NotLinearError("a word with zeros below it is not a sum")
        carries, exclusive, leaves = found
        width, kept = whole.bv_width(), high.bv_width()
        twice = m.BVConcat(m.BVExtract(carries, 0, width - 2), m.BV(0, 1))
        words = in_order(leaves)
        total = m.BVSub(self._laws.sums(width).fold(words), exclusive)
        self._laws.equal(self._definition(exclusive), exclusive, "an exclusive or")
        plain = self._sums_without(exclusive, words)
        self._laws.of_any(
            twice, m.BVSub(self._laws.sums(width).fold(words), plain), words, f"law: twice the carries, {width} bits"
        )
        cut = twice if kept + 1 == width else None
        if kept + 1 < width:
            cut = m.BVExtract(twice, 0, kept)
        if cut is None:
            raise NotLinearError("more carries than words")
        moved = m.BVConcat(cut, m.BV(0, places - 1)) if places > 1 else cut
        self._laws.of_any(node, moved, [whole], "law: carries at their places", {whole: carries})
        return self._shifted(self._cut(self.read(total), width, kept + 1), kept + 1, places - 1)

    def _sums_without(self, exclusive: FNode, words: Sequence[FNode]) -> FNode:
        term = words[0]
        for x in words[1:]:
            term = self._terms.BVXor(term, x)
        if not self._laws.kernel.same(term, exclusive):
            raise NotLinearError("an exclusive or of other words")
        return term

    def _definition(self, variable: FNode) -> FNode:
        return self._laws.definitions[variable]

    # --- extensions -------------------------------------------------------------------------------------------

    def _extension(self, node: FNode, inner: FNode, signed: bool) -> Multiples:
        m, width, own = self._terms, node.bv_width(), inner.bv_width()
        if inner.is_symbol() and self._sums.summands.get(inner) is signed:
            return [Multiple(inner, 1)]
        if inner.is_bv_constant() or (inner.is_ite() and all(x.is_bv_constant() for x in inner.args()[1:])):
            extended = m.BVSExt if signed else m.BVZExt
            parts = [inner] if inner.is_bv_constant() else inner.args()[1:]
            wide = [self._folded(extended(x, width - own)) for x in parts]
            other = wide[0] if inner.is_bv_constant() else m.Ite(inner.arg(0), *wide)
            self._laws.equal(node, other, "a constant in more bits")
            return self.read(other)
        form = self._sums.linear.form(inner)
        form = None if form is None else self._sums.expanded(form)
        whole = None if form is None else self._sums.extensions.get((form, signed))
        if whole is None:
            raise NotLinearError("it is not known that a sum fits its word")
        cut = m.BVExtract(whole, 0, own - 1)
        self.prove(inner, cut)
        back = self._extended(cut, whole.bv_width(), signed)
        (x,) = self._laws.words(whole.bv_width())[:1]
        low = m.BVExtract(x, 0, own - 1)
        fits = m.Equals(self._extended(low, whole.bv_width(), signed), x)
        if not self._laws.kernel.same(back, whole):
            raise NotLinearError("it is not proved that a sum fits its word")
        narrow = m.BVExtract(x, 0, width - 1)
        claim = m.Equals(self._extended(low, width, signed), narrow)
        self._laws.claim(claim, [fits], {x: whole}, f"law: a sum that fits {own} bits, in {width}")
        return self.read(m.BVExtract(whole, 0, width - 1))

    def _extended(self, x: FNode, width: int, signed: bool) -> FNode:
        more = width - x.bv_width()
        found: FNode = (self._terms.BVSExt if signed else self._terms.BVZExt)(x, more)
        return found

    def _folded(self, extended: FNode) -> FNode:
        inner, width = extended.arg(0), extended.bv_width()
        value = inner.bv_signed_value() if extended.is_bv_sext() else inner.constant_value()
        found: FNode = self._terms.BV(value % (1 << width), width)
        return found

    # --- one list of words for each sum -----------------------------------------------------------------------

    def settled(self, xs: Multiples, width: int) -> Multiples:
        """Return the words of a sum in the end, as the module text describes."""
        return self._together(self._expand(xs, width), width)

    def _expand(self, xs: Multiples, width: int) -> Multiples:
        """Return the words of a sum with variables of sums replaced by their words."""
        xs, i = list(xs), 0
        while i < len(xs):
            x = xs[i]
            v = x.variable
            if v is None or v not in self._sums.forms or not self._sums.is_form(v, width):
                i += 1
                continue
            words = self._shifted(self._words_of(v, width - x.places), width - x.places, x.places)
            if x.factor < 0:
                words = self._moved(self._terms.BVNeg, words, width, width, _opposite)
            if i:
                self._regroup(xs[:i], words, width)
            xs[i : i + 1] = words
        return xs

    def _words_of(self, variable: FNode, width: int) -> Multiples:
        """Return the words whose sum the variable of a sum is, in a width."""
        found = self._expanded.get((variable, width))
        if found is None:
            own = variable.bv_width()
            known = width <= own
            found = self._cut(self._own_words(variable), own, width) if known else self._widened(variable, width)
            self._expanded[variable, width] = found
        return found

    def _own_words(self, variable: FNode) -> Multiples:
        if variable not in self._own:
            self._own[variable] = self._find_own_words(variable)
        return self._own[variable]

    def _find_own_words(self, variable: FNode) -> Multiples:
        form, m = self._sums.forms[variable], self._terms
        same, width = self._laws.kernel.same, variable.bv_width()
        if len(form.terms) == 2 and not form.constant:
            p, n = (v for v, _ in form.terms)
            for a, b in ((p, n), (n, p)):
                if width_of(a) == width_of(b) == width and same(variable, m.BVSub(a, b)):
                    return self.read(m.BVSub(a, b))
                more = width_of(a) - width
                if width_of(a) == width_of(b) and more > 0 and same(m.BVZExt(variable, more), m.BVAdd(a, b)):
                    back = m.BVExtract(m.BVZExt(variable, more), 0, width - 1)
                    self._laws.equal(variable, back, "a word in more bits and back")
                    return self.read(m.BVExtract(m.BVAdd(a, b), 0, width - 1))
        return self.read(self._definition(variable))

    def _widened(self, variable: FNode, width: int) -> Multiples:
        """Return the words of a sum in more bits than its own, none of which is lost in any partial sum."""
        own, words = variable.bv_width(), self._own_words(variable)
        if not self._sums.summands[variable]:
            return self._widened_magnitude(variable, words, width)
        self._bounded(words, own, width)
        return words

    def bound(self, variable: FNode, fact: FNode) -> None:
        """Prove bounds of the variable of a sum from those of its words. Raises NotComposedError."""
        own = variable.bv_width()
        words = self.read(self._definition(variable))
        _, bounds = self._bounded(words, own, own)
        (x,) = self._laws.words(own)[:1]
        of_any = substituted(self._laws.environment, fact, {variable: x})
        self._laws.claim(of_any, [self._inside(x, bounds)], {x: variable}, "bounds of a sum")

    def _bounded(self, words: Multiples, own: int, width: int) -> tuple[FNode, tuple[int, int]]:
        """Prove bounds of partial sums, and that nothing is lost in them; return the sum and its bounds."""
        m, more = self._terms, width - own

        def wide(x: FNode) -> FNode:
            found: FNode = m.BVSExt(x, more) if more else x
            return found

        def of_part(x: Multiple) -> tuple[FNode, tuple[int, int]]:
            part, within = self.term(x, own), self._range(x, own)
            facts = [] if x.variable is None else [f for f in (self._within(x.variable),) if f is not None]
            claim = m.And(self._inside(part, within), m.Equals(wide(part), self.term(x, width)))
            self._laws.claim(claim, facts, {}, "a word of a sum, its bounds")
            return part, within

        total, bounds = of_part(words[0])
        a, b = self._laws.words(own)[:2]
        for x in words[1:]:
            part, within = of_part(x)
            both = bounds[0] + within[0], bounds[1] + within[1]
            whole = m.BVAdd(a, b)
            claim = m.And(self._inside(whole, both), m.Equals(wide(whole), m.BVAdd(wide(a), wide(b))))
            known = [self._inside(a, bounds), self._inside(b, within)]
            self._laws.claim(claim, known, {a: total, b: part}, "a sum of two words within bounds")
            total, bounds = m.BVAdd(total, part), both
        return total, bounds

    def _widened_magnitude(self, variable: FNode, words: Multiples, width: int) -> Multiples:
        m = self._terms
        facts = []
        for x in words:
            if x.variable is None or x.places or x.factor < 0:
                raise NotLinearError("a sum without a sign is widened")
            fact = self._within(x.variable)
            facts += [] if fact is None else [fact]
        parts = [x.variable for x in words]
        more = width_of(parts[0]) - variable.bv_width()
        total = m.BVAdd(*parts)
        whole = m.Equals(m.BVZExt(variable, more), total)
        claim = m.Equals(self._resized(variable, width), self._fold(words, width))
        self._laws.claim(claim, [whole, *facts], {}, "a magnitude in more bits")
        return words

    def _inside(self, x: FNode, bounds: tuple[int, int]) -> FNode:
        m, width = self._terms, x.bv_width()
        low, high = (m.BV(b % (1 << width), width) for b in bounds)
        half = 1 << (width - 1)
        if not (-half <= bounds[0] and bounds[1] < half):
            raise NotLinearError("a partial sum does not fit")
        found: FNode = m.And(m.BVSLE(low, x), m.BVSLE(x, high))
        return found

    def _range(self, x: Multiple, width: int) -> tuple[int, int]:
        if x.variable is None:
            value = _near(x.factor, width)
            return value, value
        low, high = (x.factor * b << x.places for b in self._sums.range_of(x.variable))
        return min(low, high), max(low, high)

    def _together(self, xs: Multiples, width: int) -> Multiples:
        """Return the words in one order, those of one variable put together."""
        groups: dict[FNode | None, Multiples] = {}
        for x in xs:
            groups.setdefault(x.variable, []).append(x)
        wanted = {v: self._of_coefficient(v, g, width) for v, g in groups.items()}
        variables: list[FNode | None] = [v for v in in_order(v for v in groups if v is not None) if wanted[v]]
        variables += [v for v in (None,) if wanted.get(v)]
        variables += [v for v in groups if not wanted[v]]
        ordered = [x for v in variables for x in sorted(groups[v], key=lambda x: (x.places, x.factor))]
        sums = self._laws.sums(width)
        if ordered != xs:
            sums.prove(*([self.term(x, width) for x in list_] for list_ in (xs, ordered)))
        done: Multiples = []
        for v in variables:
            group = sorted(groups[v], key=lambda x: (x.places, x.factor))
            done = self._joined(done, group, wanted[v], width)
        return done

    def _joined(self, done: Multiples, group: Multiples, wanted: Multiples, width: int) -> Multiples:
        """Return the words with those of one more variable, as few as possible."""
        if group == wanted:
            return [*done, *group]
        sums, zero = self._laws.sums(width), self._terms.BV(0, width)
        target = self._fold(wanted, width) if wanted else zero
        self._laws.equal(self._fold(group, width), target, "the multiples of one word")
        if not done:
            return wanted or [NOTHING]
        before = [self.term(x, width) for x in done]
        sums.regroup(before, [self.term(x, width) for x in group])
        if wanted:
            sums.regroup(before, [self.term(x, width) for x in wanted])
        else:
            (x,) = self._laws.words(width)[:1]
            self._laws.use(self._terms.BVAdd(x, zero), x, {x: sums.fold(before)}, f"law: nothing added, {width} bits")
        return [*done, *wanted]

    def _of_coefficient(self, variable: FNode | None, group: Multiples, width: int) -> Multiples:
        total = sum(x.factor << x.places for x in group)
        if variable is None:
            return [Multiple(None, total % (1 << width))] if total % (1 << width) else []
        found = [Multiple(variable, s, p) for s, p in _digits(_near(total, width)) if p < width]
        return sorted(found, key=lambda x: (x.places, x.factor))


def _opposite(x: Multiple) -> Multiple:
    return replace(x, factor=-x.factor)


def _near(value: int, width: int) -> int:
    """Return the number nearest to zero that is equal modulo two to the width."""
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


def _digits(value: int) -> list[tuple[int, int]]:
    """Return a number as a sum of few powers of two and their negatives: (sign, exponent)."""
    found, places = [], 0
    while value:
        if value & 1:
            digit = 2 - (value & 3)
            found.append((digit, places))
            value -= digit
        value >>= 1
        places += 1
    return found
