"""Operands as the command line spells and prints them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.designs.errors import OperandError

X = TypeVar("X")

MOST_WHOLE = 16
"""Elements of a and b up to which operands are printed whole, and products of longer ones that are printed."""


_PATTERNS = "numbers or bit patterns, separated by commas: 1.5,2^-3,0x3c00,..."


@dataclass(frozen=True)
class OperandOptions:
    """Operands of one dot product: the options that ``with_options`` gives a command, as they were typed."""

    a: Annotated[str, opt.option("--a LIST", f"Elements of a, {_PATTERNS}")]
    b: Annotated[str, opt.option("--b LIST", "Elements of b, likewise.")]
    c: Annotated[str | None, opt.option("--c NUMBER", "The accumulator, of a unit that has one.")] = None
    scale_a: Annotated[str | None, opt.option("--scale-a LIST", "Scales of the blocks of a, if it has any.")] = None
    scale_b: Annotated[str | None, opt.option("--scale-b LIST", "Those of b.")] = None

    def of(
        self, design: lib.design.Design, k: int | None = None, metadata: str | None = None, takes_c: bool = True
    ) -> lib.element.Operands:
        """Return the operands of length ``k`` (default K of the design) for a design; see ``parse_operands``.

        With ``metadata``, b has twice as many elements, of which they select half. A unit that ``takes_c`` needs one,
        and another unit has only that which adds nothing.
        """
        b = self.b if metadata is None else _selected(design, self.b, metadata)
        takes_c = takes_c and design.takes_c
        if self.c is None and takes_c:
            raise OperandError(
                f"c is missing: add --c with a number or pattern of {design.c_format.name}, the accumulator"
            )
        c = design.c_format.hex(design.neutral_c if design.step.is_parametric else 0) if self.c is None else self.c
        found = parse_operands(design, self.a, b, c, k, self.scale_a, self.scale_b)
        if not takes_c and design.step.is_parametric and found.c != design.neutral_c:
            raise OperandError(f"{design.name} has no c: leave --c out")
        return found


def _selected(design: lib.design.Design, b: str, metadata: str) -> str:
    """Return the elements of b that the metadata of a structured sparse a select. Raises OperandError."""
    fmt = design.b_format
    if not design.selects_half:
        raise OperandError(f"{design.name} multiplies all elements of b: --metadata is for `mmaproof list sparse`")
    if not re.fullmatch(r"0x[0-9a-fA-F]+", metadata):
        raise OperandError(f"--metadata {metadata}: a hexadecimal number such as 0xe4 is needed")
    return ",".join(map(fmt.hex, lib.element.selected(parse_patterns("b", b, fmt), int(metadata, 16))))


def parse_patterns(column: str, text: str, fmt: lib.formats.Format) -> tuple[int, ...]:
    """Return the patterns of numbers and patterns, with commas or blanks between. OperandError names the element."""
    patterns = []
    text = re.sub(r"\s*\*\s*", "*", text.strip())
    elements = re.split(r"\s*,\s*|\s+", text) if text else []
    for index, element in enumerate(elements):
        if not element:
            raise OperandError(f"{column}[{index}]: empty: between two commas, and before or after one, is a pattern")
        try:
            patterns.append(lib.element.exact_pattern(element, fmt))
        except ValueError as error:
            raise OperandError(f"{column}[{index}]: {error}") from error
    return tuple(patterns)


def parse_operands(
    design: lib.design.Design,
    a: str,
    b: str,
    c: str,
    k: int | None,
    scale_a: str | None = None,
    scale_b: str | None = None,
) -> lib.element.Operands:
    """Return operands of length ``k`` (default K of the design) for ``design``.

    Raises OperandError where a pattern is malformed, the number of elements is not ``k``, or scales are missing or
    given to a design that has none, and DesignError for a length that the design cannot run.
    """
    length = design.k if k is None else k
    design.blocks(length)
    columns = [parse_patterns(*x) for x in (("a", a, design.a_format), ("b", b, design.b_format))]
    for name, patterns in zip("ab", columns, strict=True):
        if len(patterns) != length:
            given = len(patterns)
            hint = f"; for a dot product of another length add --k {given}" if k is None and given else ""
            raise OperandError(f"{name} has {len(patterns)} elements, {design.name} takes {length}{hint}")
    accumulator = parse_patterns("c", c, design.c_format)
    if len(accumulator) != 1:
        raise OperandError(f"c has {len(accumulator)} elements: it is one pattern")
    scales = [_parse_scales(design, n, text, length) for n, text in (("scale-a", scale_a), ("scale-b", scale_b))]
    return lib.element.Operands(columns[0], columns[1], accumulator[0], *scales)


def _parse_scales(design: lib.design.Design, name: str, text: str | None, length: int) -> tuple[int, ...]:
    if design.scale_format is None:
        if text is not None:
            raise OperandError(f"{design.name} has no scales: leave --{name} out")
        return ()
    wanted = design.blocks(length)
    if text is None:
        raise OperandError(
            f"{design.name} has scales: add --{name} with {wanted} {design.scale_format.name} "
            f"pattern{'s' * (wanted > 1)}, one for each {design.block} elements"
        )
    scales = parse_patterns(name, text, design.scale_format)
    if len(scales) != wanted:
        raise OperandError(
            f"{name} has {len(scales)} elements, {design.name} takes {wanted}: one for each {design.block}"
        )
    return scales


def operands_record(
    formats: Sequence[lib.formats.Format],
    operands: lib.element.Operands,
    scale_format: lib.formats.Format | None = None,
) -> dict[str, Any]:
    """Return operands as JSON data: fixed-width hexadecimal; scales where there are any."""
    a, b, c = formats[:3]
    record: dict[str, Any] = {
        "a": [a.hex(x) for x in operands.a],
        "b": [b.hex(x) for x in operands.b],
        "c": c.hex(operands.c),
    }
    if scale_format is not None:
        record["scale_a"] = [scale_format.hex(x) for x in operands.scale_a]
        record["scale_b"] = [scale_format.hex(x) for x in operands.scale_b]
    if operands.random:
        record["random"] = f"{operands.random[0]:#x}"
    return record


NAMES = ("a", "b", "c", "scale_a", "scale_b", "random")
"""The operands, as the options of `mmaproof run` and the fields of answers call them."""


def operand_lines(given: Mapping[str, Any] | lib.answer.OperandSet, *, whole: bool = False) -> list[str]:
    """Return operands as lines that the options of `mmaproof run` take.

    Of more than ``MOST_WHOLE`` elements, only the first products that are not 0*0 are shown, unless ``whole``.
    """
    held = given if isinstance(given, Mapping) else {n: getattr(given, n) for n in NAMES}
    record: dict[str, Any] = {name: x for name, x in held.items() if x}
    if whole or len(record["a"]) <= MOST_WHOLE:
        return [f"{n} = {x if isinstance(x, str) else ','.join(x)}" for n, x in record.items()]
    products = [(name, x, y) for name, x, y in runs(record["a"], record["b"]) if int(x, 16) or int(y, 16)]
    lines = [f"{name} = {x}*{y}" for name, x, y in products[:MOST_WHOLE]]
    left = len(products) - len(lines)
    lines.append(f"and {left} more products; --json shows all" if left else "all other elements are 0")
    lines += [f"{name} = {record[name]}" for name in ("c", "random") if name in record]
    for name in ("scale_a", "scale_b"):
        scales = record.get(name, ())
        if len(scales) <= MOST_WHOLE:
            lines += [f"{name} = {','.join(scales)}"] * bool(scales)
        else:
            some = [f"{x} ({place})" for place, x, _ in runs(scales, scales, prefix="")]
            lines.append(f"{name} = {', '.join(some[:MOST_WHOLE])}{', ...' * (len(some) > MOST_WHOLE)}")
    return lines


def runs(a: Sequence[X], b: Sequence[X], prefix: str = "p") -> Iterator[tuple[str, X, X]]:
    """Yield runs of equal products: their name, such as p3 or p0..p2, and their elements of a and b."""
    for (x, y), run in itertools.groupby(range(len(a)), key=lambda k: (a[k], b[k])):
        ks = list(run)
        yield prefix + (f"{ks[0]}" if len(ks) == 1 else f"{ks[0]}..{prefix}{ks[-1]}"), x, y
