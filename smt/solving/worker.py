"""The solver process. It reads one query from standard input, writes one line and ends.

``mmaproof.smt.solving.process`` starts it as ``python -P -m mmaproof.smt.solving.worker SOLVER MEMORY_BYTES CPU_SECONDS
PARENT_PID``. ``protocol`` describes the line. The process limits its own CPU time. On Linux it also limits its address
space, and it dies with its parent. ``proof_worker`` does all this too, but finds its reply in another way.

Only light modules are imported at the top, because the process sets its limits before it loads anything slow.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mmaproof.smt.solving.protocol import Message, encode, is_out_of_memory
from mmaproof.smt.solving.verdict import Cause, Outcome

_PR_SET_PDEATHSIG: Final = 1
# cvc5 recurses over the formula. The usual 8 MiB of stack suffice for a depth of about 10,000 operators. Linux leaves
# at least 128 MiB of address space below the stack of a process.
_STACK_BYTES: Final = 100 << 20


def run(arguments: list[str], answer: Callable[[str, int], bytes]) -> None:
    """Answer one query and end the process. ``answer(solver, memory_bytes)`` returns the line to write."""
    solver, memory_bytes, cpu_seconds, parent = arguments
    _die_with_parent(int(parent))
    _set_soft(resource.RLIMIT_CPU, int(cpu_seconds))
    _set_soft(resource.RLIMIT_STACK, _STACK_BYTES)
    # A crash is reported by its signal. A core file could have gigabytes.
    _set_soft(resource.RLIMIT_CORE, 0)
    # Terms are acyclic and the process is short, so garbage collection would only walk millions of live objects.
    gc.disable()
    # pySMT writes constants for Z3 in decimal, of which Python allows 4300 digits.
    sys.set_int_max_str_digits(0)
    if solver != "z3":
        # pySMT would import Z3 for algebraic numbers, which are not used here. That takes 25 ms and 33 MB.
        sys.modules["z3"] = None  # type: ignore[assignment]
    # Solver libraries may print, but only the reply goes to the parent.
    answer_to = os.dup(1)
    os.dup2(2, 1)
    line = _answer_or_reason(solver, int(memory_bytes), answer)
    while line:
        line = line[os.write(answer_to, line) :]
    # The process ends without freeing the solver and its terms, which would take time.
    os._exit(0)


def _die_with_parent(parent: int) -> None:
    # For Linux the parent is the thread that started this process, and that thread waits for the reply.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have ended before the line above.
    if os.getppid() != parent:
        os._exit(1)


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space to so many bytes in addition to what is mapped now."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _set_soft(resource.RLIMIT_AS, pages * resource.getpagesize() + memory_bytes)


def _set_soft(limit: int, wanted: int) -> None:
    """Set the soft limit as far as the hard limit allows. The hard limit stays."""
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _answer_or_reason(solver: str, memory_bytes: int, answer: Callable[[str, int], bytes]) -> bytes:
    """Return the line to write. A Python exception becomes a reply with its reason."""
    detail = "no more memory within the limit"
    try:
        return answer(solver, memory_bytes)
    except MemoryError:
        cause = Cause.MEMORY
    except Exception as problem:
        detail = f"{type(problem).__name__}: {problem}"
        cause = Cause.MEMORY if is_out_of_memory(detail) else Cause.SOLVER_ERROR
    # The limit is raised to leave room for writing the reason.
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return _unknown(cause, f"{solver}: {detail}")


def _answer(solver: str, memory_bytes: int) -> bytes:
    """Return the line that answers the query on standard input."""
    from pysmt.exceptions import SolverReturnedUnknownResultError  # noqa: PLC0415

    from mmaproof.smt.environment import default_environment  # noqa: PLC0415
    from mmaproof.smt.solving.backends import BACKENDS  # noqa: PLC0415
    from mmaproof.smt.solving.query import Query  # noqa: PLC0415

    environment = default_environment()
    backend = BACKENDS[solver]
    engine = backend.load(environment)
    # The limit is set only now, because a library that cannot be mapped fails with a reason that does not name memory.
    limit_memory(memory_bytes)
    query = Query.parse(sys.stdin.buffer.read().decode())
    formula = query.formula(environment.formula_manager)
    started = time.perf_counter()
    # The formula is asserted and not passed as an assumption, because Z3 is 50 to 90 times slower with an assumption.
    engine.add_assertion(formula)
    try:
        outcome = Outcome.SAT if engine.solve() else Outcome.UNSAT
    except SolverReturnedUnknownResultError:
        detail = f"{solver} gave up: {backend.why_unknown(engine)}"
        return _unknown(Cause.MEMORY if is_out_of_memory(detail) else Cause.SOLVER_ERROR, detail)
    model = None
    if outcome is Outcome.SAT:
        model = {name: _value(engine, environment.formula_manager.get_symbol(name)) for name in query.symbols}
    return encode(Message(outcome, model=model, seconds=time.perf_counter() - started), query.symbols)


def _value(engine: Any, symbol: Any) -> int:
    return int(engine.get_value(symbol).constant_value())


def _unknown(cause: Cause, detail: str) -> bytes:
    return encode(Message(Outcome.UNKNOWN, reason=cause.reason(detail)), {})


def main(arguments: list[str]) -> None:
    """Answer one query by an SMT solver and end the process."""
    run(arguments, _answer)


if __name__ == "__main__":
    main(sys.argv[1:])
