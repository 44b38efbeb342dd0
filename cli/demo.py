"""`mmaproof demo`: what the tool does, in three steps."""

from __future__ import annotations

from mmaproof.cli.output import EXIT_HOLDS, EXIT_REFUTED


def demo() -> int:
    """Show a difference of two GPUs, a proof about two others, and the models beside recordings, if there are any.

    Exit status 0 if everything came out as it must, else 1.
    """
    from mmaproof.cli.demonstration import demonstrate

    return EXIT_HOLDS if demonstrate() else EXIT_REFUTED
