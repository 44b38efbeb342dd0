"""Accumulation beyond the families of Xie et al.: late addition of c, integer registers, one term at a time.

Sources and notation as in exact.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from reference.exact import (
    FLUSHED,
    Design,
    Pair,
    Term,
    align,
    c_term,
    chain,
    check_output,
    decode_pairs,
    exact_sum,
    product_term,
    read,
    special_value,
    t_fdpa,
    wrap,
)
from reference.families import ieee_add
from reference.formats import FORMATS, INTEGERS, Number, convert, decode, decode_integer, floor_log2

# --- c added by itself, afterwards


def widened(x: Number, format: str) -> Number:
    """The same number as an operand of a wider format, so that subnormal numbers may become normal."""
    if x.kind == "zero":
        return decode(x.sign << (FORMATS[format].width - 1), format)
    if x.kind != "finite":
        return x
    wide = decode(convert(x.signed, x.scale, f"rne-{format}"), format)
    if wide.magnitude != x.magnitude:
        raise ValueError(f"{x.magnitude} is not a number of {format}")
    return wide


def late_ieee(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    widen: str | None = None,
    order: Sequence[int] | None = None,
    L: int,  # noqa: N803 - its name in the papers
    each_step: bool,
    d_format: str,
    c_format: str | None = None,
    join_rounding: str = "nearest",
    **parameters: Any,
) -> int:
    """Products summed apart from c, which IEEE additions (in the d format) join; parameters of ``dot``.

    The additions are rounded to nearest, or with ``join_rounding`` "rho" as the sums of the products are.

    Each instruction takes the next ``len(order)`` products (without an order: all), permuted so that product
    ``order[i]`` comes i-th, in steps of L. They form a chain of T-FDPA steps that starts at +0, and its result
    is added to the running d; with ``each_step`` every step is such a chain by itself. ``widen`` names a
    format to which operands are first converted exactly. Subnormal numbers are flushed as everywhere: a result
    of the chain and of the addition, the c of the addition and of each step of the chain.
    """
    design = Design(**parameters)
    check_output(design, d_format)
    if c_format not in (None, d_format):
        raise ValueError(f"c is added in {d_format}, so it cannot be {c_format}")
    pairs = decode_pairs(a, b, design.a_format, design.b_format, L, design.subnormals)
    if widen is not None:
        pairs = [(widened(x, widen), widened(y, widen)) for x, y in pairs]
    order = range(len(pairs)) if order is None else order
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"{list(order)} is not a permutation")
    if len(pairs) % len(order) or len(order) % L:
        raise ValueError(f"{len(pairs)} products are not instructions of {len(order)} in steps of {L}")
    permuted = [pairs[start + k] for start in range(0, len(pairs), len(order)) for k in order]
    length = L if each_step else len(order)
    flushed, d = FLUSHED[design.subnormals], c
    for start in range(0, len(permuted), length):
        partial = chain(
            permuted[start : start + length],
            0,
            lambda _, pairs, accumulator: t_fdpa(pairs, accumulator, design),
            c_format=d_format,
            d_format=d_format,
            length=L,
            chain_infinity=design.chain_infinity,
            subnormals=design.subnormals,
        )
        accumulator, flush = read(d, d_format, "c" in flushed), "d" in flushed
        rounding = {"rho": design.rho, "overflow": design.overflow} if join_rounding == "rho" else {}
        d = ieee_add(accumulator, decode(partial, d_format), d_format, design.nan_code, flush=flush, **rounding)
    return d


# --- c added exactly


def joined_exactly(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    L: int,  # noqa: N803 - its name in the papers
    c_format: str,
    d_format: str,
    **parameters: Any,
) -> int:
    """Products summed apart from c as in ``dot``; that sum, as it was cut, and c are added exactly and rounded once.

    An exact sum of zero is +0. ``parameters`` are those of ``dot``, but for readings of c, which has none here.
    """
    design = Design(**parameters)
    check_output(design, d_format)

    def step(_: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], design.nan_code)
        if special is not None:
            return special
        terms = [product_term(x, y, design) for x, y in pairs]
        exponents = [term.exponent for term in terms if term.exponent is not None]
        if design.floor is not None:
            exponents.append(design.floor)
        products = (0, 0)
        if exponents:
            unit = max(exponents) - design.fraction_bits
            products = (sum(align(term, unit, design.alignment) for term in terms), unit)
        return design.convert(*exact_sum([products, (accumulator.signed, accumulator.scale)]))

    pairs = decode_pairs(a, b, design.a_format, design.b_format, L, design.subnormals)
    return chain(
        pairs,
        c,
        step,
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=design.chain_infinity,
        subnormals=design.subnormals,
    )


# --- integers


def integer_dot(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    a_format: str,
    b_format: str,
    L: int,  # noqa: N803 - its name in the papers
    saturate: bool,
    register: str = "int32",
    intermediate: int | None = None,
    operation: str = "times",
) -> int:
    """One element of an integer unit: exact steps of L products on a register that wraps or saturates.

    PMADDUBSW of the Intel SDM holds the sum of two products in a signed word of N bits, which saturates. The PTX ISA
    counts the bits that differ (.xor.popc) or that are both 1 (.and.popc) of elements of type .b1.
    """
    if len(a) != len(b) or len(a) == 0 or len(a) % L != 0:
        raise ValueError(f"{len(a)} and {len(b)} operands are not steps of {L}")
    pairs = [(decode_integer(x, a_format), decode_integer(y, b_format)) for x, y in zip(a, b, strict=True)]
    products = [int(x != y) if operation == "xor" else x * y for x, y in pairs]
    width, has_sign = INTEGERS[register]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if has_sign else (0, (1 << width) - 1)
    d = decode_integer(c, register)
    for start in range(0, len(products), L):
        terms = products[start : start + L]
        if intermediate is not None:
            most = 1 << (intermediate - 1)
            terms = [max(-most, min(terms[i] + terms[i + 1], most - 1)) for i in range(0, L, 2)]
        total = d + sum(terms)
        d = max(low, min(total, high)) if saturate else wrap(total, width)
    return d % (1 << width)


# --- one term at a time


def cut(term: Term, exponent: int, design: Design) -> Term:
    """A term at an exponent, or at the floor where that is larger, truncated F bits below it."""
    if design.floor is not None:
        exponent = max(exponent, design.floor)
    unit = exponent - design.fraction_bits
    return Term(align(term, unit, "truncate"), unit, exponent)


def present(term: Term) -> int:
    """The exponent of a term that has one."""
    assert term.exponent is not None
    return term.exponent


def first_term(terms: Sequence[Term], first: str) -> int:
    """The index of the term that the accumulator starts with; of equals the lowest."""
    indices = range(len(terms))
    if first == "exponent":
        return max(indices, key=lambda k: present(terms[k]))
    if first == "magnitude":
        return max(indices, key=lambda k: abs(terms[k].integer) * Fraction(2) ** terms[k].scale)
    return 0


def accumulate(terms: Sequence[Term], design: Design, *, truncates: str, normalises: bool) -> Term:
    """The terms added one by one in their order, each of which has an exponent."""
    total = cut(terms[0], present(terms[0]), design)
    for term in terms[1:]:
        if total.exponent is None:  # a zero sum, normalised: the next term that is not zero starts anew
            if term.integer != 0:
                total = cut(term, present(term), design)
            continue
        exponent = max(total.exponent, present(term)) if normalises else total.exponent
        addends = (total, term)
        if truncates == "addend":
            addends = (cut(total, exponent, design), cut(term, exponent, design))
        integer, scale = exact_sum([(addend.integer, addend.scale) for addend in addends])
        total = cut(Term(integer, scale, exponent), exponent, design)
        if normalises:
            total = cut(total, floor_log2(total.integer, total.scale), design) if total.integer else Term(0, 0, None)
    return total


def sequential(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    first: str,
    truncates: str,
    normalises: bool,
    L: int,  # noqa: N803 - its name in the papers
    c_format: str,
    d_format: str,
    **parameters: Any,
) -> int:
    """Steps of L products and c, added one term at a time; ``parameters`` are the rest of those of ``dot``.

    ``first`` says which term starts: the one of largest "exponent" (as it enters the alignment) or
    "magnitude", or "none": the others follow in index order, c being the last. The accumulator keeps F
    fraction bits below its exponent E: that of its first term or, where it ``normalises``, the larger of its
    own and the next term's, and after the addition that of the sum. ``truncates`` says what is cut there: the
    "addend" (and with it a normalised accumulator), or the "partial-sum", to which the term is added exactly.
    Terms that take no part in e_max are left out. E is never below ``floor``. There are no ``carry_bits``.
    """
    design = Design(**parameters)
    check_output(design, d_format)
    for name, value, allowed in (
        ("first", first, ("exponent", "magnitude", "none")),
        ("truncates", truncates, ("addend", "partial-sum")),
        ("alignment", design.alignment, ("truncate",)),
        ("carry_bits", design.carry_bits, (None,)),
    ):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}, not one of {allowed}")

    def step(_: int, pairs: Sequence[Pair], accumulator: Number) -> int:
        special = special_value(pairs, accumulator, FORMATS[d_format], design.nan_code)
        if special is not None:
            return special
        terms = [product_term(x, y, design) for x, y in pairs] + [c_term(accumulator, design)]
        terms = [term for term in terms if term.exponent is not None]
        if not terms:
            return 0
        start = first_term(terms, first)
        ordered = [terms[start], *terms[:start], *terms[start + 1 :]]
        total = accumulate(ordered, design, truncates=truncates, normalises=normalises)
        return design.convert(total.integer, total.scale)

    return chain(
        decode_pairs(a, b, design.a_format, design.b_format, L, design.subnormals),
        c,
        step,
        c_format=c_format,
        d_format=d_format,
        length=L,
        chain_infinity=design.chain_infinity,
        subnormals=design.subnormals,
    )
