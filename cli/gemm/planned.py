"""What the commands of `mmaproof gemm` do with plans: they take one wherever they take an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mmaproof.designs.plans import Plan


def find_plan(text: str, unit: str | None) -> Plan:
    """Return the plan that ``text`` spells; an algorithm is one with ``unit``. Raises InputError where it is none.

    A note says which constants are rounded.
    """
    from mmaproof.algorithms.named import find_gemm, is_plan
    from mmaproof.cli.output import complain
    from mmaproof.designs.plans.spelling import rounded_constants, split_spelling

    found = find_gemm(text) if is_plan(text) else find_gemm(text, require_unit(text, unit))
    for note in rounded_constants(split_spelling(text)[1]) if "|" in text else ():
        complain(f"note: {note}")
    return found


def find_plans(texts: Sequence[str], unit: str | None) -> list[Plan]:
    """Return several plans. Algorithms run on ``unit``, or without one on the unit of the first plan."""
    from mmaproof.algorithms.named import is_plan

    plans = {x: find_plan(x, None) for x in texts if is_plan(x)}
    if unit is None and plans:
        unit = next(iter(plans.values())).unit.name
    return [plans[x] if x in plans else find_plan(x, unit) for x in texts]


def require_unit(text: str, unit: str | None) -> str:
    """Return the unit of an algorithm. Raises InputError where none is given, or where there is no such algorithm."""
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.plans.algorithms import find_algorithm

    if unit is None:
        find_algorithm(text)  # an unknown name is the nearer mistake
        raise InputError(f"{text} is an algorithm, and the unit that it calls is missing: --unit DESIGN")
    return unit


def require_no_unit(text: str, unit: str | None) -> None:
    """Raise InputError where a unit is given beside a plan, which names its own."""
    from mmaproof.designs.errors import InputError

    if unit is not None:
        raise InputError(f"{text} is a plan, which names its unit: leave out --unit, or give `unit=...` as a setting")
