"""What rounds a sum is proved of any sum; no relation that samples suggest makes a case that something satisfies go."""

import random
from collections import Counter
from pathlib import Path

import pytest
from pysmt.environment import Environment, get_env
from pysmt.fnode import FNode
from support.in_this_process import InAnyEnvironment
from support.own_rtl import UNITS

from mmaproof.properties.equivalence import Equivalence
from mmaproof.rtl.meant import in_one_pass, read_rtl
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.exhaustion import small_ones_first
from mmaproof.smt.proving.free_sums import FreeSums
from mmaproof.smt.proving.kernel import Kernel, NotComposedError
from mmaproof.smt.proving.lemma import Lemmas
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.netlists import distance_cases

WIDTH, BITS, LAST = 10, 4, 3
ALL = {
    d: [{"p_4": p, "c_4": c, "distance_3": d} for p in range(1 << BITS) for c in range(1 << BITS)]
    for d in range(LAST + 1)
}


class Rounded:
    """Two ways to round p * 16 plus or minus c * 2**distance, one of them of a sum that lost some bits."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._m = get_env().formula_manager
        algebra = TermAlgebra(get_env())
        self.p, self.c = (algebra.symbol(f"{x}_4", BITS).data for x in "pc")
        self.distance = algebra.symbol("distance_3", 3).data
        self.slope, self.jams, self.wrong = self._rng.choice((0, 0, 1)), seed % 3 > 0, seed % 2 == 0

    def _wide(self, x: FNode) -> FNode:
        return self._m.BVZExt(x, WIDTH - x.bv_width())

    def _flag(self, x: FNode) -> FNode:
        m = self._m
        return m.Ite(m.Equals(x, m.BV(0, WIDTH)), m.BV(0, WIDTH), m.BV(1, WIDTH))

    def _round(self, x: FNode, sticky: FNode, places: FNode) -> FNode:
        """Return x without some bits, rounded to nearest even; the sticky bit is below all."""
        m, one = self._m, m_one(self._m)
        half = m.BVAnd(m.BVLShr(x, m.BVSub(places, one)), one)
        below = m.BVAnd(x, m.BVSub(m.BVLShl(one, m.BVSub(places, one)), one))
        kept = m.BVLShr(x, places)
        up = m.BVAnd(half, m.BVOr(m.BVOr(self._flag(below), sticky), m.BVAnd(kept, one)))
        return m.BVAdd(kept, up)

    def claim(self) -> FNode:
        """Return that both ways differ; where ``wrong`` is set, one of them has a fault."""
        m, two, d = self._m, self._m.BV(2, WIDTH), self._wide(self.distance)
        product, addend = m.BVLShl(self._wide(self.p), m.BV(BITS, WIDTH)), m.BVLShl(self._wide(self.c), d)
        first, second = m.BVAdd(product, addend), m.BVSub(addend, m.BVNeg(product))
        lost = m.BVAdd(d, m_one(m)) if self.slope else two
        ones = m.BVSub(m.BVLShl(m_one(m), lost), m_one(m))
        sticky = self._flag(m.BVAnd(second, ones))
        fault = self._rng.choice(("places", "sticky", "sum")) if self.wrong else ""
        if fault == "sum":
            second = m.BVOr(second, self._wide(m.BVAnd(self.c, m.BV(self._rng.choice((1, 8)), BITS))))
        coarse = m.BVLShr(second, lost)
        if fault == "sticky":
            sticky = m.BV(0, WIDTH)
        rest = m.BVAdd(two, m_one(m)) if fault == "places" else two
        if self.jams:
            rounded = self._round(m.BVOr(coarse, sticky), m.BV(0, WIDTH), rest)
        else:
            rounded = self._round(coarse, sticky, rest)
        return m.Not(m.Equals(self._round(first, m.BV(0, WIDTH), m.BVAdd(lost, two)), rounded))


def m_one(m: object) -> FNode:
    return m.BV(1, WIDTH)  # type: ignore[attr-defined]


def examined(seed: int) -> tuple[bool, bool]:
    """Whether all distances of a random claim are refuted, and whether nothing satisfies it; seldom all is sampled."""
    rng = random.Random(seed)
    with Environment():
        environment = get_env()
        m = environment.formula_manager
        of = Rounded(seed)
        claim = of.claim()
        lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment)
        kernel = Kernel(environment, claim, lemmas.refute)
        rows = {d: rng.sample(some, 12 if seed % 4 else len(some)) for d, some in ALL.items()}
        sums = FreeSums(kernel, claim, [], (of.p, of.c, of.distance), 4, [], [], rows)
        satisfied = any(Columns([x for some in ALL.values() for x in some]).values(claim).tolist())
        refuted, ranges = True, list(sums.ranges(0, LAST))
        assert [d for low, high, _ in ranges for d in range(low, high + 1)] == list(ALL)
        for low, high, cut in ranges:
            case = m.And(m.BVULE(m.BV(low, 3), of.distance), m.BVULE(of.distance, m.BV(high, 3)))
            try:
                if cut is None:
                    raise NotComposedError("no relation")
                sums.refute(case, cut, (low, high), "a case")
            except NotComposedError:
                refuted = False
                continue
            assert kernel.holds(m.Not(case))
            some = [x for d in range(low, high + 1) for x in ALL[d]]
            assert not any(Columns(some).values(claim).tolist()), f"{seed}: a case that something satisfies was refuted"
        return refuted, not satisfied


def test_random_sums_are_decided_as_all_operands_decide() -> None:
    found = Counter(examined(seed) for seed in range(24))
    assert not found[True, False]
    assert found[True, True] > 5 < found[False, False]


@pytest.mark.slow
def test_more_random_sums_are_decided_as_all_operands_decide() -> None:
    found = Counter(examined(seed) for seed in range(24, 500))
    assert not found[True, False]
    assert found[True, True] > 100 < found[False, False]


def with_branch(seed: int) -> list[tuple[bool, bool]]:
    """Whether each distance of a claim with a branch is refuted, and whether nothing satisfies it.

    A branch for one value of p may be missing from the samples, and is taken all the same. One for another distance is
    never taken.
    """
    rng, found = random.Random(seed), []
    with Environment():
        environment = get_env()
        m = environment.formula_manager
        of = Rounded(6 * seed + 1)  # not wrong, and with a sticky bit that jams
        for d, every in ALL.items():
            number = m.BV(rng.randrange(1 << BITS), BITS)
            flag = m.Equals(of.p, number) if seed % 2 else m.Equals(of.distance, m.BV((d + 1) % (LAST + 1), 3))
            claim = m.Ite(flag, m.Equals(of.p, number), of.claim())
            lemmas = Lemmas(InAnyEnvironment().ask, Limits(60, 4 << 30), worked(), environment)
            kernel = Kernel(environment, claim, lemmas.refute)
            case = m.Equals(of.distance, m.BV(d, 3))
            rows = {d: rng.sample(every, 12)}
            sums = FreeSums(kernel, claim, [], (of.p, of.c, of.distance), 4, [], [], rows, case)
            is_refuted = sums.refuted_at_once(case, "at once")
            for low, high, cut in sums.ranges(d, d):
                try:
                    if cut is not None:
                        sums.refute(case, cut, (low, high), "a case")
                        is_refuted = True
                except NotComposedError:
                    continue
            assert is_refuted == kernel.holds(m.Not(case))
            found.append((is_refuted, not any(Columns(every).values(claim).tolist())))
    return found


def test_a_branch_is_left_out_only_where_it_is_never_taken() -> None:
    rare, elsewhere = (Counter(x for seed in range(6) if seed % 2 == odd for x in with_branch(seed)) for odd in (1, 0))
    assert set(rare) == {(False, False)}
    assert set(elsewhere) == {(True, True)}


def of_unit(path: Path) -> Counter[bool] | None:
    """Count the leaves of a unit's theorem by whether they are of any sum, None if there is no theorem."""
    unit, meant = read_rtl(path)
    assert meant is not None
    question = Equivalence(unit.design, in_one_pass(unit.design, meant), k=1)
    argument, whole = distance_cases(question, 0), question.formula
    assert argument is not None
    lemmas = Lemmas(small_ones_first(Solving()), Limits(400, 4 << 30), worked(), whole.environment)
    theorem = lemmas.joined(whole.violation, argument)
    return None if theorem is None else Counter("of any value" in x.stated.why for x in theorem.leaves)


@pytest.mark.middle
def test_distances_share_what_rounds_their_sums() -> None:
    found = of_unit(UNITS / "fma" / "counted_to_bf16.toml")
    assert found is not None and 0 < found[True] < 15  # of 39 distances
    assert found[False] < 150
