"""LLVM IR compiled for this CPU by llvmlite, and machine code loaded into this process.

llvmlite is imported where it is used: nothing else needs it, and it takes a tenth of a second to load.

Compiled code kept in a folder, one file for each design, CPU and version of the code that made it.

A file that is damaged, or of another design or version, counts as absent. What is read is run on rows whose results
are known before it is used (``checked``).

Machine code that was checked before its first use: loaded from the cache, or compiled and kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.files import cache_folder, digest_of_sources, write_atomically
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.designs.parameters import complete_settings, format_parameter
from mmaproof.smt.backends import note_once
from mmaproof.smt.native.lowering import InputColumn

INSTALL = "pip install 'mmaproof[native]'"


@dataclass(frozen=True)
class Processor:
    """The CPU that code is compiled for, as LLVM names it and its features, and the version of llvmlite."""

    triple: str
    name: str
    features: str
    llvmlite: str

    @property
    def vector_bits(self) -> int:
        """The width of its vector registers, 128 where nothing wider is known."""
        wide = self.features.split(",")
        if all(x in wide for x in ("+avx512f", "+avx512bw", "+avx512dq", "+avx512vl")):
            return 512
        return 256 if "+avx2" in wide else 128

    @property
    def has_fused_multiply_add(self) -> bool:
        """Whether it has x86-64's fused multiply-add instructions."""
        return self.triple.startswith("x86_64") and "+fma" in self.features.split(",")


@cache
def missing() -> str | None:
    """Return why nothing can be compiled here; None where it can."""
    if find_spec("llvmlite") is None:
        return f"llvmlite is not installed: {INSTALL}"
    return None


@cache
def processor() -> Processor:
    """Return this CPU. Raises TargetUnavailable where llvmlite is missing."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  (few commands come here)

    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    try:
        release = version("llvmlite")
    except PackageNotFoundError:
        release = "unknown"
    return Processor(llvm.get_default_triple(), llvm.get_host_cpu_name(), features, release)


@cache
def _llvm() -> Any:
    if (problem := missing()) is not None:
        raise TargetUnavailable(problem)
    from llvmlite import binding  # noqa: PLC0415

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # for the control register's instructions
    return binding


def compile_object(functions: Iterable[str], declarations: Iterable[str], *, optimised: bool) -> bytes:
    """Return the object file of functions in LLVM IR, for this CPU.

    A graph has no repeated operations, so LLVM's optimiser finds little: it takes three quarters of the time, and the
    code is 5 to 20 % faster for it. Instructions are selected and scheduled for this CPU either way.
    """
    llvm, cpu = _llvm(), processor()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=3, reloc="pic", codemodel="small", jit=False
    )
    module = llvm.parse_assembly("\n".join([*sorted(set(declarations)), *functions]))
    module.verify()
    if optimised:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization = False  # everything is a vector already
        options.loop_unrolling = False  # bodies are hundreds of instructions
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    compiled: bytes = machine.emit_object(module)
    return compiled


class MachineCode:
    """Functions of an object file, loaded into this process for its lifetime."""

    def __init__(self, compiled: bytes, names: Iterable[str]) -> None:
        llvm = _llvm()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(compiled))
        self._engine.finalize_object()
        self.addresses: Mapping[str, int] = {name: self._engine.get_function_address(name) for name in names}


CACHE_VARIABLE = "MMAPROOF_CACHE"
"""Names the folder. If it is empty, nothing is kept."""

MOST_FILES = 4096
"""More files than this are not kept: the older half is removed."""

_MAGIC = b"mmaproof native code 1\n"
_ROOTS = ("designs", "smt/algebra", "smt/semantics", "smt/native")
"""The folders whose sources decide what is compiled."""


@dataclass(frozen=True)
class Entry:
    """An object file, the sizes that its caller has to know, and the d of the rows that it is checked on."""

    compiled: bytes
    sizes: Mapping[str, int]
    checked: tuple[int, ...]


def identity(design: Design, **what: Any) -> str:
    """Return the text that says which code is meant: the arithmetic of a design, what is computed, CPU and sources."""
    signature = design.signature
    settings = complete_settings(design.chain, design.step) if design.step.is_parametric else design.settings
    record = {
        "formats": [f.name for f in signature.formats],
        "scale": None if signature.scale is None else [signature.scale.name, signature.block],
        "k": [design.k, design.k_multiple],
        "settings": {n: format_parameter(n, v) for n, v in settings.items()},
        "content": design.step.content,
        "cpu": list(_processor_key()),
        "sources": digest_of_sources(*_ROOTS),
        **what,
    }
    return json.dumps(record, sort_keys=True)


def find(key: str) -> Entry | None:
    """Return what is kept under a key; None where there is nothing, or nothing whole."""
    file = _file(key)
    if file is None:
        return None
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, text = content[len(_MAGIC) : len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
    if not content.startswith(_MAGIC) or hashlib.sha256(text).digest() != digest:
        return None
    head, _, compiled = text.partition(b"\n")
    try:
        record = json.loads(head)
        entry = Entry(
            compiled, {str(n): int(x) for n, x in record["sizes"].items()}, tuple(map(int, record["checked"]))
        )
        return entry if record["key"] == key else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def has(key: str) -> bool:
    """Return whether a file is kept under a key, whole or not."""
    file = _file(key)
    return file is not None and file.is_file()


def keep(key: str, entry: Entry) -> None:
    """Keep an entry. Where that is not possible, a note says so once."""
    file = _file(key)
    if file is None:
        return
    head = json.dumps({"key": key, "sizes": dict(entry.sizes), "checked": list(entry.checked)}).encode()
    text = head + b"\n" + entry.compiled
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_room(file.parent)
        write_atomically(file, _MAGIC + hashlib.sha256(text).digest() + text)
    except InputError as problem:
        _not_kept(str(problem))
    except OSError as problem:
        _not_kept(f"{file.parent}: {problem.strerror}")


def _not_kept(why: str) -> None:
    note_once("cache", f"native code is not kept, and is compiled anew in each process: {why}")


def folder() -> Path | None:
    """Return the folder of compiled code, which may not exist yet; None where nothing is kept."""
    named = os.environ.get(CACHE_VARIABLE)
    if named == "":
        return None
    try:
        place = cache_folder() / "native" if named is None else Path(named).expanduser()
    except (InputError, RuntimeError) as problem:
        _not_kept(f"{problem}; let {CACHE_VARIABLE} name a folder")
        return None
    if (problem_of := _unsafe(place)) is not None:
        _not_kept(problem_of)
        return None
    return place


def _unsafe(place: Path) -> str | None:
    """Return why no code is taken from a folder; None where only this user can have put it there."""
    try:
        found = place.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return f"{place} is not a folder"
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return f"{place} is not this user's alone: code in it would be run (chmod 700, or another {CACHE_VARIABLE})"
    return None


def _file(key: str) -> Path | None:
    place = folder()
    return None if place is None else place / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"


def _make_room(place: Path) -> None:
    files = [x for x in place.iterdir() if x.suffix == ".o"]
    if len(files) >= MOST_FILES:
        for file in sorted(files, key=lambda x: x.stat().st_mtime)[: MOST_FILES // 2]:
            file.unlink(missing_ok=True)


def _processor_key() -> tuple[str, ...]:
    cpu = processor()
    return cpu.triple, cpu.name, cpu.features, cpu.llvmlite


MOST_LOADED = 1024
"""Kernels of a kind that this process holds; then the oldest one goes."""

CHECKED_ROWS = 128
"""Rows on which code is run before it is used, compiled or read from the cache."""

Kernel = TypeVar("Kernel")
Key = TypeVar("Key")


_locks = [threading.RLock()]
if hasattr(os, "register_at_fork"):
    # a child has the locks as they were, and not the threads that would release them
    os.register_at_fork(after_in_child=lambda: _locks.__setitem__(0, threading.RLock()))


class MiscompiledError(Exception):
    """Compiled code returned another d than arrays do (an internal error)."""


@dataclass(frozen=True)
class Source:
    """Functions in LLVM IR with the intrinsics that they call, and the sizes that their caller has to know.

    ``optimised`` says whether they are worth the time of LLVM's optimiser.
    """

    texts: Sequence[str]
    declarations: Iterable[str]
    sizes: Mapping[str, int]
    optimised: bool


@dataclass(frozen=True)
class Recipe(Generic[Kernel]):
    """How a kernel comes about, and how it is checked.

    ``key`` is what it is kept under, None for nothing; ``functions`` are the names of its functions. ``made`` gives the
    kernel of machine code and sizes, ``results`` runs it on the rows of a check, and ``expected`` computes the same on
    arrays.
    """

    what: str
    key: str | None
    functions: Sequence[str]
    source: Callable[[], Source]
    made: Callable[[MachineCode, Mapping[str, int]], Kernel]
    results: Callable[[Kernel], npt.NDArray[Any]]
    expected: Callable[[], npt.NDArray[Any]]


def checked(recipe: Recipe[Kernel]) -> Kernel:
    """Return a kernel whose results were compared with those of arrays: now, or when it was compiled and kept.

    Raises MiscompiledError where what was compiled just now is wrong, and whatever ``source`` raises.
    """
    entry = None if recipe.key is None else find(recipe.key)
    if entry is not None:
        kernel = recipe.made(MachineCode(entry.compiled, recipe.functions), entry.sizes)
        if recipe.results(kernel).tolist() == list(entry.checked):
            return kernel
    source = recipe.source()
    compiled = compile_object(source.texts, source.declarations, optimised=source.optimised)
    kernel = recipe.made(MachineCode(compiled, recipe.functions), source.sizes)
    results, expected = recipe.results(kernel), recipe.expected()
    if not np.array_equal(results, expected):
        wrong = int((results != expected).sum())
        raise MiscompiledError(
            f"native code of {recipe.what} differs from arrays in {wrong} of {len(expected)} results: "
            "use --backend arrays, and report this"
        )
    if recipe.key is not None:
        keep(recipe.key, Entry(compiled, source.sizes, tuple(expected.tolist())))
    return kernel


def once(loaded: dict[Key, Kernel], key: Key, recipe: Callable[[], Recipe[Kernel]]) -> Kernel:
    """Return a checked kernel of ``loaded``, made where it is not there. Only one thread compiles at a time."""
    if (found := loaded.get(key)) is not None:
        return found
    with _locks[0]:
        found = loaded.get(key) or checked(recipe())
        if len(loaded) >= MOST_LOADED:
            del loaded[next(iter(loaded))]
        loaded[key] = found
    return found


@lru_cache(maxsize=8)
def sample(columns: tuple[InputColumn, ...]) -> OperandBatch:
    """Return the rows that code is checked on: numbers near one, and anything."""
    rng = np.random.default_rng(0)
    drawn = {x.name: _patterns(rng, x.format, (CHECKED_ROWS, len(x.inputs))) for x in columns}
    return OperandBatch(drawn["a"], drawn["b"], drawn["c"][:, 0], drawn.get("sa"), drawn.get("sb"))


def _patterns(rng: np.random.Generator, fmt: Format, shape: tuple[int, int]) -> Patterns:
    """Return random patterns: in three of four rows, numbers whose exponents are near that of one."""
    dtype = pattern_dtype(fmt)
    bits: Patterns = rng.integers(0, (1 << fmt.bits) - 1, shape, dtype=np.uint64, endpoint=True).astype(dtype)
    if fmt.is_integer:
        return bits
    low, field = fmt.fraction_bits + fmt.ignored_bits, (1 << fmt.exponent_bits) - 1
    spread = min(8, field // 4)
    near = rng.integers(fmt.bias - spread, fmt.bias + spread, shape, endpoint=True).clip(0, field).astype(np.uint64)
    numbers = (bits & dtype.type(~(field << low) & ((1 << fmt.bits) - 1))) | (near << np.uint64(low)).astype(dtype)
    chosen: Patterns = np.where((np.arange(shape[0]) % 4 != 0)[:, np.newaxis], numbers, bits)
    return chosen
