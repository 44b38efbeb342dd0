"""What an identification has found: the design that fits, and what is known of each of its parameters.

A person also sees the design of the catalogue that a unit is most like, and the rows in which the two disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import DEFINITIONS, format_parameter
from mmaproof.explain import Picture, explain
from mmaproof.explain.figure import answer_html
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.space import Behaviour
from mmaproof.properties.preconditions import parse_precondition
from mmaproof.properties.question import meant_rows


@dataclass(frozen=True)
class ParameterVerdict:
    """What is known of one parameter: its value, the values that are excluded, proved to be the same, or not decided.

    ``row`` is the simplest row of the evidence that excludes another value, None where none does.
    """

    value: Any
    excluded: tuple[Any, ...]
    unobservable: tuple[Any, ...]
    undecided: tuple[Any, ...]
    row: int | None

    @property
    def status(self) -> str:
        """What may be said of the value."""
        if self.undecided:
            return "several values fit"
        return "not observable here" if self.unobservable and not self.excluded else "determined"


@dataclass
class Identification:
    """The result. ``behaviour`` fits everything that was asked; it is None if no such behaviour was found.

    ``nearest`` is the one that comes closest, with ``contradiction``, the simplest row that it gets wrong. ``matches``
    are designs of the catalogue that behave so, or are proved equivalent to ``behaviour``, ``fitting`` others that
    agree with all rows. What was not validated matches nothing: it only fits.
    ``nan_codes`` are the patterns of the NaNs that the unit returned; NaNs are equal whatever their codes.
    """

    oracle: Oracle
    evidence: Evidence
    behaviour: Behaviour | None
    nearest: Behaviour
    contradiction: int | None
    space: int
    tried: int
    findings: dict[str, ParameterVerdict] = field(default_factory=dict)
    matches: tuple[Design, ...] = ()
    fitting: tuple[Design, ...] = ()
    validated: int = 0
    seconds: float = 0.0
    nan_codes: tuple[int, ...] = ()
    other_interfaces: Mapping[str, tuple[Design, ...]] = field(default_factory=dict)
    """where nothing fits: other formats of the same widths, and the designs of the catalogue that agree under these"""
    proposed: OperandBatch | None = None
    """operands that a recorded unit is to be run on next, none where nothing is left to ask; None: nobody asked"""
    late: bool = False
    """whether time or batches were over before anything was found that fits, or time before the validation was done"""
    first_rows: int = 0
    """rows of the evidence that come first, the same whatever the time: those of the first batch, or of a recording"""
    by_clock: bool = False
    """whether time was over before anything was found that fits, so that another run may end elsewhere"""
    unproved: int = 0
    """designs that fit and of which time did not let it find out whether they are the same"""

    def __repr__(self) -> str:
        what = ", ".join(x.name for x in self.matches)
        if self.behaviour is None:
            what = "no design was found in time" if self.late else "no design that agrees with every answer"
        elif not self.matches:
            fitting = ", ".join(x.name for x in self.fitting)
            what = f"agrees with {fitting}, not proved" if fitting else "no design of the catalogue"
        where = f"where {', '.join(self.oracle.where)}, " if self.oracle.where else ""
        return (
            f"<{self.oracle.target.name}: {where}{what}; {self.oracle.operands} operand sets asked, {self.tried} tried>"
        )

    @property
    def design(self) -> Design | None:
        """The design of the behaviour that fits."""
        return None if self.behaviour is None else self.evidence.interface.design(self.behaviour)

    def deciding(self, parameter: str) -> tuple[Operands, int] | None:
        """Return the operands and the d of the simplest answer that excludes another value of a parameter.

        None if no answer does. Raises InputError for a parameter that was not identified.
        """
        if parameter not in self.findings:
            raise InputError(f"unknown parameter {parameter!r}: one of {', '.join(self.findings) or 'none'}")
        row = self.findings[parameter].row
        return None if row is None else self.evidence.row(row)

    @property
    def contradicting(self) -> tuple[Operands, int] | None:
        """The operands and the d of the simplest answer that the nearest design gets wrong; None if there is none."""
        return None if self.contradiction is None else self.evidence.row(self.contradiction)

    def picture(self) -> Picture | None:
        """Return what the design that was found, or the nearest, does with the operands that decide the most about it.

        Of a design that was found these are the simplest operands that exclude a value of a parameter; of the nearest
        one they are those that it gets wrong. None if there are none.
        """
        shown = [x for x in (self.deciding(name) for name in self.findings) if x is not None]
        row = min(shown, key=lambda x: sum(map(bool, x[0].a)), default=None) if self.design else self.contradicting
        design = self.design or self.evidence.interface.design(self.nearest)
        return None if row is None else explain([design], row[0])

    def _repr_html_(self) -> str:
        values = [f"{name} = {format_parameter(name, x.value)}" for name, x in self.findings.items()]
        picture = self.picture()
        return answer_html([repr(self)[1:-1], ", ".join(values)], [] if picture is None else [("", picture)])


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How many rows of a class of operands there are, how many are wrong, and the simplest of those."""

    rows: int
    wrong: int
    simplest: int | None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The nearest design, what is to be changed in it, and the rows that the unit answers otherwise, by class."""

    design: Design
    changes: Mapping[str, str]
    disagreements: Mapping[str, Disagreement]

    @property
    def text(self) -> str:
        """What the unit is, as far as is known, as the name of a design: NAME@parameter=value,...."""
        changes = ",".join(f"{name}={value}" for name, value in self.changes.items())
        return f"{self.design.name}{'@' * bool(changes)}{changes}"


def neighbour(outcome: Identification) -> Neighbour | None:
    """Return the design of the catalogue with the fewest other parameters than what was found.

    None if no design has these formats. One or two parameters are enough where the design agrees with as many rows so.
    Among equals, the design is taken that has the fewest other values at all, and that agrees with the unit best. Rows
    alone decide: what was proved by then depends on the time. So does where the search ended, if time was over before
    anything fits: then the design is taken that agrees with the first rows best, and nothing is changed in it.
    """
    evidence, behaviour = outcome.evidence, outcome.behaviour or outcome.nearest
    if outcome.by_clock:
        evidence = evidence.first(outcome.first_rows)
    interface = evidence.interface
    designs = {x: Behaviour.of(x, interface.k) for x in load_catalogue().designs.values() if interface.takes(x)}
    if not designs:
        return None
    if outcome.by_clock:
        design = max(designs, key=lambda x: evidence.score(designs[x]))
        return Neighbour(design, {}, disagreements(evidence, designs[design]))
    others = {x: [n for n in DEFINITIONS if n != "nan_code" and at[n] != behaviour[n]] for x, at in designs.items()}
    wanted = evidence.score(behaviour)

    def agree(at: Behaviour, names: tuple[str, ...]) -> bool:
        with suppress(DesignError):
            return evidence.score(at.change(**{n: behaviour[n] for n in names})) >= wanted
        return False

    near: dict[Design, Sequence[str]] = {}
    for number in range(3):
        for design, at in designs.items():
            some = next((x for x in combinations(others[design], number) if agree(at, x)), None)
            if some is not None:
                near[design] = some
        if near:
            break
    near = near or {x: names for x, names in others.items() if len(names) == min(map(len, others.values()))}
    design = min(near, key=lambda x: (len(others[x]), -evidence.score(designs[x])))
    changes = {n: format_parameter(n, behaviour[n]) for n in near[design]}
    return Neighbour(design, changes, disagreements(evidence, designs[design]))


def disagreements(evidence: Evidence, behaviour: Behaviour) -> dict[str, Disagreement]:
    """Return how well a behaviour agrees with rows of finite operands, and with those of others."""
    wrong = ~evidence.agrees(behaviour)
    formats, batch = evidence.interface.signature.formats, evidence.batch
    finite = np.ones(len(batch), bool)
    if not formats[0].is_integer:
        finite = meant_rows(formats, batch, [parse_precondition("finite")])
    found = {}
    for name, rows in (("finite operands", finite), ("infinities and NaNs", ~finite)):
        numbers = np.flatnonzero(rows & wrong)
        simplest = int(numbers[np.argmin(evidence.nonzero_products[numbers])]) if len(numbers) else None
        found[name] = Disagreement(int(rows.sum()), len(numbers), simplest)
    return found
