"""What a file holds before its meaning is known: arrays, some with names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mmaproof.designs.errors import InputError

Column = npt.NDArray[Any]
"""Numbers of any type of NumPy or ml_dtypes, bytes without a type (kind V), or numbers as texts (kind U)."""

ROLES = ("a", "b", "c", "d", "scale_a", "scale_b")
_ALIASES = {
    "a": ("lhs",),
    "b": ("rhs",),
    "c": ("acc", "accumulator"),
    "d": ("out", "output", "result", "returned"),
    "scale_a": ("sa", "a_scale", "a_scales", "scales_a", "scale-a"),
    "scale_b": ("sb", "b_scale", "b_scales", "scales_b", "scale-b"),
}
_ROLE_OF = {name: role for role in ROLES for name in (role, *_ALIASES[role])}
_PLACED = re.compile(r"(.*?)[\[_. ]?(\d+)\]?")
"""The name of an array and the number of its element: a0, a_0, a[0]"""
_IN_ORDER = {
    3: ("a", "b", "d"),
    4: ("a", "b", "c", "d"),
    5: ("a", "b", "d", "scale_a", "scale_b"),
    6: ("a", "b", "c", "d", "scale_a", "scale_b"),
}
"""What arrays without names are, by their number."""


@dataclass(frozen=True)
class Table:
    """The arrays of one file or of several, by their names; a single array without a name is called ''."""

    whence: str
    columns: Mapping[str, Column]

    def roles(self) -> dict[str, Column]:
        """Return the arrays by what they are: a, b, c, d, scale_a, scale_b; other arrays are left out.

        A single array without a name has the key ''. Raises InputError where two arrays are the same thing, and where
        a, b or d is missing.
        """
        if set(self.columns) == {""}:
            return dict(self.columns)
        found: dict[str, tuple[str, Column]] = {}
        for name, column in self.columns.items():
            role = role_of(name)
            if role is None:
                continue
            if role in found:
                raise InputError(f"{self.whence}: {found[role][0]} and {name} are both {role}: leave one of them out")
            found[role] = (name, column)
        missing = [x for x in ("a", "b", "d") if x not in found]
        if missing:
            raise InputError(
                f"{self.whence}: no array {' or '.join(missing)}: a, b and d are needed, and c where it is not zero; "
                f"{self.found}"
            )
        return {role: found[role][1] for role in ROLES if role in found}

    def operands(self) -> dict[str, Column]:
        """Return the arrays by what they are, where there need not be results."""
        return {role: x for name, x in self.columns.items() if (role := role_of(name)) is not None}

    @property
    def found(self) -> str:
        """The types and shapes of the arrays, for a person."""
        return f"found {described(self.columns)}" if self.columns else "found no array"


def described(columns: Mapping[str, Column]) -> str:
    """Return types, names and shapes: ``uint16 arrays a (200, 16), b (200, 16), d (200,)``."""
    kinds: dict[str, list[str]] = {}
    for name, x in columns.items():
        kinds.setdefault(kind_of(x), []).append(f"{name} {x.shape}".strip())
    texts = [f"{kind} {'arrays' if len(x) > 1 else 'array'} {', '.join(x)}" for kind, x in kinds.items()]
    return " and ".join(texts)


def kind_of(column: Column) -> str:
    """Return the type of an array for a person."""
    if column.dtype.kind == "U":
        return "text"
    if is_raw(column):
        return f"untyped {column.dtype.itemsize}-byte"
    return column.dtype.name


def is_raw(column: Column) -> bool:
    """Return whether elements are bytes of unknown meaning: so NumPy stores types that it does not know itself."""
    return column.dtype.kind == "V" and column.dtype.type is np.void


def role_of(name: str) -> str | None:
    """Return what an array of this name is, in upper or lower case; None where the name does not say it."""
    return _ROLE_OF.get(name.strip().lower())


def merged(tables: Sequence[tuple[str, Table]]) -> Table:
    """Return the arrays of several files as one table; each comes with the name of its file without its ending.

    The single array of a file is named by its file. If some name does not say what an array is, the order of the files
    does: a, b, d; a, b, c, d; and scales after these. Raises InputError where that is not possible.
    """
    whence = ", ".join(table.whence for _, table in tables)
    named: dict[str, Column] = {}
    for stem, table in tables:
        for name, column in table.columns.items():
            key = name or stem
            if key in named:
                raise InputError(f"{whence}: two arrays are called {key!r}: rename one of them")
            named[key] = column
    single = [set(table.columns) == {""} for _, table in tables]
    if all(single) and not all(role_of(x) for x in named):
        if len(named) not in _IN_ORDER:
            raise InputError(
                f"{whence}: {len(named)} files, and their names do not say what they hold: call them a, b, c and d, "
                "or give three (a, b, d), four (a, b, c, d), or two of scales more"
            )
        named = dict(zip(_IN_ORDER[len(named)], named.values(), strict=True))
    return Table(whence, named)


def gathered(names: Sequence[str], rows: Sequence[Sequence[str]], whence: str) -> dict[str, Column]:
    """Return columns of text by their names; those called a0, a1, ... (a[0], a_0) become one array a of their rows.

    Raises InputError where the numbers of such columns are not 0, 1, ... or 1, 2, ....
    """
    held = np.array([list(x) for x in rows], dtype=np.str_).reshape(len(rows), len(names))
    groups: dict[str, dict[int, int]] = {}
    for place, name in enumerate(names):
        match = _PLACED.fullmatch(name.strip())
        base, number = (match[1], int(match[2])) if match and role_of(match[1]) else (name.strip(), -1)
        if number in groups.setdefault(base, {}):
            raise InputError(f"{whence}: two columns are called {name!r}")
        groups[base][number] = place
    found = {}
    for base, places in groups.items():
        if set(places) == {-1}:
            found[base] = held[:, places[-1]]
            continue
        numbers = sorted(places)
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] not in (0, 1):
            given = ", ".join(str(x) for x in numbers if x >= 0)
            raise InputError(f"{whence}: columns of {base} have the numbers {given}: 0, 1, 2, ... are needed")
        found[base] = held[:, [places[x] for x in numbers]]
    return found
