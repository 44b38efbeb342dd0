"""The reply of a solver process to its parent: one JSON object on one line, and nothing else.

It is ``{"status": "sat", "model": {NAME: "0x..."}, "seconds": SECONDS}`` with the value of every symbol of the query,
``{"status": "unsat", "seconds": SECONDS}``, or ``{"status": "unknown", "reason": REASON}``. Whoever checked a proof
adds ``"certificate": HASH`` to unsat, the SHA-256 of the clauses and the proof.

A process that is kept for many queries reads each as a ``Header`` and the bytes of its text. It writes the number of
the query and a space before the object, so that a line is never taken for the answer to another query.

This module does not import pySMT, so that a process that fails while it loads can still reply.

What all solver processes have in common: their limits, and what they write.

Such a process limits its own CPU time, and on Linux also its address space. It never outlives its parent. It writes one
line for a query, as described above. ``kept_worker`` answers queries by an SMT solver, and ``proof_worker``
answers one by a proof.

Only light modules are imported here, because a process sets its limits before it loads anything slow.
"""

import ctypes
import gc
import json
import math
import os
import re
import resource
import signal
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, assert_never

from mmaproof.smt.solving.query import from_hexadecimal, to_hexadecimal
from mmaproof.smt.solving.verdict import Cause, MalformedReplyError, Outcome

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


_PR_SET_PDEATHSIG: Final = 1
# cvc5 recurses over the formula. The usual 8 MiB of stack suffice for a depth of about 10,000 operators. Linux leaves
# at least 128 MiB of address space below the stack of a process.
_STACK_BYTES: Final = 100 << 20


def answer_one_query(arguments: list[str], answer: Callable[[str, int], bytes]) -> None:
    """Answer one query and end the process. ``answer(solver, memory_bytes)`` returns the line to write.

    The arguments are SOLVER MEMORY_BYTES CPU_SECONDS PARENT_PID.
    """
    solver, memory_bytes, cpu_seconds, parent = arguments
    die_with_parent(int(parent))
    answers = begin(solver)
    limit_cpu(int(cpu_seconds))
    line = answer_or_reason(solver, lambda: answer(solver, int(memory_bytes)))
    write_all(answers, line)
    # The process ends without freeing the solver and its terms, which would take time.
    os._exit(0)


def begin(solver: str) -> int:
    """Set what holds for the whole process. Return the file descriptor to which the answers go."""
    set_soft(resource.RLIMIT_STACK, _STACK_BYTES)
    # A crash is reported by its signal. A core file could have gigabytes.
    set_soft(resource.RLIMIT_CORE, 0)
    # Terms are acyclic, so garbage collection would only walk millions of live objects.
    gc.disable()
    # pySMT writes constants for Z3 in decimal, of which Python allows 4300 digits.
    sys.set_int_max_str_digits(0)
    if solver != "z3":
        # pySMT would import Z3 for algebraic numbers, which are not used here. That takes 25 ms and 33 MB.
        sys.modules["z3"] = None  # type: ignore[assignment]
    # Solver libraries may print, but only the reply goes to the parent.
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def die_with_parent(parent: int) -> None:
    """End this process when its parent ends."""
    # For Linux the parent is the thread that started this process, and that thread waits for it.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have ended before the line above.
    if os.getppid() != parent:
        os._exit(1)


def limit_cpu(seconds: int) -> None:
    """Limit the CPU time to N seconds in addition to what was used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    set_soft(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + seconds)


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space to N bytes in addition to what is mapped now."""
    if sys.platform == "linux":
        set_soft(resource.RLIMIT_AS, mapped_bytes() + memory_bytes)


def mapped_bytes() -> int:
    """Return the size of the address space on Linux, and 0 elsewhere."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def lift_memory_limit() -> None:
    """Take the limit of ``limit_memory`` back."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def set_soft(limit: int, wanted: int) -> None:
    """Set the soft limit as far as the hard limit allows. The hard limit stays."""
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def answer_or_reason(solver: str, answer: Callable[[], bytes]) -> bytes:
    """Return the line to write. A Python exception becomes a reply with its reason."""
    detail = "no more memory within the limit"
    try:
        return answer()
    except MemoryError:
        cause = Cause.MEMORY
    except Exception as problem:
        detail = f"{type(problem).__name__}: {problem}"
        cause = Cause.MEMORY if is_out_of_memory(detail) else Cause.SOLVER_ERROR
    # This leaves room for writing the reason.
    lift_memory_limit()
    return unknown(cause, f"{solver}: {detail}")


def unknown(cause: Cause, detail: str) -> bytes:
    """Return the line of a reply without an answer."""
    return encode(Message(Outcome.UNKNOWN, reason=cause.reason(detail)), {})


def write_all(file: int, text: bytes) -> None:
    """Write all bytes to a file descriptor."""
    while text:
        text = text[os.write(file, text) :]
