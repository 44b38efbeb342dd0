"""Many designs on the same operands. They are lowered to one graph: what they have in common is computed once.

A design differs from the next one in a few stages, often in none that has an effect. Nodes that two designs share are
one node, so a hundred designs that are much alike take the time of twenty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError
from mmaproof.smt.algebra.node_arrays import run_on_arrays
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.native.lowering import input_columns, symbols
from mmaproof.smt.semantics import dot_product_accumulate


class JointDesigns:
    """Designs of the signature of ``design`` in one graph, for dot products of ``length``."""

    def __init__(self, design: Design, length: int) -> None:
        self.signature = design.signature
        self._columns = input_columns(design, length)
        self._algebra = CodeAlgebra()
        self._operands = replace(symbols(self._algebra, self._columns), read={})

    def add(self, design: Design) -> Node | None:
        """Return the node that is d of a design; None where its numbers need more than 128 bits.

        Raises DesignError for a design of another signature, and where the length does not fit.
        """
        if design.signature != self.signature:
            raise DesignError(f"{design.name} has other formats than the designs that it is computed with")
        try:
            return dot_product_accumulate(design, self._algebra, self._operands).d.data.node
        except TooWideError:
            return None

    def results(self, nodes: Sequence[Node], batch: OperandBatch) -> list[Patterns]:
        """Return for each of the nodes the patterns of d, shape (rows,); the operands were checked with a design."""
        scales = [x.T for x in (batch.scale_a, batch.scale_b) if x is not None]
        arrays = (batch.a.T, batch.b.T, batch.c[np.newaxis], *scales)
        inputs = {
            name: column
            for of_inputs, columns in zip(self._columns, arrays, strict=True)
            for name, column in zip(of_inputs.inputs, columns, strict=True)
        }
        dtype = pattern_dtype(self.signature.d)
        return [np.broadcast_to(x, len(batch)).astype(dtype) for x in run_on_arrays(nodes, inputs)]
