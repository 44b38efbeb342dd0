"""A dot product of a design, lowered to a graph of machine operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.smt.algebra.code import CodeAlgebra, Value
from mmaproof.smt.algebra.nodes import Graph, Node, needed
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.native.fused_multiply_add import instructions, is_chain_of_instructions
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.unpack import unpack


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
    """Return the operands of a dot product, those of scales last, where the unit has scales."""
    a, b, c, _ = design.formats
    counted = [("a", a, length), ("b", b, length)]
    scale = design.scale_format
    scales = [] if scale is None else [(name, scale, design.blocks(length)) for name in ("sa", "sb")]
    columns = [InputColumn(n, fmt, tuple(f"{n}{i}" for i in range(count))) for n, fmt, count in (*counted, *scales)]
    columns.insert(2, InputColumn("c", c, ("c",)))
    return tuple(columns)


def input_words(algebra: CodeAlgebra, columns: Sequence[InputColumn]) -> dict[str, list[Word[Value]]]:
    """Return the inputs of each column as words, by its name."""
    return {x.name: [algebra.symbol(name, x.format.bits) for name in x.inputs] for x in columns}


def lower(
    design: Design, length: int | None = None, *, finite: bool = False, fused_multiply_add: bool = False
) -> Lowered:
    """Return the graph of a dot product of ``length`` elements (default: the instruction's K).

    With ``fused_multiply_add``, a chain of IEEE 754 fused multiply-adds is made of such operations, and not of those on
    integers. Raises DesignError where the length does not fit, TooWideError where a number needs more than 128 bits.
    """
    length = design.k if length is None else length
    algebra, columns = CodeAlgebra(), input_columns(design, length)
    if fused_multiply_add and is_chain_of_instructions(design):
        return Lowered(design, length, columns, algebra.graph, instructions(design, length, algebra.graph), finite)
    words = input_words(algebra, columns)
    if finite:
        for column in columns:
            if column.name != "c":
                for word in words[column.name]:
                    _assume_finite(algebra, column.format, word)
    operands = OperandWords(words["a"], words["b"], words["c"][0], words.get("sa", ()), words.get("sb", ()))
    d = dot_product_accumulate(design, algebra, operands).d
    return Lowered(design, length, columns, algebra.graph, d.data.node, finite)


def _assume_finite(algebra: CodeAlgebra, fmt: Format, word: Word[Value]) -> None:
    """Take for granted that a pattern is a number."""
    if fmt.is_integer:
        return
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
