"""Equivalence of two designs: the same d for the same operands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from mmaproof.designs.arithmetic import repeats_one_step, same_arithmetic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.properties.preconditions import Pattern, Precondition, of_numbers, restricting
from mmaproof.properties.question import Argument, Question
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.aligned_alike_steps import AlignedAlikeSteps, differ_in_alignment
from mmaproof.smt.bundles.in_turn_steps import InTurnSteps
from mmaproof.smt.bundles.leaves import use_equal_results
from mmaproof.smt.bundles.regrouped_steps import RegroupedSteps, is_regrouping
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.proving.sequential import is_rewriting, sequential_lemmas
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results


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

    def are_equal(self, algebra: Algebra[D, T], d: Word[D], e: Word[D]) -> Truth[T]:
        """Return whether two results count as equal."""
        fmt = self.designs[0].d_format
        return equal_results(algebra, fmt, d, e, nan_codes=self.nan_codes, zero_signs=self.zero_signs)

    def is_same_computation(self) -> bool:
        """Return whether both designs are one computation. Subclasses claim something else."""
        return type(self) is Equivalence and same_arithmetic(*self.designs, self.k)

    def lemmas(self) -> Sequence[Lemma]:
        """Return the lemmas for enough fraction bits, or for a sequential T-FDPA."""
        from mmaproof.properties.library.enough_bits import lemmas_of_bits  # noqa: PLC0415  (loads all properties)

        enough = lemmas_of_bits(*self.designs, self.k, self.where)
        if enough:
            return enough
        pair = self.in_turn()
        if pair is None:
            return ()
        fused, sequential = pair
        algebra = TermAlgebra()
        (total,) = dot_product_accumulate(fused, algebra, self.symbols(algebra)).steps[0].sums
        return sequential_lemmas(sequential, total)

    @property
    def decides_by_argument(self) -> bool:
        """Whether integer units group their products otherwise, or readings differ that decide alignment."""
        return type(self) is Equivalence and (
            is_regrouping(*self.designs) or differ_in_alignment(*self.designs, self.k)
        )

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
