"""UNIT.toml: which sources make a unit, and which slices of which ports are its operands."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.designs.files import why_unreadable

OPERANDS = ("a", "b", "c", "d", "scale_a", "scale_b")
"""What ports are mapped to."""

FORMATS = ("a", "b", "c", "d", "scale")

VERILOG = (".v", ".sv", ".vh", ".svh")
VHDL = (".vhd", ".vhdl")


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a unit: of a pipeline with so many registers on each path, or of so many passes."""

    port: str
    latency: int | None = None
    cycles: int | None = None
    reset: str | None = None
    reset_value: int | None = None


@dataclass(frozen=True, slots=True)
class UnitFile:
    """The content of a UNIT.toml. Paths are as written, relative to its folder.

    ``ports`` has one expression for a packed port, or a list of one for each element. A unit without an accumulator has
    no c.
    """

    path: Path
    sources: tuple[str, ...]
    top: str
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    design: str | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    block: int | None = None
    ports: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    tied: Mapping[str, int | str] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    clock: Clock | None = None

    @property
    def adds_c(self) -> bool:
        """Whether the unit has an accumulator."""
        return "c" in self.ports

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self.path.parent


def read_unit_file(path: Path) -> UnitFile:
    """Return the content of a UNIT.toml. Raises InputError for what is wrong in it, with the file and the key."""
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        hint = "" if path.exists() else "; `mmaproof rtl init` writes a first one for a module"
        raise InputError(f"{path}: {why_unreadable(problem)}{hint}") from problem
    except UnicodeDecodeError as problem:
        raise InputError(f"{path}: not UTF-8 text") from problem
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"{path}: {problem}") from problem
    return _Reader(path, "", held).unit()


class _Reader:
    """A table of the file, read key by key."""

    def __init__(self, path: Path, name: str, table: Mapping[str, Any]) -> None:
        self._path = path
        self._name = name
        self._table = table

    def wrong(self, key: str, problem: str) -> InputError:
        where = f"[{self._name}] {key}" if self._name else key
        return InputError(f"{self._path}: {where}: {problem}")

    def only(self, *known: str) -> None:
        for key in self._table:
            if key not in known:
                hint = did_you_mean(key, known)
                raise self.wrong(key, f"unknown key{hint}; known are {', '.join(known)}")

    def table(self, key: str) -> _Reader:
        value = self._table.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table is expected")
        return _Reader(self._path, f"{self._name}.{key}" if self._name else key, value)

    def text(self, key: str) -> str | None:
        value = self._table.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.wrong(key, f"a text is expected, not {value!r}")
        return value

    def number(self, key: str, least: int) -> int | None:
        value = self._table.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise self.wrong(key, f"an integer from {least} on is expected, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, str) and x.strip() for x in value):
            raise self.wrong(key, f"a list of texts is expected, not {value!r}")
        return tuple(value)

    def values(self) -> dict[str, str]:
        """Return all keys with texts: of numbers and truth values what Verilog reads."""
        found = {}
        for key, value in self._table.items():
            if not isinstance(value, str | int):
                raise self.wrong(key, f"a number or a text is expected, not {value!r}")
            if not key.isidentifier():
                raise self.wrong(key, "is no name of Verilog")
            found[key] = str(int(value)) if isinstance(value, int) else value
        return found

    def unit(self) -> UnitFile:
        tables = ("formats", "ports", "tied", "clock", "defines", "parameters")
        self.only("sources", "top", "include", "design", "block", "free", *tables)
        sources, top = self.texts("sources"), self.text("top")
        if not sources:
            raise self.wrong("sources", "at least one file is needed")
        for source in sources:
            if Path(source).suffix.lower() not in VERILOG + VHDL:
                allowed = ", ".join(VERILOG + VHDL)
                raise self.wrong("sources", f"{source}: files of Verilog, SystemVerilog and VHDL end in {allowed}")
        if top is None:
            raise self.wrong("top", "the name of the top module is needed")
        if not top.isidentifier():
            raise self.wrong("top", f"{top!r} is no name of a module")
        formats = self.table("formats")
        formats.only(*FORMATS)
        return UnitFile(
            self._path,
            sources,
            top,
            self.texts("include"),
            self.table("defines").values(),
            self.table("parameters").values(),
            self.text("design"),
            {key: str(formats.text(key)) for key in formats._table},
            self.number("block", 1),
            self.table("ports")._ports(),
            self.table("tied")._tied(),
            self.texts("free"),
            self.table("clock")._clock() if "clock" in self._table else None,
        )

    def _ports(self) -> dict[str, str | tuple[str, ...]]:
        self.only(*OPERANDS)
        found: dict[str, str | tuple[str, ...]] = {}
        for key, value in self._table.items():
            if isinstance(value, list):
                found[key] = self.texts(key)
            else:
                found[key] = str(self.text(key))
        for key in "abd":
            if not found.get(key):
                raise self.wrong(key, "which port, or which slices of ports, it is has to be stated")
        if ("scale_a" in found) is not ("scale_b" in found):
            raise self.wrong("scale_a", "scales are of a and of b: state both scale_a and scale_b")
        return found

    def _tied(self) -> dict[str, int | str]:
        for key, value in self._table.items():
            if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, int) and value < 0):
                raise self.wrong(key, f'a number, or a text such as "3\'b001", is expected, not {value!r}')
        return dict(self._table)

    def _clock(self) -> Clock:
        self.only("clock", "latency", "cycles", "reset", "reset_value")
        port, reset_value = self.text("clock"), self.number("reset_value", 0)
        found = Clock(str(port), self.number("latency", 0), self.number("cycles", 1), self.text("reset"), reset_value)
        if port is None:
            raise self.wrong("clock", "the name of the clock port is needed")
        if (found.latency is None) is (found.cycles is None):
            raise self.wrong("latency", "state either latency (of a pipeline) or cycles (of a unit of several passes)")
        if found.latency is not None and found.reset is not None:
            raise self.wrong("reset", "the reset of a pipeline is a tied port: write it under [tied]")
        if (found.reset is None) is not (found.reset_value is None):
            raise self.wrong("reset", "reset and reset_value, which is the value that resets, go together")
        if reset_value is not None and reset_value > 1:
            raise self.wrong("reset_value", "0 or 1 is expected")
        return found
