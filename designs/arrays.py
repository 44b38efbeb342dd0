"""Conversion of NumPy and ml_dtypes arrays to bit patterns and back, without rounding.

The type of an array is the one with the format's name in NumPy or ml_dtypes (``array_dtype``): float16, bfloat16,
float8_e4m3fn, float4_e2m1fn, int4 and so on. Some formats have no type of their own. tf32 is held in float32, whose low
13 bits are not read. ue4m3 is held in float8_e4m3fn, whose sign is not read. Formats with a bias that no type has
(e4m3b3, e4m3b11, e4m3b15) or without infinities and NaNs (e8m10, e8m7, e5m10) are held as patterns, unsigned integers.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any, assert_never

import ml_dtypes
import numpy as np
import numpy.typing as npt

from mmaproof.designs.element import Operands
from mmaproof.designs.errors import OperandError
from mmaproof.designs.formats import FORMATS, Format, Specials, find_format
from mmaproof.designs.operands import Patterns, pattern_dtype


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
    read as such (``mmaproof.designs.arrays``). Nothing is rounded, and bits that the format ignores are kept. Raises
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
