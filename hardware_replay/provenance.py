"""Provenance of a recording, as JSON in it: what it holds, what returned d, and where its operands come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, TypeGuard

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import parse_object
from mmaproof.designs.formats import Format, find_format
from mmaproof.hardware_replay.answers import Answers

LAYOUT = 1
"""Number of the layout of recordings that this version writes, and the newest that it reads."""

_FORMATS = ("a_format", "b_format", "c_format", "d_format")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a recording says of itself; a text is empty if there is nothing to say.

    Raises InputError, naming the field, if a field has another type, or if a text is not one printable line.
    """

    target: str
    """spelling of the target that returned d"""
    device: str
    """what the target is, ``device_version`` and ``driver`` likewise"""
    device_version: str = ""
    driver: str = ""
    instruction: str
    """what was run, as the catalogue or the target calls it"""
    design: str | None
    """the design of the catalogue that was run, None where that is not known"""
    a_format: str
    b_format: str
    c_format: str
    d_format: str
    scale_format: str | None = None
    k: int
    rows: int
    operands: Mapping[str, Any]
    """``source``: a file or a distribution; ``seed``, and whatever else says how the operands were made"""
    version: str
    """version of mmaproof that wrote it; empty where another program did"""
    date: str
    """when d was returned, in UTC as ISO 8601 has it"""
    further: Mapping[str, Any] = field(default_factory=dict)
    """what else is said, by key"""

    def __post_init__(self) -> None:
        for name in (x.name for x in fields(self)):
            value = getattr(self, name)
            if name in ("k", "rows"):
                good, wanted = is_count(value), "an integer of at most 63 bits"
            elif name in ("operands", "further"):
                good, wanted = isinstance(value, Mapping), "an object"
            else:
                nothing = value is None and name in ("design", "scale_format")
                good, wanted = nothing or (isinstance(value, str) and value.isprintable()), "one printable line of text"
            if not good:
                raise InputError(f"{name} is {_shortened(value)}: {wanted} is needed")
        for name in (*_FORMATS, *(("scale_format",) if self.scale_format is not None else ())):
            try:
                fmt = find_format(getattr(self, name))
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
            if name == "scale_format" and not fmt.is_of_scales:
                raise InputError(f"scale_format: {fmt.name} is not a format of scales")
        if self.k < 1:
            raise InputError("k is 0: a dot product has at least one element")

    @classmethod
    def of(
        cls,
        answers: Answers,
        *,
        target: str,
        device: str,
        device_version: str = "",
        driver: str = "",
        instruction: str,
        operands: Mapping[str, Any],
        further: Mapping[str, Any] | None = None,
    ) -> Provenance:
        """Return the provenance of ``answers``, with this version of mmaproof and the present time."""
        scale = answers.scale_format
        return cls(
            target=target,
            device=device,
            device_version=device_version,
            driver=driver,
            instruction=instruction,
            design=answers.design,
            **{name: fmt.name for name, fmt in zip(_FORMATS, answers.formats, strict=True)},
            scale_format=None if scale is None else scale.name,
            k=answers.batch.k,
            rows=len(answers.batch),
            operands=operands,
            version=version("mmaproof"),
            date=now(),
            further=further or {},
        )

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        a, b, c, d = (find_format(getattr(self, name)) for name in _FORMATS)
        return a, b, c, d

    def record(self) -> dict[str, Any]:
        """Return it as the JSON object of a recording."""
        own = {"layout": LAYOUT} | {x.name: getattr(self, x.name) for x in fields(self) if x.name != "further"}
        return own | {name: value for name, value in self.further.items() if name not in own}


def parse_provenance(text: str) -> Provenance:
    """Return what the JSON ``text`` of a recording says.

    Raises InputError if it is not a JSON object, if its layout is newer, or if a field is missing or wrong.
    """
    record = parse_object(text, parse_float=_finite, parse_constant=_finite)
    layout = record.pop("layout", None)
    if not is_count(layout) or layout < 1:
        raise InputError(f"layout is {_shortened(layout)}: an integer from 1 on is needed")
    if layout > LAYOUT:
        writer = _shortened(record.get("version") or "(no version)").strip("'")
        raise InputError(
            f"written by mmaproof {writer}, layout {layout}: this version reads layout {LAYOUT}; upgrade mmaproof"
        )
    names = [x.name for x in fields(Provenance) if x.name != "further"]
    for name in names:
        if name not in record:
            raise InputError(f"has no field {name!r}")
    return Provenance(**{name: record.pop(name) for name in names}, further=record)


def now() -> str:
    """Return the time in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_count(value: object) -> TypeGuard[int]:
    """Return whether ``value`` is a count as files may have it: an integer from 0 on, of at most 63 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _shortened(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
