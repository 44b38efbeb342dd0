"""The record that describes a unit: its formats, its K, its parameters, and where all that is published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import FORMATS, Format, Specials
from mmaproof.designs.k_order import CONSECUTIVE
from mmaproof.designs.parameters import DEFINITIONS, Parameters, format_parameter
from mmaproof.designs.readings import Join, Summation, Widening

LONGEST = 1 << 16
"""Products of an instruction, and of a dot product that is asked about, at most."""


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
        for name, problem in chain(self._misfits_of_formats(), self._misfits_of_length(), self._misfits_of_groups()):
            raise DesignError(f"{self.architecture}/{self.instruction}: {problem}", name)

    def _misfits_of_formats(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit among formats and conversions: its field in a catalogue, and the problem."""
        p, d = self.parameters, self.d_format
        if p.conversion.target is not d:
            yield "rho", f"rho = {p.rho} does not convert to its output format {d.name}"
        for name, fmt in zip("abc", self.formats[:3], strict=True):
            if fmt.is_integer is not d.is_integer:
                yield name, f"{name} is {fmt.name} and d is {d.name}: integers and floating-point numbers do not mix"
            if not fmt.fraction_bits:
                yield name, f"{name} is {fmt.name}, which has no zero: it is a format of scales"
            if name != "c" and p.widening is Widening.FP16 and not _can_be_widened(fmt, FORMATS["fp16"]):
                yield "widening", f"{name} is {fmt.name}, which cannot be widened to fp16"
        if p.join in (Join.IEEE, Join.IEEE_ONCE) and self.c_format is not d:
            yield "join", f"join = {p.join} adds c in {d.name}, and c is {self.c_format.name}"
        if self.scale_format is not None and (d.is_integer or not self.scale_format.is_of_scales):
            yield "scale", f"{self.scale_format.name} cannot scale products of {self.a_format.name}"

    def _misfits_of_length(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit K, likewise."""
        p = self.parameters
        if not 1 <= self.k <= LONGEST:
            yield "instructions", f"K = {self.k} is out of range: 1..{LONGEST}"
        if self.k % p.L:
            yield "L_max", f"L = {p.L} does not divide K = {self.k}: choose a divisor of K"
        if p.summation is Summation.PAIRWISE and p.L & (p.L - 1):
            yield "L_max", f"pairwise summation needs L = {p.L} to be a power of two"

    def _misfits_of_groups(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit among scales and groups, likewise."""
        p, block, size = self.parameters, self.block, self.parameters.group_size
        if (block is None) is not (self.scale_format is None):
            yield "block", "scales need both a format and a block length"
        if block is not None and (block < 1 or self.k % block or (block % p.L and p.L % block)):
            yield "block", f"blocks of {block} do not divide K = {self.k} and fit L = {p.L}"
        if block is not None and size is None and block % p.L:
            yield "block", f"a block of {block} is shorter than a step of L = {p.L} products; set group_size"
        if size is None:
            return
        if block is None:
            yield "group_size", f"group_size = {size} is of scaled groups, and this unit has no scales"
        elif p.L % size or block % size:
            yield "group_size", f"group_size = {size} does not divide L = {p.L} and blocks of {block}"
        if any(f.specials is not Specials.NONE for f in (self.a_format, self.b_format)):
            yield "group_size", f"group_size = {size}: exact groups are of formats without infinities and NaN"

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

    def one_step(self) -> Design:
        """Return a design whose instruction is one step of this one: K = L, products in the order given.

        It keeps its name, which says no K. A block of scales that is longer than a step covers the whole step.
        """
        length = self.parameters.L
        block = None if self.block is None else min(self.block, length)
        return replace(self, k=length, block=block, parameters=replace(self.parameters, k_order=CONSECUTIVE))

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

        There is one for each block of given elements. Blocks of padding, in a dot product shorter than K, have scales
        of 1: an exponent of 0, which may take part in e_max as that of any other block of zeros.
        Raises DesignError where ``length`` is no multiple of the block, or ``padded_length`` does.
        """
        self.padded_length(length)
        if self.block is None:
            return 0
        if length % self.block:
            raise DesignError(
                f"k = {length} is no multiple of the {self.block} elements that share a scale in {self.base_name}"
            )
        return length // self.block

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


def check_askable(k: int) -> None:
    """Raise DesignError where dot products of length ``k`` are too long for a question about them."""
    if k > LONGEST:
        raise DesignError(f"k = {k} is above {LONGEST}: a formula about so many products takes gigabytes")


def _can_be_widened(fmt: Format, target: Format) -> bool:
    """Return whether every number of ``fmt`` is one of ``target``, and its subnormals all are normal or none is."""
    return not fmt.is_integer and (fmt.e_min == target.e_min or fmt.e_min - fmt.fraction_bits >= target.e_min)


def _plain(name: str, value: object) -> object:
    return value if isinstance(value, int) else format_parameter(name, value)
