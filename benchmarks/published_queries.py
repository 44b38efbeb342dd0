"""The eight queries of Valpey et al. 2025, table 4, with each installed solver, beside the published seconds.

    python benchmarks/published_queries.py [--rows N ...] [--solvers NAME ...] [--timeout 30s] [--repeats N]
        [--memory 4G] [--json]

What is compared: the published seconds are of the scripts of the paper with Z3 4.8.9 and cvc5 1.0.2 on an EPYC 7502P,
mostly in the theory of floating-point numbers, with operands in fp32 wherever that was enough. Ours are of the same
questions asked of a design in bit-vectors (QF_BV), with all operands of one step, in fp16 and fp32, special values
included, and products un-normalised as silicon has them. The random search is off, so the solver finds every witness.
Seconds are computed, of the whole answer: building the formula, starting the solver's process, solving, and confirming
and simplifying the witness on integers. Beside them are those of the same solver for the formulas alone, in one piece.
Both are the least of N runs.

The carry bits are asked for 5, 9, 17 and 33 terms, both directions together (one bit fewer is too few, with a witness;
N are enough, by lemmas about one term), in the un-normalised reading and in the paper's, where products are
normalised. One bit fewer is asked of products that are all the same one, where the largest sums are.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from beside import NO_ANSWER, limited
from limits import add_limits, read_limits
from machine import machine, print_report

from mmaproof import Design, Limits, compare, find_design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Question
from mmaproof.smt.solving.backends import BACKENDS, available_solvers
from mmaproof.smt.solving.query import Query
from mmaproof.verification.check import check

VOLTA, VOLTA_HALF = "volta/mma.m8n8k4.f32.f16.f16.f32", "volta/mma.m8n8k4.f16.f16.f16.f16"
MODES = ("rne-fp16", "rz-fp16", "rtn-fp16", "rtp-fp16")
UNNORMALISED, NORMALISED = "products un-normalised", "products normalised"

Answer = dict[str, Any]
Ask = Callable[[str, Limits], Answer]


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table: its title, what we ask, and the published seconds of Z3 and cvc5 (None: no answer in 6 h)."""

    title: str
    question: str
    published: tuple[float | None, float | None] | None
    ask: Ask
    expected: str


def of_property(name: str, design: Design) -> Ask:
    """Return the question whether ``design`` has a property."""

    def ask(solver: str, limits: Limits) -> Answer:
        answer = check(name, design, solver=solver, limits=limits, budget=None)
        asked = [x.question for x in answer.finding.answers.values() if x.question is not None]
        return {
            "verdict": answer.verdict,
            "seconds": answer.seconds,
            "reason": answer.finding.reason,
            "alone": alone(asked, solver, limits),
        }

    return ask


def alone(asked: Sequence[Question], solver: str, limits: Limits) -> float | None:
    """Return the seconds of the solver for the formulas in one piece, without what is built and confirmed.

    None if it has no answer within the limit.
    """
    seconds = 0.0
    for question in asked:
        said, spent = limited(partial(_decide, solver, Query.of(question.formula.violation)), math.ceil(limits.seconds))
        if said == NO_ANSWER:
            return None
        seconds += spent
    return seconds


def _decide(solver: str, query: Query) -> str:
    return "unsat" if BACKENDS[solver].engine().decide(query) is None else "sat"


def every_pair_of_roundings(solver: str, limits: Limits) -> Answer:
    """Ask for an input that separates each two rounding modes of the conversion to fp16."""
    seconds, verdict, reason = 0.0, "different", None
    asked: list[Question] = []
    for i, first in enumerate(MODES):
        for second in MODES[i + 1 :]:
            pair = [find_design(f"{VOLTA_HALF}@rho={rho}") for rho in (first, second)]
            asked.append(Equivalence(*pair))
            left = Limits(max(limits.seconds - seconds, 1e-3), limits.memory_bytes)
            answer = compare(*pair, solver=solver, limits=left, budget=None)
            seconds += answer.seconds
            if answer.verdict != "different":
                return {"verdict": answer.verdict, "seconds": seconds, "reason": answer.reason, "alone": None}
    return {"verdict": verdict, "seconds": seconds, "reason": reason, "alone": alone(asked, solver, limits)}


def with_products(products: int, reading: str = UNNORMALISED) -> Design:
    """Return the Volta design with K = L = ``products``: one step, whatever it was."""
    design = find_design(VOLTA if reading == UNNORMALISED else f"{VOLTA}@product_exponent=normalised")
    step = dataclasses.replace(design.step, L=products)
    return dataclasses.replace(design, k=products, step=step, changed=("L", *design.changed))


def carry(products: int, reading: str) -> Row:
    """Return the question of carry bits of a step of N products and c."""
    terms = products + 1
    published = {4: (410.25, 72.793), 8: (None, None)}.get(products) if reading == NORMALISED else None
    title = f"{(terms - 1).bit_length()} carry bits ({terms} terms)"
    return Row(title, reading, published, of_property("carry-bits", with_products(products, reading)), "holds")


ROWS = (
    Row(
        "exact multiplication",
        "a product that a unit rounding products to 10 fraction bits gets wrong",
        (0.55, 0.027),
        of_property("products-exact", find_design(f"{VOLTA}@fraction_bits=10")),
        "violated",
    ),
    Row(
        "exact addition in fp16",
        "two products, no fp16 numbers, whose sum is one and is lost where all is rounded to fp16",
        (27.59, 0.12),
        of_property("accumulation-precision", find_design(f"{VOLTA_HALF}@summation=pairwise")),
        "violated",
    ),
    Row(
        "rounding of final result",
        "an input for each pair of RNE, RTZ, RTN and RTP (6 queries)",
        (0.52, 0.008),
        every_pair_of_roundings,
        "different",
    ),
    Row(
        "rounding of accumulator",
        "a sum that truncation of the terms and round-towards-zero of the sum tell apart",
        (0.34, 0.017),
        of_property("sticky-bit", find_design(VOLTA)),
        "violated",
    ),
    Row(
        "accumulation order",
        "products whose order matters where each partial sum is truncated",
        (9.87, 0.25),
        of_property(
            "order-independent",
            find_design(f"{VOLTA}@summation=sequential,first=index,truncates=partial-sum,normalises=yes"),
        ),
        "violated",
    ),
    Row(
        "normalisation",
        "positive terms for which normalising the partial sums shows",
        (9.63, 0.25),
        of_property("normalised-in-addition", find_design(VOLTA)),
        "violated",
    ),
    *(carry(products, reading) for reading in (NORMALISED, UNNORMALISED) for products in (4, 8, 16, 32)),
)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    installed = [name for name, found in available_solvers().items() if found.missing is None]
    parser = argparse.ArgumentParser(description="Table 4 of Valpey et al. 2025 with each installed solver.")
    numbers = range(1, len(ROWS) + 1)
    parser.add_argument("--rows", nargs="+", type=int, choices=numbers, default=list(numbers), help="rows to ask")
    parser.add_argument("--solvers", nargs="+", choices=installed, default=installed, help="solvers to ask")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each query; the least seconds count")
    add_limits(parser, "30s")
    return read_limits(parser)


def run_rows(numbers: list[int], solvers: list[str], limits: Limits, repeats: int) -> list[Answer]:
    """Ask every solver about every row."""
    rows = []
    for number in numbers:
        row = ROWS[number - 1]
        for solver in solvers:
            print(f"asking {solver}: {row.title}, {row.question}", file=sys.stderr)
            runs = [row.ask(solver, limits) for _ in range(repeats)]
            answer = min(runs, key=lambda x: float(x["seconds"]))
            answer["alone"] = min((x["alone"] for x in runs if x["alone"] is not None), default=None)
            if answer["verdict"] not in (row.expected, "unknown"):
                raise SystemExit(f"{row.title}: {solver} says {answer['verdict']}, {row.expected} is known")
            published = None if row.published is None else dict(zip(("z3", "cvc5"), row.published, strict=True))
            rows.append(
                {
                    "row": number,
                    "title": row.title,
                    "question": row.question,
                    "solver": solver,
                    **answer,
                    "published": published,
                }
            )
    return rows


def main() -> None:
    """Measure and print."""
    given = arguments()
    versions = {name: found.version for name, found in available_solvers().items() if found.version is not None}
    report: dict[str, Any] = {
        "machine": machine() | versions,
        "limit_seconds": given.limits.seconds,
        "rows": run_rows(given.rows, given.solvers, given.limits, given.repeats),
    }
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print the report as a table."""
    print(f"search off, limit {report['limit_seconds']:g} s a row; published: Z3 4.8.9 / cvc5 1.0.2, EPYC 7502P")
    print(
        f"{'query':<28}{'solver':<10}{'verdict':<10}{'seconds':>8}{'alone':>8}{'times':>7}{'published':>18}  question"
    )
    for row in report["rows"]:
        print(
            f"{row['title']:<28}{row['solver']:<10}{row['verdict']:<10}{row['seconds']:>8.2f}{_alone(row)}"
            f"{_published(row['published']):>18}  {row['question']}"
        )
        if row["reason"]:
            print(f"{'':<28}{row['reason']}")
    for solver in dict.fromkeys(row["solver"] for row in report["rows"]):
        for reading in (NORMALISED, UNNORMALISED):
            asked = [r for r in report["rows"] if r["solver"] == solver and r["question"] == reading]
            if len(asked) == 4 and all(r["verdict"] == "holds" for r in asked):
                total = sum(r["seconds"] for r in asked)
                print(f"carry bits, {reading}, all four sizes, both directions, {solver}: {total:.2f} s")


def _alone(row: Answer) -> str:
    if row["alone"] is None:
        return f"{'none':>8}{'-':>7}"
    return f"{row['alone']:>8.2f}{row['seconds'] / row['alone']:>7.1f}"


def _published(seconds: dict[str, float | None] | None) -> str:
    if seconds is None:
        return "not asked"
    return " / ".join("none in 6 h" if s is None else f"{s:g}" for s in dict.fromkeys(seconds.values()))


if __name__ == "__main__":
    main()
