"""Presets: plans of libraries, with their sources, spelled by name. They are data: ``presets.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """A plan by name: its settings in the order of the data (``unit`` among them), what it is, and its source."""

    name: str
    what: str
    source: str
    settings: tuple[tuple[str, str], ...]


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
    text = files("mmaproof.designs.plans").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def load_presets() -> dict[str, Preset]:
    """Return the presets by name."""
    found = {}
    for row in _table()["preset"]:
        settings = tuple((key, str(value)) for key, value in row["plan"].items())
        found[row["name"]] = Preset(row["name"], row["what"], row["source"], settings)
    return found


def find_preset(name: str) -> Preset | None:
    """Return the preset of that name, None if there is none."""
    return load_presets().get(name)
