"""Matrix products by native code: operands are unpacked into panels, and threads run the inner kernel over them.

Two kernels compute each instruction. One holds for all operands. The other one holds where no element is an infinity or
a NaN, and is shorter; it takes the rows of A and the panels of columns of B in which there are none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.smt.evaluate import CHUNK_ROWS, evaluate_on_arrays
from mmaproof.smt.native import compiler
from mmaproof.smt.native.compiler import MachineCode, Recipe, Source, once, processor, sample
from mmaproof.smt.native.kernels import is_infinite
from mmaproof.smt.native.lowering import continued, input_columns, lower
from mmaproof.smt.native.panels import MULTIPLY, UNPACK_A, UNPACK_B, panel_functions

Run = Callable[[Callable[[Any], None], Iterable[Any]], Iterable[None]]
"""``map``, by threads or not."""

SIDE = 16
"""Rows and columns are filled up to a multiple of this, the most elements that a vector has."""
PANEL_BYTES = 32 << 10
"""What a panel of B takes for one instruction at most: it stays in the first-level cache."""
WIDEST_PANEL = 128
UNPACKED_BYTES = 16 << 20
"""What the unpacked operands of some instructions take, so that more of them are not unpacked at once."""
FEW_ROWS = 4
"""Rows of A that read a panel of B so seldom that it need not be in the nearest cache: one panel has all columns."""
FEW_ROWS_BYTES = 1 << 20
"""What the unpacked operands take then: they stay in the second-level cache."""
UNPACKED_AGAIN = 32
"""Rows of A up to which B is unpacked for each of them."""
LARGE = 1 << 20
"""Elements of B from which a kernel of their own is worth being compiled for few rows."""
SHARED = 1 << 25
"""Elements of B from which few rows are shared by threads: below, they cost more than they save."""
RUN_ROWS = 64
"""Rows of A that one of the two kernels computes together."""


@dataclass(frozen=True)
class Matrices:
    """The patterns of a product: a (m, k), b (k, n), c (m, n), scale_a (m, blocks), scale_b (blocks, n) or None."""

    a: Patterns
    b: Patterns
    c: Patterns
    scale_a: Patterns | None = None
    scale_b: Patterns | None = None

    def columns(self, some: slice) -> Matrices:
        """Return the product of some columns of b; nothing is copied."""
        scales = self.scale_a, None if self.scale_b is None else self.scale_b[:, some]
        return Matrices(self.a, self.b[:, some], self.c[:, some], *scales)

    def elements(self, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> OperandBatch:
        """Return the operands of some elements of the product."""
        scales = (
            None if self.scale_a is None else self.scale_a[rows],
            None if self.scale_b is None else self.scale_b.T[columns],
        )
        return OperandBatch(self.a[rows], self.b.T[columns], self.c[rows, columns], *scales)


@dataclass(frozen=True)
class PanelKernel:
    """The functions of a matrix product in machine code, and the bytes of what they hand to each other."""

    design: Design
    lanes: int
    bytes_a: int
    bytes_b: int
    code: MachineCode
    _functions: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def panel(self) -> int:
        """The columns of a panel of B: as many as the cache holds."""
        fitting = PANEL_BYTES // max(self.bytes_b, 1) // SIDE * SIDE
        return min(max(fitting, SIDE), WIDEST_PANEL)

    def unpack_a(self, columns: Sequence[Patterns], to: npt.NDArray[np.uint8]) -> None:
        """Unpack operands: (instructions, rows, k) of a, and (instructions, rows, blocks) of its scales."""
        run = self._function(UNPACK_A, len(columns) + 1, 1)
        instructions, rows, _ = columns[0].shape
        run(*(x.ctypes.data for x in columns), to.ctypes.data, instructions * rows // self.lanes)

    def unpack_b(self, columns: Sequence[Patterns], to: npt.NDArray[np.uint8], width: int) -> None:
        """Unpack the operands of a panel: (k, columns) of b and (blocks, columns) of its scales, of all instructions.

        ``to`` has a row for each instruction.
        """
        run = self._function(UNPACK_B, len(columns) + 1, 4)
        pitch, in_panel = columns[0].strides[0] // columns[0].itemsize, width // self.lanes
        addresses = [*(x.ctypes.data for x in columns), to.ctypes.data]
        run(*addresses, pitch, to.strides[0], in_panel, len(to) * in_panel)

    def multiply(self, unpacked: Unpacked, left: int, rows: tuple[int, int], c: Patterns, d: Patterns) -> None:
        """Add the products of all instructions that are unpacked to c: some rows, and the columns of a panel.

        c and d are the columns of the panel, which begins at the column ``left``.
        """
        run = self._function(MULTIPLY, 4, 8)
        of_a, of_b = unpacked.of_a, unpacked.of_b
        at_b = of_b.ctypes.data + left * self.bytes_b
        run(
            *(of_a.ctypes.data, at_b, c.ctypes.data, d.ctypes.data, *rows, len(of_a)),
            *(of_a.strides[0], of_b.strides[0], c.strides[0], d.strides[0], d.shape[1] // self.lanes),
        )

    def _function(self, name: str, pointers: int, sizes: int) -> Any:
        if name not in self._functions:
            kinds = [*[ctypes.c_void_p] * pointers, *[ctypes.c_size_t] * sizes]
            self._functions[name] = ctypes.CFUNCTYPE(None, *kinds)(self.code.addresses[name])
        return self._functions[name]


@dataclass(frozen=True)
class Unpacked:
    """Unpacked operands, by instruction: bytes of all rows of A, and of all columns of B, panel by panel.

    A panel has ``panel`` columns, the last one what is left.
    """

    of_a: npt.NDArray[np.uint8]
    of_b: npt.NDArray[np.uint8]
    panel: int


_loaded: dict[tuple[Design, bool, bool], PanelKernel] = {}


def key_of(design: Design, finite: bool, few: bool = False) -> str:
    """Return the key of a kernel of panels in the cache."""
    return compiler.identity(design, kind="panels of few rows" if few else "panels", finite=finite)


def is_loaded(design: Design) -> bool:
    """Return whether the kernel that most products need is in this process."""
    return (continued(design), has_specials(design), False) in _loaded


def is_kept(design: Design) -> bool:
    """Return whether that kernel is in the cache."""
    return compiler.has(key_of(continued(design), has_specials(design)))


def panel_kernel(design: Design, finite: bool, few: bool = False) -> PanelKernel:
    """Return a kernel of one instruction, for ``few`` rows or many, compiled where it is neither loaded nor kept.

    Raises as ``rows_kernel``.
    """
    return once(_loaded, (design, finite, few), lambda: _recipe(design, finite, few))


def _recipe(design: Design, finite: bool, few: bool) -> Recipe[PanelKernel]:
    def source() -> Source:
        cpu = processor()
        lowered = lower(design, finite=finite, fused_multiply_add=cpu.has_fused_multiply_add)
        functions = panel_functions(lowered, cpu.vector_bits, few)
        parts = functions.split
        sizes = {"lanes": parts.lanes, "bytes_a": parts.bytes_a, "bytes_b": parts.bytes_b}
        return Source(functions.texts, functions.declarations, sizes, optimised=True)

    def results(kernel: PanelKernel) -> Patterns:
        given = _checked_product(design, finite)
        d = np.zeros((SIDE, SIDE), dtype=pattern_dtype(design.d_format))
        unpacked = _unpack(kernel, design, given, [0], SIDE, 1, map)
        kernel.multiply(unpacked, 0, (0, SIDE), given.c, d)
        return d.ravel()

    def expected() -> Patterns:
        rows, columns = (x.ravel() for x in np.indices((SIDE, SIDE)))
        return evaluate_on_arrays(design, _checked_product(design, finite).elements(rows, columns))

    return Recipe(
        f"{design.name} (matrices{', finite' if finite else ''}{', few rows' if few else ''})",
        key_of(design, finite, few),
        [UNPACK_A, UNPACK_B, MULTIPLY],
        source,
        lambda code, sizes: PanelKernel(design, sizes["lanes"], sizes["bytes_a"], sizes["bytes_b"], code),
        results,
        expected,
    )


def _checked_product(design: Design, finite: bool) -> Matrices:
    """Return a small product of the rows that code is checked on, of numbers alone where ``finite``."""
    rows = sample(input_columns(design, design.k))
    at = slice(SIDE)
    a, b = rows.a[at], rows.b[at]
    scales = [None if x is None else x[at] for x in (rows.scale_a, rows.scale_b)]
    if finite:
        a, b = (np.where(is_special(f, x), x.dtype.type(0), x) for f, x in ((design.a_format, a), (design.b_format, b)))
        if (fmt := design.scale_format) is not None:
            scales = [None if x is None else np.where(is_special(fmt, x), x.dtype.type(0), x) for x in scales]
    c = np.ascontiguousarray(rows.c[: SIDE * 4].repeat(SIDE // 4).reshape(SIDE, SIDE))
    return Matrices(a, np.ascontiguousarray(b.T), c, scales[0], None if scales[1] is None else scales[1].T.copy())


def has_specials(design: Design) -> bool:
    """Return whether operands of a, b or scales may be infinities or NaNs."""
    formats = (design.a_format, design.b_format, design.scale_format)
    return any(f is not None and f.specials not in (Specials.NONE, Specials.INTEGER) for f in formats)


def is_special(fmt: Format, patterns: Patterns) -> npt.NDArray[np.bool_]:
    """Return which patterns are infinities or NaNs."""
    first = fmt.quiet_nan if fmt.infinity is None else fmt.infinity
    found: npt.NDArray[np.bool_]
    if first is None:
        found = np.zeros(patterns.shape, dtype=bool)
    elif fmt.nan_is_minus_zero:
        below_sign = patterns.dtype.type((1 << fmt.sign_position) - 1)
        infinite = False if fmt.infinity is None else (patterns & below_sign) == fmt.infinity
        found = (patterns == fmt.quiet_nan) | infinite
    else:
        found = (patterns & patterns.dtype.type(_magnitude(fmt))) >= first
    return found


def multiply_natively(design: Design, given: Matrices, jobs: int = 1) -> Patterns:
    """Return the patterns of ``C + A B``, shape (m, n); the operands were checked against the design.

    ``jobs`` threads share the work. The d of one instruction is the c of the next. On the way it is lost whether an
    infinity was produced or handed in. Where that matters (``chain_infinity``), elements that were infinite are
    computed again, on arrays. Raises as ``rows_kernel``.
    """
    m, n = given.c.shape
    if jobs > 1 and _layout(given, m)[1]:
        if given.b.size < SHARED:
            return multiply_natively(design, given)
        width = -(-n // (jobs * SIDE)) * SIDE  # each thread unpacks what it multiplies, and none waits for another
        parts = [given.columns(slice(left, left + width)) for left in range(0, n, width)]
        with ThreadPoolExecutor(jobs) as pool:
            return np.concatenate(list(pool.map(partial(multiply_natively, design), parts)), axis=1)
    design = design.configured(given.a.shape[1])
    whole = _filled(design, given)
    same_format = design.c_format is design.d_format
    d = whole.c.copy() if same_format else np.zeros(whole.c.shape, dtype=pattern_dtype(design.d_format))
    was_infinite = np.zeros(d.shape, dtype=bool)
    starts = list(range(0, whole.a.shape[1], design.k))
    of_step, c, first = design, d if same_format else whole.c, 0
    with ThreadPoolExecutor(jobs) as pool:
        run = map if jobs == 1 else pool.map
        while m and n and first < len(starts):
            alone = not design.chain.keeps_infinities or (design.c_format is not design.d_format and not first)
            last = first + 1 if alone else len(starts)
            _accumulate(of_step, whole, starts[first:last], (c, d), m, jobs, run)
            of_step, c, first = continued(design), d, last
            if not design.chain.keeps_infinities and first < len(starts):
                was_infinite |= is_infinite(design.d_format, d)
    again = np.nonzero(was_infinite[:m, :n])
    at_once = max(CHUNK_ROWS * design.k // whole.a.shape[1], 1)
    for start in range(0, len(again[0]), at_once):
        rows, columns = (x[start : start + at_once] for x in again)
        d[rows, columns] = evaluate_on_arrays(design, given.elements(rows, columns))
    return np.ascontiguousarray(d[:m, :n])


def _filled(design: Design, given: Matrices) -> Matrices:
    """Return the operands filled up with +0 (scales with 1): to whole instructions, and whole vectors."""
    (m, k), n = given.a.shape, given.b.shape[1]
    length = design.padded_length(k)
    m, n = (-(-x // SIDE) * SIDE for x in (m, n))
    one = 0 if design.scale_format is None else design.scale_format.encode(1)
    blocks = design.blocks(length)

    def filled(x: Patterns, shape: tuple[int, int], filler: int = 0) -> Patterns:
        if x.shape == shape:
            # columns of a wider matrix stay where they are; scales of b have their rows as far apart as b
            is_read = given.scale_b is None and x.strides[1] == x.itemsize and x.strides[0] >= 0
            return x if is_read else np.ascontiguousarray(x)
        to = np.full(shape, filler, dtype=x.dtype)
        to[: x.shape[0], : x.shape[1]] = x
        return to

    return Matrices(
        filled(given.a, (m, length)),
        filled(given.b, (length, n)),
        filled(given.c, (m, n)),
        None if given.scale_a is None else filled(given.scale_a, (m, blocks), one),
        None if given.scale_b is None else filled(given.scale_b, (blocks, n), one),
    )


def _layout(given: Matrices, m: int) -> tuple[bool, bool]:
    """Return whether B is unpacked for each row, and whether one panel has all its columns."""
    few = m <= UNPACKED_AGAIN and given.b.size >= LARGE
    return few, few or m <= FEW_ROWS


def _accumulate(
    design: Design,
    given: Matrices,
    starts: Sequence[int],
    c_and_d: tuple[Patterns, Patterns],
    m: int,
    jobs: int,
    run: Run,
) -> None:
    """Add the instructions at ``starts`` to the first m rows of c, and store them in d. For several, c is d."""
    d = c_and_d[1]
    few, is_wide = _layout(given, m)
    first = 0
    while first < len(starts):
        kernels = [panel_kernel(design, has_specials(design), few)]
        per_instruction = d.shape[0] // kernels[0].lanes * kernels[0].bytes_a + d.shape[1] * kernels[0].bytes_b
        at_once = FEW_ROWS_BYTES if is_wide else UNPACKED_BYTES
        chunk = starts[first : first + max(at_once // per_instruction, 1)]
        special_rows, special_columns = _specials(design, given, chunk)
        if special_rows.any() or special_columns.any():
            kernels.append(panel_kernel(design, False, few))
        panel = min(kernel.panel for kernel in kernels)  # what one of them leaves is what the other one takes
        if is_wide:
            panel = -(-d.shape[1] // (jobs * SIDE)) * SIDE
        for kernel in kernels:
            unpacked = _unpack(kernel, design, given, chunk, panel, jobs, run)
            general = len(kernels) > 1 and kernel is kernels[1]
            tasks = _tasks(panel, special_rows[:m], special_columns, general, jobs)
            list(run(partial(_multiply, kernel, unpacked, c_and_d), tasks))
        first += len(chunk)


def _specials(
    design: Design, given: Matrices, starts: Sequence[int]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which rows of A and which columns of B have infinities or NaNs, or such scales, in these instructions."""
    ks, blocks = _parts(design, starts)
    rows = _has_special(design.a_format, given.a[:, ks], axis=1)
    columns = _has_special(design.b_format, given.b[ks], axis=0)
    if design.scale_format is not None and given.scale_a is not None and given.scale_b is not None:
        rows |= _has_special(design.scale_format, given.scale_a[:, blocks], axis=1)
        columns |= _has_special(design.scale_format, given.scale_b[blocks], axis=0)
    return rows, columns


def _has_special(fmt: Format, patterns: Patterns, axis: int) -> npt.NDArray[np.bool_]:
    """Return which rows (axis 1) or columns (axis 0) have an infinity or a NaN."""
    if fmt.specials is Specials.FNUZ or not patterns.shape[axis]:
        found: npt.NDArray[np.bool_] = np.any(is_special(fmt, patterns), axis=axis)
        return found
    return is_special(fmt, (patterns & patterns.dtype.type(_magnitude(fmt))).max(axis=axis))


def _magnitude(fmt: Format) -> int:
    return (1 << (fmt.exponent_bits + fmt.fraction_bits + fmt.ignored_bits)) - 1


def _parts(design: Design, starts: Sequence[int]) -> tuple[slice, slice]:
    """Return the elements along k of consecutive instructions, and their blocks."""
    of_one = design.blocks(design.k)
    of_blocks = slice(starts[0] // design.k * of_one, (starts[-1] // design.k + 1) * of_one)
    return slice(starts[0], starts[-1] + design.k), of_blocks


def _unpack(
    kernel: PanelKernel, design: Design, given: Matrices, starts: Sequence[int], panel: int, jobs: int, run: Run
) -> Unpacked:
    """Unpack the operands of consecutive instructions."""
    m, n = len(given.a), given.b.shape[1]
    of_a = np.empty((len(starts), m // kernel.lanes * kernel.bytes_a), dtype=np.uint8)
    of_b = np.empty((len(starts), n * kernel.bytes_b), dtype=np.uint8)

    def unpack(some: slice) -> None:
        ks, blocks = _parts(design, starts[some])
        columns = [given.a[:, ks], *([] if given.scale_a is None else [given.scale_a[:, blocks]])]
        kernel.unpack_a([_by_instruction(x, len(starts[some])) for x in columns], of_a[some])
        rows = [given.b[ks], *([] if given.scale_b is None else [given.scale_b[blocks]])]
        for left in range(0, n, panel):
            width = min(panel, n - left)
            kernel.unpack_b([x[:, left:] for x in rows], of_b[some, left * kernel.bytes_b :], width)

    share = -(-len(starts) // jobs)
    list(run(unpack, [slice(x, x + share) for x in range(0, len(starts), share)]))
    return Unpacked(of_a, of_b, panel)


def _by_instruction(x: Patterns, instructions: int) -> Patterns:
    """Return columns of A, or of its scales, as (instructions, rows, columns of one)."""
    return np.ascontiguousarray(x.reshape(len(x), instructions, -1).swapaxes(0, 1))


def _tasks(
    panel: int,
    special_rows: npt.NDArray[np.bool_],
    special_columns: npt.NDArray[np.bool_],
    general: bool,
    jobs: int,
) -> Iterator[tuple[int, int, int]]:
    """Yield what a kernel computes: the first column of a panel, the first row, and the row after the last one.

    The general kernel takes what has infinities or NaNs, the other one the rest. Each panel is a task for every thread.
    """
    m, n = len(special_rows), len(special_columns)
    share = max(-(-m // (jobs * RUN_ROWS)) * RUN_ROWS, RUN_ROWS) if jobs > 1 else m
    mixed = bool(special_rows.any() or special_columns.any())
    for left in range(0, n, panel):
        whole_panel = bool(special_columns[left : left + panel].any())
        step = RUN_ROWS if mixed and not whole_panel else share
        for top in range(0, m, step):
            special = whole_panel or bool(special_rows[top : top + step].any())
            if special is general:
                yield left, top, min(top + step, m)


def _multiply(
    kernel: PanelKernel, unpacked: Unpacked, c_and_d: tuple[Patterns, Patterns], task: tuple[int, int, int]
) -> None:
    left, top, bottom = task
    c, d = (x[:, left : left + unpacked.panel] for x in c_and_d)
    kernel.multiply(unpacked, left, (top, bottom), c, d)
