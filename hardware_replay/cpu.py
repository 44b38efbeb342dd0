"""Instructions of this CPU as targets: compiled and called in the process, on many elements at once.

The LLVM IR holds the instruction as inline assembly with a side effect, so nothing folds, moves or replaces it.
llvmlite compiles it for exactly the features that it needs. An instruction of K products runs on one vector of elements
at a time. A longer dot product is a chain of instructions, where the d of one is the c of the next.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable, did_you_mean
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype

CPUINFO = Path("/proc/cpuinfo")
"""Where Linux lists the CPU's features; it lists vector instructions only if it saves their registers."""

MXCSR = 0x1F80
"""The control register at its default: round to nearest even, subnormals used and produced, exceptions masked."""

# a, b, d and the number of vectors; d holds c before
_RUN = """
define void @run(ptr %a, ptr %b, ptr %d, i64 %vectors) {{
entry:
  %default = alloca i32
  %found = alloca i32
  store i32 {mxcsr}, ptr %default
  call void asm sideeffect "stmxcsr $0", "=*m"(ptr elementtype(i32) %found)
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %default)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at_a = getelementptr {vector}, ptr %a, i64 %i
  %at_b = getelementptr {vector}, ptr %b, i64 %i
  %at_d = getelementptr {vector}, ptr %d, i64 %i
  %x = load {vector}, ptr %at_a, align 1
  %y = load {vector}, ptr %at_b, align 1
  %z = load {vector}, ptr %at_d, align 1
  %r = call {vector} asm sideeffect "{mnemonic} $3, $2, $0", "=v,0,v,v"({vector} %z, {vector} %x, {vector} %y)
  store {vector} %r, ptr %at_d, align 1
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %vectors
  br i1 %more, label %loop, label %exit
exit:
  call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) %found)
  ret void
}}
"""


@dataclass(frozen=True)
class Compiled:
    """An instruction as a function of addresses of a, b, d (holding c) and a number of vectors, one or more.

    ``assembly`` is the text that was compiled; the machine code lives as long as ``engine``.
    """

    run: Callable[[int, int, int, int], None]
    assembly: str
    engine: Any


@dataclass(frozen=True)
class CpuInstruction:
    """A feature of x86-64 CPUs whose instructions multiply and accumulate.

    ``mnemonics`` are the instructions. The names of their designs in the catalogue's architecture ``cpu`` begin with
    them. ``flag`` is the name of the feature in /proc/cpuinfo, and ``features`` is its name in LLVM. A vector has
    ``vector_bits``.
    """

    name: str
    mnemonics: tuple[str, ...]
    flag: str
    features: str
    vector_bits: int

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs of its instructions in the catalogue."""
        here = (d for d in load_catalogue().designs.values() if d.architecture == "cpu")
        return tuple(d for d in here if _mnemonic(d) in self.mnemonics)

    @property
    def about(self) -> str:
        """The model name of the CPU."""
        return cpuinfo().get("model name", "an x86-64 CPU")

    def run(self, design: Design, batch: OperandBatch) -> Patterns:
        """Return the patterns of d, shape (rows,), as the instruction of ``design`` computes them.

        A dot product shorter than K is filled with +0. A longer one is a chain of instructions. Raises InputError if
        ``design`` is not one of ``designs``, and OperandError or DesignError if the operands do not fit it.
        """
        if design not in self.designs:
            runs = ", ".join(d.name for d in self.designs)
            raise InputError(f"cpu:{self.name} does not run {design.name}: it runs {runs}")
        batch.check(design)
        compiled = self.compiled(_mnemonic(design))
        lanes = self.vector_bits // design.d_format.bits
        vectors = -(-len(batch) // lanes)
        whole = batch.padded(design)
        columns = zip((whole.a, whole.b, whole.c), design.formats[:3], strict=True)
        a, b, d = (filled(x, vectors * lanes, fmt) for x, fmt in columns)
        for first in range(0, whole.k if vectors else 0, design.k):
            x, y = (np.ascontiguousarray(z[:, first : first + design.k]) for z in (a, b))
            compiled.run(x.ctypes.data, y.ctypes.data, d.ctypes.data, vectors)
        return d[: len(batch)]

    def compiled(self, mnemonic: str) -> Compiled:
        """Return one of ``mnemonics``, compiled for this process (once)."""
        return _compile(mnemonic, self.features, self.vector_bits)


INSTRUCTIONS = {
    x.name: x
    for x in (
        CpuInstruction("avx512-bf16", ("vdpbf16ps",), "avx512_bf16", "+avx512f,+avx512bf16", 512),
        CpuInstruction("avx512-vnni", ("vpdpbusd", "vpdpbusds"), "avx512_vnni", "+avx512f,+avx512vnni", 512),
        CpuInstruction("fma", ("vfmadd231ps", "vfmadd231pd"), "fma", "+avx,+fma", 256),
    )
}
"""What can be run, by name."""


def find_cpu_instruction(name: str) -> CpuInstruction:
    """Return the instruction that ``name`` means, if this CPU has it.

    Raises InputError for an unknown name, TargetUnavailable where the CPU, the system or llvmlite is missing.
    """
    if name not in INSTRUCTIONS:
        known = list(INSTRUCTIONS)
        raise InputError(f"unknown CPU instruction {name!r}: one of {', '.join(known)}{did_you_mean(name, known)}")
    found = INSTRUCTIONS[name]
    if platform.machine() != "x86_64" or not CPUINFO.is_file():
        here = f"{platform.machine()} under {platform.system()}"
        raise TargetUnavailable(f"cpu:{name} needs an x86-64 CPU under Linux: this is {here}")
    if found.flag not in cpuinfo().get("flags", "").split():
        raise TargetUnavailable(f"cpu:{name} is not on this CPU: {CPUINFO} lacks {found.flag}")
    llvm()
    return found


def filled(rows: Patterns, count: int, fmt: Format) -> Patterns:
    """Return a copy of ``rows`` in the type of their format, with rows of zeros after them."""
    whole = np.zeros((count, *rows.shape[1:]), dtype=pattern_dtype(fmt))
    whole[: len(rows)] = rows
    return whole


def _mnemonic(design: Design) -> str:
    return design.instruction.partition(".")[0]


def cpuinfo() -> dict[str, str]:
    """Return what /proc/cpuinfo says of the first CPU."""
    first = CPUINFO.read_text(encoding="utf-8").partition("\n\n")[0]
    entries = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in entries}


def llvm() -> Any:
    """Return llvmlite's binding of LLVM."""
    try:
        import llvmlite.binding  # noqa: PLC0415 - in the extra [cpu]
    except ImportError as error:
        raise TargetUnavailable("cpu: needs llvmlite: pip install 'mmaproof[cpu]'") from error
    return llvmlite.binding


@cache
def _compile(mnemonic: str, features: str, vector_bits: int) -> Compiled:
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    source = _RUN.format(mxcsr=MXCSR, mnemonic=mnemonic, vector=f"<{vector_bits // 32} x i32>")
    module = binding.parse_assembly(source)
    machine = binding.Target.from_default_triple().create_target_machine(features=features)
    assembly = str(machine.emit_assembly(module))
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("run")
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(address)
    return Compiled(run, assembly, engine)
