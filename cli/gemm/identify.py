"""`mmaproof gemm identify`: which plan describes a kernel that multiplies matrices."""

from __future__ import annotations

from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, progress, say, say_wrapped
from mmaproof.designs.errors import InputError

SHOWN = 6
"""Plans of a list that are printed."""
_LEADS = {
    "equal": "  equal for all operands, proved: ",
    "different": "  agrees with this product, and differs for other operands: ",
    "open": "  agrees as well, not proved the same: ",
}


@opt.with_backend
def identify(
    target: Annotated[
        str,
        opt.argument(
            "TARGET",
            "python:MODULE:FUNCTION, process:COMMAND, files:A.npy,B.npy,D.npy[,SA.npy,SB.npy] (scales of blocks), "
            "or FILE with matrices a, b and d.",
        ),
    ],
    interface: Annotated[
        str | None,
        opt.option(
            "--interface D.A.B[.SCALE]",
            "Formats as in names of instructions: f32.bf16.bf16, f32.e4m3.e4m3.ue8m0; default f32.f32.f32, or what the "
            "types of a file's arrays say.",
        ),
    ] = None,
    m: Annotated[int | None, opt.ROWS] = None,
    n: Annotated[int | None, opt.COLUMNS] = None,
    k: Annotated[int | None, opt.option("--k N", "Columns of a and rows of b.", min=1)] = None,
    plans: Annotated[list[str] | None, opt.option("--plan PLAN", "A plan to be tried first.")] = None,
    seed: opt.Seed = 0,
    timeout: Annotated[str, opt.option("--timeout TIME", "For the search and the validation: 60s, 5m.")] = "2m",
    validate: Annotated[
        int, opt.option("--validate N", "Outputs of the validation with fresh operands.", min=1)
    ] = 1_000_000,
    silence: opt.SilenceOfProduct = "60s",
    json: opt.Json = False,
) -> int:
    """Find out how a kernel multiplies matrices: in which order it adds, in which blocks of k, and on which unit.

    Masked operands show the order of additions as a tree. Plans that have this tree are compared with what the kernel
    returned, and the simplest one that agrees is validated on fresh operands. Files are one recorded product: plans of
    a list are compared with it. Exit status 0: a plan was found that agrees with everything; 1: none was found;
    3: time ran out, the kernel did not answer or answers differently each time, or the product is recorded.
    """
    given = [lib.programs.read_plan(x) for x in plans or ()]
    seconds = lib.limits.parse_seconds(timeout)
    found = lib.matrix_targets.find_matrix_target(target, min(lib.limits.parse_seconds(silence), seconds))
    formats = _formats(
        interface or (found.interface if isinstance(found, lib.matrix_targets.RecordedProduct) else "f32.f32.f32")
    )
    with progress("identifying"):
        if isinstance(found, lib.matrix_targets.RecordedProduct):
            outcome = _recorded(found, formats, (m, n, k), seconds, given, seed)
        else:
            asked = lib.asked.Asked(found, _product(formats, m, n, k))
            outcome = lib.kernel_search.KernelSearch(
                asked, seconds=seconds, seed=seed, validation=validate, given=given
            ).search()
    if json:
        print_json(kernel_of(outcome))
    else:
        print_kernel(outcome)
    if outcome.problem is not None:
        complain(f"error: {outcome.problem}")
    if outcome.problem is not None or outcome.late or (outcome.recorded and outcome.found):
        return Exit.UNKNOWN
    return Exit.HOLDS if outcome.found else Exit.REFUTED


def _formats(text: str) -> tuple[lib.formats.Format, lib.formats.Format, lib.formats.Format, lib.formats.Format | None]:
    """Return the formats of a, b, d and of scales that ``D.A.B`` or ``D.A.B.SCALE`` spells."""
    named = {f.isa_name: f for f in lib.formats.FORMATS.values()} | dict(lib.formats.FORMATS)
    parts = text.split(".")
    unknown = [x for x in parts if x not in named]
    if unknown:
        raise InputError(f"interface {text!r}: unknown format {unknown[0]!r}: one of {', '.join(named)}")
    if len(parts) not in (3, 4):
        raise InputError(
            f"interface {text!r}: formats of D, A and B as in names of instructions, f32.bf16.bf16 for example, and of "
            "the scales of blocks where there are any, f32.e4m3.e4m3.ue8m0"
        )
    d, a, b, *scale = (named[x] for x in parts)
    return a, b, d, scale[0] if scale else None


def _product(
    formats: tuple[lib.formats.Format, lib.formats.Format, lib.formats.Format, lib.formats.Format | None],
    m: int | None,
    n: int | None,
    k: int | None,
) -> lib.matrix_targets.Product:
    if m is None or n is None or k is None:
        raise InputError("a kernel may choose another way for each shape: give --m, --n and --k")
    if formats[3] is not None:
        raise InputError(
            f"a kernel is asked for products without scales of blocks ({formats[3].isa_name}): record a product with "
            "its scales and give files:A.npy,B.npy,D.npy,SA.npy,SB.npy"
        )
    return lib.matrix_targets.Product(m, n, k, *formats[:3])


def _recorded(
    recorded: lib.matrix_targets.RecordedProduct,
    formats: tuple[lib.formats.Format, lib.formats.Format, lib.formats.Format, lib.formats.Format | None],
    sizes: tuple[int | None, int | None, int | None],
    seconds: float,
    given: list[lib.programs.Plan],
    seed: int,
) -> lib.kernel_outcome.Outcome:
    product = recorded.product(*formats)
    for name, size, held in zip("mnk", sizes, (product.m, product.n, product.k), strict=True):
        if size not in (None, held):
            raise InputError(f"{recorded.name} holds a product of {name} = {held}, not {size}: leave --{name} out")
    answer = lib.kernel_fit.Answer("recorded", *recorded.patterns(product), recorded.scale_patterns(product))
    return lib.kernel_search.search_recorded(answer, product, recorded.name, seconds=seconds, given=given, seed=seed)


def kernel_of(outcome: lib.kernel_outcome.Outcome) -> lib.listings.KernelAnswer:
    """Return the outcome as an answer."""
    return lib.listings.KernelAnswer.taken(
        outcome,
        outcome.product,
        interface=outcome.product.formats,
        identified=outcome.found and not outcome.recorded,
        findings=[_finding_of(x, outcome.product) for x in outcome.findings],
        assumed=assumed_names(x.plan.unit for x in outcome.findings if x.plan is not None),
    )


def _finding_of(finding: lib.kernel_outcome.Finding, product: lib.matrix_targets.Product) -> lib.listings.KernelFinding:
    plan, nearest, difference = finding.plan, finding.nearest, finding.difference
    return lib.listings.KernelFinding.taken(
        finding,
        elements=product.m * product.n if finding.where is None else int(finding.where.sum()),
        tree=None if finding.tree is None else lib.tree.text_of(finding.tree),
        plan=None if plan is None else plan.name,
        same=[x.name for x in finding.same],
        rivals=[lib.listings.Rival(plan=x.plan.name, verdict=str(x.verdict), how=x.how) for x in finding.rivals],
        validated=finding.validated if plan is not None else 0,
        nearest=None if plan is not None or nearest is None else nearest.name,
        difference=None
        if difference is None
        else lib.listings.FirstDifference.taken(
            difference,
            operands=difference.answer.kind,
            returned=product.d.hex(difference.returned),
            expected=product.d.hex(difference.expected),
            differing=difference.count,
        ),
    )


def print_kernel(outcome: lib.kernel_outcome.Outcome) -> None:
    """Print the outcome for a person."""
    say(f"{outcome.target}, {outcome.product.shape}, {outcome.product.formats}")
    for finding in outcome.findings:
        if finding.where is not None:
            say(f"  {_place(finding)}")
        _print_tree(finding, outcome)
        if finding.plan is not None:
            _print_plan(finding, outcome)
        else:
            _print_nearest(finding, outcome)


def _place(finding: lib.kernel_outcome.Finding) -> str:
    """Return where the elements of a finding are."""
    import numpy as np

    where = finding.where
    if where is None:
        return "all elements"
    rows, columns = (np.flatnonzero(where.any(axis=x)) for x in (1, 0))
    return (
        f"{int(where.sum())} elements of {where.size}, in rows {rows[0]}..{rows[-1]} and columns "
        f"{columns[0]}..{columns[-1]}"
    )


def _print_tree(finding: lib.kernel_outcome.Finding, outcome: lib.kernel_outcome.Outcome) -> None:
    if finding.tree is None:
        say_wrapped(f"{finding.no_tree}", "  no tree: ")
        return
    say_wrapped(lib.tree.text_of(finding.tree), "  adds k = ")
    say(f"    from {finding.pairs} pairs of masked products; {outcome.calls} calls in all")


def _print_plan(finding: lib.kernel_outcome.Finding, outcome: lib.kernel_outcome.Outcome) -> None:
    plan = finding.plan
    if plan is None:
        return
    if outcome.recorded:
        say_wrapped(plan.name, "  reproduces every element: ")
    else:
        say_wrapped(plan.name, "  is ")
        short = " (time ran out before more)" if outcome.late else ""
        say(f"    agrees with {finding.validated:,} outputs of fresh operands{short}; {finding.tried} plans tried")
    if len(finding.units) > 1:
        say_wrapped(_listed(finding.units[1:]), "  units of the same arithmetic: ")
    if finding.same:
        say_wrapped(_listed([x.name for x in finding.same]), "  the same plan, by identity of the operations: ")
    for rival in finding.rivals[:SHOWN]:
        say_wrapped(rival.plan.name, _LEADS[rival.verdict])
        say_wrapped(rival.how, "    ")
    if len(finding.rivals) > SHOWN:
        say(f"  and {len(finding.rivals) - SHOWN} more")


def _listed(names: list[str]) -> str:
    return "; ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _print_nearest(finding: lib.kernel_outcome.Finding, outcome: lib.kernel_outcome.Outcome) -> None:
    why = "time ran out before a plan was found" if outcome.late else "no plan was found"
    say(f"  {why} that agrees: {finding.tried} tried")
    if finding.nearest is None:
        say("    no unit of the catalogue multiplies these formats in this order")
        return
    say_wrapped(finding.nearest.name, "    the nearest by then: " if outcome.late else "    the nearest: ")
    if finding.difference is not None:
        _print_difference(finding.difference, outcome.product)
    if finding.flushes:
        say_wrapped(
            "in every output that differs the plan returns a subnormal number, and the target a zero of that sign: it "
            "flushes results after their conversion, and no plan does that",
            "    ",
        )


def _print_difference(difference: lib.kernel_outcome.Difference, product: lib.matrix_targets.Product) -> None:
    say(
        f"    differs in {difference.count:,} of {difference.of:,} outputs of {difference.answer.kind} operands; first "
        f"in d[{difference.row}, {difference.column}]: {product.d.hex(difference.returned)} returned, "
        f"{product.d.hex(difference.expected)} expected"
    )
