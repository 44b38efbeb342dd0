"""What is claimed of a register in a clock cycle in which it takes no step of its design, or starts a chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mmaproof.designs.design import Design

HOLD, CLEAR, FIRST, DRAIN, VIEW = "hold", "clear", "clear with enable", "drain", "view"
"""Keys of claims: it keeps its value; it becomes the value of the start; the same while it is enabled, too; it is read
elsewhere; its words are those of their number."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A claim about one clock cycle: the register holds next what ``model`` returns, where ``unit`` is its netlist.

    c is what the register holds, or what it loads, and d what it holds next, or what ``read`` holds, as many cycles
    later as the ``longest`` path to it has registers. A model of None is the design that the unit is meant to be.
    Claims of one ``key`` are alternatives: one of them is to hold.
    """

    key: str
    text: str
    unit: Design
    model: Design | None
    where: tuple[str, ...] = ()
    control: Mapping[str, bool] = field(default_factory=dict)
    """whether the register is enabled, cleared, loaded and drained"""
    read: str | None = None
    longest: int = 0
