"""`mmaproof list properties`: every property with all its parts, readable at any width."""

import re
from pathlib import Path
from typing import Any

import pytest
from support.commands import only_json
from support.fake_properties import Never

from mmaproof.designs.catalogue import find_design
from mmaproof.properties.library import PROPERTIES
from mmaproof.verification.check import check

FIELDS = ["name", "feature", "statement", "witness", "source", "specimen", "mutant"]


def words(text):
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_table_fits_and_loses_nothing(run, monkeypatch, width):
    monkeypatch.setitem(PROPERTIES, "never", Never())
    monkeypatch.setenv("COLUMNS", str(width))
    status, out, err = run("list", "properties")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= width
    # a column is read down: the statement starts where its heading does
    start, end = lines[0].index("statement"), lines[0].index("source")
    assert words("".join(x[start:end] for x in lines[1:])) == words("".join(p.statement for p in PROPERTIES.values()))
    assert words("".join(x[end:] for x in lines[1:])) == words("".join(p.source for p in PROPERTIES.values()))
    assert [x.split()[0] for x in lines[1:] if x[:start].strip()] == list(PROPERTIES)


def test_every_property_as_json(run):
    status, out, _ = run("list", "properties", "--json")
    found = only_json(out)["properties"]
    assert status == 0
    assert [p["name"] for p in found] == list(PROPERTIES)
    for record in found:
        assert list(record) == FIELDS
        assert all(isinstance(x, str) and x for x in record.values())
        assert record["specimen"] != record["mutant"]
        for design in (record["specimen"], record["mutant"]):
            assert find_design(design).name == design


def test_one_property(run):
    status, out, _ = run("show", "order-independent", "--json")
    (record,) = only_json(out)["properties"]
    assert (status, list(record)) == (0, FIELDS)
    status, out, _ = run("show", "Order-Independent")
    assert status == 0
    for text in record.values():
        assert words(text) in words(out)
    assert record["mutant"] in out, "names of designs are not broken: they are to be copied"
    assert "  specimen   volta/mma.m8n8k4.f32.f16.f16.f32@L=2\n" in out
    assert re.search(r"asked of   \d+ of the \d+ designs", out)
    assert "a step of one product has one order" in out


def test_brackets_are_text(run, monkeypatch):
    monkeypatch.setitem(PROPERTIES, "never", Never())
    assert "operands with d = [pattern]" in run("show", "never")[1]


def test_unknown(run):
    status, out, err = run("show", "oder-independent")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "'oder-independent' is not a name: " in err
    assert "(did you mean order-independent or " in err
    status, out, err = run("show", "qqq")
    assert (status, "did you mean" in err) == (2, False)


@pytest.mark.middle
def test_the_property_of_the_documentation(capsys):
    text = (Path(__file__).parents[2] / "docs" / "properties.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    assert capsys.readouterr().out.split() == ["holds", "violated"]
    asked = names["KeepsC"]()
    specimen = find_design(asked.specimen)
    assert check(asked, specimen).verdict == "holds"
    violated = check(asked, asked.mutant(specimen))
    assert violated.verdict == "violated"
    (run,) = violated.finding.runs
    assert run.d != run.operands.c
