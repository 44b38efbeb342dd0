"""The exceptions of this package: one tree, whose leaves are also the built-in exceptions that they resemble.

A solver that times out, runs out of memory or crashes raises nothing. Its reply is unknown, with a reason. Exceptions
are for questions that cannot be asked and for contradictions inside mmaproof.
"""

from collections.abc import Mapping, Sequence


class SolvingError(Exception):
    """Base of everything that ``mmaproof.smt.solving`` raises."""


class LimitError(SolvingError, ValueError):
    """A time or memory limit that cannot be read or is out of range."""


class UnknownSolverError(SolvingError, ValueError):
    """A solver name that is not one of the back ends."""


class SolverNotInstalledError(SolvingError, RuntimeError):
    """A back end whose Python package is missing."""


class UnsupportedFormulaError(SolvingError, ValueError):
    """A formula outside quantifier-free bit-vector logic (QF_BV), or one that is not a truth value."""


class MalformedQueryError(SolvingError, ValueError):
    """A text that is not a query in canonical form."""


class MalformedReplyError(SolvingError, ValueError):
    """A solver process wrote something that is not a reply."""


class StoreError(SolvingError, ValueError):
    """A file that cannot be used as a store of replies."""


class SolversDisagree(SolvingError, RuntimeError):  # noqa: N818 - named for what happened
    """One solver says that a query is sat and another says that it is unsat. One of them is wrong.

    Attributes: ``answers`` (what each of them said, in words) and ``files`` (the query as SMT-LIB 2 scripts, if kept).
    """

    def __init__(self, answers: Sequence[str], files: Sequence[str], problem: str | None) -> None:
        kept = f"the query is kept in {' and '.join(files)}" if problem is None else f"the query is lost: {problem}"
        super().__init__(f"{' and '.join(answers)} to the same query, so nothing is known; {kept}")
        self.answers = tuple(answers)
        self.files = tuple(files)


class ProofRejectedError(SolvingError, ValueError):
    """A text is not a proof, or a proof does not show what it should."""


class WitnessDoesNotReplay(SolvingError, RuntimeError):  # noqa: N818 - named for what happened
    """A witness of the formula is not a violation when it is evaluated on integers. Formula and evaluation disagree.

    Attributes: ``model`` (symbol name -> value) and ``query`` (the query as an SMT-LIB 2 script).
    """

    def __init__(self, model: Mapping[str, int], query: str) -> None:
        values = ", ".join(f"{name}={value:#x}" for name, value in model.items())
        super().__init__(
            f"internal error: the witness {values} satisfies the formula but is not a violation when evaluated "
            "concretely; the formula and the concrete evaluation disagree (the attribute `query` holds the "
            "formula as SMT-LIB)"
        )
        self.model = dict(model)
        self.query = query
