"""Units of the catalogue as anonymous processes: what is found, and after how many batches, operands and seconds.

    python benchmarks/identification.py [--designs NAME ...] [--architectures NAME ...] [--seconds S] [--no-proofs]
        [--seed N] [--json]

Each design is served by a process of its own that is told no name (`mmaproof serve`), and `identify` knows its formats
and K only. Designs that compute the same as one another at the same K are asked once. Right means: the design, or one
with the same parameters, is among the matches, and no match was proved that is not equivalent (every match is proved,
so a wrong one would be an internal error; what is checked here is that none contradicts the design on random operands).
The baseline is the number of designs that have the interface of the unit in the catalogue. Seconds are wall-clock
without the final validation; a unit that is not found in ``--seconds`` counts as not found. Proofs of what cannot be
told apart take what is left of them; without proofs only designs with the same parameters are matches.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

import numpy as np
from machine import machine, print_report

from mmaproof import Design, evaluate_batch, find_design
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.errors import InputError
from mmaproof.generators.identify.evidence import Oracle
from mmaproof.generators.identify.identify import Identifier
from mmaproof.generators.identify.outcome import Identification
from mmaproof.generators.identify.space import Interface, default_axes
from mmaproof.hardware_replay.targets import find_target
from mmaproof.smt.evaluate import equal_patterns
from mmaproof.verification.distributions import BASIC, draw

ARCHITECTURES = (
    *("volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell"),
    *("cdna1", "cdna2", "cdna3"),
)


def arithmetics(architectures: list[str]) -> list[Design]:
    """Return one design of the architectures for each interface and set of parameters."""
    found: dict[Any, Design] = {}
    for design in load_catalogue().designs.values():
        if design.architecture in architectures:
            found.setdefault((Interface.of(design), design.chain, design.step), design)
    return list(found.values())


def identify(design: Design, seconds: float, seed: int, *, proofs: bool) -> dict[str, Any]:
    """Return what is found of one design behind a process."""
    command = f"process:{shlex.quote(sys.executable)} -m mmaproof.cli.main serve {shlex.quote(design.name)}"
    interface = Interface.of(design)
    oracle = Oracle(find_target(command), interface)
    axes = default_axes(interface)
    outcome = Identifier(oracle, axes, solver="bitwuzla", seconds=seconds, seed=seed, proofs=proofs).identify()
    known = sum(interface.takes(x) for x in load_catalogue().designs.values())
    return {
        "design": design.name,
        "candidates": known,
        "found": design.name in [x.name for x in outcome.matches],
        "wrong": sum(not _is_same(design, x) for x in outcome.matches),
        "undecided": sum(bool(x.undecided) for x in outcome.findings.values()),
        "tried": outcome.tried,
        "batches": oracle.batches,
        "operands": oracle.operands,
        "seconds": outcome.seconds,
        "validated": outcome.validated,
        "nearest": _nearest(outcome),
    }


def _nearest(outcome: Identification) -> dict[str, str] | None:
    return None if outcome.behaviour is not None else outcome.nearest.as_text()


def _is_same(design: Design, match: Design) -> bool:
    rng = np.random.default_rng(1)
    for name in BASIC:
        batch = draw(name, design, 2000, design.k, rng)
        if not equal_patterns(design.d_format, evaluate_batch(design, batch), evaluate_batch(match, batch)).all():
            return False
    return True


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Units of the catalogue as anonymous processes.")
    parser.add_argument("--designs", nargs="+", metavar="NAME", help="these designs only")
    parser.add_argument("--architectures", nargs="+", choices=ARCHITECTURES, default=ARCHITECTURES, metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each unit without validation")
    parser.add_argument("--no-proofs", action="store_true", help="prove nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    if given.seconds <= 0:
        parser.error("--seconds is above zero")
    try:
        given.designs = list(map(find_design, given.designs)) if given.designs else arithmetics(given.architectures)
    except InputError as error:
        parser.error(str(error))
    return given


def main() -> None:
    """Measure and print."""
    given = arguments()
    report: dict[str, Any] = {"machine": machine(), "seconds": given.seconds, "seed": given.seed, "rows": []}
    for design in given.designs:
        print(f"identifying {design.name}", file=sys.stderr)
        report["rows"].append(identify(design, given.seconds, given.seed, proofs=not given.no_proofs))
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"limit {report['seconds']:g} s a unit; candidates: designs of the catalogue with its interface")
    print(f"{'unit':<60}{'candidates':>11}{'found':>7}{'wrong':>7}{'batches':>9}{'operands':>10}{'seconds':>9}")
    for row in report["rows"]:
        found = "yes" if row["found"] else "no"
        print(
            f"{row['design']:<60}{row['candidates']:>11}{found:>7}{row['wrong']:>7}{row['batches']:>9}"
            f"{row['operands']:>10}{row['seconds']:>9.1f}"
        )
    found, wrong = (sum(int(row[x]) for row in report["rows"]) for x in ("found", "wrong"))
    print(f"{len(report['rows'])} units, {found} found, {wrong} wrong matches")


if __name__ == "__main__":
    main()
