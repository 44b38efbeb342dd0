"""`mmaproof recordings`: what is shown of recordings, and text files imported from the command line."""

import json
import re

import numpy as np
import pytest
from support.commands import only_json

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


@pytest.fixture
def folder(tmp_path):
    """One row as text: 1*1 + 1*1 + 1*1 + 1*1 + 1 = 5."""
    found = tmp_path / "V100" / "fp16"
    found.mkdir(parents=True)
    for x in "ab":
        (found / f"{x}_V100_fp16.txt").write_text("3f800000 3f800000 3f800000 3f800000\n")
    for x, value in (("c", 1.0), ("d", 5.0)):
        (found / f"{x}_V100_fp32.txt").write_text(f"{int(np.float32(value).view(np.uint32)):032b}\n")
    return found


def test_import_show_replay(run, folder, tmp_path):
    path = tmp_path / "made.npz"
    status, out, err = run("recordings", "import", folder, "-o", path, "--design", VOLTA, "--device", "Tesla V100")
    assert (status, err) == (0, "")
    assert out == run("recordings", "show", path)[1]
    shown = out.splitlines()
    assert shown[0] == f"{path}: 1 rows of k = 4, fp16 * fp16 + fp32 -> fp32"
    assert {f"  design: {VOLTA}", "  device: Tesla V100", "  operands: c: as in the file"} <= set(shown)
    assert not [line for line in shown if re.match("  (target|driver|seed|operands: seed):", line)]
    assert run("replay", path, f"model:{VOLTA}")[0] == 0
    (record,) = only_json(run("recordings", "show", path, "--json")[1])["recordings"]
    assert (record["file"], record["layout"], record["rows"], record["c_format"]) == (str(path), 1, 1, "fp32")
    assert set(record["imported"]["sha256"]) == {x.name for x in folder.iterdir()}
    again = only_json(run("recordings", "import", folder, "-o", path, "--zero-c", "--json")[1])
    assert (again["operands"]["c"], again["design"], again["device"]) == ("zero", None, "V100")
    assert "  design: not known" in run("recordings", "show", path)[1].splitlines()


def test_recordings_of_an_index_are_shown(run, recordings):
    paths = sorted(recordings.glob("*.npz"))
    status, out, _ = run("recordings", "show", *paths, "--json")
    found = only_json(out)["recordings"]
    assert (status, len(found)) == (0, len(paths))
    assert {x["design"] for x in found} > {VOLTA}
    assert None not in {x["design"] for x in found}


def test_what_a_file_says_cannot_forge_lines(run, folder, tmp_path):
    path = tmp_path / "made.npz"
    run("recordings", "import", folder, "-o", path)
    with np.load(path) as data:
        held = dict(data)
    held["about"] = np.array(json.dumps(json.loads(str(held["about"])) | {"x\n\x1b": "y\n", "z": [1]}))
    np.savez(path, **held)
    shown = run("recordings", "show", path)[1]
    assert shown.splitlines()[-2:] == ['  "x\\n\\u001b": "y\\n"', "  z: [1]"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing command"),
        (["show"], "Missing argument"),
        (["show", "FOLDER/a_V100_fp16.txt"], "damaged or no .npz file"),
        (["show", "no.npz"], "no.npz: no such file"),
        (["import", "FOLDER"], "Missing option"),
        (["import", "FOLDER", "-o", "FOLDER/x.txt"], "a recording ends in .npz"),
        (["import", "FOLDER", "-o", "FOLDER/no/x.npz"], "cannot be written"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--design", "ampere/m16n8k8.f32.bf16.bf16.f32"], "format mismatch"),
        (["import", "FOLDER/a_V100_fp16.txt", "-o", "FOLDER/x.npz"], "one file b_GPU_FORMAT.txt is needed"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--output-format", "fp16"], "one file d_GPU_fp16.txt is needed"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--device", "a\nb"], "one printable line"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, folder, arguments, problem):
    status, out, err = run("recordings", *(x.replace("FOLDER", str(folder)) for x in arguments))
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err
    assert not (folder / "x.npz").exists()
