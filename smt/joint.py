"""Many designs on the same operands. They are lowered to one graph: what they have in common is computed once.

A design differs from the next one in a few stages, often in none that has an effect. Nodes that two designs share are
one node, so a hundred designs that are much alike take the time of twenty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.algebra.node_arrays import is_computable, run_on_arrays
from mmaproof.smt.algebra.nodes import Node, needed
from mmaproof.smt.native.lowering import input_columns, lower


class JointDesigns:
    """Designs of one signature in one graph, for dot products of ``length``."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._algebra = CodeAlgebra()

    def add(self, design: Design) -> Node | None:
        """Return the node that is d of a design; None where its numbers are too wide for arrays of machine words."""
        try:
            d = lower(design, self.length, algebra=self._algebra).d
        except TooWideError:
            return None
        return d if is_computable(needed([d])) else None

    def results(self, design: Design, nodes: Sequence[Node], batch: OperandBatch) -> list[Patterns]:
        """Return for each of the nodes the patterns of d, shape (rows,).

        ``design`` is any of them, with which the operands were checked.
        """
        inputs = {
            name: column
            for of_inputs, columns in zip(input_columns(design, self.length), _columns(batch), strict=True)
            for name, column in zip(of_inputs.inputs, columns, strict=True)
        }
        dtype = pattern_dtype(design.d_format)
        return [np.broadcast_to(x, len(batch)).astype(dtype) for x in run_on_arrays(nodes, inputs)]


def _columns(batch: OperandBatch) -> list[Patterns]:
    """Return the operands in the order of ``input_columns``, with the elements of a row first."""
    scales = [x.T for x in (batch.scale_a, batch.scale_b) if x is not None]
    return [batch.a.T, batch.b.T, batch.c[np.newaxis], *scales]
