"""`mmaproof export`: vectors, programs, queries and models as files that other tools read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli.options import (
    QUESTION,
    Decimal,
    Json,
    QuestionOptions,
    Seed,
    argument,
    option,
    with_backend,
    with_options,
)
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, say, say_assumed, tool_version
from mmaproof.cli.verdicts import asked

if TYPE_CHECKING:
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.answer import Answer


class ExportFormat(StrEnum):
    """What `export` writes."""

    JSONL = "jsonl"
    TABLE = "table"
    NPZ = "npz"
    READMEMH = "readmemh"
    C = "c"
    TESTFLOAT = "testfloat"
    CUDA = "cuda"
    HIP = "hip"
    SMT2 = "smt2"
    C_MODEL = "c-model"
    CUDA_MODEL = "cuda-model"
    SV_MODEL = "sv-model"
    C_JUDGE = "c-judge"
    JS_JUDGE = "js-judge"


PROGRAMS = (ExportFormat.CUDA, ExportFormat.HIP)
MODELS = (ExportFormat.C_MODEL, ExportFormat.CUDA_MODEL, ExportFormat.SV_MODEL)
JUDGES = (ExportFormat.C_JUDGE, ExportFormat.JS_JUDGE)
OF_DESIGNS = (ExportFormat.SMT2, *MODELS)
"""Formats whose sources are designs."""


@with_backend
@with_options(
    without="simplify",
    helps={
        "k": "Length of random operands, of what smt2 asks, or of a model (default the instruction's K); of a file, "
        "the vectors of that length."
    },
)
def export(
    sources: Annotated[
        list[str],
        argument(
            "SOURCE",
            "A vector file (.jsonl), a recording (.npz), or a distribution of random operands; "
            "for smt2 two designs, for models one.",
        ),
    ],
    form: Annotated[ExportFormat, option("--format", "What to write.")],
    output: Annotated[Path, option("-o --output FILE", "The file; for readmemh and models a new folder.")],
    designs: Annotated[
        list[str] | None,
        option(
            "--design DESIGN",
            "Whose d is expected, or the instruction to run; default those whose outputs SOURCE "
            "holds. Repeatable for jsonl.",
        ),
    ] = None,
    question: QuestionOptions = QUESTION,
    rows: Annotated[
        int | None, option("--rows N", "Random operand sets (default 1000; in the self-test of a model 400).", min=1)
    ] = None,
    seed: Seed = 0,
    decimal: Decimal = False,
    json: Json = False,
) -> int:
    """Write vectors, the question of `compare`, or a model of a design, as files that other tools read.

    \b
    jsonl      vector lines
    table      a row for each: FILE.csv, .tsv, .jsonl; with --decimal of numbers
    npz        a recording
    readmemh   hexadecimal rows, a SystemVerilog package, a self-checking test bench
    c          a C99 header
    testfloat  lines of operands and result, in the manner of Berkeley TestFloat
    cuda, hip  a self-contained program that runs the operands and prints vectors
    smt2       the question of `compare` for two designs, in SMT-LIB 2
    c-model    a design as functions in C11, with a self-test
    cuda-model a design as a function of CUDA C++ for host and device, with a self-test
    sv-model   a design as a combinational SystemVerilog module, with test benches
    c-judge    a C11 program that says of a product in .npy files whether it has the bits of a design, or of a plan for
               one --k; also for WebAssembly
    js-judge   a module of JavaScript that calls it there

    The expected d is what SOURCE holds of the design, else what the model returns.
    """  # noqa: D301  (a backspace before lines that are to stay as they are)
    from mmaproof.designs.catalogue import find_design
    from mmaproof.designs.files import make_way, require_new_folder

    _check(form, sources, designs, rows, question, decimal)
    if form in (ExportFormat.READMEMH, *MODELS):
        require_new_folder(output)
    else:
        make_way(output, read=[Path(x) for x in sources])
    about = [find_design(x) for x in (sources if form in OF_DESIGNS else designs or [])]
    drawn = question.k, rows, seed
    if form in JUDGES:
        answer, text, about = _judge(sources[0], form, output, question.k)
    elif form is ExportFormat.SMT2:
        answer, text = _query(about, output, question)
    elif form in OF_DESIGNS:
        answer, text = _model(about[0], form, output, drawn)
    elif form in PROGRAMS:
        answer, text = _program(sources[0], form, output, about, drawn)
    else:
        answer, text = _vectors(sources[0], form, output, about, drawn, decimal)
    if json:
        print_json(answer(file=str(output), format=form.value, assumed=assumed_names(about)))
    else:
        say(f"{output}: {text}")
        say_assumed(about, "what is written")
    return Exit.HOLDS


def _check(
    form: ExportFormat,
    sources: list[str],
    designs: list[str] | None,
    rows: int | None,
    question: QuestionOptions,
    decimal: bool,
) -> None:
    """Raise InputError for options that the format has no use for, and for a wrong number of sources."""
    from mmaproof.designs.errors import InputError

    if form is not ExportFormat.SMT2 and (question.where or question.nan_codes or question.ignore_zero_signs):
        raise InputError(f"--where, --nan-codes and --ignore-zero-signs are of smt2: {form} has no use for them")
    if decimal and form is not ExportFormat.TABLE:
        raise InputError(f"--decimal is of --format table: {form} holds bit patterns")
    if form is ExportFormat.SMT2:
        if designs or rows is not None:
            raise InputError("smt2 is a question about all operands of two designs: leave --design and --rows out")
        if len(sources) != 2:
            raise InputError(f"smt2 asks whether two designs are equivalent, and {len(sources)} is given")
    elif form in (*OF_DESIGNS, *JUDGES):
        if designs:
            raise InputError(f"{form} is of the design that is named first: leave --design out")
        if len(sources) != 1:
            raise InputError(f"{len(sources)} sources: {form} is of one design")
        if form in JUDGES and rows is not None:
            raise InputError(f"{form} has no self-test: leave --rows out")
    elif len(sources) != 1:
        raise InputError(f"{len(sources)} sources: {form} is of one")


def _vectors(
    source: str,
    form: ExportFormat,
    output: Path,
    designs: list[Design],
    drawn: tuple[int | None, int | None, int],
    decimal: bool,
) -> tuple[Callable[..., Answer], str]:
    """Write the selected rows of a source; return what was written, as an answer without its file and in words."""
    from mmaproof.designs.files import write_atomically
    from mmaproof.explain.answers.listings import ExportedVectors
    from mmaproof.generators.formats.selection import c_header, select, testfloat_lines, write_npz
    from mmaproof.generators.formats.verilog import bench_files, write_texts
    from mmaproof.generators.vectors import write_vectors
    from mmaproof.hardware_replay.tables.numbers import write_operands

    k, rows, seed = drawn
    selection = select(source, designs, k=k, rows=rows, seed=seed, version=tool_version())
    write = {
        ExportFormat.NPZ: lambda: write_npz(selection, output),
        ExportFormat.TABLE: lambda: write_operands(output, selection.answers(), decimal=decimal),
        ExportFormat.READMEMH: lambda: write_texts(output, bench_files(selection)),
        ExportFormat.C: lambda: write_atomically(output, c_header(selection, output.stem)),
        ExportFormat.TESTFLOAT: lambda: write_atomically(output, testfloat_lines(selection)),
        ExportFormat.JSONL: lambda: write_vectors(output, list(selection.vectors)),
    }
    write[form]()
    if selection.left_out:
        complain(f"note: {selection.left_out} vectors are left out: formats or length do not fit --design and --k")
    computed, count = {x: selection.computed.get(x, 0) for x in selection.designs}, len(selection.vectors)
    answer = partial(ExportedVectors.taken, selection, rows=count, computed=computed)
    by_model = ", ".join(f"{x} ({n} computed by the model)" if n else x for x, n in computed.items())
    return answer, f"{count} operand sets with d of {by_model}"


def _program(
    source: str, form: ExportFormat, output: Path, designs: list[Design], drawn: tuple[int | None, int | None, int]
) -> tuple[Callable[..., Answer], str]:
    """Write a program that runs the operands of a source; return likewise."""
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.errors import InputError
    from mmaproof.designs.files import write_atomically
    from mmaproof.explain.answers.listings import ExportedProgram
    from mmaproof.generators.formats.selection import CUDA, HIP, MOST_ROWS, program
    from mmaproof.generators.vectors import read_rows
    from mmaproof.hardware_replay.cuda import device
    from mmaproof.hardware_replay.hip import mfma

    if len(designs) > 1:
        raise InputError(
            f"--design is given {len(designs)} times: a program runs one instruction, or all of the vectors'"
        )
    architectures, kernel_of, dialect = {
        ExportFormat.CUDA: (device.ARCHITECTURES, device.kernel_of, CUDA),
        ExportFormat.HIP: (mfma.ARCHITECTURES, mfma.kernel, HIP),
    }[form]
    known = [x for x in load_catalogue().designs.values() if x.architecture in architectures]
    k, rows, seed = drawn
    if rows is not None and rows > MOST_ROWS:
        raise InputError(f"{rows} operand sets: a program holds 1 to {MOST_ROWS}")
    groups = []
    for held in read_rows(source, designs or known, k=k, rows=rows, seed=seed):
        of: Design = designs[0] if designs else find_design(held.design or "")
        if of.architecture not in architectures:
            raise InputError(
                f"{of.name} is not an instruction that --format {form} runs: {', '.join(architectures)} have"
            )
        held.check_formats(of)
        groups.append((held, kernel_of(of)))
    write_atomically(output, program(groups, dialect, file=output.name, version=tool_version()))
    names = list(dict.fromkeys(kernel.design.name for _, kernel in groups))
    count = sum(len(held.batch) for held, _ in groups)
    return partial(ExportedProgram, rows=count, designs=names), f"{count} operand sets for {', '.join(names)}"


def _query(designs: list[Design], output: Path, options: QuestionOptions) -> tuple[Callable[..., Answer], str]:
    """Write the question whether two designs are equivalent; return likewise."""
    from mmaproof.designs.design import check_askable
    from mmaproof.designs.files import write_atomically
    from mmaproof.explain.answers.listings import ExportedQuestion
    from mmaproof.generators.formats.selection import equivalence_script
    from mmaproof.properties.equivalence import Equivalence

    first, second = designs
    given = {name: x for name, x in options.of_comparison().items() if name != "simplifying"}
    question = Equivalence(first, second, **given)
    check_askable(question.k)
    write_atomically(output, equivalence_script(question, tool_version()))
    names = [first.name, second.name]
    answer = partial(ExportedQuestion, designs=names, **asked(question))
    return answer, f"are {' and '.join(names)} different? (k = {question.k})"


def _judge(
    source: str, form: ExportFormat, output: Path, k: int | None
) -> tuple[Callable[..., Answer], str, list[Design]]:
    """Write the judge of a plan, or what calls it in JavaScript; return likewise, and the unit."""
    from mmaproof.designs.files import write_atomically
    from mmaproof.explain.answers.listings import ExportedModel
    from mmaproof.gemm.programs.named import find_plan
    from mmaproof.generators.models.judges import js_judge, make_judge

    plan = find_plan(source)
    model, text = make_judge(plan, k, tool_version())
    how = f"cc -std=c11 -O2 -o judge {output.name}"
    if form is ExportFormat.JS_JUDGE:
        text = js_judge(plan.name, plan.formats[3].hex_digits, is_unit=plan.is_unit)
        how = f"node {output.name} judge.wasm a.npy b.npy d.npy"
    write_atomically(output, text)
    length = model.k if plan.is_unit or k is None else k
    found = partial(ExportedModel, design=plan.name, k=length, name=model.name, rows=0, files=[output.name])
    return found, f"{plan.name}, k = {length}; {how}", [plan.unit]


def _model(
    design: Design, form: ExportFormat, output: Path, drawn: tuple[int | None, int | None, int]
) -> tuple[Callable[..., Answer], str]:
    """Write a design as a program; return likewise."""
    from mmaproof.explain.answers.listings import ExportedModel
    from mmaproof.generators.formats.verilog import write_texts
    from mmaproof.generators.models.c_model import c_files
    from mmaproof.generators.models.cuda_model import cuda_files
    from mmaproof.generators.models.model import ROWS, make_model, make_self_test
    from mmaproof.generators.models.sv_model import sv_files

    k, rows, seed = drawn
    model = make_model(design, k, tool_version(), wide=form is ExportFormat.SV_MODEL)
    test = make_self_test(model, ROWS if rows is None else rows, seed)
    write = {ExportFormat.C_MODEL: c_files, ExportFormat.CUDA_MODEL: cuda_files, ExportFormat.SV_MODEL: sv_files}[form]
    files = write(model, test)
    write_texts(output, files)
    count = len(test.selection.vectors)
    answer = partial(ExportedModel.taken, model, design=model.design.name, rows=count, files=sorted(files))
    listed = "".join(f"\n  {x}" for x in sorted(files))
    return answer, f"{model.design.name}, k = {model.k}, with {count} rows to test it{listed}"
