"""Chromium without a screen, driven by selenium. Nothing but this machine can be reached from it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MISSING = "Chromium and its driver are not installed: apt install chromium chromium-driver"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


@contextmanager
def browser(width: int = 1000, height: int = 900) -> Iterator[Any]:
    """Give a driver of a new Chromium with a window of this size. Skip the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            resize(found, width, height)
            found.set_script_timeout(110)  # less than the client waits for the driver
            yield found
        finally:
            found.quit()


def resize(driver: Any, width: int, height: int) -> None:
    """Give a page this size. (A window of Chromium is at least 500 wide, so that alone would not do.)"""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def complaints(driver: Any) -> list[str]:
    """What the browser itself complained about: errors of scripts, and what the policy of a page forbids."""
    return [str(entry["message"]) for entry in driver.get_log("browser")]


def address_of(path: Path) -> str:
    """The address of a file."""
    return path.resolve().as_uri()
