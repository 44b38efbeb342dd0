"""The chain of steps of an instruction: the order of its products, and what one step passes to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from mmaproof.designs.k_order import CONSECUTIVE, KOrder
from mmaproof.designs.readings import ChainInfinity, Join
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.aligned import POINTS
from mmaproof.designs.steps.record import Record, parameter
from mmaproof.designs.steps.step import Step


@dataclass(frozen=True)
class Chain(Record):
    """The order in which k enters the steps, and the c that each step takes.

    The first step takes c, and each later step takes the d of the step before it. With ``adds_c_once`` the first step
    takes +0, and c is added to the last d, rounded to nearest.
    """

    k_order: KOrder = parameter(CONSECUTIVE, KOrder, "order in which products enter the steps", "reference recordings")
    chain_infinity: ChainInfinity = parameter(
        ChainInfinity.INFINITE, ChainInfinity, "an infinity produced inside a chain", POINTS + "8"
    )
    adds_c_once: bool = False
    """whether c is added once, after the last step of an instruction"""

    @property
    def keeps_infinities(self) -> bool:
        """Whether the next step reads an infinity as an infinity, even if it came from finite operands."""
        return self.chain_infinity is ChainInfinity.INFINITE

    @classmethod
    def of(cls, settings: Mapping[str, Any], step: Step) -> Self:
        """Return the chain of ``step`` with the values of ``settings``, which must name every parameter."""
        infinity = settings["chain_infinity"] if step.hands_on_overflow else ChainInfinity.INFINITE
        once = settings["join"] is Join.IEEE_ONCE and step.can_start_at_zero
        return cls(settings["k_order"], infinity, once)

    def settings(self) -> dict[str, Any]:
        """Return the values of the chain's parameters by name."""
        return super().settings() | ({"join": Join.IEEE_ONCE} if self.adds_c_once else {})

    def misfits(self, signature: Signature, step: Step) -> Iterator[tuple[str, str]]:
        """Yield what does not fit the signature or the step: the field of a catalogue row, and the problem."""
        if self.adds_c_once and not step.can_start_at_zero:
            yield "join", f"join = {Join.IEEE_ONCE} is of steps in which c is a term of the sum"
        if self.chain_infinity is not ChainInfinity.INFINITE and not step.hands_on_overflow:
            yield "chain_infinity", f"chain_infinity = {self.chain_infinity} has no effect with this kind of step"
        if self.adds_c_once and signature.c is not signature.d:
            yield "join", f"join = {Join.IEEE_ONCE} adds c in {signature.d.name}, and c is {signature.c.name}"
