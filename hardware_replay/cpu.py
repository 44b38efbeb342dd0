"""Instructions of this CPU as targets: compiled and called in the process, on many elements at once.

The LLVM IR holds the instruction as inline assembly with a side effect, so nothing folds, moves or replaces it.
llvmlite compiles it for exactly the features that it needs. An instruction of K products runs on one vector of elements
at a time. A longer dot product is a chain of instructions, where the d of one is the c of the next.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError, TargetUnavailable, did_you_mean
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay.target import Unit

WORDS = 16
"""Words of 32 bits in a row of a tile, and rows of a tile."""

# Linux, arch/x86/include/uapi/asm/prctl.h and arch/x86/include/asm/fpu/types.h
_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILE_DATA = 158, 0x1023, 18

# a, b, d and the number of tiles; d holds c before. Tiles 0 to 2 are D, A and B
_TILES = """
@config = private constant [64 x i8] [{config}], align 64

define void @run(ptr %a, ptr %b, ptr %d, i64 %tiles) {{
entry:
  call void asm sideeffect "ldtilecfg $0", "*m"(ptr elementtype([64 x i8]) @config)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at_a = getelementptr [{a_bytes} x i8], ptr %a, i64 %i
  %at_b = getelementptr [{b_bytes} x i8], ptr %b, i64 %i
  %at_d = getelementptr [{d_bytes} x i8], ptr %d, i64 %i
  call void asm sideeffect "{text}", "r,r,r,r,r,~{{tmm0}},~{{tmm1}},~{{tmm2}},~{{memory}}"
    (ptr %at_a, ptr %at_b, ptr %at_d, i64 {row}, i64 {row_of_columns})
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %tiles
  br i1 %more, label %loop, label %exit
exit:
  call void asm sideeffect "tilerelease", ""()
  ret void
}}
"""


def tile_source(mnemonic: str, rows: int = 1, columns: int = 1, words: int = WORDS) -> str:
    """Return LLVM IR of ``run``, which multiplies tiles of ``rows`` of A and ``columns`` of B, and adds to those of D.

    A row of A and a column of B have N ``words`` of 32 bits: the tiles are configured to that K.

    Each tile of A and of B has all elements of k. The tiles of A, of B (a row of words for each word of A), and of D
    follow each other.

    A row of A has at most 64 bytes, and so has a column of B: all elements of k of one dot product. Tiles are
    configured to what it has. B lies in a tile as the Intel SDM describes it (volume 1, chapter 18): the elements that
    one 32-bit word of A meets are one word of B. So a column of one word a row is just the elements of k in their
    order, and a tile of D of one element is a dot product: nothing has to be moved.
    """
    row, row_of_columns = 4 * words, 4 * columns
    text = (
        "tileloadd ($2,$4), %tmm0",
        "tileloadd ($0,$3), %tmm1",
        "tileloadd ($1,$4), %tmm2",
        f"{mnemonic} %tmm2, %tmm1, %tmm0",
        "tilestored %tmm0, ($2,$4)",
    )
    return _TILES.format(
        config=", ".join(f"i8 {x}" for x in _config(rows, columns, words)),
        a_bytes=rows * row,
        b_bytes=words * row_of_columns,
        d_bytes=rows * row_of_columns,
        row=row,
        row_of_columns=row_of_columns,
        text="\\0A\\09".join(text),
    )


def _config(rows: int, columns: int, words: int) -> bytes:
    """Return the configuration of tiles 0 to 2: palette 1, then bytes of a row (16 bits each), and numbers of rows."""
    shapes = ((4 * columns, rows), (4 * words, rows), (4 * columns, words))
    found = bytearray(64)
    found[0] = 1
    for tile, (row_bytes, tile_rows) in enumerate(shapes):
        found[16 + 2 * tile : 18 + 2 * tile] = row_bytes.to_bytes(2, "little")
        found[48 + tile] = tile_rows
    return bytes(found)


@cache
def permit_tiles() -> None:
    """Ask Linux, once for this process, for the registers of tiles. Raises TargetUnavailable where it refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILE_DATA):
        reason = os.strerror(ctypes.get_errno())
        raise TargetUnavailable(f"cpu: Linux refuses this process the tiles of AMX ({reason}): Linux 5.16 grants them")


CPUINFO = Path("/proc/cpuinfo")
"""Where Linux lists the CPU's features; it lists vector instructions only if it saves their registers."""

MXCSR = 0x1F80
"""The control register at its default: round to nearest even, subnormals used and produced, exceptions masked."""

# a, b, d and the number of vectors; d holds c before
_ACCUMULATING = (
    '  %r = call {vector} asm sideeffect "{text} $3, $2, $0", "=v,0,v,v"({vector} %z, {vector} %x, {vector} %y)'
)
_OF_TWO = '  %{d} = call {vector} asm sideeffect "{text} $2, $1, $0", "=v,v,v"({vector} %{x}, {vector} {y})'

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
{operation}
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

    run: Callable[..., None]
    assembly: str
    engine: Any


@dataclass(frozen=True)
class CpuInstruction:
    """A feature of x86-64 CPUs whose instructions multiply and accumulate.

    ``mnemonics`` are the instructions. The names of their designs in the catalogue's architecture ``cpu`` begin with
    them. ``flag`` is the name of the feature in /proc/cpuinfo, and ``features`` is its name in LLVM. A vector has
    ``vector_bits``; where that is None, the instructions are of tiles. ``encoding`` is what LLVM reads before a
    mnemonic that has several encodings. A mnemonic such as ``vpmaddwd-vpaddd`` is a sequence of instructions of two
    operands: the first takes a and b, the last adds c, and one between them takes ones for its second operand. Linux
    does not list every feature, and a hypervisor hides some: on a CPU with the feature ``beside`` it is tried in a
    process of its own.
    """

    name: str
    mnemonics: tuple[str, ...]
    flag: str
    features: str
    vector_bits: int | None
    encoding: str = ""
    beside: str = ""

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs of its instructions in the catalogue."""
        here = (d for d in load_catalogue().designs.values() if d.architecture == "cpu")
        return tuple(d for d in here if _mnemonic(d) in self.mnemonics)

    @property
    def about(self) -> Unit:
        """The model name of the CPU and, as its version, the numbers that CPUID has for it."""
        info = cpuinfo()
        numbers = (f"{x} {info[key]}" for x, key in _NUMBERS.items() if key in info)
        version = ", ".join((info.get("vendor_id", ""), *numbers)).strip(", ")
        return Unit(info.get("model name", "an x86-64 CPU"), version)

    def run(self, design: Design, batch: OperandBatch) -> Patterns:
        """Return the patterns of d, shape (rows,), as the instruction of ``design`` computes them.

        A dot product shorter than K is filled with +0; tiles are configured to it instead. A longer one is a chain of
        instructions. Raises InputError if ``design`` is not one of ``designs``, and OperandError or DesignError if
        the operands do not fit it.
        """
        if design not in self.designs:
            runs = ", ".join(d.name for d in self.designs)
            raise InputError(f"cpu:{self.name} does not run {design.name}: it runs {runs}")
        batch.check(design)
        design = design.configured(batch.k)
        compiled = self.compiled(_mnemonic(design), design.k * design.a_format.bits // 32)
        lanes = 1 if self.vector_bits is None else self.vector_bits // design.d_format.bits
        vectors = -(-len(batch) // lanes)
        whole = batch.padded(design)
        columns = zip((whole.a, whole.b, whole.c), design.formats[:3], strict=True)
        a, b, d = (filled(x, vectors * lanes, fmt) for x, fmt in columns)
        for first in range(0, whole.k if vectors else 0, design.k):
            x, y = (np.ascontiguousarray(z[:, first : first + design.k]) for z in (a, b))
            compiled.run(x.ctypes.data, y.ctypes.data, d.ctypes.data, vectors)
        return d[: len(batch)]

    def compiled(self, mnemonic: str, words: int) -> Compiled:
        """Return one of ``mnemonics``, compiled for this process (once), of N words of 32 bits of a.

        Raises TargetUnavailable as ``require``.
        """
        if self.vector_bits is None:
            permit_tiles()
        return compiled(self.source(mnemonic, words), self.features)

    def source(self, mnemonic: str, words: int = WORDS) -> str:
        """Return the LLVM IR of ``run`` for one of ``mnemonics``; ``words`` of a row of A are those of tiles alone."""
        if self.vector_bits is None:
            return tile_source(mnemonic, words=words)
        vector = f"<{self.vector_bits // 32} x i32>"
        operation = _operation(self.encoding, mnemonic.split("-"), vector, self.vector_bits // 32)
        return _RUN.format(mxcsr=MXCSR, operation=operation, vector=vector)

    def require(self) -> None:
        """Raise TargetUnavailable, which says what is missing, where this CPU does not run the instructions."""
        flags = cpuinfo().get("flags", "").split()
        tried = self.flag not in flags and self.beside in flags
        if self.flag not in flags and not (tried and executes(self.name)):
            trapped = ", and it was tried" if tried else ""
            raise TargetUnavailable(f"cpu:{self.name} is not on this CPU: {CPUINFO} lacks {self.flag}{trapped}")
        if self.vector_bits is None:
            permit_tiles()

    def run_once(self) -> None:
        """Run each of the instructions on zeros. A CPU that has none ends the process."""
        for design in self.designs:
            self.run(design, OperandBatch.of_rows(design.formats, [Operands((0,) * design.k, (0,) * design.k, 0)]))


def _operation(encoding: str, mnemonics: Sequence[str], vector: str, words: int) -> str:
    """Return the LLVM IR that makes ``%r`` of ``%x``, ``%y`` and ``%z``: an instruction, or a sequence of several."""
    if len(mnemonics) == 1:
        return _ACCUMULATING.format(vector=vector, text=encoding + mnemonics[0])
    ones = f"<{', '.join(['i32 65537'] * words)}>"  # of 16 bits
    last = len(mnemonics) - 1
    lines, held = [], "x"
    for i, name in enumerate(mnemonics):
        other, d = ("%y" if i == 0 else "%z" if i == last else ones), ("r" if i == last else f"r{i}")
        lines.append(_OF_TWO.format(vector=vector, text=encoding + name, d=d, x=held, y=other))
        held = d
    return "\n".join(lines)


_TILES_OF_FP8 = ("tdpbf8ps", "tdpbhf8ps", "tdphbf8ps", "tdphf8ps")
_COMPLEX = ("tcmmrlfp16ps", "tcmmimfp16ps")
_BYTES = ("vpdpbssd", "vpdpbssds", "vpdpbsud", "vpdpbsuds", "vpdpbuud", "vpdpbuuds")
_WORDS = ("vpdpwsud", "vpdpwsuds", "vpdpwusd", "vpdpwusds", "vpdpwuud", "vpdpwuuds")
_MADD = ("vpmaddubsw-vpmaddwd-vpaddd", "vpmaddubsw-vpaddw", "vpmaddubsw-vpaddsw", "vpmaddwd-vpaddd")
_VNNI = ("vpdpbusd", "vpdpbusds", "vpdpwssd", "vpdpwssds")

INSTRUCTIONS = {
    x.name: x
    for x in (
        CpuInstruction("amx-bf16", ("tdpbf16ps",), "amx_bf16", "+amx-tile,+amx-bf16", None),
        CpuInstruction("amx-fp16", ("tdpfp16ps",), "amx_fp16", "+amx-tile,+amx-fp16", None, beside="amx_tile"),
        CpuInstruction("amx-complex", _COMPLEX, "amx_complex", "+amx-tile,+amx-complex", None, beside="amx_tile"),
        CpuInstruction("amx-fp8", _TILES_OF_FP8, "amx_fp8", "+amx-tile,+amx-fp8", None, beside="amx_tile"),
        CpuInstruction("amx-tf32", ("tmmultf32ps",), "amx_tf32", "+amx-tile,+amx-tf32", None, beside="amx_tile"),
        CpuInstruction(
            "amx-int8", ("tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"), "amx_int8", "+amx-tile,+amx-int8", None
        ),
        CpuInstruction(
            "avx10.2", ("vdpphps", "vfmadd231bf16"), "avx10_2", "+avx10.2,+avx10.2-512", 512, beside="avx512_fp16"
        ),
        CpuInstruction("avx512-bf16", ("vdpbf16ps",), "avx512_bf16", "+avx512f,+avx512bf16", 512),
        CpuInstruction("avx512-fp16", ("vfmadd231ph",), "avx512_fp16", "+avx512f,+avx512fp16", 512),
        CpuInstruction("avx512-vnni", _VNNI, "avx512_vnni", "+avx512f,+avx512vnni", 512),
        CpuInstruction("avx-vnni", _VNNI, "avx_vnni", "+avx2,+avxvnni", 256, "{vex} "),
        CpuInstruction("avx-vnni-int8", _BYTES, "avx_vnni_int8", "+avx2,+avxvnniint8", 256),
        CpuInstruction("avx-vnni-int16", _WORDS, "avx_vnni_int16", "+avx2,+avxvnniint16", 256),
        CpuInstruction("avx2", _MADD, "avx2", "+avx2", 256),
        CpuInstruction("fma", ("vfmadd231ps", "vfmadd231pd"), "fma", "+avx,+fma", 256),
    )
}
"""What can be run, by name. vpdpbusd and its like have two encodings with one arithmetic."""

_NUMBERS = {"family": "cpu family", "model": "model", "stepping": "stepping", "microcode": "microcode"}


def find_cpu_instruction(name: str) -> CpuInstruction:
    """Return the instruction that ``name`` means, if this CPU has it.

    Raises InputError for an unknown name, TargetUnavailable where the CPU, the system or llvmlite is missing.
    """
    if name not in INSTRUCTIONS:
        known = [*INSTRUCTIONS, *load_catalogue().architectures["arm"].targets]
        raise InputError(f"unknown CPU instruction {name!r}: one of {', '.join(known)}{did_you_mean(name, known)}")
    found = INSTRUCTIONS[name]
    if platform.machine() != "x86_64" or not CPUINFO.is_file():
        here = f"{platform.machine()} under {platform.system()}"
        raise TargetUnavailable(f"cpu:{name} needs an x86-64 CPU under Linux: this is {here}")
    llvm()
    found.require()
    return found


@cache
def executes(name: str) -> bool:
    """Return whether the CPU runs the instructions that ``name`` means, as a process of its own finds out.

    A kernel older than a feature does not list it, and a hypervisor can hide it, though the CPU has it.
    """
    program = f"from {__name__} import INSTRUCTIONS; INSTRUCTIONS[{name!r}].run_once()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    return done.returncode == 0


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
def compiled(source: str, features: str, numbers: int = 1) -> Compiled:
    """Compile LLVM IR for the features of a CPU, once. Its function takes three addresses and then N numbers."""
    binding = llvm()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    module = binding.parse_assembly(source)
    machine = binding.Target.from_default_triple().create_target_machine(features=features)
    assembly = str(machine.emit_assembly(module))
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("run")
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_size_t] * numbers)(address)
    return Compiled(run, assembly, engine)
