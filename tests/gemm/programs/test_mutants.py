"""An algorithm with one mistake in it is told apart from the algorithm, and from the reference."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from reference.algorithms import reference_algorithm
from support.fp32_operands import element, random_arrays, random_operands, widened

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.gemm.programs import Plan
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.algorithms import ALGORITHMS, find_algorithm
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.schedule import Builder, Call, Combine, Operation, Weigh, Zero
from mmaproof.gemm.programs.split_gemm import SplitGemm

UNITS = {
    "fp16": "volta/mma.m8n8k4.f32.f16.f16.f32",
    "tf32": "ampere/mma.m16n8k4.f32.tf32.tf32.f32",
    "bf16": "ampere/mma.m16n8k8.f32.bf16.bf16.f32",
    "int8": "turing/mma.m8n8k16.s32.s8.s8.s32",
    "e4m3": "ada/mma.m16n8k16.f32.e4m3.e4m3.f32",
}


def with_methods(algorithm: Algorithm, **methods: Any) -> Algorithm:
    mutant = type("Mutant", (type(algorithm),), methods)
    return mutant(**{f.name: getattr(algorithm, f.name) for f in fields(algorithm)})


def splits_as(algorithm: SplitGemm, **changes: Any) -> Algorithm:
    """The algorithm with words that are those of other parameters, the rest of it being as it is."""
    return with_methods(algorithm, split=lambda _, *cut: replace(algorithm.split(*cut), **changes))


def with_operations(algorithm: Algorithm, change: Callable[[Operation], Operation]) -> Algorithm:
    """The algorithm with other operations in the place of its own."""

    class Changed(Builder):
        def add(self, operation: Operation) -> int:
            return super().add(change(operation))

    def lower(self: Algorithm, builder: Builder, *rest: Any) -> int:
        changed = Changed()
        changed.__dict__ = builder.__dict__
        return algorithm.lower(changed, *rest)

    return with_methods(algorithm, lower=lower)


def residuals_scaled_by_one_place_more(algorithm: SplitGemm) -> Algorithm:
    return splits_as(algorithm, scale=algorithm.scale + 1)


def scaled_back_by_places(more: int) -> Callable[[SplitGemm], Algorithm]:
    def mutant(algorithm: SplitGemm) -> Algorithm:
        other = replace(algorithm, scale=algorithm.scale + more)
        return with_methods(algorithm, _combined=lambda _, *sums: other._combined(*sums))

    mutant.__name__ = f"scaled back by {more:+d}"
    return mutant


def residuals_truncated(algorithm: SplitGemm) -> Algorithm:
    return splits_as(algorithm, residual_rounding=Rounding.RZ)


def first_words_truncated(algorithm: SplitGemm) -> Algorithm:
    return splits_as(algorithm, rounding=Rounding.RZ)


def added_in_the_wrong_place(algorithm: SplitGemm) -> Algorithm:
    """Inside the unit what belongs outside, and the other way round."""
    return with_methods(algorithm, is_outside=lambda _, order: not algorithm.is_outside(order))


def exponent_off_by_one(algorithm: Algorithm) -> Algorithm:
    def change(operation: Operation) -> Operation:
        weighs = isinstance(operation, Weigh | Combine)
        return replace(operation, places=operation.places + 1) if weighs else operation

    return with_operations(algorithm, change)


def last_slice_lost(algorithm: Algorithm) -> Algorithm:
    """Products of the last slice of a, or residues modulo the last number, are of zeros: c is what the unit returns."""

    def change(operation: Operation) -> Operation:
        last = getattr(algorithm, "slices", 0) or getattr(algorithm, "moduli", 0)
        if isinstance(operation, Call) and operation.a is not None and operation.a.word == last - 1:
            return Zero(operation.fmt)
        return operation

    return with_operations(algorithm, change)


def two_slices_exchanged(algorithm: Algorithm) -> Algorithm:
    """Products are added with the weight of others."""

    def change(operation: Operation) -> Operation:
        if isinstance(operation, Call) and operation.a is not None and operation.a.word < 2:
            return replace(operation, a=replace(operation.a, word=1 - operation.a.word))
        return operation

    return with_operations(algorithm, change)


def residuals_to_nearest(algorithm: SplitGemm) -> Algorithm:
    return splits_as(algorithm, residual_rounding=Rounding.RNA)


ONE_WORD = (first_words_truncated, added_in_the_wrong_place)
WORDS = (residuals_scaled_by_one_place_more, residuals_truncated, added_in_the_wrong_place)
SEPARATE = (*WORDS, scaled_back_by_places(-1), scaled_back_by_places(1))
MUTANTS: dict[str, tuple[Callable[[Any], Algorithm], ...]] = {
    "plain": ONE_WORD,
    "promoted": ONE_WORD,
    "ootomo-yokota": SEPARATE,
    **dict.fromkeys(("ootomo-yokota-tf32", "ootomo-yokota-bf16"), (*WORDS, scaled_back_by_places(1))),
    "residues": (exponent_off_by_one, last_slice_lost, two_slices_exchanged),
    **dict.fromkeys(("slices", "slices-fp8"), (exponent_off_by_one, last_slice_lost, two_slices_exchanged)),
    "3xtf32": (residuals_scaled_by_one_place_more, residuals_to_nearest, added_in_the_wrong_place),
    **dict.fromkeys(("markidis-a", "markidis", "3xtf32-staged", "bf16x3", "bf16x6", "bf16x9"), WORDS),
}


@pytest.mark.few(7)
@pytest.mark.parametrize(
    ("name", "mutant"), [(n, m) for n, ms in MUTANTS.items() for m in ms], ids=lambda x: getattr(x, "__name__", x)
)
def test_a_mutant_is_told_apart(name, mutant):
    algorithm = ALGORITHMS[name]
    of_slices = {"slices": ("int8",), "residues": ("int8",), "slices-fp8": ("e4m3",)}
    formats = of_slices.get(name) or getattr(algorithm, "formats", ()) or ("fp16",)
    unit = find_design(UNITS[formats[0]])
    mutated = mutant(algorithm)
    for seed in range(200):
        operands = random_operands(("moderate", "ties", "cancelling")[seed % 3], unit.k, seed)
        d = trace(Plan(unit, algorithm), operands).d
        expected = reference_algorithm(algorithm, unit, operands)
        assert d == expected
        if trace(Plan(unit, mutated), operands).d not in (d, expected):
            return
    pytest.fail("no operands tell the mutant apart")


@pytest.mark.parametrize("changes", [{"spare": 1}, {"spare": 3}, {"bits": 7}, {"count": 2}], ids=str)
def test_a_mutant_of_slices_in_twos_complement_is_told_apart(changes):
    algorithm, unit = (
        find_algorithm("slices@operands=fp64,slices=3,bits=8,sign=first,headroom=1"),
        find_design(UNITS["int8"]),
    )
    mutated = with_methods(algorithm, cut=lambda _, *asked: replace(algorithm.cut(*asked), **changes))
    refused = 0
    for seed in range(20):
        given = (random_arrays("moderate", (1, unit.k, 1), seed)[i] for i in range(3))
        operands = element(*(widened(x, seed) for x in given), 0, 0)
        assert trace(Plan(unit, algorithm), operands).d == reference_algorithm(algorithm, unit, operands)
        try:
            refused += trace(Plan(unit, mutated), operands).d != reference_algorithm(algorithm, unit, operands)
        except IndexError:  # a word that is not cut
            refused += 1
    assert refused


@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_the_order_of_sums_outside_shows(order):
    """In fp32 outside, small sums first and large sums first are different results."""
    other = {"ascending": "descending", "descending": "ascending"}[order]
    first, second = (find_algorithm(f"slices@slices=4,outside=fp32,order={x}") for x in (order, other))
    unit = find_design(UNITS["int8"])
    found = [random_operands("moderate", unit.k, seed) for seed in range(30)]
    assert all(trace(Plan(unit, first), x).d == reference_algorithm(first, unit, x) for x in found)
    assert any(trace(Plan(unit, second), x).d != reference_algorithm(first, unit, x) for x in found)


def test_every_algorithm_has_mutants():
    assert set(MUTANTS) == set(ALGORITHMS)
