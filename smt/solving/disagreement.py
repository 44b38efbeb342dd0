"""The replies of several solvers to one query are compared. A contradiction is kept in files that show it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from mmaproof.smt.solving.errors import SolversDisagree
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib
from mmaproof.smt.solving.verdict import Outcome, Reply


def require_agreement(query: Query, answers: Sequence[Reply]) -> None:
    """Raise ``SolversDisagree`` if one reply is sat and another is unsat. Unknown agrees with everything.

    The query is then written to the current directory, once for each of the two solvers, with its reply at the top.
    """
    sat, unsat = ([a for a in answers if a.outcome is outcome] for outcome in (Outcome.SAT, Outcome.UNSAT))
    if not (sat and unsat):
        return
    both = sat[0], unsat[0]
    said = [_words(answer) for answer in both]
    name = f"mmaproof-disagreement-{hashlib.sha256(query.text.encode()).hexdigest()[:16]}"
    files, problem = [], None
    try:
        for answer, words, other in zip(both, said, reversed(said), strict=True):
            path = Path(f"{name}-{answer.solver.name}.smt2")
            path.write_text(to_smtlib(query, comments=[words, other]), encoding="utf-8")
            files.append(str(path))
    except OSError as error:
        problem = str(error)
    raise SolversDisagree(said, files, problem)


def _words(answer: Reply) -> str:
    words = f"{answer.solver} said {answer.outcome.value}"
    return words if answer.stored is None else f"{words} (stored)"
