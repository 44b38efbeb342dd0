"""Forged bundles of bounds: each is refused for a stated reason, even where every number of it was made to fit.

The checker says which number follows instead of one that is stated. An attack takes it over until the checker says
something else, so what refuses it is not that two numbers differ.
"""

import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pysmt.environment import Environment
from pysmt.smtlib.parser import SmtLibParser
from support.bounds import ELEMENT, SHORTER, TARGET, checker_of_small_formats, use_small_unit
from support.bundles import LIMITS, checked

from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs.schedule import Add, Call, Convert, Operand, Schedule, Zero
from mmaproof.gemm.tolerances.bundle import files_of_derivation
from mmaproof.gemm.tolerances.derivation import Derivation, Maximum, derive
from mmaproof.smt.bundles.stated import NAMED
from mmaproof.smt.bundles.writing import Refutations, lemma_files
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import Refuter

A = Maximum(ELEMENT, ELEMENT.encode(Fraction(3, 2)), -1)
C = Maximum(TARGET, TARGET.encode(Fraction(5, 2)), TARGET.e_min - 3)
MOST_FITTED = 40
"""Numbers of one attack that are made to fit."""


def schedule(unit: Design) -> Schedule:
    """Two chains, of two steps and of one, their sum, and its conversion."""
    operations = (
        *(Operand(TARGET), Call(unit, (0, 1, 2, 3), 0), Zero(TARGET), Call(unit, (4, 5), 2)),
        *(Add(1, 3, TARGET), Convert(4, SHORTER)),
    )
    return Schedule(6, (*unit.formats[:3], SHORTER), operations)


Files = dict[str, Any]
"""A bundle: objects of JSON, and texts of other files."""


class Forge:
    """A bundle that is changed, and the checkers of it: one of them believes refutations, and is fast."""

    def __init__(self, right: Mapping[str, bytes]) -> None:
        self.right = right
        self.checker, self.believing = checker_of_small_formats(), checker_of_small_formats()
        vars(self.believing)["check_lrat"] = lambda *_: None

    def files(self) -> Files:
        found = {name: data.decode() for name, data in self.right.items() if name != "manifest.json"}
        return {n: json.loads(x) if n in ("bound.json", "derivation.json") else x for n, x in found.items()}

    def outcome(self, files: Files, folder: Path) -> tuple[int, str]:
        """What the checker says of files, once their numbers are made to fit."""
        for number in range(MOST_FITTED):
            _, said = self._checked(files, folder / str(number), self.believing)
            other = re.search(r"number (\d+): another bound follows: (\S+), (\S+)", said)
            if other is None:
                break
            entry = files["derivation.json"]["numbers"][int(other[1])]
            entry["most"], entry["error"] = (dyadic(Fraction(x)) for x in other.groups()[1:])
        return self._checked(files, folder / "fitted", self.checker)

    def at_once(self, files: Files, folder: Path) -> tuple[int, str]:
        """What the checker says of files as they are."""
        return self._checked(files, folder / "bundle", self.checker)

    def believed(self, files: Files, folder: Path) -> tuple[int, str]:
        """What the checker says of files as they are, if their refutations are right."""
        return self._checked(files, folder / "bundle", self.believing)

    def _checked(self, files: Files, folder: Path, checker: ModuleType) -> tuple[int, str]:
        texts = {n: x if isinstance(x, str) else json.dumps(x) for n, x in files.items() if x is not None}
        (folder / "lemmas").mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
        hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        (folder / "manifest.json").write_text(json.dumps({"form": "mmaproof-bound-1", "files": hashes}))
        return checked(folder, checker=checker)

    def restate(self, files: Files, name: str, **changes: Any) -> None:
        """Let a lemma, and what the derivation says of it, state other numbers. Its refutation stays."""
        lemma = files["derivation.json"]["lemmas"][name]
        before = "\n".join(self.checker.SAYS[lemma["says"]](lemma["of"])[1])
        lemma["of"] = {**lemma["of"], **changes}
        after = "\n".join(self.checker.SAYS[lemma["says"]](lemma["of"])[1])
        text = files[f"lemmas/{name}.smt2"]
        assert text.count(before) == 1
        files[f"lemmas/{name}.smt2"] = text.replace(before, after)


def dyadic(x: Fraction) -> list[int]:
    return [x.numerator, 1 - x.denominator.bit_length()]


def prove(files: Files, name: str) -> None:
    """Refute a lemma whose script was changed, so that it is true of other words."""
    script = files[f"lemmas/{name}.smt2"]
    commands = SmtLibParser(Environment()).get_script(io.StringIO(script)).commands
    query = Query.all_of(tuple(x.args[0] for x in commands if x.name == "assert"))
    for kind in ("cnf", "map.json", "lrat"):
        files.pop(f"lemmas/{name}.{kind}", None)
    with Refuter(LIMITS.memory_bytes) as refuter:
        files.update(lemma_files(name, "", script, query, Refutations(refuter, LIMITS)))


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    with pytest.MonkeyPatch.context() as patch:
        found: Derivation = derive(schedule(use_small_unit(patch)), A, A, C)
        yield Forge(files_of_derivation(found, {}, LIMITS))


PRODUCT, ACCUMULATOR, TOP, RHO, CUT = "0001", "0002", "0003", "0004", "0005"
NONE = "is none of the translation of"


def numbers(files: Files) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = files["derivation.json"]["numbers"]
    return found


def of(files: Files, name: str) -> dict[str, Any]:
    found: dict[str, Any] = files["derivation.json"]["lemmas"][name]["of"]
    return found


@pytest.mark.parametrize("name", NAMED)
def test_a_format_is_what_its_name_says(forge: Forge, name: str) -> None:
    fmt = FORMATS[name]
    sizes = fmt.exponent_bits, fmt.fraction_bits, fmt.ignored_bits, fmt.bias, fmt.max_finite
    assert forge.checker.FORMATS[name] == sizes


def test_what_was_written_is_accepted(forge: Forge, tmp_path: Path) -> None:
    status, said = forge.at_once(forge.files(), tmp_path)
    assert status == 0, said
    kinds = [x["is"] for x in numbers(forge.files())]
    assert kinds == ["c", "step", "step", "zero", "step", "sum", "converted"]


def test_a_smaller_error_is_not_what_follows(forge: Forge, tmp_path: Path) -> None:
    files = forge.files()
    top, places = files["bound.json"]["error"]
    files["bound.json"]["error"] = [2 * top - 1, places - 1]
    status, said = forge.at_once(files, tmp_path)
    assert status == 1
    assert re.search(r"bound.json: an error of at most [\d.]+ follows, not", said)


def test_a_larger_error_follows_too(forge: Forge, tmp_path: Path) -> None:
    files = forge.files()
    files["bound.json"]["error"] = [1, 6]
    assert forge.at_once(files, tmp_path)[0] == 0


@pytest.mark.few(4)
@pytest.mark.parametrize("key", ["most", "error"])
@pytest.mark.parametrize("number", range(7))
def test_each_number_is_computed_again(forge: Forge, tmp_path: Path, number: int, key: str) -> None:
    files = forge.files()
    numbers(files)[number][key] = [3, -9]
    status, said = forge.believed(files, tmp_path)
    assert status == 1
    assert f"number {number}: another bound follows" in said


CHANGED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "a cut one bit lower": (PRODUCT, {"cut": 5}),
    "a cut to nearest": (PRODUCT, {"half": True}),
    "a smaller bound of a cut term": (PRODUCT, {"bound": 1}),
    "c cut one bit lower": (ACCUMULATOR, {"cut": 5}),
    "another largest exponent": (TOP, {"most": -6}),
    "a conversion to nearest": (RHO, {"half": True}),
    "a conversion that keeps fewer bits": (RHO, {"fraction_bits": 2}),
    "a sum of other units": (RHO, {"cut": 5}),
    "a larger sum than was converted": (RHO, {"largest": 127}),
    "a sum outside that is cut lower": (CUT, {"cut": 7}),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("attack", CHANGED)
def test_a_forged_constant_is_not_the_lemmas(forge: Forge, tmp_path: Path, attack: str) -> None:
    name, changes = CHANGED[attack]
    files = forge.files()
    assert changes.items().isdisjoint(of(files, name).items())
    of(files, name).update(changes)
    status, said = forge.at_once(files, tmp_path)
    assert status == 1
    assert f"lemma {name} does not end with what derivation.json says of it" in said


@pytest.mark.few(2)
@pytest.mark.parametrize("attack", CHANGED)
def test_a_forged_lemma_has_no_refutation(forge: Forge, tmp_path: Path, attack: str) -> None:
    name, changes = CHANGED[attack]
    files = forge.files()
    forge.restate(files, name, **changes)
    status, said = forge.at_once(files, tmp_path)
    assert status == 1
    assert f"lemmas/{name}.cnf: clause" in said
    assert NONE in said


def dropped_step(files: Files) -> None:
    del numbers(files)[2]
    for entry in numbers(files):
        for key in ("c", "x", "y"):
            if entry.get(key, 0) > 1:
                entry[key] -= 1


def further_number(files: Files) -> None:
    zero = {"is": "zero", "format": TARGET.name, "most": [0, 0], "error": [0, 0]}
    numbers(files).insert(6, zero)


def start_from_zero(files: Files) -> None:
    numbers(files)[0] = {"is": "zero", "format": TARGET.name, "most": [0, 0], "error": [0, 0]}


def entry_of(number: int, **changes: Any) -> Callable[[Files], None]:
    return lambda files: numbers(files)[number].update(changes)


def other_operand(name: str, **changes: Any) -> Callable[[Files], None]:
    return lambda files: files["bound.json"][name].update(changes)


OTHER = {
    "a step less": (dropped_step, "its last number adds 4 products and c 1 times, not 6"),
    "a number more": (further_number, "a number before the last one is not used"),
    "c left out": (start_from_zero, "its last number adds 6 products and c 0 times, not 6"),
    "a product less": (lambda files: files["bound.json"].update(k=5), "adds 6 products and c 1 times, not 5"),
    "a step of more products": (entry_of(1, products=3), "number 1: a step has from 1 to 2 products"),
    "a step of no products": (entry_of(1, products=0), "number 1: a step has from 1 to 2 products"),
    "a step of less than no products": (entry_of(1, products=-2), "number 1: a step has from 1 to 2 products"),
    "a number that is used twice": (entry_of(5, y=2), "number 5: y is not an earlier number that is used once"),
    "a number of later": (entry_of(1, c=4), "number 1: c is not an earlier number that is used once"),
    "a number from the end": (entry_of(1, c=-1), "number 1: c is not an earlier number that is used once"),
    "a lemma about something else": (entry_of(1, product=RHO), "number 1: no lemma about cut is named as product"),
    "a lemma that is not there": (entry_of(1, rho="9999"), "number 1: no lemma about rho is named as rho"),
    "products in the place of c": (entry_of(1, accumulator=PRODUCT), "number 1: a lemma is not about all terms"),
    "c in the place of products": (entry_of(1, product=ACCUMULATOR), "number 1: a lemma is not about all terms"),
    "larger elements of a": (other_operand("a", most=5), "number 1: the largest exponent is that of other operands"),
    "another format of b": (other_operand("b", format=TARGET.name), "the largest exponent is that of other operands"),
    "a c that overflows": (other_operand("c", most=TARGET.max_finite), "number 1: it may overflow"),
    "no c": (lambda files: files["bound.json"].update(c=None), "number 0: c is zero"),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("attack", OTHER)
def test_a_derivation_of_something_else_is_refused(forge: Forge, tmp_path: Path, attack: str) -> None:
    change, reason = OTHER[attack]
    files = forge.files()
    change(files)
    status, said = forge.outcome(files, tmp_path)
    assert status == 1, said
    assert reason in said


def fewer_terms(forge: Forge, files: Files) -> None:
    forge.restate(files, PRODUCT, largest=1)


def smaller_sums(forge: Forge, files: Files) -> None:
    forge.restate(files, RHO, largest=of(files, RHO)["largest"] - 1)


def fewer_c(forge: Forge, files: Files) -> None:
    forge.restate(files, ACCUMULATOR, largest=7)


def fewer_addends(forge: Forge, files: Files) -> None:
    forge.restate(files, CUT, largest=7)


def less_of_a(forge: Forge, files: Files) -> None:
    limited = [[name, fmt, min(most, 1)] for name, fmt, most in of(files, TOP)["limited"]]
    forge.restate(files, TOP, limited=limited)


TRUE_OF_LESS = {
    "products of few bits": (PRODUCT, fewer_terms, "a lemma is not about all terms of"),
    "c of few bits": (ACCUMULATOR, fewer_c, "a lemma is not about all terms of"),
    "addends of few bits": (CUT, fewer_addends, "a lemma is not about all terms of"),
    "sums below the largest": (RHO, smaller_sums, "the sum of its terms may be larger than rho's lemma says"),
    "smaller operands": (TOP, less_of_a, "the largest exponent is that of other operands"),
}


@pytest.mark.parametrize("attack", TRUE_OF_LESS)
def test_a_lemma_that_is_true_of_less_is_refused(forge: Forge, tmp_path: Path, attack: str) -> None:
    name, change, reason = TRUE_OF_LESS[attack]
    files = forge.files()
    change(forge, files)
    prove(files, name)
    status, said = forge.outcome(files, tmp_path)
    assert status == 1, said
    assert reason in said


def assume_false(text: str) -> str:
    return text.replace("(define-fun kept ", "(assert false)\n(define-fun kept ")


def give_a_value(text: str) -> str:
    return text.replace("(declare-const negative (_ BitVec 1))", "(define-fun negative () (_ BitVec 1) #b0)")


def comment_at_the_end(text: str) -> str:
    return text + "; (check-sat)\n"


def command_in_a_comment(text: str) -> str:
    return text.replace("\n(define-fun distance", "; \n(define-fun distance").replace("(assert (not", ";(assert (not")


SCRIPTS = {
    "an assumption that nothing satisfies": (assume_false, "asserts more than derivation.json says of it"),
    "a symbol with a value": (give_a_value, "is about other words than derivation.json says"),
    "lines behind the statement": (comment_at_the_end, "does not end with what derivation.json says of it"),
    "a statement in a comment": (command_in_a_comment, "does not end with what derivation.json says of it"),
}


@pytest.mark.parametrize("attack", SCRIPTS)
def test_a_script_says_no_more_and_no_less(forge: Forge, tmp_path: Path, attack: str) -> None:
    change, reason = SCRIPTS[attack]
    files = forge.files()
    script = change(files[f"lemmas/{PRODUCT}.smt2"])
    assert script != files[f"lemmas/{PRODUCT}.smt2"]
    files[f"lemmas/{PRODUCT}.smt2"] = script
    if attack in ("an assumption that nothing satisfies", "a symbol with a value"):
        prove(files, PRODUCT)
    status, said = forge.at_once(files, tmp_path)
    assert status == 1, said
    assert reason in said


def lemma_of(name: str, **changes: Any) -> Callable[[Files], None]:
    return lambda files: of(files, name).update(changes)


ODD = {
    "a bound beyond its word": (lemma_of(PRODUCT, bound=1 << 60), "it states what the words of a lemma cannot hold"),
    "a largest sum beyond its word": (lemma_of(RHO, largest=1 << 60), "what the words of a lemma cannot hold"),
    "a negative bound": (lemma_of(PRODUCT, bound=-1), "it states what the words of a lemma cannot hold"),
    "more fraction bits than a format has": (lemma_of(RHO, fraction_bits=9), "the words of a lemma cannot hold"),
    "no fraction bits": (lemma_of(RHO, fraction_bits=0), "it states what the words of a lemma cannot hold"),
    "an unknown format": (lemma_of(RHO, format="fp9"), "it states what the words of a lemma cannot hold"),
    "a truth value for a width": (lemma_of(PRODUCT, significand=True), "a number of bits is from 1 to 512"),
    "a wide word": (lemma_of(PRODUCT, exponent=4096), "a number of bits is from 1 to 512"),
    "a further key": (lemma_of(PRODUCT, more=1), "other keys are needed"),
    "a truth value that is none": (lemma_of(PRODUCT, half=0), "it states what the words of a lemma cannot hold"),
    "a number that is none": (entry_of(1, most=[1.5, 0]), "most is an integer times a power of two"),
    "a huge number": (entry_of(1, most=[1, 1 << 20]), "most is an integer times a power of two"),
    "a kind that is none": (entry_of(1, **{"is": "guess"}), "number 1: its kind is not known"),
    "an infinity": (other_operand("a", most=7), "bound.json: a is not a finite number"),
    "k that is none": (lambda files: files["bound.json"].update(k=True), "bound.json: k is a number"),
    "an operand that is none": (lambda files: files["bound.json"].update(a=None), "a is a format, the largest pattern"),
    "no numbers": (lambda files: files["derivation.json"].update(numbers=[]), "it has no numbers"),
    "no lemmas": (lambda files: files["derivation.json"].pop("lemmas"), "lemmas are an object"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("attack", ODD)
def test_what_is_no_bundle_is_not_one(forge: Forge, tmp_path: Path, attack: str) -> None:
    change, reason = ODD[attack]
    files = forge.files()
    change(files)
    status, said = forge.believed(files, tmp_path)
    assert status == 2, said
    assert reason in said


def test_a_file_that_no_lemma_is_of(forge: Forge, tmp_path: Path) -> None:
    files = forge.files()
    files["lemmas/0099.smt2"] = files[f"lemmas/{PRODUCT}.smt2"]
    status, said = forge.at_once(files, tmp_path)
    assert status == 1
    assert "a file of the folder is not part of the proof" in said


def places_of(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of numbers and texts in an object of JSON."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from places_of(y, (*path, key))
    else:
        yield path


def at(x: Any, path: Sequence[Any]) -> Any:
    for key in path:
        x = x[key]
    return x


def changed(rng: random.Random, files: Files) -> None:
    """Change one place of the numbers: to a number beside it, or to what stands at another place."""
    found = files["derivation.json"]["numbers"]
    path = rng.choice(list(places_of(found)))
    old = at(found, path)
    alike = [y for z in places_of(found) if type(y := at(found, z)) is type(old) and y != old]
    new = [*alike, *([old + 1, old - 1, 2 * old] if type(old) is int else [not old] if type(old) is bool else [])]
    at(found, path[:-1])[path[-1]] = rng.choice(new)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_no_change_of_a_derivation_has_a_smaller_error(forge: Forge, tmp_path: Path, seed: int) -> None:
    """Refutations are believed here, so that only the rules refuse. What they accept is not below what follows."""
    rng, files = random.Random(seed), forge.files()
    for _ in range(rng.randint(1, 3)):
        changed(rng, files)
    files["bound.json"]["error"] = [0, 0]
    for number in range(MOST_FITTED):
        status, said = forge.believed(files, tmp_path / str(number))
        other = re.search(r"number (\d+): another bound follows: (\S+), (\S+)", said)
        claimed = re.search(r"an error of at most (\S+) follows", said)
        if other is not None:
            entry = files["derivation.json"]["numbers"][int(other[1])]
            entry["most"], entry["error"] = (dyadic(Fraction(x)) for x in other.groups()[1:])
        elif claimed is not None:
            files["bound.json"]["error"] = dyadic(Fraction(float(claimed[1])))
        else:
            break
    assert status != 0 or forged_error(files) >= forged_error(forge.files())


def forged_error(files: Files) -> Fraction:
    top, places = files["bound.json"]["error"]
    return Fraction(top) * Fraction(2) ** places
