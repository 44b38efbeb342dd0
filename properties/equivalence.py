"""Equivalence of two designs: the same d for the same operands.

The lemmas behind most proofs that a reading cannot be observed, because it changes no alignment that matters.

Take two designs that differ only in what decides e_max, or in how a subnormal c is aligned. They treat aligned terms in
the same way. If e_max is the same, they also align each product in the same way, because readings of zero operands
change only the exponents of zero products. So one step of both returns the same result on all operands if

1. e_max of every fused sum and the aligned c agree wherever some product is not zero (``SameAlignment``);
2. both return the same result wherever all products are zero (``EqualWithoutProducts``).

If that holds for one step on all operands, c included, then it holds for a chain of such steps.

Separation: the question whether one input tells several pairs of designs apart at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import differing_parameters, repeats_one_step, same_arithmetic, steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.preconditions import Pattern, Precondition, of_numbers, restricting
from mmaproof.properties.question import Argument, Question
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.aligned_alike_steps import DECIDE_ALIGNMENT, AlignedAlikeSteps, differ_in_alignment
from mmaproof.smt.bundles.in_turn_steps import InTurnSteps
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.bundles.regrouped_steps import RegroupedSteps, is_regrouping
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.proving.two_terms import is_rewriting, sequential_lemmas
from mmaproof.smt.semantics import OperandWords, StepSignals, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.datapath import Addend, is_of_products
from mmaproof.smt.trace import evaluate


class Equivalence(Question):
    """``first`` and ``second`` return equal d: both are NaN, or they have the same bits (+0 and -0 differ).

    With ``nan_codes`` two NaNs are equal only if their bits are. Without ``zero_signs`` +0 and -0 are equal. ``k`` is
    the length of the dot product. By default it is the least common multiple of both K.

    Where one of the units has no c, the question is about the c that adds nothing.

    Raises DesignError if the designs take or return different formats, or if ``k`` does not fit one of them. Raises
    InputError if a range of exponents leaves only zeros.
    """

    compares_runs = True

    def __init__(
        self,
        first: Design,
        second: Design,
        *,
        k: int | None = None,
        where: Sequence[Precondition] = (),
        nan_codes: bool = False,
        zero_signs: bool = True,
    ) -> None:
        for x, f, g in zip("abcd", first.formats, second.formats, strict=True):
            if f is not g:
                raise DesignError(
                    f"{first.name} and {second.name} are not comparable: {x} is {f.name} in one, {g.name} in the other"
                )
        for what, x, y in (
            ("scales", _name(first.scale_format), _name(second.scale_format)),
            ("blocks", str(first.block), str(second.block)),
        ):
            if x != y:
                raise DesignError(
                    f"{first.name} and {second.name} are not comparable: {what} are {x} in one, {y} in the other"
                )
        if of_numbers(where) and first.c_format.is_integer:
            raise DesignError(f"{first.name} is an integer unit: of preconditions it has patterns only, such as c=0x0")
        self.scale_format = first.scale_format
        self.formats = first.formats[:3]
        common = math.lcm(first.k, second.k)
        self.k = common if k is None else k
        held = (Pattern("c", x.neutral_c) for x in (first, second) if not x.takes_c)
        self.where = restricting(tuple(dict.fromkeys((*where, *held))), self.formats)
        self.nan_codes, self.zero_signs = nan_codes, zero_signs
        for design in (first, second):
            design.padded_length(self.k, multiple=common)
        self.designs = first.configured(self.k), second.configured(self.k)
        self.blocks = first.blocks(self.k)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether both designs return equal d."""
        return self.are_equal(algebra, *self.results(algebra, operands))

    def results(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> tuple[Word[D], Word[D]]:
        """Return the d of both designs."""
        # in this order, in which bits that may have any value have their names
        d, e = (dot_product_accumulate(x, algebra, operands).d for x in self.designs)
        return d, e

    def integer_results(self, operands: Operands, unknown: Mapping[str, int]) -> tuple[Word[int], Word[int]]:
        """Return the d of both designs, computed on integers. ``unknown`` has the bits that may have any value."""
        asked = operands, tuple(sorted(unknown.items()))
        if asked not in self._returned:
            self._returned.clear()
            self._returned[asked] = self.results(IntegerAlgebra(unknown=unknown), self.integer_words(operands))
        return self._returned[asked]

    @cached_property
    def _returned(self) -> dict[tuple[Operands, tuple[tuple[str, int], ...]], tuple[Word[int], Word[int]]]:
        """The last results on integers: a witness is confirmed, and its results are shown afterwards."""
        return {}

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and violate the claim, computed on integers."""
        if type(self).claim is not Equivalence.claim:
            return super().is_refuted_by(operands)
        if not self.is_meant(operands):
            return False
        d, e = self.integer_results(operands, {})
        return not self.are_equal(d.algebra, d, e).data

    def is_refuted_by_results(self, operands: Operands, d: int, e: int) -> bool:
        """Return whether the operands satisfy the preconditions, and patterns that the designs return violate it."""
        bits = self.designs[0].d_format.bits
        words = (_INTEGERS.unsigned(x, bits) for x in (d, e))
        return self.is_meant(operands) and not self.are_equal(_INTEGERS, *words).data

    def are_equal(self, algebra: Algebra[D, T], d: Word[D], e: Word[D]) -> Truth[T]:
        """Return whether two results count as equal."""
        fmt = self.designs[0].d_format
        return equal_results(algebra, fmt, d, e, nan_codes=self.nan_codes, zero_signs=self.zero_signs)

    def is_same_computation(self) -> bool:
        """Return whether both designs are one computation. Subclasses claim something else."""
        return type(self) is Equivalence and same_arithmetic(*self.designs, self.k)

    def lemmas(self) -> Sequence[Lemma]:
        """Return the lemmas for a sequential T-FDPA."""
        pair = self.in_turn()
        if pair is None:
            return ()
        fused, sequential = pair
        algebra = TermAlgebra()
        (total,) = dot_product_accumulate(fused, algebra, self.symbols(algebra)).steps[0].sums
        return sequential_lemmas(sequential, total)

    @property
    def decides_by_argument(self) -> bool:
        """Whether there is an argument. A sum in turn of terms that may be absent is left to the lemmas."""
        return self.argument() is not None

    def _aligned_alike(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        operands = self.symbols(algebra)
        first, second = (dot_product_accumulate(x, algebra, operands) for x in self.designs)
        given = [operands.c, operands.c]
        for x, y in zip(first.steps, second.steps, strict=True):
            if x.path.c.step is not None:
                given = [z.steps[x.path.c.step].d for z in (first, second)]
            AlignedAlikeSteps(kernel, x, y, given).prove()
        use_equal_results(kernel, first.d, partial(self.are_equal, algebra))

    def argument(self) -> Argument | None:
        """Return that of one computation, of integers grouped otherwise, of other exponents, or of a sum in turn."""
        if type(self) is not Equivalence:
            return None
        if self.is_same_computation():
            return self._the_same
        if is_regrouping(*self.designs):
            return self._regrouped
        if differ_in_alignment(*self.designs, self.k):
            return self._aligned_alike
        if self.in_turn() is not None:
            return self._added_in_turn
        from mmaproof.properties.library.enough_bits import argument_of_bits  # noqa: PLC0415  (loads all properties)

        return argument_of_bits(self, *self.designs)

    def _the_same(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        d = dot_product_accumulate(self.designs[0], algebra, self.symbols(algebra)).d
        use_equal_results(kernel, d, partial(self.are_equal, algebra))

    def _regrouped(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        steps, operands = RegroupedSteps(kernel, self.designs[0]), self.symbols(algebra)
        (d, words), (_, others) = (steps.of_design(x, operands) for x in self.designs)
        steps.same(words, others)
        use_equal_results(kernel, d, partial(self.are_equal, algebra))

    def _added_in_turn(self, kernel: Kernel) -> None:
        pair = self.in_turn()
        if pair is None:
            raise NotComposedError("no sum in turn")
        algebra = TermAlgebra(kernel.environment)
        first, second = (dot_product_accumulate(x, algebra, self.symbols(algebra)) for x in pair)
        for x, y in zip(first.steps, second.steps, strict=True):
            InTurnSteps(kernel, pair[1], y, x).prove()
        use_equal_results(kernel, first.d, partial(self.are_equal, algebra))

    def in_turn(self) -> tuple[Design, Design] | None:
        """Return a T-FDPA and its sequential form, if the designs are these in some order."""
        for fused, sequential in (self.designs, self.designs[::-1]):
            if repeats_one_step(fused, self.k) and is_rewriting(fused, sequential):
                return fused, sequential
        return None


def _name(fmt: Format | None) -> str:
    return "absent" if fmt is None else fmt.name


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


_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()


class SomePairAgrees(Question):
    """On every input of length ``k``, the two designs of at least one of the ``pairs`` return equal d.

    If it is proved, no single input separates all pairs. A witness is an input that does. ``pairs`` are positions in
    ``designs``, which are comparable with each other. Equal means the same as in ``Equivalence``: both are NaN, or they
    have the same bits.
    """

    def __init__(
        self,
        designs: Sequence[Design],
        pairs: Sequence[tuple[int, int]],
        k: int,
        where: Sequence[Precondition] = (),
    ) -> None:
        first = designs[0]
        self.designs = tuple(designs)
        self.pairs = tuple(pairs)
        self.scale_format = first.scale_format
        self.formats = first.formats[:3]
        self.k = k
        self.where = restricting(where, self.formats)
        self.blocks = first.blocks(k)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the designs of some pair return equal d."""
        fmt = self.designs[0].d_format
        d = [dot_product_accumulate(x, algebra, operands).d for x in self.designs]
        return algebra.any_of([equal_results(algebra, fmt, d[i], d[j]) for i, j in self.pairs])

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and separate all pairs, computed on integers.

        It stops at the first pair that agrees, because most inputs do not separate all pairs.
        """
        fmt = self.designs[0].d_format
        d: dict[int, int] = {}
        for pair in self.pairs:
            d |= {i: evaluate(self.designs[i], operands) for i in pair if i not in d}
            words = (_INTEGERS.unsigned(d[i], fmt.bits) for i in pair)
            if equal_results(_INTEGERS, fmt, *words).data:
                return False
        return self.is_meant(operands)

    def separated(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return which pairs each row separates, shape (rows, pairs). Rows outside the preconditions separate none."""
        fmt = self.designs[0].d_format
        d = [evaluate_batch(x, batch) for x in self.designs]
        apart = np.stack([~equal_patterns(fmt, d[i], d[j]) for i, j in self.pairs], axis=1)
        meant = np.zeros(len(batch), dtype=bool) | self.precondition(_ARRAYS, self.array_words(batch)).data
        return np.asarray(apart & meant[:, np.newaxis])
