"""`mmaproof suite`: a few vectors on which any two inequivalent designs return different results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.matrix import chosen, verdicts
from mmaproof.cli.matrix_text import count, letters, shortened, vector_text
from mmaproof.cli.operands import operands_record
from mmaproof.cli.output import Exit, assumed_names, counted, say, say_wrapped, tool_version
from mmaproof.cli.showing import SHOWING, ShowingOptions
from mmaproof.cli.verdicts import say_conditions


@opt.with_backend
@opt.with_options(without="search jobs picture explain svg figure junit bundle", timeout_of=opt.PER_QUESTION)
def suite(
    names: opt.DesignNames = None,
    everything: opt.Everything = False,
    architectures: opt.Architectures = None,
    simple: Annotated[
        bool, opt.option("--simple/--no-simple", "Few nonzero operands, short significands; or vectors as found.")
    ] = True,
    options: opt.SolvingOptions = opt.SOLVING,
    jobs: opt.Processes = None,
    dask: opt.Dask = None,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Find few vectors such that any two inequivalent designs return different results for at least one.

    Designs are comparable if their formats and scales are the same; which of those are equivalent is decided first, as
    `matrix` does. A design takes the vectors whose length is a multiple of its K. Where one vector separates all
    classes it is found by search or by a solver; otherwise the fewest that the search came upon are chosen.

    Exit status 0: every pair is proved equivalent, or separated by a vector; 3: some are neither.
    """
    started = time.monotonic()
    designs = chosen(names or [], everything, architectures or [])
    given: dict[str, Any] = {
        "solving": options.solving,
        "limits": options.limits_of_each,
        "seed": options.seed,
        "simple": simple,
    }
    showing.ready()
    with opt.executors(dask, jobs, options.solving) as (pool, at_once):
        groups = lib.matrix.groups_of(designs, verdicts(designs, pool, at_once, options, replays=dask is not None))
        making = lib.suite.suites(groups, executors=pool, at_once=at_once, **given)
        with closing(making):
            found = list(counted(making, "kinds", len(groups)))
    found.sort(key=lambda x: groups.index(x.group))
    seconds = time.monotonic() - started
    showing.show(
        lambda: suites_of(found, designs, seconds),
        lambda: print_suites(found, seconds),
        vectors=lambda: [vector_of(x, v) for x in found for v in x.vectors],
        about=designs,
    )
    return Exit.UNKNOWN if any(x.left for x in found) else Exit.HOLDS


def vector_of(found: lib.suite.Suite, vector: lib.suite.SuiteVector) -> lib.vectors.Vector:
    """Return a vector of a suite for a file."""
    first = found.group.designs[0]
    apart = " | ".join(", ".join(members) for members in same_results(found, vector).values())
    return lib.vectors.Vector(
        vector.chosen.operands,
        first.formats,
        vector.outputs,
        why=f"separates {apart}",
        origin=vector.chosen.origin,
        version=tool_version(),
        scale_format=first.scale_format,
        seed=vector.chosen.seed,
    )


def same_results(found: lib.suite.Suite, vector: lib.suite.SuiteVector) -> dict[int, list[str]]:
    """Return the designs by what they return for a vector, NaNs together: d -> the first design of each class."""
    results: dict[int, list[str]] = {}
    for members in found.group.classes:
        name = next((x.name for x in members if x.name in vector.outputs), None)
        if name is not None:
            results.setdefault(found.canonical(vector.outputs[name]), []).append(name)
    return results


def suites_of(
    found: Sequence[lib.suite.Suite], designs: Sequence[lib.design.Design], seconds: float
) -> lib.surveys.SuiteAnswer:
    """Return the suites as an answer."""
    return lib.surveys.SuiteAnswer(
        designs=[d.name for x in found for d in x.group.designs],
        kinds=[kind_of(x) for x in found],
        vectors=sum(len(x.vectors) for x in found),
        left=sum(len(x.left) for x in found),
        seconds=round(seconds, 3),
        assumed=assumed_names(designs),
    )


def kind_of(found: lib.suite.Suite) -> lib.surveys.Kind:
    """Return the suite of designs of one kind as a part of an answer."""
    first = found.group.designs[0]
    return lib.surveys.Kind(
        formats=str(found.group.signature),
        classes=[[d.name for d in members] for members in found.group.classes],
        vectors=[
            lib.surveys.SuiteVector(
                k=len(v.chosen.operands),
                **operands_record(first.formats, v.chosen.operands, first.scale_format),
                outputs={name: first.d_format.hex(d) for name, d in v.outputs.items()},
                origin=v.chosen.origin,
            )
            for v in found.vectors
        ],
        fewest=found.fewest.value,
        reason=found.reason,
        left=[
            lib.surveys.Left.taken(
                x.comparison,
                x.comparison.question,
                first=x.names[0],
                second=x.names[1],
                reason=x.comparison.reason or found.reason,
            )
            for x in found.left
        ],
    )


def print_suites(found: Sequence[lib.suite.Suite], seconds: float) -> None:
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


def print_suite(found: lib.suite.Suite) -> None:
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


def print_vector(found: lib.suite.Suite, number: int, vector: lib.suite.SuiteVector) -> None:
    """Print a vector and the d of each class; NaNs are one result."""
    first, operands = found.group.designs[0], vector.chosen.operands
    text = vector_text(operands, first.formats, first.scale_format)
    say_wrapped(f"k = {len(operands)}: {text}; {vector.chosen.origin}", f"  vector {number}  ")
    named: dict[str, list[str]] = {}
    for i, members in enumerate(found.group.classes):
        taking = [x.name for x in members if x.name in vector.outputs]
        if taking:
            d = found.canonical(vector.outputs[taking[0]])
            text = f"{first.d_format.hex(d)} = {lib.values.pattern_value(first.d_format, d)}"
        else:
            text = "takes other lengths"
        named.setdefault(text, []).append(letters(i))
    width = max(len(", ".join(x)) for x in named.values())
    for text, classes in named.items():
        say(f"    {', '.join(classes):<{width}}  {text}")
