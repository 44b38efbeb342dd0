"""How tight the proved bounds of matrix products are, and whether any result is outside them.

``python benchmarks/tolerances.py`` prints for each kind of unit the bound as a multiple of the largest error found, of
one instruction and of longer sums, and how many results of random products were outside their bounds: there must be
none. ``--outputs N`` sets how many results are computed for each unit, K and distribution (native code pays). Results
are compared in float64, whose own error is added to the bound; it is below one part in 2**38 of the sum of the
magnitudes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.operands import Patterns, pattern_dtype, values_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.tolerances.faults import Product
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.verification.distributions import from_float64

UNITS = (
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3",
    "cdna3/v_mfma_f32_16x16x8_xf32",
    "cdna3/v_mfma_f32_16x16x32_fp8_fp8",
    "cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
)
"""T-FDPA with F = 23 and F = 13, ST-, GST-, TR- and GTR-FDPA, FMA and AMX."""
LENGTHS = (64, 1024, 4096)
DISTRIBUTIONS = ("normal", "positive", "uniform", "wide", "constant", "absorbed")
ONE_SIGN = ("positive", "constant", "absorbed")
MOST = 20
"""The bound is to be at most N times the largest error of data of one sign."""
SIDE = 512


def drawn(design: Design, name: str, shape: tuple[int, int], fmt: str, rng: np.random.Generator) -> Patterns:
    """Return a matrix. ``wide`` has exponents over twenty powers of two, ``constant`` rows or columns of one number.

    ``absorbed`` is of ones: each step adds half of a unit in the last place to a c that is large.
    """
    found = getattr(design, f"{fmt}_format")
    match name:
        case "normal":
            values = rng.standard_normal(shape)
        case "positive":
            values = rng.random(shape)
        case "uniform":
            values = rng.uniform(-1, 1, shape)
        case "wide":
            values = rng.standard_normal(shape) * np.exp2(rng.integers(-10, 11, shape))
        case "absorbed":
            values = np.ones(shape)
        case _:
            one = (shape[0], 1) if fmt == "a" else (1, shape[1])
            values = np.broadcast_to(rng.uniform(0.5, 2, one), shape)
    largest = float(found.largest)
    return from_float64(found, np.clip(values, -largest, largest))


def product(design: Design, k: int, name: str, side: int, rng: np.random.Generator) -> Product:
    """Return a random product; scales are near one."""
    a, b = drawn(design, name, (side, k), "a", rng), drawn(design, name, (k, side), "b", rng)
    start, fmt = rng.standard_normal((side, side)), design.scale_format
    if name == "absorbed":
        start = np.full((side, side), design.step.L * 2.0 ** (design.step.conversion.fraction_bits + 1))
    c = from_float64(design.c_format, start)
    if fmt is None:
        return Product(Plan(design), a, b, c)
    shapes = (side, design.blocks(k)), (design.blocks(k), side)
    spread = 0 if name == "absorbed" else 2
    scales = [
        (rng.integers(fmt.bias - spread, fmt.bias + spread + 1, s) << fmt.fraction_bits).astype(pattern_dtype(fmt))
        for s in shapes
    ]
    return Product(Plan(design), a, b, c, (scales[0], scales[1]))


def measured(design: Design, k: int, name: str, side: int, rng: np.random.Generator) -> tuple[int, int, float]:
    """Return the results that were compared, those outside their bounds, and the smallest bound / error."""
    tolerance, given = Tolerance(Plan(design), k), product(design, k, name, side, rng)
    read = tolerance.given(given.a, given.b, given.c, *given.scales)
    exact, beyond = tolerance.exact_of(read)
    bound = tolerance.bound_of(read)
    error = np.abs(values_of(given.d(), design.d_format) - exact)
    outside = ~(error <= bound + beyond) & np.isfinite(bound)
    known = error > 4 * beyond
    ratio = float((bound[known] / error[known]).min()) if known.any() else np.inf
    return int(np.isfinite(bound).sum()), int(outside.sum()), ratio


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--outputs", type=int, default=SIDE * SIDE, help="results of each unit, K and distribution")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="no further product is begun after these, of CPU time"
    )
    options = parser.parse_args()
    rng, started, total, wrong = np.random.default_rng(options.seed), time.process_time(), 0, 0
    side = min(SIDE, int(options.outputs**0.5))
    print("bound as a multiple of the largest error found (infinite: no error was found)")
    for name in UNITS:
        design = find_design(name)
        for k in (design.k, *LENGTHS):
            ratios = {}
            for distribution in DISTRIBUTIONS:
                ratios[distribution] = np.inf
                for _ in range(max(options.outputs // (side * side), 1)):
                    if time.process_time() - started > 60 * options.minutes:
                        break
                    compared, outside, ratio = measured(design, k, distribution, side, rng)
                    total, wrong = total + compared, wrong + outside
                    ratios[distribution] = min(ratios[distribution], ratio)
            spelled = "  ".join(f"{x} {r:.3g}" for x, r in ratios.items())
            least = min(ratios[x] for x in ONE_SIGN)
            judged = "" if least <= MOST else f": above {MOST}"
            print(f"{name}  k = {k}: {spelled}; of one sign {least:.3g}{judged}", flush=True)
    print(f"{total} results were compared with their bounds, {wrong} of them were outside")


if __name__ == "__main__":
    main()
