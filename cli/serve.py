"""`mmaproof serve`: a design as a process that runs operands."""

from __future__ import annotations

import sys

from mmaproof.cli.options import Decimal, DesignName, with_backend
from mmaproof.cli.output import Exit


@with_backend
def serve(design: DesignName, decimal: Decimal = False) -> int:
    """Answer operands on stdin with d on stdout, one JSON object a line.

    The first line is {"design": NAME or null, "a_format": ..., "b_format": ..., "c_format": ..., "d_format": ...,
    "k": N}, each other one {"a": [TEXT, ...], "b": [TEXT, ...], "c": TEXT}, with "scale_a" and "scale_b" where the
    design has scales; a TEXT is a bit pattern (0x3c00) or a number (1.5, 2^-3). The answer to it is {"d": HEX}, or with
    --decimal {"d": NUMBER}.
    Exit status 0 at the end of the input; 2 after a line that is malformed or does not fit the design.
    """
    from mmaproof.designs.errors import InputError
    from mmaproof.hardware_replay.serving import serve as answer
    from mmaproof.rtl.meant import named_design

    if sys.stdin is None:
        raise InputError("serve reads stdin, which is closed")
    try:
        answer(named_design(design), sys.stdin.fileno(), sys.stdout.fileno(), decimal=decimal)
    except BrokenPipeError:  # the client went away; typer would make it status 1
        return Exit.BROKEN_PIPE
    return Exit.HOLDS
