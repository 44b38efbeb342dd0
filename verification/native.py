"""Whether native code computes a design: the graph that is compiled against the pySMT term, for all operands.

First, the graph is run on random operands and compared with the integers. Then it is proved place by place
(smt/proving/native.py). Where that fails, a solver looks for operands that violate what was not proved, and the graph
is run on them. So REFUTED always has operands for which the graph returns another d than the design, or an operation
has no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design, check_askable
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.properties.property import LemmaVerdict
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.algebra.nodes import UndefinedOperationError, run
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.native.lowering import continued
from mmaproof.smt.native.terms import Recorded, record, structure
from mmaproof.smt.proving.native import NativeStages, RefutedError, precondition, prove_graph
from mmaproof.smt.proving.staged_lemmas import Samples
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import JOINED, Status, Verdict, combine
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.search import Budget, Means, extreme_patterns
from mmaproof.verification.stages import ROWS, lemma_verdict

DEFAULT_LIMITS = Limits(seconds=300, memory_bytes=4 << 30)
DEFAULT_BUDGET = Budget(rows=256, seconds=2.0)
TRIED = 4
"""Claims for which operands are looked for that violate them."""
TRY_SECONDS = 20.0
"""Seconds for one of them."""

Row = Mapping[str, int]
"""Operands by the names of the graph's inputs."""


@dataclass(frozen=True, kw_only=True)
class GraphVerdict(Verdict[Operands]):
    """The verdict on one graph of ``operations`` operations, that it returns d of ``design`` for dot products of ``k``.

    With ``finite`` it is the graph for operands whose elements and scales are numbers, no infinities and no NaNs.
    """

    design: Design
    k: int
    finite: bool
    operations: int
    origin: str
    lemmas: tuple[LemmaVerdict, ...] = ()
    of_graph: int | None = None
    """the d of the graph for the witness; None if an operation has no meaning"""
    undefined: str | None = None
    """the operation that has no meaning for the witness"""
    of_design: int | None = None
    """the d of the design for the witness"""


@dataclass(frozen=True)
class NativeVerdict:
    """The verdicts on the graphs of a design, as ``graphs_of`` returns them."""

    graphs: tuple[GraphVerdict, ...]
    seconds: float

    @property
    def status(self) -> Status:
        """What is known of all graphs together."""
        return combine(x.status for x in self.graphs)


def prove_native(
    design: Design | str,
    *,
    k: int | None = None,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
) -> NativeVerdict:
    """Decide whether the graphs that are compiled for dot products of length ``k`` compute a design, for all operands.

    The limits, or a number of seconds, are for all graphs together. Raises DesignError for a length that does
    not fit, or a design that is not compiled, and what ``answer`` raises about solvers.

    >>> import mmaproof
    >>> str(mmaproof.prove_native("cpu/vpdpbusd").status)
    'Status.PROVED'
    """
    started, design, limits = worked(), find_design(design), Limits.of(limits)
    length = design.k if k is None else k
    check_askable(length)
    solving = Solving.of(solver)
    graphs: list[GraphVerdict] = []
    for recorded in graphs_of(design, length):
        left = limits.after(worked() - started, "the graph before") if graphs else limits
        graphs.append(decide_graph(recorded, Means(solving, left, budget, seed)))
    return NativeVerdict(tuple(graphs), worked() - started)


def graphs_of(design: Design, length: int) -> list[Recorded]:
    """Return the graphs that are compiled: for any operands, for finite ones, and both for a c of the format of d.

    The last two are those of the instructions that follow the first one in a chain. Graphs that are the same are one.
    Raises DesignError where there is none.
    """
    graphs: list[Recorded] = []
    try:
        for unit in dict.fromkeys((design, continued(design))):
            whole, finite = (record(unit, length, finite=finite) for finite in (False, True))
            graphs += [whole] if structure(whole.lowered) == structure(finite.lowered) else [whole, finite]
    except TooWideError as error:
        raise DesignError(f"{design.name} is not compiled, it runs on arrays: {error}") from error
    return graphs


def decide_graph(recorded: Recorded, means: Means) -> GraphVerdict:
    """Decide whether a graph returns d of its design for all operands that meet its precondition."""
    return _Decision(recorded, means).verdict()


class _Doubts:
    """What is done about claims that were not proved: the first few are searched for operands that violate them."""

    def __init__(self, decision: _Decision, samples: Sequence[Row]) -> None:
        self._decision, self._samples, self._tried = decision, samples, 0
        self.found: GraphVerdict | None = None

    def not_proved(self, claim: FNode) -> None:
        """Raise RefutedError if the graph does not return d of its design for operands that violate a claim."""
        if self._tried == TRIED:
            return
        self._tried += 1
        for row in self._decision.violations(claim, self._samples):
            self.found = self._decision.replayed(row, "operands that violate a lemma")
            if self.found is not None:
                raise RefutedError


class _Decision:
    """One graph on its way to a verdict."""

    def __init__(self, recorded: Recorded, means: Means) -> None:
        self.recorded, self.means = recorded, means
        self.lowered = recorded.lowered
        self.started = worked()
        self.environment = Environment()
        terms = TermAlgebra(self.environment)
        self.assumed = precondition(recorded, terms)
        self.names = [name for column in self.lowered.columns for name in column.inputs]
        self.symbols = [
            terms.symbol(name, column.format.bits).data for column in self.lowered.columns for name in column.inputs
        ]

    @property
    def left(self) -> Limits:
        """The limits that are left."""
        return self.means.limits.after(worked() - self.started, "the search and the lemmas")

    def verdict(self) -> GraphVerdict:
        """Return the verdict."""
        tried = 0
        if self.means.budget is not None:
            for row in self._random_rows(self.means.budget):
                tried += 1
                found = self.replayed(row, f"search (seed {self.means.seed}, {tried} operand sets tried)")
                if found is not None:
                    return found
        samples = list(self._rows(ROWS, np.random.default_rng(self.means.seed)))
        if not samples:
            return self._made(Status.UNKNOWN, "nobody", reason="no operands are known that meet the precondition")
        doubts = _Doubts(self, samples)
        ask, left = self.means.solving.ask, self.left
        try:
            proof = prove_graph(self.recorded, Samples(samples), ask, left, self.environment, doubts.not_proved)
        except RefutedError:
            if doubts.found is None:
                raise
            return doubts.found
        return self._concluded(proof, tried)

    def _concluded(self, proof: NativeStages, tried: int) -> GraphVerdict:
        lemmas = tuple(map(lemma_verdict, proof.lemmas))
        rests_on = tuple(x for x in lemmas if x.status is Status.PROVED)
        solver = lemmas[0].solver if lemmas else None
        after = f" after a search of {tried} operand sets" if tried else ""
        found = {x.certified_by for x in rests_on}
        by = found.pop() if len(found) == 1 else None
        certified = "" if by is None else f", certified by {by}, {JOINED}"
        origin = f"{solver}{certified}, {len(rests_on)} lemmas{after}"
        if proof.proved:
            made = self._made(Status.PROVED, origin, lemmas=rests_on)
            return replace(made, solver=solver, certified_by=by, joined=JOINED)
        reason = proof.reason or (
            f"not proved: {', '.join(proof.failed[:TRIED])}; nobody found operands for which d differs"
        )
        return replace(self._made(Status.UNKNOWN, origin, reason=reason, lemmas=lemmas), solver=solver)

    # --- operands -----------------------------------------------------------------------------------------------

    def _random_rows(self, budget: Budget) -> Iterator[Row]:
        rng, begun, count = np.random.default_rng(self.means.seed), worked(), 0
        while True:
            for row in self._rows(ROWS, rng):
                if count >= budget.rows or worked() - begun >= budget.seconds:
                    return
                count += 1
                yield row

    def _rows(self, count: int, rng: np.random.Generator) -> Iterator[Row]:
        """Yield extreme rows and N rows of every distribution, those that meet the precondition."""
        yield from self._meant(self._extremes())
        for distribution in DISTRIBUTIONS:
            batch = draw(distribution, self.lowered.design, count, self.lowered.length, rng)
            rows: list[Row] = []
            for x in (batch.row(i) for i in range(len(batch))):
                columns = {"a": x.a, "b": x.b, "c": (x.c,), "sa": x.scale_a, "sb": x.scale_b}
                values = [value for column in self.lowered.columns for value in columns[column.name]]
                rows.append(dict(zip(self.names, values, strict=True)))
            yield from self._meant(rows)

    def _extremes(self) -> list[Row]:
        """Return rows with one pattern in a whole column, so that all terms have the same size and add up."""
        columns = [extreme_patterns(x.format) for x in self.lowered.columns]
        rows = []
        for patterns in zip(*columns, strict=True):
            rows.append(self._filled(patterns))
            for i, (first, *_) in enumerate(columns):
                rows.append(self._filled([*patterns[:i], first, *patterns[i + 1 :]]))
        return rows

    def _filled(self, patterns: Sequence[int]) -> Row:
        return {n: x for column, x in zip(self.lowered.columns, patterns, strict=True) for n in column.inputs}

    def _meant(self, rows: Sequence[Row]) -> list[Row]:
        if not self.assumed:
            return list(rows)
        meets = Samples(rows).values(self.environment.formula_manager.And(self.assumed))
        return [row for row, meant in zip(rows, meets, strict=True) if meant]

    def violations(self, claim: FNode, samples: Sequence[Row]) -> Iterator[Row]:
        """Yield operands that violate a claim: samples, a solver's, and its operands of the claim among samples."""
        kept = Samples(samples).values(claim)
        yield from (row for row, holds in zip(samples, kept, strict=True) if not holds)
        limits = self.left
        if limits.seconds <= LEAST_SECONDS:
            return
        terms = self.environment.formula_manager
        limits = replace(limits, seconds=min(limits.seconds, TRY_SECONDS))
        reply = self.means.solving.ask(terms.And(*self.assumed, terms.Not(claim)), self.symbols, limits=limits)
        if reply.model is None:
            return
        yield reply.model
        of_claim = {x.symbol_name() for x in self.environment.fvo.get_free_variables(claim)}
        part = {name: value for name, value in reply.model.items() if name in of_claim}
        yield from self._meant([{**row, **part} for row in samples])

    def replayed(self, row: Row, origin: str) -> GraphVerdict | None:
        """Return the verdict if the graph does not return d of the design for these operands."""
        columns = {x.name: tuple(row[name] for name in x.inputs) for x in self.lowered.columns}
        operands = Operands(columns["a"], columns["b"], columns["c"][0], columns.get("sa", ()), columns.get("sb", ()))
        expected = evaluate(self.lowered.design, operands)
        returned, undefined = None, None
        try:
            (returned,) = run([self.lowered.d], row)
        except UndefinedOperationError as error:
            undefined = str(error)
        if returned == expected:
            return None
        made = self._made(Status.REFUTED, origin, witness=operands)
        return replace(made, of_graph=returned, undefined=undefined, of_design=expected)

    def _made(
        self,
        status: Status,
        origin: str,
        *,
        reason: str | None = None,
        witness: Operands | None = None,
        lemmas: tuple[LemmaVerdict, ...] = (),
    ) -> GraphVerdict:
        return GraphVerdict(
            status,
            worked() - self.started,
            reason,
            witness,
            design=self.lowered.design,
            k=self.lowered.length,
            finite=self.lowered.finite,
            operations=len(self.lowered.nodes),
            origin=origin,
            lemmas=lemmas,
        )
