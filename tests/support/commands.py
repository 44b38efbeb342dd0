"""What tests of commands share."""

import json
import os
import subprocess
import sys
from typing import Any

import jsonschema

from mmaproof.explain.pages.commands import commands
from support.waiting import wait_until

MAIN = [sys.executable, "-m", "mmaproof.cli.main"]


def only_json(out: str) -> Any:
    """The one JSON object that ``out`` is."""
    record, end = json.JSONDecoder().raw_decode(out)
    assert not out[end:].strip()
    return record


def held_to_schema(words: str, out: str) -> Any:
    """The one JSON object that ``out`` is, of a command with these words, which is as its schema says."""
    record, schema = only_json(out), next(x.schema for x in commands() if x.words == words)
    assert schema is not None
    jsonschema.validate(record, schema)
    return record


def children_of(pid: int) -> list[int]:
    """The ids of the processes that a process has started and not yet reaped."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(x) for x in listed.stdout.split()]


def alive(pid: int) -> bool:
    """Whether there is a process of this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_until_it_solves(*arguments: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a command; return its process as soon as a solver runs below it, and the ids of those."""
    process = subprocess.Popen([*MAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return process, wait_until(lambda: children_of(process.pid))
    except AssertionError:
        process.kill()
        raise AssertionError(f"no solver process was seen: {process.communicate()}") from None
