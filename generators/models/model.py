"""A design of one length as graphs that can be printed, with the name that the printed files carry.

One driver prints a graph, with a record for each language: one node is one declaration, one operation. A template has
the words of the operands as ``{x}``, ``{y}`` and ``{z}``, the first two read with a sign as ``{sx}`` and ``{sy}``, the
width of the first operand and of the result as ``{of}`` and ``{to}``, and what the language adds to them.

What printed models are tested with: operands of every distribution, and d as the integer interpretation has it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.generators.formats.selection import Selection, plain
from mmaproof.generators.vectors import Vector
from mmaproof.smt.algebra.code import CodeAlgebra, TooWideError, WideCodeAlgebra
from mmaproof.smt.algebra.nodes import LANES, Node, Op, needed
from mmaproof.smt.native.lowering import InputColumn, Lowered, continued, lower
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

_WIDTH = 110  # characters of a line of a comment

MOST_NODES = 20_000
"""The most operations of a printed model. Compilers take minutes for longer functions."""

WORDS = {"sa": "scale_a", "sb": "scale_b"}
"""How the printed files call the columns of scales."""


@dataclass(frozen=True)
class Model:
    """A dot product of ``k`` elements as ``design`` computes it.

    ``first`` takes c in its own format. ``later`` is the instruction that follows in a chain, which takes the d before
    as its c; it is ``first`` where c and d have the same format. ``name`` is an identifier of C and SystemVerilog.
    """

    design: Design
    k: int
    name: str
    first: Lowered
    later: Lowered
    version: str

    @property
    def columns(self) -> tuple[InputColumn, ...]:
        """The operands: a, b, c, and the scales where there are any."""
        return self.first.columns

    @property
    def chains(self) -> bool:
        """Whether d holds all that the next instruction of a chain reads of it."""
        return self.design.chain.keeps_infinities

    @property
    def blocks(self) -> int:
        """Number of scales of a, and of b."""
        return self.design.blocks(self.k)

    @property
    def nodes(self) -> list[Node]:
        """The operations of both graphs."""
        return self.first.nodes if self.later is self.first else self.first.nodes + self.later.nodes

    @property
    def lanes(self) -> set[int]:
        """The widths of the words that occur."""
        return {node.bits for node in self.nodes}

    @property
    def is_wide(self) -> bool:
        """Whether it has words that no type of C holds."""
        return max(self.lanes) > LANES[-1]

    def about(self) -> list[str]:
        """Return what a file says of the model, as lines for a comment."""
        design, scale = self.design, self.design.scale_format
        a, b, c, d = (fmt.name for fmt in design.formats)
        term, scales = ("a[i]*b[i]", "") if scale is None else ("s*t*a[i]*b[i]", f", scales s and t {scale.name}")
        lines = [
            f"{design.name}, bit for bit as mmaproof {self.version} models it.",
            f"d = c + sum of {term}: {a} * {b} + {c} -> {d}{scales}, k = {self.k}.",
        ]
        if self.k < design.configured(self.k).k:
            lines.append(f"The instruction has K = {design.k}; the elements that are missing are +0.")
        elif self.k < design.k:
            lines.append(f"The instruction, of K = {design.k} at most, is configured to K = {self.k}.")
        if self.k > design.k:
            lines.append(f"A chain of {self.k // design.k} instructions of K = {design.k}.")
        lines += textwrap.wrap(f"Source of its parameters: {design.source}", _WIDTH)
        return [plain(x).replace("*/", "*_/") for x in lines]


def make_model(design: Design, k: int | None, version: str, *, wide: bool = False) -> Model:
    """Return the model of a design; ``k`` is the length of its dot product (default: the instruction's K).

    With ``wide``, words may have more than 128 bits, as they may in SystemVerilog and may not in C.
    Raises DesignError for a length that the design cannot run, and for one with too many operations or too wide a sum.
    """
    length = design.k if k is None else k
    design.blocks(length)

    def lowered(of: Design, count: int) -> Lowered:
        return lower(of, count, algebra=WideCodeAlgebra() if wide else CodeAlgebra())

    try:
        first = lowered(design, min(length, design.k))
        count = len(first.nodes) * max(length // design.k, 1)
        if count > MOST_NODES:
            raise DesignError(
                f"k = {length}: about {count} operations, and compilers take minutes for more than {MOST_NODES}: "
                f"choose a smaller --k"
            )
        if length > design.k:
            first = lowered(design, length)
        following = continued(design)
        later = first if following is design else lowered(following, length)
    except TooWideError as error:
        raise DesignError(
            f"{design.name} has sums of more than 128 bits, and C has no such words: use --format sv-model, or vectors "
            f"(--format c, readmemh or jsonl, with --design)"
        ) from error
    return Model(design, length, _identifier(design, length), first, later, version)


def _identifier(design: Design, length: int) -> str:
    name = re.sub(r"\W+", "_", design.name, flags=re.ASCII).strip("_")
    name = name if name[:1].isalpha() else f"model_{name}"
    return name if length == design.k else f"{name}_k{length}"


def storage_bits(fmt: Format) -> int:
    """Return the width of the narrowest unsigned type that holds a pattern: 8, 16, 32 or 64 bits."""
    return pattern_dtype(fmt).itemsize * 8


EVERYWHERE: Mapping[Op, str] = {
    Op.ADD: "{x} + {y}",
    Op.SUBTRACT: "{x} - {y}",
    Op.MULTIPLY: "{x} * {y}",
    Op.AND: "{x} & {y}",
    Op.OR: "{x} | {y}",
    Op.XOR: "{x} ^ {y}",
    Op.SHIFT_LEFT: "{x} << {y}",
    Op.SHIFT_RIGHT: "{x} >> {y}",
    Op.MINIMUM: "{x} < {y} ? {x} : {y}",
    Op.MAXIMUM: "{x} < {y} ? {y} : {x}",
    Op.MINIMUM_SIGNED: "{sx} < {sy} ? {x} : {y}",
    Op.MAXIMUM_SIGNED: "{sx} < {sy} ? {y} : {x}",
    Op.EQUAL: "{x} == {y}",
    Op.LESS: "{x} < {y}",
    Op.LESS_SIGNED: "{sx} < {sy}",
}
"""What C and SystemVerilog write alike."""


@dataclass(frozen=True)
class Dialect:
    """How a language writes constants, words with signs, inputs, declarations, and the operations in its own way."""

    constant: Callable[[int, int], str]
    signed: Callable[[str, int], str]
    input: Callable[[Node, str], tuple[str, str]]
    """An input and the expression of its element -> its name and its word."""
    declare: Callable[[str, str, int], str]
    """A name, its word and the width -> the declaration."""
    operations: Mapping[Op, str]
    further: Callable[[int, int], Mapping[str, str]] = lambda of, to: {}
    """What templates name besides, for the width of the first operand and of the result."""
    names_constants: bool = True

    def written(self, d: Node, inputs: Mapping[str, str]) -> tuple[list[str], str]:
        """Return the declarations that compute ``d``, and the word of d.

        ``inputs`` holds the expression of each input by its name. Raises ValueError for an operation that is not one of
        integers.
        """
        lines: list[str] = []
        names: dict[Node, str] = {}
        for node in needed([d]):
            names[node], value = f"t{node.number}", ""
            if node.op is Op.INPUT:
                names[node], value = self.input(node, inputs[node.name])
            elif node.op is not Op.CONSTANT:
                value = self._expression(node, [names[x] for x in node.operands])
            elif self.names_constants:
                value = self.constant(node.value, node.bits)
            else:
                names[node] = self.constant(node.value, node.bits)
                continue
            lines.append(self.declare(names[node], value, node.bits))
        return lines, names[d]

    def _expression(self, node: Node, words: list[str]) -> str:
        template = {**EVERYWHERE, **self.operations}.get(node.op)
        if template is None:
            raise ValueError(f"{node.op} is not an operation of integers: a model is printed of a graph without it")
        of, to = node.operands[0].bits, node.bits
        signed = {f"s{name}": self.signed(x, of) for name, x in zip("xy", words, strict=False)} if of > 1 else {}
        return template.format(**dict(zip("xyz", words, strict=False)), **signed, of=of, to=to, **self.further(of, to))


ROWS = 400
"""Rows of a self-test, if nobody says how many."""
MOST_ROWS = 20_000
"""The most rows: a program contains them as text, and compilers are slow with larger texts."""

_FEW_EDGES = "normal, with few edges"

_TILE_ROWS, _TILE_COLUMNS, _TILE_INSTRUCTIONS = 2, 3, 2


@dataclass(frozen=True)
class Tile:
    """A matrix product: ``a`` and ``scale_a`` by row, ``b`` and ``scale_b`` by column, ``c`` and ``d`` row by row."""

    instructions: int
    rows: tuple[Operands, ...]
    columns: tuple[Operands, ...]
    c: tuple[int, ...]
    d: tuple[int, ...]


@dataclass(frozen=True)
class SelfTest:
    """Rows with the expected d, and tiles."""

    selection: Selection
    tiles: tuple[Tile, ...]


def make_self_test(model: Model, rows: int, seed: int) -> SelfTest:
    """Return ``rows`` vectors for a model, and a tile from each distribution.

    Half of the vectors are normal but for a few extreme operands, and the others are as many of each distribution.

    Raises InputError for more rows than MOST_ROWS.
    """
    if not 0 < rows <= MOST_ROWS:
        raise InputError(f"{rows} rows: a self-test holds 1 to {MOST_ROWS}")
    rng = np.random.default_rng(seed)
    design, vectors = model.design, []
    names = list(DISTRIBUTIONS)
    counts = {_FEW_EDGES: rows // 2} | {x: len(range(i, rows - rows // 2, len(names))) for i, x in enumerate(names)}
    for name, count in counts.items():
        batch = _few_edges(model, count, rng) if name == _FEW_EDGES else draw(name, design, count, model.k, rng)
        for operands in map(batch.row, range(count)):
            d = {design.name: evaluate(design, operands)}
            vectors.append(
                Vector(operands, design.formats, d, origin=name, scale_format=design.scale_format, seed=seed)
            )
    whence = f"every distribution (seed {seed})"
    selection = Selection(tuple(vectors), whence, {design.name: rows}, model.version)
    return SelfTest(selection, tuple(_tile(model, name, rng) for name in DISTRIBUTIONS))


def _few_edges(model: Model, rows: int, rng: np.random.Generator) -> OperandBatch:
    """Return normal operands, of which about one of a, one of b, and c in some rows, are special or extreme.

    With more of them in a row, one NaN or infinity hides what the unit does with the others.
    """
    normal, edges = (draw(x, model.design, rows, model.k, rng) for x in ("normal", "edges"))

    shares = {"a": 1 / model.k, "b": 1 / model.k, "c": 0.3, "scale_a": 0.5 / max(model.blocks, 1)}
    shares["scale_b"] = shares["scale_a"]
    columns: dict[str, Any] = {}
    for name, share in shares.items():
        usual, extreme = getattr(normal, name), getattr(edges, name)
        columns[name] = None if usual is None else np.where(rng.random(usual.shape) < share, extreme, usual)
    return OperandBatch(**columns)


def _tile(model: Model, distribution: str, rng: np.random.Generator) -> Tile:
    """Return a tile whose rows of a and columns of b are drawn from a distribution."""
    instructions, design = _TILE_INSTRUCTIONS if model.chains else 1, model.design
    drawn = [
        OperandBatch.concatenate([draw(distribution, design, count, model.k, rng) for _ in range(instructions)])
        for count in (_TILE_ROWS, _TILE_COLUMNS)
    ]
    # every row of a and every column of b: the operands of its instructions, in order
    rows, columns = (
        [[batch.row(s * count + i) for s in range(instructions)] for i in range(count)]
        for batch, count in zip(drawn, (_TILE_ROWS, _TILE_COLUMNS), strict=True)
    )
    some = draw(distribution, design, _TILE_ROWS * _TILE_COLUMNS, model.k, rng)
    c = tuple(some.c.tolist())
    pairs = [(row, column) for row in rows for column in columns]
    d = tuple(_chain(design, row, column, start) for (row, column), start in zip(pairs, c, strict=True))
    return Tile(instructions, tuple(map(_joined, rows)), tuple(map(_joined, columns)), c, d)


def _chain(design: Design, row: Sequence[Operands], column: Sequence[Operands], c: int) -> int:
    """Return d of a chain of instructions that take a from ``row`` and b from ``column``."""
    following = continued(design)
    for step, (of_a, of_b) in enumerate(zip(row, column, strict=True)):
        operands = replace(of_a, b=of_b.b, scale_b=of_b.scale_b, c=c)
        c = evaluate(following if step else design, operands)
    return c


def _joined(parts: Sequence[Operands]) -> Operands:
    """Return operands that lie one after another."""
    a, b, scale_a, scale_b = (
        tuple(x for part in parts for x in getattr(part, name)) for name in ("a", "b", "scale_a", "scale_b")
    )
    return Operands(a, b, 0, scale_a, scale_b)
