"""Recordings of units: .npz files of bit patterns that say what they hold and where it comes from.

``a`` and ``b`` have shape (rows, k), ``c`` and ``d`` have shape (rows,), and ``scale_a`` and ``scale_b`` have shape
(rows, blocks) where there are scales. All of them are unsigned integers. ``about`` is the provenance as JSON text. A
file without ``about`` is described by an index.json beside it. tf32 operands are 32-bit words whose low 13 bits are not
read.

Provenance of a recording, as JSON in it: what it holds, what returned d, and where its operands come from.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import Catalogue, find_design, load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.files import parse_object, read_text, why_unreadable, write_atomically
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.npz import NpzFile, open_npz
from mmaproof.hardware_replay.target import Answers, Numbered, Rows, Target

LAYOUT = 1
"""Number of the layout of recordings that this version writes, and the newest that it reads."""

_FORMATS = ("a_format", "b_format", "c_format", "d_format")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a recording says of itself; a text is empty if there is nothing to say.

    Raises InputError, naming the field, if a field has another type, or if a text is not one printable line.
    """

    target: str
    """spelling of the target that returned d"""
    device: str
    """what the target is, ``device_version`` and ``driver`` likewise"""
    device_version: str = ""
    driver: str = ""
    instruction: str
    """what was run, as the catalogue or the target calls it"""
    design: str | None
    """the design of the catalogue that was run, None where that is not known"""
    a_format: str
    b_format: str
    c_format: str
    d_format: str
    scale_format: str | None = None
    k: int
    rows: int
    operands: Mapping[str, Any]
    """``source``: a file or a distribution; ``seed``, and whatever else says how the operands were made"""
    version: str
    """version of mmaproof that wrote it; empty where another program did"""
    date: str
    """when d was returned, in UTC as ISO 8601 has it"""
    further: Mapping[str, Any] = field(default_factory=dict)
    """what else is said, by key"""

    def __post_init__(self) -> None:
        for name in (x.name for x in fields(self)):
            value = getattr(self, name)
            if name in ("k", "rows"):
                good, wanted = is_count(value), "an integer of at most 63 bits"
            elif name in ("operands", "further"):
                good, wanted = isinstance(value, Mapping), "an object"
            else:
                nothing = value is None and name in ("design", "scale_format")
                good, wanted = nothing or (isinstance(value, str) and value.isprintable()), "one printable line of text"
            if not good:
                raise InputError(f"{name} is {_shortened(value)}: {wanted} is needed")
        for name in (*_FORMATS, *(("scale_format",) if self.scale_format is not None else ())):
            try:
                fmt = find_format(getattr(self, name))
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
            if name == "scale_format" and not fmt.is_of_scales:
                raise InputError(f"scale_format: {fmt.name} is not a format of scales")
        if self.k < 1:
            raise InputError("k is 0: a dot product has at least one element")

    @classmethod
    def of(
        cls,
        answers: Answers,
        *,
        target: str,
        device: str,
        device_version: str = "",
        driver: str = "",
        instruction: str,
        operands: Mapping[str, Any],
        further: Mapping[str, Any] | None = None,
    ) -> Provenance:
        """Return the provenance of ``answers``, with this version of mmaproof and the present time."""
        scale = answers.scale_format
        return cls(
            target=target,
            device=device,
            device_version=device_version,
            driver=driver,
            instruction=instruction,
            design=answers.design,
            **{name: fmt.name for name, fmt in zip(_FORMATS, answers.formats, strict=True)},
            scale_format=None if scale is None else scale.name,
            k=answers.batch.k,
            rows=len(answers.batch),
            operands=operands,
            version=version("mmaproof"),
            date=now(),
            further=further or {},
        )

    @property
    def formats(self) -> tuple[Format, Format, Format, Format]:
        """The formats of a, b, c and d."""
        a, b, c, d = (find_format(getattr(self, name)) for name in _FORMATS)
        return a, b, c, d

    def record(self) -> dict[str, Any]:
        """Return it as the JSON object of a recording."""
        own = {"layout": LAYOUT} | {x.name: getattr(self, x.name) for x in fields(self) if x.name != "further"}
        return own | {name: value for name, value in self.further.items() if name not in own}


def parse_provenance(text: str) -> Provenance:
    """Return what the JSON ``text`` of a recording says.

    Raises InputError if it is not a JSON object, if its layout is newer, or if a field is missing or wrong.
    """
    record = parse_object(text, parse_float=_finite, parse_constant=_finite)
    layout = record.pop("layout", None)
    if not is_count(layout) or layout < 1:
        raise InputError(f"layout is {_shortened(layout)}: an integer from 1 on is needed")
    if layout > LAYOUT:
        writer = _shortened(record.get("version") or "(no version)").strip("'")
        raise InputError(
            f"written by mmaproof {writer}, layout {layout}: this version reads layout {LAYOUT}; upgrade mmaproof"
        )
    names = [x.name for x in fields(Provenance) if x.name != "further"]
    for name in names:
        if name not in record:
            raise InputError(f"has no field {name!r}")
    return Provenance(**{name: record.pop(name) for name in names}, further=record)


def now() -> str:
    """Return the time in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_count(value: object) -> TypeGuard[int]:
    """Return whether ``value`` is a count as files may have it: an integer from 0 on, of at most 63 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _shortened(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


LONGEST_ABOUT = 1 << 20
"""Bytes of the array that says what a recording is."""


@dataclass(frozen=True)
class RecordingInfo:
    """What an index says of one recording."""

    path: Path
    gpu: str
    architecture: str
    instruction: str
    formats: tuple[Format, Format, Format, Format]
    k: int
    rows: int
    source: str = ""


def read_index(folder: Path) -> dict[str, RecordingInfo]:
    """Return what ``index.json`` in ``folder`` says of each file. Raises InputError where it is malformed."""
    path = folder / "index.json"
    try:
        index = json.loads(read_text(path))
        source = str(index.get("source", ""))
        return {entry["file"]: _info(folder, entry, source) for entry in index["recordings"]}
    except OSError as error:
        raise InputError(
            f"{path}: {why_unreadable(error)}: it names formats and k of recordings that have no 'about'"
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not an index of recordings: {error!r}") from error


def _info(folder: Path, entry: dict[str, Any], source: str) -> RecordingInfo:
    a, b, c, d = (find_format(entry[f"{x}_format"]) for x in "abcd")
    return RecordingInfo(
        folder / entry["file"],
        str(entry["gpu"]),
        str(entry["architecture"]),
        str(entry["instruction"]),
        (a, b, c, d),
        _count(entry, "k"),
        _count(entry, "rows"),
        source,
    )


def _count(entry: dict[str, Any], name: str) -> int:
    value = entry[name]
    if not is_count(value):
        raise TypeError(f"{name} is {value!r}: an integer is needed")
    return value


def is_recording(path: Path) -> bool:
    """Return whether a file is an .npz file that says what it holds, or that an index beside it describes.

    What cannot be read is none.
    """
    try:
        with open_npz(path) as file:
            return "about" in file or path.name in read_index(path.parent)
    except InputError:
        return False


def read_recording(path: Path) -> Answers:
    """Return the rows of the recording ``path``, checked against what it says of itself or the index beside it.

    Raises InputError where the file or its index is missing, damaged, of a newer layout, or contradicts itself.

    >>> import mmaproof
    >>> from importlib.resources import files
    >>> path = files("mmaproof.hardware_replay") / "recordings" / "intel-xeon-vdpbf16ps.npz"
    >>> mmaproof.read_recording(path).batch.k
    2
    """
    with open_npz(path) as file:
        stated, whence = _stated(file)
        names = ["a", "b", "c", "d"]
        formats = list(stated.formats)
        if stated.scale_format is not None:
            names += ["scale_a", "scale_b"]
            formats += [find_format(stated.scale_format)] * 2
        elif "scale_a" in file or "scale_b" in file:
            raise InputError(f"{path}: has scales, and scale_format is null in {whence}")
        _check_shapes(file, stated, names, whence)
        a, b, c, d, *scales = (_patterns(path, n, file.read(n), f) for n, f in zip(names, formats, strict=True))
    answers = Answers(
        batch=OperandBatch(a, b, c, *scales),
        d=d,
        formats=stated.formats,
        labels=Numbered("row", 1, stated.rows),
        whence=f"{path.name} ({stated.device})" if stated.device else path.name,
        scale_format=formats[-1] if scales else None,
        design=stated.design,
    )
    with suppress(DesignError):  # a name that is not in this catalogue is not a contradiction
        answers.check_formats(find_design(stated.design or ""))
    return answers


def read_provenance(path: Path) -> Provenance:
    """Return what the recording ``path``, or the index beside it, says of it.

    ``read_recording`` checks that it is true. Raises InputError likewise.
    """
    with open_npz(path) as file:
        return _stated(file)[0]


def write_recording(path: Path, answers: Answers, provenance: Provenance) -> None:
    """Write ``answers`` as a recording, completely or not at all; equal content gives equal bytes.

    Raises InputError if the file cannot be written, if formats, k or rows of ``provenance`` are not those of
    ``answers``, or if a pattern is too wide for its format.
    """
    scale, batch = answers.scale_format, answers.batch
    held = (answers.formats, None if scale is None else scale.name, batch.k, len(batch))
    said = (provenance.formats, provenance.scale_format, provenance.k, provenance.rows)
    if held != said:
        raise InputError(f"{path}: not written: the provenance says other formats, k or rows than the rows have")
    columns = dict(zip("abcd", zip((batch.a, batch.b, batch.c, answers.d), answers.formats, strict=True), strict=True))
    arrays: dict[str, npt.NDArray[Any]] = {n: _patterns(path, n, x, fmt) for n, (x, fmt) in columns.items()}
    if scale is not None:
        for name, scales in (("scale_a", batch.scale_a), ("scale_b", batch.scale_b)):
            if scales is None:
                raise InputError(f"{path}: not written: the rows have no {name}")
            arrays[name] = _patterns(path, name, scales, scale)
    about = np.array(json.dumps(provenance.record(), indent=2))
    stream = io.BytesIO()
    np.savez_compressed(stream, about=about, **arrays)  # type: ignore[arg-type]
    write_atomically(path, stream.getvalue())


def _stated(file: NpzFile) -> tuple[Provenance, str]:
    """Return what is said of an open recording and where: in the file itself, or else in the index beside it."""
    path = Path(file.path)
    if "about" in file:
        text = _about(file)
        try:
            return parse_provenance(text), "about"
        except InputError as error:
            raise InputError(f"{path}: about: {error}") from error
    index = read_index(path.parent)
    if path.name not in index:
        raise InputError(
            f"{path}: has no 'about', and is not listed in {path.parent / 'index.json'}, "
            f"which has {', '.join(index) or 'none'}"
        )
    info = index[path.name]
    try:
        design = design_of_recording(load_catalogue(), info).name
    except InputError:
        design = None
    a, b, c, d = (fmt.name for fmt in info.formats)
    try:
        stated = Provenance(
            target="",
            device=info.gpu,
            instruction=info.instruction,
            design=design,
            a_format=a,
            b_format=b,
            c_format=c,
            d_format=d,
            k=info.k,
            rows=info.rows,
            operands={"source": info.source} if info.source else {},
            version="",
            date="",
        )
    except InputError as error:
        raise InputError(f"{path.parent / 'index.json'}: {path.name}: {error}") from error
    return stated, "the index"


def _about(file: NpzFile) -> str:
    """Return the text of ``about``: one string of NumPy, or UTF-8 in an array of uint8."""
    header = file.header("about")
    size = int(np.prod(header.shape)) * header.dtype.itemsize
    if size > LONGEST_ABOUT:
        raise InputError(f"{file.path}: about takes {size} bytes: at most {LONGEST_ABOUT} are allowed")
    if header.dtype.kind == "U" and header.shape == ():
        return str(file.read("about"))
    if header.dtype == np.uint8 and len(header.shape) == 1:
        try:
            return file.read("about").tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{file.path}: about is not UTF-8: {error}") from error
    raise InputError(
        f"{file.path}: about is an array of {header.dtype} of shape {header.shape}: "
        f"one string, or a row of uint8 in UTF-8, is needed"
    )


def _check_shapes(file: NpzFile, stated: Provenance, names: Sequence[str], whence: str) -> None:
    """Raise InputError where the arrays called ``names`` are not patterns, or their shapes are not those stated."""
    path, headers = Path(file.path), {name: file.header(name) for name in names}
    for name, header in headers.items():
        if header.dtype.kind != "u":
            raise InputError(f"{path}: {name} has type {header.dtype}: bit patterns are unsigned integers")
    shapes = {name: header.shape for name, header in headers.items()}
    rows = shapes["c"][0] if shapes["c"] else 0
    wanted = {"a": (rows, stated.k), "b": (rows, stated.k), "c": (rows,), "d": (rows,)}
    if any(shapes[name] != shape for name, shape in wanted.items()):
        listed = ", ".join(f"{name} {shapes[name]}" for name in wanted)
        raise InputError(f"{path}: shapes {listed} do not fit k = {stated.k} of {whence}")
    if rows != stated.rows:
        raise InputError(f"{path}: holds {rows} rows, {whence} says {stated.rows}")
    if "scale_a" in shapes and not (
        len(shapes["scale_a"]) == 2 and shapes["scale_a"][0] == rows and shapes["scale_b"] == shapes["scale_a"]
    ):
        raise InputError(
            f"{path}: shapes scale_a {shapes['scale_a']}, scale_b {shapes['scale_b']}: "
            f"both are ({rows}, number of blocks)"
        )


def _patterns(path: Path, name: str, column: npt.NDArray[Any], fmt: Format) -> Patterns:
    """Return ``column`` in the type of patterns of ``fmt``; InputError where one is too wide."""
    if column.size and int(column.max()) >> fmt.bits:
        raise InputError(f"{path}: {name} holds {int(column.max()):#x}, too wide for {fmt.name} ({fmt.bits} bits)")
    patterns: Patterns = column.astype(pattern_dtype(fmt))
    return patterns


def design_of_recording(catalogue: Catalogue, info: RecordingInfo) -> Design:
    """Return the catalogue's design that a recording is of.

    A ``wmma`` instruction is the architecture's ``mma`` design of the largest K for the formats; any other is
    found by its kind (``mma``, ``wgmma``) and shape. Raises InputError where the catalogue has none.
    """
    kind, *rest = info.instruction.split(".")
    parts = ["mma"] if kind == "wmma" else [kind, *(p for p in rest if p != "sync")]
    formats = [info.formats[i].isa_name for i in (3, 0, 1, 2)]
    spelled = ".".join(parts + (formats[:3] if kind == "wgmma" else formats))
    for architecture in catalogue.architectures.values():
        if architecture.title == info.architecture:
            return catalogue.find(f"{architecture.name}/{spelled}")
    raise InputError(f"{info.path}: the catalogue has no architecture titled {info.architecture!r}")


def answered(rows: Rows, d: Patterns, chosen: npt.NDArray[Any], design: str | None) -> Answers:
    """Return the ``chosen`` rows (a mask or indices) with their d, which ``design`` returned."""
    indices = np.arange(len(rows.batch))[chosen]
    return Answers(
        batch=rows.batch.select(indices),
        formats=rows.formats,
        labels=[rows.labels[i] for i in indices.tolist()],
        whence=rows.whence,
        scale_format=rows.scale_format,
        design=design,
        d=d[indices],
    )


def provenance(target: Target, answers: Answers, operands: Mapping[str, Any]) -> Provenance:
    """Return the provenance of what ``target`` has just answered; ``operands`` say how they were made."""
    unit = target.unit
    return Provenance.of(
        answers,
        target=target.name,
        device=unit.device,
        device_version=unit.version,
        driver=unit.driver,
        instruction=answers.design or "",
        operands=operands,
    )
