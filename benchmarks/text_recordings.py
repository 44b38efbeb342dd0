"""The text files of Khattak and Mikaitis: operands and results of tensor cores, read as a recording.

The folder model_validation of MATLAB-tensor-core holds GPU/FORMAT/x_GPU_FORMAT.txt, where x is a, b, c or d. A line of
a or b is one row: k words of 8 hexadecimal digits. A line of c or d is one element: 32 binary digits. Each word is the
fp32 word of a value, whatever the format. c is always in fp32. If the unit takes a narrower c, the authors' program
rounds it to nearest even. Sources: readHexFloatFile.m, Validate_TC_models.m and CUDA/*.cu of that folder.

    python benchmarks/text_recordings.py FOLDER_OR_FILES... -o FILE.npz [--output-format FORMAT] [--design DESIGN]
        [--device TEXT] [--zero-c | --read-c]

makes a recording out of them, which `mmaproof show`, `replay` and `evidence` read.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, MmaproofError
from mmaproof.designs.files import make_way
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.designs.operands import OperandBatch, Patterns, array_dtype, pattern_dtype
from mmaproof.hardware_replay.recordings import Provenance, write_recording
from mmaproof.hardware_replay.target import Answers

Words = npt.NDArray[np.uint32]

_FP32 = FORMATS["fp32"]
_FORMATS = {n.lower(): FORMATS[n] for n in ("fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3")}
_NAME = re.compile(r"([abcd])_(.+)_([^_]+)\.txt")
_BLANKS = re.compile(r"[ \t]+")
_HEX = re.compile(r"[0-9a-fA-F]{8}")
_BITS = re.compile(r"[01]{32}")
_WITHOUT_C = ("H100", "H200")
"""GPUs with FP8 results of wgmma with c = 0 (Validate_TC_models.m), and, in an older version, of mma.sync with c"""


@dataclass(frozen=True)
class TextFiles:
    """The four files of one recording, and what their names say: the GPU and the formats of a, b and d."""

    a: Path
    b: Path
    c: Path
    d: Path
    gpu: str
    formats: dict[str, Format]


def find_text_files(paths: Sequence[Path], d_format: str | None = None) -> TextFiles:
    """Return the files of one recording among ``paths``: files, and folders that hold them.

    ``d_format`` chooses if there is a d in several formats. Raises InputError if a file is missing, if there are
    several, or if a name does not give GPU and format.
    """
    given = [y for x in paths for y in (sorted(x.glob("[abcd]_*.txt")) if x.is_dir() else [x])]
    where = ", ".join(map(str, paths))
    found: dict[str, list[tuple[Path, str, Format]]] = {x: [] for x in "abcd"}
    for path in given:
        match = _NAME.fullmatch(path.name)
        if match is None or match[3].lower() not in _FORMATS:
            raise InputError(
                f"{path}: its name is not x_GPU_FORMAT.txt, x one of a, b, c and d, FORMAT of {', '.join(_FORMATS)}"
            )
        found[match[1]].append((path, match[2], _FORMATS[match[3].lower()]))
    if d_format is not None:
        found["d"] = [x for x in found["d"] if x[2].name == d_format]
    for x, files in found.items():
        if len(files) != 1:
            held = f"several: {', '.join(str(y[0]) for y in files)}" if files else "none"
            hint = "; choose one with --output-format" if x == "d" and files else ""
            suffix = f"_{d_format}" if x == "d" and d_format else "_FORMAT"
            raise InputError(f"{where}: one file {x}_GPU{suffix}.txt is needed, and there are {held}{hint}")
    (a, b, c, d) = (found[x][0] for x in "abcd")
    for path, gpu, _ in (b, c, d):
        if gpu != a[1]:
            raise InputError(f"{path}: is of {gpu}, and {a[0].name} of {a[1]}")
    if c[2] is not _FP32:
        raise InputError(f"{c[0]}: c is in fp32 in these files, whatever the unit takes: c_{a[1]}_fp32.txt is needed")
    return TextFiles(a[0], b[0], c[0], d[0], a[1], {"a": a[2], "b": b[2], "d": d[2]})


def read_text_files(files: TextFiles, *, zero_c: bool | None = None, design: Design | None = None) -> Answers:
    """Return the rows of the files in the formats of ``design``, or else in those of the names (c in that of d).

    With ``zero_c`` c is +0 in every row, and its file is not read. For FP8 on GPUs whose c the authors did not read, it
    must be said. Raises InputError, naming file and line, if a line is malformed, if files have different lengths, or
    if a value is not representable in its format. Raises InputError also if ``design`` does not take the rows.
    """
    formats = (
        files.formats["a"],
        files.formats["b"],
        files.formats["d"] if design is None else design.c_format,
        files.formats["d"],
    )
    if zero_c is None and files.gpu in _WITHOUT_C and formats[0].bits == 8:
        raise InputError(
            f"{files.c}: FP8 results of {files.gpu} are of c = 0, whatever this file says, where they are of wgmma: "
            f"add --zero-c; or --read-c where they are of mma.sync"
        )
    a = _narrow(files.a, _words(files.a), formats[0])
    b = _narrow(files.b, _words(files.b), formats[1])
    d = _narrow(files.d, _elements(files.d), formats[3])
    if zero_c:
        c: Patterns = np.zeros(len(a), dtype=pattern_dtype(formats[2]))
    else:
        c = _rounded(_elements(files.c), formats[2])[0]
    for path, column in ((files.b, b), (files.c, c), (files.d, d)):
        if len(column) != len(a):
            raise InputError(f"{path}:{len(column)}: the last line, and {files.a.name} has {len(a)} lines")
    if a.shape != b.shape:
        raise InputError(f"{files.b}:1: {b.shape[1]} words, and {a.shape[1]} in {files.a.name}")
    answers = Answers(
        batch=OperandBatch(a, b, c),
        d=d,
        formats=formats,
        labels=tuple(f"row {i}" for i in range(1, len(a) + 1)),
        whence=str(files.d),
        design=None if design is None else design.name,
    )
    if design is not None:
        answers.check_formats(design)
    return answers


def provenance_of_text_files(
    files: TextFiles, answers: Answers, *, device: str | None = None, zero_c: bool | None = None
) -> Provenance:
    """Return the provenance of rows that were read from ``files``; ``device`` is the GPU of their names by default."""
    c_format = answers.formats[2].name
    rounded = "as in the file" if c_format == "fp32" else f"rounded to nearest even from fp32 to {c_format}"
    used = [x for x in (files.a, files.b, files.c, files.d) if not (zero_c and x == files.c)]
    return Provenance.of(
        answers,
        target="",
        device=files.gpu if device is None else device,
        instruction=answers.design or "",
        operands={"source": ", ".join(x.name for x in used), "seed": None, "c": "zero" if zero_c else rounded},
        further={
            "imported": {
                "layout": "text files of MATLAB-tensor-core, model_validation",
                "sha256": {x.name: hashlib.sha256(x.read_bytes()).hexdigest() for x in used},
            }
        },
    )


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file, stripped. A character that is not ASCII is replaced by one that is refused."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").removesuffix("\n").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if lines == [""]:
        raise InputError(f"{path}: is empty")
    return [line.strip(" \t") for line in lines]


def _words(path: Path) -> Words:
    """Return the words of a file of a or b, of shape (lines, k)."""
    rows = [_BLANKS.split(line) for line in _lines(path)]
    for number, row in enumerate(rows, 1):
        for word in row:
            if not _HEX.fullmatch(word):
                raise InputError(f"{path}:{number}: {word[:40]!a} is not an fp32 word: 8 hexadecimal digits are needed")
        if len(row) != len(rows[0]):
            raise InputError(f"{path}:{number}: {len(row)} words, and {len(rows[0])} in line 1")
    return np.array([[int(word, 16) for word in row] for row in rows], dtype=np.uint32)


def _elements(path: Path) -> Words:
    """Return the elements of a file of c or d, of shape (lines,)."""
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        if not _BITS.fullmatch(line):
            raise InputError(f"{path}:{number}: {line[:40]!a} is not an fp32 word: 32 binary digits are needed")
    return np.array([int(line, 2) for line in lines], dtype=np.uint32)


def _narrow(path: Path, words: Words, fmt: Format) -> Patterns:
    """Return the patterns of the values of fp32 ``words`` in ``fmt``; InputError names the line of one without."""
    patterns, exact = _rounded(words, fmt)
    for place in np.argwhere(~exact)[:1].tolist():
        which = f" (word {place[1] + 1})" if len(place) > 1 else ""
        raise InputError(
            f"{path}:{place[0] + 1}: 0x{words[tuple(place)]:08x}{which} is not representable in {fmt.name}"
        )
    return patterns


def _rounded(words: Words, fmt: Format) -> tuple[Patterns, npt.NDArray[np.bool_]]:
    """Return the values of fp32 ``words`` rounded to nearest even to ``fmt``, and which of them are exact.

    A NaN becomes the quiet NaN: its code is not that of the unit, which an fp32 word cannot hold.
    """
    if fmt is _FP32:
        return words, np.ones(words.shape, dtype=bool)
    values = words.view(np.float32)
    if fmt.ignored_bits:
        patterns: Patterns = words & np.uint32(-1 << fmt.ignored_bits & 0xFFFFFFFF)
        exact = patterns == words
    else:
        with np.errstate(all="ignore"):
            numbers = values.astype(array_dtype(fmt))
            exact = numbers.astype(np.float32).view(np.uint32) == words
        patterns = numbers.view(pattern_dtype(fmt))
    nans = np.isnan(values)
    patterns[nans] = fmt.quiet_nan or 0
    return patterns, exact | nans


def main() -> None:
    """Write the recording of the files that are named."""
    parser = argparse.ArgumentParser(description="Make a recording out of text files of MATLAB-tensor-core.")
    parser.add_argument("sources", nargs="+", type=Path, metavar="FOLDER_OR_FILES", help="GPU/FORMAT, or its files")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.npz", help="the recording to write")
    parser.add_argument("--output-format", metavar="FORMAT", help="which d is meant, where there are fp16 and fp32")
    parser.add_argument("--design", help="the design that was run; the rows must be rows of it")
    parser.add_argument("--device", metavar="TEXT", help="what ran it; default the GPU in the file names")
    parser.add_argument("--zero-c", action="store_true", default=None, help="c was zero, whatever its file says")
    parser.add_argument("--read-c", action="store_false", dest="zero_c", help="c is as its file says (the default)")
    given = parser.parse_args()
    try:
        if given.output.suffix != ".npz":
            raise InputError(f"{given.output}: a recording ends in .npz")
        make_way(given.output)
        found = find_text_files(given.sources, given.output_format)
        design = None if given.design is None else find_design(given.design)
        answers = read_text_files(found, zero_c=given.zero_c, design=design)
        about = provenance_of_text_files(found, answers, device=given.device, zero_c=given.zero_c)
        write_recording(given.output, answers, about)
    except MmaproofError as error:
        parser.error(str(error))
    print(f"{given.output}: {about.rows} rows of k = {about.k}")


if __name__ == "__main__":
    main()
