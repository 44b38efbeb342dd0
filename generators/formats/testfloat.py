"""Selected rows as lines in the manner of Berkeley TestFloat: operands, then the result, in hexadecimal.

testfloat_gen writes the operands of an operation, its result and the exception flags. Here the operands are all a,
all b, the scales of a and of b where there are any, and c; there are no flags, which no unit of the catalogue has.
"""

from __future__ import annotations

from collections.abc import Iterable

from mmaproof.designs.formats import Format
from mmaproof.generators.formats.selection import Selection


def testfloat_lines(selection: Selection) -> str:
    """Return one line a row: fixed-width digits without 0x, a space between two patterns; comments begin with #.

    Raises InputError where they are not rows of one design and length.
    """
    answers = selection.answers()
    a, b, c, d = answers.formats
    scale, batch = answers.scale_format, answers.batch
    columns = [f"a0..a{batch.k - 1}", f"b0..b{batch.k - 1}"]
    if scale is not None:
        blocks = len(selection.vectors[0].operands.scale_a)
        columns += [f"{name}0..{name}{blocks - 1}" for name in ("scale_a", "scale_b")]
    lines = [f"# {line}" for line in (*selection.about(), f"columns: {' '.join(columns)} c d")]
    for row, result in enumerate(answers.d.tolist()):
        x = batch.row(row)
        scales = [] if scale is None else [*_digits(scale, x.scale_a), *_digits(scale, x.scale_b)]
        patterns = [*_digits(a, x.a), *_digits(b, x.b), *scales, *_digits(c, [x.c]), *_digits(d, [result])]
        lines.append(" ".join(patterns))
    return "\n".join(lines) + "\n"


def _digits(fmt: Format, patterns: Iterable[int]) -> list[str]:
    return [fmt.hex(x)[2:] for x in patterns]
