"""Forged bundles: what other programs read differently, what is not a plain file, and what takes long is refused.

The bundles are those of tests/checker/test_small_bundles.py. Each attack says why it is refused.
"""

import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys

import pytest
import z3
from support.bundles import (
    CHECKER,
    FALSE,
    LEMMA,
    PROVED,
    SCRIPT,
    WITHOUT_PROOF,
    checked,
    load_checker,
    of_files,
    outcome,
    small_design,
    steps,
    without_proof,
    written,
)
from support.small_designs import use_small_formats
from support.waiting import LONG

from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition

PLAIN = "is not printable ASCII, space or line feed"
CLAIM = "(assert (and q p"
FORGED = {
    "a comment that a carriage return ends": (f"{SCRIPT}{CLAIM} ; nothing else\rfalse\n))\n(check-sat)\n", "0d"),
    "a comment that ends in a form feed": (f"{SCRIPT}{CLAIM} ; nothing else\ffalse\n))\n(check-sat)\n", "0c"),
    "a comment that ends in a line separator": (f"{SCRIPT}{CLAIM} ; nothing\u2028false\n))\n(check-sat)\n", "e2"),
    "a comment that ends in a next line": (f"{SCRIPT}{CLAIM} ; nothing\x85false\n))\n(check-sat)\n", "c2"),
    "a tab": (f"{SCRIPT}{CLAIM}\tfalse))\n(check-sat)\n", "09"),
    "a space that is none": (f"{SCRIPT}{CLAIM}\u00a0false))\n(check-sat)\n", "c2"),
    "a null": (f"{SCRIPT}(check-sat)\n\0{CLAIM} false))\n", "00"),
    "a mark of byte order": (f"\ufeff{SCRIPT}{CLAIM}))\n", "ef"),
    "a letter that looks like another one": (
        f"{SCRIPT}(declare-const \u0440 Bool)\n(assert (and p (not \u0440)))\n",
        "d1",
    ),
    "a deletion": (f"{SCRIPT}{CLAIM}\x7f))\n", "7f"),
}
"""Claims that are false, or none, in files that are not plain text: the text, and the byte at which it is refused."""


@pytest.mark.parametrize("attack", FORGED)
def test_a_claim_is_plain_text(tmp_path, attack):
    """The lemma of the bundle says that `false` is so, which is what a reader of the forged text would have to read."""
    text, byte = FORGED[attack]
    changes = WITHOUT_PROOF | {
        "claim.smt2": text,
        "definitions.smt2": SCRIPT,
        "lemmas/0001.smt2": f"{SCRIPT}(assert (and p (not p)))\n",
        "composition.json": steps(("0001", {"p": "p", "q": "q"})),
    }
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == 2
    assert f"claim.smt2: the byte {byte} {PLAIN}" in said


@pytest.mark.parametrize("byte", [b"\t", b"\r", b"\v", b"\0", b"\x1b", b"\x7f", b"\x85", b"\xff", "\u00e9".encode()])
@pytest.mark.parametrize("name", [*PROVED, "manifest.json"])
def test_every_file_is_plain_text(tmp_path, name, byte):
    folder = of_files(tmp_path / "bundle", PROVED)
    content = (folder / name).read_bytes() + byte
    (folder / name).write_bytes(content)
    if name != "manifest.json":
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))
    status, said = checked(folder)
    assert status == 2
    assert f"{name}: the byte {byte[:1].hex()} {PLAIN}" in said


NO_COMMAND, NO_TEXT = "is not a command that is read here", "is not a SMT-LIB that is read here"
OPERATOR, UNKNOWN, SORT = "is not an operator", "is not known", "is not a sort that is read here"
ORDER, APPLIES = "its commands have another order", "does not apply to widths"
SCRIPTS = {
    "(exit)": NO_COMMAND,
    "(push 1)": NO_COMMAND,
    "(reset-assertions)": NO_COMMAND,
    "(set-info :status unsat)": NO_TEXT,
    "(set-option :produce-models true)": NO_TEXT,
    '(echo "unsat")': NO_TEXT,
    "(declare-fun r () Bool)": NO_COMMAND,
    "(define-fun f ((x Bool)) Bool x)": NO_COMMAND,
    "(define-fun-rec r () Bool r)": NO_COMMAND,
    "(declare-datatypes () ())": NO_COMMAND,
    "(Assert p)": NO_COMMAND,
    "(assert)": NO_COMMAND,
    "(assert p q)": NO_COMMAND,
    "assert": NO_COMMAND,
    "()": NO_COMMAND,
    "(set-logic QF_LIA)": NO_COMMAND,
    "(check-sat)\n(assert p)": ORDER,
    "(check-sat)\n(check-sat)": ORDER,
    "(get-value (p))\n(check-sat)": ORDER,
    "(set-logic QF_BV)": ORDER,
    "(declare-const p Bool)": "'p' is named already",
    "(define-fun q () Bool false)": "'q' is named already",
    "(declare-const |q| Bool)": "'q' is named already",
    "(declare-const true Bool)": "'true' is named already",
    "(declare-const |false| Bool)": "'false' is named already",
    "(declare-const and Bool)": "'and' is named already, an operator",
    "(define-fun |bvult| () Bool true)": "'bvult' is named already, an operator",
    "(declare-const 5 Bool)": "'5' is named already, an operator or a constant",
    "(declare-const #b1 Bool)": "'#b1' is named already, an operator or a constant",
    "(declare-const |#b1| Bool)": NO_TEXT,
    "(declare-const |7| Bool)": NO_TEXT,
    "(declare-const || Bool)": NO_TEXT,
    "(declare-const |a\\b| Bool)": NO_TEXT,
    "(declare-const @a Bool)": NO_TEXT,
    "(declare-const .a Bool)": NO_TEXT,
    "(declare-const a' Bool)": NO_TEXT,
    "(declare-const 5a Bool)": NO_TEXT,
    "(declare-const a|b| Bool)": NO_TEXT,
    "(declare-const |a|b Bool)": NO_TEXT,
    "(declare-const |a Bool)": NO_TEXT,
    "(declare-const a Int)": SORT,
    "(declare-const a bool)": SORT,
    "(declare-const a (_ BitVec 0))": SORT,
    "(declare-const a (_ BitVec 01))": NO_TEXT,
    "(declare-const a (_ BitVec 99999))": SORT,
    "(declare-const a (_ BitVec 9999))": "a word of 9999 bits is over the limit of 2048",
    "(assert (|and| p q))": OPERATOR,
    "(assert (|not| p))": OPERATOR,
    "(|assert| p)": OPERATOR,
    "(assert TRUE)": UNKNOWN,
    "(assert P)": UNKNOWN,
    "(assert later)\n(define-fun later () Bool p)": UNKNOWN,
    "(assert (let ((x p)) x))": OPERATOR,
    "(assert (! p :named x))": NO_TEXT,
    "(assert (forall ((x Bool)) x))": OPERATOR,
    "(assert ((_ repeat 2) p))": OPERATOR,
    "(assert (= (_ bv1 1) #b1))": UNKNOWN,
    "(assert (= #b1 #B1))": NO_TEXT,
    "(assert (= #b2 #b1))": NO_TEXT,
    "(assert (= #xG #xF))": NO_TEXT,
    "(assert (= #b #b))": NO_TEXT,
    "(assert (= #b1p #b1))": NO_TEXT,
    "(assert (= #xF #b111))": APPLIES,
    "(assert (and p))": APPLIES,
    "(assert (distinct p q))": APPLIES,
    "(assert (xor p q))": APPLIES,
    "(assert (= p q p))": APPLIES,
    "(assert (=> p q p))": APPLIES,
    "(assert (symbol))": APPLIES,
    "(assert (const p))": APPLIES,
    "(assert ())": "() is not a term",
    "(assert (= ((_ extract 1 00) #b11) #b11))": NO_TEXT,
    "(assert (= ((_ extract 1) #b11) #b11))": OPERATOR,
    "(assert (= ((_ extract -1 0) #b11) #b11))": OPERATOR,
    "(assert (= ((_ extract #b1 0) #b11) #b11))": OPERATOR,
    "(assert (= ((_ extract |1| 0) #b11) #b11))": NO_TEXT,
    "(assert (= ((_ sign_extend 999999999) #b1) #b1))": OPERATOR,
    "(assert p": "a parenthesis is not closed",
    "(assert p))": "a parenthesis is closed that was not opened",
}


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize("name", ["claim.smt2", "definitions.smt2", "lemmas/0001.smt2"])
def test_a_script_has_what_is_documented_alone(tmp_path, name, text):
    status, said = outcome(tmp_path / "bundle", [(name, PROVED[name].replace("(check-sat)\n", "") + f"{text}\n")])
    expected = SCRIPTS[text]
    if (name, text) == ("definitions.smt2", "(define-fun q () Bool false)"):
        expected = "q is an operand"
    assert status == (1 if expected == "q is an operand" else 2), said
    assert f"{name}: " in said or expected in (APPLIES, "a word of 9999 bits is over the limit of 2048")
    assert expected in said


COMMANDS = f"""; a claim (of words)
{SCRIPT}(declare-const |a[0]| (_ BitVec 3))
(define-fun t1 () (_ BitVec 3) (bvadd |a[0]| #b011))
(define-fun $2 () Bool (= ((_ extract 1 0) t1) #b10))
(assert (and p (not $2) (bvult |a[0]| #b101) (=> q (= (concat #b0 t1) #xA))))
(check-sat)
(get-value (p q |a[0]|))
"""
WIDTHS = {"p": 0, "q": 0, "a[0]": 3}
PIECES = (
    *"()|;'\\\",`{}[]@:#-0159 \n",
    *("#b1", "#b101", "#x5", "#B1", "p", "t1", "true", "TRUE", "and", "or", "not", "_", "extract", "01", "|and|"),
    *("|p|", "|true|", "||", "|5|", "|#b101|", "let", "!", "=>", "=", "bvnot", "bvneg", "bvsub", "bvmul", "xor"),
    *("(exit)", "(push 1)", "(reset)", "(check-sat)", "(assert false)", "(declare-const and Bool)", "(_ bv5 3)", ".b"),
    *("(define-fun p () Bool false)", "|extract|", "|_|", "|assert|", "(and p)", "(= q p q)", "; x", "\n;)\n"),
)


def read_by_z3(text, values):
    """Whether values satisfy what a script asserts, as Z3 reads it. Raises z3.Z3Exception where it reads no script."""
    solver = z3.Solver()
    solver.from_string(text)
    for name, width in WIDTHS.items():
        symbol = z3.BitVec(name, width) if width else z3.Bool(name)
        solver.add(symbol == (z3.BitVecVal(values[name], width) if width else z3.BoolVal(bool(values[name]))))
    return solver.check() == z3.sat


@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.slow)])
def test_another_solver_reads_every_script_that_is_read(count):
    """Scripts with random faults: what the checker reads, Z3 reads, and it has the same meaning."""
    draw, checker, read = random.Random(9), load_checker(), 0
    pieces = re.findall(r"\s|[()]|\|[^|]*\||[^\s()|]+", COMMANDS)
    for _ in range(count):
        changed = list(pieces)
        for _ in range(draw.choice((1, 1, 2))):
            place = draw.randrange(len(changed))
            first = draw.randrange(len(changed[place]) + 1)
            changed[place] = draw.choice(
                (draw.choice(PIECES), "", changed[place][:first] + draw.choice(PIECES) + changed[place][first:])
            )
        text, terms = "".join(changed), checker.Terms()
        try:
            script = checker.Script(text, "a script", terms)
        except checker.NotABundle:
            continue
        if script.symbols.keys() != WIDTHS.keys():
            continue
        read += 1
        for values in draw.sample(
            [dict(zip(WIDTHS, x, strict=True)) for x in itertools.product(*map(range, (2, 2, 8)))], 6
        ):
            _, words, _ = checker.translated(terms, script.asserted, values)
            assert read_by_z3(text, values) == all(words[x] == [checker.TRUE] for x in script.asserted), text
    assert read > count // 20


MANIFEST = {
    "another form": ({"form": "mmaproof-bundle-2"}, 2, "the form is 'mmaproof-bundle-2'"),
    "no files": ({"files": ["claim.smt2"]}, 2, "files are names with their hashes"),
    "no hash": ({"files": {"claim.smt2": None}}, 1, "claim.smt2: its SHA-256 is not the manifest's"),
    "a hash in capitals": (
        {"files": {"claim.smt2": hashlib.sha256(PROVED["claim.smt2"].encode()).hexdigest().upper()}},
        1,
        "claim.smt2: its SHA-256 is not the manifest's",
    ),
    "a file of another folder": ({"files": {"../bundle/claim.smt2": ""}}, 1, "and not in both"),
    "itself": ({"files": {"manifest.json": ""}}, 1, "a file of the folder is not part of the proof"),
    "a folder": ({"files": {"lemmas": ""}}, 1, "['lemmas'] is in the folder or in the manifest, and not in both"),
}


@pytest.mark.parametrize("attack", MANIFEST)
def test_a_manifest_lists_the_files_of_the_folder(tmp_path, attack):
    folder = of_files(tmp_path / "bundle", PROVED)
    changes, expected, reason = MANIFEST[attack]
    manifest = json.loads((folder / "manifest.json").read_text())
    if isinstance(changes.get("files"), dict):
        changes = {"files": manifest["files"] | changes["files"]}
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))
    status, said = checked(folder)
    assert (status, reason in said) == (expected, True), said


@pytest.mark.parametrize("name", ["manifest.json", "composition.json", "lemmas/0001.map.json"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{TEXT", "a key is there twice"),
        ("[]", "one JSON object is expected"),
        ("[" * 100_000, "recursion"),
        ('{"x": ' + "9" * 5000 + "}", "Exceeds the limit"),
        ("", "Expecting value"),
    ],
)
def test_json_is_one_object_of_other_keys(tmp_path, name, text, reason):
    folder = of_files(tmp_path / "bundle", PROVED)
    if text == "{TEXT":
        own = (folder / name).read_text()
        key = next(iter(json.loads(own)))
        text = own[:-1] + f', "{key}": 0}}'
    if name == "manifest.json":
        (folder / name).write_text(text)
        status, said = checked(folder)
    else:
        status, said = outcome(tmp_path / "changed", [(name, text)])
    assert status == 2
    assert reason in said


def to_link(path):
    moved = path.parents[2] / "moved"
    path.rename(moved)
    path.symlink_to(moved)


def to_fifo(path):
    path.unlink()
    os.mkfifo(path)


def to_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def to_folder(path):
    path.unlink()
    path.mkdir()


KINDS = {"a link": to_link, "a FIFO": to_fifo, "a link to a device": to_device, "a folder": to_folder}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFO")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["claim.smt2", "manifest.json", "lemmas/0001.lrat"])
def test_a_file_is_a_regular_one(tmp_path, kind, name):
    folder = of_files(tmp_path / "bundle", PROVED)
    KINDS[kind](folder / name)
    status, said = checked(folder)
    assert status == 2
    assert f"{name!r} is not a regular file" in said


def test_the_folder_of_lemmas_is_no_link(tmp_path):
    folder = of_files(tmp_path / "bundle", PROVED)
    (folder / "lemmas").rename(tmp_path / "moved")
    (folder / "lemmas").symlink_to(tmp_path / "moved")
    status, said = checked(folder)
    assert status == 2
    assert "'lemmas' is not a regular file" in said


def test_there_is_no_other_folder(tmp_path):
    folder = of_files(tmp_path / "bundle", PROVED)
    (folder / "lemmas/more").mkdir()
    status, said = checked(folder)
    assert status == 2
    assert "'lemmas/more' is not a regular file" in said


# --- bounded work -------------------------------------------------------------------------------------------------


def words(count, bits):
    return "".join(f"(declare-const x{i} (_ BitVec {bits}))\n" for i in range(count))


def doubled(count):
    """A conjunction that has 2 ** count parts where it is written out."""
    names = ["p", *(f"t{i}" for i in range(count))]
    return (
        "".join(f"(define-fun {y} () Bool (and {x} {x}))\n" for x, y in itertools.pairwise(names))
        + f"(assert {names[-1]})\n"
    )


WIDE = f"{words(2, 2048)}(assert (= (bvmul x0 x1) (bvmul x1 (bvadd x0 x1))))\n"
LIMITS = {
    "a product of wide words": ({"lemmas/0001.smt2": WIDE}, "the limit of 16777216 bit operations"),
    "a product in a precondition": (
        {
            "claim.smt2": f"{words(2, 2048)}(assert (and (= (bvmul x0 x1) x0) (= x0 x1)))\n",
            "composition.json": json.dumps({"met": {"x0": 1, "x1": 1}, "steps": []}),
        },
        "the limit of 16777216 bit operations",
    ),
    "a constant that is too wide": (
        {"lemmas/0001.smt2": f"(assert (= #x{'0' * 5000} #b0))\n"},
        "20000 bits is over the limit",
    ),
    "an extension that is too wide": (
        {"lemmas/0001.smt2": "(assert (= ((_ zero_extend 9999) #b1) #b0))\n"},
        "a word of 10000 bits is over the limit of 2048",
    ),
    "words side by side": (
        {"lemmas/0001.smt2": f"{words(1, 1500)}(assert (= (concat x0 x0) #b0))\n"},
        "a word of 3000 bits is over the limit of 2048",
    ),
    "a long proof": ({"lemmas/0001.lrat": "3 2 0 1 0\n" * (1 << 22)}, "the limit of 33554432 bytes of such a file"),
    "a long script": ({"claim.smt2": f";{' ' * (1 << 23)}\n"}, "the limit of 8388608 bytes of such a file"),
    "many parentheses": ({"claim.smt2": "(" * 1_000_000}, "a parenthesis is not closed"),
    "a deep term": ({"claim.smt2": f"(assert {'(not ' * 200_000}p{')' * 200_000})\n"}, "'p' is not known"),
    "a deep command": ({"claim.smt2": f"{'(' * 200_000}{')' * 200_000}\n"}, "recursion"),
    "digits and a letter": ({"claim.smt2": "1" * 1_000_000 + "a\n"}, NO_TEXT),
    "a quoted symbol without an end": ({"claim.smt2": "|" + "a" * 1_000_000}, NO_TEXT),
}


@pytest.mark.parametrize("attack", LIMITS)
def test_what_takes_long_is_refused(tmp_path, attack):
    changes, reason = LIMITS[attack]
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == 2
    assert reason in said


def test_terms_of_all_steps_are_counted(tmp_path):
    """A long lemma that is used often: each use makes its terms again."""
    lemma = f"{SCRIPT}(assert (and p (not p)))\n(assert (and {'p q ' * 20_000}))\n"
    composition = steps(*[("0001", {"p": "p", "q": "q"})] * 300)
    changes = WITHOUT_PROOF | {"lemmas/0001.smt2": lemma, "composition.json": composition}
    changes |= {"claim.smt2": f"{SCRIPT}(assert (or (and p (not p)) q))\n"}
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert (status, "an assumption of lemma 0001 is not known to hold" in said) == (1, True), said
    changes |= {"lemmas/0001.smt2": lemma.replace("(assert (and p (not p)))\n", "").replace("p q ", "p (not p) ", 1)}
    status, said = outcome(tmp_path / "more", changes.items())
    assert status == 2
    assert "it is over the limit of 4194304 terms" in said


def test_a_shared_conjunction_is_visited_once(tmp_path):
    """A conjunction of itself and itself, sixty times."""
    changes = WITHOUT_PROOF | {
        "claim.smt2": f"{SCRIPT}{doubled(60)}",
        "definitions.smt2": SCRIPT,
        "lemmas/0001.smt2": LEMMA,
        "composition.json": json.dumps(
            {"met": {"p": 1, "q": 1}, "steps": [{"lemma": "0001", "with": {"p": "p", "q": "q"}}]}
        ),
    }
    status, said = outcome(tmp_path / "bundle", changes.items())
    assert status == 1
    assert "do not contradict" in said


def test_files_are_counted(tmp_path, monkeypatch):
    checker = load_checker()
    monkeypatch.setitem(checker.LIMITS, "files", 7)
    folder = of_files(tmp_path / "bundle", PROVED)
    status, said = checked(folder, checker=checker)
    assert status == 2
    assert "it is over the limit of 7 files" in said
    monkeypatch.setitem(checker.LIMITS, "files", 9)
    assert checked(folder, checker=checker)[0] == 0


TERMS = "(bvult (bvmul p p) (bvmul p #b000000))"
COUNTED = {
    "bytes": {},
    "terms": {},
    "bit operations": {},
    "inputs of gates": {},
    "evaluations of gates": {},
    "literals of proofs": {"lemmas/0001.lrat": "3 5 6 7 0 1 2 0\n4 5 6 0 3 3 3 3 1 2 0\n5 0 1 2 0\n"},
}


@pytest.mark.parametrize("what", COUNTED)
def test_what_is_counted_has_a_limit(tmp_path, monkeypatch, what):
    """What a bundle takes is accepted as the limit, and one less is not."""
    checker = load_checker()
    folder = of_files(tmp_path / "bundle", {k: v for k, v in {**PROVED, **COUNTED[what]}.items() if v is not None})
    if what.endswith("of gates"):
        folder = without_proof(tmp_path / "gates", TERMS, {"p": 6}, claim=TERMS)
    status, said = checked(folder, checker=checker)
    assert status == 0, said
    most = checker.SPENT[what]
    assert most > 3
    for limit, expected in ((most, 0), (most - 1, 2)):
        monkeypatch.setitem(checker.LIMITS, what, limit)
        status, said = checked(folder, checker=checker)
        assert status == expected
        assert (f"it is over the limit of {limit} {what}" in said) == bool(expected)


def test_gates_of_which_all_values_are_tried_have_a_limit(tmp_path, monkeypatch):
    checker = load_checker()
    folder = without_proof(tmp_path / "bundle", TERMS, {"p": 6}, claim=TERMS)
    assert checked(folder, checker=checker)[0] == 0
    monkeypatch.setattr(checker, "MOST_GATES", 5)
    status, said = checked(folder, checker=checker)
    assert status == 2
    assert "lemmas/0001.smt2: it is over the limit of 5 gates to be tried" in said


def test_what_is_written_is_plain_text(tmp_path, monkeypatch):
    """Names and claims with other characters are written with escapes, and the bundle is accepted."""
    use_small_formats(monkeypatch)
    first, second = small_design(1), small_design(1, fraction_bits=4)
    question = Equivalence(first, second, where=[parse_precondition("c=0")])
    claim = "d \u2265 c\x85and \u00e9\u2028\tfalse\r(assert false)"
    written(question, first, tmp_path / "bundle", {"claim": claim})
    status, said = checked(tmp_path / "bundle")
    assert status == 0, said
    assert json.loads((tmp_path / "bundle/manifest.json").read_text())["claim"] == claim
    assert "; (assert false)\n" in (tmp_path / "bundle/claim.smt2").read_text()


def test_a_false_claim_is_false(tmp_path):
    """What the attacks above would have accepted: without the forged text, the claim has a counterexample."""
    status, said = outcome(tmp_path / "bundle", [("claim.smt2", FALSE)])
    assert status == 1
    assert "do not contradict" in said


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited")
def test_a_kilobyte_takes_little_memory(tmp_path):
    """The widest product, in a process that has no more than 300 MB."""
    import resource  # no such module on other systems

    folder = of_files(tmp_path / "bundle", PROVED | {"lemmas/0001.smt2": WIDE})
    limit = 300 << 20
    said = subprocess.run(
        [sys.executable, str(CHECKER), str(folder)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert said.returncode == 2
    assert "bit operations" in said.stderr
