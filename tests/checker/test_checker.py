"""The checker of bundles accepts what is right, and finds each kind of fault."""

import hashlib
import json
import random
import shutil
import subprocess
import sys
import textwrap

import pytest
import z3
from support.bundles import CHECKER, checked, load_checker
from support.waiting import LONG

from mmaproof.smt.bundles import writing
from mmaproof.smt.solving.refuting import NotRefutedError

UNCONDITIONAL = ("reversed", "in turn", "negated")
"""The bundles of claims that have no precondition."""


def change(folder, tmp_path, changes):
    """A copy of a bundle with other files (name -> function of the text, or None to remove it), their hashes right."""
    copy = tmp_path / "changed"
    shutil.copytree(folder, copy)
    for name, of in changes.items():
        if of is None:
            (copy / name).unlink()
        else:
            (copy / name).write_text(of((copy / name).read_text()))
    return rehashed(copy)


def rehashed(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    names = [x.relative_to(folder).as_posix() for x in folder.rglob("*") if x.is_file() and x.name != "manifest.json"]
    manifest["files"] = {x: hashlib.sha256((folder / x).read_bytes()).hexdigest() for x in names}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def steps_changed(of):
    def changed(text):
        composition = json.loads(text)
        composition["steps"] = of(composition["steps"])
        return json.dumps(composition)

    return changed


def test_it_is_small_and_stands_alone():
    lines = CHECKER.read_text().splitlines()
    imported = {x.split()[1] for x in lines if x.startswith(("import ", "from "))}
    assert len(lines) <= 1150
    assert imported <= set(sys.stdlib_module_names)


@pytest.mark.few(1)
def test_a_bundle_is_accepted(made):
    folder, report = made
    status, said = checked(folder)
    assert status == 0, said
    assert "accepted: nothing satisfies claim.smt2" in said
    assert said.count("\nlemma ") == report.lemmas
    assert ("no precondition" in said) == (folder.name in UNCONDITIONAL)
    assert (report.steps == 1) == (folder.name == "piece")


@pytest.mark.few(1)
def test_a_claim_in_steps_has_laws_for_each_exchange(made):
    folder, report = made
    if folder.name == "piece":
        assert report.steps == 1
    else:
        assert report.steps > 10
        assert "law: " in (folder / "composition.json").read_text()


def largest_lemma(folder):
    return max(folder.glob("lemmas/*.lrat"), key=lambda x: x.stat().st_size).stem


def says_z3(text):
    solver = z3.SolverFor("QF_BV")
    solver.from_string(text)
    return str(solver.check())


@pytest.mark.few(1)
def test_another_solver_reads_the_scripts_and_says_the_same(made):
    """Each lemma by itself, and the claim. What is defined is read, too."""
    folder, report = made
    scripts = [folder / "claim.smt2", *folder.glob("lemmas/*.smt2")]
    assert len(scripts) == 1 + report.lemmas
    for script in scripts:
        assert says_z3(script.read_text()) == "unsat", script
    assert says_z3((folder / "definitions.smt2").read_text() + "(check-sat)\n") == "sat"


FAULTS = {
    "a file that is changed": ("{lemma}.cnf", lambda text: text + "\n", False, "SHA-256"),
    "a proof cut short": (
        "{lemma}.lrat",
        lambda text: text.rpartition("\n")[0].rpartition("\n")[0],
        True,
        "ends before",
    ),
    "a proof that skips": ("{lemma}.lrat", lambda text: "99999999 0 1 0\n", True, "forces nothing|does not follow"),
    "clauses of our own": ("{lemma}.cnf", lambda text: text + "-2 0\n", True, "none of the translation"),
    "a clause in the header": ("{lemma}.cnf", lambda text: "0" + text[text.index("\n") :], True, "DIMACS header"),
    "clauses after the last line": ("{lemma}.cnf", lambda text: text + "2 0", True, "a new line"),
    "variables mixed up": ("{lemma}.map.json", lambda text: text.replace("2", "3"), True, "variables are not those"),
    "an assumption too many": (
        "{lemma}.smt2",
        lambda text: text.replace("(assert", "(assert false)\n(assert", 1),
        True,
        "none of the translation|not known to hold|variables are not those",
    ),
    "no steps": (
        "composition.json",
        steps_changed(lambda steps: []),
        True,
        "the steps do not contradict counterexamples",
    ),
}


@pytest.mark.few(7)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(made, tmp_path, fault):
    name, of, rehash, expected = FAULTS[fault]
    folder, _ = made
    name = name.replace("{lemma}", f"lemmas/{largest_lemma(folder)}")
    changed = change(folder, tmp_path, {name: of})
    if not rehash:
        (changed / "manifest.json").write_bytes((folder / "manifest.json").read_bytes())
    status, said = checked(changed)
    assert status == 1, said
    assert any(x in said for x in expected.split("|")), said


def test_a_term_of_another_sort_takes_no_place(made, tmp_path):
    folder, _ = made

    def sorts(name):
        lines = [x.split() for x in (folder / name).read_text().splitlines() if x.startswith("(declare-const")]
        return {x[1].strip("|"): " ".join(x[2:]) for x in lines}

    def misplaced(steps):
        step, operands = steps[-1], sorts("claim.smt2")
        symbol, sort = next(iter(sorts(f"lemmas/{step['lemma']}.smt2").items()))
        step["with"][symbol] = next(x for x in operands if operands[x] != sort)
        return steps

    status, said = checked(change(folder, tmp_path, {"composition.json": steps_changed(misplaced)}))
    assert status == 1
    assert "is not a term for" in said


def test_other_bits_of_equal_words_are_not_equal():
    checker = load_checker()
    terms = checker.Terms()
    x, y = (terms.add("symbol", (name,), (), 8) for name in "xy")
    parts = [terms.add("extract", (high, 0), (word,)) for word in (x, y) for high in (3, 4)]
    known = checker.Known(terms)
    known.merge(x, y)
    assert known.same(parts[0], parts[2])
    assert not known.same(parts[0], parts[3])


def test_no_proof_of_what_can_be_satisfied_is_accepted():
    """Random clauses that can be satisfied, and random hints: a clause with two literals left forces nothing."""
    draw, checker = random.Random(5), load_checker()
    for _ in range(300):
        model = [draw.choice((-1, 1)) * x for x in range(1, 5)]
        clauses = {i: tuple({draw.choice(model), draw.choice((-1, 1)) * draw.randint(1, 4)}) for i in range(1, 7)}
        for _ in range(10):
            hints = " ".join(str(draw.randint(1, 8)) for _ in range(draw.randint(1, 6)))
            with pytest.raises(checker.Rejected):
                checker.check_lrat(clauses, f"7 0 {hints} 0\n", "a proof")


def test_a_step_that_is_left_out_is_missed(made, tmp_path):
    """A proof in steps needs its steps: without the last one, nothing is contradicted."""
    folder, report = made
    if report.steps == 1:
        pytest.skip("one step")
    composition = json.loads((folder / "composition.json").read_text())
    last = composition["steps"][-1]["lemma"]
    again = [x for x in composition["steps"][:-1] if x["lemma"] == last]
    files = {} if again else {f"lemmas/{last}.{kind}": None for kind in ("smt2", "cnf", "map.json", "lrat")}
    changed = change(folder, tmp_path, {"composition.json": steps_changed(lambda steps: steps[:-1]), **files})
    status, said = checked(changed)
    assert status == 1
    assert "do not contradict" in said


@pytest.mark.parametrize(
    "line", ["(define-fun zz () Bool zz)", "(define-fun zz () Bool later)\n(define-fun later () Bool zz)"]
)
def test_a_definition_mentions_only_what_stands_before_it(made, tmp_path, line):
    folder, _ = made
    changed = change(folder, tmp_path, {"definitions.smt2": lambda text: f"{text}{line}\n"})
    status, said = checked(changed)
    assert status == 2
    assert "is not known" in said


def test_an_operand_is_not_defined(made, tmp_path):
    """A definition of an operand would be an assumption about it."""
    folder, _ = made
    operand = next(x.split()[1] for x in (folder / "claim.smt2").read_text().splitlines() if "declare-const" in x)

    def defined(text):
        kept = [x for x in text.splitlines() if not x.startswith(f"(declare-const {operand} ")]
        width = next(x for x in text.splitlines() if x.startswith(f"(declare-const {operand} ")).split()[-1].strip("()")
        return "\n".join([kept[0], f"(define-fun {operand} () (_ BitVec {width}) #b{'0' * int(width)})", *kept[1:], ""])

    status, said = checked(change(folder, tmp_path, {"definitions.smt2": defined}))
    assert status == 1
    assert "is an operand" in said


def test_values_that_do_not_meet_the_preconditions_are_found(made, tmp_path):
    folder, _ = made
    if folder.name in UNCONDITIONAL:
        pytest.skip("no precondition")

    def unmet(text):
        composition = json.loads(text)
        composition["met"] = dict.fromkeys(composition["met"], -1)
        return json.dumps(composition)

    status, said = checked(change(folder, tmp_path, {"composition.json": unmet}))
    assert status == 1
    assert "do not meet" in said


@pytest.mark.parametrize(
    ("found", "reason"),
    [(None, "No such file"), ("more", "No such file"), ("manifest.json", "the form is None, and 'mmaproof-bundle-1'")],
)
def test_what_is_no_bundle_is_told_apart(tmp_path, found, reason):
    folder = tmp_path / "folder"
    folder.mkdir()
    if found is not None:
        (folder / found).write_text("{}")
    status, said = checked(folder)
    assert status == 2
    assert reason in said


def test_files_that_nobody_lists_are_found(made, tmp_path):
    folder, _ = made
    changed = change(folder, tmp_path, {})
    (changed / "more").write_text("")
    status, said = checked(changed)
    assert status == 1
    assert "not in both" in said


OUTSIDE = """
import sys
from pathlib import Path
assert Path(sys.argv[1]).suffix == ".cnf" and Path(sys.argv[2]).suffix == ".lrat"
print("{said}")
sys.exit({status})
"""


@pytest.mark.parametrize(
    ("said", "status", "accepted"), [("s VERIFIED UNSAT", 0, 0), ("s VERIFIED", 1, 1), ("fine", 0, 1)]
)
def test_another_checker_can_check_the_proofs(made, tmp_path, said, status, accepted):
    folder, report = made
    if report.lemmas > 1:
        pytest.skip("a process for each lemma")
    command = tmp_path / "outside.py"
    command.write_text(textwrap.dedent(OUTSIDE.format(said=said, status=status)))
    found, text = checked(folder, "--lrat-checker", f"{sys.executable} {command}")
    assert found == accepted, text
    assert ("does not say VERIFIED" in text) == bool(accepted)


CVC5 = """
import sys
import cvc5
solver = cvc5.Solver()
parser = cvc5.InputParser(solver)
parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.argv[1])
while not (command := parser.nextCommand()).isNull():
    print(command.invoke(solver, parser.getSymbolManager()).strip())
"""


@pytest.mark.slow
def test_cvc5_reads_the_lemmas_and_says_the_same(made):
    for lemma in sorted(made[0].glob("lemmas/*.smt2")):
        command = [sys.executable, "-c", CVC5, lemma]
        said = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
        assert said.stdout.split() == ["unsat"], (lemma, said.stderr)


@pytest.mark.slow
def test_a_verified_checker_accepts_the_proofs(made):
    """cake_lpr, whose program was proved correct, reads the clauses and the proofs as they are."""
    verified = shutil.which("cake_lpr")
    if verified is None:
        pytest.skip("cake_lpr is not installed")
    status, said = checked(made[0], "--lrat-checker", verified)
    assert status == 0, said


def test_values_are_asked_only_of_what_a_script_has(made, tmp_path):
    for name in ("claim.smt2", "lemmas/0001.smt2"):
        (again := tmp_path / name[:5]).mkdir()
        status, said = checked(change(made[0], again, {name: lambda text: f"{text}(get-value (nobody))\n"}))
        assert status == 2, said
        assert "nobody" in said


def test_what_the_checker_would_not_read_is_not_written(monkeypatch):
    checker = load_checker()
    assert (checker.MOST_BYTES, checker.LIMITS["bytes"]) == (writing.MOST_BYTES, writing.MOST_BYTES_OF_ALL)
    monkeypatch.setattr(writing, "MOST_BYTES", 1 << 22)
    monkeypatch.setattr(writing, "MOST_BYTES_OF_ALL", 3 << 22)
    proof, script = "x" * (1 << 22), "x" * (1 << 20)
    assert writing.with_manifest("form", {}, {"lemmas/0001.lrat": proof, "claim.smt2": script})
    for name, text in (("lemmas/0001.lrat", proof), ("claim.smt2", script)):
        with pytest.raises(NotRefutedError, match=rf"{name} has \d MiB, and the checker reads {len(text) >> 20}"):
            writing.with_manifest("form", {}, {name: f"{text}x"})
    with pytest.raises(NotRefutedError, match="it has 16 MiB, and the checker reads 12"):
        writing.with_manifest("form", {}, {f"lemmas/{x}.cnf": proof for x in range(4)})
