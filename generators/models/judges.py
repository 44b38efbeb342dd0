"""The judge of one plan as one file in C11: it says of a product in .npy files whether it has the bits of the plan.

The file has no other state than what it is given, and compiles to WebAssembly, where the module of JavaScript calls it.
Each call of the unit is the model's function over a row; every other operation is a function of its own, printed from
the arithmetic that plans have everywhere.

What calls the judge of a plan in WebAssembly: a module of JavaScript for browsers and for node.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.gemm.programs import JoinsC, Plan
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span
from mmaproof.gemm.programs.program import Elements, Values, perform
from mmaproof.gemm.programs.schedule import Call, Cut, Factor, Multiply, Operand, Operation, Zero, arguments
from mmaproof.generators.formats.selection import plain
from mmaproof.generators.models.c_model import TYPES, C, c_library, c_type, helpers
from mmaproof.generators.models.model import Model, make_model, storage_bits
from mmaproof.smt.algebra.code import CodeAlgebra
from mmaproof.smt.algebra.nodes import Node, needed

_HEADERS = "#include <assert.h>\n#include <float.h>\n#include <string.h>\n"
_NO_LIBRARY = """\
#include <float.h>
#ifdef __wasm__ /* without a library */
#include <stdbool.h>
#define static_assert _Static_assert
#define EXPORTED(name) __attribute__((export_name(#name)))
void *memcpy(void *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}
void *memset(void *to, int byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)to)[i] = (unsigned char)byte;
    return to;
}
#else
#include <assert.h>
#include <string.h>
#define EXPORTED(name)
#endif
"""

_JUDGE = """
/* The judge. Matrices are .npy files of patterns, or of a type of the same width; rows are in C order:
 *   cc -std=c11 -O2 -o judge FILE.c
 *   ./judge a.npy b.npy d.npy{c_file}
 * a is M x K, b is K x N, c and d are M x N{scale_shapes}. Without c, c is zero.
 * Status 0: all bits are those of {plan}; 1: others; 2: a file cannot be judged.
 * For WebAssembly, which the export of js-judge calls:
 *   clang --target=wasm32 -std=c11 -O2 -ffreestanding -fno-builtin -nostdlib -Wl,--no-entry -Wl,--export=__heap_base \\
 *     -o judge.wasm FILE.c
 */
{operations}
enum {{ SLOTS = {slots}, SLOT = 8, SCALES = {scales_count}{plan_k} }};
#define ALIGNED(bytes) (((bytes) + 7) / 8 * 8)
{order}
/* Elements of k that the calls of the unit take, with those that are filled up. */
static size_t filled(size_t k)
{{
    return {filled};
}}

/* Which of them is the i-th; k or more: none, a zero. */
static size_t order_at(size_t i)
{{
    return {order_at};
}}

/* One row: a and b have filled elements of k. Return d, in one of the slots. */
static const {d} *judge_row(size_t n, size_t k, const {a} *a, const {b} *b, const {c} *c{scale_parameters},
    unsigned char *slots)
{{
    (void)k;
    (void)c;
{row}}}

EXPORTED(judge_name) const char *judge_name(void) {{ return "{plan}"; }}

/* Bytes of an element of a, b, c, d, and of a scale: 0 where there are none. */
EXPORTED(judge_bytes) size_t judge_bytes(size_t which)
{{
    return which == 0 ? sizeof({a}) : which == 1 ? sizeof({b}) : which == 2 ? sizeof({c}) : which == 3 ? sizeof({d})
        : SCALES;
}}

/* Why products of this K and with these blocks of a row are not judged; NULL where they are. */
EXPORTED(judge_refuses) const char *judge_refuses(size_t k, size_t blocks)
{{
    (void)blocks;
{refuses}    return NULL;
}}

/* Bytes that judge_run writes to. */
EXPORTED(judge_work) size_t judge_work(size_t n, size_t k)
{{
    const size_t all = filled(k);
    return ALIGNED(all * sizeof({a})) + ALIGNED(all * n * sizeof({b})) + ALIGNED(n * sizeof({c})) + SLOTS * n * SLOT
        + ALIGNED({row_scales}) + ALIGNED({row_scales} * n);
}}

/* Compare d with the plan. found has the number of other elements, then row, column, pattern and the plan's pattern of
 * the first one. c may be NULL. Return 1 where there are others. */
EXPORTED(judge_run) int judge_run(size_t m, size_t n, size_t k, const {a} *a, const {b} *b, const {c} *c, const {d} *d,
    const uint8_t *scale_a, const uint8_t *scale_b, size_t blocks, unsigned char *work, uint64_t *found)
{{
    const size_t all = filled(k);
    {a} *row_a = ({a} *)work;
    {b} *all_b = ({b} *)(work += ALIGNED(all * sizeof({a})));
    {c} *zeros = ({c} *)(work += ALIGNED(all * n * sizeof({b})));
    unsigned char *slots = work += ALIGNED(n * sizeof({c}));
    (void)scale_a, (void)scale_b, (void)blocks;
{fill_scales}    for (size_t i = 0; i < all; i++)
        for (size_t j = 0; j < n; j++)
            all_b[i * n + j] = order_at(i) < k ? b[order_at(i) * n + j] : 0;
    for (size_t j = 0; j < n; j++)
        zeros[j] = 0;
    found[0] = 0;
    for (size_t i = 0; i < m; i++) {{
        const {d} *row;
        for (size_t x = 0; x < all; x++)
            row_a[x] = order_at(x) < k ? a[i * k + order_at(x)] : 0;
{row_scale}        row = judge_row(n, k, row_a, all_b, c == NULL ? zeros : c + i * n, {row_given}slots);
        for (size_t j = 0; j < n; j++)
            if (row[j] != d[i * n + j] && found[0]++ == 0)
                found[1] = i, found[2] = j, found[3] = d[i * n + j], found[4] = row[j];
    }}
    return found[0] != 0;
}}

#ifndef __wasm__
#include <stdio.h>
#include <stdlib.h>

struct matrix {{ size_t rows, columns; void *data; }};

static void refuse(const char *file, const char *why)
{{
    fprintf(stderr, "error: %s: %s\\n", file, why);
    exit(2);
}}

static struct matrix read_npy(const char *file, size_t bytes)
{{
    unsigned char start[12];
    char *header, *at;
    size_t length, prefix;
    unsigned long long rows, columns;
    struct matrix found;
    FILE *stream = fopen(file, "rb");
    if (stream == NULL || fread(start, 1, 10, stream) != 10 || memcmp(start, "\\x93NUMPY", 6) != 0)
        refuse(file, "no .npy file");
    prefix = start[6] == 1 ? 10 : 12;
    if (prefix == 12 && fread(start + 10, 1, 2, stream) != 2)
        refuse(file, "ends early");
    length = start[8] | (size_t)start[9] << 8;
    if (prefix == 12)
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    header = malloc(length + 1);
    if (header == NULL || fread(header, 1, length, stream) != length)
        refuse(file, "ends early");
    header[length] = 0;
    at = strstr(header, "'descr': '");
    if (at == NULL || (bytes > 1 && at[10] == '>') || strtoull(at + 12, NULL, 10) != bytes)
        refuse(file, "elements of another width, or big endian");
    at = strstr(header, "'fortran_order': ");
    if (at == NULL || at[17] != 'F')
        refuse(file, "Fortran order; np.ascontiguousarray changes it");
    at = strstr(header, "'shape': (");
    if (at == NULL || sscanf(at + 10, "%llu, %llu)", &rows, &columns) != 2 || rows == 0 || columns == 0)
        refuse(file, "no matrix");
    found.rows = rows;
    found.columns = columns;
    if (columns > SIZE_MAX / bytes / rows || (found.data = malloc(rows * columns * bytes)) == NULL)
        refuse(file, "too large");
    if (fread(found.data, bytes, rows * columns, stream) != rows * columns || fgetc(stream) != EOF)
        refuse(file, "has another size than its shape");
    fclose(stream);
    free(header);
    return found;
}}

int main(int count, char **files)
{{
    size_t m, n, k;
    uint64_t found[5];
    void *work;
    struct matrix a, b, c = {{0, 0, NULL}}, d, scale_a = {{0, 0, NULL}}, scale_b = {{0, 0, NULL}};
    if (count < 4 || count > {most} || (count > 5 && count != {most}))
        refuse("usage", "judge a.npy b.npy d.npy{c_file}");
    if (SCALES && count != {most})
        refuse("usage", "scales of blocks are needed: judge a.npy b.npy d.npy c.npy scale_a.npy scale_b.npy");
    a = read_npy(files[1], sizeof({a}));
    b = read_npy(files[2], sizeof({b}));
    d = read_npy(files[3], sizeof({d}));
    m = a.rows, k = a.columns, n = b.columns;
    if (b.rows != k || d.rows != m || d.columns != n)
        refuse(files[3], "shapes are not (M, K), (K, N), (M, N)");
    if (count > 4)
        c = read_npy(files[4], sizeof({c}));
    if (count > 4 && (c.rows != m || c.columns != n))
        refuse(files[4], "c is not (M, N)");
    if (count > 5) {{
        scale_a = read_npy(files[5], 1);
        scale_b = read_npy(files[6], 1);
        if (scale_a.rows != m || scale_b.columns != n || scale_a.columns != scale_b.rows)
            refuse(files[5], "one scale for each block of k is needed: (M, blocks) and (blocks, N)");
    }}
    if (judge_refuses(k, scale_a.columns) != NULL)
        refuse(files[1], judge_refuses(k, scale_a.columns));
    work = malloc(judge_work(n, k));
    if (work == NULL)
        refuse("memory", "too large");
    if (judge_run(m, n, k, a.data, b.data, c.data, d.data, scale_a.data, scale_b.data, scale_a.columns, work, found)) {{
        printf("first: [%llu, %llu] is 0x%0{digits}llx, and the {what} returns 0x%0{digits}llx\\n",
               (unsigned long long)found[1], (unsigned long long)found[2], (unsigned long long)found[3],
               (unsigned long long)found[4]);
        printf("other bits: %llu of %llu elements\\n", (unsigned long long)found[0], (unsigned long long)m * n);
        return 1;
    }}
    printf("exact: %s\\n", judge_name());
    return 0;
}}
#endif
"""

_ONLY_ONE = """\
    if (k > {upper}_K)
        return "K is larger than that of the instruction, and a chain of this one is not judged";
"""
_MULTIPLE = """\
    if (k > {upper}_K && k % {upper}_K != 0)
        return "K is above that of the instruction, and not a multiple of it";
"""
_BLOCKS = """\
    if (blocks * {upper}_K > filled(k) * {upper}_BLOCKS || k * {upper}_BLOCKS != blocks * {upper}_K)
        return "one scale for each block of k is needed: (M, blocks) and (blocks, N)";
"""
_OF_THIS_K = """\
    if (k != PLAN_K)
        return "K is not {k}, of which this judge is";
"""
_FILL_SCALES = """\
    uint8_t *row_scales = slots + SLOTS * n * SLOT, *all_scales = row_scales + ALIGNED({row_scales});
    for (size_t i = 0; i < {row_scales}; i++)
        for (size_t j = 0; j < n; j++)
            all_scales[i * n + j] = i < blocks ? scale_b[i * n + j] : {one}u;
"""
_ROW_SCALE = """\
        for (size_t x = 0; x < {row_scales}; x++)
            row_scales[x] = x < blocks ? scale_a[i * blocks + x] : {one}u;
"""


@dataclass(frozen=True)
class _Program:
    """What computes a row of d: statements, the functions that they call, slots for arrays, and k in their order."""

    row: str
    operations: str = ""
    slots: int = 1
    order: tuple[int, ...] = ()


def make_judge(plan: Plan, k: int | None, version: str) -> tuple[Model, str]:
    """Return the model of the unit and the program that compares products with a plan, which divides ``k``.

    The judge of a unit takes every K that its instructions chain to. Raises DesignError for a plan without ``k``, for
    one that splits operands, has scales or factors that are operands, and what ``make_model`` raises.
    """
    if plan.is_unit:
        model = make_model(plan.unit, k, version)
        return model, _printed(model, plan, None, _of_unit(model))
    for reason, is_so in (
        ("the parts of a plan depend on K: give --k", k is None),
        ("it splits its operands", plan.algorithm is not None),
        ("it has scales of blocks", plan.scale_format is not None),
        ("it has factors that are operands", plan.has_factors),
        ("the order of its additions is not determined", plan.has_open_order),
    ):
        if is_so:
            raise DesignError(f"{plan.name}: {reason}; c-judge is of units, and of plans that divide one K")
    model = make_model(plan.unit, None, version)
    return model, _printed(model, plan, k, _of_plan(model, plan.schedule(k or 0).operations))


def _of_unit(model: Model) -> _Program:
    scales = "" if model.design.scale_format is None else "scale_a, scale_b, "
    count = f"filled(k) / {model.name.upper()}_K, " if model.chains else ""
    d = c_type(model.design.d_format)
    call = f"    {model.name}_tile(1, n, {count}a, b, c, {scales}({d} *)slots);\n"
    return _Program(f"{call}    return (const {d} *)slots;\n")


def _of_plan(model: Model, operations: Sequence[Operation]) -> _Program:
    """Return the operations over a row: each makes an array in a slot, which is free after its last use."""
    last = {x: i for i, operation in enumerate(operations) for x in arguments(operation)}
    lines: list[str] = []
    order: list[int] = []
    free: list[int] = []
    slots: dict[int, int] = {}
    count = 0
    formats: list[Format] = []
    functions: dict[str, str] = {}
    nodes: list[Node] = []
    for i, operation in enumerate(operations):
        if isinstance(operation, Cut):
            raise DesignError("operands that are split are not printed")
        used = tuple(dict.fromkeys(arguments(operation)))
        formats.append(operation.fmt)
        if isinstance(operation, Operand):
            lines.append(f"const {c_type(operation.fmt)} *v{i} = c;")
            continue
        if not free:
            free.append(count)
            count += 1
        slots[i] = free.pop()
        lines.append(f"{c_type(operation.fmt)} *v{i} = (void *)(slots + {slots[i]} * n * SLOT);")
        if isinstance(operation, Call):
            lines.append(_call(model, operation, i, order))
        elif isinstance(operation, Zero):
            lines.append(f"for (size_t j = 0; j < n; j++) v{i}[j] = 0;")
        else:
            body, made = _operation(operation, {x: formats[x] for x in used})
            nodes += made
            name = functions.setdefault(body, f"judge_op_{len(functions)}")
            lines.append(f"for (size_t j = 0; j < n; j++) v{i}[j] = {name}({', '.join(f'v{x}[j]' for x in used)});")
        free += [slots[x] for x in used if last[x] == i and x in slots]
    text = "".join(x.replace("judge_op(", f"{name}(", 1) for x, name in functions.items())
    row = "".join(f"    {x}\n" for x in [*lines, f"return v{len(operations) - 1};"])
    return _Program(row, (helpers(nodes, "INLINE") if nodes else "") + text, count, tuple(order))


def _call(model: Model, call: Call, index: int, order: list[int]) -> str:
    """Return a call of the unit over a row; its elements of k, filled up to whole instructions, join the order."""
    size = model.k
    count = -(-len(call.ks) // size)
    if count > 1 and (len(call.ks) % size or not model.chains):
        raise DesignError(f"{model.design.name}: a chain of {len(call.ks)} elements of k is not printed")
    first = len(order)
    order += [*call.ks, *[-1] * (count * size - len(call.ks))]
    many = f"{count}, " if model.chains else ""
    return f"{model.name}_tile(1, n, {many}a + {first}, b + {first} * n, v{call.c}, v{index});"


def _operation(operation: Operation, formats: dict[int, Format]) -> tuple[str, list[Node]]:
    """Return the function of an operation outside the unit, called ``judge_op``, and its nodes."""
    if isinstance(operation, Multiply) and isinstance(operation.factor, Factor):
        raise DesignError("factors that are operands are not printed")
    algebra = CodeAlgebra()
    numbers = {x: Number(fmt, algebra.symbol(f"x{x}", fmt.bits), Span.of_format(fmt)) for x, fmt in formats.items()}
    nothing = next(iter(numbers.values()))
    found = perform(Arithmetic(algebra), operation, "", Values(numbers, {}), Elements((), (), nothing))
    node = found.word.data.node
    given = {f"x{x}": f"({TYPES[max(storage_bits(fmt), 32)]})p{i}" for i, (x, fmt) in enumerate(formats.items())}
    lines, result = C.written(node, given)
    parameters = ", ".join(f"{c_type(fmt)} p{i}" for i, fmt in enumerate(formats.values()))
    body = "".join(f"    {x}\n" for x in lines)
    for i, x in enumerate(formats):  # the same operation of other numbers is the same function
        body, result = body.replace(f"x{x}_", f"y{i}_"), result.replace(f"x{x}_", f"y{i}_")
    d = c_type(found.fmt)
    return f"\nINLINE {d} judge_op({parameters})\n{{\n{body}    return ({d}){result};\n}}\n", needed([node])


def _printed(model: Model, plan: Plan, k: int | None, program: _Program) -> str:
    """Return the file: the model, what computes a row, and what compares rows."""
    header, source = (c_library(model)[f"{model.name}{x}"] for x in (".h", ".c"))
    source = source.replace(f'#include "{model.name}.h"\n', "").replace(_HEADERS, _NO_LIBRARY)
    upper, scale = model.name.upper(), plan.scale_format
    c_is_read = k is None or plan.epilogue.c is not JoinsC.NONE
    one = {} if scale is None else {"one": scale.encode(1)}
    row_scales = "0" if scale is None else f"filled(k) / {upper}_K * {upper}_BLOCKS"
    if k is None:
        refuses = (_MULTIPLE if model.chains else _ONLY_ONE) + ("" if scale is None else _BLOCKS)
        filled, order_at, order = f"(k + {upper}_K - 1) / {upper}_K * {upper}_K", "i", ""
    else:
        refuses, filled, order_at = _OF_THIS_K, f"(void)k, (size_t){len(program.order)}", "ORDER[i]"
        numbers = ", ".join(str(k if x < 0 else x) for x in program.order)
        order = f"static const uint32_t ORDER[] = {{{numbers}}};\n"
    return (
        header
        + source
        + _JUDGE.format(
            **{name: c_type(fmt) for name, fmt in zip("abcd", plan.formats, strict=True)},
            plan=plain(plan.name),
            what="unit" if k is None else "plan",
            operations=program.operations,
            slots=program.slots,
            plan_k="" if k is None else f", PLAN_K = {k}",
            order=order,
            filled=filled,
            order_at=order_at,
            row=program.row,
            refuses=refuses.format(upper=upper, k=k),
            row_scales=row_scales,
            digits=plan.formats[3].hex_digits,
            most=4 + c_is_read if scale is None else 7,
            c_file=" [c.npy{}]".format("" if scale is None else " scale_a.npy scale_b.npy") if c_is_read else "",
            scales_count=0 if scale is None else 1,
            scale_shapes="" if scale is None else ", scales are M x blocks and blocks x N",
            scale_parameters="" if scale is None else ", const uint8_t *scale_a, const uint8_t *scale_b",
            fill_scales="" if scale is None else _FILL_SCALES.format(row_scales=row_scales, **one),
            row_scale="" if scale is None else _ROW_SCALE.format(row_scales=row_scales, **one),
            row_given="" if scale is None else "row_scales, all_scales, ",
        )
    )


_MODULE = r"""// Says of a product whether it has the bits of a plan, by the judge in C (export c-judge) as WebAssembly.
//   node FILE.mjs judge.wasm a.npy b.npy d.npy [c.npy [scale_a.npy scale_b.npy]]
// Status 0: all bits are those of the plan; 1: others; 2: a file cannot be judged. In a browser:
//   import { load, judge } from "./FILE.mjs";
//   const found = judge(await load(bytesOfWasm), { a, b, d, c }); // matrices: { rows, columns, data: Uint8Array }

export const PLAN = @plan@;

/** Return the exports of the judge. Throws where it is that of another plan. */
export async function load(bytes) {
  const judge = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  const name = text(judge, judge.judge_name());
  if (name !== PLAN) throw new Error(`this is the judge of ${name}`);
  return judge;
}

function text(judge, at) {
  const bytes = new Uint8Array(judge.memory.buffer, at);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}

/** Return { different, row, column, given, returned }; different is 0 where all bits are those of the plan. */
export function judge(judge, { a, b, d, c, scale_a, scale_b }) {
  const m = a.rows, k = a.columns, n = b.columns;
  if (b.rows !== k || d.rows !== m || d.columns !== n) throw new Error("shapes are not (M, K), (K, N), (M, N)");
  if (c && (c.rows !== m || c.columns !== n)) throw new Error("c is not (M, N)");
  const scaled = judge.judge_bytes(4) > 0;
  if (scaled !== Boolean(scale_a && scale_b)) throw new Error(scaled ? "scales of blocks are needed" : "no scales");
  if (scaled && (scale_a.rows !== m || scale_b.columns !== n || scale_a.columns !== scale_b.rows))
    throw new Error("one scale for each block of k is needed: (M, blocks) and (blocks, N)");
  [a, b, c, d].forEach((x, which) => {
    if (x && x.data.length !== x.rows * x.columns * judge.judge_bytes(which))
      throw new Error("elements of another width, or big endian");
  });
  const blocks = scaled ? scale_a.columns : 0;
  const why = judge.judge_refuses(k, blocks);
  if (why) throw new Error(text(judge, why));
  let at = judge.__heap_base.value;
  const place = (bytes) => {
    const found = (at = Math.ceil(at / 16) * 16);
    at += bytes;
    const missing = at - judge.memory.buffer.byteLength;
    if (missing > 0) judge.memory.grow(Math.ceil(missing / 65536));
    return found;
  };
  const put = (x) => {
    if (!x) return 0;
    const to = place(x.data.length);
    new Uint8Array(judge.memory.buffer).set(x.data, to);
    return to;
  };
  const [in_a, in_b, in_c, in_d, in_sa, in_sb] = [a, b, c, d, scale_a, scale_b].map(put);
  const work = place(judge.judge_work(n, k)), report = place(40);
  judge.judge_run(m, n, k, in_a, in_b, in_c, in_d, in_sa, in_sb, blocks, work, report);
  const [different, row, column, given, returned] = new BigUint64Array(judge.memory.buffer, report, 5);
  return different ? { different, row, column, given, returned } : { different };
}

/** Return the matrix of a .npy file. Throws for what is none. */
export function readNpy(bytes, width) {
  const ascii = (from, to) => String.fromCharCode(...bytes.slice(from, to));
  if (ascii(1, 6) !== "NUMPY" || bytes[0] !== 0x93) throw new Error("no .npy file");
  const start = bytes[6] === 1 ? 10 : 12;
  const length = bytes[8] + 256 * bytes[9] + (start === 12 ? 65536 * bytes[10] + 16777216 * bytes[11] : 0);
  const header = ascii(start, start + length);
  const type = /'descr': '(.)[a-zA-Z](\d+)'/.exec(header);
  if (!type || (width > 1 && type[1] === ">") || Number(type[2]) !== width)
    throw new Error("elements of another width, or big endian");
  if (!header.includes("'fortran_order': F")) throw new Error("Fortran order; np.ascontiguousarray changes it");
  const shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (!shape || !Number(shape[1]) || !Number(shape[2])) throw new Error("no matrix");
  const rows = Number(shape[1]), columns = Number(shape[2]), data = bytes.slice(start + length);
  if (data.length !== rows * columns * width) throw new Error("has another size than its shape");
  return { rows, columns, data };
}

async function main(files) {
  const { readFile } = await import("node:fs/promises");
  const wasm = await load(await readFile(files[0]));
  const names = ["a", "b", "d", "c", "scale_a", "scale_b"], which = { a: 0, b: 1, c: 2, d: 3 };
  if (files.length < 4 || files.length > 7) throw new Error("judge.wasm a.npy b.npy d.npy [c.npy [scales]]");
  const held = {};
  for (const [i, file] of files.slice(1).entries()) {
    const width = names[i] in which ? wasm.judge_bytes(which[names[i]]) : 1;
    held[names[i]] = readNpy(new Uint8Array(await readFile(file)), width);
  }
  const found = judge(wasm, held), digits = @digits@;
  if (!found.different) return console.log(`exact: ${PLAN}`), 0;
  const hex = (x) => `0x${x.toString(16).padStart(digits, "0")}`;
  const what = `[${found.row}, ${found.column}] is ${hex(found.given)}, and the @what@ returns ${hex(found.returned)}`;
  console.log(`first: ${what}\nother bits: ${found.different} of ${held.d.rows * held.d.columns} elements`);
  return 1;
}

if (typeof process !== "undefined" && process.argv[1]?.endsWith(".mjs")) {
  main(process.argv.slice(2)).then(
    (status) => (process.exitCode = status),
    (error) => (console.error(`error: ${error.message}`), (process.exitCode = 2)),
  );
}
"""


def js_judge(plan: str, digits: int, *, is_unit: bool) -> str:
    """Return the module for the judge of a plan, whose d has that many hexadecimal digits."""
    fields = {"@plan@": json.dumps(plan), "@digits@": str(digits), "@what@": "unit" if is_unit else "plan"}
    found = _MODULE
    for name, value in fields.items():
        found = found.replace(name, value)
    return found
