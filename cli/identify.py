"""`mmaproof identify`: which design describes a unit that can only be run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.operands import operand_lines, operands_record
from mmaproof.cli.output import (
    EXIT_STATUS,
    Exit,
    assumed_names,
    complain,
    note,
    progress,
    results,
    say,
    say_assumed,
    say_wrapped,
)
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import conditional, conditions_of, with_conditions, witness_fields
from mmaproof.designs.errors import InputError


@opt.with_backend
@opt.with_options(
    without="search jobs certify memory work picture explain output svg figure junit bundle",
    timeout_of="For everything but the proof about RTL: 60s, 5m.",
)
def identify(
    target: Annotated[
        str,
        opt.argument(
            "TARGET",
            "process:COMMAND, cpu:INSTRUCTION, cuda[:N], rtl:UNIT.toml, rtl-simulator:UNIT.toml, model:DESIGN, or "
            "FILE with operands and results: a recording, CSV, TSV, JSON, JSON Lines, .npy, .npz, .pt, safetensors.",
        ),
    ],
    interface: opt.InterfaceOfFile = None,
    k: opt.LengthOfFile = None,
    read_as: opt.ReadAs = None,
    more: Annotated[list[str] | None, opt.option("--more FILE", "A file of further rows. Repeatable.")] = None,
    asked_next: Annotated[
        Path | None,
        opt.option(
            "--next FILE",
            "Write the operands that decide more, if FILE of results leaves something open: .csv, .tsv, .jsonl, .npz.",
        ),
    ] = None,
    space: Annotated[
        Path | None, opt.option("--space FILE", "A TOML file: parameter = [values], for those to be restricted.")
    ] = None,
    design: opt.Instruction = None,
    options: opt.SolvingOptions = opt.SOLVING,
    proofs: Annotated[
        bool, opt.option("--proofs/--no-proofs", "Prove what cannot be told apart, or leave it undecided.")
    ] = True,
    validate: Annotated[
        int | None,
        opt.option(
            "--validate N", "Operand sets of the final validation. Default: 100000, of a slow unit fewer.", min=1
        ),
    ] = None,
    proof_timeout: Annotated[
        str, opt.option("--proof-timeout TIME", "For the proof that rtl:UNIT.toml equals what was found.")
    ] = "10m",
    jobs: Annotated[int, opt.option("--jobs N", "Proofs at a time, in processes of this machine.", min=1)] = 1,
    dask: opt.Dask = None,
    silence: Annotated[str, opt.option("--silence TIME", "Timeout for the next answer of a process.")] = "30s",
    showing: ShowingOptions = SHOWING,
) -> int:
    """Find out what a unit is: ask it batches of operands, and keep the designs that agree with every answer.

    The space has every setting of the parameters of a design; --space restricts it. A file answers nothing new: its
    rows narrow the space, and what they leave open is listed; --next writes the operands to run next, and --more reads
    what came back. Exit status 0: a design was found that agrees with
    everything, the final validation too, and RTL is proved equal to it; 1: none was found; 3: time ran out, the target
    did not answer, or is a recording.
    """
    solving = options.solving
    given: dict[str, Any] = {
        "seconds": lib.limits.parse_seconds(options.timeout),
        "solver": solving,
        "seed": options.seed,
    }
    wanted = lib.reading.Wanted.of(interface, k, tuple(read_as or ()))
    unit = opt.target_of(
        target, min(silence, options.timeout, key=lib.limits.parse_seconds), design, wanted, more or ()
    )
    if asked_next is not None:
        check_next(unit, asked_next)
    showing.ready()
    given |= {"space": space, "proofs": proofs, "validation": validate, "propose": asked_next is not None}
    with progress("identifying") as told, opt.runner(dask, solving, jobs) as run:
        outcome = lib.identification.identify(unit, interface, k, **given, told=told, run=run)
    proof = _proof(unit, outcome, solving, proof_timeout) if proofs else None
    if outcome.oracle.problem is not None:
        complain(f"error: {outcome.oracle.problem}")
    showing.show(lambda: identified_of(outcome, proof), lambda: print_identification(outcome, proof))
    if asked_next is not None:
        write_next(asked_next, outcome)
    if proof is not None and outcome.validated:
        return EXIT_STATUS[proof.verdict]
    if outcome.oracle.problem is not None:
        return Exit.UNKNOWN
    if outcome.behaviour is None:
        return Exit.UNKNOWN if outcome.late else Exit.REFUTED
    return Exit.HOLDS if outcome.validated and not outcome.late else Exit.UNKNOWN


def check_next(target: lib.target.Target, path: Path) -> None:
    """Raise InputError where operands cannot be written to ``path``, or the target can be asked itself."""
    if not isinstance(target, lib.targets.RecordingTarget):
        raise InputError(f"--next {path}: is for a file of results; {target.name} is asked here: leave it out")
    lib.numbers.check_ending(path)
    lib.files.make_way(path, read=[Path(x) for x in (*target.source.split(","), *target.more)])


def write_next(path: Path, outcome: lib.outcome.Identification) -> None:
    """Write the operands that the unit of a file is to be run on next, and say so; nothing where none are left."""
    proposed = outcome.proposed
    if proposed is None or not len(proposed):
        open_values = any(x.undecided for x in outcome.findings.values())
        why = "no operands were found on which what is left differs" if open_values else "nothing is left to ask"
        if outcome.unproved:
            why = "time ran out before operands were found on which what is left differs (--timeout 10m looks further)"
        note(f"{why}: {path} was not written")
        return
    lib.numbers.write_operands(path, outcome.oracle.rows(proposed))
    note(f"{path}: {len(proposed)} operand sets to run next; add what came back with --more FILE")


def _proof(
    target: lib.target.Target, outcome: lib.outcome.Identification, solving: lib.solving.Solving, timeout: str
) -> lib.compare.Comparison | None:
    """Return whether RTL equals the design that was found; None of other targets, and if none was found."""
    if not isinstance(target, lib.targets.RtlTarget) or outcome.design is None:
        return None
    limits = lib.limits.Limits(lib.limits.parse_seconds(timeout), lib.compare.DEFAULT_LIMITS.memory_bytes)
    with progress("proving"):
        return lib.compare.compare(
            target.read.design, outcome.design, solver=solving, limits=limits, where=target.read.where
        )


def _proved(proof: lib.compare.Comparison) -> lib.surveys.EqualityProof:
    """Return the proof as a part of an answer."""
    fmt, witness = proof.question.designs[0].d_format, proof.witness
    shown = None if witness is None else witness_fields(proof.question, witness, proof.outputs, fmt)
    return lib.surveys.EqualityProof.taken(
        proof,
        **conditional(proof.verdict, conditions_of(proof.question.designs)),
        witness=lib.answer.ABSENT if shown is None else lib.answer.Witness(**shown),
    )


def _print_proof(proof: lib.compare.Comparison) -> None:
    if proof.witness is None:
        same = with_conditions("the RTL returns the same for all operands", conditions_of(proof.question.designs))
        what = f"proved: {same}" if proof.verdict == "equivalent" else "not proved"
        say(f"  {what}, by {proof.origin}, {proof.seconds:.1f} s")
        if proof.reason is not None:
            say_wrapped(proof.reason, "  reason: ")
        return
    say(f"  but the RTL is something else, found by {proof.origin}:")
    for line in operand_lines(operands_record(proof.question.formats, proof.witness, proof.question.scale_format)):
        say(f"    {line}")
    fmt = proof.question.designs[0].d_format
    for name, d in proof.outputs.items():
        say(f"    d = {fmt.hex(d)} on {name}")


def identified_of(outcome: lib.outcome.Identification, proof: lib.compare.Comparison | None) -> lib.surveys.Identified:
    """Return the outcome as an answer."""
    found, evidence = outcome.findings, outcome.evidence
    near = None if outcome.matches or outcome.fitting else lib.outcome.neighbour(outcome)

    def texts(kind: str) -> dict[str, list[str]]:
        held = {n: getattr(f, kind) for n, f in found.items()}
        return {n: [lib.parameters.format_parameter(n, x) for x in values] for n, values in held.items() if values}

    return lib.surveys.Identified.taken(
        outcome,
        outcome.oracle,
        target=outcome.oracle.target.name,
        interface=str(evidence.interface),
        k=evidence.interface.k,
        identified=bool(outcome.validated),
        matches=[x.name for x in outcome.matches],
        fitting=[x.name for x in outcome.fitting],
        parameters={n: lib.parameters.format_parameter(n, f.value) for n, f in found.items()},
        unobservable=texts("unobservable"),
        undecided=texts("undecided"),
        decided_by={n: _row(outcome, f.row) for n, f in found.items() if f.row is not None},
        other_interfaces={n: [x.name for x in designs] for n, designs in outcome.other_interfaces.items()},
        nan_codes=[evidence.interface.signature.d.hex(x) for x in outcome.nan_codes],
        contradiction=None if outcome.contradiction is None else _row(outcome, outcome.contradiction),
        nearest=None if outcome.behaviour is not None else outcome.nearest.as_text(),
        neighbour=None if near is None else neighbour_of(near),
        disagreements=disagreements_of(lib.outcome.disagreements(evidence, outcome.behaviour or outcome.nearest)),
        proof=None if proof is None else _proved(proof),
        assumed=assumed_names((*outcome.matches, *outcome.fitting)),
        where=list(outcome.oracle.where) or lib.answer.ABSENT,
    )


def _row(outcome: lib.outcome.Identification, row: int) -> lib.surveys.Returned:
    signature = outcome.evidence.interface.signature
    operands, d = outcome.evidence.row(row)
    return lib.surveys.Returned(**operands_record(signature.formats, operands, signature.scale), d=signature.d.hex(d))


def print_identification(outcome: lib.outcome.Identification, proof: lib.compare.Comparison | None) -> None:
    """Print the outcome for a person, and the proof about RTL, if there is one."""
    _print_outcome(outcome)
    if proof is not None:
        _print_proof(proof)


def _print_outcome(outcome: lib.outcome.Identification) -> None:
    interface, oracle = outcome.evidence.interface, outcome.oracle
    asked = f"{oracle.operands} operand sets in {oracle.batches} batches" if oracle.batches else "nothing new"
    say(f"{oracle.target.name}, {interface} at k = {interface.k}")
    say(f"  asked {asked}; {outcome.tried} designs tried, {outcome.seconds:.1f} s")
    if oracle.where:
        say(f"  everything below is said where {', '.join(oracle.where)}: the unit has nothing else there")
    if outcome.behaviour is None:
        _print_nothing(outcome)
        return
    if outcome.validated:
        short = ": time ran out before it was done" if outcome.late else ""
        say(f"  agrees with everything, and with {outcome.validated} more operand sets of the validation{short}")
    else:
        say("  agrees with every row; not validated on others")
    if oracle.unanswered:
        say(f"  {oracle.unanswered} operand sets of the validation came back without an answer")
    for text, designs in (("is", outcome.matches), ("agrees with, not proved to be", outcome.fitting)):
        if designs:
            say(f"  {text} {', '.join(x.name for x in designs)}")
    say_assumed((*outcome.matches, *outcome.fitting), "one of its names or more")
    if not (outcome.matches or outcome.fitting):
        say("  is not a design of the catalogue")
        near = lib.outcome.neighbour(outcome)
        if near is not None:
            print_neighbour(outcome, near)
    for name, finding in outcome.findings.items():
        _print_finding(name, finding)
    if outcome.nan_codes and "nan_code" not in outcome.findings:
        codes = ", ".join(interface.signature.d.hex(x) for x in outcome.nan_codes)
        say(f"  NaNs of no reading: {codes}")
    if outcome.unproved:
        say_wrapped(
            f"time ran out before {outcome.unproved} designs that fit were related to it: --timeout 10m does more", "  "
        )
    say_wrapped("assumed: the unit is a setting of these parameters; NaNs are equal whatever their codes", "  ")


def _print_finding(name: str, finding: lib.outcome.ParameterVerdict) -> None:
    def listed(values: tuple[Any, ...]) -> str:
        return ", ".join(lib.parameters.format_parameter(name, x) for x in values)

    notes = [f"not observable here: {listed(finding.unobservable)} (proved)"] if finding.unobservable else []
    notes += [f"fits as well, not proved the same: {listed(finding.undecided)}"] if finding.undecided else []
    say_wrapped(
        "; ".join(notes), f"  {name} = {lib.parameters.format_parameter(name, finding.value)}" + ("  " if notes else "")
    )
    if not notes:
        say(f"  {name} = {lib.parameters.format_parameter(name, finding.value)}")


def _print_nothing(outcome: lib.outcome.Identification) -> None:
    interface = outcome.evidence.interface
    why = "no design was found"
    if outcome.late:
        why = f"{'time' if outcome.by_clock else 'batches'} ran out before a design was found"
    by_then = " by then" if outcome.late else ""
    say(f"  {why} that agrees: {outcome.tried} tried, in a space of {outcome.space:.3g}; the nearest{by_then}:")
    nearest = lib.parameters.format_settings(outcome.nearest.settings)
    say_wrapped(", ".join(f"{n} = {text}" for n, text in nearest.items()), "    ")
    if outcome.by_clock:
        batches = f"{outcome.oracle.batches} of at most {lib.identifier.MOST_BATCHES} batches and " * bool(
            outcome.oracle.batches
        )
        say_wrapped(
            f"ended by the clock after {batches}{outcome.tried} designs: another run may end at another setting "
            "(--timeout 10m looks further). The design named nearest is the same in every run: it rests on the first "
            f"{outcome.first_rows} rows",
            "  ",
        )
    for other, designs in outcome.other_interfaces.items():
        verb = "agrees" if len(designs) == 1 else "agree"
        say_wrapped(f"{', '.join(x.name for x in designs)} {verb} with every answer", f"  --interface {other}: ")
    if outcome.contradiction is None:
        say("  which agrees with every answer: it was not validated")
        return
    say(f"  {disagreements_text(lib.outcome.disagreements(outcome.evidence, outcome.nearest))}")
    say("  the unit returned something else for")
    for line in operand_lines(_row(outcome, outcome.contradiction)):
        say(f"    {line}")
    operands, d = outcome.evidence.row(outcome.contradiction)

    fmt = interface.signature.d
    expected = lib.trace.evaluate(interface.design(outcome.nearest), operands)
    say(f"    d = {fmt.hex(d)} returned, {fmt.hex(expected)} expected")
    near = lib.outcome.neighbour(outcome)
    if near is not None:
        print_neighbour(outcome, near)


def neighbour_of(found: lib.outcome.Neighbour) -> lib.surveys.Nearest:
    """Return the nearest design as a part of an answer."""
    disagreements = disagreements_of(found.disagreements)
    return lib.surveys.Nearest.taken(found, design=found.design.name, disagreements=disagreements)


def disagreements_of(held: Mapping[str, lib.outcome.Disagreement]) -> dict[str, lib.surveys.Disagreements]:
    """Return how many rows disagree as a part of an answer, by class of operands."""
    return {name: lib.surveys.Disagreements.taken(x) for name, x in held.items()}


def disagreements_text(held: Mapping[str, lib.outcome.Disagreement]) -> str:
    """Return how many rows disagree for a person, by class of operands."""
    wrong, rows = sum(x.wrong for x in held.values()), sum(x.rows for x in held.values())
    classes = ", ".join(f"{x.wrong} of {x.rows} with {name}" for name, x in held.items() if x.rows)
    return f"{wrong} of {rows} rows disagree with it: {classes}"


def print_neighbour(outcome: lib.outcome.Identification, found: lib.outcome.Neighbour) -> None:
    """Print the nearest design, how many rows disagree with it, and the simplest of those bit by bit."""
    say(f"  nearest: {found.text}")
    say_wrapped(f"{found.design.name}: {disagreements_text(found.disagreements)}", "  ")
    simplest = next((x.simplest for x in found.disagreements.values() if x.simplest is not None), None)
    if simplest is None:
        return
    signature = outcome.evidence.interface.signature
    operands, d = outcome.evidence.row(simplest)
    for line in operand_lines(operands_record(signature.formats, operands, signature.scale)):
        say(f"    {line}")
    say(f"    d = {signature.d.hex(d)} returned by the unit; {found.design.name} instead:")
    say("")
    results().print(lib.text.Drawing(lib.explain.explain([found.design], operands)))
    say("")
