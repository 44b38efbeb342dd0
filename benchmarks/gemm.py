"""Multiply-adds per millisecond of error-corrected GEMM algorithms, against ``plain`` and NumPy's float32.

    python benchmarks/gemm.py [--algorithms NAME ...] [--k N] [--rows N] [--columns N] [--repeats N] [--json]

A multiply-add is one element of k of a dot product, however many products of words an algorithm makes of it: all
algorithms do the same work for it. Each runs on a unit that its source means. The matrices are those of
``mmaproof gemm error``, uniform in (-1, 1); times are wall-clock, of ``multiply`` with its splits, in one thread, on
Linux bound to one core. NumPy multiplies the same matrices in float32 in the same run, with as many threads as its
BLAS started: they are not bound. The best of several runs counts; the spread says how much longer the worst one took.
The unit is computed by native code where that pays, or as MMAPROOF_BACKEND says; the rest is computed on arrays.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import machine, print_report
from throughput import use_one_core

from mmaproof import find_algorithm, find_design, multiply
from mmaproof.designs.errors import InputError
from mmaproof.gemm.answers.matrices import find_distribution
from mmaproof.gemm.programs.algorithms import ALGORITHMS

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
AMPERE = "ampere/mma.m16n8k{}.f32.{}.{}.f32"
UNITS = {
    "plain": VOLTA,
    "markidis-a": VOLTA,
    "markidis": VOLTA,
    "ootomo-yokota": AMPERE.format(16, "f16", "f16"),
    "ootomo-yokota-tf32": AMPERE.format(8, "tf32", "tf32"),
    "ootomo-yokota-bf16": AMPERE.format(16, "bf16", "bf16"),
    "3xtf32": AMPERE.format(8, "tf32", "tf32"),
    "bf16x3": AMPERE.format(16, "bf16", "bf16"),
    "bf16x6": AMPERE.format(16, "bf16", "bf16"),
    "bf16x9": AMPERE.format(16, "bf16", "bf16"),
    "promoted": "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
    "slices": "ampere/mma.m16n8k32.s32.s8.s8.s32",
    "slices-fp8": "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
    "residues": "ampere/mma.m16n8k32.s32.s8.s8.s32",
}
BASELINE = "plain"
DISTRIBUTION = "uniform"
SEED = 0


def measure(run: Callable[[], object], count: int, repeats: int) -> dict[str, float]:
    """Time a run of ``count`` multiply-adds: those per millisecond, and the spread."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(max(time.perf_counter() - started, 1e-9))
    return {"per_millisecond": count / min(times) / 1000, "spread": max(times) / min(times) - 1}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Multiply-adds per millisecond of GEMM algorithms.")
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", default=list(ALGORITHMS), help="those to measure")
    parser.add_argument("--k", type=int, default=4096, help="length of the dot products")
    parser.add_argument("--rows", type=int, default=256, help="rows of A")
    parser.add_argument("--columns", type=int, default=256, help="columns of B")
    parser.add_argument("--repeats", type=int, default=2, help="runs, of which the best counts")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if min(given.k, given.rows, given.columns, given.repeats) <= 0:
        parser.error("--k, --rows, --columns and --repeats are above zero")
    try:
        for name in given.algorithms:
            find_design(UNITS[find_algorithm(name).base_name]).padded_length(given.k)
    except InputError as error:
        parser.error(str(error))
    return given


def main() -> None:
    """Measure and print."""
    given = arguments()
    report: dict[str, Any] = {"machine": machine(), "threads": use_one_core(), "repeats": given.repeats}
    report |= {"k": given.k, "rows": given.rows, "columns": given.columns, "distribution": DISTRIBUTION, "seed": SEED}
    count = given.rows * given.k * given.columns
    a, b = find_distribution(DISTRIBUTION).draw(given.rows, given.k, given.columns, np.random.default_rng(SEED))
    c = np.zeros((given.rows, given.columns), dtype=np.uint32)
    report["numpy"] = measure(lambda: a.view(np.float32) @ b.view(np.float32), count, max(given.repeats, 3))
    found = {}
    for name in dict.fromkeys([BASELINE, *given.algorithms]):
        print(f"measuring {name}", file=sys.stderr)
        algorithm = find_algorithm(name)
        unit = find_design(UNITS[algorithm.base_name])

        def run(algorithm: Any = algorithm, unit: Any = unit) -> object:
            return multiply(algorithm, unit, a, b, c)

        found[name] = {"unit": unit.name, **measure(run, count, given.repeats)}
    report["algorithms"] = [
        {
            "algorithm": name,
            **found[name],
            "ratio": found[name]["per_millisecond"] / found[BASELINE]["per_millisecond"],
            "ratio_to_numpy": found[name]["per_millisecond"] / report["numpy"]["per_millisecond"],
        }
        for name in given.algorithms
    ]
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"{report['threads']}; {report['rows']} x {report['k']} x {report['columns']}, {report['distribution']}")
    print(f"multiply-adds per millisecond, best of {report['repeats']} (spread)")
    numpy = report["numpy"]
    print(f"{'NumPy, float32':<20}{numpy['per_millisecond']:>12,.0f} ({numpy['spread']:.0%})")
    print(f"{'algorithm':<20}{'per ms':>18}{'/ plain':>9}{'/ NumPy':>10}  unit")
    for row in report["algorithms"]:
        speed = f"{row['per_millisecond']:,.0f} ({row['spread']:.0%})"
        print(f"{row['algorithm']:<20}{speed:>18}{row['ratio']:>9.2f}{row['ratio_to_numpy']:>10.5f}  {row['unit']}")


if __name__ == "__main__":
    main()
