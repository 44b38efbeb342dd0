"""`mmaproof replay`: which rows are run, and what is said of those that are not."""

import json

import numpy as np
import pytest
from support.commands import only_json

from mmaproof.designs.catalogue import find_design

VOLTA = "volta/f32.f16.f16.f32"
TURING = "turing/f32.f16.f16.f32"


def test_replay_counts_vectors_without_the_output(run, tmp_path):
    path = tmp_path / "v.jsonl"
    line = {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32"}
    line |= {"a": ["0x0"] * 4, "b": ["0x0"] * 4, "c": "0x0"}
    names = [find_design(VOLTA).name, "another", "another"]
    path.write_text("".join(json.dumps(line | {"outputs": {name: "0x0"}}) + "\n" for name in names))
    status, out, err = run("replay", path, f"model:{VOLTA}", "--json")
    record = only_json(out)
    assert (status, record["rows"], record["left_out"]) == (0, 1, 2)
    assert err.startswith("note: 2 of 3 vectors")
    status, out, err = run("replay", path, f"model:{VOLTA}", "--expect", TURING)
    assert (status, out) == (2, "")
    assert "no vector holds an output of turing/mma.m16n8k8.f32.f16.f16.f32" in err


def test_readings_of_a_design_are_told_apart(run, tmp_path):
    disputes = tmp_path / "d.jsonl"
    design = find_design("cdna2/v_mfma_f32_4x4x2bf16")
    line = {"a_format": "bf16", "b_format": "bf16", "c_format": "fp32", "d_format": "fp32"}
    line |= {"a": ["0x3f80"] * 2, "b": ["0x3f80"] * 2, "c": "0x0", "outputs": {}}
    line["outputs"] = {f"{design.name}@as=fpy": "0x40000000", f"{design.name}@as=xie-paper": "0x40400000"}
    disputes.write_text(json.dumps(line) + "\n")
    status, out, _ = run("replay", disputes, f"model:{design.name}", "--json")
    found = only_json(out)["expectations"]
    assert status == 1
    assert found == {
        f"{design.name}@as=fpy": {"rows": 1, "mismatches": 0},
        f"{design.name}@as=xie-paper": {"rows": 1, "mismatches": 1},
    }
    assert f"    of {design.name}@as=fpy: 1 rows, 0 differ" in run("replay", disputes, f"model:{design.name}")[1]
    # the operands are those of the instruction, whatever the readings say
    status, out, _ = run("record", f"model:{design.name}", disputes, "-o", tmp_path / "r.npz", "--json")
    assert (status, only_json(out)["design"]) == (0, design.name)


def test_outputs_of_another_design_are_named(run, tmp_path):
    path = tmp_path / "v.jsonl"
    line = {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32"}
    line |= {"a": ["0x0"] * 4, "b": ["0x0"] * 4, "c": "0x0", "outputs": {find_design(VOLTA).name: "0x0"}}
    path.write_text(json.dumps(line) + "\n")
    status, _, err = run("replay", path, f"model:{TURING}")
    assert (status, err) == (0, f"note: {path} holds outputs of {find_design(VOLTA).name}: they are what is expected\n")


def test_nothing_is_run_where_lines_are_malformed(run, tmp_path):
    path = tmp_path / "v.jsonl"
    line = {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32"}
    line |= {"a": ["0x0"] * 4, "b": ["0x0"] * 4, "c": "0x0", "outputs": {find_design(VOLTA).name: "0x0"}}
    path.write_text(json.dumps(line) + "\n{}\n[]\n")
    status, out, err = run("replay", path, f"model:{VOLTA}")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}:2: ")
    assert err.endswith("(and 1 more lines like it): nothing was run\n")


def rows(path, operands, d):
    """Write a vector file of rows (a0, c) that all expect ``d``."""
    line = {"a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32"}
    line |= {"outputs": {find_design(VOLTA).name: d}}
    texts = [json.dumps(line | {"a": [a] * 4, "b": ["0x3c00"] * 4, "c": c}) for a, c in operands]
    path.write_text("\n".join(texts) + "\n")
    return path


def test_the_simplest_row_that_differs_comes_first(run, tmp_path):
    held = [("0x7c00", "0x3f800000"), ("0x3c01", "0x3fc00001"), ("0x0000", "0x3fc00000"), ("0x3c00", "0x00000000")]
    path = rows(tmp_path / "v.jsonl", held, "0x3fc00001")
    status, out, _ = run("replay", path, f"model:{VOLTA}")
    lines = out.splitlines()
    assert (status, lines[1]) == (1, "  4 rows run, 4 differ")
    assert [x for x in lines if ": expected" in x] == [
        "  line 3: expected 0x3fc00001, returned 0x3fc00000",
        "  line 4: expected 0x3fc00001, returned 0x40800000",
        "  line 1: expected 0x3fc00001, returned 0x7f800000",
    ]
    at = lines.index("    expected  0 01111111 10000000000000000000001")
    assert lines[at + 1 : at + 3] == [
        "    returned  0 01111111 10000000000000000000000",
        "                                               ^",
    ]
    assert "  these are the simplest of 4 rows" in lines
    assert "products are zero, d = c unchanged" in out, "the row is drawn"


def test_only_rows_that_are_meant_are_run(run, tmp_path):
    path = rows(tmp_path / "v.jsonl", [("0x7c00", "0x0"), ("0x3c00", "0x0"), ("0x0", "0x7fc00000")], "0x40800000")
    status, out, _ = run("replay", path, f"model:{VOLTA}", "--where", "finite", "--json")
    assert (status, only_json(out)["rows"]) == (0, 1)
    status, _, err = run("replay", path, f"model:{VOLTA}", "--where", "finite", "--where", "c=0x1")
    assert (status, err) == (2, "error: no row satisfies --where finite --where c=0x1\n")


def test_a_missing_source_is_named_before_the_target(run, tmp_path):
    assert run("replay", tmp_path / "x.jsonl", "cuda")[::2] == (2, f"error: {tmp_path / 'x.jsonl'}: no such file\n")


def test_rows_of_integers_have_no_conditions_about_numbers(run, tmp_path):
    design = "turing/mma.m8n8k16.s32.s8.s8.s32"
    path = tmp_path / "rows.npz"
    assert run("record", f"model:{design}", "edges", "--rows", "5", "-o", path)[0] == 0
    status, _, err = run("replay", path, f"model:{design}", "--where", "finite")
    assert status == 2
    assert "rows of int8, int32 are of integers" in err


def test_nans_of_other_codes_are_counted(run, tmp_path):
    path = rows(tmp_path / "v.jsonl", [("0x7e00", "0x0"), ("0x7e00", "0x3f800000")], "0x7fffffff")
    status, out, _ = run("replay", path, f"model:{VOLTA}", "--json")
    found = only_json(out)
    assert (status, found["rows"], found["mismatches"], found["other_nan_codes"]) == (0, 2, 0, 0)
    path = rows(tmp_path / "w.jsonl", [("0x7e00", "0x0"), ("0x7e00", "0x3f800000")], "0x7fc00000")
    status, out, _ = run("replay", path, f"model:{VOLTA}")
    assert (status, out.splitlines()[1]) == (0, "  2 rows run, 0 differ")
    assert "  2 of the others have a NaN of another code: --nan-codes compares them" in out
    status, out, _ = run("replay", path, f"model:{VOLTA}", "--nan-codes", "--json")
    found = only_json(out)
    assert (status, found["mismatches"], found["other_nan_codes"]) == (1, 2, 0)


@pytest.mark.parametrize("target", [f"model:{VOLTA}", "process:cat"])
def test_a_replay_of_nothing_has_not_passed(run, tmp_path, target):
    whole, empty = tmp_path / "r.npz", tmp_path / "empty.npz"
    assert run("record", f"model:{VOLTA}", "normal", "--rows", "3", "-o", whole)[0] == 0
    with np.load(whole) as file:
        held = {name: file[name] for name in file}
    about = json.dumps(json.loads(str(held.pop("about"))) | {"rows": 0})
    np.savez(empty, about=about, **{name: x[:0] for name, x in held.items()})
    status, out, _ = run("replay", empty, target, "--json")
    found = only_json(out)
    assert (status, found["rows"], found["mismatches"]) == (3, 0, 0)
