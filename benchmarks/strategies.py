"""How long a question takes with all strategies, against the best single one.

    python benchmarks/strategies.py [--cases NAME ...] [--every N] [--busy N] [--timeout 60s] [--memory 4G] [--json]

The questions are the distinct ones of ``matrix --all`` that random operands do not decide, every Nth of them, and those
of separation.py. Each is asked three times without a search: with all strategies, as one query, and in parts alone
(lemmas about alignment, or a staged proof). The ratio is that of the first to the best of the other two that has an
answer. A difference of less than a tenth of a second counts as none. The first question is asked once before it is
timed, which starts the processes of the solvers. ``--busy`` keeps N cores busy with other work. One run each,
Bitwuzla.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from limits import add_limits, read_limits
from machine import machine, print_report
from separation import CASES, COARSE, FINE, one_step

from mmaproof import Limits, compare
from mmaproof.designs.arithmetic import Arithmetic, same_arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.errors import DesignError
from mmaproof.properties.equivalence import Equivalence, alignment_lemmas
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.matrix import SEARCH, pairs_of
from mmaproof.verification.search import search
from mmaproof.verification.stages import by_stages

UNNOTICED = 0.1
"""Seconds that a question may take longer, whatever the ratio is."""
SHOWN = 8


def questions(cases: Sequence[str], every: int) -> Iterator[Equivalence]:
    """Yield the questions: cases of separation.py, then those of the matrix that a search leaves open."""
    for case in cases:
        yield Equivalence(*(one_step(*CASES[case], bits) for bits in (COARSE, FINE)))
    asked: dict[Any, Equivalence] = {}
    for first, second in pairs_of(list(load_catalogue().designs.values())):
        question = Equivalence(first, second)
        if not same_arithmetic(*question.designs, question.k):
            asked.setdefault((frozenset(map(Arithmetic.of, question.designs)), question.k), question)
    for question in list(asked.values())[::every]:
        if not search(question, question.designs[0], seed=0, budget=SEARCH).witnesses:
            yield question


def in_parts(question: Equivalence, limits: Limits) -> bool:
    """Return whether lemmas about alignment, or a staged proof, prove the question."""
    ask = Solving().ask
    try:
        lemmas = alignment_lemmas(*question.designs, question.k)
    except DesignError:
        lemmas = ()
    if lemmas and all(decide(x, ask, limits).status is Status.PROVED for x in lemmas):
        return True
    return by_stages(question, question.designs[0], ask, limits, 0).proved


def timed(question: Equivalence, limits: Limits) -> dict[str, Any]:
    """Return the seconds of each way, None without an answer, and the ratio."""
    first, second = question.designs
    again = [Equivalence(first, second, k=question.k) for _ in range(2)]
    began = time.monotonic()
    together = compare(first, second, k=question.k, limits=limits, budget=None)
    middle = time.monotonic()
    whole = decide(again[0], Solving().ask, limits)
    late = time.monotonic()
    proved = in_parts(again[1], limits)
    end = time.monotonic()
    spent = {"together": middle - began, "one_piece": late - middle, "parts": end - late}
    answered = {"one_piece": whole.status is not Status.UNKNOWN, "parts": proved}
    best = min((spent[way] for way, known in answered.items() if known), default=None)
    ratio = 1.0
    if best is not None and (spent["together"] - best > UNNOTICED or together.status is Status.UNKNOWN):
        ratio = spent["together"] / best
    seconds = {way: x if answered.get(way, True) else None for way, x in spent.items()}
    return {"designs": [first.name, second.name], "verdict": together.verdict, "seconds": seconds, "ratio": ratio}


@contextlib.contextmanager
def busy(cores: int) -> Iterator[None]:
    """Keep N cores busy within the context."""
    workers = [multiprocessing.Process(target=_turn, daemon=True) for _ in range(cores)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()


def _turn() -> None:
    while True:
        pass


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Seconds of a question with all strategies and with single ones.")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES), help="cases of separation.py")
    parser.add_argument("--every", type=int, default=1, help="ask every Nth question of the matrix")
    parser.add_argument("--busy", type=int, default=0, help="cores that do other work meanwhile")
    add_limits(parser, "60s")
    return read_limits(parser)


def main() -> None:
    """Measure and print."""
    given = arguments()
    rows = []
    with busy(given.busy):
        for number, question in enumerate(questions(given.cases, given.every), start=1):
            if number == 1:
                compare(*question.designs, k=question.k, limits=given.limits, budget=None)
            rows.append(timed(question, given.limits))
            print(f"{number}: {rows[-1]['ratio']:.1f}", file=sys.stderr)
    report = {"machine": machine(), "busy": given.busy, "baseline": "the best single strategy", "rows": rows}
    print_report(report, show, as_json=given.json)


def show(report: dict[str, Any]) -> None:
    """Print how many questions take how many times as long, and the worst."""
    rows = sorted(report["rows"], key=lambda x: -x["ratio"])
    within = sum(x["ratio"] <= 3 for x in rows)
    print(f"{len(rows)} questions, {report['busy']} cores busy: {within} take at most 3 times the best single strategy")
    for row in rows[:SHOWN]:
        print(f"{row['ratio']:6.1f}  " + ", ".join(f"{n} {_text(s)}" for n, s in row["seconds"].items()))
        print("        " + " and ".join(row["designs"]))


def _text(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
