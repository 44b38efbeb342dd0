"""Operands and designs that tests share."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.verification.distributions import BASIC, draw


def distinct_designs() -> list[Design]:
    """One design of the catalogue for each set of formats, K and parameters: the others are the same arithmetic."""
    distinct: dict[tuple[object, ...], Design] = {}
    for design in load_catalogue().designs.values():
        distinct.setdefault(arithmetic(design), design)
    return list(distinct.values())


def first_of_each_family(designs: Sequence[Design]) -> list[Design]:
    """The first design of each family, in the order given."""
    found: dict[str, Design] = {}
    for design in designs:
        found.setdefault(design.family, design)
    return list(found.values())


def facts(design: Design) -> set[tuple[object, ...]]:
    """What a design has that others may lack: parameter values of its family, formats in their places, and chains."""
    return {
        *((design.family, name, str(value)) for name, value in design.settings.items()),
        *((place, fmt.name) for place, fmt in zip("abcd", design.formats, strict=True)),
        ("scale", design.scale_format and design.scale_format.name, design.block),
        ("steps", design.family, design.k > design.step.L),
    }


def covering(designs: Sequence[Design]) -> list[Design]:
    """The first design of each family, and as few others as have every fact that some design has."""
    chosen = first_of_each_family(designs)
    known = [facts(d) for d in designs]
    missing = set().union(*known).difference(*map(facts, chosen))
    while missing:
        best = max(range(len(designs)), key=lambda i: len(known[i] & missing))
        chosen.append(designs[best])
        missing -= known[best]
    return chosen


def others_are_slow(designs: Sequence[Design]) -> list[Any]:
    """The designs as parameters: the first of each family are quick, those ``covering`` all middle, the rest slow."""
    first, middle = first_of_each_family(designs), covering(designs)
    marks = [() if d in first else pytest.mark.middle if d in middle else pytest.mark.slow for d in designs]
    return [pytest.param(d, id=d.name, marks=m) for d, m in zip(designs, marks, strict=True)]


def arithmetic(design: Design) -> tuple[object, ...]:
    """What decides a design's results."""
    return design.signature, design.k, design.chain, design.step


def basic_operands(design: Design, rows: int, *, seed: int = 0, k: int | None = None) -> dict[str, OperandBatch]:
    """``rows`` operand sets in all, in equal parts from each of the five named distributions."""
    rng = np.random.default_rng(seed)
    each = -(-rows // len(BASIC))
    return {name: draw(name, design, each, k or design.k, rng) for name in BASIC}


def fp16_design(length: int, **settings: object) -> Design:
    """A design of one step of ``length`` fp16 products into fp32 (no published unit has every length)."""
    from mmaproof.designs.catalogue import find_design

    base = find_design("hopper/wgmma.f32.f16.f16")
    design = dataclasses.replace(base, k=length, step=dataclasses.replace(base.step, L=length))
    return design.change(**settings)
