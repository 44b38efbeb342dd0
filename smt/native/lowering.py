"""A dot product of a design, lowered to a graph of machine operations, and the graph as LLVM IR.

In LLVM IR every node is one operation on vectors, one element for each dot product. Nothing there knows what a node is
for. Loads and stores around the nodes are of ``kernels`` and ``panels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.designs.parameters import complete_settings
from mmaproof.smt.algebra.code import CodeAlgebra, Value
from mmaproof.smt.algebra.nodes import HALF, LANES, Graph, Node, Op, mask, most, needed
from mmaproof.smt.algebra.protocol import D, Word
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.patterns import unpack

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


_BINARY = {
    Op.ADD: "add",
    Op.SUBTRACT: "sub",
    Op.MULTIPLY: "mul",
    Op.AND: "and",
    Op.OR: "or",
    Op.XOR: "xor",
    Op.SHIFT_LEFT: "shl",
    Op.SHIFT_RIGHT: "lshr",
    Op.SHIFT_RIGHT_SIGNED: "ashr",
}
_COMPARED = {Op.EQUAL: "eq", Op.LESS: "ult", Op.LESS_SIGNED: "slt"}
_RESIZED = {Op.ZERO_EXTEND: "zext", Op.SIGN_EXTEND: "sext", Op.TRUNCATE: "trunc"}
_INTRINSICS = {
    Op.MINIMUM: "umin",
    Op.MAXIMUM: "umax",
    Op.MINIMUM_SIGNED: "smin",
    Op.MAXIMUM_SIGNED: "smax",
    Op.MAGNITUDE: "abs",
    Op.LEADING_ZEROS: "ctlz",
    Op.FUSED_MULTIPLY_ADD: "fma",
}
_SHIFTS_OUT = {128: "avx2.psrlv.{}", 256: "avx2.psrlv.{}.256", 512: "avx512.psrlv.{}.512"}
_OF_HALVES = {128: "sse2.pmadd.wd", 256: "avx2.pmadd.wd", 512: "avx512.pmaddw.d.512"}
_FLAGS = {Op.MAGNITUDE: ", i1 false", Op.LEADING_ZEROS: ", i1 true"}
"""The most negative number has a magnitude; a word of zeros is never counted."""


class Writer:
    """Instructions of one basic block on vectors of ``lanes`` elements, and the intrinsics that they call.

    Registers of more than 128 bits (``vector_bits``) are those of x86-64.
    """

    def __init__(self, lanes: int, vector_bits: int = 128, prefix: str = "t") -> None:
        self.lanes = lanes
        self._vector_bits = vector_bits
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._names: dict[Node, str] = {}
        self._prefix = prefix
        self._count = 0

    def inner(self) -> Writer:
        """Return the writer of a block that this one leads to and that uses its values."""
        block = Writer(self.lanes, self._vector_bits, self._prefix + "i")
        block._names.update(self._names)
        return block

    def vector(self, bits: int, of: str = "i") -> str:
        """Return the type of a vector of words."""
        return f"<{self.lanes} x {of}{bits}>"

    def splat(self, value: int, bits: int) -> str:
        """Return a vector of one constant."""
        if bits == 1:
            return f"splat (i1 {'true' if value else 'false'})"
        return f"splat (i{bits} {value})"

    def emit(self, text: str) -> str:
        """Write an instruction and return the name of its result."""
        self._count += 1
        name = f"%{self._prefix}{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def give(self, node: Node, name: str) -> None:
        """Say that the word of ``node`` is the value ``name``."""
        self._names[node] = name

    def word(self, node: Node) -> str:
        """Return the value of a node that was written or given, or its constant."""
        return self.splat(node.value, node.bits) if node.is_constant else self._names[node]

    def write(self, nodes: Iterable[Node]) -> None:
        """Write nodes in order. Those that were given are left out."""
        for node in nodes:
            if not node.is_constant and node not in self._names:
                self._names[node] = self._operation(node)

    def _operation(self, node: Node) -> str:  # noqa: PLR0911
        op, operands, kind = node.op, node.operands, self.vector(node.bits)
        words = [self.word(x) for x in operands]
        if op is Op.MULTIPLY and node.bits == 32 and self._is_register(32) and max(map(most, operands)) < 1 << HALF:
            return self._small_product(kind, *words)
        if op in _BINARY:
            return self.emit(f"{_BINARY[op]} {kind} {words[0]}, {words[1]}")
        if op in _COMPARED:
            return self.emit(f"icmp {_COMPARED[op]} {self.vector(operands[0].bits)} {words[0]}, {words[1]}")
        if op in _RESIZED:
            return self.emit(f"{_RESIZED[op]} {self.vector(operands[0].bits)} {words[0]} to {kind}")
        if op is Op.SELECT:
            return self.emit(f"select {self.vector(1)} {words[0]}, {kind} {words[1]}, {kind} {words[2]}")
        if op is Op.FUSED_MULTIPLY_ADD:
            return self._fused_multiply_add(node, words)
        if op is Op.SHIFT_OUT:
            return self._shift_out(kind, node.bits, *words)
        return self._call(_INTRINSICS[op], kind, f"v{self.lanes}i{node.bits}", words, _FLAGS.get(op, ""))

    def _call(self, intrinsic: str, kind: str, suffix: str, words: Sequence[str], flags: str = "") -> str:
        name = f"@llvm.{intrinsic}.{suffix}"
        flag = ", i1" if flags else ""
        self.declarations.add(f"declare {kind} {name}({', '.join([kind] * len(words))}{flag})")
        return self.emit(f"call {kind} {name}({', '.join(f'{kind} {w}' for w in words)}{flags})")

    def _shift_out(self, kind: str, bits: int, x: str, amount: str) -> str:
        """Write a shift by any amount, which is one instruction from AVX2 on.

        Elsewhere it is a shift that is chosen where it is defined. LLVM joins such a choice with what follows, and so
        does not always see that it is one instruction.
        """
        if self._is_register(bits):
            name = f"@llvm.x86.{_SHIFTS_OUT[self.lanes * bits].format({32: 'd', 64: 'q'}[bits])}"
            self.declarations.add(f"declare {kind} {name}({kind}, {kind})")
            return self.emit(f"call {kind} {name}({kind} {x}, {kind} {amount})")
        near = self.emit(f"icmp ult {kind} {amount}, {self.splat(bits, bits)}")
        shifted = self.emit(f"lshr {kind} {x}, {amount}")
        return self.emit(f"select {self.vector(1)} {near}, {kind} {shifted}, {kind} {self.splat(0, bits)}")

    def _small_product(self, kind: str, x: str, y: str) -> str:
        """Write the product of words below 2**15: a multiplication of halves is half of one of words of 32 bits.

        It adds the product of the upper halves, which are zero.
        """
        name, halves = f"@llvm.x86.{_OF_HALVES[self.lanes * 32]}", f"<{2 * self.lanes} x i16>"
        self.declarations.add(f"declare {kind} {name}({halves}, {halves})")
        x, y = (self.emit(f"bitcast {kind} {word} to {halves}") for word in (x, y))
        return self.emit(f"call {kind} {name}({halves} {x}, {halves} {y})")

    def _is_register(self, bits: int) -> bool:
        """Return whether vectors of such words are registers of x86-64, which has instructions of its own for them."""
        return bits in LANES[:2] and 128 <= self.lanes * bits <= self._vector_bits > 128

    def _fused_multiply_add(self, node: Node, words: Sequence[str]) -> str:
        kind, number = self.vector(node.bits), "float" if node.bits == 32 else "double"
        numbers = f"<{self.lanes} x {number}>"
        read = [self.emit(f"bitcast {kind} {w} to {numbers}") for w in words]
        total = self._call("fma", numbers, f"v{self.lanes}f{node.bits}", read)
        return self.emit(f"bitcast {numbers} {total} to {kind}")
