"""Seconds to separate F = 24 from F = 25 with each installed solver; the baseline is Bitwuzla.

    python benchmarks/separation.py [--cases NAME ...] [--solvers NAME ...] [--timeout 30s] [--memory 4G] [--json]

The two designs of a case differ in F only and fuse L products in one step. The random search is off, so the solver
finds the witness. Seconds are wall-clock of the whole answer: building the formula, starting the solver process,
solving, confirming the witness on integers and simplifying it. One run each: a satisfiable query takes a solver as
long as it is lucky, and another version or seed may be luckier.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from limits import add_limits, read_limits
from machine import machine, print_report

from mmaproof import Design, Limits, compare, find_design
from mmaproof.smt.solving.backends import available_solvers

BASELINE = "bitwuzla"
COARSE, FINE = 24, 25
CASES = {
    "fp16-L4": ("hopper/wgmma.m64n8k16.f32.f16.f16", 4),
    "fp16-L8": ("hopper/wgmma.m64n8k16.f32.f16.f16", 8),
    "fp16-L16": ("hopper/wgmma.m64n8k16.f32.f16.f16", 16),
    "fp16-L32": ("hopper/wgmma.m64n8k16.f32.f16.f16", 32),
    "e4m3-L32": ("hopper/wgmma.m64n8k32.f32.e4m3.e4m3", 32),
}


def one_step(name: str, products: int, fraction_bits: int) -> Design:
    """Return the design with K = L = ``products``: its instruction is one step, whatever it was."""
    design = find_design(name).change(rho="rz-fp32", fraction_bits=fraction_bits)
    return dataclasses.replace(
        design,
        k=products,
        step=dataclasses.replace(design.step, L=products),
        changed=("L", *design.changed),
    )


def separate(case: str, solver: str, limits: Limits) -> dict[str, Any]:
    """Return what one solver says about one case."""
    first, second = (one_step(*CASES[case], fraction_bits) for fraction_bits in (COARSE, FINE))
    answer = compare(first, second, solver=solver, limits=limits, budget=None)
    return {"verdict": answer.verdict, "seconds": answer.seconds, "reason": answer.reason}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    installed = [name for name, found in available_solvers().items() if found.missing is None]
    parser = argparse.ArgumentParser(description=f"Seconds to separate F = {COARSE} from F = {FINE}, for each solver.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="cases to run")
    parser.add_argument("--solvers", nargs="+", choices=installed, default=installed, help="solvers to ask")
    add_limits(parser, "30s")
    return read_limits(parser)


def run_cases(cases: list[str], solvers: list[str], limits: Limits) -> list[dict[str, Any]]:
    """Ask every solver about every case; ``ratio`` is None where either side has no answer."""
    rows = []
    for case in cases:
        answers = {}
        for solver in sorted(solvers, key=lambda name: name != BASELINE):
            print(f"asking {solver} about {case}", file=sys.stderr)
            answers[solver] = separate(case, solver, limits)
        reference = answers.get(BASELINE)
        for solver, answer in answers.items():
            known = reference and "unknown" not in (reference["verdict"], answer["verdict"])
            ratio = answer["seconds"] / reference["seconds"] if known else None
            rows.append({"case": case, "solver": solver, **answer, "ratio": ratio})
    return rows


def main() -> None:
    """Measure and print."""
    given = arguments()
    versions = {name: found.version for name, found in available_solvers().items() if found.version is not None}
    report: dict[str, Any] = {
        "machine": machine() | versions,
        "fraction_bits": [COARSE, FINE],
        "limit_seconds": given.limits.seconds,
        "baseline": BASELINE,
        "rows": run_cases(given.cases, given.solvers, given.limits),
    }
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"F = {COARSE} against F = {FINE}, search off, limit {report['limit_seconds']:g} s; ratio to {BASELINE}")
    print(f"{'case':<10}{'solver':<10}{'verdict':<11}{'seconds':>8}{'ratio':>8}")
    for row in report["rows"]:
        ratio = f"{row['ratio']:.1f}" if row["ratio"] is not None else "-"
        reason = f"  {row['reason']}" if row["reason"] else ""
        print(f"{row['case']:<10}{row['solver']:<10}{row['verdict']:<11}{row['seconds']:>8.2f}{ratio:>8}{reason}")


if __name__ == "__main__":
    main()
