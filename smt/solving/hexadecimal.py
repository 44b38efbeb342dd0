"""Bit-vector values as fixed-width hexadecimal text. Each value has exactly one text."""

import re

_HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.ASCII)


def to_hexadecimal(value: int, width: int) -> str:
    """Return ``0x`` and ceil(width/4) lower-case digits; one digit for a truth value (width 0)."""
    return f"0x{value:0{_digits(width)}x}"


def from_hexadecimal(text: object, width: int) -> int:
    """Read what ``to_hexadecimal`` wrote for a value of ``width`` bits (0: a truth value).

    Raises ``ValueError`` for any other spelling.
    """
    digits = _digits(width)
    # The length is checked first, so that a width from a file cannot make Python build a number of that size.
    if isinstance(text, str) and len(text) == 2 + digits and _HEXADECIMAL.fullmatch(text):
        value = int(text, 16)
        if value.bit_length() <= max(1, width):
            return value
    raise ValueError(f"{text!r} is not a value of {width} bits (0: truth value): expected 0x and {digits} digits")


def _digits(width: int) -> int:
    return max(1, -(-width // 4))
