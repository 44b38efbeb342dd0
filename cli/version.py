"""The version of the tool, as installed."""

from __future__ import annotations

from importlib.metadata import version


def tool_version() -> str:
    """Return the version of the installed package."""
    return version("mmaproof")
