"""A simulator for `mmaproof replay FILE "process:python simulator.py"`, in plain Python: mmaproof is not imported.

It computes d = c + a[0]*b[0] + a[1]*b[1] + ... of fp16 a and b and fp32 c, four products at a time: the sum of c and
the four products is exact and is rounded once, to nearest even; it is the c of the next four. That is what Xie et al.
2026 found AMD's CDNA1 to do, `cdna1/v_mfma_f32_16x16x4f16` and its like. A sum of zero is +0.

The first line on stdin names the formats and k, each later one holds one row of operands and is answered by one line
on stdout, which is flushed: the other side may be waiting for it. Messages belong on stderr.
"""

import json
import math
import struct
import sys
from fractions import Fraction

FORMATS = {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32"}
PRODUCTS = 4


def fp16(text):
    """Return the number that the pattern `text`, such as "0x3c00", means."""
    return struct.unpack("<e", struct.pack("<H", int(text, 16)))[0]


def fp32(pattern):
    """Return the number that the pattern, an integer, means."""
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


def round_to_fp32(x):
    """Return the fp32 pattern nearest to the Fraction `x`, whose denominator is a power of two."""
    if x == 0:
        return 0
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()  # the largest with 2^exponent <= |x|
    last = max(exponent, -126) - 23  # the exponent of the last bit that is kept
    units = round(abs(x) / Fraction(2) ** last)  # to nearest even; 2^23 and more carry into the exponent field
    infinity = 0x7F800000
    return (0x80000000 if x < 0 else 0) | min(((last + 149) << 23) + units, infinity)


def step(a, b, c):
    """Return the pattern of c + a[0]*b[0] + ...; `c` is a pattern, `a` and `b` are numbers."""
    terms = [fp32(c), *(x * y for x, y in zip(a, b, strict=True))]  # a double holds a product of fp16 exactly
    if all(map(math.isfinite, terms)):
        return round_to_fp32(sum(map(Fraction, terms)))
    return struct.unpack("<I", struct.pack("<f", sum(terms)))[0]  # an infinity, or NaN


def main():
    """Answer the rows on stdin."""
    header = json.loads(sys.stdin.readline())
    if not FORMATS.items() <= header.items():
        sys.exit(f"this simulator has {FORMATS}, asked for is {header}")
    for line in sys.stdin:
        row = json.loads(line)
        a, b, d = list(map(fp16, row["a"])), list(map(fp16, row["b"])), int(row["c"], 16)
        for first in range(0, header["k"], PRODUCTS):
            d = step(a[first : first + PRODUCTS], b[first : first + PRODUCTS], d)
        print(json.dumps({"d": f"0x{d:08x}", "row": row["row"]}), flush=True)


if __name__ == "__main__":
    main()
