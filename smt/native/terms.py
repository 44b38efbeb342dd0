"""A graph of machine operations as pySMT terms: one operation after the other, as ``Op`` says what each means.

Words of one bit are truth values, all others are bit-vectors of the width of their lane. Nothing is taken from the
intervals with which a graph was made. Beside the term of a node there is what its operation demands of its operands: a
shift amount is below the width, and zero has no count of leading zeros.

The lowering of a design with a record of what its nodes are: the values at the places where proofs cut it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.code import CodeAlgebra, Value
from mmaproof.smt.algebra.nodes import SHIFTS, Node, Op, needed
from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.native.lowering import Lowered, lower


class GraphTerms:
    """The terms of nodes in an environment.

    ``known`` holds the term of every node that was asked for; whoever cuts the graph puts another term there.
    ``demands`` are what the operations translated so far demand of their operands. Inputs are symbols of their name.
    """

    def __init__(self, environment: Environment) -> None:
        self._terms: Any = environment.formula_manager
        self._types: Any = environment.type_manager
        self.known: dict[Node, FNode] = {}
        self.demands: list[tuple[Node, FNode]] = []
        self._products: dict[tuple[int, frozenset[Node]], Node] = {}

    def of(self, node: Node) -> FNode:
        """Return the term of a node. Raises ValueError for an operation of floating-point numbers."""
        for each in needed([node], self.known):
            if each not in self.known:
                self.known[each] = self._term(each)
                demand = self._demand(each)
                if demand is not None:
                    self.demands.append((each, demand))
                if each.op is Op.MULTIPLY:
                    self._products[each.bits, frozenset(each.operands)] = each
        return self.known[node]

    def _demand(self, node: Node) -> FNode | None:
        m = self._terms
        if node.op in SHIFTS:
            amount = node.operands[1]
            if amount.is_constant and amount.value < node.bits:
                return None
            return m.BVULT(self.known[amount], m.BV(node.bits, amount.bits))
        if node.op is Op.LEADING_ZEROS:
            (counted,) = node.operands
            return m.Not(m.Equals(self.known[counted], m.BV(0, counted.bits)))
        return None

    def _term(self, node: Node) -> FNode:
        m = self._terms
        if node.op is Op.INPUT:
            return m.BVZExt(m.Symbol(node.name, self._types.BVType(node.width)), node.bits - node.width)
        if node.op is Op.CONSTANT:
            return m.Bool(bool(node.value)) if node.bits == 1 else m.BV(node.value, node.bits)
        operands = [self.known[x] for x in node.operands]
        if all(x.bits == 1 for x in node.operands):
            return self._of_truths(node, operands)
        if node.op is Op.MULTIPLY:
            return self._product(node, operands)
        return self._of_words(node, operands)

    def _of_truths(self, node: Node, xs: Sequence[FNode]) -> FNode:  # noqa: PLR0911
        m = self._terms
        match node.op:
            case Op.AND:
                return m.And(*xs)
            case Op.OR:
                return m.Or(*xs)
            case Op.XOR:
                return m.Xor(*xs)
            case Op.EQUAL:
                return m.Iff(*xs)
            case Op.SELECT:
                return m.Ite(*xs)
            case Op.ZERO_EXTEND:
                return m.Ite(xs[0], m.BV(1, node.bits), m.BV(0, node.bits))
            case Op.SIGN_EXTEND:
                return m.Ite(xs[0], m.BV((1 << node.bits) - 1, node.bits), m.BV(0, node.bits))
            case _:
                raise ValueError(f"{node.op} of words of one bit has no term")

    def _product(self, node: Node, xs: Sequence[FNode]) -> FNode:
        """Return the product of two words.

        Where the factors are x * 2**p and y * 2**q, and the product of x and y is known, it is that product times
        2**(p + q), modulo every power of two. Zero is among p and q.
        """
        m = self._terms
        for (x, p), (y, q) in product(*map(_with_shifts, node.operands)):
            same = self._products.get((node.bits, frozenset((x, y))))
            if same is not None and 0 < p + q < node.bits:
                return m.BVLShl(self.known[same], m.BV(p + q, node.bits))
        return m.BVMul(*xs)

    def _of_words(self, node: Node, xs: Sequence[FNode]) -> FNode:  # noqa: PLR0911, PLR0912
        m, n = self._terms, node.operands[-1].bits
        match node.op:
            case Op.ADD:
                return m.BVAdd(*xs)
            case Op.SUBTRACT:
                return m.BVSub(*xs)
            case Op.AND:
                return m.BVAnd(*xs)
            case Op.OR:
                return m.BVOr(*xs)
            case Op.XOR:
                return m.BVXor(*xs)
            case Op.SHIFT_LEFT:
                return m.BVLShl(*xs)
            case Op.SHIFT_RIGHT | Op.SHIFT_OUT:
                return m.BVLShr(*xs)
            case Op.SHIFT_RIGHT_SIGNED:
                return m.BVAShr(*xs)
            case Op.MINIMUM:
                return m.Ite(m.BVULT(*xs), *xs)
            case Op.MAXIMUM:
                return m.Ite(m.BVULT(*xs), xs[1], xs[0])
            case Op.MINIMUM_SIGNED:
                return m.Ite(m.BVSLT(*xs), *xs)
            case Op.MAXIMUM_SIGNED:
                return m.Ite(m.BVSLT(*xs), xs[1], xs[0])
            case Op.MAGNITUDE:
                return m.Ite(m.BVSLT(xs[0], m.BV(0, n)), m.BVNeg(xs[0]), xs[0])
            case Op.LEADING_ZEROS:
                return self._leading_zeros(xs[0], n)
            case Op.EQUAL:
                return m.Equals(*xs)
            case Op.LESS:
                return m.BVULT(*xs)
            case Op.LESS_SIGNED:
                return m.BVSLT(*xs)
            case Op.SELECT:
                return m.Ite(*xs)
            case Op.ZERO_EXTEND:
                return m.BVZExt(xs[0], node.bits - n)
            case Op.SIGN_EXTEND:
                return m.BVSExt(xs[0], node.bits - n)
            case Op.TRUNCATE if node.bits == 1:
                return m.Equals(m.BVExtract(xs[0], 0, 0), m.BV(1, 1))
            case Op.TRUNCATE:
                return m.BVExtract(xs[0], 0, node.bits - 1)
            case _:
                raise ValueError(f"{node.op} has no term of bit-vectors")

    def _leading_zeros(self, x: FNode, n: int) -> FNode:
        """Return the count of a word of n bits that is not zero; n is a power of two.

        Where the upper half is zero, the count grows by its width and the lower half is what remains. One bit remains.
        """
        m, count, width = self._terms, [], n
        while width > 1:
            half = width // 2
            upper = m.BVExtract(x, half, width - 1)
            clear = m.Equals(upper, m.BV(0, half))
            x = m.Ite(clear, m.BVExtract(x, 0, half - 1), upper)
            count.append(m.Ite(clear, m.BV(1, 1), m.BV(0, 1)))
            width = half
        bits = count[0]
        for bit in count[1:]:
            bits = m.BVConcat(bits, bit)
        return m.BVZExt(bits, n - len(count))


def _with_shifts(factor: Node) -> list[tuple[Node, int]]:
    """Return (x, p) of x * 2**p, which a factor is: itself with 0, and what it is shifted from."""
    found = [(factor, 0)]
    if factor.op is Op.SHIFT_LEFT and factor.operands[1].is_constant:
        found.append((factor.operands[0], factor.operands[1].value))
    return found


class DifferentGraphError(Exception):
    """The lowering that was recorded is not the one that is compiled (an internal error)."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place that the lowering met: what it is, and the values there (several for the partial sums of a sum)."""

    what: str
    values: tuple[Value, ...] = ()
    truth: Node | None = None


@dataclass(frozen=True)
class Recorded:
    """A graph as it is compiled, and the places that the lowering met, in order."""

    lowered: Lowered
    places: Sequence[Place] = field(repr=False)


class RecordingCode(CutPlaces[Value, Node], CodeAlgebra):
    """The code interpretation, which makes the same nodes as without a record."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self._partial_sums: list[Value] | None = None

    def place(self, what: str, x: Word[Value]) -> Word[Value]:
        """Record the value of a word."""
        self.places.append(Place(what, (x.data,)))
        return x

    def place_of_truth(self, what: str, x: Truth[Node]) -> Truth[Node]:
        """Record the node of a truth value."""
        self.places.append(Place(what, truth=x.data))
        return x

    def place_of_product(self, x: Word[Value], y: Word[Value], product: Word[Value]) -> Word[Value]:
        """Record the value of a product."""
        return self.place("product", product)

    def _add_up(self, xs: list[Value], widths: list[int], width: int, wraps: bool) -> Value:
        self._partial_sums = []
        total = super()._add_up(xs, widths, width, wraps)
        if not self.nested:
            self.places.append(Place("partial sums", tuple(self._partial_sums)))
        self._partial_sums = None
        return total

    def _add(self, x: Value, y: Value) -> Value:
        total = super()._add(x, y)
        if self._partial_sums is not None:
            self._partial_sums.append(total)
        return total


def record(design: Design, length: int | None = None, *, finite: bool = False) -> Recorded:
    """Return the graph that ``lower`` gives, with its places. Raises what ``lower`` raises.

    The nodes are compared with those of a lowering without a record. DifferentGraphError says that they differ.
    """
    algebra = RecordingCode()
    recorded = lower(design, length, finite=finite, algebra=algebra)
    compiled = lower(design, length, finite=finite)
    if structure(recorded) != structure(compiled):
        raise DifferentGraphError(f"{design.name}: the recorded lowering has other nodes than the one that is compiled")
    return Recorded(recorded, algebra.places)


def structure(lowered: Lowered) -> list[tuple[object, ...]]:
    """Return the nodes of a graph as data: each operation with the positions of its operands."""
    nodes = lowered.nodes
    position = {node: i for i, node in enumerate(nodes)}
    return [(n.op, n.bits, n.name, n.width, n.value, *(position[x] for x in n.operands)) for n in nodes]
