"""Every design of the catalogue is drawn, at every width, and what is drawn is what the signals are."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from support.pictures import CATALOGUE, blocks, draw, row_value, steps, value

from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.readings import Alignment
from mmaproof.designs.steps import LanesStep, PairwiseStep
from mmaproof.explain import explain
from mmaproof.explain.blocks import Block, RowKind
from mmaproof.explain.steps import Step, Sum
from mmaproof.explain.words import products_of
from mmaproof.smt.semantics.datapath import Group, Product
from mmaproof.smt.trace import trace
from mmaproof.verification.distributions import DISTRIBUTIONS
from mmaproof.verification.distributions import draw as draw_operands


@pytest.mark.slow_values("60", "80")
@pytest.mark.middle
@pytest.mark.parametrize(
    "width",
    [
        pytest.param(60, marks=pytest.mark.middle),
        80,
        pytest.param(120, marks=pytest.mark.middle),
        pytest.param(160, marks=pytest.mark.middle),
    ],
)
def test_every_design_is_drawn(width: int) -> None:
    # where there is much room, every fourth: what is narrow is what does not fit
    for number, (design, operands) in enumerate(CATALOGUE if width <= 80 else CATALOGUE[::4]):
        lines = draw(explain([design], operands), width, ("utf-8", "ascii")[number % 2])
        assert max(map(len, lines)) <= width, design.name
        d = design.d_format.hex(trace(design, operands).d.data)
        assert any(line.startswith(f"d = {d} = ") for line in lines), design.name


def representatives() -> Iterator[tuple[Design, Operands]]:
    """Operands of every distribution for two designs of each family."""
    rng, seen = np.random.default_rng(7), []
    for design, _ in CATALOGUE:
        if seen.count(design.family) < 2:
            seen.append(design.family)
            for number, distribution in enumerate(DISTRIBUTIONS):
                k = design.k * (1 + number % 2 * design.hands_on)
                yield design, draw_operands(distribution, design, 1, k, rng).row(0)


FAMILIES = list(representatives())


@pytest.mark.slow
def test_every_distribution_of_every_family_is_drawn() -> None:
    for number, (design, operands) in enumerate(FAMILIES):
        width = (40, 60, 80, 160)[number % 4]
        assert max(map(len, draw(explain([design], operands), width))) <= width, design.name


def sums(design: Design, operands: Operands) -> Iterator[tuple[Step, Sum, Block]]:
    """Fused sums with the blocks that draw them."""
    drawn = [part for block in blocks(explain([design], operands)) for part in block.parts if part.fraction]
    walk = [s for s in steps(design, operands) if not s.idle() and not s.decided]
    found = [(step, s) for step in walk for s in step.sums if any(s.terms.values())]
    yield from ((step, s, block) for (step, s), block in zip(found, drawn, strict=True))


def check_cuts(s: Sum) -> None:
    for label, term in s.terms.items():
        unit, held = Fraction(2) ** s.cuts[label], s.aligned[label]
        assert held % unit == 0
        inverted = s.path_cuts[label].alignment is Alignment.COMPLEMENT
        assert abs(term - held) < unit or (inverted and abs(term - held) == unit)
        assert not s.rounds_down or held == term // unit * unit
        assert not s.truncates or held == (abs(term) // unit) * unit * (1 if term > 0 else -1)


@pytest.mark.slow
def test_rows_hold_the_signals_of_every_sum() -> None:
    shapes = set()
    for design, operands in FAMILIES:
        for _, s, block in sums(design, operands):
            check_cuts(s)
            shapes.add(tuple(str(label) for label in s.labels if not isinstance(label, Product | Group)))
            rows = {row.label: row for row in block.rows if row.kind is RowKind.TERM}
            labels = [label for label in s.labels if s.terms[label]]
            assert [*rows] == [str(label) for label in labels]
            for label, row in zip(labels, rows.values(), strict=True):
                assert row_value(row) == value(row.value) == s.terms[label]
                assert row.cut == s.cuts[label]
                held = (w for w in row.ones() if row.is_kept(w))
                kept = sum((Fraction(2) ** w for w in held), Fraction(0)) * (-1 if row.sign == "-" else 1)
                after = block.rows[block.rows.index(row) + 1]
                # an inverted zero has a row of its own, which may follow
                follows = after.kind is RowKind.ALIGNED and kept != s.aligned[label]
                aligned = row_value(after) if follows else kept
                assert aligned == s.aligned[label]
            (total,) = (row for row in block.rows if row.kind is RowKind.SUM)
            assert row_value(total) == value(total.value) == s.total
    assert {(), ("c",), ("acc",), ("even", "odd"), ("products", "c"), ("first-half", "second-half", "c")} <= shapes


def test_products_and_groups_have_the_values_of_their_terms() -> None:
    groups = 0
    for design, operands in FAMILIES:
        for step in steps(design, operands):
            labels = [label for s in step.sums for label in s.labels if isinstance(label, Product | Group)]
            named = sorted(k for label in labels for k in products_of(label))
            assert not labels or named == sorted(step.ks)
            rounded = [label for label in step.results if isinstance(label, Product)]
            assert rounded == ([Product(k) for k in step.ks] if isinstance(design.step, PairwiseStep) else [])
            # of lanes, zeros may have an implicit one, and sums of two products are cut; some units cut each product
            is_cut = getattr(getattr(design.step, "terms", None), "drops_bits", False)
            if not step.decided and not isinstance(design.step, LanesStep) and not is_cut:
                for label in labels:
                    products = [step.products[Product(k)] for k in products_of(label)]
                    assert sum(products, Fraction(0)) == step.terms[label]
                    groups += len(products) > 1
    assert groups


@pytest.mark.slow
def test_late_additions_hold_the_patterns() -> None:
    found = 0
    for design, operands in FAMILIES:
        if not design.adds_c_last:
            continue
        late = [s for s in steps(design, operands) if s.late and not s.idle()]
        parts = [p for b in blocks(explain([design], operands)) for p in b.parts if p.heading.startswith("late")]
        for step, part in zip(late, parts, strict=True):
            named = {x.label: x.value for x in (*part.rows, *part.entries)}
            if part.rows:
                c, total, exact = (row_value(row) for row in part.rows[:3])
                assert c + total == exact
                rest = [row_value(row) for row in part.rows if row.kind is RowKind.DROPPED]
                assert bool(rest) == (step.d != exact) or step.beyond
                found += 1
            assert part.after[-1] == f"d = {step.result}"
            assert {"c", "sum"} <= named.keys()
    assert found > 10


def interface(design: Design) -> tuple[object, ...]:
    """What two designs share that are compared: formats, scales and blocks."""
    names = [None if f is None else f.name for f in (*design.formats, design.scale_format)]
    return (*names, design.block)


def comparable() -> dict[tuple[object, ...], list[Design]]:
    found: dict[tuple[object, ...], list[Design]] = {}
    for design, _ in CATALOGUE:
        found.setdefault(interface(design), []).append(design)
    return found


@pytest.mark.slow
def test_two_designs_of_any_families() -> None:
    pairs, differences, others = set(), 0, comparable()
    for number, (a, operands) in enumerate(FAMILIES):
        fitting = [b for b in others[interface(a)] if a != b and not len(operands) % b.k]
        for b in fitting[number % 15 :: 15]:
            picture = explain([a, b], operands)
            width = (60, 80, 120, 160)[number % 4]
            assert max(map(len, draw(picture, width))) <= width
            equal = trace(a, operands).d.data == trace(b, operands).d.data
            assert picture.closing[-1].startswith("no difference") == equal
            pairs.add((a.family, b.family))
            differences += not equal
    assert len(pairs) > 10
    assert differences > 20
