"""The events of a datapath, one bin for each thing that can happen in it, from the signals of a run.

A bin is text over the algebra, like the semantics: on arrays it says which of many rows hit it, on integers whether one
vector does, and as a formula a solver is asked whether any operands can. Which bins a design has follows from the
signals that its steps have: fused sums give shifts, lost bits, carries and cancellation; numbers of the output format
give the products and additions that were rounded to them; integers give wrapping and saturation.

What happens inside a step counts where no infinity or NaN takes the place of its result, and a bin is hit if any of
the steps hits it. Not seen are the conversion of a sum that is rounded down twice, and the partial sums of a sequential
one: no signal shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.designs.readings import Alignment, First, Join, LateRounding, Normalises, Summation, Truncates
from mmaproof.generators.cover.bins import Bins, is_nonzero
from mmaproof.generators.cover.result_bins import Exact, add_classes, add_result, add_rounding, integer_range
from mmaproof.generators.cover.sum_bins import add_leaders, add_losses, add_shifts, add_sum
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics import DotProduct, OperandWords, StepSignals, ieee
from mmaproof.smt.semantics.align import largest_exponent
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.integer_step import read_integer
from mmaproof.smt.semantics.terms import Factors, accumulator_term, product_term
from mmaproof.smt.semantics.unit import factors
from mmaproof.smt.semantics.unpack import Unpacked, unpack


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
    p = design.parameters
    order = p.k_order.permutation(design.k)
    columns = [order[i : i + p.L] for i in range(0, design.k, p.L)]
    seen = []
    for step, ks, (c, c_format) in zip(result.steps, columns, _joins(design, algebra, operands, result), strict=True):
        if design.d_format.is_integer:
            seen.append(_add_integer_step(bins, design, operands, ks, c, step))
        else:
            products = [factors(design, algebra, operands, k) for k in ks]
            seen.append(_add_step(bins, design, products, c, c_format, step))
    _add_chain(bins, design, operands, result, seen)
    return bins


def _joins(
    design: Design, algebra: Algebra[D, T], operands: OperandWords[D], result: DotProduct[D, T]
) -> Iterator[tuple[Word[D], Format]]:
    """Yield the pattern that joins the products of each step last, and its format.

    Where c is added once, after a chain that starts at +0, it joins in the last step of that chain.
    """
    once = design.parameters.join is Join.IEEE_ONCE
    c, c_format = operands.c, design.c_format
    running = algebra.unsigned(0, design.d_format.bits)
    for i, step in enumerate(result.steps, start=1):
        if once and i < len(result.steps):
            yield running, design.d_format
        else:
            yield c, c_format
        running = step.d
        if not once:
            c, c_format = step.d, design.d_format


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
    algebra, p, special = bins.algebra, design.parameters, step.special
    nan = algebra.any_of([special.nan, unpack(algebra, design.d_format, step.d).nan])
    infinite, always = algebra.all_of([special.infinite, algebra.negation(nan)]), algebra.truth(True)
    bins.add("special result", "NaN", always, lambda: nan)
    bins.add("special result", "+infinity", infinite, lambda: algebra.negation(special.negative))
    bins.add("special result", "-infinity", infinite, lambda: special.negative)
    finite = algebra.negation(algebra.any_of([special.nan, special.infinite]))
    for total in _named_sums(design, step):
        kept = [p.fraction_bits if label != "products" else _late_bits(design) for label in total.labels]
        _add_fused(bins, finite, total, kept, stated_register=p.carry_bits is not None)
    if step.sums:
        name = "the sum of products" if step.rounded else "d"
        exact = Exact.of_sum(algebra, step.sums[-1])
        if _rounds_down_twice(design):
            add_result(bins, name, finite, step.converted, p.conversion, None)
        else:
            add_rounding(bins, name, finite, exact, p.conversion)
            add_result(bins, name, finite, step.converted, p.conversion, exact)
    elif not step.rounded:
        _add_sequence(bins, design, finite, products, ieee.read_accumulator(algebra, p, c_format, c))
        add_result(bins, "d", finite, step.d, p.conversion, None)
    if step.rounded:
        _add_operations(bins, design, finite, products, ieee.read_accumulator(algebra, p, c_format, c), step)
    zero = [algebra.any_of([f.zero for f in (x.a, x.b, *x.scales)]) for x in products]
    ends, begins = unpack(algebra, design.d_format, step.d).infinite, unpack(algebra, c_format, c).infinite
    overflows = algebra.all_of([finite, ends, algebra.negation(begins)])
    return _Seen(algebra.negation(algebra.all_of(zero)), overflows)


def _named_sums(design: Design, step: StepSignals[D, T]) -> Iterator[FusedSum[D, T]]:
    """Yield the fused sums of a step; where c joins late, what they call c is the running sum, or no term but +0."""
    join = design.parameters.join
    for total in step.sums:
        if total.labels[-1] == "c" and join is Join.IEEE:
            yield replace(total, labels=total.labels[:-1], terms=total.terms[:-1], aligned=total.aligned[:-1])
        elif total.labels[-1] == "c" and join is Join.IEEE_ONCE:
            yield replace(total, labels=(*total.labels[:-1], "running"))
        else:
            yield total


def _add_fused(
    bins: Bins[D, T], given: Truth[T], total: FusedSum[D, T], kept: Sequence[int], *, stated_register: bool
) -> None:
    add_shifts(bins, given, total.labels, total.terms, total.e_max, kept)
    add_losses(bins, given, total.labels, total.terms, total.e_max, kept)
    add_sum(bins, given, total, stated_register=stated_register)


def _rounds_down_twice(design: Design) -> bool:
    p = design.parameters
    return (
        p.join is Join.ROUND_DOWN
        and p.late_alignment is Alignment.FLOOR
        and p.late_rounding is LateRounding.TWICE
        and p.summation is Summation.FUSED
    )


def _late_bits(design: Design) -> int:
    """Return the fraction bits that the sum of the products keeps where c joins late and rounded down."""
    return design.parameters.late_bits + (1 if _rounds_down_twice(design) else 0)


def _add_sequence(
    bins: Bins[D, T], design: Design, given: Truth[T], products: Sequence[Factors[D, T]], c: Unpacked[D, T]
) -> None:
    """Add how far terms that are added one after the other lie below the largest exponent among them.

    Bits are lost there only where every addend is cut below the exponent of a first term that has the largest.
    """
    algebra, p = bins.algebra, design.parameters
    terms = [product_term(algebra, p, x) for x in products] + [accumulator_term(algebra, p, c)]
    labels, kept = [*("p" for _ in products), "c"], [p.fraction_bits] * len(terms)
    e_max = largest_exponent(algebra, terms)
    add_shifts(bins, given, labels, terms, e_max, kept)
    if (p.first, p.normalises, p.truncates) == (First.EXPONENT, Normalises.NO, Truncates.ADDEND):
        add_losses(bins, given, labels, terms, e_max, kept)
    add_leaders(bins, given, labels, terms, e_max)


def _add_operations(
    bins: Bins[D, T],
    design: Design,
    given: Truth[T],
    products: Sequence[Factors[D, T]],
    c: Unpacked[D, T],
    step: StepSignals[D, T],
) -> None:
    """Add the bins of operations that are rounded to the output format: products, sums of neighbours, the sum with c.

    The names of the signals say whether they are those of a tree, or the sum of the products alone.
    """
    algebra, p, fmt = bins.algebra, design.parameters, design.d_format
    words = [word for _, word in step.rounded]
    late = step.rounded[0][0] == "sum"
    rho = (Rules.nearest(fmt, p) if late else Rules.of_operation(p)).rho
    level = words[: (len(words) + 1) // 2]
    if not late:
        for x, word in zip(products, level, strict=True):
            significand = algebra.multiply(x.a.significand, x.b.significand)
            exponent = algebra.add(x.a.exponent, x.b.exponent)
            exact = Exact(significand, exponent, x.a.fraction_bits + x.b.fraction_bits)
            add_rounding(bins, "a product", given, exact, rho)
            add_result(bins, "a product", given, word, rho, exact)

    def add(name: str, labels: tuple[str, str], x: Unpacked[D, T], y: Unpacked[D, T], word: Word[D]) -> None:
        both = algebra.negation(algebra.any_of([x.infinite, x.nan, y.infinite, y.nan]))
        there = algebra.all_of([given, both])
        total = replace(ieee.aligned_sum(algebra, fmt, x, y), labels=labels)
        _add_fused(bins, there, total, [total.fraction_bits] * 2, stated_register=False)
        exact = Exact.of_sum(algebra, total)
        add_rounding(bins, name, there, exact, rho)
        add_result(bins, name, there, word, rho, exact)

    sums = iter(words[len(level) :])
    while len(level) > 1:
        read = [unpack(algebra, fmt, x) for x in level]
        level = [next(sums) for _ in level[::2]]
        for i, word in enumerate(level):
            add("a partial sum", ("x", "y"), read[2 * i], read[2 * i + 1], word)
    add("d", ("c", "products"), c, unpack(algebra, fmt, level[0]), step.d)


def _add_integer_step(
    bins: Bins[D, T], design: Design, operands: OperandWords[D], ks: Sequence[int], c: Word[D], step: StepSignals[D, T]
) -> _Seen[T]:
    """Add the signs of products, of their sum and of c, and whether the register holds the exact sum."""
    algebra, always, zero = bins.algebra, bins.algebra.truth(True), bins.algebra.signed(0)
    low, high = integer_range(design.d_format)
    products = []
    for k in ks:
        x = read_integer(algebra, design.a_format, operands.a[k])
        y = read_integer(algebra, design.b_format, operands.b[k])
        products.append(algebra.multiply_signed(x, y))
        for n, s in (("+", algebra.less(zero, x)), ("-", algebra.less(x, zero))):
            for m, t in (("+", algebra.less(zero, y)), ("-", algebra.less(y, zero))):
                bins.add("signs of a product", f"{n} * {m}", always, partial(algebra.all_of, [s, t]))
    total = algebra.bounded_sum(products, max(x.width for x in products) + (len(products) - 1).bit_length())
    accumulator = read_integer(algebra, design.c_format, c)
    for n, s in (("+", algebra.less(zero, total)), ("-", algebra.less(total, zero))):
        for m, t in (("+", algebra.less(zero, accumulator)), ("-", algebra.less(accumulator, zero))):
            bins.add("signs of sum of products and c", f"{n}, {m}", always, partial(algebra.all_of, [s, t]))
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
    algebra, once = bins.algebra, design.parameters.join is Join.IEEE_ONCE
    always = unchanged = fitting = algebra.truth(True)
    before = algebra.unsigned(0, design.d_format.bits) if once else operands.c
    # a c of another format is no pattern to compare with
    comparable = once or design.c_format is design.d_format
    for number, (step, x) in enumerate(zip(result.steps, seen, strict=True), start=1):
        d = step.rounded[-1][1] if once and number == len(seen) else step.d
        changes = algebra.negation(algebra.equal(d, before)) if comparable else x.has_product
        for event, holds in (
            ("nonzero product in step", x.has_product),
            ("first change in step", algebra.all_of([unchanged, changes])),
            ("first overflow in step", algebra.all_of([fitting, x.overflows])),
        ):
            bins.add(event, str(number), always, partial(algebra.all_of, [holds]), of_step=False)
        unchanged = algebra.all_of([unchanged, algebra.negation(changes)])
        fitting = algebra.all_of([fitting, algebra.negation(x.overflows)])
        before, comparable = d, True
