"""The picture of a dot product as data: what a unit does to each bit of it.

Every bit is placed by its weight: the column of weight w holds the bits worth 2**w, in every row and for every
design. ``values`` writes numbers; ``steps`` reads the datapath and the signals; ``fused_blocks`` says what there is to
draw of a step, ``words`` what there is to say; ``sections`` puts everything together. ``lines`` finds the columns, and
makes lines of characters, each with a role. Writers give the roles their styles: ``text`` for a
terminal, ``figure`` for a vector graphic, a page or a file. ``answers`` are the answers of
commands as data, and ``reports`` writes them as pages. Values are exact everywhere: sign, odd significand and power of
two, or a bit pattern in hexadecimal; integers are decimal. Neither NumPy nor pySMT is needed, and only ``text`` imports
rich.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmaproof.explain.blocks import Picture, joined
    from mmaproof.explain.sections import explain

__all__ = ["Picture", "explain", "joined"]

_HOME = {"Picture": "blocks", "joined": "blocks", "explain": "sections"}


def __getattr__(name: str) -> Any:
    """Import what draws when it is asked for: most commands draw nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
