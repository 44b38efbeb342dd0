"""The slices of a unit: for integers of s bits, the largest K for which every sum of their products is exact.

Schemes that make wide products of narrow ones (Ozaki's, on integer and on FP8 units) cut operands into slices: integers
of s bits and a sign, times a power of two. Their results are exact as long as no sum of products of slices loses a bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mmaproof.designs.arithmetic import steps_of_chain
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.gemm.answers.verdict import AlgorithmVerdict, Asked, Shown, Witness
from mmaproof.gemm.programs.slice_gemm import widest_slice
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.cuts import ConversionLemma, CutBound, CutLemma, TermShape
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.align import Cut, loses_bits
from mmaproof.smt.semantics.convert import convert
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.integer_step import read_integer
from mmaproof.smt.semantics.patterns import normalised, unpack
from mmaproof.smt.semantics.signals import StepSignals
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate


class IntegerTermIsKept(CutLemma):
    """A cut loses nothing of a term that is an integer, if e_max is at most ``top``."""

    def __init__(self, number: int, shape: TermShape, cut: Cut, top: int) -> None:
        kept = f"{cut.fraction_bits} fraction bits"
        name = f"an integer term loses nothing where e_max is at most {top} and {kept} are kept (shape {number})"
        super().__init__(name, shape, cut)
        self.top = top

    def of_term(self, algebra: Algebra[D, T], term: Term[D, T], e_max: Word[D]) -> Truth[T]:
        """Return whether nothing is lost, or the term is not an integer, or e_max is larger."""
        whole = is_integer(algebra, term.significand, term.exponent, term.fraction_bits)
        return (e_max > self.top) | ~whole | ~loses_bits(algebra, term, e_max, self.cut)


class IntegerIsConverted(ConversionLemma):
    """rho returns a sum that is an integer of magnitude at most ``most``, if e_max is at most ``top``.

    A sum that is not zero has all of its bits at or above the units, so that they lie at most as many places above the
    last bit of the register as the register is wide. A sum of zero is a zero.
    """

    def __init__(self, design: Design, total: FusedSum[Any, Any], top: int, most: int) -> None:
        super().__init__(f"rho returns an integer sum of magnitude at most {most}", design, total)
        self.top, self.most = top, most

    def of_sum(self, algebra: Algebra[D, T], total: Word[D], e_max: Word[D], zero_negative: Truth[T]) -> Truth[T]:
        """Return whether d is the sum, or the sum is not such an integer."""
        magnitude = total.magnitude()
        width = magnitude.width
        integer, meant = magnitude, algebra.truth(False)
        for places in range(max(self.fraction_bits - self.top, 0), width):
            here = e_max == algebra.signed(self.fraction_bits - places)
            if places:
                here = here & algebra.extract(magnitude, places - 1, 0).is_value(0)
            integer = algebra.ite(here, magnitude.drop_low(places).extend(width), integer)
            meant = meant | here
        zero = magnitude.is_value(0)
        within = integer <= algebra.unsigned(self.most, max(width, self.most.bit_length()))
        pattern, _ = convert(algebra, self.rules, total, e_max, self.fraction_bits, zero_negative)
        d = normalised(algebra, unpack(algebra, self.rules.rho.target, pattern))
        # a sum of up to ``most`` has an exponent of up to N bits
        bits = self.most.bit_length()
        inside = ~algebra.any_of([d.infinite, d.nan, d.exponent < 0, d.exponent > bits])
        amount = algebra.ite(inside, d.exponent, algebra.signed(0)).narrow_to_unsigned(bits.bit_length() + 1)
        returned = d.significand.shift_left_by(amount)
        equal = algebra.all_of([inside, d.negative == (total < 0), returned == (integer << d.fraction_bits)])
        return algebra.any_of([zero & d.zero, ~zero & ~(meant & within), ~zero & equal])


def is_integer(algebra: Algebra[D, T], significand: Word[D], exponent: Word[D], fraction_bits: int) -> Truth[T]:
    """Return whether ``significand * 2**(exponent - fraction_bits)`` is an integer: no bit lies below the units."""
    cases = [exponent >= fraction_bits, significand.is_value(0)]
    for below in range(1, significand.width):
        low = algebra.extract(significand, below - 1, 0).is_value(0)
        cases.append((exponent == algebra.signed(fraction_bits - below)) & low)
    return algebra.any_of(cases)


_INTEGERS = IntegerAlgebra()

MOST_SIDE = 1 << 7
"""The largest integer whose products are listed, to make a sum of as few of them as possible."""

_SUMS = (*(Guarantee.ALIGNED_SUMS, Guarantee.EXACT_SUM, Guarantee.CONVERTED_SUM, Guarantee.CONVERTED_BY_RHO),)
"""What a step must guarantee for its d to be rho of the sum of its terms, wherever no cut loses a bit."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Sums of products of integers are exact while no partial sum is above ``most`` in magnitude.

    The integers of a and of b have at most ``bits`` bits and a sign. ``why`` says what proves it.
    """

    most: int
    bits: int
    why: str


class NotSettledError(Exception):
    """Nothing is known of the sums of a unit. The text says why."""


def longest(most: int, bits: int) -> int:
    """Return the largest K of slices of N bits whose sums are at most ``most``."""
    return most // ((1 << bits) - 1) ** 2


@dataclass(frozen=True, slots=True)
class Beyond:
    """A sum of ``k`` products that is not exact."""

    k: int
    shown: Witness


def check_unit_slices(unit: Design, asked: Asked) -> AlgorithmVerdict:
    """Find for each width of slices the largest K for which every sum is exact, with a longer sum that is not."""
    widths = widest_slice(unit.a_format), widest_slice(unit.b_format)
    if not min(widths):
        return asked.verdict(Status.UNKNOWN, "no slice fits", reason=f"{unit.a_format.name} has no integer above 0")
    try:
        exact = exact_sums(unit, widths, asked)
    except NotSettledError as problem:
        return asked.verdict(Status.UNKNOWN, "the sums of the unit are not settled", reason=str(problem))
    wide, table = exact.bits, {s: longest(exact.most, s) for s in range(1, exact.bits + 1)}
    beyond = {s: _beyond(unit, s, exact.most) for s in table}
    witness = beyond[wide]
    if witness is None:
        reason = f"no longer sum of slices of {wide} bits was found that is inexact"
        return asked.verdict(Status.UNKNOWN, "whether the K found is the largest is not settled", reason=reason)
    kept = f"every sum of integers is exact while no partial sum is above {exact.most} in magnitude"
    values = {
        "most": exact.most,
        "bits": wide,
        "longest": {str(s): k for s, k in table.items()},
        "inexact_at": {str(s): None if x is None else x.k for s, x in beyond.items()},
    }
    details = (
        exact.why,
        f"{unit.a_format.name} has every integer of {widths[0]} bits and a sign, {unit.b_format.name} of {widths[1]}",
        *(
            f"slices of {s} bits: K up to {k}" + (f", and a sum of K = {x.k} is inexact" if (x := beyond[s]) else "")
            for s, k in table.items()
        ),
    )
    conclusion = f"slices of {wide} bits, K up to {table[wide]}: {kept}"
    return asked.verdict(Status.PROVED, conclusion, values=values, details=details, witnesses=(witness.shown,))


def exact_sums(unit: Design, widths: tuple[int, int], asked: Asked) -> Exact:
    """Return up to which magnitude sums of slices of at most N bits are exact.

    Raises NotSettledError if that is not proved.
    """
    bits = min(widths)
    if unit.d_format.is_integer:
        if not unit.guarantees(Guarantee.EXACT_INTEGERS):
            raise NotSettledError("its step does not guarantee exact integer sums")
        most = (1 << (unit.d_format.bits - unit.d_format.signed)) - 1
        return Exact(most, bits, f"its register {unit.d_format.name} holds integers up to {most}")
    precision = unit.step.conversion.fraction_bits + 1
    if unit.c_format is not unit.d_format and unit.c_format.precision < precision:
        raise NotSettledError(f"its c is {unit.c_format.name}, which does not hold every d of a chain")
    if unit.guarantees(Guarantee.ROUNDED_OPERATIONS):
        why = f"it rounds every operation, to {precision} bits: integers up to 2^{precision} stay as they are"
        return Exact(1 << precision, _fitting(bits, 1 << precision), why)
    return _aligned(unit, bits, precision, asked)


def _aligned(unit: Design, bits: int, precision: int, asked: Asked) -> Exact:
    """Return up to which magnitude sums of aligned terms are exact. Raises NotSettledError if that is not proved.

    The lemmas are about every kind of step of a chain.
    """
    steps = steps_of_chain(unit)
    if steps is None and unit.c_format is not unit.d_format:
        raise NotSettledError(f"its later steps read a c of {unit.d_format.name} otherwise than a step by itself")
    steps = steps or (unit.one_step(),)  # infinities and the sign of zeros are in no such sum
    step = steps[0]
    if not unit.guarantees(*_SUMS) or unit.step.multiplied_places is not None:
        raise NotSettledError("its step does not guarantee that d is rho of the sum of its products and c")
    excess, others = unit.step.product_excess, unit.step.other_exponents(unit.c_format, unit.d_format)
    grouped = unit.step.has_scaled_groups
    if (excess is None and not grouped) or others is None:
        raise NotSettledError("its step does not state the exponents of its terms")
    signals = _symbolic(step)
    path = signals.path
    if path.rounds_again is not None or path.small_c_dropped is not None:
        raise NotSettledError("it rounds its sums twice, or drops a small c")
    kept = min(min(cut.fraction_bits for cut in total.path.cuts) for total in signals.sums)
    if path.far_c_dropped is not None:
        kept = min(kept, path.far_c_dropped)
    # partial sums below 2**(kept + 1) have no exponent above ``kept``, so that every cut keeps the units
    most = min(1 << precision, 1 << (kept + 1))
    bits = _fitting(bits, most)
    # a group of products has the exponent of its scales alone, which are 1
    of_products = 0 if grouped or excess is None else 2 * (bits - 1) + excess
    top = max(of_products, (most - 1).bit_length() - 1, 0, *others)
    limit = unit.step.infinite_from
    if not unit.guarantees(Guarantee.FINITE_PRODUCTS) and (limit is None or limit <= 2 * bits):
        raise NotSettledError("its step does not state which products are infinite")
    if top > kept:
        raise NotSettledError(f"e_max may be {top}, and {kept} fraction bits are kept")
    lemmas = {x.name: x for x in _lemmas(step, signals, top, most)}
    if len(steps) > 1:
        lemmas |= {f"{x.name}, later": x for x in _lemmas(steps[1], _symbolic(steps[1]), top, most)}
    for lemma in lemmas.values():
        verdict = asked.prove(lemma)
        if verdict.status is not Status.PROVED:
            raise NotSettledError(f"not proved: {lemma.name}: {verdict.reason or verdict.status.value}")
    scales = "" if unit.scale_format is None else ", scales are 1"
    why = f"e_max is at most {top}, {kept} fraction bits are kept, and rho has {precision} bits{scales}: proved"
    return Exact(most, bits, why)


def _fitting(bits: int, most: int) -> int:
    """Return the most bits, up to ``bits``, of slices one product of which is at most ``most``."""
    return max(s for s in range(bits + 1) if ((1 << s) - 1) ** 2 <= most)


def _symbolic(step: Design) -> StepSignals:  # type: ignore[type-arg]
    """Return the signals of one step on variables."""
    algebra = TermAlgebra()
    a, b, c, _ = step.formats
    words = OperandWords(
        [algebra.symbol(f"a{i}_{a.name}", a.bits) for i in range(step.k)],
        [algebra.symbol(f"b{i}_{b.name}", b.bits) for i in range(step.k)],
        algebra.symbol(f"c_{c.name}", c.bits),
        *_scales_of_one(algebra, step),
    )
    return dot_product_accumulate(step, algebra, words).steps[0]


def _scales_of_one(algebra: TermAlgebra, step: Design) -> tuple[list[Word[Any]], list[Word[Any]]]:
    fmt, blocks = step.scale_format, step.blocks(step.k)
    one = [] if fmt is None else [algebra.unsigned(fmt.encode(1), fmt.bits)] * blocks
    return one, one


def _lemmas(step: Design, signals: StepSignals, top: int, most: int) -> list[Lemma]:  # type: ignore[type-arg]
    """Return that no cut of any sum loses a bit of an integer, that no sum wraps, and that rho keeps an integer."""
    shapes = dict.fromkeys(
        (TermShape.of(term, total.e_max), cut)
        for total in signals.sums
        for term, cut in zip(total.terms, total.path.cuts, strict=True)
    )
    found: list[Lemma] = []
    for number, (shape, cut) in enumerate(shapes):
        found.append(IntegerTermIsKept(number, shape, cut, top))
        found.append(CutBound(f"terms of shape {number}", shape, cut))
    return [*found, IntegerIsConverted(step, signals.sums[-1], top, most)]


def _beyond(unit: Design, bits: int, most: int) -> Beyond | None:
    """Return a sum of slices that the unit does not return, the shortest one that is known; None if none is.

    The first is that of the largest products, one more than fit. If the unit has that number, a sum of ``most + 1`` is
    made, which is odd. The sum before the last instruction is exact, and the last instruction is replayed.
    """
    side = (1 << bits) - 1
    for repeated, others in _candidates(side, longest(most, bits) + 1, most + 1):
        last = others[-unit.k :] if others else []
        count = min(repeated, unit.k - len(last))
        exact = repeated * side * side + sum(x * y for x, y in others)
        pairs = [(side, side)] * count + last
        before = exact - sum(x * y for x, y in pairs)
        a, b, c, d = unit.formats
        fmt = unit.scale_format
        if fmt is not None:  # whole blocks
            pairs += [(0, 0)] * (-len(pairs) % (unit.block or 1))
        scales = () if fmt is None else (fmt.encode(1),) * unit.blocks(len(pairs))
        operands = Operands(
            tuple(a.encode(x) for x, _ in pairs),
            tuple(b.encode(y) for _, y in pairs),
            c.encode(before),
            scales,
            scales,
        )
        returned = evaluate(unit, operands)
        if value_of(d, returned) != exact:
            k = repeated + len(others)
            return Beyond(k, _witness(unit, k, exact, count, operands, returned))
    return None


def _candidates(side: int, fewest: int, target: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield how often the largest product is added, and the factors of the products that are added last."""
    yield fewest, []
    other = _last_products(side, target)
    if other is not None:
        yield other


def _witness(unit: Design, k: int, exact: int, count: int, operands: Operands, returned: int) -> Witness:
    a, b, c, d = unit.formats
    numbers = []
    if count:
        place = "0" if count == 1 else f"0..{count - 1}"
        numbers += [Shown(f"a[{place}]", a, operands.a[0]), Shown(f"b[{place}]", b, operands.b[0])]
    for i in range(count, len(operands)):
        numbers += [Shown(f"a[{i}]", a, operands.a[i]), Shown(f"b[{i}]", b, operands.b[i])]
    numbers += [Shown("c, the sum so far", c, operands.c), Shown("d", d, returned)]
    shows = f"K = {k}: the exact sum {exact} becomes {shown_value(d, returned)} in the instruction with these operands"
    return Witness(shows, tuple(numbers))


def _last_products(side: int, target: int) -> tuple[int, list[tuple[int, int]]] | None:
    """Return how often the largest product is added, and the factors of few others, that make ``target`` in all."""
    if side > MOST_SIDE:
        repeated, rest = divmod(target, side * side)
        whole, left = divmod(rest, side)
        return repeated, [*([(whole, side)] if whole else []), *([(left, 1)] if left else [])]
    products = {x * y: (x, y) for x in range(side + 1) for y in range(x, side + 1)}
    for few in range(1, 4):
        for repeated in range(target // (side * side), max(target // (side * side) - few, -1), -1):
            rest = target - repeated * side * side
            for some in _sums(products, rest, few):
                return repeated, [products[x] for x in some]
    return None


def _sums(products: dict[int, tuple[int, int]], rest: int, few: int) -> Sequence[tuple[int, ...]]:
    """Return products, at most N, that add up to ``rest``."""
    if few == 1:
        return [(rest,)] if rest in products else []
    if few > 2:
        below = [x for x in sorted(products, reverse=True) if x <= rest][:64]
        return [(x, *y) for x in below for y in itertools.islice(_sums(products, rest - x, few - 1), 1)]
    return [(x, rest - x) for x in products if rest - x in products][:1]


def value_of(fmt: Format, pattern: int) -> Fraction | None:
    """Return the number of a pattern; None if it is not finite."""
    word = _INTEGERS.unsigned(pattern, fmt.bits)
    if fmt.is_integer:
        return Fraction(read_integer(_INTEGERS, fmt, word).data)
    x = unpack(_INTEGERS, fmt, word)
    if x.infinite.data or x.nan.data:
        return None
    magnitude = x.significand.data * Fraction(2) ** (x.exponent.data - x.fraction_bits)
    return -magnitude if x.negative.data else magnitude


def shown_value(fmt: Format, pattern: int) -> str:
    """Return the number of a pattern as text, or the pattern if it is not finite."""
    value = value_of(fmt, pattern)
    return fmt.hex(pattern) if value is None else str(value)
