"""How it is decided whether a user netlist computes a design: cubes for witnesses, and a proof net by net.

A cube is a question with the signs and exponent fields of all operands fixed. It leaves a solver the fractions alone.

A counterexample that no random operands hit, and that a solver does not find in the whole question within a minute, is
often found at once where these fields are given. So the question is asked in some cubes, each for a moment: all terms
of one size, c as far from the products as the fraction bits reach, subnormal operands, the largest exponents, terms in
a descending order, and two terms that cancel. A cube without a counterexample says nothing about the others. One more
cube is of one product alone, of numbers between 1 and 2: two algorithms mostly differ there already.

A register that accumulates: what its enable, clear and load do, and what follows for several clock cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from pysmt.fnode import FNode

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.transitions import CLEAR, FIRST, HOLD, Transition
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.protocol import Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.distance_cases import DistanceCases
from mmaproof.smt.proving.journal import RecordedPlaces
from mmaproof.smt.proving.kernel import Kernel
from mmaproof.smt.proving.lemma import Formula
from mmaproof.smt.proving.model_terms import ModelTerms
from mmaproof.smt.proving.netlists import NetlistProof, prove_netlist
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison
from mmaproof.verification.stages import netlist_and_model, sample_models

SIGNS: dict[str, Callable[[int], int]] = {
    "positive": lambda i: 0,
    "alternating": lambda i: i % 2,
    "the first one negative": lambda i: int(not i),
}


Field = tuple[FNode, int, int, int]
"""Bits of an operand that are fixed: its symbol, the lowest and the highest bit, and their value."""


@dataclass(frozen=True)
class Cube:
    """Exponents of a and b at each k, and of c, and the sign of each term; ``name`` says what it is."""

    name: str
    of_a: tuple[int, ...]
    of_b: tuple[int, ...]
    of_c: int
    signs: tuple[int, ...]
    """of the products, then of c"""


class InCube:
    """A question in a cube, as a statement that is decided."""

    def __init__(self, question: Question, fields: Iterable[Field]) -> None:
        self._question = question
        whole = question.formula
        terms: Any = whole.environment.formula_manager
        fixed = [
            terms.Equals(terms.BVExtract(x, low, high), terms.BV(value, high - low + 1))
            for x, low, high, value in fields
        ]
        known = fixed if whole.precondition is None else [whole.precondition, *fixed]
        self.formula = Formula(whole.symbols, terms.And(known), whole.claim, whole.environment)

    def confirm(self, model: Any) -> bool:
        """Return whether a model is a witness of the question."""
        return self._question.confirm(model)


def cubes_of(question: Question, fraction_bits: int) -> Iterator[Cube]:
    """Yield the cubes of a question about floating-point operands, those that find most first.

    ``fraction_bits`` is how far below the largest term bits are kept. There are none for integers.
    """
    a, b, c = question.formats
    if any(f.is_integer for f in question.formats) or not all(f.fraction_bits for f in question.formats):
        return
    k = question.k

    def cube(name: str, of_a: list[int], of_b: list[int], of_c: int) -> Iterator[Cube]:
        clipped = [tuple(_within(f, x) for x in of) for f, of in ((a, of_a), (b, of_b))]
        for text, sign in SIGNS.items():
            signs = tuple(sign(i) for i in range(k + 1))
            yield Cube(f"{name}, {text}", clipped[0], clipped[1], _within(c, of_c), signs)

    zeros = [0] * k
    yield from cube("all terms of one size", zeros, zeros, 0)
    yield from cube("c above the products", zeros, zeros, fraction_bits - 1)
    yield from cube("c below the products", zeros, zeros, 2 - fraction_bits)
    yield from cube("subnormal a", [a.e_min - 1] * k, [b.e_max] * k, a.e_min + b.e_max)
    yield from cube("the largest exponents", [a.e_max] * k, [b.e_max] * k, a.e_max + b.e_max)
    yield from cube("descending by one", zeros, [-i for i in range(k)], -k)
    step = max(fraction_bits // (k + 1), 1)
    yield from cube("descending to the cut", zeros, [-i * step for i in range(k)], -k * step)
    yield from cube("one large product", zeros, [fraction_bits - 2 if not i else 0 for i in range(k)], 0)
    yield from cube("subnormal c", [a.e_min] * k, [b.e_min] * k, c.e_min - 1)
    yield from cube("an infinity or NaN", [a.e_max + 1 if not i else 0 for i in range(k)], zeros, 0)
    yield from cube("c near the largest", [a.e_max] * k, [b.e_max] * k, c.e_max)


def _within(fmt: Format, exponent: int) -> int:
    """Return the exponent, or the nearest one of the format; one below e_min stands for subnormal numbers."""
    top = (1 << fmt.exponent_bits) - 1 - fmt.bias
    return min(max(exponent, fmt.e_min - 1), top)


def one_product(question: Question) -> Iterator[Field]:
    """Yield the bits that are fixed where the first product is of numbers from 1 to 2, and all else is +0."""
    symbols = iter(question.formula.symbols)
    for name, fmt, count in question.columns():
        for i in range(count):
            symbol = next(symbols)
            if name in "ab" and not i:
                low = fmt.ignored_bits + fmt.fraction_bits
                yield symbol, low, fmt.bits - 1, fmt.bias
            else:
                yield symbol, 0, fmt.bits - 1, 0


def fields_of(question: Question, cube: Cube) -> Iterator[Field]:
    """Yield the bits that a cube fixes. Scales are left free."""
    symbols = iter(question.formula.symbols)
    a, b, c = question.formats
    exponents = {"a": cube.of_a, "b": cube.of_b, "c": (cube.of_c,)}
    signs = {"a": cube.signs[:-1], "b": (0,) * question.k, "c": cube.signs[-1:]}
    for name, _, count in question.columns():
        for i in range(count):
            symbol = next(symbols)
            if name not in exponents:
                continue
            fmt = {"a": a, "b": b, "c": c}[name]
            low = fmt.ignored_bits + fmt.fraction_bits
            field = exponents[name][i] + fmt.bias if exponents[name][i] >= fmt.e_min else 0
            yield symbol, low, low + fmt.exponent_bits - 1, field
            if fmt.signed:
                yield symbol, fmt.sign_position, fmt.sign_position, signs[name][i]


ROWS = 60
"""The number of samples from each distribution: nets are many, and chance relations cost a lemma each."""


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


@dataclass(frozen=True, slots=True)
class Answered:
    """A claim about a clock cycle, and the answer to it. ``alternatives`` are how many others were refuted before."""

    claim: Transition
    answer: Comparison
    alternatives: int = 0


def answer_transitions(
    claims: Iterable[Transition], meant: Design, ask: Callable[[Transition, Design], Comparison]
) -> tuple[Answered, ...]:
    """Return an answer for each key of ``claims``: the first alternative that is proved, else the first not refuted.

    ``ask`` decides whether the unit of a claim returns what a design returns, for all operands and bit by bit.
    """
    found = []
    for _, group in groupby(claims, key=lambda x: x.key):
        answered: list[Answered] = []
        for claim in group:
            answer = ask(claim, claim.model or meant)
            answered.append(Answered(claim, answer, len(answered)))
            if answer.status is Status.PROVED:
                break
        order = (Status.PROVED, Status.UNKNOWN, Status.VACUOUS, Status.REFUTED)
        found.append(min(answered, key=lambda x: order.index(x.answer.status)))
    return tuple(found)


def whole_status(step: Comparison, answered: Sequence[Answered]) -> Status:
    """Return the status of a step and of all claims beside it: all are proved, or one is refuted, or one is open."""
    statuses = [step.status, *(x.answer.status for x in answered)]
    if step.status is Status.VACUOUS:
        return Status.VACUOUS
    if Status.REFUTED in statuses:
        return Status.REFUTED
    return Status.PROVED if all(x is Status.PROVED for x in statuses) else Status.UNKNOWN


def why_no_induction(step: Comparison, answered: Sequence[Answered], not_direct: str | None) -> str | None:
    """Return why nothing follows for several clock cycles; None where a chain of steps does, by induction on them.

    The base is that the register has the value of the start after a clear, or takes its first step from there: a claim
    of the key CLEAR or FIRST. The step is that an enabled cycle takes a step of the design, for every value that the
    register may hold; so nothing may be said of the operands. With an enable a third case is left, in which the
    register keeps its value. Each is about a cycle of its own only if what steers the register acts in its own cycle.
    """
    question = step.question
    if whole_status(step, answered) is not Status.PROVED:
        return "not all of this is proved"
    if question.where or not question.zero_signs:
        return "the step is proved for some operands, or without the signs of zeros"
    if question.designs[1].signature.c.quiet_nan is not None and not question.nan_codes:
        return "two NaNs were treated as equal, and a step may tell them apart: ask with --nan-codes"
    if question.k != question.designs[0].k:
        return "one step is not what was asked"
    keys = {x.claim.key for x in answered}
    if not keys & {CLEAR, FIRST}:
        return "no clear is stated under [control]"
    return not_direct


def has_first_step(answered: Sequence[Answered]) -> bool:
    """Return whether a clear of an enabled register takes its first step, from the value of the start."""
    return any(x.claim.key == FIRST and x.claim.model is None for x in answered)


def holds_while_disabled(answered: Sequence[Answered]) -> bool:
    """Return whether one of the claims is that the register keeps its value."""
    return any(x.claim.key == HOLD for x in answered)
