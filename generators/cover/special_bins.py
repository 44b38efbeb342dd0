"""Bins of special operands and of zeros: what alone makes a result NaN or infinite, signs of zeros, zeros in e_max."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format
from mmaproof.generators.cover.bins import Bins, is_nonzero
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Factors, product_sign
from mmaproof.smt.semantics.unpack import Unpacked


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
