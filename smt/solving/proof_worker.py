"""The process that certifies. It reads one query, and a SAT solver proves that nothing satisfies its clauses.

It is started as ``python -P -m mmaproof.smt.solving.proof_worker STEM SOLVER MEMORY_BYTES CPU_SECONDS PARENT_PID``. If
STEM is not empty, it writes the clauses to STEM.cnf and the proof to STEM.lrat. It replies unsat only after the proof
was checked. ``protocol`` describes everything else.
"""

import hashlib
import sys
import time
from pathlib import Path

from mmaproof.smt.solving.protocol import Message, answer_one_query, encode, limit_memory
from mmaproof.smt.solving.verdict import Outcome


def main(arguments: list[str]) -> None:
    """Answer one query by a proof and end the process."""
    stem, *others = arguments
    answer_one_query(others, lambda _, memory_bytes: _answer(stem, memory_bytes))


def _answer(stem: str, memory_bytes: int) -> bytes:
    """Return the line that answers the query on standard input.

    Raises ``ProofRejectedError``, and ``OSError`` when a file cannot be written.
    """
    from mmaproof.smt.solving import cnf  # noqa: PLC0415
    from mmaproof.smt.solving.lrat import check, lrat_of, proof_of  # noqa: PLC0415
    from mmaproof.smt.solving.query import Query  # noqa: PLC0415

    # The limit is set only now; ``kept_worker`` says why.
    limit_memory(memory_bytes)
    query = Query.parse(sys.stdin.buffer.read().decode())
    started = time.process_time()
    encoded = cnf.encode(query)
    found, steps = proof_of(encoded.clauses)
    if found is not None:
        model = encoded.model(found)
        return encode(Message(Outcome.SAT, model=model, seconds=time.process_time() - started), query.symbols)
    clauses, proof = encoded.dimacs(), lrat_of(steps)
    if stem:
        Path(f"{stem}.cnf").write_text(clauses, encoding="ascii")
        Path(f"{stem}.lrat").write_text(proof, encoding="ascii")
    check(encoded.clauses, steps)
    certificate = hashlib.sha256((clauses + proof).encode("ascii")).hexdigest()
    answer = Message(Outcome.UNSAT, seconds=time.process_time() - started, certificate=certificate)
    return encode(answer, query.symbols)


if __name__ == "__main__":
    main(sys.argv[1:])
