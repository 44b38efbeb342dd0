"""Witnesses and proofs of whole questions in a store.

A stored witness counts only after it was evaluated again. A stored proof counts if the same sources made it, with a
solver that would be asked now, and nothing has to certify it: certificates belong to single queries, which the store
keeps too.
"""

from __future__ import annotations

import json
from pathlib import Path

from mmaproof.designs.element import Operands
from mmaproof.designs.files import digest_of_sources
from mmaproof.properties.property import QuestionVerdict
from mmaproof.properties.question import Question
from mmaproof.smt.solving.portfolio import racers
from mmaproof.smt.solving.query import from_hexadecimal, to_hexadecimal
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.store import KeptProof, Store
from mmaproof.smt.solving.verdict import Status

SOURCES = ("designs", "smt", "rtl", "gemm", "generators", "hardware_replay", "properties", "verification")
"""The folders whose sources decide what is proved."""


def stored_witness(store: Path | None, question: Question) -> tuple[Operands, str] | None:
    """Return stored operands that refute ``question`` on integers, and their origin; None if there are none."""
    if store is None or (key := question.key) is None:
        return None
    found = Store(store).witness(key)
    if found is None:
        return None
    text, origin = found
    operands = _read(question, text)
    return (operands, origin) if operands is not None and question.is_refuted_by(operands) else None


def store_witness(store: Path | None, question: Question, witness: Operands, origin: str) -> None:
    """Keep a witness of ``question`` in the store, with its origin."""
    if store is None or (key := question.key) is None:
        return
    held = (witness.a, witness.b, (witness.c,), witness.scale_a, witness.scale_b)
    record = {
        name: [to_hexadecimal(x, fmt.bits) for x in column]
        for (name, fmt, _), column in zip(question.columns(), held, strict=False)
    }
    Store(store).keep_witness(key, json.dumps(record), origin)


def stored_proof(solving: Solving, question: Question) -> KeptProof | None:
    """Return the proof of ``question`` in the store; None if there is none that counts."""
    if solving.store is None or solving.certify is not None or (key := question.own_key) is None:
        return None
    solvers = racers(solving.solver, solving.jobs)
    kept = Store(solving.store).proofs(key, digest_of_sources(*SOURCES))
    return next((x for solver in solvers for x in kept if x.solver == solver), None)


def store_proof(store: Path | None, found: QuestionVerdict) -> None:
    """Keep that a question is proved, if one solver answered all of its queries. Other verdicts are not kept."""
    if store is None or found.status is not Status.PROVED or found.solver is None or found.stored is not None:
        return
    # lemmas that are not all proved are not part of the proof
    lemmas = found.lemmas if all(x.status is Status.PROVED for x in found.lemmas) else ()
    key = found.question.own_key
    if key is None or any(x.solver != found.solver for x in lemmas):
        return
    kept = KeptProof(found.solver, tuple((x.name, x.stage) for x in lemmas), found.seconds)
    Store(store).keep_proof(key, digest_of_sources(*SOURCES), kept)


def _read(question: Question, text: str) -> Operands | None:
    """Return the operands in a text that ``store_witness`` wrote for this question; None for any other text."""
    try:
        record = json.loads(text)
        columns = [tuple(from_hexadecimal(x, f.bits) for x in record[name]) for name, f, _ in question.columns()]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if [len(column) for column in columns] != [count for _, _, count in question.columns()]:
        return None
    a, b, c, *scales = columns
    return Operands(a, b, c[0], *scales)
