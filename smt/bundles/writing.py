"""The files of a bundle. docs/bundle.md specifies them.

SMT-LIB scripts of a bundle, written term by term.

The refutations of the lemmas of a bundle. Lemmas that differ only in the names of symbols are refuted once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pysmt.fnode import FNode

from mmaproof.smt.proving.adders import BY_SUMS, prove_sums
from mmaproof.smt.proving.exhaustion import MOST_BITS, try_all_values
from mmaproof.smt.proving.kernel import Stated, Theorem, up_to_names
from mmaproof.smt.solving.cnf import Asserted, encode_all
from mmaproof.smt.solving.limits import LEAST_SECONDS, Limits, worked
from mmaproof.smt.solving.lrat import Refutation
from mmaproof.smt.solving.query import (
    CONST,
    SYMBOL,
    Node,
    Query,
    node_of,
    plain,
    quoted,
    sort_text,
    term_text,
    to_smtlib,
)
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.smt.solving.sums import SumProof
from mmaproof.smt.solving.verdict import Outcome

_INLINE_CHARACTERS: Final = 60


class Script:
    """The lines of a script. Longer terms have names that begin with $, and are written once."""

    def __init__(self) -> None:
        self.lines = ["(set-logic QF_BV)"]
        self._nodes: list[Node] = []
        self._texts: list[str] = []
        self._positions: dict[FNode, int] = {}

    def declare(self, name: str, width: int) -> None:
        """Declare a symbol."""
        self.lines.append(f"(declare-const {quoted(name)} {sort_text(width)})")

    def define(self, variable: FNode, definition: FNode) -> None:
        """Define a variable as a term of symbols that were declared or defined before."""
        text = self.text(definition)
        node = node_of(variable, self._nodes, self._positions)
        self.lines.append(f"(define-fun {quoted(node.name)} () {sort_text(node.width)} {text})")

    def claim(self, truth: FNode) -> None:
        """Assert a truth value."""
        text = self.text(truth)
        self.lines.append(f"(assert {text})")

    def name(self, term: FNode) -> str:
        """Return the name of a term, which gets one if it has none."""
        text = self.text(term)
        position = self._positions[term]
        if text.startswith(("(", "#")) or text in ("true", "false"):
            text = self._texts[position] = self._named(position, text)
        return text.strip("|")

    def text(self, term: FNode) -> str:
        """Return a term as text. What it needs is written before."""
        pending = [term]
        while pending:
            node = pending[-1]
            missing = [x for x in node.args() if x not in self._positions]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            if node not in self._positions:
                self._take(node)
        return self._texts[self._positions[term]]

    def _take(self, term: FNode) -> None:
        node = node_of(term, self._nodes, self._positions)
        text = term_text(node, self._texts)
        position = self._positions[term] = len(self._nodes)
        self._nodes.append(node)
        if node.operator not in (SYMBOL, CONST) and len(text) > _INLINE_CHARACTERS:
            text = self._named(position, text)
        self._texts.append(text)

    def _named(self, position: int, text: str) -> str:
        self.lines.append(f"(define-fun ${position} () {sort_text(self._nodes[position].width)} {text})")
        return f"${position}"

    def written(self) -> str:
        """Return the script."""
        return "\n".join((*self.lines, ""))


def lemma_script(symbols: Mapping[str, int], asserted: tuple[FNode, ...]) -> str:
    """Return the script that asserts truth values over symbols (name -> width) and asks whether they can hold."""
    script = Script()
    for name, width in symbols.items():
        script.declare(name, width)
    for x in asserted:
        script.claim(x)
    script.lines.append("(check-sat)")
    return script.written()


def definitions_script(symbols: Mapping[str, int], comment: str) -> Script:
    """Return a script that declares operands, to which definitions are added."""
    script = Script()
    script.lines.insert(0, f"; {comment}")
    for name, width in symbols.items():
        script.declare(name, width)
    return script


BEFORE_TRYING = 3.0
"""Seconds in which a SAT solver refutes a lemma of few bits, before all values are tried."""
TRIED: Final = Refutation((), ())
"""What stands for a refutation where the checker tries all values."""
NOT_WRITTEN = frozenset({"bvudiv", "bvurem", "bvsdiv", "bvsrem", "rotate_left", "rotate_right", "bvcomp"})
"""Operators that bundles do not have."""


@dataclass
class Refutations:
    """What was refuted. All of it shares the limits, which begin with the making of this object."""

    refuter: Refuter
    limits: Limits
    _started: float = field(default_factory=worked)
    _known: dict[str, Refutation | SumProof] = field(default_factory=dict)

    def of(self, query: Query, seconds: float | None = None) -> tuple[Asserted, Refutation | SumProof]:
        """Return the clauses of a conjunction, and their refutation.

        Raises NotRefutedError if there is none within the limits (and within N ``seconds``).
        """
        found = sorted({node.operator for node in query.nodes} & NOT_WRITTEN)
        if found:
            raise NotRefutedError(f"a bundle has no {found[0]}")
        encoded, key = encode_all(query), up_to_names(query)
        if key not in self._known:
            left = self.limits.after(worked() - self._started, "earlier lemmas")
            if seconds is not None:
                left = Limits(max(min(left.seconds, seconds), LEAST_SECONDS), left.memory_bytes)
            self._known[key] = self._refuted(query, encoded, left)
        return encoded, self._known[key]

    def refute(self, stated: Stated, seconds: float | None) -> str:
        """Refute a leaf, as the kernel asks for it. Return who did. Raises NotRefutedError."""
        _, found = self.of(stated.query, seconds)
        if isinstance(found, SumProof):
            return BY_SUMS
        return "all values of its symbols" if found is TRIED else "a clausal proof"

    def _refuted(self, query: Query, encoded: Asserted, limits: Limits) -> Refutation | SumProof:
        """Return lemmas about adders where products are added, else the refutation that a SAT solver finds.

        It is ``TRIED`` where that takes long and all values are few.
        """
        with suppress(NotRefutedError):
            return prove_sums(query)
        read = {abs(x) for clause in encoded.clauses for x in clause}
        few = sum(abs(x) in read for word in encoded.symbols.values() for x in word) <= MOST_BITS
        started = worked()
        try:
            first = Limits(min(limits.seconds, BEFORE_TRYING), limits.memory_bytes) if few else limits
            return self.refuter.refute(encoded.clauses, first)
        except NotRefutedError:
            if not few or limits.seconds <= BEFORE_TRYING:
                raise
        tried = try_all_values(query)
        if tried is not None and tried.outcome is Outcome.UNSAT:
            return TRIED
        return self.refuter.refute(encoded.clauses, limits.after(worked() - started, "trying all values"))


FORM, OF_BOUNDS = "mmaproof-bundle-1", "mmaproof-bound-1"


def files_of(
    theorem: Theorem,
    met: Mapping[str, int] | None,
    about: Mapping[str, Any],
    refutations: Refutations,
) -> dict[str, bytes]:
    """Return the files of a bundle, name -> content. ``met`` are operands that meet the preconditions.

    ``about`` is what the manifest says of the question. Raises NotRefutedError if a lemma has no refutation within the
    limits.
    """
    claim = Query.of(theorem.root)
    asked = [*([f"k = {about['k']}"] if "k" in about else []), *(f"where {p}" for p in about.get("where", ()))]
    comments = [f"nothing satisfies this: {about['claim']}", *([f"asked for {', '.join(asked)}"] if asked else [])]
    files = {"claim.smt2": to_smtlib(claim, comments=comments)}
    script = definitions_script(claim.symbols, "each variable, and the term that it stands for")
    for variable, definition in theorem.definitions.items():
        script.define(variable, definition)
    steps = [
        {
            "lemma": _name(step.leaf),
            "with": {_bare(symbol): script.name(term) for symbol, term in step.given.items()},
            "why": step.why,
        }
        for step in theorem.steps
    ]
    composed: dict[str, Any] = {"steps": steps}
    if met is not None:
        composed["met"] = {_bare(name): value for name, value in met.items()}
    files["definitions.smt2"] = script.written()
    files["composition.json"] = _text_of(composed)
    for number, lemma in enumerate(theorem.leaves):
        query, why = lemma.stated.query, lemma.stated.why
        text = f"; {plain(why)}\n{lemma_script(query.symbols, lemma.stated.all)}"
        files |= lemma_files(_name(number), why, text, query, refutations)
    return with_manifest(FORM, about, files)


def bound_files(
    claim: Mapping[str, Any], derivation: Mapping[str, Any], lemmas: Mapping[str, str], about: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the files of a bundle of a bound: what is claimed, its derivation, and the files of lemmas."""
    files = {"bound.json": _text_of(claim), "derivation.json": _text_of(derivation), **lemmas}
    return with_manifest(OF_BOUNDS, about, files)


MOST_BYTES, MOST_BYTES_OF_ALL = 1 << 25, 1 << 28
"""Of a proof and of a bundle: what the checker reads. Of a file of another kind it reads a quarter of that."""


def with_manifest(form: str, about: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, bytes]:
    """Return files as bytes, with the manifest that has their hashes.

    Raises NotRefutedError if the checker would not read them, because they are too large.
    """
    data = {name: text.encode("ascii") for name, text in files.items()}
    for name, content in data.items():
        most = MOST_BYTES if name.endswith((".cnf", ".lrat")) else MOST_BYTES >> 2
        if len(content) > most:
            raise NotRefutedError(f"{name} has {len(content) >> 20} MiB, and the checker reads {most >> 20}")
    size = sum(map(len, data.values()))
    if size > MOST_BYTES_OF_ALL:
        raise NotRefutedError(f"it has {size >> 20} MiB, and the checker reads {MOST_BYTES_OF_ALL >> 20}")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
    return data | {"manifest.json": _text_of({"form": form, **about, "files": hashes}).encode("ascii")}


def lemma_files(name: str, why: str, script: str, query: Query, refutations: Refutations) -> dict[str, str]:
    """Return the files of a lemma: its script, which asserts what the query does, and its refutation.

    Raises NotRefutedError.
    """
    try:
        encoded, refuted = refutations.of(query)
    except NotRefutedError as problem:
        raise NotRefutedError(f"lemma {name} ({why}): {problem}") from None
    if refuted is TRIED:
        return {f"lemmas/{name}.smt2": script}
    if isinstance(refuted, SumProof):
        proof = {"gates": refuted.gates, "lemmas": [(x.inputs, x.using, x.sum) for x in refuted.lemmas]}
        text = json.dumps(proof | {"order": refuted.order}, separators=(",", ":"))
        return {f"lemmas/{name}.smt2": script, f"lemmas/{name}.sums.json": text + "\n"}
    variables = {_bare(symbol): list(word) for symbol, word in encoded.symbols.items()}
    return {
        f"lemmas/{name}.smt2": script,
        f"lemmas/{name}.cnf": _dimacs(refuted, encoded.variables),
        f"lemmas/{name}.map.json": _text_of(variables),
        f"lemmas/{name}.lrat": refuted.lrat(),
    }


def _dimacs(refuted: Refutation, variables: int) -> str:
    lines = (" ".join(map(str, (*clause, 0))) for clause in refuted.clauses)
    return "\n".join((f"p cnf {variables} {len(refuted.clauses)}", *lines, ""))


def _name(number: int) -> str:
    return f"{number + 1:04}"


def _bare(name: str) -> str:
    return quoted(name).strip("|")


def _text_of(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=1) + "\n"
