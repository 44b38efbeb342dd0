"""Operands of many dot products as arrays. Those of one are in ``element``.

Conversion of NumPy and ml_dtypes arrays to bit patterns and back, without rounding.

The type of an array is the one with the format's name in NumPy or ml_dtypes (``array_dtype``): float16, bfloat16,
float8_e4m3fn, float4_e2m1fn, int4 and so on. Some formats have no type of their own. tf32 is held in float32, whose low
13 bits are not read. ue4m3 is held in float8_e4m3fn, whose sign is not read. Formats with a bias that no type has
(e4m3b3, e4m3b11, e4m3b15) or without infinities and NaNs (e8m10, e8m7, e5m10) are held as patterns, unsigned integers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, assert_never

import ml_dtypes
import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands, check_scales
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS, Format, Specials, find_format

Patterns = npt.NDArray[np.unsignedinteger]
"""An array of bit patterns: uint8, uint16, uint32 or uint64."""


def pattern_dtype(fmt: Format) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned NumPy type that holds a pattern of ``fmt``."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if fmt.bits <= np.iinfo(dtype).bits:
            return np.dtype(dtype)
    return np.dtype(np.uint64)


@dataclass(frozen=True, slots=True)
class OperandBatch:
    """The operands of many output elements: ``a`` and ``b`` of shape (rows, k), ``c`` of shape (rows,).

    ``scale_a`` and ``scale_b`` have shape (rows, blocks). They are None if the design has no scales. ``random`` has
    shape (rows, 1). It is None unless random bits are an operand.
    """

    a: Patterns
    b: Patterns
    c: Patterns
    scale_a: Patterns | None = None
    scale_b: Patterns | None = None
    random: Patterns | None = None

    def __len__(self) -> int:
        return len(self.c)

    @property
    def k(self) -> int:
        """Number of products of each row."""
        return int(self.a.shape[1])

    def row(self, index: int) -> Operands:
        """Return the row at ``index`` as Python integers."""
        others = [() if s is None else tuple(s[index].tolist()) for s in (self.scale_a, self.scale_b, self.random)]
        return Operands(tuple(self.a[index].tolist()), tuple(self.b[index].tolist()), int(self.c[index]), *others)

    def key(self, index: int) -> tuple[bytes, ...]:
        """Return what tells the row at ``index`` from rows with other operands, as a key of a dictionary."""
        columns = (self.a, self.b, self.c, self.scale_a, self.scale_b, self.random)
        return tuple(x[index].tobytes() for x in columns if x is not None)

    def select(self, rows: npt.NDArray[np.bool_] | slice | npt.NDArray[np.intp]) -> OperandBatch:
        """Return the rows that the mask, slice or index array ``rows`` picks."""
        others = [None if s is None else s[rows] for s in (self.scale_a, self.scale_b, self.random)]
        return OperandBatch(self.a[rows], self.b[rows], self.c[rows], *others)

    def with_constants(self, patterns: Mapping[str, int]) -> OperandBatch:
        """Return the rows with one pattern in every element of each operand that ``patterns`` names."""
        return replace(self, **{n: np.full_like(getattr(self, n), x) for n, x in patterns.items()})

    def padded(self, design: Design) -> OperandBatch:
        """Return the rows padded with +0 elements (and scales of 1) to the length that ``design`` computes."""
        length = design.padded_length(self.k)
        one = 0 if design.scale_format is None else design.scale_format.encode(1)

        def filled(x: Patterns, count: int, filler: int) -> Patterns:
            return np.pad(x, ((0, 0), (0, count - x.shape[1])), constant_values=filler)

        blocks = design.blocks(length)
        scales = [None if x is None else filled(x, blocks, one) for x in (self.scale_a, self.scale_b)]
        return OperandBatch(filled(self.a, length, 0), filled(self.b, length, 0), self.c, *scales)

    @classmethod
    def concatenate(cls, parts: Sequence[OperandBatch]) -> OperandBatch:
        """Return the rows of several batches of the same length, one batch after the other."""
        columns = ((x.scale_a, x.scale_b, x.random) for x in parts)
        others = [[x for x in column if x is not None] for column in zip(*columns, strict=True)]
        a, b, c = (np.concatenate(x) for x in zip(*((x.a, x.b, x.c) for x in parts), strict=True))
        return cls(a, b, c, *(np.concatenate(x) if x else None for x in others))

    @classmethod
    def of_rows(cls, formats: Sequence[Format], rows: Sequence[Operands]) -> OperandBatch:
        """Return a batch of rows of the same length. Patterns have the types of ``formats`` (of a, b, c)."""
        a, b, c = map(pattern_dtype, formats[:3])
        scaled = bool(rows and rows[0].scale_a)
        return cls(
            np.array([r.a for r in rows], dtype=a),
            np.array([r.b for r in rows], dtype=b),
            np.array([r.c for r in rows], dtype=c),
            np.array([r.scale_a for r in rows], dtype=np.uint8) if scaled else None,
            np.array([r.scale_b for r in rows], dtype=np.uint8) if scaled else None,
            np.array([r.random for r in rows], dtype=np.uint32) if rows and rows[0].random else None,
        )

    def check(self, design: Design) -> None:
        """Raise OperandError if the shapes or the widths of patterns do not fit ``design``."""
        if self.a.ndim != 2 or self.a.shape != self.b.shape or self.c.shape != self.a.shape[:1]:
            raise OperandError(
                f"shapes a {self.a.shape}, b {self.b.shape}, c {self.c.shape}: (rows, k), (rows, k), (rows,) needed"
            )
        design.padded_length(self.k)
        for scale in (self.scale_a, self.scale_b):
            if scale is not None and (scale.ndim != 2 or len(scale) != len(self.c)):
                raise OperandError(f"scales have shape {scale.shape}: (rows, blocks) needed")
        counts = [0 if s is None else int(s.shape[1]) for s in (self.scale_a, self.scale_b)]
        check_scales(design, self.k, counts[0], counts[1])
        columns: list[tuple[str, Patterns | None, Format | None]] = [
            ("a", self.a, design.a_format),
            ("b", self.b, design.b_format),
            ("c", self.c, design.c_format),
            ("scale_a", self.scale_a, design.scale_format),
            ("scale_b", self.scale_b, design.scale_format),
        ]
        for column, patterns, fmt in columns:
            if patterns is None or fmt is None:
                continue
            if patterns.dtype.kind != "u":
                raise OperandError(f"{column} has type {patterns.dtype}: bit patterns are unsigned integers")
            if 8 * patterns.itemsize > fmt.bits and patterns.size and int(patterns.max()) >> fmt.bits:
                raise OperandError(
                    f"{column} holds {int(patterns.max()):#x}, too wide for {fmt.name} ({fmt.bits} bits)"
                )


def is_array(given: Any) -> bool:
    """Return whether something is an array of NumPy or of another library, and no list or number."""
    return isinstance(given, np.ndarray) or hasattr(given, "__array__") or hasattr(given, "__dlpack__")


def as_numpy(array: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy, ml_dtypes, PyTorch or JAX as a NumPy array.

    Tensors of narrow types of PyTorch become their bit patterns, because DLPack has no such types for NumPy. Raises
    OperandError for anything that is not an array, and for one that cannot be read here.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise OperandError("a masked array, and units have no masks: fill it first")
    if isinstance(array, np.ndarray):
        return array
    kind = f"{type(array).__module__}.{type(array).__qualname__}".removeprefix("builtins.")
    try:
        if type(array).__module__.partition(".")[0] == "torch":
            return _of_torch(array)
        if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
            return _checked(np.asarray(array), kind)
        return np.from_dlpack(array)
    except OperandError:
        raise
    except Exception as problem:  # each library has errors of its own, for devices, layouts and traced values
        raise OperandError(
            f"a {kind} cannot be read as an array: {type(problem).__name__}: {_line(problem)}; copy it to a NumPy array"
        ) from problem


def _checked(found: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Return what NumPy made of something; OperandError for objects and texts."""
    if found.dtype.kind in "OSUMm":
        raise OperandError(f"a {kind}, and no array of numbers")
    return found


def _of_torch(tensor: Any) -> npt.NDArray[Any]:
    torch: Any = sys.modules["torch"]
    if not isinstance(tensor, torch.Tensor):
        raise OperandError(f"a {type(tensor).__name__}, and no tensor")
    held = tensor.detach().cpu()
    if held.dtype.is_floating_point and held.dtype not in (torch.float16, torch.float32, torch.float64):
        held = held.contiguous().view(torch.uint8 if held.dtype.itemsize == 1 else torch.uint16)
    found: npt.NDArray[Any] = held.numpy()
    return found


def _line(problem: Exception) -> str:
    """Return the first line of an error's text."""
    return next(iter(str(problem).strip().splitlines()), "no reason given")


_E2M1 = FORMATS["e2m1"]


def array_dtype(fmt: Format | str) -> np.dtype[Any]:
    """Return the NumPy type whose arrays hold numbers of ``fmt`` (a format or its short name)."""
    fmt = _found(fmt)
    if fmt.ml_dtypes_name is None and fmt is not FORMATS["tf32"]:
        return pattern_dtype(fmt)
    name = "float32" if fmt.ml_dtypes_name is None else fmt.ml_dtypes_name
    return np.dtype(getattr(ml_dtypes, name, name))


def patterns_of(array: npt.ArrayLike, fmt: Format | str) -> Patterns:
    """Return the bit patterns of ``array``, of the same shape; it may share memory with ``array``.

    ``array`` is of the type ``array_dtype(fmt)``, or it already holds patterns as unsigned integers below 2**bits, one
    for each element (for the format uint8 both are the same). Arrays of PyTorch, JAX and of what else speaks DLPack are
    read as such (``mmaproof.designs.operands``). Nothing is rounded, and bits that the format ignores are kept. Raises
    OperandError for any other type, and for a pattern that is too wide.

    >>> import numpy as np, mmaproof
    >>> mmaproof.patterns_of(np.array([1.0, -2.0], np.float16), "fp16").tolist()
    [15360, 49152]
    """
    fmt = _found(fmt)
    given, wanted, width = as_numpy(array), array_dtype(fmt), pattern_dtype(fmt)
    if not given.dtype.isnative:
        given = given.byteswap().view(given.dtype.newbyteorder())
    if given.dtype == wanted:
        # a type of 4 or 6 bits holds anything above them
        patterns: Patterns = given.view(width)
        return patterns if fmt.bits == width.itemsize * 8 else patterns & width.type((1 << fmt.bits) - 1)
    if given.dtype.kind != "u":
        convert = "" if wanted.kind == "u" else f"; to round it to {fmt.name}, pass x.astype({_spelled(wanted)})"
        raise OperandError(
            f"an array of {given.dtype} is not of the format {fmt.name}: allowed are {wanted}, or bit patterns "
            f"(unsigned integers); nothing is rounded here{convert}"
        )
    _check_width(given, fmt)
    raw: Patterns = given.astype(width, copy=False)
    return raw


def array_of(patterns: npt.ArrayLike, fmt: Format | str) -> npt.NDArray[Any]:
    """Return the numbers that unsigned bit ``patterns`` mean, as an array of the type ``array_dtype(fmt)``.

    ``patterns`` are an array of unsigned integers, or integers of Python (those of ``witness.a``). The shape is kept;
    bits that the format ignores are kept for tf32, and the sign bit of ue4m3 is cleared. Raises OperandError if the
    patterns are not unsigned integers or are too wide.

    >>> import numpy as np, mmaproof
    >>> mmaproof.array_of(np.array([0x3C00, 0xC000], np.uint16), "fp16").tolist()
    [1.0, -2.0]
    """
    fmt = _found(fmt)
    given = np.asarray(patterns)
    if isinstance(patterns, Operands):
        raise OperandError("operands are of several formats: write operands.arrays(DESIGN)")
    if not is_array(patterns) and given.dtype.kind == "i" and given.size and given.min() >= 0:
        given = given.astype(np.uint64)
    if given.dtype.kind != "u":
        raise OperandError(f"an array of {given.dtype} holds no bit patterns of {fmt.name}: they are unsigned integers")
    _check_width(given, fmt)
    raw = given.astype(pattern_dtype(fmt))
    if fmt.ignored_sign:
        raw &= raw.dtype.type((1 << fmt.sign_position) - 1)
    return raw.view(array_dtype(fmt))


def values_of(patterns: npt.ArrayLike, fmt: Format | str) -> npt.NDArray[np.float64]:
    """Return the numbers that unsigned bit ``patterns`` mean as float64, which holds every number of every format.

    The shape is kept. Infinities and NaNs are those of float64. Raises OperandError as ``array_of``.
    """
    fmt, given = _found(fmt), np.asarray(patterns)
    if given.dtype.kind != "u":
        raise OperandError(f"an array of {given.dtype} holds no bit patterns of {fmt.name}: they are unsigned integers")
    _check_width(given, fmt)
    if fmt is FORMATS["fp64"]:
        return given.astype(np.uint64, copy=False).view(np.float64)
    if fmt is FORMATS["fp32"]:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return given.astype(np.uint32, copy=False).view(np.float32).astype(np.float64)
    if fmt.bits > _MOST_TABLE_BITS:
        return _decoded(given, fmt)
    found: npt.NDArray[np.float64] = _table(fmt)[given]
    return found


_MOST_TABLE_BITS = 16


@lru_cache(maxsize=64)
def _table(fmt: Format) -> npt.NDArray[np.float64]:
    return _decoded(np.arange(1 << fmt.bits, dtype=np.uint32), fmt)


def _decoded(patterns: Patterns, fmt: Format) -> npt.NDArray[np.float64]:
    """Return the numbers of patterns of fewer than 64 bits."""
    whole = patterns.astype(np.int64)
    if fmt.is_integer:
        wraps = fmt.signed & (whole >> (fmt.bits - 1))
        integers: npt.NDArray[np.float64] = (whole - (wraps << fmt.bits)).astype(np.float64)
        return integers
    fraction = (whole >> fmt.ignored_bits) & ((1 << fmt.fraction_bits) - 1)
    field = (whole >> (fmt.ignored_bits + fmt.fraction_bits)) & ((1 << fmt.exponent_bits) - 1)
    normal = (field > 0) | (not fmt.has_zero)
    significand = fraction + (normal.astype(np.int64) << fmt.fraction_bits)
    exponent = np.where(normal, field - fmt.bias, fmt.e_min)
    values: npt.NDArray[np.float64] = np.ldexp(significand.astype(np.float64), exponent - fmt.fraction_bits)
    if fmt.signed:
        values = np.where(whole >> fmt.sign_position & 1, -values, values)
    special = field == (1 << fmt.exponent_bits) - 1
    match fmt.specials:
        case Specials.IEEE:
            values = np.where(special, np.where(fraction == 0, np.copysign(np.inf, values), np.nan), values)
        case Specials.NAN_ONLY:
            values = np.where(special & (fraction == (1 << fmt.fraction_bits) - 1), np.nan, values)
        case Specials.FNUZ | Specials.EXTENDED:
            magnitude = whole & ((1 << (fmt.exponent_bits + fmt.fraction_bits)) - 1)
            infinite = magnitude == (-1 if fmt.infinity is None else fmt.infinity)
            values = np.where(infinite, np.copysign(np.inf, values), values)
            values = np.where(whole == fmt.quiet_nan, np.nan, values)
        case Specials.NONE | Specials.INTEGER:
            pass
        case _:
            assert_never(fmt.specials)
    return values


def unpack_fp4(packed: npt.ArrayLike, axis: int = -1) -> npt.NDArray[Any]:
    """Return the e2m1 numbers (float4_e2m1fn) of ``packed``. The result is twice as long along ``axis``.

    ``packed`` is uint8 with two numbers in each byte. The number of even index is in the low half (OCP MX; PTX ISA,
    sub-byte operands). Raises OperandError for another type and for an axis that does not exist.

    >>> import numpy as np, mmaproof
    >>> mmaproof.unpack_fp4(np.array([0x21], np.uint8)).astype(float).tolist()
    [0.5, 1.0]
    """
    given = np.asarray(packed)
    if given.dtype != np.uint8:
        raise OperandError(f"an array of {given.dtype} holds no packed e2m1 numbers: uint8 is needed, two in each byte")
    along = np.moveaxis(given, _axis(given, axis), -1)
    pairs = np.stack([along & np.uint8(0xF), along >> np.uint8(4)], axis=-1)
    numbers = pairs.reshape(*along.shape[:-1], 2 * along.shape[-1])
    return np.ascontiguousarray(np.moveaxis(numbers, -1, axis)).view(array_dtype(_E2M1))


def pack_fp4(numbers: npt.ArrayLike, axis: int = -1) -> npt.NDArray[np.uint8]:
    """Return e2m1 ``numbers`` (float4_e2m1fn, or patterns) as uint8, two in each byte; ``unpack_fp4`` undoes it.

    Raises OperandError for another type, an odd number of elements along ``axis``, or an axis that does not exist.

    >>> import numpy as np, mmaproof
    >>> mmaproof.pack_fp4(np.array([1, 2], np.uint8)).tolist()
    [33]
    """
    patterns = patterns_of(numbers, _E2M1)
    along = np.moveaxis(patterns, _axis(patterns, axis), -1)
    if along.shape[-1] % 2:
        raise OperandError(f"{along.shape[-1]} e2m1 numbers along axis {axis} cannot be packed in pairs: add a zero")
    packed = along[..., 0::2] | along[..., 1::2] << np.uint8(4)
    return np.ascontiguousarray(np.moveaxis(packed, -1, axis)).astype(np.uint8, copy=False)


def _spelled(dtype: np.dtype[Any]) -> str:
    """Return a type as a program spells it."""
    return f"{'np' if hasattr(np, dtype.name) else 'ml_dtypes'}.{dtype.name}"


def _found(fmt: Format | str) -> Format:
    return find_format(fmt) if isinstance(fmt, str) else fmt


def _check_width(patterns: npt.NDArray[Any], fmt: Format) -> None:
    if patterns.size and int(patterns.max()) >> fmt.bits:
        packed = "; take packed pairs apart with unpack_fp4" if fmt is _E2M1 and patterns.dtype == np.uint8 else ""
        raise OperandError(f"pattern {int(patterns.max()):#x} is too wide for {fmt.name} ({fmt.bits} bits){packed}")


def _axis(array: npt.NDArray[Any], axis: int) -> int:
    if not -array.ndim <= axis < array.ndim:
        raise OperandError(f"axis {axis} is not there: the array has {array.ndim} dimensions")
    return axis
