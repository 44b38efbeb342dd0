"""Emulation of a unit: dot products and whole matrix products, bit for bit as a design computes them.

Operands and results are arrays of the formats' own types (``mmaproof.designs.operands``). A long dot product is a
chain of whole instructions, each taking the d of the one before as its c, so memory does not grow with K.

Native code computes where it is installed and pays, and NumPy arrays elsewhere (``mmaproof.smt.backends``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import OperandBatch, Patterns, array_of, as_numpy, pattern_dtype, patterns_of
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.evaluate import multiply_plan
from mmaproof.gemm.programs.named import find_plan
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.backends import Backend, wanted_backend
from mmaproof.smt.evaluate import (
    ARRAYS,
    CHUNK_ROWS,
    PRODUCTS,
    OpenPoints,
    evaluate_batch,
    product_natively,
    results_under_readings,
    sample,
)
from mmaproof.smt.native.paying import MATRICES, accounted, pays
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate

if TYPE_CHECKING:
    from mmaproof.smt.native.matrices import Matrices

_SHORTEST_SIDE = 32
"""Rows of a tile of a matrix product. A tile has many columns, because NumPy's inner loop runs along them."""


@overload
def dot(
    design: Design | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    backend: Backend | str | None = None,
    open_points: Literal[False] = False,
) -> npt.NDArray[Any]: ...
@overload
def dot(
    design: Design | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    backend: Backend | str | None = None,
    open_points: Literal[True],
) -> tuple[npt.NDArray[Any], OpenPoints]: ...
def dot(
    design: Design | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    backend: Backend | str | None = None,
    open_points: bool = False,
) -> npt.NDArray[Any] | tuple[npt.NDArray[Any], OpenPoints]:
    """Return ``c + sum_k a[..., k]*b[..., k]`` as ``design`` (or the design of that name) computes it.

    ``a`` and ``b`` have shape (..., k), and ``c`` has shape (...). The scales of a design that has them have shape
    (..., blocks). Leading dimensions broadcast. The result has shape (...) and the type of d's format. A k below the
    instruction's is padded with +0 (scales with 1). A k above it must be a multiple of it and is a chain of
    instructions. ``backend`` says what computes it, None the fastest.

    With ``open_points`` the result is returned together with the open points on which its elements rest, as ``matmul``
    does.

    Raises OperandError if types, shapes or scales do not fit, DesignError for an unknown design or a k that it
    cannot run, and what ``evaluate_batch`` raises for a backend.

    >>> import numpy as np, mmaproof
    >>> a = np.full((1, 4), 1.5, np.float16)
    >>> mmaproof.dot("volta/f32.f16.f16.f32", a, a, np.zeros(1, np.float32)).tolist()
    [9.0]
    """
    found = find_design(design) if isinstance(design, str) else design
    operands = _Patterns.of(found, a, b, c, scale_a, scale_b)
    along_k = [x for x in (operands.a, operands.b, operands.scale_a, operands.scale_b) if x is not None]
    if any(not x.ndim for x in along_k):
        raise OperandError("a and b (and scales) have at least the dimension of k: shape (..., k)")
    k = operands.a.shape[-1]
    if operands.b.shape[-1] != k:
        raise OperandError(f"a has {k} elements along k and b has {operands.b.shape[-1]}: they must be as many")
    counts = [None if s is None else s.shape[-1] for s in (operands.scale_a, operands.scale_b)]
    _check_length(found, k, counts)
    leading = [x.shape[:-1] for x in along_k] + [operands.c.shape]
    try:
        shape = np.broadcast_shapes(*leading)
    except ValueError:
        raise OperandError(f"leading dimensions {', '.join(map(str, leading))} do not broadcast") from None
    spread = operands.broadcast(shape or (1,))
    d = np.empty(math.prod(shape), dtype=pattern_dtype(found.d_format))
    for first in range(0, len(d), CHUNK_ROWS):
        at = np.unravel_index(np.arange(first, min(first + CHUNK_ROWS, len(d))), spread.c.shape)
        d[first : first + CHUNK_ROWS] = _rows(found, spread.select(at), len(d) - first, backend)
    result = array_of(d.reshape(shape), found.d_format)
    if not open_points:
        return result
    chosen = sample(len(d), PRODUCTS // max(k, 1))
    rows = spread.select(np.unravel_index(chosen, spread.c.shape))

    def computed(x: Design) -> Patterns:
        return _rows(x, rows, len(chosen), backend) if len(chosen) else d

    return result, results_under_readings(found, computed, found.d_format, chosen, len(d))


@overload
def matmul(
    design: Design | Plan | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    factors: npt.ArrayLike | None = None,
    random: npt.ArrayLike | None = None,
    jobs: int = 1,
    backend: Backend | str | None = None,
    open_points: Literal[False] = False,
) -> npt.NDArray[Any]: ...
@overload
def matmul(
    design: Design | Plan | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    factors: npt.ArrayLike | None = None,
    random: npt.ArrayLike | None = None,
    jobs: int = 1,
    backend: Backend | str | None = None,
    open_points: Literal[True],
) -> tuple[npt.NDArray[Any], OpenPoints]: ...
def matmul(
    design: Design | Plan | str,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None = None,
    scale_a: npt.ArrayLike | None = None,
    scale_b: npt.ArrayLike | None = None,
    *,
    factors: npt.ArrayLike | None = None,
    random: npt.ArrayLike | None = None,
    jobs: int = 1,
    backend: Backend | str | None = None,
    open_points: bool = False,
) -> npt.NDArray[Any] | tuple[npt.NDArray[Any], OpenPoints]:
    """Return the matrix ``c + a @ b`` as ``design`` (or the design of that name) computes each of its elements.

    ``a`` has shape (M, K), ``b`` (K, N), ``c`` (M, N), None meaning +0; ``scale_a`` (M, blocks) and ``scale_b``
    (blocks, N) for a design with scales. K is tiled as the instruction chains. The result has shape (M, N) and the
    type of d's format. ``jobs`` threads share the work of native code. ``backend`` says what computes it, None the
    fastest.

    A plan (``read_plan``, or its text with settings: ``"UNIT | split-k=4"``) may stand for a design. ``factors`` of
    fp32, shape (M, count), are for plans whose factors are operands (``rescale=N:operand``). ``random``,
    unsigned integers of shape (M, N), are the random bits of plans that take some (``out=e4m3:sr8``).

    With ``open_points`` the matrix is returned together with the open points on which its elements rest: how many
    change under which other reading of the unit. Of a large matrix some rows and columns are looked at.

    Raises OperandError where types, shapes or scales do not fit, DesignError for an unknown design or a K that it
    cannot run, InputError for fewer jobs than one, and what ``evaluate_batch`` raises for a backend.

    >>> import numpy as np, mmaproof
    >>> a, b = np.full((2, 16), 1.5, np.float16), np.full((16, 3), 2.0, np.float16)
    >>> mmaproof.matmul("hopper/wgmma.f32.f16.f16", a, b)
    array([[48., 48., 48.],
           [48., 48., 48.]], dtype=float32)
    >>> mmaproof.matmul("hopper/wgmma.f32.f16.f16 | out=bf16", a, b).dtype.name
    'bfloat16'
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise InputError(f"jobs = {jobs!r}: a number of threads, at least 1")
    if open_points:
        d = matmul(design, a, b, c, scale_a, scale_b, factors=factors, random=random, jobs=jobs, backend=backend)
        return d, _open_points(design, d, (a, b, c, scale_a, scale_b, factors, random), jobs)
    plan = find_plan(design)
    if not plan.is_unit:
        return _planned(plan, a, b, c, (scale_a, scale_b, factors, random), jobs, backend)
    found = plan.unit
    if factors is not None or random is not None:
        raise OperandError(f"{found.name} takes no factors and no random bits: plans do")
    if c is None:
        a, b = _column("a", a, found.a_format), _column("b", b, found.b_format)
        shape = a.shape[:1] + b.shape[1:2]
        c = np.zeros(shape, dtype=pattern_dtype(found.c_format))
    given = _Patterns.of(found, a, b, c, scale_a, scale_b)
    _check_matrices(given)
    (m, k), n = given.a.shape, given.b.shape[1]
    counts = [None if s is None else s.shape[x] for s, x in ((given.scale_a, 1), (given.scale_b, 0))]
    _check_length(found, k, counts)
    wanted = wanted_backend(backend)

    def matrices() -> Matrices:
        from mmaproof.smt.native.matrices import Matrices  # noqa: PLC0415  (loads LLVM)

        return Matrices(given.a, given.b, given.c, given.scale_a, given.scale_b)

    product = product_natively(found, m * n * -(-k // found.k), matrices, jobs=jobs, backend=backend)
    if product is not None:
        return array_of(product, found.d_format)
    d = np.empty((m, n), dtype=pattern_dtype(found.d_format))
    columns = max(min(n, CHUNK_ROWS // max(min(m, _SHORTEST_SIDE), 1)), 1)
    rows = max(min(m, CHUNK_ROWS // columns), 1)
    for top in range(0, m, rows):
        for left in range(0, n, columns):
            tile = given.tile(slice(top, top + rows), slice(left, left + columns))
            with accounted(found, MATRICES, tile.c.size * -(-k // found.k)):
                d[top : top + rows, left : left + columns] = _tile(found, tile, wanted)
    return array_of(d, found.d_format)


def _open_points(
    program: Design | Plan | str, d: npt.NDArray[Any], given: Sequence[npt.ArrayLike | None], jobs: int
) -> OpenPoints:
    """Return the open points on which the elements of a product ``d`` rest; ``given`` are its operands in order."""
    plan = find_plan(program)
    fmt = plan.formats[3]
    a, b, c, scale_a, scale_b, factors, random = (None if x is None else as_numpy(x) for x in given)
    (m, n), k = d.shape, 1 if b is None else len(b)
    rows, columns = (sample(x, math.isqrt(PRODUCTS // k)) for x in (m, n))
    across = [None if x is None else x[rows] for x in (a, c, scale_a, factors, random)]
    down = [None if x is None else x[:, columns] for x in (b, across[1], scale_b, across[4])]

    def computed(x: Design) -> Patterns:
        left, right = cast("npt.ArrayLike", across[0]), cast("npt.ArrayLike", down[0])
        more: dict[str, Any] = {"factors": across[3], "random": down[3], "jobs": jobs}
        found = matmul(plan.with_unit(x), left, right, down[1], across[2], down[2], **more)
        return patterns_of(found, fmt).ravel()

    return results_under_readings(plan.unit, computed, fmt, (rows[:, None] * n + columns).ravel(), m * n)


def _planned(
    plan: Plan,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike | None,
    others: Sequence[npt.ArrayLike | None],
    jobs: int,
    backend: Backend | str | None,
) -> npt.NDArray[Any]:
    """Return a product as a plan computes it; ``others`` are scales, factors and random bits. Raises as ``matmul``."""
    formats = plan.formats
    named = zip(("scale_a", "scale_b"), others[:2], strict=True)
    scales = [_scales(plan.unit, n, x) for n, x in named]
    factors = None if others[2] is None else _column("factors", others[2], FORMATS["fp32"])
    x, y = (_column(n, p, f) for n, p, f in zip("ab", (a, b), formats, strict=False))
    start = None if c is None else _column("c", c, formats[2])
    random = None if others[3] is None else as_numpy(others[3])
    d = multiply_plan(plan, x, y, start, *scales, factors=factors, random=random, jobs=jobs, backend=backend)
    return array_of(d, formats[3])


def _rows(design: Design, operands: _Patterns, rows_left: int, backend: Backend | str | None) -> Patterns:
    """Return the patterns of d of rows with k first; after them and with them, ``rows_left`` are to be computed."""
    wanted = wanted_backend(backend)
    if wanted is None:
        length, instructions = min(len(operands.a), design.k), -(-len(operands.a) // design.k)
        if not pays(design, length, rows_left * instructions):
            with accounted(design, length, len(operands.c) * instructions):
                return _run(design, operands)
    elif wanted is Backend.ARRAYS:
        return _run(design, operands)
    return evaluate_batch(design, operands.batch(), backend=backend)


def _tile(design: Design, tile: _Patterns, wanted: Backend | None) -> Patterns:
    """Return the patterns of d of a tile of a product, computed on arrays or integers."""
    if wanted is not Backend.INTEGERS:
        return _run(design, tile)
    at = tuple(x.ravel() for x in np.indices(tile.c.shape))
    return evaluate_batch(design, tile.elements(at).batch(), backend=wanted).reshape(tile.c.shape)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Patterns of operands and scales, in the shape of the caller or with k first. Scales may be None."""

    a: Patterns
    b: Patterns
    c: Patterns
    scale_a: Patterns | None
    scale_b: Patterns | None

    @classmethod
    def of(
        cls,
        design: Design,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        c: npt.ArrayLike,
        scale_a: npt.ArrayLike | None,
        scale_b: npt.ArrayLike | None,
    ) -> _Patterns:
        """Return the patterns of arrays; OperandError names the operand that has the wrong type or should not be."""
        named = zip(("a", "b", "c"), (a, b, c), design.formats[:3], strict=True)
        scales = (_scales(design, name, scale) for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)))
        return cls(*(_column(name, x, fmt) for name, x, fmt in named), *scales)

    def broadcast(self, shape: tuple[int, ...]) -> _Patterns:
        """Return views of shape ``shape`` (and k, or blocks)."""
        a, b = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (self.a, self.b))
        scales = (
            None if s is None else np.broadcast_to(s, (*shape, s.shape[-1])) for s in (self.scale_a, self.scale_b)
        )
        return _Patterns(a, b, np.broadcast_to(self.c, shape), *scales)

    def select(self, at: tuple[npt.NDArray[np.intp], ...]) -> _Patterns:
        """Return the rows at the indices ``at`` with k first: shapes (k, rows), (rows,)."""
        a, b = self.a[at].T, self.b[at].T
        return _Patterns(a, b, self.c[at], *(None if s is None else s[at].T for s in (self.scale_a, self.scale_b)))

    def batch(self) -> OperandBatch:
        """Return rows that have k first, shapes (k, rows) and (rows,), as a batch."""
        scales = (None if x is None else x.T for x in (self.scale_a, self.scale_b))
        return OperandBatch(self.a.T, self.b.T, self.c, *scales)

    def tile(self, rows: slice, columns: slice) -> _Patterns:
        """Return a tile of matrices with k first, to be broadcast: (k, rows, 1), (k, 1, columns), (rows, columns)."""
        return _Patterns(
            self.a[rows].T[:, :, None],
            self.b[:, None, columns],
            self.c[rows, columns],
            None if self.scale_a is None else self.scale_a[rows].T[:, :, None],
            None if self.scale_b is None else self.scale_b[:, None, columns],
        )

    def instruction(self, design: Design, first: int) -> _Patterns:
        """Return the operands of the instruction at ``first``, a multiple of its K, with k first."""
        part, blocks = slice(first, first + design.k), design.blocks(design.k)
        of_blocks = slice(first // design.k * blocks, (first // design.k + 1) * blocks)
        scales = (None if x is None else x[of_blocks] for x in (self.scale_a, self.scale_b))
        return _Patterns(self.a[part], self.b[part], self.c, *scales)

    def elements(self, at: tuple[npt.NDArray[np.intp], ...]) -> _Patterns:
        """Return the operands of the elements at the indices ``at`` of c, with k first: (k, elements), (elements,)."""

        def chosen(x: Patterns) -> Patterns:
            spread: Patterns = np.moveaxis(np.broadcast_to(x, (len(x), *self.c.shape)), 0, -1)
            return spread[at].T

        scales = (None if x is None else chosen(x) for x in (self.scale_a, self.scale_b))
        return _Patterns(chosen(self.a), chosen(self.b), self.c[at], *scales)


def _scales(design: Design, name: str, array: npt.ArrayLike | None) -> Patterns | None:
    fmt = design.scale_format
    if fmt is None and array is not None:
        raise OperandError(f"{name}: {design.name} has no scales")
    if fmt is not None and array is None:
        raise OperandError(f"{name} is missing: {design.name} has a scale for each {design.block} elements")
    return None if fmt is None or array is None else _column(name, array, fmt)


def _column(name: str, array: npt.ArrayLike, fmt: Format) -> Patterns:
    try:
        return patterns_of(array, fmt)
    except OperandError as error:
        raise OperandError(f"{name}: {error}") from error


def _check_matrices(given: _Patterns) -> None:
    """Raise OperandError where the shapes are not those of a matrix product."""
    a, b, c = given.a.shape, given.b.shape, given.c.shape
    if len(a) != 2 or len(b) != 2 or a[1] != b[0] or c != (a[0], b[1]):
        raise OperandError(f"shapes a {a}, b {b}, c {c}: (M, K), (K, N), (M, N) needed")
    for name, scale, x, side in (("scale_a", given.scale_a, 0, a[0]), ("scale_b", given.scale_b, 1, b[1])):
        if scale is not None and (scale.ndim != 2 or scale.shape[x] != side):
            wanted = f"({side}, blocks)" if name == "scale_a" else f"(blocks, {side})"
            raise OperandError(f"{name} has shape {scale.shape}: {wanted} needed")


def _check_length(design: Design, k: int, counts: list[int | None]) -> None:
    """Raise DesignError for a length that the design cannot run, OperandError for a wrong number of scales."""
    design.padded_length(k)
    blocks = design.blocks(k)
    for name, count in zip(("scale_a", "scale_b"), counts, strict=True):
        if count is not None and count != blocks:
            raise OperandError(
                f"{name} has {count} scales along k: {design.name} takes {blocks} for k = {k}, "
                f"one for each {design.block} elements"
            )


def _run(design: Design, operands: _Patterns) -> Patterns:
    """Return the patterns of d; ``operands`` have k first and broadcast to the shape of ``operands.c``.

    The d of one instruction is the c of the next. On the way it is lost whether an infinity was produced or handed in.
    Where that matters (``chain_infinity``), the elements that were infinite are computed again, each in one chain.
    """
    d, was_infinite = _instruction_by_instruction(design, operands)
    if not design.chain.keeps_infinities and was_infinite.any():
        again = np.flatnonzero(was_infinite)
        at_once = max(CHUNK_ROWS * design.k // len(operands.a), 1)
        for first in range(0, len(again), at_once):
            at = np.unravel_index(again[first : first + at_once], d.shape)
            d[at] = _as_one_chain(design, operands.elements(at))
    return d


def _instruction_by_instruction(design: Design, operands: _Patterns) -> tuple[Patterns, npt.NDArray[np.bool_]]:
    """Return the patterns of d, and which elements were infinite between two instructions."""
    shape, fmt, k = operands.c.shape, design.d_format, len(operands.a)
    was_infinite = np.zeros(shape, dtype=bool)
    d = ARRAYS.from_patterns(operands.c, design.c_format.bits)
    for first in range(0, k, design.k):
        if first:
            design = replace(design, signature=replace(design.signature, c=fmt))
            if fmt.infinity is not None:
                was_infinite |= (d.data & ((1 << fmt.sign_position) - 1)) == fmt.infinity
        d = _accumulate(design, operands.instruction(design, first), d)
    return np.broadcast_to(d.data, shape).astype(pattern_dtype(fmt)), was_infinite


def _as_one_chain(design: Design, operands: _Patterns) -> Patterns:
    d = _accumulate(design, operands, ARRAYS.from_patterns(operands.c, design.c_format.bits))
    returned: Patterns = np.broadcast_to(d.data, operands.c.shape).astype(pattern_dtype(design.d_format))
    return returned


def _accumulate(design: Design, operands: _Patterns, c: Word[Any]) -> Word[Any]:
    """Return d of the products of ``operands``, added to ``c``."""
    scales = (
        [] if x is None or design.scale_format is None else _words(x, design.scale_format)
        for x in (operands.scale_a, operands.scale_b)
    )
    a, b = _words(operands.a, design.a_format), _words(operands.b, design.b_format)
    return dot_product_accumulate(design, ARRAYS, OperandWords(a, b, c, *scales)).d


def _words(columns: Patterns, fmt: Format) -> list[Word[Any]]:
    return [ARRAYS.from_patterns(column, fmt.bits) for column in columns]
