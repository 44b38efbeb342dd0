"""The bins of a design that operands hit: measured on rows, searched for by small changes, or asked of a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns
from mmaproof.generators.cover.bins import Bin, Bins
from mmaproof.generators.cover.events import events
from mmaproof.properties.question import operand_words
from mmaproof.properties.run_question import RunQuestion, Scope
from mmaproof.smt.algebra.arrays import ArrayAlgebra, Data
from mmaproof.smt.algebra.code import CodeAlgebra
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.evaluate import CHUNK_ROWS, evaluate_batch
from mmaproof.smt.native.lowering import input_columns, no_rows, symbols
from mmaproof.smt.native.paying import Switch
from mmaproof.smt.proving.decide import decide
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import Ask
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Model, Status, Verdict

Hits = npt.NDArray[np.bool_]
"""An array that says which operands (rows) hit which bins (columns)."""

CHILDREN, GENERATIONS, PATIENCE = 1024, 200, 16
"""Rows of a generation of the search, the most generations, and how many of them in a row may find nothing new."""
CHANGES = 3
"""Patterns of a row that are changed at once, at most."""


def hits_of(design: Design, batch: OperandBatch) -> tuple[list[Bin], Hits]:
    """Return the bins of ``design``, and which of them the rows hit; rows are of length K."""
    bins, measure = _measure(design)
    chunks = [batch.select(slice(first, first + CHUNK_ROWS)) for first in range(0, max(len(batch), 1), CHUNK_ROWS)]
    left = len(batch)
    parts = []
    for chunk in chunks:
        left -= len(chunk)
        parts.append(measure(chunk, rows_ahead=left))
    return bins, np.concatenate(parts)


@lru_cache(maxsize=8)
def _measure(design: Design) -> tuple[list[Bin], Switch[Hits]]:
    """Return the bins of a design, and what says which of them rows hit: computed on arrays, or by machine code."""
    columns = input_columns(design, design.k)
    bins = list(_events_of(design, no_rows(columns)))

    def on_arrays(batch: OperandBatch) -> Hits:
        found = _events_of(design, batch)
        return np.stack([np.broadcast_to(found.hit(x).data, len(batch)) for x in bins], axis=1)

    def lowered() -> list[Node]:
        algebra = CodeAlgebra()
        words = symbols(algebra, columns)
        found = events(design, algebra, words, dot_product_accumulate(design, algebra, words))
        return [found.hit(x).data for x in bins]

    def compiled(truths: Sequence[Node]) -> Callable[[OperandBatch], Hits]:
        from mmaproof.smt.native.kernels import truths_kernel  # noqa: PLC0415  (loads LLVM)

        kernel = truths_kernel(f"events of {design.name}", columns, truths, lambda batch: list(on_arrays(batch).T))
        return lambda batch: np.stack(kernel.run(batch), axis=1).astype(bool)

    return bins, Switch(on_arrays, lowered, compiled)


def unasked(design: Design, batch: OperandBatch) -> str:
    """Return which events of ``design`` have no bins; empty if its kind of step is known."""
    return _events_of(design, batch.select(slice(0, 1))).unasked


def _events_of(design: Design, batch: OperandBatch) -> Bins[Data, Any]:
    algebra = ArrayAlgebra()
    words = operand_words(
        [[algebra.from_patterns(x, fmt.bits) for x in column.T] for fmt, column in _columns(design, batch)]
    )
    return events(design, algebra, words, dot_product_accumulate(design, algebra, words))


def _columns(design: Design, batch: OperandBatch) -> list[tuple[Format, Patterns]]:
    """Return the patterns of each role with their format, shape (rows, number of them)."""
    a, b, c, _ = design.formats
    columns = [(a, batch.a), (b, batch.b), (c, batch.c[:, np.newaxis])]
    if design.scale_format is not None:
        columns += [(design.scale_format, x) for x in (batch.scale_a, batch.scale_b) if x is not None]
    return columns


def aim(
    design: Design, batch: OperandBatch, bins: Sequence[Bin], hits: Hits, wanted: int, seed: int
) -> OperandBatch | None:
    """Return more rows for bins that fewer than ``wanted`` rows hit, the same for a seed; None if none was found.

    Generation by generation, rows that hit the nearest bins of the same event are changed a little.
    """
    rng = np.random.default_rng(seed)
    pool, pool_hits, found, idle = batch, hits, [], 0
    seen = {batch.row(i) for i in range(len(batch))}
    for _ in range(GENERATIONS):
        times = pool_hits.sum(axis=0)
        missing = np.flatnonzero(times < wanted)
        if not len(missing) or idle == PATIENCE:
            break
        nearest = _nearest(bins, times, missing)
        parents = [_row_hitting(pool_hits, nearest[i], rng) for i in rng.integers(0, len(missing), CHILDREN)]
        children = changed(design, pool.select(np.array(parents)), rng)
        _, child_hits = hits_of(design, children)
        new = [i for i in _first_hits(child_hits, missing) if children.row(i) not in seen]
        idle = 0 if new else idle + 1
        if new:
            found.append(children.select(np.array(new)))
            seen.update(children.row(i) for i in new)
            pool, pool_hits = OperandBatch.concatenate([pool, found[-1]]), np.concatenate([pool_hits, child_hits[new]])
    return OperandBatch.concatenate(found) if found else None


def _nearest(bins: Sequence[Bin], times: npt.NDArray[np.intp], missing: npt.NDArray[np.intp]) -> list[int | None]:
    """Return for each missing bin the nearest one of its event that is hit; None where none is."""
    of_event: dict[str, list[int]] = {}
    for i in np.flatnonzero(times).tolist():
        of_event.setdefault(bins[i].event, []).append(i)
    return [min(of_event.get(bins[i].event, ()), key=lambda j, i=i: abs(i - j), default=None) for i in missing.tolist()]


def _row_hitting(hits: Hits, wanted: int | None, rng: np.random.Generator) -> int:
    rows = np.arange(len(hits)) if wanted is None else np.flatnonzero(hits[:, wanted])
    return int(rng.choice(rows))


def _first_hits(hits: Hits, missing: npt.NDArray[np.intp]) -> list[int]:
    """Return the first row that hits each of the missing bins which are hit."""
    hit = missing[hits[:, missing].any(axis=0)]
    return sorted(set(hits[:, hit].argmax(axis=0).tolist()))


def changed(design: Design, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
    """Return rows that differ a little: products turned along k or repeated, patterns zeroed or changed by 2^n.

    Adding a power of two to a pattern changes its significand, its exponent or its sign. Some c are set to cancel the
    sum of the products, as far as their format allows.
    """
    columns = [(fmt, x.copy()) for fmt, x in _columns(design, batch)]
    rows, k = np.arange(len(batch)), batch.k
    kinds, one, other = rng.integers(0, 8, len(batch)), *rng.integers(0, k, (2, len(batch)))
    taken = np.tile(np.arange(k), (len(batch), 1))
    taken = np.where((kinds == 0)[:, None], (taken + one[:, None]) % k, taken)
    taken = np.where((kinds == 1)[:, None], one[:, None], taken)
    taken[rows, other] = np.where(kinds == 2, one, taken[rows, other])
    for _, x in columns[:2]:
        x[:] = np.take_along_axis(x, taken, axis=1)
    _cancel(design, columns, kinds == 3)
    for _ in range(int(rng.integers(1, CHANGES + 1))):
        which = rng.integers(0, len(columns), len(batch))
        for i, (fmt, x) in enumerate(columns):
            some = rows[which == i]
            places = rng.integers(0, x.shape[1], len(some))
            step = np.left_shift(1, rng.integers(fmt.ignored_bits, fmt.bits, len(some))).astype(x.dtype)
            old = x[some, places]
            new = np.choose(
                rng.integers(0, 8, len(some)) // 2, [old + step, old - step, old ^ step, old & -step | step]
            )
            new = np.where(rng.random(len(some)) < 0.05, 0, new)
            x[some, places] = new & x.dtype.type((1 << fmt.bits) - 1)
    _cancel(design, columns, kinds == 4)
    return _batch(columns)


def _batch(columns: Sequence[tuple[Format, Patterns]]) -> OperandBatch:
    a, b, c, *scales = (x for _, x in columns)
    return OperandBatch(a, b, c[:, 0], *scales)


def _cancel(design: Design, columns: Sequence[tuple[Format, Patterns]], rows: npt.NDArray[np.bool_]) -> None:
    """Let c of some rows be what cancels the sum of the products, as far as its format can hold it."""
    c_format, c = columns[2]
    if c_format is design.d_format and not c_format.is_integer:
        alone = _batch(columns).select(rows)
        d = evaluate_batch(design, replace(alone, c=np.zeros_like(alone.c)))
        c[rows, 0] = d ^ c.dtype.type(1 << c_format.sign_position)


class NeverHit(RunQuestion):
    """No operands hit a bin."""

    def __init__(self, design: Design, scope: Scope, wanted: Bin) -> None:
        super().__init__(design, scope)
        self.wanted = wanted

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the operands do not."""
        return algebra.negation(events(self.asked(self.design), algebra, operands, results[0]).hit(self.wanted))


@dataclass(frozen=True)
class Asked:
    """What a solver says of a bin: operands of the whole instruction that hit it, or a proof that none do."""

    verdict: Verdict[Model]
    operands: Operands | None = None


def ask_solver(design: Design, wanted: Bin, ask: Ask, limits: Limits) -> Asked:
    """Ask whether any operands hit a bin; the limits are for each of at most two queries.

    What one step does with any accumulator is asked first, where an instruction has several: operands that hit the bin
    there hit it in the first step of an instruction. If no operands hit it there and every step may have any
    accumulator, no step can hit it. Raises what ``decide`` raises.
    """
    whole = NeverHit(design, Scope(design.k), wanted)
    if wanted.of_step and design.k > design.step.L:
        question = NeverHit(design, Scope(), wanted)
        verdict = decide(question, ask, limits)
        if verdict.witness is not None:
            (run,) = question.witness_runs(question.operands(verdict.witness))
            operands = OperandBatch.of_rows(design.formats, [run.operands]).padded(design).row(0) if run.whole else None
            if operands is not None and whole.is_refuted_by(operands):
                return Asked(verdict, operands)
        elif verdict.status is Status.UNKNOWN or _is_any_step(design):
            return Asked(verdict)
    verdict = decide(whole, ask, limits)
    return Asked(verdict, None if verdict.witness is None else whole.operands(verdict.witness))


def _is_any_step(design: Design) -> bool:
    """Return whether what one step can do with any c includes what any step of the instruction can do."""
    alike = design.c_format is design.d_format and not design.chain.adds_c_once
    return alike and design.chain.keeps_infinities and not design.step.clears_minus_zero


@dataclass(frozen=True)
class Task:
    """A bin about which a solver is asked. It is plain data, so that another process can run it."""

    design: Design
    wanted: Bin
    solving: Solving
    limits: Limits


def ask_about(task: Task) -> Asked:
    """Ask about the bin of a task; see ``ask_solver``."""
    return ask_solver(task.design, task.wanted, task.solving.ask, task.limits)
