"""The operands of one dot product: bit patterns that are checked against the design that reads them.

No NumPy is imported here, so that one dot product can be computed and drawn without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from mmaproof.designs.design import Design
from mmaproof.designs.errors import OperandError

if TYPE_CHECKING:
    import numpy.typing as npt

    from mmaproof.designs.formats import Format


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of one output element: patterns of ``a`` and ``b`` (k = 0, 1, ...) and of ``c``.

    ``scale_a`` and ``scale_b`` hold one scale for each block of a design that has scales, ``random`` the random bits of
    a plan that takes some as an operand: none or one.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    random: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.a)

    def __repr__(self) -> str:
        held = {x.name: getattr(self, x.name) for x in fields(self)}
        return f"Operands({', '.join(f'{name}={_in_hexadecimal(x)}' for name, x in held.items() if x != ())})"

    def arrays(self, design: Design | str) -> tuple[npt.NDArray[Any], ...]:
        """Return a, b and c, and the scales of a design that has them, as ``mmaproof.dot`` takes them.

        They have the types of ``design`` (or the design of that name).
        """
        import numpy as np  # noqa: PLC0415  (one element is computed without NumPy)

        from mmaproof.designs.arrays import array_of  # noqa: PLC0415
        from mmaproof.designs.catalogue import find_design  # noqa: PLC0415

        design = find_design(design)
        self.check(design)
        columns: list[tuple[Any, Format]] = [
            (self.a, design.a_format),
            (self.b, design.b_format),
            (self.c, design.c_format),
        ]
        if design.scale_format is not None:
            columns += [(self.scale_a, design.scale_format), (self.scale_b, design.scale_format)]
        return tuple(array_of(np.array(x, dtype=np.uint64), fmt) for x, fmt in columns)

    def check(self, design: Design) -> None:
        """Raise OperandError if the number of elements or the width of a pattern does not fit ``design``."""
        if len(self.a) != len(self.b):
            raise OperandError(f"a has {len(self.a)} elements and b has {len(self.b)}: they must be as many")
        design.padded_length(len(self.a))
        check_scales(design, len(self.a), len(self.scale_a), len(self.scale_b))
        columns = [("a", self.a, design.a_format), ("b", self.b, design.b_format), ("c", (self.c,), design.c_format)]
        if design.scale_format is not None:
            columns += [(f"scale_{x}", s, design.scale_format) for x, s in (("a", self.scale_a), ("b", self.scale_b))]
        for column, patterns, fmt in columns:
            for index, pattern in enumerate(patterns):
                if not 0 <= pattern < 1 << fmt.bits:
                    raise OperandError(f"{column}[{index}] = {pattern:#x} is too wide for {fmt.name} ({fmt.bits} bits)")


def selected(b: Sequence[int], metadata: int) -> tuple[int, ...]:
    """Return the two of each four elements of ``b`` that 2:4 metadata select (PTX ISA, mma.sp; AMD, V_SMFMAC).

    Four bits of ``metadata`` belong to four elements, the lowest to the first ones: the place of the first element that
    is selected in the lower two bits, that of the second, which is further on, in the others. Raises OperandError.
    """
    groups, more = divmod(len(b), 4)
    if more or metadata >> 4 * groups:
        raise OperandError(f"metadata {metadata:#x} are of groups of 4 elements, and b has {len(b)}")
    found: list[int] = []
    for at in range(groups):
        first, second = metadata >> 4 * at & 3, metadata >> (4 * at + 2) & 3
        if first >= second:
            raise OperandError(f"metadata {metadata:#x} select {first}, then {second} of group {at}: not in order")
        found += (b[4 * at + first], b[4 * at + second])
    return tuple(found)


class Scaled(Protocol):
    """What may take scales of blocks of k: a design or a plan."""

    @property
    def name(self) -> str:
        """How it is spelled."""

    @property
    def block(self) -> int | None:
        """Elements that share a scale; None without scales."""

    def blocks(self, length: int, /) -> int:
        """Return how many scales a and b have each, of N elements."""


def check_scales(taker: Scaled, length: int, of_a: int, of_b: int) -> None:
    """Raise OperandError unless a and b have as many scales as a dot product of this length has blocks."""
    blocks = taker.blocks(length)
    if of_a == of_b == blocks:
        return
    if blocks == 0:
        raise OperandError(f"{taker.name} has no scales, {of_a or of_b} given")
    raise OperandError(
        f"{taker.name} takes {blocks} scales of a and of b (one for each {taker.block} elements), "
        f"{of_a} and {of_b} given"
    )


def _in_hexadecimal(held: int | tuple[int, ...]) -> str:
    """Return patterns as Python reads them; how wide they are is known to a design only."""
    if isinstance(held, tuple):
        return f"({', '.join(map(hex, held))}{',' * (len(held) == 1)})"
    return hex(held)
