"""`mmaproof replay`: which rows are run, and what is said of those that are not."""

import json

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


def test_malformed_lines_are_in_the_object_too(run, tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text("{}\n")
    status, out, _ = run("replay", path, f"model:{VOLTA}", "--json")
    assert status == 2
    assert only_json(out)["problems"][0].startswith(f"{path}:1: ")


def test_a_missing_source_is_named_before_the_target(run, tmp_path):
    assert run("replay", tmp_path / "x.jsonl", "cuda")[::2] == (2, f"error: {tmp_path / 'x.jsonl'}: no such file\n")
