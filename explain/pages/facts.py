"""What is known of the units of the catalogue: features of each, and pairs that no example of the explorer tells apart.

``python -m mmaproof.explain.pages.facts FILE`` writes it (``make site-data``). Answers of FILE are kept as long as the
arithmetic of their units stays as it was, and what was never asked is asked. Texts after FILE have what is unknown
asked once more, of the units whose names begin with one of them ("" for all): a later version may need less than the 15
CPU seconds. All of it takes hours, the run after a change of the catalogue minutes. An interrupted run goes on where it
was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.files import write_atomically
from mmaproof.designs.parameters import DEFINITIONS, format_settings
from mmaproof.generators.examples import example, kinds
from mmaproof.properties.library import PROPERTIES
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.compare import compare
from mmaproof.verification.executors import finished, local_pool
from mmaproof.verification.fingerprint import NOT_ASKED, feature_of
from mmaproof.verification.matrix import comparable_groups
from mmaproof.verification.search import Budget, Means

MEMORY = 4 << 30
BY_THE_CLOCK = 30
"""A question may take N times as long by the clock as it may compute: a busy machine makes nothing unknown."""
OF_A_FEATURE = Limits(15, MEMORY, wall=15 * BY_THE_CLOCK)
"""The work for a property of a unit. Less than the command takes: pages are a survey, and say what is unknown."""
OF_A_PAIR = Limits(60, MEMORY, wall=60 * BY_THE_CLOCK)
SEARCH = Budget(rows=20_000, seconds=float("inf"))
SAVED_EVERY = 20
"""Answers after which the file is written, so that an interruption loses little."""


@dataclass
class Facts:
    """What is known. ``made_of`` has a checksum of the arithmetic of each unit, ``features`` the verdicts by property.

    ``pairs`` has, for two names, what `compare` says of them: a verdict, the length k, and operands that differ.
    """

    made_of: dict[str, str] = field(default_factory=dict)
    features: dict[str, dict[str, Any]] = field(default_factory=dict)
    pairs: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Facts:
        """Return the facts of a file."""
        data = json.loads(text)
        made_of = {x["unit"]: x["made_of"] for x in data["units"]}
        features = {x["unit"]: x["features"] for x in data["units"]}
        return cls(made_of, features, {tuple(x.pop("units")): x for x in data["pairs"]})

    def text(self) -> str:
        """Return the facts as JSON, a unit or a pair on a line, in the order of their names."""
        units = [{"unit": n, "made_of": self.made_of[n], "features": self.features[n]} for n in sorted(self.made_of)]
        pairs = [{"units": list(n), **self.pairs[n]} for n in sorted(self.pairs)]
        return f'{{\n"units": [\n{_lines(units)}\n],\n"pairs": [\n{_lines(pairs)}\n]\n}}\n'

    def still_true(self, units: Sequence[Design]) -> Facts:
        """Return the part that is about ``units`` as they are now."""
        now = {d.name: checksum(d) for d in units}
        kept = {n for n, x in self.made_of.items() if now.get(n) == x}
        features = {n: {p: x for p, x in self.features[n].items() if p in PROPERTIES} for n in kept}
        pairs = {names: x for names, x in self.pairs.items() if kept.issuperset(names)}
        return Facts({n: self.made_of[n] for n in kept}, features, pairs)


def _lines(records: Sequence[Mapping[str, Any]]) -> str:
    return ",\n".join(json.dumps(x, separators=(",", ":")) for x in records)


def load_facts() -> Facts:
    """Return the facts of the project's data file."""
    return Facts.parse((files("mmaproof.explain.pages") / "data" / "units.json").read_text(encoding="utf-8"))


def load_examples() -> list[dict[str, Any]]:
    """Return the examples of the explorer: operands that tell two units apart, for most pairs that differ."""
    text = (files("mmaproof.explain.explorer") / "data" / "examples.json").read_text(encoding="utf-8")
    return list(json.loads(text))


def checksum(design: Design) -> str:
    """Return a short checksum of what decides the results of a unit: a new parameter at its default changes none."""
    held = Arithmetic.of(design)
    formats = [design.signature.block, *(None if f is None else f.name for f in (*design.formats, design.scale_format))]
    changed = [n for n, value in design.settings.items() if value != DEFINITIONS[n].default]
    settings = format_settings(design.settings, changed)
    return hashlib.sha256(json.dumps([formats, settings, held.k], sort_keys=True).encode()).hexdigest()[:8]


def units() -> list[Design]:
    """Return a design of each arithmetic of the catalogue: that with the smallest K stands for all that share it."""
    return kinds(list(load_catalogue().designs.values()))


def pairs(chosen: Sequence[Design]) -> list[tuple[Design, Design]]:
    """Return the comparable pairs of ``chosen``, in the order of `generators/examples.py`."""
    groups = comparable_groups(chosen).values()
    return [pair for group in groups for pair in itertools.combinations(group, 2)]


@dataclass(frozen=True)
class Task:
    """A question about a unit, or about two. It is plain data, so that another process can run it."""

    designs: tuple[Design, ...]
    asked: str | None = None

    def answer(self) -> dict[str, Any] | list[Any]:
        """Return the answer: a record for a pair, else the verdict on a property and its value, if it has one."""
        if self.asked is None:
            return self._comparison()
        means = Means(Solving.of(DEFAULT_SOLVER), OF_A_FEATURE, SEARCH, simplifying=0.0)
        found = feature_of(PROPERTIES[self.asked], self.designs[0], means, shown=False)
        if found.verdict == NOT_ASKED:
            return [NOT_ASKED, found.reason]
        return [found.verdict] if found.value is None else [found.verdict, found.value]

    def _comparison(self) -> dict[str, Any]:
        first, second = self.designs
        found = compare(first, second, limits=OF_A_PAIR, budget=SEARCH, preferring=0)
        record: dict[str, Any] = {"verdict": found.verdict, "k": found.question.k}
        if found.witness is not None:
            record |= {n: x for n, x in example(first, second, found.witness).items() if n != "units"}
        return record


def missing(facts: Facts, chosen: Sequence[Design], again: Sequence[str] = ()) -> list[Task]:
    """Return what was never asked, and what is unknown of units whose names begin with a text of ``again``.

    Pairs come first, because they are few, and then units for which most designs stand.
    """
    shown = {tuple(x["units"]) for x in load_examples()}
    shared = Counter(map(Arithmetic.of, load_catalogue().designs.values()))
    tasks: dict[Task, str | None] = {}
    for first, second in pairs(chosen):
        names = (first.name, second.name)
        if names not in shown:
            tasks[Task((first, second))] = facts.pairs.get(names, {}).get("verdict")
    for design in sorted(chosen, key=lambda d: -shared[Arithmetic.of(d)]):
        for name, asked in PROPERTIES.items():
            if asked.why_not(design) is None:
                tasks[Task((design,), name)] = facts.features.get(design.name, {}).get(name, [None])[0]
    new = [t for t, known in tasks.items() if known is None]
    named = [t for t, known in tasks.items() if known == "unknown" and t.designs[0].name.startswith(tuple(again))]
    return new + named


def main(path: Path, *again: str) -> None:
    """Bring the file up to date."""
    chosen = units()
    facts = Facts.parse(path.read_text(encoding="utf-8")).still_true(chosen) if path.exists() else Facts()
    tasks = missing(facts, chosen, again)
    for design in chosen:
        facts.made_of[design.name] = checksum(design)
        facts.features.setdefault(design.name, {})
    jobs = os.cpu_count() or 1
    for done, (number, answer) in enumerate(finished(Task.answer, tasks, partial(local_pool, jobs), jobs), start=1):
        task = tasks[number]
        names = tuple(d.name for d in task.designs)
        if isinstance(answer, str):
            raise SystemExit(f"{' and '.join(names)}: no answer: {answer}")
        if isinstance(answer, dict):
            facts.pairs[names] = answer
        else:
            facts.features[names[0]][str(task.asked)] = answer
        if done % SAVED_EVERY == 0 or done == len(tasks):
            write_atomically(path, facts.text())
            print(f"{done} of {len(tasks)}", file=sys.stderr)
    write_atomically(path, facts.text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
