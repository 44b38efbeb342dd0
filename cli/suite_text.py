"""Suites of vectors as text: the classes of designs, each vector, and what each class returns for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmaproof.cli.matrix_text import count, letters, shortened, vector_text
from mmaproof.cli.output import say, say_wrapped
from mmaproof.cli.verdicts import say_conditions

if TYPE_CHECKING:
    from mmaproof.generators.suite import Suite, SuiteVector


def print_suites(found: Sequence[Suite], seconds: float) -> None:
    """Print suites for a person: those of designs that differ, and the number of the others."""
    differing = [x for x in found if len(x.group.classes) > 1]
    for x in differing:
        print_suite(x)
    alike = len(found) - len(differing)
    if alike:
        say(f"{count(alike, 'kind')} of one class: no vector needed\n")
    if len(found) > 1:
        say("designs of different kinds (formats, scales) take no common operands: no vector is for two of them\n")
    pairs = sum(len(x.group.answers) for x in found)
    left = sum(len(x.left) for x in found)
    equal = sum(a.comparison.verdict == "equivalent" for x in found for a in x.group.answers.values())
    say(
        f"{count(sum(len(x.vectors) for x in found), 'vector')} in {seconds:.1f} s; {count(pairs, 'comparable pair')}: "
        f"{pairs - equal - left} separated, {equal} equivalent, {left} left open"
    )


def print_suite(found: Suite) -> None:
    """Print the classes of comparable designs and the vectors that separate them."""
    group = found.group
    say(
        f"{group.signature}: {count(len(group.designs), 'design')} in {count(len(group.classes), 'class')}, "
        f"{count(len(found.vectors), 'vector')}"
    )
    for i, members in enumerate(group.classes):
        for n, line in enumerate(shortened(members)):
            say(f"  {'' if n else letters(i):<3}{line}")
    say_conditions(group.designs)
    for number, vector in enumerate(found.vectors, start=1):
        print_vector(found, number, vector)
    say_wrapped(f"{found.fewest.value}: {found.reason}", "  ")
    for answer in found.left:
        x = answer.comparison
        reason = x.reason or "no vector of the suite separates them"
        say_wrapped(f"left open: {' and '.join(answer.names)}, {x.verdict} at k = {x.question.k}: {reason}", "  ")
    say("")


def print_vector(found: Suite, number: int, vector: SuiteVector) -> None:
    """Print a vector and the d of each class; NaNs are one result."""
    from mmaproof.explain.values import pattern_value

    first, operands = found.group.designs[0], vector.chosen.operands
    text = vector_text(operands, first.formats, first.scale_format)
    say_wrapped(f"k = {len(operands)}: {text}; {vector.chosen.origin}", f"  vector {number}  ")
    named: dict[str, list[str]] = {}
    for i, members in enumerate(found.group.classes):
        taking = [x.name for x in members if x.name in vector.outputs]
        if taking:
            d = found.canonical(vector.outputs[taking[0]])
            text = f"{first.d_format.hex(d)} = {pattern_value(first.d_format, d)}"
        else:
            text = "takes other lengths"
        named.setdefault(text, []).append(letters(i))
    width = max(len(", ".join(x)) for x in named.values())
    for text, classes in named.items():
        say(f"    {', '.join(classes):<{width}}  {text}")
