"""The rows of a file that is written: the vectors of a source, each with the expected d."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.generators.sources import read_rows
from mmaproof.generators.vectors import Vector, read_vectors
from mmaproof.hardware_replay.answers import Answers, Numbered, Rows
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import DISTRIBUTIONS


@dataclass(frozen=True)
class Selection:
    """Vectors in the order of their source; their outputs are the d that is expected.

    ``computed`` says for how many vectors the model computed the d of a design; the source held that of the others.
    ``left_out`` vectors of the source are not among them. ``version`` is that of the tool.
    """

    vectors: tuple[Vector, ...]
    whence: str
    computed: Mapping[str, int]
    version: str
    left_out: int = 0

    @property
    def designs(self) -> list[str]:
        """Names of the designs whose d is expected, in the order of the vectors."""
        return list(dict.fromkeys(name for v in self.vectors for name in v.outputs))

    def answers(self) -> Answers:
        """Return the vectors as rows of one length with the d of one design; InputError where they are not."""
        if len(kinds := _by_kind(self.vectors)) != 1:
            lengths = ", ".join(dict.fromkeys(str(len(v.operands)) for v in self.vectors))
            raise InputError(
                f"{self.whence}: vectors of {len(kinds)} combinations of formats and length (k = {lengths}): "
                f"this format holds one; choose with --design and --k"
            )
        if len(self.designs) != 1:
            raise InputError(
                f"{self.whence}: the expected d is of one design, and there are {', '.join(self.designs)}: "
                f"choose one with --design NAME"
            )
        (name,) = self.designs
        d = [v.outputs[name] for v in self.vectors]
        rows = _rows(self.vectors, self.whence)
        return Answers(**vars(rows) | {"design": name}, d=np.array(d, dtype=pattern_dtype(rows.formats[3])))

    def about(self) -> list[str]:
        """Return what a file says of its rows, as lines for a comment."""
        answers = self.answers()
        (name,) = self.designs
        computed, rows = self.computed.get(name, 0), len(self.vectors)
        origins = [f"{computed} computed by the model"] if computed else []
        origins += [f"{rows - computed} from {self.whence}"] if rows > computed else []
        a, b, c, d = (fmt.name for fmt in answers.formats)
        scale = answers.scale_format
        term, scales = ("a[i]*b[i]", "") if scale is None else ("s*t*a[i]*b[i]", f", scales s and t {scale.name}")
        lines = [
            f"{rows} operand sets of {self.whence}, by mmaproof {self.version}",
            f"d = c + sum of {term}: {a} * {b} + {c} -> {d}{scales}, k = {answers.batch.k}",
            f"expected d of {name}: {', '.join(origins)}",
        ]
        return [plain(line) for line in lines]


def plain(text: str) -> str:
    """Return ``text`` as one line that may stand in a comment or between quotes of any language."""
    return "".join(x if x.isprintable() and x not in '"\\' else "_" for x in text)


def select(
    source: str, designs: Sequence[Design], *, k: int | None, rows: int | None, seed: int, version: str
) -> Selection:
    """Return the vectors of a recording, a vector file or a distribution with the d of ``designs``.

    If the source holds no d of a design, the model computes it. Without ``designs``, every d of the source is taken.
    Vectors of a file whose length is not ``k``, or that some of ``designs`` cannot take, are left out. For a
    distribution, ``rows`` random operands are drawn for the first design. Raises InputError if the source is malformed,
    no vector is left, or no d is known.
    """
    held, whence = _read(source, designs, k, rows, seed)
    kept: dict[int, Vector] = {}
    computed: Counter[str] = Counter()
    problems = []
    for numbers in _by_kind(held).values():
        vectors = [held[i] for i in numbers]
        group = _rows(vectors, whence)
        try:
            if k not in (None, group.batch.k):
                raise InputError(f"{whence}: operands of k = {group.batch.k}, and --k is {k}")
            for design in designs:
                group.check_formats(design)
        except InputError as problem:
            problems.append(str(problem))
            continue
        kept |= zip(numbers, _expected(vectors, group, designs, computed, version), strict=True)
    if not kept:
        raise InputError(problems[0])
    chosen = tuple(kept[i] for i in sorted(kept))
    return Selection(chosen, whence, computed, version, len(held) - len(chosen))


def _read(
    source: str, designs: Sequence[Design], k: int | None, rows: int | None, seed: int
) -> tuple[list[Vector], str]:
    """Return the operands of a source as vectors with what it holds of d, and whence they are."""
    random, path = source in DISTRIBUTIONS, Path(source)
    if not random and rows is not None:
        raise InputError(f"--rows is of random operands; {source} holds its own")
    if not random and path.suffix == ".jsonl":
        file = read_vectors(path)
        if file.problems:
            raise InputError(file.problems[0])
        return list(file.vectors.values()), str(path)
    (held,) = read_rows(source, designs[:1], k=k if random else None, rows=rows, seed=seed)
    d = held.d.tolist() if isinstance(held, Answers) and held.design is not None else None
    vectors = [
        Vector(
            held.batch.row(i),
            held.formats,
            {} if d is None else {str(held.design): d[i]},
            origin=held.whence,
            scale_format=held.scale_format,
            seed=seed if random else None,
        )
        for i in range(len(held.batch))
    ]
    return vectors, held.whence


def _by_kind(vectors: Sequence[Vector]) -> dict[tuple[object, ...], list[int]]:
    """Return the positions of the vectors, grouped by formats and length."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, v in enumerate(vectors):
        groups.setdefault((v.formats, v.scale_format, len(v.operands), len(v.operands.scale_a)), []).append(i)
    return groups


def _rows(vectors: Sequence[Vector], whence: str) -> Rows:
    """Return the operands of vectors of one kind."""
    first = vectors[0]
    return Rows(
        batch=OperandBatch.of_rows(first.formats, [v.operands for v in vectors]),
        formats=first.formats,
        labels=Numbered("row", 1, len(vectors)),
        whence=whence,
        scale_format=first.scale_format,
    )


def _expected(
    vectors: Sequence[Vector], rows: Rows, designs: Sequence[Design], computed: Counter[str], version: str
) -> list[Vector]:
    """Return vectors of one kind with the outputs of ``designs``, all that they hold where there are none.

    What the model had to compute is counted in ``computed``.
    """
    if not designs:
        if not all(v.outputs for v in vectors):
            raise InputError(f"{rows.whence}: does not say whose d it holds: choose one with --design NAME")
        return [replace(v, version=version) for v in vectors]
    outputs: list[dict[str, int]] = [{} for _ in vectors]
    origins = [[v.origin] if v.origin else [] for v in vectors]
    for design in designs:
        missing = [i for i, v in enumerate(vectors) if design.name not in v.outputs]
        d = evaluate_batch(design, rows.batch.select(np.array(missing, dtype=np.intp))).tolist()
        found = dict(zip(missing, d, strict=True))
        computed[design.name] += len(missing)
        for i, v in enumerate(vectors):
            outputs[i][design.name] = found[i] if i in found else v.outputs[design.name]
        for i in missing:
            origins[i].append(f"d of {design.name} by the model")
    return [
        replace(v, outputs=x, origin="; ".join(origin), version=version)
        for v, x, origin in zip(vectors, outputs, origins, strict=True)
    ]
