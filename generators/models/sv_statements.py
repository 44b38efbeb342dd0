"""A graph as declarations of SystemVerilog: one node is one wire, one operation.

Every operation stands alone in its declaration, so that no width or sign of another one reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from mmaproof.smt.algebra.nodes import Node, Op, needed

FUNCTIONS = """\
    // the number of zero bits above the highest one bit of x, which is not 0
    function automatic [{top}:0] leading_zeros_{bits}(input [{top}:0] x);
        reg [{top}:0] rest;
        begin
            rest = x;
            leading_zeros_{bits} = {bits}'d0;
{steps}        end
    endfunction
"""

_STEP = """\
            if (rest[{top}:{low}] == {half}'d0) begin
                leading_zeros_{bits} = leading_zeros_{bits} + {bits}'d{half};
                rest = rest << {half};
            end
"""


def leading_zeros(bits: int) -> str:
    """Return the function that counts the leading zeros of a word of ``bits``."""
    halves = [bits >> i for i in range(1, bits.bit_length())]
    steps = "".join(_STEP.format(bits=bits, top=bits - 1, low=bits - half, half=half) for half in halves)
    return FUNCTIONS.format(bits=bits, top=bits - 1, steps=steps)


def declarations(d: Node, inputs: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the wires that compute ``d``, and the name of d.

    ``inputs`` holds the expression of each input by its name, of as many bits as the input has. Raises ValueError for
    an operation that is not one of integers.
    """
    lines: list[str] = []
    names: dict[Node, str] = {}
    for node in needed([d]):
        if node.op is Op.INPUT:
            value = _zero_extended(inputs[node.name], node.width, node.bits)
            names[node] = f"word_{node.name}"
        elif node.op is Op.CONSTANT:
            value, names[node] = constant(node.value, node.bits), f"t{node.number}"
        else:
            value, names[node] = _expression(node, [names[x] for x in node.operands]), f"t{node.number}"
        lines.append(f"wire {_range(node.bits)}{names[node]} = {value};")
    return lines, names[d]


def constant(value: int, bits: int) -> str:
    """Return a constant of N bits."""
    return f"{bits}'h{value:x}"


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _zero_extended(x: str, of: int, to: int) -> str:
    return x if of == to else f"{{{constant(0, to - of)}, {x}}}"


def _expression(node: Node, names: Sequence[str]) -> str:  # noqa: PLR0911, PLR0912 - one case for each operation
    """Return the expression of a node; ``names`` are those of its operands, which are wires."""
    of, to = node.operands[0].bits if node.operands else node.bits, node.bits
    x = names[0] if names else ""
    y = names[1] if len(names) > 1 else ""
    match node.op:
        case Op.ADD:
            return f"{x} + {y}"
        case Op.SUBTRACT:
            return f"{x} - {y}"
        case Op.MULTIPLY:
            return f"{x} * {y}"
        case Op.AND:
            return f"{x} & {y}"
        case Op.OR:
            return f"{x} | {y}"
        case Op.XOR:
            return f"{x} ^ {y}"
        case Op.SHIFT_LEFT:
            return f"{x} << {y}"
        case Op.SHIFT_RIGHT:
            return f"{x} >> {y}"
        case Op.SHIFT_RIGHT_SIGNED:
            return f"$signed({x}) >>> {y}"
        case Op.MINIMUM:
            return f"{x} < {y} ? {x} : {y}"
        case Op.MAXIMUM:
            return f"{x} < {y} ? {y} : {x}"
        case Op.MINIMUM_SIGNED:
            return f"$signed({x}) < $signed({y}) ? {x} : {y}"
        case Op.MAXIMUM_SIGNED:
            return f"$signed({x}) < $signed({y}) ? {y} : {x}"
        case Op.MAGNITUDE:
            return f"{x}[{of - 1}] ? -{x} : {x}"
        case Op.LEADING_ZEROS:
            return f"leading_zeros_{of}({x})"
        case Op.EQUAL:
            return f"{x} == {y}"
        case Op.LESS:
            return f"{x} < {y}"
        case Op.LESS_SIGNED:
            return f"$signed({x}) < $signed({y})"
        case Op.SELECT:
            return f"{x} ? {y} : {names[2]}"
        case Op.ZERO_EXTEND:
            return _zero_extended(x, of, to)
        case Op.SIGN_EXTEND:
            return f"{{{{{to - of}{{{x}[{of - 1}]}}}}, {x}}}"
        case Op.TRUNCATE:
            return f"{x}[{to - 1}:0]"
        case Op.FUSED_MULTIPLY_ADD:
            raise ValueError(f"{node.op} is not an operation of integers: a model is printed of a graph without it")
        case Op.INPUT | Op.CONSTANT:
            raise ValueError(f"{node.op} is not an operation")
        case _:
            assert_never(node.op)
