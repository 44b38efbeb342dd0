"""`mmaproof store`: what the file of answers holds, and how to empty it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.table import Table

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, print_json, say, say_table
from mmaproof.cli.verdicts import solver_of
from mmaproof.designs.errors import InputError


def store(
    clear: Annotated[
        bool, opt.option("--clear/--stats", "Remove everything, or count what is there (the default).")
    ] = False,
    file: Annotated[Path | None, opt.option("--store FILE", "Another file than the default one.")] = None,
    json: opt.Json = False,
) -> int:
    """Count the answers that are kept, by solver, version and outcome, or remove them.

    A sat answer is believed only after the query was evaluated on its values, a witness only after the designs were.
    That nothing satisfies a query, or that a question is proved, is believed as it is kept: see --certify, and
    --no-store.
    """
    path = opt.default_store() if file is None else file
    if path is None:
        raise InputError(f"no store: {opt.STORE_VARIABLE} is set to nothing; name a file with --store FILE")
    if file is not None and not file.exists():
        raise InputError(f"the store {file} does not exist: name one that a command with --store FILE has made")
    found = lib.store.Store(path)
    if clear:
        counts = found.clear() if path.exists() else (0, 0, 0)
        removed = dict(zip(("answers", "witnesses", "proofs"), counts, strict=True))
        if json:
            print_json(lib.listings.StoreCleared(store=str(path), removed=lib.listings.Removed(**removed)))
        else:
            say(f"{path}: {', '.join(f'{count} {what}' for what, count in removed.items())} removed")
    elif json:
        print_json(_contents(found))
    else:
        _print(_contents(found))
    return Exit.HOLDS


def _contents(store: lib.store.Store) -> lib.listings.StoreContents:
    """Return what a store holds; nothing where there is no file yet."""
    kept, witnesses, proofs = store.contents() if store.path.exists() else ([], 0, 0)
    return lib.listings.StoreContents(
        store=str(store.path),
        answers=[
            lib.listings.StoredAnswers.taken(x, outcome=x.outcome.value, solver=solver_of(x.solver)) for x in kept
        ],
        witnesses=witnesses,
        proofs=proofs,
        bytes=store.path.stat().st_size if store.path.exists() else 0,
    )


def _print(found: lib.listings.StoreContents) -> None:
    """Print the contents for a person."""
    say(f"{found.store}: {found.bytes} bytes, {found.witnesses} witnesses and {found.proofs} proofs of questions")
    if not found.answers:
        say("no answers of solvers")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("solver", "version", "outcome", "answers", "solver seconds"):
        table.add_column(heading, justify="right" if heading in ("answers", "solver seconds") else "left")
    for x in found.answers:
        name, version = ("", "") if x.solver is None else (x.solver.name, x.solver.version)
        table.add_row(name, version, x.outcome, str(x.answers), f"{x.seconds:.2f}")
    say_table(table)
