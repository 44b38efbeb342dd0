"""Questions about what plans make of finite operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mmaproof.algorithms.arithmetic import Arithmetic
from mmaproof.algorithms.numbers import Number, Span
from mmaproof.algorithms.program import Elements
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.plans.lengths import shortest_k
from mmaproof.designs.plans.plan import Plan
from mmaproof.properties.preconditions import Exponents, Precondition, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack


class FiniteOperands(Question):
    """A question about ``plans`` on the same finite operands, each in the wider one of the formats that they take.

    ``k`` is by default the least common multiple of those that the plans choose. Raises DesignError if the algorithm of
    a plan does not run on its unit, an operand has two formats of which neither has all numbers of the other, a plan
    takes integers, scales or factors, or ``k`` does not fit, and InputError if a range of exponents leaves only
    zeros.
    """

    def __init__(self, plans: Sequence[Plan], k: int | None, where: Sequence[Precondition]) -> None:
        self.plans = tuple(plans)
        for plan in plans:
            _require_numbers(plan)
        self.k = math.lcm(*(shortest_k((x,)) for x in plans)) if k is None else k
        self.schedules = tuple(x.schedule(self.k) for x in plans)
        self.formats = common_formats(plans)
        self.scale_format, self.blocks = None, 0
        self.where = restricting(where, self.formats)

    def span(self, fmt: Format) -> Span:
        """Return the span of an operand of a format, which follows from the preconditions."""
        span = Span.of_format(fmt)
        for p in self.where:
            if isinstance(p, Exponents):
                least, most = max(span.least, p.low - fmt.fraction_bits), min(span.most, p.high + 1)
                span = Span(min(least, most), most)
        return span

    def numbers(self, operands: OperandWords[D]) -> Elements[D]:
        """Return a, b and c as numbers with the span of the preconditions."""
        a, b, (c,) = (
            [Number(f, w, self.span(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        return Elements(a, b, c)

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite and satisfy the preconditions."""
        held = zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        values = [unpack(algebra, f, x) for f, words in held for x in words]
        finite = algebra.negation(algebra.any_of([t for v in values for t in (v.infinite, v.nan)]))
        return algebra.all_of([finite, super().precondition(algebra, operands)])

    def examine(self, batch: OperandBatch) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which rows satisfy the preconditions, and which of them violate the claim, computed on arrays.

        The claim is computed only for rows that satisfy them, because it takes long and has no meaning for others.
        """
        meant = self.examine_precondition(batch)
        refuted = np.zeros(len(batch), dtype=bool)
        refuted[meant] = self.examine_claim(batch.select(meant)) if meant.any() else False
        return meant, refuted


def common_formats(plans: Sequence[Plan]) -> tuple[Format, Format, Format]:
    """Return for a, b and c the widest format in which a plan takes it. Raises DesignError where there is none."""
    found = plans[0].formats[:3]
    for plan in plans[1:]:
        pairs = zip("abc", found, plan.formats[:3], strict=True)
        a, b, c = (_wider(name, f, g, (plans[0].name, plan.name)) for name, f, g in pairs)
        found = a, b, c
    return found


def _wider(name: str, f: Format, g: Format, plans: tuple[str, str]) -> Format:
    for wide, narrow in ((f, g), (g, f)):
        if wide is narrow or (not wide.is_integer and not narrow.is_integer and wide.holds(narrow)):
            return wide
    raise DesignError(f"{' and '.join(plans)} are not comparable: {name} is {f.name} in one, {g.name} in the other")


def shaped_for(plan: Plan, formats: Sequence[Format]) -> Design:
    """Return a design that takes operands of these formats, for which random operands are shaped."""
    a, b, c = formats
    chain = replace(plan.unit.chain, adds_c_once=False)
    return replace(plan.unit, signature=replace(plan.unit.signature, a=a, b=b, c=c), chain=chain)


def operands_of(plan: Plan, arithmetic: Arithmetic[D, T], given: Elements[D]) -> Elements[D]:
    """Return operands in the formats that a plan takes: those of a wider format are rounded to nearest."""
    a, b, c, _ = plan.formats
    first = [arithmetic.convert("operand", x, a, Rounding.RNE) for x in given.a]
    second = [arithmetic.convert("operand", x, b, Rounding.RNE) for x in given.b]
    return Elements(first, second, arithmetic.convert("operand", given.c, c, Rounding.RNE))


def _require_numbers(plan: Plan) -> None:
    """Raise DesignError for a plan whose operands are not floating-point numbers a, b and c alone."""
    if plan.scale_format is not None:
        raise DesignError(f"{plan.name} has scales of blocks: this question is about a, b and c alone")
    if plan.has_factors:
        raise DesignError(f"{plan.name} has factors that are operands: state constants, such as rescale=64:0.5")
    if any(f.is_integer for f in plan.formats):
        raise DesignError(f"{plan.name} is of an integer unit: this question is about floating-point operands")
