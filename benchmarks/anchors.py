"""What an answer costs beside what others take for the same, and beside the goals of the project.

    python benchmarks/anchors.py [--small] [--repeats N] [--json]

Products of matrices are emulated bit by bit, beside NumPy's product of the same matrices in fp32, in one thread of its
BLAS (set OPENBLAS_NUM_THREADS=1). A command is started cold, in a process of its own, without stored answers. Seconds
are of the processor, the smallest of some runs; seconds by the clock say how busy the machine was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from beside import command
from machine import machine, print_report

import mmaproof

PROGRAM = str(Path(sys.executable).with_name("mmaproof"))
HALF, BRAIN = "hopper/wgmma.f32.f16.f16", "hopper/wgmma.f32.bf16.bf16"
PRODUCTS = (  # unit, type, M, N, K, and the goal in seconds of the processor
    (HALF, np.float16, 1024, 1024, 1024, 0.22),
    (BRAIN, ml_dtypes.bfloat16, 1, 4096, 4096, 0.02),
    (BRAIN, ml_dtypes.bfloat16, 128, 4096, 4096, None),
)
COMMANDS = (  # what is started, and the goal in seconds by the clock of a quiet machine
    ("import mmaproof", [sys.executable, "-c", "import mmaproof"], 0.25),
    ("mmaproof --version", [PROGRAM, "--version"], 0.25),
    (
        "compare of two names",
        [PROGRAM, "compare", "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32", "--no-store"],
        0.6,
    ),
)


def least(run: Callable[[], Any], repeats: int) -> float:
    """Return the least seconds of the processor that a run takes after the first one."""
    run()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return min(found)


def product(unit: str, dtype: Any, shape: tuple[int, int, int], repeats: int) -> dict[str, float]:
    """Return the seconds of an emulated product and of NumPy's."""
    (m, n, k), rng = shape, np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    wide = a.astype(np.float32), b.astype(np.float32)
    emulated = least(lambda: mmaproof.matmul(unit, a, b), repeats)
    return {"seconds": emulated, "anchor": least(lambda: wide[0] @ wide[1], repeats)}


def show(report: dict[str, Any]) -> None:
    """Print a line for each measurement."""
    for x in report["work"]:
        beside = f", NumPy in fp32 {x['anchor']:.4f} ({x['seconds'] / x['anchor']:.0f} times)" if "anchor" in x else ""
        beside += f", by the clock {x['clock']:.2f}" if "clock" in x else ""
        goal = "" if x["goal"] is None else f"; goal {x['goal']:g}: {'met' if x['met'] else 'lost'}"
        print(f"{x['name']}: {x['seconds']:.3f} CPU s{beside}{goal}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small products, to try the benchmark")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    options = parser.parse_args()
    work: list[dict[str, Any]] = []
    for unit, dtype, m, n, k, goal in PRODUCTS:
        shape = (min(m, 16), 64, 64) if options.small else (m, n, k)
        work.append(product(unit, dtype, shape, options.repeats))
        work[-1] |= {"name": f"{unit}, {' x '.join(map(str, shape))}", "goal": goal}
    for name, words, goal in COMMANDS:
        work.append(command(words, options.repeats) | {"name": name, "goal": goal})
    for x in work:
        x["met"] = None if x["goal"] is None else x.get("clock", x["seconds"]) <= x["goal"]
    print_report({"machine": machine(), "work": work}, show, as_json=options.json)


if __name__ == "__main__":
    main()
