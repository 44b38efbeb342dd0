"""Recordings that say themselves what they are: what is written is read back, what is damaged or untrue is refused."""

import contextlib
import dataclasses
import io
import json
import struct
import zipfile

import numpy as np
import pytest

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import find_format
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.hardware_replay.npz import LARGEST
from mmaproof.hardware_replay.recordings import Provenance, read_provenance, read_recording, write_recording
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.target import Answers, Numbered
from mmaproof.hardware_replay.targets import RecordingTarget

SEEDED = {"source": "patterns of every kind", "seed": 7}


def rows_of(names, k=64, blocks=2, rows=5):
    """Random patterns in formats of these names: a, b, c, d, and of scales where there is a fifth."""
    random = np.random.default_rng(7)
    formats = [find_format(x) for x in names]

    def column(fmt, *shape):
        return random.integers(0, 1 << fmt.bits, shape, np.uint64).astype(pattern_dtype(fmt))

    scales = [column(formats[4], rows, blocks) for _ in "ab"] if len(formats) > 4 else []
    a, b, c, d = formats[:4]
    return Answers(
        batch=OperandBatch(column(a, rows, k), column(b, rows, k), column(c, rows), *scales),
        d=column(d, rows),
        formats=(a, b, c, d),
        labels=Numbered("row", 1, rows),
        whence="made.npz (a device)",
        scale_format=formats[4] if len(formats) > 4 else None,
        design="elsewhere/unit",
    )


def provenance_of(answers, **fields):
    given = {"target": "cuda:0", "device": "a device", "instruction": "mma", "operands": SEEDED} | fields
    return Provenance.of(answers, **given)


def assert_equal(found, wanted):
    for x in ("a", "b", "c", "scale_a", "scale_b"):
        np.testing.assert_array_equal(getattr(found.batch, x), getattr(wanted.batch, x))
    np.testing.assert_array_equal(found.d, wanted.d)


@pytest.fixture
def path(tmp_path):
    """A recording with scales that says itself what it is."""
    answers = rows_of(("e2m1", "e2m1", "fp32", "fp32", "ue4m3"))
    write_recording(tmp_path / "made.npz", answers, provenance_of(answers))
    return tmp_path / "made.npz"


def rewrite(path, **arrays):
    """Change the arrays of a file; one that is None is left out."""
    with np.load(path) as data:
        held = dict(data) | arrays
    np.savez_compressed(path, **{n: x for n, x in held.items() if x is not None})


def edit(path, **fields):
    """Change what the file says of itself; a field that is an ellipsis is left out."""
    about = json.loads(str(np.load(path)["about"])) | fields
    rewrite(path, about=np.array(json.dumps({name: value for name, value in about.items() if value is not ...})))


@pytest.mark.parametrize(
    "names",
    [
        ("fp64", "fp64", "fp64", "fp64"),
        ("tf32", "tf32", "fp32", "fp32"),
        ("int4", "uint8", "int32", "int32"),
        ("e4m3", "e5m2", "fp32", "fp32", "e8m0"),
    ],
)
def test_what_is_written_is_read_back(tmp_path, names):
    answers, path = rows_of(names), tmp_path / "made.npz"
    provenance = provenance_of(answers, driver="1.2", further={"clock": 3})
    write_recording(path, answers, provenance)
    back = read_recording(path)
    assert_equal(back, answers)
    for x in ("formats", "labels", "whence", "scale_format", "design"):
        assert getattr(back, x) == getattr(answers, x)
    assert read_provenance(path) == provenance
    first = path.read_bytes()
    write_recording(path, back, read_provenance(path))
    assert path.read_bytes() == first


def test_no_rows(tmp_path):
    answers = rows_of(("fp16", "fp16", "fp32", "fp32"), rows=0)
    write_recording(tmp_path / "made.npz", answers, provenance_of(answers))
    assert read_recording(tmp_path / "made.npz").batch.a.shape == (0, 64)


def test_other_writers(path):
    """Text in bytes, big-endian and wider integers, columns in the order of Fortran, and further arrays are read."""
    asked, about = read_recording(path), str(np.load(path)["about"])
    given = {"a": np.asfortranarray(asked.batch.a), "b": asked.batch.b.astype(">u8"), "c": asked.batch.c.astype(">u4")}
    rewrite(path, about=np.frombuffer(about.encode(), np.uint8), clock=np.zeros(3), **given)
    report = replay([asked], RecordingTarget(path))
    assert (report.rows, report.mismatches, report.unanswered) == (5, 0, 0)


def test_the_index_is_not_asked_where_a_file_speaks_for_itself(path):
    (path.parent / "index.json").write_text("no index")
    assert (read_provenance(path).k, read_recording(path).batch.k) == (64, 64)


def test_a_file_that_is_cut_anywhere_is_refused(path):
    held = path.read_bytes()
    for kept in range(0, len(held), 3):
        path.write_bytes(held[:kept])
        with pytest.raises(InputError, match=r"made\.npz: damaged or no .npz file"):
            read_recording(path)


@pytest.mark.few(2)
@pytest.mark.parametrize("place", range(8))
def test_a_file_with_a_wrong_byte_is_refused_or_read_right(path, place):
    held, right = path.read_bytes(), read_recording(path)
    for at in range(place, len(held), 8 * 5):
        path.write_bytes(held[:at] + bytes([held[at] ^ (1 << place)]) + held[at + 1 :])
        with contextlib.suppress(InputError):
            assert_equal(read_recording(path), right)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"layout": 2, "version": "9.9", "rows": "many"}, "written by mmaproof 9.9, layout 2: this version .* upgrade"),
        ({"layout": ...}, "layout is None"),
        ({"layout": 0}, "layout is 0: an integer from 1"),
        ({"layout": 1.0}, r"layout is 1\.0"),
        ({"device": ...}, "has no field 'device'"),
        ({"d_format": "fp17"}, "d_format: unknown format 'fp17': one of fp64"),
        ({"d_format": 3}, "d_format is 3: one printable line of text"),
        ({"scale_format": "fp17"}, "scale_format: unknown format"),
        ({"c_format": "e4m3"}, r"c holds 0x\w+, too wide for e4m3 \(8 bits\)"),
        ({"scale_format": None}, "has scales, and scale_format is null in about"),
        ({"k": 32}, r"shapes a \(5, 64\), .* do not fit k = 32 of about"),
        ({"rows": 4}, "holds 5 rows, about says 4"),
        ({"rows": True}, "rows is True: an integer"),
        ({"rows": -1}, "rows is -1: an integer"),
        ({"k": 10**4000}, r"k is 1000.*\.\.\.: an integer"),
        ({"driver": "1\n2"}, r"driver is '1\\n2': one printable line"),
        ({"device": "\ud800"}, "device is .*: one printable line"),
        ({"operands": "normal"}, "operands is 'normal': an object"),
    ],
)
def test_what_a_file_says_wrongly_of_itself(path, fields, problem):
    edit(path, **fields)
    with pytest.raises(InputError, match=rf"made\.npz: .*{problem}"):
        read_recording(path)


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        (np.array("{"), "about: not JSON"),
        (np.array("[]"), "about: not a JSON object"),
        (np.array("[" * 100_000), "about: not JSON"),
        (np.array('{"x": ' + "1" * 5000 + "}"), "about: not JSON"),
        (np.array('{"x": 1e999}'), "about: not JSON: 1e999 is not a finite number"),
        (np.array('{"x": NaN}'), "about: not JSON: NaN"),
        (np.frombuffer(b"\xff", np.uint8), "about is not UTF-8"),
        (np.zeros(3), r"about is an array of float64 of shape \(3,\)"),
        (np.array([{}]), "never loaded"),
        (np.zeros(1 << 21, np.uint8), "about takes 2097152 bytes: at most"),
    ],
)
def test_an_about_that_is_none(path, about, problem):
    rewrite(path, about=about)
    with pytest.raises(InputError, match=rf"made\.npz: .*{problem}"):
        read_recording(path)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"scale_b": None}, "no array 'scale_b'"),
        ({"scale_b": np.zeros((5, 1), np.uint8)}, r"scale_a \(5, 2\), scale_b \(5, 1\): both are \(5, number"),
        ({"scale_a": np.zeros(5, np.uint8), "scale_b": np.zeros(5, np.uint8)}, "both are"),
        ({"scale_a": np.zeros((5, 2), np.int8)}, "scale_a has type int8: bit patterns are unsigned"),
        ({"a": np.full((5, 64), 16, np.uint8)}, r"a holds 0x10, too wide for e2m1 \(4 bits\)"),
        ({"b": np.zeros((5, 2, 32), np.uint8)}, "do not fit"),
    ],
)
def test_arrays_that_are_not_what_is_said(path, changed, problem):
    rewrite(path, **changed)
    with pytest.raises(InputError, match=rf"made\.npz: .*{problem}"):
        read_recording(path)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-5,), }",
        "{'descr': '<u9', 'fortran_order': False, 'shape': (5,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (5,), }",
        "{'descr': [('x', '|O')], 'fortran_order': False, 'shape': (5,), }",
        "{b'descr': '|u1', 'fortran_order': False, 'shape': (5,), }",
        "[" * 5000,
        "-" * 9000 + "1",
        "3",
        "",
    ],
)
def test_a_header_made_to_do_harm(path, header):
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(5)
    rewrite(path, c=None)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("c.npy", member)
    with pytest.raises(InputError, match=r"damaged or no .npz file: c: "):
        read_recording(path)


def test_more_than_may_be_unpacked(path):
    """A size that a file states in few bytes is refused before anything is unpacked."""
    held = bytearray(path.read_bytes())
    at = held.index(b"PK\x01\x02")
    held[at + 24 : at + 28] = struct.pack("<I", LARGEST)
    path.write_bytes(held)
    with pytest.raises(InputError, match=rf"unpacks to \d+ bytes; a recording takes at most {LARGEST}"):
        read_recording(path)


def test_an_unknown_compression(path):
    stream = io.BytesIO()
    with zipfile.ZipFile(path) as held, zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as made:
        for name in held.namelist():
            made.writestr(name, held.read(name))
    path.write_bytes(stream.getvalue())
    with pytest.raises(InputError, match="compressed in an unknown way"):
        read_recording(path)


def test_what_contradicts_itself_is_not_written(tmp_path):
    answers = rows_of(("fp16", "fp16", "fp32", "fp32"))
    provenance = provenance_of(answers)
    for wrong in ({"k": 8}, {"rows": 4}, {"d_format": "fp16"}, {"scale_format": "e8m0"}):
        with pytest.raises(InputError, match="the provenance says other formats, k or rows"):
            write_recording(tmp_path / "x.npz", answers, dataclasses.replace(provenance, **wrong))
    wide = dataclasses.replace(answers, d=np.full(5, 1 << 32, np.uint64))
    with pytest.raises(InputError, match="d holds 0x100000000, too wide for fp32"):
        write_recording(tmp_path / "x.npz", wide, provenance)
    with pytest.raises(InputError, match="device is 'x.*': one printable line"):
        provenance_of(answers, device="x\0")
    assert list(tmp_path.iterdir()) == []


def test_a_design_of_other_formats_is_a_contradiction(path):
    edit(path, design="volta/mma.m8n8k4.f32.f16.f16.f32")
    with pytest.raises(InputError, match="format mismatch: a is e2m1"):
        read_recording(path)


@pytest.mark.parametrize(
    ("field", "value", "text"), [("scale_format", "fp16", "not a format of scales"), ("k", 0, "at least one element")]
)
def test_what_no_recording_can_be_of(path, field, value, text):
    edit(path, **{field: value})
    with pytest.raises(InputError, match=text):
        read_recording(path)
