"""Lemmas without a proof, of which the checker tries all values."""

import hashlib
import json
import random

import pytest
import z3
from support.bundles import checked, load_checker
from support.bundles import without_proof as bundle

WIDTHS = {"p": 2, "q": 3, "r": 3}
TWO = ["bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor", "bvshl", "bvlshr", "bvashr"]


def is_unsat(folder):
    solver = z3.SolverFor("QF_BV")
    solver.from_string((folder / "lemmas/0001.smt2").read_text())
    return solver.check() == z3.unsat


def word(draw, depth):
    """A random term of three bits."""
    if not depth:
        return draw.choice(["q", "r", "((_ zero_extend 1) p)", "((_ sign_extend 1) p)", "#b101", "#b000", "#b111"])
    match draw.randrange(4):
        case 0:
            return f"(ite {truth(draw, depth - 1)} {word(draw, depth - 1)} {word(draw, depth - 1)})"
        case 1:
            return f"({draw.choice(['bvnot', 'bvneg'])} {word(draw, depth - 1)})"
        case 2:
            return f"(concat ((_ extract 0 0) {word(draw, depth - 1)}) ((_ extract 2 1) {word(draw, depth - 1)}))"
        case _:
            return f"({draw.choice(TWO)} {word(draw, depth - 1)} {word(draw, depth - 1)})"


def truth(draw, depth):
    """A random truth value."""
    compared = f"({draw.choice(['=', 'bvult', 'bvule', 'bvslt', 'bvsle'])} {word(draw, depth)} {word(draw, depth)})"
    return compared if draw.random() < 0.6 else f"(not {compared})"


def test_random_lemmas_are_decided_as_another_solver_decides_them(tmp_path):
    draw, checker, found = random.Random(3), load_checker(), []
    for number in range(60):
        parts = " ".join(truth(draw, 2) for _ in range(4))
        lemma = f"(and {parts})"
        folder = bundle(tmp_path / str(number), lemma, WIDTHS)
        unsat = is_unsat(folder)
        status, said = checked(folder, checker=checker)
        assert status == 1
        assert ("satisfy all that it asserts" in said) == (not unsat), (lemma, said)
        assert ("do not contradict" in said) == unsat
        found.append(unsat)
    assert 10 <= sum(found) <= 50


@pytest.mark.parametrize("bits", [3, 16, 18])
def test_one_assignment_of_many_is_found(tmp_path, bits):
    """Wherever it lies: in the bits that are tried at once, and in those that are tried one after the other."""
    checker = load_checker()
    for value in (0, 1, (1 << bits) - 1, 1 << (bits - 1), 5):
        folder = bundle(tmp_path / str(value), f"(= p (bvnot #b{(1 << bits) - 1 - value:0{bits}b}))", {"p": bits})
        status, said = checked(folder, checker=checker)
        assert status == 1
        assert "some values of its symbols" in said
    lemma = f"(bvult p (bvand p (bvadd p #b{1:0{bits}b})))"
    folder = bundle(tmp_path / "never", lemma, {"p": bits})
    status, said = checked(folder, checker=checker)
    assert f"{1 << bits} values" in said
    assert "do not contradict" in said


def test_a_true_claim_is_accepted_and_a_false_one_is_not(tmp_path):
    square = "(bvult (bvmul ((_ zero_extend 6) p) ((_ zero_extend 6) p)) (bvmul ((_ zero_extend 6) p) #b000000000000))"
    true = bundle(tmp_path / "true", square, {"p": 6}, claim=square)
    status, said = checked(true)
    assert status == 0, said
    assert "64 values" in said
    false = square.replace("bvult", "bvule")
    status, said = checked(bundle(tmp_path / "false", false, {"p": 6}, claim=false))
    assert status == 1
    assert "some values of its symbols" in said
    status, said = checked(bundle(tmp_path / "other", square, {"p": 6}, claim=false))
    assert status == 1
    assert "do not contradict" in said


def test_bits_that_are_too_many_are_not_tried(tmp_path):
    lemma = "(not (= (bvmul p q) (bvmul q (bvadd p #b0000000000000))))"
    status, said = checked(bundle(tmp_path / "folder", lemma, {"p": 13, "q": 13}, claim=lemma))
    assert status == 1
    assert "it has 26 bits" in said


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("cnf", "begins with a DIMACS header"), *((x, "is not part of the proof") for x in ("lrat", "map.json"))],
)
def test_one_file_of_a_proof_alone_is_none(tmp_path, kind, reason):
    folder = bundle(tmp_path / "folder", "(bvult p p)", {"p": 3}, claim="(bvult p p)")
    assert checked(folder)[0] == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / f"lemmas/0001.{kind}").write_text("{}")
    manifest["files"][f"lemmas/0001.{kind}"] = hashlib.sha256(b"{}").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    status, said = checked(folder)
    assert status == 1
    assert reason in said
