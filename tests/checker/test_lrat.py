"""The checker of LRAT proofs takes each step for what it is, and accepts no proof of what can be satisfied."""

import itertools
import random

import pytest
from support.bundles import load_checker

SQUARE = {1: (1, 2), 2: (1, -2), 3: (-1, 3), 4: (-1, -3)}
"""Two variables in all combinations: nothing satisfies these."""
REFUTED = "5 1 0 1 2 0\n6 0 5 3 4 0\n"

NO_END, NO_CONFLICT = "ends before the empty clause", "does not follow from those that it names"
NO_NEW = "the number of a step is greater"

REJECTED = {
    "no step": ("", NO_END),
    "no empty clause": ("5 1 0 1 2 0\n", NO_END),
    "a clause that does not follow": ("5 3 0 1 2 0\n6 0 5 3 4 0\n", "line 1: clause 1 forces nothing"),
    "a clause that follows from others than it names": (
        "5 1 0 1 0\n6 0 5 3 4 0\n",
        f"line 1: the clause {NO_CONFLICT}",
    ),
    "no hints": ("5 0 0\n", NO_CONFLICT),
    "hints without a conflict": ("5 1 0 1 2 0\n6 0 5 3 0\n", f"line 2: the clause {NO_CONFLICT}"),
    "a hint that forces nothing": ("5 1 0 1 2 0\n6 0 1 5 3 4 0\n", "line 2: clause 1 forces nothing"),
    "a clause that is not there": ("5 1 0 1 2 0\n6 0 9 0\n", "line 2: clause 9 forces nothing"),
    "a clause that is far away": (f"5 1 0 1 2 0\n6 0 {'9' * 18} 0\n", "forces nothing"),
    "itself": ("5 0 5 0\n", "line 1: clause 5 forces nothing"),
    "a later one": ("5 0 6 0\n6 0 5 0\n", "line 1: clause 6 forces nothing"),
    "a clause in the place of another one": ("1 1 0 1 2 0\n5 0 1 3 4 0\n", f"line 1: {NO_NEW}"),
    "the same number twice": ("5 1 0 1 2 0\n5 0 5 3 4 0\n", f"line 2: {NO_NEW}"),
}


def test_a_refutation_is_accepted():
    load_checker().check_lrat(SQUARE, REFUTED, "a proof")


@pytest.mark.parametrize("proof", REJECTED)
def test_what_is_none_is_not(proof):
    checker = load_checker()
    text, reason = REJECTED[proof]
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_lrat(SQUARE, text, "a proof")


def test_a_negated_clause_may_be_its_own_conflict():
    """A step whose clause is among those known follows from that one alone."""
    load_checker().check_lrat(SQUARE, "5 1 2 0 1 0\n6 1 0 5 2 0\n7 0 6 3 4 0\n", "a proof")


def is_satisfiable(clauses, variables):
    values = itertools.product((False, True), repeat=variables)
    return any(all(any(x[abs(y) - 1] == (y > 0) for y in c) for c in clauses) for x in values)


def test_random_proofs_of_several_steps_prove_only_what_is_so():
    """Whatever a proof says, each clause that it derives follows; so none ends in the empty clause without reason."""
    draw, checker, accepted = random.Random(8), load_checker(), 0
    for _ in range(1500):
        signs = (-1, 1)
        clauses = {i: tuple({draw.choice(signs) * draw.randint(1, 2) for _ in range(2)}) for i in range(1, 6)}
        lines = []
        for number in (6, 7, 8):
            own = [draw.choice(signs) * draw.randint(1, 2)] if number < 8 else []
            hints = [draw.randint(1, number - 1) for _ in range(draw.randint(1, 3))]
            lines.append(" ".join(map(str, (number, *own, 0, *hints, 0))))
        try:
            checker.check_lrat(clauses, "\n".join(lines), "a proof")
        except checker.Rejected:
            continue
        accepted += 1
        assert not is_satisfiable(clauses.values(), 2), (clauses, lines)
    assert accepted
