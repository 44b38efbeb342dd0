"""LLVM IR compiled for this CPU by llvmlite, and machine code loaded into this process.

llvmlite is imported where it is used: nothing else needs it, and it takes a tenth of a second to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from mmaproof.designs.errors import TargetUnavailable

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
