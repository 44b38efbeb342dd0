"""`show --disclosure` writes what every command reads as `disclosure:FILE`."""

import json

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.disclosure import disclose

FOUR = "riscv/vfwbdota.vv.m1n8k4.f32.bf16.bf16.f32"


def test_the_commands_write_and_read_it(run, tmp_path):
    path = tmp_path / "unit.json"
    status, out, _ = run("show", FOUR, "--disclosure")
    path.write_text(out.replace(": 25,", ": 12,"), encoding="utf-8")
    assert (status, json.loads(out)) == (0, disclose(find_design(FOUR)))
    name = f"disclosure:{path}"
    asked = ("--a", "0x3f80,0x3380", "--b", "0x3f80,0x3f80", "--c", "0x0", "--k", "2")
    assert run("run", FOUR, *asked)[1].startswith("0x3f800001")
    # with F = 12 the bit that is set for what was lost is a larger one
    assert run("run", name, *asked)[1].startswith("0x3f800800")
    assert run("compare", name, FOUR, "--json")[0] == 1
    assert run("compare", f"{name}@fraction_bits=25", FOUR)[0] == 0
    status, out, _ = run("show", name)
    assert (status, out.splitlines()[0]) == (0, name)
    path.write_text(out, encoding="utf-8")
    status, _, err = run("run", name, "--a", "0", "--b", "0", "--c", "0")
    assert (status, len(err.strip().splitlines())) == (2, 1)


@pytest.mark.middle
def test_a_plan_may_be_built_from_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unit.json").write_text(json.dumps(disclose(find_design(FOUR)) | {"name": "ours"}), encoding="utf-8")
    plans = "disclosure:unit.json", "disclosure:unit.json | split-k=2"
    status, out, err = run("gemm", "compare", *plans, "--k", "8", "--json")
    assert (status, err) == (1, "")
    assert json.loads(out)["verdict"] == "different"
    assert run("gemm", "check", "slices", plans[0], "--json")[0] in (0, 3)
    status, _, err = run("run", "disclosure:", "--a", "0x0", "--b", "0x0", "--c", "0x0")
    assert (status, "names no file" in err) == (2, True)
