"""`mmaproof judge`: its verdicts as exit statuses, for a person and as JSON."""

import numpy as np
import pytest
from support.commands import only_json

from mmaproof.hardware_replay.emulation import matmul

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
    status, _, err = run("judge", files / "a.npy", "--plan", PLAN)
    assert (status, "matrices a, b and d are needed" in err) == (2, True)
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
