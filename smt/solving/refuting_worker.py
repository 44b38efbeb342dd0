"""The process that refutes clauses. It reads clauses, line by line, and writes what is left of them and the proof.

It is started as ``python -P -m mmaproof.smt.solving.refuting_worker MEMORY_BYTES PARENT_PID``. A line that it reads is
a JSON array of clauses. A line that it writes is a JSON object: ``clauses`` and ``steps`` of a refutation
(``lrat.Refutation``), or the reason why there is none in ``problem``.
"""

import gc
import json
import os
import sys

from mmaproof.smt.solving.protocol import die_with_parent, limit_memory, write_all


def main(arguments: list[str]) -> None:
    """Answer line by line until there are no more."""
    memory_bytes, parent = map(int, arguments)
    die_with_parent(parent)
    answers = os.dup(1)
    os.dup2(2, 1)
    gc.disable()

    from mmaproof.smt.solving.lrat import proof_of, refutation_of  # noqa: PLC0415
    from mmaproof.smt.solving.verdict import ProofRejectedError  # noqa: PLC0415

    limit_memory(memory_bytes)
    for line in sys.stdin:
        clauses = json.loads(line)
        try:
            model, steps = proof_of(clauses)
        except ProofRejectedError as problem:  # the solver writes it to a temporary file
            found: dict[str, object] = {"problem": f"{problem}; is there room for temporary files?"}
        else:
            if model is not None:
                found = {"problem": "the clauses are satisfiable"}
            else:
                proof = refutation_of(clauses, steps)
                found = {"clauses": proof.clauses, "steps": proof.steps}
        write_all(answers, json.dumps(found, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
