"""A step as a tree of rounded operations: FTZ-AddMul of Xie et al. 2026 (algorithms 1 and 2), IEEE adder trees."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.designs.design import Design
from mmaproof.designs.steps import PairwiseStep
from mmaproof.smt.algebra.protocol import Algebra, D, T, Word
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import StepPath
from mmaproof.smt.semantics.labels import Label, RoundedSum
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.specials import special_result
from mmaproof.smt.semantics.terms import Factors
from mmaproof.smt.semantics.unpack import Unpacked, unpack


def pairwise_step(
    design: Design,
    step: PairwiseStep,
    algebra: Algebra[D, T],
    path: StepPath,
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
) -> StepSignals[D, T]:
    """Return the signals of one step: products, then sums of neighbours, then the sum with ``c``."""
    fmt, nan_code = design.d_format, step.nan_code
    rules = Rules.of_operation(step)
    level = [ieee.multiply(algebra, rules, nan_code, x, step.zero_product_sign) for x in products]
    parts: list[tuple[Label, ...]] = [(label,) for label in path.terms]
    rounded: list[tuple[Label, Word[D]]] = list(zip(path.terms, level, strict=True))
    while len(level) > 1:
        read = [unpack(algebra, fmt, x) for x in level]
        pairs = range(0, len(level), 2)
        level = [ieee.add(algebra, rules, nan_code, read[i], read[i + 1]) for i in pairs]
        parts = [parts[i] + parts[i + 1] for i in pairs]
        rounded += zip(map(RoundedSum, parts), level, strict=True)
    d = ieee.add(algebra, rules, nan_code, c, unpack(algebra, fmt, level[0]))
    special = special_result(algebra, products, (c,))
    return StepSignals(path, (), tuple(rounded), d, algebra.truth(False), special, d)
