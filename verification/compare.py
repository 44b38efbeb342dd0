"""The comparison of two designs: a distinguishing vector, a proof that none exists, or the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.open_points import open_readings
from mmaproof.designs.operands import OperandBatch
from mmaproof.explain import Picture, explain
from mmaproof.explain.figure import answer_html
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Conditions, Precondition, ZeroAccumulator, preconditions_of
from mmaproof.properties.property import QuestionVerdict, Recalled
from mmaproof.properties.question import Examined
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.evaluate import ARRAYS, OpenPoints, SharedBatch, evaluate_on_arrays, open_points, result_of
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.distributions import kept_bits
from mmaproof.verification.search import SIMPLIFYING, Budget, Means, search, simplest
from mmaproof.verification.strategies import answer

PREFERRING = 1.0
"""Seconds for which another witness is looked for, for each thing that is preferred."""
_SEED = 0
_INTEGERS = IntegerAlgebra()
ROWS, ROWS_AT_ONCE = 20_000, 64
"""Operand sets that are tried, and witnesses of a batch of them that are held against all readings."""


def fixed_parameters(question: Equivalence) -> frozenset[str] | None:
    """Return the parameters that the user set in either design; None if the question is about readings of one unit."""
    first, second = question.designs
    if first.base_name == second.base_name and (first.profile or second.profile):
        return None
    return frozenset((*first.changed, *second.changed))


def open_points_of(question: Equivalence, witness: Operands) -> dict[str, OpenPoints]:
    """Return the open points on which the results for a witness rest, by name of the design."""
    fixed = fixed_parameters(question)
    if fixed is None:
        return {}
    return {x.name: open_points(x, witness, nan_codes=question.nan_codes, fixed=fixed) for x in question.designs}


@dataclass(frozen=True)
class Readings:
    """The designs that two designs may be: the pairs of which no two may return the same."""

    question: Equivalence
    pairs: tuple[tuple[Design, Design], ...]

    @classmethod
    def of(cls, question: Equivalence) -> Readings:
        """Return the pairs of readings: of two units all, of one unit that was changed the same reading of both."""
        first, second = question.designs
        fixed = fixed_parameters(question)
        if fixed is None:
            return cls(question, ((first, second),))
        of_first, of_second = (open_readings(x, fixed) for x in (first, second))
        if first.base_name == second.base_name:
            others = {tuple(x.texts.items()): x.design for x in of_second}
            same = [(x.design, others.get(tuple(x.texts.items()), second)) for x in of_first]
            return cls(question, ((first, second), *same))
        held = [(x, *(r.design for r in of)) for x, of in ((first, of_first), (second, of_second))]
        return cls(question, tuple((x, y) for x in held[0] for y in held[1]))

    def told_apart(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return for which rows every pair returns different results."""
        shared = SharedBatch.of(batch)
        d = {x: evaluate_on_arrays(x, shared) for x in dict.fromkeys(x for pair in self.pairs for x in pair)}
        # most readings return the same, so each pair of results is compared once
        distinct = {(d[x].tobytes(), d[y].tobytes()): (d[x], d[y]) for x, y in self.pairs}
        apart = np.ones(len(batch), dtype=bool)
        for results in distinct.values():
            words = (ARRAYS.from_patterns(x, self.question.designs[0].d_format.bits) for x in results)
            apart &= ~self.question.are_equal(ARRAYS, *words).data
        return apart

    def told_apart_by(self, witness: Operands) -> bool:
        """Return whether every pair returns different results for one witness."""
        bits = self.question.designs[0].d_format.bits
        apart: set[tuple[int, int]] = set()
        for x, y in self.pairs:  # the first that are equal decide
            d, e = result_of(x, witness), result_of(y, witness)
            if (d, e) not in apart:
                words = (_INTEGERS.unsigned(z, bits) for z in (d, e))
                if self.question.are_equal(_INTEGERS, *words).data:
                    return False
                apart.add((d, e))
        return True


class _Preferred(Equivalence):
    """The same question about two designs, of which only some witnesses count."""

    def __init__(
        self, asked: Equivalence, also: Sequence[Precondition], readings: Readings | None, *, with_products: bool
    ) -> None:
        super().__init__(
            *asked.designs,
            k=asked.k,
            where=(*asked.where, *also),
            nan_codes=asked.nan_codes,
            zero_signs=asked.zero_signs,
        )
        self.readings, self.with_products = readings, with_products

    def examine(self, batch: OperandBatch) -> Examined:
        """Return which rows satisfy the preconditions, and which of them are witnesses that count."""
        meant, refuted = super().examine(batch)
        if self.with_products:
            refuted = refuted & has_products(self, batch)
        if self.readings is None:
            return meant, refuted
        chosen = np.flatnonzero(refuted)[:ROWS_AT_ONCE]
        counted = np.zeros_like(refuted)
        if len(chosen):
            counted[chosen] = self.readings.told_apart(batch.select(chosen))
        return meant, counted

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether operands are a witness that counts."""
        row = OperandBatch.of_rows(self.formats, [operands])
        return super().is_refuted_by(operands) and bool(self.examine(row)[1][0])


def has_products(question: Equivalence, batch: OperandBatch) -> npt.NDArray[np.bool_]:
    """Return which rows have a product that is not zero."""
    zero = []
    for x, fmt in zip((batch.a, batch.b), question.formats, strict=False):
        sign = 1 << fmt.sign_position if fmt.signed and not fmt.is_integer else 0
        zero.append((x == 0) | (x == sign))
    found: npt.NDArray[np.bool_] = ~(zero[0] | zero[1]).all(axis=1)
    return found


def preferred(
    question: Equivalence, design: Design, witness: Operands, *, seconds: float, simplifying: float
) -> tuple[Operands, str]:
    """Return a witness that holds under every reading and has products, and c = 0 if possible, and where it is from.

    The search has one seed, so that a witness that was kept in a store leads to the same one again.
    The text is empty if it is ``witness``, because that will do or nothing better was found.

    A witness holds under every reading if no open point makes the two results equal. One whose products are all zero
    shows what is done with c, and is of no use to whoever cannot set c. The verdict stays as it is.
    """
    if not all(x.step.is_parametric for x in question.designs):
        return witness, ""
    readings = Readings.of(question)
    holds = readings.told_apart_by(witness)
    multiplies = bool(has_products(question, OperandBatch.of_rows(question.formats, [witness]))[0])
    if holds and multiplies:
        return witness, ""
    zero_c = () if question.formats[2].is_integer else (ZeroAccumulator(),)
    wanted: list[tuple[Sequence[Precondition], Readings | None, bool]] = [
        (zero_c, readings, True),
        ((), readings, True),
    ]
    if not holds:
        wanted += [((), readings, False)] + ([] if multiplies else [(zero_c, None, True), ((), None, True)])
    for also, held, with_products in wanted:
        try:
            asked = _Preferred(question, also, held, with_products=with_products)
        except InputError:  # no such operands are meant
            continue
        found = search(asked, design, seed=_SEED, budget=Budget(ROWS, seconds))
        if found.witnesses:
            simple = simplest(asked, found.witnesses, worked() + simplifying)
            return simple, f"search for operands of use (seed {_SEED}, {found.rows} operand sets tried)"
    return witness, ""


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
        first, other = (x.designs[0] for x in (self.question, question))
        results = self.results
        if results is not None and first is not other and Arithmetic.of(first) != Arithmetic.of(other):
            results = results[::-1]
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
