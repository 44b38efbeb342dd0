"""`mmaproof show FILE.npz`: what recordings say of themselves."""

import json

import numpy as np
import pytest
from support.commands import only_json

VOLTA = "volta/mma.m8n8k4.f32.f16.f16.f32"


def test_recordings_of_an_index_are_shown(run, recordings):
    paths = sorted(recordings.glob("*.npz"))
    status, out, _ = run("show", *paths, "--json")
    found = only_json(out)["recordings"]
    assert (status, len(found)) == (0, len(paths))
    assert {x["design"] for x in found} > {VOLTA}
    assert None not in {x["design"] for x in found}


def test_what_a_file_says_cannot_forge_lines(run, tmp_path):
    path = tmp_path / "made.npz"
    assert run("record", f"model:{VOLTA}", "normal", "--rows", 1, "-o", path)[0] == 0
    with np.load(path) as data:
        held = dict(data)
    held["about"] = np.array(json.dumps(json.loads(str(held["about"])) | {"x\n\x1b": "y\n", "z": [1]}))
    np.savez(path, **held)
    shown = run("show", path)[1]
    assert shown.splitlines()[-2:] == ['  "x\\n\\u001b": "y\\n"', "  z: [1]"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["no.npz"], "no.npz: no such file"), (["no.npz", VOLTA], "only recordings (FILE.npz) can be shown together")],
)
def test_bad_input_is_one_line_on_stderr_and_status_2(run, arguments, problem):
    status, out, err = run("show", *arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert problem in err
