"""Which questions are benchmarks: properties of units, equivalences of a unit and a changed one, lemmas of proofs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pysmt.environment import Environment

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.open_points import STRUCTURE
from mmaproof.designs.parameters import DEFINITIONS, format_parameter
from mmaproof.designs.steps.step import IntegerRange
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.library import PROPERTIES
from mmaproof.properties.property import SimpleProperty
from mmaproof.properties.question import Question, Scope
from mmaproof.smt.proving.lemma import Lemma
from mmaproof.smt.solving.query import CONST, Query

COUNTS = {"property": 100, "equivalence": 70, "lemma": 30}
"""How many benchmarks there are of each kind."""
LARGEST = 6_000
"""Nodes of a formula. Larger ones are files of megabytes and no other questions."""
LENGTHS = (2, 4, 8, 16)
"""Products of the questions of equivalence, in turn."""
WITH_LEMMAS = ("scaling", "monotone-in-c", "monotone-in-a", "guard-bit", "sticky-bit", "appended-zeros", "padded-k")
"""Properties whose questions bring lemmas of their own."""


@dataclass(frozen=True)
class Benchmark:
    """A query whose models violate ``statement``.

    ``kind`` is the folder and ``name`` the file, without its suffix. ``asked`` is the question or the lemma, and
    ``design`` the unit that it is about.
    """

    kind: str
    name: str
    about: str
    """the statement in words, with the designs that it is about"""
    asked: Question | Lemma
    design: Design

    @cached_property
    def query(self) -> Query:
        """The query, built in an environment of its own, so that nothing built before changes it."""
        return Query.of(self.asked.formula_in(Environment()).violation)

    @property
    def is_a_formula(self) -> bool:
        """Whether there is something to solve: a formula that is not a constant, and not too large for a file."""
        return self.query.nodes[-1].operator != CONST and len(self.query.nodes) <= LARGEST

    @property
    def path(self) -> str:
        """The file below the folder of the set."""
        return f"{self.kind}/{self.name}.smt2"


def benchmarks() -> list[Benchmark]:
    """Return the benchmarks. They are the same on every machine, and as different from each other as possible."""
    chosen: dict[str, Benchmark] = {}
    queries: set[Query] = set()
    for kind, found in (
        ("property", of_properties(units())),
        ("equivalence", of_equivalences(units())),
        ("lemma", of_lemmas(units())),
    ):
        wanted = COUNTS[kind]
        for benchmark in found:
            if not wanted:
                break
            if benchmark.path not in chosen and benchmark.is_a_formula and benchmark.query not in queries:
                chosen[benchmark.path] = benchmark
                queries.add(benchmark.query)
                wanted -= 1
    return list(chosen.values())


def units() -> list[Design]:
    """Return the first design of each family of the project's catalogue."""
    found: dict[str, Design] = {}
    for design in load_catalogue().designs.values():
        found.setdefault(design.family, design)
    return list(found.values())


def _in_turn(designs: Sequence[Design], choices: Sequence[str]) -> Iterator[tuple[Design, str, int]]:
    """Give every pair with the number of its round, so that pairs that follow each other differ in both."""
    for turn in range(len(designs)):
        for i, choice in enumerate(choices):
            yield designs[(i + turn) % len(designs)], choice, turn


def of_properties(designs: Sequence[Design]) -> Iterator[Benchmark]:
    """Give the questions whether designs have properties."""
    simple = [name for name, p in PROPERTIES.items() if isinstance(p, SimpleProperty)]
    for design, name, _ in _in_turn(designs, simple):
        asked = PROPERTIES[name]
        if not isinstance(asked, SimpleProperty) or asked.why_not(design) is not None:
            continue
        try:
            question = asked.question(design, Scope())
        except InputError:
            continue
        about = f"{design.name}, {question.k} products: {asked.statement}"
        yield Benchmark("property", _file_name(name, design.base_name, f"k{question.k}"), about, question, design)


def of_equivalences(designs: Sequence[Design]) -> Iterator[Benchmark]:
    """Give the questions whether a design returns the same bits with one parameter changed."""
    names = [name for name in DEFINITIONS if name not in (*STRUCTURE, "L")]
    lengths = itertools.cycle(LENGTHS)
    for design, name, turn in _in_turn(designs, names):
        others = _other_values(design, name)
        if not others:
            continue
        text = others[turn % len(others)]
        try:
            changed = design.change(**{name: text})
            question = Equivalence(design, changed, k=next(lengths))
        except DesignError:
            continue
        about = f"{design.name} and {changed.name}, {question.k} products: d is equal for all operands"
        file = _file_name(design.base_name, name, text, f"k{question.k}")
        yield Benchmark("equivalence", file, about, question, design)


def _other_values(design: Design, name: str) -> list[str]:
    """Return values that a parameter of a design does not have, as texts: of an integer those other than its value."""
    if name not in design.settings:
        return []
    held, values = design.settings[name], DEFINITIONS[name].values
    match values:
        case IntegerRange():
            return [] if held is None else [str(held - 1), str(held + 1)]
        case tuple():
            return [x for x in values if x != held]
        case _ if isinstance(held, StrEnum):
            return [format_parameter(name, x) for x in type(held) if x is not held]
        case _:
            return ["reversed"]


def of_lemmas(designs: Sequence[Design]) -> Iterator[Benchmark]:
    """Give lemmas of proofs about designs: statements about a stage of a unit, whose inputs are any words."""
    for design, name, turn in _in_turn(designs, ("sequential", *WITH_LEMMAS)):
        lemmas = _lemmas(design, name)
        if lemmas:
            number = turn % len(lemmas)
            about = f"a lemma of {name} of {design.name}: {lemmas[number].name}"
            file = _file_name(name, design.base_name, str(number + 1))
            yield Benchmark("lemma", file, about, lemmas[number], design)


def _lemmas(design: Design, name: str) -> Sequence[Lemma]:
    """Return the lemmas of a property of a design, or those that its sum may be made in turn; none if it has none."""
    try:
        if name == "sequential":
            return Equivalence(design, design.change(summation=name)).lemmas()
        asked = PROPERTIES[name]
        if not isinstance(asked, SimpleProperty) or asked.why_not(design) is not None:
            return ()
        return asked.question(design, Scope()).lemmas()
    except InputError:
        return ()


def _file_name(*parts: str) -> str:
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", part) for part in parts)
