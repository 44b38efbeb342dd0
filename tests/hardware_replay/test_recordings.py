"""Recorded silicon: every row of every recording is reproduced, and damaged files are refused with the reason."""

import json
import shutil
import zipfile

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.recordings import design_of_recording, read_index, read_provenance, read_recording
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.targets import ModelTarget, find_target


def test_every_recorded_row_is_reproduced(recordings):
    index = read_index(recordings)
    assert index
    rows = 0
    for info in index.values():
        design = design_of_recording(load_catalogue(), info)
        answers = read_recording(info.path)
        assert answers.design == design.name
        report = replay([answers], ModelTarget(design), nan_codes=True)
        assert (report.mismatches, report.rows) == (0, info.rows), f"{info.path.name} on {design.name}"
        rows += report.rows
    print(f"{rows} recorded rows of {len(index)} files, 0 mismatches")


def test_recordings_reject_the_neighbouring_design(recordings):
    """The recordings are not a formality: F off by one, or normalised products, does not reproduce them."""
    answers = read_recording(recordings / "v100-fp16-fp32.npz")
    for settings in ("fraction_bits=24", "fraction_bits=22", "product_exponent=normalised", "rho=rne-fp32"):
        design = find_design(f"volta/f32.f16.f16.f32@{settings}")
        assert replay([answers], ModelTarget(design)).mismatches > 0, settings


@pytest.fixture
def folder(tmp_path):
    """A folder with one made-up recording of ones, on the Volta design."""
    one = np.full((3, 4), 0x3C00, np.uint16)
    d = np.full(3, 0x40A00000, np.uint32)
    np.savez_compressed(tmp_path / "made.npz", a=one, b=one, c=np.full(3, 0x3F800000, np.uint32), d=d)
    entry = {"file": "made.npz", "gpu": "none", "architecture": "Volta", "instruction": "wmma.m16n16k16"}
    entry |= {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32", "k": 4, "rows": 3}
    (tmp_path / "index.json").write_text(json.dumps({"recordings": [entry]}))
    return tmp_path


def change(folder, **fields):
    index = json.loads((folder / "index.json").read_text())
    index["recordings"][0] |= fields
    (folder / "index.json").write_text(json.dumps(index))


def rewrite(folder, **columns):
    with np.load(folder / "made.npz") as data:
        held = dict(data)
    held |= columns
    np.savez_compressed(folder / "made.npz", **{n: x for n, x in held.items() if x is not None})


def columns(answers):
    return {"a": answers.batch.a, "b": answers.batch.b, "c": answers.batch.c, "d": answers.d}


def test_a_recording_is_a_source_and_a_target(folder):
    answers = read_recording(folder / "made.npz")
    report = replay([answers], find_target(f"recording:{folder / 'made.npz'}"))
    assert (report.rows, report.mismatches, report.unanswered) == (3, 0, 0)
    assert replay([answers], find_target("model:volta/f32.f16.f16.f32")).mismatches == 0


def test_a_recording_answers_only_what_it_holds(folder):
    held = find_target(f"recording:{folder / 'made.npz'}")
    rewrite(folder, c=np.array([0x3F800000, 0, 0], np.uint32))
    report = replay([read_recording(folder / "made.npz")], held)
    assert (report.rows, report.unanswered) == (1, 2)


def test_mismatches_are_shown_in_full(folder):
    rewrite(folder, d=np.array([0x40A00000, 0, 1], np.uint32))
    report = replay([read_recording(folder / "made.npz")], ModelTarget(find_design("volta/f32.f16.f16.f32")))
    assert (report.rows, report.mismatches) == (3, 2)
    assert [x.label for x in report.examples] == ["row 2", "row 3"]
    assert report.examples[0].operands == Operands((0x3C00,) * 4, (0x3C00,) * 4, 0x3F800000)
    assert (report.examples[0].expected, report.examples[0].returned) == (0, 0x40A00000)


def test_two_nans_are_equal_unless_codes_count(folder):
    rewrite(folder, c=np.full(3, 0x7FC00001, np.uint32), d=np.full(3, 0xFFC00000, np.uint32))
    answers, target = read_recording(folder / "made.npz"), ModelTarget(find_design("volta/f32.f16.f16.f32"))
    assert replay([answers], target).mismatches == 0
    assert replay([answers], target, nan_codes=True).mismatches == 3


@pytest.mark.parametrize("kept", [0, 10, 200, -20])
def test_a_truncated_file(folder, kept):
    path = folder / "made.npz"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged or no .npz file"):
        read_recording(path)


def test_a_file_that_is_not_there(folder):
    with pytest.raises(InputError, match="no such file"):
        read_recording(folder / "other.npz")


def test_a_file_that_the_index_does_not_list(folder):
    shutil.copy(folder / "made.npz", folder / "other.npz")
    with pytest.raises(InputError, match="not listed"):
        read_recording(folder / "other.npz")


def test_no_index(folder):
    (folder / "index.json").unlink()
    with pytest.raises(InputError, match="index.json"):
        read_recording(folder / "made.npz")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"recordings": [{}]}', '{"recordings": 3}', "[" * 100_000, '{"x": ' + "1" * 5000 + "}"]
)
def test_a_malformed_index(folder, text):
    (folder / "index.json").write_text(text)
    with pytest.raises(InputError, match="index.json"):
        read_recording(folder / "made.npz")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"k": 8}, "do not fit k = 8"),
        ({"rows": 4}, "3 rows, the index says 4"),
        ({"k": float("inf")}, "k is inf: an integer"),
        ({"rows": True}, "rows is True: an integer"),
        ({"a_format": "fp17"}, "unknown format"),
        ({"a_format": "e4m3"}, "too wide for e4m3"),
    ],
)
def test_a_recording_that_contradicts_its_index(folder, fields, problem):
    change(folder, **fields)
    with pytest.raises(InputError, match=problem):
        read_recording(folder / "made.npz")


def test_columns_that_are_missing_or_no_patterns(folder):
    rewrite(folder, d=None)
    with pytest.raises(InputError, match="no array 'd'"):
        read_recording(folder / "made.npz")
    rewrite(folder, d=np.zeros(3))
    with pytest.raises(InputError, match="float64"):
        read_recording(folder / "made.npz")


def test_arrays_without_dimensions(folder):
    rewrite(folder, c=np.uint32(0), d=np.uint32(0))
    with pytest.raises(InputError, match=r"shapes .* c \(\), d \(\) do not fit"):
        read_recording(folder / "made.npz")


def test_a_single_array_is_no_recording(folder):
    with (folder / "made.npz").open("wb") as stream:
        np.save(stream, np.zeros(3, np.uint32))
    with pytest.raises(InputError, match="a single array, no .npz file"):
        read_recording(folder / "made.npz")


def test_a_member_that_is_no_array(folder):
    rewrite(folder, d=None)
    with zipfile.ZipFile(folder / "made.npz", "a") as archive:
        archive.writestr("d.npy", "abc")
    with pytest.raises(InputError, match="d is not an array in the format of NumPy"):
        read_recording(folder / "made.npz")


@pytest.mark.few(14)
@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_damaged_file(folder, place):
    path = folder / "made.npz"
    held, whole = columns(read_recording(path)), path.read_bytes()
    for flipped in (0x01, 0x10, 0xFF):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ flipped]) + whole[place + 1 :])
        try:
            read = read_recording(path)
        except InputError:
            continue
        # A byte that says nothing about the data, such as a date.
        for name, column in columns(read).items():
            np.testing.assert_array_equal(column, held[name], strict=True)


def test_every_unsigned_type_answers_its_own_rows(folder):
    asked = read_recording(folder / "made.npz")
    wide = {n: x.astype(t) for (n, x), t in zip(columns(asked).items(), (">u2", "u8", ">u4", "u8"), strict=True)}
    rewrite(folder, **wide)
    report = replay([asked], find_target(f"recording:{folder / 'made.npz'}"))
    assert (report.rows, report.mismatches, report.unanswered) == (3, 0, 0)


def test_a_pickle_is_not_read(folder):
    rewrite(folder, d=np.array([{}, {}, {}], dtype=object))
    with pytest.raises(InputError, match="damaged"):
        read_recording(folder / "made.npz")


def test_a_format_mismatch_is_refused(folder):
    with pytest.raises(InputError, match="format mismatch: a is fp16 in made.npz .* and bf16"):
        replay([read_recording(folder / "made.npz")], ModelTarget(find_design("ampere/f32.bf16.bf16.f32")))


@pytest.mark.parametrize("text", ["volta", "model", "model:", "gpu:0", ":x", ""])
def test_unknown_targets(text):
    with pytest.raises(InputError, match="unknown target"):
        find_target(text)


def test_the_provenance_that_an_index_gives(folder):
    found = read_provenance(folder / "made.npz")
    assert (found.device, found.instruction, found.rows) == ("none", "wmma.m16n16k16", 3)
    assert found.design == read_recording(folder / "made.npz").design == "volta/mma.m8n8k4.f32.f16.f16.f32"
    change(folder, architecture="Pascal")
    assert read_provenance(folder / "made.npz").design is read_recording(folder / "made.npz").design is None
