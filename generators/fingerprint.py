"""The vectors that show the features of a fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.generators.vectors import Vector
from mmaproof.smt.trace import evaluate
from mmaproof.verification.fingerprint import Feature


def vectors_of(feature: Feature, designs: Sequence[Design], *, origin: str, version: str) -> list[Vector]:
    """Return the runs that show a feature as vectors, one for each set of operands.

    The outputs are those of the run, and of each of ``designs`` that takes the formats and the length. Runs of one step
    are left out where no instruction returns their d.
    """
    found: dict[tuple[Any, ...], Vector] = {}
    for run in feature.runs:
        given = run.design
        key = (run.operands, given.formats, given.scale_format)
        if not run.whole or key in found:
            continue
        same = [r for r in feature.runs if r.whole and (r.operands, r.design.formats, r.design.scale_format) == key]
        outputs = {r.design.name: r.d for r in same}
        outputs |= {d.name: evaluate(d, run.operands) for d in designs if _takes(d, given, run.operands)}
        found[key] = Vector(run.operands, given.formats, outputs, _why(feature), origin, version, given.scale_format)
    return list(found.values())


def _takes(design: Design, other: Design, operands: Operands) -> bool:
    """Return whether ``design`` takes operands of ``other``: the same formats, and a length that it has."""
    if design.signature != other.signature:
        return False
    try:
        operands.check(design)
    except InputError:
        return False
    return True


def _why(feature: Feature) -> str:
    against = "" if feature.done is None or feature.done.finding.runs else ", shown against its mutant"
    value = "" if feature.value is None else f" ({feature.value})"
    return f"{feature.asked.name}: {feature.verdict}{value} for {feature.design.name}{against}"
