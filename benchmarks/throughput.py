"""Dot products per second of the array interpretation; the baseline is the integer interpretation.

    python benchmarks/throughput.py [--designs NAME ...] [--rows N] [--repeats N] [--seconds S] [--json]

Both compute the same operands in the same run, in one thread each: NumPy's integer operations do not use more. On
Linux the process is bound to one core besides. Times are wall-clock, of ``evaluate_batch`` and ``evaluate`` with
their checks of the operands. The best of several runs counts; the spread says how much longer the worst one took.
A run computes as many dot products as take about ``--seconds``, at most ``--rows``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from machine import machine, print_report

from mmaproof import Design, evaluate, evaluate_batch, find_design
from mmaproof.designs.errors import InputError
from mmaproof.verification.distributions import draw

DESIGNS = (
    "hopper/wgmma.m64n8k16.f32.f16.f16",
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "turing/mma.m16n8k8.f32.f16.f16.f32",
    "ampere/mma.m16n8k16.f32.f16.f16.f32",
    "hopper/wgmma.m64n8k16.f16.f16.f16",
    "hopper/wgmma.m64n8k16.f32.bf16.bf16",
    "hopper/wgmma.m64n8k8.f32.tf32.tf32",
    "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
    "blackwell/tcgen05.mma.m64n8k32.f32.e5m2.e5m2",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "hopper/mma.m16n8k32.f32.e4m3.e4m3.f32",
    "cdna3/v_mfma_f32_16x16x16_f16",
    "cdna3/v_mfma_f32_32x32x16_fp8_fp8",
    "cdna2/v_mfma_f32_16x16x16f16",
    "cdna1/v_mfma_f32_16x16x4f32",
    "ampere/mma.m16n8k16.s32.s8.s8.s32",
    "riscv/bulk.m1n1k8.f32.f16.f16.f32",
    "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "paper/tree.m1n1k8.f32.f16.f16.f32",
    "cdna1/v_mfma_f32_16x16x16f16",
    "hopper/mma.m16n8k16.f64.f64.f64.f64",
)
MOST_INTEGER_ROWS = 4096
DISTRIBUTION = "normal"
SEED = 0


def measure(run: Callable[[int], object], most: int, repeats: int, seconds: float) -> dict[str, float]:
    """Time ``run(rows)`` with ``rows`` chosen so that it takes about ``seconds``; see the module text for the rest."""
    rows = 1
    # grow until a run is long enough to extrapolate from; this warms up, too
    while (took := _seconds(run, rows)) < seconds / 8 and rows < most:
        rows = min(4 * rows, most)
    rows = max(1, min(most, round(rows * seconds / took)))
    times = sorted(_seconds(run, rows) for _ in range(repeats))
    return {"per_second": rows / times[0], "rows": rows, "spread": times[-1] / times[0] - 1}


def _seconds(run: Callable[[int], object], rows: int) -> float:
    started = time.perf_counter()
    run(rows)
    return max(time.perf_counter() - started, 1e-9)


def compare_interpretations(design: Design, most: int, repeats: int, seconds: float) -> dict[str, Any]:
    """Return the speed of arrays and of integers on the same random operands, and their ratio."""
    batch = draw(DISTRIBUTION, design, most, design.k, np.random.default_rng(SEED))
    rows = [batch.row(i) for i in range(min(most, MOST_INTEGER_ROWS))]
    integers = measure(lambda n: [evaluate(design, row) for row in rows[:n]], len(rows), repeats, seconds)
    arrays = measure(lambda n: evaluate_batch(design, batch.select(slice(n)), backend="arrays"), most, repeats, seconds)
    ratio = arrays["per_second"] / integers["per_second"]
    return {"design": design.name, "k": design.k, "arrays": arrays, "integers": integers, "ratio": ratio}


def use_one_core() -> str:
    """Bind this process to one core where the system can do that; return what holds."""
    if not hasattr(os, "sched_setaffinity"):
        return "one thread, not bound to a core"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return "one thread, bound to one core"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Dot products per second: arrays against integers, on one core.")
    parser.add_argument("--designs", nargs="+", metavar="NAME", default=DESIGNS, help="designs to measure")
    parser.add_argument("--rows", type=int, default=1 << 18, help="most dot products of one run")
    parser.add_argument("--repeats", type=int, default=5, help="runs, of which the best counts")
    parser.add_argument("--seconds", type=float, default=0.4, help="about how long one run takes")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if min(given.rows, given.repeats, given.seconds) <= 0:
        parser.error("--rows, --repeats and --seconds are above zero")
    try:
        given.designs = [find_design(name) for name in given.designs]
    except InputError as error:
        parser.error(str(error))
    return given


def main() -> None:
    """Measure and print."""
    given = arguments()
    report: dict[str, Any] = {"machine": machine(), "threads": use_one_core(), "repeats": given.repeats}
    report |= {"distribution": DISTRIBUTION, "seed": SEED, "baseline": "integers", "rows": []}
    for design in given.designs:
        print(f"measuring {design.name}", file=sys.stderr)
        report["rows"].append(compare_interpretations(design, given.rows, given.repeats, given.seconds))
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"{report['threads']}; operands: {report['distribution']}, seed {report['seed']}")
    print(f"dot products per second, best of {report['repeats']} runs (spread); ratio = arrays / integers")
    print(f"{'design':<46}{'k':>3}{'arrays/s':>19}{'integers/s':>16}{'ratio':>8}")
    for row in report["rows"]:
        arrays, integers = (f"{row[x]['per_second']:,.0f} ({row[x]['spread']:.0%})" for x in ("arrays", "integers"))
        print(f"{row['design']:<46}{row['k']:>3}{arrays:>19}{integers:>16}{row['ratio']:>8.1f}")


if __name__ == "__main__":
    main()
