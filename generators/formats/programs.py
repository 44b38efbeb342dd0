"""Programs for machines without Python: CUDA or HIP source that contains operands, runs them and prints vector lines.

A program reads no input. It contains the operands as the words that the instructions read. Each line that it prints
consists of two texts with d between them, so the program needs no knowledge of formats.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.errors import InputError
from mmaproof.generators.vectors import Vector, vector_line
from mmaproof.hardware_replay.answers import Rows
from mmaproof.hardware_replay.kernels.kernel import OPERANDS, Kernel, Words

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
