"""What commands use of the library: ``lib.compare`` is a module, and it is imported when a command first uses it.

So ``--help`` and completion load neither a solver nor NumPy, and a command loads what it needs.
"""

# ruff: noqa: F401
# mypy: implicit-reexport

from __future__ import annotations

from typing import TYPE_CHECKING

from mmaproof.late import late

if TYPE_CHECKING:
    from mmaproof import explain, rtl
    from mmaproof.designs import (
        arithmetic,
        catalogue,
        design,
        disclosure,
        element,
        files,
        formats,
        names,
        open_points,
        operands,
        parameters,
        signature,
        transitions,
    )
    from mmaproof.explain import figure, text, values
    from mmaproof.explain.answers import answer, listings, surveys, verdicts
    from mmaproof.explain.explorer import build as explorer
    from mmaproof.explain.reports import page
    from mmaproof.gemm import programs
    from mmaproof.gemm.answers import compare as gemm_compare
    from mmaproof.gemm.answers import matrices, unit_slices
    from mmaproof.gemm.answers import run as gemm_run
    from mmaproof.gemm.answers import verdict as gemm_verdict
    from mmaproof.gemm.kernels import asked, tree
    from mmaproof.gemm.kernels import fit as kernel_fit
    from mmaproof.gemm.kernels import identify as kernel_search
    from mmaproof.gemm.kernels import outcome as kernel_outcome
    from mmaproof.gemm.programs import algorithm, algorithms, named, normal_form, parts, plan, schedule, spelling
    from mmaproof.gemm.programs import evaluate as gemm_evaluate
    from mmaproof.gemm.questions import finite_operands
    from mmaproof.gemm.tolerances import assertion, conformance, data, given, judge, statistical, tolerance
    from mmaproof.gemm.tolerances import bundle as bound_bundle
    from mmaproof.gemm.tolerances import check as gemm_check
    from mmaproof.gemm.tolerances import errors as gemm_errors
    from mmaproof.generators import disputes, open_values, standard, suite, vectors
    from mmaproof.generators.cover import coverage
    from mmaproof.generators.formats import selection, verilog
    from mmaproof.generators.identify import identification, outcome
    from mmaproof.generators.identify import identify as identifier
    from mmaproof.generators.models import c_model, cuda_model, judges, model, sv_model
    from mmaproof.hardware_replay import (
        arm_cpu,
        cpu,
        decided,
        matrix_targets,
        npz,
        process,
        recordings,
        replay,
        rtl_simulator,
        target,
        targets,
    )
    from mmaproof.hardware_replay.cuda import device
    from mmaproof.hardware_replay.hip import mfma
    from mmaproof.hardware_replay.tables import numbers, reading
    from mmaproof.properties import equivalence, library, preconditions, property, question, step_loss
    from mmaproof.rtl import init as rtl_init
    from mmaproof.rtl import meant, unit_file
    from mmaproof.smt import backends, evaluate, trace
    from mmaproof.smt.native import compiler
    from mmaproof.smt.proving import lemma
    from mmaproof.smt.semantics import datapath
    from mmaproof.smt.solving import backends as solvers
    from mmaproof.smt.solving import limits, refuting, solving, store, verdict
    from mmaproof.verification import (
        bundle,
        check,
        cluster,
        compare,
        differing_nets,
        executors,
        matrix,
        netlists,
        search,
    )
else:
    __getattr__ = late(__name__)
