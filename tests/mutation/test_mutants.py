"""The tests notice faults in what soundness rests on: each mutant of the lists beside this file is killed.

A mutant that no test kills is an equivalent program, or another one that is as sound: its entry says why.
"""

import ast
from collections import Counter

import pytest
from support.mutation import FAILED, ROOT, Copy, all_mutants, is_there, table

MUTANTS = all_mutants()
KILLED = [x for x in MUTANTS if x.killed_by]
COVERED = (
    "designs",
    "smt/semantics",
    "smt/algebra",
    "smt/solving",
    "smt/proving",
    "smt/bundles",
    "smt/evaluate.py",
    "properties",
    "gemm",
    "verification",
    "hardware_replay",
    "checker",
    "rtl",
    "cli",
)


def test_each_mutant_changes_one_place():
    texts = {x.file: (ROOT / x.file).read_text(encoding="utf-8") for x in MUTANTS}
    assert [x.name for x in MUTANTS if texts[x.file].count(x.old) != 1 or x.old == x.new] == []


@pytest.mark.middle
def test_each_mutant_is_a_program():
    """A change that is not a Python would be killed by any test, whatever it breaks."""
    for x in MUTANTS:
        ast.parse(x.of((ROOT / x.file).read_text(encoding="utf-8")), x.name)


def test_each_mutant_is_listed_once():
    assert [name for name, count in Counter(x.name for x in MUTANTS).items() if count > 1] == []
    changes = Counter((x.file, x.of((ROOT / x.file).read_text(encoding="utf-8"))) for x in MUTANTS)
    assert [file for (file, _), count in changes.items() if count > 1] == []


@pytest.mark.middle
def test_each_mutant_is_killed_or_equivalent_or_sound():
    assert [x.name for x in MUTANTS if sum(map(bool, (x.killed_by, x.equivalent, x.sound))) != 1] == []
    tests = {test for x in MUTANTS for test in x.killed_by}
    assert [test for test in sorted(tests) if not is_there(test)] == []


def test_all_folders_have_mutants():
    assert len(MUTANTS) >= 150
    assert {next((y for y in COVERED if x.file.startswith(f"{y}/")), x.file) for x in MUTANTS} == set(COVERED)


def test_the_documentation_counts_them():
    assert table(MUTANTS, COVERED) in (ROOT / "docs/certificates.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("mutants"))


@pytest.mark.slow
def test_without_a_mutant_nothing_fails(copy):
    status, said = copy.run(tuple(sorted({test for x in KILLED for test in x.killed_by})))
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("mutant", KILLED, ids=lambda x: x.name)
def test_a_mutant_is_killed(copy, mutant):
    if not mutant.file.startswith("checker/"):  # the checker is read from its path
        assert copy.imports(mutant.file) == copy.folder.resolve() / mutant.file
    status, said = copy.run_changed(mutant)
    assert status == FAILED, said
