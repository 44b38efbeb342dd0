"""Names that commands had: they do what they did, and one line on stderr says what to type instead."""

import pytest

from mmaproof.cli.main import GONE, RENAMED, renamed

TODAY = {
    "designs --json": "list --json",
    "designs cdna2": "list cdna2",
    "properties --json": "list properties --json",
    "properties order-independent": "show order-independent",
    "gemm algorithms": "list algorithms",
    "gemm algorithms 3xtf32 --json": "show 3xtf32 --json",
    "gemm plans": "list plans",
    "gemm plans deepgemm/fp8": "show deepgemm/fp8",
    "gemm plans deepgemm/fp8 --k 256": "show deepgemm/fp8 --k 256",
    "recordings show a.npz b.npz": "show a.npz b.npz",
    "recordings decide": "evidence --decided",
    "recordings decide a.npz b -o x.toml --json": (
        "evidence --decided --recording a.npz --recording b -o x.toml --json"
    ),
    "recordings import f.csv -o x.npz": "record f.csv -o x.npz",
    "rtl show u.toml --json": "show rtl:u.toml --json",
    "rtl identify --timeout 5m u.toml": "identify rtl:u.toml --timeout 5m",
    "rtl check u.toml monotone-in-c --k 4": "check monotone-in-c --k 4 rtl:u.toml",
    "rtl check --timeout 5m u.toml monotone-in-c": "check --timeout 5m monotone-in-c rtl:u.toml",
}


@pytest.mark.parametrize("old", TODAY)
def test_an_old_name_is_what_is_typed_today(capsys, old):
    assert renamed(old.split()) == TODAY[old].split()
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert err.endswith(f"; use: mmaproof {TODAY[old]}\n")


def test_every_old_name_is_tried():
    assert [x for x in RENAMED if not any(f"{old} ".startswith(f"{x} ") for old in TODAY)] == []


@pytest.mark.parametrize("typed", ["list designs", "compare a b", "rtl prove u.toml", "gemm run", "", "--version"])
def test_other_commands_stay(capsys, typed):
    assert renamed(typed.split()) == typed.split()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("old", ["designs cdna2", "properties order-independent", "gemm plans deepgemm/fp8"])
def test_an_old_name_prints_what_the_new_one_prints(run, old):
    status, out, err = run(*old.split())
    assert (status, out) == run(*TODAY[old].split())[:2]
    assert status == 0
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", GONE)
def test_a_command_that_is_gone_says_where_it_went(run, name):
    status, out, err = run(*name.split(), "x")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: `mmaproof {name}` is not a command any more: ")
