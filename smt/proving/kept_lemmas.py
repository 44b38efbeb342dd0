"""Lemmas as files, for whoever looks for the reason why a proof was not found.

Whoever asks a lemma calls ``keep`` with the reply. Nothing happens unless a caller further out asked for files
(``keeping``). Names begin with what became of a lemma (failed or proved), and the number says when it was asked. So in
alphabetical order the lemmas that failed come first. Whether a lemma is about anything is a query, too: the
preconditions are met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pysmt.fnode import FNode

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import require_new_folder
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib
from mmaproof.smt.solving.verdict import Outcome, Reply


@dataclass(frozen=True)
class _Folder:
    path: Path
    numbers: Iterator[int]


_KEPT: ContextVar[_Folder | None] = ContextVar("kept lemmas", default=None)


@contextmanager
def keeping(folder: Path | None) -> Iterator[None]:
    """Within this context, write every lemma into a new folder; None for no files.

    Raises InputError if the folder is not empty or cannot be written.
    """
    if folder is None:
        yield
        return
    require_new_folder(folder)
    token = _KEPT.set(_Folder(folder, count(1)))
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_kept() -> bool:
    """Return whether lemmas are written."""
    return _KEPT.get() is not None


def keep(
    who: str, formula: FNode, reply: Reply, terms: Mapping[str, str] | None = None, *, is_precondition: bool = False
) -> None:
    """Write a lemma: the formula that a solver was asked about, for whom, and its reply.

    A lemma is proved if nothing satisfies the formula. The formula of a precondition is satisfied if it is met.
    ``terms`` say what symbols of the formula stand for, by name. Raises InputError if the file cannot be written.
    """
    kept = _KEPT.get()
    if kept is None:
        return
    said = [f"{reply.outcome.value} by {reply.solver} in {reply.seconds:.3f} s"]
    if reply.reason is not None:
        said.append(reply.reason)
    if reply.certified_by is not None:
        said.append(f"certified by {reply.certified_by}")
    model = [f"  {name} = {value:#x}" for name, value in (reply.model or {}).items()]
    stands = [f"  {name}: {text}" for name, text in (terms or {}).items()]
    comments = [
        f"asked for: {who}{', whether its preconditions can be met' if is_precondition else ''}",
        *said,
        *(["a model:", *model] if model else []),
        *(["symbols that stand for terms:", *stands] if stands else []),
    ]
    wanted, became = (Outcome.SAT, "met") if is_precondition else (Outcome.UNSAT, "proved")
    name = became if reply.outcome is wanted else "failed"
    file = kept.path / f"{name}-{next(kept.numbers):04}.smt2"
    try:
        kept.path.mkdir(parents=True, exist_ok=True)
        file.write_text(to_smtlib(Query.of(formula), comments=comments), encoding="ascii")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}; name another folder") from error
