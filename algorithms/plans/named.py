"""What computes a GEMM, by name: an algorithm on a unit, or a plan, which names its unit."""

from __future__ import annotations

from mmaproof.algorithms.algorithm import Algorithm
from mmaproof.algorithms.catalogue import find_algorithm
from mmaproof.algorithms.plans.program import require
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design, is_unit_name
from mmaproof.designs.errors import InputError
from mmaproof.designs.plans import Plan, read_plan


def is_plan(text: str) -> bool:
    """Return whether a text spells a plan: settings, a unit, a preset or a file. An algorithm has none of these."""
    return "|" in text or is_unit_name(text) or text.strip().endswith(".toml")


def find_gemm(program: Algorithm | Plan | str, unit: Design | str | None) -> tuple[Algorithm | Plan, Design]:
    """Return an algorithm and the unit that it calls, or a plan and the unit that it names.

    Raises InputError for an unknown name, for an algorithm without a unit and for a plan beside which one is given,
    DesignError for an unknown unit and for an algorithm that does not run on it.
    """
    if isinstance(program, str):
        found: Algorithm | Plan = read_plan(program) if is_plan(program) else find_algorithm(program)
    else:
        found = program
    if isinstance(found, Plan):
        if unit is not None:
            raise InputError(f"{found.name} is a plan, which names its unit: leave the unit out")
        require(found)
        return found, found.unit
    if not isinstance(found, Algorithm):
        raise InputError(f"{program!r}: an algorithm, a plan, or the name or text of one is needed")
    if unit is None:
        raise InputError(f"{found.name} is an algorithm, and the unit that it calls is missing: unit=DESIGN")
    design = find_design(unit)
    found.require(design)
    return found, design
