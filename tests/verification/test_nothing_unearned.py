"""Nothing counts as proved that was not: solvers that do not know, answer late or answer twice prove nothing."""

import itertools

import pytest
from pysmt.environment import get_env
from support.deciding import proof_if
from support.fake_solvers import HANGS, fake
from support.in_this_process import InTurn

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.gemm.answers.dropped import check_dropped
from mmaproof.gemm.answers.exact_operands import check_exact_operands
from mmaproof.gemm.answers.slices import check_slices
from mmaproof.gemm.answers.split import check_split
from mmaproof.gemm.answers.verdict import Asked
from mmaproof.gemm.programs.algorithms import find_algorithm
from mmaproof.gemm.tolerances.check import QUESTIONS, check_algorithm
from mmaproof.gemm.tolerances.walk import prove_loss
from mmaproof.generators.cover.coverage import cover
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.property import Joined, QuestionVerdict
from mmaproof.properties.question import Scope
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.portfolio import COMMANDS
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Cause, Outcome, Reply, SolverIdentity, Status, Verdict, combine
from mmaproof.verification import strategies
from mmaproof.verification.compare import Comparison
from mmaproof.verification.matrix import PairVerdict, groups_of
from mmaproof.verification.search import Means
from mmaproof.verification.strategies import BY_IDENTITY, answer

NOBODY = SolverIdentity("nobody", "0")
UNKNOWN = Reply(Outcome.UNKNOWN, NOBODY, 0.0, reason=Cause.TIMEOUT.reason("made up"))
SAT = Reply(Outcome.SAT, NOBODY, 0.0, {})
UNSAT = Reply(Outcome.UNSAT, NOBODY, 0.0)
LIMITS = Limits(20, 4 << 30)

TINY = "ampere/m16n8k4.f32.tf32.tf32.f32@L=1"
FP16 = "volta/f32.f16.f16.f32@L=2"
INTEGERS = "ampere/mma.m16n8k32.s32.s8.s8.s32"
PAIRS = {
    "alignment": (FP16, f"{FP16},zero_c=B"),
    "sequential sums": ("volta/f32.f16.f16.f32", "volta/f32.f16.f16.f32@summation=sequential"),
    "integers": (f"{INTEGERS}@L=16", f"{INTEGERS}@L=8"),
    "staged": (FP16, f"{FP16},carry_bits=5"),
}


class Scripted(Solving):
    """A solver that knows what a constant is, and of the other queries what a test says."""

    __slots__ = ("asked", "meets", "say")

    def __init__(self, say, meets=False):
        """With ``meets``, a query without wanted symbols is one whether anything meets an assumption: it does."""
        super().__init__()
        object.__setattr__(self, "meets", meets)
        object.__setattr__(self, "say", say)
        object.__setattr__(self, "asked", [])

    def beside(self, formula, limits):
        return InTurn(self, formula, limits)

    def ask(self, formula, symbols, /, *, limits, rivals=(), begun=None):
        if is_plainly_false(formula):
            return UNSAT
        if self.meets and not symbols:
            return SAT
        self.asked.append(formula)
        return self.say(formula, len(self.asked) - 1)


def is_plainly_false(formula):
    if formula.is_and():
        return any(map(is_plainly_false, formula.args()))
    return formula.is_false() or (formula.is_not() and formula.arg(0).is_true())


def pair_of(name):
    return [find_design(x) for x in PAIRS[name]]


def proof_of(question, say, meets=False):
    means = Means(Scripted(say, meets), LIMITS, None)
    return answer(question, question.designs[0], means), means.solving


def violation(question):
    manager = get_env().formula_manager
    return manager.Not(question.formula.claim)


@pytest.mark.few(14)
@pytest.mark.parametrize("statuses", [x for n in (1, 2, 3) for x in itertools.product(Status, repeat=n)])
def test_claims_together_are_proved_only_if_each_is(statuses):
    found = combine(statuses)
    assert (found is Status.PROVED) == all(x is Status.PROVED for x in statuses)
    assert (found is Status.REFUTED) == any(x is Status.REFUTED for x in statuses)
    if found not in (Status.PROVED, Status.REFUTED):
        assert (found is Status.UNKNOWN) == any(x is Status.UNKNOWN for x in statuses)
    assert combine(reversed(statuses)) is found


def test_no_claims_prove_nothing():
    with pytest.raises(ValueError, match="no claims prove nothing"):
        combine([])


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("where", [(), ("finite",)], ids=["everywhere", "finite"])
def test_a_solver_that_knows_nothing_proves_no_two_designs_equal(name, where):
    if where and name == "integers":
        pytest.skip("preconditions are of floating-point operands")
    question = Equivalence(*pair_of(name), where=[parse_precondition(x) for x in where])
    found, solving = proof_of(question, lambda *_: UNKNOWN)
    assert found.status is Status.UNKNOWN
    assert found.reason.startswith(UNKNOWN.reason)
    assert solving.asked


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("alignment", "alignment"),
        ("alignment", "own_argument"),
        ("sequential sums", "own_argument"),
        ("integers", "alignment"),
    ],
)
def test_each_lemma_counts(monkeypatch, name, without):
    """A solver proves all lemmas but one, and does not know the question as a whole. There is no second proof."""
    left = [x for x in strategies.STRATEGIES if x.__name__ != without]
    assert len(left) == len(strategies.STRATEGIES) - 1
    monkeypatch.setattr(strategies, "STRATEGIES", left)
    question = Equivalence(*pair_of(name))
    question.compares_runs = False  # lemmas of stages are not part of this test

    def say_all_but(one):
        lemmas = itertools.count()

        def say(formula, _):
            if formula is violation(question):
                return UNKNOWN
            return UNKNOWN if next(lemmas) == one else UNSAT

        return say

    everything, _ = proof_of(question, say_all_but(None), meets=True)
    assert everything.status is Status.PROVED
    lemmas = len(everything.lemmas)
    assert lemmas
    for one in range(lemmas):
        found, _ = proof_of(question, say_all_but(one), meets=True)
        assert found.status is Status.UNKNOWN, f"lemma {one} of {lemmas} was not needed"
        assert found.lemmas[one].status is Status.UNKNOWN


@pytest.mark.middle
def test_the_laws_that_a_staged_proof_uses_count():
    whole = Equivalence(*pair_of("staged"))

    def proof(unknown):
        def say(formula, number):
            return UNKNOWN if formula is violation(whole) or unknown(number) else UNSAT

        return proof_of(Equivalence(*pair_of("staged")), say)

    found, solving = proof(lambda number: False)
    leaves = [x for x in found.lemmas if not x.stage]
    assert found.theorem is not None
    assert leaves
    # a kernel without one of its leaves joins nothing, and laws of any number of operands are trusted
    first = len(solving.asked) - len(leaves)
    found, solving = proof(lambda number: number == first)
    laws = [x for x in found.lemmas if x.stage == "laws"]
    assert (found.status, found.proof, bool(laws)) == (Status.PROVED, Joined(), True)
    asked = len(solving.asked)
    for law in range(len(laws)):
        found, _ = proof(lambda number, law=law: number in (first, asked - 1 - law))
        assert found.status is Status.UNKNOWN


@pytest.mark.few(14)
@pytest.mark.parametrize("asked", PROPERTIES.values(), ids=lambda x: x.name)
def test_a_property_of_whose_questions_nothing_is_known_is_unknown(asked):
    class Ask:
        def __call__(self, question, what):
            return QuestionVerdict(Status.UNKNOWN, 0.0, UNKNOWN.reason, question=question)

        def largest(self, question, measure):
            raise AssertionError("the bound is not proved")

    found = asked.settle(find_design(asked.specimen), Scope(), Ask())
    assert (found.status, found.reason) == (Status.UNKNOWN, UNKNOWN.reason)


@pytest.mark.few(14)
@pytest.mark.parametrize("asked", PROPERTIES.values(), ids=lambda x: x.name)
def test_no_property_rests_on_a_first_question_that_is_unknown_alone(asked):
    """The other answers are proofs: what comes of that may be a proof only if it does not rest on the first."""
    number = itertools.count()

    class Ask:
        def __call__(self, question, what):
            if next(number):
                return QuestionVerdict(Status.PROVED, 0.0, question=question, proof=Joined())
            return QuestionVerdict(Status.UNKNOWN, 0.0, UNKNOWN.reason, question=question)

        def largest(self, question, measure):
            raise AssertionError("the bound is not proved")

    found = asked.settle(find_design(asked.specimen), Scope(), Ask())
    first, *_ = found.answers.values()
    assert first.status is Status.UNKNOWN
    assert found.status is not Status.PROVED


@pytest.mark.few(10)
@pytest.mark.parametrize("asked", PROPERTIES.values(), ids=lambda x: x.name)
def test_no_property_is_proved_by_what_ends_unknown(asked):
    for script in itertools.product((Status.PROVED, Status.UNKNOWN), repeat=4):
        ask = ScriptedAsk(itertools.chain(script, itertools.repeat(Status.UNKNOWN)))
        try:
            found = asked.settle(find_design(asked.specimen), Scope(), ask)
        except ProvedError:
            assert script[0] is Status.PROVED
            continue
        if found.status is Status.PROVED:
            assert [*found.answers.values()][-1].status is Status.PROVED, script


class ProvedError(Exception):
    """A bound is proved: only then the largest value is looked for."""


class ScriptedAsk:
    """Verdicts on questions, one after the other."""

    def __init__(self, statuses, lemmas=()):
        self.statuses, self.lemmas = iter(statuses), lemmas

    def __call__(self, question, what):
        status = next(self.statuses)
        reason = UNKNOWN.reason if status is Status.UNKNOWN else None
        return QuestionVerdict(status, 0.0, reason, question=question, lemmas=self.lemmas, proof=proof_if(status))

    def largest(self, question, measure):
        raise ProvedError


@pytest.mark.parametrize(
    ("status", "alone"), [(Status.PROVED, 1), (Status.UNKNOWN, 2), (Status.REFUTED, 2), (Status.VACUOUS, 2)]
)
def test_only_what_is_proved_is_one_class(status, alone):
    pair = pair_of("alignment")
    witness = Operands((0,) * 4, (0,) * 4, 0) if status is Status.REFUTED else None
    reason = UNKNOWN.reason if status is Status.UNKNOWN else None
    comparison = Comparison(status, 0.0, reason, witness, question=Equivalence(*pair), proof=proof_if(status))
    (group,) = groups_of(pair, [PairVerdict(comparison, 0)])
    assert len(group.classes) == alone


@pytest.mark.few(2)
@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_is_found_out_about_an_algorithm(question):
    name = "slices" if question == "slices" else "markidis"
    unit = "ampere/mma.m16n8k32.s32.s8.s8.s32" if question == "slices" else "ampere/m16n8k8.f32.f16.f16.f32"
    done = check_algorithm(
        question, find_algorithm(name), find_design(unit), solver=Scripted(lambda *_: UNKNOWN), limits=LIMITS
    )
    # a number that overflows is found by search
    assert done.finding.status is (Status.REFUTED if question == "overflow" else Status.UNKNOWN)
    assert not [x for x in done.finding.lemmas if x.status is Status.PROVED]


class AllButOne(Asked):
    """Lemmas that are proved, all but one, of which nothing is known."""

    def __init__(self, one):
        super().__init__(Means(Scripted(lambda *_: UNKNOWN), LIMITS, None))
        self.one, self.names = one, []

    def prove(self, lemma):
        if lemma.name not in self.names:
            self.names.append(lemma.name)
        if self.names.index(lemma.name) == self.one:
            return Verdict(Status.UNKNOWN, 0.0, UNKNOWN.reason)
        return Verdict(Status.PROVED, 0.0)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("markidis", lambda asked, x, unit: check_split(x, unit, (), asked)),
        ("markidis", lambda asked, x, unit: check_dropped(x, unit, (), None, asked)),
        ("markidis", lambda asked, x, unit: check_exact_operands(x, unit, None, asked)),
        ("slices", lambda asked, x, unit: check_slices(x, unit, asked)),
    ],
    ids=["split", "dropped", "exact-operands", "slices"],
)
def test_each_lemma_about_an_algorithm_counts(name, ask):
    unit, algorithm = find_design(INTEGERS if name == "slices" else FP16), find_algorithm(name)
    everything = AllButOne(None)
    whole = ask(everything, algorithm, unit)
    assert everything.names
    for one in range(len(everything.names)):
        found = ask(AllButOne(one), algorithm, unit)
        weaker = found.conclusion != whole.conclusion or found.values != whole.values
        assert found.status is not Status.PROVED or weaker, everything.names[one]
    assert "proved" not in whole.values.get("tested", "")


def test_the_bound_of_a_step_is_not_proved():
    step = prove_loss.__wrapped__(find_design(FP16), Scripted(lambda *_: UNKNOWN), LIMITS)
    assert (step.proved, step.undecided) == (False, True)


@pytest.mark.middle
def test_a_bin_that_nobody_reached_is_unknown():
    done = cover(find_design("volta/f16.f16.f16.f16@L=1"), 8, solver=Scripted(lambda *_: UNKNOWN), limits=LIMITS)
    assert {x.status for x in done.bins} <= {"hit", "reachable", "unknown"}
    assert done.count("unknown")


TWICE = fake('print(\'{"status": "unsat", "seconds": 0.5}\\n\' * 2, end=\'\')')
DOES_NOT_KNOW = fake('print(\'{"status": "unknown", "reason": "timeout: of its own"}\')')


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("command", "seconds", "cause"),
    [(HANGS, 0.6, "timeout"), (TWICE, 20, "solver error"), (DOES_NOT_KNOW, 20, "timeout: of its own")],
    ids=["late", "twice", "does not know"],
)
@pytest.mark.parametrize("name", ["alignment", "integers"])
def test_a_process_that_does_not_answer_well_proves_nothing(monkeypatch, name, command, seconds, cause):
    monkeypatch.setitem(COMMANDS, "bitwuzla", command)
    question = Equivalence(*pair_of(name))
    question.compares_runs = False
    found = answer(question, question.designs[0], Means(Solving(), Limits(seconds, 4 << 30), None))
    assert found.status is Status.UNKNOWN
    assert found.reason.startswith(cause)
    assert {x.status for x in found.lemmas} == {Status.UNKNOWN}


def test_equal_arithmetic_needs_no_solver_and_its_precondition_does():
    design = find_design(FP16)
    same = Equivalence(design, design.change(L=design.step.L))
    found, solving = proof_of(same, lambda *_: UNKNOWN)
    assert (found.status, solving.asked) == (Status.PROVED, [])
    narrow = Equivalence(design, design, where=[parse_precondition("normal")])
    found, _ = proof_of(narrow, lambda *_: UNKNOWN)
    assert (found.status, found.origin == BY_IDENTITY) == (Status.UNKNOWN, False)
    found, _ = proof_of(narrow, lambda *_: UNSAT)
    assert (found.status, found.origin == BY_IDENTITY) == (Status.VACUOUS, False)


@pytest.mark.parametrize("name", ["alignment", "sequential sums"])
@pytest.mark.parametrize("of_precondition", [UNKNOWN, UNSAT], ids=["unknown", "vacuous"])
def test_proved_lemmas_are_no_origin_where_the_precondition_is_not_known_to_be_met(name, of_precondition):
    question = Equivalence(*pair_of(name), where=[parse_precondition("finite")])
    question.compares_runs = False
    precondition = question.formula.precondition
    found, _ = proof_of(question, lambda formula, _: of_precondition if formula is precondition else UNSAT)
    assert found.status is (Status.UNKNOWN if of_precondition is UNKNOWN else Status.VACUOUS)
    assert (bool(found.lemmas), "lemmas" in found.origin) == (True, False)
