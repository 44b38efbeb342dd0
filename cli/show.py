"""`mmaproof show`: everything about one design, property, algorithm or plan, about recordings, or about user RTL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from mmaproof.cli.options import RTL, Json, Length, argument, complete_everything, option
from mmaproof.cli.output import assumed_names, print_json, progress, say, say_assumed, say_table, say_wrapped
from mmaproof.cli.verdicts import say_conditions

if TYPE_CHECKING:
    from mmaproof.designs.design import Design, Evidence
    from mmaproof.explain.answers.listings import AlgorithmAnswer, DesignAnswer, PropertyAnswer, UnitAnswer
    from mmaproof.gemm.programs import Plan
    from mmaproof.gemm.programs.algorithm import Algorithm
    from mmaproof.properties.property import Property
    from mmaproof.rtl import RtlUnit


ALWAYS_SHOWN = ("widening",)
"""Parameters that are shown of every design, of those too whose steps do not have them."""


def show(
    names: Annotated[
        list[str],
        argument(
            "NAME...",
            "A DESIGN, rtl:UNIT.toml, a PROPERTY, an ALGORITHM, a PLAN (UNIT | key=value | ..., a "
            "preset, a TOML file), or recordings: FILE.npz.",
            autocompletion=complete_everything,
        ),
    ],
    k: Length = None,
    disclosure: Annotated[
        bool,
        option("--disclosure", "Print the complete description of a design as JSON; disclosure:FILE reads it back."),
    ] = False,
    json: Json = False,
) -> None:
    """Show everything about what is named.

    A design: formats, widths, source, and every parameter with its meaning and what its value rests on. A property:
    also what a witness means, the designs it is asked of, a specimen, and the specimen's mutant, a design on which the
    property comes out the other way. An algorithm: its parameters. A plan, or a design with --k: its operations. User
    RTL: what was elaborated. Recordings: formats, rows, and what made them; several can be named.
    """
    from mmaproof.cli.record import show_recordings
    from mmaproof.designs.errors import InputError

    if all(x.endswith(".npz") for x in names):
        show_recordings([Path(x) for x in names], json)
        return
    if len(names) > 1:
        raise InputError("several names: only recordings (FILE.npz) can be shown together")
    name, found = names[0], None if names[0].startswith(RTL) else named(names[0], as_plan=k is not None)
    if disclosure:
        show_disclosure(found, name)
    elif found is None:
        show_unit(name.removeprefix(RTL), json)
    else:
        shown(found, k, json)


def named(name: str, as_plan: bool) -> Design | Property | Algorithm | Plan:
    """Return what a name is of. Raises InputError for none, and whatever the spelling of each kind raises."""
    from mmaproof.cli.gemm.options import find_plan
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.design import is_unit_name
    from mmaproof.designs.errors import DesignError, InputError, did_you_mean
    from mmaproof.designs.names import turned
    from mmaproof.gemm.programs.algorithms import ALGORITHMS, find_algorithm
    from mmaproof.gemm.programs.spelling import load_presets
    from mmaproof.properties.library import PROPERTIES, find_property

    is_unit = is_unit_name(name)
    if "|" in name or name.endswith(".toml") or name in load_presets() or (as_plan and is_unit):
        return find_plan(name, None)
    if is_unit:
        return find_design(name)
    if name.partition("@")[0].strip() in ALGORITHMS:
        return find_algorithm(name)
    if name.lower() in PROPERTIES:
        return find_property(name)
    if name in (catalogue := load_catalogue()).architectures:
        raise InputError(f"{name} is an architecture: mmaproof list {name} lists its designs")
    try:  # a product, a format of one, or a mnemonic
        return find_design(name)
    except DesignError as problem:
        if "is ambiguous" in str(problem) or any(catalogue.place(x) for x in turned(name)):
            raise
    known = [*PROPERTIES, *ALGORITHMS, *load_presets()]
    raise InputError(
        f"{name[:80]!r} is not a name: write ARCHITECTURE/INSTRUCTION, or what `mmaproof list` lists as properties, "
        f"algorithms or plans{did_you_mean(name, known)}"
    )


def shown(found: Design | Property | Algorithm | Plan, k: int | None, json: bool) -> None:
    """Print a design, property, algorithm or plan. Raises InputError for a length of anything but a plan."""
    from mmaproof.designs.design import Design
    from mmaproof.designs.errors import InputError
    from mmaproof.explain.answers.listings import Algorithms, Properties
    from mmaproof.gemm.programs import Plan
    from mmaproof.gemm.programs.algorithm import Algorithm

    if isinstance(found, Plan):
        show_plan(found, k, json)
    elif k is not None:
        raise InputError(f"--k is the length of a plan's operations: {found.name} has none")
    elif isinstance(found, Design):
        print_json(design_of(found)) if json else print_design(found)
    elif isinstance(found, Algorithm):
        print_json(Algorithms(algorithms=[algorithm_of(found)])) if json else print_algorithm(found)
    else:
        print_json(Properties(properties=[property_of(found)])) if json else print_property(found)


def show_disclosure(found: object, name: str) -> None:
    """Print the complete description of a design. Raises InputError for anything else."""
    from mmaproof.designs.design import Design
    from mmaproof.designs.disclosure import disclose
    from mmaproof.designs.errors import InputError

    if not isinstance(found, Design):
        raise InputError(f"{name} is not a design: --disclosure describes designs only")
    print_json(disclose(found))


def print_design(found: Design) -> None:
    """Print everything about a design for a person."""
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.designs.open_points import levels_of
    from mmaproof.designs.parameters import DEFINITIONS, complete_settings, format_settings
    from mmaproof.smt.semantics.datapath import sum_widths

    say(found.name)
    title = load_catalogue().architectures.get(found.architecture)
    if title is not None:
        say(f"  {title.title}{' (' + ', '.join(title.targets) + ')' if title.targets else ''}, family {found.family}")
    say(f"  source: {found.source}")
    say_assumed([found], "everything about it")
    say("  formats: " + ", ".join(f"{x} {f.name}" for x, f in zip("abcd", found.formats, strict=True)))
    steps, products = found.k // found.step.L, found.step.L
    say(
        f"  M, N, K: {found.m}, {found.n}, {found.k}: {steps} step{'s' * (steps > 1)} of "
        f"{products} product{'s' * (products > 1)}"
    )
    if found.scale_format is not None:
        say(f"  scales: {found.scale_format.name}, one for each {found.block} elements of a and of b")
    if "carry_bits" in found.settings:
        widths = sum_widths(found)
        wraps = f", wraps: {widths.sufficient_carry_bits} would suffice" if widths.may_wrap else ""
        say(
            f"  sum register: {widths.register} bits = sign + {widths.carry_bits} carry + {widths.integer_bits} integer"
            f" + {widths.fraction_bits} fraction{wraps}"
        )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("parameter", "value", "evidence", "meaning", "allowed"):
        table.add_column(heading, overflow="fold")
    names = [name for name in DEFINITIONS if name in found.settings or name in ALWAYS_SHOWN]
    levels = levels_of(found)
    for name, value in format_settings(complete_settings(found.chain, found.step), names).items():
        changed = "*" if name in found.changed else ""
        level = levels[name].level.value if name in levels else "-"
        table.add_row(name + changed, value, level, DEFINITIONS[name].meaning, DEFINITIONS[name].allowed())
    say_table(table)
    if found.changed:
        say("* changed from the catalogue's row")
    print_evidence(levels)


def design_of(design: Design) -> DesignAnswer:
    """Return a design as an answer, with the evidence for each parameter and whether its row is assumed."""
    from mmaproof.designs.open_points import levels_of
    from mmaproof.explain.answers.listings import DesignAnswer, Stated

    evidence = {name: Stated.taken(x) for name, x in levels_of(design).items()}
    return DesignAnswer(**design.record(), assumed=design.is_assumed, evidence=evidence)


def print_evidence(levels: dict[str, Evidence]) -> None:
    """Print what the levels of a table of parameters are: parameters of the same evidence together."""
    from mmaproof.designs.design import Level

    order = list(Level)
    held: dict[Evidence, list[str]] = {}
    for name, evidence in levels.items():
        held.setdefault(evidence, []).append(name)
    for evidence, names in sorted(held.items(), key=lambda x: order.index(x[0].level)):
        say_wrapped(f"{', '.join(names)}: {evidence.source}", f"{evidence.level.value}: ")


def property_of(asked: Property) -> PropertyAnswer:
    """Return a property as a part of an answer."""
    from mmaproof.designs.catalogue import find_design
    from mmaproof.explain.answers.listings import PropertyAnswer

    specimen = find_design(asked.specimen)
    names = {"specimen": specimen.name, "mutant": asked.mutant(specimen).name}
    return PropertyAnswer.taken(asked, **names)


def print_property(asked: Property) -> None:
    """Print everything about a property for a person."""
    from mmaproof.explain.answers.answer import plain

    record = plain(property_of(asked))
    say(record.pop("name"))
    for label, text in [*record.items(), *(("asked of", text) for text in _asked_of(asked))]:
        say_wrapped(text, f"  {label:<9}  ")


def _asked_of(asked: Property) -> list[str]:
    """Return how many designs of the catalogue the property is asked of, and why it is not asked of the others."""
    from mmaproof.designs.catalogue import load_catalogue

    reasons = Counter(asked.why_not(d) for d in load_catalogue().designs.values())
    askable, total = reasons.pop(None, 0), len(load_catalogue().designs)
    return [
        f"{askable} of the {total} designs of the catalogue",
        *(f"not {count}: {reason}" for reason, count in reasons.most_common()),
    ]


def algorithm_of(found: Algorithm) -> AlgorithmAnswer:
    """Return an algorithm as a part of an answer."""
    from mmaproof.explain.answers.listings import AlgorithmAnswer

    return AlgorithmAnswer.taken(found, parameters=found.parameters())


def print_algorithm(algorithm: Algorithm) -> None:
    """Print an algorithm and its parameters for a person."""
    say(f"{algorithm.name}: {algorithm.what}")
    say(f"  {algorithm.source}")
    values = algorithm.parameters()
    for name, choice in algorithm.choices().items():
        say_wrapped(f"{choice.meaning} ({choice.allowed()})", f"  {name} = {values[name]}  ")


def show_plan(plan: Plan, k: int | None, json: bool) -> None:
    """Print a plan and its operations, of its shortest length where ``k`` is None."""
    from mmaproof.explain.answers.listings import PlanAnswer
    from mmaproof.gemm.programs.normal_form import shortest_k
    from mmaproof.gemm.programs.parts import ASCENDING
    from mmaproof.gemm.programs.schedule import described

    length = shortest_k((plan,)) if k is None else k
    schedule = plan.with_open_orders(ASCENDING).schedule(length)
    formats: dict[str, Any] = {n: f.name for n, f in zip("abcd", plan.formats, strict=True)}
    if json:
        operations = [described(x) for x in schedule.operations]
        assumed = assumed_names(plan.units)
        print_json(PlanAnswer(plan=plan.name, formats=formats, k=length, operations=operations, assumed=assumed))
        return
    say(plan.name)
    say("  " + ", ".join(f"{n} {f}" for n, f in formats.items()))
    if plan.has_open_order:
        say("  the order of some additions is not determined: they are shown in ascending order")
    say(f"  operations for K = {length}:")
    for i, x in enumerate(schedule.operations):
        say(f"  v{i} = {described(x)}")


MOST_KINDS = 12
"""Kinds of cells that the text lists."""
MOST_LINES = 6
"""Ports, registers, and nets with undefined bits that the text lists: all of it fits a screen."""
MOST_TEXT = 150
"""Characters of what an operand is mapped to that the text shows."""


def show_unit(path: str, json: bool) -> None:
    """Elaborate a unit, and print what came out: ports, cells, registers, latency, and what was assumed."""
    from mmaproof.rtl.meant import read_rtl

    with progress(f"elaborating {path}"):
        unit, meant = read_rtl(path)
    if json:
        print_json(unit_of(unit, meant))
    else:
        print_unit(unit, meant)


def unit_of(unit: RtlUnit, meant: Design | None) -> UnitAnswer:
    """Return a unit as an answer."""
    from mmaproof.explain.answers.listings import Port, UnitAnswer

    design = unit.design
    return UnitAnswer.taken(
        unit.report,
        unit=design.name,
        design=None if meant is None else meant.name,
        **{f"{x}_format": fmt.name for x, fmt in zip("abcd", design.formats, strict=True)},
        scale_format=None if design.scale_format is None else design.scale_format.name,
        block=design.block,
        k=design.k,
        ports={n: Port(direction=direction, bits=bits) for n, (direction, bits) in unit.report.ports.items()},
        when=design.conditions,
    )


def print_unit(unit: RtlUnit, meant: Design | None) -> None:
    """Print what is known of a unit for a person."""
    report, design = unit.report, unit.design
    a, b, c, d = (fmt.name for fmt in design.formats)
    say(f"{design.name}: module {report.top}")
    say(f"  d = c + {design.k} products: a {a}, b {b}, c {c}, d {d}{_scales(design)}")
    if meant is not None:
        say(f"  meant to be {meant.name}")
    say("  ports")
    _say_some([f"{kind:6} {name}, {_bits(bits)}" for name, (kind, bits) in report.ports.items()], "ports")
    say("  mapped")
    for name, stated in report.mapped.items():
        parts = stated.split(", ")
        is_long = len(stated) > MOST_TEXT and len(parts) > 3
        say_wrapped(f"{parts[0]}, {parts[1]}, ... {parts[-1]}" if is_long else stated, f"    {name} = ")
    kinds = [f"{kind} {count}" for kind, count in report.kinds.items()]
    rest = [f"{len(kinds) - MOST_KINDS} other kinds"] if len(kinds) > MOST_KINDS else []
    say_wrapped(", ".join(kinds[:MOST_KINDS] + rest), f"  {report.cells} cells: ")
    say(
        f"  {report.registers} register bits"
        + (f", latency {report.latency}" if report.registers and report.latency else "")
    )
    _say_some([f"{name}, {_bits(width)}" for name, width in report.register_names.items()], "registers")
    if report.unknown:
        say(f"  {sum(report.unknown.values())} bits may have any value")
        _say_some([f"{name}, {_bits(count)}" for name, count in report.unknown.items()], "nets")
    say_conditions([design])
    for text in report.assumptions:
        say_wrapped(text, "  assumed: ")
    for text in report.warnings:
        say_wrapped(text, "  ")
    say(f"  elaborated by {report.elaborator}")


def _say_some(lines: Sequence[str], what: str) -> None:
    """Print the first lines of a list, and how many there are besides."""
    shown = lines if len(lines) <= MOST_LINES + 1 else lines[:MOST_LINES]
    for line in shown:
        say(f"    {line}")
    if len(shown) < len(lines):
        say(f"    and {len(lines) - len(shown)} more {what}; --json lists them")


def _bits(count: int) -> str:
    return f"{count} bit{'s' * (count != 1)}"


def _scales(design: Design) -> str:
    if design.scale_format is None:
        return ""
    return f", scales {design.scale_format.name} of {design.block} elements each"
