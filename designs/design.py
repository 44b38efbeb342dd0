"""The record that describes a unit: its signature, its K, how its steps compute, and the source of all that.

Evidence is what the parameters of a row of the catalogue rest on. A row states one level for all of its parameters, and
others for single ones. That something is recorded is never stated: ``designs/open_points.py`` adds it where a recording
excludes every other value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import Any

from mmaproof.designs.conversions import Rounding, rounding_to
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format
from mmaproof.designs.parameters import (
    DEFINITIONS,
    Chain,
    complete_settings,
    compose,
    definition,
    format_parameter,
    format_settings,
    parse_parameter,
    settings_of,
)
from mmaproof.designs.readings import CONSECUTIVE
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import Guarantee, NetlistStep, Step


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


DISCLOSED = "disclosure"
"""The architecture, and the family, of designs that a file discloses: ``disclosure:FILE``."""

ACCUMULATOR = "accumulator"
"""The setting that names the format of c and d: ``NAME@accumulator=e8m13``."""

LONGEST = 1 << 16
"""The most products that an instruction, or a dot product in a question, may have."""


@dataclass(frozen=True)
class Design:
    """One complete description of how a unit computes one output element ``d = c + sum_k a_k*b_k``.

    ``k`` is the K of one instruction, and ``m`` and ``n`` are its other sizes. A step takes ``step.L`` products. An
    instruction with a larger K is a chain of steps in which the d of one step is the c of the next.

    Raises DesignError if the parts do not fit together.
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
    """the source whose readings of the open points are set; None for the readings of the catalogue"""
    changed: tuple[str, ...] = field(default=())
    """names of the parameters that differ from the catalogue's row (under the profile)"""
    evidence: RowEvidence = field(default=UNSTATED, compare=False)
    """what the catalogue's row rests on"""
    k_multiple: int | None = None
    """elements in multiples of which one instruction is configured to a K below ``k``, so that nothing is multiplied
    beyond them; None for an instruction of one K, which +0 elements fill up"""
    accumulator: Format | None = None
    """the format of c and d where it is not that of the catalogue's row, but one that the unit keeps inside"""
    takes_c: bool = field(default=True, compare=False)
    """whether the instruction has an operand c; without one, c is an addition beside it, and -0 adds nothing"""
    hands_on: bool = field(default=True, compare=False)
    """whether d is the c of a next instruction; otherwise the register is converted once, and K is its longest sum"""
    selects_half: bool = field(default=False, compare=False)
    """whether metadata select the elements of b: two of each four, so that K is half of that in the shape"""

    def __post_init__(self) -> None:
        for name, problem in self._misfits():
            raise DesignError(f"{self.base_name}: {problem}", name)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def _misfits(self) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: the field of a catalogue row, and the problem."""
        if not 1 <= self.k <= LONGEST:
            yield "instructions", f"K = {self.k} is out of range: 1..{LONGEST}"
        yield from self.signature.misfits()
        yield from self.step.misfits(self.signature, self.k)
        yield from self.chain.misfits(self.signature, self.step)
        if self.selects_half and (self.b_format.bits not in (8, 16) or self.scale_format is not None):
            yield (
                "selects_half",
                f"2 of 4 elements of 8 or 16 bits without scales are selected, not {self.b_format.name}",
            )
        if self.k_multiple is not None and (self.k_multiple < 1 or self.k % self.k_multiple):
            yield "k_multiple", f"k_multiple = {self.k_multiple} does not divide K = {self.k}"

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
        """The format of the scales; None if the unit has none."""
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
    def is_assumed(self) -> bool:
        """Whether the catalogue's row is an assumption as a whole: no source describes this unit."""
        return self.evidence.is_assumed

    @property
    def like(self) -> str:
        """The architecture whose units this one is described by: its own, or the one it is assumed to be like."""
        return self.evidence.like or self.architecture

    @cached_property
    def base_name(self) -> str:
        """ARCHITECTURE/INSTRUCTION, without changed parameters.

        A netlist is called rtl:FILE, and what a file discloses disclosure:FILE.
        """
        if isinstance(self.step, NetlistStep) or self.architecture == DISCLOSED:
            return f"{self.architecture}:{self.instruction}"
        return f"{self.architecture}/{self.instruction}"

    @cached_property
    def name(self) -> str:
        """The full name, changed parameters included. ``find_design`` finds the same design by it."""
        settings = [f"as={self.profile}"] if self.profile else []
        settings += [f"{ACCUMULATOR}={self.accumulator.name}"] if self.accumulator is not None else []
        values = complete_settings(self.chain, self.step) if self.changed else {}
        settings += [f"{n}={format_parameter(n, values[n])}" for n in self.changed]
        return f"{self.base_name}@{','.join(settings)}" if settings else self.base_name

    @cached_property
    def _hash(self) -> int:
        return hash((self.architecture, self.instruction, self.signature, self.k, self.chain, self.step))

    def __hash__(self) -> int:
        # designs are the keys of caches, so the hash is computed once
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # the hash of a text differs from process to process
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The values of the parameters that have an effect, by name."""
        return settings_of(self.chain, self.step)

    def guarantees(self, *wanted: Guarantee) -> bool:
        """Return whether the step states all of these guarantees."""
        return self.step.guarantees_all(*wanted)

    @property
    def conditions(self) -> tuple[str, ...]:
        """When a unit computes this, in words, if not always: so does all that is proved of it hold then."""
        return self.step.conditions if isinstance(self.step, NetlistStep) else ()

    @property
    def neutral_c(self) -> int:
        """The pattern of c that adds nothing to a sum: -0, and of an integer or a format without -0 it is 0."""
        fmt = self.c_format
        return 0 if fmt.is_integer or fmt.nan_is_minus_zero else 1 << fmt.sign_position

    @property
    def adds_c_last(self) -> bool:
        """Whether a step or a chain rounds its products to a number first and adds c in an IEEE 754 addition."""
        return self.step.adds_c_last or self.chain.adds_c_once

    def change(self, **settings: Any) -> Design:
        """Return the same design with parameters changed. The name lists the changed ones.

        A value may be the text that a user types. Raises DesignError for an unknown parameter and for a value that is
        not allowed.
        """
        self._check_parametric()
        for name, value in settings.items():
            definition(name)
            if type(value) is str:
                settings[name] = parse_parameter(name, value)
        before = complete_settings(self.chain, self.step)
        new_chain, new_step = compose(before | settings)
        after = settings_of(new_chain, new_step)
        for name, value in settings.items():
            if value != before[name] and name not in after:
                raise DesignError(f"parameter {name} has no effect in {self.base_name} with its other parameters")
        # a parameter that has no effect is part of the name only where the name says what was meant
        held, meant = complete_settings(new_chain, new_step), before | settings
        named = {n for n in (*self.changed, *settings) if held[n] == meant[n]}
        return replace(self, chain=new_chain, step=new_step, changed=tuple(n for n in DEFINITIONS if n in named))

    def under_profile(self, profile: str, settings: dict[str, Any]) -> Design:
        """Return the same design with the ``settings`` of ``profile``. The name contains the profile."""
        self._check_parametric()
        new_chain, new_step = compose(complete_settings(self.chain, self.step) | settings)
        return replace(self, chain=new_chain, step=new_step, profile=profile)

    def accumulating_in(self, fmt: Format) -> Design:
        """Return the same design with c and d of another floating-point format, to which rho rounds as before.

        Raises DesignError for a design of integers, for one whose rho rounds twice, and for a netlist.
        """
        self._check_parametric()
        rho = self.step.conversion
        integers = fmt.is_integer or self.d_format.is_integer
        if integers or rho.via is not None or not isinstance(rho.rounding, Rounding):
            raise DesignError(f"{self.base_name}: {ACCUMULATOR} = {fmt.name}: numbers that are rounded once are needed")
        settings = complete_settings(self.chain, self.step) | {"rho": rounding_to(rho.rounding, fmt)}
        chain, step = compose(settings)
        signature = replace(self.signature, c=fmt, d=fmt)
        return replace(self, signature=signature, chain=chain, step=step, accumulator=fmt)

    def _check_parametric(self) -> None:
        if not self.step.is_parametric:
            raise DesignError(f"{self.base_name} is a netlist: it has no parameters that could be changed")

    def one_step(self) -> Design:
        """Return a design whose instruction is one step of this design: K = L, products in the order given.

        The name stays the same, because it does not contain K. If a block of scales is longer than a step, it covers
        the whole step.
        """
        length = self.step.L
        block = None if self.block is None else min(self.block, length)
        return replace(
            self,
            k=length,
            signature=replace(self.signature, block=block),
            chain=replace(self.chain, k_order=CONSECUTIVE),
            k_multiple=None,
        )

    def configured(self, length: int) -> Design:
        """Return the instruction that takes a dot product of ``length``: one of a smaller K where it is configured so.

        Then a step takes no more products than there are. Other designs, and those of a ``length`` of K or more, are
        returned as they are. Raises DesignError if the parameters do not allow so few products.
        """
        if self.k_multiple is None or not 1 <= length < self.k:
            return self
        k = -(-length // self.k_multiple) * self.k_multiple
        if k == self.k:
            return self
        if self.chain.k_order != CONSECUTIVE:
            raise DesignError(f"k_order = {self.chain.k_order} of {self.base_name} is of K = {self.k}: choose that k")
        return replace(self, k=k, step=replace(self.step, L=min(self.step.L, k)), k_multiple=None)

    def padded_length(self, length: int, *, multiple: int | None = None) -> int:
        """Return the number of elements that a dot product of ``length`` runs over, elements of padding included.

        Below K it is K, or what the instruction is configured to. Above K, ``length`` must be a multiple of K, which
        is a chain of whole instructions. Raises DesignError for any other length, and proposes a ``multiple`` of K
        instead, by default of K itself.
        """
        if length < 1:
            raise DesignError(f"k = {length}: a dot product has at least one element")
        if length > self.k and not self.hands_on:
            raise DesignError(
                f"k = {length}: {self.base_name} converts a sum of at most {self.k} products, and no instruction takes "
                "its d as c: a row of a catalogue of your own may state a larger K (docs/adding-a-design.md)"
            )
        if length > self.k and length % self.k:
            size = multiple or self.k
            below = length - length % size
            raise DesignError(
                f"k = {length} is above the K = {self.k} of {self.base_name} and not a multiple of it: "
                f"choose {' or '.join(str(x) for x in (below, below + size) if x)}"
            )
        return max(length, self.configured(length).k)

    def blocks(self, length: int) -> int:
        """Return the number of scales of a (and of b) in a dot product of ``length``; 0 if the unit has none.

        There is one for each block of the given elements. If a dot product is shorter than K, the blocks of padding
        have scales of 1, that is, an exponent of 0. It may take part in e_max like that of any other block of zeros.
        Raises DesignError if ``length`` is not a multiple of the block, and what ``padded_length`` raises.
        """
        self.padded_length(length)
        if self.block is None:
            return 0
        if length % self.block:
            raise DesignError(
                f"k = {length} is not a multiple of the {self.block} elements that share a scale in {self.base_name}"
            )
        return length // self.block

    def _repr_html_(self) -> str:

        return design_html(self)

    def record(self) -> dict[str, Any]:
        """Return the design as plain data for JSON. Formats are in short form, parameters are texts."""
        values = complete_settings(self.chain, self.step) if self.step.is_parametric else {}
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
            "k_multiple": self.k_multiple,
            "parameters": {n: _plain(n, values[n]) for n in DEFINITIONS if n in values},
            "source": self.source,
        }


def is_unit_name(text: str) -> bool:
    """Return whether a text may be the name of a design, and cannot be that of an algorithm or a preset."""
    return "/" in text or text.strip().startswith(f"{DISCLOSED}:")


def check_askable(k: int) -> None:
    """Raise DesignError if dot products of length ``k`` are too long for a question."""
    if k > LONGEST:
        raise DesignError(f"k = {k} is above {LONGEST}: a formula of that length takes gigabytes")


def _plain(name: str, value: object) -> object:
    return value if isinstance(value, int) else format_parameter(name, value)


def design_html(design: Design) -> str:
    """Return a design as a fragment of HTML without any style of its own."""
    formats = ", ".join(f"{x} {f.name}" for x, f in zip("abcd", design.formats, strict=True))
    scales = (
        "" if design.scale_format is None else f"; scales {design.scale_format.name}, one for {design.block} elements"
    )
    settings = format_settings(design.settings) if design.step.is_parametric else {}
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}{"*" * (name in design.changed)}</th>'
        f'<td style="text-align:left">{escape(value)}</td>'
        f'<td style="text-align:left">{escape(DEFINITIONS[name].meaning)}</td></tr>'
        for name, value in settings.items()
    )
    heads = "".join(f'<th scope="col" style="text-align:left">{x}</th>' for x in ("parameter", "value", "meaning"))
    assumed = "; assumed, no source describes this unit" if design.is_assumed else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    return (
        f"<div><p><b>{escape(design.name)}</b><br>{escape(formats + scales)}; K = {design.k}, L = {design.step.L}<br>"
        f"source: {escape(design.source)}{assumed}{'; * changed' * bool(design.changed)}</p>{table}</div>"
    )
