"""The arithmetic of a design: what decides the d of a dot product, and nothing else that a record says."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.chain import Chain
from mmaproof.designs.design import Design
from mmaproof.designs.k_order import CONSECUTIVE
from mmaproof.designs.parameters import complete_settings
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Step


@dataclass(frozen=True)
class Arithmetic:
    """What decides the d of a dot product whose length is a multiple of K.

    It is a chain of instructions, each a chain of steps of L products (L divides K), the d of one step being the c of
    the next. Where every step adds to c, and an instruction takes its products in the order of k, nothing in this chain
    shows where an instruction ends: d does not depend on K, and ``k`` is None. A permutation of k is one within an
    instruction, and with the join ieee-once an instruction adds to c once: there K is a part of the arithmetic.
    """

    signature: Signature
    chain: Chain
    step: Step
    k: int | None

    @classmethod
    def of(cls, design: Design) -> Arithmetic:
        """Return the arithmetic of a design."""
        chain = design.chain
        seamless = chain.k_order == CONSECUTIVE and not chain.adds_c_once
        return cls(design.signature, chain, design.step, None if seamless else design.k)


def differing_parameters(first: Design, second: Design) -> frozenset[str]:
    """Return the names of the parameters in which two designs differ."""
    ours, theirs = (complete_settings(d.chain, d.step) for d in (first, second))
    return frozenset(name for name, value in ours.items() if value != theirs[name])


def same_chain(first: Design, second: Design, length: int) -> bool:
    """Return whether dot products of ``length`` are the same chain of steps in both designs, whatever a step does.

    It is so where K is the same, padding included. Instructions of different K chain the same steps where nothing shows
    where an instruction ends, and where neither pads.
    """
    if (first.signature, first.step.L, first.chain.k_order) != (second.signature, second.step.L, second.chain.k_order):
        return False
    if first.k == second.k:
        return True
    seamless = Arithmetic.of(first).k is None and Arithmetic.of(second).k is None
    return seamless and length % first.k == 0 and length % second.k == 0


def same_arithmetic(first: Design, second: Design, length: int) -> bool:
    """Return whether dot products of ``length`` are the same computation in both designs."""
    return Arithmetic.of(first) == Arithmetic.of(second) and same_chain(first, second, length)
