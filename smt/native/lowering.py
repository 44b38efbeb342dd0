"""A dot product of a design, lowered to a graph of machine operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.designs.parameters import complete_settings
from mmaproof.smt.algebra.code import CodeAlgebra, Value
from mmaproof.smt.algebra.nodes import Graph, Node, Op, mask, needed
from mmaproof.smt.algebra.protocol import D, Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.unpack import unpack

_INSTRUCTIONS = ("cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32", "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64")
_FOLLOWED = ("k_order", "nan_code")


def is_chain_of_instructions(design: Design) -> bool:
    """Return whether each step of ``design`` is one of this kind of CPU's instructions, up to the code of NaN.

    The design is compared with the record of the instruction in the catalogue: the signature, and every parameter but
    two. The order of k is followed. The code of NaN is put in the place of every NaN at the end of the chain.
    """
    if not design.step.is_parametric:
        return False
    if design.d_format.infinity is None or not design.d_format.is_nan(_nan(design)):
        return False
    known = (load_catalogue().designs[name] for name in _INSTRUCTIONS)
    return any(design.signature == x.signature and _compared(design) == _compared(x) for x in known)


def _compared(design: Design) -> dict[str, Any]:
    """Return every parameter that has to be that of the instruction."""
    settings = complete_settings(design.chain, design.step)
    return {name: value for name, value in settings.items() if name not in _FOLLOWED}


def _nan(design: Design) -> int:
    """Return the pattern of a NaN result."""
    pattern: int = complete_settings(design.chain, design.step)["nan_code"].pattern(design.d_format)
    return pattern


def instructions(design: Design, length: int, graph: Graph) -> Node:
    """Return d of a dot product as a chain of fused multiply-adds."""
    bits = design.d_format.bits
    total = graph.input("c", bits, bits)
    for path in datapath(design, length):
        for k in path.ks:
            a, b = (graph.input(f"{x}{k}", bits, bits) if k < length else graph.constant(0, bits) for x in "ab")
            total = graph.node(Op.FUSED_MULTIPLY_ADD, (a, b, total), bits)
    infinity = design.d_format.infinity
    if infinity is None:
        raise TypeError(f"{design.name} is not a chain of fused multiply-adds")
    magnitude = graph.node(Op.AND, (total, graph.constant(mask(bits - 1), bits)), bits)
    is_nan = graph.node(Op.LESS, (graph.constant(infinity, bits), magnitude), 1)
    return graph.node(Op.SELECT, (is_nan, graph.constant(_nan(design), bits), total), bits)


@dataclass(frozen=True)
class InputColumn:
    """One of the operands ``a``, ``b``, ``c``, ``sa`` and ``sb``: the names of its inputs in order, and its format.

    ``c`` has one input of that name; the others number theirs from 0: ``a0``, ``a1``.
    """

    name: str
    format: Format
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Lowered:
    """The dot product of ``length`` elements as ``design`` computes it, as a graph whose result is the node ``d``.

    ``d`` is zero above the bits of the output format. With ``finite``, it holds only where no element of a or b, and no
    scale, is an infinity or a NaN.
    """

    design: Design
    length: int
    columns: tuple[InputColumn, ...]
    graph: Graph
    d: Node
    finite: bool = False

    @property
    def nodes(self) -> list[Node]:
        """The nodes that d is computed from, d included, in order."""
        return needed([self.d])


def input_columns(design: Design, length: int) -> tuple[InputColumn, ...]:
    """Return the operands of a dot product: a, b, c, and the scales of a unit that has some."""
    a, b, c, _ = design.formats
    return columns_of((a, b, c), length, design.scale_format, design.blocks(length))


def columns_of(
    formats: tuple[Format, Format, Format], length: int, scale_format: Format | None, blocks: int
) -> tuple[InputColumn, ...]:
    """Return the operands of dot products of these formats."""
    counted = [("a", formats[0], length), ("b", formats[1], length), ("c", formats[2], None)]
    if scale_format is not None:
        counted += [("sa", scale_format, blocks), ("sb", scale_format, blocks)]
    return tuple(
        InputColumn(name, fmt, (name,) if count is None else tuple(f"{name}{i}" for i in range(count)))
        for name, fmt, count in counted
    )


def no_rows(columns: Sequence[InputColumn]) -> OperandBatch:
    """Return a batch of these columns without a row."""
    held = {x.name: np.empty((0, len(x.inputs)), dtype=pattern_dtype(x.format)) for x in columns}
    return OperandBatch(held["a"], held["b"], held["c"][:, 0], held.get("sa"), held.get("sb"))


class HasSymbols(Protocol[D]):
    """An algebra whose words may be variables: of a graph, or of a formula."""

    def symbol(self, name: str, width: int) -> Word[D]:
        """Return the unsigned variable ``name``."""
        ...


def symbols(algebra: HasSymbols[D], columns: Sequence[InputColumn]) -> OperandWords[D]:
    """Return the operands as variables with the names of the inputs."""
    words = {x.name: [algebra.symbol(name, x.format.bits) for name in x.inputs] for x in columns}
    return OperandWords(words["a"], words["b"], words["c"][0], words.get("sa", ()), words.get("sb", ()))


def finite_words(design: Design, operands: OperandWords[D]) -> Iterator[tuple[Format, Word[D]]]:
    """Yield what a graph for finite operands takes for numbers, with its format: elements of a and b, and scales."""
    formats = (design.a_format, design.b_format, design.scale_format, design.scale_format)
    for fmt, words in zip(formats, (operands.a, operands.b, operands.scale_a, operands.scale_b), strict=True):
        if fmt is not None and not fmt.is_integer:
            for word in words:
                yield fmt, word


def lower(
    design: Design,
    length: int | None = None,
    *,
    finite: bool = False,
    fused_multiply_add: bool = False,
    algebra: CodeAlgebra | None = None,
) -> Lowered:
    """Return the graph of a dot product of ``length`` elements (default: the instruction's K).

    With ``fused_multiply_add``, a chain of IEEE 754 fused multiply-adds is made of such operations, and not of those on
    integers. The graph is made by ``algebra``, by default a new one. Raises DesignError where the length does not fit,
    TooWideError where a number needs more than 128 bits.
    """
    length = design.k if length is None else length
    algebra, columns = CodeAlgebra() if algebra is None else algebra, input_columns(design, length)
    if fused_multiply_add and is_chain_of_instructions(design):
        return Lowered(design, length, columns, algebra.graph, instructions(design, length, algebra.graph), finite)
    operands = symbols(algebra, columns)
    if finite:
        for fmt, word in finite_words(design, operands):
            _assume_finite(algebra, fmt, word)
    d = dot_product_accumulate(design, algebra, operands).d
    return Lowered(design, length, columns, algebra.graph, d.data.node, finite)


def _assume_finite(algebra: CodeAlgebra, fmt: Format, word: Word[Value]) -> None:
    """Take for granted that a pattern is a number."""
    if fmt.infinity is not None:
        low = fmt.fraction_bits + fmt.ignored_bits
        algebra.assume_within(word.extract(low + fmt.exponent_bits - 1, low), 0, (1 << fmt.exponent_bits) - 2)
    read = unpack(algebra, fmt, word)
    for special in (read.nan, read.infinite):
        algebra.assume(special, False)


def continued(design: Design) -> Design:
    """Return the design of the instructions that follow the first one in a chain: their c is the d before."""
    signature = design.signature
    return design if signature.c is signature.d else replace(design, signature=replace(signature, c=signature.d))
