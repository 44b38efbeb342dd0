"""Options that several commands share, each defined once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmaproof.cli.output import complain

if TYPE_CHECKING:
    from mmaproof.hardware_replay.target import Target
    from mmaproof.smt.solving.solving import Solving

STORE_VARIABLE = "MMAPROOF_STORE"


def askable(k: int | None) -> int | None:
    """Return a length as it was given; DesignError where it is too long for any question."""
    from mmaproof.designs.design import check_askable

    if k is not None:
        check_askable(k)
    return k


DesignName = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="ARCHITECTURE/INSTRUCTION, may be shortened to whole parts, with @parameter=value,... to change it.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
Length = Annotated[
    int | None,
    typer.Option(
        "--k", metavar="N", min=1, callback=askable, help="Length of the dot product; default the instruction's K."
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="PRECONDITION",
        help="Restrict a, b and c: finite, positive, normal, c=0, exponents=LO..HI. Repeatable.",
    ),
]
Solver = Annotated[str, typer.Option("--solver", metavar="NAME", help="bitwuzla, cvc5 or z3.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", metavar="N", min=1, help="Let so many solvers race for each query, --solver among them."),
]
Certificate = Annotated[
    str | None,
    typer.Option(
        "--certify",
        metavar="[=proof]",
        help="Have a second solver confirm what is proved; with --certify=proof a checker of proofs.",
        show_default=False,
    ),
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="Look answers up in this file, and keep them there; default $MMAPROOF_STORE, else "
        "mmaproof/answers.sqlite in the user's folder of caches.",
        show_default=False,
    ),
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Neither look answers up nor keep them.")]
Timeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="Limit for the whole answer: 30s, 2m, 1h.")]
Memory = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="What a solver process may take beyond its libraries: 512M, 4G.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the search.", min=0)]
Search = Annotated[
    bool, typer.Option("--search/--no-search", help="Look for a witness among random operands before solving.")
]
NanCodes = Annotated[bool, typer.Option("--nan-codes", help="Two NaNs are equal only if their bits are.")]
ZeroSigns = Annotated[bool, typer.Option("--ignore-zero-signs", help="+0 and -0 are equal results.")]
Explained = Annotated[
    bool, typer.Option("--explain", help="Show the lemmas behind the answer as a tree: status, seconds, solver.")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write what was found as a vector file.")
]

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="model:DESIGN, recording:FILE, process:COMMAND, cpu:INSTRUCTION or cuda[:N].",
        show_default=False,
    ),
]
Instruction = Annotated[
    str | None,
    typer.Option(
        "--design",
        metavar="DESIGN",
        help="Which instruction of a CPU or GPU to run, where several take the operands.",
        show_default=False,
    ),
]
Silence = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="How long a process may keep silent while answers are due.")
]


def target_of(text: str, timeout: str, design: str | None) -> Target:
    """Return the target that the options spell. Raises as ``find_target``; LimitError for a bad time."""
    from mmaproof.hardware_replay.targets import find_target
    from mmaproof.smt.solving.limits import parse_seconds

    return find_target(text, parse_seconds(timeout), design)


def solving_of(solver: str, jobs: int, certificate: str | None, store: Path | None, no_store: bool) -> Solving:
    """Return how queries are answered, as the options say.

    Raises InputError if the options contradict each other, and whatever ``Solving.of`` raises. If the default store
    cannot be used, a note says so and there is no store.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.smt.solving.certify import Certify
    from mmaproof.smt.solving.solving import Solving

    if certificate not in (None, *(x.value for x in Certify)):
        raise InputError(f"--certify={certificate}: --certify (a second solver) and --certify=proof are allowed")
    if store is not None and no_store:
        raise InputError(f"--no-store leaves nothing to look up in {store}: leave one of them out")
    file = store if store is not None or no_store else _usable_default()
    return Solving.of(Solving(solver, jobs, None if certificate is None else Certify(certificate), file))


def default_store() -> Path | None:
    """Return the file of answers if none is named; None if the variable for it is empty.

    Raises InputError if the user has no home.
    """
    from mmaproof.designs.errors import InputError

    named = os.environ.get(STORE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not caches.is_absolute():
        # a relative one is to be ignored (XDG Base Directory Specification)
        home = os.environ.get("HOME")
        caches = (Path.home() if home is None else Path(home)) / ".cache"
        if not (home != "" and caches.is_absolute() and caches.parent.is_dir()):
            raise InputError(
                f"no place for answers: the home folder {caches.parent} is none; let {STORE_VARIABLE} name a file"
            )
    return caches / "mmaproof" / "answers.sqlite"


def _usable_default() -> Path | None:
    from mmaproof.designs.errors import InputError
    from mmaproof.smt.solving.errors import StoreError
    from mmaproof.smt.solving.store import Store

    try:
        file = default_store()
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            Store(file).check()
    except (InputError, StoreError, OSError) as problem:
        complain(f"note: answers are neither looked up nor kept: {problem}")
        return None
    return file
