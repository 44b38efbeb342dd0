"""Every operation in machine code computes what the operation means, in vectors and lane by lane."""

import ctypes

import numpy as np
import pytest

from mmaproof.smt.algebra.nodes import COMPARISONS, LANES, SHIFTS, Graph, Op, compute, mask
from mmaproof.smt.native import lowering
from mmaproof.smt.native.lowering import Writer

compiler = pytest.importorskip("mmaproof.smt.native.compiler")
if compiler.missing():
    pytest.skip(compiler.missing(), allow_module_level=True)

ELEMENTS = 8
RESIZED = {Op.ZERO_EXTEND, Op.SIGN_EXTEND, Op.TRUNCATE}
NOT_ALIKE = {Op.INPUT, Op.CONSTANT, Op.FUSED_MULTIPLY_ADD, *RESIZED}
CASES = [
    *((op, bits, bits) for op in Op if op not in NOT_ALIKE for bits in LANES),
    *(
        (op, small, large)
        for op in (Op.ZERO_EXTEND, Op.SIGN_EXTEND)
        for small, large in ((32, 64), (32, 128), (64, 128))
    ),
    *((Op.TRUNCATE, large, small) for small, large in ((32, 64), (32, 128), (64, 128))),
]


def words(rng: np.random.Generator, op: Op, bits: int) -> list[list[int]]:
    """Operands for every element, of all sizes, with the ends of the range among them; amounts of shifts fit."""
    ends = [0, 1, mask(bits), 1 << (bits - 1), mask(bits - 1), mask(bits // 2)]

    def any_word() -> int:
        drawn = int.from_bytes(rng.bytes(16)) & mask(int(rng.integers(1, bits + 1)))
        return ends[int(rng.integers(len(ends)))] if rng.random() < 0.4 else drawn

    x, y, z = ([any_word() for _ in range(ELEMENTS)] for _ in range(3))
    if op in SHIFTS:
        y = [w % bits for w in y]
    if op is Op.LEADING_ZEROS:
        x = [w or 1 for w in x]
    if op in COMPARISONS:
        y = [a if rng.random() < 0.3 else b for a, b in zip(x, y, strict=True)]
    return [x, y, z]


def compiled(op: Op, bits: int, to_bits: int, vector_bits: int = 128, width: int | None = None):
    """A function that loads the operands of ``op``, of ``width`` bits, and stores the result in words of 128 bits."""
    graph, writer = Graph(), Writer(ELEMENTS, vector_bits)
    count = {Op.SELECT: 3, Op.MAGNITUDE: 1, Op.LEADING_ZEROS: 1}.get(op, 1 if op in RESIZED else 2)
    operands = [graph.input(name, width or bits, bits) for name in "xyz"[:count]]
    for i, node in enumerate(operands):
        writer.give(node, writer.emit(f"load {writer.vector(bits)}, ptr %p{i}, align 1"))
    if op is Op.SELECT:
        bit = graph.node(Op.LESS_SIGNED, (operands[0], graph.constant(0, bits)), 1)
        operands[0] = bit
        writer.write([bit])
    result = graph.node(op, operands, 1 if op in COMPARISONS else to_bits)
    writer.write([result])
    word = writer.word(result)
    if result.bits < 128:
        word = writer.emit(f"zext {writer.vector(result.bits)} {word} to {writer.vector(128)}")
    body = "\n".join(writer.lines)
    text = (
        "define void @f(ptr %p0, ptr %p1, ptr %p2, ptr %to) {\n"
        f"{body}\n  store {writer.vector(128)} {word}, ptr %to, align 1\n  ret void\n}}"
    )
    code = compiler.MachineCode(compiler.compile_object([text], writer.declarations, optimised=True), ["f"])
    return code, ctypes.CFUNCTYPE(None, *[ctypes.c_char_p] * 4)(code.addresses["f"])


def agrees(op: Op, bits: int, to_bits: int, vector_bits: int = 128, width: int | None = None) -> bool:
    rng, (code, function) = np.random.default_rng(0), compiled(op, bits, to_bits, vector_bits, width)
    for _ in range(40):
        drawn = words(rng, op, width or bits)
        columns = [b"".join(w.to_bytes(bits // 8, "little") for w in column) for column in drawn]
        to = ctypes.create_string_buffer(16 * ELEMENTS)
        function(*columns, to)
        for i in range(ELEMENTS):
            x, y, z = (column[i] for column in drawn)
            given = [x >> (bits - 1), y, z] if op is Op.SELECT else [x, y]
            widths = [1, bits, bits] if op is Op.SELECT else [bits, bits]
            expected = compute(op, given, widths, 1 if op in COMPARISONS else to_bits)
            if int.from_bytes(to.raw[16 * i : 16 * i + 16], "little") != expected:
                return False
    return code is not None


@pytest.mark.few(14)
@pytest.mark.parametrize(("op", "bits", "to_bits"), CASES)
def test_operations_in_machine_code(op, bits, to_bits):
    assert agrees(op, bits, to_bits)


@pytest.mark.skipif(compiler.processor().vector_bits < 256, reason="registers of 256 bits are needed")
@pytest.mark.parametrize("size", [128, 256, 512])
@pytest.mark.parametrize(
    ("op", "bits", "width", "called"),
    [
        (Op.SHIFT_OUT, 32, 32, "psrlv"),
        (Op.SHIFT_OUT, 32, 7, "psrlv"),
        (Op.SHIFT_OUT, 64, 64, "psrlv"),
        (Op.SHIFT_OUT, 64, 8, "psrlv"),
        (Op.MULTIPLY, 32, 15, "pmadd"),
        (Op.MULTIPLY, 32, 16, None),
        (Op.MULTIPLY, 64, 15, None),
    ],
)
def test_instructions_of_wide_registers(monkeypatch, op, bits, width, called, size):
    """Vectors of each size of a register. A product of 16 bits has a sign for the instruction."""
    vector_bits = compiler.processor().vector_bits
    if size > vector_bits:
        pytest.skip("registers of 512 bits are needed")
    monkeypatch.setattr(f"{__name__}.ELEMENTS", size // bits)
    graph, writer = Graph(), Writer(ELEMENTS, vector_bits)
    x, y = (graph.input(name, width, bits) for name in "xy")
    for node in (x, y):
        writer.give(node, f"%{node.name}")
    writer.write([graph.node(op, (x, y), bits)])
    assert any("llvm.x86" in line for line in writer.lines) == (called is not None)
    assert called is None or called in "".join(writer.declarations)
    assert agrees(op, bits, bits, vector_bits, width)


WRONG = {
    Op.ADD: "sub",
    Op.SUBTRACT: "add",
    Op.MULTIPLY: "add",
    Op.AND: "or",
    Op.OR: "xor",
    Op.XOR: "or",
    Op.SHIFT_LEFT: "lshr",
    Op.SHIFT_RIGHT: "ashr",
    Op.SHIFT_RIGHT_SIGNED: "lshr",
    Op.EQUAL: "ne",
    Op.LESS: "slt",
    Op.LESS_SIGNED: "ult",
    Op.ZERO_EXTEND: "sext",
    Op.SIGN_EXTEND: "zext",
    Op.MINIMUM: "smin",
    Op.MAXIMUM: "smax",
    Op.MINIMUM_SIGNED: "umin",
    Op.MAXIMUM_SIGNED: "umax",
    Op.LEADING_ZEROS: "cttz",
}


@pytest.mark.few(13)
@pytest.mark.parametrize("op", WRONG)
def test_another_instruction_is_caught(monkeypatch, op):
    (table,) = (t for t in (lowering._BINARY, lowering._COMPARED, lowering._RESIZED, lowering._INTRINSICS) if op in t)
    monkeypatch.setitem(table, op, WRONG[op])
    assert not any(agrees(*case) for case in CASES if case[0] is op)
