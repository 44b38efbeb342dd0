"""Disclosures: the description of a unit's reduction as JSON, complete in itself, and how it is read back.

A draft of RISC-V (integrated matrix extension, arithmetic considerations) asks whoever builds a unit to publish the
algorithm of its reduction with the values of its parameters. A disclosure is that for any unit of one signature. It
states every parameter that has an effect, and what is not stated is not assumed: no default is ever taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import DISCLOSED, Design, Evidence, Level, RowEvidence
from mmaproof.designs.errors import DesignError, InputError, did_you_mean
from mmaproof.designs.files import Fields, parse_object, read_text, shown, why_unreadable
from mmaproof.designs.formats import Format
from mmaproof.designs.open_points import STRUCTURE, levels_of
from mmaproof.designs.parameters import DEFINITIONS, compose, format_parameter, parse_parameter, settings_of
from mmaproof.designs.signature import Signature

VERSION = 1
_VERSION_FIELD = "mmaproof_disclosure"
_FIELDS = (_VERSION_FIELD, "name", "source", "m", "n", "k", "formats", "scales", "parameters", "evidence")
_OPTIONAL = "k_multiple"
_OPERANDS = ("a", "b", "c", "d")
_LONGEST_TEXT = 1000


def disclose(design: Design) -> dict[str, Any]:
    """Return the disclosure of a design as plain data for JSON; docs/disclosure.md describes its fields.

    Raises DesignError for a netlist, which no parameters describe.
    """
    if not design.step.is_parametric:
        raise DesignError(
            f"{design.name} is a netlist: no parameters describe it, so there is nothing to disclose but the netlist"
        )
    scale = design.scale_format
    return {
        _VERSION_FIELD: VERSION,
        "name": design.name,
        "source": design.source,
        "m": design.m,
        "n": design.n,
        "k": design.k,
        **({} if design.k_multiple is None else {_OPTIONAL: design.k_multiple}),
        "formats": {x: f.name for x, f in zip(_OPERANDS, design.formats, strict=True)},
        "scales": None if scale is None else {"format": scale.name, "block": design.block},
        "parameters": {name: _plain(name, value) for name, value in design.settings.items()},
        "evidence": {
            name: f"{x.level.value}: {x.source}" if x.source else x.level.value for name, x in levels_of(design).items()
        },
    }


def _plain(name: str, value: object) -> int | str:
    return value if isinstance(value, int) else format_parameter(name, value)


def read_disclosure(path: Path) -> Design:
    """Return the design that a file discloses.

    If the catalogue has a design of that name with this very disclosure, it is that design. Any other is called
    ``disclosure:FILE``, whatever the file says that its name is. Raises InputError for a file that cannot be read, and
    DesignError for what is missing, unknown or wrong in it.
    """
    try:
        held = parse_object(read_text(path), object_pairs_hook=_without_repetitions)
    except OSError as problem:
        raise InputError(f"{path}: {why_unreadable(problem)}") from problem
    except ValueError as problem:
        raise InputError(f"{path}: not a disclosure: {problem}") from problem
    try:
        read = _Table("", held).design(path)
    except InputError as problem:
        raise DesignError(f"{path}: {problem}") from problem
    same = _of_catalogue(str(held["name"]))
    return same if same is not None and disclose(same) == held else read


def _of_catalogue(name: str) -> Design | None:
    """Return the design of the catalogue that ``name`` spells in full; None if there is none."""
    catalogue = load_catalogue()
    if name.partition("@")[0] not in catalogue.designs:
        return None
    try:
        return catalogue.find(name)
    except DesignError:
        return None


def _without_repetitions(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(x for x in names if names.count(x) > 1)!r} is given twice")
    return found


class _Table(Fields):
    """An object of the file, read field by field. Every problem names its field."""

    ERROR, KIND = DesignError, "an object"

    def text(self, name: str) -> str:
        text = super().text(name)
        if not text.isprintable() or len(text) > _LONGEST_TEXT:
            raise self.expected(name, f"one line of text of up to {_LONGEST_TEXT} characters")
        return text

    def format(self, name: str) -> Format:
        found = super().format(name)
        if found.name != self.held[name]:
            raise self.wrong(name, f"{self.held[name]!r} is written {found.name!r} here")
        return found

    def signature(self) -> Signature:
        formats = _Table("formats.", self.held["formats"])
        formats.only(_OPERANDS, _OPERANDS)
        a, b, c, d = (formats.format(x) for x in _OPERANDS)
        if self.held["scales"] is None:
            return Signature(a, b, c, d)
        scales = _Table("scales.", self.held["scales"])
        scales.only(("format", "block"), ("format", "block"))
        return Signature(a, b, c, d, scales.format("format"), scales.number("block"))

    def design(self, path: Path) -> Design:
        """Return the design that the whole file describes, called by the file."""
        self.only((*_FIELDS, _OPTIONAL), _FIELDS)
        version = self.held[_VERSION_FIELD]
        if type(version) is not int or version != VERSION:
            raise self.wrong(_VERSION_FIELD, f"version {shown(version)} is not read here: {VERSION} is")
        parameters = _Table("parameters.", self.held["parameters"])
        settings = {name: parameters.parameter(name) for name in parameters.held}
        try:
            chain, step = compose(settings)
        except DesignError as problem:
            raise DesignError(f"parameters: {problem}") from problem
        names = tuple(settings_of(chain, step))
        parameters.only(names, names, "it has no effect with the other parameters, so it must not be stated")
        evidence = _Table("evidence.", self.held["evidence"])
        rest = [x for x in names if x not in STRUCTURE]
        evidence.only(rest, rest, "no parameter here, or one on which no result depends")
        return Design(
            DISCLOSED,
            str(path),
            DISCLOSED,
            self.signature(),
            self.number("m"),
            self.number("n"),
            self.number("k"),
            chain,
            step,
            f"disclosure of {self.text('name')}: {self.text('source')}",
            evidence=RowEvidence(parameters={name: evidence.evidence(name) for name in evidence.held}),
            k_multiple=self.number_or_none(_OPTIONAL),
        )

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter. It has one spelling: that which a disclosure is written with."""
        if name not in DEFINITIONS:
            raise self.wrong(name, f"unknown parameter{did_you_mean(name, list(DEFINITIONS))}")
        held = self.held[name]
        if type(held) not in (int, str):
            raise self.expected(name, "a number or a text")
        try:
            value = parse_parameter(name, str(held))
        except DesignError as problem:
            raise DesignError(f"parameters: {problem}") from problem
        written = _plain(name, value)
        if type(written) is not type(held) or written != held:
            raise self.wrong(name, f"{shown(held)} is written {json.dumps(written)} here")
        return value

    def evidence(self, name: str) -> Evidence:
        """Return what a parameter rests on. What recordings are said to show cannot be checked: it is published."""
        text = self.text(name)
        level, _, source = text.partition(":")
        if level == Level.RECORDED and source.strip():
            return Evidence(Level.PUBLISHED, f"recorded, as the file says: {source.strip()}")
        try:
            return Evidence.parse(text)
        except DesignError as problem:
            raise self.wrong(name, str(problem)) from problem
