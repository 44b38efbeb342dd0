"""A step as a tree of rounded operations: FTZ-AddMul of Xie et al. 2026 (algorithms 1 and 2), IEEE adder trees."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.smt.algebra.protocol import Algebra, D, T
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import special_result
from mmaproof.smt.semantics.terms import Factors
from mmaproof.smt.semantics.unpack import Unpacked, unpack


def pairwise_step(
    design: Design, algebra: Algebra[D, T], products: Sequence[Factors[D, T]], labels: Sequence[str], c: Unpacked[D, T]
) -> StepSignals[D, T]:
    """Return the signals of one step: products, then sums of neighbours, then the sum with ``c``."""
    p, fmt = design.parameters, design.d_format
    rules = Rules.of_operation(p)
    level = [ieee.multiply(algebra, rules, p.nan_code, x) for x in products]
    names = list(labels)
    rounded = list(zip(names, level, strict=True))
    while len(level) > 1:
        read = [unpack(algebra, fmt, x) for x in level]
        pairs = range(0, len(level), 2)
        level = [ieee.add(algebra, rules, p.nan_code, read[i], read[i + 1]) for i in pairs]
        names = [f"{names[i]}+{names[i + 1]}" for i in pairs]
        rounded += zip(names, level, strict=True)
    d = ieee.add(algebra, rules, p.nan_code, c, unpack(algebra, fmt, level[0]))
    special = special_result(algebra, products, (c,))
    return StepSignals((), tuple(rounded), d, algebra.truth(False), special, d)
