"""Verdicts as test cases of JUnit, which CI services read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

REFUTED = ("different", "violated")
"""Verdicts that are failures; the other ones that do not pass are errors: nothing was decided."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its verdict, whether that passes, and what there is to say if it does not."""

    group: str
    name: str
    seconds: float
    verdict: str
    passes: bool
    lines: tuple[str, ...]


def write_junit(path: Path, cases: Sequence[Case]) -> None:
    """Write test cases as a file. Raises InputError if it cannot be written."""
    from mmaproof.designs.errors import InputError

    failures = sum(x.verdict in REFUTED for x in cases)
    errors = sum(not x.passes for x in cases) - failures
    suite = ElementTree.Element(
        "testsuite",
        name="mmaproof",
        tests=str(len(cases)),
        failures=str(failures),
        errors=str(errors),
        time=f"{sum(x.seconds for x in cases):.3f}",
    )
    for x in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=x.group, name=x.name, time=f"{x.seconds:.3f}")
        if not x.passes:
            kind = "failure" if x.verdict in REFUTED else "error"
            said = ElementTree.SubElement(case, kind, type=x.verdict, message=f"{x.verdict}: {x.name}")
            said.text = "\n".join(x.lines)
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from problem
