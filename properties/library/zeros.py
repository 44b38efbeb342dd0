"""Zeros that should not matter: appended products, a padded K, and the partner of a zero."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.steps import Guarantee
from mmaproof.properties.library.special_case import NothingBesideC, smallest_product
from mmaproof.properties.property import INTEGER, UNSTATED, SimpleProperty, kept_bits
from mmaproof.properties.question import Argument, RunQuestion, Scope, SpecialCase, of_one_step
from mmaproof.properties.settings import changed_to, has_value
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.leaves import Leaves
from mmaproof.smt.bundles.zero_steps import ZeroSteps
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, conjuncts
from mmaproof.smt.proving.laws import LawsInUse
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate
from mmaproof.smt.semantics.datapath import is_of_products
from mmaproof.smt.semantics.patterns import is_finite, same_number, signed_like, unpack, zero
from mmaproof.smt.semantics.terms import ZERO_EXPONENT

_ROUNDED = "its sums are rounded one by one: no exponent of a zero decides an alignment"


class _SameNumber(RunQuestion):
    """Both runs return the same number, where zeros of either sign are the same."""

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether they do."""
        return same_number(algebra, self.design.d_format, results[0].d, results[1].d)


class _ZerosMoved(_SameNumber):
    """Both runs are of a step, and differ in what zero products read alone."""

    @property
    def decides_by_argument(self) -> bool:
        """Whether products are terms of fused sums, have the same scales, and zeros add 0.

        If what is cut of a term depended on the sign of c, a zero of the other sign could add one unit.
        """
        needed = (Guarantee.ALIGNED_SUMS, Guarantee.SINGLE_PRODUCTS, Guarantee.OWN_CUTS)
        return self.blocks <= 1 and self.design.guarantees(*needed)

    def argument(self) -> Argument | None:
        """Return that no exponent of a zero is above that of a product that is not zero."""
        return self._lowest if self.decides_by_argument else None

    def _lowest(self, kernel: Kernel) -> None:
        algebra = TermAlgebra(kernel.environment)
        x, columns = self.symbols(algebra), []
        for fmt in self.formats[:2]:
            least = algebra.unsigned(fmt.encode(Fraction(2) ** fmt.e_min), fmt.bits)
            columns.append([least] * self.k)
        smallest = OperandWords(columns[0], columns[1], x.c, x.scale_a, x.scale_b)
        runs = [(self.design, smallest), *self.runs(algebra, x)]
        steps = [dot_product_accumulate(self.asked(design), algebra, words).steps for design, words in runs]
        if any(len(found) != 1 or not found[0].sums for found in steps):
            raise NotComposedError("products are added in several steps, or rounded")
        ((of_smallest,), *(both)) = steps
        assumed = [Truth(x, algebra) for x in conjuncts(self.formula.violation)][:-1]
        same = partial(same_number, algebra, self.design.d_format)
        least = of_smallest.sums[0].terms[0].exponent
        ZeroSteps(kernel, [found[0] for found in both], least, assumed, same).prove()


class _Appended(_ZerosMoved):
    """A step whose last product or group is (+0) * (+0) returns the same as in a design where zeros take no part."""

    def __init__(self, design: Design, scope: Scope) -> None:
        super().__init__(design, scope)
        self.last = design.step.group_size or 1

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run in which zeros are terms, and the one in which they are not."""
        x, kept = operands, self.k - self.last
        a, b = (
            [*column[:kept], *[zero(algebra, fmt)] * self.last]
            for fmt, column in zip(self.formats[:2], (x.a, x.b), strict=True)
        )
        padded = OperandWords(a, b, x.c, x.scale_a, x.scale_b)
        return (self.design, padded), (_without_zeros(self.design), padded)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether every product, or group, is either not zero or (+0) * (+0)."""
        (_, padded), _ = self.runs(algebra, operands)
        nonzero = self._nonzero(algebra, padded)
        size = self.k // len(nonzero)
        claims = []
        for i, present in enumerate(nonzero):
            run = range(i * size, (i + 1) * size)
            plain = [algebra.is_value(column[k], 0) for column in (padded.a, padded.b) for k in run]
            claims.append(algebra.any_of([present, algebra.all_of(plain)]))
        return algebra.all_of(claims)

    def _nonzero(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> list[Truth[T]]:
        """Return for each product, or group of them, whether it is not zero."""
        if self.design.step.group_size is not None:
            (total, *_) = dot_product_accumulate(self.asked(self.design), algebra, operands).steps[0].sums
            return [
                algebra.negation(algebra.is_value(term.significand, 0))
                for label, term in zip(total.labels, total.terms, strict=True)
                if is_of_products(label)
            ]
        a, b = (
            [unpack(algebra, f, x).zero for x in column]
            for f, column in zip(self.formats[:2], (operands.a, operands.b), strict=True)
        )
        return [algebra.negation(algebra.any_of(pair)) for pair in zip(a, b, strict=True)]

    def special_case(self) -> SpecialCase:
        """Return the question about a step whose products are all zeros."""
        return NothingBesideC(self, 0).as_case()


def _without_zeros(design: Design) -> Design:
    """Return a design in which zero products, or zero groups, take no part."""
    if design.step.group_size is not None:
        return changed_to(design, zero_group="absent")
    return changed_to(design, zero_product="absent")


class AppendedZeros(SimpleProperty):
    """Products (+0) * (+0) do not influence d."""

    name = "appended-zeros"
    feature = "appended products (+0) * (+0) do not matter"
    statement = (
        "d is the same (zeros of either sign) whether or not products (+0) * (+0) take part in e_max, where there is "
        "one and every other product is not zero; of a unit with scaled groups: groups in the place of products"
    )
    witness = "operands with a product (+0) * (+0) whose exponent cuts bits off the others"
    source = "open points 2 and 15; Fasi et al. 2021 set what they do not use to zero"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Return that zeros decide no alignment."""
        return _why_not_aligned(design)

    def mutant(self, design: Design) -> Design:
        """Return a design in which zeros have so high an exponent that fractions are cut, or take no part."""
        if design.step.group_size is not None:
            if not has_value(design, "zero_group", "absent"):
                return design.change(zero_group="absent")
            return design.change(zero_group="e-zero", group_e_zero=kept_bits(design))
        if has_value(design, "zero_product", "e-zero") and design.settings["e_zero"] >= kept_bits(design):
            return design.change(zero_product="absent")
        return design.change(zero_product="e-zero", e_zero=kept_bits(design))

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about one step."""
        return _Appended(design, of_one_step(self.name, design, scope))


def _why_not_aligned(design: Design) -> str | None:
    """Return why no exponent of a zero decides an alignment, None where it may."""
    if design.d_format.is_integer:
        return INTEGER
    if design.guarantees(Guarantee.ROUNDED_OPERATIONS):
        return _ROUNDED
    return None if design.guarantees(Guarantee.ALIGNED_TERMS) else UNSTATED


class _OtherPartner(_ZerosMoved):
    """d is the same whatever finite number a zero is multiplied by."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run with a zero for a[0], and the one with a zero for b[0] too; signs are kept."""
        (a, b, _), x = self.formats, operands
        both = []
        for b0 in (x.b[0], signed_like(algebra, b, x.b[0], 0)):
            zeros = [signed_like(algebra, a, x.a[0], 0), *x.a[1:]]
            both.append((self.design, OperandWords(zeros, [b0, *x.b[1:]], x.c, x.scale_a, x.scale_b)))
        return both

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the partner is finite."""
        return is_finite(algebra, self.formats[1], operands.b[0])

    def special_case(self) -> SpecialCase:
        """Return the question about a step whose other products are zeros."""
        return NothingBesideC(self, 1).as_case()


class ZeroTimesNonzero(SimpleProperty):
    """It does not matter by which finite number a zero is multiplied."""

    name = "zero-times-nonzero"
    feature = "zero times a finite number is like (+0) * (+0)"
    statement = "d is the same (zeros of either sign) for a[0] = +-0 and any finite b[0] as for b[0] = +-0"
    witness = "a zero whose finite partner, by its exponent, cuts bits off the other terms"
    source = "open point 2: publications disagree"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def why_not(self, design: Design) -> str | None:
        """Return that exponents of zeros decide no alignment."""
        return _why_not_aligned(design)

    def mutant(self, design: Design) -> Design:
        """Return a design of the other reading, with 23 fraction bits if it has so many that nothing is cut."""
        if design.step.group_size is not None:
            raise DesignError(f"{design.name}: the elements of a group have no exponents that decide an alignment")
        if _highest_zero(design) <= _lowest_term(design):
            raise DesignError(f"{design.name}: a zero product lies below every other term in any reading")
        if has_value(design, "zero_product", "operand-minus-126"):
            return design.change(zero_product="absent")
        fewer = {"fraction_bits": 23} if kept_bits(design) > 100 else {}
        return design.change(zero_product="operand-minus-126", **fewer)

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about one step."""
        return _OtherPartner(design, of_one_step(self.name, design, scope))


class _Padded(_SameNumber):
    """A further instruction of (+0) * (+0), with the scales of the last one, returns the c that it is given."""

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the run as given, and the one with a further instruction."""
        design, x = self.design, operands
        length = design.padded_length(self.k) + design.k
        a, b = (
            [*column, *[zero(algebra, fmt)] * (length - self.k)]
            for fmt, column in zip(self.formats[:2], (x.a, x.b), strict=True)
        )
        further = design.blocks(design.k)
        scales = [[*s, *s[len(s) - further :]] if s else [] for s in (x.scale_a, x.scale_b)]
        return (design, x), (design, OperandWords(a, b, x.c, *scales))

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite."""
        return self.finite(algebra, operands)

    decides_by_argument = True

    def argument(self) -> Argument | None:
        """Return that a step of zeros returns every c that is a result of the design."""
        return self._neutral

    def _neutral(self, kernel: Kernel) -> None:
        algebra, laws, fmt = TermAlgebra(kernel.environment), LawsInUse(kernel), self.design.d_format
        operands = self.symbols(algebra)
        found = [dot_product_accumulate(self.asked(x), algebra, y) for x, y in self.runs(algebra, operands)]
        count = len(found[0].steps)
        *_, last = found[0].steps
        further = found[1].steps[count:]
        if not further or found[1].steps[count - 1].d.data is not found[0].d.data:
            raise NotComposedError("a further instruction changes those before it")
        if further[0].path.c.step != count - 1:  # c is added once, after the products of an instruction
            further = further[-1:]
        assumed = [Truth(x, algebra) for x in conjuncts(self.formula.precondition)]
        before = found[0].d
        for step in (last, *further):
            self._result(laws, step, assumed)
        for step in further:
            leaves = Leaves(algebra).parts(before)
            same, known = same_number(algebra, fmt, before, step.d), [self._is_result(algebra, before), *assumed]
            leaves.use_of(laws, same, known, "a step of zero products returns the c it is given")
            leaves = Leaves(algebra)
            x, y, z = (leaves.word(w) for w in (found[0].d, before, step.d))
            chain = [same_number(algebra, fmt, p, q) for p, q in ((x, y), (y, z))]
            if before is not found[0].d:
                leaves.use(laws, same_number(algebra, fmt, x, z), chain, "one number after the other")
            before = step.d

    def _is_result(self, algebra: TermAlgebra, d: Word[FNode]) -> Truth[FNode]:
        """Return whether a conversion may give a pattern: its unused bits are zero, and it is not flushed."""
        design, read = self.design, unpack(algebra, self.design.d_format, d)
        unused = unused_bits(design)
        claims = [d.extract(unused - 1, 0).is_value(0) | read.nan] if unused else []
        return algebra.all_of([*claims, *([~read.subnormal] if design.step.subnormals.of_results else [])])

    def _result(self, laws: LawsInUse, step: StepSignals[FNode, FNode], assumed: Sequence[Truth[FNode]]) -> None:
        """Prove that a step returns such a pattern."""
        algebra = TermAlgebra(laws.environment)
        claim = self._is_result(algebra, step.d)
        if claim.data.is_true():
            return
        if not step.sums:
            raise NotComposedError("no sum is converted")
        total = step.sums[-1]
        leaves = Leaves(algebra).parts(total.total, total.e_max, *(t.negative for t in total.terms))
        converted, why = self._is_result(algebra, step.converted), "rho leaves the bits zero that it does not use"
        leaves.use_of(laws, converted, (), why)
        leaves = Leaves(algebra).parts(step.converted)
        leaves.use_of(laws, claim, [converted, *assumed], "a result is a converted sum, an infinity or a NaN")


class PaddedK(SimpleProperty):
    """One more instruction of (+0) * (+0) changes nothing."""

    name = "padded-k"
    feature = "padding K with zeros does not matter"
    statement = (
        "d over K, then K products (+0) * (+0), is d over K, as a number (zeros of either sign), for finite operands; "
        "the added products have the scales of the last instruction"
    )
    witness = "operands whose d changes by an instruction of zero products"
    source = "Fasi et al. 2021, Features of the accumulator: results are kept in fewer bits than they are added with"
    specimen = "volta/mma.m8n8k4.f32.f16.f16.f32"

    def mutant(self, design: Design) -> Design:
        """Return a design that keeps fewer bits of c than d has, or in which zero groups take no part."""
        if design.step.group_size is not None and has_value(design, "zero_group", "scales"):
            return design.change(zero_group="absent")
        if design.step.kept_bits is not None and not design.adds_c_last:
            return design.change(fraction_bits=design.step.conversion.fraction_bits - 3)
        if smallest_product(design) < Fraction(2) ** design.d_format.e_min:
            return design.change(subnormals="accumulator")
        raise DesignError(f"{design.name}: c is added in the output format, which loses nothing beside zero products")

    def question(self, design: Design, scope: Scope) -> RunQuestion:
        """Return the question about the whole instruction, or as many products as ``scope`` says."""
        return _Padded(design, Scope(scope.k or design.k, scope.where, scope.seed))


def _highest_zero(design: Design) -> int:
    """Return the largest exponent that zero times a finite number has under reading A of open point 2."""
    return ZERO_EXPONENT + design.b_format.e_max + (0 if design.scale_format is None else 2 * design.scale_format.e_max)


def _lowest_term(design: Design) -> int:
    """Return a bound of the exponents of nonzero products, and of a nonzero c where it is aligned with them."""
    a, b, c, _ = design.formats
    lowest = a.e_min - a.fraction_bits + b.e_min - b.fraction_bits
    if design.adds_c_last:
        return lowest
    return min(lowest, c.e_min - c.fraction_bits)


def unused_bits(design: Design) -> int:
    """Return how many low bits of a result are zero because rho does not use them. NaNs are excepted."""
    return 0 if design.adds_c_last else design.d_format.fraction_bits - design.step.conversion.fraction_bits
