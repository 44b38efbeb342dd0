"""Yosys in a child process: sources become a flat word-level netlist, as JSON.

The child is ended when it takes too long, and on Ctrl-C; nothing is left running. Yosys reads the files that are
named, and executes nothing in them.

An undefined bit (X) is not used for optimisation: ``proc`` and ``opt_expr`` run with ``-keepdc``, and of ``opt`` only
the passes run that keep every X where it is (``opt_expr -keepdc``, ``opt_merge``, ``opt_clean``). ``setundef``,
``opt_dff``, ``opt_expr -mux_undef -undriven`` and ``opt_share`` do not run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.rtl.unit_file import VHDL, UnitFile

SECONDS = 300.0
"""How long elaboration may take by default."""

MEMORY_BYTES = 8 << 30
"""How much memory it may take by default."""

FACTS_ABOUT_X = "undefined bits are kept: proc -noopt, opt_expr -keepdc; no setundef, opt_dff or opt_share"
"""What a report says about Yosys options that exploit undefined bits."""

_PASSES = (
    "hierarchy -check -top {top}",
    "proc -noopt -norom",
    "flatten -noscopeinfo",
    "opt_expr -keepdc",
    "opt_merge",
    "opt_expr -keepdc",
    "opt_clean",
    "dffunmap",
    "opt_clean",
)

_CHILD = """
import sys
try:
    import resource
    most = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
from pyosys import libyosys
design = libyosys.Design()
with open(sys.argv[1], encoding="utf-8") as script:
    for command in script.read().splitlines():
        libyosys.run_pass(command, design)
"""


@dataclass(frozen=True, slots=True)
class Netlist:
    """What Yosys has made of the sources: its JSON of the top module, and the warnings on the way."""

    module: dict[str, Any]
    warnings: tuple[str, ...]
    elaborator: str


def elaborate(unit: UnitFile, *, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> Netlist:
    """Return the netlist of a unit's top module.

    Raises InputError with the tool's message, file and line where the sources are wrong, or where they take more time
    or memory than they may; TargetUnavailable where no Yosys is installed.
    """
    for source in unit.sources:
        if not (unit.folder / source).is_file():
            raise InputError(f"{unit.path}: sources: there is no file {unit.folder / source}")
    if any(Path(source).suffix.lower() in VHDL for source in unit.sources):
        raise InputError(f"{unit.path}: sources: VHDL is not read")
    if importlib.util.find_spec("pyosys") is None:
        raise TargetUnavailable("RTL is elaborated by Yosys, which is not installed: pip install 'mmaproof[rtl]'")
    with tempfile.TemporaryDirectory(prefix="mmaproof-rtl-") as place:
        folder = Path(place)
        files = folder / "files.f"
        files.write_text(_arguments(unit), encoding="utf-8")
        output = folder / "netlist.json"
        passes = [f"read_slang -f {files}", *(x.format(top=unit.top) for x in _PASSES), f"write_json {output}"]
        script = folder / "script.ys"
        script.write_text("\n".join(passes) + "\n", encoding="utf-8")
        command = [sys.executable, "-P", "-c", _CHILD, str(script), str(memory_bytes)]
        log = _run(command, unit, seconds, memory_bytes)
        try:
            held = json.loads(output.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{unit.path}: Yosys wrote no netlist: {_last_lines(log)}") from problem
    module = held["modules"].get(unit.top)
    if module is None:
        raise InputError(f"{unit.path}: top: there is no module {unit.top} in the sources")
    return Netlist(module, tuple(_warnings(log)), f"pyosys, {held.get('creator', 'Yosys')}")


def _arguments(unit: UnitFile) -> str:
    """Return the command file of slang. Names are quoted, because they may contain blanks."""
    arguments = ["--top", unit.top, "-j", "1", "--no-implicit-memories", "--ignore-assertions"]
    for folder in unit.include:
        arguments += ["-I", folder]
    for name, value in unit.defines.items():
        arguments += ["-D", f"{name}={value}"]
    for name, value in unit.parameters.items():
        arguments += ["-G", f"{name}={value}"]
    arguments += unit.sources
    return "".join(f"{_quoted(x)}\n" for x in arguments)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _run(command: Sequence[str], unit: UnitFile, seconds: float, memory_bytes: int) -> str:
    """Run a tool in the unit's folder and return what it printed."""
    child = subprocess.Popen(
        command,
        cwd=unit.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        log, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as problem:
        raise InputError(f"{unit.path}: elaboration takes longer than {seconds:g} s") from problem
    finally:
        _end(child)
    if child.returncode:
        errors = _errors(log)
        if errors:
            raise InputError(f"{unit.path}: " + "; ".join(errors))
        if "bad_alloc" in log or "MemoryError" in log or child.returncode == -signal.SIGKILL:
            raise InputError(f"{unit.path}: elaboration takes more than {memory_bytes >> 20} MiB of memory")
        raise InputError(f"{unit.path}: Yosys ended with status {child.returncode}: {_last_lines(log)}")
    return log


def _end(child: subprocess.Popen[str]) -> None:
    """End a child that still runs, and whatever it has started."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


_ERROR = re.compile(r"(?:(?P<where>\S.*?:\d+(?::\d+)?): )?(?:ERROR|error): (?P<what>.*)")
_NOT_SAYING = ("Design elaboration failed; see full log for details", "Bad command")
_MOST_ERRORS = 5


def _errors(log: str) -> list[str]:
    found = []
    for line in log.splitlines():
        match = _ERROR.fullmatch(line.strip())
        if match and match["what"] not in _NOT_SAYING:
            found.append(f"{match['where']}: {match['what']}" if match["where"] else match["what"])
    more = [f"and {len(found) - _MOST_ERRORS} more errors"] if len(found) > _MOST_ERRORS else []
    return found[:_MOST_ERRORS] + more


def _warnings(log: str) -> list[str]:
    lines = (line.strip() for line in log.splitlines())
    return list(dict.fromkeys(line for line in lines if re.match(r"(\S.*?:\d+.*: )?[Ww]arning: ", line)))


def _last_lines(log: str) -> str:
    return " ".join(log.split("\n")[-4:]).strip() or "no message"
