"""Unpacked ports, as their sources declare them. Yosys packs them, and keeps nothing of their ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmaproof.rtl.unit_file import UnitFile


def unpacked_dimensions(folder: Path, sources: Sequence[str], top: str, port: str) -> list[str]:
    """Return the unpacked dimensions of a port, as the header of its module writes them, without brackets."""
    for source in sources:
        text = (folder / source).read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        header = re.search(rf"\bmodule\s+{re.escape(top)}\b(.*?);", text, re.DOTALL)
        if header is not None:
            found = re.search(rf"\b{re.escape(port)}\s*((?:\[[^\]]*\]\s*)*)(?=[,)=;]|$)", header[1])
            return [] if found is None else re.findall(r"\[([^\]]*)\]", found[1])
    return []


def is_descending(dimension: str) -> bool | None:
    """Return whether the first bound is the larger one; None if that is not plain from the text."""
    first, colon, last = (x.strip() for x in dimension.partition(":"))
    if not colon or first == "0":
        return False
    if last == "0":
        return True
    return int(first) > int(last) if first.isdigit() and last.isdigit() else None


def ascending_ports(file: UnitFile) -> Iterator[tuple[str, str]]:
    """Yield the columns of operands that are mapped to a whole unpacked port that ascends, with its range.

    Such a port is declared as ``a [4]`` or as ``a [0:3]``: as one word, its first element is the highest.
    """
    for operand, stated in file.ports.items():
        if operand in ("c", "d") or not isinstance(stated, str) or not stated.strip().isidentifier():
            continue
        dimensions = unpacked_dimensions(file.folder, file.sources, file.top, stated.strip())
        if len(dimensions) == 1 and is_descending(dimensions[0]) is False:
            yield operand, f"[{dimensions[0].strip()}]"
