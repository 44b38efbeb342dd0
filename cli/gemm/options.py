"""What the commands of `mmaproof gemm` share: options, the plans that are named, and witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import say
from mmaproof.designs.errors import InputError

AlgorithmName = Annotated[
    str,
    opt.argument(
        "ALGORITHM|PLAN",
        "A name that `mmaproof list algorithms` lists, with @parameter=value,... to change "
        "it; or a plan: a preset of `mmaproof list plans`, a unit and settings ('UNIT | "
        "split-k=4'), or a TOML file.",
        autocompletion=opt.complete_programs,
    ),
]
Unit = Annotated[str | None, opt.option("--unit DESIGN", "The unit that an algorithm calls.")]


def find_plan(text: str, unit: str | None) -> lib.programs.Plan:
    """Return the plan that ``text`` spells; an algorithm is one with ``unit``. Raises InputError where it is none.

    A note says which constants are rounded.
    """
    from mmaproof.cli.output import complain

    found = (
        lib.named.find_gemm(text) if lib.named.is_plan(text) else lib.named.find_gemm(text, require_unit(text, unit))
    )
    for note in lib.spelling.rounded_constants(lib.spelling.split_spelling(text)[1]) if "|" in text else ():
        complain(f"note: {note}")
    return found


def find_plans(texts: Sequence[str], unit: str | None) -> list[lib.programs.Plan]:
    """Return several plans. Algorithms run on ``unit``, or without one on the unit of the first plan."""
    plans = {x: find_plan(x, None) for x in texts if lib.named.is_plan(x)}
    if unit is None and plans:
        unit = next(iter(plans.values())).unit.name
    return [plans[x] if x in plans else find_plan(x, unit) for x in texts]


def require_unit(text: str, unit: str | None) -> str:
    """Return the unit of an algorithm. Raises InputError where none is given, or where there is no such algorithm."""
    if unit is None:
        lib.algorithms.find_algorithm(text)  # an unknown name is the nearer mistake
        raise InputError(f"{text} is an algorithm, and the unit that it calls is missing: --unit DESIGN")
    return unit


def require_no_unit(text: str, unit: str | None) -> None:
    """Raise InputError where a unit is given beside a plan, which names its own."""
    if unit is not None:
        raise InputError(f"{text} is a plan, which names its unit: leave out --unit, or give `unit=...` as a setting")


def numbers_of(witness: lib.gemm_verdict.Witness) -> lib.verdicts.Numbers:
    """Return a witness as a part of an answer."""
    numbers = [
        lib.verdicts.Number(name=n.name, format=n.fmt.name, pattern=n.fmt.hex(n.pattern)) for n in witness.numbers
    ]
    return lib.verdicts.Numbers(shows=witness.shows, numbers=numbers)


def print_witnesses(witnesses: Sequence[lib.gemm_verdict.Witness]) -> None:
    """Print what each witness shows, and its numbers."""
    for witness in witnesses:
        say(f"  {witness.shows}:")
        width = max(len(n.name) for n in witness.numbers)
        for n in witness.numbers:
            say(f"    {n.name:<{width}} = {n.fmt.hex(n.pattern)} = {lib.values.pattern_value(n.fmt, n.pattern)}")
