"""Instructions of this CPU as targets, where it is an Arm one (AArch64): compiled and called in the process.

The LLVM IR holds the instruction as inline assembly with a side effect, as for x86-64 (``cpu.py``). FPCR is set for the
run and then restored, and FPMR with it for elements of 8-bit floating point. Only the instructions on 128-bit vectors
are run: neither SVE nor SME.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.formats import Format
from mmaproof.designs.operands import OperandBatch, Patterns, pattern_dtype
from mmaproof.hardware_replay import cpu
from mmaproof.hardware_replay.target import Unit

VECTOR_BITS = 128

EBF = 1 << 13
"""FPCR.EBF: bf16 products in fused pairs. All other fields are 0: round to nearest even, no flushing, own NaNs kept."""

FP8_FORMATS = {"e5m2": 0, "e4m3": 1}
"""FPMR.F8S1 and FPMR.F8S2. All other fields are 0: no scaling, an overflow is an infinity."""

_RUN = """
define void @run(ptr %a, ptr %b, ptr %d, i64 %vectors, i64 %fpcr, i64 %fpmr) {{
entry:
  %found = call i64 asm sideeffect "mrs $0, fpcr", "=r"()
  call void asm sideeffect "msr fpcr, $0", "r"(i64 %fpcr)
{enter}  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at_a = getelementptr <4 x i32>, ptr %a, i64 %i
  %at_b = getelementptr <4 x i32>, ptr %b, i64 %i
  %at_d = getelementptr <4 x i32>, ptr %d, i64 %i
  %x = load <4 x i32>, ptr %at_a, align 1
  %y = load <4 x i32>, ptr %at_b, align 1
  %z = load <4 x i32>, ptr %at_d, align 1
  %r = call <4 x i32> asm sideeffect "{assembly}", "=w,0,w,w"(<4 x i32> %z, <4 x i32> %x, <4 x i32> %y)
  store <4 x i32> %r, ptr %at_d, align 1
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %vectors
  br i1 %more, label %loop, label %exit
exit:
{leave}  call void asm sideeffect "msr fpcr, $0", "r"(i64 %found)
  ret void
}}
"""

# a, b, d and the number of vectors; d holds c before. FPMR is op0 = 3, op1 = 3, CRn = 4, CRm = 4, op2 = 2.
_ENTER_FP8 = """  %found_fpmr = call i64 asm sideeffect "mrs $0, S3_3_C4_C4_2", "=r"()
  call void asm sideeffect "msr S3_3_C4_C4_2, $0", "r"(i64 %fpmr)
"""
_LEAVE_FP8 = """  call void asm sideeffect "msr S3_3_C4_C4_2, $0", "r"(i64 %found_fpmr)
"""


@dataclass(frozen=True)
class Form:
    """One instruction: how its design's name begins, its assembly, and where it finds operands.

    In the assembly d is $0 (and holds c), a is $2, b is $3. A row of a and of b takes as many bits as its K elements.
    ``matrices`` says that each row of a meets each row of b, as in the 2 x 2 matrices of BFMMLA: its own product lies
    on the diagonal. ``bottom`` says that only the lowest element of each element of d is read.
    """

    begins: str
    assembly: str
    matrices: bool = False
    bottom: bool = False

    def places(self, d: Format) -> list[int]:
        """Return the elements of a vector of d that rows are computed in."""
        elements = list(range(VECTOR_BITS // d.bits))
        return [x for x in elements if x % 4 in (0, 3)] if self.matrices else elements


@dataclass(frozen=True)
class ArmInstruction:
    """A feature of AArch64 CPUs whose instructions multiply and accumulate.

    ``flag`` is the name of the feature in /proc/cpuinfo, ``features`` is its name in LLVM, ``fpcr`` the value of FPCR.
    """

    name: str
    forms: tuple[Form, ...]
    flag: str
    features: str
    fpcr: int = 0

    @property
    def designs(self) -> tuple[Design, ...]:
        """The designs of its instructions in the catalogue."""
        here = (d for d in load_catalogue().designs.values() if d.architecture == "arm")
        return tuple(d for d in here if any(d.instruction.startswith(f.begins) for f in self.forms))

    @property
    def about(self) -> Unit:
        """The numbers of the CPU: Linux knows no name of an Arm one."""
        info = cpu.cpuinfo()
        numbers = (f"{x} {info[key]}" for x, key in _NUMBERS.items() if key in info)
        return Unit("an Arm CPU", ", ".join(numbers))

    def run(self, design: Design, batch: OperandBatch) -> Patterns:
        """Return the patterns of d, shape (rows,), as the instruction of ``design`` computes them.

        A dot product shorter than K is filled with +0. A longer one is a chain of instructions. Raises InputError if
        ``design`` is not one of ``designs``, and OperandError or DesignError if the operands do not fit it.
        """
        if design not in self.designs:
            runs = ", ".join(d.name for d in self.designs)
            raise InputError(f"cpu:{self.name} does not run {design.name}: it runs {runs}")
        batch.check(design)
        form = self.form_of(design)
        run = cpu.compiled(source_of(form.assembly, _reads_fpmr(design)), self.features, 3).run
        places = form.places(design.d_format)
        vectors = -(-len(batch) // len(places))
        whole = batch.padded(design)
        rows = vectors * len(places)
        a, b, c = (
            cpu.filled(x, rows, fmt) for x, fmt in zip((whole.a, whole.b, whole.c), design.formats[:3], strict=True)
        )
        d = np.zeros((vectors, VECTOR_BITS // design.d_format.bits), dtype=c.dtype)
        d[:, places] = c.reshape(vectors, len(places))
        for first in range(0, whole.k if vectors else 0, design.k):
            x, y = (_laid_out(z[:, first : first + design.k], design, form) for z in (a, b))
            run(x.ctypes.data, y.ctypes.data, d.ctypes.data, vectors, self.fpcr, fpmr_of(design))
        return np.ascontiguousarray(d[:, places]).reshape(-1)[: len(batch)]

    def form_of(self, design: Design) -> Form:
        """Return the instruction of one of ``designs``."""
        return next(f for f in self.forms if design.instruction.startswith(f.begins))


_NUMBERS = {"implementer": "CPU implementer", "part": "CPU part", "variant": "CPU variant", "revision": "CPU revision"}

_BF16 = (
    Form("bfdot.m", "bfdot $0.4s, $2.8h, $3.8h"),
    Form("bfmmla.m", "bfmmla $0.4s, $2.8h, $3.8h", matrices=True),
)
_WITH_EBF = tuple(Form(f.begins.replace(".m", "-ebf.m"), f.assembly, f.matrices) for f in _BF16)

ARM_INSTRUCTIONS = {
    x.name: x
    for x in (
        ArmInstruction(
            "arm-bf16",
            (*_BF16, Form("bfmlalb.m", "bfmlalb $0.4s, $2.8h, $3.8h", bottom=True)),
            "bf16",
            "+bf16",
        ),
        ArmInstruction("arm-ebf16", _WITH_EBF, "ebf16", "+bf16", EBF),
        ArmInstruction(
            "arm-dotprod",
            (Form("sdot.m", "sdot $0.4s, $2.16b, $3.16b"), Form("udot.m", "udot $0.4s, $2.16b, $3.16b")),
            "asimddp",
            "+dotprod",
        ),
        ArmInstruction(
            "arm-i8mm",
            (
                Form("usdot.m", "usdot $0.4s, $2.16b, $3.16b"),
                Form("smmla.m", "smmla $0.4s, $2.16b, $3.16b", matrices=True),
                Form("ummla.m", "ummla $0.4s, $2.16b, $3.16b", matrices=True),
                Form("usmmla.m", "usmmla $0.4s, $2.16b, $3.16b", matrices=True),
            ),
            "i8mm",
            "+i8mm",
        ),
        ArmInstruction(
            "arm-fp8dot2", (Form("fdot.m1n1k2.f16.", "fdot $0.8h, $2.16b, $3.16b"),), "f8dp2", "+fp8,+fp8dot2"
        ),
        ArmInstruction(
            "arm-fp8dot4", (Form("fdot.m1n1k4.f32.", "fdot $0.4s, $2.16b, $3.16b"),), "f8dp4", "+fp8,+fp8dot4"
        ),
        ArmInstruction(
            "arm-f8f16mm",
            (Form("fmmla.m2n2k4.f16.", "fmmla $0.8h, $2.16b, $3.16b", matrices=True),),
            "f8mm4",
            "+fp8,+f8f16mm",
        ),
        ArmInstruction(
            "arm-f8f32mm",
            (Form("fmmla.m2n2k8.f32.", "fmmla $0.4s, $2.16b, $3.16b", matrices=True),),
            "f8mm8",
            "+fp8,+f8f32mm",
        ),
        ArmInstruction(
            "arm-fma",
            (
                Form("fmla.m1n1k1.f32.", "fmla $0.4s, $2.4s, $3.4s"),
                Form("fmla.m1n1k1.f64.", "fmla $0.2d, $2.2d, $3.2d"),
            ),
            "asimd",
            "+neon",
        ),
    )
}
"""What can be run, by name."""


def find_arm_instruction(name: str) -> ArmInstruction:
    """Return the instruction of ``ARM_INSTRUCTIONS`` that ``name`` means, if this CPU has it.

    Raises TargetUnavailable where the CPU, the system or llvmlite is missing.
    """
    found = ARM_INSTRUCTIONS[name]
    if platform.machine() != "aarch64" or not cpu.CPUINFO.is_file():
        here = f"{platform.machine()} under {platform.system()}"
        raise TargetUnavailable(f"cpu:{name} needs an Arm CPU (aarch64) under Linux: this is {here}")
    if found.flag not in cpu.cpuinfo().get("Features", "").split():
        raise TargetUnavailable(f"cpu:{name} is not on this CPU: {cpu.CPUINFO} lacks {found.flag}")
    cpu.llvm()
    return found


def fpmr_of(design: Design) -> int:
    """Return the value of FPMR for the formats of a design; 0 where its elements are not of 8-bit floating point."""
    if not _reads_fpmr(design):
        return 0
    return FP8_FORMATS[design.a_format.name] | FP8_FORMATS[design.b_format.name] << 3


def _reads_fpmr(design: Design) -> bool:
    return design.a_format.name in FP8_FORMATS


def _laid_out(rows: Patterns, design: Design, form: Form) -> Patterns:
    """Return the elements of one instruction as its vectors hold them."""
    if form.bottom:
        return np.ascontiguousarray(rows.astype(pattern_dtype(design.d_format)))
    return np.ascontiguousarray(rows)


def source_of(assembly: str, reads_fpmr: bool) -> str:
    """Return the LLVM IR of a function that runs an instruction on vectors of 128 bits."""
    enter, leave = (_ENTER_FP8, _LEAVE_FP8) if reads_fpmr else ("", "")
    return _RUN.format(assembly=assembly, enter=enter, leave=leave)
