"""What a bundle costs beside the proof that it is of.

    python benchmarks/bundles.py [--rows N ...] [--json]

Each command is run cold and without stored answers, alone and with --bundle, and mmaproof-check reads the bundle.
Seconds are computed, by the command and the processes that it starts. docs/bundle.md has more rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from beside import command
from machine import machine, print_report

PROGRAM = str(Path(sys.executable).with_name("mmaproof"))
CHECKER = str(Path(__file__).parents[1] / "checker" / "mmaproof_check.py")
ROWS = (
    ("check", "carry-bits", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"),
    ("check", "carry-bits", "ampere/mma.m16n8k8.f32.f16.f16.f32"),
    ("check", "order-independent", "ampere/mma.m16n8k8.f32.f16.f16.f32"),
    ("check", "order-independent", "hopper/wgmma.m64n8k32.f32.e4m3.e4m3"),
    ("check", "products-exact", "volta/mma.m8n8k4.f32.f16.f16.f32"),
    ("check", "scaling", "volta/mma.m8n8k4.f32.f16.f16.f32"),
)


def measure(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the seconds of a proof, of the same with a bundle, and of the checker."""
    asked = [PROGRAM, *words, "--no-store", "--no-picture", "--timeout", "5m"]
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        proof = command(asked, 1)["seconds"]
        written = command([*asked, "--bundle", str(bundle)], 1)["seconds"]
        size = sum(x.stat().st_size for x in bundle.rglob("*") if x.is_file()) if bundle.exists() else None
        manifests = sorted(x.parent for x in bundle.rglob("manifest.json"))
        checked = sum(command([sys.executable, CHECKER, str(x)], 1)["seconds"] for x in manifests)
    found = {"command": " ".join(words), "proof": proof, "with_bundle": written, "checker": checked, "bytes": size}
    print(found, file=sys.stderr, flush=True)
    return found


def show(report: dict[str, Any]) -> None:
    """Print a line for each command."""
    for x in report["rows"]:
        if not x["bytes"]:
            print(f"{x['command']}: no bundle was written; the proof took {x['proof']:.1f} CPU s")
            continue
        print(
            f"{x['command']}: proof {x['proof']:.1f} CPU s, with its bundle {x['with_bundle']:.1f} "
            f"({x['with_bundle'] / x['proof']:.1f} times), {x['bytes'] / 1e6:.1f} MB, checked in {x['checker']:.1f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    numbers = range(1, len(ROWS) + 1)
    parser.add_argument("--rows", nargs="+", type=int, choices=numbers, default=list(numbers))
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    report = {"machine": machine(), "rows": [measure(ROWS[x - 1]) for x in given.rows]}
    print_report(report, show, as_json=given.json)


if __name__ == "__main__":
    main()
