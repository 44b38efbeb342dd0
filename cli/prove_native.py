"""`mmaproof prove-native`: do the operations that are compiled for a design compute it, for all operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import SOLVING, DesignName, Explained, Json, Length, SolvingOptions, with_solving
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    print_json,
    progress,
    say,
    say_asked,
    solver_record,
)

if TYPE_CHECKING:
    from mmaproof.verification.native import GraphVerdict, NativeVerdict

EXIT_STATUS = {"proved": EXIT_HOLDS, "refuted": EXIT_REFUTED, "unknown": EXIT_UNKNOWN, "vacuous": EXIT_UNKNOWN}
ALL, FINITE = "all", "finite"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("prove-native")(prove_native)


@with_solving(timeout="300s")
def prove_native(
    design: DesignName,
    k: Length = None,
    options: SolvingOptions = SOLVING,
    explained: Explained = False,
    json: Json = False,
) -> int:
    """Prove that the operations which are compiled for a design compute it, for all operands.

    Where other operations are compiled for operands without infinities and NaNs, or for the following instructions of a
    chain, these are proved too.

    Exit status 0: proved; 1: refuted (operands for which d differs are shown); 3: unknown.
    """
    from mmaproof.designs.catalogue import find_design
    from mmaproof.verification.native import DEFAULT_BUDGET
    from mmaproof.verification.native import prove_native as decide

    unit, solving = find_design(design), options.solving
    with progress(f"proving the native code of {unit.name}"):
        answer = decide(
            unit,
            k=k,
            solver=solving,
            limits=options.limits,
            budget=DEFAULT_BUDGET if options.search else None,
            seed=options.seed,
        )
    if json:
        print_json(native_record(answer), [unit])
    else:
        for graph in answer.graphs:
            _print_graph(graph, explained)
        say_assumed([unit])
    return EXIT_STATUS[answer.status.value]


def native_record(answer: NativeVerdict) -> dict[str, Any]:
    """Return the answer as JSON data."""
    first = answer.graphs[0]
    return {
        "verdict": answer.status.value,
        "design": first.design.name,
        "k": first.k,
        "seconds": round(answer.seconds, 3),
        "graphs": [_graph_record(x) for x in answer.graphs],
    }


def _graph_record(graph: GraphVerdict) -> dict[str, Any]:
    record: dict[str, Any] = {
        "operands": FINITE if graph.finite else ALL,
        "c_format": graph.design.c_format.name,
        "operations": graph.operations,
        "verdict": graph.status.value,
        "seconds": round(graph.seconds, 3),
        "solver": solver_record(graph.solver),
        "certified_by": solver_record(graph.certified_by),
        "certificate_covers": graph.certificate_covers,
        "reason": graph.reason,
        "origin": graph.origin,
        "lemmas": [lemma_record(x) for x in graph.lemmas],
    }
    if graph.witness is not None and graph.of_design is not None:
        d = graph.design.d_format
        record["witness"] = {
            **operands_record(graph.design.formats, graph.witness, graph.design.scale_format),
            "outputs": {
                "graph": None if graph.of_graph is None else f"{graph.of_graph:#0{2 + d.bits // 4}x}",
                "design": d.hex(graph.of_design),
            },
            "undefined": graph.undefined,
        }
    return record


def _print_graph(graph: GraphVerdict, explained: bool) -> None:
    """Print the verdict on a graph for a person."""
    operands = "operands without infinities and NaNs" if graph.finite else "all operands"
    say(f"{graph.status.value}: the {graph.operations} operations compiled for {graph.design.name}, for {operands}")
    say_asked([f"k = {graph.k} and c of {graph.design.c_format.name}"], graph.origin, graph.seconds)
    print_lemmas(graph.lemmas, f"the operations return d of {graph.design.name}", whole=explained)
    if graph.reason is not None:
        say(f"  reason: {graph.reason}")
    if graph.witness is None:
        return
    record = _graph_record(graph)["witness"]
    outputs, undefined = record.pop("outputs"), record.pop("undefined")
    for line in operand_lines(record):
        say(f"  {line}")
    say(f"  d = {outputs['design']} of the design")
    say(
        f"  d = {outputs['graph']} of the operations" if undefined is None else f"  no d of the operations: {undefined}"
    )
