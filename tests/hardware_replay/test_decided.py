"""What recordings decide: computed anew from them, and compared with the data of the project."""

from dataclasses import replace

import numpy as np
import pytest
from support.fingerprints import write_fingerprints
from support.sampling import basic_operands

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.designs.open_points import load_recorded, parse_recorded
from mmaproof.designs.operands import OperandBatch
from mmaproof.hardware_replay.decided import (
    alternatives,
    decide,
    recorded_text,
    recordings_in,
    recordings_of_the_project,
)
from mmaproof.hardware_replay.recordings import Provenance, write_recording
from mmaproof.hardware_replay.target import Answers, Numbered
from mmaproof.smt.evaluate import evaluate_batch

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"
DRIFT = (
    "write the file anew: python tests/support/fingerprints.py FINGERPRINTS, then "
    "mmaproof evidence --decided --recording FINGERPRINTS --recording FOLDER -o designs/data/evidence.toml"
)


def of_the_data(paths):
    """The recordings among ``paths`` that the data file names."""
    named = {x for row in load_recorded().values() for x in row.recordings}
    return [x for x in paths if any(name.split(" ")[0] == x.name for name in named)]


@pytest.mark.middle
def test_the_first_rows_decide_no_more_than_the_data_says(recordings):
    known = load_recorded()
    paths = [x for x in recordings_in(recordings) if x.name in ("v100-fp16-fp32.npz", "ada-e4m3-fp16.npz")]
    found = decide(of_the_data(paths), rows=200)
    assert len(found) == 2
    for row, decision in found.items():
        assert decision.wrong == 0
        assert {"L", "product_shift"} <= set(decision.decided) <= set(known[row].refuted), DRIFT


@pytest.mark.slow
def test_the_data_is_what_the_recordings_decide(recordings, tmp_path):
    fingerprints = write_fingerprints(tmp_path)
    paths = of_the_data([*recordings_of_the_project(), *fingerprints, *recordings_in(recordings)])
    found = parse_recorded(recorded_text(decide(paths)))
    known = load_recorded()
    complete = {row: known[row] for row, x in found.items() if len(x.recordings) == len(known[row].recordings)}
    assert complete
    assert {row: found[row] for row in complete} == complete, DRIFT


def answers_of(batch, d, design):
    labels = Numbered("row", 0, len(batch))
    return Answers(batch=batch, d=d, formats=design.formats, labels=labels, whence="test", design=design.base_name)


def record(tmp_path, name, batch, *, returned_by=None):
    """A recording of what a design returns, said to be of its row."""
    design = find_design(name)
    d = evaluate_batch(find_design(returned_by or name), batch)
    answers = answers_of(batch, d, design)
    about = Provenance.of(answers, target="", device="made up", instruction="", operands={"source": "test"})
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
    write_recording(path, answers, about)
    return path


@pytest.fixture
def batch():
    return OperandBatch.concatenate(list(basic_operands(find_design(VOLTA), 200).values()))


@pytest.mark.middle
def test_a_parameter_is_decided_if_every_other_value_is_excluded(tmp_path, batch):
    (decision,) = decide([record(tmp_path, VOLTA, batch)]).values()
    assert {"fraction_bits", "alignment", "nan_code"} <= set(decision.decided)
    assert any(0 in x.values() and any(x.values()) for x in decision.refuting.values())
    for name, fewest in decision.decided.items():
        assert 0 < fewest == min(decision.refuting[name].values())
    design = find_design(VOLTA)
    for other in alternatives(design):
        d, model = evaluate_batch(other.design, batch), evaluate_batch(design, batch)
        nans = np.array([design.d_format.is_nan(int(x)) for x in model])
        differs = int(((d != model) & ~(nans if other.parameter != "nan_code" else False)).sum())
        assert (decision.refuting[other.parameter][other.text] > 0) == (differs > 0)


def test_one_value_that_is_left_leaves_the_parameter_open(tmp_path):
    """Without a NaN nothing is said of its code, and one product says little."""
    zeros = OperandBatch(np.zeros((3, 4), np.uint16), np.zeros((3, 4), np.uint16), np.uint32([1, 2, 3]))
    (decision,) = decide([record(tmp_path, VOLTA, zeros)]).values()
    assert decision.rows == 3
    assert "nan_code" not in decision.decided
    assert decision.left("nan_code") == ["quiet", "largest-finite"]


def test_a_recording_that_contradicts_the_row_decides_nothing(tmp_path, batch):
    path = record(tmp_path, VOLTA, batch, returned_by=f"{VOLTA}@fraction_bits=24")
    (decision,) = decide([path]).values()
    assert decision.wrong
    assert (decision.decided, decision.recorded()) == ({}, None)
    assert "[[row]]" not in recorded_text({decision.row: decision})


def test_recordings_of_two_instructions_of_a_row_count_together(tmp_path, batch):
    other = find_design("volta/mma.m8n8k4.f32.f16.f16.f16")
    narrow = OperandBatch.concatenate(list(basic_operands(other, 100).values()))
    paths = [record(tmp_path, VOLTA, batch), record(tmp_path, other.name, narrow)]
    (decision,) = decide(paths).values()
    assert (decision.row, decision.rows) == (other.name, len(batch) + len(narrow))
    # only a c of fp16 shows the exponent of a subnormal one
    assert "c_subnormal" in decision.decided
    assert "c_subnormal" not in next(iter(decide(paths[:1]).values())).decided


def test_a_recording_of_no_design_is_refused(tmp_path, batch):
    path = record(tmp_path, VOLTA, batch)
    design = find_design(VOLTA)
    answers = replace(answers_of(batch, evaluate_batch(design, batch), design), design=None)
    about = Provenance.of(answers, target="", device="", instruction="", operands={"source": "test"})
    write_recording(path, answers, replace(about, design=None))
    with pytest.raises(InputError, match="no design of the catalogue"):
        decide([path])


def test_other_values_are_valid_and_different():
    design = find_design("ampere/mma.m16n8k16.f32.f16.f16.f32")
    found = {(x.parameter, x.text): x.design for x in alternatives(design)}
    assert {("L", "16"), ("fraction_bits", "23"), ("fraction_bits", "25"), ("carry_bits", "3")} <= set(found)
    # a register that is wide enough, and structures of the same sum, are not other values
    assert not {("carry_bits", "4"), ("adder", "carry-save"), ("L", "8"), ("L", "3")} & set(found)
    assert all((x.chain, x.step) != (design.chain, design.step) for x in found.values())
