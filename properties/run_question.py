"""Questions about the results of runs. Each run is a design on operands made from those of the question."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.properties.preconditions import Precondition, of_numbers, restricting
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.unpack import unpack
from mmaproof.smt.trace import evaluate

_INTEGERS = IntegerAlgebra()


@dataclass(frozen=True)
class Scope:
    """What a property is asked about: the length (None: one step), preconditions, and the seed of random choices."""

    k: int | None = None
    where: tuple[Precondition, ...] = ()
    seed: int = 0


ANY = Scope()
"""One step on any operands."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a witness: a design, operands, and the pattern of d that it returns for them.

    ``whole`` says whether the instruction of that name returns this d. Otherwise only one step of it does, because its
    other steps, whose products are zero, change the result.
    """

    design: Design
    operands: Operands
    d: int
    whole: bool = True


class RunQuestion(Question):
    """A claim about the results of one or more runs.

    Without a length in ``scope`` it is about one step of ``design``. Raises DesignError if the length does not fit or
    preconditions are given for an integer unit, and InputError if a range of exponents leaves only zeros.
    """

    def __init__(self, design: Design, scope: Scope) -> None:
        if of_numbers(scope.where) and design.c_format.is_integer:
            raise DesignError(f"{design.name} is an integer unit: of preconditions it has patterns only, such as c=0x0")
        self.design = design = design if scope.k is None else design.configured(scope.k)
        self.scope = scope
        self.scale_format = design.scale_format
        self.formats = design.formats[:3]
        self.k = design.step.L if scope.k is None else scope.k
        asked = self.asked(design)
        asked.padded_length(self.k)
        self.blocks = asked.blocks(self.k)
        self.where = restricting(scope.where, self.formats)

    def asked(self, design: Design) -> Design:
        """Return the part of a design that is run: one step, or the whole design if a length is given."""
        return design.one_step() if self.scope.k is None else design.configured(self.k)

    @property
    def is_one_step(self) -> bool:
        """Whether one step of the design takes all products, with nothing before or after it."""
        return len(datapath(self.asked(self.design), self.k)) == 1

    def runs(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Sequence[tuple[Design, OperandWords[D]]]:
        """Return the runs, of whole designs. By default the design runs once on the operands."""
        return ((self.design, operands),)

    def assumption(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return what the question assumes of the operands besides the preconditions. By default it is nothing."""
        return algebra.truth(True)

    def finite(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether no operand is an infinity or a NaN, scales included."""
        a, b, c = self.formats
        unpacked = [unpack(algebra, f, x) for f, column in ((a, operands.a), (b, operands.b)) for x in column]
        unpacked.append(unpack(algebra, c, operands.c))
        if self.scale_format is not None:
            scales = (*operands.scale_a, *operands.scale_b)
            unpacked += [unpack(algebra, self.scale_format, x) for x in scales]
        return algebra.negation(algebra.any_of([t for x in unpacked for t in (x.infinite, x.nan)]))

    @abstractmethod
    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether the results of the runs, in their order, are as claimed."""

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands satisfy every precondition and the assumption."""
        return algebra.all_of([super().precondition(algebra, operands), self.assumption(algebra, operands)])

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the results of the runs are as claimed."""
        results = [dot_product_accumulate(self.asked(d), algebra, x) for d, x in self.runs(algebra, operands)]
        return self.relation(algebra, operands, results)

    def symbolic_step(self) -> StepSignals[FNode, FNode]:
        """Return the first step of the design on variables. Only the shapes of its signals are used."""
        algebra = TermAlgebra()
        return dot_product_accumulate(self.asked(self.design), algebra, self.symbols(algebra)).steps[0]

    def witness_runs(self, operands: Operands) -> tuple[Run, ...]:
        """Return the runs on these operands, computed on integers.

        A step is shown as an instruction whose other products are zero, if that returns the same d.
        """
        runs = []
        for design, words in self.runs(_INTEGERS, self.integer_words(operands)):
            columns = [tuple(w.data for w in x) for x in (words.a, words.b, words.scale_a, words.scale_b)]
            given = Operands(columns[0], columns[1], words.c.data, *columns[2:])
            d = evaluate(self.asked(design), given)
            placed = given if self.scope.k is not None else _placed(design, given)
            whole = placed is not None and evaluate(design, placed) == d
            runs.append(Run(design, placed if whole and placed is not None else given, d, whole))
        return tuple(runs)


class SameResults(RunQuestion):
    """All runs return equal d."""

    compares_runs = True

    def relation(
        self, algebra: Algebra[D, T], operands: OperandWords[D], results: Sequence[DotProduct[D, T]]
    ) -> Truth[T]:
        """Return whether they do."""
        first, *others = results
        return algebra.all_of([equal_results(algebra, self.design.d_format, first.d, x.d) for x in others])


def of_one_step(name: str, design: Design, scope: Scope, otherwise: str = "") -> Scope:
    """Return the scope of one step for the property ``name``. Raises DesignError for any other length.

    ``otherwise`` says what tells more about another length.
    """
    if scope.k not in (None, design.step.L):
        raise DesignError(f"{name} is about one step of L = {design.step.L} products{otherwise}")
    return replace(scope, k=None)


def _placed(design: Design, step: Operands) -> Operands | None:
    """Return operands of an instruction whose first step takes ``step``; None if scales do not allow it."""
    places = design.chain.k_order.permutation(design.k)[: len(step)]
    if places == list(range(len(step))) and (design.block is None or len(step) % design.block == 0):
        return step
    if design.scale_format is not None:
        return None
    a, b = [0] * design.k, [0] * design.k
    for place, x, y in zip(places, step.a, step.b, strict=True):
        a[place], b[place] = x, y
    return Operands(tuple(a), tuple(b), step.c)
