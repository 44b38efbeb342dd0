"""`mmaproof doctor`: what it says is printed as it is."""


def test_brackets_are_no_markup(run, monkeypatch):
    monkeypatch.setenv("MMAPROOF_RECORDINGS", "/nowhere/[bold]")
    status, out, _ = run("doctor")
    assert status == 0
    assert "extra [notebooks]" in out
    assert "/nowhere/[bold]" in out
