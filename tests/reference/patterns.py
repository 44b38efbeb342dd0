"""Bit patterns of numbers, made by numpy and ml_dtypes, and the NaNs that tests give the reference."""

import math
from typing import Any

import ml_dtypes
import numpy as np

DTYPES: dict[str, Any] = {
    "fp64": np.float64,
    "fp32": np.float32,
    "tf32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
UINTS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
NAN = {"fp32": 0x7FFFFFFF, "fp16": 0x7FFF, "fp64": 0x7FFFFFFFFFFFFFFF}


def bits(value: float, format: str) -> int:
    """The pattern of a value that the format holds exactly."""
    array = np.array(value, dtype=DTYPES[format])
    assert math.isnan(value) or float(array) == value, f"{value} is not a number of {format}"
    pattern = int(array.view(UINTS[array.itemsize]))
    assert format != "tf32" or pattern % 2**13 == 0, f"{value} is not a tf32"
    return pattern
