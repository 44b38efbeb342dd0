"""Fused multiply-adds of the catalogue, and all roundings, against vectors of others: IBM FPgen and Berkeley TestFloat.

    python benchmarks/conformance.py [--fpgen FOLDER] [--testfloat PROGRAM] [--rows N] [--json]

FOLDER ($FPGEN where it is not given) holds the .fptest files of IBM's floating-point test suite for IEEE 754R, of which
the lines b32*+ are run, with their roundings. Lines whose enabled exception occurs have no result of the untrapped
operation, so they are left out. PROGRAM ($TESTFLOAT_GEN) is testfloat_gen of TestFloat 3e: the first N cases of each
format and rounding are run, of those that it writes with -forever (level 2). Beside a multiply-add with each rounding,
the designs of the catalogue that are one multiply-add are run. Nothing of either is in this project. Two NaNs are the
same result; exception flags are not compared, since no unit of the catalogue has any.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from machine import machine, print_report

from mmaproof import find_design, load_catalogue, replay
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.designs.signature import Signature
from mmaproof.hardware_replay.tables.reading import Wanted, read_answers
from mmaproof.hardware_replay.target import Answers, Numbered
from mmaproof.hardware_replay.targets import ModelTarget

UNIT: Final = "arm/fmla.m1n1k1.{0}.{0}.{0}.{0}"
FRACTION_BITS: Final = {"f16": 24, "f32": 50, "f64": 108}
"""two more than those of a product"""
MODES: Final = {"rne": "near_even", "rz": "minMag", "rtn": "min", "rtp": "max", "rna": "near_maxMag", "rto": "odd"}
OF_FPGEN: Final = {"=0": "rne", "0": "rz", "<": "rtn", ">": "rtp", "=^": "rna"}
_LINE: Final = re.compile(
    r"b32\*\+ (?P<mode>=0|0|<|>|=\^)(?: (?P<enabled>[xuozi]+))? +(?P<a>\S+) +(?P<b>\S+) +(?P<c>\S+) +-> +(?P<d>\S+)"
    r"(?: +(?P<flags>[xuvwozi]+))? *"
)
_NUMBER: Final = re.compile(r"([+-])([01])\.([0-9A-F]{6})P(-?\d+)")
_FIRST: Final = FORMATS["fp32"]


def unit(fmt: str, rounding: str) -> Design:
    """Return the multiply-add of one format with a rounding. Towards zero and to odd nothing overflows (IEEE 754)."""
    wide = "f64" if fmt == "f64" else "f32"
    overflow = "largest-finite" if rounding in ("rz", "rto") else "infinity"
    design = find_design(f"{UNIT.format(wide)}@rho={rounding}-fp{wide[1:]},overflow={overflow}")
    if fmt != "f16":
        return design
    step = replace(design.step, rho=f"{rounding}-fp16", fraction_bits=FRACTION_BITS[fmt])
    return replace(design, signature=Signature.parse("f16.f16.f16.f16"), step=step, changed=("rho", "formats"))


def of_catalogue(fmt: str) -> list[Design]:
    """Return the designs of the catalogue that are one fused multiply-add in a format, and keep subnormals."""
    one = (FORMATS[f"fp{fmt[1:]}"],) * 4
    found = [
        x
        for x in load_catalogue().designs.values()
        if x.family == "fma-chain" and x.k == 1 and x.signature.formats == one
    ]
    return [x for x in found if x.step.rho == f"rne-fp{fmt[1:]}"]


def pattern(text: str) -> int:
    """Return the bits of a number of FPgen in fp32. Raises ValueError for another spelling."""
    special = {"+Zero": 0, "-Zero": 1 << 31, "+Inf": 0x7F800000, "-Inf": 0xFF800000, "Q": 0x7FC00000, "S": 0x7F800001}
    if text in special:
        return special[text]
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a number of FPgen in fp32")
    sign, whole, fraction, exponent = found[1] == "-", int(found[2]), int(found[3], 16), int(found[4])
    if fraction >> 23 or (not whole and exponent != -126):
        raise ValueError(f"{text!r} is not a number of fp32")
    return sign << 31 | (exponent + 127 if whole else 0) << 23 | fraction


def fpgen_rows(folder: Path) -> tuple[dict[str, list[tuple[int, ...]]], int]:
    """Return a, b, c and d of each rounding, and how many lines are left out: a trap takes the place of the result.

    Raises ValueError for a line b32*+ that is not understood.
    """
    found, trapped = dict[str, list[tuple[int, ...]]](), 0
    for path in sorted(folder.glob("*.fptest")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.startswith("b32*+"):
                continue
            match = _LINE.fullmatch(line.rstrip())
            if match is None:
                raise ValueError(f"{path}: {line!r} is not understood")
            enabled, flags = match["enabled"] or "", re.sub("[vw]", "u", match["flags"] or "")
            if match["d"] == "#" or set(enabled) & set(flags):
                trapped += 1
            else:
                row = tuple(pattern(match[x]) for x in "abcd")
                found.setdefault(OF_FPGEN[match["mode"]], []).append(row)
    return found, trapped


def rows_of(rows: list[tuple[int, ...]]) -> Answers:
    """Return rows of fp32 patterns as operands with results."""
    a, b, c, d = np.array(rows, dtype=np.uint64).T.astype(pattern_dtype(_FIRST))
    batch = OperandBatch(a[:, None].copy(), b[:, None].copy(), c)
    return Answers(batch=batch, formats=(_FIRST,) * 4, labels=Numbered("row", 1, len(d)), whence="FPgen", d=d)


def testfloat_rows(program: str, fmt: str, rounding: str, count: int) -> Answers:
    """Return cases of testfloat_gen, read as any user's file of them is."""
    words = [program, f"-r{MODES[rounding]}", "-forever", f"{fmt}_mulAdd"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(count):
                file.write(process.stdout.readline())
            process.kill()
        file.flush()
        return read_answers(file.name, Wanted.of(".".join([fmt] * 4), 1, ("testfloat",)))


def judge(source: str, design: Design, answers: Answers) -> dict[str, Any]:
    """Return how many rows there are, and how many differ."""
    found = replay([answers], ModelTarget(design))
    first = found.examples[0] if found.examples else None
    return {
        "source": source,
        "rho": str(design.step.rho),
        "design": None if design.changed else design.name,
        "rows": found.rows,
        "differ": found.mismatches,
        "unanswered": found.unanswered,
        "example": None if first is None else f"{first.operands}: {first.expected:x}, model {first.returned:x}",
    }


def show(report: dict[str, Any]) -> None:
    """Print a line for each source and rounding."""
    for source, rho, named in dict.fromkeys((x["source"], x["rho"], x["design"] is not None) for x in report["rows"]):
        of = [x for x in report["rows"] if (x["source"], x["rho"], x["design"] is not None) == (source, rho, named)]
        count = f"{len(of)} designs of the catalogue" if named else "fused multiply-add"
        rows = sum(x["rows"] for x in of)
        wrong = [x for x in of if x["differ"] + x["unanswered"]]
        verdict = "all pass" if not wrong else "; ".join(f"{x['differ']} differ, such as {x['example']}" for x in wrong)
        print(f"{source:<18}{rho:<10}{count:<30}{rows:>9} rows: {verdict}")
    if report["trapped"] is not None:
        print(f"left out, because an enabled exception occurs: {report['trapped']} lines of FPgen")


def main() -> int:
    """Run what is there, and print; 1 if a row differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fpgen", type=Path, default=os.environ.get("FPGEN"), help="a folder of .fptest files")
    parser.add_argument("--testfloat", default=os.environ.get("TESTFLOAT_GEN"), help="the program testfloat_gen")
    parser.add_argument("--rows", type=int, default=100_000, help="cases of TestFloat for each format and rounding")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    trapped = None
    if given.fpgen is None:
        print("FPgen not run: name its folder with --fpgen or in $FPGEN", file=sys.stderr)
    else:
        held, trapped = fpgen_rows(Path(given.fpgen))
        for rounding, of in held.items():
            designs = [unit("f32", rounding), *(of_catalogue("f32") if rounding == "rne" else [])]
            rows += (judge("FPgen, fp32", x, rows_of(of)) for x in designs)
    if given.testfloat is None:
        print("TestFloat not run: name testfloat_gen with --testfloat or in $TESTFLOAT_GEN", file=sys.stderr)
    else:
        for fmt in FRACTION_BITS:
            for rounding in MODES:
                answers = testfloat_rows(given.testfloat, fmt, rounding, given.rows)
                designs = [unit(fmt, rounding), *(of_catalogue(fmt) if rounding == "rne" else [])]
                rows += (judge(f"TestFloat, fp{fmt[1:]}", x, answers) for x in designs)
    print_report({"machine": machine(), "rows": rows, "trapped": trapped}, show, as_json=given.json)
    return int(any(x["differ"] + x["unanswered"] for x in rows))


if __name__ == "__main__":
    sys.exit(main())
