"""`mmaproof judge`: its verdicts as exit statuses, for a person and as JSON."""

import json

import numpy as np
import pytest
from support.commands import only_json

from mmaproof.hardware_replay.emulation import dot, matmul

PLAN = "hopper/wgmma.f32.f16.f16"
RNG = np.random.default_rng(0)
A, B = (RNG.standard_normal(x).astype(np.float16) for x in ((32, 64), (64, 32)))
D = matmul(PLAN, A, B)
ULP = np.nextafter(D, (A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32))


@pytest.fixture
def files(tmp_path):
    """Products in files: as the unit returns it, one step nearer to the exact result, and with a row of zeros."""
    zeros = D.copy()
    zeros[4] = 0
    for name, d in (("good", D), ("near", ULP), ("bad", zeros)):
        np.savez(tmp_path / f"{name}.npz", a=A, b=B, d=d)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "require", "verdict", "status"),
    [
        ("good", "exact", "exact", 0),
        ("near", "within", "within", 0),
        ("near", "exact", "within", 1),
        ("bad", "within", "outside", 1),
    ],
)
def test_a_verdict_is_an_exit_status(run, files, name, require, verdict, status):
    asked = ("judge", files / f"{name}.npz", "--plan", PLAN, "--require", require, "--no-explain")
    returned, out, err = run(*asked)
    assert (returned, err) == (status, "")
    assert out.startswith(f"{verdict}: ")
    record = only_json(run(*asked, "--json")[1])
    assert (record["verdict"], record["shape"], record["rows"]) == (verdict, [32, 32], 32)
    assert (record["element"] is not None) == (verdict == "outside")


def test_what_fits_and_what_a_sample_misses_is_printed(run, files):
    status, out, _ = run("judge", files / "bad.npz", "--plan", PLAN)
    assert (status, "[4, " in out, "what fits: row 4: zeros" in out) == (1, True, True)
    status, out, _ = run("judge", files / "good.npz", "--plan", "h100", "--rows", 8, "--seed", 2)
    assert status == 0
    assert "8 of 32 rows; a fault is missed with probability" in out
    record = only_json(run("judge", files / "good.npz", "--plan", PLAN, "--rows", 8, "--json")[1])
    assert record["missed"]["0.01"] == 24 / 32, "a hundredth of the rows is one of them"


def test_files_of_their_own_and_what_is_missing(run, files):
    for name, x in (("a", A), ("b", B), ("d", D)):
        np.save(files / f"{name}.npy", x)
    assert run("judge", ",".join(str(files / f"{x}.npy") for x in "abd"), "--plan", PLAN)[0] == 0
    np.savez(files / "ab.npz", a=A, b=B)
    status, _, err = run("judge", files / "ab.npz", "--plan", PLAN)
    assert (status, "no array d: a, b and d are needed" in err) == (2, True)
    status, _, err = run("judge", files / "good.npz", "--plan", PLAN, "--require", "tea")
    assert (status, "exact or within" in err) == (2, True)
    status, _, err = run("judge", files / "good.npz", "--plan", "volta/f64")
    assert status == 2


def test_what_is_not_known_has_its_own_status(run, tmp_path):
    a = A.copy()
    a[0, 0] = np.inf
    d = matmul(PLAN, a, B)
    d[0, 0] = 1
    np.savez(tmp_path / "x.npz", a=a, b=B, d=d)
    status, out, _ = run("judge", tmp_path / "x.npz", "--plan", PLAN, "--no-explain")
    assert (status, out.startswith("indeterminate: ")) == (3, True)


ROWS = np.random.default_rng(3).standard_normal((2, 12, 16)).astype(np.float16)
OF_ROWS = dot(PLAN, *ROWS, np.zeros(12, np.float32))


def rows_as(kind, tmp_path, d):
    """Write dot products that are not a matrix as a file of some kind; return its name."""
    a, b = ROWS
    file = tmp_path / f"rows.{kind}"
    numbers = [[*(float(y) for y in x[:-1]), x[-1]] for x in zip(*a.T, *b.T, d, strict=True)]
    match kind:
        case "csv":
            head = ",".join([*(f"a{i}" for i in range(16)), *(f"b{i}" for i in range(16)), "d"])
            file.write_text("\n".join([head, *(",".join(f"{float(y):.17g}" for y in x) for x in numbers)]))
        case "jsonl":
            lines = [{"a": x[:16], "b": x[16:32], "d": f"{int(x[32].view(np.uint32)):#010x}"} for x in numbers]
            lines = [{**x, "a": [hex(int(np.float16(y).view(np.uint16))) for y in x["a"]]} for x in lines]
            lines = [{**x, "b": [hex(int(np.float16(y).view(np.uint16))) for y in x["b"]]} for x in lines]
            file.write_text("\n".join(map(json.dumps, lines)))
        case "npz":
            np.savez(file, a=a.view(np.uint16), b=b.view(np.uint16), d=d.view(np.uint32))
        case _:
            np.save(file, np.array(numbers, np.float32))
    return file


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz", "npy"])
def test_rows_of_files_of_any_kind_are_judged(run, tmp_path, kind):
    asked = ("--plan", PLAN, "--no-explain", "--json")
    status, out, err = run("judge", rows_as(kind, tmp_path, OF_ROWS), *asked)
    record = only_json(out)
    assert (status, record["verdict"], record["shape"]) == (0, "exact", [12, 1]), err
    far = OF_ROWS.copy()
    far[7] *= 2
    status, out, _ = run("judge", rows_as(kind, tmp_path, far), *asked)
    record = only_json(out)
    assert (status, record["verdict"], record["element"]["row"]) == (1, "outside", 7)
    status, out, _ = run("judge", rows_as(kind, tmp_path, far), *asked, "--rows", 4, "--seed", 1)
    assert only_json(out)["rows"] == 4 and only_json(out)["missed"]["0.01"] == 8 / 12


def test_matrices_of_a_wider_type_are_read_as_those_of_the_plan(run, tmp_path):
    np.savez(tmp_path / "wide.npz", a=A.astype(np.float32), b=B.astype(np.float32), d=D)
    assert run("judge", tmp_path / "wide.npz", "--plan", PLAN)[0] == 0
    np.savez(tmp_path / "finer.npz", a=A.astype(np.float32) + np.float32(2**-20), b=B.astype(np.float32), d=D)
    status, _, err = run("judge", tmp_path / "finer.npz", "--plan", PLAN)
    assert (status, "a: " in err) == (2, True)
    # b as (N, K): the results decide, as in every file
    np.savez(tmp_path / "turned.npz", a=A[:3], b=np.ascontiguousarray(B.T), d=D[:3])
    assert only_json(run("judge", tmp_path / "turned.npz", "--plan", PLAN, "--json")[1])["verdict"] == "exact"


def test_a_bound_of_your_own_takes_the_place_of_the_proved_one(run, files):
    asked = ("judge", files / "near.npz", "--plan", PLAN, "--no-explain")
    assert run(*asked, "--bound", "1e-3")[0] == 0
    status, out, _ = run(*asked, "--bound", "1e-12")
    assert (status, "beyond the bound that was given" in out) == (1, True)
    assert run("judge", files / "bad.npz", "--plan", PLAN, "--no-explain", "--bound", "1000")[0] == 0
    status, _, err = run(*asked, "--bound", "-1")
    assert (status, "from 0 on" in err) == (2, True)
