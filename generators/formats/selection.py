"""The rows of a file that is written: the vectors of a source, each with the expected d.

Selected rows and questions as single files: a C99 header, lines like TestFloat's, a recording, SMT-LIB 2.

Programs for machines without Python: CUDA or HIP source that contains operands, runs them and prints vector lines.

A program reads no input. It contains the operands as the words that the instructions read. Each line that it prints
consists of two texts with d between them, so the program needs no knowledge of formats.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.generators.vectors import Vector, read_rows, read_vectors, vector_line
from mmaproof.hardware_replay.kernels.kernel import OPERANDS, Kernel, Words
from mmaproof.hardware_replay.recordings import Provenance, provenance, write_recording
from mmaproof.hardware_replay.target import Answers, Numbered, Rows
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.query import Query, to_smtlib
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


_AT_MOST = 100  # characters of a line of patterns


def c_header(selection: Selection, stem: str) -> str:
    """Return the text of a header; ``stem``, the name of its file, is the prefix of every name in it.

    Raises InputError where they are not rows of one design and length.
    """
    answers = selection.answers()
    prefix = re.sub(r"\W", "_", stem, flags=re.ASCII)
    if not prefix[:1].isalpha():
        prefix = f"vectors_{prefix}"
    upper, batch = prefix.upper(), answers.batch
    sizes = {"ROWS": len(batch), "K": batch.k}
    names = {f"{x.upper()}_FORMAT": fmt.name for x, fmt in zip("abcd", answers.formats, strict=True)}
    arrays = {"a": (batch.a, "K"), "b": (batch.b, "K"), "c": (batch.c, ""), "d": (answers.d, "")}
    if answers.scale_format is not None and batch.scale_a is not None and batch.scale_b is not None:
        sizes["BLOCKS"] = batch.scale_a.shape[1]
        names["SCALE_FORMAT"] = answers.scale_format.name
        arrays |= {"scale_a": (batch.scale_a, "BLOCKS"), "scale_b": (batch.scale_b, "BLOCKS")}
    lines = [f"// {line}" for line in selection.about()]
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", "", "#include <stdint.h>", ""]
    lines += [f"#define {upper}_{name} {size}" for name, size in sizes.items()]
    lines += [
        f'#define {upper}_{name} "{text}"' for name, text in {"DESIGN": plain(selection.designs[0]), **names}.items()
    ]
    for name, (patterns, inner) in arrays.items():
        shape = f"[{upper}_ROWS]" + (f"[{upper}_{inner}]" if inner else "")
        lines += ["", f"static const uint{patterns.dtype.itemsize * 8}_t {prefix}_{name}{shape} = {{"]
        lines += [*_initialisers(patterns), "};"]
    return "\n".join([*lines, "", f"#endif  // {upper}_H", ""])


def _initialisers(patterns: Patterns) -> list[str]:
    """Return the lines between the outer braces: a row in braces, or elements up to the width of a line."""
    width = 2 * patterns.dtype.itemsize
    if patterns.ndim == 2:
        return [f"    {{{', '.join(f'0x{x:0{width}x}' for x in row)}}}," for row in patterns.tolist()]
    each = max(1, _AT_MOST // (width + 4))
    parts = np.array_split(patterns, range(each, len(patterns), each))
    return ["    " + " ".join(f"0x{x:0{width}x}," for x in part.tolist()) for part in parts]


def testfloat_lines(selection: Selection) -> str:
    """Return one line a row: fixed-width digits without 0x, a space between two patterns; comments begin with #.

    Raises InputError where they are not rows of one design and length.

    testfloat_gen writes the operands of an operation, its result and the exception flags. Here the operands are all a,
    all b, the scales of a and of b where there are any, and c; there are no flags, which no unit of the catalogue has.
    """
    answers = selection.answers()
    a, b, c, d = answers.formats
    scale, batch = answers.scale_format, answers.batch
    columns = [f"a0..a{batch.k - 1}", f"b0..b{batch.k - 1}"]
    if scale is not None:
        blocks = len(selection.vectors[0].operands.scale_a)
        columns += [f"{name}0..{name}{blocks - 1}" for name in ("scale_a", "scale_b")]
    lines = [f"# {line}" for line in (*selection.about(), f"columns: {' '.join(columns)} c d")]
    for row, result in enumerate(answers.d.tolist()):
        x = batch.row(row)
        scales = [] if scale is None else [*_digits(scale, x.scale_a), *_digits(scale, x.scale_b)]
        patterns = [*_digits(a, x.a), *_digits(b, x.b), *scales, *_digits(c, [x.c]), *_digits(d, [result])]
        lines.append(" ".join(patterns))
    return "\n".join(lines) + "\n"


def _digits(fmt: Format, patterns: Iterable[int]) -> list[str]:
    return [fmt.hex(x)[2:] for x in patterns]


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


def write_npz(selection: Selection, path: Path) -> None:
    """Write the rows of one design as a recording; of the model where it computed every d, else of nothing named.

    Raises InputError where they are not rows of one design and length, or the file cannot be written.
    """
    answers = selection.answers()
    (name,) = selection.designs
    seed = selection.vectors[0].seed
    operands: dict[str, str | int] = {"source": plain(selection.whence), "expected": selection.about()[-1]}
    operands |= {} if seed is None else {"seed": seed}
    if selection.computed.get(name) == len(selection.vectors):
        about = provenance(ModelTarget(find_design(name)), answers, operands)
    else:
        about = Provenance.of(answers, target="", device="", instruction=plain(name), operands=operands)
    write_recording(path, answers, about)


MOST_ROWS = 20_000
"""The most rows of a program. It contains its operands as text, and compilers are slow with larger texts."""


@dataclass(frozen=True)
class Dialect:
    """What differs between the two languages: the header, the prefix of the runtime, and the command that compiles."""

    name: str
    header: str
    prefix: str
    compiler: str


CUDA = Dialect("cuda", "cuda_runtime.h", "cuda", "nvcc -gencode arch={virtual},code={architecture} -o vectors {file}")
HIP = Dialect("hip", "hip/hip_runtime.h", "hip", "hipcc --offload-arch={architecture} -o vectors {file}")

_PROGRAM = """\
// Runs {count} operand sets and prints what comes back, one JSON object a line; reads nothing. By mmaproof {version}.
//   {command}
//   ./vectors > returned.jsonl && mmaproof replay returned.jsonl model:{design}
#include <{header}>
#include <cstdio>
#include <cstdlib>

{kernels}
static void check({prefix}Error_t status, const char *what) {{
    if (status != {prefix}Success) {{
        std::fprintf(stderr, "%s: %s\\n", what, {prefix}GetErrorString(status));
        std::exit(3);
    }}
}}

static unsigned *on_device(const unsigned *words, std::size_t count) {{
    unsigned *copy = nullptr;
    check({prefix}Malloc(reinterpret_cast<void **>(&copy), count * sizeof(unsigned)), "allocation");
    if (words != nullptr)
        check({prefix}Memcpy(copy, words, count * sizeof(unsigned), {prefix}MemcpyHostToDevice), "copy to the device");
    return copy;
}}

// Operands of one instruction: for each step of a chain the words of a, b and the scales; c is that of the first step.
struct Operand {{
    const unsigned *words;
    std::size_t count;  // of one step
}};

static void run(const void *kernel, unsigned threads, unsigned tiles, unsigned steps, const Operand *operands,
                std::size_t words_of_d, unsigned rows, unsigned halves, const unsigned *homes, unsigned bits,
                const char *const *heads, const char *tail) {{
    unsigned *device[5] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
    unsigned *d = on_device(nullptr, words_of_d);
    device[2] = on_device(operands[2].words, operands[2].count);
    for (unsigned step = 0; step < steps; ++step) {{
        for (int i = 0; i < 5; ++i)
            if (i != 2 && operands[i].words != nullptr)
                device[i] = on_device(operands[i].words + step * operands[i].count, operands[i].count);
        void *arguments[6] = {{&device[0], &device[1], &device[2], &device[3], &device[4], &d}};
        check({prefix}LaunchKernel(kernel, dim3(tiles), dim3(threads), arguments, 0, 0), "launch");
        check({prefix}DeviceSynchronize(), "run");
        if (step + 1 < steps) {{  // d of one instruction is c of the next
            unsigned *c = device[2];
            device[2] = d;
            d = step == 0 ? on_device(nullptr, words_of_d) : c;
        }}
    }}
    const std::size_t size = words_of_d * sizeof(unsigned);
    unsigned *returned = static_cast<unsigned *>(std::malloc(size));
    check({prefix}Memcpy(returned, d, size, {prefix}MemcpyDeviceToHost), "copy from the device");
    const unsigned width = bits < 32 ? bits : 32;
    for (unsigned row = 0; row < rows; ++row) {{
        std::printf("%s", heads[row]);
        for (unsigned half = halves; half-- > 0;) {{
            const unsigned *home = homes + 2 * (row * halves + half);
            const unsigned value = returned[home[0]] >> home[1] & (width < 32 ? (1u << width) - 1 : ~0u);
            std::printf("%0*x", static_cast<int>((width + 3) / 4), value);
        }}
        std::printf("%s\\n", tail);
    }}
    std::free(returned);
}}

{data}
int main() {{
{calls}    return 0;
}}
"""


def program(groups: Sequence[tuple[Rows, Kernel]], dialect: Dialect, *, file: str, version: str) -> str:
    """Return the text of a program that runs rows on the kernel beside them; ``file`` is what it will be called.

    Raises InputError for more rows than MOST_ROWS, none, or kernels of several architectures.
    """
    count = sum(len(rows.batch) for rows, _ in groups)
    if not 0 < count <= MOST_ROWS:
        raise InputError(f"{count} operand sets: a program holds 1 to {MOST_ROWS}")
    kernels = {kernel.name: kernel for _, kernel in groups}
    architectures = sorted({kernel.architecture for kernel in kernels.values()})
    if len(architectures) != 1:
        raise InputError(f"designs of {', '.join(architectures)}: a program is for one architecture; use --design")
    parts = [_group(i, rows, kernel) for i, (rows, kernel) in enumerate(groups)]
    return _PROGRAM.format(
        count=count,
        version=version,
        command=_command(dialect, architectures[0], file),
        design=groups[0][1].design.name,
        header=dialect.header,
        prefix=dialect.prefix,
        kernels="\n".join(kernel.source for kernel in kernels.values()),
        data="\n".join(data for data, _ in parts),
        calls="".join(call for _, call in parts),
    )


def _command(dialect: Dialect, architecture: str, file: str) -> str:
    """Return the command that compiles a file, in one line."""
    quoted = shlex.quote(" ".join(file.split()))
    virtual = architecture.replace("sm", "compute")
    dropped = "  (CUDA 12; CUDA 13 has dropped sm_70)" if architecture == "sm_70" else ""
    return dialect.compiler.format(architecture=architecture, virtual=virtual, file=quoted) + dropped


def _group(number: int, rows: Rows, kernel: Kernel) -> tuple[str, str]:
    """Return the data of some rows, and the call that runs them."""
    design, count = kernel.design, len(rows.batch)
    steps = list(kernel.steps(rows.batch.padded(design)))
    data, operands = [], []
    for name in OPERANDS:
        if name not in steps[0]:
            operands.append("{nullptr, 0}")
            continue
        held = [steps[0][name]] if name == "c" else [step[name] for step in steps]
        data.append(_array(f"{name}_{number}", np.concatenate([x.reshape(-1) for x in held])))
        operands.append(f"{{{name}_{number}, {held[0].size}}}")
    word, bit = kernel.homes_of_d(count)
    data.append(_array(f"homes_{number}", np.stack([word, bit], axis=-1).reshape(-1).astype(np.uint32)))
    texts = [_around_d(rows, kernel, i) for i in range(count)]
    heads = ",\n".join(f"    {_quoted(head)}" for head, _ in texts)
    data.append(f"static const char *const heads_{number}[] = {{\n{heads}}};\n")
    data.append(f"static const Operand operands_{number}[] = {{{', '.join(operands)}}};\n")
    tiles, words = steps[0]["c"].shape[0], kernel.fragments["d"].words
    call = (
        f"    run(reinterpret_cast<const void *>({kernel.name}), {kernel.threads}, {tiles}, {len(steps)}, "
        f"operands_{number}, {tiles * words},\n        {count}, {word.shape[1]}, homes_{number}, "
        f"{design.d_format.bits}, heads_{number}, {_quoted(texts[0][1])});\n"
    )
    return "".join(data), call


def _around_d(rows: Rows, kernel: Kernel, row: int) -> tuple[str, str]:
    """Return what stands before and after the digits of d in the vector line of a row."""
    d = kernel.design.d_format
    vector = Vector(
        rows.batch.row(row), rows.formats, {kernel.design.name: 0}, why=rows.whence, scale_format=rows.scale_format
    )
    text = json.dumps({kernel.design.name: d.hex(0)})[1:-1]
    head, _, tail = vector_line(vector).rpartition(text)
    digits = len(d.hex(0)) - 2
    return head + text[: -digits - 1], text[-1] + tail


def _quoted(text: str) -> str:
    """Return a text as a string of C: the line is ASCII, and JSON escapes what C would."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _array(name: str, words: Words) -> str:
    numbers = [f"{x:#x}" for x in words.tolist()]
    lines = [", ".join(numbers[i : i + 12]) for i in range(0, len(numbers), 12)]
    return f"static const unsigned {name}[] = {{\n    " + ",\n    ".join(lines) + "};\n"
