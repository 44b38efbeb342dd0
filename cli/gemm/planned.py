"""What the commands of `mmaproof gemm` do with plans: they take one wherever they take an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmaproof.designs.plans import Plan


def find_plan(text: str, unit: str | None) -> Plan:
    """Return the plan that ``text`` spells; an algorithm is one with ``unit``. Raises InputError where it is none.

    A note says which constants are rounded.
    """
    from mmaproof.algorithms.plans.named import is_plan
    from mmaproof.algorithms.plans.program import require
    from mmaproof.cli.output import complain
    from mmaproof.designs.plans import read_plan
    from mmaproof.designs.plans.spelling import rounded_constants, split_spelling

    found = read_plan(text) if is_plan(text) else read_plan(f"{require_unit(text, unit)} | algorithm={text}")
    require(found)
    for note in rounded_constants(split_spelling(text)[1]) if "|" in text else ():
        complain(f"note: {note}")
    return found


def require_unit(text: str, unit: str | None) -> str:
    """Return the unit of an algorithm. Raises InputError where none is given, or where there is no such algorithm."""
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.designs.errors import InputError

    if unit is None:
        find_algorithm(text)  # an unknown name is the nearer mistake
        raise InputError(f"{text} is an algorithm, and the unit that it calls is missing: --unit DESIGN")
    return unit


def require_no_unit(text: str, unit: str | None) -> None:
    """Raise InputError where a unit is given beside a plan, which names its own."""
    from mmaproof.designs.errors import InputError

    if unit is not None:
        raise InputError(f"{text} is a plan, which names its unit: leave out --unit, or give `unit=...` as a setting")
