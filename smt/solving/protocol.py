"""The reply of a solver process to its parent: one JSON object on one line, and nothing else.

It is ``{"status": "sat", "model": {NAME: "0x..."}, "seconds": SECONDS}`` with the value of every symbol of the query,
``{"status": "unsat", "seconds": SECONDS}``, or ``{"status": "unknown", "reason": REASON}``. Whoever checked a proof
adds ``"certificate": HASH`` to unsat, the SHA-256 of the clauses and the proof.

A process that is kept for many queries reads each as a ``Header`` and the bytes of its text. It writes the number of
the query and a space before the object, so that a line is never taken for the answer to another query.

This module does not import pySMT, so that a process that fails while it loads can still reply.
"""

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, assert_never

from mmaproof.smt.solving.errors import MalformedReplyError
from mmaproof.smt.solving.query import from_hexadecimal, to_hexadecimal
from mmaproof.smt.solving.verdict import Cause, Outcome

_KEYS: Final = {
    Outcome.SAT: {"status", "model", "seconds"},
    Outcome.UNSAT: {"status", "seconds"},
    Outcome.UNKNOWN: {"status", "reason"},
}

# Parts of the messages with which libraries report a failed allocation, in lower case.
_OUT_OF_MEMORY: Final = (
    "bad_alloc",
    "memoryerror",
    "out of memory",
    "cannot allocate memory",
    "failed to map segment",
)


@dataclass(frozen=True)
class Message:
    """What a solver process found out. The fields are those of ``Reply``; ``seconds`` is the time in the solver."""

    outcome: Outcome
    model: Mapping[str, int] | None = None
    reason: str | None = None
    seconds: float | None = None
    certificate: str | None = None


class Header(NamedTuple):
    """What comes before the text of a query: its number, its length in bytes, and the limits of the process."""

    number: int
    length: int
    memory_bytes: int
    cpu_seconds: int

    @classmethod
    def parse(cls, start: bytes) -> "Header":
        """Read ``HEADER_BYTES`` bytes."""
        return cls(*_HEADER.unpack(start))

    @property
    def bytes(self) -> bytes:
        """What is sent."""
        return _HEADER.pack(*self)


_HEADER: Final = struct.Struct("<4Q")
HEADER_BYTES: Final = _HEADER.size


def is_out_of_memory(text: str) -> bool:
    """Return whether an error text is about a failed allocation."""
    return any(sign in text.lower() for sign in _OUT_OF_MEMORY)


def encode(reply: Message, symbols: Mapping[str, int]) -> bytes:
    """Return the line of a reply. ``symbols`` are those of the query: name -> width in bits."""
    message: dict[str, Any] = {"status": reply.outcome.value}
    match reply.outcome:
        case Outcome.UNKNOWN:
            message |= {"reason": reply.reason}
        case Outcome.SAT | Outcome.UNSAT:
            message |= {"seconds": reply.seconds}
        case _:
            assert_never(reply.outcome)
    if reply.certificate is not None:
        message |= {"certificate": reply.certificate}
    if reply.model is not None:
        message |= {"model": {name: to_hexadecimal(reply.model[name], width) for name, width in symbols.items()}}
    return json.dumps(message).encode() + b"\n"


def decode(output: bytes, symbols: Mapping[str, int]) -> Message:
    """Read a reply to a query with these symbols (name -> width in bits).

    Raises ``MalformedReplyError`` for anything that ``encode`` does not write.
    """
    try:
        message = json.loads(output.decode(), object_pairs_hook=_each_once)
        outcome = Outcome(message["status"])
        if output.find(b"\n") != len(output) - 1 or message.keys() not in _keys(outcome):
            raise ValueError("not one line with the keys of its status")
        return _reply(outcome, message, symbols)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        start = output[:120].decode(errors="replace")
        raise MalformedReplyError(f"the solver process wrote no answer but {start!r}: {problem}") from None


def _keys(outcome: Outcome) -> tuple[set[str], ...]:
    """Return the keys that a reply may have."""
    keys = _KEYS[outcome]
    return (keys, keys | {"certificate"}) if outcome is Outcome.UNSAT else (keys,)


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; ValueError where it says two things of one key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice in one object")
    return found


def _reply(outcome: Outcome, message: Mapping[str, Any], symbols: Mapping[str, int]) -> Message:
    if outcome is Outcome.UNKNOWN:
        reason = message["reason"]
        if not (isinstance(reason, str) and reason.startswith(tuple(f"{cause.value}:" for cause in Cause))):
            raise ValueError(f"reason {reason!r} names no cause")
        return Message(outcome, reason=reason)
    seconds = message["seconds"]
    if type(seconds) is not float or not 0 <= seconds < math.inf:
        raise ValueError(f"seconds {seconds!r} is not a time")
    match outcome:
        case Outcome.UNSAT:
            certificate = message.get("certificate")
            if certificate is not None and not re.fullmatch("[0-9a-f]{64}", certificate):
                raise ValueError(f"certificate {certificate!r} is not a SHA-256")
            return Message(outcome, seconds=seconds, certificate=certificate)
        case Outcome.SAT:
            values = message["model"]
            if values.keys() != symbols.keys():
                raise ValueError("the model does not have the symbols of the query")
            model = {name: from_hexadecimal(values[name], width) for name, width in symbols.items()}
            return Message(outcome, model=model, seconds=seconds)
        case _:
            assert_never(outcome)
