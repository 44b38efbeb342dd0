"""What computes a GEMM, by name: a plan, which names its unit, or an algorithm on a unit, which is a plan."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design, is_unit_name
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.algorithms import find_algorithm


def is_plan(text: str) -> bool:
    """Return whether a text spells a plan: settings, a unit, a preset or a file. An algorithm has none of these."""
    return "|" in text or is_unit_name(text) or text.strip().endswith(".toml")


def find_plan(program: Design | Plan | str) -> Plan:
    """Return a plan, or that of a unit that chains its instructions along k; either may be a text.

    Raises DesignError for a name that is not known, and InputError for what spells no plan.
    """
    if isinstance(program, Design | Plan):
        return Plan(program) if isinstance(program, Design) else program
    if not isinstance(program, str):
        raise InputError(f"plan = {program!r}: a design, a plan, or the text that spells one is needed")
    if "|" in program or program.endswith(".toml"):
        return read_plan(program)
    try:
        return Plan(find_design(program))
    except DesignError as unknown:
        try:
            return read_plan(program)
        except InputError:
            raise unknown from None


def find_gemm(program: Algorithm | Plan | str, unit: Design | str | None = None) -> Plan:
    """Return a plan, or that of an algorithm and the unit that it calls.

    Raises InputError for an unknown name, for an algorithm without a unit and for a plan beside which one is given,
    DesignError for an unknown unit and for an algorithm that does not run on it.
    """
    found = program
    if isinstance(found, str):
        found = read_plan(found) if is_plan(found) else find_algorithm(found)
    if isinstance(found, Algorithm):
        if unit is None:
            raise InputError(f"{found.name} is an algorithm, and the unit that it calls is missing: unit=DESIGN")
        found = Plan(find_design(unit), found)
    elif not isinstance(found, Plan):
        raise InputError(f"{program!r}: an algorithm, a plan, or the name or text of one is needed")
    elif unit is not None:
        raise InputError(f"{found.name} is a plan, which names its unit: leave the unit out")
    found.require()
    return found


def find_programs(programs: Sequence[Algorithm | Plan | str], unit: Design | str | None = None) -> list[Plan]:
    """Return the plans of several programs. Algorithms run on ``unit``, or without one on the unit of the first plan.

    Raises as ``find_gemm``.
    """
    planned = [is_plan(x) if isinstance(x, str) else isinstance(x, Plan) for x in programs]
    found = {i: find_gemm(x) for i, (x, known) in enumerate(zip(programs, planned, strict=True)) if known}
    if all(planned) and unit is not None:
        find_gemm(programs[0], unit)  # a plan names its unit
    other = next((x.unit for x in found.values()), None)
    return [found[i] if i in found else find_gemm(x, other if unit is None else unit) for i, x in enumerate(programs)]
