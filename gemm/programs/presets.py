"""Presets: plans of libraries, with their sources, spelled by name. They are data: ``presets.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """A plan by name: its settings in the order of the data (``unit`` among them), what it is, and its source.

    ``version`` of the library and the ``file`` of its sources are what it was read from; one of them may be empty.
    """

    name: str
    what: str
    library: str
    version: str
    file: str
    source: str
    settings: tuple[tuple[str, str], ...]

    @property
    def rests_on(self) -> str:
        """Library, version and file, and what is said there, in a line."""
        read_from = ", ".join(x for x in (f"{self.library} {self.version}".rstrip(), self.file) if x)
        return f"{read_from}: {self.source}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Plans of which a library chooses by M and N: when it chooses each, and how the plan is spelled."""

    name: str
    what: str
    source: str
    plans: tuple[tuple[str, str], ...]


@cache
def load_selections() -> dict[str, Selection]:
    """Return the selections by name."""
    return {
        x["name"]: Selection(x["name"], x["what"], x["source"], tuple((y["when"], y["plan"]) for y in x["plans"]))
        for x in _table()["selection"]
    }


def _table() -> dict[str, Any]:
    text = files("mmaproof.gemm.programs").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def load_presets() -> dict[str, Preset]:
    """Return the presets by name."""
    found = {}
    for row in _table()["preset"]:
        settings = tuple((key, str(value)) for key, value in row["plan"].items())
        read_from = row["library"], row.get("version", ""), row.get("file", "")
        found[row["name"]] = Preset(row["name"], row["what"], *read_from, row["source"], settings)
    return found


def find_preset(name: str) -> Preset | None:
    """Return the preset of that name, None if there is none."""
    return load_presets().get(name)
