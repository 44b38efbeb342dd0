"""How it is decided whether a user netlist computes a design: cubes for witnesses, and a proof net by net."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.distance_cases import DistanceCases
from mmaproof.smt.proving.journal import RecordedPlaces
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.netlists import NetlistProof, prove_netlist
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.prove import Ask
from mmaproof.verification.stages import sample_models

ROWS = 60
"""The number of samples from each distribution: nets are many, and chance relations cost a lemma each."""


def netlist_and_model(question: Question) -> tuple[Design, Design] | None:
    """Return the netlist and the design that it is compared with; None where the question is about something else."""
    if type(question) is not Equivalence:
        return None
    parametric = [x for x in question.designs if x.step.is_parametric]
    netlists = [x for x in question.designs if not x.step.is_parametric]
    if len(parametric) != 1 or len(netlists) != 1:
        return None
    return netlists[0], parametric[0]


def distance_cases(question: Question, seed: int) -> Callable[[Kernel], None] | None:
    """Return the argument by the distance of a product and c, None where there are other products or none."""
    pair = netlist_and_model(question)
    if pair is None or question.k != 1 or question.scale_format is not None:
        return None
    columns = question.columns()
    operands = list(zip(question.formula.symbols, (fmt for _, fmt, _ in columns), strict=False))
    if len(columns) != 3 or any(fmt.is_integer or not fmt.signed for _, fmt in operands):
        return None
    a, b, c = operands
    rows = sample_models(question, pair[1], seed, rows=ROWS)

    def argument(kernel: Kernel) -> None:
        DistanceCases(kernel, a, b, c, Columns(rows)).prove()

    return argument if rows else None


def by_nets(
    question: Equivalence,
    netlist: Design,
    model: Design,
    ask: Ask,
    limits: Limits,
    seed: int,
) -> NetlistProof:
    """Try to prove that a netlist and a design return equal results."""
    whole = question.formula
    formats: dict[FNode, Format] = {}
    symbols = iter(whole.symbols)
    for _, fmt, count in question.columns():
        for _ in range(count):
            formats[next(symbols)] = fmt
    patterns = {symbol: fmt for symbol, fmt in formats.items() if not fmt.is_integer}

    def claim(algebra: ModelTerms | RecordedPlaces, begin_netlist: Callable[[], None]) -> Truth[FNode]:
        return model_first(question, netlist, model, algebra, begin_netlist, partial(_rewritten, algebra))

    rows = sample_models(question, model, seed, rows=ROWS)
    return prove_netlist(whole, claim, patterns, model.d_format, rows, ask, limits)


def model_first(
    question: Equivalence,
    netlist: Design,
    model: Design,
    algebra: TermAlgebra,
    begin_netlist: Callable[[], None],
    rewritten: Callable[[OperandWords[FNode]], OperandWords[FNode]],
) -> Truth[FNode]:
    """Return whether both results are equal. The netlist runs last, over what ``rewritten`` makes of the operands."""
    operands = question.symbols(algebra)
    d = dot_product_accumulate(model, algebra, operands).d
    begin_netlist()
    e = dot_product_accumulate(netlist, algebra, rewritten(operands)).d
    first, second = (d, e) if question.designs[0] is model else (e, d)
    return equal_results(
        algebra, model.d_format, first, second, nan_codes=question.nan_codes, zero_signs=question.zero_signs
    )


def _rewritten(algebra: ModelTerms | RecordedPlaces, operands: OperandWords[FNode]) -> OperandWords[FNode]:
    """Return the operands over the parts that the design took apart."""

    def of(words: tuple[Word[FNode], ...] | list[Word[FNode]]) -> list[Word[FNode]]:
        return [Word(algebra.rewritten(w.data), w.width, w.signed, algebra) for w in words]

    (c,) = of([operands.c])
    return OperandWords(of([*operands.a]), of([*operands.b]), c, of([*operands.scale_a]), of([*operands.scale_b]))
