"""How long a verdict on a product takes, beside the product itself and NumPy's of the same shape in fp32.

``python benchmarks/judging.py`` judges one row of K x N = 4096 x 4096, and 16 rows that are drawn of an 8192^3 product
(``--small``: of 64 x 64, and 4 rows of 128^3). CPU seconds of the process with all threads, the smallest of
``--repeats``. One element of *within* is another than the unit's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from machine import machine, print_report

import mmaproof
from mmaproof.gemm.tolerances.judge import judge, rows_of_sample

PLAN = "hopper/wgmma.f32.bf16.bf16"


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Return the CPU seconds of a call, the smallest of some."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        found.append(time.process_time() - started)
    return min(found)


def measured(m: int, k: int, n: int, rows: int | None, repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the CPU seconds of verdicts on a product, of which ``rows`` are drawn; the rest of d is zeros."""
    a, b = (rng.standard_normal(x, dtype=np.float32).astype(ml_dtypes.bfloat16) for x in ((m, k), (k, n)))
    d = np.zeros((m, n), np.float32)
    sampled = {"plans": PLAN, "rows": rows, "explain": False}
    chosen = rows_of_sample(m, rows, 0)
    d[chosen] = mmaproof.matmul(PLAN, a[chosen], b)
    exact = judge(d, a, b, **sampled)
    assert exact.verdict == "exact", exact
    other = d.copy()
    other[chosen[0], 0] = np.nextafter(other[chosen[0], 0], np.float32(np.inf))
    within = judge(other, a, b, **sampled)
    assert within.verdict == "within", within
    wide = a[chosen].astype(np.float32), b.astype(np.float32)
    return {
        "shape": [m, k, n],
        "rows": len(chosen),
        "missed": {str(x): exact.missed(x) for x in (0.01, 0.1, 0.5)},
        "exact": seconds(lambda: judge(d, a, b, **sampled), repeats),
        "within": seconds(lambda: judge(other, a, b, **sampled), repeats),
        "matmul": seconds(lambda: mmaproof.matmul(PLAN, a[chosen], b), repeats),
        "numpy": seconds(lambda: wide[0] @ wide[1], repeats),
    }


def show(report: dict[str, Any]) -> None:
    """Print the table."""
    for x in report["products"]:
        shape = " x ".join(map(str, x["shape"]))
        times = ", ".join(f"{name} {x[name]:.3f}" for name in ("exact", "within", "matmul", "numpy"))
        print(f"{shape}, {x['rows']} rows: CPU seconds: {times}; a fault in 10 % is missed: {x['missed']['0.1']:.3g}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="small products, to try the benchmark")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    shapes = (
        [(1, 64, 64, None), (128, 128, 128, 4)] if options.small else [(1, 4096, 4096, None), (8192, 8192, 8192, 16)]
    )
    products = [measured(*x, options.repeats, rng) for x in shapes]
    print_report({"machine": machine(), "products": products}, show, as_json=options.json)


if __name__ == "__main__":
    main()
