"""Vector files: what is written is read back, and a bad line is named and loses no other."""

import dataclasses
import json

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.generators.vectors import Vector, answers_of, parse_vector, read_vectors, vector_line, write_vectors
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.smt.trace import evaluate

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")


def vector(k, *designs):
    operands = Operands(tuple(range(k)), (0x3C00,) * k, 0x3F800000)
    return Vector(operands, VOLTA.formats, {d.name: evaluate(d, operands) for d in designs}, "why", "search", "0")


def test_written_and_read_back(tmp_path):
    vectors = [vector(8, VOLTA, TURING), vector(4, VOLTA)]
    write_vectors(tmp_path / "v.jsonl", vectors)
    read = read_vectors(tmp_path / "v.jsonl")
    assert list(read.vectors.values()) == vectors
    assert read.problems == []
    assert [p.name for p in tmp_path.iterdir()] == ["v.jsonl"]


def test_tags_and_seed_are_read_back():
    tagged = dataclasses.replace(vector(4, VOLTA), tags=("tie", "p0 shifted by 3"), seed=7)
    assert parse_vector(vector_line(tagged)) == tagged
    for wrong in ({"tags": "tie"}, {"tags": [1]}, {"seed": "7"}, {"seed": True}):
        with pytest.raises(InputError, match="'tags'|'seed'"):
            parse_vector(json.dumps(json.loads(vector_line(tagged)) | wrong))


def test_patterns_are_fixed_width_hexadecimal():
    record = json.loads(vector_line(vector(4, VOLTA)))
    assert record["a"] == ["0x0000", "0x0001", "0x0002", "0x0003"]
    assert record["c"] == "0x3f800000"


def test_rows_of_several_lengths_are_replayed(tmp_path):
    write_vectors(tmp_path / "v.jsonl", [vector(8, VOLTA, TURING), vector(4, VOLTA), vector(8, VOLTA)])
    answers = answers_of(read_vectors(tmp_path / "v.jsonl"), [VOLTA.name]).answers
    assert sorted(len(x.batch) for x in answers) == [1, 2]
    assert replay(answers, ModelTarget(VOLTA)).mismatches == 0


def test_vectors_of_other_designs_are_left_out(tmp_path):
    write_vectors(tmp_path / "v.jsonl", [vector(8, VOLTA, TURING), vector(8, VOLTA)])
    chosen = answers_of(read_vectors(tmp_path / "v.jsonl"), [TURING.name])
    assert (len(chosen.answers), len(chosen.answers[0].batch), chosen.left_out) == (1, 1, 1)


def test_which_output_must_be_said_where_there_is_a_choice(tmp_path):
    write_vectors(tmp_path / "v.jsonl", [vector(8, VOLTA, TURING)])
    with pytest.raises(InputError, match=r"v\.jsonl:1: .*--expect"):
        answers_of(read_vectors(tmp_path / "v.jsonl"), ["ampere/f32.f16.f16.f32"])


def test_an_output_that_was_asked_for_must_be_there(tmp_path):
    write_vectors(tmp_path / "v.jsonl", [vector(4, VOLTA), vector(8, VOLTA, TURING)])
    file = read_vectors(tmp_path / "v.jsonl")
    assert answers_of(file, [TURING.name], chosen=True).left_out == 1
    with pytest.raises(InputError, match=r"v\.jsonl: no vector holds an output of x/y: .* of volta/.*, turing/"):
        answers_of(file, ["x/y"], chosen=True)


def test_rows_with_other_numbers_of_scales_are_apart(tmp_path):
    design = find_design("blackwell/block16.f32.e2m1.e2m1.ue4m3")
    vectors = [
        Vector(Operands((0,) * 16, (0,) * 16, 0, *scales), design.formats, {"x": 0}, scale_format=design.scale_format)
        for scales in (((0x38,), (0x38,)), ((0x38,) * 4, (0x38,) * 4), ((), ()))
    ]
    write_vectors(tmp_path / "v.jsonl", vectors)
    assert len(answers_of(read_vectors(tmp_path / "v.jsonl"), ["x"]).answers) == 3


def test_lines_end_at_newlines_only(tmp_path):
    line = vector_line(vector(4, VOLTA)).replace("why", "why\u2028\u0085")
    (tmp_path / "v.jsonl").write_text(f"{line}\r\n{line}\n", encoding="utf-8")
    read = read_vectors(tmp_path / "v.jsonl")
    assert (list(read.vectors), read.problems) == ([1, 2], [])


BAD = [
    ("{", "not JSON"),
    ("3", "not a JSON object"),
    ("{}", "a_format"),
    ('{"a_format": "fp17"}', "unknown format"),
]


def altered(**fields):
    return json.dumps(json.loads(vector_line(vector(4, VOLTA))) | fields)


BAD += [
    (altered(a=["0x0"]), "as many"),
    (altered(a=[], b=[]), "at least one"),
    (altered(a=["0x10000"] * 4), "too wide"),
    (altered(a=[1, 2, 3, 4]), "'a' is missing or no list"),
    (altered(a="0x0"), "'a' is missing or no list"),
    (altered(c=None), "'c' is missing"),
    (altered(c="1.0"), "bit pattern"),
    (altered(outputs={}), "'outputs'"),
    (altered(outputs={"x": 3}), "'outputs'"),
    (altered(outputs={"x": "0x1ffffffff"}), "too wide"),
    (altered(scale_format="fp32", scale_a=["0x3f800000"], scale_b=["0x3f800000"]), "fp32 is not a format of scales"),
    (altered(scale_format="uint8", scale_a=["0x01"], scale_b=["0x01"]), "uint8 is not a format of scales"),
    ("[" * 100_000, "not JSON"),
    ('{"a": ' + "1" * 5000 + "}", "not JSON"),
]


@pytest.mark.parametrize(("line", "problem"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_lines_say_what_is_wrong(line, problem):
    with pytest.raises(InputError, match=problem):
        parse_vector(line)


def test_a_bad_line_is_named_and_loses_no_other(tmp_path):
    good = vector_line(vector(4, VOLTA))
    (tmp_path / "v.jsonl").write_text(f"{good}\n{{\n\n{good}\n")
    read = read_vectors(tmp_path / "v.jsonl")
    assert list(read.vectors) == [1, 4]
    assert len(read.problems) == 1
    assert "v.jsonl:2: not JSON" in read.problems[0]


def test_what_is_no_vector_file(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    for name, problem in (("empty", "no vector"), ("binary", "UTF-8"), ("none", "No such file")):
        with pytest.raises(InputError, match=problem):
            read_vectors(tmp_path / f"{name}.jsonl")


def test_nothing_half_written_is_left(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_vectors(tmp_path / "no" / "v.jsonl", [vector(4, VOLTA)])
    (tmp_path / "v.jsonl").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_vectors(tmp_path / "v.jsonl", [vector(4, VOLTA)])
    assert [p.name for p in tmp_path.iterdir()] == ["v.jsonl"]
