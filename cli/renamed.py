"""Names that commands had: what is typed today instead of them. They go away with the next version."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from mmaproof.cli.output import complain

Words = list[str]


def renamed(given: Sequence[str]) -> Words:
    """Return a command line as it is typed today; a note on stderr says so where that is another.

    Raises InputError for a command that is none any more.
    """
    for length in (2, 1):
        name, rest = " ".join(given[:length]), list(given[length:])
        if name in GONE:
            from mmaproof.designs.errors import InputError

            raise InputError(f"`mmaproof {name}` is not a command any more: {GONE[name]}")
        if name in RENAMED:
            today = RENAMED[name](rest)
            complain(f"note: `mmaproof {name}` was renamed; use: mmaproof {shlex.join(today)}")
            return today
    return list(given)


def _listed(kind: str) -> Callable[[Words], Words]:
    """Return what lists a kind, or shows one of it where one is named."""

    def today(rest: Words) -> Words:
        named = any(not x.startswith("-") for x in rest)
        return [*(["show"] if named else ["list", kind]), *rest]

    return today


def _of_unit(command: str, *, last: bool = False) -> Callable[[Words], Words]:
    """Return what asks a command about rtl:UNIT.toml; with ``last`` the unit stands after the other argument."""

    def today(rest: Words) -> Words:
        place = next((i for i, x in enumerate(rest) if x.endswith(".toml")), None)
        if place is None:
            return [command, *rest]
        unit = f"rtl:{rest.pop(place)}"
        return [command, *rest, unit] if last else [command, unit, *rest]

    return today


def _decided(rest: Words) -> Words:
    """Return what asks which parameters recordings decide; files were arguments."""
    found: Words = ["evidence", "--decided"]
    for i, x in enumerate(rest):
        is_file = not x.startswith("-") and (i == 0 or rest[i - 1] not in ("-o", "--output"))
        found += ["--recording", x] if is_file else [x]
    return found


RENAMED: dict[str, Callable[[Words], Words]] = {
    "designs": lambda rest: ["list", *rest],
    "properties": _listed("properties"),
    "gemm algorithms": _listed("algorithms"),
    "gemm plans": _listed("plans"),
    "recordings show": lambda rest: ["show", *rest],
    "recordings decide": _decided,
    "recordings import": lambda rest: ["record", *rest],
    "rtl show": _of_unit("show"),
    "rtl check": _of_unit("check", last=True),
    "rtl identify": _of_unit("identify"),
}
"""An old name -> today's command line, from the words after the name."""
GONE = {
    "completion": "mmaproof --install-completion installs it for your shell",
    "manual": "`mmaproof COMMAND --help` has the same text",
    "prove-native": "a checkout has `make check-native`, Python has mmaproof.prove_native",
    "recordings": "`mmaproof show FILE.npz`, `mmaproof evidence --decided` and `mmaproof record FILE` are",
}
"""An old name -> where the answer is."""
