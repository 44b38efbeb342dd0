"""Questions: a claim about all operands that satisfy the preconditions.

A question is written over the algebra, like the semantics. One definition serves three purposes: the solver gets it as
terms, the search looks for a witness on arrays or in machine code, and every witness is confirmed on integers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pysmt.environment import Environment
from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch
from mmaproof.properties.key import Keyed
from mmaproof.properties.preconditions import Pattern, Precondition
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
from mmaproof.smt.semantics import OperandWords
from mmaproof.smt.semantics.unpack import unpack

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
