"""Error-corrected GEMM algorithms in exact rationals, written from their publications and the parameters' meaning.

It shares no code with the package. Sources: Markidis et al. 2018, equations 2 and 3; Ootomo and Yokota, IJHPCA 36(4),
2022, equation 24; CUTLASS, examples 27 and 28; DeepSeek-V3 technical report, section 3.3.2; Ootomo, Ozaki and Yokota,
IJHPCA 2024. An fp32 operation outside the unit is the exact result, a Fraction, rounded; the unit is the reference of
the units. Every NaN is 7fffffff. Parameters are the texts that the package spells them with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.gemm.programs.algorithm import Algorithm
from reference.designs import reference_result
from reference.formats import FORMATS, decode, decode_integer

NAN = 0x7FFFFFFF
INT32_MAX = 2**31 - 1


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def value(pattern: int, format: str) -> Fraction:
    """The number a pattern of a finite one stands for."""
    x = decode(pattern, format)
    assert x.kind in ("zero", "finite")
    return x.signed * power(x.scale)


def is_nan(pattern: int, format: str = "fp32") -> bool:
    return decode(pattern, format).kind == "nan"


def floor_log2(magnitude: Fraction) -> int:
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if power(guess) <= magnitude else guess - 1


def largest_finite(format: str) -> Fraction:
    layout = FORMATS[format]
    field = (1 << layout.exponent_bits) - 1
    fraction = (1 << layout.fraction_bits) - 1
    if layout.special == "ieee":
        field -= 1
    elif layout.special == "fn":
        fraction -= 1  # all ones is the NaN
    return (fraction + (1 << layout.fraction_bits)) * power(field - layout.bias - layout.fraction_bits)


def pattern_of(magnitude: Fraction, negative: bool, format: str) -> int:
    """The pattern of a number that the format has; where it has no negative zero, that is zero."""
    layout = FORMATS[format]
    if magnitude == 0 and layout.special == "fnuz":
        return 0
    bits = int(negative) << (layout.exponent_bits + layout.fraction_bits)
    exponent = max(floor_log2(magnitude), layout.e_min) if magnitude else layout.e_min
    significand = magnitude / power(exponent - layout.fraction_bits)
    assert significand.denominator == 1
    # the integer bit of a normal number adds one to a field that counts from e_min
    bits += ((exponent - layout.e_min) << layout.fraction_bits) + int(significand)
    return bits << layout.ignored_bits


def infinity_of(negative: bool, format: str) -> int:
    """An infinity; the largest finite number of a format that has none."""
    layout = FORMATS[format]
    if layout.special != "ieee":
        return pattern_of(largest_finite(format), negative, format)
    return int(negative) << layout.width - 1 | layout.infinity


def rounded(exact: Fraction, negative: bool, format: str, direction: str) -> int:
    """An exact number, rounded as IEEE 754, clauses 4.3 and 7.4 say; ``negative`` is the sign of a zero."""
    layout = FORMATS[format]
    if exact == 0:
        return pattern_of(exact, negative, format)
    negative, magnitude = exact < 0, abs(exact)
    unit = power(max(floor_log2(magnitude), layout.e_min) - layout.fraction_bits)
    below = math.floor(magnitude / unit)
    rest = magnitude / unit - below
    up = {
        "rz": False,
        "rne": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rtn": negative and rest > 0,
        "rtp": not negative and rest > 0,
        "rto": below % 2 == 0 and rest > 0,
    }[direction]
    result = (below + up) * unit
    if result <= largest_finite(format):
        return pattern_of(result, negative, format)
    if direction in ("rz", "rto") or (direction == "rtn" and not negative) or (direction == "rtp" and negative):
        return pattern_of(largest_finite(format), negative, format)
    return infinity_of(negative, format)


def convert(pattern: int, format: str, to: str, direction: str = "rne") -> int:
    x = decode(pattern, format)
    if x.kind == "nan":
        return {"ieee": (1 << FORMATS[to].width - 1) - 1, "fn": 0x7F, "fnuz": 0x80}[FORMATS[to].special]
    if x.kind == "inf":
        return infinity_of(bool(x.sign), to)
    return rounded(value(pattern, format), bool(x.sign), to, direction)


def scaled(pattern: int, places: int) -> int:
    """``x * 2**places`` in fp32, to nearest."""
    x = decode(pattern, "fp32")
    if x.kind in ("nan", "inf"):
        return NAN if x.kind == "nan" else pattern
    return rounded(value(pattern, "fp32") * power(places), bool(x.sign), "fp32", "rne")


def add(x: int, y: int, format: str = "fp32") -> int:
    """``x + y``, to nearest."""
    p, q = decode(x, format), decode(y, format)
    infinite = {n.sign for n in (p, q) if n.kind == "inf"}
    if "nan" in (p.kind, q.kind) or len(infinite) == 2:
        return convert(NAN, "fp32", format)
    if infinite:
        return infinity_of(bool(infinite.pop()), format)
    # clause 6.3: an exact zero is +0 unless both are -0
    return rounded(value(x, format) + value(y, format), bool(p.sign and q.sign), format, "rne")


def subtract(x: int, y: int) -> int:
    return add(x, y ^ 0x80000000)


def call(unit: Design, a: Sequence[int], b: Sequence[int], c: int) -> int:
    """What the unit makes of words and an fp32 accumulator, which it may read and return in a narrower format."""
    if unit.c_format is not unit.d_format and len(a) > unit.k:
        c = call(unit, a[: -unit.k], b[: -unit.k], c)
        a, b = a[-unit.k :], b[-unit.k :]
    c = convert(c, "fp32", unit.c_format.name)
    return convert(reference_result(unit, Operands(tuple(a), tuple(b), c)), unit.d_format.name, "fp32")


def split(x: int, count: int, format: str, first: str, others: str, scale: int) -> list[int]:
    """The words of an fp32 number: rounded, then the residual times ``2**scale`` rounded, and so on."""
    words = [convert(x, "fp32", format, first)]
    rest = x
    while len(words) < count:
        rest = scaled(subtract(rest, convert(words[-1], format, "fp32")), scale)
        words.append(convert(rest, "fp32", format, others))
    return words


def split_gemm(p: Mapping[str, str], unit: Design, a: Sequence[int], b: Sequence[int], c: int) -> int:
    pairs = [(int(x[0]), int(x[1])) for x in p["products"].split(".")]
    how = p["rounding"], p["residual_rounding"], int(p["scale"])
    # a list for each word, of an element for each k
    words_a = list(zip(*(split(x, 1 + max(i for i, _ in pairs), unit.a_format.name, *how) for x in a), strict=True))
    words_b = list(zip(*(split(x, 1 + max(j for _, j in pairs), unit.b_format.name, *how) for x in b), strict=True))
    interval = int(p["interval"]) or unit.k
    blocks = [slice(k, k + interval) for k in range(0, len(a), interval)]
    separate = p["accumulators"] == "separate"

    sums = {i + j if separate else 0: 0 for i, j in pairs} | {0: c if p["c"] == "first" else 0}

    def multiply(i: int, j: int, ks: slice) -> None:
        order = i + j if separate else 0
        factors = words_a[i][ks], words_b[j][ks]
        if p["outside"] == "all" or (p["outside"] == "main" and order == 0):
            sums[order] = add(sums[order], call(unit, *factors, 0))
        else:
            sums[order] = call(unit, *factors, sums[order])

    if p["outside"] == "joint":
        for ks in blocks:
            tile = 0
            for i, j in pairs:
                tile = call(unit, words_a[i][ks], words_b[j][ks], tile)
            sums[0] = add(sums[0], tile)
    elif p["schedule"] == "block":
        for ks in blocks:
            for i, j in pairs:
                multiply(i, j, ks)
    else:
        added_to = set()
        for i, j in pairs:
            order = i + j if separate else 0
            if order in added_to:
                sums[order] = convert(convert(sums[order], "fp32", p["intermediate"]), p["intermediate"], "fp32")
            added_to.add(order)
            for ks in blocks:
                multiply(i, j, ks)

    smallest_first = [scaled(sums[order], -int(p["scale"]) * order) for order in sorted(sums, reverse=True)]
    d = smallest_first[0]
    for x in smallest_first[1:]:
        d = add(d, x)
    return add(d, c) if p["c"] == "last" else d


def slices_of(
    xs: Sequence[int], format: str, slices: int, bits: int, headroom: int = 0, sign: str = "each"
) -> tuple[list[list[int]], int]:
    """For each slice, that of the largest weight first, its integers; and the power of two that all lie below.

    With ``sign`` ``first`` they are those of two's complement, and the sign takes a bit of the first.
    """
    numbers = [value(x, format) for x in xs]
    largest = max(abs(x) for x in numbers)
    top = (floor_log2(largest) + 1 if largest else 0) + headroom + (sign == "first")
    found = []
    for i in range(slices):
        of_weight = []
        for x in numbers:
            cut = math.floor(abs(x) / power(top - bits * slices))
            if sign == "first":
                piece = (-cut if x < 0 else cut) >> bits * (slices - 1 - i)
                of_weight.append(piece % (1 << bits) if i else piece)
            else:
                piece = (cut >> bits * (slices - 1 - i)) % (1 << bits)
                of_weight.append(-piece if x < 0 else piece)
        found.append(of_weight)
    return found, top


def slice_gemm(p: Mapping[str, str], unit: Design, a: Sequence[int], b: Sequence[int], c: int) -> int:
    """Operands must be finite."""
    slices, bits, outside, operands = int(p["slices"]), int(p["bits"]), p["outside"], p["operands"]
    how = operands, slices, bits, int(p["headroom"]), p["sign"]
    (slices_a, top_a), (slices_b, top_b) = slices_of(a, *how), slices_of(b, *how)
    indices = range(slices)
    pairs = [(i, j) for i in indices for j in indices if p["kept"] == "all" or i + j < slices]
    towards = 1 if p["order"] == "descending" else -1
    pairs.sort(key=lambda ij: (towards * sum(ij), ij))

    def pattern(x: int, fmt: str) -> int:
        return x % 256 if fmt == "int8" else pattern_of(Fraction(abs(x)), x < 0, fmt)

    def integer_sum(i: int, j: int, start: Fraction, ks: slice) -> Fraction:
        """``start`` and the products of two slices, as the unit adds them; the largest does not overflow int32."""
        x, y = ([pattern(n, unit.a_format.name) for n in words[ks]] for words in (slices_a[i], slices_b[j]))
        if unit.d_format.name == "int32":
            assert abs(start) + len(a) * (2**bits - 1) ** 2 <= INT32_MAX
            if p["sign"] == "first":  # slices but the first are unsigned
                kinds = [".u8" if n else ".s8" for n in (i, j)]
                unit_of_pair = find_design(unit.name.replace(".s8.s8", "".join(kinds)))
            else:
                unit_of_pair = unit
            found = reference_result(unit_of_pair, Operands(tuple(x), tuple(y), int(start) % 2**32))
            return Fraction(decode_integer(found, "int32"))
        c = rounded(start, False, "fp32", "rz")
        assert value(c, "fp32") == start
        return value(reference_result(unit, Operands(tuple(x), tuple(y), c)), "fp32")

    sums = []  # of a weight, and an integer (of a unit that loses bits, nearly)
    interval = int(p["interval"]) or len(a)
    for ks in (slice(k, k + interval) for k in range(0, len(a), interval)):
        if p["sums"] == "product":
            sums += [(i + j, integer_sum(i, j, Fraction(0), ks)) for i, j in pairs]
            continue
        for weight in sorted({i + j for i, j in pairs}, key=lambda w: towards * w):
            total = Fraction(0)
            for i, j in pairs:
                if i + j == weight:
                    total = integer_sum(i, j, total, ks)
            sums.append((weight, total))

    d = 0
    for weight, integer in sums:
        exact = integer * power(top_a + top_b - bits * (weight + 2))
        d = add(d, rounded(exact, False, outside, "rne"), outside)
    d = add(d, convert(c, operands, outside), outside)
    return convert(d, outside, operands)


def modular_gemm(p: Mapping[str, str], unit: Design, a: Sequence[int], b: Sequence[int], c: int) -> int:
    """Operands must be finite. The residues determine the sum, so the sum of the cut products is all there is."""
    bits, outside, operands = int(p["bits"]), p["outside"], p["operands"]
    cut_a, top_a = slices_of(a, operands, 1, bits)
    cut_b, top_b = slices_of(b, operands, 1, bits)
    exact = sum(x * y for x, y in zip(cut_a[0], cut_b[0], strict=True)) * power(top_a + top_b - 2 * bits)
    d = add(rounded(exact, False, outside, "rne"), convert(c, operands, outside), outside)
    return convert(d, outside, operands)


def reference_algorithm(algorithm: Algorithm, unit: Design, operands: Operands) -> int:
    """The pattern of d, every NaN of fp32 being 7fffffff."""
    runs = {"slices": slice_gemm, "slices-fp8": slice_gemm, "residues": modular_gemm}
    run = runs.get(algorithm.base_name, split_gemm)
    d = run(algorithm.parameters(), unit, operands.a, operands.b, operands.c)
    return NAN if is_nan(d, algorithm.operand_format.name) else d
