"""A combinational circuit as data: cells of a word-level library, joined by nets.

A net is a number and carries one bit. The operands of a step are the inputs, under the names ``a0``, ``b0``, ``c``,
``sa0`` and ``sb0``, and its result is the output ``d``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from mmaproof.designs.errors import DesignError

Bit = int | Literal["0", "1"]
"""A net, or a constant."""

Bits = tuple[Bit, ...]
"""Bits of a word, the lowest first."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One operation. ``kind`` and the names of its ports and parameters are those of Yosys' word-level library.

    Bits that Yosys leaves undefined in some cases (a quotient by zero, an index beyond the end) are those of one more
    input ``X`` there.
    """

    name: str
    kind: str
    parameters: Mapping[str, int]
    inputs: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    source: str = ""
    """the file and the place in it; empty if it is not known"""

    def describe(self) -> str:
        """Return kind, name and place for a message."""
        return f"{self.kind} {self.name}" + (f" ({self.source})" if self.source else "")


@dataclass(frozen=True, eq=False)
class Circuit:
    """Cells in an order in which each comes after those that drive it.

    ``unknown`` are bits that may have any value: undefined constants, nets without a driver, and inputs that are
    stated to be free. ``nets`` are the public nets by name, for people and for proofs. Two circuits are equal if their
    content is, names included.

    Raises DesignError if a net has no driver, or has two, or if a cell comes before its driver.
    """

    name: str
    inputs: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    cells: tuple[Cell, ...]
    nets: Mapping[str, Bits]
    unknown: Mapping[str, Bits]

    def __post_init__(self) -> None:
        driven: set[Bit] = set()
        for name, bits in (*self.inputs.items(), *self.unknown.items()):
            _drive(driven, bits, name)
        for cell in self.cells:
            for bits in cell.inputs.values():
                self._check_driven(driven, bits, cell.describe())
            for bits in cell.outputs.values():
                _drive(driven, bits, cell.describe())
        for name, bits in self.outputs.items():
            self._check_driven(driven, bits, name)

    def _check_driven(self, driven: set[Bit], bits: Bits, where: str) -> None:
        for bit in bits:
            if bit not in ("0", "1") and bit not in driven:
                raise DesignError(f"circuit {self.name}: net {bit}, read by {where}, is not driven before it")

    @cached_property
    def digest(self) -> str:
        """A hash of the whole content, as hexadecimal digits."""
        found = hashlib.sha256()
        for part in self._content():
            found.update(json.dumps(part, sort_keys=True).encode())
            found.update(b"\n")
        return found.hexdigest()

    def _content(self) -> Iterator[Any]:
        yield self.name
        yield from (list(self.inputs.items()), list(self.outputs.items()))
        yield from (list(self.nets.items()), list(self.unknown.items()))
        for x in self.cells:
            yield [x.name, x.kind, dict(x.parameters), list(x.inputs.items()), list(x.outputs.items()), x.source]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Circuit) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Circuit({self.name!r}, {len(self.cells)} cells, {self.digest[:12]})"


def _drive(driven: set[Bit], bits: Iterable[Bit], where: str) -> None:
    for bit in bits:
        if bit in driven or isinstance(bit, str):
            raise DesignError(f"net {bit} has two drivers, one of which is {where}")
        driven.add(bit)
