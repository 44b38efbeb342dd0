"""A unit, and the design that it is meant to be: the one that is named for it, else the one that its file names."""

from __future__ import annotations

from pathlib import Path

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import find_format
from mmaproof.rtl.unit import RtlUnit, read_unit
from mmaproof.rtl.unit_file import UnitFile, read_unit_file


def read_rtl(path: str | Path, design: Design | str | None = None) -> tuple[RtlUnit, Design | None]:
    """Return the unit of RTL that a UNIT.toml describes, and what it is meant to be; None if nobody says it.

    The unit's sources are elaborated; its ``design`` can be compared with others. ``design``, which may be given by
    name, counts more than what the file says. Its formats count where the file states none. Raises InputError for what
    is wrong in the file or in the sources, TargetUnavailable where Yosys is not installed, and DesignError for a name
    that no design has.

    >>> import mmaproof
    >>> unit, meant = mmaproof.read_rtl("dot4.toml")  # of the tutorial about RTL
    >>> meant.name
    'cpu/vpdpbssd.m1n1k4.s32.s8.s8.s32'
    >>> operands = mmaproof.Operands(a=(0xFF, 0, 0, 0), b=(1, 0, 0, 0), c=0)
    >>> hex(mmaproof.evaluate(unit.design, operands)), hex(mmaproof.evaluate(meant, operands))
    ('0xffff', '0xffffffff')
    """
    file = read_unit_file(Path(path))
    name = design if design is not None else file.design
    if name is None:
        return read_unit(path), None
    try:
        meant = find_design(name)
    except DesignError as problem:
        if design is not None:
            raise
        raise DesignError(f"{file.path}: design: {problem}") from problem
    meant = _accumulating(file, meant)
    return read_unit(path, signature=meant.signature), meant


def _accumulating(file: UnitFile, meant: Design) -> Design:
    """Return a design with c and d in the format that the file states for both: that of an accumulator inside."""
    stated = file.formats.get("c")
    if stated is None or file.formats.get("d", stated if file.accumulates else None) != stated:
        return meant
    fmt = find_format(stated)
    floats = not (fmt.is_integer or meant.d_format.is_integer)
    return meant.accumulating_in(fmt) if floats and fmt is not meant.d_format else meant


def read_whole(path: str | Path) -> tuple[RtlUnit, Design | None]:
    """Return what ``read_rtl`` does, of a unit that computes d for every c. Raises InputError for one without c."""
    unit, meant = read_rtl(path)
    for name in unit.fixed:
        raise InputError(f"{path}: the unit has no {name}: `mmaproof rtl`, identify and replay take it, nothing else")
    return unit, meant


def in_one_pass(unit: Design, design: Design) -> Design:
    """Return what one pass of a unit is held against: one step of a design whose instruction is several of them.

    A design that is not a chain of such steps is returned as it is.
    """
    if unit.k == design.step.L != design.k:
        return design.one_step()
    return design
