"""Plans on concrete operands: one element on integers, whole matrices with native code for the unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, check_scales
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.gemm.programs import schedule as op
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.arithmetic import Arithmetic, Cutting, Number, Span, Step
from mmaproof.gemm.programs.named import find_gemm
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.program import Elements, Values, cut, perform, run
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import ARRAYS, CHUNK_ROWS, evaluate_batch, product_natively
from mmaproof.smt.native.paying import MATRICES, accounted
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate

if TYPE_CHECKING:
    from mmaproof.smt.native.matrices import Matrices

_INTEGERS = IntegerAlgebra()
_FP32 = FORMATS["fp32"]

TILE_ROWS, TILE_COLUMNS = 256, 256
"""Elements of the result that are computed at once. Their arrays of 512 KiB are long enough for NumPy to dominate."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The pattern of d of a plan on one element, and every operation on the way."""

    d: int
    steps: Sequence[Step[int]]


def as_number(fmt: Format, word: Word[Any]) -> Number[Any]:
    """Return a pattern as an operand of a plan."""
    return Number(fmt, word, Span.of_format(fmt))


def check_operands(plan: Plan, operands: Operands, factors: Sequence[int] = ()) -> None:
    """Raise OperandError for operands that do not fit the formats of a plan, and for factors, which are of fp32."""
    a, b, c, _ = plan.formats
    if len(operands.a) != len(operands.b):
        raise OperandError(f"a has {len(operands.a)} elements and b has {len(operands.b)}: they must be as many")
    if not operands.a:
        raise OperandError("a and b have no elements: one or more are needed")
    check_scales(plan, len(operands), len(operands.scale_a), len(operands.scale_b))
    require_factors(plan, len(operands), len(factors))
    columns = [("a", a, operands.a), ("b", b, operands.b), ("c", c, (operands.c,)), ("factors", _FP32, tuple(factors))]
    if plan.scale_format is not None:
        columns += [
            (n, plan.scale_format, x) for n, x in (("scale_a", operands.scale_a), ("scale_b", operands.scale_b))
        ]
    for name, fmt, column in columns:
        for i, pattern in enumerate(column):
            if not 0 <= pattern < 1 << fmt.bits:
                raise OperandError(f"{name}[{i}] = {pattern:#x} is too wide for {fmt.name} ({fmt.bits} bits)")
            _check_finite(plan, fmt, pattern)


def require_factors(plan: Plan, k: int, given: int) -> None:
    """Raise OperandError for another number of factors than are operands of a plan for ``k`` elements."""
    wanted = plan.schedule(max(k, 1)).factors if plan.has_factors else 0
    if given == wanted:
        return
    if not wanted:
        raise OperandError(f"{plan.name} takes no factors, {given} given: rescale=N:operand makes them operands")
    raise OperandError(f"{plan.name} takes {wanted} factors for k = {k}, one for each rescaling; {given} given")


def require_random(plan: Plan, given: bool) -> None:
    """Raise OperandError where random bits are missing, or a plan takes none."""
    if given and not plan.random_bits:
        raise OperandError(f"{plan.name} takes no random bits: out=FORMAT:sr8 does")
    if plan.random_bits and not given:
        takes = f"takes {plan.random_bits} random bits for each element"
        raise OperandError(f"{plan.name} {takes}: give them (random), or state a constant, such as sr8@0x5a")


def _check_finite(plan: Plan, fmt: Format, pattern: int) -> None:
    """Raise OperandError for a pattern that has no meaning for the plan's algorithm."""
    if plan.finite_only and pattern & ((1 << fmt.sign_position) - 1) > fmt.max_finite:
        raise OperandError(f"{fmt.hex(pattern)} is not finite: {plan.name} has no meaning for it")


def trace(plan: Plan, operands: Operands, factors: Sequence[int] = ()) -> Trace:
    """Return result and operations of a plan on one element, computed on integers.

    ``factors`` are patterns of fp32, for a plan whose factors are operands. Random bits are those that the plan states.
    Raises DesignError where the plan cannot be computed for N elements, OperandError for bad operands.
    """
    require_random(plan, given=False)
    schedule = plan.schedule(max(len(operands), 1))
    check_operands(plan, operands, factors)
    arithmetic = Arithmetic(_INTEGERS, record=True)

    def numbers(fmt: Format | None, patterns: Sequence[int]) -> list[Number[int]]:
        return [] if fmt is None else [as_number(fmt, _INTEGERS.unsigned(x, fmt.bits)) for x in patterns]

    a, b, c, _ = plan.formats
    scales = numbers(plan.scale_format, operands.scale_a), numbers(plan.scale_format, operands.scale_b)
    (start,) = numbers(c, [operands.c])
    elements = Elements(numbers(a, operands.a), numbers(b, operands.b), start, scales, numbers(_FP32, factors))
    d = run(arithmetic, schedule, elements)
    return Trace(d.word.data, arithmetic.steps)


def multiply(program: Algorithm | Plan | str, unit: Design | str, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
    """Return the patterns of ``C + A B``, shape (m, n), as an algorithm computes each element on a unit.

    Both may be given by name. ``a`` has shape (m, k), ``b`` (k, n), ``c`` (m, n): patterns of fp32. Raises DesignError
    where the algorithm does not run on ``unit`` or k does not fit, OperandError for shapes that do not fit each other.

    >>> import numpy as np, mmaproof
    >>> ones = np.full((4, 4), 0x3F800000, np.uint32)
    >>> unit, a, b = "ampere/m16n8k16.f32.bf16.bf16.f32", np.tile(ones, (1, 4)), np.tile(ones, (4, 1))
    >>> hex(mmaproof.multiply("bf16x3", unit, a, b, ones)[0, 0])
    '0x41880000'
    """
    return multiply_plan(find_gemm(program, unit), a, b, c)


def multiply_plan(
    plan: Plan,
    a: Patterns,
    b: Patterns,
    c: Patterns | None = None,
    scale_a: Patterns | None = None,
    scale_b: Patterns | None = None,
    *,
    factors: Patterns | None = None,
    random: Patterns | None = None,
    jobs: int = 1,
    backend: Backend | str | None = None,
) -> Patterns:
    """Return the patterns of d, shape (m, n), as a plan computes each element.

    ``a`` has shape (m, k), ``b`` (k, n) and ``c`` (m, n): patterns of ``plan.formats``; None for c means +0. The scales
    of blocks have shapes (m, blocks) and (blocks, n), and ``factors``, patterns of fp32 for a plan whose factors are
    operands, (m, count). ``random`` are the random bits of each element, (m, n). The unit computes by native code where
    that pays, in ``jobs`` threads. Raises DesignError where the plan cannot be computed for this k, OperandError for
    shapes, types and patterns that do not fit.
    """
    _check_shape(plan, a, b, c)
    scales = _scales_of(plan, a, b, scale_a, scale_b)
    rows = _factors_of(plan, a, factors)
    schedule = plan.schedule(a.shape[1])
    given = [_checked(plan, n, f, x) for n, f, x in zip("ab", plan.formats, (a, b), strict=False)]
    shape = (a.shape[0], b.shape[1])
    c_format = plan.formats[2]
    c = np.zeros(shape, dtype=pattern_dtype(c_format)) if c is None else _checked(plan, "c", c_format, c)
    bits = _random_of(plan, shape, random)
    return _Product(c, backend, rows, bits, given[0], given[1], scales, jobs).run(schedule)


def _scales_of(
    plan: Plan, a: Patterns, b: Patterns, scale_a: Patterns | None, scale_b: Patterns | None
) -> tuple[Patterns | None, Patterns | None]:
    """Return the scales of blocks in the type of their format. Raises OperandError where they do not fit."""
    fmt, k = plan.scale_format, a.shape[1]
    if fmt is None or scale_a is None or scale_b is None:
        check_scales(plan, k, *(0 if x is None else x.shape[-1] for x in (scale_a, scale_b)))
        return None, None
    blocks = plan.blocks(k)
    wanted = {"scale_a": (a.shape[0], blocks), "scale_b": (blocks, b.shape[1])}
    for (name, shape), x in zip(wanted.items(), (scale_a, scale_b), strict=True):
        if x.shape != shape:
            raise OperandError(f"{name} has the shape {x.shape}: {shape} needed, a scale for each {plan.block} of k")
    return _checked(plan, "scale_a", fmt, scale_a), _checked(plan, "scale_b", fmt, scale_b)


def _factors_of(plan: Plan, a: Patterns, factors: Patterns | None) -> Patterns | None:
    """Return factors, shape (m, count), that are operands; None if there are none. Raises OperandError."""
    if factors is None:
        require_factors(plan, a.shape[1], 0)
        return None
    if factors.ndim != 2 or len(factors) != len(a):
        raise OperandError(f"factors have the shape {factors.shape}: (M, count) needed, a factor for each row of a")
    require_factors(plan, a.shape[1], factors.shape[1])
    return _checked(plan, "factors", _FP32, factors)


def _random_of(plan: Plan, shape: tuple[int, int], random: Patterns | None) -> Patterns | None:
    """Return the random bits of each element, shape (m, n); None if the plan takes none. Raises OperandError."""
    require_random(plan, random is not None)
    if random is None:
        return None
    if random.shape != shape or random.dtype.kind != "u":
        raise OperandError(f"random is {random.dtype} of shape {random.shape}: unsigned integers of {shape} needed")
    if random.size and int(random.max()) >> plan.random_bits:
        raise OperandError(f"random holds {int(random.max()):#x}: {plan.name} takes {plan.random_bits} bits")
    return random.astype(np.uint32)


def _check_shape(plan: Plan, a: Patterns, b: Patterns, c: Patterns | None) -> None:
    shapes = f"shapes a {np.shape(a)}, b {np.shape(b)}, c {None if c is None else np.shape(c)}"
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise OperandError(f"{plan.name}: {shapes}: (m, k), (k, n), (m, n) needed")
    if c is not None and c.shape != (a.shape[0], b.shape[1]):
        raise OperandError(f"{plan.name}: {shapes}: (m, k), (k, n), (m, n) needed")
    if not a.shape[1]:
        raise OperandError(f"{plan.name}: {shapes}: k is at least 1")


def _checked(plan: Plan, name: str, fmt: Format, patterns: Patterns) -> Patterns:
    """Return patterns in the type of their format; OperandError where they are none."""
    if patterns.dtype.kind != "u":
        raise OperandError(f"{name} has type {patterns.dtype}: bit patterns of {fmt.name} are unsigned integers")
    if fmt.bits < patterns.itemsize * 8 and (largest := int(patterns.max(initial=0))) >> fmt.bits:
        raise OperandError(f"{name} holds {largest:#x}, too wide for {fmt.name} ({fmt.bits} bits)")
    if plan.finite_only:
        magnitudes = patterns & patterns.dtype.type((1 << fmt.sign_position) - 1)
        _check_finite(plan, fmt, int(magnitudes.max(initial=0)))
    return np.ascontiguousarray(patterns, dtype=pattern_dtype(fmt))


def rows(schedule: op.Schedule, batch: OperandBatch, *, backend: Backend | str | None = None) -> Patterns:
    """Return the patterns of d, shape (rows,), of a schedule on rows that fit its formats and its k.

    Its factors are constants.
    """
    return _Rows(batch.c, backend, None, batch.random, batch).run(schedule)


@dataclass(frozen=True)
class CutArrays:
    """The words of the elements ``ks`` of an operand, in the shape that the operand has, and their exponent."""

    ks: tuple[int, ...]
    words: Sequence[Patterns]
    exponent: Patterns | None

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each element is along k."""
        return {k: i for i, k in enumerate(self.ks)}


@dataclass(frozen=True)
class _Run(ABC):
    """Computes schedules on many elements at once. A value has the shape of ``c``."""

    c: Patterns
    backend: Backend | str | None
    factors: Patterns | None
    """factors that are operands, (m, count)"""
    random: Patterns | None
    """random bits that are an operand, in the shape of c"""

    def run(self, schedule: op.Schedule) -> Patterns:
        """Return the patterns of d. An array is dropped after its last use."""
        last = {x: i for i, operation in enumerate(schedule.operations) for x in op.arguments(operation)}
        values: dict[int, Any] = {}
        for i, operation in enumerate(schedule.operations):
            values[i] = self._perform(schedule, operation, values)
            for x in op.arguments(operation):
                if last[x] == i:
                    values.pop(x, None)
        d = values[len(schedule.operations) - 1]
        return np.array(np.broadcast_to(d, self.c.shape), dtype=pattern_dtype(schedule.formats[3]))

    @abstractmethod
    def _side(self, side: str, ks: Any) -> Patterns:
        """Return elements of an operand. Along the axis of k there is one for each element of ``ks``."""

    @abstractmethod
    def _axis(self, side: str) -> int:
        """Return the axis of k of an operand."""

    @abstractmethod
    def _call(self, call: op.Call, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
        """Return what a call of a unit makes of each element of c, of these elements of a and b."""

    def _perform(self, schedule: op.Schedule, operation: op.Operation, values: dict[int, Any]) -> Any:
        match operation:
            case op.Operand():
                return self.c
            case op.Zero(fmt=fmt):
                return np.zeros(self.c.shape, dtype=pattern_dtype(fmt))
            case op.Call(a=of_a, b=of_b, ks=ks, c=c):
                a, b = (self._taken(side, x, ks, values) for side, x in (("a", of_a), ("b", of_b)))
                return self._call(operation, a, b, values[c])
            case _ if isinstance(operation, op.Cut):
                axis = self._axis(operation.side)
                found = words_of(operation, self._side(operation.side, places(operation.ks)), axis)
                if found.exponent is None or self.c.ndim == 1:
                    return found
                return replace(found, exponent=np.expand_dims(found.exponent, axis))
            case _:
                return self._elementwise(schedule, operation, values)

    def _taken(self, side: str, words: op.Words | None, ks: tuple[int, ...], values: dict[int, Any]) -> Patterns:
        """Return the elements of an operand that a call multiplies, or words of them."""
        if words is None:
            return np.ascontiguousarray(self._side(side, places(ks)))
        held: CutArrays = values[words.cut]
        at: list[Any] = [slice(None), slice(None)]
        at[self._axis(side)] = places([held.place[k] for k in ks])
        return np.ascontiguousarray(held.words[words.word][tuple(at)])

    def _elementwise(self, schedule: op.Schedule, operation: op.Operation, values: dict[int, Any]) -> Patterns:
        """Return what an operation outside the unit makes of each element, on arrays."""
        taken = [x for x in op.arguments(operation) if not isinstance(values[x], CutArrays)]
        cuttings = {x: values[x] for x in op.arguments(operation) if isinstance(values[x], CutArrays)}
        columns = [np.ravel(values[x]) for x in taken]
        given = self._factor(operation)
        quick = _as_fused(operation, columns, given, self.backend)
        if quick is not None:
            return quick.reshape(self.c.shape)
        exponents = {x: np.ravel(np.broadcast_to(held.exponent, self.c.shape)) for x, held in cuttings.items()}
        result = np.empty(self.c.size, dtype=pattern_dtype(operation.fmt))
        arithmetic: Arithmetic[Any, Any] = Arithmetic(ARRAYS)
        for first in range(0, len(result), CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            numbers = {
                x: _number(schedule.operations[x].fmt, column[rows]) for x, column in zip(taken, columns, strict=True)
            }
            exponent = {x: Cutting(cuttings[x].ks, [], _number(op.EXPONENT, e[rows])) for x, e in exponents.items()}
            factors = [] if given is None else [_number(_FP32, given[rows])]
            random = self._drawn(operation, rows)
            elements = Elements((), (), next(iter(numbers.values())), factors=factors, random=random)
            one = (
                replace(operation, factor=op.Factor(0)) if factors and isinstance(operation, op.Multiply) else operation
            )
            found = perform(arithmetic, one, "", Values(numbers, exponent), elements)
            result[rows] = found.word.data
        return result.reshape(self.c.shape)

    def _drawn(self, operation: op.Operation, rows: slice) -> Word[Any] | None:
        """Return the random bits of some elements that an operation takes as an operand; None if it takes none."""
        match operation:
            case op.Convert(rounding=Stochastic(bits=bits, drawn=None)) if self.random is not None:
                return ARRAYS.from_patterns(np.ravel(self.random)[rows], bits)
            case _:
                return None

    def _factor(self, operation: op.Operation) -> Patterns | None:
        """Return the factor operand that an operation takes, one for each element; None if it takes none."""
        match operation:
            case op.Multiply(factor=op.Factor(index=index)):
                if self.factors is None:
                    raise OperandError("a factor of the plan is an operand, and no factors are given")
                of_rows = self.factors[:, index].reshape(-1, *[1] * (self.c.ndim - 1))
                return np.ravel(np.broadcast_to(of_rows, self.c.shape))
            case _:
                return None


@dataclass(frozen=True)
class _Product(_Run):
    """A matrix product: a (m, k), b (k, n) and c (m, n)."""

    a: Patterns
    b: Patterns
    scales: tuple[Patterns | None, Patterns | None]
    jobs: int

    def _axis(self, side: str) -> int:
        return 1 if side == "a" else 0

    def _side(self, side: str, ks: Any) -> Patterns:
        return self.a[:, ks] if side == "a" else self.b[ks]

    def _call(self, call: op.Call, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
        unit, blocks = call.unit, places(call.blocks) if call.blocks else slice(0, 0)
        scale_a, scale_b = self.scales
        of_a = None if scale_a is None else np.ascontiguousarray(scale_a[:, blocks])
        of_b = None if scale_b is None else np.ascontiguousarray(scale_b[blocks])
        dots = c.size * -(-len(call.ks) // unit.k)

        def matrices() -> Matrices:
            from mmaproof.smt.native.matrices import Matrices  # noqa: PLC0415  (loads LLVM)

            return Matrices(a, b, np.ascontiguousarray(c), of_a, of_b)

        product = product_natively(unit, dots, matrices, jobs=self.jobs, backend=self.backend)
        if product is not None:
            return product
        with accounted(unit, MATRICES, dots):
            return _by_tiles(unit, a, b, c, of_a, of_b)


@dataclass(frozen=True)
class _Rows(_Run):
    """Dot products: one for each row."""

    batch: OperandBatch

    def _axis(self, side: str) -> int:
        return 1

    def _side(self, side: str, ks: Any) -> Patterns:
        return (self.batch.a if side == "a" else self.batch.b)[:, ks]

    def _call(self, call: op.Call, a: Patterns, b: Patterns, c: Patterns) -> Patterns:
        blocks = places(call.blocks) if call.blocks else slice(0, 0)
        scales = [None if x is None else x[:, blocks] for x in (self.batch.scale_a, self.batch.scale_b)]
        return evaluate_batch(call.unit, OperandBatch(a, b, c, *scales), backend=self.backend)


def words_of(operation: op.Cut, elements: Patterns, axis: int) -> CutArrays:
    """Return the words of elements, which lie along an axis. Those of a split depend on their element alone.

    The exponent that words have in common, patterns of ``EXPONENT``, has the shape without that axis.
    """
    arithmetic: Arithmetic[Any, Any] = Arithmetic(ARRAYS)
    zero, dtype = arithmetic.zero(operation.of), pattern_dtype(operation.fmt)
    if isinstance(operation, op.Split):
        one, flat = replace(operation, ks=(0,)), np.ravel(elements)
        words = [np.empty(flat.shape, dtype) for _ in range(operation.count)]
        for first in range(0, len(flat), CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            numbers = _numbers(operation.of, flat[np.newaxis, rows])
            for made, (x,) in zip(words, cut(arithmetic, one, Elements(numbers, numbers, zero)).words, strict=True):
                made[rows] = x.word.data
        return CutArrays(operation.ks, [x.reshape(elements.shape) for x in words], None)
    row = _numbers(operation.of, np.moveaxis(elements, axis, 0))
    found = cut(arithmetic, replace(operation, ks=tuple(range(len(row)))), Elements(row, row, zero))
    shape = np.shape(row[0].word.data)
    words = [np.stack([np.broadcast_to(x.word.data, shape) for x in word], axis).astype(dtype) for word in found.words]
    if found.exponent is None:
        raise TypeError(f"{operation} has no exponent")
    exponent = np.broadcast_to(found.exponent.word.data, shape).astype(pattern_dtype(op.EXPONENT))
    return CutArrays(operation.ks, words, exponent)


def _as_fused(
    operation: op.Operation, columns: Sequence[Patterns], given: Patterns | None, backend: Backend | str | None
) -> Patterns | None:
    """Return the result of an addition or a product that is also one fused multiply-add, for which there is a design.

    ``given`` are the factors of a product with an operand.

    ``x * 1 + y`` rounded once is ``x + y``, and ``x * factor + (-0)`` is ``x * factor``: signs of zeros are the same
    too. None for other operations.
    """
    fmt, factor = operation.fmt, given
    match operation:
        case op.Add(rounding=Rounding.RNE) if fmt.name in op.FUSED:
            x, y = columns
            factor = np.full_like(x, fmt.encode(1))
        case op.Multiply(factor=by) if fmt.name in op.FUSED:
            (x,) = columns
            factor = np.full_like(x, by) if isinstance(by, int) else given
            y = np.full_like(x, 1 << fmt.sign_position)
        case op.MultiplyAdd(factor=by):
            x, y = columns
            factor = np.full_like(x, by)
        case _:
            return None
    if factor is None:
        raise OperandError("a factor of the plan is an operand, and no factors are given")
    batch = OperandBatch(x[:, np.newaxis], factor[:, np.newaxis], y)
    return evaluate_batch(find_design(op.FUSED[fmt.name]), batch, backend=backend)


def places(ks: Sequence[int]) -> Any:
    """Return an index of the elements of k: a slice where they are consecutive."""
    if list(ks) == list(range(ks[0], ks[0] + len(ks))):
        return slice(ks[0], ks[0] + len(ks))
    return np.array(ks)


def _by_tiles(
    unit: Design, a: Patterns, b: Patterns, c: Patterns, scale_a: Patterns | None, scale_b: Patterns | None
) -> Patterns:
    """Return a product on arrays, tile by tile."""
    d = np.empty(c.shape, dtype=pattern_dtype(unit.d_format))
    formats = (*unit.formats[:3], unit.scale_format, unit.scale_format)
    for top in range(0, len(a), TILE_ROWS):
        rows = slice(top, top + TILE_ROWS)
        first, of_a = (None if x is None else x[rows].T[:, :, np.newaxis] for x in (a, scale_a))
        for left in range(0, b.shape[1], TILE_COLUMNS):
            columns = slice(left, left + TILE_COLUMNS)
            second, of_b = (None if x is None else x[:, columns][:, np.newaxis, :] for x in (b, scale_b))
            held = (first, second, c[np.newaxis, rows, columns], of_a, of_b)
            words = [
                [] if x is None or f is None else [ARRAYS.from_patterns(y, f.bits) for y in x]
                for x, f in zip(held, formats, strict=True)
            ]
            operands = OperandWords(words[0], words[1], words[2][0], words[3], words[4])
            d[rows, columns] = dot_product_accumulate(unit, ARRAYS, operands).d.data
    return d


def _number(fmt: Format, patterns: Patterns) -> Number[Any]:
    return as_number(fmt, ARRAYS.from_patterns(patterns, fmt.bits))


def _numbers(fmt: Format, patterns: Patterns) -> list[Number[Any]]:
    """Return an array of patterns as numbers, one for each index of its first axis."""
    return [_number(fmt, x) for x in patterns]
