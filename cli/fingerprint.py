"""`mmaproof fingerprint`: what every property says of designs, side by side, and the vectors that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from rich.table import Table
from rich.text import Text

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.check import value_text
from mmaproof.cli.output import Exit, assumed_names, counted, results, say, say_table, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import run_of
from mmaproof.designs.errors import InputError

Rows = dict[str, list["lib.check.Feature"]]
"""property -> what it says of each design, in the order of the designs"""

ANSWERS = {"holds": "yes", "violated": "no", "not asked": "-"}


LEAST_FEATURE = 20
"""Columns for the words of a feature on a narrow terminal."""


@opt.with_backend
@opt.with_options(
    without="search picture explain svg figure junit bundle",
    timeout="20s",
    timeout_of="Limit for each property of each design, in CPU seconds: 20s, 2m.",
    helps={"output": "Write the vectors that show each feature as a vector file, with what each design returns."},
)
def fingerprint(
    names: Annotated[
        list[str],
        opt.argument(
            "DESIGN",
            "ARCHITECTURE/INSTRUCTION, may be shortened, with @parameter=value,... to change it; one column each.",
        ),
    ],
    only: Annotated[list[str] | None, opt.option("--only PROPERTY", "Ask this property only. Repeatable.")] = None,
    options: opt.SolvingOptions = opt.SOLVING,
    dask: opt.Dask = None,
    vectors: Annotated[
        bool,
        opt.option(
            "--vectors/--no-vectors",
            "For -o and --json, also show each property that holds, by vectors that refute its mutant.",
        ),
    ] = True,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Ask every property that applies of one or more designs, and print the answers side by side.

    One row for each property: yes, no, the answer's value, unknown, vacuous where no operands meet what it assumes,
    or - where it cannot be asked of the design; * marks rows in which the designs differ. As long as no limit is
    reached, the same --seed gives the same answers.

    Exit status 0: no answer is unknown; 3: some are.
    """
    designs = list({d.name: d for d in map(lib.catalogue.find_design, names)}.values())
    wanted = {lib.library.find_property(name).name for name in only or ()}
    means = lib.search.Means(options.solving, options.limits_of_each, lib.check.SEARCH, options.seed)
    if showing.output is not None and not vectors:
        raise InputError(f"--no-vectors leaves nothing to write to {showing.output}: leave one of them out")
    showing.ready()
    shown = vectors and (showing.json or showing.html is not None or showing.output is not None)
    tasks = lib.check.tasks_of(designs, wanted, means, shown=shown)
    rows: Rows = {}
    with opt.runner(dask, options.solving) as run:
        for feature in counted(run(lib.check.feature_of_task, tasks), "answers", len(tasks)):
            rows.setdefault(feature.asked.name, []).append(feature)
    features = [f for row in rows.values() for f in row]
    made = {"origin": f"fingerprint (seed {options.seed})", "version": tool_version()}
    showing.show(
        lambda: fingerprint_of(rows, designs),
        lambda: print_fingerprint(rows, designs),
        vectors=lambda: [v for f in features for v in lib.standard.vectors_of(f, designs, **made)],
        about=designs,
    )
    return Exit.UNKNOWN if any(f.is_unknown for f in features) else Exit.HOLDS


def fingerprint_of(rows: Rows, designs: Sequence[lib.design.Design]) -> lib.surveys.FingerprintAnswer:
    """Return the answers of all properties as one answer."""
    return lib.surveys.FingerprintAnswer(
        designs=[d.name for d in designs],
        features=[
            lib.surveys.FeatureRow(
                property=name, feature=row[0].asked.feature, results={f.design.name: feature_of(f) for f in row}
            )
            for name, row in rows.items()
        ],
        assumed=assumed_names(designs),
    )


def feature_of(feature: lib.check.Feature) -> lib.surveys.FeatureOf:
    """Return what a property says of a design as a part of an answer."""
    seconds = 0.0 if feature.done is None else round(feature.done.seconds, 3)
    return lib.surveys.FeatureOf.taken(feature, seconds=seconds, runs=[run_of(x) for x in feature.runs])


def cell(feature: lib.check.Feature) -> str:
    """Return what a property says of a design in a word of the table."""
    word = ANSWERS.get(feature.verdict, feature.verdict)
    if feature.value is None:
        return word
    text = value_text(feature.value)
    return f"no: {text}" if feature.verdict == "violated" else text


def print_fingerprint(rows: Rows, designs: Sequence[lib.design.Design]) -> None:
    """Print the answers as a table, a letter for each design. Nothing is cut off on a narrow terminal."""
    features = {name: row[0].asked.feature for name, row in rows.items()}
    columns = [["property", *rows]]
    for i, design in enumerate(designs):
        letter = chr(ord("A") + i % 26) * (i // 26 + 1)
        say(f"{letter}  {design.name}")
        columns.append([letter, *(cell(row[i]) for row in rows.values())])
    columns.append(["", *("*" * lib.check.designs_differ(row) for row in rows.values())])
    # words stay whole; the features get what is left of the width
    widths = [max(len(word) for text in column for word in text.split(" ")) for column in columns]
    rest = results().width - sum(widths) - 2 * len(widths)
    columns.insert(1, ["feature", *features.values()])
    widths.insert(1, max(LEAST_FEATURE, min(rest, max(map(len, columns[1])))))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column[0], width=width)
    for line in zip(*(column[1:] for column in columns), strict=True):
        table.add_row(*map(Text, line))
    say("")
    say_table(table, sum(widths) + 2 * len(widths))
    if any(map(lib.check.designs_differ, rows.values())):
        say("* the designs differ")
