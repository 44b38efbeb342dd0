"""The machine that a benchmark ran on, as every benchmark prints it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

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


def _cpu() -> str:
    if _CPUINFO.is_file():
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(describe(machine()))
