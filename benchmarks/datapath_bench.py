"""The SMT-LIB files of DatapathBench: lemmas about adders beside Bitwuzla alone.

    python benchmarks/datapath_bench.py FOLDER [--timeout 60] [--alone 10] [--designs NAME ...] [--json]

FOLDER is a copy of github.com/cowardsa/DatapathBench (S. Coward, 2026; $DATAPATHBENCH where none is given). Each file
asks whether a word-level datapath and its gates from CIRCT return another word for some operands. Bitwuzla reads the
file itself. Our way proves each result that may differ by lemmas about the adders of its circuit, for both values of
each operand of one bit; what it does not prove Bitwuzla is asked, in the same process and time. Seconds are computed,
not those of the clock. Nothing but unsat counts as solved: the datapaths are equal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from beside import limited
from machine import machine, print_report
from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.smtlib.parser import SmtLibParser

from mmaproof.smt.proving.adders import prove_sums
from mmaproof.smt.solving.backends import BitwuzlaEngine, available_solvers
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError

DEEP = 100_000
"""nested terms of a file"""


def alone(path: Path) -> str:
    """Return what Bitwuzla says of a file."""
    import bitwuzla  # noqa: PLC0415  (without it nothing is asked)

    terms, options = bitwuzla.TermManager(), bitwuzla.Options()
    parser = bitwuzla.Parser(terms, options)
    parser.parse(str(path), True)
    solver = parser.bitwuzla()
    return str(solver.check_sat())


def ours(path: Path) -> str:
    """Return unsat with what proved it, or sat."""
    sys.setrecursionlimit(DEEP)
    environment = Environment()
    script = SmtLibParser(environment=environment).get_script_fname(str(path))
    asserted = [x.args[0] for x in script.commands if x.name == "assert"]
    by = dict[str, None]()
    for asked in _parts(asserted, environment):
        try:
            prove_sums(Query.all_of(asked))
            by["adders"] = None
        except NotRefutedError:
            if BitwuzlaEngine().decide(Query.of(environment.formula_manager.And(asked))) is not None:
                return "sat"
            by["bitwuzla"] = None
    return f"unsat by {' and '.join(by)}"


def _parts(asserted: list[FNode], environment: Environment) -> Iterator[list[FNode]]:
    """Yield questions that are all unsatisfiable exactly if the conjunction is: for a disjunct and values of bits."""
    *others, last = asserted
    manager = environment.formula_manager
    for one in last.args() if last.is_or() else [last]:
        found = [{}]
        for symbol in environment.fvo.get_free_variables(one):
            if symbol.symbol_type().is_bv_type() and symbol.bv_width() == 1:
                found = [x | {symbol: manager.BV(value, 1)} for x in found for value in (0, 1)]
        for values in found:
            of = [environment.substituter.substitute(x, values) if values else x for x in (*others, one)]
            yield [environment.simplifier.simplify(x) if values else x for x in of]


def ask(path: Path, alone_seconds: int, seconds: int) -> dict[str, Any]:
    """Return both answers about a file, and print them for who waits."""
    (theirs, theirs_seconds), (said, spent) = (
        limited(partial(way, path), limit) for way, limit in ((alone, alone_seconds), (ours, seconds))
    )
    found = {"file": path.name, "alone": theirs, "alone_seconds": theirs_seconds, "ours": said, "ours_seconds": spent}
    print(line(found), file=sys.stderr, flush=True)
    return found


def line(x: dict[str, Any]) -> str:
    """Return both answers about a file, with the ratio of their seconds."""
    ratio = x["alone_seconds"] / x["ours_seconds"]
    least = "" if x["alone"].startswith("unsat") else "more than "
    beside = f"{least}{ratio:.1f} times" if x["ours"].startswith("unsat") else "lost"
    return (
        f"{x['file']:<35}{x['ours']:<28}{x['ours_seconds']:>7.2f}   alone {x['alone']:<10}"
        f"{x['alone_seconds']:>7.2f}   {beside}"
    )


def show(report: dict[str, Any]) -> None:
    """Print a line for each file, and how many are solved."""
    for x in report["files"]:
        print(line(x))
    both = [sum(x[way].startswith("unsat") for x in report["files"]) for way in ("ours", "alone")]
    print(
        f"solved of {len(report['files'])}: {both[0]} in {report['seconds']} CPU s each, Bitwuzla alone {both[1]} in "
        f"{report['alone_seconds']} CPU s each"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("DATAPATHBENCH"), help="a copy of DatapathBench")
    parser.add_argument("--timeout", type=int, default=60, help="seconds of ours for a file")
    parser.add_argument("--alone", type=int, default=10, help="seconds of Bitwuzla alone for a file")
    parser.add_argument("--designs", nargs="+", help="designs of it; default all")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if given.folder is None:
        print("not run: name a copy of github.com/cowardsa/DatapathBench, here or in $DATAPATHBENCH", file=sys.stderr)
        return
    solver = available_solvers()["bitwuzla"]
    if solver.missing is not None:
        print(f"not run: {solver.missing}", file=sys.stderr)
        return
    files = sorted(Path(given.folder).glob("benchmarks/*/smtlib/*.smt2"))
    files = [x for x in files if given.designs is None or x.parts[-3] in given.designs]
    if not files:
        parser.error(f"{given.folder} holds no benchmarks/*/smtlib/*.smt2")
    report = {
        "machine": machine() | {"bitwuzla": str(solver.version)},
        "seconds": given.timeout,
        "alone_seconds": given.alone,
        "files": [ask(x, given.alone, given.timeout) for x in files],
    }
    print_report(report, show, as_json=given.json)


if __name__ == "__main__":
    main()
