"""`mmaproof gemm check slices UNIT...`: slices of units, and how long their exact sums are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.gemm.options import numbers_of, print_witnesses
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    assumed_names,
    print_json,
    progress,
    say,
    say_table,
    say_wrapped,
)
from mmaproof.cli.verdicts import lemma_of, print_lemmas, say_reason

if TYPE_CHECKING:
    from mmaproof.cli.options import SolvingOptions
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.products import Found
    from mmaproof.gemm.answers.verdict import AlgorithmVerdict

CATALOGUE = "catalogue"
"""The name of all units of the catalogue."""


def is_of_units(names: Sequence[str]) -> bool:
    """Return whether names are those of units, or of all of the catalogue."""
    from mmaproof.designs.design import is_unit_name

    return bool(names) and all(is_unit_name(x) or x == CATALOGUE for x in names)


def check_slices_of_units(names: Sequence[str], options: SolvingOptions, explained: bool, json: bool) -> int:
    """Find the slices of some units, print them, and return the exit status."""
    from mmaproof.gemm.answers.unit_slices import check_unit_slices
    from mmaproof.gemm.answers.verdict import Asked
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.smt.solving.verdict import Status
    from mmaproof.verification.means import Means

    units = _units(names)
    solving = Solving.of(options.solving)
    found: list[tuple[Design, AlgorithmVerdict]] = []
    known: dict[Any, AlgorithmVerdict] = {}
    for unit in units:
        # units of several architectures add alike
        alike = (unit.signature, unit.chain, unit.step, unit.k)
        if alike not in known:
            with progress(f"slices of {unit.name}"):
                means = Means(solving, options.limits, options.budget, options.seed)
                known[alike] = check_unit_slices(unit, Asked(means))
        found.append((unit, known[alike]))
    if json:
        from mmaproof.explain.answers.products import SlicesChecked

        answers = [_found(*x) for x in found]
        print_json(SlicesChecked(question="slices", units=answers, assumed=assumed_names(units)))
    elif len(found) == 1:
        _print(*found[0], explained)
    else:
        _print_table(found)
    if not json:
        say_assumed(units)
    return EXIT_HOLDS if all(x.status is Status.PROVED for _, x in found) else EXIT_UNKNOWN


def _units(names: Sequence[str]) -> list[Design]:
    """Return the units; of the catalogue those that differ in what they add."""
    from mmaproof.designs.catalogue import find_design, load_catalogue

    if CATALOGUE not in names:
        return [find_design(x) for x in names]
    found: dict[Any, Design] = {}
    for unit in load_catalogue().designs.values():
        found.setdefault((unit.architecture, unit.signature, unit.chain, unit.step), unit)
    return list(found.values())


def _word(verdict: AlgorithmVerdict) -> str:
    from mmaproof.verification.check import WORDS

    return WORDS[verdict.status]


def _found(unit: Design, verdict: AlgorithmVerdict) -> Found:
    from mmaproof.explain.answers.products import Found

    return Found.taken(
        verdict,
        unit=unit.name,
        verdict=_word(verdict),
        witnesses=[numbers_of(w) for w in verdict.witnesses],
        lemmas=[lemma_of(x) for x in verdict.lemmas],
    )


def _print(unit: Design, verdict: AlgorithmVerdict, explained: bool) -> None:
    answer = _found(unit, verdict)
    say(f"{answer.verdict}: slices of {unit.name}")
    say_wrapped(verdict.conclusion, "  ")
    for line in verdict.details:
        say_wrapped(line, "  ")
    print_lemmas(answer.lemmas, verdict.conclusion, whole=explained)
    say_reason(answer)
    print_witnesses(verdict.witnesses)


def _print_table(found: Sequence[tuple[Design, AlgorithmVerdict]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("unit", "exact up to", "bits", "K", "inexact at K"):
        table.add_column(column, justify="left" if column == "unit" else "right", no_wrap=column == "unit")
    for unit, verdict in found:
        values = verdict.values
        cells = ["-", "-", "-", verdict.reason or ""]
        if values:
            bits = str(values["bits"])
            cells = [str(values["most"]), bits, str(values["longest"][bits]), str(values["inexact_at"][bits])]
        table.add_row(*map(Text, (unit.name, *cells)))
    say_table(table)
