"""Random matrices of fp32 or fp64, by the distributions that papers on error-corrected GEMM measure with.

* ``uniform``: uniform in (-1, 1) (Markidis et al. 2018, section V); ``uniform-16``: in (-16, 16), their other range.
* ``positive``: uniform in (0, 1), so that the sum grows with its length and an accumulator's loss is seen.
* ``normal``: standard normal.
* ``ootomo-yokota-1``: a sign, an exponent and a fraction that are each uniform, exponents from -15 to 14: the type 1 of
  Ootomo and Yokota (IJHPCA 36(4), 2022; as Valpey et al. 2025 restate it). Their types 2 to 4 have other ranges, which
  no source that this project holds states: they are spelled, ``exponents=LO..HI`` for both matrices or
  ``exponents=LO..HI,LO..HI`` for A and for B.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np

from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.designs.files import LARGEST_DATA, read_file
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import Patterns
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.verification.distributions import assemble, from_float64

Draw = Callable[[tuple[int, int], np.random.Generator, Format], Patterns]
"""shape, generator, fp32 or fp64 -> patterns of that format"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the elements of A and B are drawn, independently; ``sizes`` bound their magnitudes, None for no bound."""

    name: str
    what: str
    of_a: Draw
    of_b: Draw
    sizes: tuple[Fraction, Fraction] | None

    def draw(
        self, rows: int, k: int, columns: int, rng: np.random.Generator, fmt: Format = OPERANDS
    ) -> tuple[Patterns, Patterns]:
        """Return A, of shape (rows, k), and B, of shape (k, columns): patterns of fp32 or fp64."""
        return self.of_a((rows, k), rng, fmt), self.of_b((k, columns), rng, fmt)


def _uniform(low: int, high: int) -> Draw:
    return lambda shape, rng, fmt: from_float64(fmt, rng.uniform(low, high, shape))


def _exponents(low: int, high: int) -> Draw:
    def draw(shape: tuple[int, int], rng: np.random.Generator, fmt: Format) -> Patterns:
        fields = rng.integers(low + fmt.bias, high + fmt.bias + 1, shape)
        fractions = rng.integers(0, 1 << fmt.fraction_bits, shape)
        return assemble(fmt, rng.integers(0, 2, shape), fields, fractions)

    return draw


def _both(name: str, what: str, draw: Draw, size: int | None) -> Distribution:
    return Distribution(name, what, draw, draw, None if size is None else (Fraction(size), Fraction(size)))


DISTRIBUTIONS: dict[str, Distribution] = {
    x.name: x
    for x in (
        _both("uniform", "uniform in (-1, 1)", _uniform(-1, 1), 1),
        _both("uniform-16", "uniform in (-16, 16)", _uniform(-16, 16), 16),
        _both("positive", "uniform in (0, 1)", _uniform(0, 1), 1),
        _both("normal", "standard normal", lambda shape, rng, fmt: from_float64(fmt, rng.standard_normal(shape)), None),
        _both("ootomo-yokota-1", "uniform exponents -15..14", _exponents(-15, 14), 1 << 15),
    )
}

_NUMBERS = re.compile(r"(normal|uniform)\(([^,()]+),([^,()]+)\)")
_RANGES = re.compile(r"exponents=(-?\d+)\.\.(-?\d+)(?:,(-?\d+)\.\.(-?\d+))?")


def find_distribution(text: str) -> Distribution:
    """Return the distribution of a name, or of ``exponents=LO..HI[,LO..HI]``. Raises InputError."""
    if text in DISTRIBUTIONS:
        return DISTRIBUTIONS[text]
    if text.endswith(".npy"):
        return _of_file(text)
    if numbers := _NUMBERS.fullmatch(text):
        return _of_numbers(text, *numbers.groups())
    found = _RANGES.fullmatch(text)
    if found is None:
        known = [
            *DISTRIBUTIONS,
            "normal(MEAN,DEVIATION)",
            "uniform(LO,HI)",
            "FILE.npy",
            "exponents=LO..HI",
            "exponents=LO..HI,LO..HI (for A, for B)",
        ]
        raise InputError(
            f"unknown distribution {text!r}: one of {', '.join(known)}{did_you_mean(text, list(DISTRIBUTIONS))}"
        )
    low, high = int(found[1]), int(found[2])
    other = (low, high) if found[3] is None else (int(found[3]), int(found[4]))
    for first, last in ((low, high), other):
        if not OPERANDS.e_min <= first <= last <= OPERANDS.e_max:
            raise InputError(
                f"{text!r}: exponents {first}..{last} are none of {OPERANDS.name}: "
                f"LO <= HI within {OPERANDS.e_min}..{OPERANDS.e_max}"
            )
    sizes = Fraction(2) ** (high + 1), Fraction(2) ** (other[1] + 1)
    return Distribution(text, f"uniform {text}", _exponents(low, high), _exponents(*other), sizes)


def _of_numbers(text: str, kind: str, first: str, second: str) -> Distribution:
    """Return ``normal(MEAN,DEVIATION)`` or ``uniform(LO,HI)``. Raises InputError."""
    try:
        x, y = float(first), float(second)
    except ValueError:
        raise InputError(f"{text!r}: two numbers are needed, such as {kind}(0,1)") from None
    most = float(OPERANDS.largest)
    if not (abs(x) <= most and abs(y) <= most) or (y <= 0 if kind == "normal" else y <= x):
        raise InputError(f"{text!r}: {'a deviation above 0' if kind == 'normal' else 'LO < HI'} of fp32 is needed")
    if kind == "normal":
        return _both(text, text, lambda shape, rng, fmt: from_float64(fmt, rng.normal(x, y, shape)), None)
    size = Fraction(max(abs(x), abs(y)))
    draw: Draw = lambda shape, rng, fmt: from_float64(fmt, rng.uniform(x, y, shape))  # noqa: E731
    return Distribution(text, text, draw, draw, (size, size))


def _of_file(text: str) -> Distribution:
    """Return numbers of a file of NumPy, each drawn as often as any other. Raises InputError."""
    try:
        held = np.load(BytesIO(read_file(Path(text), LARGEST_DATA)), allow_pickle=False)
        numbers = np.asarray(held).astype(np.float64).ravel()
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{text}: cannot be read as an array of numbers: {error}") from error
    if not numbers.size or not np.isfinite(numbers).all():
        raise InputError(f"{text}: an array of finite numbers is needed")
    return _both(
        text, f"numbers of {text}", lambda shape, rng, fmt: from_float64(fmt, rng.choice(numbers, shape)), None
    )
