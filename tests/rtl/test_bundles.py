"""Proofs net by net as bundles, which the checker accepts."""

import json
import time
from pathlib import Path

import pytest
from support.bundles import checked

from mmaproof.cli.main import main

UNITS = Path(__file__).parent / "units"
SLOW = (
    "tree/x_fp16_l4",
    "tree/fp16_l8",
    "tree/e4m3_l16",
    "vhdl/fp16_l4",
    "carry_save/fp16_l4",
    "two_path/fp16_l4",
    "integer/s8_wrap",
    "integer/s8_saturate",
)


@pytest.mark.slow_values("tree/fp16_l4.toml")
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("tree/fp16_l4.toml", marks=pytest.mark.middle),
        *(pytest.param(f"{x}.toml", marks=pytest.mark.slow) for x in SLOW),
    ],
)
def test_a_unit_is_proved_for_the_checker(capsys, tmp_path, unit):
    folder = tmp_path / "proof"
    options = ["--bundle", str(folder), "--no-simulate", "--no-picture", "--json"]
    status = main(["rtl", "prove", str(UNITS / unit), *options])
    out, err = capsys.readouterr()
    assert status == 0, err
    bundle = json.loads(out)["bundle"]
    assert bundle["lemmas"] > 50, bundle
    started = time.process_time()
    found, said = checked(folder)
    assert found == 0, said
    assert time.process_time() - started < 120
    steps = json.loads((folder / "composition.json").read_text())["steps"]
    assert any(x["why"].startswith("law: ") for x in steps)
    # sums in another order are derived: without one of these steps the proof is not a proof
    linear = [i for i, x in enumerate(steps) if "sum of" in x["why"]]
    assert linear
