"""Each operation, printed in C and in SystemVerilog, computes what nodes.compute says; wrong prints are noticed."""

import random

import pytest
from support.models import MUTATIONS, STRICT, compiled, mutated, need, run_in, sanitized

from mmaproof.generators.models.c_model import TYPES, C, constant, helpers
from mmaproof.generators.models.sv_model import SYSTEM_VERILOG, leading_zeros
from mmaproof.generators.models.sv_model import constant as sv_constant
from mmaproof.smt.algebra.nodes import COMPARISONS, LANES, SHIFTS, Graph, Node, Op, compute, mask

OF_ONE_BIT = (Op.AND, Op.OR, Op.XOR)
UNARY = (Op.MAGNITUDE, Op.LEADING_ZEROS)
WIDENING = {Op.ZERO_EXTEND: ((1, 32), (32, 64), (32, 128), (64, 128)), Op.SIGN_EXTEND: ((32, 64), (32, 128), (64, 128))}
NARROWING = {Op.TRUNCATE: ((64, 32), (128, 32), (128, 64))}


def shapes():
    """Every operation with the widths of its operands and of its result."""
    for op in Op:
        if op in (Op.INPUT, Op.CONSTANT, Op.FUSED_MULTIPLY_ADD):
            continue
        if op in WIDENING | NARROWING:
            yield from ((op, (of,), to) for of, to in (WIDENING | NARROWING)[op])
            continue
        for bits in ((1,) if op in OF_ONE_BIT else ()) + LANES:
            operands = (1, bits, bits) if op is Op.SELECT else (bits,) if op in UNARY else (bits, bits)
            yield op, operands, 1 if op in COMPARISONS else bits


def cases():
    """A node for each shape, with words and the result of each."""
    rng, graph, found = random.Random(1), Graph(), []
    for number, (op, widths, bits) in enumerate(shapes()):
        inputs = [graph.input(f"x{number}_{i}", width, width) for i, width in enumerate(widths)]
        node = graph.node(op, inputs, bits)
        rows = []
        for _ in range(24):
            words = [edge(rng, width) for width in widths]
            if op in SHIFTS:
                words[1] = rng.choice((0, 1, widths[0] - 1, rng.randrange(widths[0])))
            if op is Op.LEADING_ZEROS:
                words[0] = words[0] or 1
            if rng.random() < 0.2 and op in COMPARISONS:
                words[1] = words[0]
            rows.append((words, compute(op, words, widths, bits)))
        found.append((node, inputs, rows))
    return found


def edge(rng, bits):
    """A word that is small, large, near the sign bit, a run of ones, or anything."""
    one = 1 << rng.randrange(bits)
    word = rng.choice((0, 1, one, one - 1, -one, (1 << bits - 1) - rng.randrange(2), rng.getrandbits(bits)))
    return (word ^ (word >> 1 if rng.random() < 0.1 else 0)) & mask(bits)


def c_program(found, change=lambda text: text):
    parts = ["#include <assert.h>\n#include <float.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"]
    parts += [helpers([node for node, _, _ in found], "static inline"), "static int wrong;\n"]
    calls = []
    for i, (node, inputs, rows) in enumerate(found):
        lines, result = C.written(node, {x.name: x.name for x in inputs})
        parameters = ", ".join(f"{TYPES[x.bits]} {x.name}" for x in inputs)
        body = "\n".join(lines)
        parts.append(f"static {TYPES[node.bits]} f{i}({parameters}) {{\n{body}\nreturn {result};\n}}\n")
        for words, expected in rows:
            given = ", ".join(constant(w, x.bits) for w, x in zip(words, inputs, strict=True))
            calls.append(f'if (f{i}({given}) != {constant(expected, node.bits)}) {{ wrong++; puts("f{i}"); }}')
    main = "int main(void) {\n" + "\n".join(calls) + "\nreturn wrong != 0;\n}\n"
    return change("".join(parts)) + main


def sv_program(found, change=lambda text: text):
    parts, checks, wires = [], [], []
    for i, (node, inputs, rows) in enumerate(found):
        lines, result = SYSTEM_VERILOG.written(node, {x.name: x.name for x in inputs})
        ports = "".join(f"input [{x.bits - 1}:0] {x.name}, " for x in inputs)
        function = leading_zeros(node.bits) if node.op is Op.LEADING_ZEROS else ""
        body = "\n".join(lines)
        parts.append(
            f"module f{i}({ports}output [{node.bits - 1}:0] d);\n{function}{body}\nassign d = {result};\nendmodule\n"
        )
        named = [f"in{i}_{k}" for k in range(len(inputs))]
        wires += [f"reg [{x.bits - 1}:0] {n};" for n, x in zip(named, inputs, strict=True)]
        wires += [f"wire [{node.bits - 1}:0] d{i};", f"f{i} unit{i}({', '.join(named)}, d{i});"]
        for words, expected in rows:
            sets = " ".join(f"{n} = {sv_constant(w, x.bits)};" for n, w, x in zip(named, words, inputs, strict=True))
            checks.append(f'{sets} #1; if (d{i} !== {sv_constant(expected, node.bits)}) $fatal(1, "{node.op}");')
    bench = "\n".join(wires) + "\ninitial begin\n" + "\n".join(checks) + '\n$display("PASS");\nend\n'
    return change("".join(parts)) + f"module testbench;\n{bench}endmodule\n"


FOUND = cases()


@pytest.mark.middle
@pytest.mark.slow_values("clang--O2")
@pytest.mark.parametrize(
    ("compiler", "level"),
    [("gcc", "-O0"), *(pytest.param(x, "-O2", marks=pytest.mark.middle) for x in ("gcc", "clang"))],
)
def test_each_operation_in_c(tmp_path, compiler, level):
    (tmp_path / "ops.c").write_text(c_program(FOUND))
    program = compiled(tmp_path, compiler, [*STRICT, level, *sanitized(compiler)], "ops.c")
    assert run_in(tmp_path, program) == (0, "")


def test_each_operation_in_systemverilog(tmp_path):
    (tmp_path / "ops.sv").write_text(sv_program(FOUND))
    assert run_in(tmp_path, need("iverilog"), "-g2012", "-Wall", "-o", "program", "ops.sv") == (0, "")
    assert run_in(tmp_path, "vvp", "program") == (0, "PASS\n")


def of_kind(op):
    return [case for case in FOUND if case[0].op is op]


MUTANTS = [pytest.param(op, x, id=f"{op}-{i}") for op, xs in MUTATIONS.items() for i, x in enumerate(xs)]


@pytest.mark.few(2)
@pytest.mark.parametrize(("op", "mutation"), MUTANTS)
def test_an_operation_that_is_printed_wrong_in_c_is_noticed(tmp_path, op, mutation):
    found = of_kind(op)
    text = c_program(found, lambda text: wrong_in_every_function(text, found, mutation))
    (tmp_path / "ops.c").write_text(text)
    status, said = run_in(tmp_path, compiled(tmp_path, "gcc", ["-O0", "-w"], "ops.c"))
    assert (status, set(said.split())) == (1, {f"f{i}" for i in range(len(found))})


@pytest.mark.few(14)
@pytest.mark.parametrize(("op", "mutation"), MUTANTS)
def test_an_operation_that_is_printed_wrong_in_systemverilog_is_noticed(tmp_path, op, mutation):
    case = of_kind(op)[-1]
    (tmp_path / "ops.sv").write_text(sv_program([case], lambda text: mutated(text, [case[0]], mutation)))
    assert run_in(tmp_path, need("iverilog"), "-g2012", "-o", "program", "ops.sv")[0] == 0
    status, said = run_in(tmp_path, "vvp", "program")
    assert status != 0
    assert "PASS" not in said


def wrong_in_every_function(text, found, mutation):
    for node, _, _ in found:
        text = mutated(text, [node], mutation)
    return text


def test_every_operation_has_a_mutant():
    assert set(MUTATIONS) == set(Op) - {Op.INPUT, Op.CONSTANT, Op.FUSED_MULTIPLY_ADD}


def test_what_is_no_operation_of_integers_is_refused():
    graph = Graph()
    x = graph.input("x", 32, 32)
    fused = graph.node(Op.FUSED_MULTIPLY_ADD, (x, x, x), 32)
    for printer in (C.written, SYSTEM_VERILOG.written):
        with pytest.raises(ValueError, match="not an operation of integers"):
            printer(fused, {"x": "x"})
    with pytest.raises(ValueError, match="no type in C"):
        constant(0, 16)


def test_a_node_is_a_statement():
    graph = Graph()
    x = graph.input("x", 16, 32)
    total: Node = graph.node(Op.ADD, (x, graph.constant(3, 32)), 32)
    lines, result = C.written(total, {"x": "x[0]"})
    assert lines == ["const uint32_t x_ = x[0];", "const uint32_t t2 = x_ + 0x3u;"]
    assert result == "t2"
    wires, _ = SYSTEM_VERILOG.written(total, {"x": "x[15:0]"})
    assert wires == [
        "wire [31:0] word_x = {16'h0, x[15:0]};",
        "wire [31:0] t1 = 32'h3;",
        "wire [31:0] t2 = word_x + t1;",
    ]
