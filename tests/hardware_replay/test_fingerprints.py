"""445 published results of Volta, Ampere and Hopper: the catalogue returns them, other values of parameters do not."""

import pytest
from support.fingerprints import DESIGNS, read, write_fingerprints

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.open_points import load_recorded
from mmaproof.hardware_replay.decided import alternatives
from mmaproof.hardware_replay.recordings import read_recording
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.targets import ModelTarget

DECIDED = ("nan_code", "zero_sum", "subnormals", "L", "fraction_bits", "grouping", "c_extra_bits")
"""What every one of the five decides."""


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_fingerprints(tmp_path_factory.mktemp("fingerprints"))


def test_five_times_89_rows():
    assert {key: len(rows) for key, rows in read().items()} == dict.fromkeys(DESIGNS, 89)


def test_the_catalogue_returns_every_bit(paths):
    assert len(paths) == len(DESIGNS)
    for path in paths:
        answers = read_recording(path)
        report = replay([answers], ModelTarget(find_design(answers.design)), nan_codes=True)
        assert (report.rows, report.mismatches, report.unanswered) == (89, 0, 0), path.name


@pytest.mark.parametrize("parameter", DECIDED)
def test_every_other_value_is_wrong_somewhere(paths, parameter):
    for path in paths:
        answers = read_recording(path)
        others = list(alternatives(find_design(answers.design), parameter))
        assert others
        for other in others:
            report = replay([answers], ModelTarget(other.design), nan_codes=parameter == "nan_code")
            assert report.mismatches, f"{path.name}: {parameter} = {other.text}"


def test_the_catalogue_rests_on_them(paths):
    known = load_recorded()
    for path in paths:
        answers = read_recording(path)
        row = known[find_design(answers.design).evidence.row]
        assert answers.whence in row.recordings
        assert set(DECIDED) <= set(row.refuted)
