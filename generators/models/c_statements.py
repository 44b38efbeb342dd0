"""A graph as statements of C, which are C++ and CUDA C++ too: one node is one statement, one operation.

Words are held in unsigned types, so no addition or multiplication overflows. A word is read as a number with a sign by
a cast to the signed type of its width, and shifted to the right as such; ``ASSUMPTIONS`` has the compiler check that it
does both as all compilers do. A truth value is 0 or 1 of 32 bits.

Choices are made by masks, and leading zeros are counted by way of a float, because then every compiler turns a loop
over rows into vector instructions. GCC 12 does not do so where a choice is a ``?:``, a truth value is a ``bool``, or
zeros are counted by ``__builtin_clz``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from mmaproof.smt.algebra.nodes import Node, Op, needed

TYPES = {1: "uint32_t", 32: "uint32_t", 64: "uint64_t", 128: "mma_uint128"}
"""The type of a word, by its width."""
SIGNED_TYPES = {32: "int32_t", 64: "int64_t", 128: "mma_int128"}

ASSUMPTIONS = """\
static_assert(sizeof(int) <= 4, "uint32_t would be promoted to a type with a sign");
static_assert((int32_t)0xffffffffu == -1 && (int32_t)-1 >> 1 == -1, "numbers with a sign are two's complement");
"""
"""What the statements rely on beyond the standards of C and C++; needs <assert.h> and <stdint.h>."""

_FLOATS = """\
static_assert(FLT_RADIX == 2 && FLT_MANT_DIG == 24 && sizeof(float) == 4, "float is IEEE 754 binary32");
"""

WIDE_TYPES = """\
#if {unknown}
#error "this model has words of 128 bits: it needs a compiler with unsigned __int128 (GCC, Clang for 64-bit targets)"
#endif
{extension}typedef unsigned __int128 mma_uint128;
{extension}typedef __int128 mma_int128;
"""
"""The types of words of 128 bits."""

_SELECT = """\
/* x where c is 1, y where c is 0 */
#define MMA_SELECT_{bits}(c, x, y) ((y) ^ (((x) ^ (y)) & (({type})0 - ({type})(c))))
"""

_ZEROS = {
    32: """\
/* The number of zero bits above the highest one bit of x, which is not 0. Below the highest one bit a zero is made, so
   that the float, with its exponent in bits 23 to 30, is not rounded up to the next power of two. */
{inline} uint32_t mma_zeros_32(uint32_t x)
{{
{device}    const float f = (float)(int32_t)((x & ~(x >> 1)) >> 1);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits >>= 23;
    return 157u - (bits < 126u ? 126u : bits);
{end}}}
""",
    64: """\
{inline} uint64_t mma_zeros_64(uint64_t x)
{{
    const uint32_t high = (uint32_t)(x >> 32), none = 0u == high;
    return mma_zeros_32(MMA_SELECT_32(none, (uint32_t)x, high)) + 32u * none;
}}
""",
    128: """\
{inline} mma_uint128 mma_zeros_128(mma_uint128 x)
{{
    const uint64_t high = (uint64_t)(x >> 64);
    const uint32_t none = 0u == high;
    return mma_zeros_64(MMA_SELECT_64(none, (uint64_t)x, high)) + 64u * none;
}}
""",
}


def helpers(nodes: Sequence[Node], inline: str, device: bool = False) -> str:
    """Return the types, macros and functions that the statements of these nodes use.

    ``inline`` is how functions are declared, ``device`` whether they run on a GPU as well. They need <assert.h>,
    <float.h>, <stdint.h> and <string.h>.
    """
    widest = max([32, *(x.bits for node in nodes for x in (node, *node.operands))])
    counted = max([0, *(node.bits for node in nodes if node.op is Op.LEADING_ZEROS)])
    unknown = "!defined(__SIZEOF_INT128__)" + (" && !defined(__CUDACC_RTC_INT128__)" if device else "")
    on_device = "#ifdef __CUDA_ARCH__\n    return (uint32_t)__clz((int32_t)x);\n#else\n" if device else ""
    parts = [ASSUMPTIONS + (_FLOATS if counted else "")]
    if widest == 128:
        parts.append(WIDE_TYPES.format(unknown=unknown, extension="" if device else "__extension__ "))
    parts += [
        f"#ifndef MMA_SELECT_{bits}\n{_SELECT.format(bits=bits, type=TYPES[bits])}#endif\n"
        for bits in SIGNED_TYPES
        if bits <= widest
    ]
    parts += [
        f"#ifndef MMA_ZEROS_{bits}\n#define MMA_ZEROS_{bits}\n"
        f"{text.format(inline=inline, device=on_device, end='#endif' + chr(10) if device else '')}#endif\n"
        for bits, text in _ZEROS.items()
        if bits <= counted
    ]
    return "\n".join(parts)


def statements(d: Node, inputs: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the statements that compute ``d`` and the expression of d.

    ``inputs`` holds the expression of each input by its name. Raises ValueError for an operation that is not one of
    integers.
    """
    lines: list[str] = []
    names: dict[Node, str] = {}
    for node in needed([d]):
        if node.op is Op.CONSTANT:
            names[node] = constant(node.value, node.bits)
            continue
        is_input = node.op is Op.INPUT
        value = inputs[node.name] if is_input else _expression(node, [names[x] for x in node.operands])
        names[node] = f"{node.name}_" if is_input else f"t{node.number}"
        lines.append(f"const {TYPES[node.bits]} {names[node]} = {value};")
    return lines, names[d]


def constant(value: int, bits: int) -> str:
    """Return a constant of the type of N bits."""
    match bits:
        case 1 | 32:
            return f"{value:#x}u"
        case 64:
            return f"(uint64_t){value:#x}u"
        case 128:
            high, low = (constant(x, 64) for x in (value >> 64, value & ((1 << 64) - 1)))
            return f"((mma_uint128){high} << 64 | {low})" if value >> 64 else f"(mma_uint128){low}"
        case _:
            raise ValueError(f"words of {bits} bits have no type in C")


def _expression(node: Node, names: Sequence[str]) -> str:  # noqa: PLR0911, PLR0912 - one case for each operation
    """Return the expression of a node; ``names`` are those of its operands, or constants."""
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
            return f"({TYPES[to]})({_signed(x, of)} >> {y})"
        case Op.MINIMUM:
            return f"{x} < {y} ? {x} : {y}"
        case Op.MAXIMUM:
            return f"{x} < {y} ? {y} : {x}"
        case Op.MINIMUM_SIGNED:
            return f"{_signed(x, of)} < {_signed(y, of)} ? {x} : {y}"
        case Op.MAXIMUM_SIGNED:
            return f"{_signed(x, of)} < {_signed(y, of)} ? {y} : {x}"
        case Op.MAGNITUDE:
            return f"{_signed(x, of)} < 0 ? {constant(0, of)} - {x} : {x}"
        case Op.LEADING_ZEROS:
            return f"mma_zeros_{of}({x})"
        case Op.EQUAL:
            return f"{x} == {y}"
        case Op.LESS:
            return f"{x} < {y}"
        case Op.LESS_SIGNED:
            return f"{_signed(x, of)} < {_signed(y, of)}"
        case Op.SELECT:
            return f"MMA_SELECT_{to}({x}, {y}, {names[2]})"
        case Op.ZERO_EXTEND | Op.TRUNCATE:
            return f"({TYPES[to]}){x}"
        case Op.SIGN_EXTEND:
            return f"({TYPES[to]})({SIGNED_TYPES[to]}){_signed(x, of)}"
        case Op.FUSED_MULTIPLY_ADD:
            raise ValueError(f"{node.op} is not an operation of integers: a model is printed of a graph without it")
        case Op.INPUT | Op.CONSTANT:
            raise ValueError(f"{node.op} is not an operation")
        case _:
            assert_never(node.op)


def _signed(x: str, bits: int) -> str:
    return f"({SIGNED_TYPES[bits]}){x}"
