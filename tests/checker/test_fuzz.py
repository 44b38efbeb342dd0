"""Bundles with random faults: none is accepted with a false claim.

A fault may leave a proof of a true claim: a comment that changes, an unused clause, a claim that is still true. So what
is accepted is told apart: the claim is what it was, or another solver says that it is true.
"""

import hashlib
import json
import random
import re
import shutil
from collections import Counter

import pytest
import z3
from support.bundles import checked, load_checker, without_proof

KINDS = ("smt2", "cnf", "map.json", "lrat")


class Folder:
    """A copy of a bundle in which files are changed for a moment."""

    def __init__(self, folder, copy):
        shutil.copytree(folder, copy)
        self.folder = copy
        self.files = {x.relative_to(copy).as_posix(): x.read_bytes() for x in copy.rglob("*") if x.is_file()}
        self.lemmas = sorted({x.split("/")[1][:4] for x in self.files if "/" in x})
        self.checker = load_checker()

    def status(self, changes):
        """The exit status with some files replaced (None: removed), and their hashes right in the manifest."""
        manifest = json.loads(self.files["manifest.json"])
        for name, content in changes.items():
            if content is None:
                (self.folder / name).unlink()
                manifest["files"].pop(name, None)
            else:
                (self.folder / name).write_bytes(content)
                if name in manifest["files"]:
                    manifest["files"][name] = hashlib.sha256(content).hexdigest()
        if "manifest.json" not in changes:
            (self.folder / "manifest.json").write_text(json.dumps(manifest))
        status, _ = checked(self.folder, checker=self.checker)
        for name in {*changes, "manifest.json"}:
            (self.folder / name).write_bytes(self.files[name])
        return status


def flipped(folder, draw):
    """One bit of one file. Half of the time the file is one of those that say what is proved."""
    small = ["claim.smt2", "definitions.smt2", "composition.json"]
    name = draw.choice(small if draw.random() < 0.5 else sorted(folder.files))
    content = bytearray(folder.files[name])
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return {name: bytes(content)}


def without_a_definition(folder, draw):
    lines = folder.files["definitions.smt2"].splitlines(keepends=True)
    places = [i for i, x in enumerate(lines) if x.startswith(b"(define-fun")]
    if places:
        del lines[draw.choice(places)]
    return {"definitions.smt2": b"".join(lines)}


def with_lemmas_swapped(folder, draw):
    x, y = draw.choice(folder.lemmas), draw.choice(folder.lemmas)
    pairs = [(f"lemmas/{x}.{kind}", f"lemmas/{y}.{kind}") for kind in KINDS]
    return {name: folder.files[other] for p, q in pairs for name, other in ((p, q), (q, p))}


def without_an_assumption(folder, draw):
    """A lemma, or the claim, asserts one thing less."""
    names = [f"lemmas/{x}.smt2" for x in folder.lemmas]
    name = draw.choice(names)
    lines = folder.files[name].splitlines(keepends=True)
    places = [i for i, x in enumerate(lines) if x.startswith(b"(assert")]
    del lines[draw.choice(places)]
    return {name: b"".join(lines)}


def with_a_weaker_claim(folder, draw):
    """A part of the claim, often the precondition, becomes true; or one operator becomes another one."""
    text = folder.files["claim.smt2"].decode()
    if draw.random() < 0.5:
        found = list(re.finditer(r"(?<=[( ])t[0-9]+(?=[ )])", text.split("(declare", 1)[1]))
        offset = len(text.split("(declare", 1)[0]) + len("(declare")
        used = [x for x in found if f"(define-fun {x[0]} " not in text[offset + x.start() - 12 : offset + x.end() + 2]]
        bools = [x for x in used if f"(define-fun {x[0]} () Bool" in text]
        if bools:
            x = draw.choice(bools)
            text = text[: offset + x.start()] + draw.choice(["true", "false"]) + text[offset + x.end() :]
    else:
        x = draw.choice(list(re.finditer(r"\((and|or|bvadd|bvsub|bvslt|bvsle|bvult|bvule|bvand|bvor) ", text)))
        other = {"and": "or", "bvadd": "bvsub", "bvslt": "bvsle", "bvult": "bvule", "bvand": "bvor"}
        other |= {y: x for x, y in other.items()}
        text = text[: x.start(1)] + other[x[1]] + text[x.end(1) :]
    return {"claim.smt2": text.encode()}


def with_another_constant(folder, draw):
    name = draw.choice(["claim.smt2", "definitions.smt2", *(f"lemmas/{x}.smt2" for x in folder.lemmas)])
    text = folder.files[name].decode()
    found = list(re.finditer(r"#b([01]+)", text))
    if not found:
        return {name: b""}
    x = draw.choice(found)
    place = draw.randrange(x.start(1), x.end(1))
    return {name: (text[:place] + "10"[int(text[place])] + text[place + 1 :]).encode()}


def with_steps_changed(folder, draw):
    composition = json.loads(folder.files["composition.json"])
    steps = composition["steps"]
    match draw.randrange(4):
        case 0:
            del steps[draw.randrange(len(steps))]
        case 1:
            draw.shuffle(steps)
        case 2:
            step = draw.choice(steps)
            names = [x for s in steps for x in s["with"].values()]
            if step["with"]:
                step["with"][draw.choice(sorted(step["with"]))] = draw.choice(names)
        case 3:
            draw.choice(steps)["lemma"] = draw.choice(steps)["lemma"]
    return {"composition.json": json.dumps(composition).encode()}


def with_a_proof_changed(folder, draw):
    """A line less, a hint less, or a literal of the other sign, in a proof or in clauses."""
    name = f"lemmas/{draw.choice(folder.lemmas)}.{draw.choice(['cnf', 'lrat'])}"
    lines = folder.files[name].decode().splitlines()
    place = draw.randrange(len(lines))
    words = lines[place].split()
    match draw.randrange(3):
        case 0:
            del lines[place]
        case 1:
            del words[draw.randrange(len(words))]
            lines[place] = " ".join(words)
        case 2:
            i = draw.randrange(len(words))
            words[i] = words[i].removeprefix("-") if words[i].startswith("-") else f"-{words[i]}"
            lines[place] = " ".join(words)
    return {name: "\n".join([*lines, ""]).encode()}


FAULTS = (
    flipped,
    without_a_definition,
    with_lemmas_swapped,
    without_an_assumption,
    with_a_weaker_claim,
    with_another_constant,
    with_steps_changed,
    with_a_proof_changed,
)


def is_true(claim):
    """Whether nothing satisfies a claim's counterexamples, as another solver says that parses the script itself."""
    solver = z3.SolverFor("QF_BV")
    solver.from_string(claim)
    return solver.check() == z3.unsat


def outcomes(made, copy, seed, count):
    folder, draw, found = Folder(made[0], copy), random.Random(seed), Counter()
    for number in range(count):
        fault = FAULTS[number % len(FAULTS)]
        changes = fault(folder, draw)
        status = folder.status(changes)
        if status == 0:
            claim = changes.get("claim.smt2", folder.files["claim.smt2"])
            assert is_true(claim.decode()), (fault.__name__, seed, number)
            found["accepted, the claim as it was" if "claim.smt2" not in changes else "accepted, a true claim"] += 1
        else:
            found[f"status {status}"] += 1
    return found


@pytest.mark.middle
@pytest.mark.slow_values("error", "in turn", "reversed")
def test_no_false_claim_is_accepted(made, tmp_path):
    found = outcomes(made, tmp_path / "copy", 1, 64)
    assert found["status 1"] >= 16
    assert found["status 1"] + found["status 2"] >= 40, found


@pytest.mark.slow
def test_no_false_claim_is_accepted_of_a_thousand(made, tmp_path):
    found = outcomes(made, tmp_path / "copy", 2, 1000)
    print(found)
    assert found["status 1"] > 300


def test_a_false_claim_is_not_accepted_by_the_proof_of_a_true_one(made, tmp_path):
    """Each claim but its own, for all claims that are the same text but for one comparison of results."""
    folder = Folder(made[0], tmp_path / "copy")
    text = folder.files["claim.smt2"].decode()
    false = re.sub(r"\(assert .*\)", "(assert true)", text)
    assert not is_true(false)
    assert folder.status({"claim.smt2": false.encode()}) == 1


@pytest.fixture
def tried(tmp_path):
    """A bundle of one lemma, of which the checker tries all values: a square is zero or one modulo four."""
    of_square = "((_ extract 1 0) (bvmul ((_ zero_extend 6) p) ((_ zero_extend 6) p)))"
    claim = f"(and (not (= {of_square} #b00)) (and (not (= {of_square} #b01)) (bvule p #b111111)))"
    folder = without_proof(tmp_path / "tried", claim, {"p": 6}, claim=f"(=> true {claim})")
    return without_proof(tmp_path / "right", f"(=> true {claim})", {"p": 6}, claim=f"(=> true {claim})"), folder


@pytest.mark.parametrize("count", [96, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_false_claim_is_accepted_where_all_values_are_tried(tried, tmp_path, count):
    folder, _ = tried
    faults = (flipped, without_an_assumption, with_a_weaker_claim, with_another_constant, with_steps_changed)
    copy, draw, found = Folder(folder, tmp_path / "copy"), random.Random(7), Counter()
    assert copy.status({}) == 0
    for number in range(count):
        fault = faults[number % len(faults)]
        changes = fault(copy, draw)
        status = copy.status(changes)
        found[status] += 1
        if status == 0:
            claim = changes.get("claim.smt2", copy.files["claim.smt2"])
            assert is_true(claim.decode()), (fault.__name__, number)
    assert found[0] < found[1] + found[2], found
    assert found[1] > count // 5, found
