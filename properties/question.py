"""Questions: a claim about all operands that satisfy the preconditions.

A question is written over the algebra, like the semantics. One definition serves three purposes: the solver gets it as
terms, the search looks for a witness on arrays or in machine code, and every witness is confirmed on integers.

The key of a question: a text that is the same for equal questions in every process.

Which rows satisfy preconditions.

Questions about the results of runs. Each run is a design on operands made from those of the question.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.circuit import Circuit
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.preconditions import Pattern, Precondition, of_numbers, restricting
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.algebra.code import CodeAlgebra
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.nodes import Node
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra, default_environment
from mmaproof.smt.native.lowering import InputColumn, columns_of, symbols
from mmaproof.smt.proving.journal import RecordedTerms
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Formula, Lemma
from mmaproof.smt.proving.staged import Related
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.semantics.patterns import unpack
from mmaproof.smt.trace import evaluate

_PACKAGE = "mmaproof."
_DECIDING = ("signature", "k", "chain", "step", "k_multiple")
"""The fields of a design on which results depend."""


class Keyed:
    """The base of classes whose key consists of the class and all fields."""

    @property
    def key(self) -> str | None:
        """The key as canonical JSON; None if a field is not plain data, because the key would not contain it."""
        return _key(self, lambda kind: True)

    @property
    def own_key(self) -> str | None:
        """The key, if all classes in it are this program's own; None otherwise.

        What another class does is not known from its name, nor from the sources of this program.
        """
        return _key(self, lambda kind: kind.__module__.startswith(_PACKAGE))


def _key(keyed: Keyed, allows: Callable[[type], bool]) -> str | None:
    try:
        return json.dumps(_Data(allows).of_keyed(keyed, ()), sort_keys=True, separators=(",", ":"))
    except TypeError:
        return None


@dataclass(frozen=True)
class _Data:
    """Objects as JSON data, of classes that are allowed."""

    allows: Callable[[type], bool]

    def of_keyed(self, keyed: Keyed, around: tuple[Keyed, ...]) -> Any:
        """Return ``keyed`` as data. ``around`` are the objects that hold it, the outermost first."""
        for depth, outer in enumerate(around):
            if outer is keyed:
                return {"around": depth}
        kind = type(keyed)
        held = {n: x for n, x in vars(keyed).items() if not isinstance(getattr(kind, n, None), cached_property)}
        return {self._name(kind): {n: self._plain(x, (*around, keyed)) for n, x in held.items()}}

    def _plain(self, value: object, around: tuple[Keyed, ...]) -> Any:
        """Return a value as JSON data. Raise TypeError if the data would not contain all of it."""
        record: Any
        match value:
            case Enum():
                record = {self._name(type(value)): value.name}
            case None | bool() | int() | float() | str():
                record = value
            case tuple() | list() | range():
                record = [self._plain(x, around) for x in value]
            case dict() if all(type(name) is str for name in value):
                record = {name: self._plain(x, around) for name, x in value.items()}
            case Design():
                held = {n: self._plain(getattr(value, n), around) for n in _DECIDING}
                record = {self._name(type(value)): held}
            case Circuit():
                record = {self._name(type(value)): value.digest}
            case Keyed():
                record = self.of_keyed(value, around)
            case _ if is_dataclass(value) and not isinstance(value, type):
                held = {f.name: self._plain(getattr(value, f.name), around) for f in fields(value)}
                record = {self._name(type(value)): held}
            case _:
                raise TypeError(f"{value!r} is not plain data")
        return record

    def _name(self, kind: type) -> str:
        if not self.allows(kind):
            raise TypeError(f"{kind} is not known by its name")
        return f"{kind.__module__}.{kind.__qualname__}"


_INTEGERS = IntegerAlgebra()
_ARRAYS = ArrayAlgebra()


Argument = Callable[[Kernel], None]
Examined = tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
"""Which rows satisfy the preconditions, and which of them violate the claim."""


class Question(Keyed, ABC):
    """For all operands of these formats and length: preconditions imply the claim."""

    formats: tuple[Format, Format, Format]
    """the formats of a, b and c"""
    scale_format: Format | None
    k: int
    blocks: int
    """number of scales of a, and of b"""
    where: tuple[Precondition, ...]
    compares_runs: ClassVar[bool] = False
    """whether the claim relates results of two or more runs, which can be compared stage by stage"""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process, without the formula, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "formula"}

    @abstractmethod
    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the claim holds for the operands."""

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether a, b and c satisfy every precondition. Preconditions do not restrict scales."""
        if not self.where:
            return algebra.truth(True)
        met = [p.holds_for_bits(algebra, operands) for p in self.where if isinstance(p, Pattern)]
        numbers = [p for p in self.where if not isinstance(p, Pattern)]
        if numbers:
            a, b, c = self.formats
            products = [unpack(algebra, a, x) for x in operands.a] + [unpack(algebra, b, x) for x in operands.b]
            accumulator = unpack(algebra, c, operands.c)
            met += [p.holds(algebra, products, accumulator) for p in numbers]
        return algebra.all_of(met)

    def symbols(self, algebra: TermAlgebra) -> OperandWords[FNode]:
        """Return the operands as variables. Their names contain the format, so no other width has the same name."""
        return operand_words(
            [[algebra.symbol(f"{n}{i}_{f.name}", f.bits) for i in range(count)] for n, f, count in self.columns()]
        )

    @cached_property
    def formula(self) -> Formula:
        """The question as formulas of the default environment.

        Their symbols are in the order of ``columns``. Those of bits that may have any value come after them.
        """
        return self.formula_in(default_environment())

    def formula_in(self, environment: Environment) -> Formula:
        """Return the question as formulas of an environment.

        The order of symbols is a, b, c, scale_a, scale_b, random, and then those of bits that may have any value.
        """
        algebra = RecordedTerms(environment)
        operands = self.symbols(algebra)
        columns = (operands.a, operands.b, [operands.c], operands.scale_a, operands.scale_b, operands.random)
        symbols = tuple(w.data for column in columns for w in column)
        precondition = self.precondition(algebra, operands).data
        assumed = None if precondition.is_true() else precondition
        algebra.recording.entries.clear()
        claim = self.claim(algebra, operands).data
        return Formula(
            (*symbols, *algebra.unknowns.values()), assumed, claim, environment, tuple(algebra.recording.entries)
        )

    def columns(self) -> list[tuple[str, Format, int]]:
        """Return name, format and number of words of each column of operands, in the order of ``Formula.symbols``.

        A question whose random bits are an operand has all six columns, those of scales with no words if need be.
        """
        a, b, c = self.formats
        columns = [("a", a, self.k), ("b", b, self.k), ("c", c, 1)]
        if self.scale_format is not None:
            columns += [("scale_a", self.scale_format, self.blocks), ("scale_b", self.scale_format, self.blocks)]
        return columns

    def completed(self, batch: OperandBatch, rng: np.random.Generator) -> OperandBatch:
        """Return the rows with what the question is about besides a, b, c and scales. By default that is nothing."""
        return batch

    def operands(self, model: Mapping[str, int]) -> Operands:
        """Return the operands that a solver's model of ``formula`` assigns."""
        values = iter([model[symbol.symbol_name()] for symbol in self.formula.symbols])
        a, b, c, *scales = (tuple(next(values) for _ in range(count)) for _, _, count in self.columns())
        return Operands(a, b, c[0], *scales)

    def unknown(self, model: Mapping[str, int]) -> dict[str, int]:
        """Return the bits that may have any value, as a solver's model of ``formula`` assigns them: those not zero."""
        operands = sum(count for _, _, count in self.columns())
        values = {x.symbol_name(): model[x.symbol_name()] for x in self.formula.symbols[operands:]}
        return {name: value for name, value in values.items() if value}

    def integer_words(self, operands: Operands) -> OperandWords[int]:
        """Return the operands as words of the integer interpretation."""
        held = (operands.a, operands.b, (operands.c,), operands.scale_a, operands.scale_b, operands.random)
        columns = []
        for (_, f, _), column in zip(self.columns(), held, strict=False):
            words = {x: _INTEGERS.unsigned(x, f.bits) for x in column}
            columns.append([words[x] for x in column])
        return _read_once(columns)

    def is_meant(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions, computed on integers."""
        return self.precondition(_INTEGERS, self.integer_words(operands)).data

    def is_refuted_by(self, operands: Operands) -> bool:
        """Return whether the operands satisfy the preconditions and violate the claim, computed on integers."""
        return self.is_meant(operands) and not self.claim(_INTEGERS, self.integer_words(operands)).data

    def confirm(self, model: Mapping[str, int]) -> bool:
        """Return whether a solver's model of ``formula`` is a witness, computed on integers."""
        return self.is_refuted_with(self.operands(model), self.unknown(model))

    def is_refuted_with(self, operands: Operands, unknown: Mapping[str, int]) -> bool:
        """Return what ``is_refuted_by`` does, where bits that may have any value have those of ``unknown``."""
        if not unknown:
            return self.is_refuted_by(operands)
        algebra = IntegerAlgebra(unknown=unknown)
        return self.is_meant(operands) and not self.claim(algebra, self.integer_words(operands)).data

    def is_same_computation(self) -> bool:
        """Return whether the claim is that one computation returns what it returns. By default it is not."""
        return False

    def other_questions(self) -> Sequence[OtherQuestion]:
        """Return other questions, whose claims together imply this one. By default there are none."""
        return ()

    def special_case(self) -> SpecialCase | None:
        """Return a case of the question in which its violations show best. By default there is none."""
        return None

    def lemmas(self) -> Sequence[Lemma]:
        """Return lemmas that together imply the claim wherever the preconditions hold. By default there are none."""
        return ()

    def argument(self) -> Argument | None:
        """Return what adds the steps of a proof to a kernel, whose root are the counterexamples. None if nothing does.

        It raises NotComposedError where it does not apply, or a leaf is not refuted.
        """
        return None

    @property
    def decides_by_argument(self) -> bool:
        """Whether the argument is how the question is decided. Where it is not, lemmas are that say less."""
        return False

    def related_results(self) -> Related | None:
        """Return how results inside the runs, along chains and in trees, are related; None if they are equal."""
        return None

    def array_words(self, batch: OperandBatch) -> OperandWords[npt.NDArray[Any]]:
        """Return the rows as words of the array interpretation."""
        held = [*(x.T for x in (batch.a, batch.b)), batch.c[np.newaxis]]
        if batch.random is not None:
            none = batch.random.T[:0]
            held += [*(none if x is None else x.T for x in (batch.scale_a, batch.scale_b)), batch.random.T]
        else:
            held += [x.T for x in (batch.scale_a, batch.scale_b) if x is not None]
        return _read_once(
            [
                [_ARRAYS.from_patterns(x, f.bits) for x in column]
                for (_, f, _), column in zip(self.columns(), held, strict=False)
            ]
        )

    def examine(self, batch: OperandBatch) -> Examined:
        """Return which rows satisfy the preconditions, and which of them violate the claim, computed on arrays."""
        meant = self.examine_precondition(batch)
        return meant, meant & self.examine_claim(batch)

    def lowered(self) -> list[Node]:
        """Return the preconditions and the claim as nodes of a graph, whose inputs are the operands.

        Raises TooWideError where a number needs more than 128 bits.
        """
        algebra = CodeAlgebra()
        operands = symbols(algebra, self._input_columns)
        return [self.precondition(algebra, operands).data, self.claim(algebra, operands).data]

    def compiled(self, lowered: Sequence[Node]) -> Callable[[OperandBatch], Examined]:
        """Return ``examine`` in machine code, of the nodes that ``lowered`` returns.

        Raises TargetUnavailable where nothing can be compiled.
        """
        from mmaproof.smt.native.kernels import truths_kernel  # noqa: PLC0415  (loads LLVM)

        def on_arrays(batch: OperandBatch) -> list[npt.NDArray[np.bool_]]:
            return [self.examine_precondition(batch), ~self.examine_claim(batch)]

        kernel = truths_kernel(type(self).__name__, self._input_columns, lowered, on_arrays)

        def examine(batch: OperandBatch) -> Examined:
            meant, holds = (x.astype(bool) for x in kernel.run(batch))
            return meant, meant & ~holds

        return examine

    @property
    def _input_columns(self) -> tuple[InputColumn, ...]:
        return columns_of(self.formats, self.k, self.scale_format, self.blocks)

    def examine_precondition(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return which rows satisfy the preconditions, computed on arrays."""
        meant: npt.NDArray[np.bool_] = (
            np.zeros(len(batch), dtype=bool) | self.precondition(_ARRAYS, self.array_words(batch)).data
        )
        return meant

    def examine_claim(self, batch: OperandBatch) -> npt.NDArray[np.bool_]:
        """Return which rows violate the claim, computed on arrays."""
        holds: npt.NDArray[np.bool_] = (
            np.zeros(len(batch), dtype=bool) | self.claim(_ARRAYS, self.array_words(batch)).data
        )
        return ~holds


@dataclass(frozen=True, slots=True)
class OtherQuestion:
    """A question on whose verdict another one may rest, by name. Random operands are shaped for ``design``."""

    name: str
    question: Question
    design: Design


@dataclass(frozen=True, slots=True)
class SpecialCase:
    """A question about special operands that are made from any: ``taken`` makes them.

    Taken from a witness of it, they are a witness of the whole question. It proves nothing.
    """

    question: Question
    taken: Callable[[Operands], Operands]


def operand_words(columns: Sequence[Sequence[Word[D]]]) -> OperandWords[D]:
    """Return columns of words, in the order a, b, c, scale_a, scale_b, random, as operands."""
    a, b, c, *others = columns
    return OperandWords(a, b, c[0], *others)


def _read_once(columns: Sequence[Sequence[Word[D]]]) -> OperandWords[D]:
    """Return columns of words as operands that the designs of a question share: what one reads, the others have."""
    return replace(operand_words(columns), read={})


class _Nothing(Question):
    """Preconditions without a claim."""

    def __init__(self, formats: Sequence[Format], batch: OperandBatch, where: Sequence[Precondition]) -> None:
        a, b, c = formats[:3]
        self.formats, self.scale_format, self.k, self.blocks = (a, b, c), None, batch.k, 0
        self.where = restricting(where, self.formats)

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return True."""
        return algebra.truth(True)


def meant_rows(formats: Sequence[Format], batch: OperandBatch, where: Sequence[Precondition]) -> npt.NDArray[np.bool_]:
    """Return which rows of ``batch`` satisfy every precondition. They do not restrict scales.

    Raises InputError where a precondition is about numbers and an operand is an integer.
    """
    if of_numbers(where) and any(f.is_integer for f in formats[:3]):
        names = ", ".join(dict.fromkeys(f.name for f in formats[:3]))
        raise InputError(f"rows of {names} are of integers: of preconditions they have patterns only, such as c=0x0")
    unscaled = OperandBatch(batch.a, batch.b, batch.c)
    return _Nothing(formats, unscaled, where).examine_precondition(unscaled)


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
