"""Printed models in tests: compilers and simulators that may be missing, programs that run rows, and wrong texts."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.generators.models.c_model import c_files, c_type, pointers
from mmaproof.generators.models.model import Model, SelfTest
from mmaproof.smt.algebra.nodes import Node, Op

STRICT = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
_SANITIZED = ["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
HOW = {
    "gcc": "apt-get install gcc",
    "cc": "apt-get install gcc",
    "g++": "apt-get install g++",
    "make": "apt-get install make",
    "clang": "apt-get install clang",
    "clang++": "apt-get install clang",
    "iverilog": "apt-get install iverilog",
    "verilator": "apt-get install verilator",
}


def need(tool: str) -> str:
    """The path of a tool; the test is skipped where it is missing."""
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"no {tool} on this machine ({HOW[tool]})")
    return found


@cache
def sanitized(compiler: str) -> list[str]:
    """The options that stop a program at undefined behaviour; the test is skipped where they need what is not there."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.c")
        source.write_text("int main(void) { return 0; }\n")
        status, _ = run_in(Path(folder), need(compiler), *_SANITIZED, "-o", "empty", source.name)
    if status != 0:
        pytest.skip(f"{compiler} has no sanitizers on this machine (apt-get install libclang-rt-14-dev, or its like)")
    return _SANITIZED


def run_in(folder: Path, *command: str) -> tuple[int, str]:
    """Run a command in a folder; return its exit status and what it printed."""
    ended = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=600)
    return ended.returncode, ended.stdout + ended.stderr


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def compiled(folder: Path, compiler: str, options: Sequence[str], *sources: str) -> str:
    """Compile sources of a folder, which must give no warning where that is asked; return the program."""
    status, said = run_in(folder, need(compiler), *options, "-o", "program", *sources)
    assert (status, said) == (0, "")
    return "./program"


def self_tested(folder: Path, model: Model, test: SelfTest, compiler: str, options: Sequence[str]) -> tuple[int, str]:
    """Compile the model in C with its self-test; return the exit status of the test and what it printed."""
    write(folder, c_files(model, test))
    return run_in(folder, compiled(folder, compiler, options, f"{model.name}.c", f"{model.name}_test.c"))


_DRIVER = """\
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>

static void *words(size_t size)
{{
    void *read = malloc(size + 1);
    if (read == NULL || fread(read, 1, size, stdin) != size)
        exit(3);
    return read;
}}

int main(int argc, char **argv)
{{
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
{reads}
    {d} *d = malloc(n * sizeof *d);
    {name}_rows(n, {given}, d);
    for (size_t i = 0; i < n; i++)
        if ({name}_dot({row}) != d[i])
            return 4;
    return fwrite(d, sizeof *d, n, stdout) == n ? 0 : 5;
}}
"""


_DRIVER_OF_NEXT = _DRIVER.replace("{name}_rows(n, {given}, d);\n", "").replace(
    "if ({name}_dot({row}) != d[i])\n            return 4;", "d[i] = {name}_next({row});"
)


def driver(model: Model, following: bool = False) -> str:
    """A program that reads operands, column after column, and writes d; rows and single dot products must agree.

    With ``following``, it is the d of an instruction that follows in a chain.
    """
    given = pointers(model.later if following else model.first)
    return (_DRIVER_OF_NEXT if following else _DRIVER).format(
        name=model.name,
        reads="\n".join(f"    const {p.type} *{p.name} = words(n * {p.count} * sizeof *{p.name});" for p in given),
        d=c_type(model.design.d_format),
        given=", ".join(p.name for p in given),
        row=", ".join("c[i]" if p.name == "c" else f"{p.name} + i * {p.count}" for p in given),
    )


def run_rows(folder: Path, program: str, model: Model, batch: OperandBatch) -> Patterns:
    """Return d of the rows as the compiled driver computes it."""
    columns = {"a": batch.a, "b": batch.b, "c": batch.c, "scale_a": batch.scale_a, "scale_b": batch.scale_b}
    sent = b""
    for p in pointers(model.first):
        column = columns[p.name]
        assert column is not None
        sent += np.ascontiguousarray(column).tobytes()
    ended = subprocess.run([program, str(len(batch))], cwd=folder, input=sent, check=False, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
    d: Patterns = np.frombuffer(ended.stdout, dtype=pattern_dtype(model.design.d_format))
    return d


Mutation = Callable[[str, Node], str]


def _replaced(old: str, new: str) -> Mutation:
    return lambda text, _: text.replace(old, new)


def _unsigned(text: str, _: Node) -> str:
    return re.sub(r"\((?:int32_t|int64_t|mma_int128)\)|\$signed(?=\()", "", text)


def _without_sign(text: str, node: Node) -> str:
    return re.sub(r"\{(\d+)\{\w+\[\d+\]\}\}", r"{\1{1'b0}}", _unsigned(text, node))


def _swapped(text: str, _: Node) -> str:
    in_c = re.sub(r"(MMA_SELECT_\d+\(\w+, )(.+), (.+)\)$", r"\1\3, \2)", text)
    return in_c if in_c != text else re.sub(r"^(\w+ \? )(\S+) : (\S+)$", r"\1\3 : \2", text)


def _not_clamped(text: str, node: Node) -> str:
    bounded = 1 if node.operands[0].is_constant else 0
    found = re.match(r"(\S+) < (\S+) \?", text)
    assert found is not None, text
    return found[1 + bounded]


MUTATIONS: dict[Op, list[Mutation]] = {
    Op.ADD: [_replaced(" + ", " | ")],
    Op.SUBTRACT: [_replaced(" - ", " ^ ")],
    Op.MULTIPLY: [_replaced(" * ", " | ")],
    Op.AND: [_replaced(" & ", " | ")],
    Op.OR: [_replaced(" | ", " & ")],
    Op.XOR: [_replaced(" ^ ", " | ")],
    Op.SHIFT_LEFT: [_replaced(" << ", " >> ")],
    Op.SHIFT_RIGHT: [_replaced(" >> ", " << ")],
    Op.SHIFT_OUT: [_replaced(" >> ", " << ")],
    Op.SHIFT_RIGHT_SIGNED: [_unsigned],
    Op.MINIMUM: [_replaced(" < ", " > "), _not_clamped],
    Op.MAXIMUM: [_replaced(" < ", " > ")],
    Op.MINIMUM_SIGNED: [_replaced(" < ", " > "), _unsigned],
    Op.MAXIMUM_SIGNED: [_replaced(" < ", " > "), _unsigned],
    Op.MAGNITUDE: [lambda text, _: text.replace(" < 0 ?", " > 0 ?") if "<" in text else f"!{text}"],
    Op.LEADING_ZEROS: [lambda text, _: f"{text} ^ 1"],
    Op.EQUAL: [_replaced(" == ", " != ")],
    Op.LESS: [_replaced(" < ", " > ")],
    Op.LESS_SIGNED: [_replaced(" < ", " > "), _unsigned],
    Op.SELECT: [_swapped],
    Op.ZERO_EXTEND: [lambda text, _: f"~({text})"],
    Op.SIGN_EXTEND: [_without_sign],
    Op.TRUNCATE: [lambda text, _: f"({text}) >> 1"],
}
"""Wrong ways to print each operation, given how it is printed."""


def statement_pattern(node: Node) -> re.Pattern[str]:
    """What finds the statement of a node in a printed text: what is before the expression, and the expression."""
    return re.compile(rf"^(\s*(?:const \w+|wire(?: \[\d+:0\])?) t{node.number} = )(.*);$", re.MULTILINE)


def mutated(text: str, nodes: Sequence[Node], mutation: Mutation) -> str:
    """The text with the statements of ``nodes`` changed, each of which must be in it."""
    for node in nodes:
        pattern = statement_pattern(node)
        found = pattern.search(text)
        assert found is not None, node
        wrong = mutation(found[2], node)
        assert wrong != found[2], (node, found[2])
        text = text[: found.start(2)] + wrong + text[found.end(2) :]
    return text
