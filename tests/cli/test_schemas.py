"""What ``--json`` prints is what the schemas say: every command has one, and its commands are run and held to it."""

import re
import shlex

import jsonschema
import pytest
from support.commands import only_json

from mmaproof.pages.commands import SAME_OBJECT, Command, commands

WITH_JSON = [x for x in commands() if x.has_json]
CALLS = [
    pytest.param(command, x["line"], id=x["line"], marks=getattr(pytest.mark, "slow" if "slow" in x else "middle"))
    for command in WITH_JSON
    if command.words not in SAME_OBJECT
    for x in (command.schema or {})["x-commands"]
]


def ids(command: Command) -> str:
    return command.words


def is_valid(record, schema):
    return jsonschema.Draft202012Validator(schema).is_valid(record)


@pytest.mark.parametrize("command", WITH_JSON, ids=ids)
def test_every_command_has_a_schema_and_an_example_of_it(command):
    schema = command.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    (example,) = schema["examples"]
    jsonschema.validate(example, schema)
    assert not is_valid({**example, "another": 0}, schema)
    for name in schema["required"]:
        assert not is_valid({n: x for n, x in example.items() if n != name}, schema), name
        if "type" in schema["properties"][name] or "enum" in schema["properties"][name]:
            assert not all(is_valid({**example, name: x}, schema) for x in ([], 0.5, {}, "text", None, True)), name


def described(schema):
    for name, field in schema.get("properties", {}).items():
        yield name, field
        yield from described(field)
        yield from described(field.get("items", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from described(schema["additionalProperties"])


@pytest.mark.parametrize("command", WITH_JSON, ids=ids)
def test_every_field_has_a_meaning(command):
    assert not [name for name, field in described(command.schema) if not field.get("description")]


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
