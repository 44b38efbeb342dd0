"""A fused multiply-add by cases: the distance of the exponents of its product and its addend.

Every shift of an addend depends on that distance. Where it is one number, or one of few, a solver decides whether two
datapaths agree. So the cases are: an operand is not a finite number or the product is zero; the addend lies far above
the product, or far below it; the distance is in a short range. That no other case exists is a lemma of its own.

Multipliers are cut out. One product of the root becomes a variable. Every other word that is this product, shifted
perhaps, is proved to be so, as a statement about two significands; of the variable it is only known how large products
are. So a case that is proved is proved of more words than there are products.

Samples suggest which words are products. Each case is one leaf, which assumes all of the root. Where that takes long,
or the terms may cancel, the case is divided by the signs, and its words are compared first (``case_nets``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from pysmt.fnode import FNode

from mmaproof.designs.formats import Format, Specials
from mmaproof.smt.proving.case_nets import CaseNets, ExponentWords, Operand, rows_of_all_distances, samples
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.free_sums import Cut, FreeSums
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, conjuncts
from mmaproof.smt.proving.walk import bottom_up, substituted, symbols_in
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.query import width_of

FIRST_RANGE, MOST_AT_ONCE = 4, 16
"""Distances that are asked about together in one leaf, at first and at most."""
MOST_COMPARED, NEAR_COMPARED = 128, 2
"""Distances that are asked about together where words are compared, and where terms may cancel, too."""
LEAST_PRECISION = 11
"""The bits of c from which on words of a sum of two numbers are compared; else a range is decided sooner."""
NEAR = -2, 1
"""Distances in which the terms may cancel, which take longest: no range has others with them."""
RANGE_SECONDS = 12.0
"""Seconds for a range of distances in one leaf, before its words are compared."""
PRODUCT_SECONDS, FACTOR_SECONDS = 30.0, 5.0
ROWS_OF_SUM, ZERO_SECONDS = 24, 30.0
"""Samples of a distance from which it is seen how sums are related, and seconds for a c that is zero."""
MOST_LOST = 3
"""Single distances that are not proved of any sum, after which no more are tried."""
FLAGS = "opposite signs", "c zero"
Samples = Callable[[int, int, Sequence[bool | None]], Sequence[Mapping[str, int]]]
"""Operands with a distance in a range, and with flags."""


@dataclass(frozen=True)
class _Shifted:
    """That a word is ``of``, moved some places to the left and extended with zeros."""

    of: FNode
    places: int


class DistanceCases:
    """Refutes the root of a kernel. ``a``, ``b`` and ``c`` are the patterns of its operands, with their formats."""

    def __init__(
        self,
        kernel: Kernel,
        a: tuple[FNode, Format],
        b: tuple[FNode, Format],
        c: tuple[FNode, Format],
        columns: Columns,
    ) -> None:
        self._kernel, self._columns = kernel, columns
        self._pinned = _pinned(kernel.root)
        self._symbols = a[0], b[0], c[0]
        self._a, self._b, self._c = ((self._pinned.get(x, x), fmt) for x, fmt in (a, b, c))
        self._m: Any = kernel.environment.formula_manager
        self._factors: tuple[FNode, FNode] | None = None
        self._product: FNode | None = None
        self._facts: list[FNode] = []
        self._known: list[FNode] = []
        """what lemmas about products assume"""

    def prove(self) -> None:
        """Add the steps. Raises NotComposedError."""
        m, (_, fmt) = self._m, self._c
        root = substituted(self._kernel.environment, self._kernel.root, self._pinned)
        claim = substituted(self._kernel.environment, root, self._products())
        # the addend lies so far above the product that it is rounded alone, or wholly below what is rounded
        beyond = fmt.precision + 3
        lowest, highest = -beyond, self._a[1].precision + self._b[1].precision + beyond
        distance, has_product = self._distance(), self._product is not None
        of_sum = has_product or self._adds()
        if of_sum:
            distance = self._defined("distance", distance)
        cases = Cases(self._kernel, self._special(), self._subnormal(), distance, [claim, *self._facts])
        of_product = _fraction(m, *self._a) if self._product is None else self._product
        fractions = [of_product, _fraction(m, *self._c)]
        if not has_product and fmt.precision >= LEAST_PRECISION:
            flags_of_signs = [self._opposite(), self._zero(*self._c)]
            cases.compare_words(claim, self._facts, flags_of_signs, self._samples, fractions)
        for word in fractions:
            cases.divide(word)
        cases.special()
        ranges = [(lowest, highest)]
        if of_sum:
            claim = self._with_fraction(self._exponents(self._usual(claim), distance))
            cases.assume([claim, *self._facts])
            free = self._sums(claim, distance)
            if free is not None:
                flags = self._zero(*self._c), self._opposite()
                ranges = cases.free_sums(free, flags, lowest, highest, by_signs=not has_product)
        cases.below(lowest)
        cases.above(highest)
        never = [x.is_false() for x in self._subnormal()]
        for i in (j for j, holds in enumerate(never) if holds):
            cases.never_subnormal(i)
        # of a product that is a variable nothing else depends on whether its factors are subnormal
        ways: list[tuple[bool | None, ...]] = [(False,) if holds else (False, True) for holds in never]
        if has_product:
            ways[:2] = [(None,), (None,)]
        for (low, high), subnormal in product(ranges, product(*ways)):
            cases.between(low, high, subnormal)
        cases.conclude()

    def _adds(self) -> bool:
        """Return whether one factor is a constant, and c is none."""
        return [x.is_symbol() for x, _ in (self._a, self._b)].count(True) == 1 and self._c[0].is_symbol()

    def _sums(self, claim: FNode, distance: FNode) -> Callable[[FNode, tuple[int, int], bool | None], FreeSums] | None:
        """Return what cuts sums out of the claim in a case, in which signs are perhaps opposite; None without a sum."""
        m, (c, fmt), term = self._m, self._c, self._product
        if term is None or not c.is_symbol():
            return None
        operands, places = self._operands(), [x[1].sign_position for x in (self._a, self._b, self._c)]
        rows = {
            d: [x for x in some if operands[2].significand(x[c.symbol_name()])]
            for d, some in rows_of_all_distances(*operands, ROWS_OF_SUM).items()
        }
        normal, opposite = m.Not(self._subnormal()[2]), self._opposite()
        equal, sign = m.Not(opposite), m.Equals(m.BVExtract(c, places[2], places[2]), m.BV(1, 1))
        conditions = [normal, opposite, equal, m.And(normal, opposite), m.And(normal, equal)]

        def are_opposite(row: Mapping[str, int]) -> bool:
            return bool(sum(row[x.name] >> sign for x, sign in zip(operands, places, strict=True)) % 2)

        def of_case(case: FNode, distances: tuple[int, int], signs: bool | None) -> FreeSums:
            low, high = distances
            some = {d: rows[d] for d in range(low, high + 1) if d in rows}
            if signs is not None:
                some = {d: [x for x in found if are_opposite(x) == signs] for d, found in some.items()}
            terms, of_signs = (term, c, distance), [sign, m.Iff(sign, equal)]
            within = None if self._factors else case  # the branches of a fused multiply-add are few
            return FreeSums(self._kernel, claim, self._facts, terms, fmt.precision, conditions, of_signs, some, within)

        return of_case

    # --- the product ------------------------------------------------------------------------------------------

    def _products(self) -> Mapping[FNode, FNode]:
        """Define the product and its factors, and return what replaces each word that is a product."""
        words = list(_nodes(self._kernel.root))
        own_word = next((x for x in words if _is_product(x)), None)
        if own_word is None or any(x.is_constant() for x, _ in (self._a, self._b)):
            return {}
        m, kernel = self._m, self._kernel
        x, y = (z.arg(0) for z in own_word.args())
        self._factors = x, y
        u, v = (self._defined(f"factor{i}", z) for i, z in enumerate((x, y)))
        own = m.BVMul(*(m.BVZExt(z, own_word.bv_width() - z.bv_width()) for z in (u, v)))
        self._product = p = self._defined("product", own)
        self._size(u, v, own)
        self._facts = [substituted(kernel.environment, fact, {u: x, v: y, own: p}) for fact in _sizes(m, u, v, own)]
        return {own_word: p, **self._images(kernel.root, own_word)}

    def _images(self, term: FNode, own_word: FNode | None = None) -> dict[FNode, FNode]:
        """Return the image of each word that is the product, moved perhaps, but for one."""
        places: dict[FNode, FNode] = {}
        p, kernel = self._product, self._kernel
        if p is None or self._factors is None:
            return places
        definitions = {z: t for t, z in kernel.definitions.items()}
        x, y = self._factors
        for word in _nodes(term):
            if word is not own_word and (found := self._shifted(word, p)) is not None:
                image = self._moved(found, word.bv_width())
                product = substituted(kernel.environment, image, {p: kernel.definitions[p]})
                if self._is_product(word, (x, definitions[x]), (y, definitions[y]), product):
                    places[word] = image
        return places

    def _usual(self, claim: FNode) -> FNode:
        """Return the claim with words replaced that are the product of operands that are not special.

        That no operand is special is known. Some units have no integer bit in patterns of infinities and NaN.
        """
        usual, kernel = self._m.Not(self._special()), self._kernel
        are_usual = self._columns.values(usual).tolist()
        self._columns = Columns([row for row, x in zip(self._columns.rows, are_usual, strict=True) if x])
        for variable, term in kernel.definitions.items():
            self._columns.define(variable, self._columns.values(term))
        self._known = [usual]
        return substituted(kernel.environment, claim, self._images(claim))

    def _defined(self, name: str, term: FNode) -> FNode:
        variable: FNode = self._m.Symbol(
            f"{name}.{term.bv_width()}", self._kernel.environment.type_manager.BVType(term.bv_width())
        )
        self._columns.define(variable, self._columns.values(term))
        self._kernel.define(variable, term)
        return variable

    def _size(self, u: FNode, v: FNode, own: FNode) -> None:
        for fact in _sizes(self._m, u, v, own):
            self._kernel.use(fact, [], "how large a product is")

    def _shifted(self, word: FNode, of: FNode) -> _Shifted | None:
        """Return how a word is another one on all samples, None if it is not; no word that holds nothing else is."""
        if not width_of(word) or word.is_symbol() or word.is_constant() or word.bv_width() < of.bv_width():
            return None
        if word.is_bv_zext() or (word.is_bv_concat() and any(x.is_constant() for x in word.args())):
            inner = [x for x in word.args() if not x.is_constant()]
            if any(self._shifted(x, of) is not None for x in inner):
                return None  # what is inside is replaced
        pairs = zip(self._columns.values(word).tolist(), self._columns.values(of).tolist(), strict=True)
        places: int | None = None
        for value, wanted in pairs:
            if wanted == 0 or value == 0:
                if value != wanted:
                    return None
                continue
            moved = value.bit_length() - wanted.bit_length()
            if moved < 0 or value != wanted << moved or places not in (None, moved):
                return None
            places = moved
        if places is None or places + of.bv_width() > word.bv_width():
            return None
        return _Shifted(of, places)

    def _moved(self, found: _Shifted, width: int) -> FNode:
        m, term = self._m, found.of
        if found.places:
            term = m.BVConcat(term, m.BV(0, found.places))
        extended: FNode = term if term.bv_width() == width else m.BVZExt(term, width - term.bv_width())
        return extended

    def _is_product(self, word: FNode, first: tuple[FNode, FNode], second: tuple[FNode, FNode], product: FNode) -> bool:
        """Prove that a word is a product, as a statement about the factors; return whether that is proved."""
        kernel, m = self._kernel, self._m
        over: dict[FNode, FNode] = {}
        for inner in _nodes(word):
            if inner is word:
                continue
            for term, variable in (first, second):
                found = self._shifted(inner, variable)
                bits = self._bits(inner, variable) if found is None else None
                if found is not None:
                    image, own = (self._moved(_Shifted(x, found.places), inner.bv_width()) for x in (term, variable))
                elif bits is not None:
                    image, own = (self._at(bits, x, inner) for x in (term, variable))
                else:
                    continue
                same = m.Equals(inner, image) if width_of(inner) else m.Iff(inner, image)
                try:
                    kernel.use(same, self._known, "a factor of a product", seconds=FACTOR_SECONDS)
                except NotComposedError:
                    continue
                over[inner] = own
        claim = m.Equals(substituted(kernel.environment, word, over), product)
        if claim.is_true() or kernel.same(*claim.args()):
            return True
        try:
            kernel.use(claim, [], "a product", seconds=PRODUCT_SECONDS)
        except NotComposedError:
            return False
        return True

    def _bits(self, part: FNode, of: FNode) -> int | None:
        """Return where bits of a pattern, or one bit, are in a factor on all samples; None if they are not there."""
        width = max(1, width_of(part))
        if part.is_constant() or not (width == 1 or (part.is_bv_extract() and part.arg(0).is_symbol())):
            return None
        own, values = self._columns.values(of), self._columns.values(part)
        places = range(of.bv_width() - width + 1)
        return next((i for i in places if ((own >> i & _ones(width)) == values).all()), None)

    def _at(self, place: int, factor: FNode, part: FNode) -> FNode:
        """Return the bits of a factor from a place on, as many as a part has, or one bit as a truth value."""
        m, width = self._m, width_of(part)
        bits: FNode = m.BVExtract(factor, place, place + max(1, width) - 1)
        return bits if width else m.Equals(bits, m.BV(1, 1))

    # --- exponents --------------------------------------------------------------------------------------------

    def _exponents(self, claim: FNode, distance: FNode) -> FNode:
        """Return the claim with words of exponents replaced by what they are of the distance, a variable.

        That no operand is special is known.
        """
        kernel, m = self._kernel, self._m
        term, usual = kernel.definitions[distance], m.Not(self._special())
        addend = _exponent(m, *self._c, term.bv_width())
        rows = [x for some in rows_of_all_distances(*self._operands()).values() for x in some]
        words = ExponentWords(kernel, distance, addend, [usual], rows)
        places = words.places(claim, frozenset(x for x, _ in (self._a, self._b) if x.is_symbol()))
        known = [usual, *self._facts]
        for fact, why in self._ranges(term, addend):
            try:
                kernel.use(fact, known, why, seconds=FACTOR_SECONDS)
            except NotComposedError:
                continue  # factors of another kind; the cases may be proved without it
            self._facts.append(substituted(kernel.environment, fact, {term: distance}))
        # what was not replaced is about a and b. An equation would be solved for the variable, and bring the sum back
        kernel.use(m.BVSLE(term, term), [], "a distance is itself")
        self._facts += [m.BVSLE(distance, term), m.BVSLE(term, distance)]
        return substituted(kernel.environment, claim, places)

    def _ranges(self, distance: FNode, addend: FNode) -> Iterator[tuple[FNode, str]]:
        """Yield how small and how large the distance is, and the exponent of the product."""
        m, bits = self._m, distance.bv_width()
        least, most = zip(*(self._fields(*x) for x in (self._a, self._b, self._c)), strict=True)
        offset = self._a[1].e_min + self._b[1].e_min - self._c[1].e_min - 1
        low, high = (offset + x[0] + x[1] for x in (least, most))

        def number(value: int) -> FNode:
            found: FNode = m.BV(value % (1 << bits), bits)
            return found

        of_product = m.BVAdd(distance, addend)
        for word, begin, end in ((distance, low - most[2], high - least[2]), (of_product, low, high)):
            yield m.And(m.BVSLE(number(begin), word), m.BVSLE(word, number(end))), "the range of exponents"
        # a product that is smaller than a normal factor is one of subnormal factors
        p, normal = self._product, min(x[1].precision for x in (self._a, self._b)) - 1
        if p is not None:
            small = m.BVULT(p, m.BV(1 << normal, p.bv_width()))
            yield m.Implies(small, m.Equals(of_product, number(low))), "how large a product of subnormal factors is"

    def _with_fraction(self, claim: FNode) -> FNode:
        """Return a claim about a sum of two operands with the fraction of the first one a variable."""
        if self._product is not None:
            return claim
        m, (pattern, fmt) = self._m, next(x for x in (self._a, self._b) if x[0].is_symbol())
        self._product = p = self._defined("fraction", _fraction(m, pattern, fmt))
        first, last = fmt.ignored_bits, fmt.ignored_bits + p.bv_width() - 1

        def bits(low: int, high: int, fraction: FNode) -> FNode:
            found = []
            if low < first:
                found.append(m.BVExtract(pattern, low, min(high, first - 1)))
            if low <= last and first <= high:
                found.append(m.BVExtract(fraction, max(low, first) - first, min(high, last) - first))
            if last < high:
                found.append(m.BVExtract(pattern, max(low, last + 1), high))
            whole = found.pop()
            while found:
                whole = m.BVConcat(whole, found.pop())
            return whole

        places = {}
        for x in _nodes(claim):
            if x is pattern or (x.is_bv_extract() and x.arg(0) is pattern):
                low, high = (0, fmt.bits - 1) if x is pattern else (x.bv_extract_start(), x.bv_extract_end())
                own, places[x] = (bits(low, high, fraction) for fraction in (self._kernel.definitions[p], p))
                self._kernel.use(m.Equals(x, own), [], "bits of an operand")
        return substituted(self._kernel.environment, claim, places)

    @staticmethod
    def _fields(pattern: FNode, fmt: Format) -> tuple[int, int]:
        """Return the least and the largest exponent field of a finite operand, 1 where it is subnormal."""
        top = _ones(fmt.exponent_bits)
        if pattern.is_constant():
            field = max(1, int(pattern.constant_value()) >> fmt.ignored_bits + fmt.fraction_bits & top)
            return field, field
        return 1, top - (fmt.specials is Specials.IEEE)

    # --- the cases --------------------------------------------------------------------------------------------

    def _special(self) -> FNode:
        """Return whether an operand may be no finite number, or the product is zero."""
        m = self._m
        found = [
            m.Equals(_field(m, *x), m.BV(_ones(x[1].exponent_bits), x[1].exponent_bits))
            for x in (self._a, self._b, self._c)
            if x[1].specials is Specials.IEEE
        ]
        if self._factors is not None:
            found += [m.Equals(x, m.BV(0, x.bv_width())) for x in self._factors]
        else:
            found += [self._zero(*x) for x in (self._a, self._b) if not x[0].is_constant()]
        special: FNode = m.Or(found)
        return special

    def _zero(self, pattern: FNode, fmt: Format) -> FNode:
        zero: FNode = self._m.Equals(
            self._m.BVExtract(pattern, fmt.ignored_bits, fmt.sign_position - 1),
            self._m.BV(0, fmt.sign_position - fmt.ignored_bits),
        )
        return zero

    def _opposite(self) -> FNode:
        """Return whether the product and c have different signs."""
        m = self._m
        a, b, c = (m.BVExtract(x, fmt.sign_position, fmt.sign_position) for x, fmt in (self._a, self._b, self._c))
        opposite: FNode = m.Equals(m.BVXor(m.BVXor(a, b), c), m.BV(1, 1))
        return opposite

    def _samples(self, low: int, high: int, flags: Sequence[bool | None]) -> list[Mapping[str, int]]:
        """Return operands with a distance in a range and with flags, as ``samples`` has them."""
        a, b, c = self._operands()
        return samples(a, b, c, (low, high), flags)

    def _operands(self) -> tuple[Operand, Operand, Operand]:
        """Return the operands as samples have them."""
        whole = self._pinned
        pairs = zip(self._symbols, (self._a, self._b, self._c), strict=True)
        a, b, c = (
            Operand(x.symbol_name(), fmt, int(whole[x].constant_value()) if x in whole else None)
            for x, (_, fmt) in pairs
        )
        return a, b, c

    def _subnormal(self) -> list[FNode]:
        """Return of each operand whether it is subnormal or zero."""
        m = self._m
        found = [m.Equals(_field(m, *x), m.BV(0, x[1].exponent_bits)) for x in (self._a, self._b, self._c)]
        return [self._kernel.environment.simplifier.simplify(x) if not symbols_in(x) else x for x in found]

    def _distance(self) -> FNode:
        """Return the exponent of the product minus that of c, each that of a significand with an integer bit."""
        m = self._m
        bits = max(x[1].exponent_bits for x in (self._a, self._b, self._c)) + 3
        a, b, c = (_exponent(m, *x, bits) for x in (self._a, self._b, self._c))
        offset = self._a[1].e_min + self._b[1].e_min - self._c[1].e_min - 1
        distance: FNode = m.BVAdd(m.BVSub(m.BVAdd(a, b), c), m.BV(offset % (1 << bits), bits))
        return distance


@dataclass(frozen=True)
class _Box:
    """Cases: ranges of the distance, of further flags, and of the places of the highest bits of words."""

    distance: tuple[int, int]
    flags: tuple[bool | None, ...]
    places: tuple[tuple[int, int], ...]

    def halves(self) -> tuple[_Box, ...]:
        """Return two boxes that make this one, none if nothing is left to divide."""
        ranges = [self.distance, *self.places]
        for i, (low, high) in enumerate(ranges):
            if low < high:
                middle = (low + high) // 2
                parts = ([*ranges[:i], x, *ranges[i + 1 :]] for x in ((low, middle), (middle + 1, high)))
                return tuple(_Box(x[0], self.flags, tuple(x[1:])) for x in parts)
        return ()


class Cases:
    """Cases of what is ``assumed``, all of which are refuted: flags, ranges of a signed word and of other words.

    Each method raises NotComposedError where something may satisfy a case.
    """

    def __init__(
        self, kernel: Kernel, special: FNode, subnormal: Sequence[FNode], distance: FNode, assumed: Sequence[FNode]
    ) -> None:
        self._kernel, self._assumed = kernel, assumed
        self._m: Any = kernel.environment.formula_manager
        self._given: dict[FNode, FNode] = {}
        """what each symbol of a case stands for"""
        self._special, self._d, *self._subnormal = (self._symbol(x) for x in (special, distance, *subnormal))
        self._divided: list[FNode] = []
        self._flags: list[FNode] = []
        self._nets: CaseNets | None = None
        self._samples: Samples = lambda *_: []
        self._fractions: Sequence[FNode] = ()
        self._refuted: list[FNode] = []
        """the cases that nothing satisfies, over symbols"""
        self._at_once = FIRST_RANGE

    def compare_words(
        self,
        claim: FNode,
        facts: Sequence[FNode],
        flags: Sequence[FNode],
        samples: Samples,
        fractions: Sequence[FNode],
    ) -> None:
        """Let words of a claim that is known to hold be compared in cases in which all of some flags are known.

        ``fractions`` are the words that are normalised where the product and c are subnormal.
        """
        self._fractions = fractions
        self._flags = [self._symbol(x) for x in flags]
        self._nets, self._samples = CaseNets(self._kernel, claim, facts), samples

    def divide(self, word: FNode) -> None:
        """Let cases be divided by the place of a word's highest bit, too, where one distance is too much at once."""
        self._divided.append(self._symbol(word))

    def assume(self, assumed: Sequence[FNode]) -> None:
        """Let the cases that follow be refuted by these assumptions, which are known."""
        self._assumed = assumed

    def special(self) -> None:
        """Refute that an operand is special."""
        self._refute(self._special, "special operands", None)

    def never_subnormal(self, i: int) -> None:
        """Refute that an operand, which is a constant, is subnormal."""
        self._refute(self._subnormal[i], f"{'abc'[i]} subnormal", None)

    def below(self, lowest: int) -> None:
        """Refute a distance below a number."""
        self._refute_usual([self._m.BVSLT(self._d, self._number(lowest))], f"distance below {lowest}", None)

    def above(self, highest: int) -> None:
        """Refute a distance above a number."""
        self._refute_usual([self._m.BVSLT(self._number(highest), self._d)], f"distance above {highest}", None)

    def between(self, low: int, high: int, subnormal: Sequence[bool | None]) -> None:
        """Refute a distance from ``low`` to ``high`` where each flag of subnormal operands is as stated."""
        everywhere = tuple((0, x.bv_width()) for x in self._divided)
        for first, last in _apart(low, high):
            begin, compared, self._at_once = first, self._nets is not None, FIRST_RANGE
            if compared and not any(
                self._rows(_Box((begin, last), x, everywhere), subnormal) for x in self._ways(subnormal[-1])
            ):
                # it seems that there are no such operands
                self._box(_Box((begin, last), (None,) * len(self._flags), everywhere), subnormal)
                continue
            while begin <= last:
                is_near = NEAR[0] <= first <= NEAR[1]
                most = self._at_once if not compared else NEAR_COMPARED if is_near else MOST_COMPARED
                distance = begin, min(begin + most - 1, last)
                nets = self._common(_Box(distance, (None,) * len(self._flags), everywhere), subnormal)
                for flags in self._ways(subnormal[-1]):
                    self._box(_Box(distance, flags, everywhere), subnormal, nets)
                begin = distance[1] + 1

    def free_sums(
        self,
        sums: Callable[[FNode, tuple[int, int], bool | None], FreeSums],
        flags: tuple[FNode, FNode],
        low: int,
        high: int,
        *,
        by_signs: bool,
    ) -> list[tuple[int, int]]:
        """Refute distances with sums that are any words, and a c that is zero. Return the ranges that are left.

        ``flags`` say whether c is zero, and whether signs are opposite: ``by_signs``, a range in which no sums are
        related is divided by that, then halved.
        """
        zero, opposite = map(self._symbol, flags)
        try:
            self._refute_usual([zero], "c zero", ZERO_SECONDS)
        except NotComposedError:
            return [(low, high)]

        def of(begin: int, end: int, signs: bool | None) -> tuple[FNode, FNode, str]:
            """Return a case over symbols, and over terms, and what it is in words."""
            within, why = self._within(_Box((begin, end), (), ()), (None,) * len(self._subnormal))
            if signs is not None:
                within.append(opposite if signs else self._m.Not(opposite))
                why += ", opposite signs" if signs else ", equal signs"
            case = self._m.And(self._m.Not(self._special), self._m.Not(zero), *within)
            return case, substituted(self._kernel.environment, case, self._given), why

        ranges = [_Range(*x) for x in _apart(low, high)]
        left: list[tuple[int, int]] = []
        lost = 0
        while ranges:
            part = ranges.pop()
            if lost == MOST_LOST:
                left.append((part.begin, part.end))
                continue
            case, own, why = of(part.begin, part.end, part.signs)
            found = part.found
            if found is None:
                found = sums(own, (part.begin, part.end), part.signs)
                parts = list(found.ranges(part.begin, part.end))
                if any(x is not None for *_, x in parts):
                    ranges += [_Range(first, last, part.signs, found, x) for first, last, x in parts]
                    continue
            if _refuted_by_sums(found, own, part, why) or (part.is_least(by_signs) and found.refuted_at_once(own, why)):
                self._refuted.append(case)
            elif divided := part.divided(found, by_signs):
                ranges += divided
            else:
                lost += by_signs or part.cut is not None
                left.append((part.begin, part.end))
        return _joined(left)

    def _ways(self, subnormal_c: bool | None) -> tuple[tuple[bool | None, ...], ...]:
        """Return flags that make all cases. Only a subnormal c may be zero; its sign is not looked at then."""
        if self._nets is None:
            return ((),)
        zero = False if subnormal_c else None
        return (False, zero), (True, zero), *([(None, True)] if subnormal_c else [])

    def _box(self, box: _Box, subnormal: Sequence[bool | None], nets: CaseNets | None = None) -> None:
        low, high = box.distance
        halves, began = box.halves(), worked()
        rows = self._rows(box, subnormal)
        if rows and self._compared(box, subnormal, rows, nets or self._nets):
            return
        if not rows or high - low < FIRST_RANGE:
            try:
                self._refute_usual(*self._within(box, subnormal), RANGE_SECONDS if halves else None)
            except NotComposedError:
                if not halves:
                    raise
            else:
                if worked() - began < RANGE_SECONDS / 4:
                    self._at_once = min(2 * self._at_once, MOST_AT_ONCE)
                return
        self._at_once = max(1, min(self._at_once, high - low + 1) // 2)
        for half in halves:
            self._box(half, subnormal)

    def _rows(self, box: _Box, subnormal: Sequence[bool | None]) -> Sequence[Mapping[str, int]]:
        """Return samples of a box, none where words are not compared in it."""
        divided = any(x != (0, y.bv_width()) for x, y in zip(box.places, self._divided, strict=True))
        if self._nets is None or divided:
            return []
        return self._samples(*box.distance, (*subnormal, *box.flags))

    def _common(self, box: _Box, subnormal: Sequence[bool | None]) -> CaseNets | None:
        """Return the claim with words replaced that are equal in a box, whatever its flags are."""
        if self._nets is None or not (rows := self._rows(box, subnormal)):
            return None
        within, why = self._within(box, subnormal)
        case = substituted(self._kernel.environment, self._m.And(self._m.Not(self._special), *within), self._given)
        return self._nets.within(case, rows, why, self._words_of(subnormal))

    def _compared(
        self, box: _Box, subnormal: Sequence[bool | None], rows: Sequence[Mapping[str, int]], nets: CaseNets | None
    ) -> bool:
        """Compare the words of a box on samples, and return whether it is refuted."""
        within, why = self._within(box, subnormal)
        case = self._m.And(self._m.Not(self._special), *within)
        if nets is None:
            return False
        try:
            nets.refute(substituted(self._kernel.environment, case, self._given), rows, why, self._words_of(subnormal))
        except NotComposedError:
            return False
        self._refuted.append(case)
        return True

    def _words_of(self, subnormal: Sequence[bool | None]) -> list[FNode]:
        """Return the words whose highest bit decides about shifts where these operands are subnormal."""
        of_product, of_c = any(subnormal[:2]), subnormal[2]
        if not (of_product or of_c):
            return []
        m, fractions = self._m, self._fractions
        if of_product and of_c:
            return [m.BVOr(*fractions)] if fractions[0].bv_width() == fractions[1].bv_width() else []
        return [fractions[0] if of_product else fractions[1]]

    def _within(self, box: _Box, subnormal: Sequence[bool | None]) -> tuple[list[FNode], str]:
        """Return what holds in a box, and what that is in words."""
        m, (low, high) = self._m, box.distance
        within = [m.BVSLE(self._number(low), self._d), m.BVSLE(self._d, self._number(high))]
        flags = [(x, holds) for x, holds in zip(self._subnormal, subnormal, strict=True) if holds is not None]
        within += [x if holds else m.Not(x) for x, holds in flags]
        names = " and ".join(x for x, holds in zip("abc", subnormal, strict=False) if holds)
        why = f"distance from {low} to {high}{f', {names} subnormal' if names else ''}"
        for flag, name, holds in zip(self._flags, FLAGS, box.flags, strict=False):
            if holds is not None:
                within.append(flag if holds else m.Not(flag))
                why += f", {name}" if holds else ""
        for word, (lowest, highest) in zip(self._divided, box.places, strict=False):
            width = word.bv_width()
            if lowest > 0:
                within.append(m.BVULE(m.BV(1 << (lowest - 1), width), word))
            if highest < width:
                within.append(m.BVULT(word, m.BV(1 << highest, width)))
            if (lowest, highest) != (0, width):
                why += f", {lowest} to {highest} bits"
        return within, why

    def conclude(self) -> None:
        """Refute what was assumed, by the lemma that there are no other cases."""
        m = self._m
        self._kernel.use(m.FALSE(), [m.Not(x) for x in self._refuted], "there is no other case", self._given)

    def _refute_usual(self, within: Sequence[FNode], why: str, seconds: float | None) -> None:
        self._refute(self._m.And(self._m.Not(self._special), *within), why, seconds)

    def _refute(self, case: FNode, why: str, seconds: float | None) -> None:
        own = substituted(self._kernel.environment, case, self._given)
        self._kernel.use(self._m.Not(own), self._assumed, why, seconds=seconds)
        self._refuted.append(case)

    def _symbol(self, term: FNode) -> FNode:
        width = width_of(term)
        kinds = self._kernel.environment.type_manager
        symbol: FNode = self._m.FreshSymbol(kinds.BVType(width) if width else kinds.BOOL())
        self._given[symbol] = term
        return symbol

    def _number(self, value: int) -> FNode:
        width = self._d.bv_width()
        found: FNode = self._m.BV(value % (1 << width), width)
        return found


class _Range(NamedTuple):
    """Distances from ``begin`` to ``end``, of all signs or of those that are opposite or equal.

    ``found`` are the sums in it once they were looked for, and ``cut`` how they are related to words of the model.
    """

    begin: int
    end: int
    signs: bool | None = None
    found: FreeSums | None = None
    cut: Cut | None = None

    def is_least(self, by_signs: bool) -> bool:
        """Return whether nothing is left to divide of a range that is divided by signs."""
        return by_signs and self.signs is not None and self.begin == self.end

    def divided(self, found: FreeSums, by_signs: bool) -> list[_Range]:
        """Return the ranges that this one is divided into where its lemma was not refuted; none where it is left."""
        is_near = NEAR[0] <= self.begin <= NEAR[1]
        if self.cut is not None and self.begin < self.end and not (by_signs and is_near):
            return self._halves(found, self.cut)
        if not by_signs:
            return []
        if self.signs is None:
            return [_Range(self.begin, self.end, signs) for signs in (False, True)]
        return self._halves() if self.begin < self.end else []

    def _halves(self, found: FreeSums | None = None, cut: Cut | None = None) -> list[_Range]:
        middle = (self.begin + self.end) // 2
        return [_Range(*x, self.signs, found, cut) for x in ((self.begin, middle), (middle + 1, self.end))]


def _refuted_by_sums(found: FreeSums, case: FNode, part: _Range, why: str) -> bool:
    """Refute a range by its sums; return whether that was done."""
    if part.cut is None:
        return False
    try:
        found.refute(case, part.cut, (part.begin, part.end), why)
    except NotComposedError:
        return False
    return True


def _apart(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a range in which terms may cancel, and may not."""
    for first, last in ((low, NEAR[0] - 1), NEAR, (NEAR[1] + 1, high)):
        if max(low, first) <= min(high, last):
            yield max(low, first), min(high, last)


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in their order, neighbours as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        begin = found.pop()[0] if found and found[-1][1] == low - 1 else low
        found.append((begin, high))
    return found


def _pinned(root: FNode) -> dict[FNode, FNode]:
    """Return the symbols that are a constant in all that satisfies the root, each with the constant."""
    found = {}
    for x in conjuncts(root):
        if x.is_equals():
            symbol, value = sorted(x.args(), key=FNode.is_constant)
            if symbol.is_symbol() and value.is_constant():
                found[symbol] = value
    return found


def _sizes(m: Any, x: FNode, y: FNode, product: FNode) -> Iterator[FNode]:
    """Yield what is known of a product's size: that it is not below its factors, and what their highest bits say."""
    width = product.bv_width()
    for factor, other in ((x, y), (y, x)):
        zero = m.Equals(other, m.BV(0, other.bv_width()))
        yield m.Or(zero, m.BVULE(m.BVZExt(factor, width - factor.bv_width()), product))
        yield m.Implies(zero, m.Equals(product, m.BV(0, width)))
    tops = [m.BVULE(m.BV(1 << (z.bv_width() - 1), z.bv_width()), z) for z in (x, y)]
    least = 1 << (x.bv_width() + y.bv_width() - 2)
    yield m.Implies(m.And(tops), m.BVULE(m.BV(least, width), product))
    yield m.BVULE(product, m.BV(_ones(x.bv_width()) * _ones(y.bv_width()), width))


def _nodes(term: FNode) -> Iterator[FNode]:
    """Yield a term's words and truth values, each after its operands."""
    order: list[FNode] = []
    known: dict[FNode, None] = {}
    bottom_up(term, known, lambda node, _: order.append(node))
    return iter(order)


def _is_product(term: FNode) -> bool:
    """Return whether a term multiplies two words of which none of the bits is lost."""
    if not term.is_bv_mul() or not all(x.is_bv_zext() for x in term.args()):
        return False
    inner = [x.arg(0) for x in term.args()]
    return not any(x.is_constant() for x in inner) and sum(x.bv_width() for x in inner) <= term.bv_width()


def _field(m: Any, pattern: FNode, fmt: Format) -> FNode:
    low = fmt.ignored_bits + fmt.fraction_bits
    found: FNode = m.BVExtract(pattern, low, low + fmt.exponent_bits - 1)
    return found


def _fraction(m: Any, pattern: FNode, fmt: Format) -> FNode:
    """Return the fraction of a pattern, one zero where a format has none."""
    if not fmt.fraction_bits:
        zero: FNode = m.BV(0, 1)
        return zero
    found: FNode = m.BVExtract(pattern, fmt.ignored_bits, fmt.ignored_bits + fmt.fraction_bits - 1)
    return found


def _exponent(m: Any, pattern: FNode, fmt: Format, bits: int) -> FNode:
    field = _field(m, pattern, fmt)
    zero = m.Equals(field, m.BV(0, fmt.exponent_bits))
    found: FNode = m.Ite(zero, m.BV(1, bits), m.BVZExt(field, bits - fmt.exponent_bits))
    return found


def _ones(bits: int) -> int:
    return (1 << bits) - 1
