"""UNIT.toml: which sources make a unit, and which slices of which ports are its operands.

It may name file lists, which simulators read with -f: sources, folders of included files, macros, and further lists.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import Fields, read_text, read_toml, why_unreadable

_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))(?://|#)[^\n]*", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braces>\w+)\}|\((?P<round>\w+)\)|(?P<bare>\w+))")
_NESTED = ("-f", "-F", "-file")
_WITHOUT_EFFECT = re.compile(
    r"-v|-sv|-sverilog|-g20\d\d|\+systemverilogext\+.*|-timescale=.*|\+timescale\+.*|-W.*|--(cc|exe|lint-only|binary|timing)"
)
"""What says nothing about the sources that follow, as in the lists that Bender and FuseSoC export for simulators."""
_WITH_A_VALUE = ("--top-module", "--top", "-top", "--Mdir", "-CFLAGS", "-LDFLAGS")
_OF_BENCHES = (".c", ".cc", ".cpp", ".vlt")


@dataclass
class FileList:
    """What file lists name, in order. Paths are relative to one folder, or absolute."""

    sources: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    defines: dict[str, str] = field(default_factory=dict)


def read_file_list(path: Path, folder: Path, found: FileList) -> None:
    """Add to ``found`` what a file list names, with the lists in it. Paths in a list are relative to its own folder.

    Those of ``found`` are relative to ``folder``. Raises InputError for an argument that is not covered, for a variable
    of the environment that is not set, and for a list that names itself.
    """
    _read(path, folder, found, ())


def _read(path: Path, folder: Path, found: FileList, outer: tuple[Path, ...]) -> None:
    if path.resolve() in outer:
        raise InputError(f"{path}: this file list names itself")
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        why = why_unreadable(problem) if isinstance(problem, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: {why}") from problem

    def relative(name: str) -> str:
        place = path.parent / name
        return name if Path(name).is_absolute() else Path(os.path.relpath(place, folder)).as_posix()

    arguments = _arguments(path, text)
    for argument in arguments:
        if argument in _NESTED:
            _read(path.parent / _next(path, argument, arguments), folder, found, (*outer, path.resolve()))
        elif argument.startswith("+incdir+"):
            found.include += [relative(x) for x in argument.removeprefix("+incdir+").split("+") if x]
        elif argument.startswith("+define+"):
            _define(found, argument.removeprefix("+define+").split("+"))
        elif argument.startswith("-I"):
            found.include.append(relative(argument[2:] or _next(path, argument, arguments)))
        elif argument.startswith("-D"):
            _define(found, [argument[2:] or _next(path, argument, arguments)])
        elif argument in _WITH_A_VALUE:
            _next(path, argument, arguments)
        elif _WITHOUT_EFFECT.fullmatch(argument) or argument.endswith(_OF_BENCHES):
            continue
        elif argument.startswith(("-", "+")):
            raise InputError(f"{path}: {argument} is not covered: sources, +incdir+, +define+, -I, -D, -v and -f are")
        else:
            found.sources.append(relative(argument))


def _arguments(path: Path, text: str) -> Iterator[str]:
    def value(variable: re.Match[str]) -> str:
        name = variable["braces"] or variable["round"] or variable["bare"]
        if name not in os.environ:
            raise InputError(f"{path}: the environment variable {name} is not set")
        return os.environ[name]

    try:
        words = shlex.split(_COMMENT.sub(" ", text), posix=True)
    except ValueError as problem:
        raise InputError(f"{path}: {problem}") from problem
    return (_VARIABLE.sub(value, word) for word in words)


def _next(path: Path, argument: str, arguments: Iterator[str]) -> str:
    found = next(arguments, None)
    if found is None:
        raise InputError(f"{path}: something is expected after {argument}")
    return found


def _define(found: FileList, macros: list[str]) -> None:
    for macro in macros:
        name, _, value = macro.partition("=")
        if name:
            found.defines[name] = value


OPERANDS = ("a", "b", "c", "d", "scale_a", "scale_b")
"""What ports are mapped to."""

REG = "reg:"
"""What the name of a register begins with, of which the present value is meant."""
NEXT = "next:"
"""What it begins with where the value after the next edge of the clock is meant."""

FORMATS = ("a", "b", "c", "d", "scale")

_GIVEN = tuple(x for x in OPERANDS if x != "d")

STEERING = ("enable", "clear", "load")
"""What steers a register that is c and d."""

VERILOG = (".v", ".sv", ".vh", ".svh")
VHDL = (".vhd", ".vhdl")


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a unit: of a pipeline with N registers on each path, or of N passes."""

    port: str
    latency: int | Mapping[str, int | tuple[int, ...]] | None = None
    """registers on every path to d: from all operands, or from each operand or its elements, and from what steers"""
    cycles: int | None = None
    reset: str | None = None
    reset_value: int | None = None
    held: tuple[str, ...] = ()
    """operands that keep their values while any cell reads them"""


@dataclass(frozen=True, slots=True)
class Control:
    """Inputs that steer a register that is c and d. Each is a port of one bit; one that is active low has a ``!``."""

    enable: str | None = None
    clear: str | None = None
    clear_to: int | str = 0
    """the pattern that the register has afterwards, as a number or a constant"""
    load: str | None = None
    load_from: str | None = None
    """the ports that are loaded"""
    drain: str | None = None
    """shows or hands on the register; it may be the input that clears or loads it, too"""
    drain_to: str | None = None
    """where: an output, or what another register holds next"""
    clear_needs_enable: bool = False
    """whether it keeps its value where it is cleared and not enabled: the clear says which step is the first"""

    @property
    def signals(self) -> dict[str, str]:
        """The inputs by what they do."""
        named = {"enable": self.enable, "clear": self.clear, "load": self.load, "drain": self.drain}
        return {key: x for key, x in named.items() if x is not None}


@dataclass(frozen=True, slots=True)
class Handshake:
    """Ports of one bit that say valid and ready, of the operands and of d, and the reset that the pipeline begins with.

    A side without ready is always ready.
    """

    valid_in: str
    ready_in: str | None
    valid_out: str
    ready_out: str | None
    reset: str

    @property
    def given(self) -> tuple[str, ...]:
        """The ports that are inputs, but for the reset."""
        return (self.valid_in, *([] if self.ready_out is None else [self.ready_out]))


@dataclass(frozen=True, slots=True)
class UnitFile:
    """The content of a UNIT.toml. Paths are as written, relative to its folder.

    ``ports`` has one expression for a packed port, or a list of one for each element. A unit without an accumulator has
    no c. ``reg:acc`` is what a register holds, ``next:acc`` what it holds after the next edge of the clock. A list for
    c or d has words of which it is the sum: a carry-save pair. ``fixed`` are the operands that the unit does not have,
    with the constant that each element of them is.
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
    control: Control = Control()
    handshake: Handshake | None = None
    fixed: Mapping[str, str] = field(default_factory=dict)
    view: Mapping[str, str] = field(default_factory=dict)
    """modules between numbers and what the unit has in their place: of a, b and c from a number, of d to one"""

    @property
    def accumulates(self) -> bool:
        """Whether c is a register, and d what the same register holds next."""
        return self.is_register("c") and tuple(x.replace(REG, NEXT) for x in self.texts("c")) == self.texts("d")

    def texts(self, operand: str) -> tuple[str, ...]:
        """Return the expressions of ports for an operand."""
        stated = self.ports.get(operand, ())
        return (stated,) if isinstance(stated, str) else stated

    def is_register(self, operand: str) -> bool:
        """Return whether an operand is what a register holds."""
        return any(REG in x for x in self.texts(operand))

    def later(self, role: str) -> int:
        """Return how many registers are between an input that steers and the register that it steers."""
        stated = None if self.clock is None else self.clock.latency
        each = stated.get(role, 0) if isinstance(stated, Mapping) else 0
        return each if isinstance(each, int) else 0

    @property
    def added_to_c(self) -> tuple[str, ...]:
        """The words besides the first one of which c is the sum; none of a c that is one word."""
        return self.texts("c")[1:]

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
    return unit_file_of(read_toml(path, absent="; `mmaproof rtl init` writes a first one for a module"), path)


def unit_file_of(held: Mapping[str, object], path: Path) -> UnitFile:
    """Return the content of a UNIT.toml at ``path``, which was read as TOML. Raises InputError as above."""
    return _Reader(f"{path}: ", held).unit(path)


def _is_constant(text: str) -> bool:
    return re.fullmatch(r"\s*\d+'[bodhBODH]\w+\s*", text) is not None


class _Reader(Fields):
    """A table of the file, read key by key."""

    def table(self, key: str) -> _Reader:
        outer = f"{self.where[:-2]}." if self.where.endswith("] ") else f"{self.where}["
        return _Reader(f"{outer}{key}] ", self.held.get(key, {}))

    def values(self) -> dict[str, str]:
        """Return all keys with texts: of numbers and truth values what Verilog reads."""
        found = {}
        for key, value in self.held.items():
            if not isinstance(value, str | int):
                raise self.expected(key, "a number or a text")
            if not key.isidentifier():
                raise self.wrong(key, "is not a name of Verilog")
            found[key] = str(int(value)) if isinstance(value, int) else value
        return found

    def unit(self, path: Path) -> UnitFile:
        tables = ("formats", "ports", "tied", "clock", "control", "handshake", "view", "defines", "parameters")
        self.only(("sources", "filelists", "top", "include", "design", "block", "free", *tables))
        top, listed, folder = self.text_or_none("top"), FileList(), path.parent
        for name in self.texts("filelists"):
            read_file_list(folder / name, folder, listed)
        sources = (*listed.sources, *self.texts("sources"))
        if not sources:
            raise self.wrong("sources", "at least one file is needed, here or in one of filelists")
        for source in sources:
            if Path(source).suffix.lower() not in VERILOG + VHDL:
                allowed = ", ".join(VERILOG + VHDL)
                raise self.wrong("sources", f"{source}: files of Verilog, SystemVerilog and VHDL end in {allowed}")
        if top is None:
            raise self.wrong("top", "the name of the top module is needed")
        if not top.isidentifier():
            raise self.wrong("top", f"{top!r} is not a name of a module")
        formats, ports = self.table("formats"), self.table("ports")._ports()
        fixed = {key: x for key, x in ports.items() if isinstance(x, str) and key in "abc" and _is_constant(x)}
        formats.only(FORMATS)
        return UnitFile(
            path,
            sources,
            top,
            (*listed.include, *self.texts("include")),
            listed.defines | self.table("defines").values(),
            self.table("parameters").values(),
            self.text_or_none("design"),
            {key: formats.text(key) for key in formats.held},
            self.number_or_none("block"),
            {key: x for key, x in ports.items() if key not in fixed},
            self.table("tied")._tied(),
            self.texts("free"),
            self.table("clock")._clock(REG in str(self.held.get("ports"))) if "clock" in self.held else None,
            self.table("control")._control(),
            self.table("handshake")._handshake() if "handshake" in self.held else None,
            fixed,
            self.table("view")._view(),
        )

    def _ports(self) -> dict[str, str | tuple[str, ...]]:
        self.only(OPERANDS)
        found: dict[str, str | tuple[str, ...]] = {}
        for key, value in self.held.items():
            found[key] = self.texts(key) if isinstance(value, list) else self.text(key)
        for key in "abd":
            if not found.get(key):
                raise self.wrong(key, "which port, or which slices of ports, it is has to be stated")
        if ("scale_a" in found) is not ("scale_b" in found):
            raise self.wrong("scale_a", "scales are of a and of b: state both scale_a and scale_b")
        return found

    def _tied(self) -> dict[str, int | str]:
        return {key: self._constant(key) for key in self.held}

    def _constant(self, key: str) -> int | str:
        value = self.held[key]
        if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, int) and value < 0):
            raise self.expected(key, 'a number, or a text such as "3\'b001",')
        return value

    def _latencies(self) -> dict[str, int | tuple[int, ...]]:
        self.only((*_GIVEN, *STEERING))
        found: dict[str, int | tuple[int, ...]] = {}
        for key, value in self.held.items():
            each = value if isinstance(value, list) and key in _GIVEN else [value]
            if not each or not all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in each):
                raise self.wrong(key, f"an integer from 0 on, or a list of one for each element, not {value!r}")
            found[key] = tuple(value) if isinstance(value, list) else value
        return found

    def _control(self) -> Control:
        self.only(("enable", "clear", "clear_to", "clear_needs_enable", "load", "load_from", "drain", "drain_to"))
        to = self._constant("clear_to") if "clear_to" in self.held else 0
        enable, clear, load, load_from = (self.text_or_none(x) for x in ("enable", "clear", "load", "load_from"))
        drain, drain_to = self.text_or_none("drain"), self.text_or_none("drain_to")
        needs = self.held.get("clear_needs_enable", False)
        if not isinstance(needs, bool) or (needs and (enable is None or clear is None)):
            raise self.wrong("clear_needs_enable", "true or false is expected, and true only with enable and clear")
        found = Control(enable, clear, to, load, load_from, drain, drain_to, needs)
        if "clear_to" in self.held and found.clear is None:
            raise self.wrong("clear_to", "clear, which sets this value, has to be stated too")
        if (found.load is None) is not (found.load_from is None):
            raise self.wrong("load", "load and load_from, which is the port that is loaded, go together")
        if found.drain is not None and found.drain_to is None:
            raise self.wrong("drain", "drain_to, which is where the register is read, has to be stated too")
        return found

    def _view(self) -> dict[str, str]:
        self.only(("a", "b", "c", "d"))
        found = {key: self.text(key) for key in self.held}
        for key, module in found.items():
            if not module.isidentifier():
                raise self.wrong(key, f"{module!r} is not a name of a module")
        return found

    def _handshake(self) -> Handshake:
        self.only(("in", "out", "reset"))
        found: list[str | None] = []
        for key in ("in", "out"):
            valid, slash, ready = (x.strip() for x in (self.text_or_none(key) or "").partition("/"))
            if not valid or (slash and not ready):
                raise self.wrong(key, 'the ports that say valid and ready are needed: "valid_i/ready_o", or "valid_i"')
            found += [valid, ready or None]
        reset = self.text_or_none("reset")
        if reset is None:
            raise self.wrong("reset", "the reset, which is tied to the value that does not reset, is needed")
        return Handshake(str(found[0]), found[1], str(found[2]), found[3], reset)

    def _clock(self, has_register: bool) -> Clock:
        """Return the clock. A unit one of whose operands is a register needs no latency: none is 0 there."""
        self.only(("clock", "latency", "held", "cycles", "reset", "reset_value"))
        port, reset_value = self.text_or_none("clock"), self.number_or_none("reset_value", 0)
        held = self.texts("held")
        is_table = isinstance(self.held.get("latency"), dict)
        latency = self.table("latency")._latencies() if is_table else self.number_or_none("latency", 0)
        if latency is None and has_register and "cycles" not in self.held:
            latency = 0
        found = Clock(str(port), latency, self.number_or_none("cycles"), self.text_or_none("reset"), reset_value, held)
        for operand in held:
            if operand not in OPERANDS or operand == "d":
                raise self.wrong("held", f"{operand} is not an operand; operands are {', '.join(_GIVEN)}")
        if held and found.latency is None:
            raise self.wrong("held", "with cycles all operands are held: state latency, or leave held out")
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
