"""The comparison of two designs: a distinguishing vector, a proof that none exists, or the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.explain import Picture, explain
from mmaproof.explain.html import answer_html
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Conditions, preconditions_of
from mmaproof.properties.property import QuestionVerdict, Recalled
from mmaproof.smt.open_points import OpenPoints
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.answer import answer
from mmaproof.verification.distributions import kept_bits
from mmaproof.verification.means import SIMPLIFYING, Means
from mmaproof.verification.preferred import (
    PREFERRING,
    Readings,
    fixed_parameters,
    has_products,
    open_points_of,
    preferred,
)
from mmaproof.verification.search import Budget

DEFAULT_BUDGET = Budget()
DEFAULT_LIMITS = Limits(seconds=60, memory_bytes=4 << 30)

WORDS = {
    Status.PROVED: "equivalent",
    Status.REFUTED: "different",
    Status.UNKNOWN: "unknown",
    Status.VACUOUS: "vacuous",
}


@dataclass(frozen=True, kw_only=True)
class Comparison(QuestionVerdict):
    """The verdict on the question whether two designs are equivalent. Only REFUTED has ``outputs``.

    ``results`` are what the designs return for the witness, None if that was not computed yet.
    """

    question: Equivalence
    results: tuple[int, int] | None = None

    @property
    def verdict(self) -> str:
        """The verdict as the command line prints it."""
        return WORDS[self.status]

    @property
    def outputs(self) -> Mapping[str, int]:
        """The d that each design returns for the witness, computed on integers."""
        results = self.computed()
        return {} if results is None else dict(zip((d.name for d in self.question.designs), results, strict=True))

    def computed(self) -> tuple[int, int] | None:
        """Return what the designs return for the witness, computed on integers; None if there is no witness."""
        if self.witness is None or self.results is not None:
            return self.results
        d, e = self.question.integer_results(self.witness, self.unknown)
        return d.data, e.data

    @cached_property
    def open_points(self) -> Mapping[str, OpenPoints]:
        """The open points on which the results for the witness rest, by name of the design."""
        return {} if self.witness is None else open_points_of(self.question, self.witness)

    @cached_property
    def holds_under_every_reading(self) -> bool | None:
        """Whether no readings of open points make the two results equal.

        None if there is no witness, and if the question is about what a source says of a unit.
        """
        if self.witness is None or fixed_parameters(self.question) is None:
            return None
        return Readings.of(self.question).told_apart_by(self.witness)

    @property
    def multiplies(self) -> bool:
        """Whether a product of the witness is not zero."""
        if self.witness is None:
            return False
        return bool(has_products(self.question, OperandBatch.of_rows(self.question.formats, [self.witness]))[0])

    def about(self, question: Equivalence) -> Comparison:
        """Return the same verdict on a question about the same two arithmetics, in either order."""
        first, other = (Arithmetic.of(x.designs[0]) for x in (self.question, question))
        results = self.results if self.results is None or first == other else self.results[::-1]
        # another question has another formula, and the theorem is of this one
        proof = self.proof if self.theorem is None else Recalled()
        return replace(self, question=question, results=results, proof=proof)

    def __repr__(self) -> str:
        return f"<{self.verdict}: {' and '.join(d.name for d in self.question.designs)}, k = {self.question.k}>"

    def picture(self) -> Picture | None:
        """Return the picture of the witness; None if there is none."""
        return None if self.witness is None else explain(self.question.designs, self.witness)

    def _repr_html_(self) -> str:
        names = " and ".join(d.name for d in self.question.designs)
        asked = ", ".join([f"k = {self.question.k}", *(f"where {p}" for p in self.question.where)])
        lines = [f"{self.verdict}: {names}", f"asked for {asked}; answered by {self.origin}", self.reason or ""]
        return answer_html(lines, [("", x) for x in (self.picture(),) if x is not None])


def compare(
    first: Design | str,
    second: Design | str,
    *,
    solver: str | Solving = DEFAULT_SOLVER,
    limits: Limits | float = DEFAULT_LIMITS,
    k: int | None = None,
    where: Conditions = (),
    nan_codes: bool = False,
    zero_signs: bool = True,
    budget: Budget | None = DEFAULT_BUDGET,
    seed: int = 0,
    simplifying: float = SIMPLIFYING,
    preferring: float = PREFERRING,
    told: Callable[[str], None] | None = None,
) -> Comparison:
    """Find out whether two designs, or those of these names, are equivalent.

    ``limits`` may be a number of seconds, and ``where`` conditions as the option ``--where`` spells them.
    ``budget`` None switches the search off. It comes first, and the solver gets the rest of the time.
    Witnesses are simplified for at most ``simplifying`` seconds, of which ``told`` is told. If the witness does not
    hold under every reading of open points, or all its products are zero, another one is looked for, for about
    ``preferring`` seconds, and simplified likewise.
    Raises DesignError if the designs are not comparable, UnknownSolverError, SolverNotInstalledError, StoreError if the
    store of ``solver`` cannot be used, SolversDisagree, and WitnessDoesNotReplay (an internal error: formula and
    integers disagree).

    >>> import mmaproof
    >>> found = mmaproof.compare("volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32")
    >>> str(found.verdict), [hex(x) for x in found.outputs.values()]
    ('different', ['0xbfeaf080', '0xbfeaf07f'])
    """
    first, second = find_design(first), find_design(second)
    solving = Solving.of(solver)
    question = Equivalence(
        first, second, k=k, where=preconditions_of(where), nan_codes=nan_codes, zero_signs=zero_signs
    )
    means = Means(solving, Limits.of(limits), budget, seed, simplifying=simplifying, told=told)
    found = answer(question, _finer(first, second), means)
    if found.witness is not None and preferring and budget is not None and not found.unknown:
        finer = _finer(first, second)
        witness, origin = preferred(question, finer, found.witness, seconds=preferring, simplifying=simplifying)
        if origin:
            found = replace(found, witness=witness, origin=f"{found.origin}, then {origin}")
    return Comparison(**{**{f.name: getattr(found, f.name) for f in fields(found)}, "question": question})


def _finer(first: Design, second: Design) -> Design:
    """Return the design whose alignment reaches further down. Random operands are drawn about its cut.

    Nothing is known about the cut of a netlist.
    """
    known = [x for x in (first, second) if x.step.is_parametric]
    return max(known, key=kept_bits, default=first)
