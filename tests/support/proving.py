"""Staged proofs of properties, with limits that are not the point of any test."""

from mmaproof.designs.design import Design
from mmaproof.properties.property import SimpleProperty
from mmaproof.properties.question import Scope
from mmaproof.smt.proving.lemma import StagedProof
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.stages import by_stages


def staged(asked: SimpleProperty, design: Design) -> StagedProof:
    """Return what comes of a staged proof that one step of ``design`` has the property."""
    return by_stages(asked.question(design, Scope()), design, Solving().ask, Limits(120, 4 << 30), 0)
