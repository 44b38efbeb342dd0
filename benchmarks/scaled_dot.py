"""A scaled dot product of e2m1 with e8m0 as RTL: net by net, beside Bitwuzla for the whole question.

    python benchmarks/scaled_dot.py [--products N ...] [--timeout 120] [--alone 20] [--json]

d = c + sum of a[k] * b[k] * 2**(scale_a + scale_b - 254) in fp32, for one block. The unit is tests/rtl/units/scaled:
elements are decoded by a table, aligned at the largest exponent and added one after another. The design has the terms
of Blackwell's. Both may compute for the given seconds, in a process of its own and what it starts.
arch-hdl-lang/arch-com (2026) reports that bit-blasting does not end for two products of its own unit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from beside import NO_ANSWER, limited
from machine import machine, print_report

from mmaproof import Limits, compare, find_design
from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.rtl import read_unit
from mmaproof.smt.solving.backends import BitwuzlaEngine, available_solvers
from mmaproof.smt.solving.query import Query

SOURCE = Path(__file__).parents[1] / "tests" / "rtl" / "units" / "scaled" / "dot_scaled.sv"
BY_THE_CLOCK = 20
"""times the seconds of computing: other work on the machine is not to decide"""
DESIGN = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e2m1.e2m1.ue8m0@zero_c=minus-126,zero_product=operand-minus-126"
UNIT = """
sources = ["{source}"]
top = "dot_scaled"
parameters = {{ L = {products}, F = 25, E = 2, M = 1 }}
block = {products}

[formats]
a = "e2m1"
b = "e2m1"
c = "fp32"
d = "fp32"
scale = "ue8m0"

[ports]
a = "a"
b = "b"
scale_a = "scale_a"
scale_b = "scale_b"
c = "c"
d = "d"
"""


def pair(products: int) -> tuple[Design, Design]:
    """Return the unit as a design, and the design that it is meant to be, of N products."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "unit.toml"
        path.write_text(UNIT.format(source=SOURCE, products=products), encoding="utf-8")
        unit = read_unit(path).design
    meant = find_design(DESIGN)
    signature = replace(meant.signature, block=products)
    step = replace(meant.step, L=products)
    return unit, replace(meant, k=products, signature=signature, step=step, changed=("L", *meant.changed))


def ours(pair: tuple[Design, Design], seconds: int) -> str:
    """Return the verdict, with how it was found."""
    answer = compare(*pair, limits=Limits(seconds, 4 << 30, wall=BY_THE_CLOCK * seconds))
    return f"{answer.verdict}, {len(answer.lemmas)} lemmas"


def alone(query: Query) -> str:
    """Ask Bitwuzla the whole question."""
    return "equivalent" if BitwuzlaEngine().decide(query) is None else "different"


def show(report: dict[str, Any]) -> None:
    """Print a line for each number of products."""
    for x in report["rows"]:
        answered = x["alone"] != NO_ANSWER
        times = f"{x['alone_seconds'] / x['ours_seconds']:.1f} times"
        print(
            f"{x['products']:>2} products: {x['ours']} in {x['ours_seconds']:.1f} CPU s; Bitwuzla alone {x['alone']} "
            f"{'in' if answered else 'after'} {x['alone_seconds']:.1f}{f' ({times})' if answered else ''}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--products", nargs="+", type=int, default=[2, 4, 8, 16, 32])
    parser.add_argument("--timeout", type=int, default=120, help="seconds of ours")
    parser.add_argument("--alone", type=int, default=20, help="seconds of Bitwuzla alone")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    solver = available_solvers()["bitwuzla"]
    if solver.missing is not None:
        print(f"not run: {solver.missing}", file=sys.stderr)
        return
    rows = []
    for products in given.products:
        both = pair(products)
        said, spent = limited(partial(ours, both, given.timeout), given.timeout)
        query = Query.of(Equivalence(*both).formula.violation)
        theirs, theirs_spent = limited(partial(alone, query), given.alone)
        row = {
            "products": products,
            "ours": said,
            "ours_seconds": spent,
            "alone": theirs,
            "alone_seconds": theirs_spent,
        }
        print(row, file=sys.stderr, flush=True)
        rows.append(row)
    print_report({"machine": machine() | {"bitwuzla": str(solver.version)}, "rows": rows}, show, as_json=given.json)


if __name__ == "__main__":
    main()
