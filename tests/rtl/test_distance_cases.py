"""Fused multiply-adds are taken apart by the distance of exponents; cases that lack one prove nothing."""

from collections import Counter
from collections.abc import Sequence

import pytest
from pysmt.environment import Environment, get_env
from support.in_this_process import InAnyEnvironment
from support.small_designs import differences, random_pair, use_small_formats
from support.written_netlists import changed, netlist_of

from mmaproof.designs.design import Design
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.preconditions import Pattern, Precondition
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving import distance_cases as cases_of_distance
from mmaproof.smt.proving.distance_cases import Cases
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.verification import netlists
from mmaproof.verification.netlists import distance_cases

LIMITS = Limits(60, 4 << 30)


def lemmas(environment: Environment) -> Lemmas:
    return Lemmas(InAnyEnvironment().ask, LIMITS, worked(), environment)


def of_one_product(seeds: Sequence[int]) -> list[tuple[int, Design]]:
    """The first of random pairs of small designs, of those that add one product to c."""
    found = []
    for seed in seeds:
        design = random_pair(seed, wide=False).question.designs[0]
        if design.k == 1 and not design.a_format.is_integer and design.scale_format is None:
            found.append((seed, design))
    return found


def is_proved(netlist: Design, design: Design, rows: int, where: Sequence[Precondition] = ()) -> bool:
    """Whether the cases prove that a netlist is a design, which all operands must say too."""
    question = Equivalence(netlist, design, where=where)
    different, tried = differences(question)
    with Environment(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(netlists, "ROWS", rows)
        argument, whole = distance_cases(question, 0), question.formula
        assert argument is not None
        proved = lemmas(whole.environment).joined(whole.violation, argument) is not None
    assert not (proved and len(different)), f"{len(different)} of {tried} differ: {design}, {netlist.step}"
    return proved


def examine(seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    use_small_formats(monkeypatch)
    found: Counter[str] = Counter()
    for seed, design in of_one_product(seeds):
        netlist = netlist_of(design, seed)
        found["rewritten, proved"] += is_proved(netlist, design, (1, 40)[seed % 2])
        found["changed, proved"] += is_proved(changed(netlist, seed), design, (1, 40)[seed % 2])
        found["designs"] += 1
    return found


@pytest.mark.middle
def test_small_netlists_are_decided_as_all_operands_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    found = examine(range(28), monkeypatch)
    assert found["designs"] > 3
    assert found["rewritten, proved"] == found["designs"]


@pytest.mark.slow
def test_small_netlists_whose_words_are_compared_are_decided_as_all_operands_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cases_of_distance, "LEAST_PRECISION", 1)
    found = examine(range(16), monkeypatch)
    assert found["rewritten, proved"] == found["designs"] > 0


@pytest.mark.slow
def test_more_small_netlists_are_decided_as_all_operands_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    found = examine(range(28, 400), monkeypatch)
    assert found["rewritten, proved"] == found["designs"] > found["changed, proved"]


@pytest.mark.middle
@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_constant_operands_are_decided_as_all_others_decide(operand: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adder has 1 in the place of b, a multiplier has -0 in the place of c; 3 is another number."""
    use_small_formats(monkeypatch)
    found: Counter[str] = Counter()
    for seed, design in of_one_product(range(16)):
        where = [Pattern(operand, (1 << getattr(design, f"{operand}_format").bits - 1, 3)[seed % 2])]
        netlist = netlist_of(design, seed)
        found["rewritten, proved"] += is_proved(netlist, design, 40, where)
        found["changed, proved"] += is_proved(changed(netlist, seed), design, 40, where)
        found["designs"] += 1
    assert found["rewritten, proved"] == found["designs"] > 1


# --- what cases prove -------------------------------------------------------------------------------------


def of_words() -> tuple[Kernel, Cases]:
    """A kernel whose root nothing satisfies, and cases of a flag and a signed word of four bits."""
    environment = get_env()
    m, algebra = environment.formula_manager, TermAlgebra(environment)
    d, other = (algebra.symbol(f"{name}_4", 4).data for name in ("distance", "other"))
    special = m.Equals(other, m.BV(0, 4))
    root = m.Equals(m.BVAdd(d, other), m.BVSub(m.BVSub(d, m.BVNeg(other)), m.BV(1, 4)))
    kernel = Kernel(environment, root, lemmas(environment).refute)
    return kernel, Cases(kernel, special, [m.BVULT(other, m.BV(4, 4))], d, [root])


STEPS = {
    "special": lambda x: x.special(),
    "below": lambda x: x.below(-2),
    "above": lambda x: x.above(3),
    "first": lambda x: x.between(-2, 0, (False,)),
    "second": lambda x: x.between(1, 3, (False,)),
    "subnormal": lambda x: x.between(-2, 3, (True,)),
}


def concluded(names: Sequence[str]) -> bool:
    with Environment():
        kernel, found = of_words()
        for name in names:
            STEPS[name](found)
        assert not kernel.complete
        found.conclude()
        return kernel.complete


def test_all_cases_prove_it() -> None:
    assert concluded(list(STEPS))
    assert concluded([*reversed(STEPS), "first"])  # cases may overlap


@pytest.mark.parametrize("missing", STEPS)
def test_without_one_case_nothing_is_proved(missing: str) -> None:
    with pytest.raises(NotComposedError, match="there is no other case"):
        concluded([x for x in STEPS if x != missing])


@pytest.mark.parametrize("missing", [-2, 0, 1, 3])
def test_without_one_distance_nothing_is_proved(missing: int) -> None:
    with Environment():
        kernel, found = of_words()
        found.special()
        found.below(-2)
        found.above(3)
        for low, high in ((-2, missing - 1), (missing + 1, 3)):
            if low <= high:
                found.between(low, high, (False,))
        found.between(-2, 3, (True,))
        with pytest.raises(NotComposedError, match="there is no other case"):
            found.conclude()
        assert not kernel.complete


def test_a_case_without_operands_is_no_proof_of_the_others() -> None:
    """A range whose end is below its begin is refuted by anything; it covers nothing."""
    with Environment():
        _, found = of_words()
        found.between(3, -2, (True,))
        with pytest.raises(NotComposedError, match="there is no other case"):
            found.conclude()


def test_a_case_that_something_satisfies_is_none() -> None:
    with Environment():
        environment = get_env()
        m = environment.formula_manager
        d = TermAlgebra(environment).symbol("distance_4", 4).data
        root = m.Equals(d, m.BV(2, 4))
        found = Cases(Kernel(environment, root, lemmas(environment).refute), m.FALSE(), [m.FALSE()], d, [root])
        found.below(2)
        with pytest.raises(NotComposedError, match="distance from 2 to 2"):
            found.between(1, 3, (False,))
