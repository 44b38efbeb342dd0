"""The catalogue of published units: reading the data file, and finding a design by its name."""

from __future__ import annotations

import difflib
import itertools
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.errors import CatalogueError, DesignError, InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.parameters import DEFINITIONS, Parameters, parse_parameter
from mmaproof.designs.profiles import load_disputes

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)|(\d+)x(\d+)x(\d+)")
_BLOCKS = re.compile(r"_\d+b(?=_)")
_ROW_FIELDS = ("architecture", "family", "a", "b", "c", "d", "instructions", "source")
_ROW_OPTIONAL = ("L_max", "scale", "block", *(n for n in DEFINITIONS if n != "L"))


@dataclass(frozen=True, slots=True)
class Architecture:
    """A generation of units: its short name, its published title, and its compilation targets."""

    name: str
    title: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Catalogue:
    """Every design of a catalogue file, by full name, and its architectures."""

    designs: dict[str, Design]
    architectures: dict[str, Architecture]

    def find(self, text: str) -> Design:
        """Return the design that ``text`` names: ``ARCHITECTURE/INSTRUCTION[@parameter=value,...]``.

        The setting ``as=PROFILE`` sets every open point as a source has it, before the other settings.
        The instruction may be shortened to any of its dot- or underscore-separated parts, whole and in order.
        Where several fit that differ in shape only, the one with the largest K is meant, then the smallest M
        and N. Raises DesignError for a name that is unknown or ambiguous, and for bad parameters.
        """
        name, at, settings = text.strip().partition("@")
        design = self._find_base(name.strip())
        if not at:
            return design
        parsed = _parse_settings(settings)
        profile = parsed.pop("as", None)
        if profile is not None:
            design = load_disputes().apply(design, profile)
        return design.change(**{n: parse_parameter(n, value) for n, value in parsed.items()}) if parsed else design

    def _find_base(self, name: str) -> Design:
        if name in self.designs:
            return self.designs[name]
        architecture, slash, wanted = name.partition("/")
        if not slash or not wanted:
            raise DesignError(f"{name!r} is no design name: write ARCHITECTURE/INSTRUCTION ({self._examples()})")
        if architecture not in self.architectures:
            raise DesignError(
                f"unknown architecture {architecture!r}: one of {', '.join(self.architectures)}"
                + _did_you_mean(architecture, list(self.architectures))
            )
        here = [d for d in self.designs.values() if d.architecture == architecture]
        matches = [d for d in here if _is_shortening(_parts(wanted), _parts(d.instruction))]
        if not matches:
            raise DesignError(
                f"{architecture} has no instruction {wanted!r}"
                + _did_you_mean(wanted, [d.instruction for d in here])
                + f"; list them with: mmaproof designs {architecture}"
            )
        if len({_without_shape(d.instruction) for d in matches}) > 1:
            candidates = ", ".join(sorted(d.base_name for d in matches))
            raise DesignError(f"{name!r} is ambiguous: {candidates}")
        return min(matches, key=lambda d: (-d.k, d.m, d.n))

    def _examples(self) -> str:
        return ", ".join(itertools.islice(self.designs, 2))


def _parse_settings(text: str) -> dict[str, str]:
    """Return ``parameter=value,...`` as texts by name. Raises DesignError where it is not of that form."""
    parsed: dict[str, str] = {}
    for setting in text.split(","):
        name, equals, value = (x.strip() for x in setting.partition("="))
        if not equals:
            raise DesignError(f"{setting!r} is no parameter setting: write NAME@parameter=value,...")
        if name in parsed:
            raise DesignError(f"parameter {name} is set twice in {text!r}")
        parsed[name] = value
    return parsed


def _parts(instruction: str) -> list[str]:
    return re.split(r"[._]", instruction)


def _is_shortening(wanted: list[str], parts: list[str]) -> bool:
    remaining = iter(parts)
    return all(w in remaining for w in wanted)


def _without_shape(instruction: str) -> str:
    return _BLOCKS.sub("", _SHAPE.sub("", instruction))


def _did_you_mean(text: str, known: list[str]) -> str:
    close = difflib.get_close_matches(text, known, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


CATALOGUE_VARIABLE = "MMAPROOF_CATALOGUE"
"""The environment variable that names catalogue files of the user's own, separated as in PATH."""


@cache
def load_catalogue() -> Catalogue:
    """Return the catalogue that comes with the project, and the designs of files that MMAPROOF_CATALOGUE names.

    Raises CatalogueError where one of the files is wrong.
    """
    own = Path(str(files("mmaproof.designs") / "data" / "catalogue.toml"))
    named = os.environ.get(CATALOGUE_VARIABLE, "")
    return read_catalogue(own, *(Path(p) for p in named.split(os.pathsep) if p))


def find_design(name: str) -> Design:
    """Return the design of the project's catalogue that ``name`` means; see ``Catalogue.find``."""
    return load_catalogue().find(name)


def read_catalogue(*paths: Path) -> Catalogue:
    """Read catalogue files; a later one may use the architectures and families of those before it.

    Raises CatalogueError naming file, row and field of what is wrong.
    """
    architectures: dict[str, Architecture] = {}
    families: dict[str, dict[str, Any]] = {}
    designs: dict[str, Design] = {}
    for path in paths:
        data = _read_toml(path)
        architectures |= dict(_architectures(path, data))
        families |= data.get("families", {})
        if not data.get("unit"):
            raise CatalogueError(f"{path}: no [[unit]]: a catalogue has at least one")
        for number, row in enumerate(data["unit"], start=1):
            for design in _Row(path, number, row).designs(architectures, families):
                if design.base_name in designs:
                    raise CatalogueError(
                        f"{path}: unit {number}: instructions: {design.base_name} is listed twice "
                        f"(first as {designs[design.base_name].source!r})"
                    )
                designs[design.base_name] = design
    return Catalogue(designs, architectures)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}: not TOML: {error}") from error


def _architectures(path: Path, data: dict[str, Any]) -> Iterator[tuple[str, Architecture]]:
    for name, entry in data.get("architectures", {}).items():
        try:
            yield name, Architecture(name, str(entry["title"]), tuple(entry["targets"]))
        except (KeyError, TypeError) as error:
            raise CatalogueError(f"{path}: architectures: {name}: title and targets are needed") from error


@dataclass(frozen=True)
class _Row:
    """One [[unit]] while it is read."""

    path: Path
    number: int
    row: dict[str, Any]

    def fail(self, name: str, problem: str) -> CatalogueError:
        return CatalogueError(f"{self.path}: unit {self.number}: {name}: {problem}")

    def designs(self, architectures: dict[str, Architecture], families: dict[str, dict[str, Any]]) -> Iterator[Design]:
        for name in self.row:
            if name not in _ROW_FIELDS + _ROW_OPTIONAL:
                raise self.fail(name, f"unknown field: one of {', '.join(_ROW_FIELDS + _ROW_OPTIONAL)}")
        for name in _ROW_FIELDS:
            if name not in self.row:
                raise self.fail(name, "is missing")
        if self.row["architecture"] not in architectures:
            raise self.fail("architecture", f"unknown {self.row['architecture']!r}: one of {', '.join(architectures)}")
        if self.row["family"] not in families:
            raise self.fail("family", f"unknown {self.row['family']!r}: one of {', '.join(families)}")
        settings = {**families[self.row["family"]], **self.row}
        columns = [self.formats(x) for x in ("a", "b", "c")]
        d = self.formats("d")[0]
        for template in self.row["instructions"]:
            for a, b, c in itertools.product(*columns):
                yield self.design(str(template), (a, b, c, d), settings)

    def formats(self, column: str) -> list[Format]:
        names = self.row[column]
        try:
            return [find_format(str(n)) for n in ([names] if isinstance(names, str) else names)]
        except InputError as error:
            raise self.fail(column, str(error)) from error

    def design(self, template: str, formats: tuple[Format, Format, Format, Format], settings: dict[str, Any]) -> Design:
        spelled = dict(zip("abcd", (f.isa_name for f in formats), strict=True))
        scale = self.formats("scale")[0] if "scale" in self.row else None
        if scale is not None:
            spelled["scale"] = scale.isa_name
        try:
            instruction = template.format(**spelled)
        except (KeyError, IndexError, ValueError) as error:
            raise self.fail(
                "instructions", f"{template!r}: only {{a}} {{b}} {{c}} {{d}} and, with scales, {{scale}} are replaced"
            ) from error
        shape = _SHAPE.search(instruction)
        if shape is None:
            raise self.fail("instructions", f"{instruction!r} states no shape such as m16n8k16 or 32x32x8")
        m, n, k = (int(x) for x in shape.groups() if x is not None)
        l_max = settings.get("L_max")
        if not isinstance(l_max, int) or l_max < 1:
            raise self.fail("L_max", f"{l_max!r}: a whole number of products is needed")
        parameters: dict[str, Any] = {"L": min(k, l_max)}
        for name in DEFINITIONS:
            if name in settings and name != "L":
                try:
                    parameters[name] = parse_parameter(name, str(settings[name]))
                except DesignError as error:
                    raise self.fail(name, str(error)) from error
        try:
            return Design(
                self.row["architecture"],
                instruction,
                self.row["family"],
                *formats,
                m,
                n,
                k,
                Parameters(**parameters),
                str(self.row["source"]),
                scale,
                self.row.get("block"),
            )
        except DesignError as error:
            raise self.fail("rho" if "rho" in str(error) else "L_max", str(error)) from error
