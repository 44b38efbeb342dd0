"""A file that keeps replies: an SQLite database, for many processes at once.

The table ``answers`` holds what one version of one solver said about one query, and the seconds that it took. That is
sat with the values of all symbols, or unsat, but never unknown. An unsat of a checked proof has its certificate: the
SHA-256 of the clauses and the proof. The table ``witnesses`` holds operands that refute a whole question. The table
``proofs`` holds which whole questions these sources of mmaproof proved with which solver. Values that satisfy a query
are used only after the query was evaluated on them. Operands are checked by the caller. A stored unsat and a stored
proof count without a further check, like the reply of the solver itself.

Each write is a transaction of its own, so a process that is killed loses only what it was writing.
"""

import contextlib
import functools
import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mmaproof.smt.solving.backends import UNKNOWN_VERSION
from mmaproof.smt.solving.protocol import Message, decode, encode
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.verdict import MalformedReplyError, Outcome, Reply, SolverIdentity, StoreError

SCHEMA: Final = 3
"""The version of the tables, ``PRAGMA user_version``."""
_APPLICATION: Final = 0x6D6D6170
"""``PRAGMA application_id``, which distinguishes this database from others."""
_BUSY_SECONDS: Final = 5.0
_PROOFS: Final = (
    "CREATE TABLE proofs (question TEXT, sources TEXT, solver TEXT, version TEXT, lemmas TEXT NOT NULL, "
    "seconds REAL NOT NULL, PRIMARY KEY (question, sources, solver, version)) WITHOUT ROWID"
)
_TABLES: Final = (
    "CREATE TABLE answers (query TEXT, solver TEXT, version TEXT, outcome TEXT CHECK (outcome IN ('sat', 'unsat')), "
    "model TEXT, seconds REAL NOT NULL, certificate TEXT, PRIMARY KEY (query, solver, version)) WITHOUT ROWID",
    "CREATE TABLE witnesses (question TEXT PRIMARY KEY, operands TEXT NOT NULL, origin TEXT NOT NULL) WITHOUT ROWID",
    _PROOFS,
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)
_NEWER: Final = {1: "ALTER TABLE answers ADD COLUMN certificate TEXT", 2: _PROOFS}
"""What is new in the version after each one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The number of stored replies of a solver that have the same outcome, and the seconds that they took."""

    solver: SolverIdentity
    outcome: Outcome
    answers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class KeptProof:
    """The proof of a whole question: the solver of all its queries, its lemmas as (name, stage), and what it took."""

    solver: SolverIdentity
    lemmas: tuple[tuple[str, str], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Store:
    """The replies in the file at ``path``. The file is made at its first use.

    ``check``, ``contents`` and ``clear`` raise ``StoreError`` if the file cannot be used. The other methods never fail.
    What cannot be read is treated as missing, what cannot be written is not kept, and a warning is logged once.
    """

    path: Path

    def check(self) -> None:
        """Raise ``StoreError`` if the file is not a store, is a store of a newer version, or cannot be written."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")

    def answers(self, query: Query) -> list[Reply]:
        """Return what solvers said about a query. Each reply is checked as if it came from the solver."""
        rows = []
        with self._going_on(), self._open() as connection:
            wanted = "SELECT solver, version, outcome, model, seconds, certificate FROM answers WHERE query = ?"
            rows = connection.execute(wanted, (_hash(query.text),)).fetchall()
        found = []
        for solver, version, outcome, model, seconds, certificate in rows:
            reply = _reply(query, outcome, model, seconds, certificate)
            if reply is not None:
                identity = SolverIdentity(solver, version)
                kept = Reply(reply.outcome, identity, 0.0, reply.model, stored=reply.seconds)
                found.append(replace(kept, certificate=reply.certificate))
        return found

    def keep(self, query: Query, answer: Reply) -> None:
        """Keep what a solver said about a query, with the values of all symbols of the query.

        Unknown replies are not kept. Replies of a solver whose version is not known are not kept either, because
        another version would share them.
        """
        if answer.outcome is Outcome.UNKNOWN or answer.solver.version == UNKNOWN_VERSION:
            return
        # a solver that reports no time of its own, such as the checker of a proof, took the whole time
        seconds = answer.seconds if answer.solver_seconds is None else answer.solver_seconds
        line = json.loads(encode(Message(answer.outcome, answer.model, seconds=seconds), query.symbols))
        model = json.dumps(line["model"]) if answer.model is not None else None
        solver, outcome = answer.solver, answer.outcome.value
        row = (_hash(query.text), solver.name, solver.version, outcome, model, seconds, answer.certificate)
        self._write("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def witness(self, question: str) -> tuple[str, str] | None:
        """Return the operands kept for the question with this key, and their origin, as texts."""
        row: tuple[Any, Any] | None = None
        with self._going_on(), self._open() as connection:
            wanted = "SELECT operands, origin FROM witnesses WHERE question = ?"
            row = connection.execute(wanted, (_hash(question),)).fetchone()
        return None if row is None else (str(row[0]), str(row[1]))

    def keep_witness(self, question: str, operands: str, origin: str) -> None:
        """Keep operands that refute the question with this key."""
        self._write("INSERT OR REPLACE INTO witnesses VALUES (?, ?, ?)", (_hash(question), operands, origin))

    def proofs(self, question: str, sources: str) -> list[KeptProof]:
        """Return the proofs that were kept of the question with this key, by sources with this digest."""
        rows = []
        with self._going_on(), self._open() as connection:
            wanted = "SELECT solver, version, lemmas, seconds FROM proofs WHERE question = ? AND sources = ?"
            rows = connection.execute(wanted, (_hash(question), sources)).fetchall()
        return [x for row in rows if (x := _proof(*row)) is not None]

    def keep_proof(self, question: str, sources: str, proof: KeptProof) -> None:
        """Keep that sources with this digest proved the question with this key. The solver's version must be known."""
        if proof.solver.version == UNKNOWN_VERSION:
            return
        row = (_hash(question), sources, proof.solver.name, proof.solver.version, json.dumps(proof.lemmas))
        self._write("INSERT OR REPLACE INTO proofs VALUES (?, ?, ?, ?, ?, ?)", (*row, proof.seconds))

    def contents(self) -> tuple[list[Kept], int, int]:
        """Return the replies counted by solver, version and outcome, and the numbers of witnesses and of proofs."""
        with self._open() as connection:
            counted = connection.execute(
                "SELECT solver, version, outcome, COUNT(*), SUM(seconds) FROM answers GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
            ).fetchall()
            held = [connection.execute(f"SELECT COUNT(*) FROM {x}").fetchone()[0] for x in ("witnesses", "proofs")]
        kept = [Kept(SolverIdentity(name, version), Outcome(o), count, s) for name, version, o, count, s in counted]
        return kept, held[0], held[1]

    def clear(self) -> tuple[int, int, int]:
        """Remove everything. Return how many replies, witnesses and proofs there were."""
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            tables = ("answers", "witnesses", "proofs")
            answers, witnesses, proofs = (connection.execute(f"DELETE FROM {x}").rowcount for x in tables)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
        return answers, witnesses, proofs

    def _write(self, statement: str, row: tuple[Any, ...]) -> None:
        with self._going_on(), self._open() as connection:
            connection.execute(statement, row)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection of this thread for one operation. It is closed where that fails."""
        held = _OPEN.files.pop(self.path, None)
        try:
            if held is not None and not held.is_of(self.path):
                held = None  # it is closed before the next one is opened
            held = held or _Connection(self.path)
            if _kind(held.connection) != (_APPLICATION, SCHEMA):
                self._prepare(held.connection)
            held.file = held.file or _file(self.path)
            yield held.connection
        except (sqlite3.Error, OSError) as problem:
            raise self._unusable(f"cannot be used: {problem}") from None
        _OPEN.files[self.path] = held

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables if the file is empty. Raise ``StoreError`` if it holds something else."""
        if _is_empty(connection):
            connection.execute("BEGIN IMMEDIATE")
            # another process may have made them in between
            if _is_empty(connection):
                for statement in _TABLES:
                    connection.execute(statement)
            connection.execute("COMMIT")
            # Readers and a writer do not wait for each other then. It is skipped while others use the file.
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
        if _pragma(connection, "application_id") == _APPLICATION:
            for version, statement in _NEWER.items():
                _bring_up_to_date(connection, version, statement)
        application, version = _kind(connection)
        if application != _APPLICATION:
            raise self._unusable("is a database of something else")
        if version != SCHEMA:
            raise self._unusable(f"is of version {version}, and this mmaproof reads version {SCHEMA}")

    def _unusable(self, why: str) -> StoreError:
        return StoreError(f"the store {self.path} {why}; name another file, or use none (--no-store)")

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        try:
            yield
        except StoreError as problem:
            _warn_once(self.path, str(problem))


class _Connection:
    """A connection to a file, for one thread of one process. To open one takes a hundred times as long as to ask."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        self.file: tuple[int, int] | None = None
        self.connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA synchronous = NORMAL")

    def is_of(self, path: Path) -> bool:
        """Return whether this process opened it, and the path still names its file."""
        try:
            return (self.process, self.file) == (os.getpid(), _file(path))
        except OSError:
            return False

    def __del__(self) -> None:
        # of a forked process it is the connection of another one
        if "connection" in vars(self) and self.process == os.getpid():
            self.connection.close()


class _Open(threading.local):
    """The connections of a thread, by the path of the file."""

    def __init__(self) -> None:
        self.files: dict[Path, _Connection] = {}


_OPEN: Final = _Open()


def _file(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


@functools.cache
def _warn_once(path: Path, problem: str) -> None:
    logging.getLogger("mmaproof").warning("note: %s", problem)


def _kind(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return of what application a database is, and the version of its tables."""
    return _pragma(connection, "application_id"), _pragma(connection, "user_version")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _bring_up_to_date(connection: sqlite3.Connection, version: int, statement: str) -> None:
    """Give the tables of a version what the next one has. Nothing happens if they are of another version."""
    if _pragma(connection, "user_version") != version:
        return
    connection.execute("BEGIN IMMEDIATE")
    if _pragma(connection, "user_version") == version:  # another process may have done it in between
        connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version + 1}")
    connection.execute("COMMIT")


def _proof(solver: object, version: object, lemmas: object, seconds: object) -> KeptProof | None:
    """Return a row as a proof; None if it is malformed."""
    try:
        read = tuple((str(name), str(stage)) for name, stage in json.loads(str(lemmas)))
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(seconds, float):
        return None
    return KeptProof(SolverIdentity(str(solver), str(version)), read, seconds)


def _reply(query: Query, outcome: object, model: object, seconds: object, certificate: object) -> Message | None:
    """Return a row as the reply of a solver; None if it is malformed or its values do not satisfy the query."""
    try:
        message: dict[str, Any] = {"status": outcome, "seconds": seconds}
        if model is not None:
            message["model"] = json.loads(str(model))
        if certificate is not None:
            message["certificate"] = certificate
        reply = decode(json.dumps(message).encode() + b"\n", query.symbols)
    except (ValueError, TypeError, RecursionError, MalformedReplyError):
        return None
    return reply if reply.model is None or query.evaluate(reply.model) else None
