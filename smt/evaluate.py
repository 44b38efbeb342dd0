"""A design evaluated on many elements by the fastest backend. Those of one are in ``trace``, and offered here, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, find_format
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
