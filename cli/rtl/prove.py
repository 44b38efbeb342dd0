"""`mmaproof rtl prove`: does a unit return what a design returns, for all operands."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.assumed import say_assumed
from mmaproof.cli.bundle import BundleFolder, bundled, require_bundle, say_bundle
from mmaproof.cli.compare import pictures_of, witness_vector
from mmaproof.cli.conditions import conditional, in_words, with_conditions
from mmaproof.cli.differences import difference
from mmaproof.cli.explain import lemma_record, print_lemmas
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.options import (
    SOLVING,
    Explained,
    Json,
    Length,
    NanCodes,
    Output,
    Simplify,
    SolvingOptions,
    Where,
    ZeroSigns,
    with_backend,
    with_solving,
)
from mmaproof.cli.output import (
    EXIT_HOLDS,
    EXIT_REFUTED,
    EXIT_UNKNOWN,
    complain,
    print_json,
    progress,
    results,
    say,
    say_asked,
    say_wrapped,
    solver_record,
)
from mmaproof.cli.pictures import Figure, Html, PictureFiles, Svg
from mmaproof.cli.rtl.junit import Case, write_junit
from mmaproof.cli.rtl.options import Junit, UnitPath

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.hardware_replay.rtl_simulator import SourceRun
    from mmaproof.rtl import RtlUnit
    from mmaproof.verification.compare import Comparison
    from mmaproof.verification.differing_nets import DifferingNet

WORDS = {"equivalent": "equal", "different": "different", "unknown": "unknown", "vacuous": "vacuous"}
"""What the verdicts of a comparison are called here."""
EXIT_STATUS = {"equal": EXIT_HOLDS, "different": EXIT_REFUTED, "unknown": EXIT_UNKNOWN, "vacuous": EXIT_UNKNOWN}
NETS = 1
"""How many of the nets that differ are listed without --explain."""
TIMEOUT = "10m"


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer of the command: the comparison of a unit with a design, and what is known of the witness.

    That is what the sources return for it, and the nets that differ, of which the last is d.
    """

    unit: RtlUnit
    meant: Design
    answer: Comparison
    ran: SourceRun | None
    nets: tuple[DifferingNet, ...]

    @property
    def verdict(self) -> str:
        """The verdict in one word, without its conditions."""
        return WORDS[self.answer.verdict]

    @property
    def when(self) -> list[str]:
        """What a proof rests on beside the sources and the tools."""
        question, unit = self.answer.question, self.unit.design
        conditions = [*unit.conditions, *(str(x) for x in question.where if str(x) not in self.unit.where)]
        if question.k < unit.k:
            conditions.append(f"it is given {question.k} of its {unit.k} products")
        return conditions + ([] if question.zero_signs else ["signs of zeros do not count"])


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("prove")(with_backend(prove))


@with_solving(timeout=TIMEOUT, keeps=True)
def prove(
    path: UnitPath,
    design: Annotated[
        str | None,
        typer.Argument(
            metavar="[DESIGN]", help="What it is meant to be; default what UNIT.toml says.", show_default=False
        ),
    ] = None,
    k: Length = None,
    where: Where = None,
    nan_codes: NanCodes = False,
    ignore_zero_signs: ZeroSigns = False,
    options: SolvingOptions = SOLVING,
    simplify: Simplify = "5s",
    simulate: Annotated[
        bool, typer.Option("--simulate/--no-simulate", help="Replay a witness on the sources in a simulator.")
    ] = True,
    picture: Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the witness bit by bit.")] = True,
    explained: Explained = False,
    output: Output = None,
    html: Html = None,
    svg: Svg = None,
    figure: Figure = None,
    junit: Junit = None,
    bundle: BundleFolder = None,
    json: Json = False,
) -> int:
    """Decide whether a unit returns what a design returns, for all operands.

    Where inputs are tied, operands held or preconditions given, the answer is "equal when" they are.

    Exit status 0: equal, or equal when (proved); 1: different (operands are shown, and replayed on the sources in a
    simulator where one is installed); 3: unknown or vacuous, or proved in a way that --bundle cannot write.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import make_way
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.rtl.meant import in_one_pass, read_rtl
    from mmaproof.smt.solving.limits import parse_seconds
    from mmaproof.verification.compare import compare

    files = PictureFiles(html, svg, figure)
    require_bundle(bundle, [output, junit, options.keep_lemmas, *files.paths])
    files.require()
    solving, limits, simplifying = options.solving, options.limits, parse_seconds(simplify)
    began = time.monotonic()
    make_way(output, junit, *files.paths, read=[path])
    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path, design)
    if meant is None:
        raise InputError(f"{path}: what is it meant to be? Name a design, here or in the file: design = ...")
    asked = in_one_pass(unit.design, meant) if k is None else meant
    with progress(f"proving {unit.design.name} equal to {meant.name}") as told:
        answer = compare(
            unit.design,
            asked,
            solver=solving,
            limits=limits.after(time.monotonic() - began, "elaborating"),
            k=k,
            where=[parse_precondition(w) for w in (*unit.where, *(where or ()))],
            nan_codes=nan_codes,
            zero_signs=not ignore_zero_signs,
            budget=options.budget,
            seed=options.seed,
            simplifying=simplifying,
            told=told,
        )
    proof = Proof(unit, meant, answer, _on_sources(unit, answer) if simulate else None, _nets(unit, answer))
    record = proof_record(proof)
    claim = with_conditions(f"{unit.design.name} returns the d of {meant.name} for all operands", proof.when)
    status, written = bundled(bundle, {claim: answer}, claim, [asked, unit.design], options, EXIT_STATUS[proof.verdict])
    record |= written
    files.write(record, lambda: pictures_of(answer))
    if json:
        print_json(record, answer.question.designs)
    else:
        print_proof(proof, picture, explained)
        say_bundle(written)
    if output is not None and answer.witness is not None:
        write_vectors(output, [witness_vector(answer)])
    elif output is not None:
        complain(f"note: {output} is not written: no vector was found")
    if junit is not None:
        write_junit(junit, [_test_case(proof, record)])
    return status


def _on_sources(unit: RtlUnit, answer: Comparison) -> SourceRun | None:
    """Return what the sources return for the witness; None if there is none."""
    if answer.witness is None:
        return None
    from mmaproof.hardware_replay.rtl_simulator import run_sources

    free = _values_of_unknown(unit, answer)
    with progress("replaying the witness on the sources"):
        if free and unit.file.clock is None and all(name.startswith("free ") for name in free):
            return run_sources(unit, answer.witness, answer.outputs[unit.design.name], free=free)
        # a simulator takes no values for unknown bits, and one for all clock cycles of an input that is free
        return run_sources(unit, answer.witness)


def _values_of_unknown(unit: RtlUnit, answer: Comparison) -> dict[str, int]:
    """Return the values of bits that may have any value, in a witness, by their names; those that are not zero."""
    # the name of a symbol has the run of the semantics and the pass of the unit before that of the bit
    one_pass = answer.question.k == unit.design.k
    places = re.compile(r"unknown\.\d+\.(?:0\.)?(.*):\d+" if one_pass else r"unknown\.\d+\.(.*):\d+")
    return {places.sub(r"\1", name): value for name, value in answer.unknown.items()}


def _nets(unit: RtlUnit, answer: Comparison) -> tuple[DifferingNet, ...]:
    if answer.witness is None or answer.unknown:  # where unknown bits are zero, no net differs
        return ()
    from mmaproof.verification.differing_nets import differing_nets

    with progress("looking for the first net that differs"):
        return differing_nets(unit.design, answer.question.designs[1], answer.witness)


def proof_record(proof: Proof) -> dict[str, Any]:
    """Return the answer as the JSON object of the command-line contract."""
    unit, answer, ran = proof.unit, proof.answer, proof.ran
    question = answer.question
    fmt = unit.design.d_format
    record: dict[str, Any] = {
        **conditional(proof.verdict, proof.when),
        "unit": unit.design.name,
        "design": question.designs[1].name,
        "k": question.k,
        "where": [str(p) for p in question.where],
        "seconds": round(answer.seconds, 3),
        "solver": solver_record(answer.solver),
        "certified_by": solver_record(answer.certified_by),
        "certificate_covers": answer.certificate_covers,
        "reason": answer.reason,
        "origin": answer.origin,
        "cells": unit.report.cells,
        "registers": unit.report.registers,
        "latency": unit.report.latency,
        "unknown_bits": dict(unit.report.unknown),
        "assumptions": list(unit.report.assumptions),
        "lemmas": [lemma_record(x) for x in answer.lemmas],
    }
    if answer.witness is not None:
        apart = difference(fmt, list(answer.outputs.values()))
        record["witness"] = {
            **operands_record(question.formats, answer.witness, question.scale_format),
            "outputs": {name: fmt.hex(x) for name, x in answer.outputs.items()},
            "difference": None if apart is None else apart.record(),
            "simulator": None if ran is None else _run_record(unit, ran),
            "nets": [_net_record(x) for x in proof.nets],
        }
        if answer.unknown:
            held = _values_of_unknown(unit, answer)
            record["witness"]["unknown_bits"] = {name: f"{value:x}" for name, value in held.items()}
    return record


def _run_record(unit: RtlUnit, ran: SourceRun) -> dict[str, Any]:
    fmt = unit.design.d_format
    return {
        "name": ran.simulator or None,
        "d": None if ran.d is None else fmt.hex(ran.d),
        "undefined": fmt.hex(ran.undefined),
        "reason": ran.reason,
    }


def _net_record(x: DifferingNet) -> dict[str, Any]:
    digits = (x.width + 3) // 4
    return {
        "net": x.net,
        "place": x.place or None,
        "cone": list(x.cone),
        "signal": x.signal,
        "relation": x.relation or None,
        "share": round(x.share, 4),
        "width": x.width,
        "model": f"0x{x.expected:0{digits}x}",
        "rtl": f"0x{x.returned:0{digits}x}",
    }


def print_proof(proof: Proof, picture: bool, explained: bool) -> None:
    """Print the answer for a person."""
    unit, answer = proof.unit, proof.answer
    question, report = answer.question, unit.report
    design = question.designs[1]
    step = "" if design.k == proof.meant.k else "one step of "
    say(f"{in_words(proof.verdict, proof.when)}: {unit.design.name} and {step}{design.name}")
    asked = [f"k = {question.k}", *(f"where {p}" for p in question.where)]
    say_asked(asked, answer.origin, answer.seconds)
    latency = f", latency {report.latency}" if report.registers and report.latency else ""
    say(f"  {report.cells} cells, {report.registers} register bits{latency}")
    for text in report.assumptions:
        say_wrapped(text, "  assumed: ")
    if report.unknown:
        say(f"  {sum(report.unknown.values())} bits may have any value; `mmaproof rtl show` lists them")
    say_assumed([design])
    print_lemmas(answer.lemmas, f"d of {unit.design.name} = d of {design.name}", whole=explained)
    if answer.reason is not None:
        say_wrapped(answer.reason, "  reason: ")
    if answer.verdict == "vacuous":
        say("  no operands satisfy the preconditions")
    if answer.witness is not None:
        _print_witness(proof, picture, explained)


def _print_witness(proof: Proof, picture: bool, explained: bool) -> None:
    from mmaproof.explain import explain
    from mmaproof.explain.text import Drawing
    from mmaproof.explain.values import pattern_value

    unit, answer = proof.unit, proof.answer
    question = answer.question
    if answer.witness is None:
        raise ValueError("there is no witness to print")
    for line in operand_lines(operands_record(question.formats, answer.witness, question.scale_format)):
        say(f"  {line}")
    if unit.report.unknown:
        held = [f"{name} = {value:x}" for name, value in _values_of_unknown(unit, answer).items()]
        others = f"all {'other ' * bool(held)}bits that may have any value = 0"
        say_wrapped(", ".join([*held, others]), "  where ")
    fmt = unit.design.d_format
    for name, d in answer.outputs.items():
        say(f"  d = {fmt.hex(d)} = {pattern_value(fmt, d)} on {name}")
    apart = difference(fmt, list(answer.outputs.values()))
    if apart is not None:
        say(f"  they {apart.words}")
    if proof.ran is not None:
        say_wrapped(_replayed(unit, answer, proof.ran), "  ")
    shown = proof.nets[:-1] if explained else proof.nets[:-1][:NETS]
    for net in shown or proof.nets:
        say_wrapped(str(net), "  ")
        if net.cone:
            say_wrapped(", ".join(net.cone), "    what leads to it, from nets that are right: ")
    if len(shown) < len(proof.nets) - 1:
        say(f"  and {len(proof.nets) - 1 - len(shown)} nets after it; --explain lists them")
    if picture:
        say("")
        results().print(Drawing(explain(question.designs[1:], answer.witness)))


def _replayed(unit: RtlUnit, answer: Comparison, ran: SourceRun) -> str:
    """Return in words what the sources did with the witness."""
    if ran.d is None:
        return f"not replayed in a simulator: {ran.reason}"
    fmt = unit.design.d_format
    text = f"replayed on the sources in {ran.simulator}: d = {fmt.hex(ran.d)}"
    if ran.undefined:
        text += f", of which the bits {fmt.hex(ran.undefined)} are undefined"
    elif ran.d == answer.outputs[answer.question.designs[1].name]:
        text += ": the difference depends on undefined bits, which the simulator takes otherwise"
    return text


def _test_case(proof: Proof, record: dict[str, Any]) -> Case:
    verdict = proof.verdict
    name = with_conditions(f"{record['unit']} is {record['design']}", proof.when)
    lines = [] if record["reason"] is None else [record["reason"]]
    if "witness" in record:
        witness = record["witness"]
        others = ("outputs", "difference", "unknown_bits", "simulator", "nets")
        lines += operand_lines({n: x for n, x in witness.items() if n not in others}, whole=True)
        lines += [f"d = {d} on {who}" for who, d in witness["outputs"].items()]
        lines += [f"net {x['net']} differs: model {x['model']}, RTL {x['rtl']}" for x in witness["nets"][:1]]
    return Case("mmaproof.rtl.prove", name, record["seconds"], verdict, verdict == "equal", tuple(lines))
