"""Vectors that hit the events of a datapath: random ones, some that are aimed at missing events, and a solver's.

The bins of a design that operands hit: measured on rows, searched for by small changes, or asked of a solver.
"""

from __future__ import annotations

import time
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
from mmaproof.generators.vectors import Vector
from mmaproof.properties.question import RunQuestion, Scope, operand_words
from mmaproof.smt.algebra.arrays import ArrayAlgebra, Data
from mmaproof.smt.algebra.code import CodeAlgebra
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.evaluate import CHUNK_ROWS, evaluate_batch
from mmaproof.smt.native.lowering import input_columns, no_rows, symbols
from mmaproof.smt.native.paying import Switch
from mmaproof.smt.proving.lemma import decide
from mmaproof.smt.semantics import DotProduct, OperandWords, dot_product_accumulate
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Ask, Solving
from mmaproof.smt.solving.verdict import Model, SolverIdentity, Status, Verdict
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.executors import Runner

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


BASELINE = "normal"
"""The distribution that the chosen vectors are compared with."""
ROWS = 512
"""The least number of random operand sets of each distribution. In all there are at least twice the vectors wanted."""
DEFAULT_LIMITS = Limits(seconds=10, memory_bytes=4 << 30)


@dataclass(frozen=True)
class Covered:
    """What is known of a bin: how many of the vectors and of the baseline hit it, and the verdict of a solver.

    ``reached`` says that some known operands hit it, among the vectors or not. ``verdict`` is None if no solver was
    asked. It is PROVED if no operands hit the bin.
    """

    bin: Bin
    hits: int
    baseline: int
    reached: bool
    verdict: Verdict[Model] | None = None

    @property
    def status(self) -> str:
        """The status in a word: hit, reachable (and not hit), unreachable or unknown."""
        if self.reached:
            return "hit" if self.hits else "reachable"
        return "unreachable" if self.verdict is not None and self.verdict.status is Status.PROVED else "unknown"


@dataclass(frozen=True)
class Coverage:
    """The vectors that were chosen for a design, and what is known of each of its bins."""

    design: Design
    vectors: tuple[Vector, ...]
    bins: tuple[Covered, ...]
    seed: int
    wanted_hits: int
    seconds: float
    unasked: str = ""
    """what no bin is about because coverage does not know the kind of step; else empty"""

    def count(self, *statuses: str) -> int:
        """Return how many bins have one of the statuses."""
        return sum(x.status in statuses for x in self.bins)

    @property
    def is_complete(self) -> bool:
        """Whether every bin is hit or proved unreachable."""
        return self.count("hit", "unreachable") == len(self.bins)

    @property
    def solver(self) -> SolverIdentity | None:
        """The solver that proved bins unreachable; None if none did."""
        return next((x.verdict.solver for x in self.bins if x.status == "unreachable" and x.verdict is not None), None)


def cover(
    design: Design,
    n: int,
    *,
    seed: int = 0,
    hits: int = 1,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits = DEFAULT_LIMITS,
    version: str = "",
    run: Runner | None = None,
) -> Coverage:
    """Return ``n`` vectors that hit as many bins of ``design`` as possible, each ``hits`` times while they last.

    ``limits`` are for each question to a solver. With ``run``, all bins that no row hits are asked about at once, even
    if the operands found for one bin hit another. Without it they are asked about one by one as needed. A seed gives
    the same vectors as long as the same questions are answered. Raises UnknownSolverError, SolverNotInstalledError,
    StoreError, and WitnessDoesNotReplay (an internal error).
    """
    started, solving, rng = time.monotonic(), Solving.of(solver), np.random.default_rng(seed)
    rows = max(ROWS, -(-2 * n // len(DISTRIBUTIONS)))
    batch = OperandBatch.concatenate([draw(name, design, rows, design.k, rng) for name in DISTRIBUTIONS])
    origins = [name for name in DISTRIBUTIONS for _ in range(rows)]
    distinct = list({batch.row(i): i for i in reversed(range(len(batch)))}.values())[::-1]
    batch, origins = batch.select(np.array(distinct)), [origins[i] for i in distinct]
    bins, found = hits_of(design, batch)

    def add(more: OperandBatch, origin: str) -> None:
        nonlocal batch, origins, found
        batch, origins = OperandBatch.concatenate([batch, more]), [*origins, *[origin] * len(more)]
        found = np.concatenate([found, hits_of(design, more)[1]])

    def add_aimed() -> None:
        aimed = aim(design, batch, bins, found, hits, seed)
        if aimed is not None:
            add(aimed, "search")

    add_aimed()
    verdicts: dict[Bin, Verdict[Model]] = {}
    missing = [i for i in range(len(bins)) if not found[:, i].any()]
    tasks = [Task(design, bins[i], solving, limits) for i in missing]
    known = {} if run is None else dict(zip(missing, run(ask_about, tasks), strict=True))
    for i, task in zip(missing, tasks, strict=True):
        if found[:, i].any():
            continue
        wanted, asked = task.wanted, known[i] if i in known else ask_about(task)
        verdicts[wanted] = asked.verdict
        if asked.operands is not None:
            add(OperandBatch.of_rows(design.formats, [asked.operands]), str(asked.verdict.solver))
    if hits > 1:
        # what a solver found for a bin is where more rows for it are looked for
        add_aimed()
    chosen = choose(found, n, hits)
    baseline = hits_of(design, draw(BASELINE, design, n, design.k, np.random.default_rng(seed)))[1].sum(axis=0)
    counts, reached = found[chosen].sum(axis=0), found.sum(axis=0)
    return Coverage(
        design,
        tuple(_vector(design, batch, bins, found, i, origins[i], seed, version) for i in chosen),
        tuple(
            Covered(x, int(counts[i]), int(baseline[i]), bool(reached[i]), verdicts.get(x)) for i, x in enumerate(bins)
        ),
        seed,
        hits,
        time.monotonic() - started,
        unasked(design, batch),
    )


def choose(found: Hits, n: int, hits: int) -> list[int]:
    """Return at most ``n`` rows. Each is the row that hits the most bins that still need hits.

    A bin needs ``hits`` rows. If no row hits a bin that needs it, every bin needs one more.
    """
    of_bin = np.ascontiguousarray(found.T)
    need: npt.NDArray[np.int64] = np.full(len(of_bin), hits)
    gains: npt.NDArray[np.int64] = found.sum(axis=1)
    chosen: list[int] = []
    while len(chosen) < min(n, len(found)):
        best = int(gains.argmax())
        if gains[best] > 0:
            chosen.append(best)
            need -= found[best]
            gains -= of_bin[found[best] & (need == 0)].sum(axis=0)
            # below whatever all bins together can add again
            gains[best] = -len(of_bin) * len(found) * hits
        else:
            need += 1
            gains += of_bin[need == 1].sum(axis=0)
    return chosen


def _vector(
    design: Design,
    batch: OperandBatch,
    bins: Sequence[Bin],
    found: Hits,
    row: int,
    origin: str,
    seed: int,
    version: str,
) -> Vector:
    operands = batch.row(row)
    return Vector(
        operands,
        design.formats,
        {design.name: evaluate(design, operands)},
        why=f"covers {design.name}",
        origin=origin,
        version=version,
        scale_format=design.scale_format,
        tags=tuple(str(bins[i]) for i in np.flatnonzero(found[row]).tolist()),
        seed=seed,
    )
