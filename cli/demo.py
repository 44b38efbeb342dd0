"""`mmaproof demo`: what the tool does, in three steps."""

from __future__ import annotations

from mmaproof.cli.output import Exit


def demo() -> int:
    """Show a difference of two GPUs, a proof about two others, and the models against recordings, if there are any.

    Exit status 0 if everything came out as it must, else 1.
    """
    from mmaproof.cli.demonstration import demonstrate

    return Exit.HOLDS if demonstrate() else Exit.REFUTED
