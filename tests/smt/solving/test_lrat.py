"""Proofs with hints: they name clauses that suffice, and nothing that does not follow has a proof."""

import itertools
import random
import resource

import pytest
from support.bundles import load_checker

from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.lrat import check, needed, parse, proof_of, refutation_of
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.smt.solving.verdict import ProofRejectedError

CHECKER = load_checker()
LIMITS = Limits(60, 1 << 30)


def pigeons(count):
    """N pigeons do not fit into one hole fewer."""
    sits = [[1 + pigeon * (count - 1) + hole for hole in range(count - 1)] for pigeon in range(count)]
    return sits + [[-x, -y] for hole in zip(*sits, strict=True) for x, y in itertools.combinations(hole, 2)]


def steps_of(clauses):
    model, steps = proof_of(clauses)
    return steps if model is None else None


def accepts(clauses, steps):
    try:
        check(clauses, steps)
    except ProofRejectedError:
        return False
    return True


def is_satisfiable(clauses, variables):
    assignments = itertools.product((False, True), repeat=variables)
    return any(all(any(a[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses) for a in assignments)


def accepted(clauses, found):
    """Whether the checker of bundles accepts a refutation, and its clauses are some of those given."""
    numbered = dict(enumerate(found.clauses, 1))
    CHECKER.check_lrat(numbered, found.lrat(), "a proof")
    return {tuple(sorted(x)) for x in found.clauses} <= {tuple(sorted(x)) for x in clauses}


@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_pigeons(count):
    clauses = pigeons(count)
    assert accepted(clauses, refutation_of(clauses, steps_of(clauses)))


def test_random_clauses():
    draw, refuted = random.Random(0), 0
    for _ in range(200):
        clauses = [[draw.choice((-1, 1)) * draw.randint(1, 6) for _ in range(draw.randint(1, 3))] for _ in range(22)]
        steps = steps_of(clauses)
        if steps is not None:
            assert accepted(clauses, refutation_of(clauses, steps))
            refuted += 1
    assert refuted > 50


def test_what_is_not_needed_is_left_out():
    clauses = [[5, 6], *pigeons(3), [7, 8], [-7, 9]]
    found = refutation_of(clauses, steps_of(clauses))
    assert accepted(clauses, found)
    assert not {5, 6} & {abs(x) for x in itertools.chain(*found.clauses)} - set(range(1, 7))
    assert len(found.clauses) <= len(pigeons(3))


# Every assignment of two variables is excluded.
SQUARE = [[1, 2], [1, -2], [-1, 2], [-1, -2]]


def test_a_proof_by_hand():
    check(SQUARE, parse("5 2 0 1 3 0\n5 d 1 3 0\n6 0 5 2 4 0\n"))
    check([[1], [-1]], parse("3 0 1 2 0"))
    check([[1], []], parse("3 0 2 0"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("5 0 1 0", "step 5 of the proof does not follow: "),
        ("5 3 0 1 2 3 4 0", "step 5 of the proof does not follow: 3 0"),
        ("5 2 0 3 1 0\n6 0 5 2 0", "step 6"),
        ("5 2 0 1 0\n6 0 5 2 4 0", "step 5 of the proof does not follow: 2 0"),
        ("5 2 0 1 9 0\n6 0 5 2 4 0", "step 5 of the proof does not follow: 2 0"),
        ("5 2 0 1 3 0\n5 0 5 2 4 0", "step 5 of the proof does not follow"),
        ("4 2 0 1 3 0\n5 0 4 2 0", "step 4 of the proof does not follow"),
        ("5 2 0 0\n6 0 5 2 4 0", "step 5 of the proof does not follow"),
        ("5 1 2 0 1 0", "ends before the empty clause"),
        ("", "ends before the empty clause"),
        ("5 2", "line 1 of the proof, '5 2', is not a step"),
        ("5 2 0 1 3 0\n\n6 0 5 2 4 0", "line 2 of the proof, '', is not a step"),
        ("5 2 0 1 3", "line 1 of the proof, '5 2 0 1 3', is not a step that follows"),
        ("5 2 0 1 -3 0", "line 1 of the proof, '5 2 0 1 -3 0', is not a step that follows"),
        ("five 2 0 1 3 0", "line 1 of the proof"),
        ("0 2 0 1 3 0", "line 1 of the proof"),
    ],
)
def test_a_proof_with_a_mistake_is_rejected(text, complaint):
    with pytest.raises(ProofRejectedError) as rejected:
        check(SQUARE, parse(text))
    assert complaint in str(rejected.value)


def test_what_no_empty_clause_ends_is_no_proof():
    with pytest.raises(ProofRejectedError, match="ends before the empty clause"):
        needed(2, [(3, (2,), (1, 2))])


def test_a_solver_numbers_what_it_shortens_among_the_given_clauses():
    """Twice a literal, a clause that holds always, and units, in any order: the numbers are those of the clauses."""
    for clauses in ([[1, 1], [-1]], [[1, -1], [2], [-2]], [[1], [1], [-1, 2], [-2, 3, 3], [-3]], [[2], []]):
        assert accepts(clauses, steps_of(clauses))
    draw, refuted = random.Random(3), 0
    for _ in range(1000):
        variables = draw.randint(1, 5)
        clauses = [
            [draw.choice((-1, 1)) * draw.randint(1, variables) for _ in range(draw.choice((1, 1, 2, 2, 3, 4)))]
            for _ in range(draw.randint(1, 14))
        ]
        steps = steps_of(clauses)
        assert (steps is None) == is_satisfiable(clauses, variables)
        if steps is not None:
            refuted += 1
            assert accepts(clauses, steps)
            assert accepted(clauses, refutation_of(clauses, steps))
    assert refuted > 300


def test_a_missing_or_changed_clause_of_a_real_proof_is_noticed():
    clauses = pigeons(5)
    steps = steps_of(clauses)
    check(clauses, steps)
    used = {hint for _, _, hints in steps for hint in hints}
    for number in range(1, len(clauses) + 1):
        changed = [[99] if at == number else x for at, x in enumerate(clauses, 1)]
        assert accepts(changed, steps) == (number not in used)
    for at, (number, literals, hints) in enumerate(steps):
        assert not accepts(clauses, [*steps[:at], *steps[at + 1 :]])
        for left_out in range(len(hints)):
            fewer = (number, literals, (*hints[:left_out], *hints[left_out + 1 :]))
            assert not accepts(clauses, [*steps[:at], fewer, *steps[at + 1 :]])


@pytest.mark.middle
def test_only_what_is_unsatisfiable_is_refuted():
    draw, found = random.Random(2), 0
    for _ in range(5000):
        variables = draw.randint(2, 4)

        def clause(longest, variables=variables):
            return [draw.choice((-1, 1)) * draw.randint(1, variables) for _ in range(draw.randint(1, longest))]

        clauses = [clause(2) for _ in range(draw.randint(2, 4 * variables))]
        steps, last = [], len(clauses)
        for literals in [*(clause(1) for _ in range(draw.randint(0, 2))), []]:
            last += 1
            steps.append((last, tuple(literals), tuple(draw.choices(range(1, last), k=draw.randint(1, 4)))))
        if accepts(clauses, steps):
            found += 1
            assert not is_satisfiable(clauses, variables)
    assert found > 30


def test_a_step_without_its_hints_is_not_accepted():
    found = refutation_of(pigeons(4), steps_of(pigeons(4)))
    lines = found.lrat().splitlines()
    for number, (_, literals, hints) in enumerate(found.steps):
        for left_out in range(len(hints)):
            fewer = [x for i, x in enumerate(hints) if i != left_out]
            line = " ".join(map(str, (found.steps[number][0], *literals, 0, *fewer, 0)))
            text = "\n".join([*lines[:number], line, *lines[number + 1 :]])
            with pytest.raises(CHECKER.Rejected, match=f"line {number + 1}"):
                CHECKER.check_lrat(dict(enumerate(found.clauses, 1)), text, "a proof")


def test_a_process_refutes_one_after_the_other_and_says_what_it_cannot():
    with Refuter(1 << 30) as refuter:
        for clauses in (pigeons(3), pigeons(4)):
            assert accepted(clauses, refuter.refute(clauses, LIMITS))
        with pytest.raises(NotRefutedError, match="satisfiable"):
            refuter.refute([[1, 2]], LIMITS)
        with pytest.raises(NotRefutedError, match="time limit"):
            refuter.refute(pigeons(11), Limits(0.3, 1 << 30))
        assert accepted(pigeons(3), refuter.refute(pigeons(3), LIMITS))


def test_a_proof_that_does_not_fit_on_the_disk_is_none(capfd):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Refuter(1 << 30) as refuter:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, hard))  # the process inherits it
        try:
            with pytest.raises(NotRefutedError, match="room for temporary files"):
                refuter.refute(pigeons(6), LIMITS)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "Traceback" not in capfd.readouterr().err
