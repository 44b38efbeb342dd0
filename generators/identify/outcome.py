"""What an identification has found: the design that fits, and what is known of each of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.generators.identify.behaviour import Behaviour
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.oracle import Oracle


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
    """without the validation"""
    nan_codes: tuple[int, ...] = ()
    other_interfaces: Mapping[str, tuple[Design, ...]] = field(default_factory=dict)
    """where nothing fits: other formats of the same widths, and the designs of the catalogue that agree under these"""
    late: bool = False
    """whether time or batches were over before anything was found that fits"""

    @property
    def design(self) -> Design | None:
        """The design of the behaviour that fits."""
        return None if self.behaviour is None else self.evidence.interface.design(self.behaviour)
