"""Writes the reference pages: ``python -m mmaproof.pages.write FOLDER`` (a part of ``make site``)."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from mmaproof.pages import commands, decided, definitions, python, units
from mmaproof.pages.markdown import Page


def pages() -> Iterator[Page]:
    """Give every generated page."""
    return chain(commands.pages(), definitions.pages(), python.pages(), units.pages(), decided.pages())


def write(folder: Path) -> None:
    """Write the pages, and the schemas beside the pages of commands, into a folder that is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages():
        path = folder / page.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.markdown(), encoding="utf-8")
    for command in commands.commands():
        if command.schema is not None:
            path = (folder / command.path).with_suffix(".json")
            path.write_text(json.dumps(command.schema, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
