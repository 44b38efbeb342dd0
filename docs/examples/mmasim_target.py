"""The PyPI package mmasim (2.1.1, MIT) as a target: `mmaproof replay FILE "process:python mmasim_target.py"`.

It answers as mmasim models the instruction that is asked for: that of `--expect`, or the one that the first argument
names (as the catalogue does, `hopper/wgmma.m64n8k16.f32.f16.f16`). It needs mmasim and PyTorch; mmaproof is not
imported. See docs/targets.md for what is read and written.
"""

import itertools
import json
import re
import sys

import torch
from mmasim.amd import MFMA, isa_mfma
from mmasim.nv_ptx import (
    MMA,
    WGMMA,
    MMABlockScale,
    TCGen05MMA,
    TCGen05MMABlockScale,
    isa_mma,
    isa_tcgen05mma,
    isa_wgmma,
)

NAMES = {"ada": "Ada Lovelace", "rtx-blackwell": "RTX Blackwell"}
OPERATIONS = (
    ("mma.", MMA, isa_mma.mma_shape_and_type),
    ("mma.", MMABlockScale, isa_mma.mma_block_scale_shape_and_type),
    ("wgmma.", WGMMA, isa_wgmma.wgmma_shape_and_type),
    ("tcgen05.mma.", TCGen05MMA, isa_tcgen05mma.tcgen05mma_shape_and_type),
    ("tcgen05.mma.", TCGen05MMABlockScale, isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type),
    ("v_mfma_", MFMA, isa_mfma.arch_mfma_suffix),
)
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
ROWS_AT_ONCE = 1024


def operation(design):
    """Return mmasim's operation for a design of the catalogue, or None where it has none."""
    architecture, _, instruction = design.partition("@")[0].partition("/")
    name = NAMES.get(architecture, architecture.upper() if architecture.startswith("cdna") else architecture.title())
    for prefix, kind, instructions in OPERATIONS:
        for text in instructions.get(name, ()):
            if instruction == prefix + re.sub(r"kind::\w+\.", "", text):
                return kind(name, text)
    return None


def tensor(dtype, patterns):
    """Return the numbers that bit patterns (a list, or lists of rows) mean."""
    return torch.tensor(patterns, dtype=torch.int64).to(WORDS[dtype.itemsize]).view(dtype)


def elements(unit, dtype, ptx, patterns):
    """Return the elements of a or b as the operation holds them: fp4 above two unused bits, or two in a byte."""
    if ptx != "e2m1":
        return tensor(dtype, patterns)
    if getattr(unit, "packing", 1) == 2:
        return tensor(dtype, [[16 * x + y for x, y in zip(row[::2], row[1::2], strict=True)] for row in patterns])
    return tensor(dtype, [[4 * x for x in row] for row in patterns])


def answer(unit, rows):
    """Return the patterns of d of rows, each a dict of the patterns of a, b, c and of scales."""
    length = len(rows[0]["a"])
    d = tensor(unit.c_type, [row["c"] for row in rows])
    for first in range(0, length, unit.k):
        ks = slice(first, first + unit.k)
        a, b = (
            elements(unit, dtype, ptx, [row[x][ks] + [0] * (unit.k - len(row[x][ks])) for row in rows])
            for x, dtype, ptx in (
                ("a", unit.a_type, getattr(unit, "a_type_ptx", "")),
                ("b", unit.b_type, getattr(unit, "b_type_ptx", "")),
            )
        )
        scales = []
        if "scale_a" in rows[0]:
            blocks = slice(first // unit.block_size, (first + unit.k) // unit.block_size)
            scales = [tensor(unit.s_type, [row[x][blocks] for row in rows]) for x in ("scale_a", "scale_b")]
        d = unit.dpa(a, b, d, *scales)
    return [x % (1 << 8 * d.dtype.itemsize) for x in d.contiguous().view(WORDS[d.dtype.itemsize]).tolist()]


def integers(x):
    """Return the patterns that a field of a row spells, those of 64 bits as signed integers."""
    if isinstance(x, list):
        return list(map(integers, x))
    pattern = int(x, 16)
    return pattern - (1 << 64) if pattern >> 63 else pattern


def main():
    """Answer the rows on stdin."""
    torch.set_num_threads(1)
    header = json.loads(sys.stdin.readline())
    design = sys.argv[1] if len(sys.argv) > 1 else header["design"]
    unit = operation(design or "")
    if unit is None:
        sys.exit(f"mmasim has no operation for {design}: name one with --expect, or as the argument")
    while lines := list(itertools.islice(sys.stdin, ROWS_AT_ONCE)):
        rows = [json.loads(line) for line in lines]
        numbers = [{x: integers(row[x]) for x in row if x != "row"} for row in rows]
        for row, d in zip(rows, answer(unit, numbers), strict=True):
            print(json.dumps({"d": f"{d:#x}", "row": row["row"]}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
