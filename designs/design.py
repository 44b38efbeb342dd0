"""The record that describes a unit: its formats, its K, its parameters, and where all that is published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.parameters import DEFINITIONS, Parameters, format_parameter
from mmaproof.designs.readings import Summation


@dataclass(frozen=True)
class Design:
    """One complete description of how a unit computes one output element ``d = c + sum_k a_k*b_k``.

    ``k`` is the K of one instruction, ``m`` and ``n`` its other sizes. A step fuses ``parameters.L`` products;
    an instruction with larger K is a chain of steps in which the d of one is the c of the next.

    Raises DesignError where the parts do not fit together.
    """

    architecture: str
    instruction: str
    family: str
    a_format: Format
    b_format: Format
    c_format: Format
    d_format: Format
    m: int
    n: int
    k: int
    parameters: Parameters
    source: str
    scale_format: Format | None = None
    """format of the scales of a and b, None where the unit has none"""
    block: int | None = None
    """K_block: elements of a (and of b) that share one scale"""
    profile: str | None = None
    """the source whose readings of the open points are set, None for the catalogue's"""
    changed: tuple[str, ...] = field(default=())
    """names of the parameters that differ from the catalogue's row (under the profile)"""

    def __post_init__(self) -> None:
        p = self.parameters
        if self.k % p.L:
            raise DesignError(
                f"{self.architecture}/{self.instruction}: L = {p.L} does not divide K = {self.k}: choose a divisor of K"
            )
        if p.conversion.target is not self.d_format:
            raise DesignError(
                f"{self.architecture}/{self.instruction}: rho = {p.rho} does not convert to its output format "
                f"{self.d_format.name}"
            )
        p.k_order.permutation(self.k)
        self._check_groups()

    def _check_groups(self) -> None:
        p, problem = self.parameters, None
        if (self.block is None) is not (self.scale_format is None):
            problem = "scales need both a format and a block length"
        elif self.block is not None and (self.k % self.block or (self.block % p.L and p.L % self.block)):
            problem = f"blocks of {self.block} do not divide K = {self.k} and fit L = {p.L}"
        elif p.group_size is not None and self.block is None:
            problem = f"group_size = {p.group_size} is of scaled groups, and this unit has no scales"
        elif p.group_size is not None and self.block is not None and (p.L % p.group_size or self.block % p.group_size):
            problem = f"group_size = {p.group_size} does not divide L = {p.L} and blocks of {self.block}"
        elif p.group_size is not None and any(f.specials is not Specials.NONE for f in (self.a_format, self.b_format)):
            problem = f"group_size = {p.group_size}: exact groups are of formats without infinities and NaN"
        elif p.group_size is None and self.block is not None and self.block % p.L:
            problem = f"a block of {self.block} is shorter than a step of L = {p.L} products; set group_size"
        elif p.summation is Summation.PAIRWISE and p.L & (p.L - 1):
            problem = f"pairwise summation needs L = {p.L} to be a power of two"
        if problem:
            raise DesignError(f"{self.architecture}/{self.instruction}: {problem}")

    @property
    def base_name(self) -> str:
        """ARCHITECTURE/INSTRUCTION, without changed parameters."""
        return f"{self.architecture}/{self.instruction}"

    @property
    def name(self) -> str:
        """The full name, changed parameters included; ``find_design`` reads it back."""
        settings = [f"as={self.profile}"] if self.profile else []
        settings += [f"{n}={format_parameter(n, getattr(self.parameters, n))}" for n in self.changed]
        return f"{self.base_name}@{','.join(settings)}" if settings else self.base_name

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return self.a_format, self.b_format, self.c_format, self.d_format

    def change(self, **settings: Any) -> Design:
        """Return the same design with parameters changed; a changed one is part of the name.

        Raises DesignError for an unknown parameter or a value that is not allowed.
        """
        for name in settings:
            if name not in DEFINITIONS:
                raise DesignError(f"unknown parameter {name!r}: one of {', '.join(DEFINITIONS)}")
        changed = tuple(n for n in DEFINITIONS if n in self.changed or n in settings)
        parameters = replace(self.parameters, **settings)
        for name, value in settings.items():
            if value != getattr(self.parameters, name) and not DEFINITIONS[name].applies(parameters):
                raise DesignError(f"parameter {name} has no effect in {self.base_name} with its other parameters")
        return replace(self, parameters=parameters, changed=changed)

    def under_profile(self, profile: str, settings: dict[str, Any]) -> Design:
        """Return the same design with the settings that ``profile`` makes; the name says the profile."""
        return replace(self, parameters=replace(self.parameters, **settings), profile=profile)

    def padded_length(self, length: int) -> int:
        """Return the number of elements that a dot product of ``length`` runs over, +0 elements included.

        Below K it is K, above K ``length`` must be a multiple of K (a chain of whole instructions).
        Raises DesignError otherwise.
        """
        if length < 1:
            raise DesignError(f"k = {length}: a dot product has at least one element")
        if length > self.k and length % self.k:
            raise DesignError(
                f"k = {length} is above the K = {self.k} of {self.base_name} and no multiple of it: "
                f"choose {length - length % self.k} or {length - length % self.k + self.k}"
            )
        return max(length, self.k)

    def blocks(self, length: int) -> int:
        """Return the number of scales of a (and of b) of a dot product of ``length``, 0 where there are none.

        Raises DesignError where ``length`` is no multiple of the block.
        """
        if self.block is None:
            return 0
        if length % self.block:
            raise DesignError(
                f"k = {length} is no multiple of the {self.block} elements that share a scale in {self.base_name}"
            )
        return self.padded_length(length) // self.block

    def record(self) -> dict[str, Any]:
        """Return the design as plain data (for JSON): formats in short form, parameters as text."""
        return {
            "name": self.name,
            "architecture": self.architecture,
            "instruction": self.instruction,
            "family": self.family,
            **{f"{x}_format": f.name for x, f in zip("abcd", self.formats, strict=True)},
            "scale_format": None if self.scale_format is None else self.scale_format.name,
            "block": self.block,
            "m": self.m,
            "n": self.n,
            "k": self.k,
            "parameters": {n: _plain(n, getattr(self.parameters, n)) for n in DEFINITIONS},
            "source": self.source,
        }


def _plain(name: str, value: object) -> object:
    return value if isinstance(value, int) else format_parameter(name, value)
