"""`mmaproof doctor`: which solvers, backends, targets and extras are available, and what to do about the rest."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

from rich.table import Table
from rich.text import Text

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, print_json, say, say_table, say_wrapped, tool_version
from mmaproof.designs.errors import TargetUnavailable

RECORDINGS_VARIABLE = "MMAPROOF_RECORDINGS"
_PACKAGES = ("pysmt", "numpy", "ml_dtypes", "typer", "rich")
_EXTRAS = {
    "pictures": ("matplotlib",),
    "dask": ("distributed",),
    "native": ("llvmlite",),
    "cuda": ("cuda-bindings", "nvidia-cuda-nvrtc"),
    "proofs": ("python-sat",),
    "notebooks": ("matplotlib", "nbclient"),
    "rtl": ("pyosys",),
    "torch": ("torch",),
    "dev": ("pytest", "hypothesis", "mypy", "ruff"),
}
_FOR = {
    "native": "a thousand times the rows per second, and instructions of this CPU as targets",
    "rtl": "proofs of SystemVerilog and VHDL",
    "proofs": "certificates and bundles",
    "pictures": "pictures of a matrix and of errors",
    "cuda": "NVIDIA GPUs as targets",
    "torch": "layers of PyTorch on a design",
    "dask": "questions on a cluster",
}
"""What the extras are for that a user may want, the first ones first."""
_TOOLS = {
    "ghdl": "reads units in VHDL",
    "iverilog": "runs the sources of units",
    "verilator": "runs the sources of units that Icarus does not read",
}
"""Programs that commands for RTL call, if they are there. Debian and Ubuntu call their packages so too."""


def doctor(json: opt.Json = False) -> int:
    """Report what is installed, whether the solvers work, and what to do about the rest.

    Exit status 3 where a solver is missing or does not work.
    """
    solvers = {
        n: lib.listings.SolverState(
            version=s.version, missing=s.missing, fault=lib.solving.self_test(n) if s.version else None
        )
        for n, s in lib.solvers.available_solvers().items()
    }
    extras = {extra: {name: _version(name) for name in names} for extra, names in _EXTRAS.items()}
    tools = {name: shutil.which(name) for name in _TOOLS}
    answer = lib.listings.DoctorAnswer(
        version=tool_version(),
        python=platform.python_version(),
        platform=platform.platform(),
        solvers=solvers,
        packages={name: _version(name) for name in _PACKAGES},
        extras=extras,
        backends=_backends(),
        targets=_targets(),
        tools=tools,
        needed=_needed(solvers),
        optional=_optional(extras, tools),
    )
    if json:
        print_json(answer)
    else:
        _print(answer)
        _advise(answer)
    return Exit.UNKNOWN if answer.needed else Exit.HOLDS


def _needed(solvers: Mapping[str, lib.listings.SolverState]) -> list[str]:
    """Return what to do before mmaproof can be relied on."""
    found = []
    for name, solver in solvers.items():
        if solver.missing:
            found.append(f"solver {name}: {solver.missing}")
        elif solver.fault:
            found.append(f"solver {name} does not work here ({solver.fault}): install it again, or report a defect")
    return found


def _optional(held: Mapping[str, Mapping[str, str | None]], programs: Mapping[str, str | None]) -> list[str]:
    """Return what to install for what is missing, each a command and what it is for."""
    extras = [x for x in _FOR if not all(held[x].values())]
    found = [f"pip install 'mmaproof[{x}]'  # {_FOR[x]}" for x in extras]
    tools = [x for x in _TOOLS if programs[x] is None]
    return found + [f"apt install {x}  # {_TOOLS[x]}" for x in tools]


def _advise(report: lib.listings.DoctorAnswer) -> None:
    """Say at the end what to do, the necessary first."""
    say("")
    if report.needed:
        say("To do:")
        for text in report.needed:
            say_wrapped(text, "  ")
    else:
        say(f"mmaproof is ready: {', '.join(report.solvers)} work. First steps: mmaproof demo")
    if report.optional:
        say("If you want more:")
        for text in report.optional:
            say(f"  {text}")


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _backends() -> dict[str, str]:
    """Return which backend is chosen, and what each of them is, or why it is not available."""
    if (problem := lib.compiler.missing()) is None:
        cpu, kept = lib.compiler.processor(), lib.compiler.folder()
        where = "not kept" if kept is None or not os.access(_nearest(kept), os.W_OK) else f"kept in {kept}"
        native = f"LLVM by llvmlite {cpu.llvmlite}, for {cpu.name}, vectors of {cpu.vector_bits} bits; code is {where}"
    else:
        native = f"missing: {problem}"
    found = {
        lib.backends.Backend.INTEGERS: "Python integers, one row at a time",
        lib.backends.Backend.ARRAYS: f"NumPy {_version('numpy')}",
        lib.backends.Backend.NATIVE: native,
    }
    wanted = lib.backends.wanted_backend()
    chosen = "the fastest for the request" if wanted is None else f"{wanted} ({lib.backends.BACKEND_VARIABLE})"
    return {"chosen": chosen, **{x.value: text for x, text in found.items()}}


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(x for x in (path, *path.parents) if x.exists())


def _targets() -> dict[str, str]:
    """Return what each target is, or why it is not available."""
    found = {
        "model": "every design of the catalogue",
        "recording": _recordings(),
        "process": "any command that speaks JSON lines",
        "rtl": "the netlist of a UNIT.toml; rtl-simulator: its sources in Icarus Verilog or Verilator",
    }
    for name in (*(f"cpu:{x}" for x in (*lib.cpu.INSTRUCTIONS, *lib.arm_cpu.ARM_INSTRUCTIONS)), "cuda"):
        try:
            target = lib.targets.find_target(name)
        except TargetUnavailable as error:
            found[name] = f"missing: {error}"
        else:
            unit = target.unit
            here = ", ".join(x for x in (unit.device, unit.version, unit.driver) if x)
            found[name] = f"{here}: designs of the catalogue: {len(target.designs)}"
    return found


def _recordings() -> str:
    folder = os.environ.get(RECORDINGS_VARIABLE)
    if not folder:
        return f"any file; {RECORDINGS_VARIABLE} names no folder of them"
    found = len(list(Path(folder).glob("*.npz")))
    return f"{found} files in {folder} ({RECORDINGS_VARIABLE})"


def _print(report: lib.listings.DoctorAnswer) -> None:
    say(f"mmaproof {report.version}, Python {report.python}, {report.platform}")
    rows: list[tuple[str, str, str]] = []
    for name, solver in report.solvers.items():
        fault = f"{solver.version}, which does not work: {solver.fault}" if solver.fault else solver.version
        rows.append(("solver", name, fault or f"missing: {solver.missing}"))
    for name, found in report.packages.items():
        rows.append(("package", name, found or "missing"))
    for extra, packages in report.extras.items():
        for name, found in packages.items():
            rows.append((f"extra [{extra}]", name, found or f"missing: pip install 'mmaproof[{extra}]'"))
    for name, text in report.backends.items():
        rows.append(("backend", name, text))
    for name, text in report.targets.items():
        rows.append(("target", name, text))
    for name, place in report.tools.items():
        rows.append(("tool", name, f"{place}: {_TOOLS[name]}" if place else f"missing: {_TOOLS[name]}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        table.add_row(*map(Text, row))  # not str: brackets are not markup
    say_table(table)
