"""In a case words that are one word take each other's place; no suggestion makes a case that something satisfies go."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pysmt.environment import Environment, get_env
from pysmt.fnode import FNode
from support.bundles import checked
from support.in_this_process import InAnyEnvironment
from support.own_rtl import OWN_UNITS, UNITS
from support.rtl_mutants import MUTANTS, Different

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.formats import find_format
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import preconditions_of
from mmaproof.rtl.meant import in_one_pass, read_rtl
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.proving.case_nets import CaseNets, Operand, samples
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.proving.kernel import Kernel, NotComposedError, Theorem
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.bundle import write_bundles
from mmaproof.verification.distributions import DISTRIBUTIONS, draw
from mmaproof.verification.netlists import distance_cases

BITS = 5
ALL = [{"x_5": x, "y_5": y} for x in range(1 << BITS) for y in range(1 << BITS)]


def kernel_of(root: FNode, environment: Environment) -> Kernel:
    return Kernel(environment, root, Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment).refute)


def words(rng: random.Random, m: Any, x: FNode, y: FNode) -> FNode:
    """A random word of a few operations."""
    known = [x, y, m.BV(rng.randrange(1 << BITS), BITS)]
    two: list[Callable[[FNode, FNode], FNode]] = [m.BVAdd, m.BVSub, m.BVAnd, m.BVOr, m.BVXor, m.BVLShl, m.BVLShr]
    for _ in range(6):
        p, q = rng.choices(known, k=2)
        if rng.random() < 0.3:
            known.append(m.Ite(m.BVULT(p, q), p, m.BVSub(q, p)))
        else:
            known.append(rng.choice(two)(p, q))
    return known[-1]


def rewritten(m: Any, word: FNode, x: FNode, y: FNode) -> FNode:
    """The same word in the case in which x is not below y: what depends on that is written in another way."""
    return m.Ite(m.BVULT(x, y), m.BVNot(word), m.BVSub(m.BVAdd(word, x), m.Ite(m.BVULE(y, x), x, y)))


def is_refuted(seed: int) -> tuple[bool, bool]:
    """Whether a random case is refuted, and whether nothing satisfies it. Half of the samples are of all cases."""
    rng = random.Random(seed)
    with Environment():
        environment = get_env()
        m, algebra = environment.formula_manager, TermAlgebra(environment)
        x, y = (algebra.symbol(f"{name}_5", BITS).data for name in "xy")
        first = words(rng, m, x, y)
        second = rewritten(m, first, x, y) if seed % 3 else m.BVAdd(words(rng, m, x, y), first)
        root = m.Not(m.Equals(m.BVAdd(first, y), m.BVAdd(second, y)))
        case = m.BVULE(y, x) if seed % 5 else m.BVULT(words(rng, m, x, y), m.BV(rng.randrange(1, 9), BITS))
        every = Columns(ALL)
        holds = every.values(case).tolist()
        satisfied = any(p and q for p, q in zip(holds, every.values(root).tolist(), strict=True))
        rows = ALL if seed % 2 or not any(holds) else [row for row, value in zip(ALL, holds, strict=True) if value]
        kernel = kernel_of(root, environment)
        try:
            CaseNets(kernel, root, []).refute(case, rng.sample(rows, min(len(rows), 5)), "a case")
        except NotComposedError:
            return False, not satisfied
        assert kernel.holds(m.Not(case))
        return True, not satisfied


def examine(seeds: range) -> Counter[tuple[bool, bool]]:
    found = Counter(is_refuted(seed) for seed in seeds)
    assert not found[True, False], "a case that something satisfies was refuted"
    assert not found[False, True], "a case of so few bits was not refuted"
    return found


def test_random_cases_are_decided_as_all_operands_decide() -> None:
    found = examine(range(30))
    assert found[True, True] > 5 < found[False, False]


@pytest.mark.slow
def test_more_random_cases_are_decided_as_all_operands_decide() -> None:
    found = examine(range(30, 1000))
    assert found[True, True] > 100 < found[False, False]


def test_what_is_equal_in_one_case_is_not_used_in_another() -> None:
    """Equations hold in their case: a kernel that has those of one case refutes no other with them."""
    with Environment():
        environment = get_env()
        m, algebra = environment.formula_manager, TermAlgebra(environment)
        x, y = (algebra.symbol(f"{name}_5", BITS).data for name in "xy")
        smaller = m.BVULT(x, y)
        root = m.Not(m.Equals(m.Ite(smaller, m.BVSub(y, x), m.BVSub(x, y)), m.BVNeg(m.BVSub(y, x))))
        kernel = kernel_of(root, environment)
        nets = CaseNets(kernel, root, [])
        nets.refute(m.Not(smaller), [row for row in ALL if row["x_5"] >= row["y_5"]], "not smaller")
        assert kernel.holds(smaller)  # of the operands that satisfy the root
        with pytest.raises(NotComposedError, match="smaller"):
            nets.refute(smaller, [row for row in ALL if row["x_5"] < row["y_5"]], "smaller")
        assert not kernel.complete


def of_unit(path: Path) -> tuple[Equivalence, Theorem | None]:
    """What is asked of a unit, and its theorem by the distance of exponents, with words compared in each case."""
    unit, meant = read_rtl(path)
    question = Equivalence(unit.design, in_one_pass(unit.design, meant), where=preconditions_of(unit.where), k=1)
    argument, whole = distance_cases(question, 0), question.formula
    assert argument is not None
    lemmas = Lemmas(small_ones_first(Solving()), Limits(400, 4 << 30), worked(), whole.environment)
    return question, lemmas.joined(whole.violation, argument)


@pytest.mark.middle
@pytest.mark.parametrize("name", ["fp16_single", pytest.param("fp16_two_path", marks=pytest.mark.slow)])
def test_an_adder_is_proved_case_by_case(name: str) -> None:
    path = UNITS / "fadd" / f"{name}.toml"
    assert of_unit(path)[1] is not None


@pytest.mark.slow
def test_the_cases_of_an_adder_are_proved_for_the_checker(tmp_path: Path) -> None:
    question, theorem = of_unit(UNITS / "fadd" / "fp16_single.toml")
    folder, limits = tmp_path / "proof", Limits(400, 4 << 30)
    asked = (question, {"claim": "the adder is its design"}, theorem)
    assert write_bundles([asked], question.designs[1], folder, Solving(), limits, 0).lemmas > 200
    found, said = checked(folder)
    assert found == 0, said


ADDERS = [x for x in MUTANTS if x.unit.startswith("fadd/")]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [pytest.param(x, id=x.name) for x in ADDERS])
def test_a_mutant_of_an_adder_is_not_proved_by_cases(mutant: Different, tmp_path: Path) -> None:
    """Its bits are fewer, and cases are all that is asked: no search finds it before."""
    smaller = replace(mutant, unit=mutant.unit.replace("fp32", "fp16"))
    assert of_unit(smaller.write(tmp_path))[1] is None


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [pytest.param(x, id=x.name) for x in MUTANTS if x.file == "fma_counted.sv"])
def test_a_mutant_of_a_fused_multiply_add_is_not_proved_by_cases(mutant: Different, tmp_path: Path) -> None:
    assert of_unit(mutant.write(tmp_path))[1] is None


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_normalising_first_changes_no_sum(name: str) -> None:
    """The design of the adders aligns x * 1 and y as they are; that of the instruction normalises them before."""
    own = next(x for x in OWN_UNITS if x.path == "fadd/fp32_single.toml")
    instruction, of_adders = find_design("cpu/vfmadd231ps"), find_design(own.design)
    batch = draw(name, instruction, 2000, 1, np.random.default_rng(5))
    batch = replace(batch, b=np.full_like(batch.b, 0x3F800000))
    x, y = (evaluate_batch(d, batch, backend="arrays") for d in (instruction, of_adders))
    assert (x == y).all()


@pytest.mark.parametrize("flags", [(False, False, False, True, None), (False, True, True, None, True)])
def test_samples_have_the_distance_and_the_flags(flags: tuple[bool | None, ...]) -> None:
    a, b, c = (Operand(x, find_format(f), None) for x, f in (("a", "fp16"), ("b", "fp16"), ("c", "fp32")))
    found = samples(a, b, c, (80, 82) if flags[2] else (-3, 2), flags)
    assert len(found) == (0 if flags[2] else 200)
    for row in found:
        exponents = [max(z.field(row[z.name]), 1) + z.fmt.e_min - 1 for z in (a, b, c)]
        assert -3 <= exponents[0] + exponents[1] - exponents[2] <= 2
        signs = [row["a"] >> 15, row["b"] >> 15, row["c"] >> 31]
        assert sum(signs) % 2 == 1
