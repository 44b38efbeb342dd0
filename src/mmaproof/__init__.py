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
    from mmaproof.designs.element import Operands
    from mmaproof.designs.formats import FORMATS, Format, find_format
    from mmaproof.designs.operands import OperandBatch
    from mmaproof.designs.plans import Plan, read_plan
    from mmaproof.hardware_replay.emulation import dot, matmul
    from mmaproof.hardware_replay.recordings import read_recording
    from mmaproof.hardware_replay.replay import replay
    from mmaproof.hardware_replay.targets import find_target
    from mmaproof.properties.library import find_property
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.smt.evaluate import evaluate_batch
    from mmaproof.smt.solving.certify import Certify
    from mmaproof.smt.solving.limits import Limits
    from mmaproof.smt.solving.solving import Solving
    from mmaproof.smt.trace import evaluate, trace
    from mmaproof.tolerances.assertion import assert_gemm
    from mmaproof.tolerances.tolerance import Tolerance, tolerance
    from mmaproof.verification.check import Check, check
    from mmaproof.verification.compare import Comparison, compare
    from mmaproof.verification.gemm.compare import compare_errors
    from mmaproof.verification.gemm.equal_plans import compare_plans
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
    "Operands": "designs.element",
    "Plan": "designs.plans",
    "Solving": "smt.solving.solving",
    "Tolerance": "tolerances.tolerance",
    "array_of": "designs.arrays",
    "assert_gemm": "tolerances.assertion",
    "check": "verification.check",
    "compare": "verification.compare",
    "compare_errors": "verification.gemm.compare",
    "compare_plans": "verification.gemm.equal_plans",
    "dot": "hardware_replay.emulation",
    "evaluate": "smt.trace",
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
    "read_plan": "designs.plans",
    "read_recording": "hardware_replay.recordings",
    "replay": "hardware_replay.replay",
    "tolerance": "tolerances.tolerance",
    "trace": "smt.trace",
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
    "Plan",
    "Solving",
    "Tolerance",
    "array_of",
    "assert_gemm",
    "check",
    "compare",
    "compare_errors",
    "compare_plans",
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
    "read_plan",
    "read_recording",
    "replay",
    "tolerance",
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
