"""User RTL as a design: Yosys elaborates it, and its netlist becomes a step.

``read_unit`` reads a UNIT.toml, which names sources, the top module, and the ports that are operands.
"""

from mmaproof.rtl.unit import RtlReport, RtlUnit, read_unit

__all__ = ["RtlReport", "RtlUnit", "read_unit"]
