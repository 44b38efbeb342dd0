"""What a solver says of a lemma, with limits that are not the point of any test."""

from mmaproof.properties.property import Joined, Proof
from mmaproof.smt.proving.lemma import Statement
from mmaproof.smt.proving.lemma import decide as decide_within
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status


def proof_if(status: Status) -> Proof | None:
    """What a verdict with this status has for a proof, where nobody made one."""
    return Joined() if status is Status.PROVED else None


def decide(lemma: Statement) -> Status:
    """Return the status of a lemma or question."""
    return decide_within(lemma, Solving().ask, Limits(120, 4 << 30)).status
