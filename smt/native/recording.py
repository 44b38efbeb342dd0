"""The lowering of a design with a record of what its nodes are: the values at the places where proofs cut it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.code import CodeAlgebra, Value
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.algebra.places import CutPlaces
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.native.lowering import Lowered, lower


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
