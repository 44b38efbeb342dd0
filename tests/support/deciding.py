"""What a solver says of a lemma, with limits that are not the point of any test."""

from mmaproof.smt.proving.decide import Statement
from mmaproof.smt.proving.decide import decide as decide_within
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status


def decide(lemma: Statement) -> Status:
    """Return the status of a lemma or question."""
    return decide_within(lemma, Solving().ask, Limits(120, 4 << 30)).status
