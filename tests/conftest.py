"""What all tests share: the three tiers, the recordings, and one Hypothesis profile."""

import gc
import os
import signal
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings
from support.tiers import is_slow_value, left_to_the_middle_tier, left_to_the_slow_tier

# The same examples on every run and machine; a solver call has no natural deadline.
settings.register_profile("mmaproof", derandomize=True, deadline=None)
settings.load_profile("mmaproof")

# No test finds answers of another one, or leaves some in the user's home; who wants a store names one.
os.environ["MMAPROOF_STORE"] = ""
# Native code is compiled once for all processes of the tests, and kept no longer than they run.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="mmaproof-tests-")
    os.environ["MMAPROOF_CACHE"] = _CACHE.name

# Twenty thousand tests are made while they are collected, and searching them for garbage takes a quarter of the time.
gc.disable()

# A shell that starts the tests in the background has Ctrl-C ignored, which every process below would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


TIERS = {"middle": "--all", "slow": "--slow"}
"""The markers of tests that run only when asked for, and the option that asks. ``--slow`` asks for both."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the tests marked middle too (minutes)")
    parser.addoption("--slow", action="store_true", help="run every test, also those marked slow (hours)")


def left_out(config: pytest.Config) -> dict[str, str]:
    """The tiers that do not run, and the options that ask for them."""
    return {x: how for x, how in TIERS.items() if not (config.getoption("--slow") or config.getoption(how))}


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"tests marked {tier} are left out: run with {how}" for tier, how in left_out(config).items()]


def _tier_of(item: pytest.Item) -> str | None:
    return next((x for x in ("slow", "middle") if item.get_closest_marker(x)), None)


def _of_tier(items: Iterable[pytest.Item], tier: str | None) -> list[pytest.Item]:
    return [x for x in items if _tier_of(x) == tier]


def _move(items: Iterable[pytest.Item], later: str) -> None:
    for item in items:
        item.add_marker(getattr(pytest.mark, later))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests out instead of skipping them: thousands of skipped ones take longer than many that run."""
    for item in items:
        if is_slow_value(item):
            item.add_marker(pytest.mark.slow)
    _move(left_to_the_middle_tier(_of_tier(items, None)), "middle")
    _move(left_to_the_slow_tier(_of_tier(items, "middle"), _of_tier(items, None)), "slow")
    tiers = left_out(config)
    out = [any(x.get_closest_marker(tier) for tier in tiers) for x in items]
    config.hook.pytest_deselected(items=[x for x, is_out in zip(items, out, strict=True) if is_out])
    items[:] = [x for x, is_out in zip(items, out, strict=True) if not is_out]


def pytest_collection_finish() -> None:
    """Search only what the tests make from now on for garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder with recorded outputs of real units and its index.json."""
    named = os.environ.get("MMAPROOF_RECORDINGS")
    if not named:
        pytest.skip("MMAPROOF_RECORDINGS names no folder of recordings")
    folder = Path(named).resolve()
    # A name that is wrong is a mistake, not a wish to skip.
    index = folder / "index.json"
    if not index.is_file():
        pytest.fail(f"MMAPROOF_RECORDINGS is {named!r}, but there is no {index}", pytrace=False)
    return folder
