"""`mmaproof prove-native`: do the operations that are compiled for a design compute it, for all operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import SOLVING, DesignName, Explained, Json, Length, SolvingOptions, with_options
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    assumed_names,
    print_json,
    progress,
    say,
    say_asked,
)
from mmaproof.cli.verdicts import decided, print_lemmas, say_reason

if TYPE_CHECKING:
    from mmaproof.explain.answers.netlists import Graph, NativeProved
    from mmaproof.verification.native import GraphVerdict, NativeVerdict

EXIT_STATUS = {"proved": EXIT_HOLDS, "refuted": EXIT_REFUTED, "unknown": EXIT_UNKNOWN, "vacuous": EXIT_UNKNOWN}
ALL, FINITE = "all", "finite"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("prove-native")(prove_native)


@with_options(timeout="300s")
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
        print_json(proved_of(answer))
    else:
        for graph in answer.graphs:
            _print_graph(graph, explained)
        say_assumed([unit])
    return EXIT_STATUS[answer.status.value]


def proved_of(answer: NativeVerdict) -> NativeProved:
    """Return the answer."""
    from mmaproof.explain.answers.netlists import NativeProved

    first = answer.graphs[0]
    return NativeProved.taken(
        answer,
        verdict=answer.status.value,
        design=first.design.name,
        k=first.k,
        graphs=[_graph_of(x) for x in answer.graphs],
        assumed=assumed_names([first.design]),
    )


def _graph_of(graph: GraphVerdict) -> Graph:
    from mmaproof.explain.answers.answer import ABSENT
    from mmaproof.explain.answers.netlists import Graph, GraphWitness

    d, witness = graph.design.d_format, None
    if graph.witness is not None and graph.of_design is not None:
        of_graph = None if graph.of_graph is None else f"{graph.of_graph:#0{2 + d.bits // 4}x}"
        witness = GraphWitness(
            **operands_record(graph.design.formats, graph.witness, graph.design.scale_format),
            outputs={"graph": of_graph, "design": d.hex(graph.of_design)},
            undefined=graph.undefined,
        )
    return Graph.taken(
        graph,
        operands=FINITE if graph.finite else ALL,
        c_format=graph.design.c_format.name,
        verdict=graph.status.value,
        **decided(graph),
        witness=witness or ABSENT,
    )


def _print_graph(graph: GraphVerdict, explained: bool) -> None:
    """Print the verdict on a graph for a person."""
    operands, answer = "operands without infinities and NaNs" if graph.finite else "all operands", _graph_of(graph)
    say(f"{answer.verdict}: the {graph.operations} operations compiled for {graph.design.name}, for {operands}")
    say_asked([f"k = {graph.k} and c of {answer.c_format}"], graph.origin, graph.seconds)
    print_lemmas(answer.lemmas, f"the operations return d of {graph.design.name}", whole=explained)
    say_reason(answer)
    if not answer.witness:
        return
    for line in operand_lines(answer.witness):
        say(f"  {line}")
    outputs, undefined = answer.witness.outputs, answer.witness.undefined
    say(f"  d = {outputs['design']} of the design")
    say(
        f"  d = {outputs['graph']} of the operations" if undefined is None else f"  no d of the operations: {undefined}"
    )
