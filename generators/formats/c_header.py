"""Selected rows as a C99 header: arrays of bit patterns, their sizes, and the names of formats and design."""

from __future__ import annotations

import re

import numpy as np

from mmaproof.designs.operands import Patterns
from mmaproof.generators.formats.selection import Selection, plain

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
