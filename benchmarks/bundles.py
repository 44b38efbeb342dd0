"""What a bundle costs beside the proof that it is of, and which properties of the library have one.

    python benchmarks/bundles.py [--rows N ...] [--json]
    python benchmarks/bundles.py --library [--units NAME ...] [--properties NAME ...] [--seconds N] [--json]

Each command is run cold and without stored answers, alone and with --bundle, and mmaproof-check reads the bundle.
Seconds are computed, by the command and the processes that it starts. docs/bundle.md has more rows.

With --library every property is asked of one unit of each kind, and each proved answer is put into a bundle. Each of
the two has N seconds. A line says the verdict, what joins its lemmas, and whether the checker accepts the bundle or why
there is none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from beside import NO_ANSWER, command, limited
from machine import machine, print_report

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import DesignError
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import Joined
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.bundle import NoBundleError, write_bundles
from mmaproof.verification.check import Check, check

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
UNITS = (
    "ampere/mma.m16n8k16.s32.s8.s8.s32",
    "volta/mma.m8n8k4.f32.f16.f16.f32",
    "hopper/wgmma.m64n8k32.f32.e4m3.e4m3",
    "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0",
    "cdna3/v_mfma_f32_16x16x8_xf32",
    "rdna4/v_wmma_f32_16x16x16_f16",
    "gaudi2/mme.m1n1k8.f32.bf16.bf16.f32",
    "arm/bfdot-ebf.m1n1k2.f32.bf16.bf16.f32",
    "cdna2/v_mfma_f32_32x32x8f16",
    "cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
    "paper/sequential.m1n1k4.f32.f16.f16.f32",
    "vortex/tfr.wmma.m8n4k4.f32.tf32.tf32.f32",
)
"""A unit of each kind of step, and one of each way in which a fused one adds c."""
NOT_ASKED = "not asked"


def asked(unit: str, name: str, seconds: float) -> dict[str, Any]:
    """Return the verdict on a property of a unit, and what becomes of its bundle. Each has these seconds."""
    design, limits = find_design(unit), Limits(seconds, 4 << 30)
    try:
        done = check(name, design, limits=limits)
    except DesignError as problem:
        return {"verdict": NOT_ASKED, "why": str(problem)}
    found: dict[str, Any] = {"verdict": done.verdict, "seconds": done.seconds}
    proved = [x for x in done.answers if x.status is Status.PROVED]
    if done.finding.status is not Status.PROVED or not proved:
        return found
    found["joined"] = sum(isinstance(x.proof, Joined) for x in proved)
    return {**found, **_bundle(done, limits)}


def _bundle(done: Check, limits: Limits) -> dict[str, Any]:
    questions = {x.question.key or str(n): x for n, x in enumerate(done.answers) if x.status is Status.PROVED}
    given = [(x.question, {"claim": done.claimed}, x.theorem) for x in questions.values()]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        try:
            report = write_bundles(given, done.design, Path(folder) / "bundle", Solving(), limits, 0)
        except NoBundleError as problem:
            return {"written": time.monotonic() - began, "bundle": f"refused: {problem}"}
        checks = [[sys.executable, CHECKER, str(x)] for x in report.folders]
        ran = [subprocess.run(x, capture_output=True, text=True, check=False) for x in checks]
        refused = [f"exit status {x.returncode}: {x.stdout}{x.stderr}" for x in ran if x.returncode]
        sizes = {"lemmas": report.lemmas, "steps": report.steps, "bytes": report.size}
        return {"written": report.seconds, **sizes, "bundle": "".join(refused) or "accepted"}


def library(units: list[str], names: list[str], seconds: int) -> list[dict[str, Any]]:
    """Return a row for each property that can be asked of each unit. Every row is made in a process of its own."""
    rows = []
    for unit in units:
        for name in names:
            said, computed = limited(lambda u=unit, n=name: json.dumps(asked(u, n, seconds)), 8 * seconds)
            row = {"verdict": NO_ANSWER} if said == NO_ANSWER else json.loads(said)
            if row["verdict"] != NOT_ASKED:
                rows.append({"unit": unit, "property": name, **row, "computed": computed})
                print(rows[-1], file=sys.stderr, flush=True)
    return rows


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
        if "verdict" in x:
            of = f"{x['unit']}, {x['property']}: {x['verdict']}"
            print(f"{of}; {x['bundle']}" if "bundle" in x else of)
            continue
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
    parser.add_argument("--library", action="store_true", help="the properties of the library, of a unit of each kind")
    parser.add_argument("--units", nargs="+", default=list(UNITS))
    parser.add_argument("--properties", nargs="+", choices=list(PROPERTIES), default=list(PROPERTIES))
    parser.add_argument("--seconds", type=int, default=60, help="for each answer, and for its bundle")
    given = parser.parse_args()
    if given.library:
        rows = library(given.units, given.properties, given.seconds)
    else:
        rows = [measure(ROWS[x - 1]) for x in given.rows]
    report = {"machine": machine(), "rows": rows}
    print_report(report, show, as_json=given.json)


if __name__ == "__main__":
    main()
