"""The project's own RTL computes what its designs do on random operands, and its mutants do not on theirs."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.own_rtl import OWN_UNITS, UNITS, OwnUnit, Tier
from support.rtl_mutants import MUTANTS, REFUSED, Different, Mutant

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.trace import evaluate
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

MARKS = {Tier.QUICK: (), Tier.MIDDLE: (pytest.mark.middle,), Tier.SLOW: (pytest.mark.slow,)}
TIERS = {u.path: u.tier for u in OWN_UNITS}
DESIGNS = {u.path: u.design for u in OWN_UNITS}


def later(mutant: Mutant) -> Tier:
    """Return the tier of a mutant: that of its unit, but none is quick."""
    return Tier.SLOW if TIERS[mutant.unit] is Tier.SLOW else Tier.MIDDLE


def unit_of(path: Path, name: str) -> RtlUnit:
    """Return the unit at ``path``, with the formats of its design."""
    if any(u.needs_ghdl for u in OWN_UNITS if u.path == name) and shutil.which("ghdl") is None:
        pytest.skip("GHDL is not installed")
    return read_unit(path, signature=find_design(DESIGNS[name]).signature)


def agrees(own: OwnUnit, rows: int) -> None:
    design, unit = find_design(own.design), unit_of(own.file, own.path)
    assert unit.file.design == own.design
    for name in DISTRIBUTIONS:
        batch = draw(name, design, rows, design.k, np.random.default_rng(18))
        fixed = {operand: np.full_like(getattr(batch, operand), value) for operand, value in unit.fixed.items()}
        batch = replace(batch, **fixed)
        wanted, found = (evaluate_batch(d, batch, backend="arrays") for d in (design, unit.design))
        assert equal_patterns(design.d_format, wanted, found, nan_codes=True).all(), name


@pytest.mark.parametrize("own", [pytest.param(u, id=u.path, marks=MARKS[u.tier]) for u in OWN_UNITS])
def test_a_unit_agrees_with_its_design(own: OwnUnit) -> None:
    agrees(own, 100 if own.tier is Tier.QUICK else 500)


def test_tables_are_complete() -> None:
    assert {u.file for u in OWN_UNITS} == set(UNITS.glob("*/*.toml"))
    names = [m.name for m in (*MUTANTS, *REFUSED)]
    assert len(set(names)) == len(names)
    for mutant in (*MUTANTS, *REFUSED):
        text = (UNITS / mutant.unit).with_name(mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1 and mutant.old != mutant.new, mutant.name
        assert mutant.unit in DESIGNS, mutant.name


def operands_of(mutant: Different) -> Operands:
    a, b, scale_a, scale_b = (
        tuple(int(x, 16) for x in column.split()) for column in (mutant.a, mutant.b, mutant.scale_a, mutant.scale_b)
    )
    return Operands(a, b, int(mutant.c, 16), scale_a, scale_b)


def shown(fmt: Format, pattern: int) -> str:
    return f"{pattern:0{fmt.bits // 4}x}"


def test_designs_give_what_mutants_should() -> None:
    for mutant in MUTANTS:
        design = find_design(DESIGNS[mutant.unit])
        assert shown(design.d_format, evaluate(design, operands_of(mutant))) == mutant.d, mutant.name


def is_wrong(mutant: Different, folder: Path) -> None:
    unit = unit_of(mutant.write(folder), mutant.unit)
    found = shown(unit.design.d_format, evaluate(unit.design, operands_of(mutant)))
    if mutant.wrong == "x":  # an unknown bit reads 0 where a value is computed
        assert unit.report.unknown
    else:
        assert found == mutant.wrong != mutant.d


def test_a_mutant_is_wrong(tmp_path: Path) -> None:
    is_wrong(MUTANTS[0], tmp_path)


@pytest.mark.parametrize("mutant", [pytest.param(m, id=m.name, marks=MARKS[later(m)]) for m in MUTANTS[1:]])
def test_all_mutants_are_wrong(mutant: Different, tmp_path: Path) -> None:
    is_wrong(mutant, tmp_path)


@pytest.mark.parametrize("mutant", [pytest.param(m, id=m.name, marks=MARKS[later(m)]) for m in REFUSED])
def test_pipelines_of_another_latency_are_refused(mutant: Mutant, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="latency"):
        unit_of(mutant.write(tmp_path), mutant.unit)
