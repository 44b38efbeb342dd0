"""The answer to one question: the outputs of `run`, `compare`, `check`, `gemm run` and `rtl prove`."""

from __future__ import annotations

from collections.abc import Sequence

from mmaproof.explain import Picture
from mmaproof.explain.reports.page import Cell, Markup, code, facts, fold, heading, paragraph, table
from mmaproof.explain.reports.record import Record
from mmaproof.explain.reports.witnesses import Find, pictures_html, witness_html

_FACTS = (
    *("verdict", "when", "property", "design", "designs", "unit", "algorithm", "plan", "k", "where", "value", "reason"),
    *("origin", "seconds", "cells", "registers", "latency", "a", "b", "c", "scale_a", "scale_b"),
    *("d", "exact", "error", "ulps", "assumptions"),
)
_PATTERNS = ("a", "b", "c", "scale_a", "scale_b", "d", "design", "designs", "unit")


def is_answer(record: Record) -> bool:
    """Return whether a record is the output of one of these commands."""
    return record.has("verdict", "k") or record.has("k", "a", "b", "c", "d")


def answer_title(record: Record) -> str:
    """Return the answer in a line."""
    names = (
        record.texts("designs")
        if "designs" in record
        else [record.text(x) for x in ("unit", "algorithm", "plan", "property", "design") if x in record]
    )
    verdict = f"{record.text('verdict')}: " if "verdict" in record else ""
    if record.held.get("when"):
        verdict = verdict.replace("-when", f" when {' and '.join(record.texts('when'))}")
    return verdict + (f"{names[0]} on {names[1]}" if "property" in record else " and ".join(names))


def answer_html(record: Record, find: Find, pictures: Sequence[tuple[str, Picture]] | None = None) -> Markup:
    """Return an answer. The pictures are those given, or else drawn from the operands in the record."""
    parts: list[str] = [facts({name: _fact(record, name) for name in _FACTS if name in record})]
    for name in ("solver", "certified_by"):
        if name in record:
            solver = record.record(name)
            parts.append(facts({name.replace("_", " "): f"{solver.text('name')} {solver.text('version')}"}))
    if record.held.get("certificate_covers"):
        parts.append(facts({"certificate covers": record.text("certificate_covers")}))
    if pictures is not None:
        parts += [heading("Picture"), pictures_html(pictures)] if pictures else []
    elif "witness" in record:
        parts += [heading("Witness"), _witness(record.record("witness"), find)]
    elif record.has("a", "b", "c", "d", "design"):
        parts += [heading("Picture"), witness_html(record, {record.text("design"): record.text("d")}, find)]
    if "witness" in record and record.record("witness").has("nets"):
        parts.append(_nets(record.record("witness")))
    if record.held.get("lemmas"):
        parts.append(lemmas_html(record))
    return Markup("".join(parts))


def _fact(record: Record, name: str) -> Cell:
    value = record.held[name]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return code(text.replace(", ", ",") if name not in ("designs",) else text) if name in _PATTERNS else text


def _witness(witness: Record, find: Find) -> Markup:
    """Return the operands of a comparison, or the runs of a property."""
    if witness.has("outputs"):
        outputs = witness.record("outputs")
        return witness_html(witness, {name: outputs.text(name) for name in outputs}, find)
    return runs_html(witness.records("runs"), find)


def runs_html(runs: Sequence[Record], find: Find) -> Markup:
    """Return the runs that show what a property says."""
    parts = []
    for number, run in enumerate(runs, start=1):
        of_step = ", one step of the instruction" if run.held.get("step") else ""
        parts.append(paragraph(f"run {number}{of_step}"))
        parts.append(witness_html(run, {run.text("design"): run.text("d")}, find))
    return Markup("".join(parts))


def _nets(witness: Record) -> Markup:
    """Return the nets of RTL that differ from the model, and what a simulator returned."""
    rows = [
        [x.text("net"), x.text("signal"), code(x.text("model")), code(x.text("rtl")), x.text("share")]
        for x in witness.records("nets")
    ]
    heads = ["net", "signal of the model", "model", "RTL", "share of samples that agree"]
    parts: list[str] = [heading("Nets that differ"), table("nets that differ", heads, rows)] if rows else []
    if "simulator" in witness:
        ran = witness.record("simulator")
        result = f"{ran.text('name')}: d = {ran.text('d')}" if "d" in ran else ran.text("reason", "did not run")
        parts.append(paragraph(f"replayed on the sources: {result}"))
    return Markup("".join(parts))


def lemmas_html(record: Record) -> Markup:
    """Return the lemmas behind an answer, folded."""
    lemmas = record.records("lemmas")
    rows: list[list[Cell]] = []
    for x in lemmas:
        solver = x.record("solver") if "solver" in x else None
        by = "" if solver is None else f"{solver.text('name')} {solver.text('version')}"
        rows.append([x.text("name"), x.text("stage", ""), x.text("status"), x.text("seconds"), by])
    proved = sum(row[2] == "proved" for row in rows)
    caption = f"{len(lemmas)} lemmas, {proved} proved"
    return fold(caption, table(caption, ["lemma", "stage", "status", "seconds", "solver"], rows))
