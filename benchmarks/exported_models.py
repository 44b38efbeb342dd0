"""Dot products per second of exported models in C, by the compilers that are there.

    python benchmarks/exported_models.py [--designs NAME ...] [--rows N] [--repeats N] [--json]

Each model is what ``mmaproof export --format c-model`` writes, compiled as a shared library and called from this
process, which on Linux is bound to one core. Operands are random bits. ``rows`` is the function over rows, ``tile``
that over a tile of 64 columns and one instruction. Times are CPU seconds; the best of several runs counts. The d of
both compilers are compared with those of the array interpretation.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine, print_report

from mmaproof import evaluate_batch, find_design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.generators.models.c_model import c_library
from mmaproof.generators.models.model import Model, make_model
from mmaproof.verification.distributions import draw

DESIGNS = ("hopper/wgmma.m64n8k16.f32.f16.f16", "volta/mma.m8n8k4.f32.f16.f16.f32")
COMMANDS = {
    "gcc -O2": ("gcc", "-O2"),
    "gcc -O3 -march=native": ("gcc", "-O3", "-march=native"),
    "clang -O3 -march=native": ("clang", "-O3", "-march=native"),
}
COLUMNS = 64


def measure(model: Model, name: str, rows: int, repeats: int) -> dict[str, Any]:
    """Return the seconds of compilation and the speeds of one model with one compiler."""
    compiler, *options = COMMANDS[name]
    batch = draw("uniform-bits", model.design, rows, model.k, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        for file, text in c_library(model).items():
            Path(folder, file).write_text(text, encoding="utf-8")
        started = time.perf_counter()
        command = [compiler, "-std=c11", *options, "-shared", "-fPIC", "-o", "model.so", f"{model.name}.c"]
        subprocess.run(command, cwd=folder, check=True)
        compiled = time.perf_counter() - started
        library = ctypes.CDLL(str(Path(folder, "model.so")))
    d = np.empty(rows, dtype=pattern_dtype(model.design.d_format))
    arrays = [x.ctypes.data_as(ctypes.c_void_p) for x in (*_columns(batch), d)]
    size = ctypes.c_size_t
    of_rows, of_tile = (getattr(library, f"{model.name}_{x}") for x in ("rows", "tile"))
    by_row = _seconds(lambda: of_rows(size(rows), *arrays), repeats)
    if not np.array_equal(d, evaluate_batch(model.design, batch)):
        raise SystemExit(f"error: {name} does not return the d of {model.design.name}")
    m, instructions = rows // COLUMNS, [size(1)] if model.chains else []
    by_tile = _seconds(lambda: of_tile(size(m), size(COLUMNS), *instructions, *arrays), repeats)
    speeds = {"rows": rows / by_row, "tile": m * COLUMNS / by_tile}
    return {"design": model.design.name, "k": model.k, "compiler": name, "compile_seconds": compiled, **speeds}


def _columns(batch: OperandBatch) -> list[np.ndarray]:
    held = (batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b)
    return [np.ascontiguousarray(x) for x in held if x is not None]


def _seconds(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        times.append(max(time.process_time() - started, 1e-9))
    return min(times)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Dot products per second of exported models in C, on one core.")
    parser.add_argument("--designs", nargs="+", metavar="NAME", default=DESIGNS, help="designs to measure")
    parser.add_argument("--rows", type=int, default=1 << 16, help="dot products of one run")
    parser.add_argument("--repeats", type=int, default=9, help="runs, of which the best counts")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if given.rows < COLUMNS or given.repeats < 1:
        parser.error(f"--rows is at least {COLUMNS}, --repeats at least 1")
    try:
        given.models = [make_model(find_design(name), None, "benchmark") for name in given.designs]
    except InputError as error:
        parser.error(str(error))
    return given


def main() -> None:
    """Measure and print."""
    given = arguments()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = [name for name, (compiler, *_) in COMMANDS.items() if shutil.which(compiler)]
    if not found:
        sys.exit("error: neither gcc nor clang is on this machine")
    report: dict[str, Any] = {"machine": machine(), "repeats": given.repeats, "operands": "uniform-bits, seed 0"}
    report["rows"] = [measure(x, name, given.rows, given.repeats) for x in given.models for name in found]
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"million dot products a CPU second, best of {report['repeats']} runs; operands: {report['operands']}")
    print(f"{'design':<46}{'compiler':<26}{'compile s':>10}{'rows':>8}{'tile':>8}")
    for row in report["rows"]:
        speeds = "".join(f"{row[x] / 1e6:>8.1f}" for x in ("rows", "tile"))
        print(f"{row['design']:<46}{row['compiler']:<26}{row['compile_seconds']:>10.1f}{speeds}")


if __name__ == "__main__":
    main()
