"""The reference pages say everything that the data has, and their Markdown means what was meant."""

from functools import cache

import pytest

import mmaproof
from mmaproof.cli import output
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.parameters import DEFINITIONS
from mmaproof.designs.readings import ZeroC
from mmaproof.explain.pages import commands, definitions
from mmaproof.explain.pages.markdown import Page, escaped, fenced, slug, table
from mmaproof.gemm.programs import KEYS
from mmaproof.gemm.programs.algorithms import ALGORITHMS
from mmaproof.gemm.programs.spelling import load_presets
from mmaproof.properties.library import PROPERTIES


@cache
def pages():
    every = (commands.pages(), definitions.pages(), definitions.python_pages())
    return {x.path: x for some in every for x in some}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("reference/parameters.md", DEFINITIONS),
        ("reference/properties.md", PROPERTIES),
        ("reference/algorithms.md", [*ALGORITHMS, *load_presets(), *KEYS]),
        ("reference/number-formats.md", FORMATS),
        ("reference/python.md", mmaproof.__all__),
        ("reference/commands/index.md", [x.words for x in commands.commands()]),
        ("reference/exit-statuses.md", map(str, sorted(commands.STATUSES))),
    ],
)
def test_a_page_has_every_name(path, names):
    text = pages()[path].text
    for name in names:
        assert f"`{name}`" in text or f"| {name} |" in text or f"# {escaped(name)} " in text, name


def test_every_command_has_a_page_with_every_option():
    for command in commands.commands():
        text = pages()[command.path].text
        for option in (x for p in command.command.options for x in p.names):
            assert f"`{option}`" in text, (command.words, option)


def test_every_status_that_the_command_line_has_is_explained():
    known = {*output.Exit}
    assert known - commands.STATUSES.keys() == {output.Exit.BROKEN_PIPE}


def test_every_reading_has_its_meaning_from_the_source():
    text = definitions.documented(ZeroC)
    assert list(text) == [x.value for x in ZeroC]
    assert text["absent"] == "takes no part"
    for definition in DEFINITIONS.values():
        kind = definition.values
        if isinstance(kind, type) and hasattr(kind, "__members__"):
            assert all(definitions.documented(kind).values()), kind


def test_text_means_itself():
    assert escaped("a_b | c*d `e_f|g` <h>") == "a\\_b \\| c\\*d `e_f\\|g` \\<h\\>"
    assert slug("volta/mma.m8n8k4.f32.f16@rho=rne") == "volta-mma.m8n8k4.f32.f16-rho-rne"
    assert table(("a", "b"), []) == ""
    assert table(("a", "b"), [("1", "2")]).splitlines()[-1] == "| 1 | 2 |"
    assert fenced("x\n\n", "json") == "```json\nx\n```\n"
    assert Page("p.md", "Title", "\ntext\n").markdown() == "# Title\n\ntext\n"


def test_a_long_example_is_shortened():
    assert commands.shortened({"a": [1, 2, 3, 4], "b": {str(i): i for i in range(20)}}) == {
        "a": [1, 2, 3, "..."],
        "b": {"0": 0, "1": 1, "2": 2, "...": "..."},
    }
