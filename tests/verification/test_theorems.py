"""What is proved has a theorem of its question, or says that an argument joined its lemmas. Nothing else is proved."""

import ast
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from support.bundles import LIMITS, theorem_of

import mmaproof
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import find_property
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import Joined, QuestionVerdict, Recalled
from mmaproof.properties.question import Question, Scope
from mmaproof.smt.proving.exhaustion import exhaustion
from mmaproof.smt.proving.kernel import Theorem, is_theorem
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.search import Means
from mmaproof.verification.strategies import answer

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
INT4 = "turing/mma.m8n8k32.s32.s4.s4.s32"
MADE = {
    # who says that there is no theorem, or that it is elsewhere
    "Joined": {"verification/strategies.py"},
    "Recalled": {"verification/strategies.py", "verification/compare.py", "properties/property.py"},
}


def between(first: str, second: str, k: int) -> tuple[Question, Design]:
    designs = find_design(first), find_design(second)
    return Equivalence(*designs, k=k), designs[0]


def asked(name: str, design: str) -> tuple[Question, Design]:
    found = find_design(design)
    return find_property(name).question(found, Scope()), found


QUESTIONS = {
    "one computation": lambda: between("turing/f32.f16.f16.f32", "ampere/m16n8k16.f32.f16.f16.f32", 16),
    "an argument of its own": lambda: between(INT4, f"{INT4}@L=4", 8),
    "one piece": lambda: between(f"{VOLTA}@L=1", f"{VOLTA}@L=1,carry_bits=8", 1),
    "stages": lambda: between(VOLTA, f"{VOLTA}@adder=carry-save", 4),
    "stages of runs that are negated": lambda: asked("negation-symmetric", VOLTA),
}


@pytest.mark.middle
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_proved_has_a_theorem(name):
    question, design = QUESTIONS[name]()
    found = answer(question, design, Means(Solving(), LIMITS, None))
    assert found.status is Status.PROVED
    assert is_theorem(found.theorem)
    assert found.theorem.root is question.formula.violation
    by = {str(x.solver) for x in (found, *found.lemmas)}
    assert {x.refuted_by for x in found.theorem.leaves} <= {*by, str(exhaustion())}


@pytest.mark.parametrize("where", [(), ("finite",)], ids=["everywhere", "finite"])
def test_what_is_said_to_be_one_computation_has_a_theorem_or_is_not_proved_by_that(monkeypatch, where):
    monkeypatch.setattr(Equivalence, "is_same_computation", lambda _: True)
    designs = find_design(VOLTA), find_design(f"{VOLTA}@fraction_bits=22")
    question = Equivalence(*designs, where=[parse_precondition(x) for x in where])
    found = answer(question, designs[0], Means(Solving(), LIMITS, None))
    assert found.status is Status.REFUTED


@pytest.mark.middle
def test_no_verdict_is_proved_without_a_proof():
    question, _ = between(INT4, f"{INT4}@L=4", 8)
    theorem, other = theorem_of(question), between(VOLTA, f"{VOLTA}@fraction_bits=22", 4)[0]
    forged = object.__new__(Theorem)
    for proof, of in ((None, question), (theorem, other), (forged, question), (True, question)):
        with pytest.raises(ValueError):
            QuestionVerdict(Status.PROVED, 0.0, question=of, proof=proof)
    for status, reason in ((Status.VACUOUS, None), (Status.UNKNOWN, "timeout: made up")):
        for proof in (theorem, Joined(), Recalled()):
            with pytest.raises(ValueError):
                QuestionVerdict(status, 0.0, reason, question=question, proof=proof)
    proved = QuestionVerdict(Status.PROVED, 0.0, question=question, proof=theorem)
    assert proved.theorem is theorem
    with pytest.raises(ValueError):
        replace(proved, proof=None)
    with pytest.raises(ValueError):
        replace(proved, question=other)


@pytest.mark.middle
def test_another_process_is_told_that_there_was_a_proof():
    question, _ = between(INT4, f"{INT4}@L=4", 8)
    for proof, sent in ((theorem_of(question), Recalled()), (Joined(), Joined())):
        verdict = QuestionVerdict(Status.PROVED, 0.0, question=question, proof=proof)
        assert pickle.loads(pickle.dumps(verdict)).proof == sent


def test_few_places_say_that_there_is_no_theorem():
    """Read from the sources: nobody else makes what stands for a theorem, and nobody makes verdicts in another way."""
    root = Path(mmaproof.__file__).parents[2]
    found: dict[str, set[str]] = {name: set() for name in MADE}
    for folder in ("verification", "properties", "gemm", "smt", "cli", "generators", "explain", "rtl", "src"):
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if called in found and not path.is_relative_to(root / "src"):
                    found[called].add(path.relative_to(root).as_posix())
                if called in ("__new__", "__setattr__"):
                    names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
                    assert not names & {"QuestionVerdict", "Comparison"}, path
    assert found == MADE
