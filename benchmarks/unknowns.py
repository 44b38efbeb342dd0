"""What is still unknown: properties over every arithmetic of the catalogue that differs from the others in one step.

    python benchmarks/unknowns.py ANSWERS [--only PROPERTY ...] [--like TEXT ...] [--every N] [--timeout 20s] [--json]

Each property is asked of one design of each group of designs with the same formats and the same step, about one step;
with ``--every`` only of every Nth of them.
Nothing is stored between questions, so every one of them has the same limit. An answer is a line of the file ANSWERS.
What is in the file is not asked again, so an interrupted run goes on where it was. The report lists the questions
without an answer. Two files, of two versions, are the list before and after: ``--before FILE`` prints which questions
of FILE have an answer now.

Seconds are of the wall clock. On a busy machine an answer takes longer, so ``cpu`` says how many seconds of processor
time this program and the solvers that ended took.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from limits import add_limits, read_limits
from machine import machine, print_report

from mmaproof import Design, Limits, check
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import PROPERTIES

Answers = dict[tuple[str, str], dict[str, Any]]
"""Answers by property and design."""


def different_steps() -> list[Design]:
    """Return a design of each group with the same formats, scales and step: the first of the catalogue."""
    first: dict[tuple[Any, ...], Design] = {}
    for design in load_catalogue().designs.values():
        first.setdefault((design.signature, design.step, design.chain.chain_infinity), design)
    return list(first.values())


def read(path: Path) -> Answers:
    """Return the answers of a file, none where there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {(x["property"], x["design"]): x for x in map(json.loads, lines)}


def answer(name: str, design: Design, limits: Limits) -> dict[str, Any]:
    """Return the answer to one question, with the seconds that it took."""
    began, before = time.monotonic(), os.times()
    try:
        found = check(name, design, limits=limits)
        verdict, value, reason = found.verdict, found.finding.value, found.finding.reason
    except DesignError as error:
        verdict, value, reason = "not asked", None, str(error)
    after = os.times()
    return {
        "property": name,
        "design": design.name,
        "verdict": verdict,
        "value": value,
        "reason": reason,
        "seconds": round(time.monotonic() - began, 2),
        "cpu": round(sum(after[:4]) - sum(before[:4]), 2),
    }


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Which properties of which arithmetics are still unknown.")
    parser.add_argument("answers", type=Path, help="file of answers, one JSON object in each line; it is added to")
    parser.add_argument("--only", nargs="+", choices=PROPERTIES, default=list(PROPERTIES), help="properties to ask")
    parser.add_argument("--like", nargs="+", default=[""], help="ask of designs whose name contains one of these")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask of every Nth of these designs")
    parser.add_argument("--before", type=Path, help="answers of another version, to be compared with")
    add_limits(parser, "20s")
    return read_limits(parser)


def show(report: dict[str, Any]) -> None:
    """Print counts for each property, then what is unknown."""
    print(f"{report['designs']} different steps, {report['timeout']} for each question")
    for name, counts in report["properties"].items():
        print(f"{name:28} " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    for title in ("unknown", "closed", "opened"):
        for x in report[title]:
            print(f"{title}: {x['property']:28} {x['design']:60} {x['verdict']} ({x['reason']})")


def main() -> int:
    """Ask what is not in the file, and print the report."""
    given = arguments()
    designs = [d for d in different_steps() if any(text in d.name for text in given.like)][:: given.every]
    found = read(given.answers)
    with given.answers.open("a", encoding="utf-8") as file:
        for name in given.only:
            for design in designs:
                if (name, design.name) not in found:
                    found[name, design.name] = one = answer(name, design, given.limits)
                    print(json.dumps(one), file=file, flush=True)
    asked = {(name, d.name): found[name, d.name] for name in given.only for d in designs}
    before = read(given.before) if given.before else asked
    common = [key for key in asked if key in before]
    report = {
        "machine": machine(),
        "designs": len(designs),
        "timeout": given.timeout,
        "properties": {
            name: Counter(x["verdict"] for (asked_name, _), x in asked.items() if asked_name == name)
            for name in given.only
        },
        "unknown": [x for x in asked.values() if x["verdict"] == "unknown"],
        "closed": [asked[k] for k in common if before[k]["verdict"] == "unknown" != asked[k]["verdict"]],
        "opened": [asked[k] for k in common if before[k]["verdict"] != "unknown" == asked[k]["verdict"]],
    }
    print_report(report, show, as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
