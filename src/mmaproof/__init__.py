"""mmaproof: a formal model and test generator for matrix-multiply-accumulate units.

The names below are the public interface; each is loaded when it is first used, so that ``import mmaproof`` is
cheap and loads no solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmaproof.algorithms.algorithm import Algorithm
    from mmaproof.algorithms.catalogue import find_algorithm
    from mmaproof.algorithms.evaluate import multiply
    from mmaproof.designs.arrays import array_of, pack_fp4, patterns_of, unpack_fp4
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.design import Design
    from mmaproof.designs.formats import FORMATS, Format, find_format
    from mmaproof.designs.operands import OperandBatch, Operands
    from mmaproof.hardware_replay.emulation import dot, matmul
    from mmaproof.hardware_replay.recordings import read_recording
    from mmaproof.hardware_replay.replay import replay
    from mmaproof.hardware_replay.targets import find_target
    from mmaproof.properties.library import find_property
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.smt.evaluate import evaluate, evaluate_batch, trace
    from mmaproof.smt.solving.certify import Certify
    from mmaproof.smt.solving.limits import Limits
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.verification.check import Check, check
    from mmaproof.verification.compare import Comparison, compare
    from mmaproof.verification.gemm.compare import compare_errors
    from mmaproof.verification.native import prove_native

_HOME = {
    "Algorithm": "algorithms.algorithm",
    "FORMATS": "designs.formats",
    "Certify": "smt.solving.certify",
    "Check": "verification.check",
    "Comparison": "verification.compare",
    "Design": "designs.design",
    "Format": "designs.formats",
    "Limits": "smt.solving.limits",
    "OperandBatch": "designs.operands",
    "Operands": "designs.operands",
    "Solving": "smt.solving.solving",
    "array_of": "designs.arrays",
    "check": "verification.check",
    "compare": "verification.compare",
    "compare_errors": "verification.gemm.compare",
    "dot": "hardware_replay.emulation",
    "evaluate": "smt.evaluate",
    "evaluate_batch": "smt.evaluate",
    "find_algorithm": "algorithms.catalogue",
    "find_design": "designs.catalogue",
    "find_format": "designs.formats",
    "find_property": "properties.library",
    "find_target": "hardware_replay.targets",
    "load_catalogue": "designs.catalogue",
    "matmul": "hardware_replay.emulation",
    "multiply": "algorithms.evaluate",
    "pack_fp4": "designs.arrays",
    "parse_precondition": "properties.preconditions",
    "patterns_of": "designs.arrays",
    "prove_native": "verification.native",
    "read_recording": "hardware_replay.recordings",
    "replay": "hardware_replay.replay",
    "trace": "smt.evaluate",
    "unpack_fp4": "designs.arrays",
}

__all__ = [
    "FORMATS",
    "Algorithm",
    "Certify",
    "Check",
    "Comparison",
    "Design",
    "Format",
    "Limits",
    "OperandBatch",
    "Operands",
    "Solving",
    "array_of",
    "check",
    "compare",
    "compare_errors",
    "dot",
    "evaluate",
    "evaluate_batch",
    "find_algorithm",
    "find_design",
    "find_format",
    "find_property",
    "find_target",
    "load_catalogue",
    "matmul",
    "multiply",
    "pack_fp4",
    "parse_precondition",
    "patterns_of",
    "prove_native",
    "read_recording",
    "replay",
    "trace",
    "unpack_fp4",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mmaproof' has no attribute {name!r}")
    value = getattr(import_module(f"mmaproof.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
