"""`mmaproof judge`: whose bits a product has that someone else computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, assumed_names, print_json, progress, say, say_assumed, say_wrapped
from mmaproof.designs.errors import InputError

FRACTIONS = (0.01, 0.1, 0.5)
"""Fractions of faulty rows of which it is said with what probability a sample of rows misses them."""
SHOWN = 12
"""Parts that are printed."""


@opt.with_backend
def judge(
    source: Annotated[
        str,
        opt.argument(
            "SOURCE",
            "FILE of any kind with a, b, d (and c, scale_a, scale_b), matrices or rows of dot products, or "
            "A.npy,B.npy,D.npy.",
        ),
    ],
    plans: Annotated[
        list[str],
        opt.option("--plan PLAN", "A plan, a design, an architecture, a product or a library of presets. Repeatable."),
    ],
    bound: Annotated[
        float | None,
        opt.option("--bound X", "The largest |d - exact| that is accepted, in the place of proved bounds."),
    ] = None,
    rows: Annotated[int | None, opt.option("--rows N", "Judge N rows only, drawn with --seed.", min=1)] = None,
    seed: opt.Seed = 0,
    require: Annotated[str, opt.option("--require WORD", "exact or within: what is accepted.")] = "within",
    explain: Annotated[bool, opt.option("--explain/--no-explain", "Look for what would explain other bits.")] = True,
    interface: opt.InterfaceOfFile = None,
    k: opt.LengthOfFile = None,
    read_as: opt.ReadAs = None,
    json: opt.Json = False,
) -> int:
    """Say of a product that someone else computed which plan has its bits, or how far it is off.

    exact: all bits are those of a plan; mixed: rectangles of it have those of one each; within: of none, and inside
    the proved bounds of all; outside: beyond every bound; indeterminate: none of these is known. The formats of a file
    that does not say them are those of the first plan that is named alone, or of --interface. Exit status 0: exact,
    mixed or within; with --require exact only exact; 1: not so; 3: indeterminate.
    """
    if require not in (lib.judge.Verdict.EXACT, lib.judge.Verdict.WITHIN):
        raise InputError(f"--require {require!r}: exact or within")
    held = lib.reading.read_products(source, _wanted(plans, interface, k, tuple(read_as or ())))
    given = (held.get(x) for x in ("d", "a", "b", "c"))
    scales = {x: held.get(x) for x in ("scale_a", "scale_b")}
    with progress("judging"):
        found = lib.judge.judge(*given, plans=plans, bound=bound, rows=rows, seed=seed, explain=explain, **scales)
    if json:
        far = found.element
        print_json(
            lib.listings.JudgedAnswer.taken(
                found,
                verdict=found.verdict.value,
                plans=list(found.plans),
                shape=list(found.shape),
                rows=len(found.rows),
                exact=list(found.exact),
                parts=[lib.listings.PartOf.taken(x) for x in found.parts],
                element=None if far is None else lib.listings.FarElement.taken(far, value=str(far.value)),
                fits=list(found.fits),
                missed={str(x): found.missed(x) for x in FRACTIONS},
                assumed=assumed_names(found.units),
            )
        )
    else:
        _print(found)
        say_assumed(found.units, indent="")
    if found.verdict is lib.judge.Verdict.INDETERMINATE:
        return Exit.UNKNOWN
    accepted = found.verdict is lib.judge.Verdict.EXACT or (
        require == lib.judge.Verdict.WITHIN and found.verdict is not lib.judge.Verdict.OUTSIDE
    )
    return Exit.HOLDS if accepted else Exit.REFUTED


def _wanted(plans: list[str], interface: str | None, k: int | None, read_as: tuple[str, ...]) -> lib.reading.Wanted:
    """Return what is said of the file; the formats are those of the first plan that is none of many."""
    found = lib.reading.Wanted.of(interface, k, read_as)
    named = next((x for x in plans if "/" in x), None)  # architectures, products and libraries have no slash
    if named is None or interface is not None:
        return found
    plan = lib.named.find_plan(named)
    return replace(found, signature=lib.signature.Signature(*plan.formats, plan.scale_format, plan.block))


def _print(found: lib.judge.Judgement) -> None:
    say_wrapped(", ".join(found.exact) or found.rests_on, f"{found.verdict.value}: ")
    if found.exact:
        say_wrapped(found.rests_on, "  ")
    if len(found.parts) > SHOWN:
        for plan in dict.fromkeys(x.plan for x in found.parts):
            parts = [x for x in found.parts if x.plan == plan]
            say(f"  {sum(x.elements for x in parts):,} elements in {len(parts)} parts: {plan}")
        say("  --json shows the parts")
    else:
        for part in found.parts:
            say(f"  {part.where}: {part.plan}")
    if (x := found.element) is not None:
        say(f"  [{x.row}, {x.column}] is {x.value:.9g} = {x.pattern}; exact {x.exact:.9g}, bound {x.bound:.6g}")
    for text in found.fits:
        say_wrapped(text, "  what fits: ")
    if len(found.rows) < found.shape[0]:
        missed = ", ".join(f"{found.missed(x):.3g} for {x:g} of the rows" for x in FRACTIONS)
        say_wrapped(
            f"{len(found.rows)} of {found.shape[0]} rows; a fault is missed with probability {missed}", "  judged: "
        )
