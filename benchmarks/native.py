"""Native code: dot products per second of rows and of matrix products; the baseline is arrays.

    python benchmarks/native.py [--designs NAME ...] [--sizes N ...] [--repeats N] [--json]

All numbers are CPU seconds of this process, which is bound to one core where the system allows it, but for the wall
times on two threads. The best of several runs counts. Both backends compute the same random operands in the same run,
and the results are compared.

* rows: ``evaluate_batch`` with its check of the operands, on rows that are in the second-level cache;
* product: ``matmul`` without its checks, of a product 512 x 512 x 16K, as dot products of length K;
* compile: to lower, compile and check the code of rows and of the product for finite operands, with an empty cache, and
  to find it there in a fresh process state; LLVM itself is loaded before;
* growth: ``matmul`` of square fp16 matrices on Hopper, on one thread and two, and MMA-Sim (``mmasim``) where it is
  installed, at a size that takes seconds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from machine import machine, print_report

from mmaproof import Design, evaluate_batch, find_design, matmul
from mmaproof.designs.errors import MmaproofError
from mmaproof.designs.operands import array_of
from mmaproof.smt.backends import Backend
from mmaproof.smt.native import kernels, matrices
from mmaproof.smt.native.compiler import processor
from mmaproof.smt.native.matrices import Matrices, multiply_natively
from mmaproof.verification.distributions import draw

DESIGNS = {
    # design: what is expected of rows and of products, in million dot products a second
    "volta/mma.m8n8k4.f32.f16.f16.f32": (120, 500),
    "hopper/wgmma.m64n8k16.f32.f16.f16": (40, 180),
    "hopper/wgmma.m64n8k32.f32.e4m3.e4m3": (20, 80),
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3": (13, 25),
    "cdna3/v_mfma_f32_16x16x16_f16": (35, 130),
    "cdna2/v_mfma_f32_16x16x16f16": (13, 20),
    "ampere/mma.m16n8k16.s32.s8.s8.s32": (250, 800),
    "hopper/mma.m16n8k16.f64.f64.f64.f64": (40, None),
}
HOPPER = "hopper/wgmma.m64n8k16.f32.f16.f16"
SIZES = (128, 256, 512, 1024, 2048)
ROWS = 1 << 15
SIDE = 512
MMASIM_SIDE = 128


def cpu_seconds(run: Callable[[], object], repeats: int, least: float = 0.05) -> float:
    """Return the CPU seconds of one run: the best of several measurements, each of as many runs as take ``least``."""
    best = float("inf")
    for _ in range(repeats):
        runs, started = 0, time.process_time()
        while (took := time.process_time() - started) < least or not runs:
            run()
            runs += 1
        best = min(best, took / runs)
    return best


def wall_seconds(run: Callable[[], object], repeats: int) -> float:
    """Return the wall-clock seconds of the best run."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def compile_seconds(design: Design) -> dict[str, float]:
    """Return the CPU seconds until code may run: with an empty cache, and with a filled one."""
    processor()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MMAPROOF_CACHE"] = folder
        for state in ("cold", "warm"):
            kernels._loaded.clear()
            matrices._loaded.clear()
            started = time.process_time()
            kernels.rows_kernel(design, design.k)
            found[f"rows_{state}"] = time.process_time() - started
            started = time.process_time()
            matrices.panel_kernel(design, matrices.has_specials(design))
            found[f"product_{state}"] = time.process_time() - started
        del os.environ["MMAPROOF_CACHE"]
    return found


def family(name: str, repeats: int) -> dict[str, Any]:
    """Return the numbers of one design."""
    design = find_design(name)
    compiled = compile_seconds(design)
    batch = draw("normal", design, ROWS, design.k, np.random.default_rng(0))
    d = {b: evaluate_batch(design, batch, backend=b) for b in (Backend.NATIVE, Backend.ARRAYS)}
    rows = {b: ROWS / cpu_seconds(lambda b=b: evaluate_batch(design, batch, backend=b), repeats) for b in d}
    given = _product(design)
    product = multiply_natively(design, given)
    some = Matrices(
        given.a[:16], given.b, given.c[:16], None if given.scale_a is None else given.scale_a[:16], given.scale_b
    )
    a, b, c, _ = design.formats
    typed = [array_of(np.ascontiguousarray(x), f) for x, f in ((some.a, a), (some.b, b), (some.c, c))]
    if design.scale_format is not None:
        typed += [array_of(np.ascontiguousarray(x), design.scale_format) for x in (some.scale_a, some.scale_b)]
    on_arrays = matmul(design, *typed, backend=Backend.ARRAYS)
    dots = SIDE * SIDE * given.a.shape[1] // design.k
    seconds = cpu_seconds(lambda: multiply_natively(design, given), repeats)
    arrays = cpu_seconds(lambda: matmul(design, *typed, backend=Backend.ARRAYS), 1)
    return {
        "design": name,
        "k": design.k,
        "rows": rows[Backend.NATIVE],
        "rows_arrays": rows[Backend.ARRAYS],
        "product": dots / seconds,
        "product_arrays": dots / SIDE * 16 / arrays,
        "expected": DESIGNS.get(name, (None, None)),
        "equal": bool(
            (d[Backend.NATIVE] == d[Backend.ARRAYS]).all() and (on_arrays.view(product.dtype) == product[:16]).all()
        ),
        **compiled,
    }


def _product(design: Design) -> Matrices:
    rows = draw("normal", design, SIDE, 16 * design.k, np.random.default_rng(1))
    b, scale_b = np.ascontiguousarray(rows.b.T), None if rows.scale_b is None else np.ascontiguousarray(rows.scale_b.T)
    c = np.zeros((SIDE, SIDE), dtype=rows.c.dtype)
    return Matrices(rows.a, b, c, rows.scale_a, scale_b)


def growth(side: int, repeats: int) -> dict[str, float]:
    """Return CPU seconds of ``matmul`` of square matrices on one thread, and wall-clock seconds on one and on two."""
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((side, side)).astype(np.float16) for _ in "ab")
    repeats = max(1, min(repeats, 4 if side < 2048 else 1))
    return {
        "side": side,
        "cpu": cpu_seconds(lambda: matmul(HOPPER, a, b, backend=Backend.NATIVE), repeats),
        "wall_1": wall_seconds(lambda: matmul(HOPPER, a, b, backend=Backend.NATIVE), repeats),
        "wall_2": wall_seconds(lambda: matmul(HOPPER, a, b, backend=Backend.NATIVE, jobs=2), repeats),
    }


def mmasim(side: int) -> float | None:
    """Return the CPU seconds of MMA-Sim for the same product on Hopper; None where it is not installed."""
    if find_spec("mmasim") is None or find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415
    from mmasim.nv_ptx import WGMMA  # noqa: PLC0415

    torch.set_num_threads(1)
    unit = WGMMA("Hopper", f"m64n{side}k16.f32.f16.f16")
    a, b = (torch.randn(side, side, dtype=torch.float16) for _ in "ab")

    def product() -> torch.Tensor:
        d = torch.zeros(side, side)
        for k in range(0, side, 16):
            for m in range(0, side, 64):
                d[m : m + 64] = unit(a[m : m + 64, k : k + 16], b[k : k + 16], d[m : m + 64])
        return d

    ours = matmul(HOPPER, a.numpy(), b.numpy(), backend=Backend.NATIVE)
    if not np.array_equal(product().numpy().view(np.uint32), ours.view(np.uint32)):
        print("mmasim returns another product")
    return cpu_seconds(product, 1)


def show(report: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"LLVM for {report['llvm']}; million dot products a CPU second; in brackets what is expected")
    heads = (
        ("K", 3),
        ("rows", 14),
        ("x arrays", 8),
        ("product", 14),
        ("x arrays", 8),
        ("compile s", 9),
        ("warm ms", 8),
    )
    print(f"{'design':60}", *(f"{text:>{width}}" for text, width in heads))
    for x in report["families"]:
        rows, product = (
            f"{x[n] / 1e6:.0f} ({e or '-'})" for n, e in zip(("rows", "product"), x["expected"], strict=True)
        )
        cold, warm = (sum(x[f"{kind}_{state}"] for kind in ("rows", "product")) for state in ("cold", "warm"))
        ratios = [x[n] / x[f"{n}_arrays"] for n in ("rows", "product")]
        print(
            f"{x['design']:60} {x['k']:3} {rows:>14} {ratios[0]:8.0f} {product:>14} {ratios[1]:8.0f} {cold:9.2f} "
            f"{warm * 1e3:8.0f}{'' if x['equal'] else '  DIFFERENT'}"
        )
    print("\nmatmul N x N x N, Hopper fp16: CPU seconds on one thread; wall-clock seconds on one and on two threads")
    for x in report["growth"]:
        dots = x["side"] ** 3 / 16 / x["cpu"] / 1e6
        print(
            f"{x['side']:5} {x['cpu']:9.4f} s {dots:6.0f} million/s   {x['wall_1']:9.4f} s {x['wall_2']:9.4f} s "
            f"({x['wall_2'] / x['wall_1']:.2f})"
        )
    found = report["mmasim"]
    if found is None:
        print("mmasim is not installed: pip install mmasim torch")
    else:
        ours = next(x["cpu"] for x in report["growth"] if x["side"] == MMASIM_SIDE)
        print(
            f"mmasim, {MMASIM_SIDE} x {MMASIM_SIDE} x {MMASIM_SIDE}: {found:.3f} CPU s, {found / ours:.0f} times ours"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Native code against arrays.")
    parser.add_argument("--designs", nargs="+", metavar="NAME", default=list(DESIGNS))
    parser.add_argument("--sizes", nargs="*", type=int, metavar="N", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    try:
        for name in given.designs:
            find_design(name)
        processor()
    except MmaproofError as problem:
        parser.error(str(problem))
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if cores:
        os.sched_setaffinity(0, cores[:1])
    families = [family(name, given.repeats) for name in given.designs]
    found = mmasim(MMASIM_SIDE) if MMASIM_SIDE in given.sizes else None
    if cores:
        os.sched_setaffinity(0, cores)
    report = {
        "machine": machine(),
        "llvm": processor().name,
        "families": families,
        "growth": [growth(side, given.repeats) for side in given.sizes],
        "mmasim": found,
    }
    print_report(report, show, as_json=given.json)


if __name__ == "__main__":
    main()
