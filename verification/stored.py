"""Witnesses of whole questions in a store. A stored witness counts only after it was evaluated again."""

from __future__ import annotations

import json
from pathlib import Path

from mmaproof.designs.element import Operands
from mmaproof.properties.question import Question
from mmaproof.smt.solving.hexadecimal import from_hexadecimal, to_hexadecimal
from mmaproof.smt.solving.store import Store


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
