"""Classes of designs: only pairs that are proved equal are, whatever else is known of the others."""

import itertools

import pytest
from support.deciding import proof_if
from support.sampling import fp16_design

from mmaproof.designs.element import Operands
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison
from mmaproof.verification.matrix import PairVerdict, groups_of

DESIGNS = [fp16_design(4, fraction_bits=f) for f in (23, 24, 25)]
NOT_PROVED = [Status.UNKNOWN, Status.VACUOUS, Status.REFUTED]


def group(*statuses):
    """The group of the three designs: what is known of the first two, the outer two, and the last two."""
    answers = []
    for pair, status in zip(itertools.combinations(DESIGNS, 2), statuses, strict=True):
        reason = "timeout: made up" if status is Status.UNKNOWN else None
        witness = Operands((0,) * 4, (0,) * 4, 0) if status is Status.REFUTED else None
        answers.append(
            PairVerdict(
                Comparison(status, 0.0, reason, witness, question=Equivalence(*pair), proof=proof_if(status)), None
            )
        )
    (found,) = groups_of(DESIGNS, answers)
    return found


@pytest.mark.parametrize("status", NOT_PROVED)
def test_two_pairs_that_are_proved_say_something_of_a_third_that_is_not(status):
    found = group(Status.PROVED, status, Status.PROVED)
    assert len(found.classes) == 3
    assert [[x.status for x in three] for three in found.not_transitive()] == [[Status.PROVED, Status.PROVED, status]]


@pytest.mark.parametrize("first", NOT_PROVED)
@pytest.mark.parametrize("second", [*NOT_PROVED, Status.PROVED])
def test_pairs_that_are_not_proved_say_nothing_of_a_third(first, second):
    for outer in NOT_PROVED:
        assert list(group(first, outer, second).not_transitive()) == []


def test_designs_that_are_proved_equal_are_one_class():
    found = group(*[Status.PROVED] * 3)
    assert (len(found.classes), list(found.not_transitive())) == (1, [])


@pytest.mark.parametrize(("first", "outer"), [*itertools.product((Status.UNKNOWN, Status.REFUTED), repeat=2)])
def test_two_classes_are_as_different_as_the_most_different_pair(first, outer):
    found = group(first, outer, Status.PROVED)
    assert [len(x) for x in found.classes] == [1, 2]
    assert found.verdict(*found.classes) == ("different" if Status.REFUTED in (first, outer) else "unknown")
