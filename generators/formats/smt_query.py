"""The question whether two designs are equivalent as an SMT-LIB 2 script, for solvers outside this project."""

from __future__ import annotations

from mmaproof.generators.formats.selection import plain
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.smtlib import to_smtlib


def equivalence_script(question: Equivalence, version: str) -> str:
    """Return the query of ``compare`` in QF_BV: operands that meet the preconditions and tell the designs apart.

    Its symbols are the bit patterns a0_FORMAT, ..., b0_FORMAT, ..., c0_FORMAT and those of scales.
    """
    first, second = (plain(x.name) for x in question.designs)
    where = ", ".join(map(str, question.where))
    comments = [
        f"Are there operands for which d of {first} differs from d of {second}?",
        f"asked for k = {question.k}" + (f", where {where}" if where else ""),
        "two NaNs are equal " + ("only if their bits are" if question.nan_codes else "whatever their codes"),
        "+0 and -0 " + ("differ" if question.zero_signs else "are equal"),
        "sat: they are different, and the values are such operands (bit patterns)",
        "unsat: they are equivalent" + (" wherever the preconditions hold, if they hold anywhere" if where else ""),
        f"by mmaproof {version}",
    ]
    return to_smtlib(Query.of(question.formula.violation), comments=comments)
