"""The record that describes a unit: its signature, its K, how its steps compute, and where all that is published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from mmaproof.designs.chain import Chain
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.k_order import CONSECUTIVE
from mmaproof.designs.parameters import (
    DEFINITIONS,
    complete_settings,
    compose,
    definition,
    format_parameter,
    parse_parameter,
    settings_of,
)
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Guarantee, Step

LONGEST = 1 << 16
"""Products of an instruction, and of a dot product that is asked about, at most."""


@dataclass(frozen=True)
class Design:
    """One complete description of how a unit computes one output element ``d = c + sum_k a_k*b_k``.

    ``k`` is the K of one instruction, ``m`` and ``n`` its other sizes. A step fuses ``step.L`` products;
    an instruction with larger K is a chain of steps in which the d of one is the c of the next.

    Raises DesignError where the parts do not fit together.
    """

    architecture: str
    instruction: str
    family: str
    signature: Signature
    m: int
    n: int
    k: int
    chain: Chain
    step: Step
    source: str
    profile: str | None = None
    """the source whose readings of the open points are set, None for the catalogue's"""
    changed: tuple[str, ...] = field(default=())
    """names of the parameters that differ from the catalogue's row (under the profile)"""

    def __post_init__(self) -> None:
        for name, problem in self._misfits():
            raise DesignError(f"{self.architecture}/{self.instruction}: {problem}", name)

    def _misfits(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: its field in a catalogue, and the problem."""
        if not 1 <= self.k <= LONGEST:
            yield "instructions", f"K = {self.k} is out of range: 1..{LONGEST}"
        yield from self.signature.misfits()
        yield from self.step.misfits(self.signature, self.k)
        yield from self.chain.misfits(self.signature, self.step)

    @property
    def a_format(self) -> Format:
        """The format of the elements of a."""
        return self.signature.a

    @property
    def b_format(self) -> Format:
        """The format of the elements of b."""
        return self.signature.b

    @property
    def c_format(self) -> Format:
        """The format of c."""
        return self.signature.c

    @property
    def d_format(self) -> Format:
        """The format of d."""
        return self.signature.d

    @property
    def scale_format(self) -> Format | None:
        """The format of the scales, None where the unit has none."""
        return self.signature.scale

    @property
    def block(self) -> int | None:
        """K_block: elements of a (and of b) that share one scale."""
        return self.signature.block

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        return self.signature.formats

    @property
    def base_name(self) -> str:
        """ARCHITECTURE/INSTRUCTION, without changed parameters."""
        return f"{self.architecture}/{self.instruction}"

    @property
    def name(self) -> str:
        """The full name, changed parameters included; ``find_design`` reads it back."""
        settings = [f"as={self.profile}"] if self.profile else []
        values = complete_settings(self.chain, self.step) if self.changed else {}
        settings += [f"{n}={format_parameter(n, values[n])}" for n in self.changed]
        return f"{self.base_name}@{','.join(settings)}" if settings else self.base_name

    @cached_property
    def _hash(self) -> int:
        return hash((self.architecture, self.instruction, self.signature, self.k, self.chain, self.step))

    def __hash__(self) -> int:
        # what belongs to a design is looked up by it very often
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # hashes of texts are another process's own
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The values of the parameters that have an effect, by name."""
        return settings_of(self.chain, self.step)

    def guarantees(self, *wanted: Guarantee) -> bool:
        """Return whether the step states each of these guarantees."""
        return self.step.guarantees_all(*wanted)

    @property
    def adds_c_last(self) -> bool:
        """Whether products become a number first, in a step or a chain, to which c is added as IEEE 754 has it."""
        return self.step.adds_c_last or self.chain.adds_c_once

    def change(self, **settings: Any) -> Design:
        """Return the same design with parameters changed; a changed one is part of the name.

        A value may be given as the text that a user types. Raises DesignError for an unknown parameter or a value that
        is not allowed.
        """
        for name, value in settings.items():
            definition(name)
            if type(value) is str:
                settings[name] = parse_parameter(name, value)
        changed = tuple(n for n in DEFINITIONS if n in self.changed or n in settings)
        before = complete_settings(self.chain, self.step)
        new_chain, new_step = compose(before | settings)
        after = settings_of(new_chain, new_step)
        for name, value in settings.items():
            if value != before[name] and name not in after:
                raise DesignError(f"parameter {name} has no effect in {self.base_name} with its other parameters")
        return replace(self, chain=new_chain, step=new_step, changed=changed)

    def under_profile(self, profile: str, settings: dict[str, Any]) -> Design:
        """Return the same design with the settings that ``profile`` makes; the name says the profile."""
        new_chain, new_step = compose(complete_settings(self.chain, self.step) | settings)
        return replace(self, chain=new_chain, step=new_step, profile=profile)

    def one_step(self) -> Design:
        """Return a design whose instruction is one step of this one: K = L, products in the order given.

        It keeps its name, which says no K. A block of scales that is longer than a step covers the whole step.
        """
        length = self.step.L
        block = None if self.block is None else min(self.block, length)
        return replace(
            self,
            k=length,
            signature=replace(self.signature, block=block),
            chain=replace(self.chain, k_order=CONSECUTIVE),
        )

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
        values = complete_settings(self.chain, self.step)
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
            "parameters": {n: _plain(n, values[n]) for n in DEFINITIONS},
            "source": self.source,
        }


def check_askable(k: int) -> None:
    """Raise DesignError where dot products of length ``k`` are too long for a question about them."""
    if k > LONGEST:
        raise DesignError(f"k = {k} is above {LONGEST}: a formula about so many products takes gigabytes")


def _plain(name: str, value: object) -> object:
    return value if isinstance(value, int) else format_parameter(name, value)
