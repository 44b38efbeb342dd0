"""User RTL as a design: Yosys elaborates it, and its netlist becomes a step.

``read_unit`` reads a UNIT.toml, which names sources, the top module, and the ports that are operands.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmaproof.rtl.unit import RtlReport, RtlUnit, read_unit

__all__ = ["RtlReport", "RtlUnit", "read_unit"]


def __getattr__(name: str) -> Any:
    """Import what elaborates when it is asked for: other modules of the room are read without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mmaproof.rtl.unit"), name)
