"""What all solver processes have in common: their limits, and what they write.

Such a process limits its own CPU time, and on Linux also its address space. It never outlives its parent. It writes one
line for a query, which ``protocol`` describes. ``kept_worker`` answers queries by an SMT solver, and ``proof_worker``
answers one by a proof.

Only light modules are imported here, because a process sets its limits before it loads anything slow.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mmaproof.smt.solving.protocol import Message, encode, is_out_of_memory
from mmaproof.smt.solving.verdict import Cause, Outcome

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
