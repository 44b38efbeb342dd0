"""Staged proofs: each relation is used where it is proved, and a claim that would hold if it were is not believed.

The samples of these claims agree with the relation and the claims are false: whoever believed the samples, or a lemma
that was not asked, would call them proved.
"""

import pytest
from support.deciding import decide

from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.algebra.words import Signal, SignalKind
from mmaproof.smt.proving import staged
from mmaproof.smt.proving.laws import LawfulTerms, lemmas_of
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.staged import prove_by_stages
from mmaproof.smt.proving.staged_lemmas import Samples, signed_values
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity, Status

WIDTH = 6
LIMITS = Limits(60, 2 << 30)


def symbols(algebra):
    return [algebra.symbol(f"staged_{n}", WIDTH) for n in "ab"]


def prove(claim, rows, *, precondition=None, ask=None):
    """Prove a claim about words a and b, with samples of them as pairs."""
    algebra = TermAlgebra()
    words = symbols(algebra)
    samples = Samples([{w.data.symbol_name(): x for w, x in zip(words, row, strict=True)} for row in rows])
    assumed = None if precondition is None else precondition(algebra, *words).data
    question = Formula(tuple(w.data for w in words), assumed, algebra.truth(True).data, algebra.environment)
    return prove_by_stages(question, lambda terms: claim(terms, *symbols(terms)), samples, ask or Solving().ask, LIMITS)


def relations(proof):
    return {lemma.relation for lemma in proof.lemmas if lemma.status is Status.PROVED}


EVERYWHERE = [(a, (7 * a + 3) % 64) for a in range(64)]
SMALL = [(a, (5 * a + 1) % 16) for a in range(16)]
"""a and b below 16"""


def low(algebra, x):
    """The word without its two highest bits: x itself where x is below 16."""
    return algebra.as_signed(algebra.extract(x, 3, 0))


def claims(algebra, a, b, relation):
    """Two signals of which the second is, for a below 16, so related to the first; the claim is that it is."""
    first = algebra.signal("first", algebra.add(algebra.as_signed(a), algebra.signed(0, WIDTH + 1)))
    same = algebra.subtract(algebra.add(low(algebra, a), algebra.as_signed(b)), algebra.as_signed(b))
    match relation:
        case "equal":
            return algebra.equal(algebra.signal("second", same), first)
        case "negated":
            return algebra.equal(algebra.signal("second", algebra.negate(same)), algebra.negate(first))
        case "moved by 2**2":
            return algebra.equal(algebra.signal("second", algebra.shift_left(same, 2)), algebra.shift_left(first, 2))
        case "offset by 5":
            second = algebra.signal("second", algebra.add(same, algebra.signed(5)))
            return algebra.equal(second, algebra.add(first, algebra.signed(5)))


RELATIONS = ["equal", "negated", "moved by 2**2", "offset by 5"]


def is_small(algebra, a, b):
    return algebra.less(a, algebra.unsigned(16, WIDTH))


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_that_holds_is_used(relation):
    proof = prove(lambda al, a, b: claims(al, a, b, relation), SMALL, precondition=is_small)
    assert proof.proved
    assert relation in relations(proof)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_that_only_the_samples_have_is_not_believed(relation):
    proof = prove(lambda al, a, b: claims(al, a, b, relation), SMALL)
    assert not proof.proved
    assert relation not in relations(proof)


@pytest.mark.parametrize("relation", RELATIONS)
def test_these_claims_would_pass_if_lemmas_were_not_asked(monkeypatch, relation):
    """What the test above rests on: with the rule broken, the false claim is called proved."""
    asked = staged.StagedTerms.holds

    def believed(self, stage, kind, claim, **limits):
        return kind == relation or asked(self, stage, kind, claim, **limits)

    monkeypatch.setattr(staged.StagedTerms, "holds", believed)
    assert prove(lambda al, a, b: claims(al, a, b, relation), SMALL).proved


@pytest.mark.parametrize("relation", RELATIONS[1:])
def test_what_follows_sees_the_relation_and_not_the_signal(relation):
    """The second signal is related to the first, but not equal to it: a claim that it is stays unproved."""

    def claim(algebra, a, b):
        return algebra.all_of([claims(algebra, a, b, relation), *equal_signals(algebra, a, b, relation)])

    proof = prove(claim, SMALL, precondition=is_small)
    assert relation in relations(proof)
    assert not proof.proved


def equal_signals(algebra, a, b, relation):
    """That a - 1 is what stands, in the relation, for a signal that is a - 1."""
    first = algebra.signal("base", algebra.subtract(a, algebra.unsigned(1, 1)))
    same = algebra.subtract(algebra.subtract(algebra.add(a, b), b), algebra.signed(1))
    second = {
        "negated": algebra.negate(same),
        "moved by 2**2": algebra.shift_left(same, 2),
        "offset by 5": algebra.add(same, algebra.signed(5)),
    }[relation]
    return [algebra.equal(algebra.signal("related", second), first)]


def is_never_large(algebra, a, b):
    large = algebra.signal_truth("large", algebra.less(algebra.unsigned(15, WIDTH), a))
    return algebra.negation(large)


def test_a_constant_is_one_only_where_that_is_proved():
    assert prove(is_never_large, SMALL, precondition=is_small).proved
    assert "constant" in relations(prove(is_never_large, SMALL, precondition=is_small))
    assert not prove(is_never_large, SMALL).proved


def bounded(algebra, a, b):
    x = algebra.signal("bounded", algebra.add(a, algebra.unsigned(0, WIDTH)), (0, 15))
    return algebra.less(x, algebra.unsigned(16, WIDTH + 1))


def test_a_bound_is_a_fact_only_where_it_is_proved():
    assert prove(bounded, SMALL, precondition=is_small).proved
    assert not prove(bounded, SMALL).proved


def five_bits(algebra, *words):
    """Signals of the lowest five bits of words, which lie between 0 and 31, as signed words of six bits."""
    return [
        algebra.signal(f"five{i}", algebra.as_signed(algebra.extract(x, 4, 0)), (0, 31)) for i, x in enumerate(words)
    ]


@pytest.mark.parametrize(("width", "holds"), [(6, False), (7, True)])
def test_bounds_add_up_where_a_sum_cannot_wrap(width, holds):
    def is_no_less_than_zero(algebra, a, b):
        return algebra.modular_sum(five_bits(algebra, a, b), width) >= 0

    assert prove(is_no_less_than_zero, SMALL).proved == holds


@pytest.mark.parametrize(("largest", "holds"), [(30, False), (31, True)])
def test_the_bounds_of_a_negated_word_change_places(largest, holds):
    def is_at_most(algebra, a, b):
        x, y = five_bits(algebra, a, b)
        return algebra.modular_sum([algebra.negate(x), y], 8) <= largest

    assert prove(is_at_most, SMALL).proved == holds


def test_bounds_of_an_unsigned_word_are_none_of_its_pattern_read_as_signed():
    """From 64 on seven bits are a negative number, and the sum of two of them is below zero."""

    def is_no_less_than_zero(algebra, a, b):
        patterns = [
            algebra.signal(n, algebra.add(x, algebra.unsigned(32, WIDTH)), (0, 100)) for n, x in (("s", a), ("t", b))
        ]
        return algebra.modular_sum([algebra.twos_complement(x) for x in patterns], WIDTH + 3) >= 0

    proof = prove(is_no_less_than_zero, SMALL)
    assert "bounded" in relations(proof)
    assert not proof.proved


@pytest.mark.parametrize("least", [-32, -40])
def test_the_bounds_of_a_wrapped_negation_are_none_where_the_least_value_is_its_own(least):
    """-32 in six bits is its own negation: no bound of the word, with the sign changed, is one of the negation."""

    def is_at_least(algebra, a, b):
        x = algebra.signal("word", algebra.twos_complement(algebra.add(a, b).extract(WIDTH - 1, 0)), (least, 30))
        negation = Word(algebra.environment.formula_manager.BVNeg(x.data), WIDTH, True, algebra)
        return algebra.modular_sum([negation, algebra.signed(1, 2)], WIDTH + 2) >= -29

    never_31 = [(a, b) for a, b in EVERYWHERE if (a + b) % 64 != 31]
    proof = prove(is_at_least, never_31, precondition=lambda al, a, b: ~(al.add(a, b).extract(WIDTH - 1, 0) == 31))
    assert "bounded" in relations(proof)
    assert not proof.proved


def test_bounds_that_add_up_rest_on_their_law_at_the_width_of_each_sum():
    """A lemma about the outer sum alone uses bounds that the law gave the inner one."""

    def is_no_less_than_zero(algebra, a, b):
        x, y = five_bits(algebra, a, b)
        return algebra.modular_sum([algebra.modular_sum([x, y], 8), y], 9) >= 0

    proof = prove(is_no_less_than_zero, SMALL)
    assert proof.proved
    laws = [x for x in relations(proof) if x.startswith("bounded sum")]
    assert [w for w in (7, 8, 9, 10) if any(f"words of {w} bits" in x for x in laws)] == [8, 9]


def below_the_largest(algebra, a, b):
    """The largest of two signals is at least the first of them."""
    words = [algebra.signal(n, algebra.add(x, y)) for n, x, y in (("s", a, b), ("t", a, a))]
    top = algebra.signal("largest", algebra.maximum(words))
    return algebra.negation(algebra.less(top, words[0]))


def test_no_operand_exceeds_the_largest():
    assert prove(below_the_largest, EVERYWHERE).proved
    assert not prove(lambda al, a, b: al.negation(below_the_largest(al, a, b)), EVERYWHERE).proved


@pytest.mark.parametrize("which", [0, 1])
def test_not_every_operand_is_the_largest(which):
    def all_are(algebra, a, b):
        words = [algebra.signal(n, algebra.add(x, y)) for n, x, y in (("s", a, b), ("t", a, a))]
        top = algebra.signal("largest", algebra.maximum(words))
        return algebra.negation(algebra.less(words[which], top))

    assert not prove(all_are, [(a, a) for a in range(64)]).proved


def test_where_no_sample_meets_the_precondition_nothing_is_proved():
    proof = prove(below_the_largest, [])
    assert (proof.proved, proof.lemmas) == (False, ())
    assert "no sample meets the precondition" in proof.reason


def of_two_runs(algebra, a, b, second):
    """Truth values that two runs name alike, and where they are seen: where bit 1 of b is set."""
    seen, found = algebra.is_bit_set(b, 1), []
    for of in (lambda: algebra.is_bit_set(a, 0), second):
        algebra.begin()
        found.append(algebra.signal_truth(Signal(SignalKind.SIGN), of(), lambda: seen))
    return seen, algebra.exclusive_or(*found)


def test_what_two_runs_have_in_common_where_it_is_seen_is_a_fact_only_where_it_is_proved():
    def claim(algebra, a, b):
        large = algebra.less(algebra.unsigned(15, WIDTH), a)
        lowest = algebra.is_bit_set(a, 0)
        seen, differ = of_two_runs(algebra, a, b, lambda: algebra.exclusive_or(lowest, large))
        return algebra.negation(algebra.all_of([seen, differ]))

    assert prove(claim, SMALL, precondition=is_small).proved
    assert not prove(claim, SMALL).proved


def test_what_two_runs_have_in_common_where_it_is_seen_says_nothing_of_elsewhere():
    def differs(algebra, a, b):
        lowest = algebra.is_bit_set(a, 0)
        return of_two_runs(algebra, a, b, lambda: algebra.exclusive_or(lowest, ~algebra.is_bit_set(b, 1)))

    assert prove(lambda t, a, b: ~t.all_of(differs(t, a, b)), EVERYWHERE).proved
    assert not prove(lambda t, a, b: ~differs(t, a, b)[1], EVERYWHERE).proved


def magnitudes(algebra, a, b, second):
    """Two signals of eight bits, a - b and what ``second`` makes of a word that is b - a: the words, and magnitudes."""
    same = algebra.subtract(algebra.add(b, a), algebra.add(a, a))
    of_runs = (("x", algebra.subtract(a, b)), ("y", second(same)))
    words = [algebra.signal(name, word.extend(8), (-63, 63)) for name, word in of_runs]
    return [*words, *map(algebra.magnitude, words)]


def test_opposite_words_have_one_magnitude_and_opposite_signs_unless_it_is_zero():
    def claim(algebra, a, b):
        x, y, magnitude, other = magnitudes(algebra, a, b, lambda same: same)
        return algebra.all_of([magnitude == other, magnitude.is_value(0) | ((x < 0) ^ (y < 0))])

    proof = prove(claim, EVERYWHERE)
    assert proof.proved
    assert {"negated", "zero with its word"} <= relations(proof)
    (of_claim,) = [x for x in proof.lemmas if x.stage == "result" and x.status is Status.PROVED]
    assert of_claim.widened == 0


def test_nothing_is_said_of_the_signs_of_zeros():
    def signs(algebra, a, b):
        x, y, *_ = magnitudes(algebra, a, b, lambda same: same)
        return (x < 0) ^ (y < 0)

    assert not prove(signs, [(a, b) for a, b in SMALL if a != b]).proved


def test_words_that_are_opposite_on_the_samples_alone_have_two_magnitudes():
    def is_one(algebra, a, b):
        _, _, magnitude, other = magnitudes(algebra, a, b, lambda same: same.narrow(5))
        return magnitude == other

    assert not prove(is_one, SMALL).proved


def chained(algebra, a, b):
    """Four products added by twos against the same added at once: that sum is the first of the two and the other."""
    pairs = [(a, a), (b, b), (a, b), (b, algebra.unsigned(3, 2))]
    terms = [algebra.signal(f"p{i}", algebra.as_signed(algebra.multiply(x, y))) for i, (x, y) in enumerate(pairs)]
    halves = [algebra.signal(Signal(SignalKind.SUM), algebra.bounded_sum(terms[i : i + 2], 16)) for i in (0, 2)]
    whole = algebra.signal(Signal(SignalKind.SUM), algebra.bounded_sum(terms, 16))
    return algebra.equal(whole, algebra.bounded_sum(halves, 16))


def test_a_sum_of_two_sums():
    proof = prove(chained, EVERYWHERE)
    assert proof.proved
    assert "sum of two" in relations(proof)
    off = prove(lambda al, a, b: al.negation(chained(al, a, b)), EVERYWHERE)
    assert not off.proved


def test_a_cut_that_is_too_coarse_is_widened():
    """Of two signals only their definitions say that they are never equal."""

    def claim(algebra, a, b):
        x = algebra.signal("even", algebra.shift_left(a, 1))
        y = algebra.signal("odd", algebra.add(algebra.shift_left(b, 1), algebra.unsigned(1, 1)))
        return algebra.negation(algebra.equal(x, algebra.extract(y, WIDTH, 0)))

    proof = prove(claim, EVERYWHERE)
    assert proof.proved
    (of_claim,) = [x for x in proof.lemmas if x.stage == "result" and x.status is Status.PROVED]
    assert of_claim.widened > 0


def test_lemmas_that_differ_in_names_are_one():
    def claim(algebra, a, b):
        twice = [(algebra.signal("added", algebra.add(x, x)), algebra.shift_left(x, 1)) for x in (a, b)]
        return algebra.all_of([algebra.equal(x, algebra.signal("moved", y)) for x, y in twice])

    proof = prove(claim, EVERYWHERE)
    assert proof.proved
    assert max(x.uses for x in proof.lemmas if x.stage == "moved") == 2


def test_what_is_not_known_is_not_proved():
    unknown = Reply(Outcome.UNKNOWN, SolverIdentity("none", "0"), 0.1, reason=Cause.TIMEOUT.reason("slow"))
    proof = prove(below_the_largest, EVERYWHERE, ask=lambda formula, symbols, /, *, limits: unknown)
    assert not proof.proved
    assert {x.status for x in proof.lemmas} == {Status.UNKNOWN}


def test_no_time_is_a_reason():
    algebra = TermAlgebra()
    words = symbols(algebra)
    question = Formula(tuple(w.data for w in words), None, algebra.truth(True).data, algebra.environment)
    samples = Samples([{w.data.symbol_name(): 1 for w in words}])
    proof = prove_by_stages(
        question, lambda al: bounded(al, *symbols(al)), samples, Solving().ask, Limits(1e-9, 1 << 30)
    )
    assert not proof.proved
    assert proof.reason is not None
    assert proof.reason.startswith("timeout")


@pytest.mark.parametrize("law", ["bounded sum", "carry-save sum", "maximum"])
def test_laws_are_lemmas(law):
    terms = LawfulTerms()
    words = [terms.twos_complement(terms.symbol(f"law_{n}", 8)) for n in "xyz"]
    terms.compressed_sum(words, 9)
    terms.maximum(words)
    terms.used.add(staged.Law(staged.Operation.BOUNDED_SUM, 9))
    lemma = next(x for x in lemmas_of(terms) if x.name.startswith(law))
    assert decide(lemma) is Status.PROVED


def test_a_compressor_that_drops_its_carries_is_found_out(monkeypatch):
    terms = LawfulTerms()
    terms.compressed_sum([terms.twos_complement(terms.symbol(f"law_{n}", 8)) for n in "xyz"], 8)
    lemma = next(x for x in lemmas_of(terms) if x.name.startswith("carry-save"))

    class OfTerms:
        formula = lemma.formula

        def confirm(self, model):
            return True

    assert decide(OfTerms()) is Status.PROVED
    right = TermAlgebra._compress

    def broken(self, x, y, z, width):
        return right(self, x, y, z, width)[0], self._constant(0, width)

    monkeypatch.setattr(TermAlgebra, "_compress", broken)
    del lemma.formula
    OfTerms.formula = lemma.formula
    assert decide(OfTerms()) is Status.REFUTED


def test_samples_are_what_the_terms_are():
    algebra = TermAlgebra()
    a, b = symbols(algebra)
    samples = Samples([{"staged_a": x, "staged_b": y} for x, y in EVERYWHERE])
    total = algebra.subtract(a, b)
    assert signed_values(samples.values(total.data), total.width) == tuple(x - y for x, y in EVERYWHERE)
    assert samples.values(algebra.less(a, b).data) == tuple(int(x < y) for x, y in EVERYWHERE)


def test_a_claim_of_which_nothing_is_known_is_not_proved():
    """No law is needed here that would be asked about after the claim."""
    unknown = Reply(Outcome.UNKNOWN, SolverIdentity("nobody", "0"), 0.0, reason=Cause.TIMEOUT.reason("made up"))
    proof = prove(lambda algebra, a, b: algebra.equal(a, b), [(x, x) for x in range(8)], ask=lambda *_, **__: unknown)
    assert not proof.proved
    assert [lemma.status for lemma in proof.lemmas] == [Status.UNKNOWN]


def negated_sum(al, words):
    """The sum of two negated words, in more bits, is the negated sum."""
    x, y = (al.signal(name, word) for name, word in zip("xy", words, strict=True))
    opposite = [al.signal(f"-{name}", al.narrow(al.negate(w), w.width)) for name, w in (("x", x), ("y", y))]
    wide = WIDTH + 3
    return al.equal(al.modular_sum(opposite, wide), al.narrow(al.negate(al.modular_sum([x, y], wide)), wide))


def test_negated_words_are_extended_before_they_are_negated():
    # from -31 to 31, the negation of a word is that of the word in more bits; these are from -8 to 7
    proof = prove(lambda al, *words: negated_sum(al, [al.subtract(low(al, w), al.signed(8, 5)) for w in words]), SMALL)
    assert proof.proved
    assert "extended before it is negated" in relations(proof)


def test_a_word_that_is_its_own_negation_is_not_extended_before():
    # the negation of -32 in six bits is -32, and no sample has that
    def words(al, a, b):
        return [al.twos_complement(f(a, b)) for f in (al.wrapped_sum, al.wrapped_difference)]

    without = [(a, b) for a, b in EVERYWHERE if 32 not in ((a + b) % 64, (a - b) % 64)]
    proof = prove(lambda al, *given: negated_sum(al, words(al, *given)), without)
    assert not proof.proved
    assert "negated" in relations(proof)
    assert "extended before it is negated" not in relations(proof)
