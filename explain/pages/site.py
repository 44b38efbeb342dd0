"""Writes the site as plain files: ``python -m mmaproof.explain.pages.site [REPOSITORY]`` (a part of ``make site``).

``build/mkdocs.yml`` and ``build/docs`` hold all pages and the whole navigation, so that a generator needs nothing but
these: MkDocs now, and another one that reads the same files (Zensical) before the maintenance of Material for MkDocs
ends, on 5 May 2027. A notebook is the executed copy where ``make site-notebooks`` left one.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from mmaproof.explain.pages import commands, definitions, units
from mmaproof.explain.pages.markdown import Page


def pages() -> Iterator[Page]:
    """Give every generated page."""
    return chain(
        commands.pages(), definitions.pages(), definitions.python_pages(), units.pages(), units.decided_pages()
    )


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


_FOLDER = re.compile(r"^(\s*- .+: )(\S+/)$", re.MULTILINE)
"""An entry of the navigation that names a folder: its pages come in its place."""
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(?<!`)`([\w@=+-]+(?:[/.][\w@=+-]+){2,})`(?!`)")
"""A name with several slashes and dots in code, as names of designs are."""


def write_site(root: Path, repository: str = "") -> None:
    """Write the pages and the navigation of the project at ``root`` into its folder ``build``."""
    docs = root / "build" / "docs"
    write(docs)
    shutil.copytree(root / "docs", docs, dirs_exist_ok=True)
    (docs / "notebooks").mkdir(exist_ok=True)
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        executed = root / "build" / "notebooks" / notebook.name
        text = (executed if executed.exists() else notebook).read_text(encoding="utf-8")
        # links of notebooks are not followed by the generator, so that they name the pages as they are built
        text = re.sub(r"\]\(\.\./docs/([\w/-]+)\.md", r"](../\1.html", text)
        (docs / "notebooks" / notebook.name).write_text(text, encoding="utf-8")
    explorer = root / "build" / "explorer"
    if explorer.is_dir():
        shutil.copytree(explorer, docs / "explorer")
    for page in docs.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        # the notebooks of the repository are beside docs/, those of the site are in it
        changed = re.sub(r"\]\(((?:\.\./)+)notebooks/", lambda x: f"]({x[1].removeprefix('../')}notebooks/", text)
        if page == docs / "explorer.md" and explorer.is_dir():
            changed = changed.replace(
                "## The explorer\n", "## The explorer\n\n[Open the explorer](explorer/index.html)\n"
            )
        changed = breakable(changed)
        if changed != text:
            page.write_text(changed, encoding="utf-8")
    (root / "build" / "mkdocs.yml").write_text(
        configuration((root / "mkdocs.yml").read_text(encoding="utf-8"), docs, repository), encoding="utf-8"
    )


def breakable(text: str) -> str:
    """Return a page whose names in code may break behind slashes and dots; what is in blocks of code stays."""

    def name(found: re.Match[str]) -> str:
        broken = re.sub(r"([/.])", r"\1<wbr>", found[1])
        return f"<code>{broken}</code>"

    return "".join(x if i % 2 else _NAME.sub(name, x) for i, x in enumerate(_FENCED.split(text)))


def configuration(text: str, docs: Path, repository: str) -> str:
    """Return what a generator reads: that of the repository with folders of the navigation as their pages."""

    def pages(entry: re.Match[str]) -> str:
        names = sorted(str(x.relative_to(docs)) for x in (docs / entry[2]).glob("*.md"))
        names.sort(key=lambda x: not x.endswith("/index.md"))
        indent = " " * (len(entry[1]) - len(entry[1].lstrip()) + 4)
        return entry[1].rstrip() + "".join(f"\n{indent}- {x}" for x in names)

    found = _FOLDER.sub(pages, text)
    return f"{found.rstrip()}\nrepo_url: {repository}\n" if repository else found


if __name__ == "__main__":
    write_site(Path.cwd(), *sys.argv[1:])
