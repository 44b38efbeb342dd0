"""Operands as a person types and reads them: numbers, or bit patterns in hexadecimal."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format

LONGEST = 80
"""Characters of one number."""
LARGEST_POWER = 2000
"""A power of two or of ten beyond that is not a number of any format."""
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)/(\d+)", re.ASCII)
_POWER = re.compile(r"([+-]?)(?:(\d+)\*)?2\^([+-]?\d+)", re.ASCII)
_WORDS = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}
_WAYS = "write a number (-0.5, 1e-3, 3/8, 2^-3, -3*2^4, inf, nan) or a bit pattern (0x3c00)"


def split(text: str) -> list[str]:
    """Return the elements of a list with commas, blanks or lines between them; ``-1 * 2^3`` is one."""
    joined = re.sub(r"\s*\*\s*", "*", text.strip())
    return [x for x in re.split(r"\s*,\s*|\s+", joined) if x]


def pattern_of(text: str, fmt: Format) -> tuple[int, bool]:
    """Return the pattern that a text spells in a format, and whether that is exact. Raises InputError.

    A number that the format does not have is rounded to the nearest one.
    """
    text = text.lower()
    if len(text) > LONGEST:
        raise InputError(f"{text[:20]}...: longer than {LONGEST} characters")
    if text.removeprefix("-").removeprefix("+").startswith("0x"):
        return fmt.parse(text), True
    word = _WORDS.get(text.lstrip("+-"))
    if word is not None and len(text) - len(text.lstrip("+-")) <= 1:
        return fmt.encode(-word if text.startswith("-") else word), True
    value = number_of(text)
    if not value and text.startswith("-"):
        return fmt.encode(-0.0), True
    try:
        return fmt.encode(value), True
    except InputError:
        return fmt.nearest(value), False


def exact_pattern(text: str, fmt: Format) -> int:
    """Return the pattern that a text spells in a format: a number that the format has, or a pattern.

    Raises InputError for a number that it does not have, with the neighbours, and for anything else.
    """
    pattern, exact = pattern_of(text, fmt)
    return pattern if exact else fmt.encode(number_of(text.lower()))


def number_of(text: str) -> Fraction:
    """Return the finite number that a text spells. Raises InputError."""
    if found := _POWER.fullmatch(text):
        sign, factor, power = found.groups()
        if abs(int(power)) > LARGEST_POWER:
            raise InputError(f"{text}: no format has a number of this size")
        return Fraction(int(f"{sign}{factor or 1}")) * Fraction(2) ** int(power)
    if found := _FRACTION.fullmatch(text):
        if not int(found[2]):
            raise InputError(f"{text}: divides by zero")
        return Fraction(int(found[1]), int(found[2]))
    if found := _DECIMAL.fullmatch(text):
        if found[2] and abs(int(found[2][1:])) > LARGEST_POWER:
            raise InputError(f"{text}: no format has a number of this size")
        return Fraction(text)
    raise InputError(f"{text!r} is not a number: {_WAYS}")


def digits_of(fmt: Format) -> int:
    """Return how many decimal digits tell all numbers of a floating-point format apart (Matula 1968)."""
    return math.ceil(1 + fmt.precision * math.log10(2))


def decimal_of(pattern: int, fmt: Format) -> str:
    """Return the number of a pattern as a decimal: exact where 17 digits are enough, else ``digits_of`` the format.

    ``pattern_of`` reads the same number from it. A NaN is ``nan``, whatever its code.
    """
    if fmt.is_nan(pattern):
        return "nan"
    negative = fmt.signed and bool(pattern >> fmt.sign_position & 1)
    if fmt.is_integer:
        return str(pattern - (negative << fmt.bits))
    sign, below = "-" * negative, pattern & ((1 << (fmt.exponent_bits + fmt.fraction_bits + fmt.ignored_bits)) - 1)
    if fmt.infinity is not None and below >> fmt.ignored_bits == fmt.infinity >> fmt.ignored_bits:
        return f"{sign}inf"
    value = Fraction(fmt.magnitude_of(below))
    text = repr(float(value))
    return sign + (text if Fraction(text) == value else f"{float(value):.{digits_of(fmt)}g}")
