"""The targets of matrix products, and how they are spelled: Python functions, processes, files.

What a target of matrix products is: something that multiplies matrices of one shape and says what it is.

A target of ``target.py`` runs dot products; the kernel of a library can only be asked for whole matrices, and may
choose another way for each shape.

Whether a kernel returns the same bits for a row of a whatever other rows are there, and each time that it runs.

Rows run alone and as the first ones of larger and larger batches, up to each side of every power of two, where tiles
end. Each batch runs twice, and once with its rows in another order. Between two batches that differ, the number of rows
at which the bits change is found by bisection. Finding no difference proves nothing.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, OperandError, TargetUnavailable
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns, array_dtype, array_of, as_numpy, is_array, pattern_dtype, patterns_of
from mmaproof.hardware_replay.tables.numbers import candidates
from mmaproof.hardware_replay.tables.reading import own_format
from mmaproof.hardware_replay.tables.recognise import are_there, files_of, read_array, read_table
from mmaproof.verification.distributions import from_float64

LARGEST = 1 << 14
"""The most rows, columns or elements of k that are asked for."""


@dataclass(frozen=True)
class Product:
    """What is asked: ``d = a @ b`` of (m, k) and (k, n), and the formats of a, b and d.

    With ``scale``, each ``block`` elements of a row of a and of a column of b are times a scale of that format.
    """

    m: int
    n: int
    k: int
    a: Format
    b: Format
    d: Format
    scale: Format | None = None
    block: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("n", self.n), ("k", self.k)):
            if not 1 <= size <= LARGEST:
                raise InputError(f"{name} = {size} is out of range: 1..{LARGEST}")
        if self.a.is_integer is not self.d.is_integer or self.b.is_integer is not self.d.is_integer:
            raise InputError(f"{self.formats}: integers and floating-point numbers do not mix")

    @property
    def formats(self) -> str:
        """The formats as names of instructions have them, d first."""
        return ".".join(f.isa_name for f in (self.d, self.a, self.b, self.scale) if f is not None)

    @property
    def shape(self) -> str:
        """M x n x k."""
        return f"{self.m} x {self.n} x {self.k}"


class MatrixTarget(Protocol):
    """Something that multiplies matrices."""

    @property
    def name(self) -> str:
        """How it is spelled, in one line."""

    def multiply(self, product: Product, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of ``a @ b``, both given as patterns.

        Raises InputError where what comes back is not such a matrix, TargetUnavailable where nothing does.
        """


DEADLINE = 60.0
"""Seconds that a process has for one product, unless another limit is given."""
_STDERR_KEPT = 400


@dataclass(frozen=True)
class FunctionTarget:
    """A Python function of two arrays of the formats' own types (``mmaproof.designs.operands``) that returns the third.

    It gets NumPy arrays, and returns an array of NumPy, PyTorch or JAX.

    It is called with arrays of its own, so that it may change them.
    """

    name: str
    function: Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]

    def multiply(self, product: Product, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of what the function returns.

        Raises TargetUnavailable where it raises, InputError where it returns another type or shape.
        """
        operands = (array_of(x, fmt).copy() for x, fmt in ((a, product.a), (b, product.b)))
        try:
            with np.errstate(all="ignore"):
                returned = self.function(*operands)
        except (Exception, SystemExit) as error:
            raise TargetUnavailable(
                f"{self.name} raised {type(error).__name__}: {_line(str(error))}: it is called with "
                f"{_described(product)}"
            ) from error
        if not is_array(returned):
            raise InputError(
                f"{self.name} returned {type(returned).__module__}.{type(returned).__qualname__}: an array of "
                f"{array_dtype(product.d)} is needed, of NumPy, PyTorch or JAX; convert the result in a function of "
                "your own"
            )
        try:
            d = as_numpy(returned)
        except OperandError as error:
            raise InputError(f"what {self.name} returned: {error}") from error
        return _patterns(self.name, product, d)


@dataclass(frozen=True)
class ProcessMatrixTarget:
    """A command that is started for each product, with the files of a, b and d behind its own arguments.

    a and b are .npy files of the formats' own types, or of bit patterns (unsigned integers) where NumPy alone has no
    such type (bf16, fp8). The command writes d in the same way, and ends with exit status 0 within ``timeout`` seconds.
    """

    command: str
    timeout: float

    @property
    def name(self) -> str:
        """``process:`` and the command, in one line."""
        return f"process:{' '.join(self.command.split())}"

    def multiply(self, product: Product, a: Patterns, b: Patterns) -> Patterns:
        """Return the patterns of the file that the command wrote; TargetUnavailable where it failed or wrote none."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"{self.name}: {error}: quote the command as for a shell") from error
        if not words:
            raise InputError("process: without a command: write process:COMMAND, such as 'process:./multiply'")
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, f"{x}.npy") for x in "abd"]
            for file, patterns, fmt in zip(files, (a, b), (product.a, product.b), strict=False):
                np.save(file, _stored(patterns, fmt), allow_pickle=False)
            self._run([*words, *map(str, files)])
            if not files[2].exists():
                raise TargetUnavailable(f"{self.name} wrote no d: its last argument names the .npy file to be written")
            return _patterns(self.name, product, read_array(str(files[2])))

    def _run(self, words: list[str]) -> None:
        try:
            done = subprocess.run(words, capture_output=True, timeout=self.timeout, check=False)
        except OSError as error:
            raise TargetUnavailable(
                f"{self.name}: {words[0]} cannot be started: {error.strerror}: name a program that can be executed"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise TargetUnavailable(
                f"{self.name} has not ended after {self.timeout:g} s: give it more time with --silence"
            ) from error
        if done.returncode:
            said = _line(done.stderr.decode(errors="replace")[-_STDERR_KEPT:])
            ending = f"; its stderr ends with {said}" if said else ": run it by hand to see why"
            raise TargetUnavailable(f"{self.name} ended with exit status {done.returncode}{ending}")


@dataclass(frozen=True)
class RecordedProduct:
    """One product that was recorded: a, b and d as arrays, read from files, and the scales of blocks of a and of b.

    Scales have the shapes (M, blocks) and (blocks, N).
    """

    name: str
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    d: npt.NDArray[Any]
    scales: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None

    @property
    def interface(self) -> str:
        """The formats D.A.B that the types of the arrays say, f32 where one holds numbers of several formats."""
        found = [own_format(x) for x in (self.d, self.a, self.b)]
        return ".".join("f32" if x is None else x.isa_name for x in found)

    def product(self, a: Format, b: Format, d: Format, scale: Format | None = None) -> Product:
        """Return what was multiplied, in these formats; InputError where the shapes are not those of a product."""
        shapes = [x.shape for x in (self.a, self.b, self.d)]
        if (
            any(len(x) != 2 for x in shapes)
            or shapes[0][1] != shapes[1][0]
            or shapes[2] != (*shapes[0][:1], shapes[1][1])
        ):
            given = ", ".join(f"{x} {shape}" for x, shape in zip("abd", shapes, strict=True))
            raise InputError(f"{self.name}: shapes {given}: (M, K), (K, N), (M, N) needed")
        m, n, k = shapes[0][0], shapes[1][1], shapes[0][1]
        return Product(m, n, k, a, b, d, scale, self._block(m, n, k, scale))

    def _block(self, m: int, n: int, k: int, scale: Format | None) -> int | None:
        """Return how many elements of k share a scale; None without scales. InputError where shapes do not fit."""
        if self.scales is None or scale is None:
            if self.scales is not None:
                raise InputError(f"{self.name} has scales: name their format as well, f32.e4m3.e4m3.ue8m0 for example")
            if scale is not None:
                raise InputError(
                    f"{self.name} has no scales of {scale.isa_name}: files:A.npy,B.npy,D.npy,SA.npy,SB.npy"
                )
            return None
        of_a, of_b = (x.shape for x in self.scales)
        blocks = of_a[-1] if of_a else 0
        if of_a != (m, blocks) or of_b != (blocks, n) or not blocks or k % blocks:
            raise InputError(
                f"{self.name}: scales of a {of_a}, of b {of_b}: ({m}, blocks) and (blocks, {n}) needed, of blocks that "
                f"divide K = {k}"
            )
        return k // blocks

    def scale_patterns(self, product: Product) -> tuple[Patterns, Patterns] | None:
        """Return the patterns of the scales of a and of b; None without scales. InputError for another type."""
        if self.scales is None or product.scale is None:
            return None
        found = self._read({f"scales of {x}": (y, product.scale) for x, y in zip("ab", self.scales, strict=True)})
        a, b = found.values()
        return a, b

    def patterns(self, product: Product) -> tuple[Patterns, Patterns, Patterns]:
        """Return the patterns of a, b and d; InputError names the array of another type."""
        found = self._read({"a": (self.a, product.a), "b": (self.b, product.b), "d": (self.d, product.d)})
        return found["a"], found["b"], found["d"]

    def _read(self, arrays: dict[str, tuple[npt.NDArray[Any], Format]]) -> dict[str, Patterns]:
        """Return the patterns of arrays in formats; InputError names the array, or the ways to read them."""
        columns = {f"{name} of {self.name}": x for name, (x, _) in arrays.items()}
        formats = {f"{name} of {self.name}": fmt for name, (_, fmt) in arrays.items()}
        ways = candidates(columns, formats, frozenset())
        if len(ways) > 1:
            raise InputError(f"{self.name}: integers may be numbers or bit patterns: write patterns as 0x...")
        return {n: np.ascontiguousarray(x) for n, x in zip(arrays, next(iter(ways.values())).values(), strict=True)}


def find_matrix_target(text: str, timeout: float = DEADLINE) -> MatrixTarget | RecordedProduct:
    """Return what ``text`` spells: python:MODULE:FUNCTION, process:COMMAND, files:A.npy,B.npy,D.npy, or a file.

    Files of scales of a and of b may follow. Files are of any kind that ``tables`` reads.

    Raises InputError for an unknown kind, for a module or function that is not there, and for files that cannot be
    read.
    """
    kind, _, name = text.partition(":")
    if kind == "python":
        return FunctionTarget(text, _function(text, name))
    if kind == "process":
        return ProcessMatrixTarget(name, timeout)
    if kind == "files" or are_there(text):
        return _recorded(text, name if kind == "files" else text)
    raise InputError(
        f"unknown target {text!r}: one of python:MODULE:FUNCTION, process:COMMAND, files:A.npy,B.npy,D.npy, FILE"
    )


def _recorded(text: str, source: str) -> RecordedProduct:
    """Return the product of matrices that files hold. Raises InputError where they hold something else."""
    held = read_table(source).roles() if len(files_of(source)) in (1, 3, 5) else {}
    if set(held) == {""} and held[""].ndim == 3 and len(held[""]) == 3:
        held = dict(zip("abd", held[""], strict=True))
    if not {"a", "b", "d"} <= held.keys():
        raise InputError(
            f"{text!r}: files:A.npy,B.npy,D.npy is needed, with the operands first; scales of blocks of a and of b "
            "may follow, SA.npy,SB.npy; or one file with arrays a, b and d"
        )
    if "c" in held:
        raise InputError(f"{text!r}: has a c, and a product of a kernel is a @ b: leave c out where it is zero")
    scales = [held[x] for x in ("scale_a", "scale_b") if x in held]
    if len(scales) == 1:
        raise InputError(f"{text!r}: has scales of one of a and b: give those of both")
    return RecordedProduct(text, held["a"], held["b"], held["d"], (scales[0], scales[1]) if scales else None)


def _function(text: str, name: str) -> Callable[..., Any]:
    """Return the function of ``package.module:function``; modules of the working directory are found, too."""
    module_name, colon, path = name.rpartition(":")
    if not colon or not module_name or not path:
        raise InputError(f"{text!r}: python:package.module:function is needed")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a module may raise anything
        raise InputError(
            f"{text!r}: {module_name} cannot be imported: {type(error).__name__}: {_line(str(error))}"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InputError(f"{text!r}: {module_name} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{text!r}: {path} of {module_name} is not a function")
    function: Callable[..., Any] = found
    return function


def _described(product: Product) -> str:
    a, b = array_dtype(product.a), array_dtype(product.b)
    return f"a of shape ({product.m}, {product.k}) and {a}, and b of shape ({product.k}, {product.n}) and {b}"


def _patterns(name: str, product: Product, d: npt.NDArray[Any]) -> Patterns:
    """Return the patterns of d; InputError where its type or shape is not that of the product."""
    if d.shape != (product.m, product.n):
        raise InputError(f"{name} returned an array of shape {d.shape}: ({product.m}, {product.n}) is needed")
    return _of_format(f"what {name} returned", d, product.d)


def _of_format(what: str, array: npt.NDArray[Any], fmt: Format) -> Patterns:
    try:
        return np.ascontiguousarray(patterns_of(array, fmt))
    except OperandError as error:
        raise InputError(f"{what}: {error}") from error


def _stored(patterns: Patterns, fmt: Format) -> npt.NDArray[Any]:
    """Return an array that NumPy alone can read again."""
    own = array_dtype(fmt)
    return array_of(patterns, fmt) if own.isbuiltin == 1 else patterns.astype(pattern_dtype(fmt))


def _line(text: str) -> str:
    """Return the text in one line."""
    return " ".join(text.split())[:_STDERR_KEPT]


WATCHED = 8
"""The first rows of a batch, which are compared."""


@dataclass(frozen=True)
class BatchDifference:
    """An element whose bits differ: a row of a and a column of b as patterns, d alone, and d in the other run."""

    m: int
    how: str
    row: int
    column: int
    a: Patterns
    b: Patterns
    alone: int
    other: int


@dataclass(frozen=True)
class BatchCheck:
    """What was found: whether the kernel is batch invariant, and deterministic, as far as ``runs`` runs show.

    ``changes`` are the numbers of rows M at which the bits of a row become others than with M - 1 rows.
    """

    name: str
    formats: str
    k: int
    n: int
    most: int
    runs: int
    invariant: bool
    deterministic: bool
    changes: tuple[int, ...]
    witness: BatchDifference | None


def check_batch_invariance(
    kernel: Callable[[Any, Any], Any] | str,
    unit: Design | str,
    *,
    k: int = 1024,
    n: int = 64,
    most: int = 256,
    seed: int = 0,
) -> BatchCheck:
    """Return whether rows of ``kernel(a, b)`` have the same bits in every batch that was tried, of 1 to ``most`` rows.

    ``kernel`` is a function of arrays a (M, k) and b (k, n) of the formats of ``unit``, which returns d (M, n), or
    ``python:MODULE:FUNCTION`` or ``process:COMMAND``. Raises InputError for numbers out of range and for results of
    another type or shape, TargetUnavailable where the kernel raises.

    >>> import mmaproof
    >>> def kernel(a, b):
    ...     return mmaproof.matmul("hopper/wgmma.f32.f16.f16" + " | split-k=2" * (len(a) <= 8), a, b)
    >>> found = mmaproof.check_batch_invariance(kernel, "hopper/wgmma.f32.f16.f16", k=64, n=8, most=16)
    >>> found.invariant, found.changes
    (False, (9,))
    """
    design = find_design(unit) if isinstance(unit, str) else unit
    if design.scale_format is not None:
        raise InputError(f"{design.name} has scales: a kernel of two arrays is needed")
    if most < 2:
        raise InputError(f"most = {most}: batches of at least 2 rows are needed")
    target = find_matrix_target(kernel) if isinstance(kernel, str) else FunctionTarget(_name(kernel), kernel)
    if not hasattr(target, "multiply"):
        raise InputError(f"{target.name}: a recorded product cannot be asked for other rows")
    run = _Runs(target, design, k, n, most, seed)
    sizes = sorted({x for p in range(most.bit_length()) for x in (2**p - 1, 2**p, 2**p + 1) if 2 <= x <= most} | {most})
    changes, deterministic, before = list[int](), True, 1
    for m in sizes:
        d, again = run.first(m), run.first(m)
        if not np.array_equal(d, again):
            deterministic = False
            run.note(m, "run again", d, again)
            continue
        order = run.rng.permutation(m)
        run.note(m, "in another order of rows", run.alone[: len(d)], run.ordered(m, order))
        run.note(m, "in a larger batch", run.alone[: len(d)], d)
        if not run.same(before, m):
            changes.append(run.bisected(before, m))
        before = m
    invariant = deterministic and run.witness is None
    return BatchCheck(
        target.name,
        run.product(1).formats,
        k,
        n,
        most,
        run.count,
        invariant,
        deterministic,
        tuple(changes),
        run.witness,
    )


class _Runs:
    """Products of the first rows of one matrix, whose numbers have many exponents, so that their order matters."""

    def __init__(self, target: MatrixTarget, unit: Design, k: int, n: int, most: int, seed: int) -> None:
        self.target, self.unit, self.n, self.k, self.count = target, unit, n, k, 0
        self.rng = np.random.default_rng([seed, k, n])
        self.a, self.b = self._drawn(unit.a_format, (most, k)), self._drawn(unit.b_format, (k, n))
        self.witness: BatchDifference | None = None
        self.known: dict[int, Patterns] = {}
        self.alone = np.concatenate([self.run(self.a[i : i + 1]) for i in range(min(WATCHED, most))])
        self.known[1] = self.alone[:1]

    def _drawn(self, fmt: Any, shape: tuple[int, int]) -> Patterns:
        found: npt.NDArray[np.float64] = self.rng.standard_normal(shape)
        if not fmt.is_integer:
            found *= 2.0 ** self.rng.integers(-3, 4, shape)
        return from_float64(fmt, found)

    def product(self, m: int) -> Product:
        """Return the product of m rows."""
        return Product(m, self.n, self.k, self.unit.a_format, self.unit.b_format, self.unit.d_format)

    def run(self, a: Patterns) -> Patterns:
        """Return d of some rows."""
        self.count += 1
        return self.target.multiply(self.product(len(a)), np.ascontiguousarray(a), self.b)

    def first(self, m: int) -> Patterns:
        """Return what the watched rows are in a batch of the first m."""
        self.known[m] = self.run(self.a[:m])[:WATCHED]
        return self.known[m]

    def ordered(self, m: int, order: npt.NDArray[np.intp]) -> Patterns:
        """Return the same from a batch in another order."""
        found = np.empty((m, self.n), dtype=self.alone.dtype)
        found[order] = self.run(self.a[:m][order])
        return found[:WATCHED]

    def same(self, x: int, y: int) -> bool:
        """Return whether the rows that two batches share have the same bits."""
        first, second = (self.known[m] if m in self.known else self.first(m) for m in (x, y))
        rows = min(len(first), len(second))
        return bool(np.array_equal(first[:rows], second[:rows]))

    def bisected(self, low: int, high: int) -> int:
        """Return a number of rows at which the bits change, above ``low`` and at most ``high``."""
        start = low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.same(start, middle) else (low, middle)
        return high

    def note(self, m: int, how: str, alone: Patterns, other: Patterns) -> None:
        """Keep the first element that differs."""
        if self.witness is None and (alone != other).any():
            row, column = map(int, np.argwhere(alone != other)[0])
            of_b = np.ascontiguousarray(self.b[:, column])
            x, y = int(alone[row, column]), int(other[row, column])
            self.witness = BatchDifference(m, how, row, column, self.a[row], of_b, x, y)


def _name(kernel: Callable[[Any, Any], Any]) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
