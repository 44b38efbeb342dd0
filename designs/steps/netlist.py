"""A step that is a user netlist: what it computes is a circuit, and nothing else is known about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.circuit import Circuit
from mmaproof.designs.conversions import Conversion
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps.step import SCALES, Step

EMPTY = Circuit("empty", {}, {}, (), {}, {})


@dataclass(frozen=True)
class NetlistStep(Step):
    """L products and c in one pass through a circuit.

    Its inputs are ``a0``, ``a1`` and so on, ``b0`` and so on, ``c``, and ``sa0`` and ``sb0`` and so on for scales; its
    output is ``d``. It states no guarantee, and it has no parameter that could be changed. ``conditions`` say in words
    when the circuit is what the unit computes; what is proved of it is proved of the unit then, and not otherwise.
    """

    circuit: Circuit = field(default=EMPTY)
    conditions: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def is_meant(cls, settings: Mapping[str, Any]) -> bool:
        """Return False: no parameters describe a circuit."""
        return False

    def settings(self) -> dict[str, Any]:
        """Return no parameters but L."""
        return {"L": self.L}

    @property
    def reads(self) -> frozenset[str]:
        """The formats and the scales: each has an input."""
        return super().reads | SCALES

    @property
    def is_parametric(self) -> bool:
        """False: a circuit is given, and not described by parameters."""
        return False

    @property
    def content(self) -> str:
        """A hash of the circuit."""
        return self.circuit.digest

    @property
    def conversion(self) -> Conversion:
        """None is known. Raises DesignError."""
        raise DesignError(f"{self.circuit.name} is a netlist: how it rounds is not stated", "rho")

    def misfits(self, signature: Signature, k: int) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: K is L, and the inputs and the output have the widths of the formats."""
        if k != self.L:
            yield "L_max", f"K = {k} is not the L = {self.L} of the netlist"
        block = signature.block
        if block is not None and (block < 1 or k % block):
            yield "block", f"blocks of {block} do not divide K = {k}"
            return
        found = {name: len(bits) for name, bits in self.circuit.inputs.items()}
        wanted = {name: fmt.bits for name, fmt in _inputs(signature, self.L)}
        for name in sorted(wanted.keys() | found.keys()):
            if wanted.get(name) != found.get(name):
                yield name, f"the netlist has {found.get(name, 0)} bits of {name}, {wanted.get(name, 0)} are expected"
        if len(self.circuit.outputs.get("d", ())) != signature.d.bits:
            held = len(self.circuit.outputs.get("d", ()))
            yield "d", f"the netlist has {held} bits of d, and {signature.d.name} has {signature.d.bits}"


def _inputs(signature: Signature, products: int) -> Iterator[tuple[str, Format]]:
    """Yield the inputs that a circuit of this signature has, with their formats."""
    for k in range(products):
        yield f"a{k}", signature.a
        yield f"b{k}", signature.b
    yield "c", signature.c
    if signature.scale is not None and signature.block is not None:
        for block in range(products // signature.block):
            yield f"sa{block}", signature.scale
            yield f"sb{block}", signature.scale
