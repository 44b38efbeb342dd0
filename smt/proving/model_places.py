"""A design over terms with every place of its datapath cut.

Each signal, and each product, magnitude and normalisation inside the stages, becomes a variable that stands for its
term over earlier variables (``CutVariables``). What is proved of the variables are facts: the bounds of signals, the
invariants that the semantics states (``Algebra.check``), and ranges of exponents. A fact that is not proved is not
used.

An operand is taken apart into sign, exponent and significand. Where it is proved that these three give the pattern
back, the pattern is written over their variables from then on, so that a netlist that reads bits of the pattern reads
bits of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.laws import LawfulTerms
from mmaproof.smt.proving.linear import Bounds
from mmaproof.smt.proving.walk import bottom_up, substituted
from mmaproof.smt.solving.query import TRUTH

FACT_SECONDS = 5.0
"""Seconds that a query about a fact may take."""
EXPONENTS = frozenset({SignalKind.OPERAND_EXPONENT, SignalKind.EXPONENT, SignalKind.E_MAX})


@dataclass(frozen=True)
class ModelSignal:
    """A variable of the model: its name, what it stands for, and how it is read."""

    name: str
    variable: FNode
    definition: FNode
    width: int
    signed: bool
    kind: SignalKind | None = None


class ModelPlaces(CutPlaces[FNode, FNode], LawfulTerms):
    """The symbolic interpretation with a variable at each place, as the module text describes.

    ``patterns`` gives the formats of the operand symbols that may be taken apart, ``of_d`` that of results.
    """

    def __init__(
        self, cuts: CutVariables, environment: Environment, patterns: Mapping[FNode, Format], of_d: Format
    ) -> None:
        super().__init__(environment)
        self.cuts = cuts
        self.signals: list[ModelSignal] = []
        self.bounds: dict[FNode, Bounds] = {}
        self.patterns: dict[FNode, FNode] = {}
        """operand symbol -> the same pattern over the variables of its parts"""
        self._operands = frozenset(patterns)
        self._formats = dict(patterns)
        self._of_d = of_d
        self._rewritten: dict[FNode, FNode] = {}
        self._columns: dict[tuple[int, bool, bytes], FNode] = {}
        self._variables: dict[FNode, FNode] = {}
        self._of_operand: list[ModelSignal] = []

    # --- places -----------------------------------------------------------------------------------------------

    def signal(self, name: Signal, x: Word[FNode], bounds: Bounds | None = None) -> Word[FNode]:
        """Return the variable of a signal, its bounds proved where they say anything."""
        word = self._cut(str(name), x, name.kind)
        if bounds is not None:
            self._bound(word, bounds)
        if name.kind is SignalKind.OPERAND_SIGNIFICAND:
            self._take_apart()
        elif name.kind in EXPONENTS:
            self._bound_exponent(word)
        elif name.kind in (SignalKind.CONVERTED, SignalKind.D):
            self._bound_magnitude(word)
        return word

    def signal_truth(
        self, name: Signal, x: Truth[FNode], observable: Callable[[], Truth[FNode]] | None = None
    ) -> Truth[FNode]:
        """Return the variable of a signal."""
        return Truth(self._variable(str(name), x.data, TRUTH, False, name.kind), self)

    def place(self, what: str, x: Word[FNode]) -> Word[FNode]:
        """Return the variable of a place."""
        return self._cut(what, x, None)

    def place_of_truth(self, what: str, x: Truth[FNode]) -> Truth[FNode]:
        """Return the variable of a truth value."""
        return Truth(self._variable(what, x.data, TRUTH, False, None), self)

    def place_of_product(self, x: Word[FNode], y: Word[FNode], product: Word[FNode]) -> Word[FNode]:
        """Return the variable of a product."""
        return self._cut("product", product, None)

    def shift_right(self, x: Word[FNode], amount: Word[FNode]) -> Word[FNode]:
        """Return what stands for floor(x / 2**amount); the amount is a place as well."""
        return super().shift_right(x, self._placed("distance", amount))

    def shift_right_jam(self, x: Word[FNode], amount: Word[FNode]) -> Word[FNode]:
        """Return what stands for x / 2**amount, rounded to odd; the amount is a place as well."""
        return super().shift_right_jam(x, self._placed("distance", amount))

    def _shift_in_steps(self, shift: Any, x: FNode, width: int, amount: FNode, amount_width: int) -> FNode:
        return super()._shift_in_steps(shift, x, width, self._amount_that_counts(x, amount), amount_width)

    def _amount_that_counts(self, x: FNode, amount: FNode) -> FNode:
        """Return the amount by which a word is shifted, without the constant for where it is proved to be zero."""
        if not amount.is_ite():
            return amount
        condition, first, second = amount.args()
        if first.is_constant() == second.is_constant():
            return amount
        counts, found = (self._terms.Not(condition), second) if first.is_constant() else (condition, first)
        is_zero = self._terms.Equals(x, self._terms.BV(0, x.bv_width()))
        claim = self._terms.Or(counts, is_zero)
        return found if self.cuts.holds("shift", "of nothing elsewhere", claim, seconds=FACT_SECONDS) else amount

    def _cut(self, what: str, x: Word[FNode], kind: SignalKind | None) -> Word[FNode]:
        return Word(self._variable(what, x.data, x.width, x.signed, kind), x.width, x.signed, self)

    def _variable(self, what: str, term: FNode, width: int, signed: bool, kind: SignalKind | None) -> FNode:
        term = self.rewritten(term)
        if (term.is_symbol() and term not in self._operands) or term.is_constant():
            return term
        known = self._variables.get(term)
        if known is not None:
            return known
        earlier = self._same_as(what, term, width, signed)
        if earlier is None:
            earlier = self.cuts.constant(what, term, seconds=FACT_SECONDS, widenings=1)
        if earlier is not None:
            self._variables[term] = earlier
            return earlier
        variable = self.cuts.new(term, width if width != TRUTH else None)
        self._columns.setdefault((width, signed, self.cuts.column(variable).tobytes()), variable)
        found = ModelSignal(what, variable, term, width, signed, kind)
        self._variables[term] = variable
        self.signals.append(found)
        if kind is SignalKind.D and not self._of_d.is_integer:
            self._formats[variable] = self._of_d  # the c of the next step may be taken apart
        if kind in (SignalKind.OPERAND_SIGN, SignalKind.OPERAND_EXPONENT, SignalKind.OPERAND_SIGNIFICAND):
            self._of_operand.append(found)
        return variable

    def _same_as(self, what: str, term: FNode, width: int, signed: bool) -> FNode | None:
        """Return an earlier variable that is proved to be equal to a word."""
        if width == TRUTH:
            return None
        earlier = self._columns.get((width, signed, self.cuts.column(term).tobytes()))
        if earlier is None or earlier not in self.cuts.symbols(term):
            return None
        claim = self._terms.Equals(term, earlier)
        return earlier if self.cuts.holds(what, "equal", claim, seconds=FACT_SECONDS, widenings=0) else None

    def rewritten(self, term: FNode) -> FNode:
        """Return a term with every operand that was taken apart written over its parts."""
        if not self.patterns:
            return term
        return bottom_up(term, self._rewritten, self._over_parts)

    def _over_parts(self, node: FNode, operands: Sequence[FNode]) -> FNode:
        if node in self.patterns:
            return self.patterns[node]
        if node.is_bv_extract():
            return self.bits(operands[0], node.bv_extract_start(), node.bv_extract_end())
        if all(x is y for x, y in zip(node.args(), operands, strict=True)):
            return node
        found: FNode = self._terms.create_node(node.node_type(), tuple(operands), payload(node))
        return found

    def _extract(self, x: FNode, width: int, high: int, low: int) -> FNode:
        return self.bits(x, low, high)

    def bits(self, term: FNode, low: int, high: int) -> FNode:
        """Return bits of a term, of the parts of a concatenation that they lie in."""
        if low == 0 and high == term.bv_width() - 1:
            return term
        if term.is_bv_concat():
            upper, lower = term.args()
            middle = lower.bv_width()
            if high < middle:
                return self.bits(lower, low, high)
            if low >= middle:
                return self.bits(upper, low - middle, high - middle)
            return self._terms.BVConcat(self.bits(upper, 0, high - middle), self.bits(lower, low, middle - 1))
        if term.is_bv_extract():
            start = term.bv_extract_start()
            return self.bits(term.arg(0), low + start, high + start)
        return self._terms.BVExtract(term, low, high)

    # --- operands ---------------------------------------------------------------------------------------------

    def _take_apart(self) -> None:
        """Write the operand whose parts were named last over them, if it is proved that they are the pattern."""
        parts, self._of_operand = self._of_operand, []
        raw = {s for x in parts for s in self.cuts.symbols(x.definition)}
        if len(raw) != 1:
            return
        (symbol,) = raw
        if symbol not in self._formats or symbol in self.patterns:
            return
        of = {x.kind: Word(x.variable, x.width, x.signed, self) for x in parts if x.width}
        signs = [x.variable for x in parts if x.kind is SignalKind.OPERAND_SIGN]
        exponent, significand = of.get(SignalKind.OPERAND_EXPONENT), of.get(SignalKind.OPERAND_SIGNIFICAND)
        pattern = self._pattern(self._formats[symbol], symbol, signs[0] if signs else None, exponent, significand)
        if pattern is None:
            return
        definitions = {x.variable: x.definition for x in parts}
        whole = substituted(self.environment, pattern, definitions)
        if not self.cuts.holds("operand", "is its parts", self._terms.Equals(symbol, whole), seconds=FACT_SECONDS):
            return
        self.patterns[symbol] = pattern
        self._rewritten.clear()
        fmt = self._formats[symbol]
        if exponent is not None and significand is not None and fmt.fraction_bits:
            normal = significand.bit(fmt.fraction_bits)
            self._fact("operand", "subnormal at the least exponent", (normal | exponent.is_value(fmt.e_min)).data)
        if exponent is not None:
            top = (1 << fmt.exponent_bits) - 1 - fmt.bias
            self._bound(exponent, (min(fmt.e_min, -fmt.bias if not fmt.fraction_bits else fmt.e_min), top))

    def _pattern(
        self,
        fmt: Format,
        symbol: FNode,
        sign: FNode | None,
        exponent: Word[FNode] | None,
        significand: Word[FNode] | None,
    ) -> FNode | None:
        """Return the pattern of an operand over its parts, None where parts are missing."""
        if exponent is None:
            return None
        f, low, bits = fmt.fraction_bits, fmt.ignored_bits, fmt.exponent_bits
        field = self.extract(self.add(exponent, self.signed(fmt.bias)), bits - 1, 0)
        if f:
            if significand is None:
                return None
            normal = significand.bit(f)
            field = self.ite(normal, field, self.unsigned(0, bits))
            field = self.concatenate(field, self.extract(significand, f - 1, 0))
        if fmt.signed:
            if sign is None:
                return None
            field = self.concatenate(Truth(sign, self).as_bit(), field)
        if low:
            field = self.concatenate(field, Word(self._terms.BVExtract(symbol, 0, low - 1), low, False, self))
        return field.data if field.width == fmt.bits else None

    # --- facts ------------------------------------------------------------------------------------------------

    def check(self, of: object, invariant: Callable[..., Truth[FNode]], *arguments: object) -> None:
        """Note the invariant of a value, or what can be proved of it."""
        with self.no_places():
            whole = self.rewritten(invariant(*arguments).data)
        for formula in whole.args() if whole.is_and() else (whole,):
            self._fact("invariant", f"of a {type(of).__name__}", formula)

    def _fact(self, what: str, relation: str, formula: FNode) -> bool:
        """Note a formula about variables if it is proved."""
        if formula.is_true() or not self.cuts.is_news(formula):
            return bool(formula.is_true())
        if not self.cuts.holds(what, relation, formula, newest=True, seconds=FACT_SECONDS):
            return False
        self.cuts.note(formula)
        return True

    def _bound(self, x: Word[FNode], bounds: Bounds) -> None:
        if not x.data.is_symbol():
            return
        least = -(1 << (x.width - 1)) if x.signed else 0
        whole = least, least + (1 << x.width) - 1
        known = self.bounds.get(x.data)
        low, high = known or whole
        bounds = max(bounds[0], low, least), min(bounds[1], high, whole[1])
        if bounds == known:
            return
        if bounds == whole or self._fact("bounds", f"of {x.width} bits", self.within(x, bounds)):
            self.bounds[x.data] = bounds

    def within(self, x: Word[FNode], bounds: Bounds) -> FNode:
        """Return the formula that a word lies within bounds."""
        low, high = (self.signed(b) if x.signed else self.unsigned(b, max(b.bit_length(), 1)) for b in bounds)
        least = -(1 << (x.width - 1)) if x.signed else 0
        outside = [self.less(x, low)] if bounds[0] > least else []
        outside += [self.less(high, x)] if bounds[1] < least + (1 << x.width) - 1 else []
        formula: FNode = self.negation(self.any_of(outside)).data
        return formula

    def _bound_magnitude(self, x: Word[FNode]) -> None:
        """Note of a result that no magnitude exceeds the largest one of the samples, or infinity, if that is proved.

        So the next step meets no NaN, and no exponent above that of infinity, but those that are told apart.
        """
        m, fmt = self._terms, self._of_d
        if not self.cuts.is_variable(x.data) or x.width < 2 or fmt.is_integer:
            return
        magnitude = m.BVExtract(x.data, 0, x.width - 2)
        bounds = {int(self.cuts.column(magnitude).max())}
        if fmt.infinity is not None and fmt.bits == x.width:
            bounds.add(fmt.infinity)
        for top in sorted(bounds):
            below = m.BVULE(magnitude, m.BV(top, x.width - 1))
            says_anything = top < (1 << (x.width - 1)) - 1 and self.cuts.is_news(below)
            if not says_anything or self._fact("bounds", "of a result", below):
                return

    def _bound_exponent(self, x: Word[FNode]) -> None:
        if self.cuts.is_variable(x.data) and x.data not in self.bounds:
            bounds = self.range_of(self.cuts.definition(x.data))
            if bounds is not None:
                self._bound(x, bounds)

    def range_of(self, term: FNode) -> Bounds | None:
        """Return bounds of a signed term that follow from those of its variables, to be proved."""
        width = term.bv_width()
        known = self.bounds.get(term)
        if known is not None:  # of an unsigned word, they are not bounds of it as a signed one
            return known if known[1] < 1 << (width - 1) else None
        if term.is_bv_constant():
            value = int(term.bv_signed_value())
            return value, value
        if term.is_bv_sext():
            return self.range_of(term.arg(0))
        if term.is_bv_zext():
            return self._unsigned_range(term.arg(0))
        if term.is_ite() or term.is_bv_add() or term.is_bv_sub():
            parts = [self.range_of(x) for x in term.args()[-2:]]
            if parts[0] is not None and parts[1] is not None:
                return self._joined(term, parts[0], parts[1])
        return None

    def _unsigned_range(self, term: FNode) -> Bounds:
        """Return bounds of a term without a sign, to be proved."""
        whole = 0, (1 << term.bv_width()) - 1
        if term.is_bv_constant():
            return term.constant_value(), term.constant_value()
        if term.is_ite():
            x, y = (self._unsigned_range(x) for x in term.args()[1:])
            return min(x[0], y[0]), max(x[1], y[1])
        known = self.bounds.get(term, whole)
        return known if known[0] >= 0 else whole

    def _joined(self, term: FNode, x: Bounds, y: Bounds) -> Bounds | None:
        if term.is_ite():
            return min(x[0], y[0]), max(x[1], y[1])
        if term.is_bv_sub():
            y = -y[1], -y[0]
        low, high, half = x[0] + y[0], x[1] + y[1], 1 << (term.bv_width() - 1)
        return (low, high) if -half <= low and high < half else None


def payload(node: FNode) -> object:
    """Return what pySMT keeps in a node besides its operands."""
    return node._content.payload
