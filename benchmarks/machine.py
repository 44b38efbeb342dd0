"""The machine that a benchmark ran on, as every benchmark prints it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

_CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, str]:
    """Return the facts that numbers of a benchmark depend on: name -> value."""
    return {
        "cpu": _cpu(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": version("numpy"),
    }


def describe(facts: dict[str, str]) -> str:
    """Return the facts in one line."""
    return ", ".join(f"{name}: {value}" for name, value in facts.items())


def print_report(report: dict[str, Any], show: Callable[[dict[str, Any]], None], *, as_json: bool) -> None:
    """Print a report, which holds the ``machine``, as one JSON object, or for a person as ``show`` does."""
    if as_json:
        print(json.dumps(report))
    else:
        print(describe(report["machine"]))
        show(report)


def _cpu() -> str:
    if _CPUINFO.is_file():
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(describe(machine()))
