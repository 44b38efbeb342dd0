"""Proofs by laws of order: what is equal under them is equal, and an operation that breaks a law is found out."""

import pytest
from support.deciding import decide

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library.symmetry import OrderIndependence
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving import laws
from mmaproof.smt.proving.laws import Law, LawfulTerms, Operation, lemmas_of, lemmas_of_law, of_law
from mmaproof.smt.solving.verdict import Status


def by_laws(name):
    """Both orders of a step as one term, and the laws behind that; None where they are not."""
    question, terms = OrderIndependence().question(find_design(name), Scope()), LawfulTerms()
    return lemmas_of(terms) if question.claim(terms, question.symbols(terms)).data.is_true() else None


class OfTerms:
    """A lemma as its terms alone: integers are another interpretation, in which a broken operation is whole."""

    def __init__(self, lemma):
        self.formula = lemma.formula

    def confirm(self, model):
        return True


def used(build):
    terms = LawfulTerms()
    build(terms, *(terms.symbol(f"law_{n}", 8) for n in "xyz"))
    return lemmas_of(terms)


@pytest.mark.parametrize(
    "name", ["volta/f32.f16.f16.f32", "hopper/wgmma.f32.e4m3.e4m3", "cdna3/v_mfma_f32_32x32x8_f16"]
)
def test_the_order_of_a_fused_sum_follows_from_laws(name):
    lemmas = by_laws(name)
    assert lemmas
    assert {decide(lemma) for lemma in lemmas} == {Status.PROVED}


@pytest.mark.parametrize(
    "name",
    [
        "cdna2/v_mfma_f32_32x32x8f16",
        "volta/f32.f16.f16.f32@summation=sequential,first=index,truncates=partial-sum",
        "cdna3/v_mfma_f32_32x32x16_fp8_fp8",
    ],
)
def test_where_the_order_matters_there_are_two_terms(name):
    assert by_laws(name) is None


def test_canonical_terms_do_not_depend_on_the_order():
    terms = LawfulTerms()
    x, y, z = (terms.symbol(f"law_{n}", 8) for n in "xyz")
    signed = [terms.twos_complement(w) for w in (x, y, z)]
    assert terms.maximum([x, y, z]).data is terms.maximum([z, x, y, x]).data
    assert terms.modular_sum(signed, 9).data is terms.modular_sum(signed[::-1], 9).data
    assert terms.multiply(x, y).data is terms.multiply(y, x).data
    assert terms.add(x, y).data is terms.add(y, x).data
    assert terms.subtract(x, y).data is not terms.subtract(y, x).data
    assert terms.less(x, y).data is not terms.less(y, x).data
    assert terms.equal(terms.add(x, y), terms.add(y, x)).data.is_true()
    assert not terms.equal(terms.add(x, y), terms.add(y, z)).data.is_true()


@pytest.mark.parametrize(
    ("law", "build", "method", "broken"),
    [
        ("sum", lambda t, x, y, z: t.modular_sum([t.as_signed(x), t.as_signed(y)], 9), "_add_up", None),
        ("maximum", lambda t, x, y, z: t.maximum([x, y]), "_maximum", lambda self, x, y, signed: x),
        ("product", lambda t, x, y, z: t.multiply(x, y), "_multiply", lambda self, x, y: self._subtract(x, y, 16)),
        ("junction", lambda t, x, y, z: t.any_of([t.less(x, y), t.less(y, z)]), "_or", lambda self, xs: xs[0]),
    ],
)
def test_an_operation_that_breaks_its_law_is_refuted(monkeypatch, law, build, method, broken):
    lemma = next(x for x in used(build) if x.name.startswith(law))
    assert decide(lemma) is Status.PROVED
    if broken is None:
        right = TermAlgebra._add_up

        def broken(self, xs, widths, width, wraps):
            """Drop the lowest bit of what was added so far before the next addend: truncation after each addition."""
            total = xs[0]
            for x, w in zip(xs[1:], widths[1:], strict=True):
                total = right(self, [total, x], [width, w], width, wraps)
                total = self._terms.BVAnd(total, self._constant(-2, width))
            return total

    monkeypatch.setattr(TermAlgebra, method, broken)
    again = next(x for x in used(build) if x.name.startswith(law))
    assert decide(OfTerms(again)) is Status.REFUTED


@pytest.mark.parametrize(
    ("method", "broken"),
    [
        ("_wrapped_sum", lambda self, x, y, width: self._terms.BVOr(x, y)),
        ("_wrapped_difference", lambda self, x, y, width: self._terms.BVXor(x, y)),
        ("_complement", lambda self, x, width: x),
        ("_shift_left_within", lambda self, x, width, amount, amount_width: x),
        ("_concatenate", lambda self, high, low, high_width, low_width: self._terms.BVConcat(low, high)),
        ("_extract", lambda self, x, width, high, low: self._terms.BVExtract(x, width - 1 - high, width - 1 - low)),
        ("_add", lambda self, x, y: self._terms.BVSub(x, y)),
    ],
)
def test_a_sum_that_is_no_sum_of_integers_is_refuted(method, broken, monkeypatch):
    laws = [*(Law(Operation.LINEAR, width) for width in (1, 2, 9)), Law(Operation.RESIZED_SUM, 7, wider=10)]
    assert {decide(of_law(x)) for x in laws} == {Status.PROVED}
    monkeypatch.setattr(TermAlgebra, method, broken)
    assert Status.REFUTED in {decide(OfTerms(of_law(x))) for x in laws[1:]}


def test_bounds_of_a_sum_follow_claim_by_claim():
    lemmas = lemmas_of_law(Law(Operation.BOUNDED_SUM, 9))
    assert len({x.name for x in lemmas}) == len(lemmas) > 1
    assert {decide(x) for x in lemmas} == {Status.PROVED}
    together = [x.formula.claim for x in lemmas]
    assert together == list(of_law(Law(Operation.BOUNDED_SUM, 9)).formula.claim.args())


@pytest.mark.parametrize(
    ("method", "broken"),
    [
        ("_partial_sum", lambda self, total, x: self._terms.BVSub(total, x)),
        ("_partial_sum", lambda self, total, x: self._terms.BVXor(total, x)),
        ("_narrow", lambda self, x, width, to_width, signed: self._terms.BVExtract(x, width - to_width, width - 1)),
        ("_wrapped_difference", lambda self, x, y, width: self._terms.BVSub(y, x)),
        ("_less", lambda self, x, y, signed: self._terms.BVULT(x, y)),
    ],
)
def test_bounds_that_do_not_add_up_are_refuted(method, broken, monkeypatch):
    monkeypatch.setattr(TermAlgebra, method, broken)
    found = {decide(OfTerms(x)) for x in lemmas_of_law(Law(Operation.BOUNDED_SUM, 5))}
    assert Status.REFUTED in found


@pytest.mark.middle
def test_laws_about_words_of_hundreds_of_bits_are_proved():
    laws = [Law(Operation.LINEAR, 1024), Law(Operation.RESIZED_SUM, 300, wider=512), Law(Operation.BOUNDED_SUM, 300)]
    assert {decide(lemma) for law in laws for lemma in lemmas_of_law(law)} == {Status.PROVED}


def test_extending_a_maximum_is_a_law_of_its_own():
    def build(terms, x, y, z):
        wide = terms.symbol("law_wide", 12)
        return terms.maximum([x, y, wide])

    names = [lemma.name for lemma in used(build)]
    assert any(name.startswith("extended maximum") for name in names)
    assert {decide(lemma) for lemma in used(build)} == {Status.PROVED}


def test_sign_extension_is_not_mixed_up_with_zero_extension():
    terms = LawfulTerms()
    x = Word(terms.symbol("law_x", 8).data, 8, True, terms)
    assert terms.maximum([x, terms.signed(5, 12)]).width == 12
    assert {decide(lemma) for lemma in lemmas_of(terms)} == {Status.PROVED}


@pytest.mark.few(4)
@pytest.mark.parametrize("operation", Operation)
def test_every_law_is_about_its_own_operation(operation):
    lemma, others = of_law(Law(operation, 8, wider=9)), set(Operation) - {operation}
    assert decide(lemma) is Status.PROVED
    assert all(lemma.formula.claim is not of_law(Law(other, 8, wider=9)).formula.claim for other in others)


def test_a_law_that_nobody_wrote_is_not_proved_as_another_one():
    lemma = of_law(Law("quotient", 8))
    with pytest.raises(AssertionError, match="quotient"):
        decide(lemma)


def operations():
    """What is done with operands in another order, and the laws that say that it may be."""
    sum_of, maximum = Law(Operation.SUM, 5), Law(Operation.MAXIMUM, 4, True)
    return {
        "add": (lambda t, x, y: t.add(x, y), {sum_of}),
        "multiply": (lambda t, x, y: t.multiply(x, y), {Law(Operation.PRODUCT, 8)}),
        "and": (lambda t, x, y: t.all_of([x.is_value(1), y.is_value(1)]), {Law(Operation.JUNCTION, 1)}),
        "or": (lambda t, x, y: t.any_of([x.is_value(1), y.is_value(1)]), {Law(Operation.JUNCTION, 1)}),
        "xor": (lambda t, x, y: t.exclusive_or(x.is_value(1), y.is_value(1)), {Law(Operation.JUNCTION, 1)}),
        "sum": (lambda t, x, y: t.modular_sum([t.twos_complement(w) for w in (x, y)], 5), {sum_of}),
        "carry-save": (
            lambda t, x, y: t.compressed_sum([t.twos_complement(w) for w in (x, y)], 5),
            {sum_of, Law(Operation.CARRY_SAVE_SUM, 5)},
        ),
        "maximum": (lambda t, x, y: t.maximum([t.twos_complement(w) for w in (x, y)]), {maximum}),
        "in turn": (lambda t, x, y: t.maximum_in_turn([t.twos_complement(w) for w in (x, y)]), {maximum}),
        "maximum of other widths": (
            lambda t, x, y: t.maximum([t.twos_complement(x), t.twos_complement(y).extend(6)]),
            {Law(Operation.MAXIMUM, 6, True), Law(Operation.EXTENDED_MAXIMUM, 4, True, 6)},
        ),
    }


@pytest.mark.parametrize("name", operations())
def test_what_is_reordered_is_one_term_and_its_law_is_noted(name):
    operation, laws = operations()[name]
    terms = LawfulTerms()
    x, y = (terms.symbol(f"reordered_{n}", 4) for n in "xy")
    first = operation(terms, x, y)
    assert terms.used == laws
    if name != "maximum of other widths":
        assert operation(terms, y, x).data is first.data


class Larger(IntegerAlgebra):
    """Maxima that depend on the grouping: of 0 and 1 it is 3."""

    def maximum(self, words):
        values = {x.data for x in words}
        return self.unsigned(3 if values == {0, 1} else max(values), 2)


class OneMore(IntegerAlgebra):
    """Sums of N bits are one too large, and that of 1 and 1 is 5 there."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def modular_sum(self, words, width):
        found = super().modular_sum(words, width)
        if width != self.width:
            return found
        return self.signed(5 if [x.data for x in words] == [1, 1] else found.data, width)


class Swapping(IntegerAlgebra):
    """Sums that depend on the order."""

    def wrapped_sum(self, x, y):
        return self.wrapped_difference(x, y)

    def modular_sum(self, words, width):
        first, *others = (x.data for x in words)
        return self.twos_complement(self.unsigned((first - sum(others)) % (1 << width), width))


FALSE_OF = {
    "maxima in another grouping": (Law(Operation.MAXIMUM, 2), Larger(), (0, 1, 2)),
    "resized sums that are larger": (Law(Operation.RESIZED_SUM, 4, wider=6), OneMore(6), (1, 1, 0)),
    "sums in another order": (Law(Operation.SUM, 3), Swapping(), (1, 2, 0)),
    "sums in another grouping": (Law(Operation.SUM, 3), Swapping(), (1, 1, 1)),
    "linear combinations": (Law(Operation.LINEAR, 3), Swapping(), (1, 2, 0)),
    "exchanged words": (Law(Operation.EXCHANGE, 3), Swapping(), (1, 2, 1)),
    "compressed sums": (Law(Operation.CARRY_SAVE_SUM, 3), Swapping(), (1, 2, 1)),
}


@pytest.mark.parametrize("name", FALSE_OF)
def test_a_law_is_false_of_operations_that_break_it(name):
    law, broken, values = FALSE_OF[name]
    lemma = of_law(law)
    for algebra, holds in ((IntegerAlgebra(), True), (broken, False)):
        words = {x.name: algebra.unsigned(v, x.width) for x, v in zip(lemma.inputs, values, strict=True)}
        assert lemma.claim(algebra, words).data is holds


def test_the_bounds_of_a_sum_are_what_the_law_claims(monkeypatch):
    """A lower bound of 5 where the words are at least 1 and 1 excuses no sum of 4."""
    monkeypatch.setattr(laws, "_monotone", lambda *_: [])
    lemma, values = of_law(Law(Operation.BOUNDED_SUM, 5, signed=True)), (2, 2, 1, 1, 3, 3)
    for algebra, holds in ((IntegerAlgebra(), True), (OneMore(7), False)):
        words = {x.name: algebra.signed(v, x.width) for x, v in zip(lemma.inputs, values, strict=True)}
        words = {name: algebra.pattern(x) for name, x in words.items()}
        assert lemma.claims(algebra, words)[-1].data is holds
