"""Evidence: what the parameters of a row of the catalogue rest on.

A row states one level for all of its parameters, and others for single ones. That something is recorded is never
stated: ``designs/levels.py`` adds it where a recording excludes every other value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mmaproof.designs.errors import DesignError


class Level(StrEnum):
    """What a value of a parameter rests on, the firmest first."""

    RECORDED = "recorded"
    """a recording of the unit excludes every other value that was tried"""
    VENDOR = "vendor"
    """the vendor's manual, pseudo-code or model states it"""
    PUBLISHED = "published"
    """a paper, a model of others, or published data state it"""
    ASSUMED = "assumed"
    """nobody states it, or publications disagree about it"""


STATED = (Level.VENDOR, Level.PUBLISHED, Level.ASSUMED)
"""The levels that a row may state."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one value rests on: the level, and the recording, document or reason in words."""

    level: Level
    source: str

    @classmethod
    def parse(cls, text: str) -> Evidence:
        """Return the evidence that ``LEVEL`` or ``LEVEL: SOURCE`` spells. Raises DesignError for another level."""
        name, colon, source = text.partition(":")
        if name.strip() not in STATED:
            hint = "; a recording is found by mmaproof, not stated" if name.strip() == Level.RECORDED else ""
            raise DesignError(f"{text!r} states no level of evidence: one of {', '.join(STATED)}{hint}")
        if colon and not source.strip():
            raise DesignError(f"{text!r} names no source after the colon: write LEVEL or LEVEL: SOURCE")
        return cls(Level(name.strip()), source.strip())


@dataclass(frozen=True)
class RowEvidence:
    """What a row of the catalogue states: a level for the whole row, and what single parameters rest on instead.

    ``row`` is the first design of the row, by which the row is known. ``whole`` is None if the row states nothing.
    ``like`` is the architecture whose row was taken over because nobody has described this one.
    """

    row: str = ""
    whole: Evidence | None = None
    parameters: Mapping[str, Evidence] = field(default_factory=dict)
    like: str | None = None

    @property
    def is_assumed(self) -> bool:
        """Whether the row as a whole is assumed, and not only some of its parameters."""
        return self.whole is not None and self.whole.level is Level.ASSUMED

    def refined(self, row: str, stated: RowEvidence) -> RowEvidence:
        """Return what the row called ``row`` rests on, which states ``stated`` where its family states this."""
        return RowEvidence(row, stated.whole or self.whole, {**self.parameters, **stated.parameters})


UNSTATED = RowEvidence()
"""What a design rests on that is of no catalogue, or whose row states nothing."""
