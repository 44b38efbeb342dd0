"""Laws that hold are accepted as lemmas. A false law that looks like one is not, nor is a law of other terms."""

import hashlib
import json

import pytest
from support.bundles import checked, load_checker, without_proof

WORDS = {"x": 4, "y": 4, "z": 4}
SEXT = "((_ sign_extend 2) {})".format
ZEXT = "((_ zero_extend 2) {})".format
CUT = "((_ extract 2 0) {})".format
SUM = "(bvadd x y)"
LARGER = "(ite (bvslt x y) y x)"
CARRIES = "(bvor (bvand x y) (bvor (bvand x z) (bvand y z)))"
INSIDE = "(and (bvsle #b1101 x) (and (bvsle x #b0011) (and (bvsle #b1100 y) (bvsle y #b0100))))"

LAWS = {
    "any order": (f"(= {SUM} (bvadd y x))", "(= (bvsub x y) (bvsub y x))"),
    "any grouping": (
        "(= (bvadd (bvadd x y) z) (bvadd x (bvadd y z)))",
        "(= (bvsub (bvsub x y) z) (bvsub x (bvsub y z)))",
    ),
    "cut": (
        f"(= {CUT(SUM)} (bvadd {CUT('x')} {CUT('y')}))",
        "(= ((_ extract 3 1) (bvadd x y)) (bvadd ((_ extract 3 1) x) ((_ extract 3 1) y)))",
    ),
    "zeros below": (
        "(= (concat (bvadd x y) #b0) (bvadd (concat x #b0) (concat y #b0)))",
        "(= (concat (bvadd x y) #b1) (bvadd (concat x #b1) (concat y #b1)))",
    ),
    "in more bits": (
        f"(=> {INSIDE} (= {SEXT(SUM)} (bvadd {SEXT('x')} {SEXT('y')})))",
        f"(= {SEXT(SUM)} (bvadd {SEXT('x')} {SEXT('y')}))",
    ),
    "bounds": (f"(=> {INSIDE} (bvsle {SUM} #b0111))", f"(=> {INSIDE} (bvsle {SUM} #b0110))"),
    "fits": (
        "(=> (= ((_ sign_extend 1) ((_ extract 2 0) x)) x) (bvslt x #b0100))",
        "(=> (= ((_ zero_extend 1) ((_ extract 2 0) x)) x) (bvslt x #b0100))",
    ),
    "complement": ("(= (bvnot x) (bvadd (bvneg x) #b1111))", "(= (bvnot x) (bvadd (bvneg x) #b0001))"),
    "twice the carries": (
        f"(= (concat {CUT(CARRIES)} #b0) (bvsub (bvadd (bvadd x y) z) (bvxor (bvxor x y) z)))",
        f"(= {CARRIES} (bvsub (bvadd (bvadd x y) z) (bvxor (bvxor x y) z)))",
    ),
    "maximum": (f"(= {LARGER} (ite (bvslt y x) x y))", f"(= {LARGER} (ite (bvult y x) x y))"),
    "maximum in more bits": (
        f"(= {SEXT(LARGER)} (ite (bvslt {SEXT('x')} {SEXT('y')}) {SEXT('y')} {SEXT('x')}))",
        f"(= {ZEXT(LARGER)} (ite (bvslt {ZEXT('x')} {ZEXT('y')}) {ZEXT('y')} {ZEXT('x')}))",
    ),
    "lattice": (
        f"(= (ite (bvslt x {LARGER}) {LARGER} x) {LARGER})",
        f"(= (ite (bvslt z {LARGER}) {LARGER} z) {LARGER})",
    ),
    "exchange": (
        "(= (bvadd (ite (= z #b0001) x y) (ite (= z #b0001) y x)) (bvadd x y))",
        "(= (bvadd (ite (= z #b0001) x y) (ite (= z #b0010) y x)) (bvadd x y))",
    ),
    "what both sides have": (
        "(= (ite (= z #b0001) (bvadd x y) (bvadd x z)) (bvadd x (ite (= z #b0001) y z)))",
        "(= (ite (= z #b0001) (bvadd x y) (bvsub x z)) (bvadd x (ite (= z #b0001) y z)))",
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_told_from_a_false_one(tmp_path, law):
    true, false = (f"(not {x})" for x in LAWS[law])
    checker = load_checker()
    status, said = checked(without_proof(tmp_path / "true", true, WORDS, claim=true), checker=checker)
    assert status == 0, said
    status, said = checked(without_proof(tmp_path / "false", false, WORDS, claim=false), checker=checker)
    assert status == 1
    assert "some values of its symbols" in said
    # a true law proves no false claim
    status, said = checked(without_proof(tmp_path / "used", true, WORDS, claim=false), checker=checker)
    assert status == 1
    assert "do not contradict" in said


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ({"x": "x", "y": "y", "z": "z"}, True),
        ({"x": "y", "y": "x", "z": "z"}, True),  # then both sides change places
        ({"x": "x", "y": "x", "z": "z"}, False),
        ({"x": "x", "y": "z", "z": "y"}, False),
    ],
)
def test_a_law_is_about_the_terms_that_it_is_used_with(tmp_path, given, accepted):
    law = f"(not {LAWS['any order'][0]})"
    folder = without_proof(tmp_path / "used", law, WORDS, claim=law)
    composition = json.dumps({"steps": [{"lemma": "0001", "with": given, "why": ""}]})
    (folder / "composition.json").write_text(composition)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["composition.json"] = hashlib.sha256(composition.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    status, said = checked(folder)
    assert status == 1 - accepted
    assert ("do not contradict" in said) == (not accepted)


def test_an_assumption_has_to_be_known(tmp_path):
    """What holds within bounds is used of words of which no bounds are known."""
    lemma = f"{INSIDE})\n(assert (not (= {SEXT(SUM)} (bvadd {SEXT('x')} {SEXT('y')})))"
    claim = f"(not (= {SEXT(SUM)} (bvadd {SEXT('x')} {SEXT('y')})))"
    status, said = checked(without_proof(tmp_path / "unknown", lemma, WORDS, claim=claim))
    assert status == 1
    assert "is not known to hold" in said
