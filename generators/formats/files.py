"""Selected rows and questions as single files: a C99 header, lines like TestFloat's, a recording, SMT-LIB 2."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.generators.formats.selection import Selection, plain
from mmaproof.hardware_replay.provenance import Provenance
from mmaproof.hardware_replay.recordings import provenance, write_recording
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib

_AT_MOST = 100  # characters of a line of patterns


def c_header(selection: Selection, stem: str) -> str:
    """Return the text of a header; ``stem``, the name of its file, is the prefix of every name in it.

    Raises InputError where they are not rows of one design and length.
    """
    answers = selection.answers()
    prefix = re.sub(r"\W", "_", stem, flags=re.ASCII)
    if not prefix[:1].isalpha():
        prefix = f"vectors_{prefix}"
    upper, batch = prefix.upper(), answers.batch
    sizes = {"ROWS": len(batch), "K": batch.k}
    names = {f"{x.upper()}_FORMAT": fmt.name for x, fmt in zip("abcd", answers.formats, strict=True)}
    arrays = {"a": (batch.a, "K"), "b": (batch.b, "K"), "c": (batch.c, ""), "d": (answers.d, "")}
    if answers.scale_format is not None and batch.scale_a is not None and batch.scale_b is not None:
        sizes["BLOCKS"] = batch.scale_a.shape[1]
        names["SCALE_FORMAT"] = answers.scale_format.name
        arrays |= {"scale_a": (batch.scale_a, "BLOCKS"), "scale_b": (batch.scale_b, "BLOCKS")}
    lines = [f"// {line}" for line in selection.about()]
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", "", "#include <stdint.h>", ""]
    lines += [f"#define {upper}_{name} {size}" for name, size in sizes.items()]
    lines += [
        f'#define {upper}_{name} "{text}"' for name, text in {"DESIGN": plain(selection.designs[0]), **names}.items()
    ]
    for name, (patterns, inner) in arrays.items():
        shape = f"[{upper}_ROWS]" + (f"[{upper}_{inner}]" if inner else "")
        lines += ["", f"static const uint{patterns.dtype.itemsize * 8}_t {prefix}_{name}{shape} = {{"]
        lines += [*_initialisers(patterns), "};"]
    return "\n".join([*lines, "", f"#endif  // {upper}_H", ""])


def _initialisers(patterns: Patterns) -> list[str]:
    """Return the lines between the outer braces: a row in braces, or elements up to the width of a line."""
    width = 2 * patterns.dtype.itemsize
    if patterns.ndim == 2:
        return [f"    {{{', '.join(f'0x{x:0{width}x}' for x in row)}}}," for row in patterns.tolist()]
    each = max(1, _AT_MOST // (width + 4))
    parts = np.array_split(patterns, range(each, len(patterns), each))
    return ["    " + " ".join(f"0x{x:0{width}x}," for x in part.tolist()) for part in parts]


def testfloat_lines(selection: Selection) -> str:
    """Return one line a row: fixed-width digits without 0x, a space between two patterns; comments begin with #.

    Raises InputError where they are not rows of one design and length.

    testfloat_gen writes the operands of an operation, its result and the exception flags. Here the operands are all a,
    all b, the scales of a and of b where there are any, and c; there are no flags, which no unit of the catalogue has.
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


def equivalence_script(question: Equivalence, version: str) -> str:
    """Return the query of ``compare`` in QF_BV: operands that meet the preconditions and tell the designs apart.

    Its symbols are the bit patterns a0_FORMAT, ..., b0_FORMAT, ..., c0_FORMAT and those of scales.
    """
    first, second = (plain(x.name) for x in question.designs)
    where = ", ".join(map(str, question.where))
    comments = [
        f"Are there operands for which d of {first} differs from d of {second}?",
        f"asked for k = {question.k}" + (f", where {where}" if where else ""),
        "two NaNs are equal " + ("only if their bits are" if question.nan_codes else "whatever their codes"),
        "+0 and -0 " + ("differ" if question.zero_signs else "are equal"),
        "sat: they are different, and the values are such operands (bit patterns)",
        "unsat: they are equivalent" + (" wherever the preconditions hold, if they hold anywhere" if where else ""),
        f"by mmaproof {version}",
    ]
    return to_smtlib(Query.of(question.formula.violation), comments=comments)


def write_npz(selection: Selection, path: Path) -> None:
    """Write the rows of one design as a recording; of the model where it computed every d, else of nothing named.

    Raises InputError where they are not rows of one design and length, or the file cannot be written.
    """
    answers = selection.answers()
    (name,) = selection.designs
    seed = selection.vectors[0].seed
    operands: dict[str, str | int] = {"source": plain(selection.whence), "expected": selection.about()[-1]}
    operands |= {} if seed is None else {"seed": seed}
    if selection.computed.get(name) == len(selection.vectors):
        about = provenance(ModelTarget(find_design(name)), answers, operands)
    else:
        about = Provenance.of(answers, target="", device="", instruction=plain(name), operands=operands)
    write_recording(path, answers, about)
