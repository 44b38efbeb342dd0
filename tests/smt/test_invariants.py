"""What stages and lemmas rely on holds of every number and term, and a wrong one is caught."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.deciding import decide

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.readings import Alignment, FlushedSign
from mmaproof.smt import trace
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra, InvariantError
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.cuts import CutBound, TermShape
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import fused_step, fused_sum, ieee, sequential_step, terms
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import BASIC, draw

CHECKED, UNCHECKED, ARRAYS = IntegerAlgebra(checks=True), IntegerAlgebra(), ArrayAlgebra()
FLOATS = [f for f in FORMATS.values() if not f.is_integer]
SMALL = [f for f in FLOATS if f.bits <= 16]
HOPPER = "hopper/wgmma.f32.f16.f16"
WHAT_IFS = [
    f"{HOPPER}@{settings}"
    for settings in (
        "fraction_bits=3",
        "alignment=nearest",
        "alignment=floor",
        "alignment=jam",
        "join=ieee",
        "join=ieee-once,carry_bits=1",
        "join=round-down,late_rounding=twice,far_c=dropped",
        "grouping=even-odd",
        "subnormals=flushed",
        "zero_product=absent",
        "zero_c=absent",
        "product_exponent=normalised",
        "summation=sequential",
        "summation=sequential,first=magnitude,normalises=yes",
        "summation=sequential,first=index,truncates=partial-sum",
    )
]


@pytest.fixture
def checked(monkeypatch):
    """Integers that compute every invariant, in the place of those that do not."""
    monkeypatch.setattr(trace, "_INTEGERS", CHECKED)


def arithmetics() -> list[Design]:
    """One design of the catalogue for each arithmetic."""
    distinct: dict[object, Design] = {}
    for design in load_catalogue().designs.values():
        distinct.setdefault((design.signature, design.k, design.chain, design.step), design)
    return list(distinct.values())


def operands(design: Design, rows: int, instructions: int, names: Sequence[str] = BASIC) -> list[Operands]:
    """N operand sets of each distribution, of N instructions in a chain."""
    rng = np.random.default_rng(7)
    batches = [draw(name, design, rows, design.k * instructions, rng) for name in names]
    return [batch.row(row) for batch in batches for row in range(rows)]


@pytest.mark.few(14)
@pytest.mark.parametrize("fmt", SMALL, ids=lambda f: f.name)
@pytest.mark.parametrize("flushed", [None, *FlushedSign])
def test_every_pattern_of_a_small_format_is_taken_apart_into_a_valid_number(fmt, flushed):
    patterns = ARRAYS.from_patterns(np.arange(1 << fmt.bits), fmt.bits)
    x = unpack(ARRAYS, fmt, patterns) if flushed is None else flushing(ARRAYS, fmt, patterns, flushed)
    assert np.all(x.valid(fmt).data)


def flushing(algebra: Algebra[D, T], fmt: Format, pattern: Word[D], sign: FlushedSign) -> Unpacked[D, T]:
    return ieee.read(algebra, fmt, pattern, flushes=True, flushed_sign=sign)


@pytest.mark.few(1)
@pytest.mark.parametrize("fmt", FLOATS, ids=lambda f: f.name)
@given(data=st.data())
def test_any_pattern_is_taken_apart_into_a_valid_number(fmt, data):
    fraction, field, sign = fmt.fraction_bits + fmt.ignored_bits, fmt.exponent_bits, fmt.bits - 1
    ends = st.sampled_from([0, 1, (1 << field) - 2, (1 << field) - 1]) | st.integers(0, (1 << field) - 1)
    low = st.sampled_from([0, 1, (1 << fraction) - 1]) | st.integers(0, (1 << fraction) - 1)
    pattern = data.draw(ends) << fraction | data.draw(low) if fraction else data.draw(ends)
    if sign >= fraction + field:
        pattern |= data.draw(st.integers(0, 1)) << sign
    word = CHECKED.unsigned(pattern, fmt.bits)
    # the check of a checking algebra, and the same once more from outside
    assert unpack(CHECKED, fmt, word).valid(fmt).data
    for flushed in FlushedSign:
        assert flushing(CHECKED, fmt, word, flushed).valid(fmt).data


class NumbersAreValid(Lemma):
    """Every pattern of a format is taken apart into a valid number; ``broken`` changes the number first."""

    def __init__(self, fmt: Format, broken: str = "") -> None:
        self.name, self.fmt, self.broken = f"numbers of {fmt.name} {broken}", fmt, broken
        self.inputs = (Input("pattern", fmt.bits),)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        x = unpack(algebra, self.fmt, words["pattern"])
        if self.broken == "exponent":
            x = replace(x, exponent=x.exponent + 1)
        elif self.broken:
            x = replace(x, **{self.broken: getattr(x, self.broken) ^ words["pattern"].is_value(1)})
        return x.valid(self.fmt)


@pytest.mark.parametrize("name", ["fp16", "e4m3", "e4m3fnuz", "fp32"])
def test_a_solver_proves_it_of_all_patterns(name):
    assert decide(NumbersAreValid(FORMATS[name])) is Status.PROVED


@pytest.mark.parametrize("broken", ["exponent", "zero", "subnormal", "infinite", "nan"])
def test_a_solver_refutes_it_where_one_part_is_wrong(broken):
    assert decide(NumbersAreValid(FORMATS["fp16"], broken)) is Status.REFUTED


@pytest.mark.slow
@pytest.mark.usefixtures("checked")
def test_the_invariants_hold_in_every_arithmetic_of_the_catalogue():
    for design in arithmetics():
        for x in operands(design, 1, 1, ("uniform-bits", "edges", "with-zeros")):
            evaluate(design, x)


@pytest.mark.middle
@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("name", WHAT_IFS)
def test_the_invariants_hold_in_designs_that_nobody_built(name):
    design = find_design(name)
    for x in operands(design, 6, 1) + operands(design, 6, 2):
        evaluate(design, x)


def first_operands(design: Design) -> Operands:
    return draw("normal", design, 1, design.k, np.random.default_rng(1)).row(0)


WRONG_TERMS = {
    "too large a significand": lambda t: replace(t, largest=0),
    "a bound beyond the word": lambda t: replace(t, largest=1 << t.significand.width),
    "absent but not zero": lambda t: replace(t, present=CHECKED.truth(False)),
}


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("settings", ["", "@summation=sequential"])
@pytest.mark.parametrize("wrong", WRONG_TERMS)
def test_a_wrong_term_is_caught(monkeypatch, wrong, settings):
    design = find_design(HOPPER + settings)
    module = sequential_step if settings else fused_step
    x = first_operands(design)
    evaluate(design, x)
    monkeypatch.setattr(module, "product_term", lambda *a: WRONG_TERMS[wrong](terms.product_term(*a)))
    with pytest.raises(InvariantError, match=r"Term\.valid|significand of .* is not within"):
        evaluate(design, x)


@pytest.mark.usefixtures("checked")
def test_a_wrong_bound_of_a_signal_is_caught(monkeypatch):
    design = find_design(HOPPER)
    right = Cut.bound
    monkeypatch.setattr(Cut, "bound", lambda *a: right(*a) // 4)
    with pytest.raises(ArithmeticError, match=r"is not within|does not fit"):
        evaluate(design, first_operands(design))


@pytest.mark.usefixtures("checked")
def test_an_e_max_below_a_term_is_caught(monkeypatch):
    design = find_design(HOPPER)
    right = fused_sum.largest_exponent
    monkeypatch.setattr(fused_sum, "largest_exponent", lambda *a: right(*a) - 1)
    with pytest.raises(InvariantError, match=r"Term\.valid_at"):
        evaluate(design, first_operands(design))


def wrong_number() -> Unpacked[int, bool]:
    one = unpack(UNCHECKED, FORMATS["fp16"], UNCHECKED.unsigned(0x3C00, 16))
    return replace(one, zero=UNCHECKED.truth(True))


def test_only_integers_that_were_asked_to_check_do():
    x, fmt = wrong_number(), FORMATS["fp16"]
    for algebra in (UNCHECKED, ARRAYS, TermAlgebra()):
        algebra.check(x, x.valid, fmt)
    with pytest.raises(InvariantError, match=r"Unpacked\.valid does not hold of Unpacked"):
        CHECKED.check(x, x.valid, fmt)


def test_nobody_else_computes_an_invariant():
    def computed(*_: object) -> Truth[bool]:
        raise AssertionError

    for algebra in (UNCHECKED, ARRAYS, TermAlgebra()):
        algebra.check(None, computed)


@pytest.mark.middle
@given(st.integers(0, 255), st.integers(-8, 7), st.integers(-8, 7), st.booleans(), st.booleans())
def test_what_lemmas_assume_of_a_term_is_what_stages_are_checked_for(significand, exponent, e_max, negative, present):
    lemma = CutBound("terms", TermShape(8, 200, 5, 4, 4), Cut(6, Alignment.TRUNCATE))
    words = {
        "significand": UNCHECKED.unsigned(significand, 8),
        "exponent": UNCHECKED.signed(exponent, 4),
        "e_max": UNCHECKED.signed(e_max, 4),
        "negative": UNCHECKED.unsigned(negative, 1),
        "present": UNCHECKED.unsigned(present, 1),
    }
    expected = significand <= 200 and (exponent <= e_max if present else significand == 0)
    assert lemma.assumption(UNCHECKED, words).data is expected
    assert lemma.term_of(UNCHECKED, words).valid_at(words["e_max"]).data is expected
