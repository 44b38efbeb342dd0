"""Arrays of numbers to bit patterns and back: nothing is rounded, and a wrong type is refused."""

import ml_dtypes
import numpy as np
import pytest

import mmaproof
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.designs.formats import FORMATS, find_format
from mmaproof.designs.operands import array_dtype, array_of, pack_fp4, pattern_dtype, patterns_of, unpack_fp4

NARROW = [f for f in FORMATS.values() if f.bits <= 16]
WIDE = [f for f in FORMATS.values() if f.bits > 16]


def every_pattern(fmt):
    return np.arange(1 << fmt.bits, dtype=pattern_dtype(fmt))


@pytest.mark.few(14)
@pytest.mark.parametrize("fmt", NARROW, ids=lambda f: f.name)
def test_every_pattern_goes_out_and_in(fmt):
    patterns = every_pattern(fmt)
    array = array_of(patterns, fmt)
    assert array.dtype == array_dtype(fmt)
    back = patterns_of(array, fmt)
    assert back.dtype == patterns.dtype
    expected = patterns & 0x7F if fmt.ignored_sign else patterns
    assert back.tolist() == expected.tolist()


@pytest.mark.few(2)
@pytest.mark.parametrize("fmt", [f for f in NARROW if f.ml_dtypes_name is not None], ids=lambda f: f.name)
def test_numbers_keep_their_value(fmt):
    """An array that NumPy or ml_dtypes made itself from numbers, not one that was viewed as the type."""
    dtype = array_dtype(fmt)
    with np.errstate(invalid="ignore"):
        numbers = every_pattern(fmt).view(dtype).astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if fmt.ignored_sign:
        numbers = abs(numbers)
    patterns = patterns_of(numbers.astype(dtype), fmt)
    assert patterns.tolist() == [fmt.encode(int(x) if fmt.is_integer else x) for x in numbers.tolist()]
    assert array_of(patterns, fmt).astype(np.float64).tolist() == numbers.tolist()


@pytest.mark.parametrize("fmt", [f for f in WIDE if f.name != "e8m10"], ids=lambda f: f.name)
def test_wide_patterns_go_out_and_in_bit_for_bit(fmt):
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, (1 << fmt.bits) - 1, (7, 300), dtype=pattern_dtype(fmt), endpoint=True)
    if not fmt.is_integer:
        patterns[0, :3] = [fmt.infinity, fmt.infinity + 1, fmt.quiet_nan]  # a signalling NaN stays one
    array = array_of(patterns, fmt)
    assert array.dtype == np.dtype(
        {
            "tf32": "float32",
            "fp32": "float32",
            "fp64": "float64",
            "int64": "int64",
            "int32": "int32",
            "uint32": "uint32",
        }[fmt.name]
    )
    assert patterns_of(array, fmt).tolist() == patterns.tolist()
    swapped = (
        array.astype(array.dtype.newbyteorder())
        if fmt.is_integer
        else array.byteswap().view(array.dtype.newbyteorder())
    )
    assert patterns_of(swapped, fmt).tolist() == patterns.tolist()
    assert patterns_of(array.T[::-1], fmt).tolist() == patterns.T[::-1].tolist()


def test_tf32_keeps_the_bits_that_are_not_read():
    array = np.array([0x3F801FFF], np.uint32).view(np.float32)
    assert patterns_of(array, "tf32").tolist() == [0x3F801FFF]


def test_ue4m3_has_no_sign_on_the_way_out():
    assert array_of(np.array([0xB8], np.uint8), "ue4m3").astype(float).tolist() == [1.0]
    assert patterns_of(np.array([-1.0], ml_dtypes.float8_e4m3fn), "ue4m3").tolist() == [0xB8]


def test_shape_is_kept_down_to_a_scalar():
    assert patterns_of(np.float16(1), "fp16").shape == ()
    assert int(patterns_of(np.float16(1), "fp16")) == 0x3C00
    assert array_of(np.uint16(0x3C00), find_format("fp16")).item() == 1.0
    assert patterns_of(np.zeros((2, 0, 3), np.float32), "fp32").shape == (2, 0, 3)


def test_patterns_are_taken_as_they_are():
    given = np.array([[0x3C00, 0xFFFF]], np.uint16)
    assert patterns_of(given, "fp16") is given
    assert patterns_of(given.astype(np.uint64), "fp16").dtype == np.uint16
    assert patterns_of(np.array([255], np.uint8), "int8").tolist() == [255]
    assert patterns_of(np.array([255], np.uint8), "uint8").tolist() == [255]
    assert patterns_of(np.array([-1], np.int8), "int8").tolist() == [255]
    assert patterns_of(np.array([-1, 7], ml_dtypes.int4), "int4").tolist() == [15, 7]


@pytest.mark.parametrize(
    ("array", "fmt", "problem"),
    [
        (np.zeros(2, np.float32), "fp16", r"float32 is not of the format fp16: allowed are float16, or bit patterns"),
        (np.zeros(2, np.float16), "tf32", r"float16 .* tf32: allowed are float32"),
        (np.zeros(2, ml_dtypes.float8_e4m3), "e4m3", r"float8_e4m3 .* float8_e4m3fn"),
        (np.zeros(2, ml_dtypes.float8_e4m3fnuz), "e4m3", r"float8_e4m3fnuz .* float8_e4m3fn,"),
        (np.zeros(2, np.int8), "uint8", r"int8 .* uint8"),
        (np.zeros(2, np.int64), "int32", r"int64 .* int32"),
        ([1.0, 2.0], "fp16", r"float64 .* float16"),
        (np.zeros(2, bool), "fp16", r"bool .* float16"),
        (np.array([None]), "fp16", r"object .* float16"),
        (np.array([16], np.uint8), "int4", r"0x10 is too wide for int4 \(4 bits\)$"),
        (np.array([0x21], np.uint8), "e2m1", r"0x21 is too wide for e2m1 \(4 bits\).*unpack_fp4"),
        (np.array([1 << 16], np.uint32), "fp16", r"0x10000 is too wide"),
    ],
)
def test_wrong_arrays_are_refused(array, fmt, problem):
    with pytest.raises(OperandError, match=problem) as caught:
        patterns_of(array, fmt)
    assert "\n" not in str(caught.value)


def test_wrong_patterns_are_refused():
    with pytest.raises(OperandError, match=r"float32 holds no bit patterns of fp32"):
        array_of(np.zeros(1, np.float32), "fp32")
    with pytest.raises(OperandError, match=r"too wide for e2m3"):
        array_of(np.array([64], np.uint8), "e2m3")
    with pytest.raises(InputError, match=r"unknown format 'fp17'"):
        array_of(np.zeros(1, np.uint8), "fp17")


def test_packed_fp4_holds_the_even_k_in_the_low_half():
    numbers = unpack_fp4(np.array([[0x21, 0xF0]], np.uint8))
    assert numbers.dtype == ml_dtypes.float4_e2m1fn
    assert numbers.astype(float).tolist() == [[0.5, 1.0, 0.0, -6.0]]
    assert pack_fp4(numbers).tolist() == [[0x21, 0xF0]]
    assert pack_fp4(np.array([1, 2], np.uint8)).tolist() == [0x21]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_packing_along_any_axis(axis):
    packed = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    numbers = unpack_fp4(packed, axis=axis)
    shape = list(packed.shape)
    shape[axis] *= 2
    assert numbers.shape == tuple(shape)
    patterns = patterns_of(numbers, "e2m1")
    assert np.take(patterns, range(0, shape[axis], 2), axis).tolist() == (packed & 15).tolist()
    assert np.take(patterns, range(1, shape[axis], 2), axis).tolist() == (packed >> 4).tolist()
    assert pack_fp4(numbers, axis=axis).tolist() == packed.tolist()


def test_what_cannot_be_packed_or_unpacked():
    with pytest.raises(OperandError, match=r"int8 holds no packed"):
        unpack_fp4(np.zeros(2, np.int8))
    with pytest.raises(OperandError, match=r"axis 1 is not there: the array has 1"):
        unpack_fp4(np.zeros(2, np.uint8), axis=1)
    with pytest.raises(OperandError, match=r"axis -1 is not there: the array has 0"):
        unpack_fp4(np.uint8(3))
    with pytest.raises(OperandError, match=r"3 e2m1 numbers along axis 0"):
        pack_fp4(np.zeros(3, np.uint8), axis=0)
    with pytest.raises(OperandError, match=r"axis 2 is not there"):
        pack_fp4(np.zeros((2, 2), np.uint8), axis=2)


def test_the_functions_are_public():
    assert mmaproof.patterns_of is patterns_of
    assert mmaproof.unpack_fp4 is unpack_fp4
