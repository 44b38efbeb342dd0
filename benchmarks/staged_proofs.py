"""Staged proofs against the same question in one piece: seconds, and the ratio.

    python benchmarks/staged_proofs.py [--cases NAME ...] [--timeout 60s] [--memory 4G] [--json]

Each case is a statement about one step of L products: that d does not depend on the order of the products (reversed,
and in a random order), or that negating a and c negates d. The seconds of a staged proof are those of the proof alone,
without the search that comes before it on the command line; one piece is the whole question as one query, stopped at
the time limit: the ratio is then a lower bound, written with a ">". One run each, Bitwuzla.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import Any

from limits import add_limits, read_limits
from machine import machine, print_report
from separation import CASES as STEPS
from separation import one_step

from mmaproof import Design, Limits
from mmaproof.properties.library import find_property
from mmaproof.properties.library.symmetry import SameAfter
from mmaproof.properties.question import Question, Scope
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.stages import by_stages

SEED = 0
FRACTION_BITS = 25


def reversed_order(design: Design) -> Question:
    """Return that d is the same with the products reversed."""
    return SameAfter(design, Scope(), [list(reversed(range(design.k)))])


def random_order(design: Design) -> Question:
    """Return that d is the same with the products in a random order."""
    order = list(range(design.k))
    random.Random(SEED).shuffle(order)
    return SameAfter(design, Scope(), [order])


def negated(design: Design) -> Question:
    """Return that negating a and c negates d."""
    return find_property("negation-symmetric").question(design, Scope())


KINDS = {"reversed": reversed_order, "random order": random_order, "negated": negated}
CASES = [f"{kind} {step}" for kind in KINDS for step in STEPS]


def prove_both_ways(case: str, limits: Limits) -> dict[str, Any]:
    """Return what both ways say about a case, with their seconds."""
    kind, _, step = case.rpartition(" ")
    design = one_step(*STEPS[step], FRACTION_BITS)
    question = KINDS[kind](design)
    print(f"{case}: by stages", file=sys.stderr)
    staged = by_stages(question, design, Solving().ask, limits, SEED)
    print(f"{case}: in one piece", file=sys.stderr)
    whole = decide(KINDS[kind](design), Solving().ask, limits)
    return {
        "case": case,
        "staged": {"proved": staged.proved, "seconds": staged.seconds, "lemmas": len(staged.lemmas)},
        "one_piece": {"verdict": whole.status.value, "seconds": whole.seconds},
        "ratio": whole.seconds / staged.seconds if staged.proved else None,
        "is_lower_bound": whole.status is Status.UNKNOWN,
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Staged proofs against the same questions in one piece.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, help="cases to run", metavar="CASE")
    add_limits(parser, "60s")
    return read_limits(parser)


def main() -> None:
    """Measure and print."""
    given = arguments()
    report = {
        "machine": machine(),
        "limit_seconds": given.limits.seconds,
        "baseline": "one piece",
        "rows": [prove_both_ways(case, given.limits) for case in given.cases],
    }
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"staged proofs, F = {FRACTION_BITS}, against one query with a limit of {report['limit_seconds']:g} s")
    print(f"{'case':<24}{'staged':>10}{'lemmas':>8}{'one piece':>11}{'ratio':>9}")
    for row in report["rows"]:
        staged, whole = row["staged"], row["one_piece"]
        seconds = f"{staged['seconds']:.2f} s" if staged["proved"] else "unknown"
        sign = ">" if row["is_lower_bound"] else ""
        ratio = "-" if row["ratio"] is None else f"{sign}{row['ratio']:.1f}"
        print(f"{row['case']:<24}{seconds:>10}{staged['lemmas']:>8}{whole['seconds']:>9.2f} s{ratio:>9}")


if __name__ == "__main__":
    main()
