"""The targets of matrix products, and how they are spelled: Python functions, processes, files."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arrays import array_dtype, array_of, patterns_of
from mmaproof.designs.errors import InputError, OperandError, TargetUnavailable
from mmaproof.designs.foreign import as_numpy, is_array
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns, pattern_dtype
from mmaproof.hardware_replay.matrix_target import MatrixTarget, Product

DEADLINE = 60.0
"""Seconds that a process has for one product, unless another limit is given."""
_STDERR_KEPT = 400


@dataclass(frozen=True)
class FunctionTarget:
    """A Python function of two arrays of the formats' own types (``mmaproof.designs.arrays``) that returns the third.

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
            return _patterns(self.name, product, read_array(files[2]))

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
        a, b = (
            _of_format(f"scales of {x} of {self.name}", array, product.scale)
            for x, array in zip("ab", self.scales, strict=True)
        )
        return a, b

    def patterns(self, product: Product) -> tuple[Patterns, Patterns, Patterns]:
        """Return the patterns of a, b and d; InputError names the array of another type."""
        named = zip("abd", (self.a, self.b, self.d), (product.a, product.b, product.d), strict=True)
        found = [_of_format(f"{x} of {self.name}", array, fmt) for x, array, fmt in named]
        return found[0], found[1], found[2]


def read_array(path: Path) -> npt.NDArray[Any]:
    """Return the array of a .npy file; InputError where it is none. Nothing is unpickled."""
    try:
        found = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: no .npy file of numbers, or damaged: write one with numpy.save") from error
    if not isinstance(found, np.ndarray):
        raise InputError(f"{path}: an archive of arrays; give .npy files of one array each")
    return found


def find_matrix_target(text: str, timeout: float = DEADLINE) -> MatrixTarget | RecordedProduct:
    """Return what ``text`` spells: python:MODULE:FUNCTION, process:COMMAND, or files:A.npy,B.npy,D.npy.

    Files of scales of a and of b may follow.

    Raises InputError for an unknown kind, for a module or function that is not there, and for files that cannot be
    read.
    """
    kind, _, name = text.partition(":")
    if kind == "python":
        return FunctionTarget(text, _function(text, name))
    if kind == "process":
        return ProcessMatrixTarget(name, timeout)
    if kind == "files":
        paths = name.split(",")
        if len(paths) not in (3, 5) or not all(paths):
            raise InputError(
                f"{text!r}: files:A.npy,B.npy,D.npy is needed, with the operands first; scales of blocks of a and of b "
                "may follow, SA.npy,SB.npy"
            )
        a, b, d, *scales = (read_array(Path(x)) for x in paths)
        return RecordedProduct(text, a, b, d, (scales[0], scales[1]) if scales else None)
    raise InputError(
        f"unknown target {text!r}: one of python:MODULE:FUNCTION, process:COMMAND, files:A.npy,B.npy,D.npy"
    )


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
        raise InputError(f"{text!r}: {path} of {module_name} is no function")
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
