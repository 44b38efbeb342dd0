"""The arithmetic of a design: what decides the d of a dot product, and nothing else that a record says."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.k_order import CONSECUTIVE
from mmaproof.designs.parameters import Parameters
from mmaproof.designs.readings import Join


@dataclass(frozen=True)
class Kind:
    """What two designs share if they are comparable: formats, and blocks of scales."""

    formats: tuple[Format, Format, Format, Format]
    scale_format: Format | None
    block: int | None

    @classmethod
    def of(cls, design: Design) -> Kind:
        """Return the kind of a design."""
        return cls(design.formats, design.scale_format, design.block)

    def __str__(self) -> str:
        a, b, c, d = (f.name for f in self.formats)
        scales = "" if self.scale_format is None else f", {self.scale_format.name} scales of blocks of {self.block}"
        return f"{a} * {b} + {c} -> {d}{scales}"


@dataclass(frozen=True)
class Arithmetic:
    """What decides the d of a dot product whose length is a multiple of K.

    It is a chain of instructions, each a chain of steps of L products (L divides K), the d of one step being the c of
    the next. Where every step adds to c, and an instruction takes its products in the order of k, nothing in this chain
    shows where an instruction ends: d does not depend on K, and ``k`` is None. A permutation of k is one within an
    instruction, and with the join ieee-once an instruction adds to c once: there K is a part of the arithmetic.
    """

    kind: Kind
    parameters: Parameters
    k: int | None

    @classmethod
    def of(cls, design: Design) -> Arithmetic:
        """Return the arithmetic of a design."""
        p = design.parameters
        seamless = p.k_order == CONSECUTIVE and p.join is not Join.IEEE_ONCE
        return cls(Kind.of(design), p, None if seamless else design.k)


def differing_parameters(first: Design, second: Design) -> frozenset[str]:
    """Return the names of the parameters in which two designs differ."""
    p, q = first.parameters, second.parameters
    return frozenset(f.name for f in fields(Parameters) if getattr(p, f.name) != getattr(q, f.name))


def same_chain(first: Design, second: Design, length: int) -> bool:
    """Return whether dot products of ``length`` are the same chain of steps in both designs, whatever a step does.

    It is so where K is the same, padding included. Instructions of different K chain the same steps where nothing shows
    where an instruction ends, and where neither pads.
    """
    x, y = first.parameters, second.parameters
    if (Kind.of(first), x.L, x.k_order) != (Kind.of(second), y.L, y.k_order):
        return False
    if first.k == second.k:
        return True
    seamless = Arithmetic.of(first).k is None and Arithmetic.of(second).k is None
    return seamless and length % first.k == 0 and length % second.k == 0


def same_arithmetic(first: Design, second: Design, length: int) -> bool:
    """Return whether dot products of ``length`` are the same computation in both designs."""
    return Arithmetic.of(first) == Arithmetic.of(second) and same_chain(first, second, length)
