"""The program that tests a model in C or CUDA C++: vectors as arrays, and a ``main`` that compares."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.generators.formats.selection import plain
from mmaproof.generators.models.c_functions import c_type, pointers
from mmaproof.generators.models.model import Model
from mmaproof.generators.models.self_test import SelfTest, Tile

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
