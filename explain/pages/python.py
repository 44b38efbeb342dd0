"""The public Python API as a page: signatures and docstrings of what ``mmaproof`` exports.

The names of the package root are loaded when they are used, so a reader of sources alone does not see what they are.
This page is made from the objects.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import mmaproof
from mmaproof.explain.pages.markdown import Page, anchor, anchored, escaped, fenced, table


def pages() -> Iterator[Page]:
    """Give the page."""
    names = sorted(mmaproof.__all__, key=str.lower)
    rows = ((f"[`{n}`](#{_anchor(n)})", prose(_first(getattr(mmaproof, n)))) for n in names)
    text = [
        "What `import mmaproof` offers. Every function takes names of designs or designs, and patterns or arrays."
        " Units of measure, shapes, errors and sources stand in the text of each.\n",
        table(("name", "what it is"), rows),
    ]
    for name in names:
        text += [anchored(2, name, _anchor(name)), *_described(name, getattr(mmaproof, name))]
    yield Page("reference/python.md", "Python API", "\n".join(text))


def _anchor(name: str) -> str:
    """Return the anchor of a name. `Check` and `check` are two."""
    return ("function-" if name.islower() else "class-") + anchor(name)


def _first(value: Any) -> str:
    return _doc(value).partition("\n\n")[0]


def _doc(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"A table of {len(value)} entries by name: {', '.join(list(value)[:6])} and others."
    return inspect.cleandoc(value.__doc__ or "")


def _described(name: str, value: Any) -> Iterator[str]:
    if callable(value):
        yield fenced(_signature(name, value), "python")
    yield prose(_doc(value)) + "\n"
    if inspect.isclass(value) and not issubclass(value, enum.Enum):
        for member, held in vars(value).items():
            function = held.__func__ if isinstance(held, classmethod | staticmethod) else held
            if member.startswith("_") or not function.__doc__:
                continue
            if isinstance(function, property) or type(function).__name__ == "cached_property":
                yield f"**`{member}`**: {prose(_doc(function))}\n"
            elif inspect.isfunction(function):
                yield f"**`{_signature(member, function)}`**: {prose(_doc(function))}\n"


def _signature(name: str, value: Any) -> str:
    try:
        text = f"{name}{inspect.signature(value)}"
    except ValueError:
        return name
    text = re.sub(r"<(?:class|function) '?([\w.]+)'?[^>]*>|mmaproof(?:\.\w+)+\.", lambda m: m[1] or "", text)
    return re.sub(r"'([^']*)'", r"\1", text) if "->" in text else text


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: what stands in two backticks is code."""
    return "\n\n".join(escaped(x.replace("``", "`")) for x in docstring.split("\n\n"))
