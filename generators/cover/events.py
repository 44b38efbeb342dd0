"""The events of a datapath: a bin for each thing that can happen in it, computed from the signals of a run.

A bin is written over the algebra, like the semantics. On arrays it says which of many rows hit it, and on integers
whether one vector does. As a formula, a solver is asked whether any operands can. The signals of the steps decide which
bins a design has. Fused sums give shifts, lost bits, carries and cancellation. Numbers of the output format give the
products and additions that were rounded to them. Integers give wrapping and saturation.

Events inside a step count only if no infinity or NaN replaces its result. A bin is hit if any of the steps hits it. No
signal shows the conversion of a sum that is rounded down twice, or the partial sums of a sequential sum, so these have
no bins. If the kind of a step is not known here, it has bins only for special results, zeros and d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic

from mmaproof.designs.conversions import Conversion
from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.steps import Guarantee
from mmaproof.generators.cover.bins import (
    Bins,
    Exact,
    add_classes,
    add_leaders,
    add_losses,
    add_result,
    add_rounding,
    add_shifts,
    add_sum,
    is_nonzero,
    kind_of,
)
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, ieee
from mmaproof.smt.semantics.align import largest_exponent
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import Addend, Partial
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.integer_step import element_product, integer_range, read_integer, term_range, terms_of_sum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.terms import Factors, product_sign
from mmaproof.smt.semantics.unit import c_from, factors


def add_causes(
    bins: Bins[D, T], design: Design, c_format: Format, products: Sequence[Factors[D, T]], c: Unpacked[D, T]
) -> None:
    """Add what alone makes a result NaN or infinite. A fault of one cause is hidden where there is another one."""
    algebra, a, b = bins.algebra, design.a_format, design.b_format
    scales = () if design.scale_format is None else (("scale of a", 0), ("scale of b", 1))
    infinite = [x.a.infinite | x.b.infinite for x in products]
    plus, minus = (
        algebra.any_of([i & (product_sign(x) ^ positive) for i, x in zip(infinite, products, strict=True)])
        for positive in (algebra.truth(True), algebra.truth(False))
    )
    nans: dict[str, tuple[bool, Truth[T]]] = {
        "a": (a.quiet_nan is not None, algebra.any_of([x.a.nan for x in products])),
        "b": (b.quiet_nan is not None, algebra.any_of([x.b.nan for x in products])),
        "c": (c_format.quiet_nan is not None, c.nan),
        "infinity * 0": (a.infinity is not None, algebra.any_of([x.a.infinite & x.b.zero for x in products])),
        "0 * infinity": (b.infinity is not None, algebra.any_of([x.a.zero & x.b.infinite for x in products])),
        "infinite products of both signs": (bool(a.infinity or b.infinity) and len(products) > 1, plus & minus),
        "an infinite product and c": (
            bool((a.infinity or b.infinity) and c_format.infinity),
            c.infinite & ((plus & c.negative) | (minus & ~c.negative)),
        ),
    }
    for name, i in scales:
        nans[name] = (True, algebra.any_of([x.scales[i].nan for x in products]))
    _add_alone(bins, "NaN because of", algebra.truth(True), nans)
    numbers = algebra.negation(algebra.any_of([x for _, x in nans.values()]))
    infinities: dict[str, tuple[bool, Truth[T]]] = {
        "a": (a.infinity is not None, algebra.any_of([x.a.infinite for x in products])),
        "b": (b.infinity is not None, algebra.any_of([x.b.infinite for x in products])),
        "c": (c_format.infinity is not None, c.infinite),
    }
    _add_alone(bins, "infinite because of", numbers, infinities)
    if a.infinity or b.infinity:
        small = [(x.a.infinite & x.b.subnormal) | (x.a.subnormal & x.b.infinite) for x in products]
        bins.add("infinite because of", "infinity * subnormal", numbers, partial(algebra.any_of, small))


def _add_alone(bins: Bins[D, T], event: str, given: Truth[T], causes: Mapping[str, tuple[bool, Truth[T]]]) -> None:
    """Add a bin for each cause that the formats allow: it holds, and no other one does."""
    for name, (possible, holds) in causes.items():
        if possible:
            others = bins.algebra.any_of([x for other, (_, x) in causes.items() if other != name])
            bins.add(event, f"{name} alone", given, partial(bins.algebra.all_of, [holds, ~others]))


def add_zero_results(
    bins: Bins[D, T], given: Truth[T], products: Sequence[Factors[D, T]], c: Unpacked[D, T], d: Unpacked[D, T]
) -> None:
    """Add of which zeros a result that is zero is made, or from which sign of c it cancels."""
    algebra, event, there = bins.algebra, "zero result", given & d.zero
    signs = [product_sign(x) for x in products]
    none = algebra.all_of([_is_zero(algebra, x) for x in products]) & c.zero
    negative, positive = algebra.all_of(signs), ~algebra.any_of(signs)
    for name, holds in (("-0", negative), ("+0", positive), ("zeros of both signs", ~(negative | positive))):
        for sign, of_c in (("-", c.negative), ("+", ~c.negative)):
            bins.add(event, f"of {name} and {sign}0 in c", there, partial(algebra.all_of, [none, holds, of_c]))
    for sign, of_c in (("-", c.negative), ("+", ~c.negative)):
        bins.add(event, f"cancels, c is {sign}", there, partial(algebra.all_of, [~none, ~c.zero, of_c]))


def add_zero_products(
    bins: Bins[D, T], given: Truth[T], products: Sequence[Factors[D, T]], total: FusedSum[D, T], d: Unpacked[D, T]
) -> None:
    """Add zero products whose encoded exponents exceed e_max where the sum is not zero, and by more than F.

    Nor is ``d`` zero: terms that are lost because a zero leads show then.
    """
    algebra, event = bins.algebra, "exponents of a zero product"
    nonzero = is_nonzero(algebra, total.total) & ~d.zero
    for name, places in (("above e_max", 0), (f"more than {total.fraction_bits} above e_max", total.fraction_bits)):
        above = partial(_zero_lies_above, algebra, products, total.e_max, places)
        bins.add(event, name, given & nonzero, above)


def _zero_lies_above(
    algebra: Algebra[D, T], products: Sequence[Factors[D, T]], e_max: Word[D], places: int
) -> Truth[T]:
    return algebra.any_of([_is_zero(algebra, x) & (e_max + places < x.a.exponent + x.b.exponent) for x in products])


def _is_zero(algebra: Algebra[D, T], x: Factors[D, T]) -> Truth[T]:
    return algebra.any_of([f.zero for f in (x.a, x.b, *x.scales)])


def events(design: Design, algebra: Algebra[D, T], operands: OperandWords[D], result: DotProduct[D, T]) -> Bins[D, T]:
    """Return the bins of the run of ``design`` on ``operands`` that gave ``result``."""
    bins = Bins(algebra)
    roles = [("a", design.a_format, operands.a), ("b", design.b_format, operands.b)]
    roles.append(("c", design.c_format, [operands.c]))
    if design.scale_format is not None:
        scales = (("scale of a", operands.scale_a), ("scale of b", operands.scale_b))
        roles += [(role, design.scale_format, words) for role, words in scales]
    for role, fmt, words in roles:
        add_classes(bins, role, fmt, words)
    seen: list[_Seen[T]] = []
    for step in result.steps:
        c = c_from(design, algebra, operands, step.path.joins_last, result.steps)
        c_format = step.path.joins_last.format_in(design)
        if design.signature.is_integer:
            seen.append(_add_integer_step(bins, design, operands, c, step))
        else:
            products = [factors(design, algebra, operands, k) for k in step.path.ks]
            seen.append(_add_step(bins, design, products, c, c_format, step))
    _add_chain(bins, design, operands, result, seen)
    return bins


@dataclass(frozen=True, slots=True)
class _Seen(Generic[T]):
    """Whether a step has a nonzero product, and whether its result overflows where nothing infinite went in."""

    has_product: Truth[T]
    overflows: Truth[T]


def _add_step(
    bins: Bins[D, T],
    design: Design,
    products: Sequence[Factors[D, T]],
    c: Word[D],
    c_format: Format,
    step: StepSignals[D, T],
) -> _Seen[T]:
    """Add the bins of a step of floating-point numbers."""
    algebra, special, rho, late = bins.algebra, step.special, design.step.conversion, step.path.added_last is not None
    d = unpack(algebra, design.d_format, step.d)
    nan = algebra.any_of([special.nan, d.nan])
    infinite, always = algebra.all_of([special.infinite, algebra.negation(nan)]), algebra.truth(True)
    bins.add("special result", "NaN", always, lambda: nan)
    bins.add("special result", "+infinity", infinite, lambda: algebra.negation(special.negative))
    bins.add("special result", "-infinity", infinite, lambda: special.negative)
    finite = algebra.negation(algebra.any_of([special.nan, special.infinite]))
    read_c = ieee.read_accumulator(algebra, design.step, c_format, c)
    add_causes(bins, design, c_format, products, read_c)
    add_zero_results(bins, finite, products, read_c, d)
    if step.sums and design.guarantees(Guarantee.ALIGNED_SUMS):
        _add_sums(bins, design, finite, "the sum of products" if late else "d", step)
    elif step.in_turn and design.step.kept_bits is not None:
        _add_sequence(bins, design, finite, design.step.kept_bits, step)
        add_result(bins, "d", finite, step.d, rho, None)
    elif design.guarantees(Guarantee.ADDER_TREE):
        _add_tree(bins, design, finite, products, read_c, step)
    else:
        bins.unasked = "what happens inside a step of this kind"
        add_classes(bins, "d", design.d_format, [step.d])
    if late:
        rho = Rules.of_late_addition(design).rho
        total = unpack(algebra, rho.target, dict(step.rounded)[Partial.WHOLE])
        _add_addition(bins, rho, "d", ("c", "sum of products"), finite, read_c, total, step.d)
    if step.sums and len(step.sums[0].terms) >= len(products):
        add_zero_products(bins, finite, products, step.sums[0], d)
    zero = [algebra.any_of([f.zero for f in (x.a, x.b, *x.scales)]) for x in products]
    ends, begins = d.infinite, unpack(algebra, c_format, c).infinite
    overflows = algebra.all_of([finite, ends, algebra.negation(begins)])
    return _Seen(algebra.negation(algebra.all_of(zero)), overflows)


def _add_sums(bins: Bins[D, T], design: Design, given: Truth[T], name: str, step: StepSignals[D, T]) -> None:
    """Add the bins of fused sums, and of the conversion of the last one to what ``name`` says."""
    rho = design.step.conversion
    for total in step.sums:
        _add_fused(bins, given, *_asked_sum(design, step, total))
    if step.path.rounds_again is not None:
        add_result(bins, name, given, step.converted, rho, None)
        return
    exact = Exact.of_sum(bins.algebra, step.sums[-1])
    add_rounding(bins, name, given, exact, rho)
    add_result(bins, name, given, step.converted, rho, exact)


def _asked_sum(
    design: Design, step: StepSignals[D, T], total: FusedSum[D, T]
) -> tuple[tuple[str, ...], FusedSum[D, T]]:
    """Return what the terms of a sum are, and the sum.

    Where c is added last, the term c is the running sum of a chain, or always +0: then it is left out.
    """
    kinds, path = tuple(map(kind_of, total.labels)), total.path
    if step.path.c.zero and not design.chain.adds_c_once and path.terms[-1] is Addend.C:
        shorter = replace(path, terms=path.terms[:-1], cuts=path.cuts[:-1])
        return kinds[:-1], replace(total, path=shorter, terms=total.terms[:-1], aligned=total.aligned[:-1])
    if design.chain.adds_c_once:
        kinds = tuple("running sum" if label is Addend.C else kind_of(label) for label in total.labels)
    return kinds, total


def _add_fused(bins: Bins[D, T], given: Truth[T], kinds: Sequence[str], total: FusedSum[D, T]) -> None:
    kept = [cut.fraction_bits for cut in total.path.cuts]
    add_shifts(bins, given, kinds, total.terms, total.e_max, kept)
    add_losses(bins, given, kinds, total.terms, total.e_max, kept)
    add_sum(bins, given, kinds, total)


def _add_sequence(
    bins: Bins[D, T], design: Design, given: Truth[T], fraction_bits: int, step: StepSignals[D, T]
) -> None:
    """Add how far terms that are added one after the other lie below the largest exponent among them.

    It is known which bits are lost there only where the accumulator is aligned once, at that exponent.
    """
    kinds, terms = [kind_of(label) for label, _ in step.in_turn], [term for _, term in step.in_turn]
    kept, e_max = [fraction_bits] * len(terms), largest_exponent(bins.algebra, terms)
    add_shifts(bins, given, kinds, terms, e_max, kept)
    if design.guarantees(Guarantee.SUM_IN_TURN):
        add_losses(bins, given, kinds, terms, e_max, kept)
    add_leaders(bins, given, kinds, terms, e_max)


def _add_tree(
    bins: Bins[D, T],
    design: Design,
    given: Truth[T],
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
    step: StepSignals[D, T],
) -> None:
    """Add the bins of operations that are rounded to numbers: products, sums of neighbours, the sum with c."""
    algebra, rho, rounded = bins.algebra, Rules.of_operation(design.step).rho, dict(step.rounded)
    for x, label in zip(products, step.path.terms, strict=True):
        significand = algebra.multiply(x.a.significand, x.b.significand)
        exponent = algebra.add(x.a.exponent, x.b.exponent)
        exact = Exact(significand, exponent, x.a.fraction_bits + x.b.fraction_bits)
        add_rounding(bins, "a product", given, exact, rho)
        add_result(bins, "a product", given, rounded[label], rho, exact)
    level = [rounded.pop(label) for label in step.path.terms]
    sums = iter(rounded.values())
    while len(level) > 1:
        read = [unpack(algebra, rho.target, x) for x in level]
        level = [next(sums) for _ in level[::2]]
        for i, word in enumerate(level):
            _add_addition(bins, rho, "a partial sum", ("addend", "addend"), given, read[2 * i], read[2 * i + 1], word)
    last = unpack(algebra, rho.target, level[0])
    _add_addition(bins, rho, "d", ("c", "sum of products"), given, c, last, step.d)


def _add_addition(
    bins: Bins[D, T],
    rho: Conversion,
    name: str,
    kinds: Sequence[str],
    given: Truth[T],
    x: Unpacked[D, T],
    y: Unpacked[D, T],
    word: Word[D],
) -> None:
    """Add the bins of a sum of two numbers, and of its rounding to ``word``."""
    algebra = bins.algebra
    there = algebra.all_of([given, algebra.negation(algebra.any_of([x.infinite, x.nan, y.infinite, y.nan]))])
    total = ieee.aligned_sum(algebra, rho.target, x, y)
    _add_fused(bins, there, kinds, total)
    exact = Exact.of_sum(algebra, total)
    add_rounding(bins, name, there, exact, rho)
    add_result(bins, name, there, word, rho, exact)


def _add_integer_step(
    bins: Bins[D, T], design: Design, operands: OperandWords[D], c: Word[D], step: StepSignals[D, T]
) -> _Seen[T]:
    """Add the signs of products, of their sum and of c, and whether the register holds the exact sum."""
    algebra, always, zero = bins.algebra, bins.algebra.truth(True), bins.algebra.signed(0)
    low, high = integer_range(design.d_format)
    products = []
    for k in step.path.ks:
        x = read_integer(algebra, design.a_format, operands.a[k])
        y = read_integer(algebra, design.b_format, operands.b[k])
        products.append(element_product(algebra, design.step, x, y))
        for n, s in (("+", algebra.less(zero, x)), ("-", algebra.less(x, zero))):
            for m, t in (("+", algebra.less(zero, y)), ("-", algebra.less(y, zero))):
                bins.add("signs of a product", f"{n} * {m}", always, partial(algebra.all_of, [s, t]))
    terms = terms_of_sum(design, products)
    if len(terms) < len(products):
        for i, held in enumerate(terms):
            exact = algebra.add(products[2 * i], products[2 * i + 1])
            bins.add("sum of two products", "held", always, partial(algebra.equal, exact, held))
            bins.add("sum of two products", "above the largest", always, partial(algebra.less, held, exact))
            bins.add("sum of two products", "below the least", always, partial(algebra.less, exact, held))
    total = algebra.bounded_sum(terms, max(x.width for x in terms) + (len(terms) - 1).bit_length())
    accumulator = read_integer(algebra, design.c_format, c)
    for n, s in (("+", algebra.less(zero, total)), ("-", algebra.less(total, zero))):
        for m, t in (("+", algebra.less(zero, accumulator)), ("-", algebra.less(accumulator, zero))):
            bins.add("signs of sum of products and c", f"{n}, {m}", always, partial(algebra.all_of, [s, t]))
    for value, corner in zip(("least", "largest"), term_range(design), strict=True):
        bound = algebra.signed(corner * len(terms))
        bins.add("sum of products", value, always, partial(algebra.equal, total, bound))
    exact = algebra.add(total, accumulator)
    above, below = algebra.less(algebra.signed(high), exact), algebra.less(exact, algebra.signed(low))
    event, edges = "exact sum", {"zero": 0, "largest": high, "least": low}
    edges |= {"one above the largest": high + 1, "one below the least": low - 1}
    bins.add(event, "held", always, partial(algebra.negation, algebra.any_of([above, below])))
    bins.add(event, "above the largest", always, lambda: above)
    bins.add(event, "below the least", always, lambda: below)
    for value, edge in edges.items():
        bins.add(event, value, always, partial(algebra.equal, exact, algebra.signed(edge)))
    add_classes(bins, "d", design.d_format, [step.d])
    return _Seen(algebra.any_of([is_nonzero(algebra, x) for x in products]), algebra.any_of([above, below]))


def _add_chain(
    bins: Bins[D, T],
    design: Design,
    operands: OperandWords[D],
    result: DotProduct[D, T],
    seen: Sequence[_Seen[T]],
) -> None:
    """Add which steps have a nonzero product, and which is the first to change the accumulator, or to overflow.

    Where c joins once, a chain runs from +0 to the sum of the products.
    """
    algebra, once = bins.algebra, design.chain.adds_c_once
    always = unchanged = fitting = algebra.truth(True)
    for number, (step, x) in enumerate(zip(result.steps, seen, strict=True), start=1):
        source, d = (step.path.c if once else step.path.joins_last), step.d
        if once and step.path.added_last is not None:
            d = dict(step.rounded)[Partial.WHOLE]
        before, fmt = c_from(design, algebra, operands, source, result.steps), source.format_in(design)
        # a c of another format is not a pattern to compare with
        comparable = fmt is design.d_format
        changes = algebra.negation(algebra.equal(d, before)) if comparable else x.has_product
        for event, holds in (
            ("nonzero product in step", x.has_product),
            ("first change in step", algebra.all_of([unchanged, changes])),
            ("first overflow in step", algebra.all_of([fitting, x.overflows])),
        ):
            bins.add(event, str(number), always, partial(algebra.all_of, [holds]), of_step=False)
        unchanged = algebra.all_of([unchanged, algebra.negation(changes)])
        fitting = algebra.all_of([fitting, algebra.negation(x.overflows)])
