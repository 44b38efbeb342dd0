"""`mmaproof replay`: which rows are run, and what is said of those that are not."""

import json

from commands import only_json

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
