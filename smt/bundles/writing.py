"""The files of a bundle. docs/bundle.md specifies them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mmaproof.smt.bundles.refutations import TRIED, Refutations
from mmaproof.smt.bundles.scripts import definitions_script, lemma_script
from mmaproof.smt.proving.kernel import Theorem
from mmaproof.smt.solving.lrat import Refutation
from mmaproof.smt.solving.query import Query
from mmaproof.smt.solving.refuting import NotRefutedError
from mmaproof.smt.solving.smtlib import plain, quoted, to_smtlib
from mmaproof.smt.solving.sums import SumProof

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


def with_manifest(form: str, about: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, bytes]:
    """Return files as bytes, with the manifest that has their hashes."""
    data = {name: text.encode("ascii") for name, text in files.items()}
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
