"""`mmaproof export`: vectors, programs, queries and models as files that other tools read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import Exit, assumed_names, complain, print_json, say, say_assumed, tool_version
from mmaproof.cli.verdicts import asked
from mmaproof.designs.errors import InputError


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


@opt.with_backend
@opt.with_options(
    without="simplify",
    helps={
        "k": "Length of random operands, of what smt2 asks, or of a model (default the instruction's K); of a file, "
        "the vectors of that length."
    },
)
def export(
    sources: Annotated[
        list[str],
        opt.argument(
            "SOURCE",
            "A vector file (.jsonl), a recording (.npz), or a distribution of random operands; "
            "for smt2 two designs, for models one.",
        ),
    ],
    form: Annotated[ExportFormat, opt.option("--format", "What to write.")],
    output: Annotated[Path, opt.option("-o --output FILE", "The file; for readmemh and models a new folder.")],
    designs: Annotated[
        list[str] | None,
        opt.option(
            "--design DESIGN",
            "Whose d is expected, or the instruction to run; default those whose outputs SOURCE "
            "holds. Repeatable for jsonl.",
        ),
    ] = None,
    question: opt.QuestionOptions = opt.QUESTION,
    rows: Annotated[
        int | None,
        opt.option("--rows N", "Random operand sets (default 1000; in the self-test of a model 400).", min=1),
    ] = None,
    seed: opt.Seed = 0,
    decimal: opt.Decimal = False,
    json: opt.Json = False,
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
    _check(form, sources, designs, rows, question, decimal)
    if form in (ExportFormat.READMEMH, *MODELS):
        lib.files.require_new_folder(output)
    else:
        lib.files.make_way(output, read=[Path(x) for x in sources])
    about = [lib.catalogue.find_design(x) for x in (sources if form in OF_DESIGNS else designs or [])]
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
    question: opt.QuestionOptions,
    decimal: bool,
) -> None:
    """Raise InputError for options that the format has no use for, and for a wrong number of sources."""
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
    designs: list[lib.design.Design],
    drawn: tuple[int | None, int | None, int],
    decimal: bool,
) -> tuple[Callable[..., lib.answer.Answer], str]:
    """Write the selected rows of a source; return what was written, as an answer without its file and in words."""
    k, rows, seed = drawn
    selection = lib.selection.select(source, designs, k=k, rows=rows, seed=seed, version=tool_version())
    write = {
        ExportFormat.NPZ: lambda: lib.selection.write_npz(selection, output),
        ExportFormat.TABLE: lambda: lib.numbers.write_operands(output, selection.answers(), decimal=decimal),
        ExportFormat.READMEMH: lambda: lib.verilog.write_texts(output, lib.verilog.bench_files(selection)),
        ExportFormat.C: lambda: lib.files.write_atomically(output, lib.selection.c_header(selection, output.stem)),
        ExportFormat.TESTFLOAT: lambda: lib.files.write_atomically(output, lib.selection.testfloat_lines(selection)),
        ExportFormat.JSONL: lambda: lib.vectors.write_vectors(output, list(selection.vectors)),
    }
    write[form]()
    if selection.left_out:
        complain(f"note: {selection.left_out} vectors are left out: formats or length do not fit --design and --k")
    computed, count = {x: selection.computed.get(x, 0) for x in selection.designs}, len(selection.vectors)
    answer = partial(lib.listings.ExportedVectors.taken, selection, rows=count, computed=computed)
    by_model = ", ".join(f"{x} ({n} computed by the model)" if n else x for x, n in computed.items())
    return answer, f"{count} operand sets with d of {by_model}"


def _program(
    source: str,
    form: ExportFormat,
    output: Path,
    designs: list[lib.design.Design],
    drawn: tuple[int | None, int | None, int],
) -> tuple[Callable[..., lib.answer.Answer], str]:
    """Write a program that runs the operands of a source; return likewise."""
    if len(designs) > 1:
        raise InputError(
            f"--design is given {len(designs)} times: a program runs one instruction, or all of the vectors'"
        )
    architectures, kernel_of, dialect = {
        ExportFormat.CUDA: (lib.device.ARCHITECTURES, lib.device.kernel_of, lib.selection.CUDA),
        ExportFormat.HIP: (lib.mfma.ARCHITECTURES, lib.mfma.kernel, lib.selection.HIP),
    }[form]
    known = [x for x in lib.catalogue.load_catalogue().designs.values() if x.architecture in architectures]
    k, rows, seed = drawn
    if rows is not None and rows > lib.selection.MOST_ROWS:
        raise InputError(f"{rows} operand sets: a program holds 1 to {lib.selection.MOST_ROWS}")
    groups = []
    for held in lib.vectors.read_rows(source, designs or known, k=k, rows=rows, seed=seed):
        of: lib.design.Design = designs[0] if designs else lib.catalogue.find_design(held.design or "")
        if of.architecture not in architectures:
            raise InputError(
                f"{of.name} is not an instruction that --format {form} runs: {', '.join(architectures)} have"
            )
        held.check_formats(of)
        groups.append((held, kernel_of(of)))
    lib.files.write_atomically(output, lib.selection.program(groups, dialect, file=output.name, version=tool_version()))
    names = list(dict.fromkeys(kernel.design.name for _, kernel in groups))
    count = sum(len(held.batch) for held, _ in groups)
    return partial(
        lib.listings.ExportedProgram, rows=count, designs=names
    ), f"{count} operand sets for {', '.join(names)}"


def _query(
    designs: list[lib.design.Design], output: Path, options: opt.QuestionOptions
) -> tuple[Callable[..., lib.answer.Answer], str]:
    """Write the question whether two designs are equivalent; return likewise."""
    first, second = designs
    given = {name: x for name, x in options.of_comparison().items() if name != "simplifying"}
    question = lib.equivalence.Equivalence(first, second, **given)
    lib.design.check_askable(question.k)
    lib.files.write_atomically(output, lib.selection.equivalence_script(question, tool_version()))
    names = [first.name, second.name]
    answer = partial(lib.listings.ExportedQuestion, designs=names, **asked(question))
    return answer, f"are {' and '.join(names)} different? (k = {question.k})"


def _judge(
    source: str, form: ExportFormat, output: Path, k: int | None
) -> tuple[Callable[..., lib.answer.Answer], str, list[lib.design.Design]]:
    """Write the judge of a plan, or what calls it in JavaScript; return likewise, and the unit."""
    plan = lib.named.find_plan(source)
    model, text = lib.judges.make_judge(plan, k, tool_version())
    how = f"cc -std=c11 -O2 -o judge {output.name}"
    if form is ExportFormat.JS_JUDGE:
        text = lib.judges.js_judge(plan.name, plan.formats[3].hex_digits, is_unit=plan.is_unit)
        how = f"node {output.name} judge.wasm a.npy b.npy d.npy"
    lib.files.write_atomically(output, text)
    length = model.k if plan.is_unit or k is None else k
    found = partial(
        lib.listings.ExportedModel, design=plan.name, k=length, name=model.name, rows=0, files=[output.name]
    )
    return found, f"{plan.name}, k = {length}; {how}", [plan.unit]


def _model(
    design: lib.design.Design, form: ExportFormat, output: Path, drawn: tuple[int | None, int | None, int]
) -> tuple[Callable[..., lib.answer.Answer], str]:
    """Write a design as a program; return likewise."""
    k, rows, seed = drawn
    model = lib.model.make_model(design, k, tool_version(), wide=form is ExportFormat.SV_MODEL)
    test = lib.model.make_self_test(model, lib.model.ROWS if rows is None else rows, seed)
    write = {
        ExportFormat.C_MODEL: lib.c_model.c_files,
        ExportFormat.CUDA_MODEL: lib.cuda_model.cuda_files,
        ExportFormat.SV_MODEL: lib.sv_model.sv_files,
    }[form]
    files = write(model, test)
    lib.verilog.write_texts(output, files)
    count = len(test.selection.vectors)
    answer = partial(lib.listings.ExportedModel.taken, model, design=model.design.name, rows=count, files=sorted(files))
    listed = "".join(f"\n  {x}" for x in sorted(files))
    return answer, f"{model.design.name}, k = {model.k}, with {count} rows to test it{listed}"
