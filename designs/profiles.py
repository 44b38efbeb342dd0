"""Profiles: what each source says on the points on which publications disagree."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import parse_parameter


@dataclass(frozen=True)
class Point:
    """A point on which publications disagree, and the parameters that it concerns.

    The defaults of other parameters may hide the point. ``jointly`` are settings of these under which it shows.
    """

    number: int
    title: str
    parameters: tuple[str, ...]
    jointly: Mapping[str, str]


@dataclass(frozen=True)
class Reading:
    """How a profile sets the parameters of a point for the designs that match. None matches any design."""

    point: int
    profile: str
    settings: Mapping[str, str]
    families: tuple[str, ...] | None
    architectures: tuple[str, ...] | None
    c: tuple[str, ...] | None
    d: tuple[str, ...] | None
    kind: tuple[str, ...]
    without: tuple[str, ...]

    def matches(self, design: Design) -> bool:
        """Return whether the reading applies to ``design``."""
        held = (
            (self.families, design.family),
            (self.architectures, design.like),
            (self.c, design.c_format.name),
            (self.d, design.d_format.name),
        )
        return (
            all(allowed is None or value in allowed for allowed, value in held)
            and (not self.kind or design.instruction.startswith(self.kind))
            and not any(text in design.instruction for text in self.without)
        )


@dataclass(frozen=True)
class Disputes:
    """The points and profiles of the data file."""

    profiles: tuple[str, ...]
    points: tuple[Point, ...]
    readings: tuple[Reading, ...]
    about: Mapping[str, tuple[str, ...]]
    """profile -> the only architectures that its source is about; the others are about units that none of these is"""

    @cached_property
    def _said(self) -> dict[tuple[str, int], list[Reading]]:
        """The readings of each profile on each point, in their order."""
        found: dict[tuple[str, int], list[Reading]] = {}
        for reading in self.readings:
            found.setdefault((reading.profile, reading.point), []).append(reading)
        return found

    def sources(self, design: Design) -> tuple[str, ...]:
        """Return the profiles whose source is about the architecture of ``design``."""
        special = tuple(p for p in self.profiles if design.like in self.about.get(p, ()))
        return special or tuple(p for p in self.profiles if p not in self.about)

    def settings(self, design: Design, profile: str, point: int) -> dict[str, Any]:
        """Return what ``profile`` sets for ``point`` in ``design``. It is empty if the profile takes the default."""
        for reading in self._said.get((profile, point), ()):
            if reading.matches(design):
                return {n: parse_parameter(n, text) for n, text in reading.settings.items()}
        return {}

    def settings_of(self, designs: Sequence[Design]) -> Iterator[dict[str, Any]]:
        """Yield what profiles set in any of ``designs``."""
        for readings in self._said.values():
            left = designs
            for reading in readings:
                others = [x for x in left if not reading.matches(x)]
                if len(others) < len(left):
                    yield {n: parse_parameter(n, text) for n, text in reading.settings.items()}
                left = others

    def apply(self, design: Design, profile: str) -> Design:
        """Return ``design`` with every point set as in ``profile``. Raises DesignError for an unknown profile."""
        if profile not in self.profiles:
            raise DesignError(f"unknown profile {profile!r}: one of {', '.join(self.profiles)}")
        settings: dict[str, Any] = {}
        for point in self.points:
            settings |= self.settings(design, profile, point.number)
        return design.under_profile(profile, settings)


@cache
def load_disputes() -> Disputes:
    """Return the disputes of the project's data file."""
    data = tomllib.loads((files("mmaproof.designs") / "data" / "disputes.toml").read_text(encoding="utf-8"))
    points = tuple(
        Point(p["number"], p["title"], tuple(p["parameters"]), dict(p.get("with", {}))) for p in data["point"]
    )
    readings = tuple(reading for row in data["reading"] for reading in _readings(row))
    about = {profile: tuple(names) for profile, names in data["about"].items()}
    return Disputes(tuple(data["profiles"]), points, readings, about)


def _readings(row: Mapping[str, Any]) -> Iterator[Reading]:
    """Yield the readings of a row: one for each of its profiles, and for each architecture that has its own value."""
    own = next((tuple(value) for value in row["set"].values() if isinstance(value, dict)), None)
    for profile, architecture in product(row["profiles"], own or (None,)):
        values = {n: v[architecture] if isinstance(v, dict) else v for n, v in row["set"].items()}
        yield Reading(
            row["point"],
            profile,
            {n: str(v) for n, v in values.items()},
            families=_texts(row, "families"),
            architectures=_texts(row, "architectures") if architecture is None else (architecture,),
            c=_texts(row, "c"),
            d=_texts(row, "d"),
            kind=_texts(row, "kind") or (),
            without=_texts(row, "without") or (),
        )


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    return tuple(row[name]) if name in row else None
