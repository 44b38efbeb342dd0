"""The lemmas behind most proofs that a reading cannot be observed, because it changes no alignment that matters.

Take two designs that differ only in what decides e_max, or in how a subnormal c is aligned. They treat aligned terms in
the same way. If e_max is the same, they also align each product in the same way, because readings of zero operands
change only the exponents of zero products. So one step of both returns the same result on all operands if

1. e_max of every fused sum and the aligned c agree wherever some product is not zero (``SameAlignment``);
2. both return the same result wherever all products are zero (``EqualWithoutProducts``).

If that holds for one step on all operands, c included, then it holds for a chain of such steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.arithmetic import differing_parameters, steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Precondition
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.bundles.aligned_alike_steps import DECIDE_ALIGNMENT
from mmaproof.smt.semantics import OperandWords, StepSignals, dot_product_accumulate
from mmaproof.smt.semantics.labels import Addend, is_of_products


class SameAlignment(Equivalence):
    """Every fused sum of one step has the same e_max in both designs, and the same aligned c, or no nonzero product.

    Raises DesignError if the designs differ in a parameter that affects more, or have more than one step.
    """

    name = "wherever a product is not zero, e_max and the aligned c agree"

    def __init__(self, first: Design, second: Design, *, where: Sequence[Precondition] = ()) -> None:
        super().__init__(first, second, where=where)
        beyond = sorted(differing_parameters(first, second) - set(DECIDE_ALIGNMENT))
        if beyond or first.formats != second.formats or any(d.k != d.step.L for d in self.designs):
            raise DesignError(f"{first.name} and {second.name} differ in more than the alignment of one step: {beyond}")

    @property
    def aligns(self) -> bool:
        """Whether both steps guarantee aligned sums. If they do not, the second lemma is the whole question."""
        return all(d.guarantees(Guarantee.ALIGNED_SUMS) for d in self.designs)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether no alignment differs, or all products are zero in both designs."""
        if not self.aligns:
            return algebra.truth(True)
        steps = [dot_product_accumulate(d, algebra, operands).steps[0] for d in self.designs]
        same = []
        for x, y in zip(steps[0].sums, steps[1].sums, strict=True):
            same.append(algebra.equal(x.e_max, y.e_max))
            same += [algebra.equal(x.aligned[i], y.aligned[i]) for i, label in enumerate(x.labels) if label is Addend.C]
        return algebra.any_of([algebra.all_of(same), algebra.all_of([_no_products(algebra, s) for s in steps])])


class EqualWithoutProducts(SameAlignment):
    """One step of both designs returns the same result wherever all products are zero."""

    name = "wherever all products are zero, the results agree"

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the results are equal, or some product is not zero."""
        equal = Equivalence.claim(self, algebra, operands)
        if not self.aligns:
            return equal
        step = dot_product_accumulate(self.designs[0], algebra, operands).steps[0]
        return algebra.any_of([equal, algebra.negation(_no_products(algebra, step))])


def _no_products(algebra: Algebra[D, T], step: StepSignals[D, T]) -> Truth[T]:
    """Return whether every product (or group of them) of a step is zero."""
    return algebra.all_of(
        [
            algebra.is_value(term.significand, 0)
            for total in step.sums
            for label, term in zip(total.labels, total.terms, strict=True)
            if is_of_products(label)
        ]
    )


def alignment_lemmas(first: Design, second: Design, length: int) -> tuple[SameAlignment, ...]:
    """Return the lemmas that make two designs equal, which differ in ``DECIDE_ALIGNMENT`` only and chain alike.

    They are about dot products of ``length``. Raises DesignError where the designs differ in more, or where the steps
    of such a chain are not all one step on any accumulator.
    """
    steps = _one_step(first, length), _one_step(second, length)
    return SameAlignment(*steps), EqualWithoutProducts(*steps)


def _one_step(design: Design, length: int) -> Design:
    """Return the design of a single step on any accumulator: a chain of equal steps is equal.

    Raises DesignError if the steps of a chain differ.
    """
    if design.chain.adds_c_once:
        # c joins once, after the chain, and the steps of the chain read any accumulator but the first, which reads +0
        design = replace(design, chain=replace(design.chain, adds_c_once=False))
    steps = steps_of_chain(design, length)
    if steps is None or len(steps) > 1:
        raise DesignError(f"{design.name}: the steps of its chain do not all read their c alike")
    return steps[0]
