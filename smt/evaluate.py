"""A design evaluated on many elements by the fastest backend. Those of one are in ``trace``, and offered here, too.

What results rest on: the open points of a design that change them, for these operands.

Whatever computes results, such as a unit, a matrix product or a plan, is run once more for each reading that is open
(``mmaproof.designs.open_points``). Of many results a sample is looked at, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.open_points import OpenReading, open_readings
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.designs.signature import Signature
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.backends import Backend, note_once, wanted_backend
from mmaproof.smt.native import paying
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.trace import evaluate

if TYPE_CHECKING:
    from mmaproof.smt.native.matrices import Matrices


ARRAYS = ArrayAlgebra()

CHUNK_ROWS = 8192
"""Rows evaluated at once: intermediate arrays of 64 KiB stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class SharedBatch(OperandBatch):
    """At most CHUNK_ROWS rows on which many designs of one signature are evaluated, and which nobody changes.

    What two of them read alike is read once. (More rows are evaluated as any others are.)
    """

    _words: dict[Signature, OperandWords[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, batch: OperandBatch) -> SharedBatch:
        """Return the rows of a batch."""
        return cls(batch.a, batch.b, batch.c, batch.scale_a, batch.scale_b)

    def words(self, design: Design) -> OperandWords[Any]:
        """Return the operands as words, with the factors that designs before this one have read."""
        if design.signature not in self._words:
            self._words[design.signature] = replace(_operand_words(design, self), read={})
        return self._words[design.signature]


def evaluate_on_arrays(design: Design, batch: OperandBatch) -> Patterns:
    """Return the patterns of d, shape (rows,), computed on arrays; ``batch`` was checked against the design."""
    result = np.empty(len(batch), dtype=pattern_dtype(design.d_format))
    for first in range(0, len(batch), CHUNK_ROWS):
        if isinstance(batch, SharedBatch) and len(batch) <= CHUNK_ROWS:
            words = batch.words(design)
        else:
            words = _operand_words(design, batch.select(slice(first, first + CHUNK_ROWS)))
        returned = dot_product_accumulate(design, ARRAYS, words).d.data
        result[first : first + CHUNK_ROWS] = returned.astype(result.dtype)
    return result


def _operand_words(design: Design, batch: OperandBatch) -> OperandWords[Any]:
    a, b, c, _ = design.formats
    return OperandWords(
        [ARRAYS.from_patterns(column, a.bits) for column in batch.a.T],
        [ARRAYS.from_patterns(column, b.bits) for column in batch.b.T],
        ARRAYS.from_patterns(batch.c, c.bits),
        _scale_words(design, batch.scale_a),
        _scale_words(design, batch.scale_b),
    )


def _scale_words(design: Design, scales: Patterns | None) -> list[Word[Any]]:
    if scales is None or design.scale_format is None:
        return []
    return [ARRAYS.from_patterns(column, design.scale_format.bits) for column in scales.T]


def evaluate_batch(design: Design | str, batch: OperandBatch, *, backend: Backend | str | None = None) -> Patterns:
    """Return the patterns of d, shape (rows,), by the backend given, or the one that ``MMAPROOF_BACKEND`` names.

    Where neither says, native code computes them if it is installed and pays, and arrays otherwise. Raises
    OperandError where shapes or widths do not fit the design, TargetUnavailable where native code is wanted and
    llvmlite is missing, InputError where ``backend`` is native and the design has numbers that are too wide for that.
    If it is the environment that names native code, arrays compute such a design, and a note says so.

    >>> import mmaproof
    >>> batch = mmaproof.random_operands("volta/f32.f16.f16.f32", 3)
    >>> mmaproof.evaluate_batch("volta/f32.f16.f16.f32", batch).dtype.name
    'uint32'
    """
    design = find_design(design)
    batch.check(design)
    match wanted_backend(backend):
        case Backend.INTEGERS:
            rows = (evaluate(design, batch.row(i)) for i in range(len(batch)))
            return np.fromiter(rows, pattern_dtype(design.d_format), len(batch))
        case Backend.ARRAYS:
            return evaluate_on_arrays(design, batch)
        case Backend.NATIVE:
            try:
                return _natively(design, batch)
            except TooWideError as problem:
                without_native_code(design, problem, backend)
                return evaluate_on_arrays(design, batch)
        case None:
            return _fastest(design, batch)
        case unknown:
            assert_never(unknown)


def without_native_code(design: Design, problem: TooWideError, backend: Backend | str | None) -> None:
    """Say that arrays compute a design, for which native code was wanted.

    Raises InputError where the caller named the backend, and did not find it in the environment.
    """
    text = f"{design.name} has no native code: {problem}"
    if backend is not None:
        raise InputError(f"{text}: leave the backend open, or name arrays") from problem
    note_once(design.name, f"{text}; arrays compute it")


def _natively(design: Design, batch: OperandBatch) -> Patterns:
    from mmaproof.smt.native.kernels import evaluate_natively  # noqa: PLC0415  (loads LLVM)

    return evaluate_natively(design, batch)


def product_natively(
    design: Design, dots: int, given: Callable[[], Matrices], *, jobs: int = 1, backend: Backend | str | None = None
) -> Patterns | None:
    """Return the patterns of a matrix product by native code, where that is wanted or pays; None where it is not.

    ``dots`` are its dot products of an instruction, ``given`` returns its operands. Raises as ``evaluate_batch``.
    """
    wanted = wanted_backend(backend)
    if wanted is not Backend.NATIVE and (wanted is not None or not paying.pays(design, paying.MATRICES, dots)):
        return None
    from mmaproof.smt.native.matrices import multiply_natively  # noqa: PLC0415  (loads LLVM)

    try:
        return multiply_natively(design, given(), jobs)
    except TooWideError as problem:
        if wanted is Backend.NATIVE:
            without_native_code(design, problem, backend)
        return None


def _fastest(design: Design, batch: OperandBatch) -> Patterns:
    """Compute on arrays as long as native code does not pay."""
    result = np.empty(len(batch), dtype=pattern_dtype(design.d_format))
    length, instructions = min(batch.k, design.k), -(-batch.k // design.k)
    for first in range(0, len(batch), CHUNK_ROWS):
        rest = batch.select(slice(first, None))
        if paying.pays(design, length, len(rest) * instructions):
            try:
                result[first:] = _natively(design, rest)
                break
            except TooWideError:  # of an instruction whose c is another's d
                pass
        chunk = batch if len(batch) <= CHUNK_ROWS else batch.select(slice(first, first + CHUNK_ROWS))
        with paying.accounted(design, length, len(chunk) * instructions):
            result[first : first + CHUNK_ROWS] = evaluate_on_arrays(design, chunk)
    return result


def equal_patterns(fmt: Format | str, x: Patterns, y: Patterns, *, nan_codes: bool = False) -> npt.NDArray[np.bool_]:
    """Return which results are equal, shape (rows,): patterns ``x`` and ``y`` of a format, or of the format of a name.

    All NaNs are equal, or with ``nan_codes`` those of one code. Raises InputError for an unknown format.

    >>> import numpy as np, mmaproof
    >>> x = np.array([0x7FC00000, 0], np.uint32)
    >>> mmaproof.equal_patterns("fp32", x, x ^ np.uint32(1)).tolist()
    [True, False]
    """
    fmt = find_format(fmt) if isinstance(fmt, str) else fmt
    words = (ARRAYS.from_patterns(p, fmt.bits) for p in (x, y))
    equal: npt.NDArray[np.bool_] = (
        np.zeros(len(x), dtype=bool) | equal_results(ARRAYS, fmt, *words, nan_codes=nan_codes).data
    )
    return equal


PRODUCTS = 1 << 19
"""Products that are computed for each reading, about: results beyond are left out."""
SHOWN = 4
"""The most readings that a text names."""


@dataclass(frozen=True)
class Change:
    """A reading that changes results: how many, and the first, by number, that no reading before it changes so.

    ``d`` is its d under the reading.
    """

    reading: OpenReading
    count: int
    first: int
    d: int


@dataclass(frozen=True)
class OpenPoints:
    """What some results rest on: ``looked_at`` of ``results`` were computed under every open reading.

    ``changed`` of them differ under some reading. ``changes`` has the readings that are needed for
    every other result that there is, those of the fewest points first. ``d`` has the results that ``changes`` name, by
    number: of a matrix, row * N + column.
    """

    d_format: Format
    results: int
    looked_at: int
    changed: int
    changes: tuple[Change, ...]
    d: dict[int, int]

    def __bool__(self) -> bool:
        """Return whether a result changes."""
        return bool(self.changes)

    def __str__(self) -> str:
        """Return it in one line for a person; nothing if no result that was looked at changes."""
        if not self.changes:
            return ""
        shown = [f"{self._hex(x.d)} if {x.reading.words}" for x in self.changes[:SHOWN]]
        more = [f"and {len(self.changes) - SHOWN} other readings"] * (len(self.changes) > SHOWN)
        first = self.changes[0]
        if self.results == 1:
            return "; ".join([self._hex(self.d[0]), *shown, *more])
        of = f"{self.looked_at:,}" + (f" looked at ({self.results:,} in all)" if self.looked_at < self.results else "")
        each = [f"{x.count:,} if {x.reading.words}" for x in self.changes[:SHOWN]]
        example = f"number {first.first} is {self._hex(self.d[first.first])}, or {shown[0]}"
        return "; ".join([f"{self.changed:,} of {of} results change: {each[0]}", *each[1:], *more, example])

    def _hex(self, d: int) -> str:
        return self.d_format.hex(d)

    def record(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "results": self.results,
            "looked_at": self.looked_at,
            "changed": self.changed,
            "readings": [
                {
                    "points": list(x.reading.points),
                    "settings": x.reading.texts,
                    "words": x.reading.words,
                    "changed": x.count,
                    "first": x.first,
                    "d": self._hex(self.d[x.first]),
                    "d_under_reading": self._hex(x.d),
                }
                for x in self.changes
            ],
        }


def sample(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return which of N things are looked at: all, or ``most`` of them (one at least) at equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, max(most, 1))).astype(np.intp))


@lru_cache(maxsize=1024)
def result_of(design: Design, operands: Operands) -> int:
    """Return what ``evaluate`` does: whether a witness holds under all readings, and what they change, ask it twice."""
    return evaluate(design, operands)


def open_points(
    design: Design | str, operands: Operands | OperandBatch, *, nan_codes: bool = False, fixed: Collection[str] = ()
) -> OpenPoints:
    """Return the open points on which the results of ``design``, or the design of that name, rest for these operands.

    ``fixed`` are parameters that are not open here. Two NaNs are equal, unless ``nan_codes`` are compared. Raises
    DesignError for an unknown design, OperandError where operands do not fit.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> mmaproof.open_points("volta/f32.f16.f16.f32", ones).changed
    0
    """
    design = find_design(design)
    fmt = design.d_format
    if isinstance(operands, Operands):
        one = operands

        def computed(x: Design) -> Patterns:
            return np.array([result_of(x, one)], dtype=np.uint64)

        return results_under_readings(design, computed, fmt, nan_codes=nan_codes, fixed=fixed)
    chosen = sample(len(operands), PRODUCTS // max(operands.k, 1))
    rows = operands if len(chosen) == len(operands) else operands.select(chosen)
    return results_under_readings(
        design, lambda x: evaluate_batch(x, rows), fmt, chosen, len(operands), nan_codes=nan_codes, fixed=fixed
    )


def results_under_readings(
    unit: Design,
    computed: Callable[[Design], Patterns],
    d_format: Format,
    numbers: npt.NDArray[np.intp] | None = None,
    results: int | None = None,
    *,
    nan_codes: bool = False,
    fixed: Collection[str] = (),
) -> OpenPoints:
    """Return the open points of ``unit`` on which results rest; ``computed`` returns their patterns with another unit.

    ``numbers`` are those of the results that it returns, of as many ``results`` as there are in all; by default it
    returns all.
    """
    d = computed(unit)
    places = np.arange(len(d)) if numbers is None else numbers
    any_changed, changes = np.zeros(len(d), dtype=bool), []
    others: set[tuple[int, int]] = set()
    for reading in open_readings(unit, fixed):
        other = computed(reading.design)
        changed = ~equal_patterns(d_format, d, other, nan_codes=nan_codes)
        found = np.flatnonzero(changed)
        new = {(int(i), int(other[i])) for i in found[:PRODUCTS]} - others
        if new:
            others |= new
            first = min(i for i, _ in new)
            changes.append(Change(reading, len(found), int(places[first]), int(other[first])))
        any_changed |= changed
    held = {x.first: int(d[int(np.searchsorted(places, x.first))]) for x in changes}
    return OpenPoints(d_format, results or len(d), len(d), int(any_changed.sum()), tuple(changes), held)
