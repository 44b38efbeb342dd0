"""Kinds of steps are named in two rooms: what asks about a step elsewhere asks what it guarantees.

So a kind that is added is one record and one piece of semantics, and what was not taught about it cannot be wrong
about it.
"""

import ast
import inspect
from enum import Enum

import pytest
from support.sources import ROOT, production_files

from mmaproof.designs import readings
from mmaproof.designs.parameters import Chain
from mmaproof.designs.steps import STEPS
from mmaproof.designs.steps.step import Record

ROOMS = ("designs/", "smt/semantics/")

_DRAWN = "a picture says in words what such a step does; of any other kind it says that it is not drawn"
_OUTSIDE = "a number that is rounded outside a unit has rules of its own"

ALLOWED: dict[str, tuple[set[str], str]] = {
    "gemm/tolerances/conformance.py": ({"NanCode"}, "a reference result has a NaN of its own, which no unit returns"),
    "explain/sections.py": (
        {"FusedStep", "IntegerStep", "InterleavedStep", "LanesStep", "PairwiseStep", "SequentialStep"},
        _DRAWN,
    ),
    "explain/steps.py": (
        {
            "ComplexPart",
            "ElementProduct",
            "FusedStep",
            "IntegerStep",
            "InterleavedStep",
            "LanesStep",
            "NetlistStep",
            "PairwiseStep",
            "ProductInfinity",
            "ProductRange",
            "SequentialStep",
        },
        _DRAWN,
    ),
    "explain/fused_blocks.py": (
        {"First", "IntegerOverflow", "IntegerStep", "InterleavedStep", "Normalises", "PairwiseStep", "SequentialStep"}
        | {"ComplexPart", "Truncates", "ZeroProductSign"},
        _DRAWN,
    ),
    "explain/words.py": ({"FlushedSign", "Subnormals", "Widening"}, _DRAWN),
    "gemm/programs/arithmetic.py": ({"NanCode"}, _OUTSIDE),
    "properties/library/rounding.py": (
        {"Overflow"},
        "the modes that a conversion is held against, no reading of a unit",
    ),
    "properties/library/specials.py": ({"NanCode"}, "the code that results are held against, no reading of a unit"),
    "rtl/reading.py": ({"NetlistStep"}, "a circuit that is read becomes a step of this kind"),
    "rtl/unit.py": ({"NetlistStep"}, "the circuit of a unit that was read is that of its step"),
    "verification/distributions.py": ({"NanCode"}, _OUTSIDE),
    "verification/differing_nets.py": ({"NetlistStep"}, "only a circuit has nets, and they are shown"),
}
"""file -> the names in it, and why they are there"""


def _records(kind: type[Record]) -> set[str]:
    inner = {choice for _, choices in kind._records() for choice in choices}
    return {kind.__name__}.union(*(_records(x) for x in inner))


NAMES = frozenset(
    {name for name, x in vars(readings).items() if inspect.isclass(x) and issubclass(x, Enum)} - {"StrEnum"}
    | set().union(*(_records(kind) for kind in STEPS))
    | {base.__name__ for kind in STEPS for base in kind.__mro__ if issubclass(base, Record)}
) - {"Record", "Step", Chain.__name__}
"""Every class of a step or of a part of one, and every enumeration of readings."""


def _named(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_the_names_are_those_of_steps() -> None:
    assert {
        "FusedStep",
        "InterleavedStep",
        "JoinedRoundedDown",
        "ScaledGroups",
        "RoundedStep",
        "Alignment",
        "Join",
    } <= NAMES


ELSEWHERE = [file for file in production_files() if not file.as_posix().startswith(ROOMS)]


@pytest.mark.middle
def test_no_kind_of_step_is_named_elsewhere() -> None:
    wrong = []
    for file in ELSEWHERE:
        named = _named((ROOT / file).read_text(encoding="utf-8")) & NAMES
        allowed, _ = ALLOWED.get(file.as_posix(), (set(), ""))
        if named - allowed:
            wrong.append(f"{file} names {sorted(named - allowed)}: ask the step what it guarantees")
        if allowed - named:
            wrong.append(f"{file} no longer names {sorted(allowed - named)}")
    assert not wrong


def test_every_exception_is_about_a_file() -> None:
    assert set(ALLOWED) <= {file.as_posix() for file in ELSEWHERE}


def test_a_mention_is_seen() -> None:
    assert "FusedStep" in _named("def f(x):\n    return isinstance(x, steps.FusedStep)")
    assert "Join" in _named("from mmaproof.designs.readings import Join as J")
