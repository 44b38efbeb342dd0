"""How tests ask questions about algorithms: no store, limits that are not the point of any test."""

from mmaproof.gemm.answers.verdict import Asked
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.compare import DEFAULT_BUDGET
from mmaproof.verification.search import Means


def asked() -> Asked:
    """Return new limits and no lemmas yet."""
    return Asked(Means(Solving(), Limits(240, 4 << 30), DEFAULT_BUDGET))
