"""A step as a tree of rounded operations: FTZ-AddMul of Xie et al. 2026 (algorithms 1 and 2), IEEE adder trees."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import special_result
from mmaproof.smt.semantics.terms import Factors


def pairwise_step(
    design: Design, algebra: Algebra[D, T], products: Sequence[Factors[D, T]], labels: Sequence[str], c: Word[D]
) -> StepSignals[D, T]:
    """Return the signals of one step: products, then sums of neighbours, then the sum with ``c`` (a pattern of D)."""
    p, fmt = design.parameters, design.d_format
    level = [ieee.multiply(algebra, fmt, x, p.nan_code, p.subnormals) for x in products]
    names = list(labels)
    rounded = list(zip(names, level, strict=True))
    while len(level) > 1:
        pairs = range(0, len(level), 2)
        level = [ieee.add(algebra, fmt, level[i], level[i + 1], p.nan_code, p.subnormals) for i in pairs]
        names = [f"{names[i]}+{names[i + 1]}" for i in pairs]
        rounded += zip(names, level, strict=True)
    d = ieee.add(algebra, fmt, c, level[0], p.nan_code, p.subnormals)
    accumulator = ieee.read(algebra, fmt, c, p.subnormals)
    special = special_result(algebra, products, (accumulator,))
    return StepSignals((), tuple(rounded), d, algebra.truth(False), special, d)
