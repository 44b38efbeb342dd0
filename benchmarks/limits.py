"""The limits that benchmarks of solvers take from the command line."""

from __future__ import annotations

import argparse

from mmaproof.smt.solving.limits import Limits, parse_memory, parse_seconds
from mmaproof.smt.solving.verdict import LimitError


def add_limits(parser: argparse.ArgumentParser, timeout: str) -> None:
    """Add the options --timeout, --memory and --json."""
    parser.add_argument("--timeout", default=timeout, help="limit of each answer: 30s, 2m")
    parser.add_argument("--memory", default="4G", help="limit of each solver process: 512M, 4G")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")


def read_limits(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return what the command line says, with its ``limits``."""
    given = parser.parse_args()
    try:
        given.limits = Limits(parse_seconds(given.timeout), parse_memory(given.memory))
    except LimitError as error:
        parser.error(str(error))
    return given
