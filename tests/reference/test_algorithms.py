"""The reference's own IEEE 754 operations against those of numpy and ml_dtypes."""

import numpy as np
import pytest
from support.fp32_operands import KINDS, random_arrays

from reference.algorithms import add, convert, is_nan, scaled, split, subtract
from reference.patterns import DTYPES, UINTS

pytestmark = pytest.mark.middle


def patterns(seed: int) -> np.ndarray:
    return np.concatenate([random_arrays(kind, (4, 10, 1), seed)[0].ravel() for kind in KINDS])


def same(found: int, expected: np.generic) -> bool:
    return found == int(expected.view(np.uint32)) or (is_nan(found) and np.isnan(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operations_of_fp32_are_those_of_numpy():
    xs, ys = patterns(1), patterns(2)[::-1].copy()
    for x, y, p, q in zip(xs.tolist(), ys.tolist(), xs.view(np.float32), ys.view(np.float32), strict=True):
        assert same(add(x, y), p + q)
        assert same(subtract(x, y), p - q)
        for places in (11, -11, -24):
            assert same(scaled(x, places), np.ldexp(p, places))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "e5m2"])
def test_conversions_are_those_of_numpy_and_ml_dtypes(fmt):
    xs = patterns(3)
    expected = xs.view(np.float32).astype(DTYPES[fmt])
    for x, value, pattern in zip(xs.tolist(), expected, expected.view(UINTS[expected.itemsize]), strict=True):
        found = convert(x, "fp32", fmt)
        assert found == pattern or (is_nan(found, fmt) and np.isnan(value))
        if not is_nan(x):
            assert convert(found, fmt, "fp32") == int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        # 1 + 3 * 2**-12: 2**-11 is half of the last bit of fp16
        ("rz", [1, 3 * 2**-12]),
        ("rne", [1 + 2**-10, -(2**-12)]),
        ("rtn", [1, 3 * 2**-12]),
        ("rtp", [1 + 2**-10, -(2**-12)]),
    ],
)
def test_words_of_a_number(direction, words):
    x = int(np.float32(1 + 3 * 2**-12).view(np.uint32))
    expected = [int(np.float16(w * 2 ** (11 * i)).view(np.uint16)) for i, w in enumerate(words)]
    assert split(x, 2, "fp16", direction, "rne", 11) == expected
