"""Why d does not fall if an element of a rises and its partner in b is positive, through every sum of a step.

The exact product rises (``TermRises``). What follows from that depends on how the step goes on:

* The product is aligned in a first sum, and that sum with others in later ones. Let E be the larger exponent of the
  product, before or after. A sum whose e_max changes has E as its larger e_max, because nothing but the product has
  another exponent. So the argument of ``monotone`` about a changed e_max applies to all of these sums together: every
  other term of each of them loses at most a unit of E, or half a unit if the exponents differ by one (``CutAgain``, and
  ``KeptAgain`` for a c that may be dropped). So does each sum as a term of the next one, which keeps all of its bits at
  E. ``LargeStep`` says that the product rises by as much as all these can lose. Where e_max stays, a sum that is not
  smaller has a cut that is not smaller, because the cut is the whole part of its value (``CutOfValue``).
* The sum of the products is normalised, or rounded, and added to c as numbers are. The sum is a number of a format that
  is wide enough, and d does not fall where that rises to its successor.
* Each product is rounded by itself, or in the sum with a number. The exact product is a number of a wide format, too,
  and every rounded operation keeps the order of its results (``monotone.lemmas_of_addition``, ``OrderedConversion``).

Where fewer products are given than a step takes, the others lose nothing, as in ``monotone``. Later steps of a chain
keep the order of their c.

A result in between that is an infinity is the least or the largest number of all. d is the same infinity then, or NaN,
of which nothing is claimed. So a product that becomes an infinity because it is too large breaks no order either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.steps import Guarantee
from mmaproof.smt.algebra.protocol import Algebra, D, T, Truth, Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.cuts import CutBound, CutOfValue, Dropped, TermLemma, TermShape, one_number
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.proving.monotone import (
    Given,
    OrderedConversion,
    TermRises,
    given_terms,
    lemmas_of_addition,
    lemmas_of_others,
    lemmas_of_rise,
    lemmas_of_steps,
    lemmas_of_sum,
)
from mmaproof.smt.proving.rising_terms import (
    Changed,
    ChangedA,
    ChangedAddend,
    ChangedProduct,
    symbolic_sums,
)
from mmaproof.smt.semantics import ieee
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules
from mmaproof.smt.semantics.datapath import Addend, Label, Product, StepPath, datapath
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.patterns import Unpacked, unpack
from mmaproof.smt.semantics.terms import Term

_SUMS = (*(Guarantee.ALIGNED_SUMS, Guarantee.EXACT_SUM, Guarantee.CONVERTED_VALUE, Guarantee.SINGLE_PRODUCTS),)
"""The guarantees by which products are terms of sums, the last of which is converted."""


class KeptAgain(TermLemma):
    """What is kept of c at an e_max one higher is at most half a unit away, or c is dropped from there on.

    Then it was at most one unit. So what is kept at any higher e_max is at most a unit of that away.
    """

    def __init__(self, shape: TermShape, dropped: Dropped) -> None:
        super().__init__(
            "what is kept of c below a higher e_max is near, or c is dropped from there on", shape, dropped.cut
        )
        self.dropped = dropped

    def claim(self, algebra: Algebra[D, T], words: Mapping[str, Word[D]]) -> Truth[T]:
        """Return whether it is so. The e_max of the products is that of the sum."""
        c, one, yes = self.term_of(algebra, words), algebra.unsigned(1, 1), algebra.truth(True)
        kept, gone = [], []
        for e_max in (words["e_max"], words["e_max"] + 1):
            left = self.dropped.left(algebra, c, e_max, Term(0, ~yes, e_max, one, yes, 1))
            kept.append(align(algebra, left, e_max, self.cut))
            gone.append(left.significand != c.significand)
        near = ((kept[1] << 1) - kept[0]).magnitude() <= one
        small = kept[0].magnitude() <= algebra.unsigned(2, 2)
        return algebra.any_of([~c.present, ~gone[0] & ~gone[1] & near, gone[1] & small])


def lemmas_for_a(design: Design, length: int | None = None) -> Sequence[Lemma]:
    """Return lemmas that together imply that d does not fall if a[0] rises and b[0] is positive.

    They are about one step, or about dot products of ``length``. There are none if the argument does not apply.
    """
    if design.scale_format is not None and design.scale_format.fraction_bits:
        return ()
    paths = datapath(design.one_step(), design.step.L) if length is None else datapath(design, length)
    given = given_terms(design.one_step(), [i for i, k in enumerate(paths[0].ks) if k < (length or design.step.L)])
    found = _lemmas_of_step(design, given)
    if len(paths) == 1 or not found:
        return found
    later = lemmas_of_steps(design, length or design.k, 1)
    return [*found, *later] if later and paths[0].ks[0] == 0 else ()


def _lemmas_of_step(design: Design, given: Given) -> Sequence[Lemma]:
    """Return the lemmas about one step, whose first element of a rises."""
    if design.guarantees(Guarantee.ROUNDED_OPERATIONS, Guarantee.ROUNDED_LAST_SUM):
        return _of_operations(design)
    return _of_sums(design, given)


def _of_sums(design: Design, given: Given) -> Sequence[Lemma]:
    """Return the lemmas about a product that is a term of a sum."""
    (path,) = datapath(design.one_step(), design.step.L)
    limited = design.guarantees(Guarantee.FINITE_PRODUCTS) or design.step.infinite_from is not None
    own_cuts = not any(cut.inverts for total in path.sums for cut in total.cuts)
    applies = design.guarantees(*_SUMS) and limited and own_cuts and path.sums[0].terms[0] == Product(path.ks[0])
    # where all terms are in one sum, c is one of those that are cut by e_max alone
    if not applies or (len(path.sums) == 1 and path.drops_c):
        return ()
    sums, rules = symbolic_sums(design), Rules.of(design.step)
    if not design.guarantees(Guarantee.SUMMED_EXPONENTS):
        return _of_normalised_product(design, path, sums)
    changed = ChangedA(design)
    if path.normalises_addends:
        first, last = sums
        number = ChangedAddend(_wide_format("sum", last.terms[0]))
        rises = lemmas_of_rise(changed, first, 0, given=given)
        return [*rises, *_named(lemmas_of_sum(number, last, 0, rules), "with c")]
    if len(sums) > 1:
        layers = _of_layers(path, changed, sums)
        return [*layers, OrderedConversion(sums[-1], rules), *_late_addition(design, path)] if layers else ()
    return [*lemmas_of_sum(changed, sums[0], 0, rules, given), *_late_addition(design, path)]


def _of_normalised_product(design: Design, path: StepPath, sums: Sequence[FusedSum[Any, Any]]) -> Sequence[Lemma]:
    """Return the lemmas about a product that is normalised first. Only one that is not zero may take part in e_max."""
    if len(sums) != 1 or not design.guarantees(Guarantee.ABSENT_ZEROS) or design.scale_format is not None:
        return ()
    changed = ChangedAddend(_wide_format("product", sums[0].terms[0]))
    found = lemmas_of_sum(changed, sums[0], 0, Rules.of(design.step))
    return [*_named([TermRises(ChangedProduct(design))], "exact products"), *found, *_late_addition(design, path)]


def _late_addition(design: Design, path: StepPath) -> Sequence[Lemma]:
    """Return the lemmas about the addition of c to the converted sum, if there is one."""
    if path.added_last is None:
        return ()
    return _named(lemmas_of_addition(design.d_format, Rules.of_late_addition(design)), "with c")


def _of_layers(path: StepPath, changed: Changed, sums: Sequence[FusedSum[Any, Any]]) -> Sequence[Lemma]:
    """Return the lemmas about sums of sums. There are none if a sum loses bits at its own exponent."""
    label: Label = path.sums[0].terms[0]
    later: list[Cut] = []
    found: list[Lemma] = []
    for total in sums:
        if label not in total.labels:
            continue
        if total is not sums[0]:
            place = total.labels.index(label)
            term, cut = total.terms[place], total.path.cuts[place]
            if cut.fraction_bits < term.fraction_bits or not (cut.truncates or cut.rounds_down):
                return ()
            later += _twice_where_dropped(path, total)
            found.append(CutOfValue(f"{label}", TermShape.of(term, total.e_max), cut))
            found += _terms_of_layer(path, total)
        label = total.path.label
    return [*lemmas_of_rise(changed, sums[0], 0, later), *found]


def _twice_where_dropped(path: StepPath, total: FusedSum[Any, Any]) -> Iterator[Cut]:
    """Yield the cuts of a later sum. A c that is dropped is up to a unit away, which is twice half a unit."""
    for label, cut in zip(total.labels, total.path.cuts, strict=True):
        twice = path.drops_c and label is Addend.C
        yield replace(cut, fraction_bits=cut.fraction_bits - 1) if twice else cut


def _terms_of_layer(path: StepPath, total: FusedSum[Any, Any]) -> Iterator[Lemma]:
    """Yield the lemmas about what each term of a later sum loses. A c that may be dropped is not only cut."""
    which = f"terms of {total.path.label}"
    if not path.drops_c or Addend.C not in total.labels:
        yield from lemmas_of_others(total, (), which)
        return
    place = total.labels.index(Addend.C)
    shape, cut = TermShape.of(total.terms[place], total.e_max), total.path.cuts[place]
    yield from lemmas_of_others(total, (place,), which)
    yield KeptAgain(shape, Dropped(path, cut))
    yield CutBound("c that are kept", shape, cut)


def _of_operations(design: Design) -> Sequence[Lemma]:
    """Return the lemmas about rounded products, multiply-adds and additions."""
    operations, fmt, rules = design.step.operations, design.d_format, Rules.of_operation(design.step)
    if operations is None or design.c_format is not fmt or design.scale_format is not None:
        return ()
    product = ChangedProduct(design)
    found: list[Lemma] = [TermRises(product)]
    algebra = TermAlgebra()
    x = product.number(algebra)
    if operations.products:
        found += _named([OrderedConversion(one_number(algebra, x), rules)], "products")
    if operations.multiply_adds:
        wide = _wide_format("product", x)
        y = unpack(algebra, fmt, algebra.symbol(f"addend_{fmt.name}", fmt.bits))
        total = ieee.aligned_sum(algebra, fmt, x, y)
        found += _named(lemmas_of_sum(ChangedAddend(wide), total, 0, rules), "multiply-adds")
    return [*found, *_named(lemmas_of_addition(fmt, rules), "additions")]


def _wide_format(name: str, x: Term[Any, Any] | Unpacked[Any, Any]) -> Format:
    """Return a format of all numbers with as many bits as ``x``, whose exponents are those that ``x`` can have."""
    precision = x.significand.width
    bits = max(x.exponent.width, precision.bit_length()) + 2
    return Format(f"{name}-{precision}", name, None, bits, precision - 1, Specials.IEEE, "any number of N bits")


def _named(lemmas: Sequence[Lemma], of: str) -> Sequence[Lemma]:
    """Return lemmas with names that say what they are about."""
    for lemma in lemmas:
        lemma.name = f"{lemma.name} ({of})"
    return lemmas
