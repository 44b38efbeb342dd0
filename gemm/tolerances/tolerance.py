"""The tolerance of a matrix product: what its result may differ from the exact one, proved or statistically.

Whether results are within bounds: the one comparison of assertions, of diagnoses and of faults that are counted.

A finite number alone is within a finite bound. float64 decides wherever the error is farther from the bound than what
float64 loses of the exact result; a bound that is closer (of units of fp64, for example) is decided on fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.formats import Format
from mmaproof.designs.open_points import OpenReading, open_readings
from mmaproof.designs.operands import Patterns, array_of, pattern_dtype, patterns_of
from mmaproof.gemm.programs import Plan, Schedule
from mmaproof.gemm.programs.named import find_plan
from mmaproof.gemm.programs.parts import ASCENDING
from mmaproof.gemm.programs.schedule import Residues
from mmaproof.gemm.tolerances.bound import flushed_products
from mmaproof.gemm.tolerances.derivation import Derivation, Maximum, NotDerivedError, derive
from mmaproof.gemm.tolerances.given import Box, Floats, Given, Side, fractions, rounded_up
from mmaproof.gemm.tolerances.statistical import Quantile, measured_quantile
from mmaproof.gemm.tolerances.walk import LIMITS, LossProof, bound_of_schedule, exact_of_schedule, prove_schedule
from mmaproof.hardware_replay.emulation import matmul
from mmaproof.properties import preconditions as pre
from mmaproof.properties.step_loss import StepLoss, loss_of, why_no_loss
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving


class NothingProvedError(InputError):
    """Nothing is proved about the error. The text says why."""


@dataclass(frozen=True, slots=True)
class TwoNumbers:
    """``|d - exact| <= atol + rtol * |exact|`` for all operands of a range."""

    rtol: float
    atol: float

    def __iter__(self):  # type: ignore[no-untyped-def]  # a pair can be unpacked
        return iter((self.rtol, self.atol))


@dataclass(frozen=True)
class Tolerance:
    """The tolerance of products of ``k`` elements on ``plan``.

    ``where`` restricts the operands of ``rtol_atol``. Whether anything is proved is decided when it is first asked for.
    """

    plan: Plan
    k: int
    where: tuple[pre.Precondition, ...] = ()
    solving: Solving | None = None
    limits: Limits = LIMITS

    def __repr__(self) -> str:
        return f"<tolerance of {', '.join([self.plan.name, f'k = {self.k}', *map(str, self.where)])}>"

    @cached_property
    def proof(self) -> LossProof:
        """Whether the loss of one step is proved, and by what; a solver is asked the first time."""
        if self.plan.has_open_order and self.plan.scales_sum:
            return LossProof(False, "its order of additions is not determined, and sums are multiplied with constants")
        if any(isinstance(x, Residues) for x in self.schedule.operations):
            return LossProof(False, f"no bound of {self.plan.label} is composed: it computes with residues")
        return prove_schedule(self.schedule, self.solving, self.limits)

    @cached_property
    def schedule(self) -> Schedule:
        """The operations for this k.

        An order that is not determined is ascending here; the bound is for all of them.
        """
        return self.plan.with_open_orders(ASCENDING).schedule(self.k)

    @property
    def unit(self) -> Design:
        """The unit."""
        return self.plan.unit

    @cached_property
    def open_points(self) -> tuple[OpenReading, ...]:
        """The open readings of the unit under which a step loses another part of its sum, so that the bound is another.

        Readings of more points are left out where a reading of some of these changes it already.
        """
        if self.unit.d_format.is_integer:
            return ()
        own, found = _loss(self.unit), list[OpenReading]()
        for reading in open_readings(self.unit):
            if _loss(reading.design) != own and not any(set(x.points) <= set(reading.points) for x in found):
                found.append(reading)
        return tuple(found)

    @property
    def proved(self) -> bool:
        """Whether there is a proved bound."""
        return self.proof.proved

    def bound(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        scale_a: npt.ArrayLike | None = None,
        scale_b: npt.ArrayLike | None = None,
        factors: npt.ArrayLike | None = None,
        *,
        jobs: int = 2,
    ) -> Floats:
        """Return an array of shape (M, N) with ``|d - (c + a @ b)| <= bound`` for each element. It is proved.

        Operands are as those of ``mmaproof.matmul``: a (M, K), b (K, N), c (M, N) or None for zeros, scales of blocks
        (M, blocks) and (blocks, N), factors that are operands (M, count). The bound is
        infinite where a number may overflow: nothing is proved there. It is NaN where an infinity or a NaN is among the
        operands of an element. Integer units have the bound 0, or infinity where the register may not hold the sum.

        Raises NothingProvedError if the loss of a step is not proved for the unit, OperandError where types or shapes
        do not fit, and DesignError for a K that the unit cannot run.
        """
        if not isinstance(jobs, int) or jobs < 1:
            raise InputError(f"jobs = {jobs!r}: a number of threads, at least 1")
        self.require_proof()
        return self.bound_of(self.given(a, b, c, scale_a, scale_b, factors), jobs)

    def bound_of(self, given: Given, jobs: int = 2) -> Floats:
        """Return the bound of operands that were read. It means nothing where ``proved`` is false."""
        return bound_of_schedule(self.schedule, given, jobs, any_order=self.plan.has_open_order)

    def exact_of(self, given: Given) -> tuple[Floats, Floats]:
        """Return the exact results in float64, and bounds on what float64 loses of them.

        They mean nothing where an operand is an infinity or a NaN.
        """
        return exact_of_schedule(self.schedule, given)

    def emulate(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        scale_a: npt.ArrayLike | None = None,
        scale_b: npt.ArrayLike | None = None,
        factors: npt.ArrayLike | None = None,
        *,
        jobs: int = 2,
    ) -> Patterns:
        """Return the patterns of d as the plan computes them. Raises as ``mmaproof.matmul``."""
        found = matmul(self.plan, a, b, c, scale_a, scale_b, factors=factors, jobs=jobs)
        return patterns_of(found, self.plan.formats[3])

    def given(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike | None = None,
        scale_a: npt.ArrayLike | None = None,
        scale_b: npt.ArrayLike | None = None,
        factors: npt.ArrayLike | None = None,
    ) -> Given:
        """Return operands that were checked. Raises OperandError and DesignError as ``bound``."""
        given = Given.of(self.plan, a, b, c, scale_a, scale_b, factors)
        if given.k != self.k:
            raise OperandError(f"a has {given.k} elements along k, and this tolerance is of k = {self.k}")
        return given

    def require_proof(self) -> None:
        """Raise NothingProvedError unless the loss of one step is proved."""
        if not self.proof.proved:
            raise NothingProvedError(f"nothing is proved about the error of {self.plan.name}: {self.proof.reason}")

    def rtol_atol(self, *where: pre.Precondition | str) -> TwoNumbers:
        """Return two numbers for all operands that satisfy ``where``, and those that the tolerance was made with.

        ``exponents=LO..HI`` is needed: the exponents of a, b and c. ``c=0`` says that c is zero. With ``positive`` the
        sum has the size of its terms, so that a part of the error of a unit is relative to it. Otherwise rtol is 0,
        because a sum that cancels has the error of its terms.

        Raises NothingProvedError where nothing is proved or a number of the range may overflow, InputError for
        conditions that give no largest number.
        """
        self.require_proof()
        box, (_, top) = self._box_of(where), self._exponents_of(where)
        bound = self._bound_of_box(box)
        if not bound < inf:
            raise NothingProvedError(f"a number may overflow for exponents up to {top} and k = {self.k}")
        one_sign = any(isinstance(x, pre.Positive) for x in self._conditions(where))
        if one_sign and self.plan.is_unit and not self.unit.d_format.is_integer:
            rtol, atol = self._relative(box)
        else:
            rtol, atol = Fraction(0), Fraction(bound)
        return TwoNumbers(rounded_up(rtol), rounded_up(atol))

    def quantile(
        self,
        p: float,
        distribution: str = "normal",
        *,
        confidence: float = 0.95,
        samples: int = 100_000,
        seed: int = 0,
    ) -> Quantile:
        """Return a statistical tolerance: the p-quantile of errors of random operands, with its confidence interval.

        Nothing is proved by it. It is measured on the emulated unit with independent dot products of random operands
        (``gemm.answers.matrices`` lists the distributions). Raises InputError for numbers out of range, and for
        units of fp64 and of integers.
        """
        return measured_quantile(self.plan, self.k, p, distribution, confidence, samples, seed)

    def largest_operands(self, *where: pre.Precondition | str) -> tuple[int, int, int | None]:
        """Return the patterns of the largest a, b and c of ``where`` and ``self.where``; None for a c that is zero.

        Raises as ``rtol_atol``.
        """
        _, top = self._exponents_of(where)
        a, b, c = (_largest(x, top) for x in self.plan.formats[:3])
        return a, b, None if any(isinstance(x, pre.ZeroAccumulator) for x in self._conditions(where)) else c

    def bound_of_all(self, *where: pre.Precondition | str) -> float:
        """Return the bound of all operands of ``where``; if it is finite, no number of any of them overflows.

        It means nothing where ``proved`` is false. Raises as ``rtol_atol``.
        """
        return self._bound_of_box(self._box_of(where))

    def derivation(self, *where: pre.Precondition | str) -> Derivation:
        """Return the derivation of a bound of all operands of ``where``, from lemmas, in rationals.

        It means nothing unless its lemmas are proved. Raises as ``rtol_atol``, and NotDerivedError for plans that no
        rule is about, and where a number may overflow.
        """
        low, _ = self._exponents_of(where)
        if self.plan.has_open_order:
            raise NotDerivedError("its order of additions is not determined")
        a, b, c = self.largest_operands(*where)
        a_format, b_format, c_format, _ = self.plan.formats
        # numbers of at least 2**low are multiples of their last bits
        x, y = (Maximum(f, most, max(low, f.e_min) - f.fraction_bits) for f, most in ((a_format, a), (b_format, b)))
        start = None if c is None else Maximum(c_format, c, max(low, c_format.e_min) - c_format.fraction_bits)
        return derive(self.schedule, x, y, start)

    def _bound_of_box(self, box: Given) -> float:
        return float(self.bound_of(box)[0, 0])

    def _conditions(self, where: Sequence[pre.Precondition | str]) -> tuple[pre.Precondition, ...]:
        return *self.where, *pre.preconditions_of(where)

    def _exponents_of(self, where: Sequence[pre.Precondition | str]) -> tuple[int, int]:
        """Return the smallest and the largest exponent."""
        conditions = self._conditions(where)
        exponents = [x for x in conditions if isinstance(x, pre.Exponents)]
        if not exponents:
            raise InputError("a range of exponents is needed: exponents=LO..HI, such as exponents=-8..2")
        low, top = max(x.low for x in exponents), min(x.high for x in exponents)
        if low > top:
            both = " and ".join(map(str, exponents))
            raise InputError(f"{both} have no exponent in common: no operands but zeros are left")
        pre.restricting(conditions, self.plan.formats[:3])
        if self.unit.scale_format is not None:
            raise InputError(f"{self.plan.name} has scales, of which exponents=LO..HI says nothing: use bound(a, b, c)")
        if self.plan.has_factors:
            raise InputError(f"{self.plan.name} has factors that are operands: use bound(a, b, c, factors=...)")
        return low, top

    def _box_of(self, where: Sequence[pre.Precondition | str]) -> Given:
        """Return one element whose operands stand for all of ``where``.

        A bound takes magnitudes, exponents, one over last bits, what is flushed, and the magnitude of c. Each of these
        is as large as for any operands of the range, so the argument of the bound holds for all of them.
        """
        (low, top), (a, b, c) = self._exponents_of(where), self.largest_operands(*where)
        normal = any(isinstance(x, pre.Normal) for x in self._conditions(where))
        (a_format, b_format, c_format, _), shape = self.plan.formats, (1, self.k)
        left = array_of(np.full(shape, a, dtype=pattern_dtype(a_format)), a_format)
        right = array_of(np.full(shape[::-1], b, dtype=pattern_dtype(b_format)), b_format)
        start = None if c is None else array_of(np.full((1, 1), c, dtype=pattern_dtype(c_format)), c_format)
        given = Given.of(self.plan, left, right, start)
        if a_format.is_integer or b_format.is_integer:
            return given
        lows = (max(low, x.e_min) if normal else low for x in (a_format, b_format))
        of_a, of_b = (
            replace(x, box=_box(x.fmt, least, top)) for x, least in zip((given.a, given.b), lows, strict=True)
        )
        return replace(given, a=of_a, b=of_b)

    def _relative(self, box: Given) -> tuple[Fraction, Fraction]:
        """Return both numbers for operands of one sign: the sum of the magnitudes is the exact result."""
        unit = self.unit.configured(self.k)
        loss, every = loss_of(unit), slice(None)
        steps = -(-unit.padded_length(self.k) // loss.products)
        read, most = (
            Fraction(float(x[0, 0])) * Fraction(float(y[0, 0]))
            for x, y in (
                (box.a.largest_power(every, False), box.b.largest_power(every, False)),
                (box.a.largest(every), box.b.largest(every)),
            )
        )
        power, own = max(read * 2**loss.excess, Fraction(2) ** loss.least_exponent), loss.products * most
        smallest = Fraction(2) ** unit.d_format.e_min
        slope = loss.of_sums + loss.rounded_sums + 4 * loss.rounded_c
        if slope >= 1:
            raise NothingProvedError(f"the sums of one step lose too much for a bound in {unit.name}")
        within = (own + (loss.of_products + loss.of_sums) * power + loss.flushed + smallest) / (1 - slope)
        fixed = loss.of_products * power + loss.flushed + loss.of_sums * max(power, within)
        fixed += loss.rounded_sums * max(within, smallest)
        others = fixed + loss.of_c * power + 2 * loss.rounded_c * smallest
        growth = steps * (loss.of_c + loss.rounded_c) + 4 * loss.rounded_c
        if growth >= 1:
            raise NothingProvedError(f"{steps} steps may lose more than their sum: rtol would be above 1")
        rtol = growth / (1 - growth)
        # operands that are read as zeros are not part of what the unit sums up
        return rtol, (steps * others + Fraction(flushed_products(unit, box)[0, 0])) * (1 + rtol)


def tolerance(
    plan: Design | Plan | str,
    k: int,
    where: str | pre.Precondition | Sequence[str | pre.Precondition] = (),
    *,
    solving: Solving | None = None,
    limits: Limits | float = LIMITS,
) -> Tolerance:
    """Return the tolerance of products of length ``k`` on ``plan``: a plan, a design, or how either is spelled.

    ``where`` are conditions on operands, as the option ``--where`` spells them. ``limits``, or a number of seconds, are
    for each proof. Raises DesignError for a name that is
    not known and a k that the unit cannot run, InputError for a condition that is not known.

    >>> import mmaproof
    >>> mmaproof.tolerance("hopper/wgmma.f32.f16.f16", 64, "exponents=-8..2").rtol_atol().atol < 1
    True
    """
    found = find_plan(plan)
    if isinstance(k, bool) or not isinstance(k, int):
        raise InputError(f"k = {k!r}: the length of the dot products is an integer")
    found.with_open_orders(ASCENDING).schedule(k)
    return Tolerance(found, k, pre.preconditions_of(where), solving, Limits.of(limits))


def _loss(unit: Design) -> StepLoss | None:
    """Return what a step loses; None where nothing is known of it."""
    return loss_of(unit) if why_no_loss(unit) is None else None


def _largest(fmt: Format, top: int) -> int:
    """Return the pattern of a number of a format with the largest magnitude whose exponent is at most ``top``."""
    if fmt.is_integer:
        if fmt.signed and top >= fmt.bits - 1:  # the most negative one
            return 1 << (fmt.bits - 1)
        return fmt.encode(min(fmt.largest, max(Fraction(2) ** (top + 1) - 1, Fraction(0))))
    unit = Fraction(2) ** (max(top, fmt.e_min) - fmt.fraction_bits)
    units = int(max(Fraction(2) ** (top + 1) - unit, Fraction(0)) / unit)
    below = units * unit
    return fmt.encode(below if below < fmt.largest else fmt.largest)


def _box(fmt: Format, low: int, top: int) -> Box:
    """Return what numbers of a format are whose exponents lie in a range."""
    subnormal = 2.0 ** min(fmt.e_min, top + 1) if low < fmt.e_min else 0.0
    return Box(2.0 ** (max(low, fmt.e_min) - fmt.fraction_bits), subnormal)


Truths = npt.NDArray[np.bool_]


class _Rational(Side):
    """A factor whose values are fractions."""

    @property
    def values(self) -> npt.NDArray[Any]:  # objects, of which NumPy computes exactly
        return fractions(super().values)


def errors_of(values: Floats, exact: Floats) -> Floats:
    """Return ``|values - exact|`` in float64; infinite where one of them is not a number."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(values - exact)
    return np.where(np.isfinite(values) & ~np.isnan(errors), errors, np.inf)


def within(values: Floats, exact: Floats, beyond: Floats, bounds: Floats) -> tuple[Truths, Truths]:
    """Return which of the values are within their bounds, and for which float64 does not tell.

    ``exact`` are the exact results up to ``beyond``. What has no finite bound is neither.
    """
    finite, errors = np.isfinite(values) & np.isfinite(bounds), errors_of(values, exact)
    with np.errstate(invalid="ignore", over="ignore"):
        unknown = beyond + errors * 2.0**-51
        inside = finite & (errors + unknown <= bounds)
        outside = errors - unknown > bounds
    return inside, finite & ~inside & ~outside


def is_within(tolerance: Tolerance, given: Given, values: Floats, bounds: Floats) -> Truths:
    """Return which values of a result, shape (m, n), are within their bounds. Nothing is within an infinite one."""
    exact, beyond = tolerance.exact_of(given)
    inside, unsure = within(values, exact, beyond, bounds)
    for row in np.flatnonzero(unsure.any(axis=1)):
        at = np.ix_([row], np.flatnonzero(unsure[row]))
        exactly, _ = tolerance.exact_of(_rational(given, *at))
        inside[at] = np.abs(fractions(values[at]) - exactly) <= fractions(bounds[at])
    return inside


def _rational(given: Given, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Given:
    """Return the operands of some rows and columns as fractions; those of finite results are finite."""
    sides = []
    for side, at in ((given.a, np.s_[rows.ravel()]), (given.b, np.s_[:, columns.ravel()])):
        scales = None if side.scales is None else side.scales[at]
        sides.append(_Rational(side.fmt, side.patterns[at], side.along, side.scale_format, scales, side.block))
    c = None if given.c is None else fractions(given.c[rows, columns])
    factors = None if given.factors is None else given.factors[rows.ravel()]
    return replace(given, a=sides[0], b=sides[1], c=c, factors=factors)
