"""Proofs that hold are accepted, and nothing that does not follow is."""

import itertools
import random
from collections.abc import Sequence

import pytest
from pysat.solvers import Solver

from mmaproof.smt.solving.drup import Step, check_refutation, parse_proof
from mmaproof.smt.solving.errors import ProofRejectedError
from mmaproof.smt.solving.proof_worker import SAT_SOLVER

# Every assignment of two variables is excluded.
SQUARE = [[1, 2], [1, -2], [-1, 2], [-1, -2]]


def accepts(clauses: Sequence[Sequence[int]], steps: Sequence[Step]) -> bool:
    try:
        check_refutation(clauses, steps)
    except ProofRejectedError:
        return False
    return True


def is_satisfiable(clauses: Sequence[Sequence[int]], variables: int) -> bool:
    assignments = itertools.product((False, True), repeat=variables)
    return any(all(any(a[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses) for a in assignments)


def follows(clauses: Sequence[Sequence[int]], clause: Sequence[int]) -> bool:
    """Reverse unit propagation as its definition says, without any thought of speed."""
    false = set(clause)
    while all(any(x not in false for x in c) for c in clauses) and not any(-x in false for x in false):
        units = {left.pop() for c in clauses if len(left := {x for x in c if x not in false}) == 1}
        if units <= {-x for x in false}:
            return False
        false |= {-x for x in units}
    return True


def pigeons(count: int) -> list[list[int]]:
    """N pigeons do not fit into one hole fewer."""
    sits = [[1 + pigeon * (count - 1) + hole for hole in range(count - 1)] for pigeon in range(count)]
    return sits + [[-x, -y] for hole in zip(*sits, strict=True) for x, y in itertools.combinations(hole, 2)]


def test_a_proof_by_hand() -> None:
    check_refutation(SQUARE, parse_proof("2 0\nd 1 2 0\n0\n"))
    check_refutation([[1], [-1]], [])
    check_refutation([[1], []], parse_proof("0\n"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0", "step 1 of the proof does not follow: "),
        ("3 0\n2 0\n0", "step 1 of the proof does not follow: 3 0"),
        ("2 3 0\n0", "step 2"),
        ("d 1 2 0\n2 0\n0", "step 2 of the proof does not follow: 2 0"),
        ("d 2 1 0\n2 0\n0", "step 2 of the proof does not follow: 2 0"),
        ("1 2 0", "ends before the empty clause"),
        ("", "ends before the empty clause"),
        ("2", "line 1 of the proof, '2', is not one clause that ends with 0"),
        ("2 0\n\n0", "line 2 of the proof, '', is not a clause"),
        ("2 0 0", "line 1 of the proof"),
        ("2 0 1 0", "line 1 of the proof"),
        ("d", "line 1 of the proof"),
        ("two 0", "line 1 of the proof, 'two 0', is not a clause"),
    ],
)
def test_a_proof_with_a_mistake_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(ProofRejectedError) as rejected:
        check_refutation(SQUARE, parse_proof(text))
    assert complaint in str(rejected.value)


def test_a_step_that_only_keeps_satisfiability_is_rejected() -> None:
    # 2 has nothing against it once the clause that forbids it is deleted, which is a step of DRAT, but with the
    # literal -2 that this clause forced before, it would refute clauses that x1 = x2 = 0 satisfies.
    assert not accepts([[-1], [1, -2]], list(parse_proof("d 1 -2 0\n2 0\n0")))


def test_a_missing_or_changed_clause_of_a_real_proof_is_noticed() -> None:
    clauses = pigeons(5)
    with Solver(name=SAT_SOLVER, bootstrap_with=clauses, with_proof=True) as solver:
        assert not solver.solve()
        steps = list(parse_proof("\n".join(solver.get_proof())))
    check_refutation(clauses, steps)
    assert all(not accepts([*clauses[:n], *clauses[n + 1 :]], steps) for n in range(len(clauses)))
    additions = [n for n, (deleted, _) in enumerate(steps) if not deleted]
    rejected = {n for n in additions if not accepts(clauses, [*steps[:n], *steps[n + 1 :]])}
    assert len(rejected) > len(additions) / 3
    rng = random.Random(1)
    for n in additions:
        changed = [x if rng.random() < 0.7 else -x for x in steps[n][1]]
        known = [*clauses, *(literals for deleted, literals in steps[:n] if not deleted)]
        if accepts(clauses, [*steps[:n], (False, changed), *steps[n + 1 :]]):
            assert follows(known, changed)


def test_only_what_is_unsatisfiable_is_refuted() -> None:
    rng = random.Random(2)
    accepted = 0
    for _ in range(3000):
        variables = rng.randint(2, 5)

        def clause(longest: int, variables: int = variables) -> list[int]:
            return [rng.choice((-1, 1)) * rng.randint(1, variables) for _ in range(rng.randint(1, longest))]

        clauses = [clause(3) for _ in range(rng.randint(2, 5 * variables))]
        steps: list[Step] = [(False, clause(2)) for _ in range(rng.randint(0, 5))] + [(False, [])]
        known, right = list(clauses), True
        for _, literals in steps:
            right = right and follows(known, literals)
            known.append(literals)
        # A proof that goes on after a contradiction was found need not be right to its end.
        assert accepts(clauses, steps) == (right or follows(clauses, []))
        for _ in range(rng.randint(0, 4)):
            steps.insert(rng.randrange(len(steps)), (True, rng.choice(clauses)))
        if accepts(clauses, steps):
            accepted += 1
            assert not is_satisfiable(clauses, variables)
    assert accepted > 300
