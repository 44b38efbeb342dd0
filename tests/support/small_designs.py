"""Random pairs of designs over formats of a few bits, whose operands can all be tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.conversions import RHO, Conversion, Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format, Specials
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.designs.parameters import DEFINITIONS, complete_settings, compose, format_settings
from mmaproof.designs.readings import IntegerOverflow, KOrder, ZeroGroup
from mmaproof.designs.signature import Signature
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.smt.algebra.arrays import ArrayAlgebra
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS


def _format(name: str, exponent_bits: int, fraction_bits: int, specials: Specials, *, signed: bool = True) -> Format:
    return Format(name, name, None, exponent_bits, fraction_bits, specials, "small", signed=signed)


ELEMENTS = (
    _format("small-e1m0", 1, 0, Specials.NONE),
    _format("small-e1m1", 1, 1, Specials.NONE),
    _format("small-e1m1-nan", 1, 1, Specials.NAN_ONLY),
    _format("small-e2m1-fnuz", 2, 1, Specials.FNUZ),
    _format("small-e2m1-nan", 2, 1, Specials.NAN_ONLY),
    _format("small-e2m1-ieee", 2, 1, Specials.IEEE),
    FORMATS["e2m1"],
)
"""Formats of a and b: of two to four bits."""

SCALED = tuple(f for f in ELEMENTS if f.specials is Specials.NONE)
SCALES = (
    _format("small-ue1m1", 1, 1, Specials.NONE, signed=False),
    _format("small-ue2m0", 2, 0, Specials.NAN_ONLY, signed=False),
)
"""Formats of scales, with and without a fraction."""
INTEGERS = (_format("small-s2", 0, 1, Specials.INTEGER), _format("small-u2", 0, 2, Specials.INTEGER, signed=False))
INT4 = _format("small-s4", 0, 3, Specials.INTEGER)
UINT4 = _format("small-u4", 0, 4, Specials.INTEGER, signed=False)
E2M2, E3M2, E3M3 = (_format(f"small-e{e}m{m}", e, m, Specials.IEEE) for e, m in ((2, 2), (3, 2), (3, 3)))
E2M1 = next(f for f in ELEMENTS if f.name == "small-e2m1-ieee")
CONVERSIONS = {
    **{f"{r}-fp16": Conversion(r, E2M2, 2) for r in Rounding},
    **{f"{r}-fp32": Conversion(r, E3M2, 2) for r in Rounding},
    "rz-e8m13": Conversion(Rounding.RZ, E3M2, 1),
    "rne-fp64": Conversion(Rounding.RNE, E3M3, 3),
    "rz-bf16-of-rne-fp32": Conversion(Rounding.RZ, E2M1, 1, via=Conversion(Rounding.RNE, E2M2, 2)),
}
REGISTERS = {"int32": Conversion(Rounding.RZ, INT4, 3), "uint32": Conversion(Rounding.RZ, UINT4, 4)}
"""What takes the places of the conversions in RHO, by their names."""

DRAWN: dict[str, Sequence[Any]] = {
    "L": (1, 2, 3),
    "fraction_bits": tuple(range(1, 7)),
    "carry_bits": (None, 0, 1, 2),
    "late_bits": tuple(range(1, 7)),
    "product_limit": (None, 1, 2, 4),
    "e_zero": (-6, -2, 0, 2),
    "floor": (None, -4, -1, 1, 3),
    "product_shift": (0, -2, -1, 1, 2),
    "low_bits": (None, None, 1),
    "fidelity_phase": (None, None, None, 0),
    "c_extra_bits": (0, 0, 1, 2),
    "pair_bits": (None, 2, 3),
    "k_order": tuple(KOrder(x) for x in ("consecutive", "reversed", "mod2:1/0")),
    **{
        n: tuple(x.values)
        for n, x in DEFINITIONS.items()
        if isinstance(x.values, type) and issubclass(x.values, StrEnum)
    },
}
"""Values of the parameters that are drawn; ``rho`` is drawn among the conversions to one format."""
for left_out in ("widening", "zero_group", "integer_overflow"):
    del DRAWN[left_out]
DRAWN_OF_SCALED: dict[str, Sequence[Any]] = {
    **DRAWN,
    "group_size": (None, 1, 2),
    "zero_group": tuple(ZeroGroup),
    "group_e_zero": (-6, -2, 0, 2),
}
DRAWN_OF_INTEGERS: dict[str, Sequence[Any]] = {n: DRAWN[n] for n in ("L", "k_order")} | {
    "integer_overflow": tuple(IntegerOverflow)
}
SHAPES = ((1, 1), (1, 2), (2, 1), (3, 1), (2, 2))
"""L, and steps of an instruction."""
MOST_BITS = 18
"""Of all operands of a question together."""
MOST_DRAWS = 10_000
"""Draws of one pair. Where no formats are short enough for a shape, there would be no end."""
DEFAULTS = format_settings({name: definition.default for name, definition in DEFINITIONS.items()})
WHERE = ("finite", "c=0", "positive")


def use_small_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let conversions go to small formats, of which any patterns are drawn: other distributions need wider ones."""
    # an evaluation may ask for a design, and none can be read while the conversions are others
    list(load_catalogue().designs.values())
    for name, conversion in (CONVERSIONS | REGISTERS).items():
        monkeypatch.setitem(RHO, name, conversion)
    for name in DISTRIBUTIONS:
        monkeypatch.setitem(DISTRIBUTIONS, name, DISTRIBUTIONS["uniform-bits"])


@dataclass(frozen=True)
class Pair:
    """Two designs of the same formats and a question about them; ``str()`` says how to draw it again."""

    seed: int
    drawn_by: str
    question: Equivalence

    def __str__(self) -> str:
        first = self.question.designs[0]
        p, q = (format_settings(complete_settings(d.chain, d.step)) for d in self.question.designs)
        unusual = [f"{n}={x}" for n, x in p.items() if x != DEFAULTS[n]]
        changed = [f"{n}={q[n]}" for n in p if p[n] != q[n]]
        return (
            f"{self.drawn_by}: {' '.join(f.name for f in first.formats)}, K={first.k}, "
            f"k={self.question.k}, where {[str(x) for x in self.question.where]}, {', '.join(unusual)}; "
            f"second: {', '.join(changed)}"
        )


def random_pair(seed: int, *, wide: bool) -> Pair:
    """Two designs that differ in one to three parameters; with ``wide`` some are larger."""
    rng = np.random.default_rng(seed)
    length, steps = (int(x) for x in rng.choice(SHAPES if wide else SHAPES[:-1]))
    # all operands of four products are too many; fewer than K are padded
    k = min(length * steps, 3 if rng.random() < 0.9 else 1)
    for _ in range(MOST_DRAWS):
        try:
            first = _random_design(rng, length, length * steps, wide)
            return _pair(rng, seed, f"random_pair({seed}, wide={wide})", first, DRAWN, k)
        except DesignError:
            continue
    raise AssertionError(f"no pair in {MOST_DRAWS} draws: {length * steps} products of {length} have too many operands")


def random_scaled_pair(seed: int) -> Pair:
    """Two designs with scales that differ in one to three parameters."""
    rng = np.random.default_rng(seed)
    while True:
        length, steps = (int(x) for x in SHAPES[rng.integers(3)])
        k = length * steps
        block = int(rng.choice([n for n in (1, 2) if n <= k]))
        rho = str(rng.choice(list(CONVERSIONS)))
        a, b = (SCALED[i] for i in rng.integers(len(SCALED), size=2))
        d = CONVERSIONS[rho].target
        signature = Signature(a, b, d, d, SCALES[rng.integers(len(SCALES))], block)
        drawn = {n: _value(rng, n, rho) for n in DRAWN_OF_SCALED if n == "fraction_bits" or rng.random() < 0.4}
        try:
            first = _design(signature, k, drawn | {"L": length, "rho": rho})
            return _pair(rng, seed, f"random_scaled_pair({seed})", first, DRAWN_OF_SCALED, k)
        except DesignError:
            continue


def random_integer_pair(seed: int) -> Pair:
    """Two designs of integers that differ in one to three parameters."""
    rng = np.random.default_rng(seed)
    while True:
        length, steps = (int(x) for x in SHAPES[rng.integers(len(SHAPES))])
        rho = str(rng.choice(list(REGISTERS)))
        a, b = (INTEGERS[i] for i in rng.integers(len(INTEGERS), size=2))
        d = REGISTERS[rho].target
        drawn = {n: _value(rng, n, rho) for n in DRAWN_OF_INTEGERS}
        try:
            first = _design(Signature(a, b, d, d), length * steps, drawn | {"L": length, "rho": rho})
            return _pair(rng, seed, f"random_integer_pair({seed})", first, DRAWN_OF_INTEGERS, min(length * steps, 3))
        except DesignError:
            continue


def _pair(
    rng: np.random.Generator, seed: int, drawn_by: str, first: Design, drawn: Mapping[str, Sequence[Any]], k: int
) -> Pair:
    """Return ``first`` and a design that differs from it in one to three of the parameters ``drawn``.

    Raises DesignError if they do not fit, do not differ, or have operands of too many bits.
    """
    names = rng.permutation([*drawn, "rho"])[: rng.integers(1, 4)]
    second = first.change(**{str(n): _value(rng, n, first.step.rho) for n in names})
    where = [parse_precondition(str(rng.choice(WHERE)))] if rng.random() < 0.25 else []
    question = Equivalence(first, replace(second, architecture="second"), k=k, where=where)
    bits = sum(f.bits * count for _, f, count in question.columns())
    if (first.chain, first.step) == (second.chain, second.step) or bits > MOST_BITS:
        raise DesignError("the pair is not of interest")
    return Pair(seed, drawn_by, question)


def _random_design(rng: np.random.Generator, length: int, k: int, wide: bool) -> Design:
    rho = str(rng.choice([n for n, x in CONVERSIONS.items() if wide or x.target in (E2M2, E2M1)]))
    a, b, c = (ELEMENTS[i] for i in rng.integers(len(ELEMENTS), size=3))
    d = CONVERSIONS[rho].target
    if rng.random() < 0.5:
        c = d
    drawn = {n: _value(rng, n, rho) for n in DRAWN if n == "fraction_bits" or rng.random() < 0.4}
    return _design(Signature(a, b, c, d), k, drawn | {"L": length, "rho": rho})


def _design(signature: Signature, k: int, settings: Mapping[str, Any]) -> Design:
    chain, step = compose(settings)
    return Design("first", f"m1n1k{k}", "any", signature, 1, 1, k, chain, step, "drawn at random")


def _value(rng: np.random.Generator, name: str, rho: str) -> Any:
    if name == "rho":
        values: Sequence[Any] = (
            list(REGISTERS)
            if rho in REGISTERS
            else [n for n, x in CONVERSIONS.items() if x.target is CONVERSIONS[rho].target]
        )
    else:
        values = DRAWN_OF_INTEGERS[name] if rho in REGISTERS else DRAWN_OF_SCALED[name]
    return values[int(rng.integers(len(values)))]


def differences(question: Equivalence) -> tuple[OperandBatch, int]:
    """The operands on which the designs differ, and how many were tried: all that meet the preconditions."""
    batch = all_operands(question)
    fmt = question.designs[0].d_format
    is_nan = np.array([fmt.is_nan(x) for x in range(1 << fmt.bits)])
    d, e = (evaluate_batch(design, batch) for design in question.designs)
    return batch.select((d != e) & ~(is_nan[d] & is_nan[e])), len(batch)


def all_operands(question: Equivalence) -> OperandBatch:
    formats = [f for _, f, count in question.columns() for _ in range(count)]
    numbers, columns = np.arange(1 << sum(f.bits for f in formats)), []
    for _, fmt, count in question.columns():
        shifts = [fmt.bits * i for i in range(count)]
        columns.append(np.stack([(numbers >> n) & ((1 << fmt.bits) - 1) for n in shifts], axis=1))
        columns[-1] = columns[-1].astype(pattern_dtype(fmt))
        numbers = numbers >> fmt.bits * count
    a, b, c, *scales = columns
    batch = OperandBatch(a, b, c[:, 0], *scales)
    met = question.precondition(ArrayAlgebra(), question.array_words(batch)).data
    return batch.select(np.broadcast_to(met, len(batch)))
