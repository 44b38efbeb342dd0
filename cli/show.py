"""`mmaproof show`: everything about one design, property, algorithm or plan, about recordings, or about user RTL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import assumed_names, print_json, progress, say, say_assumed, say_table, say_wrapped
from mmaproof.cli.verdicts import say_conditions
from mmaproof.designs.errors import DesignError, InputError, did_you_mean

ALWAYS_SHOWN = ("widening",)
"""Parameters that are shown of every design, of those too whose steps do not have them."""


def show(
    names: Annotated[
        list[str],
        opt.argument(
            "NAME...",
            "A DESIGN, rtl:UNIT.toml, a PROPERTY, an ALGORITHM, a PLAN (UNIT | key=value | ..., a "
            "preset, a TOML file), or recordings: FILE.npz.",
            autocompletion=opt.complete_everything,
        ),
    ],
    k: opt.Length = None,
    disclosure: Annotated[
        bool,
        opt.option(
            "--disclosure", "Print the complete description of a design as JSON; disclosure:FILE reads it back."
        ),
    ] = False,
    json: opt.Json = False,
) -> None:
    """Show everything about what is named.

    A design: formats, widths, source, and every parameter with its meaning and what its value rests on. A property:
    also what a witness means, the designs it is asked of, a specimen, and the specimen's mutant, a design on which the
    property comes out the other way. An algorithm: its parameters. A plan, or a design with --k: its operations. User
    RTL: what was elaborated. Recordings: formats, rows, and what made them; several can be named.
    """
    from mmaproof.cli.record import show_recordings

    if all(x.endswith(".npz") for x in names):
        show_recordings([Path(x) for x in names], json)
        return
    if len(names) > 1:
        raise InputError("several names: only recordings (FILE.npz) can be shown together")
    name, found = names[0], None if names[0].startswith(opt.RTL) else named(names[0], as_plan=k is not None)
    if disclosure:
        show_disclosure(found, name)
    elif found is None:
        show_unit(name.removeprefix(opt.RTL), json)
    else:
        shown(found, k, json)


def named(
    name: str, as_plan: bool
) -> lib.design.Design | lib.property.Property | lib.algorithm.Algorithm | lib.programs.Plan:
    """Return what a name is of. Raises InputError for none, and whatever the spelling of each kind raises."""
    from mmaproof.cli.gemm.options import find_plan

    is_unit = lib.design.is_unit_name(name)
    if "|" in name or name.endswith(".toml") or name in lib.spelling.load_presets() or (as_plan and is_unit):
        return find_plan(name, None)
    if is_unit:
        return lib.catalogue.find_design(name)
    if name.partition("@")[0].strip() in lib.algorithms.ALGORITHMS:
        return lib.algorithms.find_algorithm(name)
    if name.lower() in lib.library.PROPERTIES:
        return lib.library.find_property(name)
    if name in (catalogue := lib.catalogue.load_catalogue()).architectures:
        raise InputError(f"{name} is an architecture: mmaproof list {name} lists its designs")
    try:  # a product, a format of one, or a mnemonic
        return lib.catalogue.find_design(name)
    except DesignError as problem:
        if "is ambiguous" in str(problem) or any(catalogue.place(x) for x in lib.names.turned(name)):
            raise
    known = [*lib.library.PROPERTIES, *lib.algorithms.ALGORITHMS, *lib.spelling.load_presets()]
    raise InputError(
        f"{name[:80]!r} is not a name: write ARCHITECTURE/INSTRUCTION, or what `mmaproof list` lists as properties, "
        f"algorithms or plans{did_you_mean(name, known)}"
    )


def shown(
    found: lib.design.Design | lib.property.Property | lib.algorithm.Algorithm | lib.programs.Plan,
    k: int | None,
    json: bool,
) -> None:
    """Print a design, property, algorithm or plan. Raises InputError for a length of anything but a plan."""
    if isinstance(found, lib.programs.Plan):
        show_plan(found, k, json)
    elif k is not None:
        raise InputError(f"--k is the length of a plan's operations: {found.name} has none")
    elif isinstance(found, lib.design.Design):
        print_json(design_of(found)) if json else print_design(found)
    elif isinstance(found, lib.algorithm.Algorithm):
        print_json(lib.listings.Algorithms(algorithms=[algorithm_of(found)])) if json else print_algorithm(found)
    else:
        print_json(lib.listings.Properties(properties=[property_of(found)])) if json else print_property(found)


def show_disclosure(found: object, name: str) -> None:
    """Print the complete description of a design. Raises InputError for anything else."""
    if not isinstance(found, lib.design.Design):
        raise InputError(f"{name} is not a design: --disclosure describes designs only")
    print_json(lib.disclosure.disclose(found))


def print_design(found: lib.design.Design) -> None:
    """Print everything about a design for a person."""
    say(found.name)
    title = lib.catalogue.load_catalogue().architectures.get(found.architecture)
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
        widths = lib.datapath.sum_widths(found)
        wraps = f", wraps: {widths.sufficient_carry_bits} would suffice" if widths.may_wrap else ""
        say(
            f"  sum register: {widths.register} bits = sign + {widths.carry_bits} carry + {widths.integer_bits} integer"
            f" + {widths.fraction_bits} fraction{wraps}"
        )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("parameter", "value", "evidence", "meaning", "allowed"):
        table.add_column(heading, overflow="fold")
    known, levels = lib.parameters.DEFINITIONS, lib.open_points.levels_of(found)
    names = [name for name in known if name in found.settings or name in ALWAYS_SHOWN]
    settings = lib.parameters.complete_settings(found.chain, found.step)
    for name, value in lib.parameters.format_settings(settings, names).items():
        changed = "*" if name in found.changed else ""
        level = levels[name].level.value if name in levels else "-"
        table.add_row(name + changed, value, level, known[name].meaning, known[name].allowed())
    say_table(table)
    if found.changed:
        say("* changed from the catalogue's row")
    print_evidence(levels)


def design_of(design: lib.design.Design) -> lib.listings.DesignAnswer:
    """Return a design as an answer, with the evidence for each parameter and whether its row is assumed."""
    evidence = {name: lib.listings.Stated.taken(x) for name, x in lib.open_points.levels_of(design).items()}
    return lib.listings.DesignAnswer(**design.record(), assumed=design.is_assumed, evidence=evidence)


def print_evidence(levels: dict[str, lib.design.Evidence]) -> None:
    """Print what the levels of a table of parameters are: parameters of the same evidence together."""
    order = list(lib.design.Level)
    held: dict[lib.design.Evidence, list[str]] = {}
    for name, evidence in levels.items():
        held.setdefault(evidence, []).append(name)
    for evidence, names in sorted(held.items(), key=lambda x: order.index(x[0].level)):
        say_wrapped(f"{', '.join(names)}: {evidence.source}", f"{evidence.level.value}: ")


def property_of(asked: lib.property.Property) -> lib.listings.PropertyAnswer:
    """Return a property as a part of an answer."""
    specimen = lib.catalogue.find_design(asked.specimen)
    names = {"specimen": specimen.name, "mutant": asked.mutant(specimen).name}
    return lib.listings.PropertyAnswer.taken(asked, **names)


def print_property(asked: lib.property.Property) -> None:
    """Print everything about a property for a person."""
    record = lib.answer.plain(property_of(asked))
    say(record.pop("name"))
    for label, text in [*record.items(), *(("asked of", text) for text in _asked_of(asked))]:
        say_wrapped(text, f"  {label:<9}  ")


def _asked_of(asked: lib.property.Property) -> list[str]:
    """Return how many designs of the catalogue the property is asked of, and why it is not asked of the others."""
    reasons = Counter(asked.why_not(d) for d in lib.catalogue.load_catalogue().designs.values())
    askable, total = reasons.pop(None, 0), len(lib.catalogue.load_catalogue().designs)
    return [
        f"{askable} of the {total} designs of the catalogue",
        *(f"not {count}: {reason}" for reason, count in reasons.most_common()),
    ]


def algorithm_of(found: lib.algorithm.Algorithm) -> lib.listings.AlgorithmAnswer:
    """Return an algorithm as a part of an answer."""
    return lib.listings.AlgorithmAnswer.taken(found, parameters=found.parameters())


def print_algorithm(algorithm: lib.algorithm.Algorithm) -> None:
    """Print an algorithm and its parameters for a person."""
    say(f"{algorithm.name}: {algorithm.what}")
    say(f"  {algorithm.source}")
    values = algorithm.parameters()
    for name, choice in algorithm.choices().items():
        say_wrapped(f"{choice.meaning} ({choice.allowed()})", f"  {name} = {values[name]}  ")


def show_plan(plan: lib.programs.Plan, k: int | None, json: bool) -> None:
    """Print a plan and its operations, of its shortest length where ``k`` is None."""
    length = lib.normal_form.shortest_k((plan,)) if k is None else k
    schedule = plan.with_open_orders(lib.parts.ASCENDING).schedule(length)
    formats: dict[str, Any] = {n: f.name for n, f in zip("abcd", plan.formats, strict=True)}
    if json:
        operations = [lib.schedule.described(x) for x in schedule.operations]
        assumed = assumed_names(plan.units)
        print_json(
            lib.listings.PlanAnswer(plan=plan.name, formats=formats, k=length, operations=operations, assumed=assumed)
        )
        return
    say(plan.name)
    say("  " + ", ".join(f"{n} {f}" for n, f in formats.items()))
    if plan.has_open_order:
        say("  the order of some additions is not determined: they are shown in ascending order")
    say(f"  operations for K = {length}:")
    for i, x in enumerate(schedule.operations):
        say(f"  v{i} = {lib.schedule.described(x)}")


MOST_KINDS = 12
"""Kinds of cells that the text lists."""
MOST_LINES = 6
"""Ports, registers, and nets with undefined bits that the text lists: all of it fits a screen."""
MOST_TEXT = 150
"""Characters of what an operand is mapped to that the text shows."""


def show_unit(path: str, json: bool) -> None:
    """Elaborate a unit, and print what came out: ports, cells, registers, latency, and what was assumed."""
    with progress(f"elaborating {path}"):
        unit, meant = lib.meant.read_rtl(path)
    if json:
        print_json(unit_of(unit, meant))
    else:
        print_unit(unit, meant)


def unit_of(unit: lib.rtl.RtlUnit, meant: lib.design.Design | None) -> lib.listings.UnitAnswer:
    """Return a unit as an answer."""
    design = unit.design
    return lib.listings.UnitAnswer.taken(
        unit.report,
        unit=design.name,
        design=None if meant is None else meant.name,
        **{f"{x}_format": fmt.name for x, fmt in zip("abcd", design.formats, strict=True)},
        scale_format=None if design.scale_format is None else design.scale_format.name,
        block=design.block,
        k=design.k,
        ports={
            n: lib.listings.Port(direction=direction, bits=bits) for n, (direction, bits) in unit.report.ports.items()
        },
        when=design.conditions,
    )


def print_unit(unit: lib.rtl.RtlUnit, meant: lib.design.Design | None) -> None:
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


def _scales(design: lib.design.Design) -> str:
    if design.scale_format is None:
        return ""
    return f", scales {design.scale_format.name} of {design.block} elements each"
