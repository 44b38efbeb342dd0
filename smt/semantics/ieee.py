"""Operations of IEEE 754, built from the stages of a fused sum.

Two terms with normalised significands of at most n bits, aligned and jammed at n + 2 fraction bits, round to n bits or
fewer as their exact sum does, in any direction: the larger term keeps all of its bits, and bits of the smaller one, the
lowest of which lies n - 1 places below its own exponent, are lost only where it is 4 places or more below the larger.
The sum cancels by one bit at most then, so that its n bits end at ``2**-n`` of the larger one's exponent at the lowest,
the bit that decides the rounding is the next one, and the jammed bit below that says just what a sticky bit must:
whether anything nonzero was there.
"""

from __future__ import annotations

from dataclasses import replace

from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Alignment, FlushedSign, NanCode, ZeroProductSign
from mmaproof.designs.steps.step import RoundedStep, Step
from mmaproof.smt.algebra import words
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word, ite
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.datapath import Addend, Partial, SumPath
from mmaproof.smt.semantics.fused_sum import FusedSum, fused_sum
from mmaproof.smt.semantics.patterns import Unpacked, flush_subnormal, normalised, unpack
from mmaproof.smt.semantics.specials import finish, special_result
from mmaproof.smt.semantics.terms import Factors, Term, product_sign


def add(algebra: Algebra[D, T], rules: Rules, nan_code: NanCode, x: Unpacked[D, T], y: Unpacked[D, T]) -> Word[D]:
    """Return the sum of two numbers, rounded as ``rules`` say."""
    fmt = rules.rho.target
    total = aligned_sum(algebra, fmt, x, y)
    zero_negative = rules.sign_of_zero(algebra, [t.negative for t in total.terms])
    finite, beyond = convert(algebra, rules, total.total, total.e_max, total.fraction_bits, zero_negative)
    return finish(algebra, rules, nan_code, special_result(algebra, (), (x, y)), finite, beyond)


def aligned_sum(algebra: Algebra[D, T], fmt: Format, x: Unpacked[D, T], y: Unpacked[D, T]) -> FusedSum[D, T]:
    """Return the sum of two numbers, which rounds to ``fmt`` as the exact one does."""
    cut = cut_of_addends(fmt, x, y)
    return fused_sum(
        algebra, SumPath(Partial.WHOLE, (Addend.X, Addend.Y), (cut, cut)), [_addend(algebra, a) for a in (x, y)]
    )


def cut_of_addends(fmt: Format, x: Unpacked[D, T], y: Unpacked[D, T]) -> Cut:
    """Return how the two numbers of a sum that is rounded to ``fmt`` are cut."""
    precision = max(fmt.precision, x.significand.width, y.significand.width)
    return Cut(precision + 2, Alignment.JAM)


def multiply(
    algebra: Algebra[D, T],
    rules: Rules,
    nan_code: NanCode,
    x: Factors[D, T],
    zero_sign: ZeroProductSign = ZeroProductSign.IEEE,
) -> Word[D]:
    """Return the product of two elements, rounded as ``rules`` say; ``zero_sign`` is of one that is exactly zero."""
    finite, beyond = finite_product(algebra, rules, x, zero_sign)
    return finish(algebra, rules, nan_code, special_result(algebra, (x,), ()), finite, beyond)


def finite_product(
    algebra: Algebra[D, T], rules: Rules, x: Factors[D, T], zero_sign: ZeroProductSign = ZeroProductSign.IEEE
) -> tuple[Word[D], Truth[T]]:
    """Return the same product of two finite elements, and whether it is beyond the largest number (``convert``)."""
    significand, exponent = words.normalised(x.a.significand * x.b.significand, x.a.exponent + x.b.exponent)
    fraction_bits = x.a.fraction_bits + x.b.fraction_bits
    negative = product_sign(x)
    total = significand.negated_where(negative)
    zero_negative = negative
    if zero_sign is ZeroProductSign.PLUS_ZERO:
        zero_negative = rules.sign_of_zero(algebra, [negative, algebra.truth(False)])
    return convert(algebra, rules, total, exponent, fraction_bits, zero_negative)


def convert_number(
    algebra: Algebra[D, T], rules: Rules, nan_code: NanCode, x: Unpacked[D, T], random: Word[D] | None = None
) -> Word[D]:
    """Return a number in another format, rounded as ``rules`` say; an infinity stays one where the format has it.

    In a format without infinities, the largest finite number takes their place, unless the rules state something else
    (``OutOfRange``). In one without NaN, the result for a NaN means nothing. ``random`` is as in ``convert``.
    """
    value = x.significand.negated_where(x.negative)
    converted, beyond = convert(algebra, rules, value, x.exponent, x.fraction_bits, x.negative, random=random)
    return finish(algebra, rules, nan_code, special_result(algebra, (), (x,)), converted, beyond)


def scale(algebra: Algebra[D, T], rules: Rules, nan_code: NanCode, x: Unpacked[D, T], places: int) -> Word[D]:
    """Return ``x * 2**places``, rounded as ``rules`` say: the product with a power of two."""
    return convert_number(algebra, rules, nan_code, replace(x, exponent=x.exponent + places))


def read(
    algebra: Algebra[D, T],
    fmt: Format,
    pattern: Word[D],
    *,
    flushes: bool = False,
    flushed_sign: FlushedSign = FlushedSign.POSITIVE,
) -> Unpacked[D, T]:
    """Take a pattern apart; with ``flushes``, a subnormal reads as a zero, of the sign that ``flushed_sign`` says."""
    x = unpack(algebra, fmt, pattern)
    if flushes:
        x = flush_subnormal(x, flushed_sign)
        algebra.check(x, x.valid, fmt)
    return x


def read_accumulator(algebra: Algebra[D, T], step: Step, fmt: Format, pattern: Word[D]) -> Unpacked[D, T]:
    """Take c apart, a pattern of ``fmt``, as a unit with such a step reads it."""
    if not isinstance(step, RoundedStep):
        raise TypeError(f"{type(step).__name__} reads no floating-point number")
    return read(algebra, fmt, pattern, flushes=step.subnormals.of_c, flushed_sign=step.flushed_sign)


def _addend(algebra: Algebra[D, T], x: Unpacked[D, T]) -> Term[D, T]:
    """Return a number as a term. A NaN becomes a zero: it is not part of the sum, and decides the result elsewhere."""
    x = normalised(algebra, x)
    significand = ite(x.nan, algebra.unsigned(0, x.significand.width), x.significand)
    return Term(x.fraction_bits, x.negative, x.exponent, significand, ~(x.zero | x.nan), x.largest)
