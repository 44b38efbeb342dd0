"""mmaproof: a formal model and test generator for matrix-multiply-accumulate units.

The names below are the public interface; each is loaded when it is first used, so that ``import mmaproof`` is
cheap and loads no solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mmaproof.late import late

if TYPE_CHECKING:
    from mmaproof.designs.catalogue import find_design, load_catalogue
    from mmaproof.designs.design import Design
    from mmaproof.designs.element import Operands
    from mmaproof.designs.errors import DesignError, InputError, MmaproofError, OperandError, TargetUnavailable
    from mmaproof.designs.formats import FORMATS, Format, find_format
    from mmaproof.designs.operands import OperandBatch, array_of, pack_fp4, patterns_of, unpack_fp4
    from mmaproof.explain.blocks import Picture
    from mmaproof.explain.sections import picture
    from mmaproof.gemm.answers.compare import compare_errors, compare_plans
    from mmaproof.gemm.answers.run import GemmRun, run_gemm
    from mmaproof.gemm.programs import Plan, read_plan
    from mmaproof.gemm.programs.algorithm import Algorithm
    from mmaproof.gemm.programs.algorithms import find_algorithm
    from mmaproof.gemm.programs.evaluate import multiply
    from mmaproof.gemm.tolerances.assertion import assert_gemm, sharpness
    from mmaproof.gemm.tolerances.check import GemmCheck, check_algorithm
    from mmaproof.gemm.tolerances.errors import MeasuredErrors, measure_errors
    from mmaproof.gemm.tolerances.judge import Judgement, judge
    from mmaproof.gemm.tolerances.tolerance import Tolerance, tolerance
    from mmaproof.generators.identify.identification import identify
    from mmaproof.generators.identify.outcome import Identification
    from mmaproof.hardware_replay.emulation import dot, matmul
    from mmaproof.hardware_replay.matrix_targets import BatchCheck, check_batch_invariance
    from mmaproof.hardware_replay.recordings import read_recording
    from mmaproof.hardware_replay.replay import replay
    from mmaproof.hardware_replay.rtl_simulator import run_sources
    from mmaproof.hardware_replay.targets import find_target
    from mmaproof.properties.library import find_property
    from mmaproof.properties.preconditions import parse_precondition
    from mmaproof.rtl.meant import read_rtl
    from mmaproof.rtl.unit import RtlUnit
    from mmaproof.smt.evaluate import OpenPoints, equal_patterns, evaluate_batch, open_points
    from mmaproof.smt.solving.limits import Limits
    from mmaproof.smt.solving.solving import Certify, Solving
    from mmaproof.smt.trace import evaluate, trace
    from mmaproof.verification.check import Check, Feature, check, designs_differ, fingerprint
    from mmaproof.verification.compare import Comparison, compare
    from mmaproof.verification.differing_nets import differing_nets
    from mmaproof.verification.distributions import random_operands
    from mmaproof.verification.native import prove_native
    from mmaproof.verification.search import Budget

    __version__: str

_imported = late(__name__)

__all__ = [
    "FORMATS",
    "Algorithm",
    "BatchCheck",
    "Budget",
    "Certify",
    "Check",
    "Comparison",
    "Design",
    "DesignError",
    "Feature",
    "Format",
    "GemmCheck",
    "GemmRun",
    "Identification",
    "InputError",
    "Judgement",
    "Limits",
    "MeasuredErrors",
    "MmaproofError",
    "OpenPoints",
    "OperandBatch",
    "OperandError",
    "Operands",
    "Picture",
    "Plan",
    "RtlUnit",
    "Solving",
    "TargetUnavailable",
    "Tolerance",
    "array_of",
    "assert_gemm",
    "check",
    "check_algorithm",
    "check_batch_invariance",
    "compare",
    "compare_errors",
    "compare_plans",
    "designs_differ",
    "differing_nets",
    "dot",
    "equal_patterns",
    "evaluate",
    "evaluate_batch",
    "find_algorithm",
    "find_design",
    "find_format",
    "find_property",
    "find_target",
    "fingerprint",
    "identify",
    "judge",
    "load_catalogue",
    "matmul",
    "measure_errors",
    "multiply",
    "open_points",
    "pack_fp4",
    "parse_precondition",
    "patterns_of",
    "picture",
    "prove_native",
    "random_operands",
    "read_plan",
    "read_recording",
    "read_rtl",
    "replay",
    "run_gemm",
    "run_sources",
    "sharpness",
    "tolerance",
    "trace",
    "unpack_fp4",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("mmaproof")
    return _imported(name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
