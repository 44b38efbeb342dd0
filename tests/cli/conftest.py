"""Commands as tests call them."""

import pytest

from mmaproof.cli.main import main


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in 80 columns; return exit status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        status = main([str(x) for x in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call
