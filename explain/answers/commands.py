"""What each command prints with ``--json``: the kind of its answer, or a union of several."""

from __future__ import annotations

from typing import Any

from mmaproof.explain.answers import listings, surveys, verdicts

ANSWERS: dict[str, Any] = {
    "list": listings.Designs | listings.Properties | listings.Algorithms | listings.Presets,
    "show": (
        listings.DesignAnswer
        | listings.UnitAnswer
        | listings.Properties
        | listings.Algorithms
        | listings.PlanAnswer
        | listings.Recordings
    ),
    "run": verdicts.RunAnswer,
    "compare": verdicts.Compared | surveys.PlacesCompared,
    "check": verdicts.Checked,
    "fingerprint": surveys.FingerprintAnswer,
    "replay": listings.Replayed,
    "record": listings.Recorded | listings.StandardRecorded,
    "identify": surveys.Identified,
    "export": (
        listings.ExportedVectors | listings.ExportedProgram | listings.ExportedQuestion | listings.ExportedModel
    ),
    "matrix": surveys.MatrixAnswer,
    "suite": surveys.SuiteAnswer,
    "cover": surveys.Covered,
    "disputes": surveys.DisputesAnswer,
    "evidence": listings.EvidenceAnswer | listings.Decisions,
    "gemm run": verdicts.AlgorithmRun | verdicts.PlanRun,
    "gemm compare": verdicts.ErrorsCompared | verdicts.PlansCompared,
    "gemm check": verdicts.Questions
    | verdicts.GemmChecked
    | verdicts.PlansChecked
    | verdicts.BatchesChecked
    | verdicts.SlicesChecked,
    "gemm error": listings.ErrorsAnswer,
    "gemm identify": listings.KernelAnswer,
    "tolerance": listings.ToleranceAnswer,
    "judge": listings.JudgedAnswer,
    "conform": listings.Conformed,
    "rtl run": verdicts.NetlistRun,
    "rtl prove": verdicts.NetlistProved,
    "store": listings.StoreContents | listings.StoreCleared,
    "doctor": listings.DoctorAnswer,
}
