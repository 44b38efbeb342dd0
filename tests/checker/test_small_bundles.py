"""Each rule of docs/bundle.md by itself, on bundles of a few lines that break this rule and no other."""

import itertools
import json
import sys

import pytest
from support.bundles import FALSE, LEMMA, PROVED, SCRIPT, WITHOUT_PROOF, checked, load_checker, of_files, outcome, steps


def test_the_bundle_is_right(tmp_path):
    status, said = outcome(tmp_path / "bundle")
    assert status == 0, said


NO_END = "ends before the empty clause"
FAULTS = {
    "a proof of one step, and not of the empty clause": ({"lemmas/0001.lrat": "3 2 0 1 0\n"}, 1, NO_END),
    "a proof of nothing": ({"lemmas/0001.lrat": ""}, 1, NO_END),
    "a clause that the script does not have": (
        {"lemmas/0001.cnf": "p cnf 2 3\n2 0\n-2 0\n-1 0\n", "lemmas/0001.lrat": "4 0 1 2 0\n"},
        1,
        "clause 3 is none of the translation",
    ),
    "a clause of no end": ({"lemmas/0001.cnf": "p cnf 2 2\n2 0\n-2 1\n"}, 1, "clause 2 is none of the translation"),
    "a clause of two ends": ({"lemmas/0001.cnf": "p cnf 2 2\n2 0\n-2 0 0\n"}, 1, "clause 2 is none of the translation"),
    "numbers that other programs read otherwise": (
        {"lemmas/0001.cnf": "p cnf 2 2\n0_2 0\n-2 0\n"},
        2,
        "0001.cnf: no integers",
    ),
    "two spaces between numbers": ({"lemmas/0001.lrat": "3 0 1  2 0\n"}, 2, "0001.lrat, line 1: no integers"),
    "a step that deletes": ({"lemmas/0001.lrat": "3 d 1 0\n"}, 2, "0001.lrat, line 1: no integers"),
    "a number of forty digits": ({"lemmas/0001.lrat": f"{'3' * 40} 0 1 2 0\n"}, 2, "line 1: no integers"),
    "a step of one zero": ({"lemmas/0001.lrat": "3 1 2 0\n"}, 2, "a step is NUMBER LITERALS 0 NUMBERS 0"),
    "a step of resolutions": ({"lemmas/0001.lrat": "3 0 -1 2 0\n"}, 1, "clause -1 forces nothing here"),
    "no header": ({"lemmas/0001.cnf": "p cnf\n2 0\n-2 0\n"}, 1, "it begins with a DIMACS header"),
    "no new line at the end": ({"lemmas/0001.cnf": "p cnf 2 2\n2 0\n-2 0"}, 1, "ends in a new line"),
    "the other map": ({"lemmas/0001.map.json": json.dumps({"p": [3]})}, 1, "the variables are not those"),
    "a map that is not an object": ({"lemmas/0001.map.json": "[2]"}, 2, "0001.map.json: one JSON object is expected"),
    "a lemma that asserts nothing": ({"lemmas/0001.smt2": f"{SCRIPT}(check-sat)\n"}, 2, "0001.smt2 asserts nothing"),
    "a lemma that asserts a word": ({"lemmas/0001.smt2": f"{SCRIPT}(assert #b1)\n"}, 2, "it asserts no truth value"),
    "a lemma that is not a number": (
        {"composition.json": steps(("../0001", {"p": "q", "q": "q"}))},
        2,
        "each of its steps is a lemma",
    ),
    "no steps": ({"composition.json": json.dumps({"met": {"p": 0, "q": 1}})}, 2, "each of its steps is a lemma"),
    "a lemma that is not there": ({"composition.json": steps(("0002", {"p": "q"}))}, 2, "0002.smt2 is missing"),
    "a claim of two assertions": ({"claim.smt2": f"{SCRIPT}(assert q)\n(assert (not q))\n"}, 2, "asserts one formula"),
    "a claim of no assertion": ({"claim.smt2": SCRIPT}, 2, "asserts one formula"),
    "a claim that is false": ({"claim.smt2": FALSE}, 1, "do not contradict"),
    "a claim that is true, and false for some values": (
        {"claim.smt2": f"{SCRIPT}(assert q)\n"},
        1,
        "do not contradict",
    ),
    "a term of no name": (
        {"composition.json": steps(("0001", {"p": "nobody", "q": "q"}))},
        1,
        "'nobody' is not a term for p",
    ),
    "a term that is not a name": (
        {"composition.json": steps(("0001", {"p": 1, "q": "q"}))},
        1,
        "1 is not a term for p",
    ),
    "no term at all": ({"composition.json": steps(("0001", {"q": "q"}))}, 1, "None is not a term for p"),
    "a definition that asserts": (
        {"definitions.smt2": f"{PROVED['definitions.smt2']}(assert (not q))\n"},
        1,
        "declares operands of the claim and defines variables, and nothing else",
    ),
    "an operand that is declared otherwise": (
        {"definitions.smt2": PROVED["definitions.smt2"].replace("(declare-const p Bool)", "(declare-const r Bool)")},
        1,
        "declares operands of the claim and defines variables, and nothing else",
    ),
    "a variable that is defined twice": (
        {"definitions.smt2": PROVED["definitions.smt2"].replace("cut1", "cut0")},
        2,
        "'cut0' is named already",
    ),
    "a word that is called a truth value": (
        {"definitions.smt2": f"{PROVED['definitions.smt2']}(define-fun cut2 () Bool #b1)\n"},
        2,
        "cut2 has another sort than its term",
    ),
    "a definition of an operand as a constant": (
        {
            "definitions.smt2": "(declare-const q Bool)\n(define-fun p () Bool false)\n",
            "claim.smt2": FALSE,
            "composition.json": steps(("0001", {"p": "q", "q": "q"})),
        },
        1,
        "p is an operand",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_told_by_its_reason(tmp_path, fault):
    changes, expected, reason = FAULTS[fault]
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert (status, reason in said) == (expected, True), said


def test_an_abbreviation_has_a_name_of_its_own(tmp_path):
    """With a $ it is none of an operand."""
    changes = {"definitions.smt2": PROVED["definitions.smt2"].replace("cut1", "$p")}
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == 0, said


PRECONDITION = f"{SCRIPT}(assert (and p (not q) (and q (not q))))\n(check-sat)\n"


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ({"p": 1, "q": 0}, 0),
        *((x, 1) for x in ({"p": 0, "q": 0}, {"p": 1, "q": 1}, {"p": 1}, None)),
        *((x, 1) for x in ({"p": 3, "q": 0}, {"p": -1, "q": 0}, {"p": True, "q": 0}, {"p": "1", "q": 0})),
    ],
)
def test_values_meet_all_preconditions(tmp_path, met, expected):
    composition = json.loads(PROVED["composition.json"]) | {"met": met}
    changes = {"claim.smt2": PRECONDITION, "composition.json": json.dumps(composition)}
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == expected, said
    assert ("the values given do not meet the preconditions" in said) == bool(expected)


def test_a_file_that_no_step_uses_is_no_part_of_the_proof(tmp_path):
    status, said = outcome(tmp_path / "bundle", [("lemmas/0002.smt2", LEMMA)])
    assert status == 1
    assert "not part of the proof" in said


def test_a_file_that_the_manifest_does_not_list_is_found(tmp_path):
    folder = of_files(tmp_path / "bundle", PROVED)
    (folder / "lemmas/0002.smt2").write_text(LEMMA)
    status, said = checked(folder)
    assert status == 1
    assert "not in both" in said


def test_a_file_has_the_hash_of_the_manifest(tmp_path):
    folder = of_files(tmp_path / "bundle", PROVED)
    (folder / "lemmas/0001.lrat").write_text("3 0 2 1 0\n")
    status, said = checked(folder)
    assert status == 1
    assert "SHA-256" in said


@pytest.mark.parametrize(
    ("text", "status", "accepted"),
    [
        ("s VERIFIED UNSAT", 0, 0),
        ("c VERIFIED", 0, 0),
        ("s VERIFIED UNSAT", 3, 1),
        ("s NOT VERIFIED", 0, 1),
        ("", 0, 1),
    ],
)
def test_what_another_checker_says_counts(tmp_path, text, status, accepted):
    command = tmp_path / "outside.py"
    command.write_text(f"print({text!r})\nraise SystemExit({status})\n")
    found, said = outcome(tmp_path / "bundle", (), ("--lrat-checker", f"{sys.executable} {command}"))
    assert found == accepted, said
    assert ("does not say VERIFIED" in said) == bool(accepted)


LEMMA_OF_TWO = f"{SCRIPT}(assert p)\n(assert q)\n(assert (not (and p q)))\n(check-sat)\n"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("(and p q (not (and p q)))", ""),
        ("(and p (not (and p q)))", "an assumption of lemma 0001 is not known to hold"),
        ("(and q (not (and p q)))", "an assumption of lemma 0001 is not known to hold"),
        ("(or p q)", "an assumption of lemma 0001 is not known to hold"),
    ],
)
def test_a_lemma_is_used_where_all_but_its_last_assertion_hold(tmp_path, claim, reason):
    changes = WITHOUT_PROOF | {
        "lemmas/0001.smt2": LEMMA_OF_TWO,
        "claim.smt2": f"{SCRIPT}(assert {claim})\n",
        "composition.json": json.dumps(
            {"met": {"p": 1, "q": 1}, "steps": [{"lemma": "0001", "with": {"p": "p", "q": "q"}}]}
        ),
    }
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == bool(reason), said
    assert reason in said


@pytest.mark.parametrize(("first", "last", "expected"), [("p", "q", 0), ("q", "p", 1)])
def test_an_implication_is_read_forwards(tmp_path, first, last, expected):
    lemma = f"{SCRIPT}(assert {first})\n(assert (=> p q))\n(assert (not {last}))\n"
    claim = f"{SCRIPT}(assert (and {first} (=> p q) (not {last})))\n"
    composition = steps(("0001", {"p": "p", "q": "q"}))
    changes = WITHOUT_PROOF | {"lemmas/0001.smt2": lemma, "claim.smt2": claim, "composition.json": composition}
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == expected, said
    assert ("some values of its symbols satisfy" in said) == bool(expected)


@pytest.mark.parametrize(("width", "expected"), [(1, 0), (2, 1)])
def test_a_lemma_is_about_words_of_its_widths(tmp_path, width, expected):
    """No three words of one bit are in order. Words of two bits are."""
    words, in_order = "xyz", ("(bvult x y)", "(bvult y z)")

    def declared(bits):
        return "".join(f"(declare-const {x} (_ BitVec {bits}))\n" for x in words)

    changes = WITHOUT_PROOF | {
        "lemmas/0001.smt2": declared(1) + "".join(f"(assert {x})\n" for x in in_order),
        "claim.smt2": f"{declared(width)}(assert (and {' '.join(in_order)}))\n",
        "definitions.smt2": declared(width),
        "composition.json": json.dumps(
            {"met": {"x": 0, "y": 1, "z": 1}, "steps": [{"lemma": "0001", "with": {x: x for x in words}}]}
        ),
    }
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == expected, said
    assert ("'x' is not a term for x of lemma 0001" in said) == bool(expected)


def test_a_symbol_is_the_term_that_is_given_for_it(tmp_path):
    """p and q both true is refuted by no lemma about p and not p, whichever symbols it is used with."""
    lemma = f"{SCRIPT}(assert (and p (not p) q))\n"
    for given in itertools.product("pq", repeat=2):
        changes = WITHOUT_PROOF | {
            "lemmas/0001.smt2": lemma,
            "claim.smt2": f"{SCRIPT}(assert (and p (not q)))\n",
            "composition.json": steps(("0001", dict(zip("pq", given, strict=True)))),
        }
        status, said = outcome(tmp_path / "".join(given), changes.items())
        assert status == 1
        assert "do not contradict" in said


# --- what is known to be equal ------------------------------------------------------------------------------------


def terms_of(checker, width=4):
    terms = checker.Terms()
    return terms, [terms.add("symbol", (name,), (), width) for name in "xyz"]


def test_equal_operators_of_equal_operands_are_equal_and_no_others():
    checker = load_checker()
    terms, (x, y, z) = terms_of(checker)
    one = terms.add("bvsub", (), (x, z))
    others = [terms.add("bvsub", (), (y, z)), terms.add("bvsub", (), (z, y)), terms.add("bvadd", (), (y, z))]
    parts = [terms.add("extract", i, (w,)) for w in (x, y) for i in ((1, 0), (2, 1))]
    known = checker.Known(terms)
    known.merge(x, y)
    assert [known.same(one, t) for t in others] == [True, False, False]
    assert [known.same(parts[0], p) for p in parts[1:]] == [False, True, False]
    assert not known.same(x, z)


def test_what_holds_is_what_was_said_and_no_more():
    checker = load_checker()
    terms = checker.Terms()
    p, q, r = (terms.add("symbol", (name,), (), 0) for name in "pqr")
    either, both, not_p = terms.add("or", (), (p, q)), terms.add("and", (), (p, q)), terms.add("not", (), (p,))
    known = checker.Known(terms)
    known.hold(either)
    assert [known.holds(x) for x in (either, p, q, both, not_p)] == [True, False, False, False, False]
    known.hold(terms.add("not", (), (r,)))
    assert not known.holds(r)
    assert known.holds(terms.add("not", (), (r,)))
    known.hold(p)
    assert [known.holds(x) for x in (p, both, not_p)] == [True, False, False]
    known.hold(q)
    assert known.holds(both)
    assert not known.same(terms.true, terms.false)


WIDTHS = {
    "an extraction from above the word": ("extract", (4, 0), (4,)),
    "an extraction backwards": ("extract", (1, 2), (4,)),
    "a comparison of other widths": ("bvult", (), (4, 5)),
    "an equation of other widths": ("=", (), (4, 5)),
    "a sum of other widths": ("bvadd", (), (4, 5)),
    "a comparison of truth values": ("bvule", (), (0, 0)),
    "a choice of other widths": ("ite", (), (0, 4, 5)),
    "a choice by a word": ("ite", (), (1, 4, 4)),
    "a conjunction with a word": ("and", (), (0, 0, 1)),
    "the negation of a word": ("not", (), (1,)),
    "the complement of a truth value": ("bvnot", (), (0,)),
    "a truth value side by side with a word": ("concat", (), (0, 3)),
    "a truth value in more bits": ("zero_extend", (1,), (0,)),
    "a complement of two words": ("bvnot", (), (4, 4)),
    "a sum of one word": ("bvadd", (), (4,)),
    "a sum of three words": ("bvadd", (), (4, 4, 4)),
    "a conjunction of one": ("and", (), (0,)),
    "an equation of three": ("=", (), (4, 4, 4)),
    "no operator": ("symbol", (), (0,)),
}


@pytest.mark.parametrize("term", WIDTHS)
def test_operators_apply_to_their_widths_alone(term):
    checker = load_checker()
    with pytest.raises(checker.NotABundle, match="does not apply"):
        checker.result_width(*WIDTHS[term])
