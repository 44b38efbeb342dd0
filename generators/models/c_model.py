"""A model in C11: a header, a source, and a program that tests them.

A graph as statements of C, which are C++ and CUDA C++ too: one node is one statement, one operation.

Words are held in unsigned types, so no addition or multiplication overflows. A word is read as a number with a sign by
a cast to the signed type of its width, and shifted to the right as such; ``ASSUMPTIONS`` has the compiler check that it
does both as all compilers do. A truth value is 0 or 1 of 32 bits.

Choices are made by masks, and leading zeros are counted by way of a float, because then every compiler turns a loop
over rows into vector instructions. GCC 12 does not do so where a choice is a ``?:``, a truth value is a ``bool``, or
zeros are counted by ``__builtin_clz``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.formats import Format
from mmaproof.generators.formats.selection import plain
from mmaproof.generators.models.model import WORDS, Dialect, Model, SelfTest, Tile, storage_bits
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
        Op.SHIFT_OUT: "{y} < {of} ? {x} >> {y} : 0",
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


_PROGRAM = """\
/* {about}
 *
 * Compares {name} with what mmaproof's integer interpretation returns: status 0 and PASS, or 1 and FAIL.
 *   cc -std=c11 -O2 -o selftest {name}_test.c {name}.c
 *   ./selftest
 */
#include "{name}.h"

#include <stdio.h>

#define DESIGN "{design}"
enum {{ ROWS = {rows}, TILES = {tiles}, M = {m}, N = {n}{instructions}, SHOWN = 10 }};

{arrays}
static unsigned long different;

static void compare(const char *what, unsigned long index, {d} d, {d} expected)
{{
    if (d != expected && ++different <= SHOWN)
        printf("%s %lu: d = 0x%0{digits}llx, expected 0x%0{digits}llx\\n", what, index + 1, (unsigned long long)d,
               (unsigned long long)expected);
}}

int main(void)
{{
    static {d} returned[ROWS], tile[M * N];
    for (unsigned long i = 0; i < ROWS; i++)
        compare("row", i, {name}_dot({row}), d[i]);
    {name}_rows(ROWS, {given}, returned);
    for (unsigned long i = 0; i < ROWS; i++)
        compare("row of many", i, returned[i], d[i]);
    for (unsigned long t = 0; t < TILES; t++) {{
        {name}_tile(M, N{instructions_given}, {of_tile}, tile);
        for (unsigned long i = 0; i < M * N; i++)
            compare("element of tiles", t * M * N + i, tile[i], tile_d[t][i]);
    }}
    if (different > 0) {{
        printf("FAIL: %lu results differ from %s\\n", different, DESIGN);
        return 1;
    }}
    printf("PASS: %d rows and %d tiles as %s\\n", ROWS, TILES, DESIGN);
    return 0;
}}
"""


def self_test(model: Model, test: SelfTest) -> str:
    """Return the program for a model in C."""
    first, columns = test.tiles[0], pointers(model.first)
    names = [p.name for p in columns]
    return _PROGRAM.format(
        about="\n * ".join(test.selection.about()),
        name=model.name,
        design=plain(model.design.name),
        rows=len(test.selection.vectors),
        tiles=len(test.tiles),
        m=len(first.rows),
        n=len(first.columns),
        instructions=f", INSTRUCTIONS = {first.instructions}" if model.chains else "",
        instructions_given=", INSTRUCTIONS" if model.chains else "",
        arrays=row_arrays(model, test) + _tile_arrays(model, test.tiles),
        d=c_type(model.design.d_format),
        digits=model.design.d_format.hex_digits,
        row=", ".join("c[i]" if x == "c" else f"{x}[i]" for x in names),
        given=", ".join("c" if x == "c" else f"{x}[0]" for x in names),
        of_tile=", ".join(f"tile_{x}[t]" for x in names),
    )


def row_arrays(model: Model, test: SelfTest) -> str:
    """Return the operands and the expected d of all rows: arrays a, b, c, d, and the scales where there are any."""
    parts = []
    operands = [v.operands for v in test.selection.vectors]
    for p in pointers(model.first):
        if p.name == "c":
            parts.append(_array(p.type, "c", "[ROWS]", [x.c for x in operands]))
        else:
            rows = [getattr(x, p.name) for x in operands]
            parts.append(_array(p.type, p.name, f"[ROWS][{p.count}]", rows))
    expected = [d for v in test.selection.vectors for d in v.outputs.values()]
    return "".join([*parts, _array(c_type(model.design.d_format), "d", "[ROWS]", expected)])


def _tile_arrays(model: Model, tiles: Sequence[Tile]) -> str:
    parts = []
    for p in pointers(model.first):
        if p.name == "c":
            held = [list(tile.c) for tile in tiles]
        elif p.name in ("a", "scale_a"):
            held = [[x for row in tile.rows for x in getattr(row, p.name)] for tile in tiles]
        else:
            held = [
                [x for line in zip(*(getattr(y, p.name) for y in tile.columns), strict=True) for x in line]
                for tile in tiles
            ]
        parts.append(_array(p.type, f"tile_{p.name}", f"[TILES][{len(held[0])}]", held))
    parts.append(_array(c_type(model.design.d_format), "tile_d", "[TILES][M * N]", [list(x.d) for x in tiles]))
    return "".join(parts)


def _array(kind: str, name: str, shape: str, held: Sequence[int] | Sequence[Sequence[int]]) -> str:
    suffix = "ull" if kind == "uint64_t" else "u"
    lines = []
    for row in held:
        if isinstance(row, int):
            lines.append(f"    {row:#x}{suffix},")
        else:
            lines.append(f"    {{{', '.join(f'{x:#x}{suffix}' for x in row)}}},")
    return f"static const {kind} {name}{shape} = {{\n" + "\n".join(lines) + "\n};\n\n"


_HEADER = """\
/* {about}
 *
 * Compile it with any C11 or C++11 compiler whose float is IEEE 754 binary32:
 *   cc -std=c11 -O2 -c {name}.c
 * With -O3 -march=native GCC and Clang make vector instructions of the functions over rows and tiles.
 * Test it:
 *   cc -std=c11 -O2 -o selftest {name}_test.c {name}.c
 *   ./selftest
{wide} *
 * Operands and results are bit patterns, one to a word of the narrowest type that holds the format:
{formats}
 * Bits above the format's are not read and are 0 in d. No function keeps a state or allocates memory.
 */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>
#include <stdint.h>

/* elements of a and of b in one dot product */
#define {upper}_K {k}
{blocks}
#ifdef __cplusplus
extern "C" {{
#endif

/* Return d of one dot product: a and b point to K elements{and_scales}. */
{d} {name}_dot({dot});
{later}
{about_rows}
void {name}_rows(
    size_t rows, {arrays});

{tile}
#ifdef __cplusplus
}}
#endif

#endif
"""

_LATER = """
/* Likewise for an instruction that follows in a chain: its c is the d of the one before. */
{d} {name}_next({dot});
"""

_TILE = """\
{about}
void {name}_tile(
    size_t m, size_t n, {instructions}{arrays});
"""

_ABOUT_ROWS = (
    "Compute d[i] of the dot product of row i, for i below rows: a and b are rows x K{scales}, c and d have rows "
    "elements, all row by row. d overlaps no operand."
)
_ABOUT_TILE = (
    "Compute the m x n matrix d = c + a b, each element as a chain of instructions in which the d of one is the c of "
    "the next. a is m x (instructions K), b is (instructions K) x n{scales}, c and d are m x n, all row by row. "
    "d overlaps no operand; with no instructions nothing is written."
)
_ABOUT_TILE_OF_ONE = (
    "Compute the m x n matrix d = c + a b, each element as one dot product. a is m x K, b is K x n{scales}, c and d "
    "are m x n, all row by row. d overlaps no operand. There is no function for a chain: this design reads an infinity "
    "of the instruction before otherwise than an infinity in c, and d does not show where it is from. Export it with a "
    "larger --k to have a chain as one dot product."
)

_SOURCE = """\
/* {about}
 *
 * See {name}.h. Each statement below is one operation of the graph that mmaproof has for the design.
 */
#include "{name}.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#if defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define ROWS_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* without optimisation, and with words of 128 bits */
#elif defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define ROWS_ARE_INDEPENDENT _Pragma("GCC ivdep")
/* From ranges of values GCC makes truth values of one bit, and then its loops no vector instructions. */
#pragma GCC optimize("no-tree-vrp")
#else
#define INLINE static inline
#define ROWS_ARE_INDEPENDENT
#endif

{helpers}
{cores}
{d} {name}_dot({dot})
{{
    return {call_dot};
}}
{later}
void {name}_rows(
    size_t rows, {arrays})
{{
    ROWS_ARE_INDEPENDENT
    for (size_t i = 0; i < rows; i++)
        d[i] = {call_row};
}}

{tile}"""

_LATER_SOURCE = """
{d} {name}_next({dot})
{{
    return {call};
}}
"""

_STEP_SOURCE = """\
/* Instruction s of N, for each element of a tile. */
static void {core}_step(
    size_t m, size_t n, size_t instructions, size_t s, {arrays})
{{
    for (size_t i = 0; i < m; i++) {{
        ROWS_ARE_INDEPENDENT
        for (size_t j = 0; j < n; j++)
            d[i * n + j] = {call};
    }}
}}

"""

_CHAIN_SOURCE = """\
void {name}_tile(
    size_t m, size_t n, size_t instructions, {arrays})
{{
    if (instructions > 0)
        {name}_first_step(m, n, instructions, 0, {given}, d);
    for (size_t s = 1; s < instructions; s++)
        {later}_step(m, n, instructions, s, {handed_on}, d);
}}
"""

_TILE_OF_ONE_SOURCE = """\
void {name}_tile(
    size_t m, size_t n, {arrays})
{{
    {name}_first_step(m, n, 1, 0, {given}, d);
}}
"""


def c_files(model: Model, test: SelfTest) -> dict[str, str]:
    """Return the header, the source and the self-test by file name."""
    return c_library(model) | {f"{model.name}_test.c": self_test(model, test)}


def c_library(model: Model) -> dict[str, str]:
    """Return the header and the source by file name."""
    return {f"{model.name}.h": _header(model), f"{model.name}.c": _source(model)}


def _header(model: Model) -> str:
    fields = _fields(model)
    formats = {p.name: x.format for p, x in zip(pointers(model.first), model.columns, strict=True)}
    formats["d"] = model.design.d_format
    held = [f" *   {name:<8} {fmt.name:<8} {fmt.bits} bits in {c_type(fmt)}" for name, fmt in formats.items()]
    is_wide = 128 in model.lanes
    wide = " * It has words of 128 bits: the compiler must know unsigned __int128 (GCC and Clang for 64-bit targets).\n"
    later = "" if model.later is model.first else _LATER.format(**fields | {"dot": dot_parameters(model.later)})
    scales = model.design.scale_format is not None
    blocks = f"/* scales of a and of b in one dot product */\n#define {fields['upper']}_BLOCKS {model.blocks}\n"
    many = "(instructions BLOCKS)" if model.chains else "BLOCKS"
    of_tile = f", scale_a is m x {many}, scale_b {many} x n" if scales else ""
    tile = _TILE.format(
        **fields | {"about": _comment((_ABOUT_TILE if model.chains else _ABOUT_TILE_OF_ONE).format(scales=of_tile))},
        instructions="size_t instructions, " if model.chains else "",
    )
    return _HEADER.format(
        **fields,
        wide=wide if is_wide else "",
        formats="\n".join(held),
        blocks=blocks if scales else "",
        and_scales=", scale_a and scale_b to BLOCKS scales" if scales else "",
        about_rows=_comment(_ABOUT_ROWS.format(scales=", the scales rows x BLOCKS" if scales else "")),
        later=later,
        tile=tile,
    )


def _comment(text: str) -> str:
    """Return a text as a comment of lines that fit a window."""
    return "/* " + "\n * ".join(textwrap.wrap(text, 115)) + " */"


def _fields(model: Model) -> dict[str, str]:
    return {
        "about": "\n * ".join(model.about()),
        "name": model.name,
        "upper": model.name.upper(),
        "k": str(model.k),
        "d": c_type(model.design.d_format),
        "dot": dot_parameters(model.first),
        "arrays": array_parameters(model.first),
    }


def _source(model: Model) -> str:
    fields, name = _fields(model), model.name
    once = {p.name: p.name for p in pointers(model.first)}
    row = {p.name: "c[i]" if p.name == "c" else f"{p.name} + i * {p.count}" for p in pointers(model.first)}
    later = ""
    if model.later is not model.first:
        call = core_call(model.later, later_name(model), once, "1")
        later = _LATER_SOURCE.format(**fields | {"dot": dot_parameters(model.later)}, call=call)
    return _SOURCE.format(
        **fields,
        helpers=helpers(model.nodes, "INLINE"),
        cores=cores(model, "INLINE"),
        call_dot=core_call(model.first, f"{name}_first", once, "1"),
        call_row=core_call(model.first, f"{name}_first", row, "1"),
        later=later,
        tile=_tile(model),
    )


def _tile(model: Model) -> str:
    """Return the function over a tile, with those for one instruction that it calls."""
    name, names = model.name, [p.name for p in pointers(model.first)]
    cores_of = {f"{name}_first": model.first} | ({later_name(model): model.later} if model.chains else {})
    steps = "".join(_step(core, lowered) for core, lowered in cores_of.items())
    text = _CHAIN_SOURCE if model.chains else _TILE_OF_ONE_SOURCE
    return steps + text.format(
        name=name,
        later=later_name(model),
        arrays=array_parameters(model.first),
        given=", ".join(names),
        handed_on=", ".join("d" if x == "c" else x for x in names),
    )


def _step(core: str, lowered: Lowered) -> str:
    count = {p.name: p.count for p in pointers(lowered)}
    at = {
        "a": f"a + (i * instructions + s) * {count['a']}",
        "b": f"b + s * {count['b']} * n + j",
        "c": "c[i * n + j]",
        "scale_a": f"scale_a + (i * instructions + s) * {count.get('scale_a')}",
        "scale_b": f"scale_b + s * {count.get('scale_b')} * n + j",
    }
    return _STEP_SOURCE.format(core=core, arrays=array_parameters(lowered), call=core_call(lowered, core, at, "n"))
