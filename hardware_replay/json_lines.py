"""What both ends of the process protocol write, read and quote: lines of JSON that hold bit patterns."""

from __future__ import annotations

import json
from typing import Any

from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format


def pattern_template(fmt: Format) -> str:
    """Return the template with which ``%`` turns a pattern of ``fmt`` into a JSON text."""
    return f'"0x%0{fmt.hex_digits}x"'


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object that ``line`` holds. Raises InputError where it holds none."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError("not a JSON object")
    return record


def short(value: object, most: int = 60) -> str:
    """Return ``value`` as JSON, of at most ``most`` characters, for a message."""
    text = json.dumps(value)
    return text if len(text) <= most else text[: most - 3] + "..."
