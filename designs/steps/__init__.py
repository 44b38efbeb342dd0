"""The kinds of steps. Each is a record with its own parameters.

A new kind is a module here that ``STEPS`` lists. Its arithmetic is a module of ``smt/semantics``.
"""

from __future__ import annotations

from mmaproof.designs.steps.fused import FusedStep, JoinedAsTerm, JoinedExactly, JoinedInIeee, JoinedRoundedDown
from mmaproof.designs.steps.integer import IntegerStep
from mmaproof.designs.steps.lanes import InterleavedStep, LanesStep
from mmaproof.designs.steps.netlist import NetlistStep
from mmaproof.designs.steps.pairwise import PairwiseStep
from mmaproof.designs.steps.sequential import SequentialStep
from mmaproof.designs.steps.step import Guarantee, RoundedOperations, RoundedStep, Step

STEPS: tuple[type[Step], ...] = (
    IntegerStep,
    FusedStep,
    PairwiseStep,
    SequentialStep,
    InterleavedStep,
    LanesStep,
    NetlistStep,
)
"""Every kind of step. The first one that the settings choose is taken."""

__all__ = [
    "STEPS",
    "FusedStep",
    "Guarantee",
    "IntegerStep",
    "InterleavedStep",
    "JoinedAsTerm",
    "JoinedExactly",
    "JoinedInIeee",
    "JoinedRoundedDown",
    "LanesStep",
    "NetlistStep",
    "PairwiseStep",
    "RoundedOperations",
    "RoundedStep",
    "SequentialStep",
    "Step",
]
