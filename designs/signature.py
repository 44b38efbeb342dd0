"""The signature of a design: the formats of its operands and of its result, and which elements share a scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS, Format, find_format, integer_format


@dataclass(frozen=True, slots=True)
class Signature:
    """The formats of a, b, c and d. For a unit with scales, also their format and how many elements share one.

    Designs of the same signature take the same operands and can be compared.
    """

    a: Format
    b: Format
    c: Format
    d: Format
    scale: Format | None = None
    """format of the scales of a and b; None if the unit has none"""
    block: int | None = None
    """K_block: elements of a (and of b) that share one scale"""

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Return the signature that ``text`` spells as in names of instructions: D.A.B.C, or D.A.B where C is as D.

        With scales ``blockN`` comes first and their format last. Raises InputError for anything else.
        """
        parts = text.split(".")
        block = None
        if parts[0].startswith("block"):
            if not parts[0][5:].isdecimal() or int(parts[0][5:]) < 1:
                raise InputError(f"interface {text!r}: {parts[0]!r} is not a block of scales; block32, for example")
            block = int(parts.pop(0)[5:])
        found = [_format(text, part) for part in parts]
        scale = found.pop() if block is not None and found else None
        if len(found) == 3:
            found.append(found[0])
        if len(found) != 4:
            raise InputError(
                f"interface {text!r}: formats of D, A, B and C as in names of instructions, f32.f16.f16.f32 for "
                f"example; with scales block32.f32.e4m3.e4m3.f32.ue8m0"
            )
        d, a, b, c = found
        return cls(a, b, c, d, scale, block)

    @property
    def interface(self) -> str:
        """The text that ``parse`` reads."""
        a, b, c, d = (f.isa_name for f in self.formats)
        scales = ("", "") if self.scale is None else (f"block{self.block}.", f".{self.scale.isa_name}")
        return f"{scales[0]}{d}.{a}.{b}.{c}{scales[1]}"

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return self.a, self.b, self.c, self.d

    @property
    def is_integer(self) -> bool:
        """Whether the result is an integer."""
        return self.d.is_integer

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: the field of a catalogue row, and the problem."""
        for name, fmt in zip("abc", self.formats[:3], strict=True):
            if fmt.is_integer is not self.d.is_integer:
                problem = f"{name} is {fmt.name} and d is {self.d.name}: integers and floating-point numbers do not mix"
                yield name, problem
            if fmt.is_of_scales:
                yield name, f"{name} is {fmt.name}, a format of scales: elements and c need a sign and a zero"
        if self.scale is not None and (self.d.is_integer or not self.scale.is_of_scales):
            yield "scale", f"{self.scale.name} cannot scale products of {self.a.name}"
        if (self.block is None) is not (self.scale is None):
            yield "block", "scales need both a format and a block length"

    def __str__(self) -> str:
        scales = "" if self.scale is None else f", {self.scale.name} scales of blocks of {self.block}"
        return f"{self.a.name} * {self.b.name} + {self.c.name} -> {self.d.name}{scales}"


def _format(text: str, part: str) -> Format:
    named = {f.isa_name: f for f in FORMATS.values()} | dict(FORMATS)
    whole = integer_format(part)
    if whole is not None:
        return whole
    try:
        return named[part] if part in named else find_format(part)
    except InputError:
        raise InputError(f"interface {text!r}: unknown format {part!r}: one of {', '.join(named)}") from None
