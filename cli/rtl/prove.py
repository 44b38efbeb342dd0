"""`mmaproof rtl prove`: does a unit return what a design returns, for all operands."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from mmaproof.cli import lib, verdicts
from mmaproof.cli import options as opt
from mmaproof.cli.compare import differing_fields, pictures_of, witness_vector
from mmaproof.cli.operands import operand_lines
from mmaproof.cli.output import EXIT_STATUS, assumed_names, complain, progress, say, say_wrapped, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions, draw
from mmaproof.designs.errors import InputError, TargetUnavailable

WORDS = {"equivalent": "equal", "different": "different", "unknown": "unknown", "vacuous": "vacuous"}
"""What the verdicts of a comparison are called here."""
NETS = 1
"""How many of the nets that differ are listed without --explain."""
TIMEOUT = "10m"


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer of the command: the comparison of a unit with a design, and what is known of the witness.

    That is what the sources return for it, and the nets that differ, of which the last is d.
    """

    unit: lib.rtl.RtlUnit
    meant: lib.design.Design
    answer: lib.compare.Comparison
    ran: lib.rtl_simulator.SourceRun | None
    nets: tuple[lib.differing_nets.DifferingNet, ...]
    answered: tuple[lib.netlists.Answered, ...] = ()
    ran_of_answered: tuple[lib.rtl_simulator.SourceRun | None, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict in one word, without its conditions: of the step, and of what is claimed beside it."""
        return WORDS[lib.compare.WORDS[lib.netlists.whole_status(self.answer, self.answered)]]

    @property
    def induction(self) -> str:
        """What follows for several clock cycles of a register that is c and d, or why nothing does."""
        file, model = self.unit.file, self.answer.question.designs[1]
        why = lib.netlists.why_no_induction(self.answer, self.answered, self.unit.not_direct)
        if why is not None:
            return f"one clock cycle only: {why}"
        steps = "steps of" if model.k != self.meant.k else "dot products by"
        enabled = "enabled " if file.control.enable is not None else ""
        others = (
            " and any number of cycles between them that keep it"
            if lib.netlists.holds_while_disabled(self.answered)
            else ""
        )
        first = f"; {'an enabled' if enabled else 'the'} clear is itself the first of the n"
        first = first if lib.netlists.has_first_step(self.answered) else ""
        clear = "an enabled clear" if file.control.clear_needs_enable else "a clear"
        claim = next((x.claim for x in self.answered if x.claim.key == lib.transitions.DRAIN), None)
        read = "" if claim is None else f"; {claim.text}"
        later = any(map(file.later, lib.unit_file.STEERING))
        read += "; operands and what steers count as many clock cycles before as they have registers" * later
        return (
            f"by induction on clock cycles: after {clear} and n {enabled}cycles without one{others}, the register "
            f"holds the d of the last of n {steps} {model.name}; c of the first is the value of the clear, and of each "
            f"other the d of the one before{first}{read}"
        )

    @property
    def when(self) -> list[str]:
        """What a proof rests on besides the sources and the tools."""
        question, unit = self.answer.question, self.unit.design
        conditions = [*unit.conditions, *(str(x) for x in question.where if str(x) not in self.unit.where)]
        if question.k < unit.k:
            conditions.append(f"it is given {question.k} of its {unit.k} products")
        return conditions + ([] if question.zero_signs else ["signs of zeros do not count"])


@dataclass(frozen=True)
class WrittenOptions:
    """Which of these files are written: the options that ``with_options`` gives a command, as they were typed."""

    vcd: Annotated[
        Path | None,
        opt.option("--vcd FILE", "Record the witness on the sources, beside the model's signals (.vcd, .fst)."),
    ] = None
    bench: Annotated[
        Path | None,
        opt.option(
            "--bench FOLDER", "Write a self-checking test bench (Verilog, cocotb) of the witness, or of --suite."
        ),
    ] = None
    suite: Annotated[
        str | None,
        opt.option("--suite SOURCE", "Rows of the bench: a vector file, a recording, or a distribution of operands."),
    ] = None
    sva: Annotated[
        Path | None,
        opt.option("--sva FOLDER", "Write an assertion with the model, as a module that is bound to the unit."),
    ] = None

    def ready(self) -> None:
        """Refuse what cannot be written. Raises InputError."""
        if self.vcd is not None:
            lib.files.require_writable(self.vcd)
        for folder in (self.bench, self.sva):
            if folder is not None:
                lib.files.require_new_folder(folder)
        if self.suite is not None and self.bench is None:
            raise InputError(f"--suite {self.suite}: says what rows a test bench has: give --bench FOLDER too")

    def write_assertion(self, unit: lib.rtl.RtlUnit, meant: lib.design.Design) -> None:
        """Write the assertion, if it is wanted."""
        if self.sva is None:
            return

        lib.verilog.write_texts(self.sva, lib.sv_model.assertion_files(unit, meant, tool_version()))

    def write_waves(
        self,
        unit: lib.rtl.RtlUnit,
        model: lib.design.Design,
        witness: lib.element.Operands | None,
        free: Mapping[str, int],
        control: Mapping[str, bool] | None,
    ) -> None:
        """Write waves of a witness; None is there if nothing differs. A note says why nothing is written."""
        if self.vcd is None:
            return
        if witness is None:
            complain(f"note: {self.vcd} is not written: there is no witness")
            return

        with progress("recording the witness"):
            try:
                lib.rtl_simulator.record_waves(unit, model, witness, self.vcd, free=free, control=control)
            except TargetUnavailable as problem:
                complain(f"note: {self.vcd} is not written: {problem}")

    def write_bench(
        self,
        unit: lib.rtl.RtlUnit,
        model: lib.design.Design,
        witness: lib.vectors.Vector | None,
        free: Mapping[str, int],
        control: Mapping[str, bool] | None,
        seed: int,
    ) -> None:
        """Write the bench, if it is wanted: of the witness, else of a suite or of random operands."""
        if self.bench is None:
            return

        model = lib.meant.in_one_pass(unit.design, model)
        if witness is not None:
            expected = {model.name: lib.trace.evaluate(model, witness.operands)}
            selection = lib.selection.Selection(
                (replace(witness, outputs=expected),), "the witness", {}, tool_version()
            )
        else:
            rows = 1000 if self.suite is None else None
            selection = lib.selection.select(
                self.suite or "uniform-bits", [model], k=unit.design.k, rows=rows, seed=seed, version=tool_version()
            )
        if unit.fixed:
            vectors = [replace(x, operands=unit.completed(x.operands)) for x in selection.vectors]
            vectors = [replace(x, outputs={model.name: lib.trace.evaluate(model, x.operands)}) for x in vectors]
            selection = replace(selection, vectors=tuple(vectors))
        try:
            drawn = seed if witness is None else None
            lib.verilog.write_unit_bench(unit, selection, self.bench, free=free, control=control, seed=drawn)
        except (InputError, TargetUnavailable) as problem:
            complain(f"note: {self.bench} is not written: {problem}")


WRITTEN = WrittenOptions()
"""What is written without options: nothing."""


@opt.with_backend
@opt.with_options(keeps=True, timeout=TIMEOUT)
def prove(
    path: opt.UnitPath,
    design: Annotated[
        str | None, opt.argument("[DESIGN]", "What it is meant to be; default what UNIT.toml says.")
    ] = None,
    question: opt.QuestionOptions = opt.QUESTION,
    options: opt.SolvingOptions = opt.SOLVING,
    simulate: Annotated[
        bool, opt.option("--simulate/--no-simulate", "Replay a witness on the sources in a simulator.")
    ] = True,
    showing: ShowingOptions = SHOWING,
    written: WrittenOptions = WRITTEN,
) -> int:
    """Decide whether a unit returns what a design returns, for all operands.

    Where inputs are tied, operands held or preconditions given, the answer is "equal when" they are.

    Exit status 0: equal, or equal when (proved); 1: different (operands are shown, and replayed on the sources in a
    simulator where one is installed); 3: unknown or vacuous, or proved in a way that --bundle cannot write.
    """
    given = {**options.means, **question.of_comparison()}
    showing.ready(options.keep_lemmas, written.vcd, read=[path])
    written.ready()
    began = time.monotonic()
    with progress(f"elaborating {path}"):
        unit, meant = lib.meant.read_rtl(path, design)
    if meant is None:
        raise InputError(f"{path}: what is it meant to be? Name a design, here or in the file: design = ...")
    model = lib.meant.in_one_pass(unit.design, meant) if question.k is None else meant
    written.write_assertion(unit, meant)
    given["where"] = question.preconditions(unit.where)
    given["limits"] = options.limits.after(time.monotonic() - began, "elaborating")
    with progress(f"proving {unit.design.name} equal to {meant.name}") as told:
        done = lib.compare.compare(unit.design, model, **given, told=told)
    answered = _of_register(unit, meant, given)
    ran = [_on_sources(*x) if simulate else None for x in _asked(unit, done, answered)]
    proof = Proof(unit, meant, done, ran[0], _nets(unit, done), answered, tuple(ran[1:]))
    _write(written, proof, options.seed)
    claim = verdicts.with_conditions(f"{unit.design.name} returns the d of {meant.name} for all operands", proof.when)
    designs = [model, unit.design]
    status, bundle = showing.bundled(
        {claim: done} | {x.claim.text: x.answer for x in answered}, claim, designs, options, EXIT_STATUS[proof.verdict]
    )
    answer = proved(proof, bundle)
    showing.show(
        answer,
        lambda: print_proof(proof, answer, showing),
        lambda: pictures_of(done),
        lambda: [] if done.witness is None else [witness_vector(done)],
    )
    if showing.junit is not None:
        verdicts.write_junit(showing.junit, [_test_case(answer)])
    return status


def _of_register(
    unit: lib.rtl.RtlUnit, meant: lib.design.Design, given: Mapping[str, Any]
) -> tuple[lib.netlists.Answered, ...]:
    """Return the answers about a register that is c and d, in cycles in which it takes no step."""

    def ask(claim: lib.transitions.Transition, model: lib.design.Design) -> lib.compare.Comparison:
        whole = {"k": None, "where": claim.where, "nan_codes": True, "zero_signs": True}
        with progress(f"proving that {claim.text}") as told:
            return lib.compare.compare(
                claim.unit, lib.meant.in_one_pass(claim.unit, model), **{**given, **whole}, told=told
            )

    return lib.netlists.answer_transitions(unit.transitions, meant, ask)


def _asked(
    unit: lib.rtl.RtlUnit, done: lib.compare.Comparison, answered: Sequence[lib.netlists.Answered]
) -> list[tuple[lib.rtl.RtlUnit, lib.compare.Comparison, Mapping[str, bool] | None]]:
    """Return each question with the unit that it is about, and with what steers its register; first that of a step."""
    claims = [(_unit_of(unit, x.claim), x.answer, x.claim.control) for x in answered]
    return [(unit, done, None), *claims]


def _unit_of(unit: lib.rtl.RtlUnit, claim: lib.transitions.Transition) -> lib.rtl.RtlUnit:
    """Return the unit of a claim: where that is read elsewhere, with d and its registers there."""
    if claim.read is None:
        return replace(unit, design=claim.unit, shows_words=claim.key == lib.transitions.VIEW)
    views = {x: name for x, name in unit.file.view.items() if x != "d"}
    file = replace(unit.file, ports={**unit.file.ports, "d": claim.read}, view=views)
    return replace(unit, design=claim.unit, file=file, longest=claim.longest)


def _write(written: WrittenOptions, proof: Proof, seed: int) -> None:
    """Write the files in which a witness is looked at."""
    shown = [x for x in _asked(proof.unit, proof.answer, proof.answered) if x[1].witness is not None]
    if not shown or written.suite is not None:
        written.write_bench(proof.unit, proof.meant, None, {}, None, seed)
    if not shown:
        written.write_waves(proof.unit, proof.meant, None, {}, None)
        return
    unit, answer, control = shown[0]
    model, free = answer.question.designs[1], _values_of_unknown(unit, answer)
    written.write_waves(unit, model, answer.witness, free, control)
    if written.suite is None:
        written.write_bench(unit, model, witness_vector(answer), free, control, seed)


def _on_sources(
    unit: lib.rtl.RtlUnit, answer: lib.compare.Comparison, control: Mapping[str, bool] | None = None
) -> lib.rtl_simulator.SourceRun | None:
    """Return what the sources return for the witness; None if there is none."""
    if answer.witness is None:
        return None

    free = _values_of_unknown(unit, answer)
    with progress("replaying the witness on the sources"):
        words = {f"free {x}" for x in unit.file.added_to_c}
        if free and (unit.file.clock is None or words.issuperset(free)) and all(x.startswith("free ") for x in free):
            return lib.rtl_simulator.run_sources(
                unit, answer.witness, answer.outputs[unit.design.name], free=free, control=control
            )
        # a simulator takes no values for unknown bits, and one for all clock cycles of an input that is free
        return lib.rtl_simulator.run_sources(unit, answer.witness, control=control)


def _values_of_unknown(unit: lib.rtl.RtlUnit, answer: lib.compare.Comparison) -> dict[str, int]:
    """Return the values of bits that may have any value, in a witness, by their names; those that are not zero."""
    # the name of a symbol has the run of the semantics and the pass of the unit before that of the bit
    one_pass = answer.question.k == unit.design.k
    places = re.compile(r"unknown\.\d+\.(?:0\.)?(.*):\d+" if one_pass else r"unknown\.\d+\.(.*):\d+")
    return {places.sub(r"\1", name): value for name, value in answer.unknown.items()}


def _nets(unit: lib.rtl.RtlUnit, answer: lib.compare.Comparison) -> tuple[lib.differing_nets.DifferingNet, ...]:
    if answer.witness is None or answer.unknown:  # where unknown bits are zero, no net differs
        return ()

    with progress("looking for the first net that differs"):
        return lib.differing_nets.differing_nets(unit.design, answer.question.designs[1], answer.witness)


def proved(proof: Proof, bundle: Any) -> lib.verdicts.NetlistProved:
    """Return the answer."""
    unit, done, witness = proof.unit, proof.answer, None
    if done.witness is not None:
        unknown = {name: f"{value:x}" for name, value in _values_of_unknown(unit, done).items()}
        witness = lib.verdicts.NetlistWitness(
            **{**differing_fields(done), "unknown_bits": unknown if done.unknown else lib.answer.ABSENT},
            simulator=None if proof.ran is None else _simulated(unit, proof.ran),
            nets=[_net(x) for x in proof.nets],
        )
    return lib.verdicts.NetlistProved.taken(
        unit.report,
        **verdicts.conditional(proof.verdict, proof.when),
        unit=unit.design.name,
        design=done.question.designs[1].name,
        **verdicts.asked(done.question),
        **verdicts.decided(done),
        unknown_bits=unit.report.unknown,
        witness=witness or lib.answer.ABSENT,
        assumed=assumed_names(done.question.designs),
        covers=unit.report.covers or lib.answer.ABSENT,
        **_register_fields(proof),
        bundle=bundle,
    )


def _register_fields(proof: Proof) -> dict[str, Any]:
    """Return what is known of a register that is c and d, as fields."""
    if not proof.unit.file.accumulates:
        return {}
    claims = []
    for x, ran in zip(proof.answered, proof.ran_of_answered, strict=True):
        found = (
            lib.answer.ABSENT if x.answer.witness is None else lib.answer.DifferingWitness(**differing_fields(x.answer))
        )
        verdict: Any = WORDS[x.answer.verdict]
        claims.append(
            lib.verdicts.RegisterClaim(
                **verdicts.decided(x.answer),
                verdict=verdict,
                claim=x.claim.text,
                witness=found,
                simulator=lib.answer.ABSENT if ran is None else _simulated(proof.unit, ran),
            )
        )
    step: Any = WORDS[proof.answer.verdict]
    return {"step": step, "register_claims": claims, "induction": proof.induction}


def _simulated(unit: lib.rtl.RtlUnit, ran: lib.rtl_simulator.SourceRun) -> lib.verdicts.Simulated:
    fmt = unit.design.d_format
    d = None if ran.d is None else fmt.hex(ran.d)
    return lib.verdicts.Simulated.taken(ran, name=ran.simulator or None, d=d, undefined=fmt.hex(ran.undefined))


def _net(x: lib.differing_nets.DifferingNet) -> lib.verdicts.Net:
    model, rtl = (f"0x{value:0{(x.width + 3) // 4}x}" for value in (x.expected, x.returned))
    shown = {"place": x.place or None, "relation": x.relation or None, "share": round(x.share, 4)}
    return lib.verdicts.Net.taken(x, **shown, model=model, rtl=rtl)


def print_proof(proof: Proof, answer: lib.verdicts.NetlistProved, showing: ShowingOptions) -> None:
    """Print the answer for a person."""
    done, report = proof.answer, proof.unit.report
    model = done.question.designs[1]
    step = "" if model.k == proof.meant.k else "one step of "
    covers = f" for {report.covers}" if report.covers and proof.verdict == "equal" else ""
    say(f"{verdicts.in_words(answer)}{covers}: {answer.unit} and {step}{answer.design}")
    latency = f", latency {report.latency}" if report.registers and report.latency else ""
    about = [f"{report.cells} cells, {report.registers} register bits{latency}"]
    about += [f"assumed: {text}" for text in report.assumptions]
    if report.unknown:
        about += [f"{sum(report.unknown.values())} bits may have any value; `mmaproof show {answer.unit}` lists them"]
    claim = f"d of {answer.unit} = d of {answer.design}"
    verdicts.say_decided(answer, [model], claim, whole=showing.explain, between=about)
    if proof.unit.file.accumulates:
        _print_register(proof, answer)
    if done.witness is None or not answer.witness:
        return
    between = []
    if report.unknown:
        held = [f"{name} = {value:x}" for name, value in _values_of_unknown(proof.unit, done).items()]
        others = f"all {'other ' * bool(held)}bits that may have any value = 0"
        between = [f"where {', '.join([*held, others])}"]
    verdicts.say_witness(answer.witness, proof.unit.design.d_format, between)
    if proof.ran is not None:
        say_wrapped(_replayed(proof.unit, done, proof.ran), "  ")
    shown = proof.nets[:-1] if showing.explain else proof.nets[:-1][:NETS]
    for net in shown or proof.nets:
        say_wrapped(str(net), "  ")
        if net.cone:
            say_wrapped(_by_file(net.cone), "    what leads to it, from nets that are right: ")
    if len(shown) < len(proof.nets) - 1:
        say(f"  and {len(proof.nets) - 1 - len(shown)} nets after it; --explain lists them")
    if showing.picture:
        draw([("", lib.explain.explain([model], done.witness))])


def _by_file(places: Sequence[str]) -> str:
    """Return FILE:LINE, LINE; FILE:LINE for places, in their order."""
    lines: dict[str, list[str]] = {}
    for file, _, line in (x.rpartition(":") for x in places):
        lines.setdefault(file, []).append(line)
    return "; ".join(f"{file}:{', '.join(x)}" if file else ", ".join(x) for file, x in lines.items())


def _print_register(proof: Proof, answer: lib.verdicts.NetlistProved) -> None:
    """Print what is known of a register that is c and d, beside its step."""
    if answer.step != proof.verdict:
        say(f"  {answer.step}: the step that an enabled cycle takes")
    for claim in answer.register_claims or ():
        say_wrapped(f"{claim.verdict}: {claim.claim}", "  ")
        if claim.reason is not None:
            say_wrapped(claim.reason, "    reason: ")
        if claim.witness:
            verdicts.say_witness(claim.witness, proof.unit.design.d_format, ["where this is not so:"])
        if claim.simulator:
            ran = claim.simulator
            text = f"replayed on the sources in {ran.name}: d = {ran.d}" if ran.d else f"not replayed: {ran.reason}"
            say_wrapped(text, "  ")
    say_wrapped(str(answer.induction), "  ")


def _replayed(unit: lib.rtl.RtlUnit, answer: lib.compare.Comparison, ran: lib.rtl_simulator.SourceRun) -> str:
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


def _test_case(answer: lib.verdicts.NetlistProved) -> verdicts.Case:
    verdict = answer.verdict.removesuffix("-when")
    lines = [] if answer.reason is None else [answer.reason]
    if answer.witness:
        lines += operand_lines(answer.witness, whole=True)
        lines += [f"d = {d} on {who}" for who, d in answer.witness.outputs.items()]
        lines += [f"net {x.net} differs: model {x.model}, RTL {x.rtl}" for x in answer.witness.nets[:1]]
    name = verdicts.with_conditions(f"{answer.unit} is {answer.design}", answer.when)
    return verdicts.Case("mmaproof.rtl.prove", name, answer.seconds, verdict, verdict == "equal", tuple(lines))
