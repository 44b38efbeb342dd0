"""A second way to try all values of a query: word by word, in place of bit by bit.

It confirms what ``exhaustion`` finds under ``--certify``. The two have the query and NumPy in common, and nothing else.
There, the query becomes a circuit of gates, and a word of the machine holds one bit of 64 assignments. Here, every node
of the query is computed by one operator on columns, and an element of a column is the value of the node under one
assignment. Which bits are enumerated is found out apart, too: here they are those that the query reads of its symbols.

Assignment number n gives input bit i the bit i of n. The lowest bits run through a block, and the others are constant
in it. A node that depends on the others alone is a column of one element, and one that depends on the lowest ones alone
is computed once for all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from mmaproof.smt.proving.columns import FAST, FAST_BITS, Column, mask
from mmaproof.smt.solving.limits import worked
from mmaproof.smt.solving.query import CONST, SYMBOL, Node, Query, to_smtlib
from mmaproof.smt.solving.verdict import Outcome, Reply, SolverIdentity, WitnessDoesNotReplay

MOST_BITS: Final = 24
MOST_VALUES: Final = 1 << 33
"""values of nodes that are computed at most, which takes some ten seconds"""
BLOCK_BITS: Final = 12
"""The columns of a block stay in the cache of a processor."""


def enumerate_words(query: Query, most_values: int = MOST_VALUES) -> Reply | None:
    """Answer a query by computing it for all values of its symbols.

    UNSAT: it is false for all of them. SAT comes with values on which it was also evaluated as integers. None: it has
    an operator that is not covered, a word that is too wide for a column, or too many bits.

    Raises ``WitnessDoesNotReplay`` if columns and integers disagree, which is an internal error.
    """
    started = worked()
    inputs = _Inputs.of(query)
    if not _is_covered(query, inputs) or inputs.count > MOST_BITS or len(query.nodes) << inputs.count > most_values:
        return None
    number = next(_satisfying(query, inputs), None)
    seconds = worked() - started
    if number is None:
        return Reply(Outcome.UNSAT, word_enumeration(), seconds, solver_seconds=seconds)
    model = inputs.model(number)
    if not query.evaluate(model):
        raise WitnessDoesNotReplay(model, to_smtlib(query))
    return Reply(Outcome.SAT, word_enumeration(), seconds, model, solver_seconds=seconds)


@cache
def word_enumeration() -> SolverIdentity:
    """Return who answers, with the version of this package."""
    from importlib.metadata import version  # noqa: PLC0415

    return SolverIdentity("word-enumeration", version("mmaproof"))


@dataclass(frozen=True)
class _Inputs:
    """The bits that a query reads: for each symbol, by its node, their positions in it and the number of the first."""

    names: Mapping[int, str]
    positions: Mapping[int, Sequence[int]]
    first: Mapping[int, int]
    count: int

    @classmethod
    def of(cls, query: Query) -> _Inputs:
        """Return the inputs of a query."""
        names = {i: node.name for i, node in enumerate(query.nodes) if node.operator == SYMBOL}
        read: dict[int, set[int]] = {i: set() for i in names}
        for i in {len(query.nodes) - 1} & names.keys():  # the query is one truth value
            read[i].add(0)
        for node in query.nodes:
            for operand in node.operands:
                if operand in read:
                    whole = max(1, query.nodes[operand].width) - 1, 0
                    high, low = node.indices if node.operator == "extract" else whole
                    read[operand].update(range(low, high + 1))
        first, count = dict[int, int](), 0
        for i, positions in read.items():
            first[i], count = count, count + len(positions)
        return cls(names, {i: sorted(x) for i, x in read.items()}, first, count)

    def span(self, symbol: int, low: int, high: int) -> tuple[int, int]:
        """Return the number of the lowest of some positions that are read together, and how many these are."""
        return self.first[symbol] + self.positions[symbol].index(low), high - low + 1

    def model(self, number: int) -> dict[str, int]:
        """Return the values of the symbols under an assignment. A bit that is not read is zero."""
        return {
            name: sum((number >> self.first[i] + n & 1) << position for n, position in enumerate(self.positions[i]))
            for i, name in self.names.items()
        }


@dataclass(frozen=True)
class _Step:
    """How a node is computed: some input bits, or an operator on the columns of earlier nodes."""

    node: int
    width: int
    span: tuple[int, int] | None = None
    operator: str = ""
    operands: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    indices: tuple[int, ...] = ()


def _is_covered(query: Query, inputs: _Inputs) -> bool:
    """Return whether every node is an operator on columns. Of a symbol that is too wide for one, bits may be taken."""
    wide = {i for i in inputs.names if query.nodes[i].width > FAST_BITS}
    for node in query.nodes:
        if node.operator == SYMBOL:
            continue
        if node.width > FAST_BITS or (node.operator != "extract" and not wide.isdisjoint(node.operands)):
            return False
        if node.operator != CONST and node.operator not in FAST:
            return False
    return True


def _satisfying(query: Query, inputs: _Inputs) -> Iterator[int]:
    """Yield the numbers of the assignments under which the query is true."""
    within = min(BLOCK_BITS, inputs.count)
    columns: dict[int, Column] = {
        i: np.array([node.value], dtype=np.uint64) for i, node in enumerate(query.nodes) if node.operator == CONST
    }
    once, for_each = _steps(query, inputs, within)
    low = np.arange(1 << within, dtype=np.uint64)
    _compute(once, columns, low)
    last = _last_uses(for_each, len(query.nodes) - 1)
    for block in range(1 << (inputs.count - within)):
        base = np.array([block << within], dtype=np.uint64)
        held = columns.copy()
        _compute(for_each, held, low, base, last)
        for i in np.flatnonzero(np.broadcast_to(held[len(query.nodes) - 1], low.shape)):
            yield (block << within) + int(i)


def _steps(query: Query, inputs: _Inputs, within: int) -> tuple[list[_Step], list[_Step]]:
    """Return the steps that depend on the lowest input bits alone, and the others; both in their order."""
    reaches: dict[int, bool] = {}
    """whether a node depends on an input bit that a block has one value of"""
    once, for_each = list[_Step](), list[_Step]()
    for i, node in enumerate(query.nodes):
        reaches[i] = any(reaches[x] for x in node.operands)
        step = _step(query, inputs, i, node)
        if step is None:
            continue
        if step.span is not None:
            reaches[i] = sum(step.span) > within
        (for_each if reaches[i] else once).append(step)
    return once, for_each


def _step(query: Query, inputs: _Inputs, i: int, node: Node) -> _Step | None:
    """Return how a node is computed. None: it is a constant, or a symbol of which bits are taken only."""
    if node.operator == SYMBOL:
        whole = max(1, node.width)
        return _Step(i, node.width, inputs.span(i, 0, whole - 1)) if len(inputs.positions[i]) == whole else None
    if node.operator == CONST:
        return None
    if node.operator == "extract" and node.operands[0] in inputs.names:
        high, low = node.indices
        return _Step(i, node.width, inputs.span(node.operands[0], low, high))
    widths = tuple(query.nodes[x].width for x in node.operands)
    return _Step(i, node.width, None, node.operator, node.operands, widths, node.indices)


def _last_uses(steps: Sequence[_Step], root: int) -> dict[int, list[int]]:
    """Return the nodes among those of the steps that no step needs after a node, by that node."""
    last = {x: step.node for step in steps for x in (*step.operands, step.node)}
    made = {step.node for step in steps} - {root}
    found: dict[int, list[int]] = {}
    for node, user in last.items():
        if node in made:
            found.setdefault(user, []).append(node)
    return found


def _compute(
    steps: Sequence[_Step],
    columns: dict[int, Column],
    low: Column,
    base: Column | None = None,
    last: Mapping[int, Sequence[int]] | None = None,
) -> None:
    """Compute nodes into ``columns``, for the numbers ``low``, plus ``base`` if that is given.

    ``last`` says which columns are dropped after a node.
    """
    for step in steps:
        if step.span is not None:
            start, count = step.span
            numbers = low if base is None else base if 1 << start >= len(low) else low | base
            found = numbers >> np.uint64(start) & mask(count)
        else:
            operands = [columns[x] for x in step.operands]
            found = FAST[step.operator](operands, step.widths, step.indices) & mask(step.width)
        columns[step.node] = found
        for x in () if last is None else last.get(step.node, ()):
            del columns[x]
