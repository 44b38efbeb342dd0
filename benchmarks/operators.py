"""Floating-point operators as RTL: what is said of them, and the seconds that it takes.

    python benchmarks/operators.py [--units FOLDER/NAME ...] [--timeout 600s] [--memory 4G] [--json]

The units are those of tests/rtl/units: addition, multiplication and fused multiply-adds in several styles. Seconds are
of computing, by this process and by its solver, from the netlist to the answer, with the search for a witness. A unit
is one row. "unknown" is a row, too.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from limits import add_limits, read_limits
from machine import machine, print_report

from mmaproof import Limits
from mmaproof.rtl.meant import in_one_pass, read_rtl
from mmaproof.verification.compare import compare

UNITS = Path(__file__).parents[1] / "tests" / "rtl" / "units"
GOALS = {
    "fadd/fp32_single": 10,
    "fadd/fp32_two_path": 10,
    "fmul/fp32_single": 10,
    "fmul/fp32_booth": 10,
    "fma/single_to_bf16": 60,
    "fma/counted_to_bf16": 60,
    "fma/single_bf16": 300,
    "fma/counted_bf16": 300,
    "fma/single_fp16": 300,
    "fma/counted_fp16": 300,
    "fma/single_fp32": 471,
    "fma/counted_fp32": 471,
}
"""Seconds by the clock on two cores that each unit should take at most."""


WALL = 20


def row(name: str, limits: Limits) -> dict[str, Any]:
    """Return what is said of a unit, and the seconds."""
    unit, meant = read_rtl(UNITS / f"{name}.toml")
    if meant is None:
        raise ValueError(f"{name} is meant to be nothing")
    found = compare(unit.design, in_one_pass(unit.design, meant), where=unit.where, limits=limits, k=unit.design.k)
    return {
        "unit": name,
        "verdict": found.verdict,
        "seconds": round(found.seconds, 1),
        "lemmas": len(found.lemmas),
        "goal": GOALS[name],
    }


def show(report: dict[str, Any]) -> None:
    """Print the table for a person."""
    print(f"{'unit':24} {'verdict':12} {'CPU s':>8} {'lemmas':>7} {'goal':>5}")
    for x in report["rows"]:
        print(f"{x['unit']:24} {x['verdict']:12} {x['seconds']:8} {x['lemmas']:7} {x['goal']:5}")


def main() -> None:
    """Print one row for each unit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", nargs="+", choices=list(GOALS), default=list(GOALS), metavar="UNIT")
    add_limits(parser, "600s")
    given = read_limits(parser)
    limits = replace(given.limits, wall=WALL * given.limits.seconds)  # computing decides, not the load of the machine
    rows = []
    for name in given.units:
        print(name, file=sys.stderr)
        rows.append(row(name, limits))
    print_report({"machine": machine(), "rows": rows}, show, as_json=given.json)


if __name__ == "__main__":
    main()
