"""What ``--json`` prints is what the schemas say: every command has one, and its commands are run and held to it."""

import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support.commands import only_json

from mmaproof.cli.output import Exit
from mmaproof.explain.answers.answer import ABSENT, Answer, as_json, read_as
from mmaproof.explain.answers.commands import ANSWERS
from mmaproof.explain.pages.commands import alternatives, commands

OPEN = ("RecordingAnswer",)
"""Objects that may have other fields: whoever records says what there is to say."""
WITH_JSON = [x for x in commands() if x.has_json]
CALLS = [
    pytest.param(
        command,
        line.removeprefix("slow: "),
        id=line.removeprefix("slow: "),
        marks=pytest.mark.slow if line.startswith("slow: ") else pytest.mark.middle,
    )
    for command in WITH_JSON
    for line in command.example["calls"]
]


def ids(command):
    return command.words


def is_valid(record, schema):
    return jsonschema.Draft202012Validator(schema).is_valid(record)


class Inner(Answer):
    name: str
    left_out: object = ABSENT


class Outer(Answer):
    values: object


def test_an_answer_is_written_as_the_standard_library_indents_it():
    shared = [Inner(name="two lines\nand é"), Inner(name="", left_out=Fraction(1, 3))]
    data = [{"name": "two lines\nand é"}, {"name": "", "left_out": "1/3"}]
    values = {"twice": (shared, [shared]), "none": [[], {}, None], 1: [True, 0, -1.5, float("inf"), Path("a/b")]}
    expected = {"twice": [data, [data]], "none": [[], {}, None], "1": [True, 0, -1.5, float("inf"), "a/b"]}
    assert as_json(Outer(values=values)) == json.dumps({"values": expected}, indent=2)
    assert as_json(Outer(values=Exit.UNKNOWN)) == json.dumps({"values": 3}, indent=2)


def test_every_command_that_prints_json_has_an_answer():
    assert {x.words for x in WITH_JSON} == ANSWERS.keys()


@pytest.mark.parametrize("command", WITH_JSON, ids=ids)
def test_the_recorded_answer_is_valid_and_nothing_else_is(command):
    schema, example = command.schema, command.example["answer"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(example, schema)
    assert not is_valid({**example, "another": 0}, schema)
    definitions = schema.get("$defs", {})
    (kind,) = (x for x in alternatives(schema, definitions) if is_valid(example, {"$defs": definitions, **x}))
    for name in kind["required"]:
        assert not is_valid({n: x for n, x in example.items() if n != name}, schema), name
    for name in kind["properties"]:
        assert not all(is_valid({**example, name: x}, schema) for x in ([], 0.5, {}, "text", None, True)), name


@pytest.mark.parametrize("command", WITH_JSON, ids=ids)
def test_an_answer_that_is_read_is_what_was_written(command):
    example = command.example["answer"]
    assert json.loads(as_json(read_as(ANSWERS[command.words], json.dumps(example), "a file"))) == example


def objects(schema):
    """Every object that a schema describes with fields of its own."""
    yield from (x for x in (schema, *schema.get("$defs", {}).values()) if "properties" in x)


@pytest.mark.parametrize("command", WITH_JSON, ids=ids)
def test_every_object_has_the_fields_that_are_described_and_no_others(command):
    for found in objects(command.schema):
        assert found["title"] in OPEN or found["additionalProperties"] is False, found["title"]
        assert found["description"], found["title"]
        assert not [name for name, field in found["properties"].items() if not field.get("description")]


@pytest.fixture
def places(run, tmp_path):
    """What the placeholders of a command stand for. A file is made where it is named."""

    def place(line):
        found = {name: str(tmp_path / name) for name in re.findall(r"\{(\w+)\}", line)}
        volta, turing = "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"
        if "vectors" in found:
            found["vectors"] += ".jsonl"
            run("compare", volta, turing, "-o", found["vectors"])
        if "store" in found:
            run("compare", volta, f"{volta}@summation=sequential", "--store", found["store"])
        if "product" in found:
            found["product"] += ".npz"
            a = np.ones((8, 16), np.float16)
            np.savez(found["product"], a=a, b=a.T, d=np.full((8, 8), 15.0, np.float32))
        if "tmp" in found:
            (tmp_path / "tmp").mkdir()
        if "folder" in found:
            (tmp_path / "folder").mkdir()
            for x in "ab":
                (tmp_path / "folder" / f"{x}_V100_fp16.txt").write_text("3f800000 3f800000 3f800000 3f800000\n")
            for x, value in (("c", 0x3F800000), ("d", 0x40A00000)):
                (tmp_path / "folder" / f"{x}_V100_fp32.txt").write_text(f"{value:032b}\n")
        return line.format(**found)

    return place


@pytest.mark.parametrize(("command", "line"), CALLS)
def test_a_command_prints_what_its_schema_says(run, places, command, line):
    status, out, err = run(*shlex.split(places(line)), "--json")
    assert status in (0, 1, 3), err
    jsonschema.validate(only_json(out), command.schema)
