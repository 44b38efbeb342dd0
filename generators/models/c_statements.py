"""A graph as statements of C, which are C++ and CUDA C++ too: one node is one statement, one operation.

Words are held in unsigned types, so no addition or multiplication overflows. A word is read as a number with a sign by
a cast to the signed type of its width, and shifted to the right as such; ``ASSUMPTIONS`` has the compiler check that it
does both as all compilers do. A truth value is 0 or 1 of 32 bits.

Choices are made by masks, and leading zeros are counted by way of a float, because then every compiler turns a loop
over rows into vector instructions. GCC 12 does not do so where a choice is a ``?:``, a truth value is a ``bool``, or
zeros are counted by ``__builtin_clz``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.formats import Format
from mmaproof.generators.models.model import WORDS, Dialect, Model, storage_bits
from mmaproof.smt.algebra.nodes import Node, Op
from mmaproof.smt.native.lowering import Lowered

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


def _in_types(of: int, to: int) -> dict[str, str]:
    types = {"type": TYPES[to], "zero": constant(0, of)}
    return types | ({} if to == 1 or of == 1 else {"signed": SIGNED_TYPES[to]})


C = Dialect(
    constant,
    signed=lambda x, bits: f"({SIGNED_TYPES[bits]}){x}",
    input=lambda node, element: (f"{node.name}_", element),
    declare=lambda name, word, bits: f"const {TYPES[bits]} {name} = {word};",
    further=_in_types,
    names_constants=False,
    operations={
        Op.SHIFT_RIGHT_SIGNED: "({type})({sx} >> {y})",
        Op.MAGNITUDE: "{sx} < 0 ? {zero} - {x} : {x}",
        Op.LEADING_ZEROS: "mma_zeros_{of}({x})",
        Op.SELECT: "MMA_SELECT_{to}({x}, {y}, {z})",
        Op.ZERO_EXTEND: "({type}){x}",
        Op.TRUNCATE: "({type}){x}",
        Op.SIGN_EXTEND: "({type})({signed}){sx}",
    },
)
"""C11, C++11 and CUDA C++."""


@dataclass(frozen=True)
class Pointer:
    """An operand of a function in C: its name, the type of an element, and how many a dot product takes of it."""

    name: str
    type: str
    count: int


def c_type(fmt: Format) -> str:
    """Return the type of C that holds a pattern."""
    return f"uint{storage_bits(fmt)}_t"


def pointers(lowered: Lowered) -> list[Pointer]:
    """Return the operands in the order of the functions: a, b, c, and the scales where there are any."""
    return [Pointer(WORDS.get(x.name, x.name), c_type(x.format), len(x.inputs)) for x in lowered.columns]


def dot_parameters(lowered: Lowered) -> str:
    """Return the parameters of a function for one dot product: elements that lie one after another, and the word c."""
    return ", ".join(f"{p.type} c" if p.name == "c" else f"const {p.type} *{p.name}" for p in pointers(lowered))


def array_parameters(lowered: Lowered) -> str:
    """Return the parameters of a function for many dot products: arrays of operands, then the array d."""
    d = c_type(lowered.design.d_format)
    given = [f"const {p.type} *{p.name}" for p in pointers(lowered)]
    return ", ".join([*given, f"{d} *d"])


def core(lowered: Lowered, name: str, inline: str) -> str:
    """Return the function that all others call: elements of b, and scales of b, are ``stride`` apart."""
    d = c_type(lowered.design.d_format)
    inputs = {
        name: _read(WORDS.get(column.name, column.name), i, column.format)
        for column in lowered.columns
        for i, name in enumerate(column.inputs)
    }
    lines, result = C.written(lowered.d, inputs)
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f"{inline} {d} {name}({dot_parameters(lowered)}, size_t stride)\n"
        f"{{\n{body}\n    return {result if d == 'uint32_t' else f'({d}){result}'};\n}}\n"
    )


def _read(column: str, i: int, fmt: Format) -> str:
    """Return the word of an element: bits above the format's are not read."""
    element = {"c": "c", "b": f"b[{i} * stride]", "scale_b": f"scale_b[{i} * stride]"}.get(column, f"{column}[{i}]")
    word = f"(uint{max(storage_bits(fmt), 32)}_t){element}"
    return word if fmt.bits == storage_bits(fmt) else f"{word} & {(1 << fmt.bits) - 1:#x}u"


def core_call(lowered: Lowered, name: str, at: dict[str, str], stride: str) -> str:
    """Return a call of the core, with the expression of each operand."""
    return f"{name}({', '.join(at[p.name] for p in pointers(lowered))}, {stride})"


def cores(model: Model, inline: str) -> str:
    """Return the functions ``NAME_first`` and, where c and d have different formats, ``NAME_later``."""
    parts = [core(model.first, f"{model.name}_first", inline)]
    if model.later is not model.first:
        parts.append(core(model.later, f"{model.name}_later", inline))
    return "\n".join(parts)


def later_name(model: Model) -> str:
    """Return the name of the core of the instructions that follow the first one."""
    return f"{model.name}_{'first' if model.later is model.first else 'later'}"
