"""The bound of a whole plan: its schedule, operation by operation, on magnitudes and errors of matrices.

Every number of a schedule stands for an exact one: a combination of the products of operands, or of their words, and of
c. ``most`` bounds the exact number, from the magnitudes of its terms; ``error`` bounds how far the computed number is
from it. A call of a unit adds what its chain of steps loses (``bound``). An operation outside the unit adds its own
rounding. An addition is an aligned sum of two numbers, jammed, which rounds as the exact one; its lemmas are proved
too. In the end comes what words miss of the operands (``words``), and the products of words that are left out.

Whether what one step loses is proved for a unit: a solver proves each lemma of ``properties.step_loss``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import cache_folder
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import pattern_dtype, values_of
from mmaproof.gemm.programs import schedule as op
from mmaproof.gemm.programs.evaluate import places
from mmaproof.gemm.programs.normal_form import weights_of
from mmaproof.gemm.tolerances.bound import chain_error
from mmaproof.gemm.tolerances.given import Floats, Given, Side, fractions, power_below, product_of
from mmaproof.gemm.tolerances.words import CutSide, NoBoundError, cut_side, least, why_no_words
from mmaproof.properties.property import LemmaVerdict
from mmaproof.properties.step_loss import lemmas_of_loss, lemmas_of_operation, loss_of, rounding_unit, why_no_loss
from mmaproof.smt.proving.lemma import Lemma, decide
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.store import Store
from mmaproof.smt.solving.verdict import Status, StoreError

_OUTWARDS = 1 + 2.0**-40


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A number of a schedule: bounds on the magnitude of the exact one and on the error of the computed one.

    Where ``zero`` holds, both are the number +0.
    """

    most: Floats
    error: Floats
    zero: bool = False

    @property
    def computed(self) -> Floats:
        """A bound on the magnitude of the computed number."""
        return _sum(self.most, self.error)


def _sum(x: Floats, y: Floats) -> Floats:
    """Return at least the sum of two arrays: exactly that where one of them is zero everywhere."""
    if not x.any() or not y.any():
        return x + y
    return (x + y) * _OUTWARDS


def bound_of_schedule(
    schedule: op.Schedule,
    given: Given,
    jobs: int = 1,
    *,
    any_order: bool = False,
    rounded: bool = False,
    cut: Callable[[Side, op.Cut], CutSide] = cut_side,
) -> Floats:
    """Return how far d is from the exact number that the schedule stands for, if the losses of its units are proved.

    Operands of fp32 are rounded, to nearest, where a unit takes narrower ones. With ``rounded`` the exact number is
    that of the operands as rounded to the unit's format, by their first words. ``cut`` says what words are.

    It is infinite where a number may overflow, or a product is an infinity for its unit, and NaN where an infinity or a
    NaN is among the operands of the element. With ``any_order`` the bound holds for every order in which the same
    numbers are added. Nothing is multiplied with a constant then. In any order, a partial sum is at most the sum of all
    magnitudes with all errors, ``whole``, which is checked in the end.
    """
    walk = Walk(schedule, given, jobs, cut)
    walk.in_any_order = any_order
    result, whole = walk.d(None, sized=any_order), None
    if any_order:
        count = sum(isinstance(x, op.Add | op.Convert) for x in schedule.operations)
        widest = max((2.0**-x.fmt.precision for x in schedule.operations if not x.fmt.is_integer), default=0.0)
        whole = (result.computed + 2.0**-100) * (1 + 8 * count * widest)
        result = walk.d(whole, sized=True)
    bound: Floats = np.array(np.broadcast_to(_sum(result.error, walk.left_out(rounded=rounded)), given.shape))
    bound[np.isnan(bound)] = inf
    if whole is not None:
        bound[~(result.computed <= whole)] = inf
    if given.special is not None:
        bound[given.special] = np.nan
    return bound


class Walk:
    """A walk through a schedule, and the words of the operands that its calls multiply."""

    def __init__(self, schedule: op.Schedule, given: Given, jobs: int, cut: Callable[[Side, op.Cut], CutSide]) -> None:
        self.schedule, self.given, self.jobs = schedule, given, jobs
        self.calls = sum(1 for _ in schedule.calls)
        self.whole: Floats | None = None
        """how large a sum, and what is converted, is taken to be at least"""
        self.in_any_order = False
        """whether partial sums are of any of the products"""
        self.unsized: op.Operation | None = None
        """the operation whose magnitude nobody asks for"""
        self._cut = cut
        self._sides: dict[tuple[str, int | None, Format], CutSide] = {}
        self._made: dict[op.Operation, CutSide] = {}
        self._parts: dict[tuple[int, ...], Given] = {}

    def d(self, whole: Floats | None, *, sized: bool) -> Enclosed:
        """Return d; its magnitude is infinite where it need not be ``sized``."""
        operations = self.schedule.operations
        self.whole, self.unsized = whole, None if sized else operations[-1]
        last = {x: i for i, operation in enumerate(operations) for x in op.arguments(operation)}
        held: dict[int, Enclosed] = {}
        for i, operation in enumerate(operations):
            if isinstance(operation, op.Cut):
                continue
            held[i] = _perform(operation, held, self)
            for x in op.arguments(operation):
                if last[x] == i:
                    held.pop(x, None)
        d = held[len(operations) - 1]
        return Enclosed(np.broadcast_to(d.most, self.given.shape), np.broadcast_to(d.error, self.given.shape), d.zero)

    def side(self, name: str, cut: int | None, fmt: Format) -> CutSide:
        """Return the words that an operation cuts ``a`` or ``b`` into; None: elements, rounded to ``fmt``.

        The words of a split depend on their element alone, and are made once.
        """
        if (name, cut, fmt) not in self._sides:
            side, every = self.given.a if name == "a" else self.given.b, tuple(range(self.given.k))
            operation = self.schedule.operations[cut] if cut is not None else None
            if operation is None and fmt != side.fmt:
                operation = op.Split(name, every, fmt, 1, Rounding.RNE, Rounding.RNE, 0)
            if isinstance(operation, op.Split):
                operation = replace(operation, ks=every)
            if not isinstance(operation, op.Cut):
                found = CutSide(every, (side,))
            else:
                found = self._made[operation] if operation in self._made else self._cut(side, operation)
                self._made[operation] = found
            self._sides[name, cut, fmt] = found
        return self._sides[name, cut, fmt]

    def sides(self, call: op.Call) -> tuple[CutSide, CutSide]:
        """Return the words of both operands that a call takes one of each of."""
        cuts = (None if x is None else x.cut for x in (call.a, call.b))
        formats = zip("ab", cuts, (call.unit.a_format, call.unit.b_format), strict=True)
        a, b = (self.side(name, cut, fmt) for name, cut, fmt in formats)
        return a, b

    def part(self, call: op.Call) -> Given:
        """Return what a call multiplies. Of a range of operands all elements along k are alike."""
        sides, words = self.sides(call), (_word(call.a), _word(call.b))
        key = (*map(id, sides), *words, len(call.ks)) if self.given.is_box else None
        if key is None or key not in self._parts:
            a, b = (x.word(i, call.ks) for x, i in zip(sides, words, strict=True))
            found = self.given if a is self.given.a and b is self.given.b else Given(a, b, None)
            if key is None:
                return found
            self._parts[key] = found
        return self._parts[key]

    def left_out(self, *, rounded: bool) -> Floats:
        """Return at least how far the products that calls add up are from the exact ones, if no sum lost anything.

        With w times ``sum u[i]*a[i]`` the sum that stands for a, ``w*u[i]*v[j]`` is what should be added of the product
        of the words i and j. With r and s what these sums miss of a and of b, ``r*b + (a - r)*s`` is missing, too.
        """
        total, fine = np.zeros((1, 1)), self.given.is_fine
        if all(x.left is None for call in self.schedule.calls for x in self.sides(call)):
            return total
        for (a, b), added, ks in self._products():
            whole = added[0, 0] / (a.weights[0] * b.weights[0])
            for i, j in product(range(len(a.words)), range(len(b.words))):
                meant = 0 if rounded and i + j else whole * a.weights[i] * b.weights[j]
                off = _magnitude(added.get((i, j), Fraction(0)) - meant)
                if off.any():
                    total = _sum(total, off * product_of(a.magnitudes(i, ks), b.magnitudes(j, ks), fine=fine))
            if not rounded:
                at = places(ks)
                of_a, of_b = self.given.a.selected(at).magnitudes, self.given.b.selected(at).magnitudes
                r, s = a.missed(ks), b.missed(ks)
                missed = product_of(np.broadcast_to(r, of_a.shape), of_b, fine=fine)
                missed = _sum(missed, product_of(of_a + r, np.broadcast_to(s, of_b.shape), fine=fine))
                total = _sum(total, _magnitude(whole) * missed)
        return total

    def _products(self) -> Iterable[tuple[tuple[CutSide, CutSide], dict[tuple[int, int], Any], list[int]]]:
        """Return the words of elements of k, and what each product of two words is multiplied with where it is added.

        Elements of which the same products are added in the same way come together.
        """
        factors = [_factor(op.Factor(i), self.given) for i in range(self.schedule.factors)]
        weights = weights_of(self.schedule, factors).calls
        calls = {i: x for i, x in enumerate(self.schedule.operations) if isinstance(x, op.Call)}
        of_k: list[list[int]] = [[] for _ in range(self.given.k)]
        for i, call in calls.items():
            for k in call.ks:
                of_k[k].append(i)
        grouped: dict[tuple[int, ...], list[int]] = {}
        for k, taken in enumerate(of_k):
            grouped.setdefault(tuple(taken), []).append(k)
        found: dict[Any, tuple[tuple[CutSide, CutSide], dict[tuple[int, int], Any], list[int]]] = {}
        for those, ks in grouped.items():
            added: dict[tuple[int, int], Any] = {}
            for i in those:
                pair = _word(calls[i].a), _word(calls[i].b)
                added[pair] = added[pair] + weights[i] if pair in added else weights[i]
            sides = self.sides(calls[those[0]])
            alike = all(isinstance(x, Fraction) for x in added.values())
            key = (id(sides[0]), id(sides[1]), *sorted(added.items())) if alike else those
            found.setdefault(key, (sides, added, []))[2].extend(ks)
        return found.values()


def _word(words: op.Words | None) -> int:
    """Return which word of an operand is taken; the operand is its only one where nothing cuts it."""
    return 0 if words is None else words.word


def _magnitude(weight: Any) -> Floats:
    """Return at least the magnitude of a number, or of those of rows."""
    return np.abs(np.asarray(weight, dtype=np.float64)) * (1 + 2.0**-50)


def exact_of_schedule(schedule: op.Schedule, given: Given) -> tuple[Floats, Floats]:
    """Return the exact number that a schedule stands for in float64, and a bound on the error of that.

    Only finite operands are meant. Of operands that are fractions the number is one, without an error.
    """
    dtype = given.a.values.dtype
    factors = [_alike(_factor(op.Factor(i), given), given) for i in range(schedule.factors)]
    weights = weights_of(schedule, factors)
    a, of_c = given.a.values, np.asarray(weights.c, dtype=dtype)
    if any(not isinstance(x, Fraction) or x != 1 for x in weights.products.values()) or len(weights.products) < given.k:
        of_each = [np.atleast_2d(np.asarray(weights.products.get(k, 0), dtype=dtype)) for k in range(given.k)]
        a = a * np.concatenate(np.broadcast_arrays(*of_each), axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        value, size = a @ given.b.values, np.abs(a) @ np.abs(given.b.values)
        if given.c is not None:
            value, size = value + of_c * given.c, size + np.abs(of_c) * np.abs(given.c)
    return value, lost_in_float64(size, schedule.k + 4 * len(schedule.operations), schedule.formats[3])


def lost_in_float64(size: Floats, operations: int, fmt: Format) -> Floats:
    """Return how far a sum in float64 may be from the exact one, ``size`` being the sum of the magnitudes of its terms.

    Nothing is lost of integers that float64 holds.
    """
    lost: Floats = size * (operations * 2.0**-51)
    return np.where(size < 2.0**53, 0.0, lost) if fmt.is_integer else lost


def _perform(operation: op.Operation, held: Mapping[int, Enclosed], walk: Walk) -> Enclosed:
    given, whole, none = walk.given, walk.whole, np.zeros((1, 1))
    match operation:
        case op.Operand():
            found = Enclosed(none if given.c is None else np.abs(given.c), none, given.c is None)
        case op.Zero():
            found = Enclosed(none, none, zero=True)
        case op.Call():
            found = _call(operation, held[operation.c], walk)
        case op.Add(x=x, y=y, fmt=fmt, rounding=rounding):
            found = _added(held[x], held[y], fmt, rounding, whole)
        case op.Multiply(x=x, factor=factor, fmt=fmt):
            by = _constant(factor, fmt) if isinstance(factor, int) else _factor(factor, given)
            found = _rounded(_times(held[x], by), fmt, Rounding.RNE)
        case op.MultiplyAdd(x=x, factor=factor, y=y, fmt=fmt):
            times = _times(held[x], _constant(factor, fmt))
            total = Enclosed(times.most + held[y].most, times.error + held[y].error)
            loss = loss_of(find_design(op.FUSED[fmt.name]))
            cuts = np.maximum(total.computed, 2.0**fmt.e_min) * float(loss.of_products + loss.of_c)
            found = _rounded(replace(total, error=_sum(total.error, cuts)), fmt, Rounding.RNE)
        case op.Convert(x=x, fmt=fmt, rounding=rounding):
            found = held[x] if held[x].zero else _rounded(held[x], fmt, rounding, whole)
        case op.Scale(x=x, places=power, fmt=fmt):
            found = _scaled(held[x], np.full((1, 1), 2.0**power), fmt, exact=power >= 0)
        case op.Weigh(x=x, fmt=fmt):
            found = _weighed(operation, held[x], walk)
        case op.Flush(x=x, fmt=fmt):  # what becomes a zero is below the smallest normal number
            found = held[x] if held[x].zero else replace(held[x], error=held[x].error + 2.0**fmt.e_min)
        case _:
            raise NoBoundError("it computes with residues, of which no bound is composed")
    return found


def _added(x: Enclosed, y: Enclosed, fmt: Format, rounding: Rounding, whole: Floats | None) -> Enclosed:
    if x.zero or y.zero:  # the sum is the other number
        return y if x.zero else x
    return _rounded(Enclosed(x.most + y.most, x.error + y.error), fmt, rounding, whole)


def _times(x: Enclosed, factor: Floats | float) -> Enclosed:
    times = np.abs(np.asarray(factor, dtype=np.float64))
    return Enclosed(x.most * times, x.error * times)


def _alike(factor: Floats, given: Given) -> npt.NDArray[Any]:
    """Return factors as fractions where the operands are fractions."""
    return factor if given.a.values.dtype != object else fractions(factor)


def _factor(factor: op.Factor, given: Given) -> Floats:
    """Return the factors of the rows that are operands, (m, 1); those that are not numbers are zeros."""
    if given.factors is None:
        raise ValueError("factors are operands, and none are given")
    found = given.factors[:, factor.index : factor.index + 1]
    return np.where(np.isfinite(found), found, 0.0)


def _call(call: op.Call, start: Enclosed, walk: Walk) -> Enclosed:
    sides, part = walk.sides(call), walk.part(call)
    begins = None if start.zero else np.broadcast_to(start.computed, part.shape)
    error = _sum(start.error, chain_error(call.unit, part, begins, walk.jobs, walk.calls))
    for special, x in zip((sides[0].special[:, None], sides[1].special), sides, strict=True):
        if x.left is not None and special.any():
            error = np.where(special, inf, error)
    if call is walk.unsized:
        return Enclosed(np.full((1, 1), inf), error)
    return Enclosed(_sum(start.most, part.size if walk.in_any_order else part.reach), error)


def _weighed(operation: op.Weigh, x: Enclosed, walk: Walk) -> Enclosed:
    """Return a sum of products of slices times the powers of rows and columns, as a number of another format."""
    fmt, source = operation.fmt, walk.schedule.operations[operation.x].fmt
    a, b = walk.side("a", operation.a, fmt).powers, walk.side("b", operation.b, fmt).powers
    if a is None or b is None:
        raise TypeError(f"{operation} weighs no slices")
    times = 2.0**operation.places * a * b
    if not source.is_integer:
        if source.precision > fmt.precision:
            return _rounded(_times(x, times), fmt, Rounding.RNE)
        return _scaled(x, times, fmt, exact=False)
    # an integer of as many bits as there are digits is exact if its last bit is
    exact = (x.computed <= 2.0**fmt.precision) & (times >= float(least(fmt)))
    found = _scaled(x, times, fmt, exact=True)
    return replace(found, error=np.where(exact, found.error, _rounded(_times(x, times), fmt, Rounding.RNE).error))


def _scaled(x: Enclosed, times: Floats, fmt: Format, *, exact: bool) -> Enclosed:
    """Return a number times powers of two, which loses nothing but bits below the least number, if it is not exact."""
    found = _times(x, times)
    error = found.error if exact or x.zero else _sum(found.error, np.full((1, 1), float(least(fmt)) / 2))
    return Enclosed(found.most, np.where(found.computed <= float(fmt.largest), error, inf), x.zero)


def _rounded(x: Enclosed, fmt: Format, rounding: Rounding | Stochastic, whole: Floats | None = None) -> Enclosed:
    """Return a number rounded to ``fmt``. It is taken to be as large as ``whole``, where this is given."""
    size = x.computed if whole is None else np.maximum(x.computed, whole)
    if fmt.is_integer:  # sums of integers are exact in the register
        beyond = size > float(fmt.largest)
        return Enclosed(x.most, np.where(beyond, inf, x.error))
    unit = float(rounding_unit(rounding, fmt.fraction_bits))
    computed = size * (1 + 4 * unit) + 2.0 ** (fmt.e_min - fmt.fraction_bits)
    power = np.maximum(power_below(np.ascontiguousarray(computed)), 2.0**fmt.e_min)
    with np.errstate(invalid="ignore"):  # infinities stay
        error = (x.error + power * unit) * _OUTWARDS
    return Enclosed(x.most, np.where(computed <= float(fmt.largest), error, inf))


def _constant(pattern: int, fmt: Format) -> float:
    return float(values_of(np.array(pattern, dtype=pattern_dtype(fmt)), fmt))


def outside(schedule: op.Schedule) -> Iterator[tuple[str, Format, Format, Rounding | Stochastic]]:
    """Yield the operations outside units, as ``lemmas_of_operation`` has them, each once."""
    seen = set()
    for operation in schedule.operations:
        match operation:
            case op.Add(fmt=fmt, rounding=rounding):
                found: list[tuple[str, Format, Format, Rounding | Stochastic]] = [("addition", fmt, fmt, rounding)]
            case op.Multiply(fmt=fmt):
                found = [("product", fmt, fmt, Rounding.RNE)]
            case op.Convert(x=x, fmt=fmt, rounding=rounding):
                found = [("conversion", fmt, schedule.operations[x].fmt, rounding)]
            case op.Split(fmt=fmt, count=count):
                roundings = [operation.rounding, *[operation.residual_rounding] * (count > 1)]
                found = [("conversion", fmt, op.FP32, x) for x in roundings if not fmt.holds(op.FP32)]
                found += [("addition", op.FP32, op.FP32, Rounding.RNE)] * (count > 1)
            case _:
                continue
        for one in found:
            if one not in seen and not one[1].is_integer:
                seen.add(one)
                yield one


def units(schedule: op.Schedule) -> dict[str, Design]:
    """Return the designs whose steps a schedule computes with, by name."""
    found = {x.unit.name: x.unit for x in schedule.calls}
    for operation in schedule.operations:
        if isinstance(operation, op.MultiplyAdd):
            design = find_design(op.FUSED[operation.fmt.name])
            found[design.name] = design
    return found


LIMITS = Limits(seconds=120, memory_bytes=4 << 30)
STORE_VARIABLE = "MMAPROOF_STORE"


@dataclass(frozen=True, slots=True)
class LossProof:
    """Whether the loss of one step is proved. ``reason`` says by what, or why it is not.

    ``undecided`` says that a solver did not answer in time. Without it and without a proof, there is nothing to prove.
    """

    proved: bool
    reason: str
    seconds: float = 0.0
    lemmas: tuple[LemmaVerdict, ...] = ()
    undecided: bool = False


@lru_cache(maxsize=256)
def prove_loss(design: Design, solving: Solving | None = None, limits: Limits = LIMITS) -> LossProof:
    """Decide the lemmas of the loss of one step. All of them must be proved, and each must have a model.

    ``solving`` is None for the default solver with the store of answers that the commands use. Raises what
    ``Solving.of`` raises for a store or a solver that cannot be used.
    """
    reason = why_no_loss(design)
    if reason is not None:
        return LossProof(False, reason)
    if design.d_format.is_integer:
        return LossProof(True, "its sums are exact integers where the register holds them")
    return _decided(lemmas_of_loss(design), solving, limits)


@lru_cache(maxsize=256)
def prove_operation(
    kind: str,
    fmt: Format,
    source: Format,
    rounding: Rounding | Stochastic,
    solving: Solving | None = None,
    limits: Limits = LIMITS,
) -> LossProof:
    """Decide the lemmas about an operation outside a unit, as ``lemmas_of_operation`` has them."""
    return _decided(lemmas_of_operation(kind, fmt, source, rounding), solving, limits)


def prove_schedule(schedule: op.Schedule, solving: Solving | None = None, limits: Limits = LIMITS) -> LossProof:
    """Decide everything that the bound of a schedule rests on: the steps of its units and the operations outside.

    What is not proved ends it: nothing more is asked then, and nothing at all of words that have no bound.
    """
    reasons = filter(None, map(why_no_words, schedule.operations))
    if (reason := next(reasons, None)) is not None:
        return LossProof(False, reason)
    proofs: list[LossProof] = []
    questions = list(_questions(schedule))
    if len(questions) == 1:
        return questions[0][1](solving, limits)
    for name, decided in questions:
        proof = decided(solving, limits)
        # the seconds of a proof that is held in memory are those that it took once, so that the next is found there too
        limits = limits.after(proof.seconds, "lemmas")
        proofs.append(proof)
        lemmas, seconds = tuple(y for x in proofs for y in x.lemmas), sum(x.seconds for x in proofs)
        if not proof.proved:
            return LossProof(False, f"{name}{proof.reason}", seconds, lemmas, proof.undecided)
    text = f"{len(lemmas)} lemmas about the steps of its units and about operations outside them"
    return LossProof(True, text, seconds, lemmas)


def _questions(schedule: op.Schedule) -> Iterator[tuple[str, Callable[[Solving | None, Limits], LossProof]]]:
    """Yield what a schedule rests on: words for what it is of, and what decides it."""
    for name, design in units(schedule).items():
        yield f"of {name}: ", partial(prove_loss, design)
    for kind, fmt, source, rounding in outside(schedule):
        name = f"of the {kind} of {source.name} in {fmt.name} ({rounding}): "
        yield name, partial(prove_operation, kind, fmt, source, rounding)


def _decided(lemmas: Sequence[Lemma], solving: Solving | None, limits: Limits) -> LossProof:
    started, left = worked(), limits
    means = Solving.of(default_solving() if solving is None else solving)
    found: list[LemmaVerdict] = []
    for lemma in lemmas:
        began = worked()
        verdict = LemmaVerdict.of(lemma.name, decide(lemma, means.ask, left))
        left = left.after(worked() - began, "lemmas")
        found.append(verdict)
        if verdict.status is not Status.PROVED:
            seconds = worked() - started
            why = verdict.reason or verdict.status.value
            text = f"the lemma {lemma.name!r} is not proved: {why}"
            return LossProof(False, text, seconds, tuple(found), verdict.status is Status.UNKNOWN)
    solvers = ", ".join(sorted({str(x.solver) for x in found if x.solver is not None}))
    return LossProof(True, f"{len(found)} lemmas proved by {solvers}", worked() - started, tuple(found))


def default_solving() -> Solving:
    """Return the default solver, with the file of answers that the commands use where it can be used."""
    named = os.environ.get(STORE_VARIABLE)
    if named == "":
        return Solving()
    try:
        file = Path(named) if named else cache_folder() / "answers.sqlite"
        file.parent.mkdir(parents=True, exist_ok=True)
        Store(file).check()
    except (InputError, StoreError, OSError):
        if named:
            raise
        return Solving()
    return Solving(store=file)
