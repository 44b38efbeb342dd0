"""Vectors of the default size expose faults of published kinds; those that they miss are listed."""

import pytest
from support.datapath_faults import all_faults, results

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators.cover.coverage import DEFAULT_LIMITS, cover

VECTORS, LEAST = 200, 0.95
FAULTS = all_faults()
MUTANTS = [(fault.name, unit) for fault in FAULTS for unit in fault.units]
UNITS = sorted({unit for _, unit in MUTANTS})
QUICK = "volta/mma.m8n8k4.f16.f16.f16.f16"
"""A unit that rounds to nearest in 16 bits, so that it has most kinds of faults and is computed in seconds."""


def vectors(unit: str) -> OperandBatch:
    design = find_design(unit)
    done = cover(design, VECTORS, limits=DEFAULT_LIMITS)
    return OperandBatch.of_rows(design.formats, [x.operands for x in done.vectors])


def missed(batches: dict[str, OperandBatch]) -> set[tuple[str, str]]:
    """The mutants of the units of these batches that return the same for each row."""
    correct, found = results(None, batches), set()
    for fault in FAULTS:
        changed = results(fault, {unit: batches[unit] for unit in fault.units if unit in batches})
        found |= {(fault.name, unit) for unit, d in changed.items() if not (d != correct[unit]).any()}
    return found


def test_the_list_is_of_many_kinds_and_families():
    assert len(MUTANTS) == len(set(MUTANTS)) >= 60
    assert len({fault.kind for fault in FAULTS}) >= 20
    assert len({(find_design(unit).family, type(find_design(unit).step)) for unit in UNITS}) >= 8
    listed = {(fault.name, unit) for fault in FAULTS for unit in fault.missed}
    assert len(listed) <= (1 - LEAST) * len(MUTANTS)


@pytest.mark.slow
def test_vectors_expose_the_faults_of_a_unit_that_rounds():
    assert missed({QUICK: vectors(QUICK)}) == {(f.name, QUICK) for f in FAULTS if QUICK in f.missed}


@pytest.mark.slow
def test_vectors_expose_the_faults_of_all_units():
    survivors = missed({unit: vectors(unit) for unit in UNITS})
    print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants are exposed; the others: {sorted(survivors)}")
    assert survivors <= {(fault.name, unit) for fault in FAULTS for unit in fault.missed}
