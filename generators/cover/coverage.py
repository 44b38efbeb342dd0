"""Vectors that hit the events of a datapath: random ones, some that are aimed at missing events, and a solver's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.cover.bins import Bin
from mmaproof.generators.cover.reach import Hits, Task, aim, ask_about, hits_of, unasked
from mmaproof.generators.vectors import Vector
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Model, SolverIdentity, Status, Verdict
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.executors import Runner

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
