"""Formats and projections of IEEE P3109, from its interim report (2026) and the formal specification of Imandra.

Sections 4.9.1 to 4.9.5 in fractions: Decode, RoundToPrecision, Saturate and Encode. It shares nothing with the package.
An extended real number is a Fraction, "nan", "inf" or "-inf".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Extended = Fraction | str


@dataclass(frozen=True)
class Parameters:
    """K, P, whether there is a sign, and whether there are infinities."""

    k: int
    p: int
    signed: bool
    extended: bool

    @property
    def name(self) -> str:
        """The standard's name, in lower case."""
        return f"binary{self.k}p{self.p}{'s' if self.signed else 'u'}{'e' if self.extended else 'f'}"

    @property
    def bias(self) -> int:
        """exponentBiasOf."""
        return 1 << (self.k - self.p - 1) if self.signed else 1 << (self.k - self.p)


def formats(widths: range) -> list[Parameters]:
    """Every format of some widths."""
    return [
        Parameters(k, p, signed, extended)
        for k in widths
        for signed in (True, False)
        for p in range(1, k + (not signed))
        for extended in (True, False)
    ]


def decode(f: Parameters, x: int) -> Extended:
    """4.9.1."""
    half, whole = 1 << (f.k - 1), 1 << f.k
    if x == (half if f.signed else whole - 1):
        return "nan"
    if f.extended and x == (half - 1 if f.signed else whole - 2):
        return "inf"
    if f.extended and f.signed and x == whole - 1:
        return "-inf"
    if f.signed and x > half:
        value = decode(f, x - half)
        assert isinstance(value, Fraction)
        return -value
    field, trailing = divmod(x, 1 << (f.p - 1))
    fraction = trailing * Fraction(2) ** (1 - f.p)
    return fraction * Fraction(2) ** (1 - f.bias) if field == 0 else (1 + fraction) * Fraction(2) ** (field - f.bias)


def round_to_precision(f: Parameters, rounding: str, x: Fraction) -> Fraction:
    """4.9.3; roundings are named as in SMT-LIB, and rto is ToOdd. StochasticA of n bits r is "sra n r"."""
    if x == 0:
        return x
    exponent = x.numerator.bit_length() - x.denominator.bit_length() - 2
    while Fraction(2) ** (exponent + 1) <= abs(x):
        exponent += 1
    q = max(exponent, 1 - f.bias) - f.p + 1
    s = abs(x) / Fraction(2) ** q
    whole = math.floor(s)
    nu = s - whole
    if rounding.startswith("sr"):
        return (whole + stochastic(rounding, nu)) * Fraction(2) ** q * (-1 if x < 0 else 1)
    even = whole % 2 == 0 if f.p > 1 else whole == 0 or (q + f.bias) % 2 == 0
    away = {
        "rz": False,
        "rtp": nu > 0 and x > 0,
        "rtn": nu > 0 and x < 0,
        "rna": nu >= Fraction(1, 2),
        "rne": nu > Fraction(1, 2) or (nu == Fraction(1, 2) and not even),
        "rto": nu > 0 and even,
    }[rounding]
    return (whole + away) * Fraction(2) ** q * (-1 if x < 0 else 1)


def stochastic(rounding: str, nu: Fraction) -> bool:
    """Whether StochasticA, B or C rounds away from zero, nu being what is left of a unit."""
    kind, *numbers = rounding.split()
    n, r = map(int, numbers)
    if kind == "sra":
        return math.floor(nu * 2**n) + r >= 2**n
    if kind == "srb":
        return math.floor(nu * 2 ** (n + 1)) + 2 * r + 1 >= 2 ** (n + 1)
    scaled = nu * 2**n
    whole = math.floor(scaled)
    down = scaled < whole + Fraction(1, 2) or (scaled == whole + Fraction(1, 2) and whole % 2 == 0)
    return (scaled if down else whole + 1) + r >= 2**n


def saturate(f: Parameters, most: Fraction, mode: str, rounding: str, x: Extended) -> Extended:
    """4.9.4."""
    least = -most if f.signed else Fraction(0)
    if x == "nan" or (isinstance(x, Fraction) and least <= x <= most):
        return x
    above = x == "inf" or (isinstance(x, Fraction) and x > most)
    bound = most if above else least
    if mode == "SatFinite" or (mode == "SatPropagate" and isinstance(x, Fraction)):
        return bound
    if mode == "SatPropagate":
        return x if f.extended and (above or f.signed) else bound
    inwards = ("rz", "rtn") if above else ("rz", "rtp")
    if isinstance(x, Fraction) and rounding in inwards:
        return bound
    if not f.extended or not (above or f.signed):
        return "nan"
    return "inf" if above else "-inf"


@cache
def code_points(f: Parameters) -> dict[Extended, int]:
    """The code point of each number."""
    return {decode(f, pattern): pattern for pattern in range(1 << f.k)}


def project(f: Parameters, rounding: str, mode: str, x: Extended) -> int:
    """4.9.2 and 4.9.5: the code point of the one that decodes to the projected number."""
    values = code_points(f)
    most = max(v for v in values if isinstance(v, Fraction))
    rounded = round_to_precision(f, rounding, x) if isinstance(x, Fraction) else x
    return values[saturate(f, most, mode, rounding, rounded)]
