"""Terms of bounds are needed: with less of one of them, operands that are kept as data exceed the bound."""

import tomllib
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.climbing import measured
from support.tight import LESSENED

from mmaproof.designs.operands import OperandBatch, pattern_dtype
from mmaproof.gemm.tolerances.tolerance import Tolerance, tolerance

WITNESSES = tomllib.loads(Path(__file__).with_name("tight_witnesses.toml").read_text(encoding="utf-8"))["witness"]
NOT_REACHED = {
    "of_products",
    "of_sums",
    "flushed sums of plans",
    "last bits of a range",
    "subnormal numbers of a range",
}
"""Of these no operands are known that reach nine tenths of them alone."""


def row_of(witness: dict[str, Any], found: Tolerance) -> OperandBatch:
    a_format, b_format, c_format, _ = found.plan.formats
    runs = witness["products"]
    a, b = (
        np.array([[int(run[i], 16) for run in runs for _ in range(run[0])]], dtype=pattern_dtype(f))
        for i, f in ((1, a_format), (2, b_format))
    )
    scale = found.unit.scale_format
    scales = [
        None if scale is None else np.array([[int(x, 16) for x in witness[name]]], dtype=pattern_dtype(scale))
        for name in ("scale_a", "scale_b")
    ]
    return OperandBatch(a, b, np.array([int(witness["c"], 16)], dtype=pattern_dtype(c_format)), *scales)


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda x: f"{x['term']}-{x['plan']}")
def test_less_of_a_term_is_exceeded(witness: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tolerance, "require_proof", lambda _: None)
    found = tolerance(witness["plan"], sum(run[0] for run in witness["products"]))
    row = row_of(witness, found)

    def reached() -> Any:
        return measured(found, row, found.rtol_atol(*witness["where"]) if "where" in witness else None)

    whole = reached()
    assert whole is None or whole.part <= 1
    assert (whole is None) is (witness["term"] == "largest")
    LESSENED[witness["term"]](monkeypatch)
    less = reached()
    assert less is not None
    assert less.part > 1
    assert (less.part == inf) is (witness["term"] == "largest")


def test_each_term_has_a_witness_or_is_known_to_have_none() -> None:
    assert {x["term"] for x in WITNESSES} == set(LESSENED) - NOT_REACHED
