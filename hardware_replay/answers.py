"""What a source of rows holds: operands, and the d that something returned for them."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns


@dataclass(frozen=True)
class Answers:
    """Rows of one length in one set of formats (a, b, c, d), and the d of each.

    ``labels`` name the rows to a person ("row 17", "line 3"); ``whence`` says who returned d.
    """

    batch: OperandBatch
    d: Patterns
    formats: tuple[Format, Format, Format, Format]
    labels: tuple[str, ...]
    whence: str
    scale_format: Format | None = None

    def check_formats(self, design: Design) -> None:
        """Raise InputError where ``design`` does not take or return these formats."""
        for name, held, wanted in zip("abcd", self.formats, design.formats, strict=True):
            if held is not wanted:
                raise InputError(
                    f"format mismatch: {name} is {held.name} in {self.whence} and {wanted.name} in {design.name}"
                )
        scales = ["absent" if f is None else f.name for f in (self.scale_format, design.scale_format)]
        if scales[0] != scales[1]:
            raise InputError(
                f"format mismatch: scales are {scales[0]} in {self.whence} and {scales[1]} in {design.name}"
            )
