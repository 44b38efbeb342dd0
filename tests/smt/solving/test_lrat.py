"""Proofs with hints: they name clauses that suffice, and nothing that does not follow has a proof."""

import itertools
import random
import resource

import pytest
from pysat.solvers import Solver
from support.bundles import load_checker

from mmaproof.smt.solving.drup import parse_proof
from mmaproof.smt.solving.errors import ProofRejectedError
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.lrat import refutation_of
from mmaproof.smt.solving.proof_worker import SAT_SOLVER
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter

CHECKER = load_checker()
LIMITS = Limits(60, 1 << 30)


def pigeons(count):
    """N pigeons do not fit into one hole fewer."""
    sits = [[1 + pigeon * (count - 1) + hole for hole in range(count - 1)] for pigeon in range(count)]
    return sits + [[-x, -y] for hole in zip(*sits, strict=True) for x, y in itertools.combinations(hole, 2)]


def steps_of(clauses):
    with Solver(name=SAT_SOLVER, bootstrap_with=clauses, with_proof=True) as solver:
        return None if solver.solve() else list(parse_proof("\n".join((*solver.get_proof(), ""))))


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


@pytest.mark.parametrize(
    ("clauses", "steps", "complaint"),
    [
        ([[1, 2]], [(False, [1])], "step 1 of the proof does not follow: 1 0"),
        ([[1, 2], [-1, 2]], [(False, [2])], "ends before the empty clause"),
        ([[1, 2]], [], "ends before the empty clause"),
    ],
)
def test_what_does_not_follow_has_no_proof(clauses, steps, complaint):
    with pytest.raises(ProofRejectedError, match=complaint):
        refutation_of(clauses, steps)


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
