"""The pytest plugin: ``pytest --mmaproof-report=FILE.html`` writes a page with the errors of each ``assert_gemm``.

It is an entry point of the extra ``pytest``. It imports nothing of mmaproof until a report is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mmaproof.gemm.tolerances.assertion import Outcome

OPTION = "--mmaproof-report"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("mmaproof", "matrix products on emulated units")
    group.addoption(
        OPTION, metavar="FILE.html", default=None, help="write the errors of each assert_gemm, drawn against its bounds"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Collect the outcomes of assertions if a report is wanted."""
    named = config.getoption(OPTION)
    if named is None:
        return
    file = Path(named)
    if file.suffix.lower() not in (".html", ".htm"):
        raise pytest.UsageError(f"{OPTION}={named}: a file that ends in .html is needed")
    if file.is_dir() or not file.parent.is_dir():
        raise pytest.UsageError(f"{OPTION}={named}: a file of a folder that is there is needed")
    if hasattr(config, "workerinput"):
        return
    if getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(f"{OPTION} collects in one process: leave pytest-xdist out (-n 0)")
    config.pluginmanager.register(Report(file), "mmaproof-report")


class Report:
    """Collects outcomes with the test that they were found in, and writes the page at the end."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: list[tuple[str, Outcome]] = []
        self.test = ""

    def _observe(self, outcome: Outcome) -> None:
        self.found.append((self.test, outcome))

    def pytest_sessionstart(self) -> None:
        """Begin to collect."""
        from mmaproof.gemm.tolerances.assertion import observers  # noqa: PLC0415  (only where a report is wanted)

        observers.append(self._observe)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which test runs."""
        self.test = nodeid

    def pytest_sessionfinish(self) -> None:
        """Write the page."""
        from mmaproof.gemm.tolerances.assertion import observers  # noqa: PLC0415
        from mmaproof.gemm.tolerances.report import page  # noqa: PLC0415

        if self._observe in observers:
            observers.remove(self._observe)
        self.file.write_text(page(self.found), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the page is."""
        terminalreporter.write_line(f"mmaproof: {len(self.found)} products in {self.file}")
