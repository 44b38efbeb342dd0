"""Vector files: operands and the results of designs for them, one JSON object per line (JSON Lines).

A line holds ``a``, ``b`` (lists of hexadecimal patterns), ``c``, scales where there are any, the formats,
``outputs`` (design name -> d), ``why`` (what the vector shows), ``tags`` (the events that it hits), ``origin`` (search,
or a solver with its version), ``seed`` of random operands and ``version`` of the tool. Only the operands, formats and
outputs are needed to read one.

Sources of operands: recordings, vector files, and distributions of random ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.designs.files import parse_object, read_text, why_unreadable, write_atomically
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.explain.answers.answer import OperandSet
from mmaproof.explain.figure import standalone
from mmaproof.explain.reports.page import witness_html
from mmaproof.hardware_replay.tables.reading import Wanted, read_operands
from mmaproof.hardware_replay.tables.recognise import STDIN, files_of
from mmaproof.hardware_replay.target import Answers, Numbered, Rows, listed
from mmaproof.verification.distributions import DISTRIBUTIONS, draw


@dataclass(frozen=True)
class Vector:
    """Operands in formats a, b, c, and the patterns (format d) that designs return for them.

    ``scale_format`` is None where the operands have no scales. ``tags`` are what the vector hits, ``seed`` is that of
    the random operands it was found among.
    """

    operands: Operands
    formats: tuple[Format, Format, Format, Format]
    outputs: Mapping[str, int]
    why: str = ""
    origin: str = ""
    version: str = ""
    scale_format: Format | None = None
    tags: tuple[str, ...] = ()
    seed: int | None = None

    def _repr_html_(self) -> str:
        record = json.loads(vector_line(self))
        held = OperandSet(**{n: x for n, x in record.items() if n in ("a", "b", "c", "scale_a", "scale_b")})
        drawn = witness_html(held, {name: self.formats[3].hex(d) for name, d in self.outputs.items()}, find_design)
        return standalone((f"<p>{escape(self.why)}</p>" if self.why else "") + drawn)


@dataclass(frozen=True)
class VectorFile:
    """The good lines of a file with their line numbers, and a message for each bad one."""

    path: Path
    vectors: dict[int, Vector]
    problems: list[str] = field(default_factory=list)


def vector_line(vector: Vector) -> str:
    """Return ``vector`` as one line of JSON, without the newline."""
    a, b, c, d = vector.formats
    record: dict[str, Any] = {f"{x}_format": f.name for x, f in zip("abcd", vector.formats, strict=True)}
    record |= {
        "a": [a.hex(x) for x in vector.operands.a],
        "b": [b.hex(x) for x in vector.operands.b],
        "c": c.hex(vector.operands.c),
        **_scales_record(vector),
        "outputs": {name: d.hex(x) for name, x in vector.outputs.items()},
    }
    record |= {n: getattr(vector, n) for n in ("why", "origin", "version") if getattr(vector, n)}
    record |= {"tags": list(vector.tags)} if vector.tags else {}
    record |= {} if vector.seed is None else {"seed": vector.seed}
    return json.dumps(record)


def _scales_record(vector: Vector) -> dict[str, Any]:
    fmt = vector.scale_format
    if fmt is None:
        return {}
    scales = {"scale_a": vector.operands.scale_a, "scale_b": vector.operands.scale_b}
    return {"scale_format": fmt.name, **{n: [fmt.hex(x) for x in s] for n, s in scales.items()}}


def write_vectors(path: Path, vectors: list[Vector]) -> None:
    """Write a vector file whole or not at all. Raises InputError where the path cannot be written."""
    write_atomically(path, "".join(vector_line(v) + "\n" for v in vectors))


def read_vectors(path: Path) -> VectorFile:
    """Read a vector file; a malformed line becomes a problem that names it and loses no other line.

    Raises InputError where the file cannot be read at all.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise InputError(f"{path}: {why_unreadable(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a vector file: it is not UTF-8 text (JSON Lines)") from error
    found = VectorFile(path, {})
    # not splitlines: JSON texts may hold U+2028 and other ends of lines as they are
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.vectors[number] = parse_vector(line)
        except InputError as error:
            found.problems.append(f"{path}:{number}: {error}")
    if not found.vectors and not found.problems:
        raise InputError(f"{path}: holds no vector")
    return found


def is_vector_file(name: str) -> bool:
    """Return whether a file is of JSON Lines of which the first states formats, or is called so and holds no object."""
    path = Path(name)
    if path.suffix != ".jsonl":
        return False
    if not path.is_file():
        return True
    try:
        with path.open(encoding="utf-8") as stream:
            first = json.loads(next((x for x in stream if x.strip()), ""))
    except (OSError, ValueError, RecursionError):
        return True
    return not isinstance(first, dict) or any(x in first for x in ("a_format", "outputs"))


def parse_vector(line: str) -> Vector:
    """Return the vector that a line of JSON spells; InputError says what is wrong with it."""
    record = parse_object(line)
    formats = tuple(find_format(_text(record, f"{x}_format")) for x in "abcd")
    a, b, c, d = formats
    scale_format = find_format(_text(record, "scale_format")) if "scale_format" in record else None
    if scale_format is not None and not scale_format.is_of_scales:
        raise InputError(f"'scale_format': {scale_format.name} is not a format of scales")
    scales = [() if scale_format is None else _patterns(record, n, scale_format) for n in ("scale_a", "scale_b")]
    operands = Operands(_patterns(record, "a", a), _patterns(record, "b", b), c.parse(_text(record, "c")), *scales)
    if len(operands.a) != len(operands.b) or not operands.a:
        raise InputError(f"a has {len(operands.a)} elements, b has {len(operands.b)}: as many, at least one")
    outputs = record.get("outputs")
    if not isinstance(outputs, dict) or not outputs or not all(isinstance(x, str) for x in outputs.values()):
        raise InputError("'outputs' maps each design's name to its d in hexadecimal")
    tags, seed = record.get("tags", []), record.get("seed")
    if not isinstance(tags, list) or not all(isinstance(x, str) for x in tags):
        raise InputError("'tags' is not a list of texts")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise InputError("'seed' is not an integer")
    notes = {n: str(record.get(n, "")) for n in ("why", "origin", "version")}
    return Vector(
        operands,
        (a, b, c, d),
        {str(n): d.parse(x) for n, x in outputs.items()},
        **notes,
        scale_format=scale_format,
        tags=tuple(tags),
        seed=seed,
    )


def _text(record: dict[str, Any], name: str) -> str:
    if not isinstance(record.get(name), str):
        raise InputError(f"{name!r} is missing or no text")
    return str(record[name])


def _patterns(record: dict[str, Any], name: str, fmt: Format) -> tuple[int, ...]:
    values = record.get(name)
    if not isinstance(values, list) or not all(isinstance(x, str) for x in values):
        raise InputError(f"{name!r} is missing or no list of hexadecimal texts")
    return tuple(fmt.parse(x) for x in values)


@dataclass(frozen=True)
class ChosenAnswers:
    """Vectors with one output of each, grouped by formats and length, and how many were left out."""

    answers: list[Answers]
    left_out: int


def answers_of(file: VectorFile, names: Sequence[str], *, chosen: bool = False) -> ChosenAnswers:
    """Return the vectors of a file, once for each output of a design called one of ``names``.

    Where a vector has none, outputs of those designs with parameters changed (``NAME@...``) count. Vectors without any
    are left out; where no vector has one, the only output of each is meant, unless the names were ``chosen`` by the
    user. Raises InputError where that leaves a choice, or nothing.
    """
    groups: dict[tuple[Any, ...], list[tuple[int, Vector, int]]] = {}
    named = {n: _outputs_of(v, names) for n, v in file.vectors.items()}
    some = any(named.values())
    if chosen and file.vectors and not some:
        held = dict.fromkeys(n for v in file.vectors.values() for n in v.outputs)
        raise InputError(
            f"{file.path}: no vector holds an output of {listed(names)}: there are outputs of {listed(held)}"
        )
    for number, vector in file.vectors.items():
        if not some and len(vector.outputs) != 1:
            raise InputError(
                f"{file.path}:{number}: holds outputs of {listed(vector.outputs)}, "
                f"none of {listed(names) or 'the target'}: choose one with --expect DESIGN"
            )
        for name in named[number] if some else vector.outputs:
            groups.setdefault((name, *_kind(vector)), []).append((number, vector, vector.outputs[name]))
    found = [_answers(file, name, rows) for (name, *_), rows in groups.items()]
    used = {number for rows in groups.values() for number, _, _ in rows}
    return ChosenAnswers(found, len(file.vectors) - len(used))


def _outputs_of(vector: Vector, names: Sequence[str]) -> list[str]:
    """Return the names of a vector's outputs that are of the designs ``names``, as they are or else changed."""
    return [x for x in names if x in vector.outputs] or [x for x in vector.outputs if base_of(x) in names]


def base_of(name: str) -> str:
    """Return the name of a design without changed parameters."""
    return name.partition("@")[0]


def _kind(vector: Vector) -> tuple[Any, ...]:
    """Return what vectors have in common that can be run together."""
    x = vector.operands
    return vector.formats, vector.scale_format, len(x), len(x.scale_a), len(x.scale_b)


def rows_of(file: VectorFile, designs: Sequence[str]) -> list[Rows]:
    """Return the operands of a file by the designs among ``designs`` that its outputs are of, changed or not.

    Vectors of none of them are left out; where no vector is of any, all are returned, those with outputs of a single
    design as meant for it.
    """
    of = {n: {base_of(x) for x in v.outputs} for n, v in file.vectors.items()}
    wanted = {n: [x for x in designs if x in names] for n, names in of.items()}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, vector in file.vectors.items():
        only = [next(iter(of[number]))] if len(of[number]) == 1 else [None]
        for name in wanted[number] if any(wanted.values()) else only:
            groups.setdefault((name, *_kind(vector)), []).append(number)
    return [_rows(file, name, [(n, file.vectors[n]) for n in numbers]) for (name, *_), numbers in groups.items()]


def _rows(file: VectorFile, design: str | None, vectors: Sequence[tuple[int, Vector]]) -> Rows:
    """Return the operands of vectors of one kind, with the numbers of their lines."""
    first = vectors[0][1]
    return Rows(
        batch=OperandBatch.of_rows(first.formats, [vector.operands for _, vector in vectors]),
        formats=first.formats,
        labels=[f"line {number}" for number, _ in vectors],
        whence=str(file.path),
        scale_format=first.scale_format,
        design=design,
    )


def _answers(file: VectorFile, name: str, rows: list[tuple[int, Vector, int]]) -> Answers:
    held = _rows(file, name, [(number, vector) for number, vector, _ in rows])
    d = np.array([output for _, _, output in rows], dtype=pattern_dtype(held.formats[3]))
    return Answers(**{x.name: getattr(held, x.name) for x in fields(held)}, d=d)


_AT_ONCE = 1 << 16

DEFAULT_ROWS = 1000
"""Random operand sets where no number is given."""

MOST_PRODUCTS = 1 << 27
"""Products of the random operands that are held at a time: those of fp64 take 2 GB."""


def read_rows(source: str, designs: Sequence[Design], *, k: int | None, rows: int | None, seed: int) -> list[Rows]:
    """Return the operands that ``source`` spells: a vector file, a recording, another file, or a distribution.

    Vectors are grouped as ``rows_of`` does. Random operands are for the one design, ``rows`` of them of length ``k``
    (default the instruction's). Raises InputError where the source is malformed, or does not say which operands.
    """
    if source in DISTRIBUTIONS:
        if len(designs) != 1:
            raise InputError(f"{source}: of which formats and length? choose one instruction with --design NAME")
        wanted = DEFAULT_ROWS if rows is None else rows
        length = designs[0].k if k is None else k
        if wanted * length > MOST_PRODUCTS:
            raise InputError(f"{wanted} rows of k = {length} are more than {MOST_PRODUCTS} products: ask for fewer")
        parts = list(generated(designs[0], source, wanted, seed, k))
        batch = OperandBatch.concatenate([x.batch for x in parts])
        return [rows_for(designs[0], batch, parts[0].whence, seed=seed)]
    if k is not None or rows is not None:
        raise InputError(f"--k and --rows are of random operands; {source} holds its own")
    if not is_vector_file(source):
        if source != STDIN and not Path(files_of(source)[0]).exists():
            raise InputError(f"{source}: no such file; random operands are {', '.join(DISTRIBUTIONS)}")
        known = designs[0].signature if len(designs) == 1 else None
        return [read_operands(source, Wanted(known))]
    file = read_vectors(Path(source))
    if file.problems:
        raise InputError(file.problems[0])
    return rows_of(file, [x.base_name for x in designs])


def generated(design: Design, distribution: str, rows: int, seed: int, k: int | None = None) -> Iterator[Rows]:
    """Yield ``rows`` operand sets of length ``k`` (default the instruction's) from a distribution, some at a time.

    The same seed gives the same operands. Raises InputError for an unknown distribution.
    """
    rng = np.random.default_rng(seed)
    for first in range(0, rows, _AT_ONCE):
        batch = draw(distribution, design, min(_AT_ONCE, rows - first), design.k if k is None else k, rng)
        yield rows_for(design, batch, f"{distribution} (seed {seed})", first, seed)


def rows_for(design: Design, batch: OperandBatch, whence: str, first: int = 0, seed: int | None = None) -> Rows:
    """Return operands as rows for ``design``, of which ``first`` come before them."""
    return Rows(
        batch=batch,
        formats=design.formats,
        labels=Numbered("row", first + 1, len(batch)),
        whence=whence,
        scale_format=design.scale_format,
        design=design.name,
        seed=seed,
    )
