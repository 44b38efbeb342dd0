"""What each command prints with ``--json``: the kind of its answer, or a union of several."""

from __future__ import annotations

from typing import Any

from mmaproof.explain.answers import listings, netlists, products, surveys, verdicts

ANSWERS: dict[str, Any] = {
    "designs": listings.Designs,
    "show": listings.DesignAnswer,
    "run": verdicts.RunAnswer,
    "compare": verdicts.Compared,
    "properties": listings.Properties,
    "check": verdicts.Checked,
    "fingerprint": surveys.FingerprintAnswer,
    "replay": listings.Replayed,
    "record": listings.Recorded | listings.StandardRecorded,
    "recordings show": listings.Recordings,
    "recordings decide": listings.Decisions,
    "recordings import": listings.ImportedRecording,
    "identify": surveys.Identified,
    "export": (
        listings.ExportedVectors | listings.ExportedProgram | listings.ExportedQuestion | listings.ExportedModel
    ),
    "matrix": surveys.MatrixAnswer,
    "suite": surveys.SuiteAnswer,
    "cover": surveys.Covered,
    "disputes": surveys.DisputesAnswer,
    "evidence": listings.EvidenceAnswer,
    "gemm algorithms": listings.Algorithms,
    "gemm plans": listings.Presets | listings.PlanAnswer,
    "gemm run": products.AlgorithmRun | products.PlanRun,
    "gemm compare": products.ErrorsCompared | products.PlansCompared,
    "gemm check": products.Questions | products.GemmChecked | products.PlansChecked | products.SlicesChecked,
    "gemm error": listings.ErrorsAnswer,
    "gemm identify": listings.KernelAnswer,
    "tolerance": listings.ToleranceAnswer,
    "rtl show": listings.UnitAnswer,
    "rtl run": netlists.NetlistRun,
    "rtl prove": netlists.NetlistProved,
    "rtl check": verdicts.Checked,
    "rtl identify": surveys.Identified,
    "prove-native": netlists.NativeProved,
    "store": listings.StoreContents | listings.StoreCleared,
    "doctor": listings.DoctorAnswer,
}
