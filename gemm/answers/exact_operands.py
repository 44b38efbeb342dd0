"""What an algorithm reduces to for operands of the unit's format, composed from proved lemmas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mmaproof.designs.conversions import OutOfRange, Rounding, Stochastic
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.gemm.answers.split import Precisions, every_precision
from mmaproof.gemm.answers.verdict import AlgorithmVerdict, Asked, Shown, Witness, unknown
from mmaproof.gemm.programs.algorithm import OPERANDS
from mmaproof.gemm.programs.arithmetic import Arithmetic, Cutting, Number, Span
from mmaproof.gemm.programs.plan import Plan
from mmaproof.gemm.programs.program import Elements, run
from mmaproof.gemm.programs.schedule import Split
from mmaproof.gemm.programs.split_gemm import SplitGemm
from mmaproof.gemm.questions.split import EXPONENTS, OperandLemma, Splitting, Window
from mmaproof.properties.question import Question
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.proving.lemma import Input, Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate, equal_results
from mmaproof.smt.semantics.patterns import normalised, unpack
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status, combine
from mmaproof.smt.trace import evaluate
from mmaproof.verification.strategies import answer

Numbers = Sequence[Number[Any]]
Reduced = Callable[[Arithmetic[Any, Any], Numbers, Numbers, Number[Any]], Number[Any]]
"""The program that an algorithm reduces to, on elements of a and b in the unit's format and on c."""


class ResidualsVanish(Lemma):
    """The first word of a number of the unit's format is that number, and every other word is +0."""

    def __init__(self, splitting: Splitting) -> None:
        self.splitting = splitting
        self.inputs = (Input("h", splitting.fmt.bits),)
        name = splitting.fmt.name
        self.name = f"a finite number of {name} is its first word of {splitting.count}, the others are +0"

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the number is finite, in a pattern whose ignored bits are zero."""
        fmt, h = self.splitting.fmt, words["h"]
        value = unpack(algebra, fmt, h)
        truths = [algebra.negation(algebra.any_of([value.infinite, value.nan]))]
        if fmt.ignored_bits:
            truths.append(algebra.is_value(algebra.extract(h, fmt.ignored_bits - 1, 0), 0))
        return algebra.all_of(truths)

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether the words are so."""
        fmt, h = self.splitting.fmt, words["h"]
        x = widened(Arithmetic(algebra), Number(fmt, h, Span.of_format(fmt)))
        first, *others = self.splitting.words(algebra, x.word)
        zeros = [algebra.is_value(n.word, 0) for n in others]
        return algebra.all_of([algebra.equal(first.word, h), *zeros])


class ZerosAddNothing(OperandLemma):
    """A step of the unit whose products all have a factor +0, on the side of ``zeros``, returns c.

    c is called x here. It lies in one of the windows. Without windows it has the pattern ``only``.
    """

    def __init__(self, unit: Design, zeros: str, windows: Sequence[Window], only: int | None = None) -> None:
        super().__init__(windows)
        self.unit, self.zeros, self.only = unit.one_step(), zeros, only
        other = self.other
        self.inputs = (*OperandLemma.inputs, *(Input(f"other{i}", other.bits) for i in range(self.unit.k)))
        stated = "every c of the windows" if only is None else f"c = {OPERANDS.hex(only)}"
        self.name = f"a step whose elements of {zeros} are all +0 returns {stated}"

    @property
    def other(self) -> Any:
        """The format of the elements that are not zero."""
        return self.unit.b_format if self.zeros == "a" else self.unit.a_format

    def assumption(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether c lies in a window, or is ``only``, and the other elements are finite."""
        meant = super().assumption(algebra, words)
        if self.only is not None:
            meant = algebra.is_value(words["x"], self.only)
        values = [unpack(algebra, self.other, words[i.name]) for i in self.inputs[1:]]
        infinite = [t for v in values for t in (v.infinite, v.nan)]
        return algebra.all_of([meant, algebra.negation(algebra.any_of(infinite))])

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether d is c, bit by bit."""
        others = [words[i.name] for i in self.inputs[1:]]
        fmt = self.unit.a_format if self.zeros == "a" else self.unit.b_format
        zeros = [algebra.unsigned(0, fmt.bits)] * len(others)
        a, b = (zeros, others) if self.zeros == "a" else (others, zeros)
        d = dot_product_accumulate(self.unit, algebra, OperandWords(a, b, words["x"])).d
        return algebra.equal(d, words["x"])


class ZeroIsNeutral(Lemma):
    """Outside the unit ``x + 0`` is x, except for the sign of a zero, and ``+0 * 2**n`` is +0 for some n.

    x may be any number, an infinity or a NaN.
    """

    inputs = (Input("x", OPERANDS.bits),)

    def __init__(self, places: Sequence[int]) -> None:
        self.places = tuple(places)
        self.name = "outside the unit x + 0 = x but for the sign of a zero, and +0 stays +0 where it is scaled back"

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether they are."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        x, zero = Number(OPERANDS, words["x"], Span.of_format(OPERANDS)), arithmetic.zero(OPERANDS)
        sums = [arithmetic.add("", x, zero), arithmetic.add("", zero, x)]
        same = [equal_results(algebra, OPERANDS, s.word, x.word, zero_signs=False) for s in sums]
        scaled = [algebra.is_value(arithmetic.scale("", zero, n).word, 0) for n in self.places]
        return algebra.all_of([*same, *scaled])


class ComesDownTo(Question):
    """On finite operands of its unit's format an algorithm returns what a reduced program returns.

    c lies in one of the windows or is +0. With ``negative_zero`` it may be -0 too. With ``up_to_zero_sign`` the results
    +0 and -0 are equal.
    """

    def __init__(
        self,
        plan: Plan,
        reduced: Reduced,
        windows: Sequence[Window],
        *,
        k: int,
        negative_zero: bool,
        up_to_zero_sign: bool,
    ) -> None:
        self.schedule, self.reduced = plan.schedule(k), reduced
        self.windows, self.k = tuple(windows), k
        self.negative_zero, self.up_to_zero_sign = negative_zero, up_to_zero_sign
        self.formats = (plan.unit.a_format, plan.unit.b_format, OPERANDS)
        self.scale_format, self.blocks, self.where = None, 0, ()

    def claim(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the two results are equal."""
        arithmetic: Arithmetic[D, T] = Arithmetic(algebra)
        a, b, (c,) = (
            [Number(f, w, Span.of_format(f)) for w in words]
            for f, words in zip(self.formats, (operands.a, operands.b, (operands.c,)), strict=True)
        )
        wide = [[widened(arithmetic, x) for x in column] for column in (a, b)]
        d = run(arithmetic, self.schedule, Elements(wide[0], wide[1], c))
        expected = self.reduced(arithmetic, a, b, c)
        return equal_results(algebra, OPERANDS, d.word, expected.word, zero_signs=not self.up_to_zero_sign)

    def precondition(self, algebra: Algebra[D, T], operands: OperandWords[D]) -> Truth[T]:
        """Return whether the operands are finite numbers of the unit, and c is in the range."""
        truths = []
        for fmt, words in zip(self.formats[:2], (operands.a, operands.b), strict=True):
            for word in words:
                value = unpack(algebra, fmt, word)
                truths.append(algebra.negation(algebra.any_of([value.infinite, value.nan])))
        c = normalised(algebra, unpack(algebra, OPERANDS, operands.c))
        zero = c.zero if self.negative_zero else algebra.is_value(operands.c, 0)
        truths.append(algebra.any_of([zero, *(w.holds(algebra, c) for w in self.windows)]))
        return algebra.all_of(truths)


def widened(arithmetic: Arithmetic[D, T], x: Number[D]) -> Number[D]:
    """Return a number of the unit's format converted to fp32. The conversion is exact."""
    return arithmetic.convert("fp32", x, OPERANDS, Rounding.RNE)


_INTEGERS = IntegerAlgebra()


@dataclass(frozen=True)
class Expression:
    """A number as text, and as a function of the elements of a and b and of c."""

    text: str
    value: Reduced


ZERO = "+0"


class Substitution(Arithmetic[Any, Any]):
    """Operations on numbers whose words hold an ``Expression``. Operations on +0 are replaced by proved equations.

    ``passed`` are the accumulators that calls without products returned. The equations hold for them if they are in the
    proved range. ``signs_lost`` says whether a zero was added outside the unit, which may change the sign of a zero.
    """

    def __init__(self) -> None:
        super().__init__(_INTEGERS)
        self.passed: set[str] = set()
        self.signs_lost = False

    def zero(self, fmt: Format) -> Number[Any]:
        """Return +0."""
        return _number(fmt, ZERO, lambda arithmetic, a, b, c: arithmetic.zero(fmt))

    def convert(
        self,
        label: str,
        x: Number[Any],
        fmt: Format,
        rounding: Rounding | Stochastic,
        out_of_range: OutOfRange | None = None,
        random: Word[Any] | None = None,
    ) -> Number[Any]:
        """Return ``x`` rounded to ``fmt``."""
        if x.fmt is fmt:
            return x
        held = x.word.data
        if held.text == ZERO:
            return self.zero(fmt)
        return _number(
            fmt,
            f"{fmt.name}({held.text})",
            lambda arithmetic, a, b, c: arithmetic.convert(
                label, held.value(arithmetic, a, b, c), fmt, rounding, out_of_range, random
            ),
        )

    def flush(self, label: str, x: Number[Any]) -> Number[Any]:
        """Return ``x``, or a zero of its sign where it is a subnormal number."""
        held = x.word.data
        if held.text == ZERO:
            return x
        return _number(
            x.fmt,
            f"flush({held.text})",
            lambda arithmetic, a, b, c: arithmetic.flush(label, held.value(arithmetic, a, b, c)),
        )

    def scale(self, label: str, x: Number[Any], places: int) -> Number[Any]:
        """Return ``x * 2**places``."""
        held = x.word.data
        if not places or held.text == ZERO:
            return x
        return _number(
            x.fmt,
            f"{held.text} * 2^{places}",
            lambda arithmetic, a, b, c: arithmetic.scale(label, held.value(arithmetic, a, b, c), places),
        )

    def add(self, label: str, x: Number[Any], y: Number[Any], rounding: Rounding = Rounding.RNE) -> Number[Any]:
        """Return ``x + y``. If one of them is +0, it is the other one, except for the sign of a zero."""
        first, second = x.word.data, y.word.data
        if ZERO in (first.text, second.text):
            self.signs_lost = self.signs_lost or first.text != second.text
            return y if first.text == ZERO else x
        return _number(
            x.fmt,
            f"RN({first.text} + {second.text})",
            lambda arithmetic, a, b, c: arithmetic.add(
                label, first.value(arithmetic, a, b, c), second.value(arithmetic, a, b, c), rounding
            ),
        )

    def call(
        self,
        label: str,
        unit: Design,
        a: Sequence[Number[Any]],
        b: Sequence[Number[Any]],
        c: Number[Any],
        scales: tuple[Sequence[Number[Any]], Sequence[Number[Any]]] = ((), ()),
    ) -> Number[Any]:
        """Return the unit's result for ``c + sum_k a[k]*b[k]``. It is c if all elements of a or of b are +0.

        Algorithms run on units without scales. ValueError for others.
        """
        if any(scales):
            raise ValueError(f"{label}: algorithms have no scales of blocks")
        start: Expression = c.word.data
        if any(all(x.word.data.text == ZERO for x in side) for side in (a, b)):
            self.passed.add(start.text)
            return c
        sides = [[x.word.data for x in side] for side in (a, b)]
        names = [f"{s[0].text}..{s[-1].text}" if len(s) > 1 else s[0].text for s in sides]
        return _number(
            unit.d_format,
            f"unit({names[0]}, {names[1]}, {start.text})",
            lambda arithmetic, p, q, r: arithmetic.call(
                label,
                unit,
                [x.value(arithmetic, p, q, r) for x in sides[0]],
                [x.value(arithmetic, p, q, r) for x in sides[1]],
                start.value(arithmetic, p, q, r),
            ),
        )

    def split(self, cut: Split, xs: Sequence[Number[Any]]) -> Cutting[Any]:
        """Return words of numbers that the format of the words holds: the numbers themselves, and +0."""
        others = [[self.zero(cut.fmt)] * len(xs) for _ in range(cut.count - 1)]
        return Cutting(cut.ks, [xs, *others])


def reduced(plan: Plan, k: int) -> tuple[Expression, Substitution]:
    """Return what a plan reduces to if the first words are the operands and the others are +0."""
    arithmetic = Substitution()
    a, b = (
        [_number(fmt, f"{name}{i}", partial(_element, side, i)) for i in range(k)]
        for side, (name, fmt) in enumerate(zip("ab", plan.unit.formats[:2], strict=True))
    )
    c = _number(OPERANDS, "c", lambda _, a, b, c: c)
    found: Expression = run(arithmetic, plan.schedule(k), Elements(a, b, c)).word.data
    return found, arithmetic


def _element(side: int, i: int, _: Arithmetic[Any, Any], a: Numbers, b: Numbers, c: Number[Any]) -> Number[Any]:
    return (a, b)[side][i]


def _number(fmt: Format, text: str, value: Reduced) -> Number[Any]:
    return Number(fmt, Word[Any](Expression(text, value), fmt.bits, False, _INTEGERS), Span.of_format(fmt))


DIRECT_SECONDS = 3.0
"""Seconds for which a solver is asked about the composed statement. The lemmas prove it, and this only tests it."""
NEGATIVE_ZERO = 1 << OPERANDS.sign_position


class CompositionRefutedError(RuntimeError):
    """A statement that follows from proved lemmas is refuted. A lemma or the composition is wrong (internal error)."""


def check_exact_operands(plan: Plan, algorithm: SplitGemm, k: int | None, asked: Asked) -> AlgorithmVerdict:
    """Find and prove what a plan of an ``algorithm`` reduces to on operands of the unit's format, and for which c.

    There are three kinds of lemmas. Every residual is +0. A step without products returns c, for a range of c that is
    found. Zeros added outside the unit change only signs of zeros. The result follows by substitution, and it is tested
    for ``k`` elements (by default the unit's K). Raises DesignError for a unit whose accumulator is not fp32, and
    CompositionRefutedError.
    """
    unit = plan.unit
    if unit.c_format is not OPERANDS or unit.d_format is not OPERANDS:
        raise DesignError(f"exact-operands is about units that accumulate in fp32, and {unit.name} does not")
    length = unit.k if k is None else k
    unit.padded_length(length)
    for name in "ab":
        splitting = Splitting.of(algorithm, unit, name)
        verdict = asked.prove(ResidualsVanish(splitting))
        if verdict.witness is not None:
            (pattern,) = verdict.witness.values()
            shown = Witness(f"a word of {name} is not what it should be", (Shown(name, splitting.fmt, pattern),))
            return asked.verdict(Status.REFUTED, "a residual is not +0", witnesses=(shown,))
        if verdict.status is not Status.PROVED:
            return asked.verdict(Status.UNKNOWN, "whether residuals are +0 is not settled", reason=unknown(verdict))
    expression, substitution = reduced(plan, length)
    windows = [Window(EXPONENTS[0], EXPONENTS[-1])]
    negative_zero, beyond, passed = True, None, sorted(substitution.passed - {ZERO})
    if ZERO in substitution.passed and not _stays(unit, 0, asked):
        return asked.verdict(Status.UNKNOWN, "whether a step without products leaves +0 as it is, is not settled")
    if passed:
        windows, beyond, problem = _unchanged(unit, asked)
        if not windows or not _stays(unit, 0, asked):
            return asked.verdict(
                Status.UNKNOWN, "for which c a step without products returns c is not settled", reason=problem or None
            )
        negative_zero = _stays(unit, NEGATIVE_ZERO, asked)
    verdict = asked.prove(ZeroIsNeutral(sorted({-algorithm.scale * sum(p) for p in algorithm.products.pairs})))
    if verdict.status is not Status.PROVED:
        return asked.verdict(Status.UNKNOWN, "zeros outside the unit are not settled", reason=unknown(verdict))
    suffix = ", but for the sign of a zero" if substitution.signs_lost else ""
    question = ComesDownTo(
        plan,
        expression.value,
        windows,
        k=length,
        negative_zero=negative_zero,
        up_to_zero_sign=substitution.signs_lost,
    )
    tested = _test(question, unit, asked) if passed in ([], ["c"]) else "not tested: the range is of more than c"
    zeros = "either zero" if negative_zero else "+0 (not -0)"
    return asked.verdict(
        Status.PROVED,
        f"{algorithm.name}(a, b, c) = {expression.text}{suffix}",
        values={
            "k": length,
            "equals": expression.text,
            "up_to_zero_sign": substitution.signs_lost,
            "range": [{"bits": w.bits, "low": w.low, "high": w.high} for w in windows],
            "negative_zero": negative_zero,
            "range_of": passed or ["c"],
            "tested": tested,
        },
        witnesses=() if beyond is None else (beyond,),
        details=(
            f"for finite a and b that {unit.a_format.name} and {unit.b_format.name} hold, K = {length}",
            f"and for {' and '.join(passed or ['c'])}: {zeros}, or {range_text(windows)}",
            f"the composed statement, asked directly: {tested}",
        ),
    )


def range_text(windows: Sequence[Window]) -> str:
    """Return a table of windows in short words."""
    first = windows[0]
    least = {w.low - w.bits + 1 for w in windows}
    if len(windows) == 1 and (first.low, first.high, first.bits) == (EXPONENTS[0], EXPONENTS[-1], OPERANDS.precision):
        return "any other finite number"
    if len(least) == 1 and {w.high for w in windows} == {first.high} and len(windows) == first.bits:
        bits = "" if first.bits == OPERANDS.precision else f" of at most {first.bits} significant bits"
        return f"a multiple of 2^{least.pop()} below 2^{first.high + 1}{bits}"
    found = []
    for w in windows:
        bits = f" of at most {w.bits} significant bits" if w.bits < OPERANDS.precision else ""
        found.append(f"a number{bits} with floor(log2|x|) in {w}")
    return "; ".join(found)


def _unchanged(unit: Design, asked: Asked) -> tuple[list[Window], Witness | None, str]:
    """Return the windows of c that a step without products is proved to return, and a c that it does not return.

    If there are no windows, the text says why.
    """
    step, known, beyond = unit.one_step(), Precisions(), None
    patterns = every_precision(asked.means.seed, each=1)
    rng = np.random.default_rng(asked.means.seed)
    for name, fmt in (("a", unit.b_format), ("b", unit.a_format)):
        for others in _elements(fmt, (len(patterns), step.k), rng):
            zeros = np.zeros_like(others)
            a, b = (zeros, others) if name == "a" else (others, zeros)
            d = evaluate_batch(step, OperandBatch(a, b, patterns))
            known.add(patterns[d != patterns])
            if beyond is None and (d != patterns).any():
                beyond = _changed(step, OperandBatch(a, b, patterns), d)
    windows: list[Window] = []
    for name in "aba":
        windows, problem = known.prove(asked, partial(ZerosAddNothing, unit, name))
        if not windows:
            return [], beyond, problem or "a step without products returns no c unchanged"
    return windows, beyond, ""


def _changed(step: Design, batch: OperandBatch, d: Patterns) -> Witness:
    """Return the largest c of a batch without products that is not returned, computed on integers."""
    rows = np.flatnonzero(d != batch.c)
    operands = batch.row(int(rows[np.argmax(batch.c[rows])]))
    columns = [(f"{n}[{i}]", f, x) for n, f in zip("ab", step.formats, strict=False) for i, x in _numbered(operands, n)]
    columns += [("c", step.c_format, operands.c), ("d", step.d_format, evaluate(step, operands))]
    return Witness("out of the range: a step without products that changes c", tuple(Shown(*x) for x in columns))


def _numbered(operands: Operands, name: str) -> list[tuple[int, int]]:
    return list(enumerate(operands.a if name == "a" else operands.b))


def _elements(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> list[Patterns]:
    """Return elements that are multiplied by zeros: zeros, the largest of either sign, and random finite ones."""
    dtype = pattern_dtype(fmt)
    signs = rng.integers(0, 2, shape) << fmt.sign_position
    random = rng.integers(0, fmt.max_finite + 1, shape)
    found = [np.zeros(shape), signs | fmt.max_finite, signs | random]
    return [x.astype(dtype) for x in found]


def _stays(unit: Design, zero: int, asked: Asked) -> bool:
    """Return whether a step without products is proved to return a zero."""
    verdicts = [asked.prove(ZerosAddNothing(unit, n, (), only=zero)) for n in "ab"]
    return combine(x.status for x in verdicts) is Status.PROVED


def _test(question: ComesDownTo, unit: Design, asked: Asked) -> str:
    """Return in words what random operands and the solver, in a few seconds, say about the composed statement.

    Raises CompositionRefutedError if it is refuted.
    """
    limits = Limits(min(asked.left.seconds, DIRECT_SECONDS), asked.left.memory_bytes)
    means = replace(asked.means, limits=limits)
    found = answer(question, unit, means)
    if found.status is Status.REFUTED:
        raise CompositionRefutedError(f"what is composed from proved lemmas is refuted by {found.witness}")
    if found.status is Status.PROVED:
        return f"proved by {found.origin}"
    return f"not refuted by {found.origin} ({found.reason})"
