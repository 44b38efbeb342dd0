"""A matrix of comparisons as text: a table where designs are few, the classes, and what separates them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from mmaproof.cli import lib
from mmaproof.cli.operands import runs
from mmaproof.cli.output import say, say_table, say_wrapped
from mmaproof.cli.verdicts import say_conditions
from mmaproof.designs.errors import InputError

FEW = 12
"""Up to this many designs have a row and a column each in a table, and a line each in their class."""
MOST_PRODUCTS = 4
"""How many different products of a vector are shown. The file has the whole vector."""
SIGNS = {"equivalent": "=", "different": "≠", "unknown": "?"}


@dataclass(frozen=True)
class Matrix:
    """The designs, the answers for all pairs in their order, what follows from them, and the seconds it all took."""

    designs: Sequence[lib.design.Design]
    answers: Sequence[lib.matrix.PairVerdict]
    groups: Sequence[lib.matrix.Group]
    not_comparable: Counter[str]
    seconds: float

    @property
    def counts(self) -> Counter[str]:
        """How many pairs have each verdict."""
        return Counter(a.comparison.verdict for a in self.answers)

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return len({a.number for a in self.answers} - {None})


def print_matrix(done: Matrix) -> None:
    """Print the matrix for a person."""
    numbers = {d.name: i for i, d in enumerate(done.designs, start=1)} if len(done.designs) <= FEW else {}
    if numbers:
        print_table(done, numbers)
    if done.counts["different"]:
        say("\nA ≠ B  k = length: products p that are not 0*0, c: d of A ≠ d of B")
    for group in done.groups:
        print_group(group, numbers)
    print_unknown(done)
    print_counts(done)


def print_table(done: Matrix, numbers: dict[str, int]) -> None:
    """Print a row and a column for each design. Nothing is cut off on a narrow terminal."""
    signs = {frozenset(a.names): SIGNS[a.comparison.verdict] for a in done.answers}
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("", "", *map(str, numbers.values())):
        table.add_column(head, no_wrap=True)
    for x, number in numbers.items():
        row = ["·" if x == y else signs.get(frozenset((x, y)), "-") for y in numbers]
        table.add_row(*map(Text, (str(number), x, *row)))
    say_table(table, max(map(len, numbers)) + 4 * (len(numbers) + 2))
    say("= equal for all operands, proved; ≠ different; ? unknown; - not comparable")


def print_group(group: lib.matrix.Group, numbers: dict[str, int]) -> None:
    """Print the classes of comparable designs, and what separates every two of them."""
    many = f"{count(len(group.designs), 'design')} in {count(len(group.classes), 'class')}"
    say(f"\n{group.signature}: {many}")
    named = [(letters(i), members) for i, members in enumerate(group.classes)]
    for letter, members in named:
        lines = [f"{numbers[d.name]}  {d.name}" for d in members] if numbers else list(shortened(members))
        for i, line in enumerate(lines):
            say(f"  {'' if i else letter:<3}{line}")
    say_conditions(group.designs)
    for (x, first), (y, second) in itertools.combinations(named, 2):
        sign = SIGNS[group.verdict(first, second)]
        say_wrapped(_between(group, first, second), f"  {x} {sign} {y}  ")
    for a, b, c in group.not_transitive():
        texts = [_named(answer.comparison) for answer in (a, b, c)]
        say_wrapped(f"not transitive: {texts[0]} and {texts[1]}, but {texts[2]}", "  ")


def print_unknown(done: Matrix) -> None:
    """Print the questions without a decision, each with its first pair and the reason."""
    unknown: dict[int | None, list[lib.matrix.PairVerdict]] = {}
    for answer in done.answers:
        if answer.comparison.verdict == "unknown":
            unknown.setdefault(answer.number, []).append(answer)
    if unknown:
        say("\nunknown")
    for sharing in unknown.values():
        x = sharing[0].comparison
        more = f" (and {count(len(sharing) - 1, 'pair')} with the same question)" if len(sharing) > 1 else ""
        say_wrapped(f"{' and '.join(sharing[0].names)} at k = {x.question.k}{more}: {x.reason}", "  ")


def print_counts(done: Matrix) -> None:
    """Print how many pairs there are of each kind."""
    counts = done.counts
    say(
        f"\n{count(len(done.answers), 'comparable pair')}: "
        + ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("equivalent", "different", "unknown"))
    )
    same = sum(a.number is None for a in done.answers)
    say(
        f"{count(done.questions, 'question')} asked in {done.seconds:.1f} s; "
        f"{count(same, 'pair')} equivalent by equal parameters"
    )
    if done.not_comparable:
        reasons = ", ".join(f"{n} where {reason}" for reason, n in done.not_comparable.most_common())
        say_wrapped(f"{count(done.not_comparable.total(), 'pair')} not comparable: {reasons}", "")


def count(number: int, what: str) -> str:
    """Return a number of things, of which ``what`` is one."""
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def letters(index: int) -> str:
    """Return A, B, ..., Z, AA, AB, ..."""
    return (letters(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def shortened(members: lib.matrix.Class) -> Iterator[str]:
    """Yield the names of designs, architectures with the same instruction in braces that a shell reads."""
    architectures: dict[str, list[str]] = {}
    for design in members:
        architecture, _, instruction = design.name.partition("/")
        architectures.setdefault(instruction, []).append(architecture)
    for instruction, held in architectures.items():
        yield f"{held[0] if len(held) == 1 else '{' + ','.join(held) + '}'}/{instruction}"


def _between(group: lib.matrix.Group, first: lib.matrix.Class, second: lib.matrix.Class) -> str:
    """Return what is known of two classes."""
    answers = group.between(first, second)
    lengths = sorted({a.comparison.question.k for a in answers})
    unknown = sum(a.comparison.verdict == "unknown" for a in answers)
    found = lib.matrix.simplest_difference(answers)
    texts = [f"k = {', '.join(map(str, lengths))}"] if found is None else []
    if found is not None and found.witness is not None:
        left, right = (found.question.designs[0].d_format.hex(x) for x in _outputs(found, first))
        shown = vector_text(found.witness, found.question.formats, found.question.scale_format, MOST_PRODUCTS)
        texts.append(f"k = {found.question.k}: {shown}: {left} ≠ {right}")
    if unknown:
        texts.append(f"{unknown} of {count(len(answers), 'pair')} unknown")
    return "; ".join(texts)


def _outputs(found: lib.compare.Comparison, first: lib.matrix.Class) -> tuple[int, int]:
    """Return the d of the design that belongs to the class ``first``, and that of the other one."""
    x, y = found.question.designs
    outputs = found.outputs
    return (outputs[x.name], outputs[y.name]) if x in first else (outputs[y.name], outputs[x.name])


def vector_text(
    operands: lib.element.Operands,
    formats: Sequence[lib.formats.Format],
    scale_format: lib.formats.Format | None,
    most: int | None = None,
) -> str:
    """Return operands in short: products of two +0 are left out, equal neighbours are shown once.

    ``most`` is how many products are shown. None means all.
    """
    a, b, c = formats[:3]
    products = [f"{name} = {a.hex(x)}*{b.hex(y)}" for name, x, y in runs(operands.a, operands.b) if x or y]
    shown = products[:most]
    texts = shown + ([f"and {len(products) - len(shown)} more"] if len(shown) < len(products) else [])
    if scale_format is not None:
        for name, scales in (("a", operands.scale_a), ("b", operands.scale_b)):
            texts.append(f"scales of {name} {','.join(map(scale_format.hex, scales))}")
    return ", ".join([*texts, f"c = {c.hex(operands.c)}"])


def _named(x: lib.compare.Comparison) -> str:
    first, second = x.question.designs
    return f"{first.name} and {second.name} are {x.verdict} at k = {x.question.k}"


COLOURS = {"equivalent": "#4477aa", "different": "#ee9955", "unknown": "#bbbbbb"}
"""verdict -> colour; people who do not see red or green can tell them apart too"""
WORDS = {
    "equivalent": "same bits for all operands, proved",
    "different": "a vector separates them",
    "unknown": "unknown",
}
WIDEST, LEGEND, CELL, LETTER, HEAD, GAP = 18.0, 6.5, 0.24, 0.07, 0.6, 0.35
"""Inches: the picture, the legend, a cell, a letter in the name of a row, title and columns, gaps between squares."""


def require_pictures(path: Path) -> None:
    """Raise InputError if no picture can be drawn, or none with the suffix of ``path``."""
    lib.figure.require_figure(path)
    lib.figure.require_matplotlib()


def write_picture(path: Path, groups: Sequence[lib.matrix.Group]) -> None:
    """Draw the groups that have several classes. Draw nothing if there is none. Raises InputError."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    labels = LETTER * max(len(_row_name(c, "A")) for g in groups for c in g.classes)
    places, width, height = _places([len(g.classes) for g in groups], labels)
    figure = Figure(figsize=(width, height))
    verdicts = list(COLOURS)
    for group, (x, y) in zip(groups, places, strict=True):
        classes, side = group.classes, CELL * len(group.classes)
        axes = figure.add_axes(((x + labels) / width, 1 - (y + HEAD + side) / height, side / width, side / height))
        cells = [[verdicts.index("equivalent" if a is b else group.verdict(a, b)) for b in classes] for a in classes]
        axes.imshow(cells, cmap=ListedColormap(list(COLOURS.values())), vmin=0, vmax=len(verdicts) - 1, aspect="auto")
        names = [letters(i) for i in range(len(classes))]
        axes.set_xticks(range(len(classes)), names)
        axes.set_yticks(range(len(classes)), [_row_name(c, n) for n, c in zip(names, classes, strict=True)])
        axes.tick_params(length=0, labelsize=8, top=False, labeltop=True, bottom=False, labelbottom=False)
        axes.set_title(str(group.signature), fontsize=9, loc="right")
        axes.set_xticks([i + 0.5 for i in range(len(classes) - 1)], minor=True)
        axes.set_yticks([i + 0.5 for i in range(len(classes) - 1)], minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
    figure.legend(
        [Patch(color=c) for c in COLOURS.values()], list(WORDS.values()), loc="lower left", fontsize=9, ncols=3
    )
    try:
        figure.savefig(path, format=path.suffix.lower()[1:], dpi=150)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _places(sizes: Sequence[int], labels: float) -> tuple[list[tuple[float, float]], float, float]:
    """Return where squares of N cells begin, row by row from the top left, and the width and height of all."""
    places: list[tuple[float, float]] = []
    x = y = row = 0.0
    width = LEGEND
    for size in sizes:
        if x and x + labels + CELL * size > WIDEST:
            x, y, row = 0.0, y + row + GAP, 0.0
        places.append((x, y))
        x += labels + CELL * size + GAP
        row, width = max(row, HEAD + CELL * size), max(width, x)
    return places, width, y + row + 2 * GAP


def _row_name(members: lib.matrix.Class, letter: str) -> str:
    more = f" + {len(members) - 1}" if len(members) > 1 else ""
    return f"{members[0].name}{more}  {letter}"
