"""The arithmetic of a design: the part of its record that decides the d of a dot product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mmaproof.designs.catalogue import Catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.parameters import DEFINITIONS, Chain, complete_settings, format_parameter
from mmaproof.designs.readings import CONSECUTIVE
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Step


@dataclass(frozen=True)
class Arithmetic:
    """What decides the d of a dot product whose length is a multiple of K.

    The dot product is a chain of instructions, and an instruction is a chain of steps of L products (L divides K). The
    d of one step is the c of the next. If every step adds to c, and an instruction takes its products in the order of
    k, then d does not depend on where an instruction ends, so it does not depend on K. ``k`` is None then. K is a part
    of the arithmetic if k is permuted, because the permutation is within an instruction. It also is one with the join
    ieee-once, because an instruction adds to c once, and if a c of -0 becomes +0 where it enters an instruction.
    """

    signature: Signature
    chain: Chain
    step: Step
    k: int | None

    @classmethod
    def of(cls, design: Design) -> Arithmetic:
        """Return the arithmetic of a design."""
        chain = design.chain
        seamless = chain.k_order == CONSECUTIVE and not chain.adds_c_once and not design.step.clears_minus_zero
        return cls(design.signature, chain, design.step, None if seamless else design.k)


def differing_parameters(first: Design, second: Design) -> frozenset[str]:
    """Return the names of the parameters in which two designs differ: all of them if one has no parameters."""
    if not (first.step.is_parametric and second.step.is_parametric):
        return frozenset(DEFINITIONS)
    ours, theirs = (complete_settings(d.chain, d.step) for d in (first, second))
    return frozenset(name for name, value in ours.items() if value != theirs[name])


def same_chain(first: Design, second: Design, length: int) -> bool:
    """Return whether both designs take the same products in the same steps for dot products of ``length``.

    What a step computes is not compared. The chains are the same if K is the same, padding included. They are also the
    same for different K if d does not depend on where an instruction ends (``Arithmetic``) and neither design pads.
    """
    if (first.signature, first.step.L, first.chain.k_order) != (second.signature, second.step.L, second.chain.k_order):
        return False
    if first.k == second.k:
        return length >= first.k or first.k_multiple == second.k_multiple
    seamless = Arithmetic.of(first).k is None and Arithmetic.of(second).k is None
    return seamless and length % first.k == 0 and length % second.k == 0


def same_arithmetic(first: Design, second: Design, length: int) -> bool:
    """Return whether dot products of ``length`` are the same computation in both designs."""
    return Arithmetic.of(first) == Arithmetic.of(second) and same_chain(first, second, length)


def steps_of_chain(design: Design, length: int | None = None) -> tuple[Design, ...] | None:
    """Return designs of one step for which a statement about all operands holds of every step of a chain.

    The chain is a dot product of ``length``, or of any length without one. Its first step reads a c of c's own format.
    Every later step reads the d of the step before, so that it is a step whose c has the format of d. The two are one
    where both formats are the same.

    Return None if some step reads what no step by itself is given: an infinity that it reads as a number, a c of -0
    that is +0 only where it enters an instruction, or +0 for a c that is added after the last step.
    """
    one = design.one_step()
    # a unit whose d is not handed on has chains of one instruction
    longest = design.k if length is None and not design.hands_on else length
    if longest is not None and design.padded_length(longest) == one.k:
        return (one,)
    if design.chain.adds_c_once or not design.chain.keeps_infinities or design.step.clears_minus_zero:
        return None
    if design.c_format is design.d_format:
        return (one,)
    try:
        return one, replace(one, signature=replace(one.signature, c=one.d_format))
    except DesignError:  # such a step has no design of its own
        return None


def repeats_one_step(design: Design, length: int) -> bool:
    """Return whether what holds of one step, for all operands, holds of every step of dot products of ``length``."""
    return len(steps_of_chain(design, length) or ()) == 1


@dataclass(frozen=True)
class Pair:
    """A unit of either architecture, of one signature."""

    first: Design
    second: Design

    @property
    def same(self) -> bool:
        """Whether both are one computation."""
        return Arithmetic.of(self.first) == Arithmetic.of(self.second)

    @property
    def differences(self) -> Mapping[str, tuple[str, str]]:
        """The values of each parameter that is not the same."""
        ours, theirs = (complete_settings(x.chain, x.step) for x in (self.first, self.second))
        names = [n for n in DEFINITIONS if n in differing_parameters(self.first, self.second)]
        return {n: (format_parameter(n, ours[n]), format_parameter(n, theirs[n])) for n in names}


def in_common(catalogue: Catalogue, first: str, second: str) -> list[Pair]:
    """Return a pair of units for each signature with one format of a and b that two architectures both have.

    Of several units of an architecture it is the one of its newest kind of instruction (wgmma, tcgen05.mma), and of the
    largest K.
    """
    units = [_units(catalogue, x) for x in (first, second)]
    return [Pair(x, units[1][key]) for key, x in units[0].items() if key in units[1]]


def _units(catalogue: Catalogue, architecture: str) -> dict[object, Design]:
    found: dict[object, Design] = {}
    here = [x for x in catalogue.designs.values() if x.architecture == architecture and x.a_format is x.b_format]
    for design in sorted(here, key=lambda x: (x.instruction.startswith("mma."), -x.k, x.m, x.n)):
        found.setdefault(design.signature, design)
    return found
