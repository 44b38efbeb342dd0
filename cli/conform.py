"""`mmaproof conform`: whether the numbers of a matrix product are those that a standard asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from rich.table import Table

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, print_json, progress, say, say_table
from mmaproof.designs.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence


MEANT = {
    "p3109": "the projection of the exact dot product",
    "ime": "those of the draft",
    "stablehlo": "the exact sum",
    "mx": "NaN exactly where they must be",
}
"""Which results count as wrong, by standard."""


@opt.with_backend
def conform(
    standard: Annotated[str, opt.argument("STANDARD", "tosa, p3109, ime, stablehlo or mx.")],
    subject: Annotated[
        str, opt.argument("PLAN|TARGET", "A plan, or a kernel: python:MODULE:FUNCTION or process:COMMAND.")
    ],
    k: opt.LengthOfProduct,
    up_to: Annotated[
        int | None, opt.option("--up-to K", "Ask at 2, 4, 8, ... times --k as well, up to K.", min=1)
    ] = None,
    m: Annotated[int, opt.ROWS] = 32,
    n: Annotated[int, opt.COLUMNS] = 32,
    interface: Annotated[
        str | None, opt.option("--interface D.A.B", "Of a kernel: formats as in names of instructions, f32.bf16.bf16.")
    ] = None,
    accumulator: Annotated[
        str | None, opt.option("--accumulator FORMAT", "acc_t of TOSA; the unit's d, or the d of a kernel.")
    ] = None,
    silence: opt.SilenceOfProduct = "60s",
    json: opt.Json = False,
) -> int:
    """Find out whether a plan or a kernel meets the accuracy requirements of a standard, on the operands it states.

    tosa: the test of dot products of TOSA 1.1, data sets 0 to 5. p3109: each result is the projection of the exact dot
    product. ime: each result has the bits of RISC-V's draft (Zvdota, Zvbdota). stablehlo: sums that are exact in the
    accumulator in every order are exact (DotAlgorithm). mx: NaN scales and elements (OCP MX). Exit status 0: all checks
    pass; 1: one fails.
    """
    if standard not in lib.conformance.STANDARDS:
        known = list(lib.conformance.STANDARDS)
        raise InputError(f"unknown standard {standard!r}: one of {', '.join(known)}{did_you_mean(standard, known)}")
    found, (a, b, d, sums) = _subject(subject, interface, silence)
    kept = sums if accumulator is None else lib.formats.find_format(accumulator)
    lengths = [k]
    while up_to is not None and 2 * lengths[-1] <= up_to:
        lengths.append(2 * lengths[-1])
    with progress("multiplying"):
        answers = [
            lib.conformance.STANDARDS[standard](found, lib.matrix_targets.Product(m, n, length, a, b, d), kept)
            for length in lengths
        ]
    if json:
        print_json(conformed_of(answers))
    else:
        _print(answers)
    return Exit.HOLDS if all(x.conforms for x in answers) else Exit.REFUTED


def _subject(
    text: str, interface: str | None, silence: str
) -> tuple[
    lib.programs.Plan | lib.matrix_targets.MatrixTarget,
    tuple[lib.formats.Format, lib.formats.Format, lib.formats.Format, lib.formats.Format],
]:
    """Return the plan or the kernel that a text spells, with the formats of a, b, d and of the unit's sums."""
    from mmaproof.cli.gemm.options import find_plan

    if text.partition(":")[0] in ("python", "process"):
        if interface is None:
            raise InputError("--interface is required for this target: D.A.B, f32.bf16.bf16 for example")
        formats = lib.signature.Signature.parse(interface)
        target = lib.matrix_targets.find_matrix_target(text, lib.limits.parse_seconds(silence))
        if isinstance(target, lib.matrix_targets.RecordedProduct):
            raise InputError(f"{text}: a recorded product cannot be asked for other operands")
        return target, (formats.a, formats.b, formats.d, formats.d)
    if interface is not None:
        raise InputError("--interface is of kernels: a plan has formats")
    plan = find_plan(text, None)
    a, b, _, d = plan.formats
    return plan, (a, b, d, plan.unit.d_format)


def conformed_of(answers: Sequence[lib.conformance.Conformance]) -> lib.listings.Conformed:
    """Return the answer of the command."""
    lengths = [
        lib.listings.LengthConformed.taken(
            x, k=x.product.k, checks=[lib.listings.ConformanceCheck.taken(y) for y in x.checks]
        )
        for x in answers
    ]
    first = answers[0]
    shape = {"m": first.product.m, "n": first.product.n, "accumulator": first.accumulator.name}
    return lib.listings.Conformed.taken(first, **shape, lengths=lengths)


def _print(answers: Sequence[lib.conformance.Conformance]) -> None:
    first = answers[0]
    say(f"{first.name}: {first.source}")
    for x in answers:
        verdict = "conforms" if x.conforms else "does not conform"
        say(f"K = {x.product.k}, {x.product.m} x {x.product.n} results: {verdict}")
        table = Table(box=None)
        measures = ("wrong",) if x.checks[0].wrong is not None else ("absolute", "squared", "bias")
        for name in ("check", *measures, ""):
            table.add_column(name, no_wrap=True)
        for check in x.checks:
            numbers = (getattr(check, y) for y in measures)
            shown = ["-" if y is None else str(y) if isinstance(y, int) else f"{y:.3g}" for y in numbers]
            table.add_row(check.name, *shown, "" if check.passed else f"fails, element [{check.row}, {check.column}]")
        say_table(table)
    if first.checks[0].wrong is None:
        say("absolute: largest error; squared: sum of squared errors; bias: sum of errors, each over what is allowed")
    else:
        say(f"wrong: results that are not {MEANT[first.standard]}")
