"""Prove that the operations which are compiled for designs compute them, for all operands.

    python benchmarks/check_native.py [DESIGN ...] [--k N] [--timeout 300s] [--memory 4G] [--json]

``make check-native`` does it for a unit of each kind of step. Where other operations are compiled for operands without
infinities and NaNs, or for the following instructions of a chain, these are proved too. Exit status 0: all are proved;
1: one is refuted, and operands for which d differs are printed; 3: one is unknown.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from limits import add_limits, read_limits

from mmaproof import find_design, prove_native
from mmaproof.cli.operands import operands_record
from mmaproof.designs.errors import MmaproofError
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.native import GraphVerdict

DESIGNS = ("volta/f32.f16.f16.f32", "cdna2/v_mfma_f32_16x16x16f16", "cpu/vpdpbusd", "hopper/wgmma.f32.e4m3.e4m3")


def described(graph: GraphVerdict) -> dict[str, Any]:
    """Return what is known of one graph of operations."""
    design, lemmas = graph.design, {status.value: 0 for status in Status}
    for x in graph.lemmas:
        lemmas[x.status.value] += 1
    found: dict[str, Any] = {
        "design": design.name,
        "k": graph.k,
        "operands": "finite" if graph.finite else "all",
        "c_format": design.c_format.name,
        "operations": graph.operations,
        "verdict": graph.status.value,
        "origin": graph.origin,
        "reason": graph.reason,
        "seconds": round(graph.seconds, 3),
        "lemmas": {status: count for status, count in lemmas.items() if count},
    }
    if graph.witness is not None and graph.of_design is not None:
        d = None if graph.of_graph is None else f"{graph.of_graph:#0{2 + design.d_format.bits // 4}x}"
        found["witness"] = {
            **operands_record(design.formats, graph.witness, design.scale_format),
            "outputs": {"graph": d, "design": design.d_format.hex(graph.of_design)},
            "undefined": graph.undefined,
        }
    return found


def in_words(graph: dict[str, Any]) -> str:
    """Return what is known of one graph for a person, with operands for which d differs."""
    operands = "operands without infinities and NaNs" if graph["operands"] == "finite" else "all operands"
    lines = [f"{graph['verdict']}: the {graph['operations']} operations compiled for {graph['design']}, for {operands}"]
    lines += [f"  k = {graph['k']}, c of {graph['c_format']}; {graph['origin']}, {graph['seconds']:.2f} s"]
    lines += [f"  {name}: {json.dumps(graph[name])}" for name in ("reason", "witness") if graph.get(name) is not None]
    return "\n".join(lines)


def main() -> int:
    """Prove the designs that are named, and print the verdicts."""
    parser = argparse.ArgumentParser(description="Prove that compiled operations compute designs, for all operands.")
    parser.add_argument("designs", nargs="*", metavar="DESIGN", default=DESIGNS, help="names of designs")
    parser.add_argument("--k", type=int, help="length of the dot product; default the instruction's K")
    add_limits(parser, "300s")
    given = read_limits(parser)
    found = []
    for name in given.designs:
        try:
            graphs = prove_native(find_design(name), k=given.k, limits=given.limits).graphs
        except MmaproofError as error:
            parser.error(str(error))
        for graph in graphs:
            found.append(described(graph))
            if not given.json:
                print(in_words(found[-1]), flush=True)
    if given.json:
        print(json.dumps({"graphs": found}, indent=2))
    verdicts = {x["verdict"] for x in found}
    return 1 if "refuted" in verdicts else 0 if verdicts == {"proved"} else 3


if __name__ == "__main__":
    sys.exit(main())
