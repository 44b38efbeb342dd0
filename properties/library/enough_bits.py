"""How many fraction bits are enough: the least number with which no operands give another result.

Two designs that differ only in their number of fraction bits return the same where no term loses a bit with the fewer
of them. The aligned terms and their sum are then the same numbers, and rho converts them alike (``WidenedConversion``).
Infinities and NaNs do not depend on fraction bits.

Whether a term loses a bit depends on its own bits and on e_max, and e_max is the exponent of one of the terms, or a
floor. So if some term of a step loses a bit, it does so beside that one term, or it is that term. It loses the bit in a
step of two products and c, too: if neither of the two terms is c, take c as it is, whose exponent is not above e_max.
For that reason a step of two products stands for a step of any number of them (``LosesNothing``). A precondition says
something of each operand by itself, so two of the products and c meet it where all of them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.arithmetic import differing_parameters, same_chain
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.exact import exact_twin, whole_range
from mmaproof.properties.library.against_exact import Asked, loses_nothing
from mmaproof.properties.library.special_case import NothingBesideC
from mmaproof.properties.preconditions import Precondition
from mmaproof.properties.property import (
    Ask,
    Property,
    PropertyVerdict,
    QuestionVerdict,
    first_reason,
    has_single_sum,
    kept_bits,
    why_not_aligned,
)
from mmaproof.properties.run_question import RunQuestion, SameResults, Scope, of_one_step
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.proving.two_terms import WidenedConversion
from mmaproof.smt.semantics import DotProduct, OperandWords
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import OPERAND, datapath
from mmaproof.smt.solving.verdict import Status

_SAME_NUMBERS = (Guarantee.EXACT_SUM, Guarantee.OWN_CUTS)
"""The guarantees by which terms that lose nothing are the same numbers, and so is their sum."""
ENOUGH_TERMS = 2
"""Products of a step beside which every term loses what it loses in a step of more products."""


class LosesNothing(RunQuestion):
    """No term of finite operands loses a bit."""

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether every term keeps all of its bits."""
        sums = [total for step in results[0].steps for total in step.sums]
        return loses_nothing(algebra, sums, kept_bits(self.design))


def lemmas_of_bits(
    first: Design, second: Design, length: int, where: Sequence[Precondition] = ()
) -> Sequence[Lemma]:
    """Return lemmas that imply that both designs return the same for dot products of ``length``; none if they cannot.

    They say that no term loses a bit with the fewer fraction bits. The designs must be alike in everything else, add
    all terms in one sum, and a chain of steps must hand on numbers of one format. In a chain, c is any number.
    """
    if differing_parameters(first, second) != {"fraction_bits"} or not same_chain(first, second, length):
        return ()
    fewer, more = sorted((first, second), key=kept_bits)
    if not has_single_sum(fewer) or not fewer.guarantees(*_SAME_NUMBERS):
        return ()
    paths = datapath(fewer, length)
    alone = len(paths) == 1
    if not alone and (fewer.c_format is not fewer.d_format or not fewer.chain.keeps_infinities):
        return ()
    assumed = tuple(where) if alone and paths[0].c == OPERAND else ()
    padded = fewer.padded_length(length) != length
    if padded and assumed:
        return ()  # the products that fill up need not be what is assumed of the others
    keeps_all = LosesNothing(_few_products(fewer), Scope(where=assumed))
    (total,) = LosesNothing(fewer, Scope()).symbolic_step().sums
    exact = Asked(f"no term loses a bit at {kept_bits(fewer)} fraction bits", keeps_all)
    return [exact, WidenedConversion(Rules.of(fewer.step), kept_bits(more), total)]


def _few_products(design: Design) -> Design:
    """Return the design with as few products in a step as show every loss: the design itself if it has scales."""
    if design.step.L <= ENOUGH_TERMS or design.scale_format is not None:
        return design
    if not design.guarantees(Guarantee.SINGLE_PRODUCTS):
        return design
    one = replace(design.one_step(), k=design.step.L * ENOUGH_TERMS)
    return one.change(L=ENOUGH_TERMS)
