"""The three interpretations of every operation agree, and misuse is refused."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysmt.environment import get_env

from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra, WidthClaimError
from mmaproof.smt.algebra.protocol import Algebra, Truth, Word
from mmaproof.smt.algebra.terms import WIDE, TermAlgebra
from mmaproof.smt.proving.staged_lemmas import Samples

INTEGERS, ARRAYS = IntegerAlgebra(), ArrayAlgebra()


def in_one_width(operation):
    """An operation on two words of one width, as one on words of any widths."""

    def wider(g, x, y):
        width = max(x.width, y.width)
        return operation(g, g.extend(x, width), g.extend(y, width))

    return wider


UNSIGNED = {
    "bitwise and": in_one_width(lambda g, x, y: g.bitwise_and(x, y)),
    "bitwise or": in_one_width(lambda g, x, y: g.bitwise_or(x, y)),
    "bitwise xor": in_one_width(lambda g, x, y: g.bitwise_xor(x, y)),
    "complement": lambda g, x, y: g.complement(x),
    "wrapped sum": in_one_width(lambda g, x, y: g.wrapped_sum(x, y)),
    "wrapped difference": in_one_width(lambda g, x, y: g.wrapped_difference(x, y)),
    "wrapped product": in_one_width(lambda g, x, y: g.wrapped_product(x, y)),
    "shift left within": lambda g, x, y: g.shift_left_within(x, y),
    "shift right within": lambda g, x, y: g.shift_right_within(x, y),
    "quotient": in_one_width(lambda g, x, y: g.quotient(x, y)),
    "remainder": in_one_width(lambda g, x, y: g.remainder(x, y)),
    "pattern": lambda g, x, y: g.pattern(g.twos_complement(x)),
    "add": lambda g, x, y: g.add(x, y),
    "subtract": lambda g, x, y: g.subtract(x, y),
    "multiply": lambda g, x, y: g.multiply(x, y),
    "negate": lambda g, x, y: g.negate(x),
    "shift_left": lambda g, x, y: g.shift_left(x, 5),
    "shift_right": lambda g, x, y: g.shift_right(x, y),
    "concatenate": lambda g, x, y: g.concatenate(x, y),
    "extract": lambda g, x, y: g.extract(x, x.width - 1, x.width // 2),
    "equal": lambda g, x, y: g.equal(x, y),
    "less": lambda g, x, y: g.less(x, y),
    "ite": lambda g, x, y: g.ite(g.less(x, y), x, y),
    "maximum": lambda g, x, y: g.maximum([x, y, x]),
    "conditional_negate": lambda g, x, y: g.conditional_negate(g.is_bit_set(y, 0), x),
    "drop_low": lambda g, x, y: g.drop_low(x, x.width - 1),
    "normalise": lambda g, x, y: g.normalise(x)[0],
    "normalise, places": lambda g, x, y: g.normalise(x)[1],
    "shift_right_jam": lambda g, x, y: g.shift_right_jam(x, y),
    "xor": lambda g, x, y: g.exclusive_or(g.less(x, y), g.is_bit_set(x, 0)),
    "junctions": lambda g, x, y: g.any_of([g.less(x, y), g.all_of([g.negation(g.less(y, x)), g.is_bit_set(x, 0)])]),
}
SIGNED = {
    "add": UNSIGNED["add"],
    "subtract": UNSIGNED["subtract"],
    "negate": UNSIGNED["negate"],
    "less": UNSIGNED["less"],
    "maximum": UNSIGNED["maximum"],
    "magnitude": lambda g, x, y: g.magnitude(x),
    "modular_sum": lambda g, x, y: g.modular_sum([x, y, x, x], x.width),
    "bounded_sum": lambda g, x, y: g.bounded_sum([x, y, x], max(x.width, y.width) + 2),
    "shift_right": lambda g, x, y: g.shift_right(x, g.magnitude(y)),
    "drop_low": UNSIGNED["drop_low"],
    "is_value": lambda g, x, y: g.is_value(x, -1),
}


def plain(value: Word | Truth) -> object:
    data = value.data
    if hasattr(data, "simplify"):
        data = data.simplify()
        if data.is_bool_constant():
            return data.is_true()
        data = data.bv_signed_value() if value.signed else data.bv_unsigned_value()
    return data.tolist()[0] if isinstance(data, np.ndarray) else data


def word(algebra: Algebra, value: int, width: int, signed: bool) -> Word:
    made = algebra.signed(value, width) if signed else algebra.unsigned(value, width)
    if algebra is ARRAYS:
        return Word(np.array([made.data, made.data], dtype=np.int64 if width <= 63 else object), width, signed, ARRAYS)
    return made


@st.composite
def pairs(draw, signed):
    widths = [draw(st.sampled_from([1, 2, 7, 16, 33, 62, 63, 64, 100])) for _ in range(2)]
    low = [-(1 << (w - 1)) if signed else 0 for w in widths]
    high = [(1 << (w - 1)) - 1 if signed else (1 << w) - 1 for w in widths]
    values = [draw(st.integers(x, y) | st.sampled_from([x, y, 0])) for x, y in zip(low, high, strict=True)]
    return list(zip(values, widths, strict=True))


def agree(operation, operands, signed):
    results = []
    for algebra in (INTEGERS, ARRAYS, TermAlgebra()):
        x, y = (word(algebra, value, width, signed) for value, width in operands)
        value = operation(algebra, x, y)
        results.append((plain(value), getattr(value, "width", None), getattr(value, "signed", None)))
    assert results[0] == results[1] == results[2]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", UNSIGNED)
@given(operands=pairs(signed=False))
def test_unsigned_operations_agree(name, operands):
    agree(UNSIGNED[name], operands, signed=False)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SIGNED)
@given(operands=pairs(signed=True))
def test_signed_operations_agree(name, operands):
    agree(SIGNED[name], operands, signed=True)


@given(value=st.integers(1, 2**40 - 1), amount=st.integers(0, 63))
def test_jamming_is_rounding_to_odd(value, amount):
    x, y = INTEGERS.unsigned(value, 40), INTEGERS.unsigned(amount, 6)
    exact = value >> amount
    assert INTEGERS.shift_right_jam(x, y).data == exact | (exact << amount != value)


@given(value=st.integers(1, 2**37 - 1))
def test_normalising_keeps_the_value(value):
    shifted, places = INTEGERS.normalise(INTEGERS.unsigned(value, 37))
    assert shifted.data == value << places.data
    assert shifted.data >> 36 == 1


@pytest.mark.parametrize("algebra", [INTEGERS, ARRAYS, TermAlgebra()], ids=["integers", "arrays", "terms"])
def test_neither_words_nor_truths_are_bools(algebra):
    with pytest.raises(TypeError, match="ite"):
        bool(algebra.truth(True))
    with pytest.raises(TypeError, match="ite"):
        bool(algebra.unsigned(1, 1))


@pytest.mark.parametrize("algebra", [INTEGERS, ARRAYS, TermAlgebra()], ids=["integers", "arrays", "terms"])
def test_signed_and_unsigned_do_not_mix(algebra):
    with pytest.raises(TypeError, match="as_signed"):
        algebra.add(algebra.unsigned(1, 4), algebra.signed(1, 4))


def test_a_false_width_claim_is_an_error_on_integers():
    with pytest.raises(WidthClaimError):
        INTEGERS.narrow(INTEGERS.unsigned(8, 5), 3)
    with pytest.raises(WidthClaimError):
        INTEGERS.bounded_sum([INTEGERS.signed(3, 3)] * 2, 3)
    with pytest.raises(WidthClaimError):
        INTEGERS.narrow_to_unsigned(INTEGERS.signed(-1, 3), 3)
    with pytest.raises(OverflowError):
        INTEGERS.unsigned(8, 3)


def test_shift_amounts_wider_than_the_operand_shift_everything_out():
    algebra = TermAlgebra()
    x = algebra.symbol("narrow_operand", 3)
    shifted = algebra.shift_right(x, algebra.unsigned(200, 9)).data
    value = shifted.substitute({x.data: get_env().formula_manager.BV(7, 3)}).simplify()
    assert value.constant_value() == 0


@pytest.mark.few(14)
@pytest.mark.parametrize("width", [WIDE, WIDE + 1, 255, 256, 257])
@pytest.mark.parametrize("amount_width", [1, 5, 8, 9, 32, 300])
@pytest.mark.parametrize("shift", ["shift_left_within", "shift_right", "shift_right_within"])
def test_wide_words_are_shifted_by_variable_amounts_as_integers_are(shift, width, amount_width):
    algebra, rng = TermAlgebra(), random.Random(width)
    x, y = (algebra.symbol(f"{n}{w}", w) for n, w in (("wide", width), ("by", amount_width)))
    amounts = {0, 1, 2, 5, 127, 128, width // 2, width - 1, width, width + 1, 2 * width - 1, 1 << 20, 1 << 299}
    amounts |= {(1 << amount_width) - 1, 1 << (amount_width - 1)}
    words = [1, (1 << width) - 1, 1 << (width - 1), *(rng.getrandbits(width) for _ in range(4))]
    rows = [(word, amount) for word in words for amount in amounts if amount < 1 << amount_width]
    samples = Samples([{x.data.symbol_name(): word, y.data.symbol_name(): amount} for word, amount in rows])
    found = samples.values(getattr(algebra, shift)(x, y).data)
    move = getattr(INTEGERS, shift)
    expected = [move(INTEGERS.unsigned(w, width), INTEGERS.unsigned(a, amount_width)).data for w, a in rows]
    assert found == tuple(n % (1 << width) for n in expected)


def test_wide_constants_stay_exact_on_arrays():
    wide = [ARRAYS.signed(-5, 80), ARRAYS.signed(3, 80)]
    for word in (ARRAYS.magnitude(wide[0]), ARRAYS.magnitude(ARRAYS.maximum(wide)), ARRAYS.maximum_in_turn(wide)):
        moved = ARRAYS.shift_left(word, 70)
        assert ARRAYS.drop_low(moved, 70).data == word.data
        assert ARRAYS.extract(moved, moved.width - 1, 1).data == word.data << 69


@pytest.mark.parametrize("name", ["modular_sum", "compressed_sum"])
@pytest.mark.parametrize("width", [63, 64, 65, 80])
def test_wide_sums_of_constants_are_exact_on_arrays(name, width):
    for numbers in ((5, -3, 7), ((1 << 70) - 1, (1 << 70) - 1, -1), (0, 0)):
        found, expected = (getattr(g, name)([g.signed(x, 72) for x in numbers], width) << 3 for g in (ARRAYS, INTEGERS))
        assert found.data == expected.data


def test_on_arrays_nothing_is_chosen_by_a_comparison_that_holds_nowhere():
    x, y = (ARRAYS.from_patterns(np.array(p, dtype=np.uint32), 8) for p in ([1, 2, 3], [4, 5, 6]))
    assert ARRAYS.ite(ARRAYS.is_value(x, 7), y, x) is x
    assert ARRAYS.ite(ARRAYS.is_value(x, 2), y, x).data.tolist() == [1, 5, 3]
    nowhere = ARRAYS.all_of([ARRAYS.equal(x, y), ARRAYS.less(x, y)])
    assert ARRAYS.ite(ARRAYS.any_of([nowhere, ARRAYS.less(y, x)]), y, x).data.tolist() == [1, 2, 3]
    assert ARRAYS.ite(ARRAYS.negation(nowhere), y, x) is y


@pytest.mark.parametrize("make", [IntegerAlgebra, TermAlgebra], ids=["integers", "terms"])
def test_truth_values_that_are_known_are_joined_rightly(make):
    algebra = make()
    free = algebra.symbol("junction", 1).is_value(1) if make is TermAlgebra else algebra.truth(True)
    yes, no = algebra.truth(True), algebra.truth(False)
    assert [plain(algebra.all_of([])), plain(algebra.any_of([]))] == [True, False]
    for known, all_is, any_is in ((yes, free, yes), (no, no, free)):
        for pair in ([known, free], [free, known], [known, free, known]):
            assert algebra.all_of(pair).data is all_is.data
            assert algebra.any_of(pair).data is any_is.data
        for pair in ((known, free), (free, known)):
            assert algebra.both(*pair).data is all_is.data
            assert algebra.either(*pair).data is any_is.data
