"""IEEE 754 additions: how many bits the addends are aligned at, tried on all numbers of formats of a few bits."""

from functools import cache

import numpy as np
import pytest
from reference import formats
from reference.algorithms import rounded, value

from mmaproof.designs.conversions import Conversion, Rounding
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.readings import Alignment, NanCode, NegativeZero, Overflow
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.patterns import unpack

ARRAYS = ArrayAlgebra()
E4M2, E4M1 = (Format(name, name, None, 4, m, Specials.IEEE, "small") for name, m in (("e4m2", 2), ("e4m1", 1)))
"""Sixteen exponents, so that the smaller addend of n bits may lie more than n + 2 places below the larger one."""
FINITE = [x for x in range(1 << E4M2.bits) if x & 0x3C != 0x3C]
PAIRS = [(x, y) for x in FINITE for y in FINITE if x <= y]


@pytest.fixture(autouse=True)
def small_formats(monkeypatch):
    for fmt in (E4M2, E4M1):
        monkeypatch.setitem(formats.FORMATS, fmt.name, formats.Format(4, fmt.fraction_bits, fmt.bias))


@cache
def sums(target: str, rounding: str) -> np.ndarray:
    """The sum of each two numbers of e4m2: the exact one, rounded once."""
    values, expected = {x: value(x, "e4m2") for x in FINITE}, []
    for x, y in PAIRS:
        signs = x >> 6, y >> 6
        # of an exact zero: IEEE 754, clause 6.3
        negative = any(signs) if rounding == "rtn" else all(signs)
        expected.append(rounded(values[x] + values[y], negative, target, rounding))
    return np.array(expected)


def differences(target: Format, rounding: Rounding) -> int:
    """How many sums of two numbers of e4m2 are not the exact sum rounded to ``target``."""
    columns = np.array(PAIRS, dtype=np.uint8).T
    x, y = (unpack(ARRAYS, E4M2, ARRAYS.from_patterns(p, E4M2.bits)) for p in columns)
    rho = Conversion(rounding, target, target.fraction_bits)
    overflow = Overflow.LARGEST_FINITE if rounding.truncates else Overflow.INFINITY
    rules = Rules(rho, overflow, NegativeZero.NEGATIVE, flushes=False)
    d = ieee.add(ARRAYS, rules, NanCode.QUIET, x, y).data
    return int((d != sums(target.name, rounding.value)).sum())


@pytest.mark.few(1)
@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("target", [E4M2, E4M1], ids=lambda f: f.name)
def test_every_sum_is_the_exact_one_rounded(target, rounding):
    assert differences(target, rounding) == 0


@pytest.mark.few(2)
@pytest.mark.parametrize("rounding", Rounding)
def test_fewer_bits_are_too_few(monkeypatch, rounding):
    """Two more than the precision to nearest; without the bit that decides there, one more in a direction.

    Rounded to odd, the jammed bit is the last one of the result.
    """
    x = unpack(ARRAYS, E4M2, ARRAYS.unsigned(1, E4M2.bits))
    assert ieee.cut_of_addends(E4M2, x, x) == Cut(E4M2.precision + 2, Alignment.JAM)
    fewer = {Rounding.RNE: 1, Rounding.RNA: 1, Rounding.RTO: -1}.get(rounding, 0)
    for bits, enough in ((fewer + 1, True), (fewer, False)):
        cut = Cut(E4M2.precision + bits, Alignment.JAM)
        monkeypatch.setattr(ieee, "cut_of_addends", lambda *_, cut=cut: cut)
        assert (differences(E4M2, rounding) == 0) is enough
