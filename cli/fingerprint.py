"""`mmaproof fingerprint`: what every property says of designs, side by side, and the vectors that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from rich.table import Table
from rich.text import Text

from mmaproof.cli.check import value_text
from mmaproof.cli.options import SOLVING, Dask, SolvingOptions, argument, option, runner, with_backend, with_options
from mmaproof.cli.output import Exit, assumed_names, counted, results, say, say_table, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import run_of

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.surveys import FeatureOf, FingerprintAnswer
    from mmaproof.verification.check import Feature

Rows = dict[str, list["Feature"]]
"""property -> what it says of each design, in the order of the designs"""

ANSWERS = {"holds": "yes", "violated": "no", "not asked": "-"}


LEAST_FEATURE = 20
"""Columns for the words of a feature on a narrow terminal."""


@with_backend
@with_options(
    without="search picture explain svg figure junit bundle",
    timeout="20s",
    timeout_of="Limit for each property of each design, in CPU seconds: 20s, 2m.",
    helps={"output": "Write the vectors that show each feature as a vector file, with what each design returns."},
)
def fingerprint(
    names: Annotated[
        list[str],
        argument(
            "DESIGN",
            "ARCHITECTURE/INSTRUCTION, may be shortened, with @parameter=value,... to change it; one column each.",
        ),
    ],
    only: Annotated[list[str] | None, option("--only PROPERTY", "Ask this property only. Repeatable.")] = None,
    options: SolvingOptions = SOLVING,
    dask: Dask = None,
    vectors: Annotated[
        bool,
        option(
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
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.errors import InputError
    from mmaproof.generators.standard import vectors_of
    from mmaproof.properties.library import find_property
    from mmaproof.verification.check import SEARCH, feature_of_task, tasks_of
    from mmaproof.verification.search import Means

    designs = list({d.name: d for d in map(find_design, names)}.values())
    wanted = {find_property(name).name for name in only or ()}
    means = Means(options.solving, options.limits_of_each, SEARCH, options.seed)
    if showing.output is not None and not vectors:
        raise InputError(f"--no-vectors leaves nothing to write to {showing.output}: leave one of them out")
    showing.ready()
    shown = vectors and (showing.json or showing.html is not None or showing.output is not None)
    tasks = tasks_of(designs, wanted, means, shown=shown)
    rows: Rows = {}
    with runner(dask, options.solving) as run:
        for feature in counted(run(feature_of_task, tasks), "answers", len(tasks)):
            rows.setdefault(feature.asked.name, []).append(feature)
    features = [f for row in rows.values() for f in row]
    made = {"origin": f"fingerprint (seed {options.seed})", "version": tool_version()}
    showing.show(
        lambda: fingerprint_of(rows, designs),
        lambda: print_fingerprint(rows, designs),
        vectors=lambda: [v for f in features for v in vectors_of(f, designs, **made)],
        about=designs,
    )
    return Exit.UNKNOWN if any(f.is_unknown for f in features) else Exit.HOLDS


def fingerprint_of(rows: Rows, designs: Sequence[Design]) -> FingerprintAnswer:
    """Return the answers of all properties as one answer."""
    from mmaproof.explain.answers.surveys import FeatureRow, FingerprintAnswer

    return FingerprintAnswer(
        designs=[d.name for d in designs],
        features=[
            FeatureRow(property=name, feature=row[0].asked.feature, results={f.design.name: feature_of(f) for f in row})
            for name, row in rows.items()
        ],
        assumed=assumed_names(designs),
    )


def feature_of(feature: Feature) -> FeatureOf:
    """Return what a property says of a design as a part of an answer."""
    from mmaproof.explain.answers.surveys import FeatureOf

    seconds = 0.0 if feature.done is None else round(feature.done.seconds, 3)
    return FeatureOf.taken(feature, seconds=seconds, runs=[run_of(x) for x in feature.runs])


def cell(feature: Feature) -> str:
    """Return what a property says of a design in a word of the table."""
    word = ANSWERS.get(feature.verdict, feature.verdict)
    if feature.value is None:
        return word
    text = value_text(feature.value)
    return f"no: {text}" if feature.verdict == "violated" else text


def print_fingerprint(rows: Rows, designs: Sequence[Design]) -> None:
    """Print the answers as a table, a letter for each design. Nothing is cut off on a narrow terminal."""
    from mmaproof.verification.check import designs_differ

    features = {name: row[0].asked.feature for name, row in rows.items()}
    columns = [["property", *rows]]
    for i, design in enumerate(designs):
        letter = chr(ord("A") + i % 26) * (i // 26 + 1)
        say(f"{letter}  {design.name}")
        columns.append([letter, *(cell(row[i]) for row in rows.values())])
    columns.append(["", *("*" * designs_differ(row) for row in rows.values())])
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
    if any(map(designs_differ, rows.values())):
        say("* the designs differ")
