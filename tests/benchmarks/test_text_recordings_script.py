"""The script that makes recordings out of text files of others, and what is shown of what it writes."""

import re

import numpy as np
import pytest
import text_recordings
from support.commands import only_json

from mmaproof.cli.main import main

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the script, or another command; return exit status, stdout, stderr."""

    def call(command, *arguments):
        words = [str(x) for x in arguments]
        status = 0
        if command == "import":
            monkeypatch.setattr("sys.argv", ["text_recordings.py", *words])
            try:
                text_recordings.main()
            except SystemExit as stop:
                status = stop.code
        else:
            status = main([command, *words])
        out, err = capsys.readouterr()
        return status, out, err

    return call


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
    status, out, err = run("import", folder, "-o", path, "--design", VOLTA, "--device", "Tesla V100")
    assert (status, err) == (0, "")
    shown = run("show", path)[1].splitlines()
    assert out == f"{shown[0].partition(',')[0]}\n"
    assert shown[0] == f"{path}: 1 rows of k = 4, fp16 * fp16 + fp32 -> fp32"
    assert {f"  design: {VOLTA}", "  device: Tesla V100", "  operands: c: as in the file"} <= set(shown)
    assert not [line for line in shown if re.match("  (target|driver|seed|operands: seed):", line)]
    assert run("replay", path, f"model:{VOLTA}")[0] == 0
    (record,) = only_json(run("show", path, "--json")[1])["recordings"]
    assert (record["file"], record["layout"], record["rows"], record["c_format"]) == (str(path), 1, 1, "fp32")
    assert set(record["imported"]["sha256"]) == {x.name for x in folder.iterdir()}
    assert run("import", folder, "-o", path, "--zero-c")[0] == 0
    (again,) = only_json(run("show", path, "--json")[1])["recordings"]
    assert (again["operands"]["c"], again["design"], again["device"]) == ("zero", None, "V100")
    assert "  design: not known" in run("show", path)[1].splitlines()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["import", "FOLDER"], "required: -o"),
        (["import", "FOLDER", "-o", "FOLDER/x.txt"], "a recording ends in .npz"),
        (["import", "FOLDER", "-o", "FOLDER/no/x.npz"], "cannot be written"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--design", "ampere/m16n8k8.f32.bf16.bf16.f32"], "format mismatch"),
        (["import", "FOLDER/a_V100_fp16.txt", "-o", "FOLDER/x.npz"], "one file b_GPU_FORMAT.txt is needed"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--output-format", "fp16"], "one file d_GPU_fp16.txt is needed"),
        (["import", "FOLDER", "-o", "FOLDER/x.npz", "--device", "a\nb"], "one printable line"),
    ],
)
def test_bad_input_is_said_on_stderr_with_status_2(run, folder, arguments, problem):
    status, out, err = run(*(x.replace("FOLDER", str(folder)) for x in arguments))
    assert (status, out) == (2, "")
    assert problem in err
    assert not (folder / "x.npz").exists()
