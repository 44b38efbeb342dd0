"""Files of any kind on the command line: imported, replayed, and identified in rounds."""

from __future__ import annotations

import numpy as np
import pytest
from support.commands import only_json
from support.data_files import DESIGN, INTERFACE, archived, hexadecimal, rows_of_unit, table, write

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import complete_settings, format_settings
from mmaproof.generators.identify.space import Interface, default_axes
from mmaproof.hardware_replay.tables.reading import Wanted, read_operands
from mmaproof.smt.evaluate import evaluate_batch

UNIT = rows_of_unit()


@pytest.fixture
def rows(tmp_path):
    """A CSV file of what the unit returned."""
    return write(tmp_path, {"rows.csv": table(UNIT.patterns, hexadecimal)})


def test_a_file_becomes_a_recording(run, rows, tmp_path):
    status, out, err = run("record", rows, "-o", tmp_path / "made.npz", "--interface", INTERFACE)
    assert (status, err) == (0, "")
    assert out.splitlines()[0].endswith("24 rows of k = 16, fp16 * fp16 + fp32 -> fp32")
    assert run("replay", tmp_path / "made.npz", f"model:{DESIGN.name}")[0] == 0
    status, _, _ = run("record", rows, "-o", tmp_path / "made.npz", "--design", DESIGN.name)
    assert status == 0
    assert run("show", tmp_path / "made.npz")[1].splitlines()[1] == f"  design: {DESIGN.name}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "{}", "-o", "x.npz"], "formats: --interface"),
        (["identify", "{}"], "formats: --interface"),
        (["identify", "{}", "--interface", "f32.f16"], "formats of D, A, B and C"),
        (["replay", "{}", f"model:{DESIGN.name}", "--read-as", "tea"], "--read-as 'tea'"),
        (
            ["identify", f"model:{DESIGN.name}", "--interface", INTERFACE, "--k", "16", "--next", "x.csv"],
            "is asked here",
        ),
        (["identify", "{}", "--interface", INTERFACE, "--next", "x.txt"], "ends in .csv"),
        (["identify", f"model:{DESIGN.name}", "--more", "{}"], "can be asked itself"),
    ],
)
def test_what_is_missing_or_wrong_is_an_error(run, rows, arguments, message):
    status, out, err = run(*(x.replace("{}", rows) for x in arguments))
    assert (status, out) == (2, "")
    assert message in err


def test_the_formats_of_a_target_are_those_of_a_file(run, rows, tmp_path):
    assert run("replay", rows, f"model:{DESIGN.name}")[0] == 0
    wrong = UNIT.patterns | {"d": UNIT.d ^ 1}
    other = write(tmp_path, {"other.npz": archived(**wrong)})
    status, out, _ = run("replay", other, f"model:{DESIGN.name}", "--json")
    assert (status, only_json(out)["mismatches"]) == (1, len(UNIT.d))


@pytest.mark.middle
def test_a_unit_is_identified_from_files_in_rounds(run, tmp_path):
    unit = find_design("turing/f32.f16.f16.f32@fraction_bits=22")
    held = format_settings(complete_settings(unit.chain, unit.step), default_axes(Interface.of(unit)))
    lines = [f'{n} = ["{value}"]' for n, value in held.items() if n not in ("fraction_bits", "L")]
    (tmp_path / "space.toml").write_text("\n".join([*lines, "fraction_bits = [22, 23, 24, 25]"]))
    ones = np.full((2, 8), 0x3C00, np.uint16)
    files = [answered(unit, OperandBatch(ones, ones, np.zeros(2, np.uint32)), tmp_path / "first.csv")]
    asked = [
        "--interface",
        INTERFACE,
        "--no-store",
        "--no-proofs",
        "--space",
        tmp_path / "space.toml",
        "--next",
        tmp_path / "ask.csv",
    ]
    more = lambda: [y for x in files[1:] for y in ("--more", x)]  # noqa: E731
    status, out, err = run("identify", files[0], *asked, "--json")
    assert (status, "operand sets to run next" in err) == (3, True)
    assert only_json(out)["undecided"]["fraction_bits"]
    for number in range(3):
        rows = read_operands(str(tmp_path / "ask.csv"), Wanted.of(INTERFACE, None))
        files.append(answered(unit, rows.batch, tmp_path / f"answers{number}.csv"))
        (tmp_path / "ask.csv").unlink()
        status, out, err = run("identify", files[0], *more(), *asked, "--json")
        if "was not written" in err:
            break
    assert "no operands were found on which what is left differs" in err
    assert not (tmp_path / "ask.csv").exists()
    record = only_json(out)
    assert (status, record["parameters"]["fraction_bits"]) == (3, "22")
    # no rows told these apart, and nothing is proved here
    assert record["undecided"] == {"zero_c": ["e-zero"], "e_zero": ["-132"]}
    assert run("identify", files[0], *more(), *asked, "--json")[1].split('"seconds"')[0] == out.split('"seconds"')[0]
    assert (
        "  nearest: hopper/mma.m16n8k8.f32.f16.f16.f32@fraction_bits=22\n"
        in run("identify", files[0], *more(), *asked)[1]
    )


def answered(unit, batch, path):
    """Write operands with what a unit returns for them, and return the file."""
    columns = {"a": batch.a, "b": batch.b, "c": batch.c, "d": evaluate_batch(unit, batch)}
    path.write_bytes(table(columns, hexadecimal))
    return str(path)
