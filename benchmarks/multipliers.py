"""Multipliers and dot products of integers as flat gates: our lemmas about adders beside Bitwuzla, cvc5 and ABC.

    python benchmarks/multipliers.py [--units NAME ...] [--ways NAME ...] [--timeout 20] [--json]
    python benchmarks/multipliers.py --architectures 8 16 32

The units are those of the tests: partial products, a tree, a last adder, without names. Each is asked to return what
the products of its operands add up to. Solvers are asked one query in QF_BV. ABC compares, with &cec, the AIGER files
that Yosys writes of the gates and of the products. Everyone may compute for the same time in a process of its own; the
time of Yosys is not counted. A way that is not installed is left out, which is said.

``--architectures`` proves a multiplier of every scheme of products, tree and last adder of some widths, and prints the
table of docs/rtl.md: CPU seconds of the slowest last adder, unsigned and signed, and how many are not proved.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from beside import limited
from machine import machine, print_report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.integer_datapaths import Datapath, architectures

from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.proving.adders import prove_sums
from mmaproof.smt.solving.backends import BACKENDS, available_solvers
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError

UNITS: Final = {
    "8x8 simple dadda": Datapath("simple", "dadda", "kogge-stone", 8),
    "8x8 booth4 wallace": Datapath("booth4", "wallace", "brent-kung", 8),
    "16x16 simple dadda": Datapath("simple", "dadda", "kogge-stone", 16),
    "16x16 booth4 wallace": Datapath("booth4", "wallace", "brent-kung", 16),
    "32x32 booth4 dadda": Datapath("booth4", "dadda", "kogge-stone", 32),
    "64x64 booth4 dadda": Datapath("booth4", "dadda", "kogge-stone", 64),
    "4 products of int8": Datapath("simple", "dadda", "kogge-stone", 8, count=4, result=20),
    "16 products of int8": Datapath("simple", "dadda", "kogge-stone", 8, count=16, result=24),
    "4 products of int16": Datapath("simple", "dadda", "kogge-stone", 16, count=4, result=36),
}
ABC: Final = ("berkeley-abc", "abc", "yosys-abc")
"""what the program is called"""
EQUAL, NOT_PROVED = "equal", "not proved"


def query_of(unit: Datapath) -> Query:
    """Return the query whether the gates and the products differ."""
    algebra = TermAlgebra(default_environment())
    manager = algebra.environment.formula_manager
    operands = algebra.symbol(f"operands{unit.operand_bits}", unit.operand_bits).data
    equal = manager.Equals(unit.model(algebra, operands), unit.netlist().word(algebra, operands))
    return Query.all_of([manager.Not(equal)])


def ours(query: Query) -> str:
    """Prove a unit by lemmas about its adders."""
    try:
        prove_sums(query)
    except NotRefutedError as reason:
        return f"{NOT_PROVED}: {reason}"
    return EQUAL


def by_solver(name: str, query: Query) -> str:
    """Ask a solver."""
    (*nodes, last) = query.nodes
    return (
        EQUAL if BACKENDS[name].engine().decide(Query(tuple(nodes[: last.operands[-1] + 1]))) is None else "different"
    )


def written(unit: Datapath, folder: Path) -> tuple[Path, Path]:
    """Write the gates and the products as AIGER files, by Yosys."""
    half, width = unit.count * unit.width, unit.width
    names = [(x, k) for x in "ab" for k in range(unit.count)]
    sign = "signed" if unit.signed else ""
    wires = "".join(
        f"wire {sign} [{unit.bits - 1}:0] {x}{k} = "
        f"${sign or 'unsigned'}(x[{(x == 'b') * half + k * width} +: {width}]);\n"
        for x, k in names
    )
    total = " + ".join(f"a{k} * b{k}" for k in range(unit.count))
    ports = f"input [{unit.operand_bits - 1}:0] x, output [{unit.bits - 1}:0] d"
    texts = {
        "gates": unit.netlist().sv([("x", unit.operand_bits)]),
        "products": f"module unit({ports});\n{wires}assign d = {total};\nendmodule\n",
    }
    found = []
    for name, text in texts.items():
        (folder / f"{name}.sv").write_text(text, encoding="utf-8")
        found.append(folder / f"{name}.aig")
        commands = [f"read_verilog -sv {folder / f'{name}.sv'}", "hierarchy -top unit", "proc", "flatten", "techmap"]
        commands += ["opt", "aigmap", f"write_aiger {found[-1]}"]
        run = f"from pyosys import libyosys as y; d = y.Design(); [y.run_pass(c, d) for c in {commands!r}]"
        subprocess.run([sys.executable, "-c", run], check=True, stdout=subprocess.DEVNULL)
    return found[0], found[1]


def by_abc(program: str, files: tuple[Path, Path]) -> str:
    """Compare two AIGER files with &cec of ABC."""
    words = [program, "-c", f"&read {files[0]}; &cec {files[1]}"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return EQUAL if "Networks are equivalent" in said else NOT_PROVED


def ways_of(unit: Datapath, folder: Path, wanted: list[str]) -> dict[str, Callable[[], str]]:
    """Return how a unit is asked about, by the names of the ways."""
    query = query_of(unit)
    found: dict[str, Callable[[], str]] = {"ours": partial(ours, query)}
    found |= {x: partial(by_solver, x, query) for x in wanted if x in BACKENDS}
    if "abc" in wanted:
        folder = Path(tempfile.mkdtemp(dir=folder))
        program = next(x for x in map(shutil.which, ABC) if x is not None)
        found["abc"] = partial(by_abc, program, written(unit, folder))
    return {x: found[x] for x in wanted}


def installed() -> tuple[list[str], list[str]]:
    """Return the ways that are there, and why the others are not."""
    found, missing = ["ours"], []
    for name, solver in available_solvers().items():
        if solver.missing is None:
            found.append(name)
        else:
            missing.append(f"{name}: {solver.missing}")
    if not any(map(shutil.which, ABC)):
        missing.append(f"abc: none of {', '.join(ABC)} is on the path (Debian: apt-get install berkeley-abc)")
    elif available_yosys():
        found.append("abc")
    else:
        missing.append("abc: it needs Yosys: pip install 'mmaproof[rtl]'")
    return found, missing


def available_yosys() -> bool:
    """Return whether Yosys can be imported."""
    try:
        import pyosys.libyosys  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def show(report: dict[str, Any]) -> None:
    """Print a line for each unit: CPU seconds of each way, and times ours."""
    print(f"CPU seconds, {report['limit_seconds']} at most; in brackets times ours")
    for row in report["rows"]:
        cells = []
        for way, (said, seconds) in row["answers"].items():
            times = "" if way == "ours" else f" ({seconds / row['answers']['ours'][1]:.1f})"
            answer = f"{seconds:.2f}" if said == EQUAL else f"{said} after {seconds:.2f}"
            cells.append(f"{way} {answer}{times}")
        print(f"{row['unit']:<22}{'; '.join(cells)}")
    for reason in report["missing"]:
        print(f"left out: {reason}")


def by_architecture(widths: list[int], seconds: int) -> dict[str, Any]:
    """Prove every architecture. Return products, tree -> width -> the slowest time and the unknown of each sign."""
    cells: dict[str, dict[int, list[list[float]]]] = {}
    count = 0
    for unit in architectures(*widths):
        count += 1
        row = cells.setdefault(f"{unit.products}, {unit.tree}", {})
        slowest = row.setdefault(unit.width, [[0.0, 0], [0.0, 0]])[unit.signed]
        said, spent = limited(partial(ours, query_of(unit)), seconds)
        print(unit, said, spent, file=sys.stderr, flush=True)
        slowest[0], slowest[1] = max(slowest[0], spent), slowest[1] + (said != EQUAL)
    return {"machine": machine(), "limit_seconds": seconds, "units": count, "architectures": cells}


def show_architectures(report: dict[str, Any]) -> None:
    """Print the table of docs/rtl.md."""
    rows = report["architectures"]
    widths = list(next(iter(rows.values())))
    print(f"{report['units']} multipliers, CPU seconds, {report['limit_seconds']} at most\n")
    print(f"| products, tree | {' | '.join(f'{x} x {x}' for x in widths)} |\n|{'---|' * (1 + len(widths))}")
    for name, row in rows.items():
        cells = (" / ".join(f"{x:.2f}" + f" ({y} unknown)" * (y > 0) for x, y in row[w]) for w in widths)
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Measure and print."""
    ways, missing = installed()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--units", nargs="+", choices=UNITS, default=list(UNITS))
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    parser.add_argument("--timeout", type=int, default=20, help="seconds that each may compute")
    parser.add_argument("--architectures", nargs="+", type=int, metavar="WIDTH", help="print the table of docs/rtl.md")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if given.architectures:
        report = by_architecture(given.architectures, given.timeout)
        print_report(report, show_architectures, as_json=given.json)
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.units:
            answers = {
                way: limited(work, given.timeout)
                for way, work in ways_of(UNITS[name], Path(folder), given.ways).items()
            }
            print(name, answers, file=sys.stderr, flush=True)
            rows.append({"unit": name, "answers": answers})
    report = {"machine": machine(), "limit_seconds": given.timeout, "rows": rows, "missing": missing}
    print_report(report, show, as_json=given.json)


if __name__ == "__main__":
    main()
