"""What is known of all units fits the catalogue: nothing is missing, nothing is stale, and operands replay."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.explain.pages import units as module
from mmaproof.explain.pages.markdown import Page
from mmaproof.explain.pages.units import Facts, checksum, collected, load_examples, load_facts, missing, units
from mmaproof.properties.library import PROPERTIES
from mmaproof.verification.matrix import pairs_of

FILE = Path(module.__file__).parent / "data" / "units.json"


def test_every_arithmetic_of_the_catalogue_is_there():
    facts, chosen = load_facts(), units()
    assert facts.made_of == {d.name: checksum(d) for d in chosen}, "make site-data brings the file up to date"
    assert len(chosen) == len({Arithmetic.of(d) for d in load_catalogue().designs.values()})


def test_every_pair_is_an_example_or_answered():
    facts, shown = load_facts(), {tuple(x["units"]) for x in load_examples()}
    wanted = {(x.name, y.name) for x, y in pairs_of(units())}
    assert wanted - shown == facts.pairs.keys(), "make site-data brings the file up to date"
    assert shown <= wanted, "make explorer-data brings the examples up to date"
    assert {x["verdict"] for x in facts.pairs.values()} <= {"equivalent", "different", "unknown"}


def test_features_are_of_properties_that_can_be_asked():
    for name, held in load_facts().features.items():
        design = find_design(name)
        for asked, (verdict, *_) in held.items():
            assert PROPERTIES[asked].why_not(design) is None, (name, asked)
            assert verdict in ("holds", "violated", "unknown", "vacuous", "not asked"), (name, asked)


def test_the_file_is_in_order_and_small():
    text = FILE.read_text(encoding="utf-8")
    assert Facts.parse(text).text() == text
    assert len(text) < 1_000_000


def test_a_unit_that_changed_is_asked_again():
    facts, chosen = load_facts(), units()[:40]
    known = facts.still_true(chosen)
    assert set(known.made_of) == {d.name for d in chosen}
    place, first = next((i, d) for i, d in enumerate(chosen) if "fraction_bits" in d.settings)
    other = first.change(fraction_bits=first.settings["fraction_bits"] + 1)
    changed = [*chosen[:place], replace(other, changed=()), *chosen[place + 1 :]]
    left = facts.still_true(changed)
    assert set(known.made_of) - set(left.made_of) == {first.name}
    assert not [x for x in left.pairs if first.name in x]
    asked = {t.asked for t in missing(left, changed) if t.designs[0].name == first.name} - {None}
    assert asked == {n for n, p in PROPERTIES.items() if p.why_not(first) is None}


def test_what_is_unknown_is_asked_again_only_if_that_is_wanted():
    chosen = [d for d in units() if d.name == "volta/mma.m8n8k4.f32.f16.f16.f32"]
    known = {n: ["holds"] for n, p in PROPERTIES.items() if p.why_not(chosen[0]) is None}
    facts = Facts(features={chosen[0].name: known | {"scaling": ["unknown"]}})
    assert missing(facts, chosen) == []
    assert [t.asked for t in missing(facts, chosen, [chosen[0].name])] == ["scaling"]
    assert missing(facts, chosen, ["another"]) == []
    del known["scaling"]
    assert [t.asked for t in missing(Facts(features={chosen[0].name: known}), chosen)] == ["scaling"]


def test_an_example_that_shows_nothing_is_refused():
    example = json.loads(json.dumps(load_examples()[0]))
    example["p"] = {}
    example["c"] = "0x00000000"
    with pytest.raises(ValueError, match="does not tell them apart"):
        collected(Facts(), [example])


@pytest.mark.slow
def test_every_unit_has_a_page_that_says_what_is_known_of_each_other_unit():
    found = collected(load_facts(), load_examples())  # computes every d
    others = defaultdict(list)
    for x, y in pairs_of(units()):
        others[x.name].append(y.name)
        others[y.name].append(x.name)
    for unit in found:
        said = [*(x.other.name for x in unit.different), *(d.name for d, _ in unit.equal), *(d.name for d in unit.open)]
        assert sorted(said) == sorted(others[unit.design.name])
    assert len({x.page for x in found}) == len(found)
    assert {name for x in found for name in x.names} == set(load_catalogue().designs)


def test_a_search_favours_lists_of_units():
    assert Page("x.md", "X", "y", boost=0.01).markdown() == "---\nsearch:\n  boost: 0.01\n---\n\n# X\n\ny\n"
    assert Page("x.md", "X", "y").markdown() == "# X\n\ny\n"
