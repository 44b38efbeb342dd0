"""`mmaproof list designs`: every column is there, however wide the output is."""

import pytest

from mmaproof.cli import listing
from mmaproof.designs.catalogue import load_catalogue

LONGEST = "rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3"


def test_a_pipe_gets_every_column_of_every_design_in_one_line(run):
    status, out, _ = run("list")
    heading, *rows = out.splitlines()
    assert (status, heading.split()) == (0, ["design", "K", "L", "F", "rho", "family", "evidence"])
    assert [row.split()[0] for row in rows] == list(load_catalogue().designs)
    assert {len(row.split()) for row in rows} == {7}
    assert [LONGEST, "64", "64", "35", "rz-fp32", "gst-fdpa", "published"] in [row.split() for row in rows]


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_a_terminal_gets_every_column(run, monkeypatch, width):
    from rich.console import Console

    def terminal(given=None):
        return Console(force_terminal=True, no_color=True, highlight=False, width=given or width)

    monkeypatch.setattr(listing, "results", terminal)
    _, out, _ = run("list", "rtx-blackwell")
    lines = out.splitlines()
    for word in ("K", "L", "F", "rho", "family", "evidence"):
        assert word in lines[0]
    assert "…" not in out
    assert any("gst-fdpa" in line.split() for line in lines)
    assert LONGEST.replace("/", "") in "".join(line.split()[0] for line in lines).replace("/", "")
