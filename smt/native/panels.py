"""The functions of a matrix product in LLVM IR: operands are unpacked once, and an inner kernel joins them.

The graph of an instruction is split by what its nodes depend on. What depends on a alone is computed once for each row
of A, what depends on b alone once for each column of B; the values that others need are the *handed* ones. They are
kept in panels that the inner kernel reads from first to last:

* of A, for each instruction along K and each block of rows: one vector for each handed value;
* of B, for each instruction, each panel and each block of columns: one vector for each handed value.

The inner kernel takes one panel of B and a range of rows. For each instruction and each row, it spreads the values of
the row over vectors and runs along the columns of the panel. The d of one instruction is the c of the next, so c and d
may be the same matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.operands import pattern_dtype
from mmaproof.smt.algebra.nodes import LANES, Node, Op, needed
from mmaproof.smt.native.kernels import ATTRIBUTES, control_register, lanes_for, load_rows, loop, resize, store
from mmaproof.smt.native.lowering import InputColumn, Lowered, Writer

UNPACK_A, UNPACK_B, MULTIPLY = "unpack_a", "unpack_b", "multiply"
OF_A, OF_B = ("a", "sa"), ("b", "sb")

_MULTIPLY = """
define void @{name}(ptr noalias %a, ptr noalias %b, ptr %c, ptr %d, i64 %first, i64 %last,
    i64 %instructions, i64 %pitch_a, i64 %pitch_b, i64 %pitch_c, i64 %pitch_d, i64 %blocks) {attributes} {{
entry:{before}
  br label %instruction
instruction:
  %k = phi i64 [0, %entry], [%k_next, %instruction_end]
  %offset_a = mul i64 %k, %pitch_a
  %of_a = getelementptr i8, ptr %a, i64 %offset_a
  %offset_b = mul i64 %k, %pitch_b
  %of_b = getelementptr i8, ptr %b, i64 %offset_b
  br label %row
row:
  %i = phi i64 [%first, %instruction], [%i_next, %row_end]
  %row_block = udiv i64 %i, {lanes}
  %row_lane = urem i64 %i, {lanes}
  %offset_block = mul i64 %row_block, {bytes_a}
  %of_block = getelementptr i8, ptr %of_a, i64 %offset_block
  %offset_c = mul i64 %i, %pitch_c
  %of_c = getelementptr i8, ptr %c, i64 %offset_c
  %offset_d = mul i64 %i, %pitch_d
  %of_d = getelementptr i8, ptr %d, i64 %offset_d
{spread}
  br label %columns
columns:
  %block = phi i64 [0, %row], [%block_next, %columns]
  %column = mul i64 %block, {lanes}
{body}
  %block_next = add i64 %block, 1
  %more_columns = icmp ult i64 %block_next, %blocks
  br i1 %more_columns, label %columns, label %row_end
row_end:
  %i_next = add i64 %i, 1
  %more_rows = icmp ult i64 %i_next, %last
  br i1 %more_rows, label %row, label %instruction_end
instruction_end:
  %k_next = add i64 %k, 1
  %more = icmp ult i64 %k_next, %instructions
  br i1 %more, label %instruction, label %exit
exit:{after}
  ret void
}}
"""

_BLOCK_OF_PANEL = """
  %instruction = udiv i64 %block, %in_panel
  %of_panel = urem i64 %block, %in_panel
  %column = mul i64 %of_panel, {lanes}
  %before = mul i64 %instruction, %pitch_to
  %of_instruction = getelementptr i8, ptr %to, i64 %before"""
"""Blocks are numbered through all instructions, and ``in_panel`` of them are columns of one."""


@dataclass(frozen=True)
class Split:
    """The values that the sides of a graph hand to its inner kernel, and the number of elements in a vector.

    ``vector_bits`` is the width of the processor's registers.
    """

    of_a: tuple[Node, ...]
    of_b: tuple[Node, ...]
    lanes: int
    vector_bits: int

    def writer(self) -> Writer:
        """Return a writer of vectors of this many elements."""
        return Writer(self.lanes, self.vector_bits)

    @property
    def bytes_a(self) -> int:
        """Bytes of one block of rows of A for one instruction."""
        return self.lanes * sum(map(kept_bytes, self.of_a))

    @property
    def bytes_b(self) -> int:
        """Bytes of one column of B for one instruction."""
        return sum(map(kept_bytes, self.of_b))


@dataclass(frozen=True)
class Functions:
    """The three functions of a matrix product, the intrinsics that they call, and how the graph is split."""

    texts: tuple[str, ...]
    declarations: frozenset[str]
    split: Split


def kept_bytes(node: Node) -> int:
    """Return the bytes of one element of a handed value: of a pattern, those that it has in memory.

    A truth value is a word of all ones or zeros.
    """
    if node.op is Op.INPUT:
        return max(1 << (node.width - 1).bit_length(), 8) // 8
    return max(node.bits, LANES[0]) // 8


def split(lowered: Lowered, vector_bits: int, few: bool = False) -> Split:
    """Split the graph of an instruction by what its nodes depend on.

    For ``few`` rows of A, the inner kernel unpacks B, again for each: to store and load what unpacking makes of it
    takes longer.
    """
    nodes = lowered.nodes
    sides: dict[Node, frozenset[str]] = {}
    for node in nodes:
        if node.op is Op.INPUT:
            name = node.name.rstrip("0123456789")
            sides[node] = frozenset("a" if name in OF_A else "b" if name in OF_B else "c")
        else:
            sides[node] = frozenset().union(*(sides[x] for x in node.operands))
    handed: dict[str, dict[Node, None]] = {"a": {}, "b": {}}
    for node in nodes:
        for x in node.operands:
            if len(sides[x]) == 1 and sides[node] != sides[x] and (side := min(sides[x])) in handed:
                handed[side][x] = None
    of_a, of_b = (tuple(handed[side]) for side in "ab")
    if few:
        of_b = tuple(x for x in nodes if x.op is Op.INPUT and sides[x] == frozenset("b"))
    inner = needed([lowered.d], [*of_a, *of_b])
    return Split(of_a, of_b, lanes_for(inner, vector_bits), vector_bits)


def panel_functions(lowered: Lowered, vector_bits: int, few: bool = False) -> Functions:
    """Return the functions of the graph of an instruction, for ``few`` rows or for many."""
    parts = split(lowered, vector_bits, few)
    declarations: set[str] = set()
    texts = []
    for write in (_unpack_a, _unpack_b, _multiply):
        text, used = write(lowered, parts)
        texts.append(text)
        declarations |= used
    return Functions(tuple(texts), frozenset(declarations), parts)


def _columns_of(lowered: Lowered, names: Sequence[str]) -> list[InputColumn]:
    return [x for x in lowered.columns if x.name in names]


def _unpack_a(lowered: Lowered, parts: Split) -> tuple[str, set[str]]:
    writer, columns = parts.writer(), _columns_of(lowered, OF_A)
    nodes = needed(parts.of_a)
    used = {node.name: node for node in nodes if node.op is Op.INPUT}
    for column in columns:
        load_rows(writer, column, used)
    writer.write(nodes)
    block = writer.emit(f"mul i64 %block, {parts.bytes_a}")
    at = 0
    for node in parts.of_a:
        start = writer.emit(f"add i64 {block}, {at}")
        _keep(writer, node, writer.emit(f"getelementptr i8, ptr %to, i64 {start}"))
        at += parts.lanes * kept_bytes(node)
    arguments = [*(f"ptr noalias %{x.name}" for x in columns), "ptr %to"]
    text = loop(UNPACK_A, arguments, writer.lines)
    return text, writer.declarations


def _unpack_b(lowered: Lowered, parts: Split) -> tuple[str, set[str]]:
    writer, columns = parts.writer(), _columns_of(lowered, OF_B)
    nodes = needed(parts.of_b)
    used = {node.name: node for node in nodes if node.op is Op.INPUT}
    for column in columns:
        item = pattern_dtype(column.format).itemsize
        first = writer.emit(f"mul i64 %instruction, {len(column.inputs)}")
        for row, name in enumerate(column.inputs):
            if (node := used.get(name)) is None:
                continue
            at_row = writer.emit(f"add i64 {first}, {row}")
            start = writer.emit(f"mul i64 %pitch, {at_row}")
            index = writer.emit(f"add i64 {start}, %column")
            place = writer.emit(f"getelementptr i{8 * item}, ptr %{column.name}, i64 {index}")
            word = writer.emit(f"load {writer.vector(8 * item)}, ptr {place}, align 1")
            writer.give(node, resize(writer, word, 8 * item, node.bits))
    writer.write(nodes)
    at = 0
    for node in parts.of_b:
        _keep(writer, node, _in_panel(writer, parts, "%of_instruction", "%of_panel", at))
        at += kept_bytes(node)
    arguments = [
        *(f"ptr noalias %{x.name}" for x in columns),
        "ptr %to",
        "i64 %pitch",
        "i64 %pitch_to",
        "i64 %in_panel",
    ]
    body = [_BLOCK_OF_PANEL.format(lanes=parts.lanes), *writer.lines]
    return loop(UNPACK_B, arguments, body), writer.declarations


def _in_panel(writer: Writer, parts: Split, panel: str, index: str, before: int) -> str:
    """Return the address of the elements of a handed value in a block, ``before`` bytes a column before it."""
    start = writer.emit(f"mul i64 {index}, {parts.lanes * parts.bytes_b}")
    block = writer.emit(f"getelementptr i8, ptr {panel}, i64 {start}")
    return writer.emit(f"getelementptr i8, ptr {block}, i64 {parts.lanes * before}")


def _multiply(lowered: Lowered, parts: Split) -> tuple[str, set[str]]:
    nodes = needed([lowered.d], [*parts.of_a, *parts.of_b])
    spread = parts.writer()
    at = 0
    for node in parts.of_a:
        spread.give(node, _spread(spread, node, at))
        at += parts.lanes * kept_bytes(node)
    body = spread.inner()
    at = 0
    for node in parts.of_b:
        place = _in_panel(body, parts, "%of_b", "%block", at)
        kept = 8 * kept_bytes(node)
        body.give(node, _read(body, node, body.emit(f"load {body.vector(kept)}, ptr {place}, align 1")))
        at += kept_bytes(node)
    c_format, d_format = lowered.design.c_format, lowered.design.d_format
    for node in nodes:
        if node.op is Op.INPUT and node.name == "c":
            bits = 8 * pattern_dtype(c_format).itemsize
            place = body.emit(f"getelementptr i{bits}, ptr %of_c, i64 %column")
            word = body.emit(f"load {body.vector(bits)}, ptr {place}, align 1")
            body.give(node, resize(body, word, bits, node.bits))
    body.write(nodes)
    bits = 8 * pattern_dtype(d_format).itemsize
    store(body, lowered.d, body.emit(f"getelementptr i{bits}, ptr %of_d, i64 %column"), bits)
    before, after = control_register(nodes)
    text = _MULTIPLY.format(
        name=MULTIPLY,
        attributes=ATTRIBUTES,
        lanes=parts.lanes,
        bytes_a=parts.bytes_a,
        spread="\n".join(spread.lines),
        body="\n".join(body.lines),
        before=before,
        after=after,
    )
    return text, spread.declarations | body.declarations


def _keep(writer: Writer, node: Node, place: str) -> None:
    """Store a handed value; a truth value as words of all ones or zeros."""
    word, bits = writer.word(node), 8 * kept_bytes(node)
    if node.bits == 1:
        word = writer.emit(f"sext {writer.vector(1)} {word} to {writer.vector(bits)}")
    else:
        word = resize(writer, word, node.bits, bits)
    writer.lines.append(f"  store {writer.vector(bits)} {word}, ptr {place}, align 1")


def _read(writer: Writer, node: Node, word: str) -> str:
    """Return a handed value from how it is kept."""
    kept = 8 * kept_bytes(node)
    if node.bits > 1:
        return resize(writer, word, kept, node.bits)
    return writer.emit(f"icmp slt {writer.vector(kept)} {word}, {writer.splat(0, kept)}")


def _spread(writer: Writer, node: Node, at: int) -> str:
    """Return a handed value of the current row of A in every element."""
    bits = 8 * kept_bytes(node)
    kind = writer.vector(bits)
    start = writer.emit(f"getelementptr i8, ptr %of_block, i64 {at}")
    place = writer.emit(f"getelementptr i{bits}, ptr {start}, i64 %row_lane")
    word = writer.emit(f"load i{bits}, ptr {place}, align 1")
    one = writer.emit(f"insertelement {kind} poison, i{bits} {word}, i64 0")
    chosen = f"<{writer.lanes} x i32> zeroinitializer"
    return _read(writer, node, writer.emit(f"shufflevector {kind} {one}, {kind} poison, {chosen}"))
